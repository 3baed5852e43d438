"""The lowest eigenpairs of K x = λ M x: shift-invert block Lanczos in slices of the spectrum, counted by inertia.

A shift σ is factorised, K - σM = L D Lᵀ. The signs of D count the eigenvalues below σ (Sylvester), so each slice is
known to be complete; the same factors drive a block Lanczos iteration that finds the eigenvalues on both sides of σ.
Residuals and orthogonality look perfect even when a mode was skipped: only the count shows it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from cajole import checks
from cajole.arrays import Array
from cajole.errors import NotConverged, SolveError
from cajole.linalg.factor import Factor
from cajole.linalg.lanczos import BLOCK, Lanczos
from cajole.linalg.threads import blas_threads
from cajole.progress import Progress, report

# Dense is faster below this size, or when a large share of the spectrum is wanted (docs/decisions/eigenvalues.md).
DENSE_SIZE, DENSE_SHARE, DENSE_MOST = 400, 0.2, 3000
# Eigenpairs looked for on each side of a shift: fewer means more factorisations, more means longer Lanczos runs.
SIDE = 32
# Eigenvalues closer than this (relative) are taken for repeated.
REPEATED = 1e-6
# Eigenvalues below this share of the largest ratio of diagonals are zero to rounding: K is singular.
ZERO = 1e-13
# With many modes the basis no longer fits the cache, and reading it is shared by larger blocks and slices.
MANY, LARGE_BLOCK, LARGE_SIDE = 100, 16, 64
# The first shift of a singular K, relative to the largest ratio of diagonals: far above rounding, below elastic modes.
SINGULAR_SHIFT = 1e-9
# How far the next shift lies beyond the last eigenvalue found, in units of the distance covered above this shift.
REACH = 0.8


def lowest_eigenpairs(
    stiffness: sp.sparray | sp.spmatrix,
    mass: sp.sparray | sp.spmatrix,
    count: int,
    *,
    null: Array | None = None,
    backend: str | None = None,
    progress: Progress | None = None,
) -> tuple[Array, Array]:
    """The `count` smallest λ with mass-orthonormal x: K x = λ M x, K symmetric, M positive definite.

    null: (n, k) mass-orthonormal vectors known to satisfy K x = 0; they are left out of the answer.
    Returns values (count,) ascending and vectors (n, count). Raises NotConverged when the inertia count is not met.
    """
    K, M = sp.csr_array(stiffness), sp.csr_array(mass)
    known = 0 if null is None else null.shape[1]
    count = checks.count(count, "the number of modes", most=K.shape[0] - known)
    report(progress, 0.0, "modes")
    if K.shape[0] <= DENSE_SIZE or (count > DENSE_SHARE * K.shape[0] and K.shape[0] <= DENSE_MOST):
        return _dense(K, M, count, known)
    with blas_threads():
        return _Slicer(K, M, null, backend, progress).run(count)


def _dense(K: sp.csr_array, M: sp.csr_array, count: int, known: int) -> tuple[Array, Array]:
    values, vectors = scipy.linalg.eigh(K.toarray(), M.toarray(), subset_by_index=[known, known + count - 1])
    return values, vectors


@dataclass
class _Slicer:
    """The walk of shifts up the spectrum; `values` and `vectors` hold what is found, ascending, without `null`."""

    K: sp.csr_array
    M: sp.csr_array
    null: Array | None
    backend: str | None
    progress: Progress | None

    def __post_init__(self) -> None:
        self._pattern, self._k, self._m = _aligned(self.K, self.M)
        self._ratio = float((self.K.diagonal() / self.M.diagonal()).max())
        self._known = 0 if self.null is None else self.null.shape[1]
        self._random = np.random.default_rng(0)
        self.values: Array
        self.vectors: Array
        self._forget()

    def run(self, count: int) -> tuple[Array, Array]:
        limit = self.K.shape[0] - self._known
        many = count > MANY
        self._block, side = (LARGE_BLOCK, LARGE_SIDE) if many else (BLOCK, SIDE)
        # one more than asked shows where the gap after the last one lies
        shift = self._first_slice(min(side, limit, count + 1))
        while True:
            shift = self._next_shift(shift, count)
            if not np.isfinite(shift):
                break  # every eigenvalue of the matrix has been found
            self._factor.refactor(self._k - shift * self._m)
            below = self._below(shift)
            self._collect(shift, below, min(side, limit - below) if below < count else 0)
            report(self.progress, min(below / count, 1.0), "modes")
            if below >= count:
                break
        return self._checked(count)

    def _first_slice(self, above: int) -> float:
        """Collect around zero, or, where K is singular, around a shift a little below it."""
        for shift in (0.0, -SINGULAR_SHIFT * self._ratio)[1 if self._known else 0 :]:
            try:
                self._factor = self._factorise(shift)
                if self._below(shift) == 0 and not self._factor.perturbed:
                    self._collect(shift, 0, above)
                    if shift < 0 or abs(self.values[0]) > ZERO * self._ratio:
                        return shift
            except SolveError:
                if shift < 0:
                    raise
            self._forget()
        raise SolveError(
            "the stiffness has negative eigenvalues: this shape is unstable, or too few vertices are fixed; "
            "fix more, or take the modes at rest"
        )

    def _forget(self) -> None:
        self.values, self.vectors = np.empty(0), np.empty((self.K.shape[0], 0))

    def _next_shift(self, shift: float, count: int) -> float:
        gap = self._gap_after(count)
        if gap is not None:
            return gap
        if len(self.values) + self._known >= self.K.shape[0]:
            return float("inf")
        top = float(self.values[-1])
        above = int((self.values > shift).sum())
        share = min(1.0, 1.2 * (count + 1 - len(self.values)) / max(above, 1))
        return top + max(REACH * share * (top - shift), 1e-6 * abs(top))

    def _gap_after(self, count: int) -> float | None:
        """A shift between the last wanted eigenvalue and the next one that is truly larger, if that is known.

        Symmetric bodies have repeated eigenvalues; a shift on one of them would be singular.
        """
        if len(self.values) <= count:
            return None
        low, high = self.values[count - 1 : -1], self.values[count:]
        wide = high - low > REPEATED * np.maximum(abs(high), ZERO / REPEATED * self._ratio)
        if not wide.any():
            return None
        first = int(np.argmax(wide))
        return 0.5 * float(low[first] + high[first])

    def _collect(self, shift: float, below: int, above: int) -> None:
        """Find all missing eigenvalues below `shift` (there are `below` in all) and the next `above` beyond it."""
        missing = below - int((self.values < shift).sum())
        if missing < 0:
            raise NotConverged(
                f"{-missing} modes below eigenvalue {shift:g} are more than its inertia admits; ask for fewer modes"
            )
        fresh = above - int((self.values > shift).sum())
        while missing > 0 or fresh > 0:
            run = Lanczos(self._factor.solve, self.M, self._locked(shift), self._random, block=self._block)
            values, vectors = run.find(shift, max(missing, 0), max(fresh, 0))
            if len(values) == 0:
                break
            self._add(values, vectors)
            missing -= int((values < shift).sum())
            fresh -= int((values > shift).sum())
        if missing > 0:
            raise NotConverged(f"{missing} modes below eigenvalue {shift:g} did not converge; ask for fewer modes")

    def _locked(self, shift: float) -> Array:
        """Vectors already found that a run at `shift` could find again: those of the neighbouring slices."""
        distances = abs(self.values - shift)
        order = np.argsort(distances)
        if len(order) > 2 * SIDE:
            # all of a repeated eigenvalue, or none
            reach = (1.0 + REPEATED) * distances[order[2 * SIDE]] + ZERO * self._ratio
            order = order[: np.searchsorted(distances[order], reach)]
        near = self.vectors[:, np.sort(order)]
        return near if self.null is None else np.hstack([self.null, near])

    def _add(self, values: Array, vectors: Array) -> None:
        merged = np.concatenate([self.values, values])
        order = np.argsort(merged, kind="stable")
        self.values = merged[order]
        self.vectors = np.asfortranarray(np.hstack([self.vectors, vectors])[:, order])

    def _factorise(self, shift: float) -> Factor:
        matrix = self._pattern.copy()
        matrix.data = self._k - shift * self._m
        return Factor(matrix, kind="symmetric", backend=self.backend)

    def _below(self, shift: float) -> int:
        negative = self._factor.negative
        if negative is None:
            raise SolveError(
                f"the factorisation at shift {shift:g} exchanged rows, so its inertia is unknown; try backend='pardiso'"
            )
        return negative - (self._known if shift > 0 else 0)

    def _checked(self, count: int) -> tuple[Array, Array]:
        """Re-orthonormalise (slices are orthogonal only to their residuals) and verify the answer."""
        values, X = self.values[:count], self.vectors[:, :count]
        gram = X.T @ (self.M @ X)
        if abs(gram - np.eye(count)).max() > 1e-6:
            raise NotConverged("modes of neighbouring slices are not orthogonal; ask for fewer modes")
        upper = scipy.linalg.cholesky(gram)
        X = scipy.linalg.solve_triangular(upper, X.T, trans="T").T
        return values, np.ascontiguousarray(X)


def _aligned(K: sp.csr_array, M: sp.csr_array) -> tuple[sp.csr_array, Array, Array]:
    """A pattern that holds both matrices, and the values of each in its order."""
    K.sum_duplicates()
    mass = _on_pattern(M, K)
    if mass is not None:  # the usual case: mass couples no vertices that stiffness does not
        return K, K.data, mass
    pattern = sp.csr_array(abs(K) + abs(M))
    pattern.sum_duplicates()
    values = [_on_pattern(matrix, pattern) for matrix in (K, M)]
    if values[0] is None or values[1] is None:
        raise SolveError("stiffness and mass cancel in their sum; their patterns cannot be joined")
    return pattern, values[0], values[1]


def _on_pattern(matrix: sp.csr_array, pattern: sp.csr_array) -> Array | None:
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
