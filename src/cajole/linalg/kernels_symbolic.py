"""Compiled loops over the graph of a symmetric matrix: which columns of its Cholesky factor depend on which.

A graph is (indptr, indices), both ways and without loops; `order` names its nodes in the order of elimination. Trees
and structures are numbered in that order: parent[j] is the first row of column j below its diagonal, -1 at a root.
"""

from __future__ import annotations

import numpy as np

from cajole.compiled import njit


@njit(cache=True)
def elimination_tree(indptr, indices, order):
    """parent (n,), with paths cut short on the way (Liu 1990)."""
    n = len(order)
    places = inverse(order)
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
def inverse(order):
    """Where each node stands in `order`."""
    places = np.empty(len(order), np.int64)
    for place in range(len(order)):
        places[order[place]] = place
    return places


@njit(cache=True)
def children(parent, visited):
    """Lists of children, (first, next) with -1 at their ends; of one parent those visited last come first."""
    first, following = np.full(len(parent), -1, np.int64), np.full(len(parent), -1, np.int64)
    for j in visited:
        if parent[j] != -1:
            following[j] = first[parent[j]]
            first[parent[j]] = j
    return first, following


@njit(cache=True)
def structures(indptr, indices, order, parent):
    """starts (n + 1,) and rows: those of each column below its diagonal, sorted."""
    n = len(order)
    places = inverse(order)
    first, following = children(parent, np.arange(n))
    starts, mark, rows = np.zeros(n + 1, np.int64), np.full(n, -1, np.int64), np.empty(17 * n, np.int64)
    for j in range(n):
        at = starts[j]
        if at + n > len(rows):
            rows = np.concatenate((rows[:at], np.empty(at + 2 * n, np.int64)))
        mark[j] = j
        for p in range(indptr[order[j]], indptr[order[j] + 1]):
            at = _noted(places[indices[p]], j, mark, rows, at)
        child = first[j]
        while child != -1:
            for p in range(starts[child], starts[child + 1]):
                at = _noted(rows[p], j, mark, rows, at)
            child = following[child]
        rows[starts[j] : at].sort()
        starts[j + 1] = at
    return starts, rows[: starts[n]]


@njit(cache=True)
def _noted(row, j, mark, rows, at):
    if row > j and mark[row] != j:
        mark[row] = j
        rows[at] = row
        at += 1
    return at


@njit(cache=True)
def postorder(parent, sizes):
    """The columns (n,), children before their parents, the one with the largest of `sizes` right before it."""
    n = len(parent)
    first, following = children(parent, np.argsort(-sizes))
    out, stack = np.empty(n, np.int64), np.empty(n, np.int64)
    top, at = 0, n
    for j in range(n):
        if parent[j] == -1:
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
def supernodes(parent, sizes, block, rates):
    """First columns (s + 1,) of ranges that are kept as one dense panel; columns in postorder, `sizes` rows below each.

    A range takes in its last child where one panel takes less time than two, the zeros that this lets in included;
    block, rates: those of `panel_time`.
    """
    begin, end = np.empty_like(parent), np.empty_like(parent)
    top = -1
    for j in range(len(parent)):
        top += 1
        begin[top], end[top] = j, j + 1
        # what was last is a child of this range when its last column leads into it
        while top > 0 and begin[top] <= parent[end[top - 1] - 1] < end[top]:
            child, own, below = end[top - 1] - begin[top - 1], end[top] - begin[top], sizes[end[top] - 1]
            apart = panel_time(child, sizes[end[top - 1] - 1], block, rates) + panel_time(own, below, block, rates)
            if panel_time(child + own, below, block, rates) > apart:
                break
            top -= 1
            end[top] = end[top + 1]
    return np.append(begin[: top + 1], len(parent))


@njit(cache=True)
def panel_time(columns, below, block, rates):
    """What a panel of `columns` with rows `below` takes, each of them `block` coordinates, by `rates` (4,).

    rates: of a product in a panel, of one in its update, of a value handed to its parent, and of a panel itself.
    """
    w, b = float(block * columns), float(block * below)
    return rates[0] * (w**3 / 6 + b * w**2 / 2) + rates[1] * b**2 * w / 2 + rates[2] * b**2 / 2 + rates[3]


@njit(cache=True)
def entries(indptr, indices, places, first, rows_from, rows, panels):
    """Where the upper triangle of a matrix goes, panel by panel: starts (s + 1,), taken and put (m,).

    `taken` counts values of the matrix, `put` those of the panels; `places` is the inverse of the order, the rest are
    those of a `Plan`.
    """
    n, count = len(indptr) - 1, len(first) - 1
    owner = np.empty(n, np.int64)
    for s in range(count):
        owner[first[s] : first[s + 1]] = s
    starts = np.zeros(count + 1, np.int64)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] >= i:
                starts[owner[min(places[i], places[indices[p]])] + 1] += 1
    starts = np.cumsum(starts)
    filled, taken = starts[:-1].copy(), np.empty(starts[-1], np.int64)
    column, row = np.empty_like(taken), np.empty_like(taken)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] >= i:
                a, b = places[i], places[indices[p]]
                s = owner[min(a, b)]
                taken[filled[s]], column[filled[s]], row[filled[s]] = p, min(a, b), max(a, b)
                filled[s] += 1
    local = np.empty(n, np.int64)
    for s in range(count):
        width = first[s + 1] - first[s]
        for j in range(width):
            local[first[s] + j] = j
        for p in range(rows_from[s], rows_from[s + 1]):
            local[rows[p]] = width + p - rows_from[s]
        height = width + rows_from[s + 1] - rows_from[s]
        for q in range(starts[s], starts[s + 1]):
            row[q] = panels[s] + (column[q] - first[s]) * height + local[row[q]]
    return starts, taken, row
