"""Compiled multifrontal factorisation L S Lᵀ (Duff and Reid 1983) in dense panels.

S is diagonal: -1 in the last columns of some panels, else 1; it is the identity in a Cholesky factorisation.
A panel holds the columns of a supernode and all rows in which they are not zero. Its update is the Schur complement of
the rows below; it is added to the panel and the update of its parent (extend-add).
"""

from __future__ import annotations

import numpy as np

from cajole.jit import njit
from cajole.linalg.kernels_blas import (
    MINUS_ONE,
    ONE,
    ZERO,
    factorise_block,
    multiply_below,
    multiply_by_triangle,
    solve_triangle,
    subtract_product,
    subtract_transposed_below,
    update_symmetric_product,
)

# columns of a panel that are factorised before the remaining columns are updated
BLOCK_COLUMNS = 24


@njit(cache=True)
def factorise(
    data,
    entry_starts,
    entry_sources,
    entry_targets,
    column_starts,
    row_starts,
    relative_indices,
    run_lengths,
    panel_starts,
    update_starts,
    child_starts,
    children,
    negative_pivots,
    L,
    update_workspace,
    triangle,
    int_arguments,
):
    """Fill the panels L with the factor of the matrix with values `data`; False if a pivot has the wrong sign.

    data[entry_sources] go to L[entry_targets]; the other arguments are fields of `SymbolicFactorization`.
    """
    for s in range(len(column_starts) - 1):
        width, below = column_starts[s + 1] - column_starts[s], row_starts[s + 1] - row_starts[s]
        at, to, height = panel_starts[s], update_starts[s], width + below
        # only the lower triangle of a square is read
        for j in range(width):
            L[at + j * height + j : at + (j + 1) * height] = 0.0
        for e in range(entry_starts[s], entry_starts[s + 1]):
            L[entry_targets[e]] = data[entry_sources[e]]
        for child in children[child_starts[s] : child_starts[s + 1]]:
            rows = slice(row_starts[child], row_starts[child + 1])
            _assemble_columns(
                update_workspace, update_starts[child], relative_indices[rows], run_lengths[rows], width, height, L, at
            )
        if not _factorise_panel(L, at, width, height, negative_pivots[s], triangle, int_arguments):
            return False
        if below > 0:
            _form_schur_complement(L, at, width, height, negative_pivots[s], update_workspace, to, int_arguments)
            for child in children[child_starts[s] : child_starts[s + 1]]:
                rows = slice(row_starts[child], row_starts[child + 1])
                _assemble_update(
                    update_workspace, update_starts[child], relative_indices[rows], run_lengths[rows], width, height, to
                )
    return True


@njit(cache=True)
def _form_schur_complement(L, offset, width, height, negative_count, out, out_offset, int_arguments):
    """Write the update -B S Bᵀ of a panel to `out`."""
    positive, below, start = width - negative_count, height - width, offset + width
    if positive > 0:
        update_symmetric_product(L, start, positive, below, height, MINUS_ONE, ZERO, out, out_offset, int_arguments)
    if negative_count > 0:
        beta, start = ONE if positive > 0 else ZERO, start + positive * height
        update_symmetric_product(L, start, negative_count, below, height, ONE, beta, out, out_offset, int_arguments)


@njit(cache=True)
def _factorise_panel(L, offset, width, height, negative_count, triangle, int_arguments):
    """Factor a panel in place, its last `negative_count` pivots being negative; False if a pivot has the wrong sign."""
    positive = width - negative_count
    if not _factorise_columns(L, offset, positive, width, height, height, triangle, int_arguments):
        return False
    # the Schur complement of the negative pivots, with its sign changed
    corner = offset + positive * height + positive
    for j in range(negative_count):
        for i in range(corner + j * height + j, corner + j * height + height - positive):
            L[i] = -L[i]
    return _factorise_columns(
        L, corner, negative_count, negative_count, height - positive, height, triangle, int_arguments
    )


@njit(cache=True)
def _factorise_columns(L, offset, columns, width, rows, stride, triangle, int_arguments):
    """Factor the leading `columns` of a block (rows, width) in place and form its Schur complement.

    In strips: the rows below a strip are multiplied by the inverse of its square, twice as fast as a triangular solve.
    Returns False if a pivot is not positive.
    """
    for begin in range(0, columns, BLOCK_COLUMNS):
        strip = min(BLOCK_COLUMNS, columns - begin)
        corner, below, others = offset + begin * (stride + 1), rows - begin - strip, width - begin - strip
        if factorise_block(L, corner, strip, stride, int_arguments) != 0:
            return False
        if below > 0:
            _invert_triangle(L, corner, strip, stride, triangle)
            multiply_by_triangle(L, corner, strip, below, stride, triangle, int_arguments)
        if others > 0:
            to = corner + strip * (stride + 1)
            subtract_product(L, corner + strip, strip, below, others, stride, to, int_arguments)
    return True


@njit(cache=True)
def _invert_triangle(L, offset, width, stride, triangle):
    """Write L⁻ᵀ of the square at the top of a block, column by column, to `triangle`."""
    for i in range(width):
        to = i * width
        for c in range(i):
            triangle[to + c] = 0.0
        for k in range(i):
            share = L[offset + k * stride + i]
            for c in range(k + 1):
                triangle[to + c] -= share * triangle[k * width + c]
        over = 1.0 / L[offset + i * stride + i]
        for c in range(i):
            triangle[to + c] *= over
        triangle[to + i] = over


@njit(cache=True)
def _assemble_columns(update_workspace, child_offset, relative_indices, run_lengths, width, height, L, offset):
    """Add the columns of a child's update that are columns of its parent.

    relative_indices: the rows of the update in the parent's panel; run_lengths: how many rows from each on are
    consecutive there.
    """
    count, j = len(relative_indices), 0
    while j < count and relative_indices[j] < width:
        to, column = offset + relative_indices[j] * height, child_offset + j * count
        _extend_add(L, to, update_workspace, column, j, relative_indices, run_lengths)
        j += 1


@njit(cache=True)
def _assemble_update(update_workspace, child_offset, relative_indices, run_lengths, width, height, parent_offset):
    """Add the remaining columns of a child's update to the update of its parent."""
    count = len(relative_indices)
    for j in range(np.searchsorted(relative_indices, width), count):
        to = parent_offset + (relative_indices[j] - width) * (height - width) - width
        _extend_add(update_workspace, to, update_workspace, child_offset + j * count, j, relative_indices, run_lengths)


@njit(cache=True)
def _extend_add(out, out_offset, update_workspace, column_offset, first_row, relative_indices, run_lengths):
    i = first_row
    while i < len(relative_indices):
        here, there = column_offset + i, out_offset + relative_indices[i]
        for k in range(run_lengths[i]):
            out[there + k] += update_workspace[here + k]
        i += run_lengths[i]


@njit(cache=True)
def solve(X, n, rhs_count, column_starts, row_starts, rows, panel_starts, negative_pivots, L, workspace, int_arguments):
    """Solve in place for the `rhs_count` columns of X, each n values in elimination order; `workspace` is scratch."""
    last = len(column_starts) - 1
    for s in range(last):
        at, first, width = panel_starts[s], column_starts[s], column_starts[s + 1] - column_starts[s]
        below = row_starts[s + 1] - row_starts[s]
        height = width + below
        solve_triangle(L, at, width, height, False, X, first, n, rhs_count, int_arguments)
        if below > 0:
            multiply_below(L, at, width, height, X, first, n, rhs_count, workspace, int_arguments)
            for c in range(rhs_count):
                for i in range(below):
                    X[c * n + rows[row_starts[s] + i]] -= workspace[c * below + i]
        for c in range(rhs_count):
            for i in range(c * n + column_starts[s + 1] - negative_pivots[s], c * n + column_starts[s + 1]):
                X[i] = -X[i]
    for s in range(last - 1, -1, -1):
        at, first, width = panel_starts[s], column_starts[s], column_starts[s + 1] - column_starts[s]
        below = row_starts[s + 1] - row_starts[s]
        height = width + below
        if below > 0:
            for c in range(rhs_count):
                for i in range(below):
                    workspace[c * below + i] = X[c * n + rows[row_starts[s] + i]]
            subtract_transposed_below(L, at, width, height, workspace, X, first, n, rhs_count, int_arguments)
        solve_triangle(L, at, width, height, True, X, first, n, rhs_count, int_arguments)
