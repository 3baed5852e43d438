"""Flows that the tests share."""

from __future__ import annotations

from functools import cache

import numpy as np

from cajole.flow import Flow, FlowMotion, Gust
from cajole.reduction import ReducedFlow, reduce


def taylor_green(flow: Flow) -> np.ndarray:
    """(n,) of the vortex u = sin πx cos πy, v = -cos πx sin πy in the unit box, a steady flow."""
    a, b = flow.compute_face_centres()
    u = np.sin(np.pi * a[..., 0]) * np.cos(np.pi * a[..., 1])
    v = -np.cos(np.pi * b[..., 0]) * np.sin(np.pi * b[..., 1])
    return np.concatenate([u.ravel(), v.ravel()])


def small() -> Flow:
    return Flow(28, 20, cell_size=0.5)


@cache
def small_motions() -> list[FlowMotion]:
    """Four runs of 30 frames, each after its own blow."""
    random = np.random.default_rng(3)
    made = []
    for _ in range(4):
        x, y = (5 + 4 * random.random(2)).tolist()
        ax, ay = (3 * random.standard_normal(2)).tolist()
        made.append(small().simulate(30, 0.2, force=Gust((x, y), (ax, ay), 3.0, duration=0.6)))
    return made


@cache
def small_model() -> ReducedFlow:
    return reduce(small(), small_motions(), size=16)
