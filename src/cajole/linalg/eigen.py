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


@dataclass(frozen=True)
class EigenOptions:
    """Parameters of the block Lanczos runs and of the slicing of the spectrum."""

    # columns of a block: measured from 8 to 24 on 27k dofs; small blocks need the fewest vectors, and 8 right-hand
    # sides already share the reading of the factors
    block_size: int = 8
    # largest subspace of one run; what has converged by then is locked, and the run is repeated without it
    max_subspace_size: int = 560
    # A Ritz pair has converged if the residual of the inverted operator is this small relative to its Ritz value: its
    # eigenvalue is then exact to rounding (the error is quadratic), and its vector gains a digit in the last step.
    ritz_tolerance: float = 1e-8
    # vectors per wanted pair before convergence is tested: it never comes sooner
    min_vectors_per_pair: float = 3.0
    # directions of a block whose squared length is this share of the longest contain only rounding
    deflation_tolerance: float = 1e-14
    # The dense solver is faster below this size, and up to `dense_max_size` where more than `dense_share` of the
    # spectrum is wanted (docs/decisions/eigenvalues.md).
    dense_size: int = 400
    dense_share: float = 0.2
    dense_max_size: int = 3000
    # eigenpairs searched on each side of a shift: fewer give more factorisations, more give longer Lanczos runs
    pairs_per_side: int = 32
    # Above this number of modes the basis does not fit the cache, and larger blocks and slices share its reading.
    large_count: int = 100
    large_block_size: int = 16
    large_pairs_per_side: int = 64
    # relative distance below which eigenvalues count as repeated
    repeated_tolerance: float = 1e-6
    # eigenvalues below this share of the largest ratio of diagonals are zero to rounding: K is singular
    zero_tolerance: float = 1e-13
    # first shift of a singular K, as a share of the largest ratio of diagonals: above rounding, below elastic modes
    singular_shift: float = 1e-9
    # distance of the next shift from the last eigenvalue found, in units of the distance covered above this shift
    shift_extrapolation: float = 0.8


DEFAULT_OPTIONS = EigenOptions()


class BlockLanczos:
    """Eigenpairs of K x = λ M x nearest to σ from op = (K - σM)⁻¹ M, orthogonal to the `locked` vectors."""

    def __init__(
        self,
        solve: Callable[[Array], Array],
        mass: sp.csr_array,
        locked: Array,
        rng: np.random.Generator,
        block_size: int,
        options: EigenOptions,
    ):
        self._block_size, self._options = block_size, options
        self._solve, self._mass, self._locked = solve, mass, locked
        self._rng = rng
        size = mass.shape[0]
        most = self._max_subspace_size = min(options.max_subspace_size, size - locked.shape[1])
        self._Q = np.empty((size, most + block_size), order="F")
        self._T = np.zeros((most + block_size, most + block_size))

    def find_eigenpairs(self, shift: float, count_below: int, count_above: int) -> tuple[Array, Array]:
        """Converged pairs nearest to `shift`: `count_below` and at least `count_above`, or all that converged."""
        used, options = 0, self._options
        # one application of the operator turns noise towards the wanted vectors
        block = self._rng.standard_normal((self._mass.shape[0], min(self._block_size, self._max_subspace_size)))
        block, _, _ = self._project_out(self._solve(self._mass @ block), 0, 0)
        block, blockM, _ = self._orthonormalise(block, 0)
        while True:
            width = block.shape[1]
            self._Q[:, used : used + width] = block
            image = self._solve(blockM)
            H, next_block, next_M, R = self._expand_basis(image, used, width)
            self._T[: used + width, used : used + width] = H
            self._T[used : used + width, : used + width] = H.T
            used += width
            full = used + R.shape[0] > self._max_subspace_size or R.shape[0] == 0
            if full or used >= options.min_vectors_per_pair * (count_below + count_above):
                theta, S = scipy.linalg.eigh(self._T[:used, :used])
                good = np.linalg.norm(R @ S[used - width : used], axis=0) <= options.ritz_tolerance * abs(theta)
                chosen, complete = _select_pairs(theta, good, count_below, count_above)
                if full or complete:
                    break
            block, blockM = next_block, next_M
        theta, S = theta[chosen], S[:, chosen]
        # x = op(Q s)/θ needs no further solve and, unlike Q s, carries no high-frequency residue (Ericsson, Ruhe 1980).
        X = self._Q[:, :used] @ S + (next_block @ R @ S[used - width : used]) / theta
        X /= np.sqrt(np.einsum("ij,ij->j", X, self._mass @ X))
        return shift + 1.0 / theta, X

    def _expand_basis(self, image: Array, basis_size: int, width: int) -> tuple[Array, Array, Array, Array]:
        """Orthogonalise op(block): coefficients H in the basis, the next block, its mass image and factor R."""
        size = basis_size + width
        # Without rounding op(block) touches the last two blocks only; the second pass removes what rounding adds.
        recent = max(basis_size - self._block_size, 0)
        H = np.zeros((size, width))
        image, H[recent:], _ = self._project_out(image, recent, size)
        diagonal = H[basis_size:]
        H[basis_size:] = 0.5 * (diagonal + diagonal.T)
        block, blockM, R = self._orthonormalise(image, size)
        return H, block, blockM, R

    def _project_out(self, block: Array, first: int, last: int) -> tuple[Array, Array, Array]:
        """Project the locked vectors and the basis in [first, last) out of `block`.

        Also returns the coefficients in the basis and the mass Gram matrix of the result.
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
        """block = B R with B mass-orthonormal and reorthogonalised to the whole basis (twice is enough)."""
        block, _, gram = self._project_out(block, 0, basis_size)
        lengths, turn = np.linalg.eigh(gram)
        keep = lengths > max(lengths[-1], 0.0) * self._options.deflation_tolerance
        scale = np.sqrt(lengths[keep])
        block, R = block @ (turn[:, keep] / scale), scale[:, None] * turn[:, keep].T
        blockM = self._mass @ block
        upper = scipy.linalg.cholesky(block.T @ blockM)
        inverse = scipy.linalg.solve_triangular(upper, np.eye(len(upper)))
        return block @ inverse, blockM @ inverse, upper @ R


def _select_pairs(
    ritz_values: Array, is_converged: NDArray[np.bool_], count_below: int, count_above: int
) -> tuple[NDArray[np.int64], bool]:
    """Converged pairs without a gap, outwards from the shift; True if they are as many as wanted on both sides.

    Then those below are limited to `count_below`.
    """
    order = np.argsort(-abs(ritz_values))  # nearest to the shift first
    sides = []
    for side in (order[ritz_values[order] < 0], order[ritz_values[order] > 0]):
        good = is_converged[side]
        sides.append(side if good.all() else side[: int(np.argmin(good))])
    complete = len(sides[0]) >= count_below and len(sides[1]) >= count_above
    return np.concatenate([sides[0][:count_below] if complete else sides[0], sides[1]]), complete


def find_lowest_eigenpairs(
    stiffness: sp.sparray | sp.spmatrix,
    mass: sp.sparray | sp.spmatrix,
    count: int,
    *,
    null_space: Array | None = None,
    backend: str | None = None,
    progress: ProgressCallback | None = None,
    options: EigenOptions | None = None,
) -> tuple[Array, Array]:
    """The `count` smallest λ with mass-orthonormal x: K x = λ M x, K symmetric, M positive definite.

    null_space: (n, k) mass-orthonormal vectors with K x = 0; they are left out of the result.
    Returns values (count,), ascending, and vectors (n, count). Raises NotConverged if the inertia count is not met.
    """
    options = options or DEFAULT_OPTIONS
    K, M = sp.csr_array(stiffness), sp.csr_array(mass)
    known = 0 if null_space is None else null_space.shape[1]
    count = checks.require_integer(count, "the number of modes", maximum=K.shape[0] - known)
    report_progress(progress, 0.0, "modes")
    size = K.shape[0]
    if size <= options.dense_size or (count > options.dense_share * size and size <= options.dense_max_size):
        values, vectors = scipy.linalg.eigh(K.toarray(), M.toarray(), subset_by_index=[known, known + count - 1])
        return values, vectors
    with limit_blas_threads():
        return _SpectrumSlicer(K, M, null_space, backend, progress, options).find_lowest(count)


@dataclass
class _SpectrumSlicer:
    """Shifts that move up the spectrum; `values` and `vectors` are those found, ascending, without the null space."""

    K: sp.csr_array
    M: sp.csr_array
    null_space: Array | None
    backend: str | None
    progress: ProgressCallback | None
    options: EigenOptions

    def __post_init__(self) -> None:
        self._pattern, self._stiffness_values, self._mass_values = _align_patterns(self.K, self.M)
        self._max_diagonal_ratio = float((self.K.diagonal() / self.M.diagonal()).max())
        self._null_dimension = 0 if self.null_space is None else self.null_space.shape[1]
        self._rng = np.random.default_rng(0)
        self.values: Array
        self.vectors: Array
        self._clear()

    def find_lowest(self, count: int) -> tuple[Array, Array]:
        limit, options = self.K.shape[0] - self._null_dimension, self.options
        many = count > options.large_count
        self._block_size = options.large_block_size if many else options.block_size
        side = options.large_pairs_per_side if many else options.pairs_per_side
        # one more than wanted shows the gap after the last one
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
        # slices are orthogonal only to their residuals
        values, X = self.values[:count], self.vectors[:, :count]
        gram = X.T @ (self.M @ X)
        if abs(gram - np.eye(count)).max() > 1e-6:
            raise NotConverged("modes of neighbouring slices are not orthogonal; ask for fewer modes")
        X = scipy.linalg.solve_triangular(scipy.linalg.cholesky(gram), X.T, trans="T").T
        return values, np.ascontiguousarray(X)

    def _find_first_slice(self, count_above: int) -> float:
        """Collect pairs around zero or, if K is singular, around a slightly negative shift; return the shift."""
        scale = self._max_diagonal_ratio
        for shift in (0.0, -self.options.singular_shift * scale)[1 if self._null_dimension else 0 :]:
            try:
                matrix = self._pattern.copy()
                matrix.data = self._stiffness_values - shift * self._mass_values
                self._factor = Factor(matrix, kind="symmetric", backend=self.backend)
                if self._count_eigenvalues_below(shift) == 0 and not self._factor.perturbed_pivots:
                    self._collect_eigenpairs(shift, 0, count_above)
                    if shift < 0 or abs(self.values[0]) > self.options.zero_tolerance * scale:
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
        """A shift beyond the last wanted eigenvalue if known, else beyond the last one found; inf at the end."""
        options = self.options
        if len(self.values) > count:
            # Between the last wanted eigenvalue and the next one that is truly larger: symmetric bodies have repeated
            # eigenvalues, and a shift on one of them would be singular.
            low, high = self.values[count - 1 : -1], self.values[count:]
            floor = options.zero_tolerance / options.repeated_tolerance * self._max_diagonal_ratio
            wide = high - low > options.repeated_tolerance * np.maximum(abs(high), floor)
            if wide.any():
                first = int(np.argmax(wide))
                return 0.5 * float(low[first] + high[first])
        if len(self.values) + self._null_dimension >= self.K.shape[0]:
            return float("inf")
        top = float(self.values[-1])
        above = int((self.values > shift).sum())
        share = min(1.0, 1.2 * (count + 1 - len(self.values)) / max(above, 1))
        return top + max(options.shift_extrapolation * share * (top - shift), 1e-6 * abs(top))

    def _collect_eigenpairs(self, shift: float, count_below: int, count_above: int) -> None:
        """Find all missing eigenvalues below `shift`, of `count_below` in total, and the next `count_above`."""
        missing = count_below - int((self.values < shift).sum())
        if missing < 0:
            raise NotConverged(
                f"{-missing} modes below eigenvalue {shift:g} are more than its inertia admits; ask for fewer modes"
            )
        fresh = count_above - int((self.values > shift).sum())
        while missing > 0 or fresh > 0:
            locked = self._select_locked_vectors(shift)
            run = BlockLanczos(self._factor.solve, self.M, locked, self._rng, self._block_size, self.options)
            values, vectors = run.find_eigenpairs(shift, max(missing, 0), max(fresh, 0))
            if len(values) == 0:
                break
            merged = np.concatenate([self.values, values])
            order = np.argsort(merged, kind="stable")
            self.values = merged[order]
            self.vectors = np.asfortranarray(np.hstack([self.vectors, vectors])[:, order])
            missing -= int((values < shift).sum())
            fresh -= int((values > shift).sum())
        if missing > 0:
            raise NotConverged(f"{missing} modes below eigenvalue {shift:g} did not converge; ask for fewer modes")

    def _select_locked_vectors(self, shift: float) -> Array:
        """Vectors already found that a run at `shift` could find again: those of the neighbouring slices."""
        distances, most = abs(self.values - shift), 2 * self.options.pairs_per_side
        order = np.argsort(distances)
        if len(order) > most:
            # all of a repeated eigenvalue, or none
            reach = (1.0 + self.options.repeated_tolerance) * distances[order[most]]
            reach += self.options.zero_tolerance * self._max_diagonal_ratio
            order = order[: np.searchsorted(distances[order], reach)]
        near = self.vectors[:, np.sort(order)]
        return near if self.null_space is None else np.hstack([self.null_space, near])

    def _count_eigenvalues_below(self, shift: float) -> int:
        negative = self._factor.negative_eigenvalues
        if negative is None:
            raise SolveError(
                f"the factorisation at shift {shift:g} exchanged rows, so its inertia is unknown; try backend='pardiso'"
            )
        return negative - (self._null_dimension if shift > 0 else 0)


def _align_patterns(K: sp.csr_array, M: sp.csr_array) -> tuple[sp.csr_array, Array, Array]:
    """The union of both patterns, and the values of each matrix in its order."""
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
    """The values of `matrix` in the order of `pattern.data`, zero where it has no entry; None if it has others."""
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
