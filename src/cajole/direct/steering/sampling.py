"""`sampled_basis`: a basis from the motion and a tunnel of disturbed motions around it (§5.1-5.2, Barbič 2008)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, Body, flatten_to_columns
from cajole.cluster import Cluster, stream
from cajole.dynamics import InitialState, modes, simulate
from cajole.dynamics.integrators import INTEGRATORS
from cajole.dynamics.simulation import has_three_axes
from cajole.errors import InputError, NotConverged
from cajole.memory import require_memory
from cajole.progress import ProgressCallback, build_subprogress, report_progress
from cajole.reduction import ForceLike
from cajole.reduction.bases import compute_mass_norm
from cajole.reduction.snapshot_pca import PrincipalComponents, compute_principal_components

# A disturbance under which a step cannot be solved is halved this often.
MAX_DISTURBANCE_HALVINGS = 3


@dataclass(frozen=True, eq=False)
class DisturbedRunTask:
    """A run as a worker gets it: where it starts, the force on every step, and the disturbance to add."""

    frame: int
    frames: int
    displacement: Array
    velocity: Array
    forces: Array | None
    push_force: Array
    push_steps: int
    velocity_change: Array

    def __repr__(self) -> str:
        return f"the run from frame {self.frame}"


@dataclass(frozen=True, eq=False)
class DisturbedRunWorker:
    """Simulates runs: what is sent to a worker once."""

    body: Body
    h: float
    substeps: int
    integrator: str
    gravity: ArrayLike | None
    snapshot_interval: int

    def __call__(self, task: DisturbedRunTask) -> tuple[float, Array]:
        """The share of the disturbance that could be simulated, and displacements (3n, snapshots)."""
        for halving in range(MAX_DISTURBANCE_HALVINGS):
            with contextlib.suppress(NotConverged):
                return 0.5**halving, self._simulate(task, 0.5**halving)
        return 0.5**MAX_DISTURBANCE_HALVINGS, self._simulate(task, 0.5**MAX_DISTURBANCE_HALVINGS)

    def _simulate(self, task: DisturbedRunTask, scale: float) -> Array:
        def force(at: float) -> Array:
            step = round(at / self.h)
            given = task.forces
            load = np.zeros_like(task.push_force) if given is None else given if given.ndim == 2 else given[step]
            return load + scale * task.push_force if 1 <= step <= task.push_steps else load

        start = InitialState(task.displacement, task.velocity + scale * task.velocity_change)
        steps = task.frames * self.substeps
        motion = simulate(
            self.body, steps + 1, self.h, force=force, gravity=self.gravity, start=start, integrator=self.integrator
        )
        taken = range(self.snapshot_interval, task.frames + 1, self.snapshot_interval) or [task.frames]
        u = motion.positions[[self.substeps * frame for frame in taken]] - self.body.vertices
        return np.ascontiguousarray(flatten_to_columns(u))


# draws a disturbance of size one: where (None: everywhere), and its force or velocity (n, 3)
DisturbanceSampler = Callable[[np.random.Generator], tuple[int | None, Array]]

DISTURBANCE_KINDS = ("impulses", "velocities")
# A push lasts this many first periods: long enough to bend the body, short enough to leave it swinging.
PUSH_PERIODS = 0.25
# A run lasts this many first periods: how the disturbance rings, without the rest of a long motion.
HORIZON_PERIODS = 3.0
# Frames that it lasts at least, where a period is shorter than a frame.
MIN_HORIZON = 10
# Snapshots in a first period: twice what a sine of three times its frequency needs.
SNAPSHOTS_PER_PERIOD = 12.0
# The radius of the pushed patch in body sizes: a push on one vertex would be another on a finer mesh.
PATCH_RADIUS = 0.15
# Random velocities are mixed from this many modes: noise on every vertex rings in stiff modes and hardly bends a body.
VELOCITY_MODES = 12
# Fixed vertices may be off by this share of the body's size: a motion from a file is in single precision.
FIXED_VERTEX_TOLERANCE = 1e-6
# Frames of the centre line that are in memory at a time.
FRAME_BLOCK = 64


@dataclass(frozen=True)
class DisturbedRun:
    """One disturbed run: from `frame` on for `frames` frames.

    strength: the force pushed with as a share of the centre line's (or the speed, of its greatest); vertex: the middle
    of the pushed patch, None for velocities; snapshots: how many were taken.
    """

    frame: int
    frames: int
    strength: float
    vertex: int | None
    snapshots: int


class NominalMotion:
    """The centre line as the runs need it: states at its frames, and the force on every step [h] after them."""

    def __init__(self, body: Body, animation: Animation, force: ForceLike, substeps: int):
        checks.require_instance(body, Body, "body")
        checks.require_instance(animation, Animation, "motion")
        self.body, self.animation, self.substeps = body, animation, substeps
        self.h = 1.0 / animation.fps / substeps
        self._require_matching_body()
        self._force = force
        if force is not None and not callable(force):
            shape = (animation.frames, body.vertex_count, 3) if has_three_axes(force) else (body.vertex_count, 3)
            self._force = checks.require_real_array(force, "force", shape)

    def _require_matching_body(self) -> None:
        body, centre = self.body, self.animation
        if centre.n != body.vertex_count:
            raise InputError(f"the centre line has {centre.n} vertices, but the body has {body.vertex_count}")
        off = np.abs(centre.mesh.vertices - body.vertices).max(axis=1)
        if off.max() > FIXED_VERTEX_TOLERANCE * body.size:
            raise InputError(
                f"the centre line is of another mesh: at rest its vertex {int(off.argmax())} is {off.max():.3g} m away "
                "from the body's; simulate this body"
            )
        if centre.frames < 3:
            raise InputError(f"the centre line has {centre.frames} frames, but must have at least 3")
        moved = np.abs(centre.positions[:, body.fixed] - body.vertices[body.fixed]).max(axis=(0, 2), initial=0.0)
        if moved.max(initial=0.0) > FIXED_VERTEX_TOLERANCE * body.size:
            worst = int(moved.argmax())
            raise InputError(f"fixed vertex {body.fixed[worst]} moves by {moved[worst]:.3g} m in the centre line")

    def compute_state(self, frame: int) -> tuple[Array, Array]:
        """u and v (n, 3) at `frame`, zero at fixed vertices."""
        at, rates = self.animation.positions, self.animation.velocities
        u = np.asarray(at[frame] - self.body.vertices, dtype=np.float64)
        v = self._estimate_velocity(frame) if rates is None else np.array(rates[frame], dtype=np.float64)
        u[self.body.fixed] = v[self.body.fixed] = 0.0
        return u, v

    def _estimate_velocity(self, frame: int) -> Array:
        """Velocity from positions, to second order."""
        first = min(max(frame - 1, 0), self.animation.frames - 3)
        near = np.asarray(self.animation.positions[first : first + 3], dtype=np.float64)
        return np.asarray(np.gradient(near, 1.0 / self.animation.fps, axis=0, edge_order=2)[frame - first])

    def iterate_displacements(self) -> Iterator[Array]:
        """All displacements (3n, k) in order, a few frames at a time."""
        for first in range(0, self.animation.frames, FRAME_BLOCK):
            frames = range(first, min(first + FRAME_BLOCK, self.animation.frames))
            yield np.stack([self.compute_state(frame)[0].ravel() for frame in frames], axis=1)

    def evaluate_force(self, frame: int, step: int) -> Array | None:
        """The force `step` steps after `frame`, as `simulate` would apply it."""
        if self._force is None:
            return None
        if callable(self._force):
            at = (frame * self.substeps + step) * self.h
            return self.body.check_vertex_vectors(self._force(at), f"force({at:.6g})")
        rows = np.asarray(self._force)
        return rows if rows.ndim == 2 else rows[frame - (-step // self.substeps)]

    def evaluate_forces(self, frame: int, steps: int) -> Array | None:
        """None, the constant force (n, 3), or one for each step from `frame` on (steps + 1, n, 3)."""
        if self._force is None or np.ndim(self._force) == 2:  # type: ignore[arg-type]
            return self.evaluate_force(frame, 0)
        return np.array([self.evaluate_force(frame, step) for step in range(steps + 1)])

    @cached_property
    def period(self) -> float:
        """Of the first mode [s]; at most the whole motion."""
        slowest = float(modes(self.body, 1).frequencies[0])
        return min(1.0 / max(slowest, 1e-300), self.animation.duration)

    @cached_property
    def max_force(self) -> float:
        """The greatest Σ|f_i| [N] over the frames; the weight where there is no force."""
        rows = (self.evaluate_force(frame, 0) for frame in range(self.animation.frames))
        greatest = max(float(np.linalg.norm(row, axis=1).sum()) if row is not None else 0.0 for row in rows)
        return greatest or self.body.weight

    def compute_max_speed(self, duration: float) -> float:
        """The greatest √(vᵀMv) over the frames; where it stands still, what its weight gives it in `duration`."""
        rates = (self.compute_state(frame)[1].ravel() for frame in range(self.animation.frames))
        greatest = max(compute_mass_norm(self.body, rate) for rate in rates)
        return greatest or float(np.sqrt(self.body.total_mass)) * EARTH_GRAVITY * duration


@dataclass(frozen=True)
class SamplingSchedule:
    """How long a push lasts [s], how many frames a run has at most, and how many lie between its snapshots."""

    push_duration: float
    horizon: int
    snapshot_interval: int

    @classmethod
    def for_motion(
        cls, motion: NominalMotion, duration: float | None, horizon: int | None, every: int | None
    ) -> SamplingSchedule:
        frames = motion.period * motion.animation.fps
        return cls(
            PUSH_PERIODS * motion.period if duration is None else checks.require_positive(duration, "duration (s)"),
            max(int(np.ceil(HORIZON_PERIODS * frames)), MIN_HORIZON)
            if horizon is None
            else checks.require_integer(horizon, "horizon (frames)"),
            max(int(frames / SNAPSHOTS_PER_PERIOD), 1)
            if every is None
            else checks.require_integer(every, "every (frames)"),
        )

    def count_snapshots(self, frames: int) -> int:
        return max(frames // self.snapshot_interval, 1)


class SamplingPlan(Sequence[DisturbedRunTask]):
    """The runs, all drawn at once; their states and forces are gathered when a worker is free for them."""

    def __init__(self, motion: NominalMotion, schedule: SamplingSchedule, seed: int, strength: tuple[float, float]):
        self.motion, self.schedule, self.seed, self.strength = motion, schedule, seed, strength
        self.runs: list[DisturbedRun] = []
        self._disturbances: list[Array] = []

    def draw_runs(self, runs: int, kind: str, vertices: ArrayLike | None) -> None:
        """Time-stratified: one start in each of `runs` equal parts of the motion."""
        course, last = self.motion, self.motion.animation.frames - 1
        require_memory(24 * runs * course.body.vertex_count, f"the disturbances of {runs} runs", "use fewer runs")
        shape = self._make_velocity_sampler(vertices) if kind == "velocities" else self._make_impulse_sampler(vertices)
        for index in range(runs):
            random = np.random.default_rng([self.seed, index])
            frame = min(int((index + random.uniform()) * last / runs), last - 1)
            frames = min(self.schedule.horizon, last - frame)
            share = float(random.uniform(*self.strength))
            vertex, unit = shape(random)
            self._disturbances.append(unit)
            self.runs.append(DisturbedRun(frame, frames, share, vertex, self.schedule.count_snapshots(frames)))
        self._is_force = kind == "impulses"
        self._disturbance_unit = (
            course.max_force if self._is_force else course.compute_max_speed(self.schedule.push_duration)
        )

    def _make_impulse_sampler(self, vertices: ArrayLike | None) -> DisturbanceSampler:
        body = self.motion.body
        places = _select_pushable_vertices(body, vertices)

        def draw_impulse(generator: np.random.Generator) -> tuple[int | None, Array]:
            vertex = int(generator.choice(places))
            away = np.linalg.norm(body.vertices[places] - body.vertices[vertex], axis=1) / (PATCH_RADIUS * body.size)
            weights = body.vertex_masses[places] * np.maximum(1.0 - away**2, 0.0) ** 2
            push = np.zeros((body.vertex_count, 3))
            push[places] = np.outer(weights / weights.sum(), _draw_unit_vector(generator, 3))
            return vertex, push

        return draw_impulse

    def _make_velocity_sampler(self, vertices: ArrayLike | None) -> DisturbanceSampler:
        if vertices is not None:
            raise InputError('vertices say where impulses act; leave them out with kind="velocities"')
        body = self.motion.body
        mixed = modes(body, min(VELOCITY_MODES, len(body.free_dofs)), rigid=True).shapes
        return lambda random: (None, (mixed @ _draw_unit_vector(random, mixed.shape[1])).reshape(-1, 3))

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, index: Any) -> Any:
        run, course = self.runs[index], self.motion
        steps = run.frames * course.substeps
        shape, still = (
            run.strength * self._disturbance_unit * self._disturbances[index],
            np.zeros((course.body.vertex_count, 3)),
        )
        push, kick = (shape, still) if self._is_force else (still, shape)
        lasting = min(checks.count_steps(self.schedule.push_duration, course.h, minimum=1), steps)
        forces = course.evaluate_forces(run.frame, steps)
        return DisturbedRunTask(run.frame, run.frames, *course.compute_state(run.frame), forces, push, lasting, kick)


def _select_pushable_vertices(body: Body, vertices: ArrayLike | None) -> IndexArray:
    """`vertices` without the fixed ones, the surface unless given."""
    if vertices is None:
        free = np.setdiff1d(body.get_display_mesh().surface_vertices, body.fixed)
        return free if len(free) else body.free_vertices
    free = np.setdiff1d(checks.require_index_array(vertices, "vertices", (None,), body.vertex_count), body.fixed)
    if len(free) == 0:
        raise InputError("vertices names none that is free to move; name some that are not fixed")
    return free


def _draw_unit_vector(generator: np.random.Generator, size: int) -> Array:
    vector = generator.standard_normal(size)
    return vector / np.linalg.norm(vector)


def check_strength(strength: tuple[float, float]) -> tuple[float, float]:
    low, high = checks.require_real_array(strength, "strength (least, most)", (2,)).tolist()
    if not 0.0 <= low <= high or high == 0.0:
        raise InputError(f"strength is ({low:g}, {high:g}), but must be shares (least, most), the most above zero")
    return low, high


DEFAULT_BASIS_SIZE = 24


@dataclass(frozen=True)
class ProjectionResiduals:
    """What the basis misses: √(Σ|q - UUᵀMq|²_M / Σ|q|²_M) over the centre line, and over the runs.

    worst: at the centre line's worst frame, as a share of its largest |q|_M.
    """

    motion: float
    worst_frame: float
    runs: float


@dataclass(frozen=True)
class SampledBasisReport:
    """How the basis was made; share: of all snapshots' energy that it holds; weakened: runs whose disturbance was
    halved until they could be simulated."""

    size: int
    runs: int
    snapshots: int
    energy_share: float
    projection_residuals: ProjectionResiduals
    weakened_runs: int
    is_incremental: bool
    seconds: float

    def __repr__(self) -> str:
        share = f"holds {100 * self.energy_share:.4g} % of {self.snapshots} snapshots"
        return f"SampledBasisReport({self.size} directions of {self.runs} runs, {share})"

    def __str__(self) -> str:
        found = self.projection_residuals
        rows = [
            f"sampled basis of {self.size}: {self.runs} runs, {self.snapshots} snapshots, {self.seconds:.2f} s",
            f"  holds {100 * self.energy_share:.4f} % of their energy"
            + (" (incremental SVD)" if self.is_incremental else ""),
            f"  centre line: misses {found.motion:.1e} of it, {found.worst_frame:.1e} at the worst frame",
            f"  runs: misses {found.runs:.1e}",
        ]
        return "\n".join(rows + ([f"  {self.weakened_runs} runs were weakened"] if self.weakened_runs else []))


@dataclass(frozen=True, eq=False)
class SampledBasis:
    """basis: (3n, r) mass-orthonormal; energies: (r,) of all snapshots along each, Σ(uᵀMq)², descending."""

    basis: Array
    energies: Array
    runs: tuple[DisturbedRun, ...]
    projection_residuals: ProjectionResiduals
    report: SampledBasisReport

    def __repr__(self) -> str:
        return (
            f"SampledBasis({len(self.basis) // 3} vertices, {len(self.energies)} directions of {len(self.runs)} runs)"
        )


def sample_basis(
    body: Body,
    motion: Animation,
    *,
    force: ForceLike = None,
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
    progress: ProgressCallback | None = None,
) -> SampledBasis:
    """Mass-PCA of a motion and of `runs` full simulations that leave it at random times.

    centre: the motion, from `simulate` with this force, gravity, integrator and substeps; velocities that it lacks are
        taken from its positions. force: as `simulate` takes it, f(t) [N], (n, 3) or (frames, n, 3).
    runs: how many, at most 1,000,000; one starts at a random time in each of as many equal parts of the motion.
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
    runs = checks.repetitions(runs, "runs")
    course = NominalMotion(body, motion, force, checks.repetitions(substeps, "substeps"))
    checks.require_choice(integrator, "integrator", INTEGRATORS)
    span = SamplingSchedule.for_motion(course, duration, horizon, every)
    plan = SamplingPlan(course, span, checks.require_integer(seed, "seed", minimum=0), check_strength(strength))
    plan.draw_runs(runs, checks.require_choice(kind, "kind", DISTURBANCE_KINDS), vertices)
    worker = DisturbedRunWorker(body, course.h, course.substeps, integrator, gravity, span.snapshot_interval)
    made: list[DisturbedRun] = []

    def iterate_snapshot_blocks() -> Iterator[Array]:
        yield from course.iterate_displacements()
        results = stream(worker, plan, cluster=cluster, progress=build_subprogress(progress, 0.0, 0.9))
        for run, (scale, states) in zip(plan.runs, results):
            made.append(replace(run, strength=scale * run.strength))
            yield states

    count = motion.frames + sum(run.snapshots for run in plan.runs)
    size = DEFAULT_BASIS_SIZE if size is None and energy is None else size
    found = compute_principal_components(body, iterate_snapshot_blocks(), count, size=size, energy_share=energy)
    report_progress(progress, 0.95, "principal components")
    captured = _compute_projection_residuals(course, found)
    weakened = sum(a.strength != b.strength for a, b in zip(made, plan.runs))
    seconds = time.perf_counter() - began
    told = SampledBasisReport(
        len(found.energies), len(made), count, found.energy_share, captured, weakened, found.is_incremental, seconds
    )
    report_progress(progress, 1.0, "done")
    return SampledBasis(found.basis, found.energies, tuple(made), captured, told)


def _compute_projection_residuals(motion: NominalMotion, components: PrincipalComponents) -> ProjectionResiduals:
    M, U = motion.body.mass, components.basis
    MU = M @ U
    sizes, missed, held = (np.zeros(motion.animation.frames) for _ in range(3))
    first = 0
    for q in motion.iterate_displacements():
        rest = q - U @ (MU.T @ q)
        part = slice(first, first + q.shape[1])
        sizes[part], missed[part] = (q * (M @ q)).sum(axis=0), np.maximum((rest * (M @ rest)).sum(axis=0), 0.0)
        held[part] = ((MU.T @ q) ** 2).sum(axis=0)
        first = part.stop
    centre = np.sqrt(missed.sum() / max(sizes.sum(), 1e-300))
    worst = np.sqrt(missed.max() / max(sizes.max(), 1e-300))
    total = max(components.total_energy - sizes.sum(), 1e-300)
    runs = np.sqrt(max(1.0 - (components.energies.sum() - held.sum()) / total, 0.0))
    return ProjectionResiduals(float(centre), float(worst), float(runs))
