"""A sauropod on four legs, 4.7 m long and 2.8 m high, its feet on the floor z = 0 and its nose along x."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTet
from cajole.scenes.scene_definition import PaintContext, SceneDefinition, build_eye_pair, mix_colors, smoothstep
from cajole.scenes.sdf import ImplicitShape
from cajole.scenes.shape_builder import ImplicitShapeBuilder

GREEN, SPOT, CREAM = (0.36, 0.62, 0.33), (0.20, 0.43, 0.24), (0.86, 0.84, 0.58)
ORANGE, NAIL, DARK = (0.93, 0.52, 0.16), (0.95, 0.90, 0.74), (0.10, 0.16, 0.10)


def define_scene() -> SceneDefinition:
    """A sauropod of about five thousand tets."""
    shape = _build_shape()
    return SceneDefinition(
        name="dinosaur",
        title="Dinosaur",
        description="A sauropod whose long neck and tail swing on four planted feet.",
        shape=shape,
        tets=5000,
        skin_spacing=(0.040, 0.021),
        find_fixed_vertices=_find_fixed_vertices,
        young=4.6e6,
        damping=(0.2, 0.003),
        eyes=build_eye_pair((1.555, 0.176, 2.685), (1.588, 0.207, 2.692), (0.062, 0.036)),
        painter=_make_painter(shape),
        camera={
            "azimuth": -62.0,
            "elevation": 9.0,
            "fov": 28.0,
            "size": (960, 640),
            "background": (0.86, 0.80, 0.70),
            "floor": (0.88, 0.83, 0.74),
            "floor_height": 0.0,
        },
    )


def define_large_scene() -> SceneDefinition:
    """The same animal with about seventeen thousand vertices."""
    small = define_scene()
    return replace(
        small,
        name="dinosaur-large",
        title="Dinosaur, large",
        tets=82_000,
        description=small.description + " Fine cage.",
    )


def _find_fixed_vertices(mesh: MeshTet, parts: Mapping[str, IndexArray]) -> IndexArray:
    return np.flatnonzero(mesh.vertices[:, 2] < 0.03)


def _build_shape() -> ImplicitShape:
    # back plates: place along the spine and height [m]
    plate_heights = {
        1.14: 0.10, 1.00: 0.12, 0.80: 0.15, 0.52: 0.18, 0.26: 0.21, -0.02: 0.235, -0.30: 0.24,
        -0.58: 0.23, -0.86: 0.20, -1.12: 0.17, -1.38: 0.14, -1.62: 0.115, -1.86: 0.09,
    }  # fmt: skip
    builder = ImplicitShapeBuilder(color=GREEN)
    builder.add_chain("torso", [(-0.58, 0, 1.06), (-0.05, 0, 1.10), (0.52, 0, 1.14)], [0.46, 0.56, 0.43], segments=8)
    neck = [(0.55, 0, 1.22), (0.98, 0, 1.62), (1.20, 0, 2.10), (1.36, 0, 2.52)]
    builder.add_chain("neck", neck, [0.37, 0.245, 0.19, 0.17], segments=14, blend=0.22)
    tail = [(-0.62, 0, 1.05), (-1.15, 0, 0.90), (-1.72, 0.07, 0.62), (-2.30, 0.20, 0.47), (-2.82, 0.36, 0.58)]
    builder.add_chain("tail", tail, [0.40, 0.27, 0.175, 0.11, 0.045], segments=18, blend=0.22)
    builder.add_ellipsoid("head", (1.50, 0, 2.60), (0.29, 0.20, 0.19), pitch=12, blend=0.10)
    builder.add_ellipsoid("head", (1.74, 0, 2.53), (0.20, 0.165, 0.125), pitch=14, blend=0.12)
    front = [(0.46, 0.29, 1.0), (0.50, 0.36, 0.55), (0.52, 0.37, 0.16)]
    builder.add_chain("front legs", front, [0.24, 0.175, 0.175], segments=6, blend=0.16, mirror="y")
    builder.add_ellipsoid("front legs", (0.58, 0.37, 0.10), (0.235, 0.20, 0.10), blend=0.10, mirror="y")
    hind = [(-0.48, 0.28, 0.98), (-0.38, 0.37, 0.56), (-0.50, 0.38, 0.16)]
    builder.add_chain("hind legs", hind, [0.30, 0.20, 0.18], segments=6, blend=0.18, mirror="y")
    builder.add_ellipsoid("hind legs", (-0.43, 0.38, 0.10), (0.24, 0.205, 0.10), blend=0.10, mirror="y")
    s = builder
    bare = s.build()
    for x, height in plate_heights.items():
        _add_back_plate(s, bare, x, height)
    for x, y in ((0.58 + 0.205, 0.37), (-0.43 + 0.21, 0.38)):
        for side in (-0.10, 0.0, 0.10):
            at = (x - 1.6 * side**2, y + side, 0.045)
            s.add_ellipsoid("nails", at, (0.055, 0.045, 0.05), blend=0.01, color=NAIL, mirror="y", usage="decor")
    s.cut_below(0.0, blend=0.03)
    return s.build()


def _add_back_plate(builder: ImplicitShapeBuilder, body_shape: ImplicitShape, x: float, height: float) -> None:
    """Add a hexagonal plate on the back at x, along the surface normal there."""
    plate_outline = np.array([(-0.12, 0.62), (0.42, 0.60), (1.0, 0.10), (1.0, -0.10), (0.42, -0.60), (-0.12, -0.62)])
    # straight down from above the animal to its back: Newton from the last sample outside
    z = np.linspace(2.4 if x > 1.05 else 2.0, 0.3, 400)
    y = 0.02 + 0.18 * max(-x - 1.15, 0.0)  # the tail bends aside
    column = np.column_stack([np.full_like(z, x), np.full_like(z, y), z])
    first = int(np.argmax(body_shape.distance(column) < 0))
    foot = body_shape.project(column[first : first + 1], steps=6)
    normal = body_shape.normals(foot)
    along = np.array([-normal[0, 2], 0.0, normal[0, 0]])
    builder.add_sheet(
        "plates", height * plate_outline, origin=foot[0], along=normal[0], normal=np.cross(along, normal[0]),
        thickness=(0.022, 0.022), corner_cuts=1, blend=0.02, color=ORANGE, usage="decor",
    )  # fmt: skip


def _make_painter(shape: ImplicitShape) -> Callable[[PaintContext], Array]:
    centers, radii = _place_spots(shape)

    def paint(context: PaintContext) -> Array:
        p, n, colors = context.points, context.normals, context.colors
        green = context.is_on_part("torso", "neck", "tail", "head", "front legs", "hind legs")
        belly = smoothstep(0.25, 0.85, -n[:, 2]) * smoothstep(0.25, 0.45, p[:, 2])
        colors = mix_colors(colors, CREAM, np.where(green, belly, 0))
        colors = colors * (1 - np.where(green, 0.18 * np.clip(n[:, 2], 0, 1), 0))[:, None]
        away = np.linalg.norm(p[:, None] - centers, axis=2) - radii
        colors = mix_colors(colors, SPOT, np.where(green, 0.85 * smoothstep(0.008, -0.008, away.min(axis=1)), 0))
        line = np.abs(p[:, 2] - (2.487 - 0.20 * (p[:, 0] - 1.74)))
        mouth = smoothstep(0.014, 0.006, line) * smoothstep(1.61, 1.64, p[:, 0])
        return mix_colors(colors, DARK, np.where(context.is_on_part("head"), 0.9 * mouth, 0))

    return paint


def _place_spots(shape: ImplicitShape) -> tuple[Array, Array]:
    """Centres (k, 3) on the upper flanks, at least 0.30 m apart, with radii (k,)."""
    random = np.random.default_rng(7)
    low, high = [-2.6, -0.9, 0.4], [1.9, 0.9, 2.8]
    body = shape.select_skin()
    seeds = body.project(random.uniform(low, high, (3000, 3)), steps=8)
    normals = body.normals(seeds)
    fit = (
        (normals[:, 2] > -0.1)
        & (normals[:, 2] < 0.85)
        & (np.abs(normals[:, 1]) > 0.4)
        & (seeds[:, 2] > 0.62 - 0.25 * (seeds[:, 0] < -1.2))
    )
    fit &= np.abs(body.distance(seeds)) < 1e-6
    fit &= (seeds[:, 0] < 1.35) | (seeds[:, 2] < 2.2)
    chosen: list[int] = []
    for i in np.flatnonzero(fit):
        if len(chosen) < 60 and all(np.linalg.norm(seeds[i] - seeds[j]) > 0.30 for j in chosen):
            chosen.append(int(i))
    # smaller towards the thin ends
    reach = np.clip(1.25 - 0.4 * np.abs(seeds[chosen, 0]), 0.35, 1)
    return seeds[chosen], random.uniform(0.065, 0.105, len(chosen)) * reach
