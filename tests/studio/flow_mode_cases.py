"""Flows of few cells in the mode that steers them, under a clock of the test's own."""

from __future__ import annotations

from functools import cache

from fake_desk import FakeDesk
from steer_mode_cases import Clock

from cajole.scenes.flow_scenes import build_leaves_scene, build_swirl_scene
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.modes.steer.flow_mode import FlowSteerMode
from cajole.studio.modes.steer.scenes import build_leaves_content, build_swirl_content

CELLS = 32


@cache
def content(name: str = "swirl") -> ProjectContent:
    if name == "leaves":
        return build_leaves_content(build_leaves_scene(CELLS, size=24, runs=6))
    return build_swirl_content(build_swirl_scene(CELLS, size=24, runs=6))


def made(name: str = "swirl", kept: ModeSnapshot | None = None) -> tuple[FlowSteerMode, FakeDesk, Clock]:
    desk, clock = FakeDesk(), Clock()
    mode = FlowSteerMode(desk, content(name), kept)
    mode.clock = mode.realtime.clock = clock
    mode.tick()
    return mode, desk, clock
