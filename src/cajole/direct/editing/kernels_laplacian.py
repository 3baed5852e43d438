"""Triangular solves with L D Lᵀ, compiled: columns of the same pattern stand together and share its list of rows.

Columns starts[s]..starts[s+1] of a group have the rows below them in rows[row_ptr[s]:row_ptr[s+1]]; a column's numbers
are one run: the rest of the group's triangle, then those rows. So the inner loops run along memory without indices.
"""

from __future__ import annotations

import numpy as np

from cajole.jit import njit

FASTMATH = {"contract", "nsz", "reassoc"}
# A group may hold this many zeros per number, or this many at all.
MAX_ZERO_SHARE, MIN_ZEROS_ALLOWED = 0.25, 16


@njit(cache=True)
def find_supernodes(indptr, indices):
    """Group the columns of a lower triangle (CSC, sorted, diagonal first) into (starts, row_ptr, rows)."""
    n = len(indptr) - 1
    starts, row_ptr = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    rows = np.empty(max(len(indices), 1), dtype=np.int64)
    now, merged = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    groups, first, column = 0, 0, 0
    while column < n:
        # the rows below the group so far
        count = indptr[column + 1] - indptr[column] - 1
        # number by number: to assign one slice to another takes numba 2 s more to compile
        for i in range(count):
            now[i] = indices[indptr[column] + 1 + i]
        filled, stop = count, column + 1
        while stop < n:
            size, a, b = 0, 0, indptr[stop] + 1
            end = indptr[stop + 1]
            while a < count or b < end:
                left = now[a] if a < count else n
                right = indices[b] if b < end else n
                a += left <= right
                b += right <= left
                if min(left, right) > stop:
                    merged[size] = min(left, right)
                    size += 1
            width = stop - column + 1
            whole = width * (width - 1) // 2 + width * size
            numbers = filled + indptr[stop + 1] - indptr[stop] - 1
            if whole - numbers > max(MIN_ZEROS_ALLOWED, MAX_ZERO_SHARE * numbers):
                break
            now, merged, count, filled, stop = merged, now, size, numbers, stop + 1
        if first + count > len(rows):
            rows = np.concatenate((rows, np.empty(len(rows) + count, dtype=np.int64)))
        for i in range(count):
            rows[first + i] = now[i]
        starts[groups], row_ptr[groups] = column, first
        groups, first, column = groups + 1, first + count, stop
    starts[groups], row_ptr[groups] = n, first
    return starts[: groups + 1].copy(), row_ptr[: groups + 1].copy(), rows[:first].copy()


@njit(cache=True)
def pack_supernodes(indptr, indices, data, starts, row_ptr, rows):
    """The numbers of all groups, and where each group's begin."""
    begins = np.zeros(len(starts), dtype=np.int64)
    for s in range(len(starts) - 1):
        w, r = starts[s + 1] - starts[s], row_ptr[s + 1] - row_ptr[s]
        begins[s + 1] = begins[s] + w * (w - 1) // 2 + w * r
    values = np.zeros(begins[-1])
    for s in range(len(starts) - 1):
        start, stop, at = starts[s], starts[s + 1], begins[s]
        mine = rows[row_ptr[s] : row_ptr[s + 1]]
        for column in range(start, stop):
            for t in range(indptr[column] + 1, indptr[column + 1]):
                i = indices[t]
                place = i - column - 1 if i < stop else stop - column - 1 + np.searchsorted(mine, i)
                values[at + place] = data[t]
            at += stop - column - 1 + len(mine)
    return begins, values


@njit(cache=True)
def find_dependencies(starts, row_ptr, rows, columns):
    """Which groups the solutions at `columns` depend on: theirs, and those of all rows below them."""
    group = np.empty(starts[-1], dtype=np.int64)
    marked = np.zeros(len(starts) - 1, dtype=np.bool_)
    for s in range(len(starts) - 1):
        group[starts[s] : starts[s + 1]] = s
    for column in columns:
        marked[group[column]] = True
    for s in range(len(starts) - 1):
        if marked[s]:
            for i in rows[row_ptr[s] : row_ptr[s + 1]]:
                marked[group[i]] = True
    return marked


@njit(cache=True, fastmath=FASTMATH)
def _subtract_multiple(c, x, y, z, u, v, w):
    for i in range(len(c)):
        u[i] -= c[i] * x
        v[i] -= c[i] * y
        w[i] -= c[i] * z


@njit(cache=True, fastmath=FASTMATH)
def _dot_three(c, u, v, w):
    x, y, z = 0.0, 0.0, 0.0
    for i in range(len(c)):
        x += c[i] * u[i]
        y += c[i] * v[i]
        z += c[i] * w[i]
    return x, y, z


@njit(cache=True, fastmath=FASTMATH)
def solve_lower(starts, row_ptr, rows, value_ptr, values, active, x, work):
    """x (n, 3) ← L⁻¹ x, through the marked groups only."""
    for s in range(len(starts) - 1):
        if not active[s]:
            continue
        start, w, mine = starts[s], starts[s + 1] - starts[s], rows[row_ptr[s] : row_ptr[s + 1]]
        at, size = value_ptr[s], w + len(mine)
        if w == 1:
            x0, x1, x2 = x[start, 0], x[start, 1], x[start, 2]
            for i in range(len(mine)):
                x[mine[i], 0] -= values[at + i] * x0
                x[mine[i], 1] -= values[at + i] * x1
                x[mine[i], 2] -= values[at + i] * x2
            continue
        y0, y1, y2 = work[0, :size], work[1, :size], work[2, :size]
        for k in range(w):
            y0[k], y1[k], y2[k] = x[start + k, 0], x[start + k, 1], x[start + k, 2]
        for k in range(w, size):
            y0[k] = y1[k] = y2[k] = 0.0
        for k in range(w):
            _subtract_multiple(
                values[at : at + size - k - 1], y0[k], y1[k], y2[k], y0[k + 1 :], y1[k + 1 :], y2[k + 1 :]
            )
            at += size - k - 1
            x[start + k, 0], x[start + k, 1], x[start + k, 2] = y0[k], y1[k], y2[k]
        for i in range(len(mine)):
            x[mine[i], 0] += y0[w + i]
            x[mine[i], 1] += y1[w + i]
            x[mine[i], 2] += y2[w + i]


@njit(cache=True, fastmath=FASTMATH)
def solve_diagonal_upper(starts, row_ptr, rows, value_ptr, values, active, inverse_diagonal, x, out, work):
    """out (n, 3) = L⁻ᵀ D⁻¹ x in the marked groups; `inverse` is that of D; out may be x."""
    for s in range(len(starts) - 2, -1, -1):
        if not active[s]:
            continue
        start, w, mine = starts[s], starts[s + 1] - starts[s], rows[row_ptr[s] : row_ptr[s + 1]]
        at, size = value_ptr[s + 1], w + len(mine)
        y0, y1, y2 = work[0, :size], work[1, :size], work[2, :size]
        for i in range(len(mine)):
            y0[w + i], y1[w + i], y2[w + i] = out[mine[i], 0], out[mine[i], 1], out[mine[i], 2]
        for k in range(w - 1, -1, -1):
            at -= size - k - 1
            d0, d1, d2 = _dot_three(values[at : at + size - k - 1], y0[k + 1 :], y1[k + 1 :], y2[k + 1 :])
            d = inverse_diagonal[start + k]
            y0[k], y1[k], y2[k] = x[start + k, 0] * d - d0, x[start + k, 1] * d - d1, x[start + k, 2] * d - d2
            out[start + k, 0], out[start + k, 1], out[start + k, 2] = y0[k], y1[k], y2[k]


@njit(cache=True, fastmath=FASTMATH)
def solve_lower_many(starts, row_ptr, rows, value_ptr, values, active, x):
    """x (n, k) ← L⁻¹ x of many right-hand sides, contiguous in the inner loop."""
    for s in range(len(starts) - 1):
        if not active[s]:
            continue
        stop, mine, at = starts[s + 1], rows[row_ptr[s] : row_ptr[s + 1]], value_ptr[s]
        for column in range(starts[s], stop):
            source = x[column]
            for i in range(stop - column - 1 + len(mine)):
                c = values[at + i]
                target = x[column + 1 + i] if i < stop - column - 1 else x[mine[i - stop + column + 1]]
                for k in range(len(source)):
                    target[k] -= c * source[k]
            at += stop - column - 1 + len(mine)


@njit(cache=True)
def gather_rows(values, order, out):
    """p (n, 3): the change of each unknown's vertex; rows of p beyond stay as they are."""
    for k in range(len(order)):
        v = order[k]
        out[k, 0], out[k, 1], out[k, 2] = values[v, 0], values[v, 1], values[v, 2]


@njit(cache=True)
def sum_by_label(labels, weights, x, out):
    """out (c, 3) = Σ w x over the rows of each label; rows of label -1 count nowhere."""
    out[:] = 0.0
    for k in range(len(labels)):
        c = labels[k]
        if c >= 0:
            out[c, 0] += weights[k] * x[k, 0]
            out[c, 1] += weights[k] * x[k, 1]
            out[c, 2] += weights[k] * x[k, 2]


@njit(cache=True)
def add_by_label(labels, weights, amounts, x):
    """x (n, 3) += w amounts[label]."""
    for k in range(len(labels)):
        c = labels[k]
        if c >= 0:
            x[k, 0] += weights[k] * amounts[c, 0]
            x[k, 1] += weights[k] * amounts[c, 1]
            x[k, 2] += weights[k] * amounts[c, 2]


@njit(cache=True)
def scatter_rows(x, order, out):
    """out[order] = x."""
    for k in range(len(order)):
        v = order[k]
        out[v, 0], out[v, 1], out[v, 2] = x[k, 0], x[k, 1], x[k, 2]
