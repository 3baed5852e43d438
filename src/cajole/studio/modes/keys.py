"""Keys of a shot in the making, and what the time line does with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cajole.body import Body
from cajole.direct import Key
from cajole.direct.keyframing.keys import AT_PLACE
from cajole.direct.keyframing.pulling import Moment
from cajole.errors import InputError

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PoseKey:
    """A pose wanted at a frame. moment: the pose (n, 3) with the loads and pins that made it, as far as known.

    name: None where nobody gave one. Its number stays while it moves in time, and names it on the time line.
    """

    number: int
    frame: int
    moment: Moment
    name: str | None = None
    hard: bool = False
    weight: float = 1.0

    @property
    def id(self) -> str:
        return f"key-{self.number}"

    @property
    def title(self) -> str:
        """What it is called: its name, "rest" for the rest shape, else its number."""
        if self.name is not None:
            return self.name
        return "rest" if not self.moment.displacement.any() else f"pose {self.number}"


Keys = tuple[PoseKey, ...]


def wanted(keys: Keys, held: Index) -> dict[int, Key]:
    """As `keyframe` takes them; held: vertices at their rest place, which rounding may have moved a little."""
    return {key.frame: Key(_still(key.moment.displacement, held), weight=key.weight, hard=key.hard) for key in keys}


def common_pins(body: Body, keys: Keys) -> Index:
    """Vertices (k,) that every key pins at their rest place; none of a body that something holds already.

    A key of the rest shape agrees with all pins.
    """
    bent = [key.moment for key in keys if np.abs(key.moment.displacement).max() > AT_PLACE * body.size]
    if len(body.fixed) or not bent:
        return np.empty(0, dtype=np.int64)
    common = set.intersection(*(_pinned_at_rest(body, moment) for moment in bent))
    return np.array(sorted(common), dtype=np.int64)


def next_number(keys: Iterable[PoseKey]) -> int:
    return 1 + max((key.number for key in keys), default=0)


def captured(keys: Keys, frame: int, moment: Moment, name: str | None) -> Keys:
    """With a key at `frame`; one that stands there gets the new pose and keeps all else."""
    there = next((key for key in keys if key.frame == frame), None)
    if there is None:
        return ordered([*keys, PoseKey(next_number(keys), frame, moment, name)])
    return changed(keys, replace(there, moment=moment, name=there.name if name is None else name))


def changed(keys: Keys, new: PoseKey) -> Keys:
    """With `new` in place of the key of its number."""
    return ordered(new if key.number == new.number else key for key in keys)


def moved(keys: Keys, ids: Sequence[str], frames: Sequence[int]) -> Keys:
    """Some of them at other frames, which others may stand at for as long as the hand goes on: see `require_apart`."""
    there = _places(keys, ids, frames)
    return ordered(replace(key, frame=there.get(key.id, key.frame)) for key in keys)


def copied(keys: Keys, ids: Sequence[str], frames: Sequence[int]) -> Keys:
    """With copies of some of them at other frames."""
    there, first = _places(keys, ids, frames), next_number(keys)
    sources = [found(keys, name) for name in ids]
    new = [replace(key, number=first + k, frame=there[key.id]) for k, key in enumerate(sources)]
    return require_apart(ordered([*keys, *new]))


def without(keys: Keys, ids: Sequence[str]) -> Keys:
    """Without some of them."""
    gone = {found(keys, name).number for name in ids}
    return tuple(key for key in keys if key.number not in gone)


def found(keys: Keys, name: str) -> PoseKey:
    """The key of that id. Raises InputError when there is none."""
    for key in keys:
        if key.id == name:
            return key
    raise InputError(f"there is no key {name!r}; the keys are {', '.join(key.id for key in keys) or 'none'}")


def require_apart(keys: Keys) -> Keys:
    """`keys` when no two stand at one frame. Raises InputError otherwise."""
    for one, two in pairwise(keys):
        if one.frame == two.frame:
            raise InputError(
                f"{one.title} and {two.title} would both stand at frame {one.frame}; move one of them, or delete it"
            )
    return keys


def ordered(keys: Iterable[PoseKey]) -> Keys:
    """In order of time."""
    return tuple(sorted(keys, key=lambda key: (key.frame, key.number)))


def is_held(body: Body, pins: Index) -> bool:
    """Whether pins hold a body in a motion: about one or two of them, or some in a line, it would turn freely."""
    return len(pins) > 0 and body.holding(pins).rigid_motions().shape[1] == 0


def _pinned_at_rest(body: Body, moment: Moment) -> set[int]:
    nodes = list(moment.pins)
    away = np.array(list(moment.pins.values())).reshape(-1, 3) - body.vertices[nodes]
    near = np.abs(away).max(axis=1, initial=0.0) <= AT_PLACE * body.size
    return {node for node, there in zip(nodes, near) if there}


def _still(pose: Array, held: Index) -> Array:
    if len(held) == 0:
        return pose
    still = pose.copy()
    still[held] = 0.0
    return still


def _places(keys: Keys, ids: Sequence[str], frames: Sequence[int]) -> Mapping[str, int]:
    if len(ids) != len(frames) or len(set(ids)) < len(ids):
        raise InputError(f"{len(ids)} keys shall go to {len(frames)} frames; name each key once, with a frame for each")
    return {found(keys, name).id: frame for name, frame in zip(ids, frames)}
