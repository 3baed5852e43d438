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
INEXACT, ROUNDED = 1e-11, 1e-13
# how often that may happen before the diagonal is given up
MOST_LOST = 3


class Saddle:
    """Solves A x - Cᵀλ = right, C x = gap for x (n, 3), zero at fixed vertices, with `held` rows C (m, free) ⊗ I₃.

    The pattern is analysed once, and the factors keep their pivots on the diagonal; where these are lost they are
    matched. Rows of C are scaled to the diagonal of A, without which pivots would be lost.
    """

    def __init__(self, body: Body, held: sp.csr_array, *, backend: str | None = None):
        self.dofs, self.count = body.free_dofs, held.shape[0]
        # values are numbered in the order in which they stand
        held = held.copy()
        held.sum_duplicates()
        self._shape = (body.count, 3)
        self._backend = backend
        self._held, self._weights, self._reach = held, np.asarray(abs(held).sum(axis=1)), body.size
        part, take = body.pattern.restricted(self.dofs)
        self._diagonal = take[_is_diagonal(part)]
        self._pattern, self._take = _bordered(part, take, held, body.pattern.entries) if self.count else (part, take)
        # values of the body, of C, and a zero: what the pattern takes its own from
        self._parts = np.zeros(body.pattern.entries + held.nnz + 1)
        self._scales = np.zeros(self.count)
        # of the pattern: with pivots on the diagonal, and matched; the one of these to solve with
        self._ordered: Factor | None = None
        self._matched: Factor | None = None
        self._factor: Factor | None = None
        # what was factorised last, and how often the diagonal did not hold its pivots
        self._data, self._lost = np.empty(len(self._take)), 0

    def factorise(self, values: Array) -> bool:
        """Factorise with A given by `values` on the body's pattern; false where A is not positive on the null space."""
        self._gather(values, self._data)
        if self._lost <= MOST_LOST and self._factorised_in_order():
            return True
        # either it has lost pivots, or there is nothing to find
        return bool(self.count) and self._factorised_matched()

    def _factorised_in_order(self) -> bool:
        try:
            if self._ordered is None:
                self._ordered = self._analysed(self._backend or "cholesky", 3 * self.count)
            else:
                self._ordered.refactor(self._data)
        except NotPositiveDefinite:
            return False
        self._factor = self._ordered
        return not self._factor.perturbed and self._factor.negative in (None, 3 * self.count)

    def _factorised_matched(self) -> bool:
        if self._matched is not None:
            self._matched.refactor(self._data)
        # and again where the values have outgrown the matching
        if self._matched is None or self._matched.perturbed:
            self._matched = self._analysed(self._backend, None)
        self._factor = self._matched
        if self._factor.negative not in (None, 3 * self.count):
            return False
        self._lost += 1
        return True

    def solve(self, right: Array, gap: Array) -> tuple[Array, Array]:
        """x (n, 3) and the pull Cᵀλ (n, 3), for right (n, 3) and gap (m, 3)."""
        x, multipliers = self._solved(right, gap)
        out, pull = np.zeros(self._shape), np.zeros(self._shape)
        out.ravel()[self.dofs] = x
        pull.ravel()[self.dofs] = (self._held.T @ (-self._scales[:, None] * multipliers)).ravel()
        return out, pull

    def _solved(self, right: Array, gap: Array) -> tuple[Array, Array]:
        """x (free dofs,) and multipliers (m, 3) of the scaled rows; pivots are matched where they turn out useless."""
        assert self._factor is not None
        split = len(self.dofs)
        both = np.concatenate([right.ravel()[self.dofs], (self._scales[:, None] * gap).ravel()])
        found = self._factor.solve(both)
        # one shape may let pivots cancel, and the next one does not
        if self._factor is self._ordered and self._misses(found[:split], gap) and self._factorised_matched():
            found = self._factor.solve(both)
        return found[:split], found[split:].reshape(-1, 3)

    def _misses(self, x: Array, gap: Array) -> bool:
        """Whether C x is farther from `gap` (m, 3) than rounding and what follows from it."""
        x = x.reshape(-1, 3)
        most = INEXACT * np.abs(x).max(initial=0.0) + ROUNDED * self._reach
        return bool((np.abs(gap - self._held @ x) > most * self._weights[:, None]).any())

    def _analysed(self, backend: str | None, border: int | None) -> Factor:
        matrix = self._pattern.copy()
        matrix.data = self._data
        return Factor(matrix, kind="kkt" if self.count else "spd", backend=backend, border=border, thorough=True)

    def _gather(self, values: Array, out: Array) -> None:
        """Fill `out` with the values of the pattern; rows of C get their scales when this is first asked."""
        if not self._scales.all():
            largest = np.asarray(abs(self._held).max(axis=1).todense()).ravel()
            self._scales = np.abs(values[self._diagonal]).mean() / largest
            self._parts[len(values) : -1] = np.repeat(self._scales, np.diff(self._held.indptr)) * self._held.data
        self._parts[: len(values)] = values
        # places are known to be there: to have them checked again, NumPy would fill a copy of `out`
        np.take(self._parts, self._take, out=out, mode="clip")


def _is_diagonal(matrix: sp.csr_array) -> NDArray[np.bool_]:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.asarray(matrix.indices == rows)


def _bordered(
    part: sp.csr_array, take: IndexArray, held: sp.csr_array, entries: int
) -> tuple[sp.csr_array, IndexArray]:
    """Pattern of [[A, Cᵀ], [C, 0]], C = held ⊗ I₃, and where its values stand in (body values, values of held, 0)."""
    numbered, border = part.copy(), held.copy()
    numbered.data = take + 1.0
    border.data = entries + 1.0 + np.arange(held.nnz)
    C = sp.csr_array(sp.kron(border, sp.eye_array(3)))
    # factors want a diagonal, even of zeros
    nothing = (entries + held.nnz + 1.0) * sp.eye_array(C.shape[0])
    whole = sp.csr_array(sp.block_array([[numbered, C.T], [C, nothing]]))
    whole.sort_indices()
    where = whole.data.astype(np.int64) - 1
    whole.data = np.zeros(whole.nnz)
    return whole, where
