"""Plane sections through a body: the plane of an image, and the line along which it cuts the surface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.errors import InputError
from cajole.mesh import MeshTri


@dataclass(frozen=True, eq=False)
class ImageSection:
    """Plane of an image: the centre of pixel (row, column) is at origin + pixel_size (column right - row up).

    origin: (3,) [m] of pixel (0, 0), the upper left; right, up: orthogonal directions (3,); pixel_size [m]. Points in
    the section are (2,) [m] along right and up, from the origin.
    """

    origin: Any
    right: Any
    up: Any
    pixel_size: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", checks.require_real_array(self.origin, "origin (m)", (3,)))
        object.__setattr__(self, "pixel_size", checks.require_positive(self.pixel_size, "pixel_size (m)"))
        for name in ("right", "up"):
            way = checks.require_real_array(getattr(self, name), name, (3,))
            length = checks.require_positive(float(np.linalg.norm(way)), f"the length of {name}")
            object.__setattr__(self, name, way / length)
        if abs(float(self.right @ self.up)) > 1e-6:
            raise InputError(f"right and up of the section are not at right angles ({self.right} and {self.up})")

    def compute_heights(self, points: Array) -> Array:
        """(n,) [m] heights of points (n, 3) above the section, towards the viewer of the image."""
        return np.asarray((points - self.origin) @ np.cross(self.right, self.up))

    def project_points(self, points: Array) -> Array:
        """Projections (n, 2) [m] of points (n, 3) onto the section."""
        return np.asarray((points - self.origin) @ np.column_stack([self.right, self.up]))

    def lift_vectors(self, vectors: Array) -> Array:
        """Vectors (n, 2) in the section as vectors (n, 3) in space."""
        return np.asarray(vectors @ np.array([self.right, self.up]))

    def convert_pixels(self, pixels: Array) -> Array:
        """Points (n, 2) [m] of pixels (row, column) (n, 2)."""
        return self.pixel_size * pixels[:, ::-1] * (1.0, -1.0)


@dataclass(frozen=True, eq=False)
class Outline:
    """A closed counter-clockwise line in a section: points (m, 2) [m]; vertices (m,): the closest one to each."""

    points: Array
    vertices: IndexArray


def cut_outline(surface: MeshTri, positions: Array, section: ImageSection, name: str) -> Outline:
    """The outermost line along which `section` cuts a surface whose vertices are at `positions` (n, 3) [m].

    Raises InputError where it misses the surface, or cuts it along lines that do not close.
    """
    heights = section.compute_heights(positions)
    above = heights >= 0.0
    if above.all() or not above.any():
        raise InputError(
            f"the section misses the body at {name}, which lies between {heights.min():.4g} and {heights.max():.4g} m "
            "above it; move its origin by that much, or turn it"
        )
    loops = [
        _build_outline(positions, heights, section, loop) for loop in _find_edge_loops(surface.triangles, above, name)
    ]
    return max(loops, key=lambda loop: compute_signed_area(loop.points))


def compute_signed_area(points: Array) -> float:
    """[m²] enclosed by a closed line (m, 2), positive where it goes counter-clockwise."""
    x, y = points.T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def _find_edge_loops(triangles: IndexArray, above: NDArray[np.bool_], name: str) -> list[IndexArray]:
    """For each closed line, the edges (m, 2) that it crosses, in order."""
    cut = triangles[above[triangles].any(axis=1) & ~above[triangles].all(axis=1)]
    partners: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for triangle in cut:
        first, second = (
            (int(min(i, j)), int(max(i, j)))
            for i, j in zip(triangle, np.roll(triangle, -1)) if above[i] != above[j]
        )  # fmt: skip
        partners.setdefault(first, []).append(second)
        partners.setdefault(second, []).append(first)
    loose = [edge for edge, others in partners.items() if len(others) != 2]
    if loose:
        raise InputError(
            f"the section cuts the body at {name} along a line that ends at edge {loose[0]}: its surface has a rim "
            "there; close the surface, or move the section"
        )
    loops = []
    while partners:
        edge, loop = next(iter(partners)), list[tuple[int, int]]()
        while edge in partners:
            loop.append(edge)
            others = partners.pop(edge)
            edge = next((other for other in others if other in partners), edge)
        loops.append(np.array(loop))
    return loops


def _build_outline(positions: Array, heights: Array, section: ImageSection, edges: IndexArray) -> Outline:
    a, b = edges.T
    share = heights[a] / (heights[a] - heights[b])
    points = section.project_points(positions[a] + share[:, None] * (positions[b] - positions[a]))
    nodes = np.where(np.abs(heights[a]) <= np.abs(heights[b]), a, b)
    return Outline(points, nodes) if compute_signed_area(points) > 0.0 else Outline(points[::-1], nodes[::-1])
