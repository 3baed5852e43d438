"""Compiled loops of a multifrontal factorisation L S Lᵀ (Duff and Reid 1983): dense panels, one after the other.

S is diagonal, -1 in the last columns of some panels; all of it is 1 in Cholesky's.

A panel has the columns of a supernode and all rows in which they are not zero. What it does to later rows, its update,
is a square of those rows that is added to the panel, or to the update, of its parent.
"""

from __future__ import annotations

from cajole.compiled import njit
from cajole.linalg.kernels_blas import (
    below_times,
    divided,
    factorised,
    less_below,
    less_product,
    less_square,
    solved,
)


@njit(cache=True)
def factorise(
    data, starts, taken, put, first, rows_from, local, runs, panels, updates, children_from, children, negative, L,
    updated, sizes,
):  # fmt: skip
    """Fill the panels L with the factor of the matrix whose values are `data`; false where pivots have other signs.

    starts, taken, put: the entries of each panel, data[taken] go to L[put]; the rest are those of a `Plan`.
    """
    for s in range(len(first) - 1):
        width, below = first[s + 1] - first[s], rows_from[s + 1] - rows_from[s]
        at, to, height = panels[s], updates[s], width + below
        # of squares only the lower triangle is ever read
        for j in range(width):
            L[at + j * height + j : at + (j + 1) * height] = 0.0
        for j in range(below):
            updated[to + j * below + j : to + (j + 1) * below] = 0.0
        for e in range(starts[s], starts[s + 1]):
            L[put[e]] = data[taken[e]]
        for child in children[children_from[s] : children_from[s + 1]]:
            rows = slice(rows_from[child], rows_from[child + 1])
            _extend(updated, updates[child], local[rows], runs[rows], L, at, width, height, to)
        if not _panel_factorised(L, at, width, height, negative[s], sizes):
            return False
        if below > 0:
            last = at + width
            less_square(L, last, width - negative[s], below, height, False, updated, to, sizes)
            if negative[s] > 0:
                turned = last + (width - negative[s]) * height
                less_square(L, turned, negative[s], below, height, True, updated, to, sizes)
    return True


@njit(cache=True)
def _panel_factorised(L, at, width, height, negative, sizes):
    """The columns of a panel, in place, whose last pivots are `negative`; false where they are not."""
    positive = width - negative
    if positive > 0:
        if factorised(L, at, positive, height, sizes) != 0:
            return False
        if height > positive:
            divided(L, at, positive, height - positive, height, sizes)
    if negative > 0:
        # what is left of those columns, with its sign turned
        corner = at + positive * height + positive
        if positive > 0:
            less_product(L, at + positive, positive, height - positive, negative, height, corner, sizes)
        for j in range(negative):
            for i in range(corner + j * height + j, corner + j * height + height - positive):
                L[i] = -L[i]
        if factorised(L, corner, negative, height, sizes) != 0:
            return False
        if height > width:
            divided(L, corner, negative, height - width, height, sizes)
    return True


@njit(cache=True)
def _extend(updated, child, places, runs, L, at, width, height, to):
    """Add a child's update, of rows that are at `places` of its parent, to the parent's panel and update.

    runs: how many rows from each on follow each other there, too.
    """
    count, below = len(places), height - width
    for j in range(count):
        column = child + j * count
        if places[j] < width:
            _add(L, at + places[j] * height, updated, column, j, places, runs)
        else:
            _add(updated, to + (places[j] - width) * below - width, updated, column, j, places, runs)


@njit(cache=True)
def _add(out, start, updated, column, first, places, runs):
    i = first
    while i < len(places):
        here, there = column + i, start + places[i]
        for k in range(runs[i]):
            out[there + k] += updated[here + k]
        i += runs[i]


@njit(cache=True)
def solve(X, n, count, first, rows_from, rows, panels, negative, L, held, sizes):
    """Solve in place: X, n `count` values, columns of right-hand sides in the order of elimination; `held` is room."""
    last = len(first) - 1
    for s in range(last):
        width, below = first[s + 1] - first[s], rows_from[s + 1] - rows_from[s]
        solved(L, panels[s], width, width + below, False, X, first[s], n, count, sizes)
        if below > 0:
            below_times(L, panels[s], width, width + below, X, first[s], n, count, held, sizes)
            for c in range(count):
                for i in range(below):
                    X[c * n + rows[rows_from[s] + i]] -= held[c * below + i]
        for c in range(count):
            for i in range(c * n + first[s + 1] - negative[s], c * n + first[s + 1]):
                X[i] = -X[i]
    for s in range(last - 1, -1, -1):
        width, below = first[s + 1] - first[s], rows_from[s + 1] - rows_from[s]
        if below > 0:
            for c in range(count):
                for i in range(below):
                    held[c * below + i] = X[c * n + rows[rows_from[s] + i]]
            less_below(L, panels[s], width, width + below, held, X, first[s], n, count, sizes)
        solved(L, panels[s], width, width + below, True, X, first[s], n, count, sizes)
