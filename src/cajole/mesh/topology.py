"""Connectivity of element lists: edges, components, boundary faces, half-edges, orientation, vertex fans."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from cajole.arrays import IndexArray

TET_EDGES = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
TRI_EDGES = np.array([(0, 1), (1, 2), (2, 0)])
# face i lies opposite vertex i; the order makes its normal leave a tet of positive volume
TET_FACES = np.array([(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)])


def encode_rows(rows: NDArray[np.integer[Any]], vertex_count: int) -> IndexArray:
    """One int64 key per row of vertex indices: equal for equal rows, and ordered like the rows."""
    key = rows[:, 0].astype(np.int64)
    span = vertex_count
    for column in rows.T[1:]:
        if span * vertex_count >= 2**63:
            values, key = np.unique(key, return_inverse=True)
            span = len(values)
        key = key * vertex_count + column
        span *= vertex_count
    return key


def find_unique_edges(elements: IndexArray, pairs: NDArray[np.int64], vertex_count: int) -> IndexArray:
    """(k, 2) the distinct edges of all elements, smaller index first, sorted."""
    ends = np.sort(elements[:, pairs].reshape(-1, 2), axis=1)
    _, first = np.unique(encode_rows(ends, vertex_count), return_index=True)
    return ends[first]


def build_adjacency(edges: IndexArray, vertex_count: int) -> sparse.csr_matrix:
    """(n, n) symmetric matrix, 1 where an edge joins two vertices."""
    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T
    return sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(vertex_count, vertex_count))


def label_components(edges: IndexArray, used: NDArray[np.bool_]) -> IndexArray:
    """(n,) the connected component of each vertex, -1 for unused vertices."""
    _, labels = csgraph.connected_components(build_adjacency(edges, len(used)), directed=False)
    result = np.full(len(used), -1, dtype=np.int64)
    result[used] = np.unique(labels[used], return_inverse=True)[1]
    return result


def find_boundary_faces(tets: IndexArray, vertex_count: int) -> IndexArray:
    """(k, 3) the faces of only one tet, facing outward, in the order of their tets."""
    faces = tets[:, TET_FACES].reshape(-1, 3)
    _, first, count = np.unique(
        encode_rows(np.sort(faces, axis=1), vertex_count), return_index=True, return_counts=True
    )
    boundary: IndexArray = faces[np.sort(first[count == 1])]
    return boundary


def count_max_tets_per_face(tets: IndexArray, vertex_count: int) -> int:
    """The largest number of tets at one face: 2 in a valid mesh of more than one tet."""
    faces = np.sort(tets[:, TET_FACES].reshape(-1, 3), axis=1)
    return int(np.unique(encode_rows(faces, vertex_count), return_counts=True)[1].max())


def triangulate_polygons(counts: IndexArray, corners: IndexArray) -> IndexArray:
    """(m, 3) triangle fans of polygons with `counts` corners each; `corners` are those of all polygons in sequence."""
    first = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(counts)), counts - 2)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(counts - 2) - (counts - 2), counts - 2)
    return np.stack([corners[first[owner]], corners[first[owner] + step + 1], corners[first[owner] + step + 2]], axis=1)


class HalfEdges:
    """The half-edges of a triangle list, grouped by edge.

    Half-edge h runs from corner h % 3 of triangle h // 3 to the next corner.
    """

    def __init__(self, triangles: IndexArray, vertex_count: int):
        self.ends = triangles[:, TRI_EDGES].reshape(-1, 2)
        # (3m,) the corner opposite of each half-edge in its triangle
        self.opposite_vertices = np.roll(triangles, -2, axis=1).reshape(-1)
        keys = encode_rows(np.sort(self.ends, axis=1), vertex_count)
        self.sort_order = np.argsort(keys, kind="stable")
        ordered = keys[self.sort_order]
        self.edge_starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        self.edge_valences = np.diff(np.append(self.edge_starts, len(keys)))

    @property
    def twin_pairs(self) -> IndexArray:
        """(k, 2) the two half-edges of each edge of exactly two triangles."""
        start = self.edge_starts[self.edge_valences == 2]
        return np.stack([self.sort_order[start], self.sort_order[start + 1]], axis=1)

    @property
    def consistent_mask(self) -> NDArray[np.bool_]:
        """(k,) True for twin pairs with opposite directions: their triangles are oriented consistently."""
        one, two = self.twin_pairs.T
        return np.asarray(self.ends[one, 0] != self.ends[two, 0])

    @property
    def has_empty_boundary(self) -> bool:
        """True if every edge has as many half-edges in each direction, so that the boundary chain is zero."""
        sign = np.where(self.ends[:, 0] < self.ends[:, 1], 1, -1)[self.sort_order]
        return not np.add.reduceat(sign, self.edge_starts).any()


def find_orientation_flips(half_edges: HalfEdges, triangle_count: int) -> tuple[NDArray[np.bool_], int]:
    """Mask (m,) of the triangles to flip for consistent orientation, and the number that cannot be oriented.

    In a graph of two copies of each triangle, one of them flipped, edges join compatible copies of neighbours. Each
    orientable patch has two components, of which the one with fewer flips is taken.
    """
    one, two = half_edges.twin_pairs.T // 3
    cross = np.where(half_edges.consistent_mask, 0, triangle_count)
    rows = np.concatenate([one, one + triangle_count])
    columns = np.concatenate([two + cross, two + triangle_count - cross])
    graph = sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(2 * triangle_count, 2 * triangle_count))
    patches, label = csgraph.connected_components(graph, directed=False)
    as_is, flipped = label[:triangle_count], label[triangle_count:]
    kept = np.bincount(as_is, minlength=patches)
    ties = (kept[as_is] == kept[flipped]) & (as_is > flipped)
    twisted = as_is == flipped
    return ((kept[as_is] < kept[flipped]) | ties) & ~twisted, int(twisted.sum())


def count_vertex_fans(triangles: IndexArray, half_edges: HalfEdges) -> int:
    """The number of triangle fans around vertices: equal to the number of used vertices if none is pinched."""
    corners = np.arange(triangles.size).reshape(triangles.shape)
    one, two = half_edges.twin_pairs.T
    starts = corners.reshape(-1)
    ends = corners[:, [1, 2, 0]].reshape(-1)
    agree = half_edges.consistent_mask
    rows = np.concatenate([starts[one], ends[one]])
    columns = np.concatenate([np.where(agree, ends[two], starts[two]), np.where(agree, starts[two], ends[two])])
    graph = sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(triangles.size, triangles.size))
    count, _ = csgraph.connected_components(graph, directed=False)
    return int(count)
