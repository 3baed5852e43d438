"""A small cloth that falls from two held corners, and what is asked of it."""

from __future__ import annotations

import functools

import numpy as np

import cajole as cj
from bodies import Array

CELLS, FRAMES, DT = 7, 48, 1 / 60
# a node of the middle and one of the free edge
MIDDLE, EDGE = 36, 60


@functools.cache
def cloth() -> cj.BodySprings:
    corners = [0, CELLS]
    return cj.BodySprings.cloth(CELLS, CELLS, mass=3e-3, damping=0.05, clamp=0.02, fixed=corners)


@functools.cache
def pilot() -> cj.Animation:
    return cj.simulate(cloth(), FRAMES, DT, gravity=9.81, integrator="bdf2")


def goal(vertex: int, frame: int, offset: tuple[float, float, float], window: int | None = None) -> cj.Goal:
    """A goal `offset` [m] away from the pilot."""
    return cj.Goal(vertex, frame, pilot().positions[frame, vertex] + np.array(offset), window)


def two_goals() -> list[cj.Goal]:
    """Windows that overlap."""
    return [goal(MIDDLE, 30, (0.06, 0.03, 0.05), 14), goal(EDGE, 33, (-0.04, 0.05, 0.06), 14)]


def missed(result: cj.direct.RerouteResult, goals: list[cj.Goal]) -> Array:
    """(G,) [m] measured on the animation."""
    there = [result.animation.positions[each.frame, each.vertex] - each.position for each in goals]
    return np.linalg.norm(there, axis=1)
