"""What a shot is made of before it is solved: the model, the keys that cost, the start, and the problem they pose."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body
from cajole.direct.keyframing.keys import Key, hard_rows, key_cost
from cajole.direct.keyframing.problem import Problem
from cajole.direct.keyframing.timestep import natural_frequencies, natural_timestep
from cajole.dynamics import modes as vibration_modes
from cajole.dynamics.vibration import count_modes, lowest_stiff
from cajole.errors import InputError, NotConverged
from cajole.reduction import ReducedModel, keyframe_basis, reduce
from cajole.reduction.bases import BasisReport
from cajole.reduction.trajectory import Trajectory, newmark_plan, rollout_pd

# Linear modes beside the keys unless their number is given.
MODES = 10
# Stiffness of the PD starts, in units of the natural frequency of the keys; together with zero control they found the
# best known minimum of every long shot tried.
PD_STARTS = (3.0, 8.0)
# Curvature of a free state in units of a key's weight: enough to keep pivots positive, too little to slow the solve.
STATE_UNIT = 0.1
# What hard rows weigh beside their multipliers: the same minimiser, better conditioned.
HARD_WEIGHT = 100.0

Start = tuple[str, Array, tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class Setting:
    """A shot to solve.

    keys: those that cost, by frame; ending: "open" (frame 0 is the start, steps lead to the frames after it), "free" or
    "loop" (every frame is a step); first, velocity: (n, 3) at frame 0 of an open shot.
    """

    model: ReducedModel
    keys: dict[int, Key]
    frames: int
    ending: str
    first: Array
    velocity: Array
    frequencies: Array
    natural_dt: float
    basis: BasisReport | None

    @property
    def steps(self) -> int:
        return self.frames - 1 if self.ending == "open" else self.frames

    def step_of(self, frame: int) -> int:
        return frame - 1 if self.ending == "open" else frame

    @classmethod
    def of(
        cls,
        body: Body,
        keys: dict[int, Key],
        frames: int,
        *,
        modes: int,
        ending: str = "open",
        start: tuple[Array, Array] | None = None,
        basis: ArrayLike | None = None,
        tangents: bool = True,
        cubature: bool | float = False,
    ) -> Setting:
        """From checked keys; start: displacement and velocity at frame 0, the key there or rest when None."""
        zero = np.zeros((body.count, 3))
        first, velocity = start or (np.asarray(keys[0].displacement) if 0 in keys else zero, zero)
        costly = _costly(keys, ending)
        poses, gaps = tour(costly, frames, ending, first)
        model, report = _model(body, poses, basis, tangents, modes, cubature)
        return cls.with_model(model, costly, frames, ending, (first, velocity), poses, gaps, report)

    @classmethod
    def with_model(
        cls,
        model: ReducedModel,
        keys: dict[int, Key],
        frames: int,
        ending: str,
        start: tuple[Array, Array],
        poses: Array,
        gaps: Array,
        report: BasisReport | None,
    ) -> Setting:
        """The same from a model at hand; poses (k, n, 3) in order of time and the frames between them set the pace."""
        frequencies = natural_frequencies(model.body, poses)
        moving = frequencies > 0
        frequencies, gaps = frequencies[moving], gaps[moving]
        if len(frequencies) == 0:
            frequencies, gaps = np.array([model.frequency]), np.array([float(frames)])
        h = natural_timestep(frequencies, gaps)
        return cls(model, keys, frames, ending, *start, frequencies, h, report)


def _costly(keys: dict[int, Key], ending: str) -> dict[int, Key]:
    """The keys that cost: of an open shot, those after the start."""
    if ending != "open":
        return keys
    later = {frame: key for frame, key in keys.items() if frame > 0}
    if not later:
        raise InputError("the only key stands at frame 0, where the motion begins; give one at a later frame")
    return later


def tour(keys: dict[int, Key], frames: int, ending: str, first: Array) -> tuple[Array, Array]:
    """Poses in order of time and the frames between them: from the start, or around the loop."""
    poses = [np.asarray(key.displacement) for key in keys.values()]
    places = list(keys)
    if ending == "open" or len(poses) == 1:
        poses, places = [first, *poses], [0, *(max(place, 1) for place in places)]
    elif ending == "loop":
        poses, places = [*poses, poses[0]], [*places, places[0] + frames]
    return np.stack(poses), np.diff(np.array(places, dtype=float))


def mode_count(body: Body, modes: int | None) -> int:
    """`modes` as a checked number of linear modes; None for MODES, or for all that a small body has."""
    return min(MODES, count_modes(body)) if modes is None else checks.count(modes, "modes", least=0)


def _model(
    body: Body, poses: Array, basis: ArrayLike | None, tangents: bool, count: int, cubature: bool | float
) -> tuple[ReducedModel, BasisReport | None]:
    if basis is not None:
        return reduce(body, basis, cubature=cubature, poses=poses), None
    linear = vibration_modes(body, count) if count else None
    extras = None if linear is None else linear.shapes
    U, report = keyframe_basis(body, poses, tangents=tangents, extras=extras, extra_size=max(count, 1))
    model = reduce(body, U, cubature=cubature, poses=poses)
    first = None if linear is None else lowest_stiff(body, linear.eigenvalues)
    if first is not None:
        model.frequency = first  # at hand: seconds saved on a large net
    return model, report


def soft_problem(setting: Setting, effort: float, steps: Array, span: float | None = None) -> Problem:
    """The problem with every key weighed; steps: (T,) [s]; span [s]: the time that effort is a mean over, theirs when
    None."""
    model, r = setting.model, setting.model.size
    key = np.full(setting.steps, -1)
    key[[setting.step_of(frame) for frame in setting.keys]] = np.arange(len(setting.keys))
    costs = [key_cost(model, wanted) for wanted in setting.keys.values()]
    mean_key = _mean_key(setting)
    rho = effort / model.unit_effort / (steps.sum() if span is None else span)
    state, rate = model.project(setting.first), model.project_velocity(setting.velocity)
    start = model.predictor(state, rate, steps[0])
    after = steps[0] if setting.ending == "loop" else steps[-1]
    state_units = np.repeat([1.0, model.frequency**-2], r)
    calm = effort / model.unit_length**2 * _holding(model) if setting.ending == "free" else np.zeros((2 * r, 2 * r))
    unit = STATE_UNIT * mean_key * state_units + np.diag(calm)
    return Problem(
        model.system, newmark_plan(np.append(steps, after)), start, key, mean_key * np.stack([H for H, _ in costs]),
        np.stack([t for _, t in costs]), rho * steps, model.constant, np.empty((0, r)),
        np.empty(0, dtype=np.int64), np.empty(0), setting.ending, calm, unit, model.unit_length,
    )  # fmt: skip


def _mean_key(setting: Setting) -> float:
    """1 / (K m L²): what turns the sum of the K squared distances to keys into their mean in body sizes."""
    return 1.0 / (len(setting.keys) * setting.model.unit_length**2)


def _holding(model: ReducedModel) -> Array:
    """The squared force that would hold a start (P, V) at rest's stiffness, in units of (L ω₁²)² (2r, 2r).

    |K P|² + VᵀK V ω₁², over ω₁⁴: a mode of frequency ω counts (ω/ω₁)⁴ and (ω/ω₁)²/ω₁². Were starts free of charge, the
    cheapest motion would be thrown from far away.
    """
    K = model.stiffness()
    return scipy.linalg.block_diag(K @ K, model.frequency**2 * K) / model.frequency**4


def hard_problem(setting: Setting, soft: Problem, tolerance: float) -> Problem:
    """`soft` with its hard keys as constraints."""
    H, rows, steps, wanted = soft.H.copy(), [], [], []
    for k, (frame, key) in enumerate(setting.keys.items()):
        if key.hard:
            own = hard_rows(setting.model, key, tolerance)
            H[k] += HARD_WEIGHT * _mean_key(setting) * key.weight * own.T @ own
            rows.append(own)
            steps += [setting.step_of(frame)] * len(own)
            wanted.append(own @ soft.t[k])
    return replace(soft, H=H, rows=np.vstack(rows), row_step=np.array(steps), wanted=np.concatenate(wanted))


def first_guesses(setting: Setting, problem: Problem, which: str) -> list[Start]:
    """Named controls and predictor states to start from."""
    zero = np.zeros((setting.steps, setting.model.size))
    rest = (np.zeros(setting.model.size), np.zeros(setting.model.size))
    found: list[Start] = []
    if which in ("best", "zero"):
        found.append(("zero control", zero - problem.bias, problem.start if setting.ending == "open" else rest))
    if which in ("best", "pd"):
        target = _target(setting, problem)
        pace = float(setting.frequencies.mean())
        for factor in PD_STARTS:
            guess = _pulled(problem, target, factor * pace)
            if guess is not None:
                found.append((f"PD at {factor:g} times the natural frequency", *guess))
    if not found:
        raise NotConverged("no start could be simulated with this timestep; use a smaller dt")
    return found


def _target(setting: Setting, problem: Problem) -> Array:
    """States between the keys by straight lines (T, r)."""
    places = [setting.step_of(frame) for frame in setting.keys]
    poses = list(problem.t)
    if setting.ending == "open":
        places, poses = [-1, *places], [setting.model.project(setting.first), *poses]
    period = setting.steps if setting.ending == "loop" else None
    times = np.arange(setting.steps)
    return np.stack([np.interp(times, places, column, period=period) for column in np.array(poses).T], axis=1)


def _pulled(problem: Problem, target: Array, frequency: float) -> tuple[Array, tuple[Array, Array]] | None:
    """Controls and start of a motion pulled along `target`; of a loop the second lap, when it has settled."""
    start = problem.start if problem.ending == "open" else (target[0], np.zeros_like(target[0]))
    laps = 2 if problem.ending == "loop" else 1
    plan, goal = np.tile(problem.plan, (laps, 1)), np.tile(target, (laps, 1))
    path: Trajectory | None = rollout_pd(problem.system, plan, start, goal, frequency)
    if path is None:
        return None
    T = len(target)
    return path.W[-T:], (path.P[-T - 1].copy(), path.V[-T - 1].copy())
