"""Keys of a shot in the making, and what the time line does with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.direct import Key
from cajole.direct.keyframing.keys import FIXED_VERTEX_TOLERANCE
from cajole.direct.keyframing.pose_session import PoseSnapshot
from cajole.errors import InputError
from cajole.studio.modes.timeline_markers import TimelineMarker, get_next_number, replace_item, sort_items


@dataclass(frozen=True, eq=False)
class PoseKey(TimelineMarker):
    """A pose wanted at a frame. moment: the pose (n, 3) with the loads and pins that made it, as far as known.

    name: None where nobody gave one.
    """

    noun: ClassVar[str] = "key"

    pose: PoseSnapshot
    name: str | None = None
    hard: bool = False
    weight: float = 1.0

    @property
    def title(self) -> str:
        """What it is called: its name, "rest" for the rest shape, else its number."""
        if self.name is not None:
            return self.name
        return "rest" if not self.pose.displacement.any() else f"pose {self.number}"


Keys = tuple[PoseKey, ...]


def to_library_keys(keys: Keys, fixed: IndexArray) -> dict[int, Key]:
    """As `keyframe` takes them; held: vertices at their rest place, which rounding may have moved a little."""
    return {
        key.frame: Key(_zero_fixed_vertices(key.pose.displacement, fixed), weight=key.weight, hard=key.hard)
        for key in keys
    }


def find_common_pins(body: Body, keys: Keys) -> IndexArray:
    """Vertices (k,) that every key pins at their rest place; none of a body that something holds already.

    A key of the rest shape agrees with all pins.
    """
    bent = [key.pose for key in keys if np.abs(key.pose.displacement).max() > FIXED_VERTEX_TOLERANCE * body.size]
    if len(body.fixed) or not bent:
        return np.empty(0, dtype=np.int64)
    common = set.intersection(*(_find_pins_at_rest(body, moment) for moment in bent))
    return np.array(sorted(common), dtype=np.int64)


def capture_key(keys: Keys, frame: int, pose: PoseSnapshot, name: str | None) -> Keys:
    """With a key at `frame`; one that stands there gets the new pose and keeps all else."""
    there = next((key for key in keys if key.frame == frame), None)
    if there is None:
        return sort_items([*keys, PoseKey(get_next_number(keys), frame, pose, name)])
    return replace_item(keys, replace(there, pose=pose, name=there.name if name is None else name))


def require_distinct_frames(keys: Keys) -> Keys:
    """`keys` when no two stand at one frame. Raises InputError otherwise."""
    for one, two in pairwise(keys):
        if one.frame == two.frame:
            raise InputError(
                f"{one.title} and {two.title} would both stand at frame {one.frame}; move one of them, or delete it"
            )
    return keys


def has_no_rigid_motion(body: Body, pins: IndexArray) -> bool:
    """Whether pins hold a body in a motion: about one or two of them, or some in a line, it would turn freely."""
    return len(pins) > 0 and body.with_fixed_vertices(pins).compute_rigid_body_modes().shape[1] == 0


def _find_pins_at_rest(body: Body, pose: PoseSnapshot) -> set[int]:
    nodes = list(pose.pins)
    away = np.array(list(pose.pins.values())).reshape(-1, 3) - body.vertices[nodes]
    near = np.abs(away).max(axis=1, initial=0.0) <= FIXED_VERTEX_TOLERANCE * body.size
    return {node for node, there in zip(nodes, near) if there}


def _zero_fixed_vertices(pose: Array, fixed: IndexArray) -> Array:
    if len(fixed) == 0:
        return pose
    still = pose.copy()
    still[fixed] = 0.0
    return still
