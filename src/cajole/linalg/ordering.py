"""Orders of elimination with little fill, by METIS on the vertices of a mesh."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Index = NDArray[np.int64]

# The share of what a constraint holds that is eliminated before it: at once its pivot would be zero; after all of it,
# there is a fifth more to do. A quarter leaves residuals of rounding on all scenes.
BEFORE = 0.25


def nested_dissection(pattern: sp.csr_array) -> Index:
    """METIS order of a square pattern; vertices with three dofs each are ordered as one."""
    block = blocks_of(pattern)
    return spread(dissected(graph_of(pattern, block)), block)


def bordered_dissection(pattern: sp.csr_array, border: int) -> Index:
    """METIS order of [[A, Cᵀ], [C, 0]] with `border` rows of C, each behind a share of the coordinates that it holds.

    Where A is positive definite and C has full rank, the diagonal then holds all pivots. Coordinates that come in
    threes are ordered as one.
    """
    block = bordered_blocks(pattern.shape[0], border)
    return spread(bordered(graph_of(pattern, block), border // block), block)


def bordered(graph: sp.csr_array, border: int) -> Index:
    """METIS order of the nodes of a graph, the last `border` of them each behind a share of its neighbours."""
    order, first = dissected(graph), graph.shape[0] - border
    places = np.empty(len(order))
    places[order] = np.arange(len(order))
    for row in range(first, len(order)):
        held = graph.indices[graph.indptr[row] : graph.indptr[row + 1]]
        before = np.sort(places[held[held < first]])
        if len(before):
            places[row] = max(places[row], before[int(BEFORE * (len(before) - 1))] + 0.5)
    return np.argsort(places, kind="stable").astype(np.int64)


def bordered_blocks(size: int, border: int) -> int:
    """How many coordinates of [[A, Cᵀ], [C, 0]] come together: 3 where that is possible, else 1."""
    return 1 if size % 3 or border % 3 else 3


def graph_of(pattern: sp.csr_array, block: int) -> sp.csr_array:
    """Which blocks of a square pattern, or of one triangle of it, touch each other."""
    rows, columns = pattern.tocoo().coords
    count = pattern.shape[0] // block
    graph = sp.coo_array((np.ones(len(rows)), (rows // block, columns // block)), shape=(count, count)).tocsr()
    graph = sp.csr_array(graph + graph.T)
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph


def dissected(graph: sp.csr_array) -> Index:
    """METIS order of the nodes of a graph."""
    import pymetis

    neighbours = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    return np.asarray(pymetis.nested_dissection(adjacency=neighbours)[0], dtype=np.int64)


def spread(order: Index, block: int) -> Index:
    """Coordinates of nodes that have `block` of them each."""
    return (block * order[:, None] + np.arange(block)).ravel()


def blocks_of(pattern: sp.csr_array) -> int:
    """3 where vertices have three coordinates each that always come together, else 1."""
    return 3 if _has_blocks_of_three(pattern) else 1


def _has_blocks_of_three(pattern: sp.csr_array) -> bool:
    size = pattern.shape[0]
    if size % 3:
        return False
    lengths = np.diff(pattern.indptr).reshape(-1, 3)
    firsts = pattern.indices[pattern.indptr[:-1]]
    return bool((lengths % 3 == 0).all() and (lengths == lengths[:, :1]).all() and (firsts % 3 == 0).all())
