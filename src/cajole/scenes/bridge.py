"""A suspension bridge, 11 m long and 2.8 m high, along x on piers at z = 0."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTet
from cajole.scenes.scene_definition import PaintContext, SceneDefinition, mix_colors, smoothstep
from cajole.scenes.sdf import ImplicitShape
from cajole.scenes.shape_builder import ImplicitShapeBuilder

STEEL, CABLE = (0.74, 0.20, 0.12), (0.78, 0.24, 0.15)
ROAD, CONCRETE = (0.30, 0.31, 0.33), (0.66, 0.64, 0.60)
EDGE_LINE_COLOR, CENTRE_LINE_COLOR = (0.93, 0.93, 0.90), (0.95, 0.82, 0.35)
HALF_LENGTH, TOWER_X, GIRDER_Y = 5.2, 2.55, 0.46


def define_scene() -> SceneDefinition:
    """A suspension bridge of about thirty-one thousand tets."""
    return SceneDefinition(
        name="bridge",
        title="Suspension bridge",
        description="A suspension bridge between two anchors; its deck, cables and towers sway.",
        shape=_build_shape(),
        tets=31_000,
        skin_spacing=(0.056, 0.042),
        find_fixed_vertices=_find_fixed_vertices,
        young=6.0e6,
        poisson=0.35,
        damping=(0.2, 0.003),
        blend_width=0.004,
        painter=_paint,
        camera={
            "azimuth": -58.0,
            "elevation": 13.0,
            "fov": 26.0,
            "size": (1200, 640),
            "background": (0.72, 0.81, 0.88),
            "floor": (0.72, 0.81, 0.88),
            "floor_height": -0.2,
        },
    )


def _find_fixed_vertices(mesh: MeshTet, parts: Mapping[str, IndexArray]) -> IndexArray:
    return np.concatenate([parts["piers"], parts["anchors"]])


def _compute_main_cable_height(x: Array) -> Array:
    """Height of the cable between the towers."""
    return 1.28 + 1.49 * (x / TOWER_X) ** 2


def _compute_side_cable_height(x: Array) -> Array:
    """Height of the cable from a tower to its anchor."""
    return 1.33 + 1.44 * (1 - (x - TOWER_X) / 2.53).clip(0) ** 1.45


def _build_shape() -> ImplicitShape:
    # cables and hangers are simulated with the rest but drawn on the finer grid of decorations
    thin_part_usages = ("cage", "decor")
    # hangers stand this far apart, so that their cages do not touch at thirty thousand tets
    hanger_spacing = 0.51
    s = ImplicitShapeBuilder(color=STEEL)
    s.add_box("deck", (0, 0, 1.0), (HALF_LENGTH, 0.44, 0.085), rounding=0.03, color=ROAD)
    s.add_box("girders", (0, GIRDER_Y, 1.01), (HALF_LENGTH, 0.065, 0.115), rounding=0.03, blend=0.02, mirror="y")
    s.add_chain("towers", [(TOWER_X, 0.56, 0), (TOWER_X, GIRDER_Y, 2.75)], [0.105, 0.085], blend=0.03, mirror="xy")
    s.add_ellipsoid("towers", (TOWER_X, GIRDER_Y, 2.78), (0.12, 0.12, 0.09), blend=0.02, mirror="xy")
    for z, half in ((0.72, (0.08, 0.50, 0.085)), (1.62, (0.075, 0.48, 0.08)), (2.18, (0.07, 0.46, 0.075)),
                    (2.66, (0.07, 0.46, 0.075))):  # fmt: skip
        s.add_box("cross beams", (TOWER_X, 0, z), half, rounding=0.02, blend=0.04, mirror="x")
    s.add_box("piers", (TOWER_X, 0, -0.02), (0.26, 0.78, 0.20), rounding=0.06, color=CONCRETE, mirror="x")
    s.add_box("anchors", (5.10, 0, 0.62), (0.34, 0.64, 0.80), rounding=0.06, color=CONCRETE, mirror="x")
    for height, low, high, count in (
        (_compute_main_cable_height, 0.0, TOWER_X, 20),
        (_compute_side_cable_height, TOWER_X, 5.08, 14),
    ):
        x = np.linspace(low, high, count + 1)
        points = np.column_stack([x, np.full_like(x, GIRDER_Y), height(x)])
        for place in thin_part_usages:
            s.add_chain("cables", points, np.full(len(x), 0.046), color=CABLE, mirror="xy", usage=place)
    for i in range(1, round(4.9 / hanger_spacing)):
        at = i * hanger_spacing
        if abs(at - TOWER_X) > 0.3 * hanger_spacing and at < 4.75:
            top = float(
                _compute_main_cable_height(np.array(at)) if at < TOWER_X else _compute_side_cable_height(np.array(at))
            )
            for place in thin_part_usages:
                ends = [(at, GIRDER_Y, 1.05), (at, GIRDER_Y, top)]
                s.add_chain("hangers", ends, [0.025, 0.025], color=CABLE, mirror="xy", usage=place)
    return s.build()


def _paint(context: PaintContext) -> Array:
    x, y, _ = context.points.T
    road = context.is_on_part("deck") * smoothstep(0.7, 0.9, context.normals[:, 2])
    edge = smoothstep(0.018, 0.010, np.abs(np.abs(y) - 0.34))
    colors = mix_colors(context.colors, EDGE_LINE_COLOR, road * edge)
    along = np.abs((x + 0.2) % 0.4 - 0.2)
    dash = smoothstep(0.016, 0.009, np.abs(y)) * smoothstep(0.115, 0.10, along)
    return mix_colors(colors, CENTRE_LINE_COLOR, road * dash)
