"""Pushes in Steer: one in the hand, those that were made, and the one that acts now."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from cajole import checks
from cajole.errors import InputError
from cajole.studio import take
from cajole.studio.modes.base import Handler, Message

if TYPE_CHECKING:
    from cajole.studio.modes.steer import SteerMode
    from cajole.studio.modes.steering import Steering

Force = tuple[float, float, float]
# where a push acts: a vertex, or a point of a flow [m]
Where = TypeVar("Where")

# A push in the hand ends by itself after so many seconds: its tab may be gone.
LONGEST = 20.0
# An impulse lasts one step, but not less than this [s]: shorter ones are as one of this length, only harder.
SHORT = 1 / 30
# Pushes that are listed.
MOST = 50


@dataclass(frozen=True)
class Made(Generic[Where]):
    """A push that was made: when [s], at which frame of the lap, where, how hard (3,) [N, or m/s²] and how long [s]."""

    number: int
    time: float
    frame: int
    where: Where
    force: Force
    duration: float

    @property
    def id(self) -> str:
        return f"push-{self.number}"

    @property
    def strength(self) -> float:
        return float(np.linalg.norm(self.force))


@dataclass(eq=False)
class Held(Generic[Where]):
    """A push in the hand."""

    gesture: int
    made: Made[Where]


class PushHandlers(ABC, Generic[Where]):
    """What messages do from outside to what is live."""

    def __init__(self, mode: Steering[Any, Any, Where]):
        self.mode = mode
        self.held: Held[Where] | None = None
        self.made: tuple[Made[Where], ...] = ()

    @abstractmethod
    def where(self, message: Message) -> Where:
        """Where a message wants a push. Raises InputError for what is not there."""

    @abstractmethod
    def push(self, where: Where, force: Force, duration: float) -> None:
        """Let everything that is live be pushed for a while [s]."""

    @abstractmethod
    def hold(self, where: Where, force: Force | None) -> None:
        """Let everything that is live be pushed until told otherwise; None lets go."""

    @property
    def commands(self) -> dict[str, Handler]:
        return {
            "push.begin": self._begin,
            "push.move": self._move,
            "push.end": self._end,
            "impulse": self._impulse,
            "push.repeat": self._repeat,
            "marker.delete": self._delete,
        }

    def acting(self) -> Made[Where] | None:
        """The push that acts now, in the hand or by itself."""
        if self.held is not None:
            return self.held.made
        now = self.mode.time
        return next((push for push in reversed(self.made) if push.time <= now < push.time + push.duration), None)

    def grow_old(self) -> None:
        """Let go of a push that was held for too long."""
        if self.held is not None and self.mode.time - self.held.made.time > LONGEST:
            self.let_go()

    def let_go(self) -> None:
        """End the push in the hand, and list it if it ever pushed."""
        held, self.held = self.held, None
        if held is None:
            return
        self.hold(held.made.where, None)
        lasted = self.mode.time - held.made.time
        if held.made.strength > 0 and lasted > 0:
            self._listed(replace(held.made, duration=lasted))

    def forget(self) -> None:
        """The body let all pushes go by itself."""
        self.held = None
        now = self.mode.time
        self.made = tuple(replace(push, duration=max(min(push.duration, now - push.time), 0.0)) for push in self.made)

    def _begin(self, message: Message) -> None:
        self.let_go()  # a tab that went away in the middle of it
        made = Made(self._number(), self.mode.time, self.mode.drive.frame, self.where(message), (0.0, 0.0, 0.0), 0.0)
        self.held = Held(take.integer(message, "gesture"), made)

    def _move(self, message: Message) -> None:
        held, force = self._holding(message), _force(message)
        take.integer(message, "seq")
        self.hold(held.made.where, force)
        # of a push that changes its mind, the hardest moment is what is kept
        if np.linalg.norm(force) >= held.made.strength:
            held.made = replace(held.made, force=force)

    def _end(self, message: Message) -> Mapping[str, Any]:
        held = self._holding(message)
        self.let_go()
        return {"push": held.made.id}

    def _impulse(self, message: Message) -> Mapping[str, Any]:
        where, force = self.where(message), _force(message)
        short = max(SHORT, self.mode.drive.course.tick)
        duration = take.number(message, "duration", 1e-3, LONGEST) if message.get("duration") is not None else short
        return self.pushed(where, force, duration)

    def _repeat(self, message: Message) -> Mapping[str, Any]:
        if not self.made:
            raise InputError("there is no push to repeat; press on it and drag")
        return self.pushed(self.made[-1].where, self.made[-1].force, self.made[-1].duration)

    def _delete(self, message: Message) -> None:
        take.one_of(message, "lane", ("pushes",))
        gone, known = set(take.texts(message, "ids")), {push.id for push in self.made}
        if gone - known:
            raise InputError(f"there is no push {min(gone - known)!r}; there are {', '.join(sorted(known)) or 'none'}")
        self.made = tuple(push for push in self.made if push.id not in gone)
        self.mode.desk.changed(motion=False)

    def pushed(self, where: Where, force: Force, duration: float) -> Mapping[str, Any]:
        """Push, and list it; what is answered."""
        self.push(where, force, duration)
        made = Made(self._number(), self.mode.time, self.mode.drive.frame, where, force, duration)
        self._listed(made)
        return {"push": made.id}

    def _listed(self, push: Made[Where]) -> None:
        self.made = (*self.made, push)[-MOST:]
        self.mode.pushed()

    def _number(self) -> int:
        return 1 + max((push.number for push in self.made), default=0)

    def _holding(self, message: Message) -> Held[Where]:
        gesture = take.integer(message, "gesture")
        if self.held is None or self.held.gesture != gesture:
            raise InputError(f"no push {gesture} is under way; press on it to begin one")
        return self.held


class BodyPushes(PushHandlers[int]):
    """Pushes on vertices of a body [N]."""

    mode: SteerMode

    def where(self, message: Message) -> int:
        if "at" in message:
            raise InputError("at is a point of a flow; a body is pushed at a node")
        return take.integer(message, "node", 0, self.mode.body.count - 1)

    def push(self, where: int, force: Force, duration: float) -> None:
        for live in self.mode.bodies():
            live.push(where, force, duration)

    def hold(self, where: int, force: Force | None) -> None:
        for live in self.mode.bodies():
            live.hold(None if force is None else where, force or (0.0, 0.0, 0.0))


def _force(message: Message) -> Force:
    x, y, z = take.vector(message, "force").tolist()
    return x, y, z


def packed(pushes: tuple[Made[Any], ...], name: str) -> list[dict[str, Any]]:
    """Pushes as plain JSON; name: what their places are called in it."""
    return [
        {
            "number": p.number,
            "time": p.time,
            "frame": p.frame,
            name: p.where,
            "force": list(p.force),
            "duration": p.duration,
        }
        for p in pushes
    ]


def unpacked(
    documents: list[Mapping[str, Any]], where: Callable[[Mapping[str, Any]], Where]
) -> tuple[Made[Where], ...]:
    """Pushes that were saved; where: reads a place. Raises InputError, or what plain lookups raise."""
    found = []
    for each in documents:
        x, y, z = checks.real_array(each["force"], "a saved push", (3,)).tolist()
        found.append(
            Made(
                checks.count(each["number"], "the number of a push"),
                checks.real_number(each["time"], "the time of a push (s)"),
                checks.count(each["frame"], "the frame of a push", least=0),
                where(each),
                (x, y, z),
                checks.positive(each["duration"], "the duration of a push (s)", zero=True),
            )
        )
    return tuple(found)
