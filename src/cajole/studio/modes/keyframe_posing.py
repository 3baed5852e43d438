"""Posing in Keyframe: pulls in the hand, loads that stay, pins and gravity."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cajole.body import EARTH_GRAVITY
from cajole.direct.keyframing.pulling import Pull
from cajole.errors import CajoleError, InputError
from cajole.studio import take as given
from cajole.studio.modes.base import Handler, Message
from cajole.studio.modes.posing import hand_stiffness, holds_pose, patch
from cajole.studio.modes.telling import place

if TYPE_CHECKING:
    from cajole.studio.modes.keyframe import KeyframeMode, Moment

# A body that moves by less than this, in body sizes, has come to where it is pulled.
SETTLED = 2e-4


@dataclass(eq=False)
class Gesture:
    """A pull under way, and whether its author was told already that it is too strong."""

    number: int
    node: int
    pull: Pull
    before: Moment
    warned: bool = False
    seq: int = 0
    settled: bool = True


class PoseHandlers:
    """What messages do to the pose."""

    def __init__(self, mode: KeyframeMode):
        self.mode = mode
        self._gesture: Gesture | None = None

    @property
    def busy(self) -> bool:
        """Whether a pull is in the hand."""
        return self._gesture is not None

    @property
    def settled(self) -> bool:
        """Whether the body has come to where it is pulled, or nothing pulls."""
        return self._gesture is None or self._gesture.settled

    @property
    def commands(self) -> dict[str, Handler]:
        session = self.mode.session
        return {
            "pull.begin": self._begin,
            "pull.move": self._move,
            "pull.commit": self._commit,
            "pull.cancel": self._cancel,
            "load": self._load,
            "freeze": lambda _: self.mode.do("freeze the loads", session.freeze),
            "pose.reset": lambda _: self.mode.do("reset the pose", session.reset),
            "pose.pin": self._pin,
            "pose.unpin": self._unpin,
            "gravity": self._gravity,
        }

    def close(self) -> None:
        """Let go of a pull, as if it had not been."""
        if self._gesture is not None:
            self._gesture.pull.cancel()
            self._gesture = None

    # --- pulls

    def _begin(self, message: Message) -> Mapping[str, Any]:
        self.close()  # a tab that went away in the middle of it
        node = given.integer(message, "node", 0, self.mode.body.count - 1)
        number, alone = given.integer(message, "gesture"), not given.flag(message, "add")
        before, vertices = self.mode.moment(), patch(self.mode.body, node)
        stiffness = hand_stiffness(self.mode.session, self.mode.content.mesh.edges, vertices)
        pull = self.mode.session.grab(vertices, alone=alone)
        self.mode.hands.remember(pull.load, stiffness)
        self._gesture = Gesture(number, node, pull, before)
        self.mode.selected = [node]
        return {"position": place(self.mode.where(node)), "load": pull.load.number, "stiffness": stiffness}

    def _move(self, message: Message) -> None:
        gesture, begin = self._holding(message), time.perf_counter()
        force, gesture.seq = given.vector(message, "force"), given.integer(message, "seq")
        try:
            gesture.pull.move(force)
            gesture.settled = False
        except CajoleError as error:
            self._warn(gesture, error)
        self._say_moved(gesture, begin)

    def settle(self) -> None:
        """The hand rests: the body goes on to where it is pulled."""
        gesture, begin = self._gesture, time.perf_counter()
        if gesture is None:
            return
        try:
            gesture.settled = gesture.pull.settle() < SETTLED
        except CajoleError:
            gesture.settled = True
        self._say_moved(gesture, begin)

    def _say_moved(self, gesture: Gesture, begin: float) -> None:
        self.mode.show()
        self.mode.desk.say({
            "is": "moved", "gesture": gesture.number, "seq": gesture.seq,
            "position": place(self.mode.where(gesture.node)), "miss": 0.0, "ms": 1e3 * (time.perf_counter() - begin),
            "meter": None,
        })  # fmt: skip

    def _commit(self, message: Message) -> Mapping[str, Any]:
        gesture = self._holding(message)
        try:
            gesture.pull.drop()
        except CajoleError:
            gesture.pull.cancel()
            raise
        finally:
            self._gesture = None
            self.mode.show()
        if self.mode.session.moment is not gesture.before.posed:
            label = f"pull {self.mode.content.named(gesture.node)}"
            self.mode.history.add(label, gesture.before)
            self.mode.desk.changed(label, motion=False)
            self.mode.warn_if_inverted(gesture.before.posed)
        return {"load": gesture.pull.load.number}

    def _cancel(self, message: Message) -> None:
        self._holding(message)
        self.close()
        self.mode.show()
        self.mode.desk.changed(motion=False)

    def _holding(self, message: Message) -> Gesture:
        number = given.integer(message, "gesture")
        if self._gesture is None or self._gesture.number != number:
            raise InputError(f"no pull {number} is under way; press on the body to begin one")
        return self._gesture

    def _warn(self, gesture: Gesture, error: CajoleError) -> None:
        if not gesture.warned:
            gesture.warned = True
            text, _, remedy = str(error).partition("; ")
            remedy = remedy or "pull less, pin more, or freeze these loads and pull on from there"
            text = f"{text}. The last pose that holds is kept: {remedy}."
            self.mode.desk.say({"is": "notice", "tone": "warn", "title": "That is too strong", "text": text})

    # --- loads, pins and gravity

    def _load(self, message: Message) -> None:
        number = given.integer(message, "load")
        found = [load for load in self.mode.session.loads if load.number == number]
        name = "load" if not found or holds_pose(found[0]) else self.mode.content.named(int(found[0].vertices[0]))
        if given.flag(message, "remove", False):
            self.mode.do(f"remove pull {name}", lambda: self.mode.session.remove(number))
            return
        if "strength" not in message and "muted" not in message:
            raise InputError("load needs strength, muted or remove, and all are missing")
        if "strength" in message:
            strength = given.number(message, "strength", 0.0)
            self.mode.do(f"retune pull {name}", lambda: self._retune(number, strength), join=True)
        if "muted" in message:
            muted = given.flag(message, "muted")
            self.mode.do(f"{'mute' if muted else 'unmute'} pull {name}", lambda: self.mode.session.mute(number, muted))

    def _retune(self, number: int, strength: float) -> None:
        session = self.mode.session
        force = next((load.forces.sum(axis=0) for load in session.loads if load.number == number), np.zeros(3))
        size = float(np.linalg.norm(force))
        # of a load that is missing, frozen or without a direction `change` is asked to keep it, and says what is wrong
        session.change(number, strength / size * force if size else force)

    def _pin(self, message: Message) -> None:
        nodes = given.nodes(message, "nodes", self.mode.body.count)
        self.mode.do(f"pin {self.mode.called(nodes)}", lambda: self.mode.session.pin(nodes))

    def _unpin(self, message: Message) -> None:
        nodes = given.nodes(message, "nodes", self.mode.body.count)
        self.mode.do(f"unpin {self.mode.called(nodes)}", lambda: self.mode.session.unpin(nodes))

    def _gravity(self, message: Message) -> None:
        on = given.flag(message, "on")
        self.mode.do(f"gravity {'on' if on else 'off'}", lambda: self.mode.session.weigh(EARTH_GRAVITY if on else None))
