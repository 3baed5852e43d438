"""Definition of a scene: implicit shape, paint, eyes, fixed vertices, camera and material."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTet
from cajole.scenes.sdf import ImplicitShape, LatticeGrading
from cajole.scenes.tetrahedralisation import MIN_RADIUS_CELLS

WHITE = (0.97, 0.97, 0.95)
BLACK = (0.05, 0.05, 0.06)


@dataclass(frozen=True)
class EyeDefinition:
    """A glossy sphere: a separate part of the skin, attached rigidly to one tet."""

    part: str
    center: tuple[float, float, float]
    radius: float
    color: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class PaintContext:
    """Arguments of a painter: points (n, 3) [m] of a shape, base colours (n, 3) and the part (n,) of each point."""

    shape: ImplicitShape
    points: Array
    colors: Array
    labels: IndexArray

    @cached_property
    def normals(self) -> Array:
        """Outward unit normals (n, 3); expensive, computed at first access."""
        return self.shape.normals(self.points)

    def is_on_part(self, *names: str) -> NDArray[np.bool_]:
        """Mask (n,) of the points that belong to one of the named parts."""
        return np.isin(self.labels, [self.shape.parts.index(name) for name in names])


@dataclass(frozen=True, eq=False)
class SceneDefinition:
    """Everything needed to build a scene.

    find_fixed_vertices: maps mesh and parts to the fixed vertices; skin_spacing: of the skin [m], normal and fine;
    blend_width: [m] over which colours of neighbouring parts blend; min_radius_cells, grading: as for `tetrahedralise`.
    """

    name: str
    title: str
    description: str
    shape: ImplicitShape
    tets: int
    skin_spacing: tuple[float, float]
    find_fixed_vertices: Callable[[MeshTet, Mapping[str, IndexArray]], IndexArray]
    young: float
    damping: tuple[float, float]
    poisson: float = 0.4
    density: float = 1000.0
    blend_width: float = 0.012
    min_radius_cells: float = MIN_RADIUS_CELLS
    grading: LatticeGrading | None = None
    eyes: tuple[EyeDefinition, ...] = ()
    painter: Callable[[PaintContext], Array] | None = None
    camera: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def build_eye_pair(
    center: tuple[float, float, float], pupil: tuple[float, float, float], radii: tuple[float, float]
) -> tuple[EyeDefinition, ...]:
    """A white ball and a dark pupil on both sides of the plane y = 0."""
    eyes = []
    for side, name in ((1, "left"), (-1, "right")):
        for what, (x, y, z), radius, color in (("eye", center, radii[0], WHITE), ("pupil", pupil, radii[1], BLACK)):
            eyes.append(EyeDefinition(f"{name} {what}", (x, side * y, z), radius, color))
    return tuple(eyes)


def smoothstep(low: float, high: float, value: Array) -> Array:
    """0 below `low`, 1 above `high`, and a cubic between."""
    t = np.clip((value - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def mix_colors(colors: Array, color: tuple[float, float, float], amount: Array) -> Array:
    """Blend colours (n, 3) with one colour by amounts (n,) in 0..1."""
    return colors + amount[:, None] * (np.asarray(color) - colors)
