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
from cajole.direct.keyframing.shot import Shot
from cajole.direct.steering.costs import Dial, Dials, costs
from cajole.direct.steering.disturbances import Disturbances, reduced_disturbance
from cajole.direct.steering.flow import FlowController, flow_dials, steer_flow
from cajole.direct.steering.motion import Reference, of_shot
from cajole.direct.steering.references import reference
from cajole.direct.steering.regulator import FORMULATIONS, Regulator, regulator
from cajole.direct.steering.runs import Run as Run
from cajole.direct.steering.walker import Walker
from cajole.errors import InputError, NotConverged
from cajole.mesh import Skin
from cajole.progress import Progress, report
from cajole.reduction import FlowShot, ReducedModel

if TYPE_CHECKING:
    from cajole.direct.steering.live import Live


# Steps between two calls of a progress callback.
CHUNK = 256


@dataclass(frozen=True, eq=False)
class Controller:
    """A reference, the gains that lead back to it, and the dials they were made with; seconds: what they took."""

    reference: Reference
    dials: Dials
    regulator: Regulator
    formulation: str
    seconds: float

    @property
    def model(self) -> ReducedModel:
        """The reduced model that is controlled."""
        return self.reference.model

    @property
    def gains(self) -> Array:
        """(T, r, 2r): feedback w = K dx of every step."""
        return self.regulator.gains

    @cached_property
    def leaves(self) -> float:
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
            for name, dial in (("tracking", self.dials.tracking), ("effort", self.dials.effort))
        )
        return f"Controller({self.reference!r}, {tracking}, {effort})"

    def retuned(self, **dials: Any) -> Controller:
        """The same reference with other dials, as `steer` takes them."""
        self.refuse(dials)
        return _steered(self.reference, replace(self.dials, **dials), self.formulation)

    def refuse(self, dials: dict[str, Any]) -> None:
        """Raise InputError for dials that `retuned` cannot use."""
        for name in dials:
            checks.one_of(name, "a dial", tuple(field.name for field in fields(Dials)))
        costs(self.reference, replace(self.dials, **dials))

    def run(
        self,
        force: Disturbances = None,
        *,
        controlled: bool = True,
        loops: int = 1,
        progress: Progress | None = None,
    ) -> Run:
        """A whole take under disturbances, from the start of the reference.

        force: f(t) -> (n, 3) [N], (n, 3), (steps + 1, n, 3), a Push, a Wind, or a list of those. What made the motion,
            gravity for example, is in the reference already.
        controlled: whether the feedback acts; loops: how often the reference is gone through.
        Raises NotConverged, naming the step, when the body is pushed beyond what its model can do, or when the motion
        does not fit the body.
        """
        loops = checks.count(loops, "loops")
        steps = loops * self.reference.steps
        external = reduced_disturbance(self.model, force, self.reference.dt, steps)
        walker = Walker(self.reference, self.regulator if checks.flag(controlled, "controlled") else None)
        begin, parts = time.process_time(), []
        first = walker.now[3:].copy()
        for at in range(0, steps, CHUNK):
            parts.append(walker.walk(external[at : at + CHUNK]))
            report(progress, min(at + CHUNK, steps) / steps, "steering")
        out = np.concatenate(parts)
        seconds = (time.process_time() - begin) / steps
        states, velocities = np.vstack([first[0], out[:, 0]]), np.vstack([first[1], out[:, 1]])
        return Run(self, states, velocities, out[:, 2], controlled, walker.cuts, seconds, bool(external.any()))

    def start(self, *, controlled: bool = True) -> Live:
        """The controller in live use: push it, step it, look at it."""
        from cajole.direct.steering.live import Live

        return Live(self, controlled=controlled)

    def save(self, path: str | os.PathLike[str], *, skin: Skin | None = None) -> None:
        """Write one .npz that runs without the body: `load_controller` reads it, and so does the JavaScript runtime.

        skin: a surface embedded in the body, for the runtime to show. A file is written whole or not at all.
        Raises FileError when it cannot be written, InputError for a body or skin that cannot be drawn.
        """
        from cajole.direct.steering.files import save_controller

        save_controller(self, path, skin)


@overload
def steer(
    motion: FlowShot,
    *,
    tracking: float = 1.0,
    final: float = 0.0,
    effort: float = 1e-2,
    currents: float | None = None,
    frames: Mapping[int, float] | None = None,
    formulation: str = "discrete",
) -> FlowController: ...
@overload
def steer(
    motion: Shot | Reference | Animation,
    *,
    body: Body | None = None,
    tracking: Dial = 1.0,
    final: float | ArrayLike = 0.0,
    effort: Dial = 1e-2,
    frames: Mapping[int, float] | None = None,
    vertices: Mapping[int, float] | ArrayLike | None = None,
    formulation: str = "discrete",
) -> Controller: ...
def steer(
    motion: Shot | Reference | Animation | FlowShot,
    *,
    body: Body | None = None,
    tracking: Dial = 1.0,
    final: float | ArrayLike = 0.0,
    effort: Dial = 1e-2,
    frames: Mapping[int, float] | None = None,
    vertices: Mapping[int, float] | ArrayLike | None = None,
    currents: float | None = None,
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
    particles in box sizes L, plus `currents` (1e-3) times the mean squared error of the velocities in units of the
    motion's fastest speed U; w is in units of U²/L.
    Raises InputError for negative weights, effort that is not positive, and frames or vertices out of range.
    """
    if isinstance(motion, FlowShot):
        if body is not None or vertices is not None:
            raise InputError("body and vertices are for solids; a flow's shot has particles of its own")
        dials = flow_dials(motion, tracking, final, effort, currents, frames, formulation)
        return steer_flow(motion, dials, formulation)
    if currents is not None:
        raise InputError("currents is for flows: what an error of the velocities costs beside one of the particles")
    motion = _followed(motion, body)
    checks.one_of(formulation, "formulation", FORMULATIONS)
    if motion.steps < 1:
        raise InputError("the motion has no steps to steer")
    return _steered(motion, Dials(tracking, final, effort, frames, vertices), formulation)


def _followed(motion: Shot | Reference | Animation, body: Body | None) -> Reference:
    if isinstance(motion, Animation):
        if body is None:
            raise InputError(
                "an animation does not know what it is made of: give its body, steer(motion, body=body), or make the"
                " reference yourself with reference(body, motion)"
            )
        return reference(body, motion)
    if body is not None:
        raise InputError("body goes with an animation; a Shot or a Reference has its own")
    if isinstance(motion, Shot):
        return of_shot(motion)
    if not isinstance(motion, Reference):
        raise InputError(
            "motion must be a Shot, a Reference made by cajole.reference, or an Animation with its body, not"
            f" {type(motion).__name__}"
        )
    return motion


def _steered(motion: Reference, dials: Dials, formulation: str) -> Controller:
    begin = time.process_time()
    made = regulator(motion, costs(motion, dials), formulation)
    return Controller(motion, dials, made, formulation, time.process_time() - begin)
