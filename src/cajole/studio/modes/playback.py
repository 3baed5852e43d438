"""A motion that is only looked at: what the studio shows where no verb can take hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cajole.arrays import Array
from cajole.errors import InputError
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import Handler, Message, ModeHost, ModeSnapshot, StudioMode
from cajole.studio.modes.payloads import MAX_TRAILS, build_force_meter, to_list, to_rounded_list

# of a motion of which nothing else is known [frames/s]
DEFAULT_FPS = 60.0


class PlaybackMode(StudioMode):
    """Plays what came in; vertices can be selected to see their trails."""

    name = "edit"

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        self._content, self._host = content, host
        self._selected: list[int] = [] if snapshot is None else list(snapshot.document.get("selected", []))
        self._current_frame = 0

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {"select": self._select}

    @property
    def frames(self) -> int:
        return 1 if self._content.animation is None else self._content.animation.frames

    @property
    def fps(self) -> float:
        return DEFAULT_FPS if self._content.animation is None else self._content.animation.fps

    def build_state(self) -> dict[str, Any]:
        there = self._compute_positions(self._current_frame)
        return {
            "lanes": [],
            "meter": build_force_meter(None),
            "selection": [self._describe_selected_vertex(node, there) for node in self._selected],
            "trails": [self._build_trail(node) for node in self._selected[:MAX_TRAILS]],
            "labels": {"now": "Look", "result": "As it came"},
            "undo": None,
            "redo": None,
        }

    def compute_live_vertices(self, frame: int) -> Array:
        self._current_frame = frame
        return self._content.compute_drawn_positions(self._compute_positions(frame))

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        return None if stream == "other" else self._content.compute_drawn_positions(self._compute_positions(frame))

    def create_snapshot(self) -> ModeSnapshot:
        return ModeSnapshot({"selected": self._selected})

    def export_content(self) -> ProjectContent:
        """What came in."""
        return self._content

    def _select(self, message: Message) -> None:
        self._selected = message_values.read_vertices(message, "nodes", len(self._content.mesh.vertices), min_count=0)
        self._host.record_change(frames_changed=False)

    def _compute_positions(self, frame: int) -> Array:
        motion = self._content.animation
        if motion is None:
            return np.asarray(self._content.mesh.vertices)
        if not 0 <= frame < motion.frames:
            raise InputError(f"frame {frame} is not in the motion; it has frames 0..{motion.frames - 1}")
        return motion.frame(frame)

    def _describe_selected_vertex(self, node: int, positions: Array) -> dict[str, Any]:
        where = to_list(positions[node])
        return {
            "node": node,
            "name": self._content.describe_vertex(node),
            "position": where,
            "given": where,
            "fixed": False,
        }

    def _build_trail(self, node: int) -> dict[str, Any]:
        motion = self._content.animation
        path = self._content.mesh.vertices[[node]] if motion is None else motion.positions[:, node]
        return {"node": node, "given": None, "result": to_rounded_list(np.asarray(path, dtype=np.float64)), "rev": 0}
