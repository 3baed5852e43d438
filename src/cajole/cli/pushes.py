"""Forces as written on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array
from cajole.body import Body
from cajole.cli.numbers import number, seconds, vector
from cajole.errors import InputError
from cajole.reduction import ReducedModel
from cajole.scenes import Subject

# a push acts at every step whose end lies within it; times are sums of dt and carry rounding
ROUNDING = 1e-9
FORM = 'WHERE: FX,FY,FZ [N|weights] [for SECONDS] [from SECONDS], as in "head: 0,300,0 for 0.2"'
_PUSH = re.compile(
    r"(?P<where>.+?):\s*(?P<force>[^:]+?)\s*(?P<unit>\bN|\bweights?)?"
    r"(?:\s+for\s+(?P<length>\S+))?(?:\s+from\s+(?P<start>\S+))?"
)


@dataclass(frozen=True, eq=False)
class Push:
    """A force (n, 3) [N] that acts from `start` to `stop` [s]."""

    force: Array
    start: float
    stop: float

    def acts(self, time: float) -> bool:
        """Whether the push is on at `time` [s]."""
        return self.start - ROUNDING <= time <= self.stop + ROUNDING

    def reduced(self, model: ReducedModel, dt: float, first: int, steps: int) -> Array:
        """Uᵀf (steps, r) on the steps into frames first, first + 1, ...: what makes it a disturbance of `steer`."""
        on = np.array([self.acts(dt * frame) for frame in range(first, first + steps)])
        return on[:, None] * model.project_force(self.force)


def push(text: str, subject: Subject, body: Body) -> Push:
    """A push from its text: the force is the sum over the vertices meant, spread by their mass."""
    match = _PUSH.fullmatch(text.strip())
    if match is None:
        raise InputError(f"push {text!r} is not understood; write {FORM}")
    vertices = subject.selected(match["where"])
    if len(vertices) == 0:
        raise InputError(f"push {text!r} selects no vertex to push")
    total = vector(match["force"], f"the force of push {text!r}")
    if not (match["unit"] or "N").startswith("weight"):
        total = total / body.weight
    start = seconds(match["start"], "from") if match["start"] else 0.0
    stop = start + seconds(match["length"], "for") if match["length"] else np.inf
    return Push(body.spread(vertices, total), start, stop)


def pinned(text: str, subject: Subject) -> dict[int, Array]:
    """{vertex: displacement (3,) [m]} from "WHERE: DX,DY,DZ"."""
    where, colon, move = text.rpartition(":")
    if not colon:
        raise InputError(f'pin {text!r} is not understood; write WHERE: DX,DY,DZ, as in "tail: 0,0.4,0"')
    shift = vector(move, f"the displacement of pin {text!r}")
    return {int(vertex): shift for vertex in subject.selected(where)}


def forces(pushes: list[Push], count: int) -> Callable[[float], Array]:
    """f(t) -> (n, 3) [N], all pushes together."""

    def at(time: float) -> Array:
        return sum((p.force for p in pushes if p.acts(time)), np.zeros((count, 3)))

    return at


def gravity(text: str | None) -> Array | None:
    """ "9.81" as (0, 0, -9.81), "x,y,z" as it is, "none" as None."""
    if text is None or text.strip().lower() == "none":
        return None
    return vector(text, "--gravity") if "," in text else np.array([0.0, 0.0, -number(text, "--gravity")])
