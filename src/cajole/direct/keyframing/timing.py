"""Free timing for `keyframe`: optimise when each key is reached, by a trust region on the durations between keys.

A gap between keys keeps its number of frames, and its step size is stretched. By the envelope theorem the derivative of
the best cost with respect to a step size is the partial derivative at fixed controls, from one adjoint. At the end keys
move to the nearest frames of the uniform step size, and the motion is solved once more.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import scipy.optimize

from cajole import checks
from cajole.arrays import Array
from cajole.direct.keyframing.newton import NewtonOptions, OptimisationStopped, ShotSolution, minimise
from cajole.direct.keyframing.problem import KeyframeProblem
from cajole.direct.keyframing.search import KeyframeOptions, KeyframeSearchResult, search_motion
from cajole.direct.keyframing.setup import ShotSetup, build_soft_problem
from cajole.errors import InputError, NotConverged
from cajole.linalg import limit_blas_threads
from cajole.reduction.trajectory import Trajectory


@dataclass(frozen=True)
class TimingBounds:
    """Bounds on the stretch of every gap; fixed_total: True if the sum of the durations stays the same."""

    # beyond these, frames are too coarse or too many for the gap
    low: float = 0.25
    high: float = 4.0
    fixed_total: bool = True


@dataclass(frozen=True)
class TimingOptions:
    """Limits of the trust-region search."""

    # Largest relative change of a stretch in the first step.
    initial_radius: float = 0.15
    max_trials: int = 40
    # The search ends if the model predicts a decrease below this share of the cost.
    min_predicted_decrease: float = 1e-5
    # Motions are only as exact as the decrease that they are compared by.
    inner_tolerance: float = 1e-7


def parse_timing(timing: str | tuple[float, float], boundary: str) -> TimingBounds | None:
    """Bounds from the option `timing` of `keyframe`; None for fixed timing."""
    if isinstance(timing, str):
        if checks.require_choice(timing, "timing", ("fixed", "free")) == "fixed":
            return None
        bounds = TimingBounds()
    else:
        low, high = checks.require_real_array(timing, "timing", (2,))
        if not 0 < low <= 1 <= high:
            raise InputError(f"timing is ({low:g}, {high:g}), but must be bounds 0 < low <= 1 <= high")
        bounds = TimingBounds(float(low), float(high), False)
    if boundary != "open":
        raise InputError("free timing needs a motion with a given start; leave timing fixed for loops and free starts")
    return bounds


def compute_timestep_gradient(
    problem: KeyframeProblem, trajectory: Trajectory, step_sizes: Array, velocity: Array
) -> Array:
    """∂E/∂h_n (T,) at fixed controls, for step sizes (T,) [s]; velocity (r,): before the first step.

    With costates l = ∂E/∂x' and s as in the adjoint: ∂E/∂bh = (E_q - Gqᵀs)·a, ∂E/∂gh = -(Gvᵀs)·a, ∂E/∂hp = l_P·V,
    ∂E/∂c1 = l_P·a, ∂E/∂c2 = l_V·a. The rows of the coefficients are polynomials of h_n and h_{n+1}.
    """
    T, r = trajectory.controls.shape
    lP, lV, slopes = np.zeros(r), np.zeros(r), np.zeros(T + 1)
    Eq = problem.compute_key_gradient(trajectory)
    after = np.append(step_sizes, step_sizes[-1])
    for n in range(T - 1, -1, -1):
        bh, gh, hp, c1, c2 = problem.coefficients[n]
        a, Gq, Gv = trajectory.accelerations[n], trajectory.coordinate_jacobians[n], trajectory.velocity_jacobians[n]
        h, h1 = after[n], after[n + 1]
        s = np.linalg.solve((np.eye(r) + gh * Gv + bh * Gq).T, bh * Eq[n] + c1 * lP + c2 * lV)
        by_bh, by_gh, by_c1, by_c2 = (Eq[n] - Gq.T @ s) @ a, -(Gv.T @ s) @ a, lP @ a, lV @ a
        slopes[n] += by_bh * h / 2 + by_gh / 2 + by_c1 * (h + h1) / 2 + by_c2 / 2
        slopes[n + 1] += lP @ trajectory.predicted_velocities[n] + by_c1 * (h + h1) / 2 + by_c2 / 2
        lV, lP = lV + hp * lP - Gv.T @ s, lP + Eq[n] - Gq.T @ s
    # the first predictor is P = q + h v - ¼h²F, V = v - ½hF
    F = 2.0 * (velocity - trajectory.predicted_velocities[0]) / step_sizes[0]
    slopes[0] += lP @ (velocity - step_sizes[0] * F / 2) - lV @ F / 2
    slopes[T - 1] += slopes[T]
    return np.asarray(
        slopes[:T] + 0.5 * problem.effort / step_sizes * ((trajectory.controls + problem.bias) ** 2).sum(axis=1)
    )


class _TimingObjective:
    """The best cost as a function of the stretch of each gap (gaps,), solved from the best motion so far."""

    def __init__(self, setup: ShotSetup, options: KeyframeOptions, dt: float, limits: TimingOptions):
        self.setup, self.options, self.dt, self.limits = setup, options, dt, limits
        self.key_frames = np.array([0, *setup.keys])
        self.gap_of_step = np.repeat(np.arange(len(self.key_frames) - 1), np.diff(self.key_frames))

    def compute_step_sizes(self, stretch: Array) -> Array:
        """(T,) [s]; steps after the last key are not stretched."""
        steps = np.full(self.setup.step_count, self.dt)
        steps[: len(self.gap_of_step)] *= stretch[self.gap_of_step]
        return steps

    def build_problem(self, stretch: Array) -> KeyframeProblem:
        duration = self.dt * self.setup.step_count
        return build_soft_problem(self.setup, self.options.effort, self.compute_step_sizes(stretch), duration)

    def solve(self, stretch: Array, guess: Trajectory) -> ShotSolution | None:
        problem = self.build_problem(stretch)
        options = NewtonOptions(tolerance=self.limits.inner_tolerance, max_iterations=self.options.iterations)
        try:
            with limit_blas_threads():
                trajectory = problem.simulate(guess.controls, guess=guess.accelerations)
                return minimise(problem, trajectory, options=options, callback=self.options.notify)
        except NotConverged:
            return None

    def compute_gradient(self, stretch: Array, trajectory: Trajectory) -> Array:
        """dE*/dstretch (gaps,)."""
        velocity = self.setup.model.project_velocity(self.setup.start_velocity)
        steps = self.compute_step_sizes(stretch)
        slopes = compute_timestep_gradient(self.build_problem(stretch), trajectory, steps, velocity)
        total = np.zeros(len(self.key_frames) - 1)
        np.add.at(total, self.gap_of_step, self.dt * slopes[: len(self.gap_of_step)])
        return total


def optimise_timing(
    setup: ShotSetup, result: KeyframeSearchResult, dt: float, options: KeyframeOptions, bounds: TimingBounds
) -> tuple[ShotSetup, KeyframeSearchResult]:
    """The shot with its keys at better frames, and its motion; unchanged if no frames are better."""
    objective = _TimingObjective(setup, options, dt, TimingOptions())
    first = result.solution if result.soft_solution is None else result.soft_solution
    try:
        stretch, trajectory = _minimise_stretch(objective, first, bounds)
    except OptimisationStopped:
        return setup, result
    # keys at the frames nearest to their new times, each after the one before it
    ends = np.rint(np.cumsum(stretch * np.diff(objective.key_frames))).astype(int)
    for k in range(len(ends)):
        ends[k] = max(ends[k], (ends[k - 1] if k else 0) + 1)
    frames = int(setup.frames + ends[-1] - objective.key_frames[-1])
    moved = replace(setup, keys=dict(zip(ends.tolist(), setup.keys.values())), frames=frames)
    if tuple(moved.keys) == tuple(setup.keys):
        return setup, result
    # controls at the ends of the uniform steps, from those at the ends of the stretched ones
    times, count = np.cumsum(objective.compute_step_sizes(stretch)), moved.step_count
    uniform = dt * np.arange(1, count + 1)
    controls = np.stack([np.interp(uniform, times, column) for column in trajectory.controls.T], axis=1)
    start = build_soft_problem(moved, options.effort, np.full(count, dt)).start
    guess = ("the motion with free timing", controls, start)
    again = search_motion(moved, np.full(count, dt), options, guesses=[guess], duration=dt * setup.step_count)
    return (moved, again) if again.solution.cost < result.solution.cost else (setup, result)


def _minimise_stretch(
    objective: _TimingObjective, first: ShotSolution, bounds: TimingBounds
) -> tuple[Array, Trajectory]:
    """Stretches (gaps,) by damped BFGS in a trust region; only decrease is accepted."""
    limits, lengths = objective.limits, np.diff(objective.key_frames).astype(float)
    x, best = np.ones(len(lengths)), first
    g = objective.compute_gradient(x, best.trajectory)
    radius = limits.initial_radius
    H = np.eye(len(x)) * max(np.abs(g).max(), 1e-300) / radius
    for _ in range(limits.max_trials):
        p = _solve_trust_region_step(g, H, x, radius, bounds, lengths)
        predicted = -float(g @ p + 0.5 * p @ H @ p)
        if predicted <= limits.min_predicted_decrease * best.cost:
            break
        trial = objective.solve(x + p, best.trajectory)
        ratio = (best.cost - trial.cost) / predicted if trial is not None else -1.0
        if trial is not None and ratio > 0:
            x, best = x + p, trial
            new = objective.compute_gradient(x, best.trajectory)
            # Powell's damped update: H stays positive definite for any change of the gradient
            y, Hp = new - g, H @ p
            curvature, along = float(p @ Hp), float(p @ y)
            share = 1.0 if along >= 0.2 * curvature else 0.8 * curvature / (curvature - along)
            y = share * y + (1.0 - share) * Hp
            H, g = H - np.outer(Hp, Hp) / curvature + np.outer(y, y) / (p @ y), new
        radius *= 1.6 if ratio > 0.7 else 0.4 if ratio < 0.25 else 1.0
    return x, best.trajectory


def _solve_trust_region_step(
    g: Array, H: Array, x: Array, radius: float, bounds: TimingBounds, lengths: Array
) -> Array:
    """The minimiser of g·p + ½pᵀHp with |p| <= radius x, within the bounds, with the total kept if it is fixed."""
    low = np.minimum(np.maximum(-radius * x, bounds.low - x), 0.0)
    high = np.maximum(np.minimum(radius * x, bounds.high - x), 0.0)
    scale = 1.0 / max(np.abs(g).max(), 1e-300)
    total = [{"type": "eq", "fun": lambda p: lengths @ p, "jac": lambda p: lengths}] if bounds.fixed_total else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a bound exceeded by rounding is clipped, as intended
        result = scipy.optimize.minimize(
            lambda p: (scale * (g @ p + 0.5 * p @ H @ p), scale * (g + H @ p)),
            np.zeros_like(g),
            jac=True,
            method="SLSQP",
            bounds=list(zip(low, high)),
            constraints=total,
            options={"ftol": 1e-12},
        )
    return np.asarray(np.clip(result.x, low, high))
