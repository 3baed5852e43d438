"""A clownfish, 1.85 m long, swimming along x above a floor at z = -0.75; nothing holds it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTet
from cajole.scenes.scene_definition import (
    BLACK,
    WHITE,
    PaintContext,
    SceneDefinition,
    build_eye_pair,
    mix_colors,
    smoothstep,
)
from cajole.scenes.sdf import ImplicitShape
from cajole.scenes.shape_builder import ImplicitShapeBuilder

ORANGE, FIN_COLOR = (0.96, 0.42, 0.08), (0.97, 0.50, 0.12)
COLOR_EDGE_WIDTH = 0.005  # width of the edge between two colours [m]


def define_scene() -> SceneDefinition:
    """A free clownfish of about three and a half thousand tets."""
    return SceneDefinition(
        name="fish",
        title="Clownfish",
        description="A clownfish that floats free: no vertex is held, so it swims, turns and drifts.",
        shape=_build_shape(),
        tets=3500,
        min_radius_cells=0.65,  # all fins are broad plates: enough to keep them whole, and apart from each other
        skin_spacing=(0.019, 0.0095),
        find_fixed_vertices=_find_fixed_vertices,
        young=2.3e5,
        damping=(0.2, 0.003),
        blend_width=0.006,
        eyes=build_eye_pair((0.455, 0.135, 0.075), (0.470, 0.168, 0.078), (0.058, 0.036)),
        painter=_paint,
        camera={
            "azimuth": -62.0,
            "elevation": 12.0,
            "fov": 28.0,
            "size": (960, 640),
            "background": (0.55, 0.74, 0.80),
            "floor": (0.55, 0.74, 0.80),
            "floor_height": -0.75,
        },
    )


def _find_fixed_vertices(mesh: MeshTet, parts: Mapping[str, IndexArray]) -> IndexArray:
    return np.zeros(0, dtype=np.int64)


def _build_shape() -> ImplicitShape:
    pelvic_fin = [(-0.02, -0.04), (-0.02, 0.05), (0.10, 0.08), (0.20, 0.06), (0.25, 0), (0.18, -0.05)]
    pectoral_fin = [
        (-0.02, -0.05), (-0.02, 0.05), (0.08, 0.11), (0.18, 0.135), (0.27, 0.11), (0.32, 0.03), (0.31, -0.05),
        (0.24, -0.11), (0.12, -0.10),
    ]  # fmt: skip
    anal_fin = [(0.05, 0.05), (0.10, -0.12), (0.20, -0.19), (0.30, -0.20), (0.40, -0.13), (0.46, 0.05)]
    dorsal_fin = [
        (-0.30, 0), (-0.24, 0.16), (-0.14, 0.235), (-0.02, 0.25), (0.10, 0.20), (0.20, 0.21), (0.32, 0.225),
        (0.40, 0.17), (0.44, 0.08), (0.46, -0.05), (-0.2, -0.1),
    ]  # fmt: skip
    tail_fin = [
        (0, 0.05),
        (0.10, 0.14),
        (0.22, 0.27),
        (0.36, 0.36),
        (0.44, 0.37),
        (0.45, 0.30),
        (0.40, 0.17),
        (0.355, 0.06),
    ]
    s = ImplicitShapeBuilder(color=ORANGE)
    s.add_ellipsoid("body", (0, 0, 0), (0.62, 0.19, 0.33))
    s.add_ellipsoid("body", (0.22, 0, 0), (0.40, 0.20, 0.27), blend=0.12)
    s.add_chain("body", [(-0.40, 0, 0), (-0.72, 0, 0)], [0.15, 0.075], blend=0.18)
    back, side = (-1, 0, 0), (0, 1, 0)
    tail = [*tail_fin, (0.345, 0), *[(u, -v) for u, v in tail_fin[::-1]]]
    s.add_sheet("tail", tail, origin=(-0.68, 0, 0), along=back, normal=side, thickness=(0.030, 0.016),
            bend=(0.35, 0, 0), blend=0.05, color=FIN_COLOR)  # fmt: skip
    # the frame's second axis is normal x along; fins are drawn with it pointing up
    up = -np.sign(np.cross(side, back)[2])
    for part, outline, z, thick in (("dorsal", dorsal_fin, 0.27, 0.026), ("anal", anal_fin, -0.22, 0.024)):
        flipped = [(u, -up * v) for u, v in outline]
        s.add_sheet(
            part,
            flipped,
            origin=(0, 0, z),
            along=back,
            normal=side,
            thickness=(thick, 0.016),
            blend=0.05,
            color=FIN_COLOR,
        )
    s.add_sheet("pectoral fins", pectoral_fin, origin=(0.18, 0.175, -0.08), along=(-0.72, 0.62, -0.30),
            normal=(0.55, 0.75, 0.25), thickness=(0.024, 0.016), bend=(0.5, 0, 0), blend=0.04, color=FIN_COLOR,
            mirror="y")  # fmt: skip
    s.add_sheet(
        "pelvic fins",
        pelvic_fin,
        origin=(0.17, 0.06, -0.27),
        along=(-0.42, 0.34, -0.84),
        normal=(0.1, 0.95, 0.3),
        thickness=(0.022, 0.016),
        blend=0.04,
        color=FIN_COLOR,
        mirror="y",
    )
    return s.build()


def _paint(context: PaintContext) -> Array:
    band_rim_width = 0.028  # black on both sides of a band [m]
    # white bands: centre along x, half width, how far the middle bulges forward [m]
    white_bands = ((0.285, 0.062, 0.0), (-0.13, 0.085, 0.10), (-0.60, 0.045, 0.0))
    x, _, z = context.points.T
    banded = context.is_on_part("body", "dorsal", "anal")
    colors = context.colors
    for center, half, bulge in white_bands:
        away = np.abs(x - center - bulge * np.exp(-((z / 0.14) ** 2))) - half
        colors = mix_colors(
            colors,
            BLACK,
            banded * smoothstep(band_rim_width + COLOR_EDGE_WIDTH, band_rim_width - COLOR_EDGE_WIDTH, away),
        )
        colors = mix_colors(colors, WHITE, banded * smoothstep(COLOR_EDGE_WIDTH, -COLOR_EDGE_WIDTH, away))
    tip = np.where(context.is_on_part("tail"), _smoothstep_at_edge(np.hypot(x + 0.68, 0.75 * z), 0.475), 0)
    tip = np.where(
        context.is_on_part("dorsal"), _smoothstep_at_edge(z - 0.10 * np.cos(9 * (x + 0.05)) * 0.2, 0.475), tip
    )
    tip = np.where(context.is_on_part("anal"), _smoothstep_at_edge(-z, 0.385), tip)
    colors = mix_colors(colors, BLACK, tip)
    line = np.abs(z - (-0.045 - 0.35 * (x - 0.60)))
    mouth = smoothstep(0.009, 0.004, line) * smoothstep(0.515, 0.53, x)
    return mix_colors(colors, (0.25, 0.08, 0.03), np.where(context.is_on_part("body"), mouth, 0))


def _smoothstep_at_edge(value: Array, edge: float) -> Array:
    return smoothstep(edge - COLOR_EDGE_WIDTH, edge + COLOR_EDGE_WIDTH, value)
