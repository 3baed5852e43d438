"""Single steps: the constrained equations against dense algebra, both backends, balance of forces, order in time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from enrich_cases import enriched_box, flat, twisted_box

import cajole
from cajole import BodyShell, InitialState, InputError, MaterialShell, NotConverged
from cajole.direct.enriching import enrich, regions_painted, regions_subdivided
from cajole.direct.enriching.tracking import ShellState, TrackingIntegrator
from cajole.linalg import is_pardiso_available

H = 1 / 120


def moving(body: BodyShell, random: np.random.Generator) -> ShellState:
    """A crumpled shell with some speed; fixed vertices rest."""
    u, v = 0.02 * random.normal(size=(2, body.vertex_count, 3))
    u[body.fixed] = v[body.fixed] = 0.0
    return ShellState(body.vertices + u, v, np.zeros_like(u))


def target_of(rows: sp.csr_array, now: ShellState, random: np.random.Generator) -> np.ndarray:
    return rows @ now.positions + 0.01 * rows.sum(axis=1)[:, None] * random.normal(size=(rows.shape[0], 3))


@pytest.mark.parametrize("fixed", [None, [0, 1, 9, 30]])
def test_step_agrees_with_dense_schur_agreement(fixed: list[int] | None, random: np.random.Generator) -> None:
    """(M - h²J) Δv ... of §4.3 by dense elimination of the velocities, S = C A⁻¹ Cᵀ."""
    body, regions = enriched_box(2, fixed=fixed)
    now = moving(body, random)
    target, load = target_of(regions.fine_weights, now, random), body.gravity()
    after = TrackingIntegrator(body, regions.fine_weights, H).step(now, target, load)

    x = now.positions + H * now.velocities
    u, free = x - body.vertices, body.free_dofs
    M, K = body.mass.toarray(), body.stiffness(u, clamped=True).toarray()
    A = (M / H**2 + (body.alpha * M + body.beta * K) / H + K)[np.ix_(free, free)]
    C = np.kron(regions.fine_weights.toarray(), np.eye(3))[:, free]
    right = (load - body.total_force(u, now.velocities)).ravel()[free]
    gap = (target - regions.fine_weights @ x).ravel()
    λ = np.linalg.solve(C @ np.linalg.solve(A, C.T), gap - C @ np.linalg.solve(A, right))
    want = x.copy()
    want.ravel()[free] += np.linalg.solve(A, right + C.T @ λ)
    np.testing.assert_allclose(after.positions, want, atol=1e-11)
    np.testing.assert_allclose(after.constraint_force.ravel()[free], C.T @ λ, atol=1e-8 * np.abs(C.T @ λ).max())
    np.testing.assert_allclose(after.velocities, (want - now.positions) / H, atol=1e-8)


@pytest.mark.skipif(not is_pardiso_available(), reason="only one backend is installed")
def test_backends_agreement(random: np.random.Generator) -> None:
    body, regions = enriched_box(3)
    now = moving(body, random)
    target = target_of(regions.fine_weights, now, random)
    one, two = (
        TrackingIntegrator(body, regions.fine_weights, H, backend=backend).step(now, target, body.gravity())
        for backend in ("pardiso", "superlu")
    )
    np.testing.assert_allclose(one.positions, two.positions, atol=1e-10)
    np.testing.assert_allclose(
        one.constraint_force, two.constraint_force, atol=1e-8 * np.abs(one.constraint_force).max()
    )


def test_pull_balances_momentum_identity(random: np.random.Generator) -> None:
    """Inner forces add up to nothing: momentum changes by the weight and the pull alone, and the pull is Cᵀλ."""
    body, regions = enriched_box(2, damping=(0.0, 1e-3))
    now = moving(body, random)
    after = TrackingIntegrator(body, regions.fine_weights, H, max_newton_iterations=40).step(
        now, target_of(regions.fine_weights, now, random), body.gravity()
    )
    rate = (body.mass @ (after.velocities - now.velocities).ravel()).reshape(-1, 3).sum(axis=0) / H
    total = (body.gravity() + after.constraint_force).sum(axis=0)
    np.testing.assert_allclose(rate, total, atol=1e-8 * np.abs(after.constraint_force).sum())
    λ, *_ = np.linalg.lstsq(regions.fine_weights.toarray().T, after.constraint_force, rcond=None)
    np.testing.assert_allclose(
        regions.fine_weights.T @ λ, after.constraint_force, atol=1e-12 * np.abs(after.constraint_force).max()
    )


def test_without_regions_it_is_implicit_euler_agreement() -> None:
    """Solved steps without constraints are those of `simulate`."""
    body, _ = enriched_box(1, fixed=[0, 1, 2])
    push = np.zeros((body.vertex_count, 3))
    push[7] = (0.3, -0.2, 0.5)
    want = cajole.simulate(body, 5, H, gravity=9.81, integrator="euler", start=InitialState(velocity=push))
    tracker = TrackingIntegrator(body, None, H, max_newton_iterations=60)
    now = ShellState(body.vertices, push, np.zeros_like(push))
    for frame in range(1, 5):
        now = tracker.step(now, np.zeros((0, 3)), body.gravity())
        np.testing.assert_allclose(now.positions, want.positions[frame], atol=1e-8)


def test_first_order() -> None:
    """Solved steps converge with order one in the step's length."""
    body, regions = enriched_box(1)
    guide = twisted_box(3)
    counts = (4, 8, 16, 32, 64)
    ends = [
        enrich(guide, body, regions, dt=1 / (30 * k), newton=60, gravity=9.81).animation.positions[-1] for k in counts
    ]
    # what halving the step changes falls as the error does
    changes = [np.linalg.norm(one - two) for one, two in pairwise(ends)]
    slope = -np.polyfit(np.log(counts[:-1]), np.log(changes), 1)[0]
    assert 0.9 < slope < 1.2


def test_one_iteration_comes_near_the_solved_step_order() -> None:
    """What one linear solve a step leaves out vanishes with the step's length, as fast as Euler's own error."""
    body, regions = enriched_box(1)
    guide = twisted_box(4)
    gaps = []
    for k in (4, 8, 16, 32):
        one, many = (enrich(guide, body, regions, dt=1 / (30 * k), newton=n).animation.positions[-1] for n in (1, 60))
        gaps.append(np.linalg.norm(one - many))
    assert -np.polyfit(np.log([4, 8, 16, 32]), np.log(gaps), 1)[0] > 0.9


def test_step_bad_input(random: np.random.Generator) -> None:
    body, regions = enriched_box(1, fixed=[0, 1])
    now = moving(body, random)
    target = target_of(regions.fine_weights, now, random)
    with pytest.raises(NotConverged, match=r"did not converge in 2 Newton iterations .* newton=1 takes what one gives"):
        TrackingIntegrator(body, regions.fine_weights, 1.0, max_newton_iterations=2).step(now, target, body.gravity())
    fine, _ = regions_subdivided(flat(1), 2)
    corner = np.where(fine.vertices[:, 0] + fine.vertices[:, 1] == 0, 0, 1)
    picked = regions_painted(fine, corner, fine, corner)
    around = np.unique(fine.triangles[(fine.triangles == 0).any(axis=1)])
    with pytest.raises(InputError, match="region 0 lies on fixed vertices only"):
        TrackingIntegrator(BodyShell(fine, MaterialShell(), fixed=around), picked.fine_weights, H, names=picked.names)
