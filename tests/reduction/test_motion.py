"""Reduced motion: order of accuracy, agreement with the whole body, exact adjoints, and twins of the kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from reduced_cases import reduced, state_of

import cajole as cj
from bodies import Array, beam_body
from cajole.mesh import box_tets
from cajole.reduction import ReducedSolid, kernels_trajectory, reduce
from cajole.reduction.trajectory import (
    Trajectory,
    build_newmark_coefficients,
    compute_predictor,
    rollout,
    rollout_closed_loop,
    rollout_pd,
    solve_adjoint,
)
from derivatives import check_derivative, regressed_order

BETAS = [0.0, 0.02]


def model_with(beta: float, size: int = 4) -> ReducedSolid:
    return reduced(size, fixed=[0, 5], damping=(0.7, beta))


def beam_model(damping: tuple[float, float] = (0.1, 1e-3)) -> ReducedSolid:
    body = beam_body((4, 1, 1), damping=damping)
    return reduce(body, cj.modes(body, 3))


def pushes(model: ReducedSolid, steps: int, dt: float) -> Array:
    """Controls that start from zero and swing once, strong enough to bend the body by a good part of its size."""
    times = dt * np.arange(1, steps + 1)
    shape = state_of(model, 4, largest=0.3)
    return np.sin(2 * np.pi * times)[:, None] * (model.stiffness() @ shape)


@pytest.mark.parametrize("damping", [(0.0, 0.0), (0.3, 2e-3)])
def test_rollout_order(damping: tuple[float, float]) -> None:
    """The error at a fixed time falls with dt²."""
    model = beam_model(damping)
    start, speed = state_of(model, 1, largest=0.2), np.array([0.5, -0.2, 0.1])
    span = 2 * np.pi / model.first_angular_frequency

    def end(steps: int) -> Array:
        times = np.arange(1, steps + 1)[:, None] / steps
        W = np.sin(2 * np.pi * times) * (model.stiffness() @ state_of(model, 4, largest=0.2))
        return model.rollout(W, span / steps, state=start, velocity=speed).coordinates[-1]

    counts = np.array([400, 800, 1600])
    best = end(12800)
    errors = np.array([np.linalg.norm(end(int(count)) - best) for count in counts])
    assert 1.85 < regressed_order(1.0 / counts, errors) < 2.2
    assert errors[-1] < 0.02 * np.linalg.norm(best)


@pytest.mark.parametrize("damping", [(0.0, 0.0), (0.5, 1e-3)])
def test_whole_body_agreement(damping: tuple[float, float]) -> None:
    """In a complete basis the reduced motion is that of `simulate`, frame by frame, with large deformation."""
    mesh = box_tets(2, 1, 1, size=(1.0, 0.4, 0.4))
    fixed = np.flatnonzero(mesh.vertices[:, 0] == 0)
    body = cj.BodySolid(mesh, cj.MaterialStVK(1e5, 0.3, 1e3), fixed=fixed, damping=damping)
    model = reduce(body, np.eye(3 * body.vertex_count)[:, body.free_dofs])
    frames, dt = 25, 0.01
    random = np.random.default_rng(0)
    start = cj.InitialState(
        0.05 * random.normal(size=(body.vertex_count, 3)), random.normal(size=(body.vertex_count, 3))
    )
    start.displacement[fixed], start.velocity[fixed] = 0, 0  # type: ignore[index]
    forces = 20 * random.normal(size=(frames, body.vertex_count, 3))
    forces[0] = 0
    whole = cj.simulate(body, frames, dt, force=forces, start=start)
    path = model.rollout(
        forces[1:].reshape(frames - 1, -1) @ model.basis,
        dt,
        state=model.project(start.displacement),  # type: ignore[arg-type]
        velocity=model.project(start.velocity),  # type: ignore[arg-type]
    )
    moved = whole.positions[1:] - body.vertices
    assert abs(moved).max() > 0.1
    np.testing.assert_allclose(model.lift(path.coordinates), moved, rtol=0, atol=1e-7 * abs(moved).max())
    assert whole.velocities is not None
    speeds = whole.velocities[1:]
    np.testing.assert_allclose(model.lift(path.velocities), speeds, rtol=0, atol=1e-7 * abs(speeds).max())


def test_linear_oscillation_reference() -> None:
    """Small free vibration of a mode: average acceleration turns by 2 atan(ωh/2) a step and keeps its amplitude."""
    model = beam_model((0.0, 0.0))
    h, first = 0.3 / model.first_angular_frequency, np.array([1e-7, 0, 0])
    path = model.rollout(np.zeros((60, 3)), h, state=first)
    phase = 2 * np.arctan(0.5 * h * model.first_angular_frequency) * np.arange(1, 61)
    np.testing.assert_allclose(path.coordinates[:, 0], 1e-7 * np.cos(phase), rtol=0, atol=2e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_step_identity(beta: float) -> None:
    """Every step satisfies z̈ + D(z) ż + f(z) = w and the recurrences of Newmark, with steps of any length."""
    model = model_with(beta)
    steps = np.random.default_rng(0).uniform(0.004, 0.02, 16)
    W = pushes(model, 15, 0.01)
    start = compute_predictor(model.kernel_data, state_of(model), state_of(model, 5), steps[0])
    path = rollout(model.kernel_data, build_newmark_coefficients(steps), start, W)
    for n in range(15):
        q, v, a, h = path.coordinates[n], path.velocities[n], path.accelerations[n], steps[n]
        K = model.stiffness(q)
        drag = 0.7 * v + beta * (K @ v)
        left = a + drag + model.force(q)
        np.testing.assert_allclose(left, W[n], rtol=0, atol=1e-9 * float(np.linalg.norm(model.force(q))))
        np.testing.assert_allclose(
            path.coordinate_jacobians[n], K + beta * model.stiffness_derivative(q, v), rtol=1e-9, atol=1e-9
        )
        np.testing.assert_allclose(path.velocity_jacobians[n], 0.7 * np.eye(4) + beta * K, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(q, path.predicted_coordinates[n] + h**2 / 4 * a, rtol=0, atol=1e-13)
        np.testing.assert_allclose(v, path.predicted_velocities[n] + h / 2 * a, rtol=0, atol=1e-12)
        after = steps[n + 1]
        np.testing.assert_allclose(
            path.predicted_coordinates[n + 1], q + after * v + after**2 / 4 * a, rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(path.predicted_velocities[n + 1], v + after / 2 * a, rtol=0, atol=1e-12)
    q0, v0, h = state_of(model), state_of(model, 5), steps[0]
    a0 = -(model.force(q0) + 0.7 * v0 + beta * (model.stiffness(q0) @ v0))
    np.testing.assert_allclose(start[0], q0 + h * v0 + h**2 / 4 * a0, rtol=1e-12)
    np.testing.assert_allclose(start[1], v0 + h / 2 * a0, rtol=1e-12)


def cost(path: Trajectory, targets: Array, end: Array) -> float:
    """½ Σ |q - t|² + end · x_T, so that ∂E/∂q = q - t and ∂E/∂x_T = end."""
    last = np.concatenate([path.predicted_coordinates[-1], path.predicted_velocities[-1]])
    return float(0.5 * ((path.coordinates - targets) ** 2).sum() + end @ last)


@pytest.mark.parametrize("beta", BETAS)
def test_adjoint_agreement(beta: float) -> None:
    """dE/dw and dE/dx₀ against central differences: within 1e-7."""
    model, random = model_with(beta), np.random.default_rng(3)
    plan = build_newmark_coefficients(random.uniform(0.005, 0.015, 13))
    W = pushes(model, 12, 0.01)
    x0 = np.concatenate([state_of(model), state_of(model, 6)])
    targets = np.stack([state_of(model, 20 + n) for n in range(12)])
    end = 0.1 * random.normal(size=8)

    def energy(W: Array, x: Array) -> float:
        return cost(rollout(model.kernel_data, plan, (x[:4], x[4:]), W), targets, end)

    path = rollout(model.kernel_data, plan, (x0[:4], x0[4:]), W)
    slope, first = solve_adjoint(plan, path, path.coordinates - targets, end)
    for exact, near in (
        (slope, differences(lambda y: energy(y, x0), W)),
        (first, differences(lambda y: energy(W, y), x0)),
    ):
        assert np.linalg.norm(near - exact) <= 1e-7 * np.linalg.norm(exact)


def differences(function: Callable[[Array], float], at: Array) -> Array:
    """The gradient by central differences of fourth order, whose own error stays below what is asked of the adjoint."""
    out, step = np.empty(at.size), 3e-3 * abs(at).max()
    for i in range(at.size):
        ahead = step * np.eye(at.size)[i].reshape(at.shape)
        one = function(at + ahead) - function(at - ahead)
        two = function(at + 2 * ahead) - function(at - 2 * ahead)
        out[i] = (8 * one - two) / (12 * step)
    return out.reshape(at.shape)


def test_adjoint_twin_agreement() -> None:
    """The sweep equals dense algebra: the transposed Jacobian of the linearised steps, solved at once."""
    model, random = model_with(0.02, 3), np.random.default_rng(1)
    T, r = 6, 3
    plan = build_newmark_coefficients(random.uniform(0.005, 0.015, T + 1))
    start = compute_predictor(model.kernel_data, state_of(model), state_of(model, 6), 0.01)
    path = rollout(model.kernel_data, plan, start, pushes(model, T, 0.01))
    Eq, end = random.normal(size=(T, r)), random.normal(size=2 * r)
    # dq_n and dx_T as linear functions of all dw, built forwards one control at a time
    slope = np.empty((T, r))
    for n in range(T):
        for i in range(r):
            x = np.zeros(2 * r)
            total = 0.0
            for m in range(T):
                bh, gh, hp, c1, c2 = plan[m]
                Ga = np.eye(r) + gh * path.velocity_jacobians[m] + bh * path.coordinate_jacobians[m]
                dw = np.eye(r)[i] * (m == n)
                da = np.linalg.solve(Ga, dw - path.coordinate_jacobians[m] @ x[:r] - path.velocity_jacobians[m] @ x[r:])
                total += Eq[m] @ (x[:r] + bh * da)
                x = np.concatenate([x[:r] + hp * x[r:] + c1 * da, x[r:] + c2 * da])
            slope[n, i] = total + end @ x
    ours, _ = solve_adjoint(plan, path, Eq, end)
    np.testing.assert_allclose(ours, slope, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_curvature_derivative(beta: float) -> None:
    """Mqq and Mqv are the derivatives of λᵀ∂(f + d)/∂q along q and v."""
    model = model_with(beta)
    q, v, lam, dq = (state_of(model, seed) for seed in (1, 2, 3, 4))
    work = kernels_trajectory.allocate_workspace(model.kernel_data)

    def slope(q: Array, v: Array) -> Array:
        F, Gq, Gv = np.empty(4), np.empty((4, 4)), np.empty((4, 4))
        kernels_trajectory.evaluate(model.kernel_data, q, v, work, F, Gq, Gv)
        return Gq.T @ lam

    Mqq, Mqv = np.empty((4, 4)), np.empty((4, 4))
    kernels_trajectory.compute_contracted_hessian(model.kernel_data, q, v, lam, work, Mqq, Mqv)
    check_derivative(lambda x: slope(x, v), Mqq @ dq, q, dq)
    if beta:
        check_derivative(lambda y: slope(q, y), Mqv @ dq, v, dq)
    else:
        assert not Mqv.any()


def test_pd_twin_agreement() -> None:
    """A PD rollout is the rollout under the forces of its own law, w = kp (target - P) - kd V."""
    model = model_with(0.02)
    plan = build_newmark_coefficients(np.full(31, 0.01))
    start = compute_predictor(model.kernel_data, np.zeros(4), np.zeros(4), 0.01)
    goal = np.tile(state_of(model), (30, 1))
    path = rollout_pd(model.kernel_data, plan, start, goal, 40.0)
    assert path is not None
    np.testing.assert_allclose(
        path.controls,
        1600 * (goal - path.predicted_coordinates[:-1]) - 80 * path.predicted_velocities[:-1],
        rtol=1e-12,
        atol=1e-9,
    )
    again = rollout(model.kernel_data, plan, start, path.controls)
    np.testing.assert_allclose(again.coordinates, path.coordinates, rtol=0, atol=1e-9)
    assert np.linalg.norm(path.coordinates[-1] - goal[-1]) < np.linalg.norm(goal[-1])


def test_follow_twin_agreement() -> None:
    """A closed-loop rollout obeys w = w_old + Ga (αk + K dx) + Gq dP + Gv dV, and is a rollout under these controls."""
    model, random = model_with(0.02), np.random.default_rng(5)
    plan = build_newmark_coefficients(np.full(13, 0.01))
    start = compute_predictor(model.kernel_data, state_of(model), np.zeros(4), 0.01)
    old = rollout(model.kernel_data, plan, start, pushes(model, 12, 0.01))
    gains, moves = 5 * random.normal(size=(12, 4, 8)), 20 * random.normal(size=(12, 4))
    new = rollout_closed_loop(model.kernel_data, plan, start, old, gains, moves, 0.5)
    assert new is not None
    for n in range(12):
        dP, dV = (
            new.predicted_coordinates[n] - old.predicted_coordinates[n],
            new.predicted_velocities[n] - old.predicted_velocities[n],
        )
        Ga = np.eye(4) + plan[n, 1] * old.velocity_jacobians[n] + plan[n, 0] * old.coordinate_jacobians[n]
        da = 0.5 * moves[n] + gains[n] @ np.concatenate([dP, dV])
        want = old.controls[n] + Ga @ da + old.coordinate_jacobians[n] @ dP + old.velocity_jacobians[n] @ dV
        np.testing.assert_allclose(new.controls[n], want, rtol=1e-10, atol=1e-9)
    assert np.linalg.norm(new.coordinates - old.coordinates) > 1e-3 * np.linalg.norm(old.coordinates)
    np.testing.assert_allclose(
        rollout(model.kernel_data, plan, start, new.controls).coordinates, new.coordinates, rtol=0, atol=1e-9
    )
    still = rollout_closed_loop(model.kernel_data, plan, start, old, gains, 0 * moves, 1.0)
    assert still is not None
    np.testing.assert_allclose(still.coordinates, old.coordinates, rtol=0, atol=1e-10)


def test_guess_agreement() -> None:
    """Where Newton starts decides nothing but how long it takes."""
    model = model_with(0.02)
    plan = build_newmark_coefficients(np.full(13, 0.01))
    start = compute_predictor(model.kernel_data, state_of(model), np.zeros(4), 0.01)
    W = pushes(model, 12, 0.01)
    cold = rollout(model.kernel_data, plan, start, W)
    warm = rollout(model.kernel_data, plan, start, W, guess=cold.accelerations + 0.1 * abs(cold.accelerations).max())
    np.testing.assert_allclose(warm.coordinates, cold.coordinates, rtol=0, atol=1e-10)


def test_prediction_order() -> None:
    """Where Newton starts is wrong by the square of the step: halving every change quarters the error."""
    model, steps = model_with(0.02), 0.001 * 0.5 ** np.arange(5)
    errors = []
    for h in steps:
        W = np.array([np.zeros(4), 100 * h * (model.stiffness() @ state_of(model, 4))])
        start = compute_predictor(model.kernel_data, state_of(model), state_of(model, 5), h)
        path = rollout(model.kernel_data, build_newmark_coefficients(np.full(3, h)), start, W)
        work = kernels_trajectory.allocate_workspace(model.kernel_data)
        assert kernels_trajectory._predict_acceleration(
            build_newmark_coefficients(np.full(3, h))[1], path.kernel_arrays, 1, work
        )
        errors.append(np.linalg.norm(work[1][4] - path.accelerations[1]))
    assert regressed_order(steps, np.array(errors)) > 1.8


def test_solve_twin_agreement() -> None:
    """Elimination with pivots equals LAPACK, also where the first pivot is zero; a singular matrix is told."""
    random = np.random.default_rng(0)
    for size in (1, 2, 7, 24):
        A, b = random.normal(size=(size, size)), random.normal(size=size)
        A[0, 0] = 1.0 if size == 1 else 0.0
        x = b.copy()
        assert kernels_trajectory._solve(A.copy(), x)
        np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-9)
    assert not kernels_trajectory._solve(np.ones((2, 2)), np.ones(2))


def test_packed_motion_agreement() -> None:
    """With packed tables every step still balances the forces of the body itself, projected."""
    model = reduced(40)
    assert model.polynomial.C2.shape[0] == 1
    body = model.body
    path = model.rollout(np.zeros((5, 40)), 1e-3, state=state_of(model, largest=0.05))
    for q, v, a in zip(path.coordinates, path.velocities, path.accelerations):
        u, rate = model.lift(q), model.lift(v)
        left = a + model.basis.T @ body.total_force(u, rate).ravel()
        assert np.linalg.norm(left) < 1e-8 * np.linalg.norm(a)


def test_rollout_bad_input() -> None:
    model = model_with(0.0)
    for options, message in (
        ({"controls": np.zeros((3, 5))}, r"controls has shape \(3, 5\), but \(any, 4\)"),
        ({"controls": np.full((3, 4), np.nan)}, r"controls\[0, 0\] is nan"),
        ({"dt": 0.0}, r"dt \(s\) is 0.0, but must be positive"),
        ({"state": np.zeros(3)}, r"state has shape \(3,\), but \(4,\)"),
        ({"velocity": [0, 0, np.inf, 0]}, r"velocity\[2\] is inf"),
    ):
        given: dict[str, object] = {"controls": np.zeros((3, 4)), "dt": 0.01}
        with pytest.raises(cj.InputError, match=message):
            model.rollout(**(given | options))  # type: ignore[arg-type]


def test_rollout_hopeless_bad_input() -> None:
    model = model_with(0.0)
    W = np.zeros((4, 4))
    W[2] = 1e200
    with pytest.raises(cj.NotConverged, match="step 3 did not converge; use a smaller dt, or smaller controls"):
        model.rollout(W, 0.01)
