"""A potted flower with two blooms, 2.8 m high, its pot on the floor z = 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTet
from cajole.scenes.scene_definition import PaintContext, SceneDefinition, mix_colors, smoothstep
from cajole.scenes.sdf import ImplicitShape, LatticeGrading
from cajole.scenes.shape_builder import ImplicitShapeBuilder, build_leaf_outline

CLAY, SOIL = (0.72, 0.34, 0.20), (0.19, 0.12, 0.08)
STEM, LEAF, RIB = (0.30, 0.55, 0.20), (0.26, 0.52, 0.19), (0.42, 0.66, 0.30)
# petals and leaves are simulated with the rest but drawn on the finer grid of decorations
THIN_PART_USAGES = ("cage", "decor")
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class BloomDefinition:
    """A ring of petals around a disc: sizes [m], lift [rad], curvatures kb and kc of the petals."""

    name: str
    center: Vector
    normal: Vector
    petals: int
    petal_length: float
    petal_width: float
    thickness: tuple[float, float]
    root_radius: float
    lift_angle: float
    bend: tuple[float, float]
    disc_radius: float
    petal_colors: tuple[Vector, Vector]
    throat_color: Vector
    disc_color: Vector
    seed_color: Vector

    @property
    def frame(self) -> Array:
        """Rows: two axes in the plane of the bloom, and its normal."""
        n = np.asarray(self.normal) / np.linalg.norm(self.normal)
        across = np.cross([0.0, 0.0, 1.0], n)
        across /= np.linalg.norm(across)
        return np.array([across, np.cross(n, across), n])


BLOOMS = (
    BloomDefinition(
        "bloom", (0.22, -0.15, 2.27), (0.42, -0.72, 0.40), 11, 0.50, 0.135, (0.022, 0.016), 0.11, 0.16, (-0.22, 0.55),
        0.18, ((0.93, 0.30, 0.45), (0.90, 0.24, 0.40)), (0.62, 0.06, 0.22), (0.98, 0.76, 0.16), (0.66, 0.42, 0.06),
    ),
    # far enough from the first that their cages stay apart
    BloomDefinition(
        "second bloom", (-0.74, -0.15, 1.63), (-0.35, -0.72, 0.48), 9, 0.27, 0.085, (0.019, 0.016), 0.063, 0.22,
        (-0.25, 0.9), 0.104, ((0.98, 0.72, 0.30), (0.97, 0.68, 0.24)), (0.93, 0.45, 0.12), (0.55, 0.26, 0.10),
        (0.36, 0.15, 0.06),
    ),
)  # fmt: skip

# origin, direction, normal, length, width, bend; normals face the camera, or the leaves would be seen edge-on
LEAF_PARAMETERS = (
    ((0.02, 0, 0.98), (0.90, 0.06, 0.44), (-0.35, -0.75, 0.62), 0.72, 0.175, -0.45),
    ((0, 0, 1.02), (-0.86, -0.05, 0.50), (0.30, -0.75, 0.66), 0.66, 0.160, -0.45),
    ((0, 0.02, 1.44), (0.78, 0.14, 0.50), (-0.30, -0.75, 0.60), 0.44, 0.115, -0.60),
    ((0, 0.02, 0.84), (0.62, 0.55, 0.60), (-0.10, -0.60, 0.80), 0.46, 0.120, -0.50),
    ((0, 0, 0.79), (-0.50, -0.62, 0.46), (0.25, -0.20, 0.90), 0.34, 0.100, -0.60),
)


def define_scene() -> SceneDefinition:
    """A potted flower of about seven and a half thousand tets."""
    return SceneDefinition(
        name="flower",
        title="Flower",
        description="A potted flower with two blooms and five leaves that nod in the wind; the pot stands still.",
        shape=_build_shape(),
        tets=7600,
        skin_spacing=(0.035, 0.022),
        find_fixed_vertices=_find_fixed_vertices,
        young=6.5e7,
        damping=(0.2, 0.003),
        blend_width=0.005,
        grading=LatticeGrading(1.75, 0.50, 0.16),
        painter=_make_painter(),
        camera={
            "azimuth": -66.0,
            "elevation": 10.0,
            "fov": 24.0,
            "size": (720, 900),
            "background": (0.78, 0.82, 0.80),
            "floor": (0.80, 0.83, 0.81),
            "floor_height": 0.0,
        },
    )


def _find_fixed_vertices(mesh: MeshTet, parts: Mapping[str, IndexArray]) -> IndexArray:
    return parts["pot"]


def _build_shape() -> ImplicitShape:
    s = ImplicitShapeBuilder(color=STEM)
    outer = [(0, 0), (0.33, 0), (0.45, 0.56), (0.51, 0.56), (0.51, 0.72)]
    hollow = [(0.42, 0.72), (0.40, 0.60), (0, 0.60)]
    s.add_revolved_profile("pot", [*outer, *hollow], rounding=0.02, color=CLAY, usage="skin")
    s.add_revolved_profile("pot", [*outer, (0, 0.72)], rounding=0.02, color=CLAY, usage="cage")
    s.add_ellipsoid("soil", (0, 0, 0.60), (0.41, 0.41, 0.075), blend=0.02, color=SOIL, usage="skin")
    stem = [(0, 0, 0.60), (0.03, 0, 1.0), (-0.03, 0.02, 1.45), (0.02, 0, 1.90), (0.17, -0.10, 2.20)]
    s.add_chain("stem", stem, [0.060, 0.052, 0.048, 0.046, 0.046], segments=10, blend=0.05)
    branch = [(0, 0.01, 1.30), (-0.27, 0.02, 1.43), (-0.54, -0.03, 1.54), (-0.71, -0.12, 1.61)]
    s.add_chain("branch", branch, [0.042, 0.038, 0.036, 0.036], segments=6, blend=0.04)
    for bloom in BLOOMS:
        _add_bloom(s, bloom)
    for origin, along, normal, length, width, bend in LEAF_PARAMETERS:
        outline = build_leaf_outline(length, width, peak=0.85, fullness=1.10)
        for place in THIN_PART_USAGES:
            s.add_sheet("leaves", outline, origin=origin, along=along, normal=normal, thickness=(0.022, 0.016),
                    bend=(bend, 0.6, 0), corner_cuts=0, blend=0.03, color=LEAF, usage=place)  # fmt: skip
    return s.build()


def _add_bloom(builder: ImplicitShapeBuilder, bloom: BloomDefinition) -> None:
    center, (a, b, n) = np.asarray(bloom.center), bloom.frame
    outline = build_leaf_outline(bloom.petal_length, bloom.petal_width, peak=0.80, fullness=0.75)
    for i, angle in enumerate(2 * np.pi * np.arange(bloom.petals) / bloom.petals):
        out = np.cos(angle) * a + np.sin(angle) * b
        along = np.cos(bloom.lift_angle) * out + np.sin(bloom.lift_angle) * n
        up = np.cos(bloom.lift_angle) * n - np.sin(bloom.lift_angle) * out
        for place in THIN_PART_USAGES:
            builder.add_sheet(bloom.name, outline, origin=center + bloom.root_radius * out, along=along, normal=up,
                    thickness=bloom.thickness, bend=(*bloom.bend, 0.0), corner_cuts=0, blend=0.015,
                    color=bloom.petal_colors[i % 2], usage=place)  # fmt: skip
    disc = bloom.disc_radius
    builder.add_ellipsoid(
        f"{bloom.name} calyx", center - 0.28 * disc * n, 0.67 * disc * np.array([1, 1, 0.83]), normal=n, blend=0.05
    )
    heart = center + 0.11 * disc * n
    builder.add_ellipsoid(
        f"{bloom.name} disc", heart, disc * np.array([1, 1, 0.467]), normal=n, blend=0.02, color=bloom.disc_color
    )


def _make_painter() -> Callable[[PaintContext], Array]:
    dots = [_place_seeds(bloom) for bloom in BLOOMS]
    frames = [_build_leaf_frame(origin, along, normal) for origin, along, normal, *_ in LEAF_PARAMETERS]

    def paint(context: PaintContext) -> Array:
        colors = context.colors.copy()
        for bloom, seeds in zip(BLOOMS, dots):
            mine = np.flatnonzero(context.is_on_part(bloom.name))
            away = np.linalg.norm(context.points[mine] - bloom.center, axis=1) / (
                bloom.root_radius + bloom.petal_length
            )
            colors[mine] = mix_colors(colors[mine], bloom.throat_color, 0.75 * smoothstep(0.68, 0.22, away))
            mine = np.flatnonzero(context.is_on_part(f"{bloom.name} disc"))
            near = np.linalg.norm(context.points[mine, None] - seeds, axis=2).min(axis=1) / bloom.disc_radius
            colors[mine] = mix_colors(colors[mine], bloom.seed_color, 0.85 * smoothstep(0.070, 0.040, near))
        mine = np.flatnonzero(context.is_on_part("leaves"))
        colors[mine] = mix_colors(colors[mine], RIB, _compute_midrib_weights(context.points[mine], frames))
        return colors

    return paint


def _place_seeds(bloom: BloomDefinition) -> Array:
    """Centres (k, 3) of the seeds of a disc, in the golden-angle spiral of sunflowers."""
    i = np.arange(1, 90)
    radius, angle = 0.98 * bloom.disc_radius * np.sqrt(i / 90), i * np.pi * (3 - np.sqrt(5))
    height = 0.467 * np.sqrt(np.maximum(bloom.disc_radius**2 - radius**2, 0)) + 0.11 * bloom.disc_radius
    return (
        np.asarray(bloom.center)
        + np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height]) @ bloom.frame
    )


def _build_leaf_frame(origin: Vector, along: Vector, normal: Vector) -> tuple[Array, Array]:
    u, w = np.asarray(along) / np.linalg.norm(along), np.asarray(normal)
    v = np.cross(w, u)
    return np.asarray(origin), np.array([u, v / np.linalg.norm(v)])


def _compute_midrib_weights(points: Array, frames: list[tuple[Array, Array]]) -> Array:
    """Visibility of the light midrib at each point, on the leaf with the nearest plane."""
    best, amount = np.full(len(points), np.inf), np.zeros(len(points))
    for (origin, axes), (*_, length, _, bend) in zip(frames, LEAF_PARAMETERS):
        u, v = ((points - origin) @ axes.T).T
        w = (points - origin) @ np.cross(*axes) - bend * u**2 - 0.6 * v**2
        away = np.abs(w) + np.maximum(u - length, 0) + np.maximum(-u, 0) + np.maximum(np.abs(v) - 0.2, 0)
        rib = 0.7 * smoothstep(0.010, 0.004, np.abs(v)) * smoothstep(0.95, 0.6, u / length)
        amount, best = np.where(away < best, rib, amount), np.minimum(best, away)
    return amount
