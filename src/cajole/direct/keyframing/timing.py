"""Free timing: when each key is reached is chosen, too, by a trust region on the durations of the gaps between keys.

The frames of a gap stay, and their step stretches; by the envelope theorem the slope of the best cost with a duration
is the partial derivative at fixed controls, which one adjoint gives. At the end keys move to the nearest frames of the
uniform step, and the motion is solved once more.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import scipy.optimize

from cajole import checks
from cajole.arrays import Array
from cajole.direct.keyframing.newton import OptimisationStopped, ShotSolution, minimise
from cajole.direct.keyframing.problem import KeyframeProblem
from cajole.direct.keyframing.search import KeyframeOptions, KeyframeSearchResult, build_callback, search_motion
from cajole.direct.keyframing.setup import ShotSetup, build_soft_problem
from cajole.errors import InputError, NotConverged
from cajole.linalg import limit_blas_threads
from cajole.reduction.trajectory import Trajectory, rollout

# How far "free" may stretch or shrink a gap: beyond it frames are too coarse or too many for the gap.
DEFAULT_STRETCH_BOUNDS = (0.25, 4.0)
INITIAL_RADIUS = 0.15
MAX_TRIALS = 40
# The search ends when the model promises less than this share of the cost.
MIN_PREDICTED_DECREASE = 1e-5
# Inner solves need only be as exact as the gain that they are compared by.
INNER_TOLERANCE = 1e-7


@dataclass(frozen=True)
class TimingBounds:
    """Bounds on the stretch of every gap, and whether their sum stays."""

    low: float
    high: float
    fixed_total: bool


def parse_timing(timing: str | tuple[float, float], boundary: str) -> TimingBounds | None:
    """What `timing` allows; None when it is fixed."""
    if isinstance(timing, str):
        if checks.require_choice(timing, "timing", ("fixed", "free")) == "fixed":
            return None
        freedom = TimingBounds(*DEFAULT_STRETCH_BOUNDS, True)
    else:
        low, high = checks.require_real_array(timing, "timing", (2,))
        if not 0 < low <= 1 <= high:
            raise InputError(f"timing is ({low:g}, {high:g}), but must be bounds 0 < low <= 1 <= high")
        freedom = TimingBounds(float(low), float(high), False)
    if boundary != "open":
        raise InputError("free timing needs a motion with a given start; leave timing fixed for loops and free starts")
    return freedom


def compute_timestep_gradient(
    problem: KeyframeProblem, trajectory: Trajectory, step_sizes: Array, velocity: Array
) -> Array:
    """∂E/∂h_n (T,) at fixed controls, for steps (T,) [s]; velocity: that of the state before the first step (r,).

    With costates l = ∂E/∂x' and s as in the adjoint: ∂E/∂bh = (E_q - Gqᵀs)·a, ∂E/∂gh = -(Gvᵀs)·a, ∂E/∂hp = l_P·V,
    ∂E/∂c1 = l_P·a, ∂E/∂c2 = l_V·a, and the plan's rows are polynomials of h_n and h_{n+1}.
    """
    T, r = trajectory.controls.shape
    lP, lV, slopes = np.zeros(r), np.zeros(r), np.zeros(T + 1)
    Eq = problem.compute_key_gradient(trajectory)
    after = np.append(step_sizes, step_sizes[-1])
    for n in range(T - 1, -1, -1):
        bh, gh, hp, c1, c2 = problem.coefficients[n]
        a, Gq, Gv, h, h1 = (
            trajectory.accelerations[n],
            trajectory.coordinate_jacobians[n],
            trajectory.velocity_jacobians[n],
            after[n],
            after[n + 1],
        )
        s = np.linalg.solve((np.eye(r) + gh * Gv + bh * Gq).T, bh * Eq[n] + c1 * lP + c2 * lV)
        by_bh, by_gh, by_c1, by_c2 = (Eq[n] - Gq.T @ s) @ a, -(Gv.T @ s) @ a, lP @ a, lV @ a
        slopes[n] += by_bh * h / 2 + by_gh / 2 + by_c1 * (h + h1) / 2 + by_c2 / 2
        slopes[n + 1] += lP @ trajectory.predicted_velocities[n] + by_c1 * (h + h1) / 2 + by_c2 / 2
        lV, lP = lV + hp * lP - Gv.T @ s, lP + Eq[n] - Gq.T @ s
    # the first predictor is P = q + h v - ¼h²F, V = v - ½hF
    F = 2.0 * (velocity - trajectory.predicted_velocities[0]) / step_sizes[0]
    slopes[0] += lP @ (velocity - step_sizes[0] * F / 2) - lV @ F / 2
    slopes[T - 1] += slopes[T]
    return slopes[:T] + 0.5 * problem.effort / step_sizes * ((trajectory.controls + problem.bias) ** 2).sum(axis=1)


@dataclass
class _TimingObjective:
    """The best cost as a function of the stretch of each gap, always solved from the best motion so far."""

    setup: ShotSetup
    options: KeyframeOptions
    dt: float

    def __post_init__(self) -> None:
        self.key_frames = np.array([0, *self.setup.keys])
        self.gap_of_step = np.repeat(np.arange(len(self.key_frames) - 1), np.diff(self.key_frames))

    def compute_step_sizes(self, stretch: Array) -> Array:
        """(T,) [s]; what follows the last key keeps its step."""
        steps = np.full(self.setup.step_count, self.dt)
        steps[: len(self.gap_of_step)] *= stretch[self.gap_of_step]
        return steps

    def build_problem(self, stretch: Array) -> KeyframeProblem:
        return build_soft_problem(
            self.setup, self.options.effort, self.compute_step_sizes(stretch), self.dt * self.setup.step_count
        )

    def solve(self, stretch: Array, guess: Trajectory) -> ShotSolution | None:
        problem = self.build_problem(stretch)
        try:
            with limit_blas_threads():
                path = rollout(
                    problem.system, problem.coefficients, problem.start, guess.controls, guess=guess.accelerations
                )
                return minimise(
                    problem,
                    path,
                    tolerance=INNER_TOLERANCE,
                    max_iterations=self.options.iterations,
                    callback=build_callback(self.options),
                )
        except NotConverged:
            return None

    def compute_gradient(self, stretch: Array, trajectory: Trajectory) -> Array:
        """dE*/dstretch (gaps,)."""
        velocity = self.setup.model.project_velocity(self.setup.start_velocity)
        slopes = compute_timestep_gradient(
            self.build_problem(stretch), trajectory, self.compute_step_sizes(stretch), velocity
        )
        total = np.zeros(len(self.key_frames) - 1)
        np.add.at(total, self.gap_of_step, self.dt * slopes[: len(self.gap_of_step)])
        return total


def optimise_timing(
    setup: ShotSetup, search_result: KeyframeSearchResult, dt: float, options: KeyframeOptions, bounds: TimingBounds
) -> tuple[ShotSetup, KeyframeSearchResult]:
    """The setting with its keys at better frames, and the motion there; unchanged when none is better."""
    timing = _TimingObjective(setup, options, dt)
    first = search_result.solution if search_result.soft_solution is None else search_result.soft_solution
    try:
        stretch, path = _minimise_stretch(timing, first, bounds)
    except OptimisationStopped:
        return setup, search_result
    moved = _round_key_frames(setup, stretch)
    if tuple(moved.keys) == tuple(setup.keys):
        return setup, search_result
    start = build_soft_problem(moved, options.effort, np.full(moved.step_count, dt)).start
    guess = ("the motion with free timing", _resample_controls(timing, stretch, path.controls, moved.step_count), start)
    again = search_motion(
        moved, np.full(moved.step_count, dt), options, guesses=[guess], duration=dt * setup.step_count
    )
    return (moved, again) if again.solution.cost < search_result.solution.cost else (setup, search_result)


def _minimise_stretch(
    objective: _TimingObjective, first: ShotSolution, bounds: TimingBounds
) -> tuple[Array, Trajectory]:
    """Stretches (gaps,) by damped BFGS in a trust region; only decrease is accepted."""
    lengths = np.diff(objective.key_frames).astype(float)
    x, best = np.ones(len(lengths)), first
    g = objective.compute_gradient(x, best.trajectory)
    radius = INITIAL_RADIUS
    H = np.eye(len(x)) * max(np.abs(g).max(), 1e-300) / radius
    for _ in range(MAX_TRIALS):
        p = _solve_trust_region_step(g, H, x, radius, bounds, lengths)
        promised = -float(g @ p + 0.5 * p @ H @ p)
        if promised <= MIN_PREDICTED_DECREASE * best.cost:
            break
        trial = objective.solve(x + p, best.trajectory)
        ratio = (best.cost - trial.cost) / promised if trial is not None else -1.0
        if trial is not None and ratio > 0:
            x, best = x + p, trial
            now = objective.compute_gradient(x, best.trajectory)
            H, g = _update_damped_bfgs(H, p, now - g), now
        radius *= 1.6 if ratio > 0.7 else 0.4 if ratio < 0.25 else 1.0
    return x, best.trajectory


def _solve_trust_region_step(
    g: Array, H: Array, x: Array, radius: float, bounds: TimingBounds, lengths: Array
) -> Array:
    """The minimiser of g·p + ½pᵀHp with |p| <= radius x, within the bounds, the total kept where it must be."""
    low = np.minimum(np.maximum(-radius * x, bounds.low - x), 0.0)
    high = np.maximum(np.minimum(radius * x, bounds.high - x), 0.0)
    scale = 1.0 / max(np.abs(g).max(), 1e-300)
    keep = [{"type": "eq", "fun": lambda p: lengths @ p, "jac": lambda p: lengths}] if bounds.fixed_total else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a bound passed by rounding is clipped, which is what we want
        result = scipy.optimize.minimize(
            lambda p: (scale * (g @ p + 0.5 * p @ H @ p), scale * (g + H @ p)), np.zeros_like(g), jac=True,
            method="SLSQP", bounds=list(zip(low, high)), constraints=keep, options={"ftol": 1e-12},
        )  # fmt: skip
    return np.clip(result.x, low, high)


def _update_damped_bfgs(H: Array, p: Array, y: Array) -> Array:
    """Powell's damped update: H stays positive definite whatever y is."""
    Hp = H @ p
    curvature, along = float(p @ Hp), float(p @ y)
    share = 1.0 if along >= 0.2 * curvature else 0.8 * curvature / (curvature - along)
    y = share * y + (1.0 - share) * Hp
    return H - np.outer(Hp, Hp) / curvature + np.outer(y, y) / (p @ y)


def _round_key_frames(setup: ShotSetup, stretch: Array) -> ShotSetup:
    """Keys at the frames nearest to their new times, each after the one before it."""
    given = np.array([0, *setup.keys])
    ends = np.rint(np.cumsum(stretch * np.diff(given))).astype(int)
    for k in range(len(ends)):
        ends[k] = max(ends[k], (ends[k - 1] if k else 0) + 1)
    keys = dict(zip(ends.tolist(), setup.keys.values()))
    return replace(setup, keys=keys, frames=int(setup.frames + ends[-1] - given[-1]))


def _resample_controls(objective: _TimingObjective, stretch: Array, controls: Array, count: int) -> Array:
    """Controls at the ends of `count` uniform steps, from those at the ends of the stretched ones."""
    ends = np.cumsum(objective.compute_step_sizes(stretch))
    times = objective.dt * np.arange(1, count + 1)
    return np.stack([np.interp(times, ends, column) for column in controls.T], axis=1)
