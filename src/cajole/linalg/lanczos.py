"""One block Lanczos run around a shift, with full reorthogonalisation in the mass product (BLAS-3 throughout)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.arrays import Array

# Measured from 8 to 24 on 27k dofs: small blocks need the fewest vectors, and 8 solves already share the factors.
BLOCK = 8
# Largest subspace of one run; what has converged by then is kept and the run is repeated without it.
MOST_VECTORS = 560
# A Ritz pair has converged when the residual of the inverted operator is this small relative to its Ritz value: its
# eigenvalue then is exact to rounding (the error is quadratic), and its vector gains another digit when it is lifted.
TOLERANCE = 1e-8
# Vectors per wanted pair before which convergence is not looked for: it never came sooner.
FEWEST = 3.0
# Directions of a block whose squared length is this share of the longest are spent: there is only rounding in them.
SPENT = 1e-14


class Lanczos:
    """Eigenpairs of K x = λ M x nearest to σ from op = (K - σM)⁻¹ M, orthogonal to the `locked` vectors."""

    def __init__(
        self,
        solve: Callable[[Array], Array],
        mass: sp.csr_array,
        locked: Array,
        random: np.random.Generator,
        *,
        block: int = BLOCK,
    ):
        self._block = block
        self._solve, self._mass, self._locked = solve, mass, locked
        self._random = random
        size = mass.shape[0]
        most = min(MOST_VECTORS, size - locked.shape[1])
        self._most = most
        self._Q = np.empty((size, most + block), order="F")
        self._T = np.zeros((most + block, most + block))

    def find(self, shift: float, below: int, above: int) -> tuple[Array, Array]:
        """Converged pairs nearest to `shift`: all `below` wanted under it and `above` over it, or as many as came."""
        block, blockM = self._start()
        used = 0
        while True:
            width = block.shape[1]
            self._Q[:, used : used + width] = block
            image = self._solve(blockM)
            H, next_block, next_M, R = self._expand(image, used, width)
            self._T[: used + width, used : used + width] = H
            self._T[used : used + width, : used + width] = H.T
            used += width
            full = used + R.shape[0] > self._most or R.shape[0] == 0
            if full or used >= FEWEST * (below + above):
                theta, S = scipy.linalg.eigh(self._T[:used, :used])
                good = np.linalg.norm(R @ S[used - width : used], axis=0) <= TOLERANCE * abs(theta)
                picked = _nearest(theta, good, below, above)
                if full or picked is not None:
                    break
            block, blockM = next_block, next_M
        chosen = picked if picked is not None else _converged(theta, good)
        return self._lift(shift, theta[chosen], S[:, chosen], next_block @ R, used, width)

    def _start(self) -> tuple[Array, Array]:
        block = self._random.standard_normal((self._mass.shape[0], min(self._block, self._most)))
        # One application of the operator turns noise towards the wanted vectors.
        block, _, _ = self._against(self._solve(self._mass @ block), 0, 0)
        block, blockM, _ = self._orthonormal(block, 0)
        return block, blockM

    def _expand(self, image: Array, used: int, width: int) -> tuple[Array, Array, Array, Array]:
        """Orthogonalise op(block): coefficients H in the basis, the next block, its mass image and factor R."""
        size = used + width
        # Without rounding op(block) touches the last two blocks only; what rounding adds, the second pass removes.
        recent = max(used - self._block, 0)
        H = np.zeros((size, width))
        image, H[recent:], _ = self._against(image, recent, size)
        diagonal = H[used:]
        H[used:] = 0.5 * (diagonal + diagonal.T)
        block, blockM, R = self._orthonormal(image, size)
        return H, block, blockM, R

    def _against(self, block: Array, first: int, last: int) -> tuple[Array, Array, Array]:
        """Remove from `block` its parts along the locked vectors and the basis in [first, last).

        Also returns the coefficients in the basis and the mass products of what is left with itself.
        """
        Q, X = self._Q[:, first:last], self._locked
        blockM = self._mass @ block
        gram = block.T @ blockM
        if X.shape[1]:
            known = X.T @ blockM
            gram -= known.T @ known
            block = block - X @ known
        H = Q.T @ blockM
        return block - Q @ H, H, gram - H.T @ H

    def _orthonormal(self, block: Array, used: int) -> tuple[Array, Array, Array]:
        """block = B R with B mass-orthonormal and orthogonal to the whole basis again (twice is enough)."""
        block, _, gram = self._against(block, 0, used)
        lengths, turn = np.linalg.eigh(gram)
        keep = lengths > max(lengths[-1], 0.0) * SPENT
        scale = np.sqrt(lengths[keep])
        block, R = block @ (turn[:, keep] / scale), scale[:, None] * turn[:, keep].T
        blockM = self._mass @ block
        upper = scipy.linalg.cholesky(block.T @ blockM)
        inverse = scipy.linalg.solve_triangular(upper, np.eye(len(upper)))
        return block @ inverse, blockM @ inverse, upper @ R

    def _lift(self, shift: float, theta: Array, S: Array, tail: Array, used: int, width: int) -> tuple[Array, Array]:
        # x = op(Q s)/θ needs no further solve and, unlike Q s, carries no high-frequency residue (Ericsson, Ruhe 1980).
        X = self._Q[:, :used] @ S + (tail @ S[used - width : used]) / theta
        X /= np.sqrt(np.einsum("ij,ij->j", X, self._mass @ X))
        return shift + 1.0 / theta, X


def _sides(theta: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of Ritz values below and above the shift, nearest (largest |θ|) first."""
    order = np.argsort(-abs(theta))
    return order[theta[order] < 0], order[theta[order] > 0]


def _run_length(good: NDArray[np.bool_]) -> int:
    """How many leading entries are true."""
    return int(np.argmin(good)) if not good.all() else len(good)


def _converged(theta: Array, good: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Converged pairs without a gap, outwards from the shift."""
    under, over = _sides(theta)
    return np.concatenate([under[: _run_length(good[under])], over[: _run_length(good[over])]])


def _nearest(theta: Array, good: NDArray[np.bool_], below: int, above: int) -> NDArray[np.int64] | None:
    """The converged pairs if they cover `below` and `above`, else None."""
    under, over = _sides(theta)
    low, high = _run_length(good[under]), _run_length(good[over])
    if low < below or high < above:
        return None
    return np.concatenate([under[:below], over[:high]])
