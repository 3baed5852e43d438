"""Keys and dials in Keyframe: what is asked of the motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from cajole.direct.keyframing.keys import require_few_inverted
from cajole.errors import InputError
from cajole.studio import take as given
from cajole.studio.modes import keys as keyed
from cajole.studio.modes.base import Handler, Message
from cajole.studio.modes.keys import Keys, PoseKey
from cajole.studio.modes.marked import MarkerHandlers, changed, found
from cajole.studio.modes.shooting import Dials

if TYPE_CHECKING:
    from cajole.studio.modes.keyframe import KeyframeMode

MOST_FRAMES, MOST_DETAIL = 5000, 200
EFFORTS, WEIGHTS, STEPS = (1e-12, 1e6), (1e-6, 1e6), (1e-5, 10.0)
GHOSTS = ("rest", "spline")


class KeyHandlers(MarkerHandlers[PoseKey]):
    """What messages do to keys and dials."""

    lane, noun = "keys", "key"

    def __init__(self, mode: KeyframeMode):
        super().__init__(mode)
        self.mode = mode

    @property
    def commands(self) -> dict[str, Handler]:
        return {
            "key.capture": self._capture,
            "key.set": self._set,
            "key.load": self._key_load,
            **self.marking,
            "dials": self._dial,
            "compare": self._compare,
        }

    def _capture(self, message: Message) -> Mapping[str, Any]:
        frame = given.integer(message, "frame", 0, self.mode.frames - 1)
        name = given.text(message, "name") if message.get("name") is not None else None
        require_few_inverted(self.mode.body, self.mode.session.displacement, "this pose")
        new = keyed.captured(self.mode.keys, frame, self.mode.session.moment, name)
        self.become(new, f"key at frame {frame}")
        return {"key": next(key.id for key in self.mode.keys if key.frame == frame)}

    def _set(self, message: Message) -> None:
        key = found(self.mode.keys, given.text(message, "key"))
        if "hard" in message:
            key = replace(key, hard=given.flag(message, "hard"))
        if "weight" in message:
            key = replace(key, weight=given.number(message, "weight", *WEIGHTS))
        if "name" in message:
            key = replace(key, name=given.text(message, "name"))
        self.become(changed(self.mode.keys, key), f"change {key.title}", join="weight" in message)

    def _key_load(self, message: Message) -> None:
        key = found(self.mode.keys, given.text(message, "key"))
        self.mode.do(f"load {key.title}", lambda: self._take_pose(key))

    def _take_pose(self, key: PoseKey) -> None:
        if key.moment.loads or key.moment.pins or key.moment.weight is not None or not key.moment.displacement.any():
            self.mode.session.return_to(key.moment)
        else:
            self.mode.session.assume(key.moment.displacement)

    # --- markers

    @property
    def items(self) -> Keys:
        return self.mode.keys

    def put(self, items: Keys) -> None:
        self.mode.keys = items

    def apart(self, items: Keys) -> Keys:
        return keyed.require_apart(items)

    @property
    def moving(self) -> bool:
        return self.mode.ghost == "spline"

    def become(self, items: Keys, label: str, *, join: bool = False) -> None:
        self.mode.do(label, lambda: self.put(items), motion=self.moving, join=join)

    # --- dials

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
