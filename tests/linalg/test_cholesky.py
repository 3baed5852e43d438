"""Cholesky factors by panels, against dense algebra: any pattern, any values, and what is kept between matrices."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bodies import beam_body, springs_many
from cajole.errors import InputError, NotPositiveDefinite, SolveError
from cajole.linalg import Factor, cholesky, is_pardiso_available, kernels_symbolic, ordering
from cajole.linalg.ordering import build_adjacency_graph, dissect_graph

pytestmark = pytest.mark.usefixtures("ordering")


def definite(size: int, density: float, seed: int) -> sp.csr_array:
    """A positive definite matrix of any pattern, in canonical order."""
    A = sp.random_array((size, size), density=density, rng=np.random.default_rng(seed))
    matrix = sp.csr_array(A @ A.T + sp.eye_array(size))
    matrix.sum_duplicates()
    return matrix


def solid(divisions: tuple[int, int, int]) -> sp.csr_array:
    """What a held solid is solved with."""
    body = beam_body(divisions)
    matrix = sp.csr_array(body.stiffness()[body.free_dofs][:, body.free_dofs])
    matrix.sum_duplicates()
    return matrix


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 80), st.floats(0.0, 0.3), st.integers(0, 10_000), st.integers(1, 5), st.booleans())
def test_solve_agreement(size: int, density: float, seed: int, count: int, thorough: bool) -> None:
    A = definite(size, density, seed)
    b = np.random.default_rng(seed).normal(size=(size, count))
    factor = Factor(A, backend="cholesky", optimise_ordering=thorough)
    want = np.linalg.solve(A.toarray(), b)
    np.testing.assert_allclose(factor.solve(b), want, rtol=0, atol=1e-9 * abs(want).max())
    np.testing.assert_allclose(factor.solve(b[:, 0]), want[:, 0], rtol=0, atol=1e-9 * abs(want).max())


@pytest.mark.parametrize("divisions", [(1, 1, 1), (6, 3, 3), (14, 4, 4)])
def test_solid_agreement(divisions: tuple[int, int, int], random: np.random.Generator) -> None:
    """Vertices of three coordinates each, many panels deep, beside a backend of another make."""
    A = solid(divisions)
    b = random.normal(size=(A.shape[0], 2))
    want = Factor(A, backend="superlu").solve(b)
    np.testing.assert_allclose(Factor(A, backend="cholesky").solve(b), want, rtol=0, atol=1e-8 * abs(want).max())


def test_one_triangle_is_read_agreement(random: np.random.Generator) -> None:
    A = definite(50, 0.1, 3)
    b = random.normal(size=50)
    np.testing.assert_allclose(A @ Factor(sp.triu(A), backend="cholesky").solve(b), b, rtol=0, atol=1e-9)


def test_new_values_and_twins_agreement(random: np.random.Generator) -> None:
    """Of two matrices of one pattern each keeps its factors, whichever came last."""
    A = solid((5, 2, 2))
    B = A.copy()
    B.setdiag(2.0 * A.diagonal())
    first = Factor(A, backend="cholesky")
    second = first.copy_symbolic()
    second.refactor(B.data)
    b = random.normal(size=A.shape[0])
    for matrix, factor in ((A, first), (B, second)):
        np.testing.assert_allclose(matrix @ factor.solve(b), b, rtol=0, atol=1e-8 * abs(b).max())
    second.refactor(A.data)
    np.testing.assert_array_equal(second.solve(b), first.solve(b))


@pytest.mark.parametrize("backend", ["superlu", "pardiso"])
def test_twins_of_the_others_agreement(backend: str, random: np.random.Generator) -> None:
    if backend == "pardiso" and not is_pardiso_available():
        pytest.skip("mkl is not installed")
    A = definite(40, 0.1, 1)
    first = Factor(A, backend=backend)
    second = first.copy_symbolic()
    second.refactor(2.0 * A.data)
    b = random.normal(size=40)
    np.testing.assert_allclose(second.solve(b), 0.5 * first.solve(b), rtol=0, atol=1e-10)


def test_a_twin_has_no_factors_bad_input() -> None:
    with pytest.raises(SolveError, match="no factors"):
        Factor(definite(10, 0.2, 0), backend="cholesky").copy_symbolic().solve(np.ones(10))


@pytest.mark.parametrize("where", [0, 17, 39])
def test_indefinite_matrix_bad_input(where: int, random: np.random.Generator) -> None:
    A = definite(40, 0.1, 2)
    factor = Factor(A, backend="cholesky")
    spoilt = A.copy()
    diagonal = spoilt.diagonal()
    diagonal[where] = -1.0
    spoilt.setdiag(diagonal)
    with pytest.raises(NotPositiveDefinite):
        factor.refactor(spoilt.data)
    with pytest.raises(SolveError, match="no factors"):
        factor.solve(np.ones(40))
    factor.refactor(A.data)
    b = random.normal(size=40)
    np.testing.assert_allclose(A @ factor.solve(b), b, rtol=0, atol=1e-9)


def test_singular_matrix_bad_input() -> None:
    """An unheld net: rigid motions cost nothing, so no pivot is left for the last of it."""
    body = springs_many(0.0)
    free = sp.csr_array(body.stiffness())
    free.sum_duplicates()
    with pytest.raises(SolveError):
        Factor(free, backend="cholesky").solve(np.ones(free.shape[0]))


@pytest.mark.parametrize("kind", ["symmetric", "kkt", "general"])
def test_other_kinds_bad_input(kind: str) -> None:
    with pytest.raises(InputError, match="backend"):
        Factor(definite(6, 0.2, 0), kind=kind, backend="cholesky")


def constrained(size: int, border: int, seed: int) -> sp.csr_array:
    """[[A, Cᵀ], [C, 0]] of coordinates in threes, A positive definite and C of full rank."""
    random = np.random.default_rng(seed)
    A = sp.kron(definite(size, 0.1, seed), np.eye(3) + 0.1)
    C = np.zeros((border, size))
    C[np.arange(size) % border, np.arange(size)] = random.uniform(0.5, 1.5, size)
    C = sp.csr_array(sp.kron(C, sp.eye_array(3)))
    matrix = sp.csr_array(sp.block_array([[A, C.T], [C, None]]))
    matrix.sum_duplicates()
    return matrix


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize(("size", "border"), [(1, 1), (5, 2), (40, 7), (90, 30), (60, 1)])
def test_constraints_agreement(size: int, border: int, thorough: bool, random: np.random.Generator) -> None:
    """Pivots of both signs, beside dense algebra; signs are counted, and new values are taken."""
    matrix = constrained(size, border, size)
    b = random.normal(size=(matrix.shape[0], 2))
    factor = Factor(matrix, kind="kkt", backend="cholesky", constraint_count=3 * border, optimise_ordering=thorough)
    assert factor.negative_eigenvalues == 3 * border == (np.linalg.eigvalsh(matrix.toarray()) < 0).sum()
    for scale in (1.0, 3.0):
        factor.refactor(scale * matrix.data)
        want = np.linalg.solve(scale * matrix.toarray(), b)
        np.testing.assert_allclose(factor.solve(b), want, rtol=0, atol=1e-9 * abs(want).max())


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.integers(1, 6), st.integers(0, 10_000), st.booleans())
def test_single_constraints_agreement(size: int, border: int, seed: int, thorough: bool) -> None:
    """Coordinates that do not come in threes, and constraints that hold many of them."""
    border, random = min(border, size - 1), np.random.default_rng(seed)
    C = random.normal(size=(border, size))
    matrix = sp.csr_array(sp.block_array([[definite(size, 0.2, seed), C.T], [C, None]]))
    matrix.sum_duplicates()
    b = random.normal(size=size + border)
    factor = Factor(matrix, kind="kkt", backend="cholesky", constraint_count=border, optimise_ordering=thorough)
    want = np.linalg.solve(matrix.toarray(), b)
    np.testing.assert_allclose(factor.solve(b), want, rtol=0, atol=1e-6 * abs(want).max())


def test_other_signs_bad_input() -> None:
    """What is negative along a direction that no constraint holds."""
    matrix = sp.csr_array(np.array([[1.0, 0, 0, 1], [0, 1, 0, 0], [0, 0, -1, 0], [1, 0, 0, 0]]))
    with pytest.raises(NotPositiveDefinite, match="constraints"):
        Factor(matrix, kind="kkt", backend="cholesky", constraint_count=1)


def dense_structure(A: sp.csr_array, order: np.ndarray) -> np.ndarray:
    """The twin: eliminate one column after the other, and note what fills."""
    filled = (A.toarray() != 0)[np.ix_(order, order)]
    for j in range(len(filled)):
        below = j + 1 + np.flatnonzero(filled[j + 1 :, j])
        filled[np.ix_(below, below)] = True
    return np.tril(filled, -1)


@pytest.mark.parametrize("seed", range(6))
def test_structures_agreement(seed: int) -> None:
    A = definite(45, 0.04, seed)
    graph = build_adjacency_graph(A, 1)
    order, index = dissect_graph(graph), (graph.indptr.astype(np.int64), graph.indices.astype(np.int64))
    parent = kernels_symbolic.build_elimination_tree(*index, order)
    starts, rows = kernels_symbolic.compute_column_structures(*index, order, parent)
    want = dense_structure(A, order)
    for j in range(45):
        np.testing.assert_array_equal(rows[starts[j] : starts[j + 1]], np.flatnonzero(want[:, j]))
        assert parent[j] == (np.flatnonzero(want[:, j])[0] if want[:, j].any() else -1)


@pytest.mark.parametrize("seed", range(6))
def test_postorder_identity(seed: int) -> None:
    """Every column once, its whole subtree right before it, the largest child last."""
    A = definite(60, 0.03, seed)
    graph = build_adjacency_graph(A, 1)
    order, index = dissect_graph(graph), (graph.indptr.astype(np.int64), graph.indices.astype(np.int64))
    parent = kernels_symbolic.build_elimination_tree(*index, order)
    sizes = np.diff(kernels_symbolic.compute_column_structures(*index, order, parent)[0])
    after = kernels_symbolic.compute_postorder(parent, sizes)
    np.testing.assert_array_equal(np.sort(after), np.arange(60))
    places = kernels_symbolic.invert_permutation(after)
    for j in np.flatnonzero(parent >= 0):
        assert places[j] < places[parent[j]]
    for j in range(60):
        children = np.flatnonzero(parent == j)
        if len(children):
            assert sizes[after[places[j] - 1]] == sizes[children].max()


def test_updates_do_not_overlap_identity() -> None:
    """What a panel has left for its parent stays until the parent has taken it."""
    plan = cholesky.analyse_pattern(solid((14, 4, 4)))
    sizes = np.diff(plan.row_starts) ** 2
    assert len(sizes) > 10
    waiting: set[int] = set()
    for s, size in enumerate(sizes):
        for other in waiting:
            assert (
                plan.update_starts[s] >= plan.update_starts[other] + sizes[other]
                or plan.update_starts[other] >= plan.update_starts[s] + size
            )
        children = plan.children[plan.child_starts[s] : plan.child_starts[s + 1]]
        assert waiting.issuperset(children.tolist())
        waiting = {other for other in waiting if other not in children} | {s}
    assert plan.workspace_size >= (plan.update_starts + sizes).max()


def hops(plan: cholesky.SymbolicFactorization) -> int:
    """How many runs of rows all panels hand to their parents."""
    ends = plan.row_starts[1:]
    breaks = np.flatnonzero(np.diff(plan.relative_indices) != 1) + 1
    return len(np.union1d(breaks, ends[ends > 0]))


def test_rows_that_go_together_stand_together_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of a panel are told apart by whom they are reached from: fewer runs, the same panels and pivots."""
    A = solid((14, 4, 4))
    gathered = cholesky.analyse_pattern(A)
    monkeypatch.setattr(cholesky, "_reorder_within_panels", lambda order, first, below, negative: (order, below))
    loose = cholesky.analyse_pattern(A)
    assert hops(gathered) < 0.8 * hops(loose)
    np.testing.assert_array_equal(gathered.column_starts, loose.column_starts)
    np.testing.assert_array_equal(np.diff(gathered.row_starts), np.diff(loose.row_starts))
    for begin, end in pairwise(gathered.column_starts):
        np.testing.assert_array_equal(np.sort(gathered.order[begin:end]), np.sort(loose.order[begin:end]))


def test_panels_join_where_that_is_faster_claim() -> None:
    """Where a panel costs nothing and zeros do, all stay apart that differ; where only panels cost, a chain is one."""
    graph = build_adjacency_graph(solid((6, 3, 3)), 3)
    order, index = dissect_graph(graph), (graph.indptr.astype(np.int64), graph.indices.astype(np.int64))
    parent = kernels_symbolic.build_elimination_tree(*index, order)
    sizes = np.diff(kernels_symbolic.compute_column_structures(*index, order, parent)[0])
    order = order[kernels_symbolic.compute_postorder(parent, sizes)]
    parent = kernels_symbolic.build_elimination_tree(*index, order)
    starts, _ = kernels_symbolic.compute_column_structures(*index, order, parent)
    strict = kernels_symbolic.find_supernodes(parent, np.diff(starts), 3, np.array([1.0, 1.0, 0.0, 0.0]))
    for begin, end in pairwise(strict):
        # no zeros: each column has those rows that its successor has, and that one itself
        for j in range(begin, end - 1):
            assert starts[j + 1] - starts[j] == starts[j + 2] - starts[j + 1] + 1
    loose = kernels_symbolic.find_supernodes(parent, np.diff(starts), 3, np.array([0.0, 0.0, 0.0, 1.0]))
    assert len(loose) < len(strict) // 3
    own = kernels_symbolic.estimate_panel_time(2, 4, 3, cholesky.PANEL_COST_RATES)
    assert own == pytest.approx(0.06 * (6**3 / 6 + 12 * 6**2 / 2) + 0.055 * 12**2 * 6 / 2 + 0.8 * 12**2 / 2 + 2000.0)


def test_twins_on_threads_agreement() -> None:
    """Twins share what is known of the pattern; on threads of their own each has the factors of its own values."""
    A = solid((8, 3, 3))
    first = Factor(A, backend="cholesky")
    twins = [first.copy_symbolic() for _ in range(4)]
    b = np.random.default_rng(0).normal(size=A.shape[0])
    want = [np.asarray(first.solve(b)) / scale for scale in range(1, 5)]

    def work(number: int) -> list[float]:
        off = []
        for _ in range(30):
            twins[number].refactor((number + 1.0) * A.data)
            off.append(abs(twins[number].solve(b) - want[number]).max() / abs(want[number]).max())
        return off

    with ThreadPoolExecutor(4) as pool:
        assert max(max(off) for off in pool.map(work, range(4))) < 1e-8


@pytest.mark.parametrize("wrong", [lambda order: order + 1, lambda order: order * 0, lambda order: order[1:]])
def test_order_bad_input(monkeypatch: pytest.MonkeyPatch, wrong: Callable[[Any], Any]) -> None:
    """What is no permutation never reaches compiled loops, which would write outside of their arrays."""
    for module in (cholesky, ordering):
        monkeypatch.setattr(module, "dissect_graph", lambda graph: wrong(dissect_graph(graph)))
    for backend in ("cholesky", "superlu"):
        with pytest.raises(SolveError, match="not a permutation of the 40 nodes"):
            Factor(definite(40, 0.1, 3), backend=backend)
