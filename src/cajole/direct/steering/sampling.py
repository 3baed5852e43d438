"""`sampled_basis`: a basis from the motion and a tunnel of disturbed motions around it (§5.1-5.2, Barbič 2008)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.animation import Animation
from cajole.body import Body
from cajole.cluster import Cluster, stream
from cajole.direct.keyframing.shot import EARTH
from cajole.direct.steering.disturbances import steps_of
from cajole.direct.steering.motion import Force
from cajole.dynamics import State, modes, simulate
from cajole.dynamics.integrators import INTEGRATORS
from cajole.dynamics.simulation import is_stack
from cajole.errors import InputError, NotConverged
from cajole.mesh import MeshTet
from cajole.progress import Progress, portion, report
from cajole.reduction.bases import mass_norm
from cajole.reduction.snapshots import Components, components

Array = NDArray[np.float64]
Index = NDArray[np.int64]
# draws a disturbance of size one: where (None: everywhere), and its force or velocity (n, 3)
Shape = Callable[[np.random.Generator], tuple[int | None, Array]]

KINDS = ("impulses", "velocities")
SIZE = 24
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
# A disturbance under which a step cannot be solved is halved this often.
MOST_HALVINGS = 3
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


@dataclass(frozen=True)
class Captured:
    """What the basis misses: √(Σ|q - UUᵀMq|²_M / Σ|q|²_M) over the centre line, and over the runs.

    worst: at the centre line's worst frame, as a share of its largest |q|_M.
    """

    centre: float
    worst: float
    runs: float


@dataclass(frozen=True)
class SampleReport:
    """How the basis was made; share: of all snapshots' energy that it holds; weakened: runs whose disturbance was
    halved until they could be simulated."""

    size: int
    runs: int
    snapshots: int
    share: float
    captured: Captured
    weakened: int
    incremental: bool
    seconds: float

    def __str__(self) -> str:
        found = self.captured
        rows = [
            f"sampled basis of {self.size}: {self.runs} runs, {self.snapshots} snapshots, {self.seconds:.2f} s",
            f"  holds {100 * self.share:.4f} % of their energy" + (" (incremental SVD)" if self.incremental else ""),
            f"  centre line: misses {found.centre:.1e} of it, {found.worst:.1e} at the worst frame",
            f"  runs: misses {found.runs:.1e}",
        ]
        return "\n".join(rows + ([f"  {self.weakened} runs were weakened"] if self.weakened else []))


@dataclass(frozen=True, eq=False)
class SampledBasis:
    """basis: (3n, r) mass-orthonormal; energies: (r,) of all snapshots along each, Σ(uᵀMq)², descending."""

    basis: Array
    energies: Array
    runs: tuple[SampleRun, ...]
    captured: Captured
    report: SampleReport


def sampled_basis(
    body: Body,
    centre: Animation,
    *,
    force: Force = None,
    runs: int = 50,
    size: int | None = None,
    energy: float | None = None,
    kind: str = "impulses",
    vertices: ArrayLike | None = None,
    strength: tuple[float, float] = (0.05, 0.20),
    duration: float | None = None,
    horizon: int | None = None,
    every: int | None = None,
    gravity: ArrayLike | None = None,
    integrator: str = "newmark",
    substeps: int = 1,
    seed: int = 0,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> SampledBasis:
    """Mass-PCA of a motion and of `runs` full simulations that leave it at random times.

    centre: the motion, from `simulate` with this force, gravity, integrator and substeps; velocities that it lacks are
        taken from its positions. force: as `simulate` takes it, f(t) [N], (n, 3) or (frames, n, 3).
    runs: how many; one starts at a random time in each of as many equal parts of the motion.
    size: directions of the basis, 24 unless `energy` is given, a share of the snapshots' energy to hold.
    kind: "impulses" push a patch around a random one of `vertices` (on the surface and not fixed, unless given) in a
        random direction, for `duration` [s] (a quarter of the first period), with a random share `strength` of the
        centre line's greatest force Σ|f_i|, or of the weight when it has none; "velocities" add a mix of modes with
        that share of its greatest speed √(vᵀMv).
    horizon: frames that a run lasts at most (three first periods); every: frames between its snapshots.
    cluster: who simulates, see `cajole.cluster.map`; the result is the same to the bit.
    Raises InputError for a motion of another body or numbers that make no sense, NotConverged, Cancelled.
    """
    began = time.perf_counter()
    course = _Course(body, centre, force, checks.count(substeps, "substeps"))
    checks.one_of(integrator, "integrator", INTEGRATORS)
    span = _Span.of(course, duration, horizon, every)
    plan = _Plan(course, span, checks.count(seed, "seed", least=0), _share(strength))
    plan.draw(checks.count(runs, "runs"), checks.one_of(kind, "kind", KINDS), vertices)
    worker = _Worker(body, course.h, course.substeps, integrator, gravity, span.every)
    made: list[SampleRun] = []

    def blocks() -> Iterator[Array]:
        yield from course.blocks()
        results = stream(worker, plan, cluster=cluster, progress=portion(progress, 0.0, 0.9))
        for run, (scale, states) in zip(plan.runs, results):
            made.append(replace(run, strength=scale * run.strength))
            yield states

    count = centre.frames + sum(run.snapshots for run in plan.runs)
    size = SIZE if size is None and energy is None else size
    found = components(body, blocks(), count, size=size, energy=energy)
    report(progress, 0.95, "principal components")
    captured = _captured(course, found)
    weakened = sum(a.strength != b.strength for a, b in zip(made, plan.runs))
    seconds = time.perf_counter() - began
    told = SampleReport(
        len(found.energies), len(made), count, found.share, captured, weakened, found.incremental, seconds
    )
    report(progress, 1.0, "done")
    return SampledBasis(found.basis, found.energies, tuple(made), captured, told)


class _Course:
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
        return greatest or self.body.total_mass * EARTH

    def fastest(self, duration: float) -> float:
        """The greatest √(vᵀMv) over the frames; where it stands still, what its weight gives it in `duration`."""
        rates = (self.state(frame)[1].ravel() for frame in range(self.centre.frames))
        greatest = max(mass_norm(self.body, rate) for rate in rates)
        return greatest or float(np.sqrt(self.body.total_mass)) * EARTH * duration


@dataclass(frozen=True)
class _Span:
    """How long a push lasts [s], how many frames a run has at most, and how many lie between its snapshots."""

    duration: float
    horizon: int
    every: int

    @classmethod
    def of(cls, course: _Course, duration: float | None, horizon: int | None, every: int | None) -> _Span:
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


@dataclass(frozen=True, eq=False)
class _Task:
    """A run as a worker gets it: where it starts, the force on every step, and the disturbance to add."""

    frame: int
    frames: int
    displacement: Array
    velocity: Array
    forces: Array | None
    push: Array
    push_steps: int
    kick: Array

    def __repr__(self) -> str:
        return f"the run from frame {self.frame}"


class _Plan(Sequence[_Task]):
    """The runs, all drawn at once; their states and forces are gathered when a worker is free for them."""

    def __init__(self, course: _Course, span: _Span, seed: int, strength: tuple[float, float]):
        self.course, self.span, self.seed, self.strength = course, span, seed, strength
        self.runs: list[SampleRun] = []
        self._shapes: list[Array] = []

    def draw(self, runs: int, kind: str, vertices: ArrayLike | None) -> None:
        """Time-stratified: one start in each of `runs` equal parts of the motion."""
        course, last = self.course, self.course.centre.frames - 1
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
        lasting = min(steps_of(self.span.duration, course.h), steps)
        forces = course.forces(run.frame, steps)
        return _Task(run.frame, run.frames, *course.state(run.frame), forces, push, lasting, kick)


@dataclass(frozen=True, eq=False)
class _Worker:
    """Simulates runs: what is sent to a worker once."""

    body: Body
    h: float
    substeps: int
    integrator: str
    gravity: ArrayLike | None
    every: int

    def __call__(self, task: _Task) -> tuple[float, Array]:
        """The share of the disturbance that could be simulated, and displacements (3n, snapshots)."""
        for halving in range(MOST_HALVINGS):
            with contextlib.suppress(NotConverged):
                return 0.5**halving, self._run(task, 0.5**halving)
        return 0.5**MOST_HALVINGS, self._run(task, 0.5**MOST_HALVINGS)

    def _run(self, task: _Task, scale: float) -> Array:
        def force(at: float) -> Array:
            step = round(at / self.h)
            given = task.forces
            load = np.zeros_like(task.push) if given is None else given if given.ndim == 2 else given[step]
            return load + scale * task.push if 1 <= step <= task.push_steps else load

        start = State(task.displacement, task.velocity + scale * task.kick)
        steps = task.frames * self.substeps
        motion = simulate(
            self.body, steps + 1, self.h, force=force, gravity=self.gravity, start=start, integrator=self.integrator
        )
        taken = range(self.every, task.frames + 1, self.every) or [task.frames]
        u = motion.positions[[self.substeps * frame for frame in taken]] - self.body.vertices
        return np.ascontiguousarray(u.reshape(len(taken), -1).T)


def _pushable(body: Body, vertices: ArrayLike | None) -> Index:
    """`vertices` without the fixed ones, the surface unless given."""
    mesh = body.drawn_mesh()
    if vertices is None:
        surface = mesh.surface_vertices if isinstance(mesh, MeshTet) else np.arange(body.count)
        free = np.setdiff1d(surface, body.fixed)
        return free if len(free) else body.free
    free = np.setdiff1d(checks.index_array(vertices, "vertices", (None,), body.count), body.fixed)
    if len(free) == 0:
        raise InputError("vertices names none that is free to move; name some that are not fixed")
    return free


def _direction(random: np.random.Generator, size: int) -> Array:
    vector = random.standard_normal(size)
    return vector / np.linalg.norm(vector)


def _share(strength: tuple[float, float]) -> tuple[float, float]:
    low, high = checks.real_array(strength, "strength (least, most)", (2,)).tolist()
    if not 0.0 <= low <= high or high == 0.0:
        raise InputError(f"strength is ({low:g}, {high:g}), but must be shares (least, most), the most above zero")
    return low, high


def _captured(course: _Course, found: Components) -> Captured:
    M, U = course.body.mass, found.basis
    MU = M @ U
    sizes, missed, held = (np.zeros(course.centre.frames) for _ in range(3))
    first = 0
    for q in course.blocks():
        rest = q - U @ (MU.T @ q)
        part = slice(first, first + q.shape[1])
        sizes[part], missed[part] = (q * (M @ q)).sum(axis=0), np.maximum((rest * (M @ rest)).sum(axis=0), 0.0)
        held[part] = ((MU.T @ q) ** 2).sum(axis=0)
        first = part.stop
    centre = np.sqrt(missed.sum() / max(sizes.sum(), 1e-300))
    worst = np.sqrt(missed.max() / max(sizes.max(), 1e-300))
    total = max(found.total - sizes.sum(), 1e-300)
    runs = np.sqrt(max(1.0 - (found.energies.sum() - held.sum()) / total, 0.0))
    return Captured(float(centre), float(worst), float(runs))
