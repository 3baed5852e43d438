"""A suspension bridge, 11 m long and 2.8 m high, along x on piers at z = 0."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTet
from cajole.scenes.recipe import Canvas, Recipe, mixed, smoothstep
from cajole.scenes.sculpt import Sculptor
from cajole.scenes.sdf import Shape

STEEL, CABLE = (0.74, 0.20, 0.12), (0.78, 0.24, 0.15)
ROAD, CONCRETE = (0.30, 0.31, 0.33), (0.66, 0.64, 0.60)
LINE, DASH = (0.93, 0.93, 0.90), (0.95, 0.82, 0.35)
HALF, TOWER, WIDTH = 5.2, 2.55, 0.46
# hangers stand this far apart, so that their cages do not touch at thirty thousand tets
PITCH = 0.51
# cables and hangers are simulated with the rest but drawn on the finer grid of decorations
THIN = ("cage", "decor")


def recipe() -> Recipe:
    """A suspension bridge of about thirty-one thousand tets."""
    return Recipe(
        name="bridge",
        title="Suspension bridge",
        description="A suspension bridge between two anchors; its deck, cables and towers sway.",
        shape=_shape(),
        tets=31_000,
        spacing=(0.056, 0.042),
        fixed=_concrete,
        young=6.0e6,
        poisson=0.35,
        damping=(0.2, 0.003),
        sigma=0.004,
        paint=_paint,
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


def _concrete(mesh: MeshTet, parts: Mapping[str, IndexArray]) -> IndexArray:
    return np.concatenate([parts["piers"], parts["anchors"]])


def _main(x: Array) -> Array:
    """Height of the cable between the towers."""
    return 1.28 + 1.49 * (x / TOWER) ** 2


def _side(x: Array) -> Array:
    """Height of the cable from a tower to its anchor."""
    return 1.33 + 1.44 * (1 - (x - TOWER) / 2.53).clip(0) ** 1.45


def _shape() -> Shape:
    s = Sculptor(color=STEEL)
    s.box("deck", (0, 0, 1.0), (HALF, 0.44, 0.085), rounding=0.03, color=ROAD)
    s.box("girders", (0, WIDTH, 1.01), (HALF, 0.065, 0.115), rounding=0.03, blend=0.02, mirror="y")
    s.chain("towers", [(TOWER, 0.56, 0), (TOWER, WIDTH, 2.75)], [0.105, 0.085], blend=0.03, mirror="xy")
    s.ellipsoid("towers", (TOWER, WIDTH, 2.78), (0.12, 0.12, 0.09), blend=0.02, mirror="xy")
    for z, half in ((0.72, (0.08, 0.50, 0.085)), (1.62, (0.075, 0.48, 0.08)), (2.18, (0.07, 0.46, 0.075)),
                    (2.66, (0.07, 0.46, 0.075))):  # fmt: skip
        s.box("cross beams", (TOWER, 0, z), half, rounding=0.02, blend=0.04, mirror="x")
    s.box("piers", (TOWER, 0, -0.02), (0.26, 0.78, 0.20), rounding=0.06, color=CONCRETE, mirror="x")
    s.box("anchors", (5.10, 0, 0.62), (0.34, 0.64, 0.80), rounding=0.06, color=CONCRETE, mirror="x")
    for height, low, high, count in ((_main, 0.0, TOWER, 20), (_side, TOWER, 5.08, 14)):
        x = np.linspace(low, high, count + 1)
        points = np.column_stack([x, np.full_like(x, WIDTH), height(x)])
        for place in THIN:
            s.chain("cables", points, np.full(len(x), 0.046), color=CABLE, mirror="xy", place=place)
    for i in range(1, round(4.9 / PITCH)):
        at = i * PITCH
        if abs(at - TOWER) > 0.3 * PITCH and at < 4.75:
            top = float(_main(np.array(at)) if at < TOWER else _side(np.array(at)))
            for place in THIN:
                ends = [(at, WIDTH, 1.05), (at, WIDTH, top)]
                s.chain("hangers", ends, [0.025, 0.025], color=CABLE, mirror="xy", place=place)
    return s.shape()


def _paint(canvas: Canvas) -> Array:
    x, y, _ = canvas.points.T
    road = canvas.on("deck") * smoothstep(0.7, 0.9, canvas.normals[:, 2])
    edge = smoothstep(0.018, 0.010, np.abs(np.abs(y) - 0.34))
    colors = mixed(canvas.colors, LINE, road * edge)
    along = np.abs((x + 0.2) % 0.4 - 0.2)
    dash = smoothstep(0.016, 0.009, np.abs(y)) * smoothstep(0.115, 0.10, along)
    return mixed(colors, DASH, road * dash)
