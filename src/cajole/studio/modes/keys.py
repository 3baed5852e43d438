"""Keys of a shot in the making, and what the time line does with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.direct import Key
from cajole.direct.keyframing.keys import AT_PLACE
from cajole.direct.keyframing.pulling import Moment
from cajole.errors import InputError
from cajole.studio.modes.marked import Marked, changed, next_number, ordered


@dataclass(frozen=True, eq=False)
class PoseKey(Marked):
    """A pose wanted at a frame. moment: the pose (n, 3) with the loads and pins that made it, as far as known.

    name: None where nobody gave one.
    """

    noun: ClassVar[str] = "key"

    moment: Moment
    name: str | None = None
    hard: bool = False
    weight: float = 1.0

    @property
    def title(self) -> str:
        """What it is called: its name, "rest" for the rest shape, else its number."""
        if self.name is not None:
            return self.name
        return "rest" if not self.moment.displacement.any() else f"pose {self.number}"


Keys = tuple[PoseKey, ...]


def wanted(keys: Keys, held: IndexArray) -> dict[int, Key]:
    """As `keyframe` takes them; held: vertices at their rest place, which rounding may have moved a little."""
    return {key.frame: Key(_still(key.moment.displacement, held), weight=key.weight, hard=key.hard) for key in keys}


def common_pins(body: Body, keys: Keys) -> IndexArray:
    """Vertices (k,) that every key pins at their rest place; none of a body that something holds already.

    A key of the rest shape agrees with all pins.
    """
    bent = [key.moment for key in keys if np.abs(key.moment.displacement).max() > AT_PLACE * body.size]
    if len(body.fixed) or not bent:
        return np.empty(0, dtype=np.int64)
    common = set.intersection(*(_pinned_at_rest(body, moment) for moment in bent))
    return np.array(sorted(common), dtype=np.int64)


def captured(keys: Keys, frame: int, moment: Moment, name: str | None) -> Keys:
    """With a key at `frame`; one that stands there gets the new pose and keeps all else."""
    there = next((key for key in keys if key.frame == frame), None)
    if there is None:
        return ordered([*keys, PoseKey(next_number(keys), frame, moment, name)])
    return changed(keys, replace(there, moment=moment, name=there.name if name is None else name))


def require_apart(keys: Keys) -> Keys:
    """`keys` when no two stand at one frame. Raises InputError otherwise."""
    for one, two in pairwise(keys):
        if one.frame == two.frame:
            raise InputError(
                f"{one.title} and {two.title} would both stand at frame {one.frame}; move one of them, or delete it"
            )
    return keys


def is_held(body: Body, pins: IndexArray) -> bool:
    """Whether pins hold a body in a motion: about one or two of them, or some in a line, it would turn freely."""
    return len(pins) > 0 and body.holding(pins).rigid_motions().shape[1] == 0


def _pinned_at_rest(body: Body, moment: Moment) -> set[int]:
    nodes = list(moment.pins)
    away = np.array(list(moment.pins.values())).reshape(-1, 3) - body.vertices[nodes]
    near = np.abs(away).max(axis=1, initial=0.0) <= AT_PLACE * body.size
    return {node for node, there in zip(nodes, near) if there}


def _still(pose: Array, held: IndexArray) -> Array:
    if len(held) == 0:
        return pose
    still = pose.copy()
    still[held] = 0.0
    return still
