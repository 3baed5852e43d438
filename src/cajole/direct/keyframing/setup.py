"""Preparation of a shot: the reduced model, the keys with a cost, the start, and the optimisation problem they pose."""

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
from cajole.reduction.trajectory import build_newmark_coefficients, rollout_pd

# A name, controls (T, r), and the predictor state of the first step.
InitialGuess = tuple[str, Array, tuple[Array, Array]]


def compute_natural_frequencies(body: Body, poses: Array) -> Array:
    """ω (gaps,) [rad/s] of the tangent from each pose to the next: ω² = TᵀK(q)T / TᵀMT.

    Zero where the pose does not change, or where nothing pulls it back (ω² <= 0).
    """
    tangents = compute_key_tangents(body, poses)[:, ::2]
    out = np.zeros(len(poses) - 1)
    for gap, (pose, T) in enumerate(zip(poses[:-1], tangents.T)):
        mass = T @ (body.mass @ T)
        if mass > 0:
            out[gap] = np.sqrt(max(T @ (body.stiffness(pose) @ T) / mass, 0.0))
    return out


@dataclass(frozen=True, eq=False)
class ShotSetup:
    """A prepared shot.

    keys: those with a cost, by frame. boundary: "open" (frame 0 is the start, and steps lead to the frames after it),
    "free" or "loop" (every frame is a step). start_displacement, start_velocity: (n, 3) at frame 0 of an open shot.
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
        """Index of the step into a frame."""
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
        """From checked keys; start: displacement and velocity at frame 0, those of the key there or rest when None."""
        zero = np.zeros((body.vertex_count, 3))
        start = start or (np.asarray(keys[0].displacement) if 0 in keys else zero, zero)
        if boundary == "open":
            keys = {frame: key for frame, key in keys.items() if frame > 0}
            if not keys:
                raise InputError("the only key stands at frame 0, where the motion begins; give one at a later frame")
        poses, gaps = order_poses(keys, frames, boundary, start[0])
        report: BasisReport | None = None
        if basis is not None:
            model = reduce(body, basis, cubature=cubature, poses=poses)
        else:
            linear = vibration_modes(body, modes) if modes else None
            extras = None if linear is None else linear.shapes
            U, report = build_keyframe_basis(body, poses, tangents=tangents, extras=extras, extra_size=max(modes, 1))
            model = reduce(body, U, cubature=cubature, poses=poses)
            first = None if linear is None else find_lowest_angular_frequency(body, linear.eigenvalues)
            if first is not None:
                model.first_angular_frequency = first  # known already: saves seconds on a large net
        return cls.from_model(model, keys, frames, boundary, start, poses, gaps, report)

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
        """From a given model; poses (k, n, 3) in order of time, and the frames between them (k - 1,).

        The natural time step is Σ π/(2ω) / Σ frames, the natural time of all gaps over their frames. The paper prints
        h = π/(2ω), which is the time to one key, not the step. With a mean of the gaps' own steps the shortest gap
        would determine the pace of the whole shot.
        """
        frequencies = compute_natural_frequencies(model.body, poses)
        moving = frequencies > 0
        frequencies, gaps = frequencies[moving], gaps[moving]
        if len(frequencies) == 0:
            frequencies, gaps = np.array([model.first_angular_frequency]), np.array([float(frames)])
        h = float((np.pi / (2.0 * frequencies)).sum() / gaps.sum())
        return cls(model, keys, frames, boundary, *start, frequencies, h, report)


def order_poses(keys: dict[int, Key], frames: int, boundary: str, start_displacement: Array) -> tuple[Array, Array]:
    """Poses in order of time and the frames between them: from the start, or around the loop."""
    poses, places = [np.asarray(key.displacement) for key in keys.values()], list(keys)
    if boundary == "open" or len(poses) == 1:
        poses, places = [start_displacement, *poses], [0, *(max(place, 1) for place in places)]
    elif boundary == "loop":
        poses, places = [*poses, poses[0]], [*places, places[0] + frames]
    return np.stack(poses), np.diff(np.array(places, dtype=float))


def mode_count(body: Body, modes: int | None) -> int:
    """The checked number of linear modes; for None 10, or all of a small body."""
    return min(10, count_modes(body)) if modes is None else checks.require_integer(modes, "modes", minimum=0)


def build_soft_problem(
    setup: ShotSetup, effort: float, step_sizes: Array, duration: float | None = None
) -> KeyframeProblem:
    """The problem with every key in the cost; step_sizes: (T,) [s]; duration [s]: over which effort is a mean, the sum
    of the step sizes when None."""
    model, r = setup.model, setup.model.size
    key_index = np.full(setup.step_count, -1)
    key_index[[setup.find_step(frame) for frame in setup.keys]] = np.arange(len(setup.keys))
    costs = [build_key_cost(model, key) for key in setup.keys.values()]
    key_weight = _compute_key_weight(setup)
    rho = effort / model.unit_effort / (step_sizes.sum() if duration is None else duration)
    state, rate = model.project(setup.start_displacement), model.project_velocity(setup.start_velocity)
    start_cost = np.zeros((2 * r, 2 * r))
    if setup.boundary == "free":
        # The squared force that would hold a start (P, V) against the stiffness at rest, in units of (L ω₁²)²:
        # |K P|² + ω₁² VᵀK V, over ω₁⁴. If starts were free of cost, the cheapest motion would be thrown from far away.
        K, omega = model.stiffness(), model.first_angular_frequency
        start_cost = effort / model.unit_length**2 * (scipy.linalg.block_diag(K @ K, omega**2 * K) / omega**4)
    # curvature of a free state relative to a key: pivots stay positive, and the solve is not slowed down
    state_units = np.repeat([1.0, model.first_angular_frequency**-2], r)
    return KeyframeProblem(
        system=model.kernel_data,
        coefficients=build_newmark_coefficients(
            np.append(step_sizes, step_sizes[0] if setup.boundary == "loop" else step_sizes[-1])
        ),
        start=model.compute_predictor(state, rate, step_sizes[0]),
        key_index=key_index,
        key_hessians=key_weight * np.stack([H for H, _ in costs]),
        key_states=np.stack([t for _, t in costs]),
        effort=rho * step_sizes,
        bias=model.constant_force,
        constraint_rows=np.empty((0, r)),
        constraint_steps=np.empty(0, dtype=np.int64),
        constraint_targets=np.empty(0),
        boundary=setup.boundary,
        start_cost=start_cost,
        state_weights=0.1 * key_weight * state_units + np.diag(start_cost),
        body_size=model.unit_length,
    )


def _compute_key_weight(setup: ShotSetup) -> float:
    """1 / (K m L²): turns the sum of K squared distances to keys into their mean in body sizes."""
    return 1.0 / (len(setup.keys) * setup.model.unit_length**2)


def build_hard_problem(setup: ShotSetup, soft: KeyframeProblem, tolerance: float) -> KeyframeProblem:
    """`soft` with its hard keys as constraints."""
    H, rows, steps, targets = soft.key_hessians.copy(), [], [], []
    for k, (frame, key) in enumerate(setup.keys.items()):
        if key.hard:
            key_rows = build_hard_rows(setup.model, key, tolerance)
            # a cost beside the multipliers: the same minimiser, better conditioned
            H[k] += 100.0 * _compute_key_weight(setup) * key.weight * key_rows.T @ key_rows
            rows.append(key_rows)
            steps += [setup.find_step(frame)] * len(key_rows)
            targets.append(key_rows @ soft.key_states[k])
    return replace(
        soft,
        key_hessians=H,
        constraint_rows=np.vstack(rows),
        constraint_steps=np.array(steps),
        constraint_targets=np.concatenate(targets),
    )


def build_initial_guesses(setup: ShotSetup, problem: KeyframeProblem, which: str) -> list[InitialGuess]:
    """Controls and predictor states to start from: "zero" control, "pd", or both ("best")."""
    guesses: list[InitialGuess] = []
    if which in ("best", "zero"):
        rest = (np.zeros(setup.model.size), np.zeros(setup.model.size))
        no_control = np.zeros((setup.step_count, setup.model.size)) - problem.bias
        guesses.append(("zero control", no_control, problem.start if setup.boundary == "open" else rest))
    if which in ("best", "pd"):
        # states between the keys by straight lines (T, r)
        places, states = [setup.find_step(frame) for frame in setup.keys], list(problem.key_states)
        if setup.boundary == "open":
            places, states = [-1, *places], [setup.model.project(setup.start_displacement), *states]
        period, times = setup.step_count if setup.boundary == "loop" else None, np.arange(setup.step_count)
        columns = [np.interp(times, places, column, period=period) for column in np.array(states).T]
        # in units of the natural frequency; with zero control they found the best known minimum of all long shots tried
        for factor in (3.0, 8.0):
            frequency = factor * float(setup.natural_frequencies.mean())
            guess = _simulate_pd_guess(problem, np.stack(columns, axis=1), frequency)
            if guess is not None:
                guesses.append((f"PD at {factor:g} times the natural frequency", *guess))
    if not guesses:
        raise NotConverged("no start could be simulated with this timestep; use a smaller dt")
    return guesses


def _simulate_pd_guess(
    problem: KeyframeProblem, target: Array, frequency: float
) -> tuple[Array, tuple[Array, Array]] | None:
    """Controls and start of a PD-driven motion along target (T, r); the second lap of a loop, when it has settled."""
    start = problem.start if problem.boundary == "open" else (target[0], np.zeros_like(target[0]))
    laps, T = 2 if problem.boundary == "loop" else 1, len(target)
    coefficients, path = np.tile(problem.coefficients, (laps, 1)), np.tile(target, (laps, 1))
    trajectory = rollout_pd(problem.system, coefficients, start, path, frequency)
    if trajectory is None:
        return None
    P, V = trajectory.predicted_coordinates[-T - 1].copy(), trajectory.predicted_velocities[-T - 1].copy()
    return trajectory.controls[-T:], (P, V)
