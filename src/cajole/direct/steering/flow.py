"""`steer` for a fluid: particles that follow their paths through a flow that is pushed about."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.direct.steering import kernels_flow
from cajole.direct.steering.flow_costs import CURRENTS, FlowDials, flow_costs
from cajole.direct.steering.flow_regulator import flow_gains
from cajole.direct.steering.flow_runs import FlowRun as FlowRun
from cajole.direct.steering.regulator import FORMULATIONS
from cajole.errors import InputError, NotConverged
from cajole.progress import Progress, report
from cajole.reduction import FlowShot, ReducedFlow
from cajole.reduction.flow_forces import FlowDisturbances, reduced_forces

if TYPE_CHECKING:
    from cajole.direct.steering.flow_live import FlowLive


NO_GAINS = np.empty((0, 0, 0))
# Steps between two calls of a progress callback.
CHUNK = 64


@dataclass(frozen=True, eq=False)
class FlowController:
    """A reference, the gains (T, r, 2N+r) that lead back to it, and the dials they were made with.

    value (2N+r, 2N+r): ½ Δxᵀ value Δx is the cost to go at the start; seconds: CPU time that the gains took.
    """

    reference: FlowShot
    dials: FlowDials
    gains: Array
    value: Array
    formulation: str
    seconds: float

    @property
    def model(self) -> ReducedFlow:
        """The reduced fluid that is controlled."""
        return self.reference.model

    def __repr__(self) -> str:
        return f"FlowController({self.reference!r}, tracking {self.dials.tracking:.3g}, effort {self.dials.effort:.3g})"

    def retuned(self, **dials: Any) -> FlowController:
        """The same reference with other dials, as `steer` takes them."""
        self.refuse(dials)
        return steer_flow(self.reference, replace(self.dials, **dials), self.formulation)

    def refuse(self, dials: dict[str, Any]) -> None:
        """Raise InputError for dials that `retuned` cannot use."""
        for name in dials:
            checks.one_of(name, "a dial", tuple(field.name for field in fields(FlowDials)))
        flow_costs(self.reference, replace(self.dials, **dials))

    def run(
        self, force: FlowDisturbances = None, *, controlled: bool = True, progress: Progress | None = None
    ) -> FlowRun:
        """A whole take under disturbances, from the start of the reference.

        force: a Gust, a GustNoise, a list of those, an acceleration (n,) [m/s²], f(t) -> (n,), or reduced forces
            (T, r). What made the motion is in the reference already.
        Raises NotConverged, naming the step, when the numbers overflow.
        """
        shot, controlled = self.reference, checks.flag(controlled, "controlled")
        external = reduced_forces(self.model, force, shot.dt, 0, shot.steps)
        points, z = shot.particles[0].copy(), shot.states[0].copy()
        begin, parts = time.process_time(), []
        for at in range(0, shot.steps, CHUNK):
            parts.append(self.drive(external[at : at + CHUNK], at, points, z, controlled))
            report(progress, min(at + CHUNK, shot.steps) / shot.steps, "steering")
        seconds = (time.process_time() - begin) / shot.steps
        Z, P, W = (np.concatenate(several) for several in zip(*parts))
        states, particles = np.concatenate([shot.states[:1], Z]), np.concatenate([shot.particles[:1], P])
        return FlowRun(self, states, particles, W, controlled, seconds)

    def drive(
        self, external: Array, first: int, points: Array, z: Array, controlled: bool
    ) -> tuple[Array, Array, Array]:
        """Steps from reference step `first` on, one a row of `external` (m, r); points and z become the last ones.

        Returns states (m, r), points (m, k, 2) and feedback (m, r). Raises NotConverged when numbers overflow.
        """
        shot, model, flow = self.reference, self.model, self.model.flow
        out = np.empty_like(external), np.empty((len(external), *points.shape)), np.empty_like(external)
        try:
            done = kernels_flow.drive(
                model.skew, model.damping, model.basis, (flow.columns, flow.rows), flow.cell, shot.dt,
                self.gains if controlled else NO_GAINS, shot.particles, shot.states, shot.feed_forward, external,
                first, points, z, *out,
            )  # fmt: skip
        except ZeroDivisionError:  # a pivot of numbers that overflowed
            done = 0
        if done < len(external):
            raise NotConverged(f"step {first + done + 1} overflows: the gust is too strong; blow less, or lower dt")
        return out

    def start(self, *, controlled: bool = True, companions: ArrayLike = ()) -> FlowLive:
        """The controller in live use: kick it, step it, look at it; companions: (k, 2) [m], carried but not steered."""
        from cajole.direct.steering.flow_live import FlowLive

        return FlowLive(self, controlled=controlled, companions=companions)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one .npz that `load_flow_controller` reads; whole or not at all. Raises FileError, InputError."""
        from cajole.direct.steering.flow_files import save_flow_controller

        if self.formulation not in FORMULATIONS:
            raise InputError(f"a {self.formulation} controller is for comparison; save one that steer made")
        save_flow_controller(self, path)


def steer_flow(shot: FlowShot, dials: FlowDials, formulation: str) -> FlowController:
    """`steer` of a flow."""
    begin = time.process_time()
    gains, value = flow_gains(shot, flow_costs(shot, dials), formulation)
    return FlowController(shot, dials, gains, value, formulation, time.process_time() - begin)


def flow_dials(
    shot: FlowShot, tracking: object, final: object, effort: object, currents: float | None,
    frames: Mapping[int, float] | None, formulation: str,
) -> FlowDials:  # fmt: skip
    """What `steer` was asked for, as the dials of a flow. Raises InputError for what only solids have."""
    checks.one_of(formulation, "formulation", FORMULATIONS)
    if shot.steps < 1:
        raise InputError("the motion has no steps to steer")
    for name, value in (("tracking", tracking), ("final", final), ("effort", effort)):
        checks.real_number(value, f"{name} of a flow")
    return FlowDials(tracking, final, effort, CURRENTS if currents is None else currents, frames)  # type: ignore[arg-type]
