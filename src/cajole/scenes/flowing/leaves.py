"""Leaves on a wind: the red one writes an S, the others go where it blows. Figure 2 of the 2008 paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array
from cajole.flow import Flow, FlowForce, FlowMotion, Gust
from cajole.progress import Progress, report
from cajole.scenes.flowing.building import DT, SIDE, FlowScene, box, followed

STEPS = 200
# The letter: two arcs of this radius [m], one above the other, of this many degrees each, from where on [degrees].
RADIUS, ARC, FIRST = 42.0, 250.0, 20.0
# The wind that takes the leaf along in the full simulation: how wide [m], and what share of the missing speed it gives
# in a step; more than all of it, for pressure spreads what it pushes.
WIDTH, SHARE = 28.0, 1.5
# How much of being off the letter is made good in a step.
MENDED = 0.5
# Smoke to see the wind by: bands of this height [m].
BAND = 32.0


@dataclass(frozen=True, eq=False)
class Leaves(FlowScene):
    """The full motion in modes with the red leaf's path, and feed-forward under which, undisturbed, they follow it.

    companions: (7, 2) [m], where the leaves that nobody steers start.
    """

    companions: Array

    def disturbance(self, seed: int = 0) -> list[FlowForce]:
        """What a take is disturbed by: the wind of a seed."""
        return [self.noise(seed)]

    def smoke(self) -> Array:
        """Soft level bands of smoke (cells, cells), which show how the wind goes."""
        height = self.flow.cell * (np.arange(self.flow.rows) + 0.5)
        return np.tile(0.5 - 0.5 * np.cos(2.0 * np.pi * height / BAND), (self.flow.columns, 1))


def leaves(cells: int = 256, *, size: int = 64, runs: int = 50, progress: Progress | None = None) -> Leaves:
    """The leaves on a grid of cells × cells. The first call simulates them, a minute; then they are in the cache."""
    flow = box(cells)
    start = letter()[:1]
    shot = followed("leaves", lambda: written(flow, progress), flow, start, size, runs, "inverse", progress)
    return Leaves(flow, shot, _scattered())


def letter() -> Array:
    """Where the red leaf should be at every frame (201, 2) [m]: an S at constant speed."""
    turned = 2.0 * ARC * np.arange(STEPS + 1) / STEPS
    upper = np.radians(FIRST + turned)
    lower = np.radians(FIRST + ARC - 180.0 - (turned - ARC))
    above = turned <= ARC
    angle = np.where(above, upper, lower)
    rise = np.where(above, RADIUS, -RADIUS)
    return 0.5 * SIDE + np.stack([RADIUS * np.cos(angle), rise + RADIUS * np.sin(angle)], axis=1)


def written(flow: Flow, progress: Progress | None = None) -> FlowMotion:
    """The full simulation: in every step a wind around the leaf pushes it on along the letter."""
    goal = letter()
    at, states, gusts = goal[:1].copy(), [np.zeros(flow.count)], []
    for step in range(STEPS):
        wanted = MENDED * (goal[step + 1] - at[0]) / DT + (1.0 - MENDED) * (goal[step + 1] - goal[step]) / DT
        ax, ay = (SHARE / DT * (wanted - flow.velocity(states[-1], at)[0])).tolist()
        gusts.append(Gust((float(at[0, 0]), float(at[0, 1])), (ax, ay), WIDTH, time=step * DT))
        states.append(flow.step(states[-1], DT, gusts[-1].field(flow, step, DT)))
        at = flow.move(at, states[-2], states[-1], DT)
        report(progress, 0.1 * (step + 1) / STEPS, "the leaf writes its letter")
    return FlowMotion(flow, DT, np.array(states), gusts)


def _scattered() -> Array:
    """Where the seven others start (7, 2) [m]: around the letter."""
    angle = 2.0 * np.pi * np.arange(7) / 7 + 0.3
    return 0.5 * SIDE + 0.3 * SIDE * np.stack([np.cos(angle), np.sin(angle)], axis=1)
