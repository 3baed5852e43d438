"""Mass-PCA of snapshots that arrive block by block: at once while they fit in memory, else by an incremental SVD."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body
from cajole.errors import InputError, NotConverged
from cajole.linalg import blas_threads
from cajole.reduction.bases import ROUNDING, orthonormal, principal

# Bytes of snapshots that are kept; their mass product and their Gram matrix need as much again.
BATCH_BYTES = 2**29
# Snapshots that are kept: all at once is exact, but cubic in their number (3000 of 5000 vertices: 15 s instead of 3).
BATCH_COUNT = 2000
# Directions that the incremental SVD keeps beyond those wanted, so that what is cut off early can still come back.
OVERSAMPLED = 24
# Directions that it keeps when a share of the energy is wanted, and not a number of directions.
RANK_FOR_ENERGY = 200
# Columns that the incremental SVD takes in at a time: the memory it needs beside the basis.
BLOCK = 64


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of snapshots q.

    basis: (3n, r) mass-orthonormal; energies: (r,) Σ(uᵀMq)² along each, descending; total: Σ|q|²_M of all snapshots;
    incremental: whether they came from the incremental SVD, whose energies are lower bounds.
    """

    basis: Array
    energies: Array
    total: float
    incremental: bool

    @property
    def share(self) -> float:
        """The part of the snapshots' energy that the basis holds, at most 1."""
        return min(float(self.energies.sum()) / self.total, 1.0)


def components(
    body: Body, blocks: Iterable[ArrayLike], count: int, *, size: int | None = None, energy: float | None = None
) -> Components:
    """The `size` directions that hold most of the snapshots, or as many as hold a share `energy` of Σ|q|²_M.

    blocks: arrays (3n, k) of displacements, `count` columns in all; beyond 512 MB or 2000 columns they are not kept.
    Raises InputError when all are zero, NotConverged when `energy` needs more directions than were kept.
    """
    if (size is None) == (energy is None):
        raise InputError("give either size, a number of directions, or energy, a share to hold")
    if size is not None:
        checks.count(size, "size")
    elif not 0.0 < checks.real_number(energy, "energy") <= 1.0:
        raise InputError(f"energy is {energy}, but must be a share above 0 and at most 1")
    with blas_threads():
        if count <= BATCH_COUNT and 24 * body.count * count <= BATCH_BYTES:
            return _batch(body, blocks, size, energy)
        found = IncrementalPCA(body, RANK_FOR_ENERGY if size is None else size + OVERSAMPLED)
        for block in blocks:
            found.add(block)
        return found.components(size=size, energy=energy)


def _batch(body: Body, blocks: Iterable[ArrayLike], size: int | None, energy: float | None) -> Components:
    Q = np.hstack([_checked(body, block) for block in blocks])
    U = principal(body, Q, size=size) if energy is None else principal(body, Q, energy=energy)
    MQ = body.mass @ Q
    return Components(U, ((U.T @ MQ) ** 2).sum(axis=1), float(np.vdot(Q, MQ)), False)


class IncrementalPCA:
    """Q ≈ U S Vᵀ with UᵀMU = I, updated by blocks of columns; memory for `rank` + BLOCK columns (Brand 2002).

    A new block B is split into its part along U, L = UᵀMB, and the rest H = B - UL = JR; then [S L; 0 R] = U'S'V'ᵀ is
    small, and U becomes [U J] U', cut to `rank` columns. V is not needed for a basis.
    """

    def __init__(self, body: Body, rank: int):
        self.body = body
        self.rank = checks.count(rank, "rank")
        self.basis: Array = np.empty((3 * body.count, 0))
        self.values: Array = np.empty(0)
        self.total = 0.0

    def add(self, snapshots: ArrayLike) -> None:
        """Take in displacements (3n, k)."""
        Q = _checked(self.body, snapshots)
        for begin in range(0, Q.shape[1], BLOCK):
            self._add(Q[:, begin : begin + BLOCK])

    def _add(self, B: Array) -> None:
        U, M = self.basis, self.body.mass
        MU = M @ U
        self.total += float(np.vdot(B, M @ B))
        L = MU.T @ B
        H = B - U @ L
        again = MU.T @ H
        L, H = L + again, H - U @ again
        J = self._directions(H, MU)
        K = np.block([[np.diag(self.values), L], [np.zeros((J.shape[1], len(self.values))), J.T @ (M @ H)]])
        turn, values, _ = np.linalg.svd(K, full_matrices=False)
        kept = np.flatnonzero(values > np.sqrt(ROUNDING) * values[:1])[: self.rank]
        self.basis, self.values = np.hstack([U, J]) @ turn[:, kept], values[kept]

    def _directions(self, H: Array, MU: Array) -> Array:
        """Mass-orthonormal J that spans H, beside U; in two rounds, as the Gram matrix keeps half of the digits."""
        least = ROUNDING * self.total
        for _ in range(2):
            squares, vectors = np.linalg.eigh(H.T @ (self.body.mass @ H))
            there = squares > max(least, 0.0)
            H = H @ (vectors[:, there] / np.sqrt(squares[there]))
            H = H - self.basis @ (MU.T @ H)
            least = ROUNDING
        return H

    def components(self, *, size: int | None = None, energy: float | None = None) -> Components:
        """The first `size` directions, or as many as hold a share `energy` of all snapshots so far."""
        if len(self.values) == 0:
            raise InputError("the snapshots are all zero: there is nothing to take components of")
        energies = self.values**2
        if size is None:
            size = self._sufficient(energies, 1.0 if energy is None else energy)
        return Components(orthonormal(self.body, self.basis[:, :size]), energies[:size], self.total, True)

    def _sufficient(self, energies: Array, energy: float) -> int:
        share = np.cumsum(energies) / self.total
        if share[-1] < energy - ROUNDING and len(energies) == self.rank:
            raise NotConverged(
                f"the {self.rank} directions that were kept hold {share[-1]:.6f} of the snapshots' energy, less than "
                f"{energy}; ask for less, or for a size"
            )
        return min(int(np.searchsorted(share, energy - ROUNDING)) + 1, len(energies))


def _checked(body: Body, snapshots: ArrayLike) -> Array:
    return checks.real_array(snapshots, "snapshots", (3 * body.count, None))
