"""Solver of KKT systems [[A, Cᵀ], [C, 0]] with three coordinates a vertex and one symbolic factorisation."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array
from cajole.body import Body
from cajole.errors import NotPositiveDefinite
from cajole.linalg import Factor


class KKTSolver:
    """Solve A x - Cᵀλ = rhs, C x = constraint_rhs for x (n, 3), zero at fixed vertices, C = constraints (m, free) ⊗ I₃.

    Factors have diagonal pivots; if these fail, pivots come from a matching. Rows of C are scaled to the diagonal of A,
    without which diagonal pivots would fail.
    """

    # error of C x, relative to the largest x and in body sizes, above which the pivots count as failed
    RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-11, 1e-13
    # after more failures, diagonal pivots are not tried again
    MAX_PIVOT_FAILURES = 3

    def __init__(self, body: Body, constraints: sp.csr_array, *, backend: str | None = None):
        self.free_dofs, self.constraint_count = body.free_dofs, constraints.shape[0]
        # entries are numbered in their order
        constraints = constraints.copy()
        constraints.sum_duplicates()
        self._shape = (body.vertex_count, 3)
        self._backend = backend
        self._constraints = constraints
        self._row_sums = np.asarray(abs(constraints).sum(axis=1))
        self._body_size = body.size
        part, take = body.pattern.restrict(self.free_dofs)
        rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        self._diagonal_entries = take[part.indices == rows]
        self._pattern, self._value_map = part, take
        if self.constraint_count:
            # number the entries of (body values, C, one zero) from one, to find them in the sorted pattern
            numbered, border, entries = part.copy(), constraints.copy(), body.pattern.nnz
            numbered.data = take + 1.0
            border.data = entries + 1.0 + np.arange(constraints.nnz)
            C = sp.csr_array(sp.kron(border, sp.eye_array(3)))
            # factorisations need a diagonal, even of zeros
            zeros = (entries + constraints.nnz + 1.0) * sp.eye_array(C.shape[0])
            self._pattern = sp.csr_array(sp.block_array([[numbered, C.T], [C, zeros]]))
            self._pattern.sort_indices()
            self._value_map = self._pattern.data.astype(np.int64) - 1
            self._pattern.data = np.zeros(self._pattern.nnz)
        # values of the body, of C, and a zero, in the order of the numbers above
        self._source_values = np.zeros(body.pattern.nnz + constraints.nnz + 1)
        self._row_scales = np.zeros(self.constraint_count)
        # factors with diagonal and with matched pivots, and the present one of them
        self._diagonal_pivot_factor: Factor | None = None
        self._matched_pivot_factor: Factor | None = None
        self._factor: Factor | None = None
        # last factorised values, and number of failures of diagonal pivots
        self._values, self._pivot_failures = np.empty(len(self._value_map)), 0

    def factorise(self, values: Array) -> bool:
        """Factorise with A given by `values` on the body pattern; False if A is not positive on the null space of C."""
        self._assemble(values, self._values)
        if self._pivot_failures <= self.MAX_PIVOT_FAILURES:
            count = 3 * self.constraint_count
            try:
                if self._diagonal_pivot_factor is None:
                    self._diagonal_pivot_factor = self._build_factor(self._backend or "cholesky", count)
                else:
                    self._diagonal_pivot_factor.refactor(self._values)
            except NotPositiveDefinite:
                pass
            else:
                self._factor = self._diagonal_pivot_factor
                if not self._factor.perturbed_pivots and self._factor.negative_eigenvalues in (None, count):
                    return True
        # either pivots have failed, or there is no solution
        return bool(self.constraint_count) and self._factorise_with_matching()

    def _factorise_with_matching(self) -> bool:
        if self._matched_pivot_factor is not None:
            self._matched_pivot_factor.refactor(self._values)
        # a new matching if the values have changed too much
        if self._matched_pivot_factor is None or self._matched_pivot_factor.perturbed_pivots:
            self._matched_pivot_factor = self._build_factor(self._backend, None)
        self._factor = self._matched_pivot_factor
        if self._factor.negative_eigenvalues not in (None, 3 * self.constraint_count):
            return False
        self._pivot_failures += 1
        return True

    def solve(self, rhs: Array, constraint_rhs: Array) -> tuple[Array, Array]:
        """Return x (n, 3) and the constraint force Cᵀλ (n, 3), for rhs (n, 3) and constraint_rhs (m, 3)."""
        assert self._factor is not None
        split = len(self.free_dofs)
        both = np.concatenate([rhs.ravel()[self.free_dofs], (self._row_scales[:, None] * constraint_rhs).ravel()])
        found = self._factor.solve(both)
        if self._factor is self._diagonal_pivot_factor:
            # pivots can cancel in one state and not in the next: an error of C x beyond rounding shows it
            x = found[:split].reshape(-1, 3)
            most = self.RELATIVE_TOLERANCE * np.abs(x).max(initial=0.0) + self.ABSOLUTE_TOLERANCE * self._body_size
            failed = (np.abs(constraint_rhs - self._constraints @ x) > most * self._row_sums[:, None]).any()
            if failed and self._factorise_with_matching():
                found = self._factor.solve(both)
        out, pull = np.zeros(self._shape), np.zeros(self._shape)
        out.ravel()[self.free_dofs] = found[:split]
        multipliers = -self._row_scales[:, None] * found[split:].reshape(-1, 3)
        pull.ravel()[self.free_dofs] = (self._constraints.T @ multipliers).ravel()
        return out, pull

    def _build_factor(self, backend: str | None, border: int | None) -> Factor:
        matrix = self._pattern.copy()
        matrix.data = self._values
        kind = "kkt" if self.constraint_count else "spd"
        return Factor(matrix, kind=kind, backend=backend, constraint_count=border, optimise_ordering=True)

    def _assemble(self, values: Array, out: Array) -> None:
        """Fill `out` with the values of the pattern; the first call determines the scales of the rows of C."""
        if not self._row_scales.all():
            largest = np.asarray(abs(self._constraints).max(axis=1).todense()).ravel()
            self._row_scales = np.abs(values[self._diagonal_entries]).mean() / largest
            scales = np.repeat(self._row_scales, np.diff(self._constraints.indptr))
            self._source_values[len(values) : -1] = scales * self._constraints.data
        self._source_values[: len(values)] = values
        # mode="clip" avoids the copy of `out` that NumPy makes to check the indices
        np.take(self._source_values, self._value_map, out=out, mode="clip")
