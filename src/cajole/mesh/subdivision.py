"""Finer meshes of the same shape: triangles into four, tets into eight."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cajole.arrays import Array, IndexArray
from cajole.checks import require_integer
from cajole.errors import InputError
from cajole.mesh import topology
from cajole.mesh.base import MeshTri
from cajole.mesh.tet import MeshTet

# more elements than fit into memory beside their matrices
MAX_ELEMENTS = 20_000_000

# columns 0..2 are corners, 3..5 the middles of TRI_EDGES (01, 12, 20)
TRI_CHILDREN = np.array([(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)])
# columns 0..3 are corners, 4..9 the middles of TET_EDGES (01, 02, 03, 12, 13, 23)
TET_CORNER_CHILDREN = np.array([(0, 4, 5, 6), (4, 1, 7, 8), (5, 7, 2, 9), (6, 8, 9, 3)])
# the octahedron that the tips leave, cut along each of its three diagonals
OCTAHEDRON_DIAGONALS = np.array([(4, 9), (5, 8), (6, 7)])
# the corners of the two opposite edges whose middles each diagonal joins
OPPOSITE_TET_EDGES = np.array([[(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 3), (1, 2)]])
# of the edges' product, taken off each diagonal: equal diagonals are decided for the edges that are most alike,
# which keeps the tets of a regular grid as good as they were
TIE_BREAK_WEIGHT = 1e-6
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
    """The mesh with every edge halved `levels` times, and the matrix P with fine vertices = P @ coarse vertices.

    Coarse vertices keep their numbers, and children stand together: triangle i becomes 4i..4i+3, tet i 8i..8i+7.
    A tet's inner octahedron is cut along its shortest diagonal (Bey 1995). Linear: the shape does not change.
    Raises InputError for something that is not a mesh and for more levels than memory could hold.
    """
    if not isinstance(mesh, MeshTri | MeshTet):
        raise InputError(f"subdivide needs a MeshTri or a MeshTet, not {type(mesh).__name__}")
    children = 4 if isinstance(mesh, MeshTri) else 8
    levels = require_integer(levels, "levels", minimum=0, maximum=16)
    if len(mesh.elements) * children**levels > MAX_ELEMENTS:
        raise InputError(f"{levels} levels give {len(mesh.elements) * children**levels} elements; ask for fewer levels")
    elements, P = mesh.elements, sparse.csr_matrix(sparse.eye(len(mesh.vertices)))
    for _ in range(levels):
        elements, step = _subdivide_once(np.asarray(P @ mesh.vertices), elements)
        P = sparse.csr_matrix(step @ P)
    return type(mesh)(np.asarray(P @ mesh.vertices), elements), P


def _subdivide_once(vertices: Array, elements: IndexArray) -> tuple[IndexArray, sparse.csr_matrix]:
    """One level: the children of all elements, and the matrix that adds the middles of edges."""
    pairs = topology.TRI_EDGES if elements.shape[1] == 3 else topology.TET_EDGES
    n = len(vertices)
    ends = np.sort(elements[:, pairs].reshape(-1, 2), axis=1)
    _, first, number = np.unique(topology.encode_rows(ends, n), return_index=True, return_inverse=True)
    nodes = np.concatenate([elements, n + number.reshape(len(elements), -1)], axis=1)
    step = _build_midpoint_matrix(ends[first], n)
    if elements.shape[1] == 3:
        return nodes[:, TRI_CHILDREN].reshape(-1, 3), step
    return _split_tets(np.asarray(step @ vertices), nodes), step


def _build_midpoint_matrix(edges: IndexArray, n: int) -> sparse.csr_matrix:
    halves = sparse.csr_matrix(
        (np.full(edges.size, 0.5), edges.reshape(-1), np.arange(0, edges.size + 1, 2)), shape=(len(edges), n)
    )
    return sparse.csr_matrix(sparse.vstack([sparse.eye(n), halves]))


def _split_tets(vertices: Array, nodes: NDArray[np.int64]) -> IndexArray:
    diagonals = _compute_lengths(vertices, nodes[:, OCTAHEDRON_DIAGONALS])
    edges = _compute_lengths(vertices, nodes[:, OPPOSITE_TET_EDGES])
    cores = OCTAHEDRON_CHILDREN[(diagonals**2 - TIE_BREAK_WEIGHT * edges.prod(axis=2)).argmin(axis=1)]
    inner = np.take_along_axis(nodes[:, None, :], cores, axis=2)
    return np.concatenate([nodes[:, TET_CORNER_CHILDREN], inner], axis=1).reshape(-1, 4)


def _compute_lengths(vertices: Array, ends: IndexArray) -> Array:
    return np.asarray(np.linalg.norm(vertices[ends[..., 1]] - vertices[ends[..., 0]], axis=-1))
