"""Keyframes on springs: exact gradients through their motion, and a cubature that finds the same motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cajole as cj
from cajole.direct.keyframing import search
from cajole.errors import InputError, NotConverged
from cajole.mesh import box_tets
from cajole.reduction import reduce, reduced_springs
from cajole.reduction.trajectory import build_newmark_coefficients, compute_predictor, rollout, solve_adjoint


def plank(damping: float = 0.0) -> cj.BodySprings:
    mesh = box_tets(10, 2, 2, size=(1.0, 0.2, 0.2))
    held = np.flatnonzero(mesh.vertices[:, 0] == 0)
    return cj.BodySprings.from_mesh(mesh, stiffness=400.0, mass=0.02, fixed=held, damping=damping)


def bent(net: cj.BodySprings, push: tuple[float, float, float]) -> np.ndarray:
    tip = np.flatnonzero(net.vertices[:, 0] == 1.0)
    return cj.pose(net, loads={int(v): push for v in tip})


@pytest.fixture(scope="module")
def net():
    return plank(0.2)


@pytest.fixture(scope="module")
def keys(net):
    return {15: bent(net, (0.0, 0.4, 0.0)), 30: bent(net, (0.0, -0.2, 0.3))}


@pytest.fixture(scope="module")
def exact(net, keys):
    return cj.keyframe(net, keys, effort=1e-3, modes=4)


@pytest.mark.parametrize("damping", [0.0, 0.4])
@pytest.mark.parametrize("cubature", [False, 60])
def test_adjoint_agreement(damping, cubature, random):
    """dE/dw of E = ½ Σ|q_n - t_n|² by one backward pass, against fourth-order differences of whole motions."""
    net = plank(damping)
    model = reduce(net, cj.modes(net, 5), cubature=cubature)
    W = 2.0 * random.standard_normal((12, 5))
    t = 0.1 * random.standard_normal((12, 5))
    plan, h = build_newmark_coefficients(np.full(13, 0.02)), 0.02
    start = compute_predictor(model.kernel_data, 0.1 * random.standard_normal(5), np.zeros(5), h)

    def cost(controls):
        return 0.5 * ((rollout(model.kernel_data, plan, start, controls).coordinates - t) ** 2).sum()

    path = rollout(model.kernel_data, plan, start, W)
    gradient, _ = solve_adjoint(plan, path, path.coordinates - t)
    for _ in range(3):
        d = random.standard_normal(W.shape)
        e = 3e-3
        near = (8 * (cost(W + e * d) - cost(W - e * d)) - (cost(W + 2 * e * d) - cost(W - 2 * e * d))) / (12 * e)
        exact = (gradient * d).sum()
        assert abs(near - exact) <= 1e-7 * np.linalg.norm(gradient) * np.linalg.norm(d)


def test_keys_are_met_claim(exact, keys):
    assert exact.report.converged
    assert exact.report.keys == tuple(keys)
    assert max(exact.report.errors) < 5e-3


def test_motion_obeys_the_projected_springs_identity(exact, net):
    """Each frame satisfies Uᵀ(M a + f + d) = w with the unreduced forces of the body, a from Newmark's rule."""
    U, h = exact.model.basis, exact.dt
    path = exact.model.rollout(exact.controls, h)
    np.testing.assert_allclose(path.coordinates, exact.states[1:], atol=1e-8 * np.abs(exact.states).max())
    for a, q, v, w in zip(path.accelerations, path.coordinates, path.velocities, exact.controls):
        forces = net.total_force(exact.model.lift(q), exact.model.lift(v))
        np.testing.assert_allclose(a + U.T @ forces.ravel(), w, atol=1e-8 * np.abs(exact.controls).max())


def test_newton_converges_quadratically_order(net, keys):
    """With damping's own curvature the last steps of Newton square the gradient."""
    sizes: list[float] = []
    cj.keyframe(
        net, keys, effort=1e-3, modes=4, starts="pd", tolerance=1e-9, watch=lambda at: sizes.append(at.gradient_norm)
    )
    runs = np.split(np.array(sizes), np.flatnonzero(np.diff(sizes) > 100 * np.array(sizes[:-1])) + 1)
    scaled = runs[0] / runs[0][0]
    close = scaled[(scaled < 1e-2) & (scaled > 1e-12)]
    assert len(close) >= 2
    assert close[-1] < 1e3 * close[-2] ** 1.7


def test_cubature_finds_the_same_motion_agreement(exact, net, keys):
    few = cj.keyframe(net, keys, effort=1e-3, modes=4, cubature=150)
    assert few.model.report.selected_springs <= 150 < len(exact.model.springs)
    np.testing.assert_allclose(few.report.errors, exact.report.errors, rtol=0.05)
    assert np.abs(few.states - exact.states).max() < 0.02 * np.abs(exact.states).max()


@pytest.fixture
def drafted(monkeypatch):
    """Drafts as of large nets, on small ones."""
    monkeypatch.setattr(reduced_springs, "OPTIONS", replace(reduced_springs.OPTIONS, coarse_springs=60))
    monkeypatch.setattr(search, "COARSE_MODEL_ABOVE", 100)
    monkeypatch.setattr(search, "COARSE_MODEL_SPRINGS", 150)


@pytest.mark.parametrize("few", [False, 150])
def test_drafts_lead_to_the_same_motion_agreement(drafted, exact, net, keys, few):
    """Whether searched with fewer springs first or not, the motion is that of the model's own springs."""
    led = cj.keyframe(net, keys, effort=1e-3, modes=4, cubature=few)
    plain = cj.keyframe(net, keys, effort=1e-3, modes=4, cubature=few, starts="pd") if few else exact
    assert led.report.converged
    assert ["a draft with" in name for name, _ in led.report.start_costs] == [True]
    assert not any("a draft with" in name for name, _ in plain.report.start_costs)
    np.testing.assert_allclose(led.report.cost, plain.report.cost, rtol=1e-7)
    np.testing.assert_allclose(led.states, plain.states, atol=1e-5 * np.abs(plain.states).max())
    assert led.report.iterations < plain.report.iterations


@pytest.mark.parametrize("few", [False, 150])
def test_stopped_draft_identity(drafted, net, keys, few):
    """A draft is watched too, and stopped it gives a motion of the model itself, not of the draft."""
    seen = []
    shot = cj.keyframe(
        net, keys, effort=1e-3, modes=4, cubature=few, watch=lambda at: seen.append(at.cost) or len(seen) < 4
    )
    assert len(seen) == 4
    assert not shot.report.converged
    assert "stopped" in shot.report.message
    again = shot.model.rollout(shot.controls, shot.dt, state=shot.states[0], velocity=shot.velocities[0])
    np.testing.assert_allclose(again.coordinates, shot.states[1:], atol=1e-9 * np.abs(shot.states).max())
    assert shot.report.cost < seen[0]


def test_without_a_draft_plain_starts_serve_identity(drafted, monkeypatch, exact, net, keys):
    def failing(*_, **__):
        raise NotConverged("no spring lowers the error")

    monkeypatch.setattr(search, "reduce_springs", failing)
    again = cj.keyframe(net, keys, effort=1e-3, modes=4)
    np.testing.assert_array_equal(again.states, exact.states)


def test_keyframe_cubature_bad_input(keys, net, beam):
    solid = beam()
    with pytest.raises(InputError, match="cubature is for springs"):
        cj.keyframe(
            solid, {5: np.zeros((solid.vertex_count, 3)) + 1e-3 * solid.vertices[:, :1]}, cubature=True, modes=2
        )
    with pytest.raises(InputError, match="cubature"):
        cj.keyframe(net, keys, cubature=-3)
