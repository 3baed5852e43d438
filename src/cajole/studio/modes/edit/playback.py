"""Playback of a motion that no mode can change."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.errors import InputError
from cajole.studio.content import ProjectContent
from cajole.studio.messages import Select, StateMessage, ViewLabels
from cajole.studio.modes.base import Handlers, ModeHost, ModeSnapshot, StudioMode
from cajole.studio.modes.payloads import MAX_TRAILS, build_force_meter, build_selected_vertex, build_trail
from cajole.studio.modes.settings import require_vertices


class PlaybackMode(StudioMode):
    """Plays the input motion; selected vertices show their trails."""

    name = "edit"

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        self.host, self.content, self.current_frame = host, content, 0
        self.selected: list[int] = [] if snapshot is None else list(snapshot.document.get("selected", []))

    @property
    def commands(self) -> Handlers:
        return {Select: self._select}

    @property
    def frames(self) -> int:
        return 1 if self.content.animation is None else self.content.animation.frames

    @property
    def fps(self) -> float:
        return 60.0 if self.content.animation is None else self.content.animation.fps

    def build_state(self) -> StateMessage:
        content, motion = self.content, self.content.animation
        positions = self._compute_positions(self.current_frame)
        paths = content.mesh.vertices[None] if motion is None else motion.positions
        return StateMessage(
            meter=build_force_meter(None),
            selection=[build_selected_vertex(content, n, positions[n], positions[n]) for n in self.selected],
            trails=[build_trail(node, None, paths[:, node]) for node in self.selected[:MAX_TRAILS]],
            labels=ViewLabels("Look", "As it came"),
        )

    def compute_live_vertices(self, frame: int) -> Array:
        self.current_frame = frame
        return self.content.compute_drawn_positions(self._compute_positions(frame))

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        return None if stream == "other" else self.content.compute_drawn_positions(self._compute_positions(frame))

    def create_snapshot(self) -> ModeSnapshot:
        return ModeSnapshot({"selected": self.selected})

    def export_content(self) -> ProjectContent:
        return self.content

    def _select(self, command: Select) -> None:
        self.selected = require_vertices(command, len(self.content.mesh.vertices))
        self.host.record_change(frames_changed=False)

    def _compute_positions(self, frame: int) -> Array:
        motion = self.content.animation
        if motion is None:
            return np.asarray(self.content.mesh.vertices)
        if not 0 <= frame < motion.frames:
            raise InputError(f"frame {frame} is not in the motion; it has frames 0..{motion.frames - 1}")
        return motion.frame(frame)
