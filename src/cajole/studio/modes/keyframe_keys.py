"""Keys and dials in Keyframe: what is asked of the motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from cajole.errors import InputError
from cajole.studio import take as given
from cajole.studio.modes import keys as keyed
from cajole.studio.modes.base import Handler, Message
from cajole.studio.modes.keys import Keys, PoseKey
from cajole.studio.modes.shooting import Dials

if TYPE_CHECKING:
    from cajole.studio.modes.keyframe import KeyframeMode, Moment

MOST_FRAMES, MOST_DETAIL = 5000, 200
EFFORTS, WEIGHTS, STEPS = (1e-12, 1e6), (1e-6, 1e6), (1e-5, 10.0)
GHOSTS = ("rest", "spline")


class KeyHandlers:
    """What messages do to keys and dials."""

    def __init__(self, mode: KeyframeMode):
        self.mode = mode
        self._sliding: tuple[tuple[str, ...], Moment] | None = None

    @property
    def commands(self) -> dict[str, Handler]:
        return {
            "key.capture": self._capture,
            "key.set": self._set,
            "key.load": self._key_load,
            "marker.move": self._slide,
            "marker.copy": self._copy,
            "marker.delete": self._delete,
            "marker.rename": self._rename,
            "dials": self._dial,
            "compare": self._compare,
        }

    def _capture(self, message: Message) -> Mapping[str, Any]:
        frame = given.integer(message, "frame", 0, self.mode.frames - 1)
        name = given.text(message, "name") if message.get("name") is not None else None
        if wrong := len(self.mode.body.inverted(self.mode.session.displacement)):
            raise InputError(f"this pose turns {wrong} tets inside out, and no motion leads there; pull less")
        new = keyed.captured(self.mode.keys, frame, self.mode.session.moment, name)
        self._become(new, f"key at frame {frame}")
        return {"key": next(key.id for key in self.mode.keys if key.frame == frame)}

    def _set(self, message: Message) -> None:
        key = keyed.found(self.mode.keys, given.text(message, "key"))
        if "hard" in message:
            key = replace(key, hard=given.flag(message, "hard"))
        if "weight" in message:
            key = replace(key, weight=given.number(message, "weight", *WEIGHTS))
        if "name" in message:
            key = replace(key, name=given.text(message, "name"))
        self._become(keyed.changed(self.mode.keys, key), f"change {key.title}", join="weight" in message)

    def _key_load(self, message: Message) -> None:
        key = keyed.found(self.mode.keys, given.text(message, "key"))
        self.mode.do(f"load {key.title}", lambda: self._take_pose(key))

    def _take_pose(self, key: PoseKey) -> None:
        if key.moment.loads or key.moment.pins or key.moment.weight is not None or not key.moment.displacement.any():
            self.mode.session.return_to(key.moment)
        else:
            self.mode.session.assume(key.moment.displacement)

    def _slide(self, message: Message) -> None:
        mode, ids = self.mode, tuple(self._marked(message))
        frames, final = given.integers(message, "frames", mode.frames), given.flag(message, "final")
        if self._sliding is None or self._sliding[0] != ids:
            self._sliding = (ids, mode.moment())
        before = self._sliding[1]
        try:
            mode.keys = keyed.moved(before.keys, ids, frames)
            if final:
                keyed.require_apart(mode.keys)
        except InputError:
            mode.keys, self._sliding = before.keys, None
            mode.desk.changed(motion=False)
            raise
        label = None
        if final:
            self._sliding = None
            label = f"move {_many(len(ids))}" if _frames(mode.keys) != _frames(before.keys) else None
        if label is not None:
            mode.history.add(label, before)
        mode.desk.changed(label, motion=mode.ghost == "spline")

    def _copy(self, message: Message) -> None:
        ids, frames = self._marked(message), given.integers(message, "frames", self.mode.frames)
        self._become(keyed.copied(self.mode.keys, ids, frames), f"copy {_many(len(ids))}")

    def _delete(self, message: Message) -> None:
        ids = self._marked(message)
        self._become(keyed.without(self.mode.keys, ids), f"delete {_many(len(ids))}")

    def _rename(self, message: Message) -> None:
        ids = self._marked(message)
        if len(ids) != 1:
            raise InputError(f"ids names {len(ids)} keys; rename one at a time")
        key = replace(keyed.found(self.mode.keys, ids[0]), name=given.text(message, "name"))
        self._become(keyed.changed(self.mode.keys, key), f"rename {key.title}")

    def _marked(self, message: Message) -> list[str]:
        given.one_of(message, "lane", ("keys",))
        ids = given.texts(message, "ids")
        for name in ids:
            keyed.found(self.mode.keys, name)
        return ids

    def _become(self, keys: Keys, label: str, *, join: bool = False) -> None:
        def become() -> None:
            self.mode.keys = keys

        self.mode.do(label, become, motion=self.mode.ghost == "spline", join=join)

    def _dial(self, message: Message) -> None:
        old = self.mode.dials
        new = dialled(old, message, most_detail=3 * len(self.mode.body.free))
        last = self.mode.keys[-1] if self.mode.keys else None
        if last is not None and last.frame >= new.frames:
            raise InputError(
                f"{last.title} stands at frame {last.frame}, beyond {new.frames} frames; move or delete it first"
            )

        def become() -> None:
            self.mode.dials = new

        names = [field.name for field in fields(Dials) if getattr(new, field.name) != getattr(old, field.name)]
        if names:
            self.mode.do(f"set {' and '.join(names)}", become, motion="frames" in names, join=True)

    def _compare(self, message: Message) -> None:
        self.mode.ghost = given.one_of(message, "with", GHOSTS)
        self.mode.desk.changed()


def dialled(old: Dials, message: Message, *, most_detail: int) -> Dials:
    """`old` with what a message changes. Raises InputError for values that no motion can have."""
    new = old
    if "effort" in message:
        new = replace(new, effort=given.number(message, "effort", *EFFORTS))
    if "detail" in message:
        new = replace(new, detail=given.integer(message, "detail", 0, min(MOST_DETAIL, most_detail)))
    if "frames" in message:
        new = replace(new, frames=given.integer(message, "frames", 2, MOST_FRAMES))
    if "dt" in message:
        new = replace(new, dt=None if message["dt"] is None else given.number(message, "dt", *STEPS))
    if "loop" in message:
        new = replace(new, loop=given.flag(message, "loop"))
    if unknown := {"tracking", "final"} & message.keys():
        raise InputError(f"{min(unknown)} is a dial of Steer; Keyframe has effort, detail, frames, dt and loop")
    return new


def _frames(keys: Keys) -> dict[int, int]:
    return {key.number: key.frame for key in keys}


def _many(count: int) -> str:
    return "a key" if count == 1 else f"{count} keys"
