"""Flows of few cells in the mode that steers them, under a clock of the test's own."""

from __future__ import annotations

from functools import cache

from fake_desk import FakeDesk
from steer_mode_cases import Clock

from cajole.scenes.flowing import leaves, swirl
from cajole.studio.content import Content
from cajole.studio.flowing import leaves_content, swirl_content
from cajole.studio.modes.base import Saved
from cajole.studio.modes.flow import FlowMode

CELLS = 32


@cache
def content(name: str = "swirl") -> Content:
    if name == "leaves":
        return leaves_content(leaves(CELLS, size=24, runs=6))
    return swirl_content(swirl(CELLS, size=24, runs=6))


def made(name: str = "swirl", kept: Saved | None = None) -> tuple[FlowMode, FakeDesk, Clock]:
    desk, clock = FakeDesk(), Clock()
    mode = FlowMode(desk, content(name), kept)
    mode.clock = mode.drive.clock = clock
    mode.tick()
    return mode, desk, clock
