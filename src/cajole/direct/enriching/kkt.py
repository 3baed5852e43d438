"""The equations of a constrained step, [[A, Cᵀ], [C, 0]] with three coordinates a vertex, on one analysed pattern."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.errors import NotPositiveDefinite
from cajole.linalg import Factor

# what averages may be off, as a share of the largest change and in body sizes, before the pivots are blamed
RELATIVE_CONSTRAINT_TOLERANCE, ABSOLUTE_CONSTRAINT_TOLERANCE = 1e-11, 1e-13
# how often that may happen before the diagonal is given up
MAX_PIVOT_FAILURES = 3


class KKTSolver:
    """Solves A x - Cᵀλ = right, C x = gap for x (n, 3), zero at fixed vertices, with `held` rows C (m, free) ⊗ I₃.

    The pattern is analysed once, and the factors keep their pivots on the diagonal; where these are lost they are
    matched. Rows of C are scaled to the diagonal of A, without which pivots would be lost.
    """

    def __init__(self, body: Body, constraints: sp.csr_array, *, backend: str | None = None):
        self.free_dofs, self.constraint_count = body.free_dofs, constraints.shape[0]
        # values are numbered in the order in which they stand
        constraints = constraints.copy()
        constraints.sum_duplicates()
        self._shape = (body.vertex_count, 3)
        self._backend = backend
        self._constraints = constraints
        self._row_sums = np.asarray(abs(constraints).sum(axis=1))
        self._body_size = body.size
        part, take = body.pattern.restrict(self.free_dofs)
        self._diagonal_entries = take[_find_diagonal_entries(part)]
        self._pattern, self._value_map = (
            _build_kkt_pattern(part, take, constraints, body.pattern.nnz) if self.constraint_count else (part, take)
        )
        # values of the body, of C, and a zero: what the pattern takes its own from
        self._source_values = np.zeros(body.pattern.nnz + constraints.nnz + 1)
        self._row_scales = np.zeros(self.constraint_count)
        # of the pattern: with pivots on the diagonal, and matched; the one of these to solve with
        self._diagonal_pivot_factor: Factor | None = None
        self._matched_pivot_factor: Factor | None = None
        self._factor: Factor | None = None
        # what was factorised last, and how often the diagonal did not hold its pivots
        self._values, self._pivot_failures = np.empty(len(self._value_map)), 0

    def factorise(self, values: Array) -> bool:
        """Factorise with A given by `values` on the body's pattern; false where A is not positive on the null space."""
        self._assemble(values, self._values)
        if self._pivot_failures <= MAX_PIVOT_FAILURES and self._factorise_with_diagonal_pivots():
            return True
        # either it has lost pivots, or there is nothing to find
        return bool(self.constraint_count) and self._factorise_with_matching()

    def _factorise_with_diagonal_pivots(self) -> bool:
        try:
            if self._diagonal_pivot_factor is None:
                self._diagonal_pivot_factor = self._build_factor(self._backend or "cholesky", 3 * self.constraint_count)
            else:
                self._diagonal_pivot_factor.refactor(self._values)
        except NotPositiveDefinite:
            return False
        self._factor = self._diagonal_pivot_factor
        return not self._factor.perturbed_pivots and self._factor.negative_eigenvalues in (
            None,
            3 * self.constraint_count,
        )

    def _factorise_with_matching(self) -> bool:
        if self._matched_pivot_factor is not None:
            self._matched_pivot_factor.refactor(self._values)
        # and again where the values have outgrown the matching
        if self._matched_pivot_factor is None or self._matched_pivot_factor.perturbed_pivots:
            self._matched_pivot_factor = self._build_factor(self._backend, None)
        self._factor = self._matched_pivot_factor
        if self._factor.negative_eigenvalues not in (None, 3 * self.constraint_count):
            return False
        self._pivot_failures += 1
        return True

    def solve(self, rhs: Array, constraint_rhs: Array) -> tuple[Array, Array]:
        """x (n, 3) and the pull Cᵀλ (n, 3), for right (n, 3) and gap (m, 3)."""
        x, multipliers = self._solve_free(rhs, constraint_rhs)
        out, pull = np.zeros(self._shape), np.zeros(self._shape)
        out.ravel()[self.free_dofs] = x
        pull.ravel()[self.free_dofs] = (self._constraints.T @ (-self._row_scales[:, None] * multipliers)).ravel()
        return out, pull

    def _solve_free(self, rhs: Array, constraint_rhs: Array) -> tuple[Array, Array]:
        """x (free dofs,) and multipliers (m, 3) of the scaled rows; pivots are matched where they turn out useless."""
        assert self._factor is not None
        split = len(self.free_dofs)
        both = np.concatenate([rhs.ravel()[self.free_dofs], (self._row_scales[:, None] * constraint_rhs).ravel()])
        found = self._factor.solve(both)
        # one shape may let pivots cancel, and the next one does not
        if (
            self._factor is self._diagonal_pivot_factor
            and self._has_constraint_error(found[:split], constraint_rhs)
            and self._factorise_with_matching()
        ):
            found = self._factor.solve(both)
        return found[:split], found[split:].reshape(-1, 3)

    def _has_constraint_error(self, x: Array, constraint_rhs: Array) -> bool:
        """Whether C x is farther from `gap` (m, 3) than rounding and what follows from it."""
        x = x.reshape(-1, 3)
        most = (
            RELATIVE_CONSTRAINT_TOLERANCE * np.abs(x).max(initial=0.0) + ABSOLUTE_CONSTRAINT_TOLERANCE * self._body_size
        )
        return bool((np.abs(constraint_rhs - self._constraints @ x) > most * self._row_sums[:, None]).any())

    def _build_factor(self, backend: str | None, border: int | None) -> Factor:
        matrix = self._pattern.copy()
        matrix.data = self._values
        return Factor(
            matrix,
            kind="kkt" if self.constraint_count else "spd",
            backend=backend,
            constraint_count=border,
            optimise_ordering=True,
        )

    def _assemble(self, values: Array, out: Array) -> None:
        """Fill `out` with the values of the pattern; rows of C get their scales when this is first asked."""
        if not self._row_scales.all():
            largest = np.asarray(abs(self._constraints).max(axis=1).todense()).ravel()
            self._row_scales = np.abs(values[self._diagonal_entries]).mean() / largest
            self._source_values[len(values) : -1] = (
                np.repeat(self._row_scales, np.diff(self._constraints.indptr)) * self._constraints.data
            )
        self._source_values[: len(values)] = values
        # places are known to be there: to have them checked again, NumPy would fill a copy of `out`
        np.take(self._source_values, self._value_map, out=out, mode="clip")


def _find_diagonal_entries(matrix: sp.csr_array) -> NDArray[np.bool_]:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.asarray(matrix.indices == rows)


def _build_kkt_pattern(
    pattern: sp.csr_array, value_map: IndexArray, constraints: sp.csr_array, entries: int
) -> tuple[sp.csr_array, IndexArray]:
    """Pattern of [[A, Cᵀ], [C, 0]], C = held ⊗ I₃, and where its values stand in (body values, values of held, 0)."""
    numbered, border = pattern.copy(), constraints.copy()
    numbered.data = value_map + 1.0
    border.data = entries + 1.0 + np.arange(constraints.nnz)
    C = sp.csr_array(sp.kron(border, sp.eye_array(3)))
    # factors want a diagonal, even of zeros
    nothing = (entries + constraints.nnz + 1.0) * sp.eye_array(C.shape[0])
    whole = sp.csr_array(sp.block_array([[numbered, C.T], [C, nothing]]))
    whole.sort_indices()
    where = whole.data.astype(np.int64) - 1
    whole.data = np.zeros(whole.nnz)
    return whole, where
