"""A mode of another package: it stretches the input by a factor. `MODE` is all that the studio needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cajole.arrays import Array
from cajole.studio.content import ProjectContent
from cajole.studio.messages import ForceMeter, ModeAvailability, ViewLabels
from cajole.studio.modes.base import ModeHost, ModeSnapshot, StudioMode
from cajole.studio.modes.definition import ModeDefinition
from toy_mode.messages import SetStretch, StretchAnswer, StretchState, StretchStateMessage


class StretchMode(StudioMode):
    """Multiplies all positions by a factor."""

    name = "stretch"

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        assert content.animation is not None
        self.host, self.content, self.animation, self.frame = host, content, content.animation, 0
        self.factor = 1.0 if snapshot is None else float(snapshot.document["factor"])

    @property
    def commands(self) -> Mapping[Any, Any]:
        return {SetStretch: self._set_factor}

    @property
    def frames(self) -> int:
        return self.animation.frames

    @property
    def fps(self) -> float:
        return self.animation.fps

    def build_state(self) -> StretchStateMessage:
        meter = ForceMeter(share=0.0, peak=0.0, frame=None, curve=None, cure=None)
        return StretchStateMessage(
            meter=meter, labels=ViewLabels("Stretching", "Result"), stretch=StretchState(factor=self.factor)
        )

    def compute_live_vertices(self, frame: int) -> Array:
        self.frame = frame
        return self.compute_stream_vertices("result", frame)

    def compute_stream_vertices(self, stream: str, frame: int) -> Array:
        factor = 1.0 if stream == "given" else self.factor
        return self.content.compute_drawn_positions(factor * np.asarray(self.animation.frame(frame)))

    def create_snapshot(self) -> ModeSnapshot:
        return ModeSnapshot({"factor": self.factor})

    def export_content(self) -> ProjectContent:
        return replace(self.content, animation=self.animation.moved(self.factor * self.animation.positions))

    def _set_factor(self, command: SetStretch) -> StretchAnswer:
        before, self.factor = self.factor, command.factor
        self.host.record_change("stretch")
        self.host.show_live_frame(self.compute_live_vertices(self.frame), frame=self.frame)
        return StretchAnswer(before=before)


def find_availability(content: ProjectContent) -> ModeAvailability:
    return ModeAvailability(content.animation is not None, None if content.animation else "Nothing moves yet")


MODE = ModeDefinition(
    name="stretch",
    title="Stretch",
    description="Multiply a motion by a factor",
    messages="toy_mode.messages",
    find_availability=find_availability,
    create=StretchMode,
)
