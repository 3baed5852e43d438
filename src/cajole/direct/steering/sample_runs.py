"""The disturbed runs around a motion: when they start, and what disturbs them (§5.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, Body
from cajole.direct.steering.motion import Force
from cajole.direct.steering.sample_work import Task
from cajole.dynamics import modes
from cajole.dynamics.simulation import is_stack
from cajole.errors import InputError
from cajole.memory import require_memory
from cajole.reduction.bases import mass_norm

# draws a disturbance of size one: where (None: everywhere), and its force or velocity (n, 3)
Shape = Callable[[np.random.Generator], tuple[int | None, Array]]

KINDS = ("impulses", "velocities")
# A push lasts this many first periods: long enough to bend the body, short enough to leave it swinging.
PUSH_PERIODS = 0.25
# A run lasts this many first periods: how the disturbance rings, without the rest of a long motion.
HORIZON_PERIODS = 3.0
# Frames that it lasts at least, where a period is shorter than a frame.
LEAST_HORIZON = 10
# Snapshots in a first period: twice what a sine of three times its frequency needs.
SNAPSHOTS_PER_PERIOD = 12.0
# The radius of the pushed patch in body sizes: a push on one vertex would be another on a finer mesh.
PATCH = 0.15
# Random velocities are mixed from this many modes: noise on every vertex rings in stiff modes and hardly bends a body.
VELOCITY_MODES = 12
# Fixed vertices may be off by this share of the body's size: a motion from a file is in single precision.
STILL = 1e-6
# Frames of the centre line that are in memory at a time.
CENTRE_BLOCK = 64


@dataclass(frozen=True)
class SampleRun:
    """One disturbed run: from `frame` on for `frames` frames.

    strength: the force pushed with as a share of the centre line's (or the speed, of its greatest); vertex: the middle
    of the pushed patch, None for velocities; snapshots: how many were taken.
    """

    frame: int
    frames: int
    strength: float
    vertex: int | None
    snapshots: int


class Course:
    """The centre line as the runs need it: states at its frames, and the force on every step [h] after them."""

    def __init__(self, body: Body, centre: Animation, force: Force, substeps: int):
        checks.require_instance(body, Body, "body")
        checks.require_instance(centre, Animation, "centre")
        self.body, self.centre, self.substeps = body, centre, substeps
        self.h = 1.0 / centre.fps / substeps
        self._require_own()
        self._force = force
        if force is not None and not callable(force):
            shape = (centre.frames, body.count, 3) if is_stack(force) else (body.count, 3)
            self._force = checks.real_array(force, "force", shape)

    def _require_own(self) -> None:
        body, centre = self.body, self.centre
        if centre.n != body.count:
            raise InputError(f"the centre line has {centre.n} vertices, but the body has {body.count}")
        off = np.abs(centre.mesh.vertices - body.vertices).max(axis=1)
        if off.max() > STILL * body.size:
            raise InputError(
                f"the centre line is of another mesh: at rest its vertex {int(off.argmax())} is {off.max():.3g} m away "
                "from the body's; simulate this body"
            )
        if centre.frames < 3:
            raise InputError(f"the centre line has {centre.frames} frames, but must have at least 3")
        moved = np.abs(centre.positions[:, body.fixed] - body.vertices[body.fixed]).max(axis=(0, 2), initial=0.0)
        if moved.max(initial=0.0) > STILL * body.size:
            worst = int(moved.argmax())
            raise InputError(f"fixed vertex {body.fixed[worst]} moves by {moved[worst]:.3g} m in the centre line")

    def state(self, frame: int) -> tuple[Array, Array]:
        """u and v (n, 3) at `frame`, zero at fixed vertices."""
        at, rates = self.centre.positions, self.centre.velocities
        u = np.asarray(at[frame] - self.body.vertices, dtype=np.float64)
        v = self._slope(frame) if rates is None else np.array(rates[frame], dtype=np.float64)
        u[self.body.fixed] = v[self.body.fixed] = 0.0
        return u, v

    def _slope(self, frame: int) -> Array:
        """Velocity from positions, to second order."""
        first = min(max(frame - 1, 0), self.centre.frames - 3)
        near = np.asarray(self.centre.positions[first : first + 3], dtype=np.float64)
        return np.gradient(near, 1.0 / self.centre.fps, axis=0, edge_order=2)[frame - first]

    def blocks(self) -> Iterator[Array]:
        """All displacements (3n, k) in order, a few frames at a time."""
        for first in range(0, self.centre.frames, CENTRE_BLOCK):
            frames = range(first, min(first + CENTRE_BLOCK, self.centre.frames))
            yield np.stack([self.state(frame)[0].ravel() for frame in frames], axis=1)

    def force(self, frame: int, step: int) -> Array | None:
        """The force `step` steps after `frame`, as `simulate` would apply it."""
        if self._force is None:
            return None
        if callable(self._force):
            at = (frame * self.substeps + step) * self.h
            return self.body.checked(self._force(at), f"force({at:.6g})")
        rows = np.asarray(self._force)
        return rows if rows.ndim == 2 else rows[frame - (-step // self.substeps)]

    def forces(self, frame: int, steps: int) -> Array | None:
        """None, the constant force (n, 3), or one for each step from `frame` on (steps + 1, n, 3)."""
        if self._force is None or np.ndim(self._force) == 2:  # type: ignore[arg-type]
            return self.force(frame, 0)
        return np.array([self.force(frame, step) for step in range(steps + 1)])

    @cached_property
    def period(self) -> float:
        """Of the first mode [s]; at most the whole motion."""
        slowest = float(modes(self.body, 1).frequencies[0])
        return min(1.0 / max(slowest, 1e-300), self.centre.duration)

    @cached_property
    def strongest(self) -> float:
        """The greatest Σ|f_i| [N] over the frames; the weight where there is no force."""
        rows = (self.force(frame, 0) for frame in range(self.centre.frames))
        greatest = max(float(np.linalg.norm(row, axis=1).sum()) if row is not None else 0.0 for row in rows)
        return greatest or self.body.weight

    def fastest(self, duration: float) -> float:
        """The greatest √(vᵀMv) over the frames; where it stands still, what its weight gives it in `duration`."""
        rates = (self.state(frame)[1].ravel() for frame in range(self.centre.frames))
        greatest = max(mass_norm(self.body, rate) for rate in rates)
        return greatest or float(np.sqrt(self.body.total_mass)) * EARTH_GRAVITY * duration


@dataclass(frozen=True)
class Span:
    """How long a push lasts [s], how many frames a run has at most, and how many lie between its snapshots."""

    duration: float
    horizon: int
    every: int

    @classmethod
    def of(cls, course: Course, duration: float | None, horizon: int | None, every: int | None) -> Span:
        frames = course.period * course.centre.fps
        return cls(
            PUSH_PERIODS * course.period if duration is None else checks.positive(duration, "duration (s)"),
            max(int(np.ceil(HORIZON_PERIODS * frames)), LEAST_HORIZON)
            if horizon is None
            else checks.count(horizon, "horizon (frames)"),
            max(int(frames / SNAPSHOTS_PER_PERIOD), 1) if every is None else checks.count(every, "every (frames)"),
        )

    def snapshots(self, frames: int) -> int:
        return max(frames // self.every, 1)


class Plan(Sequence[Task]):
    """The runs, all drawn at once; their states and forces are gathered when a worker is free for them."""

    def __init__(self, course: Course, span: Span, seed: int, strength: tuple[float, float]):
        self.course, self.span, self.seed, self.strength = course, span, seed, strength
        self.runs: list[SampleRun] = []
        self._shapes: list[Array] = []

    def draw(self, runs: int, kind: str, vertices: ArrayLike | None) -> None:
        """Time-stratified: one start in each of `runs` equal parts of the motion."""
        course, last = self.course, self.course.centre.frames - 1
        require_memory(24 * runs * course.body.count, f"the disturbances of {runs} runs", "use fewer runs")
        shape = self._velocities(vertices) if kind == "velocities" else self._impulses(vertices)
        for index in range(runs):
            random = np.random.default_rng([self.seed, index])
            frame = min(int((index + random.uniform()) * last / runs), last - 1)
            frames = min(self.span.horizon, last - frame)
            share = float(random.uniform(*self.strength))
            vertex, unit = shape(random)
            self._shapes.append(unit)
            self.runs.append(SampleRun(frame, frames, share, vertex, self.span.snapshots(frames)))
        self._pushed = kind == "impulses"
        self._unit = course.strongest if self._pushed else course.fastest(self.span.duration)

    def _impulses(self, vertices: ArrayLike | None) -> Shape:
        body = self.course.body
        places = _pushable(body, vertices)

        def shape(random: np.random.Generator) -> tuple[int | None, Array]:
            vertex = int(random.choice(places))
            away = np.linalg.norm(body.vertices[places] - body.vertices[vertex], axis=1) / (PATCH * body.size)
            weights = body.vertex_masses[places] * np.maximum(1.0 - away**2, 0.0) ** 2
            push = np.zeros((body.count, 3))
            push[places] = np.outer(weights / weights.sum(), _direction(random, 3))
            return vertex, push

        return shape

    def _velocities(self, vertices: ArrayLike | None) -> Shape:
        if vertices is not None:
            raise InputError('vertices say where impulses act; leave them out with kind="velocities"')
        body = self.course.body
        mixed = modes(body, min(VELOCITY_MODES, len(body.free_dofs)), rigid=True).shapes
        return lambda random: (None, (mixed @ _direction(random, mixed.shape[1])).reshape(-1, 3))

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, index: Any) -> Any:
        run, course = self.runs[index], self.course
        steps = run.frames * course.substeps
        shape, still = run.strength * self._unit * self._shapes[index], np.zeros((course.body.count, 3))
        push, kick = (shape, still) if self._pushed else (still, shape)
        lasting = min(checks.step_count(self.span.duration, course.h, least=1), steps)
        forces = course.forces(run.frame, steps)
        return Task(run.frame, run.frames, *course.state(run.frame), forces, push, lasting, kick)


def _pushable(body: Body, vertices: ArrayLike | None) -> IndexArray:
    """`vertices` without the fixed ones, the surface unless given."""
    if vertices is None:
        free = np.setdiff1d(body.drawn_mesh().surface_vertices, body.fixed)
        return free if len(free) else body.free
    free = np.setdiff1d(checks.index_array(vertices, "vertices", (None,), body.count), body.fixed)
    if len(free) == 0:
        raise InputError("vertices names none that is free to move; name some that are not fixed")
    return free


def _direction(random: np.random.Generator, size: int) -> Array:
    vector = random.standard_normal(size)
    return vector / np.linalg.norm(vector)


def share_of(strength: tuple[float, float]) -> tuple[float, float]:
    low, high = checks.real_array(strength, "strength (least, most)", (2,)).tolist()
    if not 0.0 <= low <= high or high == 0.0:
        raise InputError(f"strength is ({low:g}, {high:g}), but must be shares (least, most), the most above zero")
    return low, high
