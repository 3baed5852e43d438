"""Orders of elimination: METIS's parts ordered by least fill, constraints behind what they hold, and without METIS."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cajole.linalg import kernels_minimum_fill, kernels_symbolic
from cajole.linalg.ordering import (
    DEFAULT_OPTIONS,
    delay_constraint_nodes,
    dissect_graph,
    generate_orderings,
    order_by_minimum_degree,
)

pytestmark = pytest.mark.usefixtures("ordering")


def random_graph(count: int, seed: int) -> sp.csr_array:
    """Of some points in a square those that are near each other."""
    points = np.random.default_rng(seed).random((count, 2))
    near = np.linalg.norm(points[:, None] - points[None], axis=2) < 2.0 / np.sqrt(count)
    return without_loops(near)


def without_loops(near: np.ndarray) -> sp.csr_array:
    graph = sp.csr_array(near.astype(float))
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph


def tube(around: int, along: int) -> sp.csr_array:
    """The vertices of a tube, each with its eight neighbours."""
    ring = sp.diags_array([1.0, 1.0, 1.0, 1.0, 1.0], offsets=[-1, 0, 1, around - 1, 1 - around], shape=(around, around))
    line = sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(along, along))
    return without_loops(sp.kron(line, ring).toarray())


def held_by(graph: sp.csr_array, count: int, seed: int) -> sp.csr_array:
    """The graph with `count` constraints more, each on a dozen nodes of its own choice."""
    random = np.random.default_rng(seed)
    size = graph.shape[0]
    C = np.zeros((count, size))
    for row in C:
        row[random.choice(size, 12, replace=False)] = 1.0
    return sp.csr_array(sp.block_array([[graph, C.T], [C, None]]))


def index_of(graph: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64)


def filled(graph: sp.csr_array, order: np.ndarray) -> int:
    """Entries of the factor."""
    parent = kernels_symbolic.build_elimination_tree(*index_of(graph), order)
    return int(kernels_symbolic.compute_column_structures(*index_of(graph), order, parent)[0][-1])


def by_sets(graph: sp.csr_array, order: np.ndarray) -> list[int]:
    """Least fill as the kernel does it, by sets: counts are renewed for the neighbours of what was eliminated."""
    near = [set(map(int, graph.indices[a:b])) for a, b in zip(graph.indptr[:-1], graph.indptr[1:])]

    def joined(v: int) -> int:
        return sum(b not in near[a] for a in near[v] for b in near[v] if a < b)

    counts = {int(v): joined(int(v)) for v in order}
    out = []
    while counts:
        v = min(counts, key=lambda each: counts[each])
        out.append(v)
        adds = counts.pop(v) > 0
        lost = {w: sum(x not in near[v] and x != v for x in near[w]) for w in near[v]}
        for w in near[v]:
            near[w] |= near[v] - {w}
            near[w].discard(v)
        for w in near[v]:
            counts[w] = joined(w) if adds else counts[w] - lost[w]
    return out


@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_least_fill_agreement(seed: int) -> None:
    graph = random_graph(90, seed)
    order = dissect_graph(graph)
    parent = kernels_symbolic.build_elimination_tree(*index_of(graph), order)
    order = order[kernels_symbolic.compute_postorder(parent, np.ones(90, dtype=np.int64))]
    parent = kernels_symbolic.build_elimination_tree(*index_of(graph), order)
    if (parent < 0).sum() > 1:
        pytest.fail("the graph of this test must hang together")
    found = kernels_minimum_fill.order_by_minimum_fill(*index_of(graph), order, parent, 90, np.ones(90), np.zeros(90))
    assert found.tolist() == by_sets(graph, order)


@pytest.mark.parametrize("leaf", [1, 7, 40, 1000])
def test_parts_keep_their_places_identity(leaf: int) -> None:
    graph = held_by(random_graph(150, 5), 9, 6)
    for order in generate_orderings(graph, 9):
        assert np.array_equal(np.sort(order), np.arange(159))
    order = dissect_graph(graph)
    parent = kernels_symbolic.build_elimination_tree(*index_of(graph), order)
    order = order[kernels_symbolic.compute_postorder(parent, np.ones(159, dtype=np.int64))]
    parent = kernels_symbolic.build_elimination_tree(*index_of(graph), order)
    found = kernels_minimum_fill.order_by_minimum_fill(
        *index_of(graph), order, parent, leaf, np.ones(159), np.zeros(159)
    )
    # what was eliminated apart still is
    assert np.array_equal(np.sort(found), np.arange(159))
    assert filled(graph, found) <= filled(graph, order) * 1.2


@pytest.mark.parametrize("seed", range(3))
def test_constraints_wait_identity(seed: int) -> None:
    """Before each constraint comes its share of what it holds, a node of k constraints counting 1/k."""
    border = 20
    graph = held_by(random_graph(200, seed), border, seed + 10)
    held = graph[200:, :200].toarray() > 0
    share = held / np.maximum(held.sum(axis=0), 1)
    for order in [*generate_orderings(graph, border), delay_constraint_nodes(graph, dissect_graph(graph), border)]:
        places = np.argsort(order)
        before = places[None, :200] < places[200:, None]
        reached, total = (share * before).sum(axis=1), share.sum(axis=1)
        assert (
            reached
            >= np.minimum(np.maximum(DEFAULT_OPTIONS.eliminated_share * total, DEFAULT_OPTIONS.min_eliminated), total)
            - 1e-9
        ).all()


def test_long_parts_are_eliminated_from_their_ends_claim(ordering: str) -> None:
    """A long tube: METIS cuts it in halves again and again, least fill goes along it."""
    if ordering != "metis":
        pytest.skip("the minimum degree order has no cuts")
    graph = tube(16, 100)
    alone, *others = (filled(graph, order) for order in generate_orderings(graph, 0))
    assert min(others) < 0.95 * alone


@pytest.mark.parametrize(
    "graph",
    [sp.csr_array((1, 1)), sp.csr_array((300, 300)), without_loops(np.ones((70, 70))), held_by(tube(12, 30), 8, 3)],
    ids=["one", "no-edges", "complete", "constrained"],
)
def test_minimum_degree_permutation_identity(graph: sp.csr_array) -> None:
    count = graph.shape[0]
    assert np.array_equal(np.sort(order_by_minimum_degree(graph)), np.arange(count))


def test_minimum_degree_of_a_tree_identity() -> None:
    """A tree has an order without fill, and minimum degree finds it: leaves first."""
    random = np.random.default_rng(3)
    parents = np.array([random.integers(0, child) for child in range(1, 400)])
    near = sp.coo_array((np.ones(399), (np.arange(1, 400), parents)), shape=(400, 400)).toarray()
    graph = without_loops(near + near.T)
    assert filled(graph, order_by_minimum_degree(graph)) == 399


@pytest.mark.parametrize("graph", [tube(12, 60), random_graph(600, 1)], ids=["tube", "square"])
def test_minimum_degree_fill_claim(graph: sp.csr_array) -> None:
    """Without METIS the factor has far fewer entries than in the order of the mesh."""
    shuffled = np.random.default_rng(0).permutation(graph.shape[0])
    assert filled(graph, order_by_minimum_degree(graph)) < 0.4 * filled(graph, shuffled)
