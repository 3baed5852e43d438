"""Embedding of points in a tet mesh by barycentric weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cajole.arrays import Array, IndexArray
from cajole.checks import count_axes, require_index_array, require_integer, require_real_array
from cajole.errors import InputError
from cajole.mesh.base import MeshTri, build_kd_tree, make_read_only
from cajole.mesh.tet import MeshTet

# negative weights up to this size are rounding
WEIGHT_TOLERANCE = 1e-9
# number of tets compared for a point outside; more rarely change the result
CANDIDATE_TETS = 32


@dataclass(frozen=True, eq=False)
class Embedding:
    """Points in a tet mesh: x = Σᵢ wᵢ xᵢ over the corners of one tet each.

    tets: (k,) the tet of each point; weights: (k, 4) barycentric, rows sum to one, negative outside of the tet;
    corners: (k, 4) the vertices of these tets; vertex_count: n, the number of vertices of the mesh.
    """

    tets: IndexArray
    weights: Array
    corners: IndexArray
    vertex_count: int

    def __post_init__(self) -> None:
        weights = require_real_array(self.weights, "weights", (None, 4))
        tets = require_index_array(self.tets, "tets", (len(weights),), np.iinfo(np.int64).max)
        object.__setattr__(self, "vertex_count", require_integer(self.vertex_count, "vertex_count", minimum=0))
        corners = require_index_array(self.corners, "corners", (len(weights), 4), self.vertex_count)
        wrong = np.abs(weights.sum(axis=1) - 1) > WEIGHT_TOLERANCE
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(f"weights[{row}] sum to {weights[row].sum()}, but must sum to one")
        for name, array in (("tets", tets), ("weights", weights), ("corners", corners)):
            object.__setattr__(self, name, make_read_only(array.copy()))

    @cached_property
    def matrix(self) -> sparse.csr_matrix:
        """(k, n) sparse W with points = W @ positions."""
        rows = np.arange(0, self.weights.size + 1, 4)
        shape = (len(self.weights), self.vertex_count)
        return sparse.csr_matrix((self.weights.reshape(-1), self.corners.reshape(-1), rows), shape=shape)

    @cached_property
    def min_weights(self) -> Array:
        """(k,) the smallest weight of each point: negative outside the mesh."""
        return make_read_only(self.weights.min(axis=1))

    @cached_property
    def outside_mask(self) -> NDArray[np.bool_]:
        """(k,) True if the point is outside of all tets and extrapolated linearly from a near one."""
        return make_read_only(self.min_weights < -WEIGHT_TOLERANCE)

    def apply(self, positions: ArrayLike) -> Array:
        """Points for positions of the mesh: (n, 3) -> (k, 3), or (frames, n, 3) -> (frames, k, 3) [m].

        Raises InputError for positions of another mesh.
        """
        if count_axes(positions) == 3:
            frames = require_real_array(positions, "positions", (None, self.vertex_count, 3))
            moved = np.empty((len(frames), len(self.weights), 3))
            for frame, out in zip(frames, moved):
                out[:] = self.matrix @ frame
            return moved
        return np.asarray(self.matrix @ require_real_array(positions, "positions", (self.vertex_count, 3)))


def embed(points: ArrayLike | MeshTri, mesh: MeshTet) -> Embedding:
    """Embed each point, or each vertex of a triangle mesh, in the tet that contains it.

    A point outside is extrapolated from the near tet with the largest minimum weight. points: (k, 3) [m].
    Raises InputError unless the points are finite and the mesh a MeshTet.
    """
    if not isinstance(mesh, MeshTet):
        raise InputError(f"points are embedded into a MeshTet, not {type(mesh).__name__}")
    places = points.vertices if isinstance(points, MeshTri) else require_real_array(points, "points", (None, 3))
    low, high = mesh.bounds
    beyond = np.maximum(np.maximum(low - places, places - high), 0.0).max(axis=1)
    # farther away, the rounding of the weights would move a point visibly
    far = beyond > 1e6 * mesh.size
    if far.any():
        row = int(np.argmax(far))
        raise InputError(
            f"points[{row}] is {beyond[row]:.3g} m away from the mesh, whose size is {mesh.size:.3g} m "
            f"({int(far.sum())} such): too far to follow it; check the units of both"
        )
    centers = mesh.vertices[mesh.tets].mean(axis=1)
    search = _TetLocator(mesh, centers)
    # in batches, so that the candidate tets fit into memory
    batches = [search.find_tets(places[start : start + 8192]) for start in range(0, len(places), 8192)]
    tets = np.concatenate([np.zeros(0, dtype=np.int64), *batches])
    weights = _compute_barycentric_weights(mesh, centers, places, tets)
    return Embedding(tets, weights, mesh.tets[tets], len(mesh.vertices))


class _TetLocator:
    """Finds the best tet of many points. Tets are grouped by size, so that large ones do not slow down the others."""

    def __init__(self, mesh: MeshTet, centroids: Array):
        self.mesh, self.centroids = mesh, centroids
        offsets = mesh.vertices[mesh.tets] - centroids[:, None, :]
        # a tet lies within this distance of its centroid; the factor covers rounding
        self.radii = np.linalg.norm(offsets, axis=2).max(axis=1) * (1 + WEIGHT_TOLERANCE)
        self.centroid_tree = build_kd_tree(centroids)
        octaves = np.floor(np.log2(self.radii)).astype(int)
        self.size_classes = [np.flatnonzero(octaves == octave) for octave in np.unique(octaves)]
        self.size_class_trees = [build_kd_tree(centroids[members]) for members in self.size_classes]

    def find_tets(self, points: Array) -> IndexArray:
        """(k,) the tet that contains each point, else the best of the nearest tets."""
        tets = np.zeros(len(points), dtype=np.int64)
        least = np.full(len(points), -np.inf)
        for members, tree in zip(self.size_classes, self.size_class_trees):
            # every pair of a point and a tet that contains it is within the largest radius
            lists = tree.query_ball_point(points, float(self.radii[members].max()))
            lengths = np.array([len(one) for one in lists], dtype=np.int64)
            if lengths.any():
                found = members[np.concatenate([np.asarray(one, dtype=np.int64) for one in lists])]
                self._assign_better_tets(points, np.repeat(np.arange(len(points)), lengths), found, tets, least)
        lost = np.flatnonzero(least < -WEIGHT_TOLERANCE)
        if len(lost):
            near = min(CANDIDATE_TETS, len(self.centroids))
            found = np.asarray(self.centroid_tree.query(points[lost], k=near)[1], dtype=np.int64).reshape(-1)
            self._assign_better_tets(points, np.repeat(lost, near), found, tets, least)
        return tets

    def _assign_better_tets(
        self,
        points: Array,
        point_indices: IndexArray,
        candidates: IndexArray,
        best_tets: IndexArray,
        best_min_weights: Array,
    ) -> None:
        """Assign to each point the best of its candidates if that beats its current tet; ties go to the lower index."""
        score = _compute_barycentric_weights(self.mesh, self.centroids, points[point_indices], candidates).min(axis=1)
        order = np.lexsort((candidates, -score, point_indices))
        first = order[np.unique(point_indices[order], return_index=True)[1]]
        first = first[score[first] > best_min_weights[point_indices[first]]]
        best_tets[point_indices[first]], best_min_weights[point_indices[first]] = candidates[first], score[first]


def _compute_barycentric_weights(mesh: MeshTet, centroids: Array, points: Array, tets: IndexArray) -> Array:
    """(k, 4) barycentric weights wᵢ = 1/4 + ∇Nᵢ·(x - centroid); the first closes the sum to one."""
    weights = 0.25 + np.einsum("kij,kj->ki", mesh.shape_gradients[tets], points - centroids[tets])
    weights[:, 0] = 1 - weights[:, 1:].sum(axis=1)
    return np.asarray(weights)
