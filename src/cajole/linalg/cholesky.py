"""Factors L S Lᵀ by dense panels: of matrices that change from step to step, on one thread, the fastest there are."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.arrays import IndexArray
from cajole.errors import NotPositiveDefinite
from cajole.linalg import kernels_cholesky as kernels
from cajole.linalg import kernels_symbolic
from cajole.linalg.ordering import (
    build_adjacency_graph,
    delay_constraint_nodes,
    dissect_graph,
    expand_to_dofs,
    find_block_size,
    find_saddle_point_block_size,
    generate_orderings,
)

# What a panel takes, ns: of a product in it, of one in its update, of a value that is handed to its parent, and of any
# panel. Rough measures of one machine; five sets of them, the third from 0.4 to 1.4, gave times within four per cent.
PANEL_COST_RATES = np.array([0.06, 0.055, 0.8, 2000.0])


@dataclass(frozen=True, eq=False)
class SymbolicFactorization:
    """Panels of the factor of a pattern; s of them, each below those that depend on it.

    order (n,): the rows in the order of elimination, in which all else is numbered. first (s + 1,): the first column of
    each panel. rows_from (s + 1,), rows: those below its columns; local: where these are in the panel of the parent,
    whose columns come first, and runs: how many from each on follow each other there, too. panels (s + 1,), updates
    (s,): where the values of each begin; room: of all updates that wait at a time. children_from (s + 1,), children:
    whose updates a panel takes. entries: (starts, taken, put) of the matrix, where starts (s + 1,) tells panels apart.
    negative (s,): how many pivots of each panel are, its last ones.
    """

    order: IndexArray
    column_starts: IndexArray
    row_starts: IndexArray
    rows: IndexArray
    relative_indices: NDArray[np.int32]
    run_lengths: NDArray[np.int32]
    panel_starts: IndexArray
    update_starts: IndexArray
    workspace_size: int
    child_starts: IndexArray
    children: IndexArray
    entry_map: tuple[IndexArray, IndexArray, IndexArray]
    negative_pivots: IndexArray

    @property
    def max_update_rows(self) -> int:
        """The most rows below a panel's columns."""
        return int(np.diff(self.row_starts).max(initial=0))


def analyse_pattern(
    pattern: sp.csr_array, constraint_count: int = 0, *, optimise_ordering: bool = False
) -> SymbolicFactorization:
    """The plan for matrices with the pattern, of which the upper triangle will be read.

    border: how many of the last rows are constraints of the others, whose pivots will be negative. thorough: of many
    orders of elimination the cheapest is taken.
    """
    block = (
        find_saddle_point_block_size(pattern.shape[0], constraint_count)
        if constraint_count
        else find_block_size(pattern)
    )
    graph = build_adjacency_graph(pattern, block)
    tried = (
        generate_orderings(graph, constraint_count // block)
        if optimise_ordering
        else [delay_constraint_nodes(graph, dissect_graph(graph), constraint_count // block)]
    )
    order, first, below = _choose_fastest_order(graph, block, tried)
    order, below, negative = _order_constraints_last(order, first, below, constraint_count // block)
    order, below = _reorder_within_panels(order, first, below, negative)
    parent = _find_parents(first, below)
    order, first, rows = expand_to_dofs(order, block), block * first, [expand_to_dofs(each, block) for each in below]
    widths, heights = np.diff(first), np.array([len(each) for each in rows])
    rows_from, panels = _compute_offsets(heights), _compute_offsets(widths * (widths + heights))
    flat = np.concatenate(rows)
    children = np.argsort(parent, kind="stable")[int((parent < 0).sum()) :]
    children_from = _compute_offsets(np.bincount(parent[parent >= 0], minlength=len(parent)))
    updates, room = _allocate_updates(heights**2, children_from, children)
    places = kernels_symbolic.invert_permutation(order)
    index = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)
    entries = kernels_symbolic.build_entry_map(*index, places, first, rows_from, flat, panels)
    local = _compute_relative_indices(first, rows, parent)
    runs = _compute_run_lengths(local, rows_from)
    return SymbolicFactorization(
        order,
        first,
        rows_from,
        flat,
        local,
        runs,
        panels,
        updates,
        room,
        children_from,
        children,
        entries,
        block * negative,
    )


def _choose_fastest_order(
    graph: sp.csr_array, block_size: int, candidates: Iterable[IndexArray]
) -> tuple[IndexArray, IndexArray, list[IndexArray]]:
    """Order of the graph's nodes, the first column of each panel, and rows below it: the fastest of some orders.

    block: how many coordinates a node has.
    """
    index = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    found = (_find_panels(index, block_size, order) for order in candidates)
    return min(found, key=lambda each: _estimate_factorisation_time(block_size, *each[1:]))


def _find_panels(
    adjacency: tuple[IndexArray, IndexArray], block_size: int, order: IndexArray
) -> tuple[IndexArray, IndexArray, list[IndexArray]]:
    """An order in postorder, the first column of each panel, and rows below it."""
    parent = kernels_symbolic.build_elimination_tree(*adjacency, order)
    starts, _ = kernels_symbolic.compute_column_structures(*adjacency, order, parent)
    order = order[kernels_symbolic.compute_postorder(parent, np.diff(starts))]
    parent = kernels_symbolic.build_elimination_tree(*adjacency, order)
    starts, rows = kernels_symbolic.compute_column_structures(*adjacency, order, parent)
    first = kernels_symbolic.find_supernodes(parent, np.diff(starts), block_size, PANEL_COST_RATES)
    return order, first, [rows[starts[end - 1] : starts[end]] for end in first[1:]]


def _estimate_factorisation_time(block_size: int, column_starts: IndexArray, panel_rows: list[IndexArray]) -> float:
    """What a factorisation takes, by `RATES`."""
    return float(
        sum(
            kernels_symbolic.estimate_panel_time(n, len(under), block_size, PANEL_COST_RATES)
            for n, under in zip(np.diff(column_starts), panel_rows)
        )
    )


def _order_constraints_last(
    order: IndexArray, column_starts: IndexArray, panel_rows: list[IndexArray], constraint_count: int
) -> tuple[IndexArray, list[IndexArray], IndexArray]:
    """The last `border` nodes come last in each panel: the order, rows below each, and how many of them it has (s,)."""
    panel = np.repeat(np.arange(len(panel_rows)), np.diff(column_starts))
    last = order >= len(order) - constraint_count
    turn = np.lexsort((last, panel))
    places = kernels_symbolic.invert_permutation(turn)
    negative = np.bincount(panel, weights=last, minlength=len(panel_rows)).astype(np.int64)
    return order[turn], [np.sort(places[under]) for under in panel_rows], negative


def _reorder_within_panels(
    order: IndexArray, column_starts: IndexArray, panel_rows: list[IndexArray], negative_pivots: IndexArray
) -> tuple[IndexArray, list[IndexArray]]:
    """Within each panel those come together whom the same panels reach, so that these hand on long runs of rows.

    Classes of columns are split by each panel's rows, the longest first (partition refinement).
    """
    classes = [[np.arange(end - n), np.arange(end - n, end)] for end, n in zip(np.diff(column_starts), negative_pivots)]
    inside = np.zeros(int(np.diff(column_starts).max()), dtype=bool)
    for s in np.argsort([-len(each) for each in panel_rows], kind="stable"):
        cuts = np.searchsorted(panel_rows[s], column_starts)
        for up in np.flatnonzero(np.diff(cuts)):
            reached = panel_rows[s][cuts[up] : cuts[up + 1]] - column_starts[up]
            inside[reached] = True
            classes[up] = _refine_partition(classes[up], inside)
            inside[reached] = False
    turn = np.concatenate([start + np.concatenate(each) for start, each in zip(column_starts, classes)])
    places = kernels_symbolic.invert_permutation(turn)
    return order[turn], [np.sort(places[under]) for under in panel_rows]


def _refine_partition(classes: list[IndexArray], member_mask: NDArray[np.bool_]) -> list[IndexArray]:
    """Classes in order, none of them partly `inside`; the parts that are stand next to each other where they can."""
    out: list[IndexArray] = []
    begun = False
    for each in classes:
        within = member_mask[each]
        parts = [each[~within], each[within]]
        out += [part for part in (parts[::-1] if begun else parts) if len(part)]
        begun = begun or bool(within.any())
    return out


def _find_parents(column_starts: IndexArray, panel_rows: list[IndexArray]) -> IndexArray:
    """(s,) the panel that has the first row below each, -1 where there is none."""
    rows = np.array([each[0] if len(each) else -1 for each in panel_rows], dtype=np.int64)
    return np.where(rows < 0, -1, np.searchsorted(column_starts, rows, side="right") - 1)


def _compute_relative_indices(
    column_starts: IndexArray, panel_rows: list[IndexArray], parents: IndexArray
) -> NDArray[np.int32]:
    found = []
    for below, up in zip(panel_rows, parents):
        begin, end = column_starts[up], column_starts[up + 1]
        found.append(np.where(below < end, below - begin, end - begin + np.searchsorted(panel_rows[up], below)))
    return np.concatenate(found).astype(np.int32)


def _compute_run_lengths(relative_indices: NDArray[np.int32], row_starts: IndexArray) -> NDArray[np.int32]:
    """How many of `local` from each on count up by one, within one panel."""
    breaks = np.flatnonzero(np.diff(relative_indices) != 1) + 1
    ends = np.union1d(breaks, row_starts[1:])
    here = np.arange(len(relative_indices))
    return (ends[np.searchsorted(ends, here, side="right")] - here).astype(np.int32)


def _compute_offsets(sizes: NDArray[np.int64]) -> IndexArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _allocate_updates(sizes: IndexArray, child_starts: IndexArray, children: IndexArray) -> tuple[IndexArray, int]:
    """Where each update begins in the room that those already taken leave free, and how much room that is."""
    places, room = np.zeros(len(sizes), dtype=np.int64), 1
    live: list[tuple[int, int, int]] = []
    for s, size in enumerate(sizes.tolist()):
        at = 0
        for begin, end, _ in live:
            if begin - at >= size:
                break
            at = end
        places[s], room = at, max(room, at + size)
        taken = set(children[child_starts[s] : child_starts[s + 1]].tolist())
        live = sorted([(at, at + size, s), *(each for each in live if each[2] not in taken)])
    return places, room


class Cholesky:
    """One pattern of positive definite matrices with its factors; takes the whole matrix in CSR order.

    border: how many of the last rows are constraints of the others, so that as many pivots are negative. That they are
    is what a factorisation proves (Sylvester's law of inertia). thorough: see `planned`.
    """

    perturbed_pivots = 0

    def __init__(
        self, indptr: NDArray[Any], indices: NDArray[Any], constraint_count: int = 0, *, optimise_ordering: bool = False
    ):
        size = len(indptr) - 1
        pattern = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(size, size))
        self._symbolic = analyse_pattern(pattern, constraint_count, optimise_ordering=optimise_ordering)
        self.negative_eigenvalues = constraint_count
        # Scratch that twins share, as it can be larger than the factors: they factorise one at a time.
        self._update_workspace, self._workspace_lock = np.empty(self._symbolic.workspace_size), threading.Lock()
        self._factors = np.empty(self._symbolic.panel_starts[-1])

    def copy_symbolic(self) -> Cholesky:
        """The same pattern with factors of its own."""
        other = copy(self)
        other._factors = np.empty_like(self._factors)
        return other

    def factorise(self, data: NDArray[np.float64]) -> None:
        """Numeric factorisation of the values `data` on the known pattern."""
        p = self._symbolic
        with self._workspace_lock:
            done = kernels.factorise(
                data,
                *p.entry_map,
                p.column_starts,
                p.row_starts,
                p.relative_indices,
                p.run_lengths,
                p.panel_starts,
                p.update_starts,
                p.child_starts,
                p.children,
                p.negative_pivots,
                self._factors,
                self._update_workspace,
                np.empty(kernels.BLOCK_COLUMNS**2),
                _allocate_int_arguments(),
            )
        if not done:
            raise NotPositiveDefinite(
                "the matrix is not positive definite"
                + (" where its constraints hold" if self.negative_eigenvalues else "")
            )

    def solve(self, rhs: NDArray[np.float64]) -> NDArray[np.float64]:
        """x with A x = right, (n,) or (n, k)."""
        p = self._symbolic
        n, count = len(rhs), rhs.size // len(rhs)
        X = np.ascontiguousarray(rhs[p.order].T).ravel()
        held = np.empty(max(1, count * p.max_update_rows))
        kernels.solve(
            X,
            n,
            count,
            p.column_starts,
            p.row_starts,
            p.rows,
            p.panel_starts,
            p.negative_pivots,
            self._factors,
            held,
            _allocate_int_arguments(),
        )
        x = np.empty(rhs.shape)
        x[p.order] = X.reshape(count, n).T.reshape(rhs.shape)
        return x


def _allocate_int_arguments() -> NDArray[np.int32]:
    """Room for the arguments of BLAS, of each call its own: threads may solve at once."""
    return np.empty(6, dtype=np.int32)
