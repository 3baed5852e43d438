"""A T on its foot with two balls that hang on chains from its arms, 3.4 m wide and 3 m high."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTet
from cajole.scenes.scene_definition import PaintContext, SceneDefinition, mix_colors, smoothstep
from cajole.scenes.sdf import ImplicitShape
from cajole.scenes.shape_builder import ImplicitShapeBuilder

BODY_COLOR, TIP_COLOR, BALL_COLOR, BAND_COLOR = (
    (0.24, 0.45, 0.72),
    (0.16, 0.31, 0.55),
    (0.90, 0.32, 0.22),
    (0.97, 0.93, 0.85),
)
CHAIN_COLOR, BASE_COLOR = (0.62, 0.63, 0.66), (0.45, 0.46, 0.48)
BALL_Z, BALL_RADIUS = 0.86, 0.30
CHAIN_TOP, CHAIN_BOTTOM = 2.50, BALL_Z + BALL_RADIUS
CAMERA: dict[str, Any] = {
    "azimuth": -68.0,
    "elevation": 10.0,
    "fov": 28.0,
    "size": (960, 640),
    "background": (0.84, 0.83, 0.80),
    "floor": (0.86, 0.85, 0.82),
    "floor_height": 0.0,
}


def define_scene() -> SceneDefinition:
    """A T-shaped structure of about six thousand tets."""
    return SceneDefinition(
        name="tee",
        title="T-structure",
        description="A T on a clamped foot; two balls hang on chains from its arms and swing as it sways.",
        shape=_build_shape(),
        tets=6000,
        skin_spacing=(0.035, 0.017),
        find_fixed_vertices=_find_fixed_vertices,
        young=1.6e8,
        damping=(0.2, 0.003),
        blend_width=0.006,
        painter=_paint,
        camera=CAMERA,
    )


def _find_fixed_vertices(mesh: MeshTet, parts: Mapping[str, IndexArray]) -> IndexArray:
    return parts["foot"]


def _build_shape() -> ImplicitShape:
    chain_links = 9
    chain_x = 1.42  # where the chains hang [m]
    s = ImplicitShapeBuilder(color=BODY_COLOR)
    s.add_box("column", (0, 0, 1.35), (0.20, 0.16, 1.35), rounding=0.06)
    s.add_box("arms", (0, 0, 2.72), (1.70, 0.22, 0.20), rounding=0.08, blend=0.06)
    s.add_box("foot", (0, 0, 0.07), (0.52, 0.45, 0.09), rounding=0.05, blend=0.04, color=BASE_COLOR)
    rope = [(chain_x, 0, CHAIN_TOP), (chain_x, 0, CHAIN_BOTTOM - 0.05)]
    s.add_chain("chains", rope, [0.05, 0.05], mirror="x", usage="cage")
    s.add_ellipsoid("balls", (chain_x, 0, BALL_Z), [BALL_RADIUS] * 3, mirror="x", color=BALL_COLOR)
    centers = np.linspace(CHAIN_TOP, CHAIN_BOTTOM + 0.01, chain_links)
    half = 0.5 * (centers[0] - centers[1]) + 0.022
    turn = np.linspace(0, 2 * np.pi, 17)
    for i, z in enumerate(centers):
        # an oval wire, every second one turned by a quarter
        across, up = 0.055 * np.cos(turn), half * np.sin(turn)
        flat = np.zeros_like(across)
        x, y = (across, flat) if i % 2 else (flat, across)
        wire = np.column_stack([chain_x + x, y, z + up])
        s.add_chain("chains", wire, np.full(len(wire), 0.018), mirror="x", color=CHAIN_COLOR, usage="decor")
    s.cut_below(0.0)
    return s.build()


def _paint(context: PaintContext) -> Array:
    x, _, z = context.points.T
    tips = smoothstep(1.245, 1.255, np.abs(x)) * smoothstep(1.595, 1.585, np.abs(x))
    colors = mix_colors(context.colors, TIP_COLOR, np.where(context.is_on_part("arms"), tips, 0))
    band = smoothstep(0.066, 0.058, np.abs(z - BALL_Z))
    return mix_colors(colors, BAND_COLOR, np.where(context.is_on_part("balls"), band, 0))
