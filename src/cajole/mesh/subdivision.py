"""Linear subdivision: triangles into four, tets into eight."""

from __future__ import annotations

from typing import overload

import numpy as np
from scipy import sparse

from cajole.arrays import Array, IndexArray
from cajole.checks import require_integer
from cajole.errors import InputError
from cajole.mesh import topology
from cajole.mesh.base import MeshTri
from cajole.mesh.tet import MeshTet

# columns 0..2 are corners, 3..5 the midpoints of TRI_EDGES (01, 12, 20)
TRI_CHILDREN = np.array([(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)])
# columns 0..3 are corners, 4..9 the midpoints of TET_EDGES (01, 02, 03, 12, 13, 23)
TET_CORNER_CHILDREN = np.array([(0, 4, 5, 6), (4, 1, 7, 8), (5, 7, 2, 9), (6, 8, 9, 3)])
# the inner octahedron, cut along each of its diagonals (4, 9), (5, 8), (6, 7)
OCTAHEDRON_CHILDREN = np.array(
    [
        [(4, 9, 5, 6), (4, 9, 6, 8), (4, 9, 8, 7), (4, 9, 7, 5)],
        [(5, 8, 6, 4), (5, 8, 4, 7), (5, 8, 7, 9), (5, 8, 9, 6)],
        [(6, 7, 4, 5), (6, 7, 5, 9), (6, 7, 9, 8), (6, 7, 8, 4)],
    ]
)


@overload
def subdivide(mesh: MeshTri, *, levels: int = 1) -> tuple[MeshTri, sparse.csr_matrix]: ...
@overload
def subdivide(mesh: MeshTet, *, levels: int = 1) -> tuple[MeshTet, sparse.csr_matrix]: ...


def subdivide(mesh: MeshTri | MeshTet, *, levels: int = 1) -> tuple[MeshTri | MeshTet, sparse.csr_matrix]:
    """Halve every edge `levels` times; return the mesh and the matrix P with fine vertices = P @ coarse vertices.

    Coarse vertices keep their indices. Triangle i becomes the triangles 4i..4i+3, tet i the tets 8i..8i+7.
    The inner octahedron of a tet is cut along its shortest diagonal (Bey 1995). The shape does not change.
    Raises InputError for other types and for more than 20 million elements.
    """
    if not isinstance(mesh, MeshTri | MeshTet):
        raise InputError(f"subdivide needs a MeshTri or a MeshTet, not {type(mesh).__name__}")
    children = 4 if isinstance(mesh, MeshTri) else 8
    levels = require_integer(levels, "levels", minimum=0, maximum=16)
    if len(mesh.elements) * children**levels > 20_000_000:
        raise InputError(f"{levels} levels give {len(mesh.elements) * children**levels} elements; ask for fewer levels")
    elements, P = mesh.elements, sparse.csr_matrix(sparse.eye(len(mesh.vertices)))
    for _ in range(levels):
        elements, step = _subdivide_once(np.asarray(P @ mesh.vertices), elements)
        P = sparse.csr_matrix(step @ P)
    return type(mesh)(np.asarray(P @ mesh.vertices), elements), P


def _subdivide_once(vertices: Array, elements: IndexArray) -> tuple[IndexArray, sparse.csr_matrix]:
    """One level: the children of all elements, and the matrix that appends the midpoints of the edges."""
    pairs = topology.TRI_EDGES if elements.shape[1] == 3 else topology.TET_EDGES
    n = len(vertices)
    ends = np.sort(elements[:, pairs].reshape(-1, 2), axis=1)
    _, first, number = np.unique(topology.encode_rows(ends, n), return_index=True, return_inverse=True)
    nodes = np.concatenate([elements, n + number.reshape(len(elements), -1)], axis=1)
    edges = ends[first]
    halves = sparse.csr_matrix(
        (np.full(edges.size, 0.5), edges.reshape(-1), np.arange(0, edges.size + 1, 2)), shape=(len(edges), n)
    )
    step = sparse.csr_matrix(sparse.vstack([sparse.eye(n), halves]))
    if elements.shape[1] == 3:
        return nodes[:, TRI_CHILDREN].reshape(-1, 3), step
    points = np.asarray(step @ vertices)
    diagonals = _compute_lengths(points, nodes[:, [(4, 9), (5, 8), (6, 7)]])
    # Each diagonal joins the midpoints of two opposite edges. Of equal diagonals the one whose edges are most alike is
    # taken, which keeps the quality of the tets of a regular grid.
    edge_lengths = _compute_lengths(points, nodes[:, [[(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 3), (1, 2)]]])
    cores = OCTAHEDRON_CHILDREN[(diagonals**2 - 1e-6 * edge_lengths.prod(axis=2)).argmin(axis=1)]
    inner = np.take_along_axis(nodes[:, None, :], cores, axis=2)
    return np.concatenate([nodes[:, TET_CORNER_CHILDREN], inner], axis=1).reshape(-1, 4), step


def _compute_lengths(vertices: Array, ends: IndexArray) -> Array:
    return np.asarray(np.linalg.norm(vertices[ends[..., 1]] - vertices[ends[..., 0]], axis=-1))
