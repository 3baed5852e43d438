"""The exact cubic polynomial of reduced St. Venant-Kirchhoff forces (Barbič and James 2005), by one Gram matrix.

The strain of u = U z is E = Σ z_i sym(G_i) + ½ Σ z_i z_j sym(G_iᵀG_j), linear in the features y = [z_i; z_i z_j]. So
the energy is ½ yᵀ A y with A = Σ_e B_eᵀ B_e, a symmetric rank-k update at BLAS-3 speed; its symmetrised derivatives are
the tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from cajole.arrays import Array
from cajole.body import BodySolid
from cajole.linalg import limit_blas_threads
from cajole.progress import ProgressCallback, report_progress
from cajole.reduction import kernels_polynomial

# Tets whose strain rows are held at once: six rows each, enough for full BLAS-3 speed, small enough for the cache.
TET_BLOCK = 96
# From this size on the quartic table is stored as its upper triangle: half the memory is half the time.
PACKED_SIZE = 40


@dataclass(frozen=True, eq=False)
class StVKPolynomial:
    """Tables of K(z) = K0 + C1 z + C2 (z z), see `kernels`; K0 (r, r), C1 (P, r), C2 (P, P) or packed (1, P(P+1)/2)."""

    K0: Array
    C1: Array
    C2: Array


def build_polynomial(body: BodySolid, basis: Array, *, progress: ProgressCallback | None = None) -> StVKPolynomial:
    """The tables of `body` in `basis` (3n, r)."""
    r = basis.shape[1]
    return _differentiate_energy(_compute_strain_gram(body, basis, progress), r)


def _compute_strain_gram(body: BodySolid, basis: Array, progress: ProgressCallback | None) -> Array:
    """A = Σ_e B_eᵀ B_e (N, N), N = r + r(r+1)/2; 6 N² flops a tet."""
    r = basis.shape[1]
    width = r + r * (r + 1) // 2
    tets, grads, volumes, lam, mu = body.element_arrays
    U = np.ascontiguousarray(basis.reshape(-1, 3, r))
    rows = np.zeros((6 * TET_BLOCK, width))
    gram = np.zeros((width, width), order="F")
    with limit_blas_threads():
        for first in range(0, len(tets), TET_BLOCK):
            last = min(first + TET_BLOCK, len(tets))
            kernels_polynomial.fill_strain_rows(U, tets, grads, volumes, lam, mu, first, last, rows)
            gram = dsyrk(1.0, rows[: 6 * (last - first)].T, beta=1.0, c=gram, overwrite_c=1)
            report_progress(progress, last / len(tets), "reduced polynomial")
    return np.triu(gram) + np.triu(gram, 1).T


def _differentiate_energy(A: Array, r: int) -> StVKPolynomial:
    """Derivatives of ½ yᵀ A y, symmetrised over all orders of the indices."""
    i, j = np.triu_indices(r)
    number = np.empty((r, r), dtype=np.int64)
    number[i, j] = number[j, i] = np.arange(len(i))
    h = np.where(i == j, 1.0, 0.5)
    linear = A[:r, r:] * h
    pairs = A[r:, r:] * np.outer(h, h)
    k = np.arange(r)
    ik, jk = number[i][:, k], number[j][:, k]
    C1 = 2.0 * (linear[i[:, None], jk] + linear[j[:, None], ik] + linear[k[None, :], number[i, j][:, None]])
    ki, kj = number[i[:, None], i[None, :]], number[j[:, None], j[None, :]]
    mix, xim = number[i[:, None], j[None, :]], number[j[:, None], i[None, :]]
    S4 = 4.0 * (pairs + pairs[ki, kj] + pairs[mix, xim])
    return StVKPolynomial(A[:r, :r].copy(), np.ascontiguousarray(C1), pack_quartic(0.5 * S4, r))


def pack_quartic(C2: Array, r: int) -> Array:
    """The symmetric quartic table (P, P) of r coordinates as a Polynomial keeps it: with the multiplicity of its
    columns, or packed from PACKED_SIZE on."""
    table = C2[np.triu_indices(len(C2))][None, :] if r >= PACKED_SIZE else C2 * _compute_pair_multiplicity(r)
    return np.ascontiguousarray(table)


def unpack_quartic(C2: Array, r: int) -> Array:
    """The symmetric quartic table (P, P), from either way of keeping it."""
    multiplicity = _compute_pair_multiplicity(r)
    pairs = len(multiplicity)
    if C2.shape[0] == pairs:
        return C2 / multiplicity
    table = np.zeros((pairs, pairs))
    table[np.triu_indices(pairs)] = C2[0]
    return table + np.triu(table, 1).T


def _compute_pair_multiplicity(r: int) -> Array:
    """How often a pair (i <= j) stands in z zᵀ (P,)."""
    i, j = np.triu_indices(r)
    return np.where(i == j, 1.0, 2.0)
