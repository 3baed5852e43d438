"""What a shot is made of before it is solved: the model, the keys that cost, the start, and the problem they pose."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body
from cajole.direct.keyframing.keys import Key, build_hard_rows, build_key_cost
from cajole.direct.keyframing.problem import KeyframeProblem
from cajole.dynamics import modes as vibration_modes
from cajole.dynamics.modal_analysis import count_modes, find_lowest_angular_frequency
from cajole.errors import InputError, NotConverged
from cajole.reduction import ReducedModel, build_keyframe_basis, reduce
from cajole.reduction.bases import BasisReport, compute_key_tangents
from cajole.reduction.trajectory import Trajectory, build_newmark_coefficients, rollout_pd


def compute_natural_frequencies(body: Body, poses: Array) -> Array:
    """ω (gaps,) [rad/s] of the tangent that leaves each pose for the next: ω² = TᵀK(q)T / TᵀMT.

    Zero where the pose does not change, or where nothing pulls it back (ω² <= 0).
    """
    tangents = compute_key_tangents(body, poses)[:, ::2]
    out = np.zeros(len(poses) - 1)
    for gap, (pose, T) in enumerate(zip(poses[:-1], tangents.T)):
        mass = T @ (body.mass @ T)
        if mass > 0:
            out[gap] = np.sqrt(max(T @ (body.stiffness(pose) @ T) / mass, 0.0))
    return out


def compute_natural_timestep(frequencies: Array, gaps: Array) -> float:
    """Σ π/(2ω) / Σ frames: the natural time of all gaps over their frames, for ω > 0 and gaps in frames (gaps,).

    The paper prints h = π/(2ω), which is the time to one key, not the step. A mean of the gaps' own steps would let the
    shortest gap set the pace of the whole shot.
    """
    return float((np.pi / (2.0 * frequencies)).sum() / gaps.sum())


# Linear modes beside the keys unless their number is given.
MODES = 10
# Stiffness of the PD starts, in units of the natural frequency of the keys; together with zero control they found the
# best known minimum of every long shot tried.
PD_GUESS_GAINS = (3.0, 8.0)
# Curvature of a free state in units of a key's weight: enough to keep pivots positive, too little to slow the solve.
FREE_STATE_WEIGHT = 0.1
# What hard rows weigh beside their multipliers: the same minimiser, better conditioned.
HARD_KEY_WEIGHT = 100.0

InitialGuess = tuple[str, Array, tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class ShotSetup:
    """A shot to solve.

    keys: those that cost, by frame; ending: "open" (frame 0 is the start, steps lead to the frames after it), "free" or
    "loop" (every frame is a step); first, velocity: (n, 3) at frame 0 of an open shot.
    """

    model: ReducedModel
    keys: dict[int, Key]
    frames: int
    boundary: str
    start_displacement: Array
    start_velocity: Array
    natural_frequencies: Array
    natural_dt: float
    basis_report: BasisReport | None

    @property
    def step_count(self) -> int:
        return self.frames - 1 if self.boundary == "open" else self.frames

    def find_step(self, frame: int) -> int:
        return frame - 1 if self.boundary == "open" else frame

    @classmethod
    def from_keys(
        cls,
        body: Body,
        keys: dict[int, Key],
        frames: int,
        *,
        modes: int,
        boundary: str = "open",
        start: tuple[Array, Array] | None = None,
        basis: ArrayLike | None = None,
        tangents: bool = True,
        cubature: bool | float = False,
    ) -> ShotSetup:
        """From checked keys; start: displacement and velocity at frame 0, the key there or rest when None."""
        zero = np.zeros((body.vertex_count, 3))
        start_displacement, start_velocity = start or (np.asarray(keys[0].displacement) if 0 in keys else zero, zero)
        target_keys = _select_target_keys(keys, boundary)
        poses, gaps = order_poses(target_keys, frames, boundary, start_displacement)
        model, report = _build_reduced_model(body, poses, basis, tangents, modes, cubature)
        return cls.from_model(
            model, target_keys, frames, boundary, (start_displacement, start_velocity), poses, gaps, report
        )

    @classmethod
    def from_model(
        cls,
        model: ReducedModel,
        keys: dict[int, Key],
        frames: int,
        boundary: str,
        start: tuple[Array, Array],
        poses: Array,
        gaps: Array,
        report: BasisReport | None,
    ) -> ShotSetup:
        """The same from a model at hand; poses (k, n, 3) in order of time and the frames between them set the pace."""
        frequencies = compute_natural_frequencies(model.body, poses)
        moving = frequencies > 0
        frequencies, gaps = frequencies[moving], gaps[moving]
        if len(frequencies) == 0:
            frequencies, gaps = np.array([model.first_angular_frequency]), np.array([float(frames)])
        h = compute_natural_timestep(frequencies, gaps)
        return cls(model, keys, frames, boundary, *start, frequencies, h, report)


def _select_target_keys(keys: dict[int, Key], boundary: str) -> dict[int, Key]:
    """The keys that cost: of an open shot, those after the start."""
    if boundary != "open":
        return keys
    later = {frame: key for frame, key in keys.items() if frame > 0}
    if not later:
        raise InputError("the only key stands at frame 0, where the motion begins; give one at a later frame")
    return later


def order_poses(keys: dict[int, Key], frames: int, boundary: str, start_displacement: Array) -> tuple[Array, Array]:
    """Poses in order of time and the frames between them: from the start, or around the loop."""
    poses = [np.asarray(key.displacement) for key in keys.values()]
    places = list(keys)
    if boundary == "open" or len(poses) == 1:
        poses, places = [start_displacement, *poses], [0, *(max(place, 1) for place in places)]
    elif boundary == "loop":
        poses, places = [*poses, poses[0]], [*places, places[0] + frames]
    return np.stack(poses), np.diff(np.array(places, dtype=float))


def mode_count(body: Body, modes: int | None) -> int:
    """`modes` as a checked number of linear modes; None for MODES, or for all that a small body has."""
    return min(MODES, count_modes(body)) if modes is None else checks.require_integer(modes, "modes", minimum=0)


def _build_reduced_model(
    body: Body, poses: Array, basis: ArrayLike | None, tangents: bool, count: int, cubature: bool | float
) -> tuple[ReducedModel, BasisReport | None]:
    if basis is not None:
        return reduce(body, basis, cubature=cubature, poses=poses), None
    linear = vibration_modes(body, count) if count else None
    extras = None if linear is None else linear.shapes
    U, report = build_keyframe_basis(body, poses, tangents=tangents, extras=extras, extra_size=max(count, 1))
    model = reduce(body, U, cubature=cubature, poses=poses)
    first = None if linear is None else find_lowest_angular_frequency(body, linear.eigenvalues)
    if first is not None:
        model.first_angular_frequency = first  # at hand: seconds saved on a large net
    return model, report


def build_soft_problem(
    setup: ShotSetup, effort: float, step_sizes: Array, duration: float | None = None
) -> KeyframeProblem:
    """The problem with every key weighed; steps: (T,) [s]; span [s]: the time that effort is a mean over, theirs when
    None."""
    model, r = setup.model, setup.model.size
    key_index = np.full(setup.step_count, -1)
    key_index[[setup.find_step(frame) for frame in setup.keys]] = np.arange(len(setup.keys))
    costs = [build_key_cost(model, wanted) for wanted in setup.keys.values()]
    mean_key = _compute_key_weight(setup)
    rho = effort / model.unit_effort / (step_sizes.sum() if duration is None else duration)
    state, rate = model.project(setup.start_displacement), model.project_velocity(setup.start_velocity)
    start = model.compute_predictor(state, rate, step_sizes[0])
    after = step_sizes[0] if setup.boundary == "loop" else step_sizes[-1]
    state_units = np.repeat([1.0, model.first_angular_frequency**-2], r)
    start_cost = (
        effort / model.unit_length**2 * _build_start_cost(model)
        if setup.boundary == "free"
        else np.zeros((2 * r, 2 * r))
    )
    state_weights = FREE_STATE_WEIGHT * mean_key * state_units + np.diag(start_cost)
    return KeyframeProblem(
        model.kernel_data,
        build_newmark_coefficients(np.append(step_sizes, after)),
        start,
        key_index,
        mean_key * np.stack([H for H, _ in costs]),
        np.stack([t for _, t in costs]),
        rho * step_sizes,
        model.constant_force,
        np.empty((0, r)),
        np.empty(0, dtype=np.int64),
        np.empty(0),
        setup.boundary,
        start_cost,
        state_weights,
        model.unit_length,
    )


def _compute_key_weight(setup: ShotSetup) -> float:
    """1 / (K m L²): what turns the sum of the K squared distances to keys into their mean in body sizes."""
    return 1.0 / (len(setup.keys) * setup.model.unit_length**2)


def _build_start_cost(model: ReducedModel) -> Array:
    """The squared force that would hold a start (P, V) at rest's stiffness, in units of (L ω₁²)² (2r, 2r).

    |K P|² + VᵀK V ω₁², over ω₁⁴: a mode of frequency ω counts (ω/ω₁)⁴ and (ω/ω₁)²/ω₁². Were starts free of charge, the
    cheapest motion would be thrown from far away.
    """
    K = model.stiffness()
    return scipy.linalg.block_diag(K @ K, model.first_angular_frequency**2 * K) / model.first_angular_frequency**4


def build_hard_problem(setup: ShotSetup, soft: KeyframeProblem, tolerance: float) -> KeyframeProblem:
    """`soft` with its hard keys as constraints."""
    H, rows, steps, wanted = soft.key_hessians.copy(), [], [], []
    for k, (frame, key) in enumerate(setup.keys.items()):
        if key.hard:
            own = build_hard_rows(setup.model, key, tolerance)
            H[k] += HARD_KEY_WEIGHT * _compute_key_weight(setup) * key.weight * own.T @ own
            rows.append(own)
            steps += [setup.find_step(frame)] * len(own)
            wanted.append(own @ soft.key_states[k])
    return replace(
        soft,
        key_hessians=H,
        constraint_rows=np.vstack(rows),
        constraint_steps=np.array(steps),
        constraint_targets=np.concatenate(wanted),
    )


def build_initial_guesses(setup: ShotSetup, problem: KeyframeProblem, which: str) -> list[InitialGuess]:
    """Named controls and predictor states to start from."""
    zero = np.zeros((setup.step_count, setup.model.size))
    rest = (np.zeros(setup.model.size), np.zeros(setup.model.size))
    found: list[InitialGuess] = []
    if which in ("best", "zero"):
        found.append(("zero control", zero - problem.bias, problem.start if setup.boundary == "open" else rest))
    if which in ("best", "pd"):
        target = _interpolate_key_states(setup, problem)
        pace = float(setup.natural_frequencies.mean())
        for factor in PD_GUESS_GAINS:
            guess = _simulate_pd_guess(problem, target, factor * pace)
            if guess is not None:
                found.append((f"PD at {factor:g} times the natural frequency", *guess))
    if not found:
        raise NotConverged("no start could be simulated with this timestep; use a smaller dt")
    return found


def _interpolate_key_states(setup: ShotSetup, problem: KeyframeProblem) -> Array:
    """States between the keys by straight lines (T, r)."""
    places = [setup.find_step(frame) for frame in setup.keys]
    poses = list(problem.key_states)
    if setup.boundary == "open":
        places, poses = [-1, *places], [setup.model.project(setup.start_displacement), *poses]
    period = setup.step_count if setup.boundary == "loop" else None
    times = np.arange(setup.step_count)
    return np.stack([np.interp(times, places, column, period=period) for column in np.array(poses).T], axis=1)


def _simulate_pd_guess(
    problem: KeyframeProblem, target: Array, frequency: float
) -> tuple[Array, tuple[Array, Array]] | None:
    """Controls and start of a motion pulled along `target`; of a loop the second lap, when it has settled."""
    start = problem.start if problem.boundary == "open" else (target[0], np.zeros_like(target[0]))
    laps = 2 if problem.boundary == "loop" else 1
    plan, goal = np.tile(problem.coefficients, (laps, 1)), np.tile(target, (laps, 1))
    trajectory: Trajectory | None = rollout_pd(problem.system, plan, start, goal, frequency)
    if trajectory is None:
        return None
    T = len(target)
    return trajectory.controls[-T:], (
        trajectory.predicted_coordinates[-T - 1].copy(),
        trajectory.predicted_velocities[-T - 1].copy(),
    )
