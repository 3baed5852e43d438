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
from cajole.direct.keyframing.newton import Outcome, Stop, minimise
from cajole.direct.keyframing.problem import Problem
from cajole.direct.keyframing.search import Found, Options, listener, search
from cajole.direct.keyframing.setup import Setting, soft_problem
from cajole.errors import InputError, NotConverged
from cajole.linalg import blas_threads
from cajole.reduction.trajectory import Trajectory, rollout

# How far "free" may stretch or shrink a gap: beyond it frames are too coarse or too many for the gap.
WIDEST = (0.25, 4.0)
FIRST_RADIUS = 0.15
MOST_TRIALS = 40
# The search ends when the model promises less than this share of the cost.
GAIN = 1e-5
# Inner solves need only be as exact as the gain that they are compared by.
INNER_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Freedom:
    """Bounds on the stretch of every gap, and whether their sum stays."""

    low: float
    high: float
    keep_total: bool


def checked_timing(timing: str | tuple[float, float], ending: str) -> Freedom | None:
    """What `timing` allows; None when it is fixed."""
    if isinstance(timing, str):
        if checks.one_of(timing, "timing", ("fixed", "free")) == "fixed":
            return None
        freedom = Freedom(*WIDEST, True)
    else:
        low, high = checks.real_array(timing, "timing", (2,))
        if not 0 < low <= 1 <= high:
            raise InputError(f"timing is ({low:g}, {high:g}), but must be bounds 0 < low <= 1 <= high")
        freedom = Freedom(float(low), float(high), False)
    if ending != "open":
        raise InputError("free timing needs a motion with a given start; leave timing fixed for loops and free starts")
    return freedom


def step_slopes(problem: Problem, path: Trajectory, steps: Array, velocity: Array) -> Array:
    """∂E/∂h_n (T,) at fixed controls, for steps (T,) [s]; velocity: that of the state before the first step (r,).

    With costates l = ∂E/∂x' and s as in the adjoint: ∂E/∂bh = (E_q - Gqᵀs)·a, ∂E/∂gh = -(Gvᵀs)·a, ∂E/∂hp = l_P·V,
    ∂E/∂c1 = l_P·a, ∂E/∂c2 = l_V·a, and the plan's rows are polynomials of h_n and h_{n+1}.
    """
    T, r = path.W.shape
    lP, lV, slopes = np.zeros(r), np.zeros(r), np.zeros(T + 1)
    Eq = problem.key_gradient(path)
    after = np.append(steps, steps[-1])
    for n in range(T - 1, -1, -1):
        bh, gh, hp, c1, c2 = problem.plan[n]
        a, Gq, Gv, h, h1 = path.A[n], path.Gq[n], path.Gv[n], after[n], after[n + 1]
        s = np.linalg.solve((np.eye(r) + gh * Gv + bh * Gq).T, bh * Eq[n] + c1 * lP + c2 * lV)
        by_bh, by_gh, by_c1, by_c2 = (Eq[n] - Gq.T @ s) @ a, -(Gv.T @ s) @ a, lP @ a, lV @ a
        slopes[n] += by_bh * h / 2 + by_gh / 2 + by_c1 * (h + h1) / 2 + by_c2 / 2
        slopes[n + 1] += lP @ path.V[n] + by_c1 * (h + h1) / 2 + by_c2 / 2
        lV, lP = lV + hp * lP - Gv.T @ s, lP + Eq[n] - Gq.T @ s
    # the first predictor is P = q + h v - ¼h²F, V = v - ½hF
    F = 2.0 * (velocity - path.V[0]) / steps[0]
    slopes[0] += lP @ (velocity - steps[0] * F / 2) - lV @ F / 2
    slopes[T - 1] += slopes[T]
    return slopes[:T] + 0.5 * problem.effort / steps * ((path.W + problem.bias) ** 2).sum(axis=1)


@dataclass
class _Timing:
    """The best cost as a function of the stretch of each gap, always solved from the best motion so far."""

    setting: Setting
    options: Options
    h: float

    def __post_init__(self) -> None:
        self.bounds = np.array([0, *self.setting.keys])
        self.gap = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    def steps(self, stretch: Array) -> Array:
        """(T,) [s]; what follows the last key keeps its step."""
        steps = np.full(self.setting.steps, self.h)
        steps[: len(self.gap)] *= stretch[self.gap]
        return steps

    def problem(self, stretch: Array) -> Problem:
        return soft_problem(self.setting, self.options.effort, self.steps(stretch), self.h * self.setting.steps)

    def solved(self, stretch: Array, near: Trajectory) -> Outcome | None:
        problem = self.problem(stretch)
        try:
            with blas_threads():
                path = rollout(problem.system, problem.plan, problem.start, near.W, guess=near.A)
                return minimise(
                    problem, path, tolerance=INNER_TOLERANCE, most=self.options.iterations, watch=listener(self.options)
                )
        except NotConverged:
            return None

    def slope(self, stretch: Array, path: Trajectory) -> Array:
        """dE*/dstretch (gaps,)."""
        velocity = self.setting.model.project_velocity(self.setting.velocity)
        slopes = step_slopes(self.problem(stretch), path, self.steps(stretch), velocity)
        total = np.zeros(len(self.bounds) - 1)
        np.add.at(total, self.gap, self.h * slopes[: len(self.gap)])
        return total


def retimed(setting: Setting, found: Found, h: float, options: Options, freedom: Freedom) -> tuple[Setting, Found]:
    """The setting with its keys at better frames, and the motion there; unchanged when none is better."""
    timing = _Timing(setting, options, h)
    first = found.outcome if found.soft is None else found.soft
    try:
        stretch, path = _descended(timing, first, freedom)
    except Stop:
        return setting, found
    moved = _rounded(setting, stretch)
    if tuple(moved.keys) == tuple(setting.keys):
        return setting, found
    start = soft_problem(moved, options.effort, np.full(moved.steps, h)).start
    guess = ("the motion with free timing", _resampled(timing, stretch, path.W, moved.steps), start)
    again = search(moved, np.full(moved.steps, h), options, guesses=[guess], span=h * setting.steps)
    return (moved, again) if again.outcome.cost < found.outcome.cost else (setting, found)


def _descended(timing: _Timing, first: Outcome, freedom: Freedom) -> tuple[Array, Trajectory]:
    """Stretches (gaps,) by damped BFGS in a trust region; only decrease is accepted."""
    lengths = np.diff(timing.bounds).astype(float)
    x, best = np.ones(len(lengths)), first
    g = timing.slope(x, best.path)
    radius = FIRST_RADIUS
    H = np.eye(len(x)) * max(np.abs(g).max(), 1e-300) / radius
    for _ in range(MOST_TRIALS):
        p = _model_step(g, H, x, radius, freedom, lengths)
        promised = -float(g @ p + 0.5 * p @ H @ p)
        if promised <= GAIN * best.cost:
            break
        trial = timing.solved(x + p, best.path)
        ratio = (best.cost - trial.cost) / promised if trial is not None else -1.0
        if trial is not None and ratio > 0:
            x, best = x + p, trial
            now = timing.slope(x, best.path)
            H, g = _damped_bfgs(H, p, now - g), now
        radius *= 1.6 if ratio > 0.7 else 0.4 if ratio < 0.25 else 1.0
    return x, best.path


def _model_step(g: Array, H: Array, x: Array, radius: float, freedom: Freedom, lengths: Array) -> Array:
    """The minimiser of g·p + ½pᵀHp with |p| <= radius x, within the bounds, the total kept where it must be."""
    low = np.minimum(np.maximum(-radius * x, freedom.low - x), 0.0)
    high = np.maximum(np.minimum(radius * x, freedom.high - x), 0.0)
    scale = 1.0 / max(np.abs(g).max(), 1e-300)
    keep = [{"type": "eq", "fun": lambda p: lengths @ p, "jac": lambda p: lengths}] if freedom.keep_total else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a bound passed by rounding is clipped, which is what we want
        result = scipy.optimize.minimize(
            lambda p: (scale * (g @ p + 0.5 * p @ H @ p), scale * (g + H @ p)), np.zeros_like(g), jac=True,
            method="SLSQP", bounds=list(zip(low, high)), constraints=keep, options={"ftol": 1e-12},
        )  # fmt: skip
    return np.clip(result.x, low, high)


def _damped_bfgs(H: Array, p: Array, y: Array) -> Array:
    """Powell's damped update: H stays positive definite whatever y is."""
    Hp = H @ p
    curvature, along = float(p @ Hp), float(p @ y)
    share = 1.0 if along >= 0.2 * curvature else 0.8 * curvature / (curvature - along)
    y = share * y + (1.0 - share) * Hp
    return H - np.outer(Hp, Hp) / curvature + np.outer(y, y) / (p @ y)


def _rounded(setting: Setting, stretch: Array) -> Setting:
    """Keys at the frames nearest to their new times, each after the one before it."""
    given = np.array([0, *setting.keys])
    ends = np.rint(np.cumsum(stretch * np.diff(given))).astype(int)
    for k in range(len(ends)):
        ends[k] = max(ends[k], (ends[k - 1] if k else 0) + 1)
    keys = dict(zip(ends.tolist(), setting.keys.values()))
    return replace(setting, keys=keys, frames=int(setting.frames + ends[-1] - given[-1]))


def _resampled(timing: _Timing, stretch: Array, W: Array, count: int) -> Array:
    """Controls at the ends of `count` uniform steps, from those at the ends of the stretched ones."""
    ends = np.cumsum(timing.steps(stretch))
    times = timing.h * np.arange(1, count + 1)
    return np.stack([np.interp(times, ends, column) for column in W.T], axis=1)
