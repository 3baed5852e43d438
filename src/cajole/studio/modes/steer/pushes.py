"""Pushes in Steer: one in the hand, those that were made, and the one that acts now."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from cajole import checks
from cajole.errors import InputError
from cajole.studio import message_values
from cajole.studio.modes.base import Handler, Message

if TYPE_CHECKING:
    from cajole.studio.modes.steer.body_mode import SteerMode
    from cajole.studio.modes.steer.live_mode import LiveSteerMode

Force = tuple[float, float, float]
# where a push acts: a vertex, or a point of a flow [m]
AnyLocation = TypeVar("AnyLocation")

# A push in the hand ends by itself after so many seconds: its tab may be gone.
MAX_PUSH_SECONDS = 20.0
# An impulse lasts one step, but not less than this [s]: shorter ones are as one of this length, only harder.
MIN_IMPULSE_SECONDS = 1 / 30
# Pushes that are listed.
MAX_LISTED_PUSHES = 50


@dataclass(frozen=True)
class PushRecord(Generic[AnyLocation]):
    """A push that was made: when [s], at which frame of the lap, where, how hard (3,) [N, or m/s²] and how long [s]."""

    number: int
    time: float
    frame: int
    location: AnyLocation
    force: Force
    duration: float

    @property
    def id(self) -> str:
        return f"push-{self.number}"

    @property
    def strength(self) -> float:
        return float(np.linalg.norm(self.force))


@dataclass(eq=False)
class ActivePush(Generic[AnyLocation]):
    """A push in the hand."""

    gesture: int
    push: PushRecord[AnyLocation]


class PushHandlers(ABC, Generic[AnyLocation]):
    """What messages do from outside to what is live."""

    def __init__(self, mode: LiveSteerMode[Any, Any, AnyLocation]):
        self.mode = mode
        self.active: ActivePush[AnyLocation] | None = None
        self.records: tuple[PushRecord[AnyLocation], ...] = ()

    @abstractmethod
    def read_location(self, message: Message) -> AnyLocation:
        """Where a message wants a push. Raises InputError for what is not there."""

    @abstractmethod
    def apply_push(self, location: AnyLocation, force: Force, duration: float) -> None:
        """Let everything that is live be pushed for a while [s]."""

    @abstractmethod
    def set_held_push(self, location: AnyLocation, force: Force | None) -> None:
        """Let everything that is live be pushed until told otherwise; None lets go."""

    @property
    def commands(self) -> dict[str, Handler]:
        return {
            "push.begin": self._begin_push,
            "push.move": self._move_push,
            "push.end": self._end_push,
            "impulse": self._apply_impulse,
            "push.repeat": self._repeat_push,
            "marker.delete": self._delete_pushes,
        }

    def find_acting_push(self) -> PushRecord[AnyLocation] | None:
        """The push that acts now, in the hand or by itself."""
        if self.active is not None:
            return self.active.push
        now = self.mode.time
        return next((push for push in reversed(self.records) if push.time <= now < push.time + push.duration), None)

    def expire_active(self) -> None:
        """Let go of a push that was held for too long."""
        if self.active is not None and self.mode.time - self.active.push.time > MAX_PUSH_SECONDS:
            self.end_active()

    def end_active(self) -> None:
        """End the push in the hand, and list it if it ever pushed."""
        held, self.active = self.active, None
        if held is None:
            return
        self.set_held_push(held.push.location, None)
        lasted = self.mode.time - held.push.time
        if held.push.strength > 0 and lasted > 0:
            self._record(replace(held.push, duration=lasted))

    def discard_active(self) -> None:
        """The body let all pushes go by itself."""
        self.active = None
        now = self.mode.time
        self.records = tuple(
            replace(push, duration=max(min(push.duration, now - push.time), 0.0)) for push in self.records
        )

    def _begin_push(self, message: Message) -> None:
        self.end_active()  # a tab that went away in the middle of it
        made = PushRecord(
            self._get_next_number(),
            self.mode.time,
            self.mode.realtime.frame,
            self.read_location(message),
            (0.0, 0.0, 0.0),
            0.0,
        )
        self.active = ActivePush(message_values.read_integer(message, "gesture"), made)

    def _move_push(self, message: Message) -> None:
        held, force = self._require_active(message), _read_force(message)
        message_values.read_integer(message, "seq")
        self.set_held_push(held.push.location, force)
        # of a push that changes its mind, the hardest moment is what is kept
        if np.linalg.norm(force) >= held.push.strength:
            held.push = replace(held.push, force=force)

    def _end_push(self, message: Message) -> Mapping[str, Any]:
        held = self._require_active(message)
        self.end_active()
        return {"push": held.push.id}

    def _apply_impulse(self, message: Message) -> Mapping[str, Any]:
        where, force = self.read_location(message), _read_force(message)
        short = max(MIN_IMPULSE_SECONDS, self.mode.realtime.setup.step_seconds)
        duration = (
            message_values.read_number(message, "duration", 1e-3, MAX_PUSH_SECONDS)
            if message.get("duration") is not None
            else short
        )
        return self.push_and_record(where, force, duration)

    def _repeat_push(self, message: Message) -> Mapping[str, Any]:
        if not self.records:
            raise InputError("there is no push to repeat; press on it and drag")
        return self.push_and_record(self.records[-1].location, self.records[-1].force, self.records[-1].duration)

    def _delete_pushes(self, message: Message) -> None:
        message_values.read_choice(message, "lane", ("pushes",))
        gone, known = set(message_values.read_texts(message, "ids")), {push.id for push in self.records}
        if gone - known:
            raise InputError(f"there is no push {min(gone - known)!r}; there are {', '.join(sorted(known)) or 'none'}")
        self.records = tuple(push for push in self.records if push.id not in gone)
        self.mode.host.record_change(frames_changed=False)

    def push_and_record(self, location: AnyLocation, force: Force, duration: float) -> Mapping[str, Any]:
        """Push, and list it; what is answered."""
        self.apply_push(location, force, duration)
        made = PushRecord(self._get_next_number(), self.mode.time, self.mode.realtime.frame, location, force, duration)
        self._record(made)
        return {"push": made.id}

    def _record(self, push: PushRecord[AnyLocation]) -> None:
        self.records = (*self.records, push)[-MAX_LISTED_PUSHES:]
        self.mode.on_push()

    def _get_next_number(self) -> int:
        return 1 + max((push.number for push in self.records), default=0)

    def _require_active(self, message: Message) -> ActivePush[AnyLocation]:
        gesture = message_values.read_integer(message, "gesture")
        if self.active is None or self.active.gesture != gesture:
            raise InputError(f"no push {gesture} is under way; press on it to begin one")
        return self.active


class BodyPushHandlers(PushHandlers[int]):
    """Pushes on vertices of a body [N]."""

    mode: SteerMode

    def read_location(self, message: Message) -> int:
        if "at" in message:
            raise InputError("at is a point of a flow; a body is pushed at a node")
        return message_values.read_integer(message, "node", 0, self.mode.body.vertex_count - 1)

    def apply_push(self, location: int, force: Force, duration: float) -> None:
        for live in self.mode.list_controllers():
            live.push(location, force, duration)

    def set_held_push(self, location: int, force: Force | None) -> None:
        for live in self.mode.list_controllers():
            live.set_sustained_force(None if force is None else location, force or (0.0, 0.0, 0.0))


def _read_force(message: Message) -> Force:
    x, y, z = message_values.read_vector(message, "force").tolist()
    return x, y, z


def pack_pushes(pushes: tuple[PushRecord[Any], ...], location_key: str) -> list[dict[str, Any]]:
    """Pushes as plain JSON; name: what their places are called in it."""
    return [
        {
            "number": p.number,
            "time": p.time,
            "frame": p.frame,
            location_key: p.location,
            "force": list(p.force),
            "duration": p.duration,
        }
        for p in pushes
    ]


def unpack_pushes(
    documents: list[Mapping[str, Any]], read_location: Callable[[Mapping[str, Any]], AnyLocation]
) -> tuple[PushRecord[AnyLocation], ...]:
    """Pushes that were saved; where: reads a place. Raises InputError, or what plain lookups raise."""
    found = []
    for each in documents:
        x, y, z = checks.require_real_array(each["force"], "a saved push", (3,)).tolist()
        found.append(
            PushRecord(
                checks.require_integer(each["number"], "the number of a push"),
                checks.require_real_number(each["time"], "the time of a push (s)"),
                checks.require_integer(each["frame"], "the frame of a push", minimum=0),
                read_location(each),
                (x, y, z),
                checks.require_positive(each["duration"], "the duration of a push (s)", allow_zero=True),
            )
        )
    return tuple(found)
