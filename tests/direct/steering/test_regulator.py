"""The gains of `steer` against dense algebra that knows no recursion, and against SciPy's stationary regulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from numpy.typing import NDArray
from steer_cases import DT, at_rest, circling, closed_loop, free_model, model, moving, step_costs, steps

import cajole as cj
from cajole.direct.steering import kernels
from cajole.direct.steering.cost import CostWeights, QuadraticCost, build_cost
from cajole.direct.steering.lqr import discretise_system
from cajole.direct.steering.stepper import ControlledStepper

Array = NDArray[np.float64]

R = 4


def spread(seed: int, size: int) -> Array:
    """A positive definite matrix with eigenvalues between one and a few."""
    A = np.random.default_rng(seed).standard_normal((size, size))
    return np.eye(size) + A @ A.T / size


def tracking_over_time(t: float) -> Array:
    return (1.0 + np.sin(20.0 * t) ** 2) * spread(1, 2 * R)


def effort_over_time(t: float) -> Array:
    return 0.01 * (1.0 + 10.0 * t) * spread(2, R)


DIALS: dict[str, dict[str, Any]] = {
    "plain": {},
    "matrices": {"tracking": spread(3, R), "final": spread(4, 2 * R), "effort": 0.03 * spread(5, R)},
    "over time": {"tracking": tracking_over_time, "effort": effort_over_time, "final": 2.0},
    "final only": {"tracking": 0.0, "final": 1.0, "effort": 1e-3},
    "frames": {"frames": {3: 20.0, 12: 0.0}, "final": 0.1},
    "vertices": {"vertices": {4: 1.0, 9: 3.0}, "effort": lambda t: 0.01 + t},
}


def best_controls(maps: list[tuple[Array, Array]], prices: list[tuple[Array, Array]], x0: Array) -> Array:
    """The dw (T, r) of least ½ Σ yᵀ S y, found at once.

    maps: x' = A x + B w; prices: y = (x, w) through L (., 3r), weighed by S. Every y is written by x₀ and all controls.
    """
    T, r = len(maps), maps[0][1].shape[1]
    x, by_w = x0, np.zeros((2 * r, T * r))
    H, g = np.zeros((T * r, T * r)), np.zeros(T * r)
    for n, ((A, B), (L, S)) in enumerate(zip(maps, prices)):
        pick = np.zeros((r, T * r))
        pick[:, n * r : (n + 1) * r] = np.eye(r)
        y, J = L @ np.concatenate([x, np.zeros(r)]), L @ np.vstack([by_w, pick])
        H += J.T @ S @ J
        g += J.T @ S @ y
        x, by_w = A @ x, A @ by_w + B @ pick
    return np.linalg.solve(H, -g).reshape(T, r)


def discrete_program(reference: cj.Reference, weights: QuadraticCost, x0: Array) -> Array:
    maps, prices, r = [], [], reference.model.size
    for n, (A, B, C, D) in enumerate(steps(reference)):
        maps.append((A, B))
        e = np.hstack([C, D])
        w = np.hstack([np.zeros((r, 2 * r)), np.eye(r)])
        prices.append((np.vstack([e, w]), scipy.linalg.block_diag(*step_costs(weights, n, r))))
    return best_controls(maps, prices, x0)


@pytest.mark.parametrize("body", ["held", "free"])
@pytest.mark.parametrize("name", list(DIALS))
def test_gains_and_one_dense_program_agreement(random: np.random.Generator, body: str, name: str) -> None:
    reference = moving(model() if body == "held" else free_model())
    assert reference.step_count == 12
    assert (np.linalg.cond(reference.model.stiffness()) > 1e12) == (body == "free")
    weights = build_cost(reference, CostWeights(**DIALS[name]))
    controller = cj.steer(reference, **DIALS[name])
    x0 = random.standard_normal(2 * R)
    fed, cost = closed_loop(reference, weights, controller.gains, x0)
    best = discrete_program(reference, weights, x0)
    assert np.abs(best).max() > 1e-3
    np.testing.assert_allclose(fed, best, rtol=0, atol=1e-10 * np.abs(best).max())
    assert 0.5 * x0 @ controller.feedback_gains.cost_to_go @ x0 == pytest.approx(cost, rel=1e-10)


def test_emphasised_frames_and_vertices_weigh_as_said_identity() -> None:
    reference = moving(model())
    plain = build_cost(reference, CostWeights())
    made = build_cost(reference, CostWeights(frames={3: 20.0}, final=0.5))
    Q = [step_costs(made, n, R)[0] for n in range(12)]
    unit = step_costs(plain, 0, R)[0]
    np.testing.assert_allclose(Q[2], 20.0 * unit, rtol=1e-14)
    np.testing.assert_allclose(Q[5], unit, rtol=1e-14)
    np.testing.assert_allclose(Q[11], (1.0 + 12 * 0.5) * unit, rtol=1e-14)
    # an error that moves the only vertices that count by a body size costs as much as one that moves the whole body so
    body = model().body
    shape = step_costs(build_cost(reference, CostWeights(vertices=np.arange(body.vertex_count))), 0, R)[0]
    z = np.random.default_rng(1).standard_normal(R)
    lumped = (body.vertex_masses[:, None] * model().lift(z) ** 2).sum() / body.vertex_masses.sum()
    assert z @ shape[:R, :R] @ z == pytest.approx(lumped / (12 * body.size**2), rel=1e-12)


def rates(reference: cj.Reference, n: int) -> Array:
    """F (3r, 3r) of the motion linearised at frame n, from the model's own stiffness and its change."""
    of, (q, v) = reference.model, reference.trajectory[1, n]
    K = of.stiffness(q)
    Gq, Gv = K + of.beta * of.stiffness_derivative(q, v), of.alpha * np.eye(R) + of.beta * K
    O, I = np.zeros((R, R)), np.eye(R)
    return np.block([[O, I, O], [-Gq, -Gv, I], [O, O, O]])


def by_quadrature(F: Array, Q: Array, h: float) -> tuple[Array, Array]:
    """e^{Fh} and ∫ e^{Fτ}ᵀ diag(Q, 0) e^{Fτ} dτ by 20 Gauss-Legendre points, with SciPy's exponential."""
    at, share = np.polynomial.legendre.leggauss(20)
    times = 0.5 * h * (1.0 + at)
    E = scipy.linalg.expm(times[:, None, None] * F)[:, : len(Q)]
    return scipy.linalg.expm(h * F), np.einsum("t,tai,ab,tbj->ij", 0.5 * h * share, E, Q, E)


def assert_close_by_block(have: Array, want: Array, r: int, tolerance: float) -> None:
    """Position, velocity and control have units of their own: each block of a matrix is compared to its own size."""
    for i in range(0, len(want), r):
        for j in range(0, len(want), r):
            block = np.s_[i : i + r, j : j + r]
            size = np.abs(want[block]).max()
            np.testing.assert_allclose(have[block], want[block], rtol=0, atol=max(tolerance * size, 1e-300))


@pytest.mark.parametrize("singular", [False, True])
def test_sampled_costs_reference(random: np.random.Generator, singular: bool) -> None:
    """Against SciPy's matrix exponential; the last rows of F are zero, so it is singular in either case."""
    r, h = 3, 0.05
    F = np.zeros((3 * r, 3 * r))
    F[:r, r : 2 * r], F[r : 2 * r, 2 * r :] = np.eye(r), np.eye(r)
    F[r : 2 * r, :r] = 0.0 if singular else -400.0 * spread(6, r) + random.standard_normal((r, r))
    F[r : 2 * r, r : 2 * r] = random.standard_normal((r, r))
    Q = spread(7, 2 * r)
    (E, X), (exact, integral) = discretise_system(F, Q, h), by_quadrature(F, Q, h)
    assert_close_by_block(E, exact, r, 1e-12)
    assert_close_by_block(X, integral, r, 1e-10)


def in_closed_form(F: Array, Q: Array, h: float) -> tuple[Array, Array]:
    """The same two from the eigenvectors of F: the integral of e^{(λ + μ)τ} is known."""
    values, vectors = np.linalg.eig(F)
    inverse = np.linalg.inv(vectors)
    cost = np.zeros_like(F)
    cost[: len(Q), : len(Q)] = Q
    total = values.conj()[:, None] + values
    small = np.abs(total) * h < 1e-12
    each = np.where(small, h, np.expm1(h * total) / np.where(small, 1.0, total))
    X = inverse.conj().T @ (each * (vectors.conj().T @ cost @ vectors)) @ inverse
    return (vectors * np.exp(h * values) @ inverse).real, X.real


def test_sampled_costs_of_stiff_modes_reference() -> None:
    """One soft mode and one of 4000 rad/s under strong damping: where Van Loan's block exponential overflows."""
    h, K, beta = 0.027, np.diag([30.0, 4000.0**2]), 0.01
    assert beta * K[1, 1] * h > np.log(np.finfo(float).max)
    O, I = np.zeros((2, 2)), np.eye(2)
    F = np.block([[O, I, O], [-K, -beta * K, I], [O, O, O]])
    E, X = discretise_system(F, np.eye(4), h)
    scale = 1.0 / np.sqrt(np.diag(X))
    assert np.linalg.eigvalsh(scale[:, None] * X * scale)[0] > -1e-13
    exact, integral = in_closed_form(F, np.eye(4), h)
    assert np.abs(E - exact).max() < 1e-10  # the exponential is squared fourteen times
    np.testing.assert_allclose(scale[:, None] * X * scale, scale[:, None] * integral * scale, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["plain", "matrices", "over time", "frames"])
def test_continuous_gains_and_one_dense_program_agreement(random: np.random.Generator, name: str) -> None:
    reference = moving(model())
    weights = build_cost(reference, CostWeights(**DIALS[name]))
    maps, prices = [], []
    for n in range(12):
        Q, effort = step_costs(weights, n, R)
        rate = Q - (weights.final if n == 11 else 0.0)
        E, X = by_quadrature(rates(reference, n), rate / DT, DT)
        S = X + scipy.linalg.block_diag(np.zeros((2 * R, 2 * R)), effort)
        if n == 11:
            S += E[: 2 * R].T @ weights.final @ E[: 2 * R]
        maps.append((E[: 2 * R, : 2 * R], E[: 2 * R, 2 * R :]))
        prices.append((np.eye(3 * R), S))
    controller = cj.steer(reference, formulation="continuous", **DIALS[name])
    x0 = x = random.standard_normal(2 * R)
    fed, cost = [], 0.0
    for gain, (A, B), (_, S) in zip(controller.gains, maps, prices):
        fed.append(gain @ x)
        y = np.concatenate([x, fed[-1]])
        cost += 0.5 * y @ S @ y
        x = A @ x + B @ fed[-1]
    best = best_controls(maps, prices, x0)
    np.testing.assert_allclose(fed, best, rtol=0, atol=1e-10 * np.abs(best).max())
    assert 0.5 * x0 @ controller.feedback_gains.cost_to_go @ x0 == pytest.approx(cost, rel=1e-10)


def stationary_gains(reference: cj.Reference, weights: QuadraticCost) -> Array:
    """The feedback of the endless problem, of SciPy's discrete algebraic Riccati equation."""
    A, B, C, D = next(iter(steps(reference)))
    Q, effort = step_costs(weights, 0, R)
    size = np.abs(effort).max()
    Q, effort = Q / size, effort / size  # far from one, its tests of accuracy refuse the problem
    q, s, w = C.T @ Q @ C, C.T @ Q @ D, D.T @ Q @ D + effort
    X = scipy.linalg.solve_discrete_are(A, B, q, w, s=s)
    return -np.linalg.solve(w + B.T @ X @ B, B.T @ X @ A + s.T)


def stationary_gains_continuous(reference: cj.Reference, weights: QuadraticCost) -> Array:
    Q, effort = step_costs(weights, 0, R)
    size = np.abs(effort).max()
    E, X = by_quadrature(rates(reference, 0), Q / DT / size, DT)
    A, B = E[: 2 * R, : 2 * R], E[: 2 * R, 2 * R :]
    q, s, w = X[: 2 * R, : 2 * R], X[: 2 * R, 2 * R :], X[2 * R :, 2 * R :] + effort / size
    V = scipy.linalg.solve_discrete_are(A, B, q, w, s=s)
    return -np.linalg.solve(w + B.T @ V @ B, B.T @ V @ A + s.T)


STATIONARY = {"discrete": stationary_gains, "continuous": stationary_gains_continuous}


@pytest.mark.parametrize("formulation", list(STATIONARY))
def test_long_motion_at_rest_reference(formulation: str) -> None:
    """The first gains of a long time at rest are those of scipy.linalg.solve_discrete_are."""
    reference = cj.build_reference(model(), at_rest(model(), 801))
    controller = cj.steer(reference, formulation=formulation)
    want = STATIONARY[formulation](reference, build_cost(reference, CostWeights()))
    np.testing.assert_allclose(controller.gains[0], want, rtol=0, atol=1e-8 * np.abs(want).max())
    assert np.abs(controller.gains[-1] - want).max() > 1e-3 * np.abs(want).max()


@pytest.mark.parametrize("formulation", list(STATIONARY))
@pytest.mark.parametrize("effort", [1e-3, 100.0, 1e4])
def test_loop_at_rest_reference(formulation: str, effort: float) -> None:
    """Every gain of a loop is that of scipy.linalg.solve_discrete_are, however short the loop."""
    reference = cj.build_reference(model(), at_rest(model(), 6), loop=True)
    controller = cj.steer(reference, effort=effort, formulation=formulation)
    want = STATIONARY[formulation](reference, build_cost(reference, CostWeights(effort=effort)))
    for gain in controller.gains:
        np.testing.assert_allclose(gain, want, rtol=0, atol=1e-8 * np.abs(want).max())


def test_loop_equals_many_laps_agreement() -> None:
    """The periodic gains of a moving loop are those of the first of many laps laid end to end."""
    lap = circling(model())
    laps = 40
    many = cj.Reference(
        lap.model, lap.dt,
        np.concatenate([np.tile(lap.trajectory[:, :-1], (1, laps, 1, 1)), lap.trajectory[:, -1:]], axis=1),
        *(np.tile(part, (laps,) + (1,) * (part.ndim - 1)) for part in
          (lap.accelerations, lap.feed_forward, lap.Gq, lap.Gv)),
    )  # fmt: skip
    # the weights are averages over frames, so that only their ratio is the same
    for formulation in STATIONARY:
        loop, long = (cj.steer(motion, formulation=formulation).gains for motion in (lap, many))
        np.testing.assert_allclose(loop, long[: len(loop)], rtol=0, atol=1e-7 * np.abs(loop).max())


def test_value_and_cost_of_a_nonlinear_run_agreement(random: np.random.Generator) -> None:
    """½ dxᵀ value dx is what a run from a small deviation really costs; the rest is of third order."""
    reference = moving(model(), feed_forward="inverse")
    replayed = resimulated(reference)
    controller = cj.steer(replayed, final=0.3)
    weights = build_cost(replayed, CostWeights(final=0.3))
    direction = random.standard_normal((2, R))
    gaps = []
    for size in (1e-3, 1e-4):
        walker = ControlledStepper(replayed, controller.feedback_gains)
        walker.state[:2] += size * direction
        out = walker.rollout(np.zeros((12, R)))
        frames = np.stack([out.states, out.velocities], axis=1)
        e = (frames - replayed.trajectory[1, 1:]).reshape(12, -1)
        each = [(e[n], out.feedback[n], *step_costs(weights, n, R)) for n in range(12)]
        cost = 0.5 * sum(x @ Q @ x + w @ E @ w for x, w, Q, E in each)
        x0 = size * direction.ravel()
        gaps.append(abs(cost / (0.5 * x0 @ controller.feedback_gains.cost_to_go @ x0) - 1.0))
    assert gaps[1] < 1e-3
    assert gaps[0] / gaps[1] == pytest.approx(10.0, rel=0.2)


def resimulated(reference: cj.Reference) -> cj.Reference:
    """The motion that the reference's own feed-forward makes."""
    from cajole.direct.steering.reference import simulate_reference

    start, first = reference.trajectory[:, 0]
    return simulate_reference(reference.model, start, reference.feed_forward, reference.dt, first)


def test_compiled_pass_and_its_numpy_twin_agreement() -> None:
    """`regulate` against the textbook recursion on (A, B, C, D)."""
    reference = moving(model())
    weights = build_cost(reference, CostWeights(**DIALS["over time"]))
    value, gains = np.zeros((2 * R, 2 * R)), np.empty((12, R, 2 * R))
    kernels.solve_riccati(
        reference.newmark_coefficients,
        reference.Gq,
        reference.Gv,
        weights.Q,
        weights.q_index,
        weights.R,
        weights.r_index,
        value,
        gains,
        np.empty((0, 0, 0)),
        0.0,
    )
    P = np.zeros((2 * R, 2 * R))
    for n, (A, B, C, D) in reversed(list(enumerate(steps(reference)))):
        Q, effort = step_costs(weights, n, R)
        pivot, cross = effort + D.T @ Q @ D + B.T @ P @ B, C.T @ Q @ D + A.T @ P @ B
        K = -np.linalg.solve(pivot, cross.T)
        P = C.T @ Q @ C + A.T @ P @ A + cross @ K
        np.testing.assert_allclose(gains[n], K, rtol=0, atol=1e-11 * np.abs(K).max())
    np.testing.assert_allclose(value, P, rtol=0, atol=1e-11 * np.abs(P).max())
