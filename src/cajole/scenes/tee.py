"""A T on its foot with two balls that hang on chains from its arms, 3.4 m wide and 3 m high."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTet
from cajole.scenes.recipe import Canvas, Recipe, mixed, smoothstep
from cajole.scenes.sculpt import Sculptor
from cajole.scenes.sdf import Shape

BLUE, DEEP, BALL, BAND = (0.24, 0.45, 0.72), (0.16, 0.31, 0.55), (0.90, 0.32, 0.22), (0.97, 0.93, 0.85)
STEEL, BASE = (0.62, 0.63, 0.66), (0.45, 0.46, 0.48)
REACH = 1.42  # where the chains hang [m]
BALL_AT, BALL_RADIUS = 0.86, 0.30
TOP, BOTTOM = 2.50, BALL_AT + BALL_RADIUS
LINKS = 9
CAMERA: dict[str, Any] = {
    "azimuth": -68.0,
    "elevation": 10.0,
    "fov": 28.0,
    "size": (960, 640),
    "background": (0.84, 0.83, 0.80),
    "floor": (0.86, 0.85, 0.82),
    "floor_height": 0.0,
}


def recipe() -> Recipe:
    """A T-shaped structure of about six thousand tets."""
    return Recipe(
        name="tee",
        title="T-structure",
        description="A T on a clamped foot; two balls hang on chains from its arms and swing as it sways.",
        shape=_shape(),
        tets=6000,
        spacing=(0.035, 0.017),
        fixed=_foot,
        young=1.6e8,
        damping=(0.2, 0.003),
        sigma=0.006,
        paint=_paint,
        camera=CAMERA,
    )


def _foot(mesh: MeshTet, parts: Mapping[str, IndexArray]) -> IndexArray:
    return parts["foot"]


def _shape() -> Shape:
    s = Sculptor(color=BLUE)
    s.box("column", (0, 0, 1.35), (0.20, 0.16, 1.35), rounding=0.06)
    s.box("arms", (0, 0, 2.72), (1.70, 0.22, 0.20), rounding=0.08, blend=0.06)
    s.box("foot", (0, 0, 0.07), (0.52, 0.45, 0.09), rounding=0.05, blend=0.04, color=BASE)
    rope = [(REACH, 0, TOP), (REACH, 0, BOTTOM - 0.05)]
    s.chain("chains", rope, [0.05, 0.05], mirror="x", place="cage")
    s.ellipsoid("balls", (REACH, 0, BALL_AT), [BALL_RADIUS] * 3, mirror="x", color=BALL)
    centers = np.linspace(TOP, BOTTOM + 0.01, LINKS)
    half = 0.5 * (centers[0] - centers[1]) + 0.022
    turn = np.linspace(0, 2 * np.pi, 17)
    for i, z in enumerate(centers):
        # an oval wire, every second one turned by a quarter
        across, up = 0.055 * np.cos(turn), half * np.sin(turn)
        flat = np.zeros_like(across)
        x, y = (across, flat) if i % 2 else (flat, across)
        wire = np.column_stack([REACH + x, y, z + up])
        s.chain("chains", wire, np.full(len(wire), 0.018), mirror="x", color=STEEL, place="decor")
    s.cut_below(0.0)
    return s.shape()


def _paint(canvas: Canvas) -> Array:
    x, _, z = canvas.points.T
    tips = smoothstep(1.245, 1.255, np.abs(x)) * smoothstep(1.595, 1.585, np.abs(x))
    colors = mixed(canvas.colors, DEEP, np.where(canvas.on("arms"), tips, 0))
    band = smoothstep(0.066, 0.058, np.abs(z - BALL_AT))
    return mixed(colors, BAND, np.where(canvas.on("balls"), band, 0))
