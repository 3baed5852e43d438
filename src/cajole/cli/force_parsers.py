"""Forces as written on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array
from cajole.body import Body
from cajole.cli.number_parsers import parse_number, parse_seconds, parse_vector
from cajole.errors import InputError
from cajole.reduction import ReducedModel
from cajole.scenes import SceneBody

# a push acts at every step whose end lies within it; times are sums of dt and carry rounding
TIME_TOLERANCE = 1e-9
PUSH_SYNTAX = 'WHERE: FX,FY,FZ [N|weights] [for SECONDS] [from SECONDS], as in "head: 0,300,0 for 0.2"'
_PUSH_PATTERN = re.compile(
    r"(?P<where>.+?):\s*(?P<force>[^:]+?)\s*(?P<unit>\bN|\bweights?)?"
    r"(?:\s+for\s+(?P<length>\S+))?(?:\s+from\s+(?P<start>\S+))?"
)


@dataclass(frozen=True, eq=False)
class TimedForce:
    """A force (n, 3) [N] that acts from `start` to `stop` [s]."""

    force: Array
    start: float
    stop: float

    def is_active(self, time: float) -> bool:
        """Whether the push is on at `time` [s]."""
        return self.start - TIME_TOLERANCE <= time <= self.stop + TIME_TOLERANCE

    def compute_reduced_force(self, model: ReducedModel, dt: float, first_frame: int, steps: int) -> Array:
        """Uᵀf (steps, r) on the steps into frames first, first + 1, ...: what makes it a disturbance of `steer`."""
        on = np.array([self.is_active(dt * frame) for frame in range(first_frame, first_frame + steps)])
        return on[:, None] * model.project_force(self.force)


def parse_push(text: str, scene_body: SceneBody, body: Body) -> TimedForce:
    """A push from its text: the force is the sum over the vertices meant, spread by their mass."""
    match = _PUSH_PATTERN.fullmatch(text.strip())
    if match is None:
        raise InputError(f"push {text!r} is not understood; write {PUSH_SYNTAX}")
    vertices = scene_body.select(match["where"])
    if len(vertices) == 0:
        raise InputError(f"push {text!r} selects no vertex to push")
    total = parse_vector(match["force"], f"the force of push {text!r}")
    if not (match["unit"] or "N").startswith("weight"):
        total = total / body.weight
    start = parse_seconds(match["start"], "from") if match["start"] else 0.0
    stop = start + parse_seconds(match["length"], "for") if match["length"] else np.inf
    return TimedForce(body.distribute_force(vertices, total), start, stop)


def parse_pin(text: str, scene_body: SceneBody) -> dict[int, Array]:
    """{vertex: displacement (3,) [m]} from "WHERE: DX,DY,DZ"."""
    where, colon, move = text.rpartition(":")
    if not colon:
        raise InputError(f'pin {text!r} is not understood; write WHERE: DX,DY,DZ, as in "tail: 0,0.4,0"')
    shift = parse_vector(move, f"the displacement of pin {text!r}")
    return {int(vertex): shift for vertex in scene_body.select(where)}


def build_force_function(pushes: list[TimedForce], count: int) -> Callable[[float], Array]:
    """f(t) -> (n, 3) [N], all pushes together."""

    def evaluate_force(time: float) -> Array:
        return sum((p.force for p in pushes if p.is_active(time)), np.zeros((count, 3)))

    return evaluate_force


def parse_gravity(text: str | None) -> Array | None:
    """ "9.81" as (0, 0, -9.81), "x,y,z" as it is, "none" as None."""
    if text is None or text.strip().lower() == "none":
        return None
    return parse_vector(text, "--gravity") if "," in text else np.array([0.0, 0.0, -parse_number(text, "--gravity")])
