"""Newton's method for `keyframe`, with closed-loop rollouts: one Riccati sweep and a few simulations an iteration.

A backward pass gives feedback gains K_n and feed-forward k_n; the step simulates with w_n + α k_n + K_n (x'_n - x_n).
The feedback keeps the stiff modes on course during the step, so that steps are long where a straight line in the
controls would have to be tiny. As much of the second-order terms is used as leaves all pivots positive definite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cajole.arrays import Array
from cajole.direct import kernels_riccati
from cajole.direct.keyframing.problem import KeyframeProblem, get_start_state
from cajole.linalg.line_search import backtrack, satisfies_armijo
from cajole.reduction.trajectory import Trajectory, rollout_closed_loop


@dataclass(frozen=True)
class NewtonOptions:
    """Tolerances and limits of `minimise`."""

    # Gradient at convergence, relative to that of the start.
    tolerance: float = 1e-9
    max_iterations: int = 100
    # Shares of the second-order terms, tried in turn.
    second_order_shares: tuple[float, ...] = (1.0, 0.5, 0.25, 0.0)
    # Lengths 1, ½, … of a step.
    max_step_lengths: int = 5
    # Damping above which no direction lowers the cost.
    max_damping: float = 1e8
    # Largest violation of a constraint, in body sizes; Newton's method ends far below it, and rounding too.
    constraint_tolerance: float = 1e-11


# Least curvature of a free start, relative to the unit of a state: no key depends on some states.
MIN_START_CURVATURE = 1e-8


@dataclass
class BackwardPass:
    """Result of one backward pass: gains (T, r, 2r), feed-forward (T, r), and the value function at the start."""

    gains: Array
    feedforward: Array
    inverse_hessians: Array
    value_hessian: Array
    value_gradient: Array
    expected_change: float


@dataclass(frozen=True)
class ShotNewtonStep:
    """A direction: gains and feed-forward, change of the start (2r,), multipliers, and the slope of the merit."""

    gains: Array
    feedforward: Array
    start_change: Array
    multipliers: Array
    merit_slope: float


@dataclass(frozen=True)
class Iterate:
    """State of an optimisation, passed to the callback in every iteration."""

    iteration: int
    trajectory: Trajectory
    cost: float
    gradient_norm: float


@dataclass
class OptimisationStopped(Exception):
    """Raised when the caller stops the optimisation, with the iterate reached."""

    iterate: Iterate


@dataclass(frozen=True)
class ShotSolution:
    """The best motion found, and whether its gradient fell below the tolerance."""

    trajectory: Trajectory
    cost: float
    gradient_norm: float
    initial_gradient_norm: float
    iterations: int
    converged: bool
    gains: Array
    message: str
    multipliers: Array


def run_backward_pass(
    problem: KeyframeProblem, trajectory: Trajectory, adjoint: Array, second_order_share: float, damping: float
) -> BackwardPass | None:
    """The backward pass around a trajectory; None when a pivot is not positive definite."""
    T, r = trajectory.controls.shape
    out = BackwardPass(
        np.empty((T, r, 2 * r)), np.empty((T, r)), np.empty((T, r, r)), np.empty((2 * r, 2 * r)), np.empty(2 * r), 0
    )
    # the value of the periodicity residual cancels on the linearised constraint: it makes the pivots positive
    last = np.diag(problem.state_weights) if problem.boundary == "loop" else np.zeros((2 * r, 2 * r))
    ok, out.expected_change = kernels_riccati.sweep_backward(
        problem.system,
        problem.coefficients,
        trajectory.coordinates,
        trajectory.velocities,
        trajectory.controls + problem.bias,
        trajectory.coordinate_jacobians,
        trajectory.velocity_jacobians,
        adjoint,
        problem.effort,
        problem.key_index,
        problem.key_hessians,
        problem.compute_key_gradient(trajectory),
        second_order_share,
        damping,
        last,
        np.zeros(2 * r),
        out.gains,
        out.feedforward,
        out.inverse_hessians,
        out.value_hessian,
        out.value_gradient,
    )
    return out if ok else None


def solve_constrained_step(
    problem: KeyframeProblem, trajectory: Trajectory, backward: BackwardPass, damping: float
) -> ShotNewtonStep | None:
    """The Newton step that meets the linearised constraints; None when it is not a descent direction."""
    (T, r), M, hard_count = backward.feedforward.shape, problem.multiplier_count, len(problem.constraint_rows)
    # sensitivities to the multipliers: kc (T, r, M), S11 (M, M) = -J H⁻¹ Jᵀ, S10 (M,), G (M, 2r)
    rows, step, start = np.zeros((M, r)), np.full(M, -1), np.zeros((2 * r, M))
    rows[:hard_count], step[:hard_count] = problem.constraint_rows, problem.constraint_steps
    start[:, hard_count:] = np.eye(2 * r)[:, : M - hard_count]
    kc, S11, S10, G = np.empty((T, r, M)), np.empty((M, M)), np.empty(M), np.empty((M, 2 * r))
    kernels_riccati.compute_multiplier_sensitivities(
        problem.coefficients, backward.gains, backward.feedforward, backward.inverse_hessians, rows, step, start,
        kc, S11, S10, G,
    )  # fmt: skip
    if hard_count < M:
        G[hard_count:] -= np.eye(2 * r)
    solved = _solve_kkt(problem, backward, (S11, S10, G), trajectory, damping)
    if solved is None:
        return None
    start_change, multipliers = solved
    feedforward = backward.feedforward + kc @ multipliers
    dW, end = simulate_linear_response(problem.coefficients, trajectory, backward.gains, feedforward, start_change)
    periodicity = problem.compute_periodicity_residual(trajectory)
    if len(periodicity):
        # the slope of the value ½ dx_Tᵀ D dx_T of the sweep is no part of the multiplier
        multipliers[hard_count:] += problem.state_weights * end
    gradient = problem.compute_gradient(trajectory, multipliers)
    slope = float(
        (gradient.controls * dW).sum()
        + gradient.start @ start_change
        - periodicity @ (problem.state_weights[: len(periodicity)] * periodicity)
    )
    if slope < 0 or np.abs(slope) < 1e-300:
        return ShotNewtonStep(backward.gains, feedforward, start_change, multipliers, slope)
    return None


def _solve_kkt(
    problem: KeyframeProblem,
    backward: BackwardPass,
    sensitivities: tuple[Array, Array, Array],
    trajectory: Trajectory,
    damping: float,
) -> tuple[Array, Array] | None:
    """Change of the start (2r,) and multipliers ν; None when a matrix that must be definite is not."""
    S11, S10, G = sensitivities
    residuals, unit = problem.compute_constraint_residuals(trajectory), problem.state_weights
    if problem.boundary == "open":
        nu = _solve_positive_definite(-S11, S10 + residuals)
        return None if nu is None else (np.zeros(len(unit)), nu)
    P0 = backward.value_hessian + problem.start_cost
    p0 = backward.value_gradient + problem.start_cost @ get_start_state(trajectory)
    if problem.boundary == "free" and np.isfinite(P0).all():
        # absolute curvatures, in the units of a state: away from a saddle, not towards it
        root = np.sqrt(unit)
        values, vectors = np.linalg.eigh(P0 / np.outer(root, root))
        P0 = (vectors * np.maximum(np.abs(values), MIN_START_CURVATURE)) @ vectors.T * np.outer(root, root)
    P0 += damping * np.diag(unit)
    if problem.boundary == "free" and len(residuals) == 0:
        start = _solve_positive_definite(P0, -p0)
        return None if start is None else (start, np.empty(0))
    periodicity = problem.compute_periodicity_residual(trajectory)
    if len(periodicity):
        P0, p0 = P0 - np.diag(unit), p0 + unit * periodicity
    A, b = np.block([[P0, G.T], [G, S11]]), -np.concatenate([p0, S10 + residuals])
    largest = np.abs(A).max(axis=1)
    if not (np.isfinite(A).all() and (largest > 0).all()):
        return None
    scale = 1.0 / np.sqrt(largest)
    try:
        x = scale * np.linalg.solve(A * np.outer(scale, scale), scale * b)
    except np.linalg.LinAlgError:
        return None
    return (x[: len(p0)], x[len(p0) :]) if np.isfinite(x).all() else None


def _solve_positive_definite(A: Array, b: Array) -> Array | None:
    diagonal = np.diag(A)
    if not (np.isfinite(A).all() and (diagonal > 0).all()):
        return None
    scale = 1.0 / np.sqrt(diagonal)
    try:
        factor = scipy.linalg.cho_factor(A * np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return None
    return np.asarray(scale * scipy.linalg.cho_solve(factor, scale * b))


def simulate_linear_response(
    coefficients: Array, trajectory: Trajectory, gains: Array, feedforward: Array, start_change: Array
) -> tuple[Array, Array]:
    """dW (T, r) and dx_T (2r,) of the linearised closed loop from a change of the start (2r,)."""
    r = trajectory.controls.shape[1]
    dP, dV = start_change[:r].copy(), start_change[r:].copy()
    dW, by_q, by_v = np.empty_like(trajectory.controls), trajectory.coordinate_jacobians, trajectory.velocity_jacobians
    for n, (bh, gh, hp, c1, c2) in enumerate(coefficients):
        da = feedforward[n] + gains[n] @ np.concatenate([dP, dV])
        dW[n] = da + by_q[n] @ (dP + bh * da) + by_v[n] @ (dV + gh * da)
        dP, dV = dP + hp * dV + c1 * da, dV + c2 * da
    return dW, np.concatenate([dP, dV])


@dataclass
class _NewtonState:
    """A motion with its multipliers, and the cost, gradient and feasibility that follow from them."""

    problem: KeyframeProblem
    trajectory: Trajectory
    multipliers: Array
    constraint_tolerance: float

    def __post_init__(self) -> None:
        problem, trajectory = self.problem, self.trajectory
        self.cost = problem.compute_cost(trajectory)
        gradient = problem.compute_gradient(trajectory, self.multipliers)
        self.adjoint, self.gradient_norm = gradient.adjoint, problem.compute_gradient_norm(gradient)
        self.is_feasible = (
            problem.is_constraint_free or problem.compute_constraint_violation(trajectory) <= self.constraint_tolerance
        )


def minimise(
    problem: KeyframeProblem,
    trajectory: Trajectory,
    *,
    multipliers: Array | None = None,
    gradient_scale: float | None = None,
    options: NewtonOptions | None = None,
    callback: Callable[[Iterate], None] | None = None,
) -> ShotSolution:
    """Minimise the cost from a simulated motion until the gradient falls to the tolerance.

    multipliers: first guess of ν, zero when None; gradient_scale: the gradient that the tolerance is relative to, that
    of the start when None.
    """
    limits = options or NewtonOptions()
    nu = np.zeros(problem.multiplier_count) if multipliers is None else multipliers
    state = _NewtonState(problem, trajectory, nu, limits.constraint_tolerance)
    initial_gradient_norm = state.gradient_norm if gradient_scale is None else gradient_scale
    target = limits.tolerance * initial_gradient_norm
    damping, message = 0.0, ""
    for iteration in range(limits.max_iterations):
        if callback is not None:
            callback(Iterate(iteration, state.trajectory, state.cost, state.gradient_norm))
        if (state.gradient_norm <= target or state.gradient_norm == 0.0) and state.is_feasible:
            break
        step = _find_descent_step(problem, state, damping, limits.second_order_shares)
        found = None if step is None else _search_line(problem, state.trajectory, step, limits.max_step_lengths)
        if found is None or step is None:
            damping = max(4.0 * damping, 1.0)
            if damping > limits.max_damping:
                message = "no direction lowers the cost any more"
                break
            continue
        trajectory, is_full, is_flat = found
        damping = (0.0 if damping < 1.0 else 0.25 * damping) if is_full else damping
        state = _NewtonState(problem, trajectory, step.multipliers, limits.constraint_tolerance)
        if is_flat and state.gradient_norm > target:
            message = "the cost no longer changes in double precision"
            break
    else:
        message = f"{limits.max_iterations} iterations were not enough"
    return ShotSolution(
        state.trajectory,
        state.cost,
        state.gradient_norm,
        initial_gradient_norm,
        iteration,
        state.gradient_norm <= target and state.is_feasible,
        compute_feedback_gains(problem, state.trajectory, state.multipliers),
        message,
        state.multipliers,
    )


def compute_feedback_gains(problem: KeyframeProblem, trajectory: Trajectory, multipliers: Array | None = None) -> Array:
    """Gains (T, r, 2r) of the optimal feedback around a motion; zero where rounding spoils the pivots."""
    adjoint = problem.compute_gradient(trajectory, multipliers).adjoint
    for share in NewtonOptions.second_order_shares:
        backward = run_backward_pass(problem, trajectory, adjoint, share, 0.0)
        if backward is not None:
            return backward.gains
    return np.zeros((*trajectory.controls.shape, 2 * trajectory.controls.shape[1]))


def _find_descent_step(
    problem: KeyframeProblem, state: _NewtonState, damping: float, second_order_shares: tuple[float, ...]
) -> ShotNewtonStep | None:
    """The step with the largest share of the second-order terms that is a descent direction; None without one."""
    for share in second_order_shares:
        backward = run_backward_pass(problem, state.trajectory, state.adjoint, share, damping)
        if backward is None:
            continue
        if problem.is_constraint_free:
            no_change = np.zeros(len(problem.state_weights))
            return ShotNewtonStep(
                backward.gains, backward.feedforward, no_change, state.multipliers, backward.expected_change
            )
        step = solve_constrained_step(problem, state.trajectory, backward, damping)
        if step is not None:
            return step
    return None


def _search_line(
    problem: KeyframeProblem, trajectory: Trajectory, step: ShotNewtonStep, max_step_lengths: int
) -> tuple[Trajectory, bool, bool] | None:
    """The closed-loop rollout of the longest step that decreases the merit; None without one.

    And whether the step was full, and whether the merit stayed the same to rounding.
    """
    before = problem.compute_merit(trajectory, step.multipliers)
    # the merit cancels: its rounding is that of its parts
    violation = np.abs(step.multipliers) @ np.abs(problem.compute_constraint_residuals(trajectory))
    parts = abs(problem.compute_cost(trajectory)) + float(violation)
    r = trajectory.controls.shape[1]

    def simulate(length: float) -> tuple[Trajectory, float] | None:
        start = (
            trajectory.predicted_coordinates[0] + length * step.start_change[:r],
            trajectory.predicted_velocities[0] + length * step.start_change[r:],
        )
        trial = rollout_closed_loop(
            problem.system, problem.coefficients, start, trajectory, step.gains, step.feedforward, length
        )
        return None if trial is None else (trial, problem.compute_merit(trial, step.multipliers))

    def accept(trial: tuple[Trajectory, float], length: float) -> bool:
        # at the end costs agree to rounding and the Newton step is trusted
        is_trusted = abs(step.merit_slope) <= 1e-13 * parts and trial[1] <= before + 1e-14 * parts
        return is_trusted or satisfies_armijo(trial[1], before, step.merit_slope, length)

    found = backtrack(simulate, accept, max_trials=max_step_lengths)
    if found is None or not found.accepted:
        return None
    return found.trial[0], found.length == 1.0, abs(found.trial[1] - before) <= 1e-15 * parts
