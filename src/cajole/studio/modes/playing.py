"""A motion that is only looked at: what the studio shows where no verb can take hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cajole.arrays import Array
from cajole.errors import InputError
from cajole.studio import take
from cajole.studio.content import Content
from cajole.studio.modes.base import Desk, Handler, Message, Mode, Saved
from cajole.studio.modes.telling import MOST_TRAILS, meter, place, rounded

# of a motion of which nothing else is known [frames/s]
STILL_FPS = 60.0


class PlayingMode(Mode):
    """Plays what came in; vertices can be selected to see their trails."""

    name = "edit"

    def __init__(self, desk: Desk, content: Content, saved: Saved | None = None):
        self._content, self._desk = content, desk
        self._selected: list[int] = [] if saved is None else list(saved.document.get("selected", []))
        self._at = 0

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {"select": self._select}

    @property
    def frames(self) -> int:
        return 1 if self._content.animation is None else self._content.animation.frames

    @property
    def fps(self) -> float:
        return STILL_FPS if self._content.animation is None else self._content.animation.fps

    def state(self) -> dict[str, Any]:
        there = self._positions(self._at)
        return {
            "lanes": [],
            "meter": meter(None),
            "selection": [self._told(node, there) for node in self._selected],
            "trails": [self._trail(node) for node in self._selected[:MOST_TRAILS]],
            "labels": {"now": "Look", "result": "As it came"},
            "undo": None,
            "redo": None,
        }

    def now(self, frame: int) -> Array:
        self._at = frame
        return self._content.draw(self._positions(frame))

    def frame(self, stream: str, frame: int) -> Array | None:
        return None if stream == "other" else self._content.draw(self._positions(frame))

    def saved(self) -> Saved:
        return Saved({"selected": self._selected})

    def result(self) -> Content:
        """What came in."""
        return self._content

    def _select(self, message: Message) -> None:
        self._selected = take.nodes(message, "nodes", len(self._content.mesh.vertices), least=0)
        self._desk.changed(motion=False)

    def _positions(self, frame: int) -> Array:
        motion = self._content.animation
        if motion is None:
            return np.asarray(self._content.mesh.vertices)
        if not 0 <= frame < motion.frames:
            raise InputError(f"frame {frame} is not in the motion; it has frames 0..{motion.frames - 1}")
        return motion.frame(frame)

    def _told(self, node: int, there: Array) -> dict[str, Any]:
        where = place(there[node])
        return {"node": node, "name": self._content.named(node), "position": where, "given": where, "fixed": False}

    def _trail(self, node: int) -> dict[str, Any]:
        motion = self._content.animation
        path = self._content.mesh.vertices[[node]] if motion is None else motion.positions[:, node]
        return {"node": node, "given": None, "result": rounded(np.asarray(path, dtype=np.float64)), "rev": 0}
