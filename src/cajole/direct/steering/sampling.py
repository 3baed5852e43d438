"""Snapshots of a motion and of disturbed runs around it (§5.1-5.2, Barbič 2008), of bodies and flows."""

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
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, Body, flatten_to_columns
from cajole.cluster import Cluster, stream
from cajole.dynamics import InitialState, modes, simulate
from cajole.dynamics.integrators import INTEGRATORS
from cajole.dynamics.simulation import has_three_axes
from cajole.errors import InputError, NotConverged
from cajole.flow import Flow, FlowForceInput, FlowMotion, Gust, evaluate_force
from cajole.memory import require_memory
from cajole.progress import ProgressCallback, build_subprogress, report_progress
from cajole.reduction import ForceLike
from cajole.reduction.bases import compute_mass_norm
from cajole.reduction.snapshot_pca import PrincipalComponents, compute_principal_components

DISTURBANCE_KINDS = ("impulses", "velocities")
# Directions of a basis, unless given.
DEFAULT_BASIS_SIZE = 24
# Radius of a pushed patch in body sizes: a push on one vertex would depend on the mesh.
PATCH_RADIUS = 0.15

# --- disturbed runs of a body


@dataclass(frozen=True, eq=False)
class DisturbedRunTask:
    """A run as a worker gets it: initial state, the force on every step, and the disturbance to add."""

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
    """Simulates runs; sent to every worker once. A disturbance is halved while its run fails, `max_halvings` times."""

    body: Body
    h: float
    substeps: int
    integrator: str
    gravity: ArrayLike | None
    snapshot_interval: int
    max_halvings: int = 3

    def __call__(self, task: DisturbedRunTask) -> tuple[float, Array]:
        """The share of the disturbance that could be simulated, and displacements (3n, snapshots)."""
        for halving in range(self.max_halvings):
            with contextlib.suppress(NotConverged):
                return 0.5**halving, self._simulate(task, 0.5**halving)
        return 0.5**self.max_halvings, self._simulate(task, 0.5**self.max_halvings)

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


@dataclass(frozen=True)
class DisturbedRun:
    """One disturbed run of `frames` frames from `frame` on.

    strength: force of the push as a share of the motion's largest force, or speed as a share of its largest; vertex:
    centre of the pushed patch, None for velocities; snapshots: their number.
    """

    frame: int
    frames: int
    strength: float
    vertex: int | None
    snapshots: int


class NominalMotion:
    """The undisturbed motion of a body: states at its frames, and the force on every step of h [s] after them."""

    def __init__(self, body: Body, animation: Animation, force: ForceLike, substeps: int):
        checks.require_instance(body, Body, "body")
        checks.require_instance(animation, Animation, "motion")
        self.body, self.animation, self.substeps = body, animation, substeps
        self.h = 1.0 / animation.fps / substeps
        if animation.n != body.vertex_count:
            raise InputError(f"the centre line has {animation.n} vertices, but the body has {body.vertex_count}")
        off = np.abs(animation.mesh.vertices - body.vertices).max(axis=1)
        rounding = 1e-6 * body.size  # of files in single precision
        if off.max() > rounding:
            raise InputError(
                f"the centre line is of another mesh: at rest its vertex {int(off.argmax())} is {off.max():.3g} m away "
                "from the body's; simulate this body"
            )
        if animation.frames < 3:
            raise InputError(f"the centre line has {animation.frames} frames, but must have at least 3")
        moved = np.abs(animation.positions[:, body.fixed] - body.vertices[body.fixed]).max(axis=(0, 2), initial=0.0)
        if moved.max(initial=0.0) > rounding:
            worst = int(moved.argmax())
            raise InputError(f"fixed vertex {body.fixed[worst]} moves by {moved[worst]:.3g} m in the centre line")
        self._force = force
        if force is not None and not callable(force):
            shape = (animation.frames, body.vertex_count, 3) if has_three_axes(force) else (body.vertex_count, 3)
            self._force = checks.require_real_array(force, "force", shape)

    def compute_state(self, frame: int) -> tuple[Array, Array]:
        """u and v (n, 3) at `frame`, zero at fixed vertices; velocities that the motion lacks are second order."""
        animation = self.animation
        u = np.asarray(animation.positions[frame] - self.body.vertices, dtype=np.float64)
        if animation.velocities is None:
            first = min(max(frame - 1, 0), animation.frames - 3)
            near = np.asarray(animation.positions[first : first + 3], dtype=np.float64)
            v: Array = np.gradient(near, 1.0 / animation.fps, axis=0, edge_order=2)[frame - first]
        else:
            v = np.array(animation.velocities[frame], dtype=np.float64)
        u[self.body.fixed] = v[self.body.fixed] = 0.0
        return u, v

    def iterate_displacements(self) -> Iterator[Array]:
        """All displacements (3n, k) in order, 64 frames at a time."""
        for first in range(0, self.animation.frames, 64):
            frames = range(first, min(first + 64, self.animation.frames))
            yield np.stack([self.compute_state(frame)[0].ravel() for frame in frames], axis=1)

    def evaluate_force(self, frame: int, step: int) -> Array | None:
        """The force `step` steps after `frame`, as `simulate` would apply it."""
        if self._force is None:
            return None
        if callable(self._force):
            at = (frame * self.substeps + step) * self.h
            return self.body.check_vertex_vectors(self._force(at), f"force({at:.6g})")
        rows = np.asarray(self._force)
        return rows if rows.ndim == 2 else np.asarray(rows[frame - (-step // self.substeps)])

    @cached_property
    def period(self) -> float:
        """Period of the first mode [s], at most the duration of the motion."""
        slowest = float(modes(self.body, 1).frequencies[0])
        return min(1.0 / max(slowest, 1e-300), self.animation.duration)


@dataclass(frozen=True)
class SamplingSchedule:
    """Duration of a push [s], maximal number of frames of a run, and frames between its snapshots.

    By default a push lasts a quarter of the first period, which bends the body and leaves it swinging; a run three
    periods, and 10 frames at least; twelve snapshots in a period resolve three times its frequency.
    """

    push_duration: float
    horizon: int
    snapshot_interval: int

    @classmethod
    def for_motion(
        cls, motion: NominalMotion, duration: float | None, horizon: int | None, every: int | None
    ) -> SamplingSchedule:
        frames = motion.period * motion.animation.fps
        if duration is None:
            duration = 0.25 * motion.period
        if horizon is None:
            horizon = max(int(np.ceil(3.0 * frames)), 10)
        every = max(int(frames / 12.0), 1) if every is None else every
        return cls(
            checks.require_positive(duration, "duration (s)"),
            checks.require_integer(horizon, "horizon (frames)"),
            checks.require_integer(every, "every (frames)"),
        )


class SamplingPlan(Sequence[DisturbedRunTask]):
    """All runs, drawn at once; states and forces of each are gathered when a worker is free."""

    def __init__(self, motion: NominalMotion, schedule: SamplingSchedule, seed: int, strength: tuple[float, float]):
        self.motion, self.schedule, self.seed, self.strength = motion, schedule, seed, strength
        self.runs: list[DisturbedRun] = []
        self._disturbances: list[Array] = []

    def draw_runs(self, runs: int, kind: str, vertices: ArrayLike | None) -> None:
        """Draw one start in each of `runs` equal parts of the motion, and a disturbance of size one for each."""
        motion, body, last = self.motion, self.motion.body, self.motion.animation.frames - 1
        require_memory(24 * runs * body.vertex_count, f"the disturbances of {runs} runs", "use fewer runs")
        self._is_force = kind == "impulses"
        draw = self._make_impulse_sampler(vertices) if self._is_force else self._make_velocity_sampler(vertices)
        for index in range(runs):
            random = np.random.default_rng([self.seed, index])
            frame = min(int((index + random.uniform()) * last / runs), last - 1)
            frames = min(self.schedule.horizon, last - frame)
            share = float(random.uniform(*self.strength))
            vertex, unit = draw(random)
            self._disturbances.append(unit)
            snapshots = max(frames // self.schedule.snapshot_interval, 1)
            self.runs.append(DisturbedRun(frame, frames, share, vertex, snapshots))
        numbers = range(motion.animation.frames)
        if self._is_force:
            # the largest Σ|f_i| [N] of the frames, or the weight
            rows = (motion.evaluate_force(frame, 0) for frame in numbers)
            largest = max(0.0 if row is None else float(np.linalg.norm(row, axis=1).sum()) for row in rows)
            self._disturbance_unit = largest or body.weight
        else:
            # the largest √(vᵀMv) of the frames, or the speed that gravity gives during a push
            largest = max(compute_mass_norm(body, motion.compute_state(frame)[1].ravel()) for frame in numbers)
            fallback = float(np.sqrt(body.total_mass)) * EARTH_GRAVITY * self.schedule.push_duration
            self._disturbance_unit = largest or fallback

    def _make_impulse_sampler(
        self, vertices: ArrayLike | None
    ) -> Callable[[np.random.Generator], tuple[int | None, Array]]:
        """Forces (n, 3) of total size 1 on a patch around a random one of `vertices`, the surface unless given."""
        body = self.motion.body
        if vertices is None:
            places = np.setdiff1d(body.get_display_mesh().surface_vertices, body.fixed)
            places = places if len(places) else body.free_vertices
        else:
            chosen = checks.require_index_array(vertices, "vertices", (None,), body.vertex_count)
            places = np.setdiff1d(chosen, body.fixed)
            if len(places) == 0:
                raise InputError("vertices names none that is free to move; name some that are not fixed")

        def draw_impulse(generator: np.random.Generator) -> tuple[int | None, Array]:
            vertex = int(generator.choice(places))
            away = np.linalg.norm(body.vertices[places] - body.vertices[vertex], axis=1) / (PATCH_RADIUS * body.size)
            weights = body.vertex_masses[places] * np.maximum(1.0 - away**2, 0.0) ** 2
            push = np.zeros((body.vertex_count, 3))
            push[places] = np.outer(weights / weights.sum(), _draw_unit_vector(generator, 3))
            return vertex, push

        return draw_impulse

    def _make_velocity_sampler(
        self, vertices: ArrayLike | None
    ) -> Callable[[np.random.Generator], tuple[int | None, Array]]:
        """Velocities (n, 3) of size 1 mixed from twelve modes: noise on every vertex would ring in stiff modes."""
        if vertices is not None:
            raise InputError('vertices say where impulses act; leave them out with kind="velocities"')
        body = self.motion.body
        mixed = modes(body, min(12, len(body.free_dofs)), rigid=True).shapes
        return lambda random: (None, (mixed @ _draw_unit_vector(random, mixed.shape[1])).reshape(-1, 3))

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, index: Any) -> Any:
        run, motion = self.runs[index], self.motion
        steps = run.frames * motion.substeps
        disturbance = run.strength * self._disturbance_unit * self._disturbances[index]
        still = np.zeros((motion.body.vertex_count, 3))
        push, velocity_change = (disturbance, still) if self._is_force else (still, disturbance)
        push_steps = min(checks.count_steps(self.schedule.push_duration, motion.h, minimum=1), steps)
        forces = motion.evaluate_force(run.frame, 0)
        if forces is not None and (callable(motion._force) or np.ndim(motion._force) == 3):  # type: ignore[arg-type]
            forces = np.array([motion.evaluate_force(run.frame, step) for step in range(steps + 1)])
        state = motion.compute_state(run.frame)
        return DisturbedRunTask(run.frame, run.frames, *state, forces, push, push_steps, velocity_change)


def _draw_unit_vector(generator: np.random.Generator, size: int) -> Array:
    vector = generator.standard_normal(size)
    return np.asarray(vector / np.linalg.norm(vector))


# --- the basis


@dataclass(frozen=True)
class ProjectionResiduals:
    """Share of the displacements outside the basis: √(Σ|q - UUᵀMq|²_M / Σ|q|²_M) over the motion, and over the runs.

    worst_frame: at the worst frame of the motion, as a share of its largest |q|_M.
    """

    motion: float
    worst_frame: float
    runs: float


@dataclass(frozen=True)
class SampledBasisReport:
    """Origin of a sampled basis; energy_share: share of all snapshots' energy inside; weakened_runs: runs whose
    disturbance was halved until they could be simulated."""

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

    motion: from `simulate` with this force, gravity, integrator and substeps; velocities that it lacks are taken from
        its positions. force: as `simulate` takes it, f(t) [N], (n, 3) or (frames, n, 3).
    runs: at most 1,000,000; one starts at a random time in each of as many equal parts of the motion.
    size: directions of the basis, 24 unless `energy` is given, a share of the snapshots' energy to hold.
    kind: "impulses" push a patch around a random one of `vertices` (on the surface and not fixed, unless given) in a
        random direction, for `duration` [s] (a quarter of the first period), with a random share `strength` of the
        motion's largest force Σ|f_i|, or of the weight if it has none; "velocities" add a mix of modes with that share
        of its largest speed √(vᵀMv).
    horizon: maximal frames of a run (three first periods); every: frames between its snapshots.
    cluster: executor of the simulations, see `cajole.cluster.map`; the result is bit-identical.
    Raises InputError for a motion of another body or invalid numbers, NotConverged, Cancelled.
    """
    began = time.perf_counter()
    runs = checks.repetitions(runs, "runs")
    nominal = NominalMotion(body, motion, force, checks.repetitions(substeps, "substeps"))
    checks.require_choice(integrator, "integrator", INTEGRATORS)
    schedule = SamplingSchedule.for_motion(nominal, duration, horizon, every)
    seed = checks.require_integer(seed, "seed", minimum=0)
    low, high = checks.require_real_array(strength, "strength (least, most)", (2,)).tolist()
    if not 0.0 <= low <= high or high == 0.0:
        raise InputError(f"strength is ({low:g}, {high:g}), but must be shares (least, most), the most above zero")
    plan = SamplingPlan(nominal, schedule, seed, (low, high))
    plan.draw_runs(runs, checks.require_choice(kind, "kind", DISTURBANCE_KINDS), vertices)
    worker = DisturbedRunWorker(body, nominal.h, nominal.substeps, integrator, gravity, schedule.snapshot_interval)
    simulated: list[DisturbedRun] = []

    def iterate_snapshot_blocks() -> Iterator[Array]:
        yield from nominal.iterate_displacements()
        results = stream(worker, plan, cluster=cluster, progress=build_subprogress(progress, 0.0, 0.9))
        for run, (scale, states) in zip(plan.runs, results):
            simulated.append(replace(run, strength=scale * run.strength))
            yield states

    count = motion.frames + sum(run.snapshots for run in plan.runs)
    size = DEFAULT_BASIS_SIZE if size is None and energy is None else size
    found = compute_principal_components(body, iterate_snapshot_blocks(), count, size=size, energy_share=energy)
    report_progress(progress, 0.95, "principal components")
    residuals = _compute_projection_residuals(nominal, found)
    weakened = sum(a.strength != b.strength for a, b in zip(simulated, plan.runs))
    seconds = time.perf_counter() - began
    report = SampledBasisReport(
        len(found.energies),
        len(simulated),
        count,
        found.energy_share,
        residuals,
        weakened,
        found.is_incremental,
        seconds,
    )
    report_progress(progress, 1.0, "done")
    return SampledBasis(found.basis, found.energies, tuple(simulated), residuals, report)


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
    overall = np.sqrt(missed.sum() / max(sizes.sum(), 1e-300))
    worst = np.sqrt(missed.max() / max(sizes.max(), 1e-300))
    total = max(components.total_energy - sizes.sum(), 1e-300)
    runs = np.sqrt(max(1.0 - (components.energies.sum() - held.sum()) / total, 0.0))
    return ProjectionResiduals(float(overall), float(worst), float(runs))


# --- flows


@dataclass(frozen=True, eq=False)
class FlowSamples:
    """snapshots: (k, n) [m/s] in single precision, those of the motion first; gusts: the disturbance of each run."""

    snapshots: NDArray[np.float32]
    gusts: tuple[Gust, ...]

    def __repr__(self) -> str:
        return f"FlowSamples({len(self.snapshots)} snapshots of {len(self.gusts)} runs)"


@dataclass(frozen=True, eq=False)
class _FlowSampleWorker:
    """Simulates one disturbed run; can be sent to another process."""

    flow: Flow
    dt: float
    force: FlowForceInput
    last_step: int
    snapshot_interval: int

    def __call__(self, item: tuple[int, Array, Gust]) -> NDArray[np.float32]:
        first, state, gust = item
        snapshots = []
        for step in range(first, self.last_step):
            driven = evaluate_force(self.flow, self.force, step, self.dt)
            blown = gust.compute_acceleration(self.flow, step, self.dt)
            state = self.flow.step(state, self.dt, blown if driven is None else driven + blown)
            if (step - first) % self.snapshot_interval == 0:
                snapshots.append(state.astype(np.float32))
        return np.array(snapshots)


def sample_flow(
    motion: FlowMotion,
    *,
    runs: int = 50,
    particles: ArrayLike = (),
    strength: tuple[float, float] = (0.05, 0.20),
    radius: tuple[float, float] = (0.04, 0.12),
    every: int | None = None,
    seed: int = 0,
    cluster: Cluster = None,
    progress: ProgressCallback | None = None,
) -> FlowSamples:
    """Snapshots of `motion` and of `runs` full simulations, each disturbed by one gust at a random time.

    Times are drawn one in each of as many equal parts of the motion. A gust blows for one step in a random direction,
    on one of `particles` (N, 2) [m] (where they start) as they pass, or, without any, where the flow is fast.
    strength: the speed that it gives, between these shares of the motion's fastest; radius: between these shares of the
        shorter side of the box. every: frames between snapshots of a run; None for 1200 snapshots in all.
    cluster: executor of the simulations, see `cajole.cluster.map`; the result is bit-identical.
    Raises InputError for invalid numbers, SolveError when a run comes from outside the box, Cancelled.
    """
    checks.require_instance(motion, FlowMotion, "motion")
    flow, count, steps = motion.flow, checks.require_integer(runs, "runs"), motion.frames - 1
    # at least one snapshot of every run, with about 500 bytes for its gust and its start
    needed = count * (4 * flow.face_count + 500)
    require_memory(needed, f"the snapshots of {count} runs", "use fewer runs, or a coarser flow")
    checks.repetitions(count, "runs")
    random = np.random.default_rng(checks.require_integer(seed, "seed", minimum=0))
    firsts = np.minimum((steps * (np.arange(count) + random.random(count)) / count).astype(int), steps - 1)
    ranges = {}
    for name, value in (("strength", strength), ("radius", radius)):
        low, high = checks.require_real_array(value, name, (2,)).tolist()
        if not 0 < low <= high:
            raise InputError(f"{name} is ({low:.4g}, {high:.4g}), but must be two positive shares, the smaller first")
        ranges[name] = low, high
    max_speed = float(np.abs(motion.states).max())
    paths = None if checks.is_empty(particles) else motion.advect(particles)
    low_radius, high_radius = min(flow.size) * np.array(ranges["radius"])

    def draw_gust(frame: int) -> Gust:
        angle, share = random.uniform(0.0, 2.0 * np.pi), random.uniform(*ranges["strength"])
        speed = share * max_speed / motion.dt
        if paths is None:
            u, v = flow.split_faces(motion.states[frame])
            fast = (0.25 * ((u[1:] + u[:-1]) ** 2 + (v[:, 1:] + v[:, :-1]) ** 2)).ravel()
            cell = random.choice(fast.size, p=fast / fast.sum() if fast.any() else None)
            at = np.array(np.unravel_index(cell, (flow.columns, flow.rows)), dtype=np.float64)
            x, y = (flow.cell_size * (at + 0.5)).tolist()
        else:
            x, y = paths[frame, random.integers(paths.shape[1])].tolist()
        acceleration = float(speed * np.cos(angle)), float(speed * np.sin(angle))
        return Gust((x, y), acceleration, float(random.uniform(low_radius, high_radius)), time=frame * motion.dt)

    gusts = [draw_gust(int(first)) for first in firsts]
    if every is None:
        # the Gram matrix of 1200 snapshots takes a few seconds
        every = max(1, -int(-(steps - firsts).sum() // 1200))
    worker = _FlowSampleWorker(flow, motion.dt, motion.force, steps, checks.require_integer(every, "every"))
    items = [(int(first), motion.states[first], gust) for first, gust in zip(firsts, gusts)]
    blocks = list(stream(worker, items, cluster=cluster, progress=progress))
    return FlowSamples(np.concatenate([motion.states.astype(np.float32), *blocks]), tuple(gusts))
