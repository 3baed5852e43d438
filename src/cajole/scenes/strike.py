"""A T on its foot, 3.4 m wide and 3 m high: coarse, to strike two balls with the ends of its arms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTet
from cajole.scenes.recipe import Canvas, Recipe, mixed, smoothstep
from cajole.scenes.sculpt import Sculptor
from cajole.scenes.sdf import Shape
from cajole.scenes.tee import BASE, BLUE, CAMERA, DEEP


def recipe() -> Recipe:
    """A T of about a thousand tets."""
    return Recipe(
        name="strike",
        title="T that strikes",
        description="A T on a clamped foot that swings its arms round, to strike a ball with each end.",
        shape=_shape(),
        tets=1000,
        spacing=(0.035, 0.017),
        fixed=_foot,
        young=4.0e7,
        damping=(0.1, 0.002),
        sigma=0.006,
        paint=_paint,
        camera={**CAMERA, "azimuth": -60.0, "elevation": 16.0},
    )


def _foot(mesh: MeshTet, parts: Mapping[str, IndexArray]) -> IndexArray:
    return np.flatnonzero(mesh.vertices[:, 2] < 0.3)


def _shape() -> Shape:
    s = Sculptor(color=BLUE)
    s.box("column", (0, 0, 1.35), (0.20, 0.16, 1.35), rounding=0.06)
    s.box("arms", (0, 0, 2.72), (1.70, 0.20, 0.20), rounding=0.08, blend=0.06)
    s.box("foot", (0, 0, 0.15), (0.42, 0.38, 0.17), rounding=0.08, blend=0.06, color=BASE)
    s.cut_below(0.0)
    return s.shape()


def _paint(canvas: Canvas) -> Array:
    x = canvas.points[:, 0]
    tips = smoothstep(1.395, 1.405, np.abs(x))
    return mixed(canvas.colors, DEEP, np.where(canvas.on("arms"), tips, 0))
