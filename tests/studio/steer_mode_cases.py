"""A beam with a motion to keep to, and the mode that steers it under a clock of the test's own."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from fake_desk import FakeDesk

import cajole as cj
from bodies import beam_body
from cajole.direct import Shot
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import ModeSnapshot, StudioMode
from cajole.studio.modes.steer.body_mode import BodySteerMode

BEAM = beam_body((5, 1, 1), young=3e5, damping=(0.2, 0.005))
TIP = int(np.argmax(BEAM.vertices @ [10.0, 1.0, 1.0]))
PUSH = [0.0, 0.1 * BEAM.weight, 0.2 * BEAM.weight]
DT = 1 / 50


@cache
def shot(loop: bool) -> Shot:
    pose = cj.pose(BEAM, {TIP: [0.0, 0.0, 0.05 * BEAM.weight]})
    keys = {5: pose, 20: -pose} if loop else {15: pose, 29: 0 * pose}
    return cj.keyframe(BEAM, keys, 30, DT, modes=4, loop=loop)


def content(loop: bool = True, **more: Any) -> ProjectContent:
    return ProjectContent("beam", BEAM.mesh, BEAM, shot=shot(loop), parts={"tip": np.array([TIP])}, **more)


def looped() -> np.ndarray:
    """The loop as a reference has it: the frame before its first step, which is the last, comes first."""
    return np.roll(shot(True).animation.positions, 1, axis=0)


class Clock:
    """Time as a test wants it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def made(loop: bool = True, kept: ModeSnapshot | None = None, **more: Any) -> tuple[BodySteerMode, FakeDesk, Clock]:
    desk, clock = FakeDesk(), Clock()
    mode = BodySteerMode(desk, content(loop, **more), kept)
    mode.clock = mode.realtime.clock = clock
    mode.tick()
    return mode, desk, clock


def run(mode: StudioMode, clock: Clock, seconds: float) -> None:
    """Let the clock go on, a tick each 60th of a second."""
    for _ in range(round(60 * seconds)):
        clock.now += 1 / 60
        mode.tick()
