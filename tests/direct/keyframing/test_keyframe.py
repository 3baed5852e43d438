"""`keyframe` with soft keys: exact gradients, Newton steps against dense algebra, and what its dials mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from keyframe_cases import LENGTH, beam, poses, problem, shot, tip
from numpy.typing import NDArray

import cajole as cj
from cajole.direct.keyframing.newton import Iterate, run_backward_pass, simulate_linear_response, solve_constrained_step
from cajole.direct.keyframing.problem import KeyframeProblem
from cajole.direct.keyframing.setup import compute_natural_frequencies
from cajole.reduction import BasisReport
from cajole.reduction.trajectory import Trajectory, build_newmark_coefficients, rollout, rollout_closed_loop
from derivatives import check_derivative

Array = NDArray[np.float64]


def simulated(task: KeyframeProblem, random: np.random.Generator) -> Trajectory:
    W = 3.0 * random.standard_normal((len(task.coefficients), len(task.bias)))
    return rollout(task.system, task.coefficients, task.start, W)


def with_rows(task: KeyframeProblem, random: np.random.Generator) -> KeyframeProblem:
    """Three random rows at the second key, and one at a step between."""
    r = len(task.bias)
    return replace(
        task,
        constraint_rows=random.standard_normal((4, r)),
        constraint_steps=np.array([11, 11, 11, 8]),
        constraint_targets=np.ones(4),
    )


@pytest.mark.parametrize("ending", ["open", "loop"])
def test_gradient_of_controls_derivative(random: np.random.Generator, ending: str) -> None:
    task = with_rows(replace(problem(), boundary=ending), random)
    path = simulated(task, random)
    nu = task.key_hessians[0, 0, 0] * random.standard_normal(task.multiplier_count)  # in the unit of the keys' pulls
    direction = 20.0 * random.standard_normal(path.controls.shape)

    def lagrangian(W: Array) -> float:
        moved = rollout(task.system, task.coefficients, task.start, W)
        return task.compute_cost(moved) + float(nu @ task.compute_constraint_residuals(moved))

    slope = (task.compute_gradient(path, nu).controls * direction).sum()
    check_derivative(lagrangian, slope, path.controls, direction)
    step = 1e-3
    central = (lagrangian(path.controls + step * direction) - lagrangian(path.controls - step * direction)) / (2 * step)
    assert central == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("ending", ["free", "loop"])
def test_gradient_of_start_derivative(random: np.random.Generator, ending: str) -> None:
    r = len(problem().bias)
    task = replace(problem(), boundary=ending, start_cost=(0.02 if ending == "free" else 0.0) * np.eye(2 * r))
    path = simulated(task, random)
    nu = task.key_hessians[0, 0, 0] * random.standard_normal(task.multiplier_count)  # in the unit of the keys' pulls

    def lagrangian(x: Array) -> float:
        moved = rollout(task.system, task.coefficients, (x[:r], x[r:]), path.controls)
        return task.compute_cost(moved) + float(nu @ task.compute_constraint_residuals(moved))

    direction = random.standard_normal(2 * r)
    x = np.concatenate(task.start)
    check_derivative(lagrangian, task.compute_gradient(path, nu).start @ direction, x, direction)


def dense_step(task: KeyframeProblem, path: Trajectory, s: Array, theta: float) -> tuple[Array, Array, Array]:
    """dW, dx₀ and multipliers of the same quadratic model by one dense KKT solve; no recursion takes part."""
    T, r = path.controls.shape
    starts = 0 if task.boundary == "open" else 2 * r
    size = starts + T * r
    P, V = np.zeros((r, size)), np.zeros((r, size))
    if starts:
        P[:, :r], V[:, r : 2 * r] = np.eye(r), np.eye(r)
    x0 = np.vstack([P, V])
    H, g, dWs = np.zeros((size, size)), np.zeros(size), []
    H[:starts, :starts] = task.start_cost[:starts, :starts]
    g[:starts] = (task.start_cost @ np.concatenate([path.predicted_coordinates[0], path.predicted_velocities[0]]))[
        :starts
    ]
    J = [np.empty((0, size))]
    by_row = {}
    for n, (bh, gh, hp, c1, c2) in enumerate(task.coefficients):
        A = np.zeros((r, size))
        A[:, starts + n * r : starts + (n + 1) * r] = np.eye(r)
        q, v = P + bh * A, V + gh * A
        dW = A + path.coordinate_jacobians[n] @ q + path.velocity_jacobians[n] @ v
        dWs.append(dW)
        H += task.effort[n] * dW.T @ dW
        g += task.effort[n] * dW.T @ path.controls[n]
        if task.key_index[n] >= 0:
            k = task.key_index[n]
            H += q.T @ task.key_hessians[k] @ q
            g += q.T @ task.key_hessians[k] @ (path.coordinates[n] - task.key_states[k])
        Mqq, Mqv = second_order(task, path.coordinates[n], path.velocities[n], -s[n])
        mixed = q.T @ Mqv @ v
        H += theta * (q.T @ Mqq @ q + mixed + mixed.T)
        by_row |= {j: task.constraint_rows[j] @ q for j in np.flatnonzero(task.constraint_steps == n)}
        P, V = P + hp * V + c1 * A, V + c2 * A
    J += [by_row[j][None] for j in sorted(by_row)]
    J += [np.vstack([P, V]) - x0] if task.boundary == "loop" else []
    C = np.vstack(J)
    kkt = np.block([[H, C.T], [C, np.zeros((len(C), len(C)))]])
    solved = np.linalg.solve(kkt, -np.concatenate([g, task.compute_constraint_residuals(path)]))
    return np.stack([dW @ solved[:size] for dW in dWs]), solved[:starts], solved[size:]


def second_order(task: KeyframeProblem, q: Array, v: Array, lam: Array) -> tuple[Array, Array]:
    """∂²/∂q² and ∂²/∂q∂v of λ·(f + d), from the model's own H(z):v, which is affine in z."""
    model = _model_of(task)
    change = model.stiffness_derivative(q, lam)
    return change + model.beta * (model.stiffness_derivative(q + v, lam) - change), model.beta * change


def _model_of(task: KeyframeProblem) -> cj.reduction.ReducedSolid:
    from cajole.reduction.reduced_solid import ReducedSolid, StVKPolynomial

    r = len(task.bias)
    model = ReducedSolid(beam(), np.zeros((3 * beam().vertex_count, r)), StVKPolynomial(*task.system[:3]))
    model.kernel_data = task.system
    return model


@pytest.mark.parametrize("theta", [0.0, 0.25])
@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("ending", ["open", "free", "loop"])
def test_riccati_step_is_one_dense_solve_agreement(
    random: np.random.Generator, theta: float, ending: str, rows: bool
) -> None:
    # a free start in stiff directions is a dense system of condition 1e19, which proves nothing
    task = replace(problem(mild=ending == "free"), boundary=ending)
    task = replace(task, start_cost=0.02 * np.eye(len(task.start_cost))) if ending == "free" else task
    task = with_rows(task, random) if rows else task
    path = rollout(task.system, task.coefficients, task.start, 0.1 * random.standard_normal((12, len(task.bias))))
    s = 0.01 * task.compute_gradient(path, np.zeros(task.multiplier_count)).adjoint
    sweep = run_backward_pass(task, path, s, theta, 0.0)
    assert sweep is not None
    dW, start, nu = dense_step(task, path, s, theta)
    if task.is_constraint_free:
        ours, _ = simulate_linear_response(
            task.coefficients, path, sweep.gains, sweep.feedforward, np.zeros(2 * len(task.bias))
        )
    else:
        step = solve_constrained_step(task, path, sweep, 0.0)
        assert step is not None
        ours, _ = simulate_linear_response(task.coefficients, path, step.gains, step.feedforward, step.start_change)
        np.testing.assert_allclose(step.multipliers, nu, atol=1e-6 * np.abs(nu).max(initial=1.0))
        if ending != "open":
            np.testing.assert_allclose(step.start_change, start, atol=1e-6 * np.abs(start).max())
    np.testing.assert_allclose(ours, dW, atol=1e-6 * np.abs(dW).max())


def test_replayed_controls_give_the_states_identity() -> None:
    made = shot()
    again = made.model.rollout(made.controls, made.dt)
    np.testing.assert_allclose(again.coordinates, made.states[1:], atol=1e-8 * np.abs(made.states).max())
    np.testing.assert_allclose(made.animation.positions[0], beam().vertices, atol=1e-15)


def test_newton_ends_at_a_stationary_point_identity() -> None:
    report = shot().report
    assert report.converged
    assert report.relative_gradient <= 1e-8


@pytest.mark.parametrize("optimiser", ["lbfgs", "cg"])
def test_optimisers_reach_one_cost_agreement(optimiser: str) -> None:
    newton = shot(starts="zero", effort=1e-1).report
    other = shot(starts="zero", effort=1e-1, optimiser=optimiser, iterations=600).report
    assert other.cost == pytest.approx(newton.cost, rel=1e-6)


def test_gains_bring_a_pushed_motion_back_identity() -> None:
    """The last sweep's feedback is a controller: it ends nearer to the motion than no feedback does."""
    made = shot()
    model, start = made.model, made.start
    assert start is not None
    plan = build_newmark_coefficients(np.full(len(made.controls) + 1, made.dt))
    nominal = rollout(model.kernel_data, plan, start, made.controls)
    pushed = (start[0], start[1] + model.project(0.5 * poses()[1]))
    still = np.zeros_like(made.controls)
    led = rollout_closed_loop(model.kernel_data, plan, pushed, nominal, made.gains, still, 0.0)
    assert led is not None
    left = rollout(model.kernel_data, plan, pushed, made.controls)
    key = 19
    assert np.linalg.norm(led.coordinates[key] - nominal.coordinates[key]) < 0.2 * np.linalg.norm(
        left.coordinates[key] - nominal.coordinates[key]
    )


def test_every_start_is_reported_and_the_best_kept_identity() -> None:
    report = shot().report
    assert len(report.start_costs) >= 2
    assert report.cost == min(cost for _, cost in report.start_costs)


@pytest.mark.parametrize("options", [{}, {"loop": True, "frames": 24}, {"timing": "free", "starts": "pd"}])
def test_reported_cost_is_the_documented_one_agreement(options: dict[str, Any]) -> None:
    """J = ½ mean_k weight |Δz_k|²/(m L²) + ½ effort mean_n |w_n|²/(m (L ω₁²)²), computed from what a shot holds."""
    a, b = poses()
    wanted = [cj.Key(a, weight=2.0), cj.Key(b)]
    made = shot(keys=dict(zip((10, 20), wanted)), **options)
    model, report = made.model, made.report
    m, L, first = model.body.total_mass, model.body.size, model.first_angular_frequency
    misses = [
        key.weight * ((made.states[frame] - model.project(key.displacement)) ** 2).sum()
        for frame, key in zip(report.keys, wanted)
    ]
    effort = (made.controls**2).sum(axis=1).mean() / (m * (L * first**2) ** 2)
    J = 0.5 * np.mean(misses) / (m * L**2) + 0.5 * 1e-3 * effort
    assert report.cost == pytest.approx(J, rel=1e-9)
    assert report.cost == pytest.approx(min(cost for _, cost in report.start_costs), rel=1e-9)


def test_iterates_and_the_cost_before_timing_count_alike_agreement() -> None:
    seen: list[float] = []
    fixed = shot(starts="pd", watch=lambda iterate: seen.append(iterate.cost))
    assert min(seen) == pytest.approx(fixed.report.cost, rel=1e-12)
    freed = shot(starts="pd", timing="free").report
    assert freed.fixed_timing_cost == pytest.approx(fixed.report.cost, rel=1e-9)


def test_uneven_keys_keep_the_natural_pace_identity() -> None:
    """The shot takes the sum of the quarter periods of its gaps, however the frames are shared out among them."""
    a, b = poses()
    body = beam()
    even = shot(keys={20: a, 40: b}, frames=41, starts="zero")
    uneven = shot(keys={20: a, 40: b, 42: 0.9 * b}, frames=43, starts="zero")
    gaps = compute_natural_frequencies(body, np.stack([np.zeros_like(a), a, b, 0.9 * b]))
    assert even.dt * 40 == pytest.approx((np.pi / 2 / gaps[:2]).sum(), rel=1e-12)
    assert uneven.dt * 42 == pytest.approx((np.pi / 2 / gaps).sum(), rel=1e-12)
    # frames in which the body rests between two like keys have no natural time, and do not slow the others
    held = shot(keys={20: a, 40: a, 60: b}, frames=61, starts="zero")
    assert held.dt == pytest.approx(even.dt, rel=1e-12)


def test_dials_are_dimensionless_identity() -> None:
    a, b = poses()
    reference = shot()
    # the same shape, 3 times as long, 20 times as stiff, 2 times as dense: time scales with L √(density / young)
    scale, young, density = 3.0, 20.0, 2.0
    slower = scale * np.sqrt(density / young)
    other = cj.keyframe(
        beam(scale, 1e6 * young, 1e3 * density, slower), {10: scale * a, 20: scale * b}, 25, effort=1e-3, modes=3
    )
    assert other.dt == pytest.approx(slower * reference.dt, rel=1e-9)
    np.testing.assert_allclose(other.report.errors, reference.report.errors, rtol=1e-6)
    assert other.report.effort == pytest.approx(reference.report.effort, rel=1e-6)
    assert other.report.cost == pytest.approx(reference.report.cost, rel=1e-6)
    ours = reference.animation.positions
    np.testing.assert_allclose(other.animation.positions / scale, ours, atol=1e-6 * LENGTH)


def test_less_effort_paid_means_keys_missed_more_identity() -> None:
    shots = [shot(effort=effort).report for effort in (1.0, 1e-1, 1e-2, 1e-3, 1e-4)]
    misses = [np.sum(np.square(report.errors)) for report in shots]
    efforts = [report.effort for report in shots]
    assert np.all(np.diff(misses) < 0)
    assert np.all(np.diff(efforts) > 0)


def test_partial_key_takes_less_effort_identity() -> None:
    a, _ = poses()
    whole = shot(keys={20: cj.Key(a, hard=True)}).report
    part = shot(keys={20: cj.Key(a, hard=True, vertices=tip(beam())[:1])}).report
    assert part.effort < 0.99 * whole.effort


def test_heavier_key_is_met_closer_identity() -> None:
    a, b = poses()
    even = shot(effort=0.05).report.errors
    tilted = shot(effort=0.05, keys={10: cj.Key(a, weight=20.0), 20: b}).report.errors
    assert tilted[0] < 0.3 * even[0]


def test_start_state_is_kept_identity() -> None:
    a, b = poses()
    begun = shot(keys={0: a, 20: b})
    np.testing.assert_allclose(begun.animation.positions[0], beam().vertices + a, atol=1e-12)
    speed = 0.5 * a
    moving = shot(keys={20: b}, start=cj.InitialState(a, speed), modes=6)
    np.testing.assert_allclose(moving.animation.positions[0], beam().vertices + a, atol=1e-12)
    assert moving.animation.velocities is not None
    assert np.linalg.norm(moving.animation.velocities[0] - speed) <= 1e-6 * np.linalg.norm(speed)


def test_held_pose_between_equal_keys_identity() -> None:
    a, _ = poses()
    held = shot(keys={8: a, 14: a})
    assert np.isfinite(held.states).all()
    assert max(held.report.errors) < 0.02


def test_caller_may_stop_and_keeps_the_motion_identity() -> None:
    seen: list[Iterate] = []

    def watch(iterate: Iterate) -> bool:
        seen.append(iterate)
        return len(seen) < 4

    stopped = shot(watch=watch)
    assert len(seen) == 4
    assert not stopped.report.converged
    assert stopped.report.cost == seen[-1].cost
    assert "stopped by the caller" in str(stopped.report)


def test_bases_with_tangents_meet_far_keys_claim() -> None:
    """Barbič 2009, §4.1: without tangents the basis cannot leave the keys, so a large gap locks."""
    body = beam()
    far = cj.pose(body, loads={int(v): (0.0, 0.0, 130.0) for v in tip(body)})
    options = {"keys": {20: far}, "modes": 0, "effort": 1e-1}
    with_tangents, without = shot(**options).report, shot(**options, tangents=False).report
    assert with_tangents.errors[0] < 0.05
    assert without.errors[0] > 0.2


def test_spline_of_keys_loses_volume_and_physics_does_not_claim() -> None:
    """Barbič 2009, fig. 1: geometric interpolation of large rotations shrinks the body."""
    body = beam()
    bends = [cj.pose(body, loads={int(v): (0.0, 0.0, load) for v in tip(body)}) for load in (130.0, -130.0)]
    made = cj.keyframe(body, {14: bends[0], 28: bends[1]}, 29, effort=1e-3, modes=4)
    frames = np.arange(29)
    keys = np.stack([np.zeros_like(bends[0]), *bends])
    spline = np.stack([_catmull_rom(keys, frame / 14) for frame in frames])
    assert (
        np.abs(_volumes(made.animation.positions) - 1).max() < 0.5 * np.abs(_volumes(body.vertices + spline) - 1).max()
    )


def _catmull_rom(keys: Array, time: float) -> Array:
    i = min(int(time), len(keys) - 2)
    t = time - i
    p = [keys[int(np.clip(i + k, 0, len(keys) - 1))] for k in (-1, 0, 1, 2)]
    return 0.5 * (
        2 * p[1]
        + (p[2] - p[0]) * t
        + (2 * p[0] - 5 * p[1] + 4 * p[2] - p[3]) * t**2
        + (3 * p[1] - p[0] - 3 * p[2] + p[3]) * t**3
    )


def _volumes(positions: Array) -> Array:
    """Of each frame, in rest volumes."""

    def volume(x: Array) -> Array:
        corners = x[..., beam().mesh.tets, :]
        return np.linalg.det(corners[..., 1:, :] - corners[..., :1, :]).sum(axis=-1)

    return volume(positions) / volume(beam().vertices)


def test_report_tells_of_frames_and_hides_rounding_identity() -> None:
    made = shot()
    text = str(made.report)
    assert f"{len(made.states)} frames, {made.dt:.4g} s apart ({1 / made.dt:.4g} frames/s)" in text
    assert "missed" not in text
    assert made.report.notes == ()
    alone = str(BasisReport(1, 0, 0, (0.0, 2.4e-15, 0.02)))
    assert alone.splitlines()[1:] == ["  pose 2: missed 2.0e-02 of its size"]


def test_unreasonable_forces_get_a_note_claim() -> None:
    """Keys that must be met in a hundredth of the natural time, whatever it costs, need hundreds of weights."""
    hasty = shot(dt=1e-3, effort=1e-10)
    assert hasty.report.gentleness.max() > 100
    assert "weights are more than any gentle motion needs" in str(hasty.report)
