"""Least force: of all forces within window, reach and limit those with the least sum of squares that meet the goals.

min ½|y|² with goals r(y) = 0 and |y_i| ≤ F. Goals are linearised with the exact adjoint at every iteration. The full
Gauss-Newton step does not converge, as goals curve too much: steps are kept near by a proximal weight σ, which comes
from the curvature that the last step met (Barzilai, Borwein), and accepted by a merit ½|y|² + μ|r|.
There are several local minima; what is found is one of them. Where a search ends beside its goals, as it does where a
window is long and what happens in it depends on every bump, the rest of the way is tracked step by step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.rerouting.force_distribution import ForceDistribution, clamp_forces
from cajole.direct.rerouting.goals import GoalSet
from cajole.direct.rerouting.pattern import ease_in
from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.direct.rerouting.tracking import ControlledMotion, TrackingContext, track_targets
from cajole.dynamics.integrators import StepHistory
from cajole.dynamics.linear_bdf2 import StepAdjoints
from cajole.errors import SolveError
from cajole.linalg.line_search import backtrack, satisfies_armijo
from cajole.progress import ProgressCallback, build_subprogress, report_progress

MAX_NEWTON_ITERATIONS = 60
# the equation's residual, as a share of what was there to be done
DUAL_TOLERANCE = 1e-9
# lengths of a Newton step: down to 1e-10
MAX_STEP_LENGTHS = 34


def solve_limited_least_squares(
    J: Array, b: Array, c: Array, sigma: float, kappa: float, limit: float | None
) -> tuple[Array, Array]:
    """y (m, 3) and λ (k,) for J (k, 3m), b (k,), c (m, 3)."""
    if limit is None:
        lam: Array = _solve_dense(J @ J.T / sigma + np.eye(len(b)) / kappa, b - J @ c.ravel())
        return c + (J.T @ lam).reshape(-1, 3) / sigma, lam
    # Newton's method maximises the concave dual
    iterate = _evaluate_dual(J, b, c, sigma, kappa, limit, np.zeros(len(b)))
    tolerance = DUAL_TOLERANCE * max(float(np.linalg.norm(iterate.gradient)), np.finfo(float).tiny)
    for _ in range(MAX_NEWTON_ITERATIONS):
        if float(np.linalg.norm(iterate.gradient)) <= tolerance:
            break
        step = _solve_dense(_compute_dual_hessian(J, c, sigma, kappa, limit, iterate.multipliers), iterate.gradient)
        found = _search_dual_line(J, b, c, sigma, kappa, limit, iterate, step)
        if found is None:
            break
        iterate = found
    return iterate.controls, iterate.multipliers


@dataclass(frozen=True)
class _DualIterate:
    """Multipliers λ (k,), the controls y(λ) (m, 3) that they determine, and the dual with its gradient (k,)."""

    multipliers: Array
    controls: Array
    gradient: Array
    value: float


def _search_dual_line(
    J: Array, b: Array, c: Array, sigma: float, kappa: float, limit: float, iterate: _DualIterate, step: Array
) -> _DualIterate | None:
    slope = float(iterate.gradient @ step)
    result = backtrack(
        lambda length: _evaluate_dual(J, b, c, sigma, kappa, limit, iterate.multipliers + length * step),
        lambda trial, length: satisfies_armijo(-trial.value, -iterate.value, -slope, length),
        max_trials=MAX_STEP_LENGTHS,
    )
    return result.trial if result is not None and result.accepted else None


def _solve_dense(A: Array, b: Array) -> Array:
    return np.asarray(np.linalg.solve(A, b), dtype=np.float64)


def _evaluate_dual(J: Array, b: Array, c: Array, sigma: float, kappa: float, limit: float, lam: Array) -> _DualIterate:
    """The dual at λ, with gradient b - J y - λ/κ."""
    y = clamp_forces(c + (J.T @ lam).reshape(-1, 3) / sigma, limit)
    left = b - J @ y.ravel() - lam / kappa
    value = (
        0.5 * sigma * float(((y - c) ** 2).sum()) + float(lam @ (b - J @ y.ravel())) - 0.5 * float(lam @ lam) / kappa
    )
    return _DualIterate(lam, y, left, value)


def _compute_dual_hessian(J: Array, c: Array, sigma: float, kappa: float, limit: float, lam: Array) -> Array:
    """Σ J_i D_i J_iᵀ/σ + I/κ; D_i = I within the limit and (ρ/|z|)(I - zzᵀ/|z|²) beyond."""
    z = c + (J.T @ lam).reshape(-1, 3) / sigma
    size = np.linalg.norm(z, axis=1)
    beyond = size > limit
    share = np.where(beyond, limit / np.maximum(size, np.finfo(float).tiny), 1.0)
    blocks = J.reshape(len(J), -1, 3)
    scaled = blocks * share[:, None]
    unit = z[beyond] / size[beyond, None]
    along = np.einsum("kia,ia->ki", blocks[:, beyond], unit)
    H = scaled.reshape(len(J), -1) @ J.T - (along * share[beyond]) @ along.T
    return np.asarray(H / sigma + np.eye(len(J)) / kappa)


@dataclass(frozen=True, eq=False)
class ControlWindow:
    """What may be controlled: pairs of a step and a node (m,) of the group of `aims`, which starts at `past`.

    A node is controlled in the steps that lead to a goal within whose reach it lies. Controls are y (m, 3) [N].
    """

    simulation: PilotSimulation
    goal_set: GoalSet
    initial_state: StepHistory
    steps: IndexArray
    vertices: IndexArray

    @classmethod
    def for_goals(
        cls, simulation: PilotSimulation, goal_set: GoalSet, distribution: ForceDistribution, initial_state: StepHistory
    ) -> ControlWindow:
        """All nodes within reach, each over the windows of its goals."""
        touched = np.zeros((goal_set.last_frame - goal_set.first_frame, simulation.body.vertex_count), dtype=bool)
        for g, row in enumerate(distribution.is_within_reach):
            touched[
                goal_set.start_frames[g] - goal_set.first_frame : goal_set.end_frames[g] - goal_set.first_frame
            ] |= row
        steps, nodes = np.nonzero(touched)
        return cls(simulation, goal_set, initial_state, steps, nodes)

    def scatter(self, controls: Array) -> Array:
        """Controls (m, 3) as forces (steps, n, 3)."""
        forces = np.zeros((self.goal_set.last_frame - self.goal_set.first_frame, self.simulation.body.vertex_count, 3))
        forces[self.steps, self.vertices] = controls
        return forces

    def gather(self, forces: Array) -> Array:
        """Forces (steps, n, 3) as controls (m, 3)."""
        return np.asarray(forces[self.steps, self.vertices])

    def rollout(self, controls: Array) -> ControlledMotion:
        """The window's motion under the controls y (m, 3) [N]."""
        forces, states = self.scatter(controls), [self.initial_state]
        for k, frame in enumerate(range(self.goal_set.first_frame + 1, self.goal_set.last_frame + 1)):
            states.append(self.simulation.step(states[-1], frame, forces[k], cache_factors=True))
        return ControlledMotion(states, forces)

    def compute_jacobian(self, motion: ControlledMotion) -> Array:
        """(3G, 3m) [m/N] the derivatives of the goals' positions by the controls, along a `run`."""
        aims, stage = self.goal_set, self.simulation
        count = 3 * len(aims)
        back = StepAdjoints.zeros(count, stage.body.vertex_count)
        slopes = np.empty((count, len(self.steps), 3))
        for k in range(aims.last_frame - aims.first_frame - 1, -1, -1):
            frame = aims.first_frame + k + 1
            for g in np.flatnonzero(aims.end_frames == frame):
                back.displacement[3 * g : 3 * g + 3, aims.vertices[g]] += np.eye(3)
            before, after = motion.states[k], motion.states[k + 1]
            back, by_load = stage.get_factored_step(frame, before).backpropagate(before, after, back)
            here = slice(*np.searchsorted(self.steps, (k, k + 1)))
            slopes[:, here] = by_load[:, self.vertices[here]]
        return slopes.reshape(count, -1)


MAX_ITERATIONS = 24
# goals are met to this share of the target set before the search for less force ends, and polished to the second
SEARCH_GOAL_TOLERANCE, FINAL_GOAL_TOLERANCE = 0.1, 1e-4
# the search ends when an iteration saves less than this share of the effort
MIN_EFFORT_DECREASE = 0.02
# how firmly a linearised goal is held: its miss, as a share of what there is to do, where forces are not at their limit
GOAL_PENALTY = 1e6
MAX_PROXIMAL_WEIGHT, PROXIMAL_WEIGHT_LIMIT = 64.0, 3e3
# a start from nothing that needs more than this share of the pattern's effort may have found a poor minimum
POOR_EFFORT_SHARE = 0.25
MAX_CORRECTIONS = 4


@dataclass(frozen=True, eq=False)
class ControlIterate:
    """Controls y (m, 3), the motion under them, and what the goals are missed by (3G,)."""

    controls: Array
    motion: ControlledMotion
    goal_residual: Array

    @property
    def error(self) -> float:
        """The farthest that a goal is missed by [m]."""
        return float(np.linalg.norm(self.goal_residual.reshape(-1, 3), axis=1).max())

    @property
    def effort(self) -> float:
        """|y|² [N²]"""
        return float((self.controls**2).sum())

    def compute_merit(self, mu: float) -> float:
        return 0.5 * self.effort + mu * float(np.linalg.norm(self.goal_residual))


def solve_least_force(
    simulation: PilotSimulation,
    goal_set: GoalSet,
    distribution: ForceDistribution,
    initial_state: StepHistory,
    limit: float | None,
    within: float,
    pattern_motion: ControlledMotion,
    progress: ProgressCallback | None = None,
) -> ControlledMotion:
    """Searched from no force at all; where that misses a goal or saves little, from the `pattern`'s forces as well."""
    simulation.reset_factor_cache(goal_set.last_frame - goal_set.first_frame)
    window = ControlWindow.for_goals(simulation, goal_set, distribution, initial_state)
    still, effort = np.zeros((len(window.steps), 3)), pattern_motion.compute_effort(simulation.h)

    def rank_motion(motion: ControlledMotion) -> tuple[float, float]:
        return max(float(motion.compute_goal_errors(simulation, goal_set).max()), within), motion.compute_effort(
            simulation.h
        )

    found = minimise_effort(window, still, limit, within, build_subprogress(progress, 0.0, 0.5)).motion
    if rank_motion(found)[0] > within:
        found = min(found, correct_by_tracking(simulation, goal_set, distribution, found, limit), key=rank_motion)
    if rank_motion(found) > (within, POOR_EFFORT_SHARE * effort):
        again = minimise_effort(
            window, window.gather(pattern_motion.forces), limit, within, build_subprogress(progress, 0.5, 1.0)
        )
        found = min(found, again.motion, key=rank_motion)
    return found


def correct_by_tracking(
    simulation: PilotSimulation,
    goal_set: GoalSet,
    distribution: ForceDistribution,
    motion: ControlledMotion,
    limit: float | None,
) -> ControlledMotion:
    """The motion `led` with what its goals are missed by made up for on the way, from its own forces and more.

    Steps are tracked one by one, so that this lands however much the motion depends on its past.
    """
    missed, path = (
        motion.compute_goal_residuals(simulation, goal_set),
        np.array([motion.extract_path(simulation, int(v)) for v in goal_set.vertices]),
    )

    def compute_targets(context: TrackingContext) -> Array:
        g = context.goal_indices
        shares = (context.frame - goal_set.start_frames[g]) / (goal_set.end_frames[g] - goal_set.start_frames[g])
        made_up = np.array([ease_in(share) for share in shares])[:, None] * missed[g]
        return np.asarray(path[g, context.frame - goal_set.first_frame] + made_up)

    return track_targets(
        simulation, goal_set, distribution.weights, motion.states[0], compute_targets, limit, motion.forces
    )


def minimise_effort(
    window: ControlWindow,
    initial_controls: Array,
    limit: float | None,
    within: float,
    progress: ProgressCallback | None = None,
) -> ControlIterate:
    """The controls found from y (m, 3) [N], which are within the limit.

    Where the search loses goals that it had met on its way, as at its start, the gentlest of those points stands.
    """
    now = _evaluate(window, initial_controls)
    met = [now] if now.error <= within else []
    J = window.compute_jacobian(now.motion)
    sigma, share, mu = 1.0, 1.0, 0.0
    for iteration in range(MAX_ITERATIONS):
        report_progress(progress, iteration / MAX_ITERATIONS, f"iteration {iteration}, {now.error:.2g} m off")
        found = _take_proximal_step(window, now, J, sigma, share, mu, limit)
        if found is None:
            break
        new, lam, mu, share = found
        J_new = window.compute_jacobian(new.motion)
        moved = (new.controls - now.controls).ravel()
        sigma = _estimate_proximal_weight(moved, moved - (J_new - J).T @ lam)
        settled = abs(now.effort - new.effort) <= MIN_EFFORT_DECREASE * now.effort
        now, J = new, J_new
        met += [now] if now.error <= within else []
        share = min(1.0, 2.0 * share)
        if settled and now.error <= SEARCH_GOAL_TOLERANCE * within:
            break
    end = _refine_goals(window, now, J, limit, within)
    return min(met, key=lambda point: point.effort) if met and end.error > within else end


def _take_proximal_step(
    window: ControlWindow, iterate: ControlIterate, J: Array, sigma: float, share: float, mu: float, limit: float | None
) -> tuple[ControlIterate, Array, float, float] | None:
    """The next point, its multipliers, the weight of goals in the merit, and the share of the miss that was asked for.

    None where no step, however short, is better.
    """
    firm = GOAL_PENALTY * len(J) / max(float((J**2).sum()), np.finfo(float).tiny)
    while sigma <= PROXIMAL_WEIGHT_LIMIT:
        ask = J @ iterate.controls.ravel() + share * iterate.goal_residual
        y, lam = solve_limited_least_squares(J, ask, (1.0 - 1.0 / sigma) * iterate.controls, sigma, firm * sigma, limit)
        mu = max(mu, 1.5 * float(np.linalg.norm(lam)))
        new = _try_evaluate(window, y)
        if new is not None and not new.compute_merit(mu) < iterate.compute_merit(mu):
            # second-order correction: goals curve away from their tangents
            new = _apply_min_norm_correction(window, new, J, limit)
        if new is not None and new.compute_merit(mu) < iterate.compute_merit(mu):
            return new, lam, mu, share
        sigma, share = 3.0 * sigma, 0.5 * share
    return None


def _estimate_proximal_weight(step: Array, gradient_change: Array) -> float:
    """σ from the change of the Lagrangian's gradient along the last step."""
    size = float(step @ step)
    return float(np.clip(step @ gradient_change / size, 1.0, MAX_PROXIMAL_WEIGHT)) if size > 0.0 else 1.0


def _refine_goals(
    window: ControlWindow, iterate: ControlIterate, J: Array, limit: float | None, within: float
) -> ControlIterate:
    """Least corrections until goals are met, as far as they help."""
    for _ in range(MAX_CORRECTIONS):
        if iterate.error <= FINAL_GOAL_TOLERANCE * within:
            break
        new = _apply_min_norm_correction(window, iterate, J, limit)
        if new is None or new.error >= iterate.error:
            break
        iterate = new
    return iterate


def _apply_min_norm_correction(
    window: ControlWindow, iterate: ControlIterate, J: Array, limit: float | None
) -> ControlIterate | None:
    """The least change of forces that takes the miss away to first order."""
    square = J @ J.T
    square[np.diag_indices(len(square))] += np.trace(square) / (len(square) * GOAL_PENALTY**2)
    y = iterate.controls + (J.T @ np.linalg.solve(square, iterate.goal_residual)).reshape(-1, 3)
    return _try_evaluate(window, clamp_forces(y, limit))


def _try_evaluate(window: ControlWindow, y: Array) -> ControlIterate | None:
    """The point at y; None where a step of the motion fails."""
    try:
        return _evaluate(window, y)
    except SolveError:
        return None


def _evaluate(window: ControlWindow, y: Array) -> ControlIterate:
    led = window.rollout(y)
    return ControlIterate(y, led, led.compute_goal_residuals(window.simulation, window.goal_set).ravel())
