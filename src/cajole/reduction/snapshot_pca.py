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
from cajole.linalg import limit_blas_threads
from cajole.reduction.bases import GRAM_ROUNDING, compute_mass_pca, orthonormalise

# Bytes of snapshots that are kept; their mass product and their Gram matrix need as much again.
MAX_BATCH_BYTES = 2**29
# Snapshots that are kept: all at once is exact, but cubic in their number (3000 of 5000 vertices: 15 s instead of 3).
MAX_BATCH_COUNT = 2000
# Directions that it keeps when a share of the energy is wanted, and not a number of directions.
RANK_FOR_ENERGY = 200


@dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """Principal components of snapshots q.

    basis: (3n, r) mass-orthonormal; energies: (r,) Σ(uᵀMq)² along each, descending; total_energy: Σ|q|²_M
    of all snapshots; is_incremental: True for the incremental SVD, whose energies are lower bounds.
    """

    basis: Array
    energies: Array
    total_energy: float
    is_incremental: bool

    @property
    def energy_share(self) -> float:
        """The part of the snapshots' energy that the basis holds, at most 1."""
        return min(float(self.energies.sum()) / self.total_energy, 1.0)


def compute_principal_components(
    body: Body, blocks: Iterable[ArrayLike], count: int, *, size: int | None = None, energy_share: float | None = None
) -> PrincipalComponents:
    """The `size` directions that hold most of the snapshots, or as many as hold an `energy_share` of Σ|q|²_M.

    blocks: arrays (3n, k) of displacements, `count` columns in all; beyond 512 MB or 2000 columns they are not kept.
    Raises InputError when all are zero, NotConverged when `energy_share` needs more directions than were kept.
    """
    if (size is None) == (energy_share is None):
        raise InputError("give either size, a number of directions, or energy, a share to hold")
    if size is not None:
        checks.require_integer(size, "size")
    elif not 0.0 < checks.require_real_number(energy_share, "energy") <= 1.0:
        raise InputError(f"energy is {energy_share}, but must be a share above 0 and at most 1")
    with limit_blas_threads():
        if count <= MAX_BATCH_COUNT and 24 * body.vertex_count * count <= MAX_BATCH_BYTES:
            Q = np.hstack([_check_snapshots(body, block) for block in blocks])
            share = {} if energy_share is None else {"energy_share": energy_share}
            U, MQ = compute_mass_pca(body, Q, size=size, **share), body.mass @ Q
            return PrincipalComponents(U, ((U.T @ MQ) ** 2).sum(axis=1), float(np.vdot(Q, MQ)), False)
        # 24 more than needed, so that directions that are small at first are not lost
        found = IncrementalPCA(body, RANK_FOR_ENERGY if size is None else size + 24)
        for block in blocks:
            found.add(block)
        return found.extract_components(size=size, energy_share=energy_share)


class IncrementalPCA:
    """Q ≈ U S Vᵀ with UᵀMU = I, updated by blocks of columns; memory for `rank` + BLOCK columns (Brand 2002).

    A new block B is split into its part along U, L = UᵀMB, and the rest H = B - UL = JR; then [S L; 0 R] = U'S'V'ᵀ is
    small, and U becomes [U J] U', cut to `rank` columns. V is not needed for a basis.
    """

    def __init__(self, body: Body, rank: int):
        self.body = body
        self.rank = checks.require_integer(rank, "rank")
        self.basis: Array = np.empty((3 * body.vertex_count, 0))
        self.singular_values: Array = np.empty(0)
        self.total_energy = 0.0

    def add(self, snapshots: ArrayLike) -> None:
        """Take in displacements (3n, k)."""
        Q = _check_snapshots(self.body, snapshots)
        for begin in range(0, Q.shape[1], 64):
            self._add_block(Q[:, begin : begin + 64])

    def _add_block(self, B: Array) -> None:
        U, M = self.basis, self.body.mass
        MU = M @ U
        self.total_energy += float(np.vdot(B, M @ B))
        L = MU.T @ B
        H = B - U @ L
        again = MU.T @ H
        L, H = L + again, H - U @ again
        J = self._orthonormalise_residual(H, MU)
        K = np.block(
            [[np.diag(self.singular_values), L], [np.zeros((J.shape[1], len(self.singular_values))), J.T @ (M @ H)]]
        )
        turn, values, _ = np.linalg.svd(K, full_matrices=False)
        kept = np.flatnonzero(values > np.sqrt(GRAM_ROUNDING) * values[:1])[: self.rank]
        self.basis, self.singular_values = np.hstack([U, J]) @ turn[:, kept], values[kept]

    def _orthonormalise_residual(self, H: Array, MU: Array) -> Array:
        """Mass-orthonormal J that spans H, beside U; in two rounds, as the Gram matrix keeps half of the digits."""
        least = GRAM_ROUNDING * self.total_energy
        for _ in range(2):
            squares, vectors = np.linalg.eigh(H.T @ (self.body.mass @ H))
            there = squares > max(least, 0.0)
            H = H @ (vectors[:, there] / np.sqrt(squares[there]))
            H = H - self.basis @ (MU.T @ H)
            least = GRAM_ROUNDING
        return H

    def extract_components(self, *, size: int | None = None, energy_share: float | None = None) -> PrincipalComponents:
        """The first `size` directions, or as many as hold an `energy_share` of all snapshots so far."""
        if len(self.singular_values) == 0:
            raise InputError("the snapshots are all zero: there is nothing to take components of")
        energies = self.singular_values**2
        if size is None:
            wanted = 1.0 if energy_share is None else energy_share
            share = np.cumsum(energies) / self.total_energy
            if share[-1] < wanted - GRAM_ROUNDING and len(energies) == self.rank:
                raise NotConverged(
                    f"the {self.rank} directions that were kept hold {share[-1]:.6f} of the snapshots' energy, less "
                    f"than {wanted}; ask for less, or for a size"
                )
            size = min(int(np.searchsorted(share, wanted - GRAM_ROUNDING)) + 1, len(energies))
        return PrincipalComponents(
            orthonormalise(self.body, self.basis[:, :size]), energies[:size], self.total_energy, True
        )


def _check_snapshots(body: Body, snapshots: ArrayLike) -> Array:
    return checks.require_real_array(snapshots, "snapshots", (3 * body.vertex_count, None))
