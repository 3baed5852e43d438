"""Multifrontal factorisation L S Lᵀ in dense panels: the fastest for many matrices of one pattern on one thread."""

from __future__ import annotations

import threading
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

# Time of a panel [ns]: per product in it, per product in its update, per value added to its parent, and fixed. Rough
# measures of one machine; five sets, the third rate from 0.4 to 1.4, gave factorisation times within four per cent.
PANEL_COST_RATES = np.array([0.06, 0.055, 0.8, 2000.0])


@dataclass(frozen=True, eq=False)
class SymbolicFactorization:
    """Symbolic factorisation of a pattern: ordering, s dense panels (supernodes) in postorder, assembly tree.

    order (n,): the rows in elimination order; all other numbers count in it. column_starts (s + 1,): first column of
    each panel. row_starts (s + 1,), rows: the rows below its columns. relative_indices: their positions in the panel of
    the parent, whose columns come first; run_lengths: how many from each on are consecutive there. panel_starts
    (s + 1,), update_starts (s,): offsets of the values of panels and updates; workspace_size: room for all updates that
    exist at a time. child_starts (s + 1,), children: panels whose updates a panel takes. entry_map: (starts, sources,
    targets) of the matrix values. negative_pivots (s,): number of negative pivots of each panel, its last ones.
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


def analyse_pattern(
    pattern: sp.csr_array, constraint_count: int = 0, *, optimise_ordering: bool = False
) -> SymbolicFactorization:
    """Symbolic factorisation for matrices with the pattern, of which the upper triangle will be read.

    constraint_count: number of last rows that are constraints of the others; their pivots are negative.
    optimise_ordering: take the cheapest of many elimination orders.
    """
    size = pattern.shape[0]
    block = find_saddle_point_block_size(size, constraint_count) if constraint_count else find_block_size(pattern)
    constraints = constraint_count // block
    graph = build_adjacency_graph(pattern, block)
    candidates = (
        generate_orderings(graph, constraints)
        if optimise_ordering
        else [delay_constraint_nodes(graph, dissect_graph(graph), constraints)]
    )
    adjacency = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    order, first, below = min(
        (_find_panels(adjacency, block, each) for each in candidates),
        key=lambda panels: sum(
            kernels_symbolic.estimate_panel_time(n, len(under), block, PANEL_COST_RATES)
            for n, under in zip(np.diff(panels[1]), panels[2])
        ),
    )
    # the constraints of each panel become its last columns
    panel = np.repeat(np.arange(len(below)), np.diff(first))
    is_constraint = order >= len(order) - constraints
    negative = np.bincount(panel, weights=is_constraint, minlength=len(below)).astype(np.int64)
    order, below = _permute(np.lexsort((is_constraint, panel)), order, below)
    order, below = _reorder_within_panels(order, first, below, negative)
    # the parent is the panel that has the first row below, -1 at a root
    top = np.array([each[0] if len(each) else -1 for each in below], dtype=np.int64)
    parent = np.where(top < 0, -1, np.searchsorted(first, top, side="right") - 1)
    order, first, rows = expand_to_dofs(order, block), block * first, [expand_to_dofs(each, block) for each in below]
    widths, heights = np.diff(first), np.array([len(each) for each in rows])
    row_starts, panels = _compute_offsets(heights), _compute_offsets(widths * (widths + heights))
    flat = np.concatenate(rows)
    children = np.argsort(parent, kind="stable")[int((parent < 0).sum()) :]
    child_starts = _compute_offsets(np.bincount(parent[parent >= 0], minlength=len(parent)))
    updates, room = _allocate_updates(heights**2, child_starts, children)
    places = kernels_symbolic.invert_permutation(order)
    index = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)
    entries = kernels_symbolic.build_entry_map(*index, places, first, row_starts, flat, panels)
    local = np.concatenate(
        [
            np.where(under < first[up + 1], under - first[up], widths[up] + np.searchsorted(rows[up], under))
            for under, up in zip(rows, parent)
        ]
    ).astype(np.int32)
    # runs end where `local` does not count up by one, and at the end of each panel
    ends = np.union1d(np.flatnonzero(np.diff(local) != 1) + 1, row_starts[1:])
    here = np.arange(len(local))
    runs = (ends[np.searchsorted(ends, here, side="right")] - here).astype(np.int32)
    return SymbolicFactorization(
        order,
        first,
        row_starts,
        flat,
        local,
        runs,
        panels,
        updates,
        room,
        child_starts,
        children,
        entries,
        block * negative,
    )


def _find_panels(
    adjacency: tuple[IndexArray, IndexArray], block_size: int, order: IndexArray
) -> tuple[IndexArray, IndexArray, list[IndexArray]]:
    """`order` as a postorder, the first column of each panel, and the rows below each panel."""
    parent = kernels_symbolic.build_elimination_tree(*adjacency, order)
    starts, _ = kernels_symbolic.compute_column_structures(*adjacency, order, parent)
    order = order[kernels_symbolic.compute_postorder(parent, np.diff(starts))]
    parent = kernels_symbolic.build_elimination_tree(*adjacency, order)
    starts, rows = kernels_symbolic.compute_column_structures(*adjacency, order, parent)
    first = kernels_symbolic.find_supernodes(parent, np.diff(starts), block_size, PANEL_COST_RATES)
    return order, first, [rows[starts[end - 1] : starts[end]] for end in first[1:]]


def _permute(
    permutation: IndexArray, order: IndexArray, panel_rows: list[IndexArray]
) -> tuple[IndexArray, list[IndexArray]]:
    places = kernels_symbolic.invert_permutation(permutation)
    return order[permutation], [np.sort(places[below]) for below in panel_rows]


def _reorder_within_panels(
    order: IndexArray, column_starts: IndexArray, panel_rows: list[IndexArray], negative_pivots: IndexArray
) -> tuple[IndexArray, list[IndexArray]]:
    """Order the columns of each panel so that the rows of other panels form long runs in it.

    Partition refinement: classes of columns are split by the rows of each panel, the longest panels first.
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
    return _permute(turn, order, panel_rows)


def _refine_partition(classes: list[IndexArray], member_mask: NDArray[np.bool_]) -> list[IndexArray]:
    """`classes` split into members and others, with the members next to each other where possible."""
    out: list[IndexArray] = []
    begun = False
    for each in classes:
        within = member_mask[each]
        parts = [each[~within], each[within]]
        out += [part for part in (parts[::-1] if begun else parts) if len(part)]
        begun = begun or bool(within.any())
    return out


def _compute_offsets(sizes: NDArray[np.int64]) -> IndexArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _allocate_updates(sizes: IndexArray, child_starts: IndexArray, children: IndexArray) -> tuple[IndexArray, int]:
    """Offset of each update, first fit among the updates that still exist, and the size of the workspace."""
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

    constraint_count: number of last rows that are constraints of the others, with as many negative pivots. The
    factorisation proves that (Sylvester's law of inertia). optimise_ordering: see `analyse_pattern`.
    """

    perturbed_pivots = 0

    def __init__(
        self, indptr: NDArray[Any], indices: NDArray[Any], constraint_count: int = 0, *, optimise_ordering: bool = False
    ):
        size = len(indptr) - 1
        pattern = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(size, size))
        self._symbolic = analyse_pattern(pattern, constraint_count, optimise_ordering=optimise_ordering)
        self.negative_eigenvalues = constraint_count
        # Copies share this scratch array, which can be larger than the factors; they factorise one at a time.
        self._update_workspace, self._workspace_lock = np.empty(self._symbolic.workspace_size), threading.Lock()
        self._factors = np.empty(self._symbolic.panel_starts[-1])

    def copy_symbolic(self) -> Cholesky:
        """A copy with the same symbolic factorisation and factors of its own."""
        other = copy(self)
        other._factors = np.empty_like(self._factors)
        return other

    def factorise(self, data: NDArray[np.float64]) -> None:
        """Factor the matrix with the values `data` in CSR order. Raises NotPositiveDefinite."""
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
                np.empty(6, dtype=np.int32),
            )
        if not done:
            raise NotPositiveDefinite(
                "the matrix is not positive definite"
                + (" where its constraints hold" if self.negative_eigenvalues else "")
            )

    def solve(self, rhs: NDArray[np.float64]) -> NDArray[np.float64]:
        """x with A x = rhs, (n,) or (n, k). Threads may solve at once."""
        p = self._symbolic
        n, count = len(rhs), rhs.size // len(rhs)
        X = np.ascontiguousarray(rhs[p.order].T).ravel()
        workspace = np.empty(max(1, count * int(np.diff(p.row_starts).max(initial=0))))
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
            workspace,
            np.empty(6, dtype=np.int32),
        )
        x = np.empty(rhs.shape)
        x[p.order] = X.reshape(count, n).T.reshape(rhs.shape)
        return x
