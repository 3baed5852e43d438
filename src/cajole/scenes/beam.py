"""A square beam, 4 m long, clamped in a wall at x = 0."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTet
from cajole.scenes.scene_definition import PaintContext, SceneDefinition, mix_colors, smoothstep
from cajole.scenes.sdf import ImplicitShape
from cajole.scenes.shape_builder import ImplicitShapeBuilder

TEAL, PALE, WALL = (0.16, 0.55, 0.58), (0.90, 0.88, 0.80), (0.55, 0.53, 0.50)
LENGTH, HALF_WIDTH, HEIGHT = 4.0, 0.25, 1.2


def define_scene() -> SceneDefinition:
    """A cantilever beam of about three thousand tets."""
    return SceneDefinition(
        name="beam",
        title="Beam",
        description="A cantilever: a square beam held in a wall at one end, free at the other.",
        shape=_build_shape(),
        tets=3000,
        skin_spacing=(0.036, 0.015),
        find_fixed_vertices=_find_fixed_vertices,
        young=5.0e7,
        damping=(0.2, 0.003),
        blend_width=0.004,
        painter=_paint,
        camera={
            "azimuth": -60.0,
            "elevation": 14.0,
            "fov": 28.0,
            "size": (960, 640),
            "background": (0.86, 0.84, 0.82),
            "floor": (0.87, 0.85, 0.83),
            "floor_height": 0.0,
        },
    )


def _find_fixed_vertices(mesh: MeshTet, parts: Mapping[str, IndexArray]) -> IndexArray:
    # the beam begins where it leaves the wall
    return np.union1d(parts["wall"], np.flatnonzero(mesh.vertices[:, 0] < 1e-6))


def _build_shape() -> ImplicitShape:
    s = ImplicitShapeBuilder(color=TEAL)
    s.add_box("beam", (LENGTH / 2 - 0.05, 0, HEIGHT), (LENGTH / 2 + 0.05, HALF_WIDTH, HALF_WIDTH), rounding=0.05)
    s.add_box("wall", (-0.16, 0, 0.90), (0.16, 0.62, 0.90), rounding=0.08, color=WALL)
    return s.build()


def _paint(context: PaintContext) -> Array:
    along = np.abs(context.points[:, 0] % 1.0 - 0.75)  # rings in the second half of every metre show the bending
    ring = smoothstep(0.125 + 0.006, 0.125 - 0.006, along)
    return mix_colors(context.colors, PALE, np.where(context.is_on_part("beam"), ring, 0))
