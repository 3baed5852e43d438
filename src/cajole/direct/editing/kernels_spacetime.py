"""Sweeps in time over all modes at once, compiled: pentadiagonal L D Lᵀ, one matrix a mode, modes contiguous."""

from __future__ import annotations

import numpy as np

from cajole.jit import njit

FASTMATH = {"contract", "reassoc", "nsz"}
# Modes of one block: its rows of all arrays stay in the cache while time goes by.
MODES_PER_BLOCK = 64


@njit(cache=True, fastmath=FASTMATH)
def factorise_pentadiagonal(H0, H1, H2, D, l1, l2):
    """H = L D Lᵀ of the bands H0, H1, H2 (n, r): H_jj, H_j,j+1, H_j,j+2; l1, l2 the sub-diagonals of L by column."""
    n, r = H0.shape
    for m in range(r):
        for j in range(n):
            d = H0[j, m]
            if j >= 1:
                d -= l1[j - 1, m] ** 2 * D[j - 1, m]
            if j >= 2:
                d -= l2[j - 2, m] ** 2 * D[j - 2, m]
            D[j, m] = d
            side = H1[j, m]
            if j >= 1:
                side -= l2[j - 1, m] * D[j - 1, m] * l1[j - 1, m]
            l1[j, m] = side / d if j < n - 1 else 0.0
            l2[j, m] = H2[j, m] / d if j < n - 2 else 0.0


@njit(cache=True, fastmath=FASTMATH)
def solve_pentadiagonal(D, l1, l2, first, last, x):
    """H x = b in place of b (n, r), of which only rows first..last are not zero."""
    n, r = D.shape
    for low in range(0, r, MODES_PER_BLOCK):
        high = min(low + MODES_PER_BLOCK, r)
        for j in range(first, n):
            if j > first:
                if j > first + 1:
                    for m in range(low, high):
                        x[j, m] -= l1[j - 1, m] * x[j - 1, m] + l2[j - 2, m] * x[j - 2, m]
                else:
                    for m in range(low, high):
                        x[j, m] -= l1[j - 1, m] * x[j - 1, m]
        for j in range(n - 1, -1, -1):
            if j >= n - 1:
                for m in range(low, high):
                    x[j, m] = x[j, m] / D[j, m]
            elif j == n - 2:
                for m in range(low, high):
                    x[j, m] = x[j, m] / D[j, m] - l1[j, m] * x[j + 1, m]
            else:
                for m in range(low, high):
                    x[j, m] = x[j, m] / D[j, m] - l1[j, m] * x[j + 1, m] - l2[j, m] * x[j + 2, m]


@njit(cache=True)
def scatter_multipliers(frames, multipliers, rows, out):
    """out (T, r) = Cᵀμ: the weights (c, r) of every row, times its multiplier, at its frame."""
    out[:] = 0.0
    for c in range(len(frames)):
        for m in range(rows.shape[1]):
            out[frames[c], m] += multipliers[c] * rows[c, m]


@njit(cache=True, fastmath=FASTMATH)
def compute_schur_columns(frames, rows, response, new_rows, out):
    """out (c, k): S of rows with weights (c, r) against `fresh` (k, r), all of the frame that `response` is of."""
    for c in range(len(frames)):
        for k in range(len(new_rows)):
            total = 0.0
            for m in range(rows.shape[1]):
                total += rows[c, m] * new_rows[k, m] * response[frames[c], m]
            out[c, k] = total


@njit(cache=True, fastmath=FASTMATH)
def extend_cholesky(L, independent, first, stop, threshold):
    """Rows old..new-1 of L hold those of a matrix of unit diagonal; Cholesky turns them into rows of its factor.

    A row whose part outside the span of the earlier ones is below `threshold` is left out: live says so.
    """
    for j in range(first, stop):
        square = 0.0
        for i in range(j):
            if not independent[i]:
                L[j, i] = 0.0
                continue
            total = L[j, i]
            for k in range(i):
                total -= L[i, k] * L[j, k]
            L[j, i] = total / L[i, i]
            square += L[j, i] ** 2
        pivot = L[j, j] - square
        independent[j] = pivot >= threshold
        L[j, j] = np.sqrt(pivot) if independent[j] else 1.0


@njit(cache=True, fastmath=FASTMATH)
def solve_lower(L, independent, x):
    """L y = x in place of x (c, q), zero in the rows that were left out."""
    c, q = x.shape
    for j in range(c):
        for p in range(q):
            total = x[j, p]
            for k in range(j):
                total -= L[j, k] * x[k, p]
            x[j, p] = total / L[j, j] if independent[j] else 0.0


@njit(cache=True, fastmath=FASTMATH)
def solve_upper(L, independent, x):
    """Lᵀ y = x in place of x (c, q), zero in the rows that were left out."""
    c, q = x.shape
    for j in range(c - 1, -1, -1):
        for p in range(q):
            x[j, p] = x[j, p] / L[j, j] if independent[j] else 0.0
        for k in range(j):
            for p in range(q):
                x[k, p] -= L[j, k] * x[j, p]
