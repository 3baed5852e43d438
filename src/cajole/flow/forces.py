"""What drives a flow: gusts, fields, and anything that knows its own field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.errors import InputError
from cajole.flow import kernels

if TYPE_CHECKING:
    from cajole.flow.flow import Flow


@runtime_checkable
class FlowForce(Protocol):
    """A force that knows itself on the edges of a flow: an acceleration (n,) [m/s²] in the step after frame `step`."""

    def field(self, flow: Flow, step: int, dt: float) -> Array: ...


@dataclass(frozen=True)
class Gust:
    """A wind that pushes what is within `radius` [m] of a place, most at its centre, for a while.

    position (2,) [m]; acceleration (2,) [m/s²] at the centre; from `time` [s] on for `duration` [s], at least a step.
    """

    position: tuple[float, float]
    acceleration: tuple[float, float]
    radius: float
    time: float = 0.0
    duration: float = 0.0

    def __post_init__(self) -> None:
        checks.positive(self.time, "the time of a gust (s)", zero=True)
        checks.positive(self.duration, "the duration of a gust (s)", zero=True)

    def field(self, flow: Flow, step: int, dt: float) -> Array:
        """Its acceleration (n,) [m/s²] in the step after frame `step`; zero while it does not blow."""
        out = np.zeros(flow.count)
        if self.blows(step, dt):
            self.add_to(flow, out)
        return out

    def blows(self, step: int, dt: float) -> bool:
        """Whether it acts in the step after frame `step`."""
        begin = checks.step_count(self.time, dt)
        return begin <= step < begin + checks.step_count(self.duration, dt, least=1)

    def add_to(self, flow: Flow, out: Array) -> None:
        """Add the acceleration that it gives while it blows to `out` (n,)."""
        x, y, radius = self._placed(flow)
        u, v = flow.faces(out)
        ax, ay = checks.real_array(self.acceleration, "the acceleration of a gust (m/s²)", (2,))
        kernels.bump(u[1:-1], 1.0, 0.5, x, y, radius, ax)
        kernels.bump(v[:, 1:-1], 0.5, 1.0, x, y, radius, ay)

    def edges(self, flow: Flow) -> tuple[NDArray[np.int64], Array]:
        """The edges that it reaches and its acceleration there, while it blows."""
        out = np.zeros(flow.count)
        self.add_to(flow, out)
        rows = np.flatnonzero(out)
        return rows, out[rows]

    def _placed(self, flow: Flow) -> tuple[float, float, float]:
        x, y = flow.points([self.position], "the position of a gust (m)")[0] / flow.cell
        return x, y, checks.positive(self.radius, "the radius of a gust (m)") / flow.cell


Forces = FlowForce | Sequence[FlowForce] | Callable[[float], ArrayLike] | ArrayLike | None


def force_of(flow: Flow, what: Forces, step: int, dt: float) -> Array | None:
    """The acceleration (n,) [m/s²] of anything `simulate` takes as its force, in the step after frame `step`.

    Functions of time are asked for the middle of the step.
    """
    if what is None:
        return None
    several = what if isinstance(what, list | tuple) else [what]
    if all(isinstance(part, FlowForce) for part in several):
        total = np.zeros(flow.count)
        for part in several:
            # a script is a gust a step: those that do not blow cost nothing
            if not isinstance(part, Gust):
                total += part.field(flow, step, dt)  # type: ignore[union-attr]
            elif part.blows(step, dt):
                part.add_to(flow, total)
        return total
    if callable(what):
        time = (step + 0.5) * dt
        return flow.state(what(time), f"force({time:.6g})")
    try:
        return flow.state(what, "force")  # type: ignore[arg-type]
    except InputError as reason:
        raise InputError(f"{reason}; or give a Gust, a list of gusts, or a function of time") from None
