"""Orders of elimination with little fill: METIS cuts the vertices of a mesh into parts, and least fill orders these.

METIS is optional (extra `metis`): pymetis has no wheels for Windows and ARM Linux. Without it the minimum degree order
of SuperLU takes its place; docs/decisions/ordering.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spilu

from cajole.arrays import Array, IndexArray
from cajole.errors import SolveError
from cajole.linalg import kernels_minimum_fill, kernels_symbolic
from cajole.linalg.kernels_minimum_fill import DELAY_TOLERANCE

# The share of what a constraint holds that is eliminated before it, a node that k of them hold counting as 1/k, and how
# much of that at least. At once its pivot would be zero; after all of it there is a fifth more to do. With a node each
# no constraints compete for the same one (Hall's theorem); a quarter leaves residuals of rounding on all scenes.
ELIMINATED_SHARE, MIN_ELIMINATED = 0.25, 1.0
# How large the parts may be that are ordered anew by least fill: which is best depends on the shape, so all are tried.
LEAF_SIZES = (200, 800, 2400)
# From how many numberings METIS begins at most, and of how many nodes altogether: that takes a second.
MAX_RELABELINGS, MAX_RELABELED_NODES = 12, 24000


def order_by_nested_dissection(pattern: sp.csr_array) -> IndexArray:
    """Order of `dissected` for a square pattern; vertices with three dofs each are ordered as one."""
    block = find_block_size(pattern)
    graph = build_adjacency_graph(pattern, block)
    return expand_to_dofs(require_permutation(dissect_graph(graph), graph.shape[0]), block)


def order_saddle_point(pattern: sp.csr_array, constraint_count: int) -> IndexArray:
    """METIS order of [[A, Cᵀ], [C, 0]] with `border` rows of C, each behind a share of the coordinates that it holds.

    Where A is positive definite and C has full rank, the diagonal then holds all pivots. Coordinates that come in
    threes are ordered as one.
    """
    block = find_saddle_point_block_size(pattern.shape[0], constraint_count)
    graph = build_adjacency_graph(pattern, block)
    return expand_to_dofs(delay_constraint_nodes(graph, dissect_graph(graph), constraint_count // block), block)


def generate_orderings(graph: sp.csr_array, constraint_count: int) -> Iterator[IndexArray]:
    """Orders of the nodes of a graph, the last `border` of them each behind a share of its neighbours.

    METIS's, and those in which the parts that it has cut are ordered anew by least fill. METIS orders parts of a
    hundred nodes by least degree, without a look at what surrounds them, and cuts on where a long part is better
    eliminated from its ends.
    """
    for labels, blur in generate_relabelings(graph.shape[0]):
        order = dissect_graph(graph, labels)
        yield delay_constraint_nodes(graph, order, constraint_count)
        for leaf in LEAF_SIZES:
            yield delay_constraint_nodes(
                graph, _reorder_by_minimum_fill(graph, order, leaf, constraint_count, blur), constraint_count
            )


def generate_relabelings(count: int) -> Iterator[tuple[IndexArray, Array]]:
    """Numberings (n,) of some nodes, and by how much the fill of each is overrated (n,).

    Where METIS begins decides by up to a tenth how much it leaves to do. Of nodes with nearly the same fill the least
    is often not the best, so that after the first time chance decides among them.
    """
    random = np.random.default_rng(0)
    yield np.arange(count), np.ones(count)
    for _ in range(min(max(MAX_RELABELED_NODES // count, 1), MAX_RELABELINGS) - 1):
        yield random.permutation(count), 1.0 + random.random(count)


def require_permutation(order: IndexArray, count: int) -> IndexArray:
    """`order` if it holds each of 0..count-1 once: compiled loops read and write memory at its entries unchecked.

    Raises SolveError otherwise.
    """
    if order.shape != (count,) or not np.array_equal(np.sort(order), np.arange(count)):
        raise SolveError(
            f"the elimination order is not a permutation of the {count} nodes of the matrix, so nothing can be "
            "factorised with it; reinstall pymetis, or use backend='pardiso'"
        )
    return order


def _reorder_by_minimum_fill(
    graph: sp.csr_array, order: IndexArray, max_leaf_size: int, constraint_count: int, fill_scale: Array
) -> IndexArray:
    order = require_permutation(order, graph.shape[0])
    index = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    parent = kernels_symbolic.build_elimination_tree(*index, order)
    order = order[kernels_symbolic.compute_postorder(parent, np.ones(len(order), dtype=np.int64))]
    parent = kernels_symbolic.build_elimination_tree(*index, order)
    return np.asarray(
        kernels_minimum_fill.order_by_minimum_fill(
            *index, order, parent, max_leaf_size, *_compute_delay_weights(graph, constraint_count), fill_scale
        )
    )


def _compute_delay_weights(graph: sp.csr_array, constraint_count: int) -> tuple[Array, Array]:
    """What each node counts (n,), and how much of that a node waits for (n,): none but the last `border` do."""
    first = graph.shape[0] - constraint_count
    held = sp.csr_array(graph[first:, :first] != 0).astype(np.float64)
    share = np.zeros(graph.shape[0])
    share[:first] = 1.0 / np.maximum(np.bincount(held.indices, minlength=first), 1)
    wait = np.zeros(graph.shape[0])
    total = held @ share[:first]
    wait[first:] = np.minimum(np.maximum(ELIMINATED_SHARE * total, MIN_ELIMINATED), total)
    return share, wait


def delay_constraint_nodes(graph: sp.csr_array, order: IndexArray, constraint_count: int) -> IndexArray:
    """`order` of the nodes of a graph with the last `border` of them each behind a share of its neighbours."""
    order = require_permutation(order, graph.shape[0])
    first = graph.shape[0] - constraint_count
    share, wait = _compute_delay_weights(graph, constraint_count)
    places = np.empty(len(order))
    places[order] = np.arange(len(order))
    for row in range(first, len(order)):
        held = graph.indices[graph.indptr[row] : graph.indptr[row + 1]]
        held = held[held < first]
        before = held[np.argsort(places[held])]
        if len(before):
            enough = np.searchsorted(np.cumsum(share[before]), wait[row] - DELAY_TOLERANCE)
            places[row] = max(places[row], places[before[min(enough, len(before) - 1)]] + 0.5)
    return np.argsort(places, kind="stable").astype(np.int64)


def find_saddle_point_block_size(size: int, constraint_count: int) -> int:
    """How many coordinates of [[A, Cᵀ], [C, 0]] come together: 3 where that is possible, else 1."""
    return 1 if size % 3 or constraint_count % 3 else 3


def build_adjacency_graph(pattern: sp.csr_array, block_size: int) -> sp.csr_array:
    """Which blocks of a square pattern, or of one triangle of it, touch each other."""
    rows, columns = pattern.tocoo().coords
    count = pattern.shape[0] // block_size
    graph = sp.coo_array(
        (np.ones(len(rows)), (rows // block_size, columns // block_size)), shape=(count, count)
    ).tocsr()
    graph = sp.csr_array(graph + graph.T)
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph


def dissect_graph(graph: sp.csr_array, labels: IndexArray | None = None) -> IndexArray:
    """METIS order of the nodes of a graph; labels: which of them METIS is to take for its first, second and so on.

    Without pymetis the minimum degree order.
    """
    if labels is not None:
        return np.asarray(labels[dissect_graph(sp.csr_array(graph[labels][:, labels]))])
    try:
        import pymetis
    except ImportError:
        return order_by_minimum_degree(graph)
    neighbours = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    return np.asarray(pymetis.nested_dissection(adjacency=neighbours)[0], dtype=np.int64)


def order_by_minimum_degree(graph: sp.csr_array) -> IndexArray:
    """Multiple minimum degree order (Liu 1985) of the nodes of a graph, as SuperLU computes it."""
    # SciPy gives the order only together with factors. The incomplete factorisation that drops everything is the
    # cheapest of them, and a dominant diagonal keeps its pivots away from zero.
    degrees = np.diff(graph.indptr)
    pattern = sp.csr_array((np.ones(graph.nnz), graph.indices, graph.indptr), shape=graph.shape)
    factors = spilu(
        sp.csc_matrix(pattern + sp.diags_array(degrees + 1.0)),
        drop_tol=1.0,
        fill_factor=1.0,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return np.argsort(factors.perm_c).astype(np.int64)


def expand_to_dofs(nodes: IndexArray, block_size: int) -> IndexArray:
    """Coordinates of nodes that have `block` of them each."""
    return (block_size * nodes[:, None] + np.arange(block_size)).ravel()


def find_block_size(pattern: sp.csr_array) -> int:
    """3 where vertices have three coordinates each that always come together, else 1."""
    return 3 if _has_blocks_of_three(pattern) else 1


def _has_blocks_of_three(pattern: sp.csr_array) -> bool:
    size = pattern.shape[0]
    if size % 3:
        return False
    lengths = np.diff(pattern.indptr).reshape(-1, 3)
    firsts = pattern.indices[pattern.indptr[:-1]]
    return bool((lengths % 3 == 0).all() and (lengths == lengths[:, :1]).all() and (firsts % 3 == 0).all())
