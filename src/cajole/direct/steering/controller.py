"""`Controller`: feedback that returns a disturbed body or flow to its motion, in whole runs and in real time."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, Self

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct.steering import serialization
from cajole.direct.steering.cost import CostWeights, build_cost, get_weight_names
from cajole.direct.steering.lqr import FORMULATIONS, FeedbackGains, compute_gains
from cajole.direct.steering.reference import Reference, diagnose_divergence
from cajole.direct.steering.report import SteerReport
from cajole.direct.steering.stepper import SteppedFrames, create_stepper
from cajole.errors import InputError, NotConverged
from cajole.flow import FlowMotion
from cajole.locking import synchronized
from cajole.mesh import Skin
from cajole.progress import ProgressCallback, report_progress
from cajole.reduction import Disturbance, FlowShot, NominalTrajectory, ReducedFlow, ReducedModel, build_skin_basis

if TYPE_CHECKING:  # defaults of type variables come with Python 3.13: `Controller` alone is that of a body
    from typing_extensions import TypeVar

    ReferenceT = TypeVar("ReferenceT", bound=NominalTrajectory, default=Reference)
    ModelT = TypeVar("ModelT", default=ReducedModel)
else:
    from typing import TypeVar

    ReferenceT, ModelT = TypeVar("ReferenceT"), TypeVar("ModelT")

# Error of an undisturbed, controlled run above which motion and body do not fit each other, in body sizes.
UNDISTURBED_ERROR_LIMIT = 0.03


@dataclass(frozen=True, eq=False)
class Controller(Generic[ReferenceT, ModelT]):
    """Feedback w = K dx around a reference, for bodies and flows; gain_seconds: CPU time that the gains took."""

    reference: ReferenceT
    cost_weights: CostWeights
    feedback_gains: FeedbackGains
    formulation: str
    gain_seconds: float

    @property
    def model(self) -> ModelT:
        """The reduced model that is controlled."""
        return self.reference.model  # type: ignore[return-value]

    @property
    def gains(self) -> Array:
        """(T, r, m) K of every step; m is 2r for a body, 2N + r for a flow with N particles."""
        return self.feedback_gains.gains

    @property
    def cost_to_go(self) -> Array:
        """(m, m): ½ dxᵀ cost_to_go dx is the cost of a deviation at the start."""
        return self.feedback_gains.cost_to_go

    @cached_property
    def undisturbed_error(self) -> float:
        """Largest error of the controlled run without disturbance, see `ControllerRun.error`; inf if it diverges.

        Near zero for a shot; more than a few percent mean that motion, body and step do not fit each other.
        """
        try:
            return float(self.run().error.max())
        except NotConverged:
            return float("inf")

    def __repr__(self) -> str:
        tracking, effort = (
            f"{name} {dial:.3g}" if isinstance(dial, int | float) else f"own {name}"
            for name, dial in (("tracking", self.cost_weights.tracking), ("effort", self.cost_weights.effort))
        )
        return f"Controller({self.reference!r}, {tracking}, {effort})"

    def retuned(self, **parameters: Any) -> Self:
        """A controller of the same reference with other dials, as `steer` takes them. Raises InputError for others."""
        self.check_parameters(parameters)
        return build_controller(self.reference, replace(self.cost_weights, **parameters), self.formulation)  # type: ignore[return-value]

    def check_parameters(self, parameters: dict[str, Any]) -> None:
        """Raise InputError for dials that `retuned` cannot use."""
        for name in parameters:
            checks.require_choice(name, "a dial", get_weight_names(self.reference))
        build_cost(self.reference, replace(self.cost_weights, **parameters))

    def run(
        self, force: Any = None, *, controlled: bool = True, loops: int = 1, progress: ProgressCallback | None = None
    ) -> ControllerRun[ReferenceT, ModelT]:
        """Simulate the whole motion under disturbances, from the start of the reference.

        force: of a body f(t) -> (n, 3) [N], (n, 3), (steps + 1, n, 3), a Push, a Wind, or a list of those; of a flow a
            Gust, a GustNoise, a list of those, an acceleration (n,) [m/s²], f(t) -> (n,), or reduced forces (T, r).
            Forces of the motion itself, gravity for example, are in the reference already.
        controlled: False runs without feedback; loops: periods of the motion, of a body.
        Raises NotConverged, naming the step, when the disturbance is too strong for the model, or when the motion does
        not fit the body.
        """
        loops = checks.require_integer(loops, "loops")
        steps = loops * self.reference.step_count
        external = self.reference.model.project_disturbances(force, self.reference.dt, 0, steps)
        controlled = checks.require_bool(controlled, "controlled")
        stepper = create_stepper(self.reference, self.feedback_gains if controlled else None)
        begin, block, parts = time.process_time(), 128, [stepper.first_frame()]
        for first in range(0, steps, block):
            parts.append(stepper.rollout(external[first : first + block]))
            report_progress(progress, min(first + block, steps) / steps, "steering")
        frames = SteppedFrames(*(np.concatenate(each) for each in zip(*parts)))
        seconds = (time.process_time() - begin) / steps
        subdivided, is_disturbed = stepper.subdivided_step_count, bool(external.any())
        return ControllerRun(self, *frames, controlled, subdivided, seconds, is_disturbed)

    def start(
        self, *, controlled: bool = True, passive_particles: ArrayLike = ()
    ) -> RealtimeController[ReferenceT, ModelT]:
        """The controller in real time; passive_particles: (k, 2) [m], carried by a flow but not controlled."""
        return RealtimeController(self, controlled=controlled, passive_particles=passive_particles)

    def save(self, path: str | os.PathLike[str], *, skin: Skin | None = None) -> None:
        """Write one .npz that runs without the body: `load_controller` reads it, and so does the JavaScript runtime.

        skin: a surface embedded in a body, which the runtime shows. A file is written whole or not at all.
        Raises FileError when it cannot be written, InputError for a body or skin that cannot be drawn.
        """
        if self.formulation not in FORMULATIONS:
            raise InputError(
                f"a PD controller is for comparison and is not written to {path}; save one that steer made"
            )
        serialization.save_controller(
            path, self.reference, self.cost_weights, self.feedback_gains, self.formulation, self.gain_seconds, skin
        )


def build_controller(reference: ReferenceT, cost_weights: CostWeights, formulation: str) -> Controller[ReferenceT, Any]:
    """The controller with the optimal gains of a reference."""
    begin = time.process_time()
    gains = compute_gains(reference, build_cost(reference, cost_weights), formulation)
    return Controller(reference, cost_weights, gains, formulation, time.process_time() - begin)


def load_controller(path: str | os.PathLike[str], *, derivatives: bool = True) -> Controller[Any, Any]:
    """The controller of a file that `Controller.save` wrote, of a body or a flow; it needs no body.

    Its states are those of the controller that was saved, to the last bit. It can be retuned; animations are on the
    body's surface; materials and elements of the body are not in the file.
    derivatives: False skips Gq and Gv, one evaluation of the model per step, for a controller that is not run.
    Raises FileError for a file that is damaged, of another kind, or of a later version.
    """
    return Controller(*serialization.read_controller(path, derivatives=derivatives))


def load_flow_controller(path: str | os.PathLike[str]) -> FlowController:
    """`load_controller` of a file that must hold the controller of a flow. Raises FileError otherwise."""
    return Controller(*serialization.read_flow_controller(path))


@dataclass(frozen=True, eq=False)
class ControllerRun(Generic[ReferenceT, ModelT]):
    """A simulated run of a body or a flow, frame 0 included.

    states (T+1, r); velocities (T+1, r) of a body, (T+1, 0) of a flow, whose states are velocities already; particles
    (T+1, N, 2) [m] of a flow, (T+1, 0, 2) of a body; feedback (T, r); subdivided_step_count: steps that converged only
    in several parts; step_seconds: CPU time of one step; is_disturbed: True if any external force acted.
    """

    controller: Controller[ReferenceT, ModelT]
    states: Array
    velocities: Array
    particles: Array
    feedback: Array
    controlled: bool
    subdivided_step_count: int
    step_seconds: float
    is_disturbed: bool = True

    def __repr__(self) -> str:
        how, report = "controlled" if self.controlled else "not controlled", self.report
        off = f"off by {100 * report.mean_error:.3g} % of the size (rms), {report.mean_gentleness:.3g} weights"
        if report.is_flow:
            off = f"{report.max_error_cells:.3g} cells off at worst"
        return f"ControllerRun({how}, {len(self.states)} frames, {off})"

    @property
    def _reference_frames(self) -> Any:
        """The frame of the reference at every frame of the run (T+1,)."""
        return np.concatenate([[0], 1 + np.arange(len(self.states) - 1) % self.controller.reference.step_count])

    @cached_property
    def error(self) -> Array:
        """(frames,) distance to the reference in body sizes.

        Of a flow: the rms over particles in box sizes; without any, of the velocities in units of the fastest speed.
        """
        return self.controller.reference.compute_error(self.states, self.particles, self._reference_frames)

    @cached_property
    def gentleness(self) -> Array:
        """(frames,) size of the feedback into each frame in body weights; of a flow as a share of its momentum."""
        return np.concatenate([[0.0], self.controller.reference.compute_gentleness(self.feedback)])

    @cached_property
    def effort(self) -> Array:
        """(frames,) |w|² in the unit of the dial `effort`, which weighs its average over frames."""
        return np.concatenate([[0.0], (self.feedback**2).sum(axis=1) / self.controller.reference.effort_unit])

    @cached_property
    def report(self) -> SteerReport:
        """Errors and added forces in numbers; prints as a table."""
        reference, error = self.controller.reference, self.error
        particles: dict[str, Any] = {}
        is_outside = float(error.max()) > reference.linear_range
        if isinstance(reference, FlowShot):
            cells = self.distances_in_cells if self.distances_in_cells.size else np.zeros((len(self.states), 1))
            near = self.distances <= reference.linear_range * reference.box_size
            lost = {k: int(np.flatnonzero(near[:, k])[-1]) + 1 for k in self.lost_particles}
            is_outside = bool(lost)
            particles = {
                "is_flow": True,
                "max_error_cells": float(cells.max()),
                "rms_error_cells": float(np.sqrt((cells**2).mean())),
                "final_error_cells": float(cells[-1].max()),
                "final_velocity_error": float(self.velocity_error[-1]),
                "lost_particle_frames": lost,
            }
        return SteerReport(
            frames=len(self.states),
            controlled=self.controlled,
            final_error=float(error[-1]),
            worst_error=float(error.max()),
            mean_error=float(np.sqrt((error**2).mean())),
            gentleness=self.gentleness,
            effort=float(self.effort[1:].mean()),
            subdivided_step_count=self.subdivided_step_count,
            gain_seconds=self.controller.gain_seconds,
            step_seconds=self.step_seconds,
            is_outside_linear_range=is_outside,
            notes=self._build_notes(),
            **particles,
        )

    def _build_notes(self) -> tuple[str, ...]:
        """The cause when control does not hold the body to its motion even without disturbance."""
        reference, worst = self.controller.reference, float(self.error.max())
        if not isinstance(reference, Reference) or not self.controlled or worst <= UNDISTURBED_ERROR_LIMIT:
            return ()
        off = self.controller.undisturbed_error if self.is_disturbed else worst
        if off <= UNDISTURBED_ERROR_LIMIT:
            return ()
        far = f"leaves its motion by {100 * off:.3g} % of the size" if np.isfinite(off) else "breaks"
        return (f"even undisturbed it {far}: {diagnose_divergence(reference)}",)

    # --- of bodies

    @cached_property
    def animation(self) -> Animation:
        """The motion on the body's mesh, at the frame rate of the given motion. Raises InputError for a flow."""
        reference = self.controller.reference
        if not isinstance(reference, Reference):
            raise InputError("the run of a flow has no mesh to animate; use run.motion or run.particles")
        model, k = reference.model, reference.substeps
        positions = model.body.vertices + model.lift(self.states[::k])
        velocities = model.lift_velocity(self.velocities[::k])
        fps = 1.0 / (k * reference.dt)
        return Animation(model.body.get_display_mesh(), positions, fps=fps, velocities=velocities)

    # --- of flows

    @cached_property
    def distances(self) -> Array:
        """(T+1, N) distance of each particle from its path [m]."""
        return self.controller.reference.compute_particle_distances(self.particles, self._reference_frames)

    @cached_property
    def distances_in_cells(self) -> Array:
        """(T+1, N) `distances` in cells."""
        return self.distances / self._flow_shot.model.flow.cell_size

    @cached_property
    def velocity_error(self) -> Array:
        """(T+1,) error of the velocities, as a share of the reference's most energetic frame."""
        shot = self._flow_shot
        return np.asarray(np.linalg.norm(self.states - shot.states[self._reference_frames], axis=1) / shot.max_momentum)

    @property
    def lost_particles(self) -> tuple[int, ...]:
        """Particles that end farther from their paths than the range of the gains."""
        shot = self._flow_shot
        return tuple(np.flatnonzero(self.distances[-1] > shot.linear_range * shot.box_size).tolist())

    def advect(self, points: ArrayLike) -> Array:
        """Paths (T+1, k, 2) [m] of passive particles that start at points (k, 2) [m]."""
        model, dt = self._flow_shot.model, self._flow_shot.dt
        path = [model.check_particles(points)]
        for before, after in pairwise(self.states):
            path.append(model.advect_points(path[-1], before, 0.5 * (before + after), dt))
        return np.array(path)

    @cached_property
    def motion(self) -> FlowMotion:
        """The velocities of every frame on the grid, which carry smoke: `run.motion.advect_smoke(start)`."""
        shot = self._flow_shot
        return FlowMotion(shot.model.flow, shot.dt, shot.model.lift(self.states))

    @property
    def _flow_shot(self) -> FlowShot:
        return _require_flow(self.controller.reference)


def _require_flow(reference: NominalTrajectory) -> FlowShot:
    if not isinstance(reference, FlowShot):
        raise InputError("particles, velocities and smoke belong to flows; this controller has a body")
    return reference


@dataclass
class ActiveForce:
    """A reduced force (r,) and the number of steps for which it still acts."""

    force: Array
    remaining_steps: int


class RealtimeController(Generic[ReferenceT, ModelT]):
    """A body or flow under control in real time: `step`, and push it at any moment.

    A body goes through the reference again and again; a flow begins anew after the last step.
    controlled: False switches the feedback off; may be set at any time.
    Thread-safe: steps, pushes and reads take turns, and `step(count)` is one turn.
    """

    def __init__(
        self,
        controller: Controller[ReferenceT, ModelT],
        *,
        controlled: bool = True,
        passive_particles: ArrayLike = (),
    ):
        self.lock = threading.RLock()
        self._controller, self.controlled = controller, checks.require_bool(controlled, "controlled")
        self._stepper = create_stepper(controller.reference, None, passive_particles)
        r = controller.reference.model.size
        self._feedback, self._external = np.zeros(r), np.zeros((1, r))
        self._active_forces: list[ActiveForce] = []
        self._sustained_force: Array | None = None
        self._disturbances: tuple[Disturbance, ...] = ()
        self._disturbance_block, self._block_start = np.empty((0, r)), 0
        self._pending_retune: Future[Controller[ReferenceT, ModelT]] | None = None
        self._pending_parameters: dict[str, Any] = {}
        self._executor: ThreadPoolExecutor | None = None
        self._step_count = 0
        self._skin_cache: tuple[Skin, Array, Array] | None = None

    def __repr__(self) -> str:
        how, off = "controlled" if self.controlled else "not controlled", f"off by {100 * self.error:.3g} % of the size"
        if isinstance(self._controller.reference, FlowShot):
            off = f"{self.distances_in_cells.max(initial=0.0):.3g} cells off"
        return f"RealtimeController({how}, {self.time:.4g} s, {off})"

    @property
    def controller(self) -> Controller[ReferenceT, ModelT]:
        """The controller in use; `retune` replaces it."""
        return self._controller

    @property
    def time(self) -> float:
        """[s] since the start."""
        return self._step_count * self._controller.reference.dt

    @property
    @synchronized
    def frame(self) -> int:
        """The frame of the reference that is tracked, one per step."""
        return self._stepper.frame

    @property
    @synchronized
    def state(self) -> Any:
        """(position, velocity) of a body, (r,) each in reduced coordinates; mode coordinates (r,) of a flow."""
        return self._stepper.state_copy

    @property
    def subdivided_step_count(self) -> int:
        """Number of steps so far that converged only in several parts."""
        return self._stepper.subdivided_step_count

    @property
    @synchronized
    def error(self) -> float:
        """Distance to the tracked frame, in the unit of `ControllerRun.error`."""
        return self._stepper.error

    @property
    @synchronized
    def is_outside_linear_range(self) -> bool:
        """True if the deviation exceeds the range of the gains, which are linear."""
        reference = self._controller.reference
        return bool(self.particles_outside_linear_range) or self.error > reference.linear_range

    @property
    def feedback(self) -> Array:
        """The reduced force (r,) that the controller added in the last step."""
        return self._feedback.copy()

    @property
    def gentleness(self) -> float:
        """The feedback of the last step, in the unit of `ControllerRun.gentleness`."""
        return float(self._controller.reference.compute_gentleness(self._feedback))

    @property
    def is_retuning(self) -> bool:
        """True while gains for other dials are computed."""
        return self._pending_retune is not None and not self._pending_retune.done()

    @synchronized
    def retune(self, /, **parameters: Any) -> Future[Controller[ReferenceT, ModelT]]:
        """Compute gains for other dials (as `steer` takes them) in the background; they act from the next step on.

        Dials of an unfinished computation are kept. Raises InputError for dials that `steer` would refuse.
        """
        self._controller.check_parameters(parameters)
        self._apply_pending_retune()
        self._pending_parameters = parameters if self._pending_retune is None else self._pending_parameters | parameters
        self._executor = self._executor or ThreadPoolExecutor(max_workers=1, thread_name_prefix="retune")
        self._pending_retune = self._executor.submit(self._controller.retuned, **self._pending_parameters)
        return self._pending_retune

    @synchronized
    def push(
        self, location: Any, force: ArrayLike, duration: float | None = None, *, radius: float | None = None
    ) -> None:
        """Push from the next step on for `duration` [s]. Pushes add up.

        Of a body: the vertex `location` with force (3,) [N], for 0.1 s unless given. Of a flow: an acceleration (2,)
        [m/s²] at `location` (2,) [m] within `radius` (1) [m], for one step unless given.
        """
        reference = self._controller.reference
        duration = reference.model.default_push_duration if duration is None else duration
        reduced = reference.model.project_push(location, force, duration, radius)
        self._active_forces.append(ActiveForce(reduced, checks.count_steps(duration, reference.dt, minimum=1)))

    @synchronized
    def set_sustained_force(
        self, location: Any | None, force: ArrayLike | None = None, *, radius: float | None = None
    ) -> None:
        """Push as `push` does until the next call; None ends it. It acts beside the pushes of `push`."""
        reference = self._controller.reference
        zero = (0.0, 0.0) if isinstance(reference, FlowShot) else (0.0, 0.0, 0.0)
        self._sustained_force = (
            None
            if location is None
            else reference.model.project_push(location, zero if force is None else force, reference.dt, radius)
        )

    @synchronized
    def set_disturbances(self, *disturbances: Disturbance) -> None:
        """Let winds (of a flow: noise) act from now on; no argument ends them."""
        if not all(isinstance(each, Disturbance) for each in disturbances):
            raise InputError(
                "set_disturbances takes Wind objects, of a flow GustNoise objects, or others with "
                "`compute_reduced_force`"
            )
        reference = self._controller.reference
        reference.model.project_disturbances(list(disturbances), reference.dt, 0, 1)
        self._disturbances, self._disturbance_block = disturbances, self._disturbance_block[:0]

    @synchronized
    def step(self, count: int = 1) -> None:
        """Advance `count` steps, at most 1,000,000 per call.

        Raises NotConverged when it is pushed too hard for its model; all pushes are then over, a body stands where it
        was before the step, and a flow at the start of its motion.
        """
        for _ in range(checks.repetitions(count, "count (of steps)")):
            self._apply_pending_retune()
            self._stepper.feedback_gains = self._controller.feedback_gains if self.controlled else None
            try:
                out = self._stepper.rollout(self._sum_external_forces())
            except NotConverged:
                self._clear_forces()
                raise
            self._feedback = out.feedback[0]
            self._step_count += 1

    @synchronized
    def seek(self, frame: int | None = None) -> int:
        """Track the reference from `frame` on; None: from the frame closest to the present state. Returns the frame.

        The distance adds positions and velocities, the latter in units of ω₁; of a flow only velocities.
        """
        if frame is not None:
            most = self._controller.reference.step_count - 1
            checks.require_integer(frame, "frame", minimum=0, maximum=most)
        return self._stepper.seek(frame)

    @synchronized
    def restart(self) -> None:
        """Return to the start of the reference; pushes are over, time goes on, smoke stays."""
        self._stepper.reset()
        self._feedback = np.zeros_like(self._feedback)
        self._clear_forces()

    @synchronized
    def copy(self, *, controlled: bool) -> RealtimeController[ReferenceT, ModelT]:
        """A second one in the same state under the same pushes and winds, without smoke; each then goes its own way."""
        other = RealtimeController(self._controller, controlled=controlled)
        other._stepper, other._step_count = self._stepper.copy(), self._step_count
        other._active_forces = [replace(each) for each in self._active_forces]
        other._sustained_force, other._disturbances = self._sustained_force, self._disturbances
        return other

    @synchronized
    def close(self) -> None:
        """Stop the background work, if any."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- of bodies

    @synchronized
    def compute_positions(self, skin: Skin | None = None) -> Array:
        """Vertex positions (n, 3) [m] of the body, or of a skin embedded in it."""
        reference = self._controller.reference
        if not isinstance(reference, Reference):
            raise InputError("a flow has no vertices; use particles")
        model, (z, _) = reference.model, self._stepper.state_copy
        if skin is None:
            return model.body.vertices + model.lift(z)
        if self._skin_cache is None or self._skin_cache[0] is not skin:
            self._skin_cache = (skin, *build_skin_basis(model, skin))
        _, rest, columns = self._skin_cache
        return np.asarray(rest + (columns @ z.astype(columns.dtype)).reshape(-1, 3))

    # --- of flows

    @property
    @synchronized
    def particles(self) -> Array:
        """Positions (N, 2) [m] of the controlled particles."""
        return self._stepper.particles[: self._controlled_count]

    @property
    @synchronized
    def passive_particles(self) -> Array:
        """Positions (k, 2) [m] of the particles that are not controlled."""
        return self._stepper.particles[self._controlled_count :]

    @property
    @synchronized
    def distances_in_cells(self) -> Array:
        """(N,) distance of each controlled particle from its path, in cells."""
        shot = _require_flow(self._controller.reference)
        return np.asarray(
            np.linalg.norm(self.particles - shot.particles[self._stepper.frame], axis=1) / shot.model.flow.cell_size
        )

    @property
    @synchronized
    def particles_outside_linear_range(self) -> tuple[int, ...]:
        """Controlled particles that are farther from their paths than the range of the gains; none of a body."""
        shot = self._controller.reference
        if not isinstance(shot, FlowShot):
            return ()
        distances = self.distances_in_cells * shot.model.flow.cell_size
        return tuple(np.flatnonzero(distances > shot.linear_range * shot.box_size).tolist())

    @property
    @synchronized
    def smoke(self) -> Array | None:
        """Density of smoke per cell (columns, rows), None before `set_smoke`."""
        return None if self._stepper.smoke is None else self._stepper.smoke.copy()

    @synchronized
    def set_smoke(self, smoke: ArrayLike | None) -> None:
        """Put smoke (columns, rows) into the cells, which the flow then carries; None removes it."""
        flow = _require_flow(self._controller.reference).model.flow
        self._stepper.smoke = (
            None if smoke is None else checks.require_real_array(smoke, "smoke", (flow.columns, flow.rows)).copy()
        )

    @property
    def _controlled_count(self) -> int:
        reference = self._controller.reference
        return reference.particles.shape[1] if isinstance(reference, FlowShot) else 0

    # --- forces and gains of the next step

    def _clear_forces(self) -> None:
        self._active_forces.clear()
        self._sustained_force = None

    def _apply_pending_retune(self) -> None:
        if self._pending_retune is not None and self._pending_retune.done():
            done, self._pending_retune = self._pending_retune, None
            if done.exception() is None:
                self._controller = done.result()

    def _sum_external_forces(self) -> Array:
        """The external force (1, r) of the next step; counts down the pushes."""
        external = self._external
        external[0] = 0.0 if self._sustained_force is None else self._sustained_force
        for each in self._active_forces:
            external[0] += each.force
            each.remaining_steps -= 1
        if self._active_forces:
            self._active_forces = [each for each in self._active_forces if each.remaining_steps > 0]
        if self._disturbances:
            at = self._step_count - self._block_start
            if at >= len(self._disturbance_block):  # sampled for 64 steps at a time
                reference, self._block_start, at = self._controller.reference, self._step_count, 0
                self._disturbance_block = reference.model.project_disturbances(
                    list(self._disturbances), reference.dt, self._step_count, 64
                )
            external[0] += self._disturbance_block[at]
        return external


if TYPE_CHECKING:
    FlowController = Controller[FlowShot, ReducedFlow]
    FlowControllerRun = ControllerRun[FlowShot, ReducedFlow]
    FlowRealtimeController = RealtimeController[FlowShot, ReducedFlow]
else:  # names of the types with a flow; the classes are the same
    FlowController, FlowControllerRun, FlowRealtimeController = Controller, ControllerRun, RealtimeController
