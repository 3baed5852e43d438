"""Compiled loops of a multifrontal factorisation L S Lᵀ (Duff and Reid 1983): dense panels, one after the other.

S is diagonal, -1 in the last columns of some panels; all of it is 1 in Cholesky's.

A panel has the columns of a supernode and all rows in which they are not zero. What it does to later rows, its update,
is a square of those rows that is added to the panel, or to the update, of its parent.
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

# columns of a panel that are factorised before the others hear of it
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
    """Fill the panels L with the factor of the matrix whose values are `data`; false where pivots have other signs.

    starts, taken, put: the entries of each panel, data[taken] go to L[put]; the rest are those of a `Plan`.
    """
    for s in range(len(column_starts) - 1):
        width, below = column_starts[s + 1] - column_starts[s], row_starts[s + 1] - row_starts[s]
        at, to, height = panel_starts[s], update_starts[s], width + below
        # of squares only the lower triangle is ever read
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
    """Write what a panel does to the rows below it, -B S Bᵀ."""
    positive, below = width - negative_count, height - width
    if positive > 0:
        update_symmetric_product(
            L, offset + width, positive, below, height, MINUS_ONE, ZERO, out, out_offset, int_arguments
        )
    if negative_count > 0:
        kept = ONE if positive > 0 else ZERO
        update_symmetric_product(
            L,
            offset + width + positive * height,
            negative_count,
            below,
            height,
            ONE,
            kept,
            out,
            out_offset,
            int_arguments,
        )


@njit(cache=True)
def _factorise_panel(L, offset, width, height, negative_count, triangle, int_arguments):
    """The columns of a panel, in place, whose last pivots are `negative`; false where they are not."""
    positive = width - negative_count
    if not _factorise_columns(L, offset, positive, width, height, height, triangle, int_arguments):
        return False
    # what is left of the others, with its sign turned
    corner = offset + positive * height + positive
    for j in range(negative_count):
        for i in range(corner + j * height + j, corner + j * height + height - positive):
            L[i] = -L[i]
    return _factorise_columns(
        L, corner, negative_count, negative_count, height - positive, height, triangle, int_arguments
    )


@njit(cache=True)
def _factorise_columns(L, offset, columns, width, rows, stride, triangle, int_arguments):
    """The first `columns` of a block of `rows`, in place, and what is left of the `width` of it; false as above.

    Strip by strip: what is below a strip's square is multiplied by its inverse, twice as fast as it is solved with.
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
    """Write L⁻ᵀ of the square at the top of a block, column by column, into `triangle`."""
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
    """Add those columns of a child's update that are among its parent's; its rows are at `places` of the parent.

    runs: how many rows from each on follow each other there, too.
    """
    j = 0
    while j < len(relative_indices) and relative_indices[j] < width:
        _extend_add(
            L,
            offset + relative_indices[j] * height,
            update_workspace,
            child_offset + j * len(relative_indices),
            j,
            relative_indices,
            run_lengths,
        )
        j += 1


@njit(cache=True)
def _assemble_update(update_workspace, child_offset, relative_indices, run_lengths, width, height, parent_offset):
    """Add what is left of a child's update to that of its parent."""
    for j in range(np.searchsorted(relative_indices, width), len(relative_indices)):
        start = parent_offset + (relative_indices[j] - width) * (height - width) - width
        _extend_add(
            update_workspace,
            start,
            update_workspace,
            child_offset + j * len(relative_indices),
            j,
            relative_indices,
            run_lengths,
        )


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
    """Solve in place: X, n `count` values, columns of right-hand sides in the order of elimination; `held` is room."""
    last = len(column_starts) - 1
    for s in range(last):
        width, below = column_starts[s + 1] - column_starts[s], row_starts[s + 1] - row_starts[s]
        solve_triangle(
            L, panel_starts[s], width, width + below, False, X, column_starts[s], n, rhs_count, int_arguments
        )
        if below > 0:
            multiply_below(
                L, panel_starts[s], width, width + below, X, column_starts[s], n, rhs_count, workspace, int_arguments
            )
            for c in range(rhs_count):
                for i in range(below):
                    X[c * n + rows[row_starts[s] + i]] -= workspace[c * below + i]
        for c in range(rhs_count):
            for i in range(c * n + column_starts[s + 1] - negative_pivots[s], c * n + column_starts[s + 1]):
                X[i] = -X[i]
    for s in range(last - 1, -1, -1):
        width, below = column_starts[s + 1] - column_starts[s], row_starts[s + 1] - row_starts[s]
        if below > 0:
            for c in range(rhs_count):
                for i in range(below):
                    workspace[c * below + i] = X[c * n + rows[row_starts[s] + i]]
            subtract_transposed_below(
                L, panel_starts[s], width, width + below, workspace, X, column_starts[s], n, rhs_count, int_arguments
            )
        solve_triangle(L, panel_starts[s], width, width + below, True, X, column_starts[s], n, rhs_count, int_arguments)
