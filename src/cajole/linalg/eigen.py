"""The lowest eigenpairs of K x = λ M x: shift-invert block Lanczos in slices of the spectrum, counted by inertia.

A shift σ is factorised, K - σM = L D Lᵀ. The signs of D count the eigenvalues below σ (Sylvester), so each slice is
known to be complete; the same factors drive a block Lanczos iteration that finds the eigenvalues on both sides of σ.
Residuals and orthogonality look perfect even when a mode was skipped: only the count shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.errors import NotConverged, SolveError
from cajole.linalg.factor import Factor
from cajole.linalg.threads import limit_blas_threads
from cajole.progress import ProgressCallback, report_progress

# Measured from 8 to 24 on 27k dofs: small blocks need the fewest vectors, and 8 solves already share the factors.
BLOCK_SIZE = 8
# Largest subspace of one run; what has converged by then is kept and the run is repeated without it.
MAX_SUBSPACE_SIZE = 560
# A Ritz pair has converged when the residual of the inverted operator is this small relative to its Ritz value: its
# eigenvalue then is exact to rounding (the error is quadratic), and its vector gains another digit when it is lifted.
RITZ_TOLERANCE = 1e-8
# Vectors per wanted pair before which convergence is not looked for: it never came sooner.
MIN_VECTORS_PER_PAIR = 3.0
# Directions of a block whose squared length is this share of the longest are spent: there is only rounding in them.
DEFLATION_TOLERANCE = 1e-14


class BlockLanczos:
    """Eigenpairs of K x = λ M x nearest to σ from op = (K - σM)⁻¹ M, orthogonal to the `locked` vectors."""

    def __init__(
        self,
        solve: Callable[[Array], Array],
        mass: sp.csr_array,
        locked: Array,
        rng: np.random.Generator,
        *,
        block_size: int = BLOCK_SIZE,
    ):
        self._block_size = block_size
        self._solve, self._mass, self._locked = solve, mass, locked
        self._rng = rng
        size = mass.shape[0]
        most = min(MAX_SUBSPACE_SIZE, size - locked.shape[1])
        self._max_subspace_size = most
        self._Q = np.empty((size, most + block_size), order="F")
        self._T = np.zeros((most + block_size, most + block_size))

    def find_eigenpairs(self, shift: float, count_below: int, count_above: int) -> tuple[Array, Array]:
        """Converged pairs nearest to `shift`: all `below` wanted under it and `above` over it, or as many as came."""
        block, blockM = self._build_start_block()
        used = 0
        while True:
            width = block.shape[1]
            self._Q[:, used : used + width] = block
            image = self._solve(blockM)
            H, next_block, next_M, R = self._expand_basis(image, used, width)
            self._T[: used + width, used : used + width] = H
            self._T[used : used + width, : used + width] = H.T
            used += width
            full = used + R.shape[0] > self._max_subspace_size or R.shape[0] == 0
            if full or used >= MIN_VECTORS_PER_PAIR * (count_below + count_above):
                theta, S = scipy.linalg.eigh(self._T[:used, :used])
                good = np.linalg.norm(R @ S[used - width : used], axis=0) <= RITZ_TOLERANCE * abs(theta)
                picked = _select_wanted_pairs(theta, good, count_below, count_above)
                if full or picked is not None:
                    break
            block, blockM = next_block, next_M
        chosen = picked if picked is not None else _select_converged_pairs(theta, good)
        return self._compute_eigenvectors(shift, theta[chosen], S[:, chosen], next_block @ R, used, width)

    def _build_start_block(self) -> tuple[Array, Array]:
        block = self._rng.standard_normal((self._mass.shape[0], min(self._block_size, self._max_subspace_size)))
        # One application of the operator turns noise towards the wanted vectors.
        block, _, _ = self._project_out(self._solve(self._mass @ block), 0, 0)
        block, blockM, _ = self._orthonormalise(block, 0)
        return block, blockM

    def _expand_basis(self, image: Array, basis_size: int, width: int) -> tuple[Array, Array, Array, Array]:
        """Orthogonalise op(block): coefficients H in the basis, the next block, its mass image and factor R."""
        size = basis_size + width
        # Without rounding op(block) touches the last two blocks only; what rounding adds, the second pass removes.
        recent = max(basis_size - self._block_size, 0)
        H = np.zeros((size, width))
        image, H[recent:], _ = self._project_out(image, recent, size)
        diagonal = H[basis_size:]
        H[basis_size:] = 0.5 * (diagonal + diagonal.T)
        block, blockM, R = self._orthonormalise(image, size)
        return H, block, blockM, R

    def _project_out(self, block: Array, first: int, last: int) -> tuple[Array, Array, Array]:
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

    def _orthonormalise(self, block: Array, basis_size: int) -> tuple[Array, Array, Array]:
        """block = B R with B mass-orthonormal and orthogonal to the whole basis again (twice is enough)."""
        block, _, gram = self._project_out(block, 0, basis_size)
        lengths, turn = np.linalg.eigh(gram)
        keep = lengths > max(lengths[-1], 0.0) * DEFLATION_TOLERANCE
        scale = np.sqrt(lengths[keep])
        block, R = block @ (turn[:, keep] / scale), scale[:, None] * turn[:, keep].T
        blockM = self._mass @ block
        upper = scipy.linalg.cholesky(block.T @ blockM)
        inverse = scipy.linalg.solve_triangular(upper, np.eye(len(upper)))
        return block @ inverse, blockM @ inverse, upper @ R

    def _compute_eigenvectors(
        self, shift: float, theta: Array, S: Array, residual_block: Array, basis_size: int, width: int
    ) -> tuple[Array, Array]:
        # x = op(Q s)/θ needs no further solve and, unlike Q s, carries no high-frequency residue (Ericsson, Ruhe 1980).
        X = self._Q[:, :basis_size] @ S + (residual_block @ S[basis_size - width : basis_size]) / theta
        X /= np.sqrt(np.einsum("ij,ij->j", X, self._mass @ X))
        return shift + 1.0 / theta, X


def _split_by_sign(ritz_values: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of Ritz values below and above the shift, nearest (largest |θ|) first."""
    order = np.argsort(-abs(ritz_values))
    return order[ritz_values[order] < 0], order[ritz_values[order] > 0]


def _count_leading_true(flags: NDArray[np.bool_]) -> int:
    """How many leading entries are true."""
    return int(np.argmin(flags)) if not flags.all() else len(flags)


def _select_converged_pairs(ritz_values: Array, is_converged: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Converged pairs without a gap, outwards from the shift."""
    under, over = _split_by_sign(ritz_values)
    return np.concatenate(
        [under[: _count_leading_true(is_converged[under])], over[: _count_leading_true(is_converged[over])]]
    )


def _select_wanted_pairs(
    ritz_values: Array, is_converged: NDArray[np.bool_], count_below: int, count_above: int
) -> NDArray[np.int64] | None:
    """The converged pairs if they cover `below` and `above`, else None."""
    under, over = _split_by_sign(ritz_values)
    low, high = _count_leading_true(is_converged[under]), _count_leading_true(is_converged[over])
    if low < count_below or high < count_above:
        return None
    return np.concatenate([under[:count_below], over[:high]])


# Dense is faster below this size, or when a large share of the spectrum is wanted (docs/decisions/eigenvalues.md).
DENSE_SIZE, DENSE_SHARE, DENSE_MAX_SIZE = 400, 0.2, 3000
# Eigenpairs looked for on each side of a shift: fewer means more factorisations, more means longer Lanczos runs.
PAIRS_PER_SIDE = 32
# Eigenvalues closer than this (relative) are taken for repeated.
REPEATED_TOLERANCE = 1e-6
# Eigenvalues below this share of the largest ratio of diagonals are zero to rounding: K is singular.
ZERO_TOLERANCE = 1e-13
# With many modes the basis no longer fits the cache, and reading it is shared by larger blocks and slices.
LARGE_COUNT, LARGE_BLOCK_SIZE, LARGE_PAIRS_PER_SIDE = 100, 16, 64
# The first shift of a singular K, relative to the largest ratio of diagonals: far above rounding, below elastic modes.
SINGULAR_SHIFT = 1e-9
# How far the next shift lies beyond the last eigenvalue found, in units of the distance covered above this shift.
SHIFT_EXTRAPOLATION = 0.8


def find_lowest_eigenpairs(
    stiffness: sp.sparray | sp.spmatrix,
    mass: sp.sparray | sp.spmatrix,
    count: int,
    *,
    null_space: Array | None = None,
    backend: str | None = None,
    progress: ProgressCallback | None = None,
) -> tuple[Array, Array]:
    """The `count` smallest λ with mass-orthonormal x: K x = λ M x, K symmetric, M positive definite.

    null: (n, k) mass-orthonormal vectors known to satisfy K x = 0; they are left out of the answer.
    Returns values (count,) ascending and vectors (n, count). Raises NotConverged when the inertia count is not met.
    """
    K, M = sp.csr_array(stiffness), sp.csr_array(mass)
    known = 0 if null_space is None else null_space.shape[1]
    count = checks.require_integer(count, "the number of modes", maximum=K.shape[0] - known)
    report_progress(progress, 0.0, "modes")
    if K.shape[0] <= DENSE_SIZE or (count > DENSE_SHARE * K.shape[0] and K.shape[0] <= DENSE_MAX_SIZE):
        return _solve_dense(K, M, count, known)
    with limit_blas_threads():
        return _SpectrumSlicer(K, M, null_space, backend, progress).find_lowest(count)


def _solve_dense(K: sp.csr_array, M: sp.csr_array, count: int, null_dimension: int) -> tuple[Array, Array]:
    values, vectors = scipy.linalg.eigh(
        K.toarray(), M.toarray(), subset_by_index=[null_dimension, null_dimension + count - 1]
    )
    return values, vectors


@dataclass
class _SpectrumSlicer:
    """The walk of shifts up the spectrum; `values` and `vectors` hold what is found, ascending, without `null`."""

    K: sp.csr_array
    M: sp.csr_array
    null_space: Array | None
    backend: str | None
    progress: ProgressCallback | None

    def __post_init__(self) -> None:
        self._pattern, self._stiffness_values, self._mass_values = _align_patterns(self.K, self.M)
        self._max_diagonal_ratio = float((self.K.diagonal() / self.M.diagonal()).max())
        self._null_dimension = 0 if self.null_space is None else self.null_space.shape[1]
        self._rng = np.random.default_rng(0)
        self.values: Array
        self.vectors: Array
        self._clear()

    def find_lowest(self, count: int) -> tuple[Array, Array]:
        limit = self.K.shape[0] - self._null_dimension
        many = count > LARGE_COUNT
        self._block_size, side = (LARGE_BLOCK_SIZE, LARGE_PAIRS_PER_SIDE) if many else (BLOCK_SIZE, PAIRS_PER_SIDE)
        # one more than asked shows where the gap after the last one lies
        shift = self._find_first_slice(min(side, limit, count + 1))
        while True:
            shift = self._choose_next_shift(shift, count)
            if not np.isfinite(shift):
                break  # every eigenvalue of the matrix has been found
            self._factor.refactor(self._stiffness_values - shift * self._mass_values)
            below = self._count_eigenvalues_below(shift)
            self._collect_eigenpairs(shift, below, min(side, limit - below) if below < count else 0)
            report_progress(self.progress, min(below / count, 1.0), "modes")
            if below >= count:
                break
        return self._orthonormalise_and_verify(count)

    def _find_first_slice(self, count_above: int) -> float:
        """Collect around zero, or, where K is singular, around a shift a little below it."""
        for shift in (0.0, -SINGULAR_SHIFT * self._max_diagonal_ratio)[1 if self._null_dimension else 0 :]:
            try:
                self._factor = self._factorise(shift)
                if self._count_eigenvalues_below(shift) == 0 and not self._factor.perturbed_pivots:
                    self._collect_eigenpairs(shift, 0, count_above)
                    if shift < 0 or abs(self.values[0]) > ZERO_TOLERANCE * self._max_diagonal_ratio:
                        return shift
            except SolveError:
                if shift < 0:
                    raise
            self._clear()
        raise SolveError(
            "the stiffness has negative eigenvalues: this shape is unstable, or too few vertices are fixed; "
            "fix more, or take the modes at rest"
        )

    def _clear(self) -> None:
        self.values, self.vectors = np.empty(0), np.empty((self.K.shape[0], 0))

    def _choose_next_shift(self, shift: float, count: int) -> float:
        gap = self._find_gap_after(count)
        if gap is not None:
            return gap
        if len(self.values) + self._null_dimension >= self.K.shape[0]:
            return float("inf")
        top = float(self.values[-1])
        above = int((self.values > shift).sum())
        share = min(1.0, 1.2 * (count + 1 - len(self.values)) / max(above, 1))
        return top + max(SHIFT_EXTRAPOLATION * share * (top - shift), 1e-6 * abs(top))

    def _find_gap_after(self, count: int) -> float | None:
        """A shift between the last wanted eigenvalue and the next one that is truly larger, if that is known.

        Symmetric bodies have repeated eigenvalues; a shift on one of them would be singular.
        """
        if len(self.values) <= count:
            return None
        low, high = self.values[count - 1 : -1], self.values[count:]
        wide = high - low > REPEATED_TOLERANCE * np.maximum(
            abs(high), ZERO_TOLERANCE / REPEATED_TOLERANCE * self._max_diagonal_ratio
        )
        if not wide.any():
            return None
        first = int(np.argmax(wide))
        return 0.5 * float(low[first] + high[first])

    def _collect_eigenpairs(self, shift: float, count_below: int, count_above: int) -> None:
        """Find all missing eigenvalues below `shift` (there are `below` in all) and the next `above` beyond it."""
        missing = count_below - int((self.values < shift).sum())
        if missing < 0:
            raise NotConverged(
                f"{-missing} modes below eigenvalue {shift:g} are more than its inertia admits; ask for fewer modes"
            )
        fresh = count_above - int((self.values > shift).sum())
        while missing > 0 or fresh > 0:
            run = BlockLanczos(
                self._factor.solve, self.M, self._select_locked_vectors(shift), self._rng, block_size=self._block_size
            )
            values, vectors = run.find_eigenpairs(shift, max(missing, 0), max(fresh, 0))
            if len(values) == 0:
                break
            self._merge_eigenpairs(values, vectors)
            missing -= int((values < shift).sum())
            fresh -= int((values > shift).sum())
        if missing > 0:
            raise NotConverged(f"{missing} modes below eigenvalue {shift:g} did not converge; ask for fewer modes")

    def _select_locked_vectors(self, shift: float) -> Array:
        """Vectors already found that a run at `shift` could find again: those of the neighbouring slices."""
        distances = abs(self.values - shift)
        order = np.argsort(distances)
        if len(order) > 2 * PAIRS_PER_SIDE:
            # all of a repeated eigenvalue, or none
            reach = (1.0 + REPEATED_TOLERANCE) * distances[
                order[2 * PAIRS_PER_SIDE]
            ] + ZERO_TOLERANCE * self._max_diagonal_ratio
            order = order[: np.searchsorted(distances[order], reach)]
        near = self.vectors[:, np.sort(order)]
        return near if self.null_space is None else np.hstack([self.null_space, near])

    def _merge_eigenpairs(self, values: Array, vectors: Array) -> None:
        merged = np.concatenate([self.values, values])
        order = np.argsort(merged, kind="stable")
        self.values = merged[order]
        self.vectors = np.asfortranarray(np.hstack([self.vectors, vectors])[:, order])

    def _factorise(self, shift: float) -> Factor:
        matrix = self._pattern.copy()
        matrix.data = self._stiffness_values - shift * self._mass_values
        return Factor(matrix, kind="symmetric", backend=self.backend)

    def _count_eigenvalues_below(self, shift: float) -> int:
        negative = self._factor.negative_eigenvalues
        if negative is None:
            raise SolveError(
                f"the factorisation at shift {shift:g} exchanged rows, so its inertia is unknown; try backend='pardiso'"
            )
        return negative - (self._null_dimension if shift > 0 else 0)

    def _orthonormalise_and_verify(self, count: int) -> tuple[Array, Array]:
        """Re-orthonormalise (slices are orthogonal only to their residuals) and verify the answer."""
        values, X = self.values[:count], self.vectors[:, :count]
        gram = X.T @ (self.M @ X)
        if abs(gram - np.eye(count)).max() > 1e-6:
            raise NotConverged("modes of neighbouring slices are not orthogonal; ask for fewer modes")
        upper = scipy.linalg.cholesky(gram)
        X = scipy.linalg.solve_triangular(upper, X.T, trans="T").T
        return values, np.ascontiguousarray(X)


def _align_patterns(K: sp.csr_array, M: sp.csr_array) -> tuple[sp.csr_array, Array, Array]:
    """A pattern that holds both matrices, and the values of each in its order."""
    K.sum_duplicates()
    mass = _expand_to_pattern(M, K)
    if mass is not None:  # the usual case: mass couples no vertices that stiffness does not
        return K, K.data, mass
    pattern = sp.csr_array(abs(K) + abs(M))
    pattern.sum_duplicates()
    values = [_expand_to_pattern(matrix, pattern) for matrix in (K, M)]
    if values[0] is None or values[1] is None:
        raise SolveError("stiffness and mass cancel in their sum; their patterns cannot be joined")
    return pattern, values[0], values[1]


def _expand_to_pattern(matrix: sp.csr_array, pattern: sp.csr_array) -> Array | None:
    """The values of `matrix` in the order of `pattern.data`, zero where it has none; None if it does not fit in."""
    size = pattern.shape[0]
    keys = np.repeat(np.arange(size), np.diff(pattern.indptr)) * size + pattern.indices
    coo = matrix.tocoo()
    own = coo.coords[0].astype(np.int64) * size + coo.coords[1]
    places = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
    if not np.array_equal(keys[places], own):
        return None
    data = np.zeros(pattern.nnz)
    np.add.at(data, places, coo.data)
    return data
