"""`enrich`: a coarse animation becomes a thin shell that follows it on average, and folds as its material does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, require_animation
from cajole.arrays import Array
from cajole.body import Body, BodyShell
from cajole.body.body_weights import compute_body_weights
from cajole.direct.enriching.collisions import Collider, CollisionResponse, CollisionStepper, build_collision_handler
from cajole.direct.enriching.collisions.world import IPCTK
from cajole.direct.enriching.guide import CatmullRomTrajectory
from cajole.direct.enriching.initial_state import compute_initial_state
from cajole.direct.enriching.regions import Regions
from cajole.direct.enriching.report import EnrichReport, EnrichResult, describe_large_force, describe_large_residual
from cajole.direct.enriching.tracking import ShellState, TrackingIntegrator
from cajole.dynamics import InitialState
from cajole.errors import InputError, SolveError
from cajole.linalg import limit_blas_threads
from cajole.memory import require_memory
from cajole.mesh import MeshTri
from cajole.progress import ProgressCallback, report_progress

# f(t [s], positions (n, 3) [m], velocities (n, 3) [m/s]) -> (n, 3) [N]
StateForce = Callable[[float, Array, Array], ArrayLike]

# the shape free of stress: (n, 3) [m], or a mesh of the shell's triangles
RestShape = ArrayLike | MeshTri

# a frame of the guide that dt divides but for rounding gets no extra step
SUBSTEP_ROUNDING = 1e-9
# of a frame; more would go on for days, and are a dt in other units
MAX_SUBSTEPS = 10_000
FAILURE_REMEDY = "use a smaller dt, fewer or larger regions, a stiffer or more damped shell, or a slower guide"


def enrich(
    guide: Animation,
    cloth: BodyShell,
    regions: Regions,
    dt: float = 1 / 240,
    collisions: str | CollisionResponse | None = None,
    *,
    colliders: Collider | Sequence[Collider] = (),
    friction: float | None = None,
    distance: float | None = None,
    newton: int = 1,
    gravity: ArrayLike | None = None,
    forces: StateForce | Sequence[StateForce] = (),
    undeformed: Callable[[float], RestShape] | RestShape | None = None,
    start: InitialState | ArrayLike | None = None,
    frames: int | None = None,
    tracked: bool = True,
    progress: ProgressCallback | None = None,
) -> EnrichResult:
    """Simulate `cloth` so that the means of its regions are those of `guide` at every step, and nothing else is forced.

    guide: an animation of regions.guide_mesh. cloth: a shell of regions.fine_mesh; its fixed vertices stay.
    dt [s]: the longest step; each frame of the guide is divided evenly. Between frames the guide moves along cubics.
    collisions: "fast" corrects each step by impulses, and averages are met as far as contacts let them; "exact" solves
    for contacts and averages together, to rounding, and takes some ten times as long. With either nothing passes
    through anything at any step. Or a `Response` of your own; the residual is measured after it.
    colliders: meshes, `Ground`, or animations, whose first frame goes with the guide's; friction: Coulomb's
    coefficient, also between folds, 0.3 when left out. distance [m]: how near surfaces come before they push; by
    default a tenth of the mean edge, or the thickness where that is more, and at most half of what lies apart at rest.
    All three are refused without collisions.
    newton: linear solves a step: 1, as in Bergou 2007; with more a step is solved until it converges.
    gravity: as in `simulate`. forces: f(t, positions, velocities) -> (n, 3) [N], at the time at which a step
    ends, on the shell as it begins.
    undeformed: the shape free of stress, a function of time [s] or one for all; the cloth's own when left out. Folds of
    a cloth with plasticity yield at the beginning of every step.
    start: a State, or the displacement (n, 3); what is left out is taken from the guide. It is moved as needed to meet
    the guide's first frame. frames: how many; beyond the guide's last frame it stands, and the shell swings on.
    tracked: False lets the shell go where it will from the same start, to compare with; `residual` tells how far off.
    Raises InputError where the parts do not fit, SolveError, with the frame and what to relax, where a step fails.
    """
    if collisions is not None:
        IPCTK.require()
    began = time.perf_counter()
    motion = require_animation(guide, "guide")
    _check_inputs(motion, cloth, regions)
    count = motion.frames if frames is None else checks.require_integer(frames, "frames")
    require_memory(
        48 * count * cloth.vertex_count, f"a motion of {count} frames", "use fewer frames, or fewer triangles"
    )
    substeps = _count_substeps(motion, dt)
    h, newton = motion.dt / substeps, checks.repetitions(newton, "newton")
    leader = TrackingIntegrator(cloth, regions.fine_weights, h, names=regions.names, max_newton_iterations=newton)
    tracker = (
        leader
        if checks.require_bool(tracked, "tracked")
        else TrackingIntegrator(cloth, None, h, max_newton_iterations=newton)
    )
    course = CatmullRomTrajectory(motion, regions.guide_weights, count)
    load = _build_external_force(cloth, gravity, forces)
    clock = _StepProgress(progress, count, substeps)
    mover = build_collision_handler(
        collisions,
        tracker,
        motion.bounds,
        colliders=colliders,
        friction=friction,
        distance=distance,
        on_progress=clock.report,
    )
    shape = undeformed if callable(undeformed) or undeformed is None else _make_constant_function(undeformed)
    with limit_blas_threads():
        tracker.body = leader.body = cloth if shape is None else cloth.with_undeformed_shape(shape(0.0))
        moment, notes = compute_initial_state(leader, motion, regions, course, start)
        run = _EnrichRun(leader, tracker, course, load, mover, shape, clock, _FrameRecorder(cloth, count))
        notes += run.start(moment)
        for frame in range(1, count):
            run.advance_to_frame(frame)
    return run.build_result(motion, notes, time.perf_counter() - began)


@dataclass
class _StepProgress:
    """Tells a listener, who may cancel, how far a run is: at every step, and within steps that take long."""

    progress: ProgressCallback | None
    frames: int
    substeps: int
    steps: int = 0

    def report(self) -> None:
        """Say again where the run is."""
        last = self.frames - 1
        frame = -(-self.steps // self.substeps)
        report_progress(self.progress, self.steps / (last * self.substeps), f"frame {frame} of {last}")

    def advance(self) -> None:
        """A step is done."""
        self.steps += 1
        self.report()


def _count_substeps(motion: Animation, dt: float) -> int:
    """Into how many steps each frame of the guide is divided."""
    steps = motion.dt / checks.require_positive(dt, "dt (s)") - SUBSTEP_ROUNDING
    if steps > MAX_SUBSTEPS:
        raise InputError(
            f"dt is {dt:.4g} s, {steps:.3g} steps for each frame of {motion.dt:.4g} s; at most {MAX_SUBSTEPS} "
            f"make sense"
        )
    return max(1, int(np.ceil(steps)))


def _check_inputs(motion: Animation, cloth: BodyShell, regions: Regions) -> None:
    checks.require_instance(cloth, BodyShell, "cloth")
    checks.require_instance(regions, Regions, "regions")
    regions.require_matching_meshes(motion.mesh, cloth.mesh)


@dataclass(eq=False)
class _EnrichRun:
    """A shell on its way. leader: measures the averages; tracker: moves the shell, the same one where it is led."""

    reference_integrator: TrackingIntegrator
    integrator: TrackingIntegrator
    guide_trajectory: CatmullRomTrajectory
    external_force: Callable[[float, ShellState], Array]
    collision_handler: CollisionStepper | CollisionResponse | None
    rest_shape: Callable[[float], RestShape] | None
    step_progress: _StepProgress
    records: _FrameRecorder
    state: ShellState = field(init=False)

    def start(self, initial_state: ShellState) -> tuple[str, ...]:
        """Be at the first frame, and what to tell. Raises InputError where surfaces pass through each other in it."""
        self.state = initial_state
        self.records.record_step(
            0,
            initial_state,
            self.reference_integrator.compute_residual(initial_state.positions, self.guide_trajectory.values[0]),
        )
        alone = (
            ()
            if self.step_progress.frames > 1
            else ("there is one frame only, so that nothing moves; frames= asks for more",)
        )
        return alone + (
            self.collision_handler.check_start(initial_state.positions)
            if isinstance(self.collision_handler, CollisionStepper)
            else ()
        )

    def advance_to_frame(self, frame: int) -> None:
        """Be at a frame, from the one before it. Raises SolveError, with the frame and what to relax."""
        substeps = self.step_progress.substeps
        for sub in range(1, substeps + 1):
            at = ((frame - 1) * substeps + sub) * self.integrator.h
            target = self.guide_trajectory.evaluate(at)
            try:
                self._step(target, at)
            except SolveError as reason:
                raise type(reason)(f"frame {frame} (t = {at:.4g} s): {reason}; {FAILURE_REMEDY}") from None
            self.records.record_step(
                frame, self.state, self.reference_integrator.compute_residual(self.state.positions, target)
            )
            self.step_progress.advance()
        self.records.finish_frame(frame, substeps)
        if isinstance(self.collision_handler, CollisionStepper):
            self.collision_handler.record_intersections(self.state.positions, at)

    def _step(self, target: Array, time: float) -> None:
        tracker, is_led = self.integrator, self.integrator is self.reference_integrator
        tracker.body = _update_rest_state(tracker.body, self.state, self.rest_shape, time)
        self.state = _step_with_collisions(
            tracker, self.state, target if is_led else target[:0], self.external_force, time, self.collision_handler
        )

    def build_result(self, motion: Animation, notes: tuple[str, ...], seconds: float) -> EnrichResult:
        """What came of it; motion: the guide."""
        records, body = self.records, self.integrator.body
        animation = Animation(
            body.mesh, records.positions, motion.fps, velocities=records.velocities, name=motion.name,
            start_frame=motion.start_frame,
        )  # fmt: skip
        is_led = self.integrator is self.reference_integrator
        off = describe_large_residual(records.residual) if is_led else ()
        told = EnrichReport(
            len(self.integrator.constraint_sums),
            body.vertex_count,
            self.step_progress.steps,
            records.newton_iterations,
            float(records.residual.max()),
            records.gentleness,
            seconds,
            (*notes, *off, *describe_large_force(records.gentleness)),
            collisions=self.collision_handler.build_report()
            if isinstance(self.collision_handler, CollisionStepper)
            else None,
        )
        return EnrichResult(animation, records.residual, told, body)


def _update_rest_state(
    body: BodyShell, state: ShellState, rest_shape: Callable[[float], RestShape] | None, time: float
) -> BodyShell:
    """The shell of the step that ends at a time: bent where it has yielded, in the shape of that time."""
    after = body.yielded(state.positions - body.vertices)
    return after if rest_shape is None else after.with_undeformed_shape(rest_shape(time))


def _make_constant_function(shape: RestShape) -> Callable[[float], RestShape]:
    return lambda at: shape


def _step_with_collisions(
    integrator: TrackingIntegrator,
    state: ShellState,
    target: Array,
    external_force: Callable[[float, ShellState], Array],
    time: float,
    collision_handler: CollisionStepper | CollisionResponse | None,
) -> ShellState:
    if isinstance(collision_handler, CollisionStepper):
        return collision_handler.step(state, target, external_force(time, state), time)
    after = integrator.step(state, target, external_force(time, state))
    if collision_handler is None:
        return after
    x = checks.require_real_array(
        collision_handler(state.positions, after.positions, integrator.h), "collisions", state.positions.shape
    )
    return ShellState(x, (x - state.positions) / integrator.h, after.constraint_force, after.iterations)


class _FrameRecorder:
    """What is kept of the steps, frame by frame."""

    def __init__(self, body: Body, frames: int):
        self._body = body
        self.positions, self.velocities = np.empty((2, frames, body.vertex_count, 3))
        self.residual, self.gentleness = np.zeros(frames), np.zeros(frames)
        self.newton_iterations = 0

    def record_step(self, frame: int, state: ShellState, residual: float) -> None:
        self.positions[frame], self.velocities[frame] = state.positions, state.velocities
        self.residual[frame] = max(self.residual[frame], residual)
        self.gentleness[frame] += float(compute_body_weights(state.constraint_force, self._body.vertex_masses)) ** 2
        self.newton_iterations += state.iterations

    def finish_frame(self, frame: int, substeps: int) -> None:
        """Sums of squares become root mean squares."""
        self.gentleness[frame] = np.sqrt(self.gentleness[frame] / substeps)


def _build_external_force(
    body: Body, gravity: ArrayLike | None, forces: StateForce | Sequence[StateForce]
) -> Callable[[float, ShellState], Array]:
    """External force (n, 3) [N] at a time, on a moment."""
    weight = np.zeros((body.vertex_count, 3)) if gravity is None else body.gravity(gravity)
    acting = (
        (forces,) if callable(forces) else checks.require_sequence(forces, "forces", "a function, or a list of them")
    )
    for place, force in enumerate(acting):
        if not callable(force):
            found = checks.format_value(force)
            raise InputError(f"forces[{place}] must be a function of (t, positions, velocities), not {found}")

    def compute_external_force(time: float, state: ShellState) -> Array:
        total = weight.copy()
        seen = _make_read_only_view(state.positions), _make_read_only_view(state.velocities)
        for place, force in enumerate(acting):
            total += body.check_vertex_vectors(force(time, *seen), f"forces[{place}] at {time:.6g} s")
        return total

    return compute_external_force


def _make_read_only_view(array: Array) -> Array:
    """A view that a function of the user's cannot write into: it is the shell itself."""
    view = array.view()
    view.flags.writeable = False
    return view
