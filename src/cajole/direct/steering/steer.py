"""`steer`: a motion becomes a controller that returns a disturbed body or flow to it with the least force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.body import Body
from cajole.direct.keyframing.shot import Shot
from cajole.direct.steering.controller import Controller, FlowController, build_controller
from cajole.direct.steering.cost import CostWeights, TimeVaryingWeight
from cajole.direct.steering.lqr import FORMULATIONS
from cajole.direct.steering.reference import Reference, build_reference, build_shot_reference
from cajole.errors import InputError
from cajole.reduction import FlowShot, NominalTrajectory


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
) -> Controller[Any, Any]:
    """A controller that returns to `motion` with the least force; eq. (5) of the 2008 paper.

    It minimises ½ [final e(T) + mean over frames of (tracking e + effort |w|²)]: e is the squared error of positions in
    body sizes L and of velocities in units of L ω₁, w the feedback in units of L ω₁².
    motion: a Shot, a Reference made by `build_reference` from any animation, or an Animation together with its `body`,
        which `build_reference` reduces to the motion's own directions and 20 modes.
    tracking, effort: numbers, functions of time [s], or matrices: (r, r) on positions, or (2r, 2r) with velocities, for
        tracking; (r, r) for effort. final: a number or a matrix as for tracking.
    frames: {frame: factor} on the tracking of single frames; vertices: indices of the vertices whose errors count, or
        {vertex: weight}; None for the whole body.
    formulation: "discrete" for the exact steps of the simulator, or "continuous", the paper's appendix A.
    For the shot of a flow, from `ReducedFlow.shot`, the dials are numbers. There e is the mean squared distance of the
    particles in box sizes L, plus `velocity_tracking` (1e-3) times the mean squared error of the velocities in units of
    the motion's fastest speed U; w is in units of U²/L.
    Raises InputError for negative weights, effort that is not positive, and frames or vertices out of range.
    """
    reference: NominalTrajectory
    if isinstance(motion, FlowShot):
        if body is not None or vertices is not None:
            raise InputError("body and vertices are for solids; a flow's shot has particles of its own")
        reference = motion
    elif velocity_tracking is not None:
        raise InputError("velocity_tracking weighs the velocities of a flow beside its particles; leave it out")
    elif isinstance(motion, Animation):
        if body is None:
            raise InputError(
                "an animation does not know what it is made of: give its body, steer(motion, body=body), or make the"
                " reference yourself with build_reference(body, motion)"
            )
        reference = build_reference(body, motion)
    elif body is not None:
        raise InputError("body goes with an animation; a Shot or a Reference has its own")
    elif isinstance(motion, Shot):
        reference = build_shot_reference(motion)
    elif isinstance(motion, Reference):
        reference = motion
    else:
        raise InputError(
            "motion must be a Shot, a Reference made by cajole.build_reference, or an Animation with its body, not"
            f" {type(motion).__name__}"
        )
    checks.require_choice(formulation, "formulation", FORMULATIONS)
    if reference.step_count < 1:
        raise InputError("the motion has no steps to steer")
    weights = CostWeights(tracking, final, effort, frames, vertices, velocity_tracking)
    return build_controller(reference, weights, formulation)
