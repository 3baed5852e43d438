"""A clownfish, 1.85 m long, swimming along x above a floor at z = -0.75; nothing holds it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTet
from cajole.scenes.recipe import BLACK, WHITE, Canvas, Recipe, eye_pair, mixed, smoothstep
from cajole.scenes.sculpt import Sculptor
from cajole.scenes.sdf import Shape

ORANGE, FIN = (0.96, 0.42, 0.08), (0.97, 0.50, 0.12)
# white bands: centre along x, half width, how far the middle bulges forward [m]
BANDS = ((0.285, 0.062, 0.0), (-0.13, 0.085, 0.10), (-0.60, 0.045, 0.0))
RIM = 0.028  # black on both sides of a band [m]
SHARP = 0.005  # width of the edge between two colours [m]

TAIL = [(0, 0.05), (0.10, 0.14), (0.22, 0.27), (0.36, 0.36), (0.44, 0.37), (0.45, 0.30), (0.40, 0.17), (0.355, 0.06)]
DORSAL = [
    (-0.30, 0), (-0.24, 0.16), (-0.14, 0.235), (-0.02, 0.25), (0.10, 0.20), (0.20, 0.21), (0.32, 0.225), (0.40, 0.17),
    (0.44, 0.08), (0.46, -0.05), (-0.2, -0.1),
]  # fmt: skip
ANAL = [(0.05, 0.05), (0.10, -0.12), (0.20, -0.19), (0.30, -0.20), (0.40, -0.13), (0.46, 0.05)]
PECTORAL = [
    (-0.02, -0.05), (-0.02, 0.05), (0.08, 0.11), (0.18, 0.135), (0.27, 0.11), (0.32, 0.03), (0.31, -0.05),
    (0.24, -0.11), (0.12, -0.10),
]  # fmt: skip
PELVIC = [(-0.02, -0.04), (-0.02, 0.05), (0.10, 0.08), (0.20, 0.06), (0.25, 0), (0.18, -0.05)]


def recipe() -> Recipe:
    """A free clownfish of about three and a half thousand tets."""
    return Recipe(
        name="fish",
        title="Clownfish",
        description="A clownfish that floats free: no vertex is held, so it swims, turns and drifts.",
        shape=_shape(),
        tets=3500,
        clamp=0.65,  # all fins are broad plates: enough to keep them whole, and apart from each other
        spacing=(0.019, 0.0095),
        fixed=_free,
        young=2.3e5,
        damping=(0.2, 0.003),
        sigma=0.006,
        eyes=eye_pair((0.455, 0.135, 0.075), (0.470, 0.168, 0.078), (0.058, 0.036)),
        paint=_paint,
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


def _free(mesh: MeshTet, parts: Mapping[str, IndexArray]) -> IndexArray:
    return np.zeros(0, dtype=np.int64)


def _shape() -> Shape:
    s = Sculptor(color=ORANGE)
    s.ellipsoid("body", (0, 0, 0), (0.62, 0.19, 0.33))
    s.ellipsoid("body", (0.22, 0, 0), (0.40, 0.20, 0.27), blend=0.12)
    s.chain("body", [(-0.40, 0, 0), (-0.72, 0, 0)], [0.15, 0.075], blend=0.18)
    back, side = (-1, 0, 0), (0, 1, 0)
    tail = [*TAIL, (0.345, 0), *[(u, -v) for u, v in TAIL[::-1]]]
    s.sheet("tail", tail, origin=(-0.68, 0, 0), along=back, normal=side, thickness=(0.030, 0.016),
            bend=(0.35, 0, 0), blend=0.05, color=FIN)  # fmt: skip
    # the frame's second axis is normal x along; fins are drawn with it pointing up
    up = -np.sign(np.cross(side, back)[2])
    for part, outline, z, thick in (("dorsal", DORSAL, 0.27, 0.026), ("anal", ANAL, -0.22, 0.024)):
        flipped = [(u, -up * v) for u, v in outline]
        s.sheet(
            part, flipped, origin=(0, 0, z), along=back, normal=side, thickness=(thick, 0.016), blend=0.05, color=FIN
        )
    s.sheet("pectoral fins", PECTORAL, origin=(0.18, 0.175, -0.08), along=(-0.72, 0.62, -0.30),
            normal=(0.55, 0.75, 0.25), thickness=(0.024, 0.016), bend=(0.5, 0, 0), blend=0.04, color=FIN,
            mirror="y")  # fmt: skip
    s.sheet("pelvic fins", PELVIC, origin=(0.17, 0.06, -0.27), along=(-0.42, 0.34, -0.84), normal=(0.1, 0.95, 0.3),
            thickness=(0.022, 0.016), blend=0.04, color=FIN, mirror="y")  # fmt: skip
    return s.shape()


def _paint(canvas: Canvas) -> Array:
    x, _, z = canvas.points.T
    banded = canvas.on("body", "dorsal", "anal")
    colors = canvas.colors
    for center, half, bulge in BANDS:
        away = np.abs(x - center - bulge * np.exp(-((z / 0.14) ** 2))) - half
        colors = mixed(colors, BLACK, banded * smoothstep(RIM + SHARP, RIM - SHARP, away))
        colors = mixed(colors, WHITE, banded * smoothstep(SHARP, -SHARP, away))
    tip = np.where(canvas.on("tail"), _past(np.hypot(x + 0.68, 0.75 * z), 0.475), 0)
    tip = np.where(canvas.on("dorsal"), _past(z - 0.10 * np.cos(9 * (x + 0.05)) * 0.2, 0.475), tip)
    tip = np.where(canvas.on("anal"), _past(-z, 0.385), tip)
    colors = mixed(colors, BLACK, tip)
    line = np.abs(z - (-0.045 - 0.35 * (x - 0.60)))
    mouth = smoothstep(0.009, 0.004, line) * smoothstep(0.515, 0.53, x)
    return mixed(colors, (0.25, 0.08, 0.03), np.where(canvas.on("body"), mouth, 0))


def _past(value: Array, edge: float) -> Array:
    return smoothstep(edge - SHARP, edge + SHARP, value)
