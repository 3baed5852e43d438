"""Sweeps in time over all modes at once, compiled: pentadiagonal L D Lᵀ, one matrix a mode, modes contiguous."""

from __future__ import annotations

from cajole.compiled import njit

FAST = {"contract", "reassoc", "nsz"}
# Modes of one block: its rows of all arrays stay in the cache while time goes by.
BLOCK = 64


@njit(cache=True, fastmath=FAST)
def factorise(H0, H1, H2, D, l1, l2):
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


@njit(cache=True, fastmath=FAST)
def solve(D, l1, l2, first, last, x):
    """H x = b in place of b (n, r), of which only rows first..last are not zero."""
    n, r = D.shape
    for low in range(0, r, BLOCK):
        high = min(low + BLOCK, r)
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
