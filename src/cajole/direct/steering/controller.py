"""`steer`: a motion becomes a controller; pushed, the body comes back with the least force."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body
from cajole.body.body_weights import compute_modal_body_weights, compute_rms
from cajole.direct.keyframing.shot import Shot
from cajole.direct.steering.cost import CostWeights, TimeVaryingWeight, build_cost
from cajole.direct.steering.disturbances import DisturbanceLike, compute_reduced_forces
from cajole.direct.steering.flow_controller import FlowController, build_flow_controller, build_flow_cost_weights
from cajole.direct.steering.lqr import FORMULATIONS, FeedbackGains, compute_gains
from cajole.direct.steering.reference import Reference, build_reference, build_shot_reference, diagnose_divergence
from cajole.direct.steering.stepper import ControlledStepper
from cajole.errors import InputError, NotConverged
from cajole.mesh import Skin
from cajole.progress import ProgressCallback, report_progress
from cajole.reduction import FlowShot, ReducedModel

if TYPE_CHECKING:
    from cajole.direct.steering.realtime_controller import RealtimeController

# Errors in body sizes beyond which the gains, made for small deviations, promise nothing.
LINEAR_RANGE = 0.2
# What an undisturbed, controlled body may be off its motion, in body sizes, before something is wrong with the two.
UNDISTURBED_ERROR_LIMIT = 0.03


@dataclass(frozen=True, eq=False)
class ControllerRun:
    """A controlled take: states, velocities (steps + 1, r), feedback (steps, r).

    cuts: steps that had to be cut into parts to converge; step_seconds: CPU time of one step; disturbed: whether any
    force acted.
    """

    controller: Controller
    states: Array
    velocities: Array
    feedback: Array
    controlled: bool
    subdivided_step_count: int
    step_seconds: float
    is_disturbed: bool = True

    def __repr__(self) -> str:
        how = "controlled" if self.controlled else "not controlled"
        off, weights = 100 * self.report.mean_error, self.report.mean_gentleness
        return (
            f"ControllerRun({how}, {len(self.states)} frames, off by {off:.3g} % of the size (rms), {weights:.3g} "
            f"weights)"
        )

    @cached_property
    def animation(self) -> Animation:
        """The motion on the body's mesh, at the rate of the motion that was given."""
        model, k = self.controller.model, self.controller.reference.substeps
        positions = model.body.vertices + model.lift(self.states[::k])
        speeds = model.lift_velocity(self.velocities[::k])
        fps = 1.0 / (k * self.controller.reference.dt)
        return Animation(model.body.get_display_mesh(), positions, fps=fps, velocities=speeds)

    @cached_property
    def error(self) -> Array:
        """(frames,) distance to the reference in body sizes."""
        course = self.controller.reference.states
        lap = np.concatenate([[0], 1 + np.arange(len(self.states) - 1) % (len(course) - 1)])
        return np.linalg.norm(self.states - course[lap], axis=1) / self.controller.model.unit_length

    @cached_property
    def gentleness(self) -> Array:
        """(frames,) size of the feedback into each frame, in body weights."""
        weights = compute_modal_body_weights(self.feedback, self.controller.model.body.total_mass)
        return np.concatenate([[0.0], weights])

    @cached_property
    def effort(self) -> Array:
        """(frames,) |w|² / (m (L ω₁²)²): what the dial `effort` weighs, averaged over frames."""
        return np.concatenate([[0.0], (self.feedback**2).sum(axis=1) / self.controller.model.unit_effort])

    @cached_property
    def report(self) -> SteerReport:
        return SteerReport(
            frames=len(self.states),
            controlled=self.controlled,
            final_error=float(self.error[-1]),
            worst_error=float(self.error.max()),
            mean_error=float(np.sqrt((self.error**2).mean())),
            gentleness=self.gentleness,
            effort=float(self.effort[1:].mean()),
            subdivided_step_count=self.subdivided_step_count,
            gain_seconds=self.controller.gain_seconds,
            step_seconds=self.step_seconds,
            notes=self._build_notes(),
        )

    def _build_notes(self) -> tuple[str, ...]:
        """What is wrong when control does not keep the body to its motion for want of any disturbance."""
        if not self.controlled or self.error.max() <= UNDISTURBED_ERROR_LIMIT:
            return ()
        off = self.controller.undisturbed_error if self.is_disturbed else float(self.error.max())
        if off <= UNDISTURBED_ERROR_LIMIT:
            return ()
        far = f"leaves its motion by {100 * off:.3g} % of the size" if np.isfinite(off) else "breaks"
        return (f"even undisturbed it {far}: {diagnose_divergence(self.controller.reference)}",)


@dataclass(frozen=True)
class SteerReport:
    """How closely a run came back, and how gently: errors in body sizes, gentleness in body weights.

    notes: what is wrong between motion, body and step, and what to do; mostly none.
    """

    frames: int
    controlled: bool
    final_error: float
    worst_error: float
    mean_error: float
    gentleness: Array
    effort: float
    subdivided_step_count: int
    gain_seconds: float
    step_seconds: float
    notes: tuple[str, ...] = ()

    @property
    def mean_gentleness(self) -> float:
        """Root mean square over the frames."""
        return compute_rms(self.gentleness)

    def __repr__(self) -> str:
        how = "controlled" if self.controlled else "not controlled"
        off, weights = 100 * self.mean_error, self.mean_gentleness
        noted = f", {len(self.notes)} note" if self.notes else ""
        return f"SteerReport({how}, off by {off:.3g} % of the size (rms), {weights:.3g} weights (rms){noted})"

    def __str__(self) -> str:
        rows = [f"steer: {self.frames} frames, {'controlled' if self.controlled else 'not controlled'}"]
        rows.append(
            f"  off by {100 * self.mean_error:.3g} % of the size (rms), {100 * self.worst_error:.3g} % at worst,"
            f" {100 * self.final_error:.3g} % at the end"
        )
        rows.append(f"  added force: {self.mean_gentleness:.3g} weights (rms), {self.gentleness.max():.3g} at most")
        rows.append(f"  gains {self.gain_seconds:.3f} s, a step {1e6 * self.step_seconds:.0f} µs")
        if self.worst_error > LINEAR_RANGE:
            rows.append("  it went farther astray than the controller's linearisation reaches: look at the motion")
        if self.subdivided_step_count:
            why = "" if self.notes else ": the push went beyond small deviations"
            rows.append(f"  {self.subdivided_step_count} steps were cut into parts to converge{why}")
        return "\n".join(rows + [f"  note: {note}" for note in self.notes])


# Steps between two calls of a progress callback.
PROGRESS_INTERVAL = 256


@dataclass(frozen=True, eq=False)
class Controller:
    """A reference, the gains that lead back to it, and the dials they were made with; seconds: what they took."""

    reference: Reference
    cost_weights: CostWeights
    feedback_gains: FeedbackGains
    formulation: str
    gain_seconds: float

    @property
    def model(self) -> ReducedModel:
        """The reduced model that is controlled."""
        return self.reference.model

    @property
    def gains(self) -> Array:
        """(T, r, 2r): feedback w = K dx of every step."""
        return self.feedback_gains.gains

    @cached_property
    def undisturbed_error(self) -> float:
        """How far the controlled body leaves its motion when nothing disturbs it, in body sizes; infinite if it breaks.

        Near zero for a shot; more than a few percent mean that motion, body and step do not fit one another.
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

    def retuned(self, **parameters: Any) -> Controller:
        """The same reference with other dials, as `steer` takes them."""
        self.check_parameters(parameters)
        return _build_controller(self.reference, replace(self.cost_weights, **parameters), self.formulation)

    def check_parameters(self, parameters: dict[str, Any]) -> None:
        """Raise InputError for dials that `retuned` cannot use."""
        for name in parameters:
            checks.require_choice(name, "a dial", tuple(field.name for field in fields(CostWeights)))
        build_cost(self.reference, replace(self.cost_weights, **parameters))

    def run(
        self,
        force: DisturbanceLike = None,
        *,
        controlled: bool = True,
        loops: int = 1,
        progress: ProgressCallback | None = None,
    ) -> ControllerRun:
        """A whole take under disturbances, from the start of the reference.

        force: f(t) -> (n, 3) [N], (n, 3), (steps + 1, n, 3), a Push, a Wind, or a list of those. What made the motion,
            gravity for example, is in the reference already.
        controlled: whether the feedback acts; loops: how often the reference is gone through.
        Raises NotConverged, naming the step, when the body is pushed beyond what its model can do, or when the motion
        does not fit the body.
        """
        loops = checks.require_integer(loops, "loops")
        steps = loops * self.reference.step_count
        external = compute_reduced_forces(self.model, force, self.reference.dt, steps)
        walker = ControlledStepper(
            self.reference, self.feedback_gains if checks.require_bool(controlled, "controlled") else None
        )
        begin, parts = time.process_time(), []
        first = walker.state[3:].copy()
        for at in range(0, steps, PROGRESS_INTERVAL):
            parts.append(walker.rollout(external[at : at + PROGRESS_INTERVAL]))
            report_progress(progress, min(at + PROGRESS_INTERVAL, steps) / steps, "steering")
        out = np.concatenate(parts)
        seconds = (time.process_time() - begin) / steps
        states, velocities = np.vstack([first[0], out[:, 0]]), np.vstack([first[1], out[:, 1]])
        return ControllerRun(
            self, states, velocities, out[:, 2], controlled, walker.subdivided_step_count, seconds, bool(external.any())
        )

    def start(self, *, controlled: bool = True) -> RealtimeController:
        """The controller in live use: push it, step it, look at it."""
        from cajole.direct.steering.realtime_controller import RealtimeController

        return RealtimeController(self, controlled=controlled)

    def save(self, path: str | os.PathLike[str], *, skin: Skin | None = None) -> None:
        """Write one .npz that runs without the body: `load_controller` reads it, and so does the JavaScript runtime.

        skin: a surface embedded in the body, for the runtime to show. A file is written whole or not at all.
        Raises FileError when it cannot be written, InputError for a body or skin that cannot be drawn.
        """
        from cajole.direct.steering.serialization import save_controller

        save_controller(self, path, skin)


@overload
def steer(
    motion: FlowShot,
    *,
    tracking: float = 1.0,
    final: float = 0.0,
    effort: float = 1e-2,
    velocity_tracking: float | None = None,
    frames: Mapping[int, float] | None = None,
    formulation: str = "discrete",
) -> FlowController: ...
@overload
def steer(
    motion: Shot | Reference | Animation,
    *,
    body: Body | None = None,
    tracking: TimeVaryingWeight = 1.0,
    final: float | ArrayLike = 0.0,
    effort: TimeVaryingWeight = 1e-2,
    frames: Mapping[int, float] | None = None,
    vertices: Mapping[int, float] | ArrayLike | None = None,
    formulation: str = "discrete",
) -> Controller: ...
def steer(
    motion: Shot | Reference | Animation | FlowShot,
    *,
    body: Body | None = None,
    tracking: TimeVaryingWeight = 1.0,
    final: float | ArrayLike = 0.0,
    effort: TimeVaryingWeight = 1e-2,
    frames: Mapping[int, float] | None = None,
    vertices: Mapping[int, float] | ArrayLike | None = None,
    velocity_tracking: float | None = None,
    formulation: str = "discrete",
) -> Controller | FlowController:
    """A controller that leads back to `motion` with the least force; eq. (5) of the 2008 paper.

    It minimises ½ [final e(T) + mean over frames of (tracking e + effort |w|²)]: e the squared error of position in
    body sizes and of velocity in body sizes times ω₁, w the feedback in units of L ω₁².
    motion: a Shot, a Reference made by `reference` from any animation, or an Animation together with its `body`, which
        `reference` then reduces to the motion's own directions and 20 modes.
    tracking, effort: numbers, functions of time [s], or matrices: (r, r) on positions, or (2r, 2r) with velocities, for
        tracking; (r, r) for effort. final: a number or a matrix as for tracking.
    frames: {frame: factor}, how much more tracking counts there; vertices: whose errors count, all the same, or
        {vertex: weight}; None for the whole body.
    formulation: "discrete" on the exact steps of the simulator, or "continuous", the paper's appendix A.
    A flow's shot, from `ReducedFlow.shot`, takes numbers as dials. There e is the mean squared distance of the
    particles in box sizes L, plus `velocity_tracking` (1e-3) times the mean squared error of the velocities in units of
    the motion's fastest speed U; w is in units of U²/L.
    Raises InputError for negative weights, effort that is not positive, and frames or vertices out of range.
    """
    if isinstance(motion, FlowShot):
        if body is not None or vertices is not None:
            raise InputError("body and vertices are for solids; a flow's shot has particles of its own")
        dials = build_flow_cost_weights(motion, tracking, final, effort, velocity_tracking, frames, formulation)
        return build_flow_controller(motion, dials, formulation)
    if velocity_tracking is not None:
        raise InputError(
            "velocity_tracking is for flows: what an error of the velocities costs beside one of the particles"
        )
    motion = _resolve_reference(motion, body)
    checks.require_choice(formulation, "formulation", FORMULATIONS)
    if motion.step_count < 1:
        raise InputError("the motion has no steps to steer")
    return _build_controller(motion, CostWeights(tracking, final, effort, frames, vertices), formulation)


def _resolve_reference(motion: Shot | Reference | Animation, body: Body | None) -> Reference:
    if isinstance(motion, Animation):
        if body is None:
            raise InputError(
                "an animation does not know what it is made of: give its body, steer(motion, body=body), or make the"
                " reference yourself with build_reference(body, motion)"
            )
        return build_reference(body, motion)
    if body is not None:
        raise InputError("body goes with an animation; a Shot or a Reference has its own")
    if isinstance(motion, Shot):
        return build_shot_reference(motion)
    if not isinstance(motion, Reference):
        raise InputError(
            "motion must be a Shot, a Reference made by cajole.build_reference, or an Animation with its body, not"
            f" {type(motion).__name__}"
        )
    return motion


def _build_controller(reference: Reference, cost_weights: CostWeights, formulation: str) -> Controller:
    begin = time.process_time()
    made = compute_gains(reference, build_cost(reference, cost_weights), formulation)
    return Controller(reference, cost_weights, made, formulation, time.process_time() - begin)
