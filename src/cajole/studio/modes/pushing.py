"""Pushes in Steer: one in the hand, those that were made, and the one that acts now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.errors import InputError
from cajole.studio import take
from cajole.studio.modes.base import Handler, Message

if TYPE_CHECKING:
    from cajole.studio.modes.steer import SteerMode

Array = NDArray[np.float64]

# A push in the hand ends by itself after so many seconds: its tab may be gone.
LONGEST = 20.0
# An impulse lasts one step, but not less than this [s]: shorter ones are as one of this length, only harder.
SHORT = 1 / 30
# Pushes that are listed.
MOST = 50


@dataclass(frozen=True)
class Made:
    """A push that was made: when [s], at which frame of the lap, where, how hard [N] (3,) and how long [s]."""

    number: int
    time: float
    frame: int
    node: int
    force: tuple[float, float, float]
    duration: float

    @property
    def id(self) -> str:
        return f"push-{self.number}"

    @property
    def strength(self) -> float:
        return float(np.linalg.norm(self.force))


@dataclass(eq=False)
class Held:
    """A push in the hand."""

    gesture: int
    made: Made


class PushHandlers:
    """What messages do to the body from outside."""

    def __init__(self, mode: SteerMode):
        self.mode = mode
        self.held: Held | None = None
        self.made: tuple[Made, ...] = ()

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

    def acting(self) -> Made | None:
        """The push that acts now, in the hand or by itself."""
        if self.held is not None:
            return self.held.made
        now = self.mode.drive.live.time
        return next((push for push in reversed(self.made) if push.time <= now < push.time + push.duration), None)

    def grow_old(self) -> None:
        """Let go of a push that was held for too long."""
        if self.held is not None and self.mode.drive.live.time - self.held.made.time > LONGEST:
            self.let_go()

    def let_go(self) -> None:
        """End the push in the hand, and list it if it ever pushed."""
        held, self.held = self.held, None
        if held is None:
            return
        self._hold(None)
        lasted = self.mode.drive.live.time - held.made.time
        if held.made.strength > 0 and lasted > 0:
            self._listed(replace(held.made, duration=lasted))

    def forget(self) -> None:
        """The body let all pushes go by itself."""
        self.held = None
        now = self.mode.drive.live.time
        self.made = tuple(replace(push, duration=max(min(push.duration, now - push.time), 0.0)) for push in self.made)

    def _begin(self, message: Message) -> None:
        self.let_go()  # a tab that went away in the middle of it
        node = take.integer(message, "node", 0, self.mode.body.count - 1)
        drive = self.mode.drive
        made = Made(self._number(), drive.live.time, drive.frame, node, (0.0, 0.0, 0.0), 0.0)
        self.held = Held(take.integer(message, "gesture"), made)

    def _move(self, message: Message) -> None:
        held, force = self._holding(message), take.vector(message, "force")
        take.integer(message, "seq")
        self._hold(held.made.node, force)
        # of a push that changes its mind, the hardest moment is what is kept
        x, y, z = force.tolist()
        if np.linalg.norm(force) >= held.made.strength:
            held.made = replace(held.made, force=(x, y, z))

    def _end(self, message: Message) -> Mapping[str, Any]:
        held = self._holding(message)
        self.let_go()
        return {"push": held.made.id}

    def _impulse(self, message: Message) -> Mapping[str, Any]:
        node = take.integer(message, "node", 0, self.mode.body.count - 1)
        x, y, z = take.vector(message, "force").tolist()
        short = max(SHORT, self.mode.drive.reference.dt)
        duration = take.number(message, "duration", 1e-3, LONGEST) if message.get("duration") is not None else short
        return self._push(node, (x, y, z), duration)

    def _repeat(self, message: Message) -> Mapping[str, Any]:
        if not self.made:
            raise InputError("there is no push to repeat; press on the body and drag")
        return self._push(self.made[-1].node, self.made[-1].force, self.made[-1].duration)

    def _delete(self, message: Message) -> None:
        take.one_of(message, "lane", ("pushes",))
        gone, known = set(take.texts(message, "ids")), {push.id for push in self.made}
        if gone - known:
            raise InputError(f"there is no push {min(gone - known)!r}; there are {', '.join(sorted(known)) or 'none'}")
        self.made = tuple(push for push in self.made if push.id not in gone)
        self.mode.desk.changed(motion=False)

    def _push(self, node: int, force: tuple[float, float, float], duration: float) -> Mapping[str, Any]:
        drive = self.mode.drive
        for live in self.mode.bodies():
            live.push(node, force, duration)
        made = Made(self._number(), drive.live.time, drive.frame, node, force, duration)
        self._listed(made)
        return {"push": made.id}

    def _hold(self, node: int | None, force: Array | None = None) -> None:
        for live in self.mode.bodies():
            live.hold(node, np.zeros(3) if force is None else force)

    def _listed(self, push: Made) -> None:
        self.made = (*self.made, push)[-MOST:]
        self.mode.pushed()

    def _number(self) -> int:
        return 1 + max((push.number for push in self.made), default=0)

    def _holding(self, message: Message) -> Held:
        gesture = take.integer(message, "gesture")
        if self.held is None or self.held.gesture != gesture:
            raise InputError(f"no push {gesture} is under way; press on the body to begin one")
        return self.held


def packed(pushes: tuple[Made, ...]) -> list[dict[str, Any]]:
    """Pushes as plain JSON."""
    return [{**vars(push), "force": list(push.force)} for push in pushes]


def unpacked(documents: list[Mapping[str, Any]], nodes: int) -> tuple[Made, ...]:
    """Pushes that were saved. Raises InputError, or what plain lookups raise, for those of another body."""
    found = []
    for each in documents:
        x, y, z = checks.real_array(each["force"], "a saved push", (3,)).tolist()
        found.append(
            Made(
                checks.count(each["number"], "the number of a push"),
                checks.real_number(each["time"], "the time of a push (s)"),
                checks.count(each["frame"], "the frame of a push", least=0),
                checks.count(each["node"], "the node of a push", least=0, most=nodes - 1),
                (x, y, z),
                checks.positive(each["duration"], "the duration of a push (s)", zero=True),
            )
        )
    return tuple(found)
