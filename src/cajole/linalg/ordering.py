"""Fill-reducing elimination orders: METIS nested dissection, whose parts are ordered again by minimum fill.

METIS is optional (extra `metis`): pymetis has no wheels for Windows and ARM Linux. Without it the minimum degree order
of SuperLU takes its place; docs/decisions/ordering.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spilu

from cajole.arrays import Array, IndexArray
from cajole.errors import SolveError
from cajole.linalg import kernels_minimum_fill, kernels_symbolic


@dataclass(frozen=True)
class OrderingOptions:
    """Parameters of the elimination orders."""

    # Share of the coordinates of a constraint that is eliminated before it, and the least sum of their weights; a
    # coordinate of k constraints has the weight 1/k. With a node each no constraints compete for the same one (Hall's
    # theorem). With no node before it its pivot would be zero; after all of them there is a fifth more work. A quarter
    # leaves residuals at rounding level on all scenes.
    eliminated_share: float = 0.25
    min_eliminated: float = 1.0
    # largest subtrees that are ordered again by minimum fill; the best size depends on the shape, so all are tried
    leaf_sizes: tuple[int, ...] = (200, 800, 2400)
    # METIS starts from at most so many numberings, of so many nodes in total: that takes a second
    max_numberings: int = 12
    max_numbered_nodes: int = 24000


DEFAULT_OPTIONS = OrderingOptions()


def order_by_nested_dissection(pattern: sp.csr_array) -> IndexArray:
    """Order of `dissect_graph` for a square pattern; vertices with three dofs each are ordered as one node."""
    block = find_block_size(pattern)
    graph = build_adjacency_graph(pattern, block)
    return expand_to_dofs(require_permutation(dissect_graph(graph), graph.shape[0]), block)


def order_saddle_point(pattern: sp.csr_array, constraint_count: int) -> IndexArray:
    """METIS order of [[A, Cᵀ], [C, 0]] with `constraint_count` rows of C, each after a share of its coordinates.

    If A is positive definite and C has full rank, all pivots then stay on the diagonal.
    """
    block = find_saddle_point_block_size(pattern.shape[0], constraint_count)
    graph = build_adjacency_graph(pattern, block)
    return expand_to_dofs(delay_constraint_nodes(graph, dissect_graph(graph), constraint_count // block), block)


def generate_orderings(
    graph: sp.csr_array, constraint_count: int, options: OrderingOptions = DEFAULT_OPTIONS
) -> Iterator[IndexArray]:
    """Candidate orders of the nodes of a graph, of which the last `constraint_count` are constraints.

    For several numberings of the nodes: the order of METIS, and the same with its parts ordered again by minimum fill.
    The numbering METIS starts from changes the fill by up to a tenth. METIS orders parts of a hundred nodes by degree,
    without their surroundings, and cuts long parts that are better eliminated from their ends.
    """
    count, random = graph.shape[0], np.random.default_rng(0)
    index = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    weights = _compute_delay_weights(graph, constraint_count, options)
    for attempt in range(min(max(options.max_numbered_nodes // count, 1), options.max_numberings)):
        numbers = random.permutation(count) if attempt else np.arange(count)
        relabelled = sp.csr_array(graph[numbers][:, numbers]) if attempt else graph
        order = require_permutation(numbers[dissect_graph(relabelled)], count)
        yield delay_constraint_nodes(graph, order, constraint_count, options)
        parent = kernels_symbolic.build_elimination_tree(*index, order)
        order = order[kernels_symbolic.compute_postorder(parent, np.ones(count, dtype=np.int64))]
        parent = kernels_symbolic.build_elimination_tree(*index, order)
        for leaf in options.leaf_sizes:
            refined = kernels_minimum_fill.order_by_minimum_fill(*index, order, parent, leaf, *weights)
            yield delay_constraint_nodes(graph, refined, constraint_count, options)


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


def _compute_delay_weights(graph: sp.csr_array, constraint_count: int, options: OrderingOptions) -> tuple[Array, Array]:
    """The weight of each node (n,), and the weight that must be eliminated before it (n,): 0 but for constraints."""
    first = graph.shape[0] - constraint_count
    held = sp.csr_array(graph[first:, :first] != 0).astype(np.float64)
    weights, delays = np.zeros((2, graph.shape[0]))
    weights[:first] = 1.0 / np.maximum(np.bincount(held.indices, minlength=first), 1)
    total = held @ weights[:first]
    delays[first:] = np.minimum(np.maximum(options.eliminated_share * total, options.min_eliminated), total)
    return weights, delays


def delay_constraint_nodes(
    graph: sp.csr_array, order: IndexArray, constraint_count: int, options: OrderingOptions = DEFAULT_OPTIONS
) -> IndexArray:
    """`order` with each of the last `constraint_count` nodes moved behind a share of its neighbours."""
    order = require_permutation(order, graph.shape[0])
    first = graph.shape[0] - constraint_count
    weights, delays = _compute_delay_weights(graph, constraint_count, options)
    places = np.empty(len(order))
    places[order] = np.arange(len(order))
    for row in range(first, len(order)):
        held = graph.indices[graph.indptr[row] : graph.indptr[row + 1]]
        held = held[held < first]
        before = held[np.argsort(places[held])]
        if len(before):
            eliminated = np.cumsum(weights[before])
            enough = np.searchsorted(eliminated, delays[row] - kernels_minimum_fill.DELAY_TOLERANCE)
            places[row] = max(places[row], places[before[min(enough, len(before) - 1)]] + 0.5)
    return np.argsort(places, kind="stable").astype(np.int64)


def find_saddle_point_block_size(size: int, constraint_count: int) -> int:
    """The dofs per node of [[A, Cᵀ], [C, 0]]: 3 if both counts are divisible by 3, else 1."""
    return 1 if size % 3 or constraint_count % 3 else 3


def build_adjacency_graph(pattern: sp.csr_array, block_size: int) -> sp.csr_array:
    """Adjacency of the blocks of a square pattern, or of one triangle of it, without loops."""
    rows, columns = pattern.tocoo().coords
    count = pattern.shape[0] // block_size
    graph = sp.coo_array(
        (np.ones(len(rows)), (rows // block_size, columns // block_size)), shape=(count, count)
    ).tocsr()
    graph = sp.csr_array(graph + graph.T)
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph


def dissect_graph(graph: sp.csr_array) -> IndexArray:
    """METIS nested dissection order of the nodes of a graph; without pymetis the minimum degree order."""
    try:
        import pymetis
    except ImportError:
        return order_by_minimum_degree(graph)
    neighbours = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    return np.asarray(pymetis.nested_dissection(adjacency=neighbours)[0], dtype=np.int64)


def order_by_minimum_degree(graph: sp.csr_array) -> IndexArray:
    """Multiple minimum degree order (Liu 1985) of the nodes of a graph, as SuperLU computes it."""
    # SciPy returns the order only together with factors. The incomplete factorisation that drops every entry is the
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
    """The dofs of nodes that have `block_size` of them each."""
    return (block_size * nodes[:, None] + np.arange(block_size)).ravel()


def find_block_size(pattern: sp.csr_array) -> int:
    """The dofs per node: 3 if all rows and columns come in blocks of three, else 1."""
    if pattern.shape[0] % 3:
        return 1
    lengths = np.diff(pattern.indptr).reshape(-1, 3)
    firsts = pattern.indices[pattern.indptr[:-1]]
    return 3 if ((lengths % 3 == 0) & (lengths == lengths[:, :1])).all() and (firsts % 3 == 0).all() else 1
