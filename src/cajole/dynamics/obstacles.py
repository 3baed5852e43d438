"""Obstacles that bodies fall on: one-sided penalty forces with friction, taken implicitly by `simulate`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.dynamics import kernels_obstacles as kernels
from cajole.errors import InputError
from cajole.mesh import ClosestPointQuery, MeshTet, MeshTri
from cajole.mesh.closest_point import has_inside


@dataclass(frozen=True, eq=False, kw_only=True)
class Obstacle(ABC):
    """What stands still and pushes vertices out along its normal: a pressure of `stiffness` [Pa/m] times the depth.

    friction: Coulomb's, with the normal force at the start of a step and smoothed at speeds near zero; damping: how
    much more it pushes, as a share, against what comes in at √(g L), the speed of a fall from half the body's size;
    stiffness: by default a body on a fiftieth of its surface sinks in by a thousandth of its size; margin [m]: how far
    outside the surface it begins to push.
    """

    friction: float = 0.5
    damping: float = 0.5
    stiffness: float | None = None
    margin: float = 0.0

    def __post_init__(self) -> None:
        for name in ("friction", "damping", "margin"):
            object.__setattr__(self, name, checks.require_positive(getattr(self, name), name, allow_zero=True))
        if self.stiffness is not None:
            object.__setattr__(self, "stiffness", checks.require_positive(self.stiffness, "stiffness (Pa/m)"))

    @abstractmethod
    def build_gap_query(self, points: ContactPoints) -> GapQuery:
        """What measures how far points of a body are from the obstacle."""

    def _format_parameters(self) -> str:
        """What was set apart from its shape."""
        stiff = "" if self.stiffness is None else f", stiffness={self.stiffness:g}"
        margin = f", margin={self.margin:g}" * (self.margin > 0)
        return f"friction={self.friction:g}, damping={self.damping:g}{stiff}{margin}"


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """What can touch: k points that stand for areas (k,) [m²] of a surface, at rest (k, 3) [m].

    corners, weights (k, c): the vertices that carry each point; slots (k, c, c): where the blocks between these begin
    on the body's pattern.
    """

    rest_positions: Array
    areas: Array
    corners: IndexArray
    weights: Array
    block_offsets: IndexArray

    @property
    def interpolation(self) -> tuple[Array, IndexArray, Array]:
        """As the kernels take it."""
        return self.rest_positions, self.corners, self.weights


class GapQuery(ABC):
    """How far k points are from one obstacle: gap, normal, bend and axis, as `kernels_obstacles` tells."""

    def __init__(self, points: ContactPoints):
        self.points, k = points, len(points.rest_positions)
        self.gap, self.curvature = np.full(k, np.inf), np.zeros(k)
        self.normal, self.axis = np.zeros((k, 3)), np.zeros((k, 3))

    @abstractmethod
    def update(self, u: Array) -> None:
        """Fill them for the displacement u (n, 3)."""


@dataclass(frozen=True, eq=False, repr=False)
class Ground(Obstacle):
    """The space below a plane: z = height [m], or a plane ((point), (normal)) whose normal leads out of the ground."""

    height: float = 0.0
    plane: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        height = checks.require_real_number(self.height, "height (m)")
        plane = ((0.0, 0.0, height), (0.0, 0.0, 1.0)) if self.plane is None else self.plane
        object.__setattr__(self, "plane", checks.require_plane(plane, "plane"))

    def __repr__(self) -> str:
        point, normal = (tuple(float(f"{value:.4g}") for value in part) for part in self.plane)
        upright = normal == (0.0, 0.0, 1.0)
        return (
            f"Ground({f'height={point[2]:g}' if upright else f'plane={(point, normal)}'}, {self._format_parameters()})"
        )

    def build_gap_query(self, points: ContactPoints) -> GapQuery:
        """What measures heights above the plane."""
        return _PlaneGapQuery(self, points)


class _PlaneGapQuery(GapQuery):
    def __init__(self, ground: Ground, points: ContactPoints):
        super().__init__(points)
        self.plane = ground.plane

    def update(self, u: Array) -> None:
        kernels.measure_plane(u, *self.points.interpolation, *self.plane, self.gap, self.normal)


@dataclass(frozen=True, eq=False, repr=False)
class ObstacleMesh(Obstacle):
    """The inside of a closed triangle mesh, whose normals point out of it; of a MeshTet its surface.

    Vertices are pushed out at the nearest point, so parts thinner than a fast vertex goes in a step are passed through.
    """

    mesh: MeshTri | MeshTet

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.require_instance(self.mesh, (MeshTri, MeshTet), "mesh")
        object.__setattr__(self, "mesh", self.mesh.surface)
        if not has_inside(self.mesh.surface):
            raise InputError("the obstacle's mesh has no inside: it is open or not oriented; close its holes")

    def __repr__(self) -> str:
        return f"ObstacleMesh({self.mesh!r}, {self._format_parameters()})"

    def build_gap_query(self, points: ContactPoints) -> GapQuery:
        """What measures distances from the mesh."""
        return _MeshGapQuery(self, points)


class _MeshGapQuery(GapQuery):
    def __init__(self, obstacle: ObstacleMesh, points: ContactPoints):
        super().__init__(points)
        self.closest_points, self.margin = ClosestPointQuery(obstacle.mesh.surface), obstacle.margin
        k = len(points.rest_positions)
        self.query_cache = np.zeros((k, 3)), np.zeros(k), np.full(k, -1)

    def update(self, u: Array) -> None:
        kernels.measure_mesh(
            u,
            *self.points.interpolation,
            *self.closest_points.bvh_arrays,
            self.closest_points.pseudonormals,
            self.margin,
            *self.query_cache,
            self.gap,
            self.normal,
            self.axis,
            self.curvature,
        )
