"""Compiled loops of a multifrontal factorisation L S Lᵀ (Duff and Reid 1983): dense panels, one after the other.

S is diagonal, -1 in the last columns of some panels; all of it is 1 in Cholesky's.

A panel has the columns of a supernode and all rows in which they are not zero. What it does to later rows, its update,
is a square of those rows that is added to the panel, or to the update, of its parent.
"""

from __future__ import annotations

import numpy as np

from cajole.compiled import njit
from cajole.linalg.kernels_blas import (
    MINUS,
    ONE,
    ZERO,
    below_times,
    factorised,
    less_below,
    less_product,
    solved,
    square,
    times_triangle,
)

# columns of a panel that are factorised before the others hear of it
STRIP = 24


@njit(cache=True)
def factorise(
    data, starts, taken, put, first, rows_from, local, runs, panels, updates, children_from, children, negative, L,
    updated, triangle, sizes,
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
        for e in range(starts[s], starts[s + 1]):
            L[put[e]] = data[taken[e]]
        for child in children[children_from[s] : children_from[s + 1]]:
            rows = slice(rows_from[child], rows_from[child + 1])
            _add_columns(updated, updates[child], local[rows], runs[rows], width, height, L, at)
        if not _panel_factorised(L, at, width, height, negative[s], triangle, sizes):
            return False
        if below > 0:
            _updated(L, at, width, height, negative[s], updated, to, sizes)
            for child in children[children_from[s] : children_from[s + 1]]:
                rows = slice(rows_from[child], rows_from[child + 1])
                _add_square(updated, updates[child], local[rows], runs[rows], width, height, to)
    return True


@njit(cache=True)
def _updated(L, at, width, height, negative, out, to, sizes):
    """Write what a panel does to the rows below it, -B S Bᵀ."""
    positive, below = width - negative, height - width
    if positive > 0:
        square(L, at + width, positive, below, height, MINUS, ZERO, out, to, sizes)
    if negative > 0:
        kept = ONE if positive > 0 else ZERO
        square(L, at + width + positive * height, negative, below, height, ONE, kept, out, to, sizes)


@njit(cache=True)
def _panel_factorised(L, at, width, height, negative, triangle, sizes):
    """The columns of a panel, in place, whose last pivots are `negative`; false where they are not."""
    positive = width - negative
    if not _columns_factorised(L, at, positive, width, height, height, triangle, sizes):
        return False
    # what is left of the others, with its sign turned
    corner = at + positive * height + positive
    for j in range(negative):
        for i in range(corner + j * height + j, corner + j * height + height - positive):
            L[i] = -L[i]
    return _columns_factorised(L, corner, negative, negative, height - positive, height, triangle, sizes)


@njit(cache=True)
def _columns_factorised(L, at, columns, width, rows, stride, triangle, sizes):
    """The first `columns` of a block of `rows`, in place, and what is left of the `width` of it; false as above.

    Strip by strip: what is below a strip's square is multiplied by its inverse, twice as fast as it is solved with.
    """
    for begin in range(0, columns, STRIP):
        strip = min(STRIP, columns - begin)
        corner, below, others = at + begin * (stride + 1), rows - begin - strip, width - begin - strip
        if factorised(L, corner, strip, stride, sizes) != 0:
            return False
        if below > 0:
            _inverted(L, corner, strip, stride, triangle)
            times_triangle(L, corner, strip, below, stride, triangle, sizes)
        if others > 0:
            to = corner + strip * (stride + 1)
            less_product(L, corner + strip, strip, below, others, stride, to, sizes)
    return True


@njit(cache=True)
def _inverted(L, at, width, stride, triangle):
    """Write L⁻ᵀ of the square at the top of a block, column by column, into `triangle`."""
    for i in range(width):
        to = i * width
        for c in range(i):
            triangle[to + c] = 0.0
        for k in range(i):
            share = L[at + k * stride + i]
            for c in range(k + 1):
                triangle[to + c] -= share * triangle[k * width + c]
        over = 1.0 / L[at + i * stride + i]
        for c in range(i):
            triangle[to + c] *= over
        triangle[to + i] = over


@njit(cache=True)
def _add_columns(updated, child, places, runs, width, height, L, at):
    """Add those columns of a child's update that are among its parent's; its rows are at `places` of the parent.

    runs: how many rows from each on follow each other there, too.
    """
    j = 0
    while j < len(places) and places[j] < width:
        _add(L, at + places[j] * height, updated, child + j * len(places), j, places, runs)
        j += 1


@njit(cache=True)
def _add_square(updated, child, places, runs, width, height, to):
    """Add what is left of a child's update to that of its parent."""
    for j in range(np.searchsorted(places, width), len(places)):
        start = to + (places[j] - width) * (height - width) - width
        _add(updated, start, updated, child + j * len(places), j, places, runs)


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
