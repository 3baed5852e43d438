"""Gauss-Newton, then Newton, with closed-loop rollouts: each iteration is one Riccati sweep and a few simulations.

The sweep's feedback keeps the stiff modes on course while the step is taken, so steps are long where a straight line in
the controls would have to be tiny.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cajole.arrays import Array
from cajole.direct import kernels_riccati
from cajole.direct.keyframing.problem import KeyframeProblem
from cajole.linalg.line_search import backtrack, satisfies_armijo
from cajole.reduction.trajectory import Trajectory, rollout_closed_loop

# The least curvature of a free start, in units of a state: some states are seen by no key.
MIN_START_CURVATURE = 1e-8


@dataclass
class BackwardPass:
    """What one backward pass leaves behind."""

    gains: Array
    feedforward: Array
    inverse_hessians: Array
    value_hessian: Array
    value_gradient: Array
    expected_change: float


@dataclass(frozen=True)
class ShotNewtonStep:
    """A direction: feedback gains and moves, the change of the start (2r,), multipliers, and the slope of the merit."""

    gains: Array
    feedforward: Array
    start_change: Array
    multipliers: Array
    merit_slope: float


def solve_constrained_step(
    problem: KeyframeProblem, trajectory: Trajectory, backward: BackwardPass, damping: float
) -> ShotNewtonStep | None:
    """The Newton step that meets the linearised constraints; None when it is not a descent direction."""
    kc, S11, S10, G = _compute_multiplier_sensitivities(problem, backward)
    c = problem.compute_constraint_residuals(trajectory)
    solved = _solve_kkt(problem, backward, S11, S10, G, c, trajectory, damping)
    if solved is None:
        return None
    start, multipliers = solved
    feedforward = backward.feedforward + kc @ multipliers
    dW, end = simulate_linear_response(problem.coefficients, trajectory, backward.gains, feedforward, start)
    periodicity_residual = problem.compute_periodicity_residual(trajectory)
    if len(periodicity_residual):
        # the sweep carried the value ½ dx_Tᵀ unit dx_T, whose slope is no part of the multiplier of the seam
        multipliers[len(problem.constraint_rows) :] += problem.state_weights * end
    gradient = problem.compute_gradient(trajectory, multipliers)
    slope = float(
        (gradient.controls * dW).sum()
        + gradient.start @ start
        - periodicity_residual @ (problem.state_weights[: len(periodicity_residual)] * periodicity_residual)
    )
    return (
        ShotNewtonStep(backward.gains, feedforward, start, multipliers, slope)
        if slope < 0 or np.abs(slope) < 1e-300
        else None
    )


def _compute_multiplier_sensitivities(
    problem: KeyframeProblem, backward: BackwardPass
) -> tuple[Array, Array, Array, Array]:
    """kc (T, r, M), S11 (M, M) = -J H⁻¹ Jᵀ, S10 (M,) and G (M, 2r) of all constraints."""
    (T, r), M, held = backward.feedforward.shape, problem.multiplier_count, len(problem.constraint_rows)
    rows, step, start = np.zeros((M, r)), np.full(M, -1), np.zeros((2 * r, M))
    rows[:held], step[:held] = problem.constraint_rows, problem.constraint_steps
    if held < M:
        start[:, held:] = np.eye(2 * r)
    kc, S11, S10, G = np.empty((T, r, M)), np.empty((M, M)), np.empty(M), np.empty((M, 2 * r))
    kernels_riccati.compute_multiplier_sensitivities(
        problem.coefficients,
        backward.gains,
        backward.feedforward,
        backward.inverse_hessians,
        rows,
        step,
        start,
        kc,
        S11,
        S10,
        G,
    )
    if held < M:
        G[held:] -= np.eye(2 * r)
    return kc, S11, S10, G


def _solve_kkt(
    problem: KeyframeProblem,
    backward: BackwardPass,
    S11: Array,
    S10: Array,
    G: Array,
    residuals: Array,
    trajectory: Trajectory,
    damping: float,
) -> tuple[Array, Array] | None:
    """(dx₀, ν); None when a matrix that must be definite is not."""
    x0, periodicity_residual = (
        np.concatenate([trajectory.predicted_coordinates[0], trajectory.predicted_velocities[0]]),
        problem.compute_periodicity_residual(trajectory),
    )
    if problem.boundary == "open":
        nu = _solve_positive_definite(-S11, S10 + residuals)
        return None if nu is None else (np.zeros(len(problem.state_weights)), nu)
    P0, p0 = backward.value_hessian + problem.start_cost, backward.value_gradient + problem.start_cost @ x0
    if problem.boundary == "free":
        P0 = _make_positive_definite(P0, problem.state_weights)
    P0 += damping * np.diag(problem.state_weights)
    if problem.boundary == "free" and len(residuals) == 0:
        start = _solve_positive_definite(P0, -p0)
        return None if start is None else (start, np.empty(0))
    if len(periodicity_residual):
        P0, p0 = P0 - np.diag(problem.state_weights), p0 + problem.state_weights * periodicity_residual
    solved = _solve_with_equilibration(np.block([[P0, G.T], [G, S11]]), -np.concatenate([p0, S10 + residuals]))
    return None if solved is None else (solved[: len(p0)], solved[len(p0) :])


def _make_positive_definite(hessian: Array, unit: Array) -> Array:
    """P0 with every curvature made positive, measured in the units of a state: away from a saddle, not towards it."""
    if not np.isfinite(hessian).all():
        return hessian
    root = np.sqrt(unit)
    values, vectors = np.linalg.eigh(hessian / np.outer(root, root))
    return (vectors * np.maximum(np.abs(values), MIN_START_CURVATURE)) @ vectors.T * np.outer(root, root)


def _solve_positive_definite(A: Array, b: Array) -> Array | None:
    diagonal = np.diag(A)
    if not (np.isfinite(A).all() and (diagonal > 0).all()):
        return None
    scale = 1.0 / np.sqrt(diagonal)
    try:
        factor = scipy.linalg.cho_factor(A * np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return None
    return scale * scipy.linalg.cho_solve(factor, scale * b)


def _solve_with_equilibration(A: Array, b: Array) -> Array | None:
    largest = np.abs(A).max(axis=1)
    if not (np.isfinite(A).all() and (largest > 0).all()):
        return None
    scale = 1.0 / np.sqrt(largest)
    try:
        x = scale * np.linalg.solve(A * np.outer(scale, scale), scale * b)
    except np.linalg.LinAlgError:
        return None
    return x if np.isfinite(x).all() else None


def simulate_linear_response(
    coefficients: Array, trajectory: Trajectory, gains: Array, feedforward: Array, start_change: Array
) -> tuple[Array, Array]:
    """dW (T, r) and dx_T (2r,) of the linearised closed loop from dx₀ = start."""
    r = trajectory.controls.shape[1]
    dP, dV = start_change[:r].copy(), start_change[r:].copy()
    dW = np.empty_like(trajectory.controls)
    for n, (bh, gh, hp, c1, c2) in enumerate(coefficients):
        da = feedforward[n] + gains[n] @ np.concatenate([dP, dV])
        dW[n] = (
            da + trajectory.coordinate_jacobians[n] @ (dP + bh * da) + trajectory.velocity_jacobians[n] @ (dV + gh * da)
        )
        dP, dV = dP + hp * dV + c1 * da, dV + c2 * da
    return dW, np.concatenate([dP, dV])


# Shares of the second-order terms tried in turn; the first with all pivots positive definite is used.
SECOND_ORDER_SHARES = (1.0, 0.5, 0.25, 0.0)
MAX_STEP_LENGTHS = 5
# Levenberg terms above this mean that no direction lowers the cost.
MAX_DAMPING = 1e8
# What must hold does so within this share of the body's size; Newton lands far below, rounding stays below too.
CONSTRAINT_TOLERANCE = 1e-11


@dataclass(frozen=True)
class Iterate:
    """Where an optimisation stands: handed to the callback of every iteration."""

    iteration: int
    trajectory: Trajectory
    cost: float
    gradient_norm: float


@dataclass
class OptimisationStopped(Exception):
    """The caller's wish to stop, with the motion reached."""

    iterate: Iterate


@dataclass(frozen=True)
class ShotSolution:
    """The best motion found, and whether the gradient fell to the tolerance."""

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
    """The backward pass around `path`; None when a pivot is not positive definite."""
    T, r = trajectory.controls.shape
    out = BackwardPass(
        np.empty((T, r, 2 * r)), np.empty((T, r)), np.empty((T, r, r)), np.empty((2 * r, 2 * r)), np.empty(2 * r), 0
    )
    # the seam's value after the last step cancels on the linearised seam: it only makes the pivots positive
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


@dataclass
class _NewtonState:
    """A motion with its multipliers, and what follows from them."""

    problem: KeyframeProblem
    trajectory: Trajectory
    multipliers: Array

    def __post_init__(self) -> None:
        self.cost = self.problem.compute_cost(self.trajectory)
        gradient = self.problem.compute_gradient(self.trajectory, self.multipliers)
        self.adjoint, self.gradient_norm = gradient.adjoint, self.problem.compute_gradient_norm(gradient)
        self.is_feasible = (
            self.problem.is_constraint_free
            or self.problem.compute_constraint_violation(self.trajectory) <= CONSTRAINT_TOLERANCE
        )


def minimise(
    problem: KeyframeProblem,
    trajectory: Trajectory,
    *,
    multipliers: Array | None = None,
    gradient_scale: float | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
    callback: Callable[[Iterate], None] | None = None,
) -> ShotSolution:
    """Minimise the problem's cost from a simulated motion until the gradient falls to `tolerance` of its start.

    nu: first guess of the multipliers; scale: the gradient that `tolerance` is measured by, when it is not that of the
    start.
    """
    state = _NewtonState(
        problem, trajectory, np.zeros(problem.multiplier_count) if multipliers is None else multipliers
    )
    initial_gradient_norm = state.gradient_norm if gradient_scale is None else gradient_scale
    damping, message = 0.0, ""
    for iteration in range(max_iterations):
        if callback is not None:
            callback(Iterate(iteration, state.trajectory, state.cost, state.gradient_norm))
        if (
            state.gradient_norm <= tolerance * initial_gradient_norm or state.gradient_norm == 0.0
        ) and state.is_feasible:
            break
        step = _find_descent_step(problem, state, damping)
        found = None if step is None else _run_line_search(problem, state.trajectory, step)
        if found is None or step is None:
            damping = max(4.0 * damping, 1.0)
            if damping > MAX_DAMPING:
                message = "no direction lowers the cost any more"
                break
            continue
        trajectory, full, flat = found
        damping = (0.0 if damping < 1.0 else 0.25 * damping) if full else damping
        state = _NewtonState(problem, trajectory, step.multipliers)
        if flat and state.gradient_norm > tolerance * initial_gradient_norm:
            message = "the cost no longer changes in double precision"
            break
    else:
        message = f"{max_iterations} iterations were not enough"
    converged = state.gradient_norm <= tolerance * initial_gradient_norm and state.is_feasible
    gains = compute_feedback_gains(problem, state.trajectory, state.multipliers)
    return ShotSolution(
        state.trajectory,
        state.cost,
        state.gradient_norm,
        initial_gradient_norm,
        iteration,
        converged,
        gains,
        message,
        state.multipliers,
    )


def compute_feedback_gains(problem: KeyframeProblem, trajectory: Trajectory, multipliers: Array | None = None) -> Array:
    """Gains (T, r, 2r) that keep a motion on course at the least cost; zero where rounding spoils the pivots."""
    adjoint = problem.compute_gradient(trajectory, multipliers).adjoint
    for theta in SECOND_ORDER_SHARES:
        sweep = run_backward_pass(problem, trajectory, adjoint, theta, 0.0)
        if sweep is not None:
            return sweep.gains
    return np.zeros((*trajectory.controls.shape, 2 * trajectory.controls.shape[1]))


def _find_descent_step(problem: KeyframeProblem, state: _NewtonState, damping: float) -> ShotNewtonStep | None:
    """The step with as much of the second-order terms as leaves it a descent direction; None when there is none."""
    for theta in SECOND_ORDER_SHARES:
        sweep = run_backward_pass(problem, state.trajectory, state.adjoint, theta, damping)
        if sweep is None:
            continue
        if problem.is_constraint_free:
            return ShotNewtonStep(
                sweep.gains,
                sweep.feedforward,
                np.zeros(len(problem.state_weights)),
                state.multipliers,
                sweep.expected_change,
            )
        step = solve_constrained_step(problem, state.trajectory, sweep, damping)
        if step is not None:
            return step
    return None


def _run_line_search(
    problem: KeyframeProblem, trajectory: Trajectory, step: ShotNewtonStep
) -> tuple[Trajectory, bool, bool] | None:
    """The closed-loop step, halved until the merit falls, whether it was full, and whether the merit stayed flat.

    None when the merit does not fall.
    """
    before = problem.compute_merit(trajectory, step.multipliers)
    # the merit cancels: its rounding is that of its parts
    parts = abs(problem.compute_cost(trajectory)) + float(
        np.abs(step.multipliers) @ np.abs(problem.compute_constraint_residuals(trajectory))
    )
    r = trajectory.controls.shape[1]

    def roll_out(length: float) -> Trajectory | None:
        start = (
            trajectory.predicted_coordinates[0] + length * step.start_change[:r],
            trajectory.predicted_velocities[0] + length * step.start_change[r:],
        )
        return rollout_closed_loop(
            problem.system, problem.coefficients, start, trajectory, step.gains, step.feedforward, length
        )

    def accept(trial: Trajectory, length: float) -> bool:
        merit = problem.compute_merit(trial, step.multipliers)
        # at the end costs agree to rounding and the Newton step is trusted
        is_trusted = abs(step.merit_slope) <= 1e-13 * parts and merit <= before + 1e-14 * parts
        return is_trusted or satisfies_armijo(merit, before, step.merit_slope, length)

    found = backtrack(roll_out, accept, max_trials=MAX_STEP_LENGTHS)
    if found is None or not found.accepted:
        return None
    change = problem.compute_merit(found.trial, step.multipliers) - before
    return found.trial, found.length == 1.0, abs(change) <= 1e-15 * parts
