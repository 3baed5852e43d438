"""Matrices of a body restricted to its free coordinates; all solvers remove fixed coordinates here."""

from __future__ import annotations

from copy import copy

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.errors import NotConverged, NotPositiveDefinite
from cajole.linalg import Factor


class RestrictedSystem:
    """A symmetric matrix on the pattern of `body`, restricted to `dofs` and factorised there.

    Fill `values` (on the body's pattern), call `factorise`, then `solve`. With `border` B (3n, k) the matrix solved is
    [[A, B], [Bᵀ, 0]]: the solution is orthogonal to B.
    """

    def __init__(self, body: Body, dofs: IndexArray, *, border: Array | None = None, backend: str | None = None):
        self.dofs = dofs
        self.values = np.empty(body.pattern.nnz)
        self._shape = (body.vertex_count, 3)
        part, self._gather_indices = body.pattern.restrict(dofs)
        self._border_size = 0 if border is None else border.shape[1]
        self._border_values = np.empty(0)
        if self._border_size:
            assert border is not None
            # number the entries of (body values, B) from one, to find them in the sorted pattern
            numbered, B = part.copy(), border[dofs]
            numbered.data = self._gather_indices + 1.0
            places = sp.csr_array(body.pattern.nnz + 1.0 + np.arange(B.size).reshape(B.shape))
            part = sp.csr_array(sp.block_array([[numbered, places], [sp.csr_array(places.T), None]]))
            part.sort_indices()
            self._gather_indices, self._border_values = part.data.astype(np.int64) - 1, B.ravel()
            part.data = np.zeros(part.nnz)
        self._matrix = part
        self._kind = "kkt" if self._border_size else "spd"
        self._backend = backend
        self._factors: dict[str, Factor] = {}
        self._factor: Factor | None = None

    def build_matrix(self) -> sp.csr_array:
        """Build the restricted matrix with the present `values` (copied)."""
        out = self._matrix.copy()
        out.data = self._gather_values()
        return out

    def factorise(self) -> bool:
        """Factorise the present `values`; False if the matrix is not positive definite (orthogonal to the border)."""
        try:
            self._factor = self._refactor(self._kind)
        except NotPositiveDefinite:
            return False
        return self._factor.negative_eigenvalues in (None, self._border_size)

    def factorise_as(self, kind: str) -> None:
        """Factorise the present `values` as "symmetric", possibly indefinite, or "general"."""
        self._factor = self._refactor(kind)

    def factorise_with_shift(self, mass: Array, first_shift: float, *, start_shift: float = 0.0) -> float:
        """Factorise; while the matrix is not positive definite, add a growing multiple of `mass` to `values`.

        Added mass shortens a Newton step and makes it a descent direction; converged solutions do not change.
        first_shift: first multiple; start_shift: multiple that is added before the first factorisation, for example
        because the last matrix needed it. Returns the added multiple. Raises NotConverged if no multiple helps.
        """
        shift = start_shift
        if start_shift != 0.0:
            self.values += start_shift * mass
        while not self.factorise():
            more = first_shift if shift == 0.0 else 9.0 * shift
            if not more <= 1e12 * first_shift:
                raise NotConverged("the tangent stays indefinite whatever is added to it; use smaller steps or loads")
            self.values += more * mass
            shift += more
        return shift

    def _refactor(self, kind: str) -> Factor:
        if kind not in self._factors:
            self._factors[kind] = Factor.from_pattern(self.build_matrix(), kind=kind, backend=self._backend)
        factor = self._factors[kind]
        factor.refactor(self._gather_values())
        return factor

    def solve(self, rhs: Array) -> Array:
        """Solve A x = rhs (n, 3) on the free coordinates; x (n, 3) is zero on the others."""
        assert self._factor is not None
        b = np.concatenate([rhs.ravel()[self.dofs], np.zeros(self._border_size)])
        x = np.zeros(self._shape)
        x.ravel()[self.dofs] = self._factor.solve(b)[: len(self.dofs)]
        return x

    def solve_many(self, rhs: Array) -> Array:
        """Solve for many right-hand sides (k, n, 3) at once."""
        assert self._factor is not None
        assert not self._border_size
        x = np.zeros(rhs.shape)
        if len(rhs):
            flat = rhs.reshape(len(rhs), -1)[:, self.dofs]
            x.reshape(len(rhs), -1)[:, self.dofs] = self._factor.solve(flat.T).T
        return x

    def copy_symbolic(self) -> RestrictedSystem:
        """Copy with its own values and factors, and a shared symbolic factorisation."""
        other = copy(self)
        other.values = np.empty_like(self.values)
        other._factors, other._factor = {kind: factor.copy_symbolic() for kind, factor in self._factors.items()}, None
        return other

    def compute_norm(self, vector: Array) -> float:
        """Euclidean norm of the free coordinates of `vector` (n, 3)."""
        with np.errstate(over="ignore"):  # an infinite norm is noticed by the caller
            return float(np.linalg.norm(vector.ravel()[self.dofs]))

    def _gather_values(self) -> Array:
        return (np.concatenate([self.values, self._border_values]) if self._border_size else self.values).take(
            self._gather_indices
        )
