"""A T on its foot, 3.4 m wide and 3 m high: a coarse body whose arm ends hit two balls."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTet
from cajole.scenes.scene_definition import PaintContext, SceneDefinition, mix_colors, smoothstep
from cajole.scenes.sdf import ImplicitShape
from cajole.scenes.shape_builder import ImplicitShapeBuilder
from cajole.scenes.tee import BASE_COLOR, BODY_COLOR, CAMERA, TIP_COLOR


def define_scene() -> SceneDefinition:
    """A T of about a thousand tets."""
    return SceneDefinition(
        name="strike",
        title="T that strikes",
        description="A T on a clamped foot that swings its arms round, to strike a ball with each end.",
        shape=_build_shape(),
        tets=1000,
        skin_spacing=(0.035, 0.017),
        find_fixed_vertices=_find_fixed_vertices,
        young=4.0e7,
        damping=(0.1, 0.002),
        blend_width=0.006,
        painter=_paint,
        camera={**CAMERA, "azimuth": -60.0, "elevation": 16.0},
    )


def _find_fixed_vertices(mesh: MeshTet, parts: Mapping[str, IndexArray]) -> IndexArray:
    return np.flatnonzero(mesh.vertices[:, 2] < 0.3)


def _build_shape() -> ImplicitShape:
    s = ImplicitShapeBuilder(color=BODY_COLOR)
    s.add_box("column", (0, 0, 1.35), (0.20, 0.16, 1.35), rounding=0.06)
    s.add_box("arms", (0, 0, 2.72), (1.70, 0.20, 0.20), rounding=0.08, blend=0.06)
    s.add_box("foot", (0, 0, 0.15), (0.42, 0.38, 0.17), rounding=0.08, blend=0.06, color=BASE_COLOR)
    s.cut_below(0.0)
    return s.build()


def _paint(context: PaintContext) -> Array:
    x = context.points[:, 0]
    tips = smoothstep(1.395, 1.405, np.abs(x))
    return mix_colors(context.colors, TIP_COLOR, np.where(context.is_on_part("arms"), tips, 0))
