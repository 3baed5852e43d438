"""Method "least-force": the forces within window, reach and limit with the least sum of squares that meet the goals.

min ½|y|² subject to goals r(y) = 0 and |y_i| ≤ F. Each iteration linearises the goals with the exact adjoint. The full
Gauss-Newton step does not converge, as the goals curve too much: steps are kept short by a proximal weight σ, which
follows from the curvature along the last step (Barzilai and Borwein), and accepted by the merit ½|y|² + μ|r|.
There are several local minima, of which one is found. If a search ends beside its goals, as in long windows in which
the motion depends on every bump, the rest of the way is tracked step by step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.rerouting.force_distribution import clamp_forces
from cajole.direct.rerouting.pattern import ease_in
from cajole.direct.rerouting.tracking import ControlledMotion, GoalWindow, TrackingContext, track_targets
from cajole.dynamics.linear_bdf2 import StepAdjoints
from cajole.errors import SolveError
from cajole.linalg.line_search import backtrack, satisfies_armijo
from cajole.progress import ProgressCallback, build_subprogress, report_progress


@dataclass(frozen=True)
class LeastForceOptions:
    """Limits of the search for least forces."""

    max_iterations: int = 24
    # The search ends if the goals are met to this share of `within` and an iteration saves less than this share of the
    # effort; the goals are then refined to the last share, in at most so many corrections.
    search_tolerance: float = 0.1
    min_effort_decrease: float = 0.02
    final_tolerance: float = 1e-4
    max_corrections: int = 4
    # Penalty of a linearised goal, relative to the stiffness of the controls: it is met exactly, unless forces are at
    # their limit.
    goal_penalty: float = 1e6
    # Largest proximal weight from the curvature, and the one at which no step, however short, is better.
    max_curvature_weight: float = 64.0
    max_proximal_weight: float = 3e3
    # A search from zero force that needs more than this share of the pattern's effort may be in a poor minimum.
    poor_effort_share: float = 0.25


@dataclass(frozen=True)
class _DualIterate:
    """Multipliers λ (k,), the controls y(λ) (m, 3) that they determine, and the dual with its gradient (k,)."""

    multipliers: Array
    controls: Array
    gradient: Array
    value: float


def solve_limited_least_squares(
    J: Array, b: Array, c: Array, sigma: float, kappa: float, limit: float | None
) -> tuple[Array, Array]:
    """y (m, 3) that minimises ½σ|y - c|² + ½κ|J y - b|² with |y_i| ≤ limit, and the multipliers λ (k,).

    J (k, 3m), b (k,), c (m, 3). Newton's method on the concave dual.
    """
    lam = np.zeros(len(b))
    if limit is None:
        lam = np.asarray(np.linalg.solve(J @ J.T / sigma + np.eye(len(b)) / kappa, b - J @ c.ravel()))
        return c + (J.T @ lam).reshape(-1, 3) / sigma, lam
    bound = limit

    def evaluate(lam: Array) -> _DualIterate:
        y = clamp_forces(c + (J.T @ lam).reshape(-1, 3) / sigma, bound)
        residual = b - J @ y.ravel()
        value = 0.5 * sigma * float(((y - c) ** 2).sum()) + float(lam @ residual) - 0.5 * float(lam @ lam) / kappa
        return _DualIterate(lam, y, residual - lam / kappa, value)

    iterate = evaluate(lam)
    # relative to the first gradient
    tolerance = 1e-9 * max(float(np.linalg.norm(iterate.gradient)), np.finfo(float).tiny)
    for _ in range(60):
        if float(np.linalg.norm(iterate.gradient)) <= tolerance:
            break
        H = _compute_dual_hessian(J, c, sigma, kappa, bound, iterate.multipliers)
        found = _search_dual_line(evaluate, iterate, np.asarray(np.linalg.solve(H, iterate.gradient)))
        if found is None:
            break
        iterate = found
    return iterate.controls, iterate.multipliers


def _search_dual_line(
    evaluate: Callable[[Array], _DualIterate], iterate: _DualIterate, step: Array
) -> _DualIterate | None:
    """A step that increases the dual enough; None down to a length of 1e-10."""
    slope = float(iterate.gradient @ step)
    result = backtrack(
        lambda length: evaluate(iterate.multipliers + length * step),
        lambda trial, length: satisfies_armijo(-trial.value, -iterate.value, -slope, length),
        max_trials=34,
    )
    return result.trial if result is not None and result.accepted else None


def _compute_dual_hessian(J: Array, c: Array, sigma: float, kappa: float, limit: float, lam: Array) -> Array:
    """Σ J_i D_i J_iᵀ/σ + I/κ; D_i = I within the limit and (F/|z|)(I - zzᵀ/|z|²) beyond it."""
    z = c + (J.T @ lam).reshape(-1, 3) / sigma
    size = np.linalg.norm(z, axis=1)
    beyond = size > limit
    share = np.where(beyond, limit / np.maximum(size, np.finfo(float).tiny), 1.0)
    blocks = J.reshape(len(J), -1, 3)
    scaled = blocks * share[:, None]
    along = np.einsum("kia,ia->ki", blocks[:, beyond], z[beyond] / size[beyond, None])
    H = scaled.reshape(len(J), -1) @ J.T - (along * share[beyond]) @ along.T
    return np.asarray(H / sigma + np.eye(len(J)) / kappa)


@dataclass(frozen=True, eq=False)
class ControlWindow(GoalWindow):
    """A window with its unknowns: controls y (m, 3) [N] at pairs of a step and a vertex (m,).

    A vertex is controlled in the steps that lead to a goal within whose reach it lies.
    """

    @cached_property
    def _pairs(self) -> tuple[IndexArray, IndexArray]:
        goals = self.goal_set
        mask = np.zeros((self.step_count, self.simulation.body.vertex_count), dtype=bool)
        for start, end, row in zip(goals.start_frames, goals.end_frames, self.distribution.is_within_reach):
            mask[start - goals.first_frame : end - goals.first_frame] |= row
        steps, vertices = np.nonzero(mask)
        return steps, vertices

    @property
    def steps(self) -> IndexArray:
        return self._pairs[0]

    @property
    def vertices(self) -> IndexArray:
        return self._pairs[1]

    def gather(self, forces: Array) -> Array:
        """Controls (m, 3) of forces (steps, n, 3)."""
        return np.asarray(forces[self._pairs])

    def rollout(self, controls: Array) -> ControlledMotion:
        """The motion of the window under controls y (m, 3) [N]."""
        forces, states = np.zeros((self.step_count, self.simulation.body.vertex_count, 3)), [self.initial_state]
        forces[self._pairs] = controls
        for k, force in enumerate(forces):
            frame = self.goal_set.first_frame + 1 + k
            states.append(self.simulation.step(states[-1], frame, force, cache_factors=True))
        return ControlledMotion(self, states, forces)

    def compute_jacobian(self, motion: ControlledMotion) -> Array:
        """(3G, 3m) [m/N] derivatives of the goal positions with respect to the controls, along a rollout."""
        goals, count = self.goal_set, 3 * len(self.goal_set)
        adjoints = StepAdjoints.zeros(count, self.simulation.body.vertex_count)
        derivatives = np.empty((count, len(self.steps), 3))
        for k in range(self.step_count - 1, -1, -1):
            frame = goals.first_frame + k + 1
            for g in np.flatnonzero(goals.end_frames == frame):
                adjoints.displacement[3 * g : 3 * g + 3, goals.vertices[g]] += np.eye(3)
            before, after = motion.states[k], motion.states[k + 1]
            stepper = self.simulation.get_factored_step(frame, before)
            adjoints, by_load = stepper.backpropagate(before, after, adjoints)
            active = slice(*np.searchsorted(self.steps, (k, k + 1)))
            derivatives[:, active] = by_load[:, self.vertices[active]]
        return derivatives.reshape(count, -1)


@dataclass(frozen=True, eq=False)
class ControlIterate:
    """Controls y (m, 3) [N], the motion under them, and the residuals of its goals (3G,) [m]."""

    controls: Array
    motion: ControlledMotion
    goal_residual: Array

    @property
    def error(self) -> float:
        """Largest distance from a goal [m]."""
        return float(np.linalg.norm(self.goal_residual.reshape(-1, 3), axis=1).max())

    @property
    def effort(self) -> float:
        """|y|² [N²]"""
        return float((self.controls**2).sum())

    def compute_merit(self, mu: float) -> float:
        return 0.5 * self.effort + mu * float(np.linalg.norm(self.goal_residual))


def solve_least_force(
    window: ControlWindow,
    pattern_motion: ControlledMotion,
    progress: ProgressCallback | None = None,
    options: LeastForceOptions | None = None,
) -> ControlledMotion:
    """Search from zero force; if that misses a goal or saves little, also from the forces of method "pattern"."""
    limits = options or LeastForceOptions()
    window.simulation.reset_factor_cache(window.step_count)

    def rank_motion(motion: ControlledMotion) -> tuple[float, float]:
        return max(float(motion.compute_goal_errors().max()), window.within), motion.effort

    no_force = np.zeros((len(window.steps), 3))
    found = minimise_effort(window, no_force, build_subprogress(progress, 0.0, 0.5), limits).motion
    if rank_motion(found)[0] > window.within:
        found = min(found, correct_by_tracking(window, found), key=rank_motion)
    if rank_motion(found) > (window.within, limits.poor_effort_share * pattern_motion.effort):
        start = window.gather(pattern_motion.forces)
        again = minimise_effort(window, start, build_subprogress(progress, 0.5, 1.0), limits)
        found = min(found, again.motion, key=rank_motion)
    return found


def correct_by_tracking(window: GoalWindow, motion: ControlledMotion) -> ControlledMotion:
    """Track the paths of a motion, shifted gradually by the residuals of its goals, on top of its forces.

    Steps are tracked one by one, so that the goals are reached however much the motion depends on its past.
    """
    goals, residuals = window.goal_set, motion.compute_goal_residuals()
    paths = np.array([motion.extract_path(int(vertex)) for vertex in goals.vertices])

    def compute_targets(context: TrackingContext) -> Array:
        g = context.goal_indices
        shares = (context.frame - goals.start_frames[g]) / (goals.end_frames[g] - goals.start_frames[g])
        shifts = np.array([ease_in(share) for share in shares])[:, None] * residuals[g]
        return np.asarray(paths[g, context.frame - goals.first_frame] + shifts)

    return track_targets(window, compute_targets, motion.forces)


def minimise_effort(
    window: ControlWindow,
    initial_controls: Array,
    progress: ProgressCallback | None = None,
    options: LeastForceOptions | None = None,
) -> ControlIterate:
    """Search from controls (m, 3) [N] within the limit.

    If the search loses goals that it had met on its way, the iterate with the least effort of those is returned.
    """
    limits = options or LeastForceOptions()
    motion = window.rollout(initial_controls)
    iterate = ControlIterate(initial_controls, motion, motion.compute_goal_residuals().ravel())
    successful = [iterate] if iterate.error <= window.within else []
    J = window.compute_jacobian(iterate.motion)
    sigma, share, mu = 1.0, 1.0, 0.0
    for iteration in range(limits.max_iterations):
        report_progress(
            progress, iteration / limits.max_iterations, f"iteration {iteration}, {iterate.error:.2g} m off"
        )
        found = _take_proximal_step(window, iterate, J, sigma, share, mu, limits)
        if found is None:
            break
        new, lam, mu, share = found
        J_new = window.compute_jacobian(new.motion)
        # Barzilai-Borwein: curvature of the Lagrangian along the step
        step = (new.controls - iterate.controls).ravel()
        curvature, size = step - (J_new - J).T @ lam, float(step @ step)
        sigma = float(np.clip(step @ curvature / size, 1.0, limits.max_curvature_weight)) if size > 0.0 else 1.0
        is_settled = abs(iterate.effort - new.effort) <= limits.min_effort_decrease * iterate.effort
        iterate, J = new, J_new
        successful += [iterate] if iterate.error <= window.within else []
        share = min(1.0, 2.0 * share)
        if is_settled and iterate.error <= limits.search_tolerance * window.within:
            break
    for _ in range(limits.max_corrections):
        if iterate.error <= limits.final_tolerance * window.within:
            break
        corrected = _apply_min_norm_correction(window, iterate, J, limits.goal_penalty)
        if corrected is None or corrected.error >= iterate.error:
            break
        iterate = corrected
    is_lost = successful and iterate.error > window.within
    return min(successful, key=lambda each: each.effort) if is_lost else iterate


def _take_proximal_step(
    window: ControlWindow,
    iterate: ControlIterate,
    J: Array,
    sigma: float,
    share: float,
    mu: float,
    limits: LeastForceOptions,
) -> tuple[ControlIterate, Array, float, float] | None:
    """The next iterate, its multipliers, the merit weight μ, and the share of the residual that was asked for.

    None if no step, however short, decreases the merit.
    """
    penalty = limits.goal_penalty * len(J) / max(float((J**2).sum()), np.finfo(float).tiny)
    while sigma <= limits.max_proximal_weight:
        b = J @ iterate.controls.ravel() + share * iterate.goal_residual
        c = (1.0 - 1.0 / sigma) * iterate.controls
        y, lam = solve_limited_least_squares(J, b, c, sigma, penalty * sigma, window.limit)
        mu = max(mu, 1.5 * float(np.linalg.norm(lam)))
        new = _evaluate(window, y)
        if new is not None and not new.compute_merit(mu) < iterate.compute_merit(mu):
            # second-order correction: goals curve away from their tangents
            new = _apply_min_norm_correction(window, new, J, limits.goal_penalty)
        if new is not None and new.compute_merit(mu) < iterate.compute_merit(mu):
            return new, lam, mu, share
        sigma, share = 3.0 * sigma, 0.5 * share
    return None


def _apply_min_norm_correction(
    window: ControlWindow, iterate: ControlIterate, J: Array, goal_penalty: float
) -> ControlIterate | None:
    """The least change of the controls that removes the residual to first order."""
    square = J @ J.T
    square[np.diag_indices(len(square))] += np.trace(square) / (len(square) * goal_penalty**2)
    y = iterate.controls + (J.T @ np.linalg.solve(square, iterate.goal_residual)).reshape(-1, 3)
    return _evaluate(window, clamp_forces(y, window.limit))


def _evaluate(window: ControlWindow, controls: Array) -> ControlIterate | None:
    """The iterate at controls (m, 3); None if a step of the motion fails."""
    try:
        motion = window.rollout(controls)
    except SolveError:
        return None
    return ControlIterate(controls, motion, motion.compute_goal_residuals().ravel())
