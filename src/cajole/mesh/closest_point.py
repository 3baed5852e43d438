"""Closest points on a triangle mesh, with the side of each query point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.arrays import Array, IndexArray
from cajole.checks import require_instance, require_positive, require_real_array
from cajole.errors import MeshError
from cajole.mesh.base import MeshTri, make_read_only


class ClosestPointResult(NamedTuple):
    """Result of a `ClosestPointQuery` for k points.

    distance: (k,) [m]; sign: (k,) 1 on the side of the normals, outside of a closed mesh, -1 on the other; triangle:
    (k,) indices; point: (k, 3) [m] the closest point; normal: (k, 3) its unit pseudonormal; feature: (k,) 0 in the
    face, 1 to 3 on its edges 01, 12, 20, 4 to 6 at its corners.
    Beyond `max_distance`: distance inf, triangle -1, sign 1, the rest zero.
    """

    distance: Array
    sign: Array
    triangle: IndexArray
    point: Array
    normal: Array
    feature: IndexArray


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ClosestPointQuery:
    """Bounding volume hierarchy of a triangle mesh for closest point queries.

    The side follows from angle-weighted pseudonormals (Bærentzen and Aanæs 2005), also near edges and corners.
    """

    mesh: MeshTri
    corners: Array
    boxes: Array
    bvh_nodes: IndexArray
    triangle_order: IndexArray
    pseudonormals: Array

    def __init__(self, mesh: MeshTri):
        require_instance(mesh, MeshTri, "mesh")
        from cajole.mesh import kernels_closest_point as kernels  # compiled code loads slowly

        order, boxes, links = kernels.build_bvh(mesh.vertices[mesh.triangles])
        corners = mesh.vertices[mesh.triangles[order]]
        kernels.refit_bvh(corners, links, boxes)
        arrays = (corners, boxes, links, order, compute_pseudonormals(mesh)[order])
        object.__setattr__(self, "mesh", mesh)
        for name, array in zip(("corners", "boxes", "bvh_nodes", "triangle_order", "pseudonormals"), arrays):
            object.__setattr__(self, name, make_read_only(np.ascontiguousarray(array)))

    def __repr__(self) -> str:
        return f"ClosestPointQuery({self.mesh!r})"

    @property
    def bvh_arrays(self) -> tuple[Array, Array, IndexArray]:
        """The arguments corners, boxes and bvh_nodes of the kernels."""
        return self.corners, self.boxes, self.bvh_nodes

    def __call__(self, points: ArrayLike, *, max_distance: float | None = None) -> ClosestPointResult:
        """The closest point to each of `points` (k, 3) [m], up to `max_distance` [m].

        Raises InputError unless the points are finite and `max_distance` is positive.
        """
        from cajole.mesh import kernels_closest_point as kernels

        places = require_real_array(points, "points", (None, 3))
        reach = np.inf if max_distance is None else require_positive(max_distance, "max_distance (m)")
        k = len(places)
        found = ClosestPointResult(
            np.full(k, np.inf), np.ones(k), np.full(k, -1), np.zeros((k, 3)), np.zeros((k, 3)), np.zeros(k, np.int64)
        )
        kernels.find_closest_points(places, *self.bvh_arrays, self.triangle_order, self.pseudonormals, reach, *found)
        return found

    def compute_signed_distances(self, points: ArrayLike) -> Array:
        """(k,) [m] the distance of each point, negative inside. Raises MeshError if the mesh has no inside."""
        if not has_inside(self.mesh):
            raise MeshError("the surface has no inside: it is open or not oriented; close its holes")
        found = self(points)
        return found.sign * found.distance


def find_closest_points(points: ArrayLike, mesh: MeshTri, *, max_distance: float | None = None) -> ClosestPointResult:
    """Find the point of `mesh` closest to each of `points` (k, 3) [m]; for repeated queries use `ClosestPointQuery`."""
    return ClosestPointQuery(mesh)(points, max_distance=max_distance)


def has_inside(mesh: MeshTri) -> bool:
    """True if the surface is closed and oriented, so that the sign distinguishes inside and outside."""
    try:
        return mesh.is_closed() and bool(np.isfinite(mesh.volume))
    except MeshError:
        return False


def compute_pseudonormals(mesh: MeshTri) -> Array:
    """(m, 7, 3) unit normals of each triangle's face, its edges 01, 12, 20 and its corners 0, 1, 2.

    Sums of the face normals at edges, and sums weighted by the corner angles at corners; the normal of the face itself
    where a sum vanishes, as in a fold of two faces.
    """
    faces, triangles = mesh.normals, mesh.triangles
    out = np.empty((len(triangles), 7, 3))
    out[:, 0] = faces
    each = np.repeat(faces, 3, axis=0)
    edge = np.empty(3 * len(triangles), dtype=np.int64)
    half = mesh.half_edges
    edge[half.sort_order] = np.repeat(np.arange(len(half.edge_starts)), half.edge_valences)
    out[:, 1:4] = _normalise_group_sums(each, edge, each)
    x = mesh.vertices[triangles]
    ab, ac = np.roll(x, -1, axis=1) - x, np.roll(x, -2, axis=1) - x
    corner_angles = np.arctan2(np.linalg.norm(np.cross(ab, ac), axis=2), (ab * ac).sum(axis=2)).reshape(-1, 1)
    out[:, 4:] = _normalise_group_sums(corner_angles * each, triangles.reshape(-1), each)
    return out


def _normalise_group_sums(parts: Array, group: IndexArray, fallback: Array) -> Array:
    """(m, 3, 3) normalised sums of `parts` (3m, 3) over equal `group` (3m,); `fallback` where a sum vanishes."""
    sums = np.stack([np.bincount(group, parts[:, k]) for k in range(3)], axis=1)[group]
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    scale = np.linalg.norm(parts, axis=1, keepdims=True)
    vanishes: NDArray[np.bool_] = lengths <= 1e-9 * scale
    units = np.where(vanishes, fallback, sums / np.where(vanishes, 1.0, lengths))
    return np.asarray(units).reshape(-1, 3, 3)
