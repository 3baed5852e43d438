"""`steer`: a motion becomes a controller; pushed, the body comes back with the least force."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.animation import Animation
from cajole.direct.keyframing.shot import Shot
from cajole.direct.steering.costs import Dial, Dials, costs
from cajole.direct.steering.disturbances import Disturbances, reduced_disturbance
from cajole.direct.steering.motion import Reference, in_sizes, of_shot, weight
from cajole.direct.steering.regulator import FORMULATIONS, Regulator, regulator
from cajole.direct.steering.walker import Walker
from cajole.errors import InputError
from cajole.mesh import Skin
from cajole.progress import Progress, report
from cajole.reduction import ReducedModel
from cajole.reduction.offset import lift_velocity

if TYPE_CHECKING:
    from cajole.direct.steering.live import Live

Array = NDArray[np.float64]

# Steps between two calls of a progress callback.
CHUNK = 256
# Errors in body sizes beyond which the gains, made for small deviations, promise nothing.
ASTRAY = 0.2


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
        return self.reference.model

    @property
    def gains(self) -> Array:
        """(T, r, 2r): feedback w = K dx of every step."""
        return self.regulator.gains

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
        *,
        force: Disturbances = None,
        controlled: bool = True,
        loops: int = 1,
        progress: Progress | None = None,
    ) -> Run:
        """A whole take under disturbances, from the start of the reference.

        force: f(t) -> (n, 3) [N], (n, 3), (frames, n, 3), a Push, a Wind, or a list of those.
        controlled: whether the feedback acts; loops: how often the reference is gone through.
        Raises NotConverged, naming the step, when the body is pushed beyond what its model can do.
        """
        loops = checks.count(loops, "loops")
        steps = loops * self.reference.steps
        external = reduced_disturbance(self.model, force, self.reference.dt, steps)
        walker = Walker(self.reference, self.regulator if controlled else None)
        begin, parts = time.process_time(), []
        first = walker.now[3:].copy()
        for at in range(0, steps, CHUNK):
            parts.append(walker.walk(external[at : at + CHUNK]))
            report(progress, min(at + CHUNK, steps) / steps, "steering")
        out = np.concatenate(parts)
        seconds = (time.process_time() - begin) / steps
        states, velocities = np.vstack([first[0], out[:, 0]]), np.vstack([first[1], out[:, 1]])
        return Run(self, states, velocities, out[:, 2], controlled, walker.cuts, seconds)

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


@dataclass(frozen=True, eq=False)
class Run:
    """A controlled take: states, velocities (frames, r), feedback (frames - 1, r).

    cuts: steps that had to be cut into parts to converge; step_seconds: CPU time of one step.
    """

    controller: Controller
    states: Array
    velocities: Array
    feedback: Array
    controlled: bool
    cuts: int
    step_seconds: float

    @cached_property
    def animation(self) -> Animation:
        """The motion on the body's mesh."""
        model = self.controller.model
        positions = model.body.vertices + model.lift(self.states)
        speeds = lift_velocity(model, self.velocities)
        return Animation(model.body.drawn_mesh(), positions, fps=1.0 / self.controller.reference.dt, velocities=speeds)

    @cached_property
    def error(self) -> Array:
        """(frames,) distance to the reference in body sizes."""
        course = self.controller.reference.states
        lap = np.concatenate([[0], 1 + np.arange(len(self.states) - 1) % (len(course) - 1)])
        return in_sizes(self.controller.model, np.linalg.norm(self.states - course[lap], axis=1))

    @cached_property
    def gentleness(self) -> Array:
        """(frames,) size of the feedback into each frame, in body weights."""
        return np.concatenate([[0.0], np.linalg.norm(self.feedback, axis=1) / weight(self.controller.model)])

    @cached_property
    def effort(self) -> Array:
        """(frames,) |w|² / (m (L ω₁²)²): what the dial `effort` weighs, averaged over frames."""
        model = self.controller.model
        unit = model.body.total_mass * (model.body.size * model.frequency**2) ** 2
        return np.concatenate([[0.0], (self.feedback**2).sum(axis=1) / unit])

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
            cuts=self.cuts,
            gain_seconds=self.controller.seconds,
            step_seconds=self.step_seconds,
        )


@dataclass(frozen=True)
class SteerReport:
    """How closely a run came back, and how gently: errors in body sizes, gentleness in body weights."""

    frames: int
    controlled: bool
    final_error: float
    worst_error: float
    mean_error: float
    gentleness: Array
    effort: float
    cuts: int
    gain_seconds: float
    step_seconds: float

    def __str__(self) -> str:
        rows = [f"steer: {self.frames} frames, {'controlled' if self.controlled else 'not controlled'}"]
        rows.append(
            f"  off by {100 * self.mean_error:.3g} % of the size (rms), {100 * self.worst_error:.3g} % at worst,"
            f" {100 * self.final_error:.3g} % at the end"
        )
        mean = float(np.sqrt((self.gentleness**2).mean()))
        rows.append(f"  added force: {mean:.3g} weights (rms), {self.gentleness.max():.3g} at most")
        rows.append(f"  gains {self.gain_seconds:.3f} s, a step {1e6 * self.step_seconds:.0f} µs")
        if self.worst_error > ASTRAY:
            rows.append("  it went farther astray than the controller's linearisation reaches: look at the motion")
        if self.cuts:
            rows.append(f"  {self.cuts} steps were cut into parts to converge: the push went beyond small deviations")
        return "\n".join(rows)


def steer(
    motion: Shot | Reference,
    *,
    tracking: Dial = 1.0,
    final: float | ArrayLike = 0.0,
    effort: Dial = 1e-2,
    frames: Mapping[int, float] | None = None,
    vertices: Mapping[int, float] | ArrayLike | None = None,
    formulation: str = "discrete",
) -> Controller:
    """A controller that leads back to `motion` with the least force; eq. (5) of the 2008 paper.

    It minimises ½ [final e(T) + mean over frames of (tracking e + effort |w|²)]: e the squared error of position in
    body sizes and of velocity in body sizes times ω₁, w the feedback in units of L ω₁².
    motion: a Shot, or a Reference made by `reference` from any animation.
    tracking, effort: numbers, functions of time [s], or matrices: (r, r) on positions, or (2r, 2r) with velocities, for
        tracking; (r, r) for effort. final: a number or a matrix as for tracking.
    frames: {frame: factor}, how much more tracking counts there; vertices: whose errors count, all the same, or
        {vertex: weight}; None for the whole body.
    formulation: "discrete" on the exact steps of the simulator, or "continuous", the paper's appendix A.
    Raises InputError for negative weights, effort that is not positive, and frames or vertices out of range.
    """
    if isinstance(motion, Shot):
        motion = of_shot(motion)
    checks.require_instance(motion, Reference, "motion (a Shot, or a Reference made by cajole.reference)")
    checks.one_of(formulation, "formulation", FORMULATIONS)
    if motion.steps < 1:
        raise InputError("the motion has no steps to steer")
    return _steered(motion, Dials(tracking, final, effort, frames, vertices), formulation)


def _steered(motion: Reference, dials: Dials, formulation: str) -> Controller:
    begin = time.process_time()
    made = regulator(motion, costs(motion, dials), formulation)
    return Controller(motion, dials, made, formulation, time.process_time() - begin)
