"""`enrich`: simulate a thin shell that follows a coarse animation on average, with folds of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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

# stress-free shape: (n, 3) [m], or a mesh with the triangles of the shell
RestShape = ArrayLike | MeshTri


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
    """Simulate `cloth` with the means of its regions equal to those of `guide` at every step, and no other constraints.

    guide: an animation of regions.guide_mesh. cloth: a shell of regions.fine_mesh; its fixed vertices do not move.
    dt [s]: the longest step; each frame of the guide is divided evenly. Between frames the guide moves along cubics.
    collisions: "fast" corrects each step by impulses, and averages are met as far as contacts allow; "exact" solves
    for contacts and averages together, to rounding, and takes about ten times as long. With either nothing intersects
    at any step. Or a `CollisionResponse` of your own; the residual is measured after it.
    colliders: meshes, `Ground`, or animations that start with the first frame of the guide; friction: Coulomb
    coefficient, also between folds, default 0.3. distance [m]: contact distance; by default a tenth of the mean edge,
    or the thickness if larger, and at most half of the gaps at rest. All three require collisions.
    newton: linear solves a step: 1, as in Bergou 2007; with more a step is solved until it converges.
    gravity: as in `simulate`. forces: f(t, positions, velocities) -> (n, 3) [N], at the time of the end of the step and
    the state of its start.
    undeformed: the stress-free shape, constant or a function of time [s]; default: that of the cloth. A cloth with
    plasticity yields at the start of every step.
    start: an InitialState, or the displacement (n, 3); missing parts come from the guide. The start is moved to the
    first frame of the guide. frames: number of frames; after its last frame the guide rests, and the shell swings on.
    tracked: False simulates the shell freely from the same start, for comparison; `residual` is its distance.
    Raises InputError if the parts do not match, SolveError, with the frame and a remedy, if a step fails.
    """
    if collisions is not None:
        IPCTK.require()
    began = time.perf_counter()
    motion = require_animation(guide, "guide")
    checks.require_instance(cloth, BodyShell, "cloth")
    checks.require_instance(regions, Regions, "regions")
    regions.require_matching_meshes(motion.mesh, cloth.mesh)
    count = motion.frames if frames is None else checks.require_integer(frames, "frames")
    require_memory(
        48 * count * cloth.vertex_count, f"a motion of {count} frames", "use fewer frames, or fewer triangles"
    )
    # a frame that dt divides except for rounding needs no additional step
    steps = motion.dt / checks.require_positive(dt, "dt (s)") - 1e-9
    if steps > 10_000:
        raise InputError(
            f"dt is {dt:.4g} s, {steps:.3g} steps for each frame of {motion.dt:.4g} s; at most 10000 make sense"
        )
    substeps = max(1, int(np.ceil(steps)))
    h, newton = motion.dt / substeps, checks.repetitions(newton, "newton")
    reference = TrackingIntegrator(cloth, regions.fine_weights, h, names=regions.names, max_newton_iterations=newton)
    integrator = reference
    if not checks.require_bool(tracked, "tracked"):
        integrator = TrackingIntegrator(cloth, None, h, max_newton_iterations=newton)
    trajectory = CatmullRomTrajectory(motion, regions.guide_weights, count)
    load = _build_external_force(cloth, gravity, forces)
    steps_done = _StepProgress(progress, count, substeps)
    handler = build_collision_handler(
        collisions, integrator, motion.bounds, colliders=colliders, friction=friction, distance=distance,
        on_progress=steps_done.report,
    )  # fmt: skip
    shape: Callable[[float], RestShape] | None = undeformed if callable(undeformed) else None
    if undeformed is not None and not callable(undeformed):
        constant = undeformed
        shape = lambda at: constant  # noqa: E731
    with limit_blas_threads():
        integrator.body = reference.body = cloth if shape is None else cloth.with_undeformed_shape(shape(0.0))
        state, notes = compute_initial_state(reference, motion, regions, trajectory, start)
        run = _EnrichRun(reference, integrator, trajectory, load, handler, shape, steps_done, state)
        if count == 1:
            notes += ("there is one frame only, so that nothing moves; frames= asks for more",)
        if isinstance(handler, CollisionStepper):
            notes += handler.check_start(state.positions)
        for frame in range(1, count):
            run.advance_to_frame(frame)
    return run.build_result(motion, notes, time.perf_counter() - began)


@dataclass
class _StepProgress:
    """Report the progress of a run, at every step and within long steps; the listener may cancel."""

    progress: ProgressCallback | None
    frames: int
    substeps: int
    steps: int = 0

    def report(self) -> None:
        last = self.frames - 1
        frame = -(-self.steps // self.substeps)
        report_progress(self.progress, self.steps / (last * self.substeps), f"frame {frame} of {last}")


class _EnrichRun:
    """A simulation of the shell, and its records per frame.

    The reference integrator measures the averages; the integrator moves the shell. They are one object if the shell is
    tracked.
    """

    def __init__(
        self,
        reference_integrator: TrackingIntegrator,
        integrator: TrackingIntegrator,
        trajectory: CatmullRomTrajectory,
        external_force: Callable[[float, ShellState], Array],
        collision_handler: CollisionStepper | CollisionResponse | None,
        rest_shape: Callable[[float], RestShape] | None,
        progress: _StepProgress,
        state: ShellState,
    ):
        self.reference_integrator, self.integrator, self.trajectory = reference_integrator, integrator, trajectory
        self.external_force, self.collision_handler = external_force, collision_handler
        self.rest_shape, self.progress, self.state = rest_shape, progress, state
        self.is_tracked = integrator is reference_integrator
        self.positions, self.velocities = np.empty((2, progress.frames, len(state.positions), 3))
        self.residual, self.gentleness = np.zeros((2, progress.frames))
        self.newton_iterations = 0
        self._record_step(0, trajectory.values[0])

    def advance_to_frame(self, frame: int) -> None:
        """Advance from the previous frame. Raises SolveError, with the frame and a remedy."""
        substeps = self.progress.substeps
        for sub in range(1, substeps + 1):
            at = ((frame - 1) * substeps + sub) * self.integrator.h
            target = self.trajectory.evaluate(at)
            try:
                self._step(target, at)
            except SolveError as reason:
                remedy = "use a smaller dt, fewer or larger regions, a stiffer or more damped shell, or a slower guide"
                raise type(reason)(f"frame {frame} (t = {at:.4g} s): {reason}; {remedy}") from None
            self._record_step(frame, target)
            self.progress.steps += 1
            self.progress.report()
        self.gentleness[frame] = np.sqrt(self.gentleness[frame] / substeps)
        if isinstance(self.collision_handler, CollisionStepper):
            self.collision_handler.record_intersections(self.state.positions, at)

    def _step(self, target: Array, time: float) -> None:
        integrator, state, handler = self.integrator, self.state, self.collision_handler
        # folds yield at the start of the step; the rest shape is that of its end
        body = integrator.body.yielded(state.positions - integrator.body.vertices)
        integrator.body = body if self.rest_shape is None else body.with_undeformed_shape(self.rest_shape(time))
        held, force = target if self.is_tracked else target[:0], self.external_force(time, state)
        if isinstance(handler, CollisionStepper):
            self.state = handler.step(state, held, force, time)
            return
        self.state = after = integrator.step(state, held, force)
        if handler is not None:
            corrected = handler(state.positions, after.positions, integrator.h)
            x = checks.require_real_array(corrected, "collisions", state.positions.shape)
            velocities = (x - state.positions) / integrator.h
            self.state = ShellState(x, velocities, after.constraint_force, after.iterations)

    def _record_step(self, frame: int, target: Array) -> None:
        state, body = self.state, self.integrator.body
        self.positions[frame], self.velocities[frame] = state.positions, state.velocities
        residual = self.reference_integrator.compute_residual(state.positions, target)
        self.residual[frame] = max(self.residual[frame], residual)
        self.gentleness[frame] += float(compute_body_weights(state.constraint_force, body.vertex_masses)) ** 2
        self.newton_iterations += state.iterations

    def build_result(self, guide: Animation, notes: tuple[str, ...], seconds: float) -> EnrichResult:
        body, handler = self.integrator.body, self.collision_handler
        animation = Animation(
            body.mesh, self.positions, guide.fps, velocities=self.velocities, name=guide.name,
            start_frame=guide.start_frame,
        )  # fmt: skip
        off = describe_large_residual(self.residual) if self.is_tracked else ()
        report = EnrichReport(
            regions=len(self.integrator.constraint_sums), vertices=body.vertex_count, steps=self.progress.steps,
            newton_iterations=self.newton_iterations, residual=float(self.residual.max()), gentleness=self.gentleness,
            seconds=seconds, notes=(*notes, *off, *describe_large_force(self.gentleness)),
            collisions=handler.build_report() if isinstance(handler, CollisionStepper) else None,
        )  # fmt: skip
        return EnrichResult(animation, self.residual, report, body)


def _build_external_force(
    body: Body, gravity: ArrayLike | None, forces: StateForce | Sequence[StateForce]
) -> Callable[[float, ShellState], Array]:
    """Build the function of the external force (n, 3) [N] at a time and a state."""
    weight = np.zeros((body.vertex_count, 3)) if gravity is None else body.gravity(gravity)
    listed = (forces,) if callable(forces) else forces
    loads = checks.require_sequence(listed, "forces", "a function, or a list of them")
    for place, force in enumerate(loads):
        if not callable(force):
            found = checks.format_value(force)
            raise InputError(f"forces[{place}] must be a function of (t, positions, velocities), not {found}")

    def compute_external_force(time: float, state: ShellState) -> Array:
        total = weight.copy()
        # user functions must not write to the state of the shell
        views = state.positions.view(), state.velocities.view()
        for view in views:
            view.flags.writeable = False
        for place, force in enumerate(loads):
            total += body.check_vertex_vectors(force(time, *views), f"forces[{place}] at {time:.6g} s")
        return total

    return compute_external_force
