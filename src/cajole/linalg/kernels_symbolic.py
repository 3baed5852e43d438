"""Compiled symbolic analysis for Cholesky: elimination tree, column structures, postorder, supernodes.

A graph is (indptr, indices), symmetric and without loops; `order` lists its nodes in elimination order. Trees and
structures are numbered in that order: parent[j] is the first row of column j below its diagonal, -1 at a root.
"""

from __future__ import annotations

import numpy as np

from cajole.jit import njit


@njit(cache=True)
def build_elimination_tree(indptr, indices, order):
    """The elimination tree: parent (n,), with path compression (Liu 1990)."""
    n = len(order)
    places = invert_permutation(order)
    parent, ancestor = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for j in range(n):
        for p in range(indptr[order[j]], indptr[order[j] + 1]):
            i = places[indices[p]]
            while i != -1 and i < j:
                following = ancestor[i]
                ancestor[i] = j
                if following == -1:
                    parent[i] = j
                i = following
    return parent


@njit(cache=True)
def invert_permutation(order):
    """The inverse permutation (n,): the position of each node in `order`."""
    places = np.empty(len(order), np.int64)
    for place in range(len(order)):
        places[order[place]] = place
    return places


@njit(cache=True)
def link_children(parents, visit_order):
    """Linked lists of children (first, next) with -1 at their ends, in reverse `visit_order`."""
    first, following = np.full(len(parents), -1, np.int64), np.full(len(parents), -1, np.int64)
    for j in visit_order:
        if parents[j] != -1:
            following[j] = first[parents[j]]
            first[parents[j]] = j
    return first, following


@njit(cache=True)
def compute_column_structures(indptr, indices, order, parents):
    """starts (n + 1,) and rows: the sorted rows of each column below its diagonal."""
    n = len(order)
    places = invert_permutation(order)
    first, following = link_children(parents, np.arange(n))
    starts, mark, rows = np.zeros(n + 1, np.int64), np.full(n, -1, np.int64), np.empty(17 * n, np.int64)
    for j in range(n):
        at = starts[j]
        if at + n > len(rows):
            rows = np.concatenate((rows[:at], np.empty(at + 2 * n, np.int64)))
        mark[j] = j
        for p in range(indptr[order[j]], indptr[order[j] + 1]):
            at = _append_row(places[indices[p]], j, mark, rows, at)
        child = first[j]
        while child != -1:
            for p in range(starts[child], starts[child + 1]):
                at = _append_row(rows[p], j, mark, rows, at)
            child = following[child]
        rows[starts[j] : at].sort()
        starts[j + 1] = at
    return starts, rows[: starts[n]]


@njit(cache=True)
def _append_row(row, column, marks, rows, end):
    if row > column and marks[row] != column:
        marks[row] = column
        rows[end] = row
        end += 1
    return end


@njit(cache=True)
def compute_postorder(parents, column_heights):
    """The columns (n,), children before their parents; the child of greatest height comes right before its parent."""
    n = len(parents)
    first, following = link_children(parents, np.argsort(-column_heights))
    out, stack = np.empty(n, np.int64), np.empty(n, np.int64)
    top, at = 0, n
    for j in range(n):
        if parents[j] == -1:
            stack[top] = j
            top += 1
    while top > 0:
        top -= 1
        at -= 1
        j = out[at] = stack[top]
        child = first[j]
        while child != -1:
            stack[top] = child
            top += 1
            child = following[child]
    return out


@njit(cache=True)
def find_supernodes(parents, column_heights, block_size, cost_rates):
    """First columns (s + 1,) of the supernodes: ranges of columns, in postorder, that are stored as one dense panel.

    A supernode absorbs its last child if one panel takes less time than two, explicit zeros included.
    column_heights (n,): rows below the diagonal; block_size, cost_rates: see `estimate_panel_time`.
    """
    begin, end = np.empty_like(parents), np.empty_like(parents)
    top = -1
    for j in range(len(parents)):
        top += 1
        begin[top], end[top] = j, j + 1
        # the previous range is a child of this one if the parent of its last column is inside
        while top > 0 and begin[top] <= parents[end[top - 1] - 1] < end[top]:
            child, own, below = end[top - 1] - begin[top - 1], end[top] - begin[top], column_heights[end[top] - 1]
            apart = estimate_panel_time(
                child, column_heights[end[top - 1] - 1], block_size, cost_rates
            ) + estimate_panel_time(own, below, block_size, cost_rates)
            if estimate_panel_time(child + own, below, block_size, cost_rates) > apart:
                break
            top -= 1
            end[top] = end[top + 1]
    return np.append(begin[: top + 1], len(parents))


@njit(cache=True)
def estimate_panel_time(column_count, row_count, block_size, cost_rates):
    """Estimated time of a panel with `row_count` rows below `column_count` columns, in blocks of `block_size`.

    cost_rates (4,): time of a product in the panel, of a product in its update, of a value that is added to the
    parent, and of any panel.
    """
    w, b = float(block_size * column_count), float(block_size * row_count)
    return (
        cost_rates[0] * (w**3 / 6 + b * w**2 / 2)
        + cost_rates[1] * b**2 * w / 2
        + cost_rates[2] * b**2 / 2
        + cost_rates[3]
    )


@njit(cache=True)
def build_entry_map(indptr, indices, inverse_order, column_starts, row_starts, rows, panel_starts):
    """Scatter map of the upper triangle of a matrix into the panels: starts (s + 1,), sources and targets (m,).

    Sources index the values of the matrix, targets those of the panels. The other arguments are fields of
    `SymbolicFactorization`.
    """
    n, count = len(indptr) - 1, len(column_starts) - 1
    owner = np.empty(n, np.int64)
    for s in range(count):
        owner[column_starts[s] : column_starts[s + 1]] = s
    starts = np.zeros(count + 1, np.int64)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] >= i:
                starts[owner[min(inverse_order[i], inverse_order[indices[p]])] + 1] += 1
    starts = np.cumsum(starts)
    filled, taken = starts[:-1].copy(), np.empty(starts[-1], np.int64)
    column, row = np.empty_like(taken), np.empty_like(taken)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] >= i:
                a, b = inverse_order[i], inverse_order[indices[p]]
                s = owner[min(a, b)]
                taken[filled[s]], column[filled[s]], row[filled[s]] = p, min(a, b), max(a, b)
                filled[s] += 1
    local = np.empty(n, np.int64)
    for s in range(count):
        width = column_starts[s + 1] - column_starts[s]
        for j in range(width):
            local[column_starts[s] + j] = j
        for p in range(row_starts[s], row_starts[s + 1]):
            local[rows[p]] = width + p - row_starts[s]
        height = width + row_starts[s + 1] - row_starts[s]
        for q in range(starts[s], starts[s + 1]):
            row[q] = panel_starts[s] + (column[q] - column_starts[s]) * height + local[row[q]]
    return starts, taken, row
