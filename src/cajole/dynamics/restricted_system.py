"""Matrices of a body on the coordinates that may move: the one place where fixed coordinates are left out."""

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
            part, self._gather_indices, self._border_values = _build_bordered_pattern(
                part, self._gather_indices, border[dofs], body.pattern.nnz
            )
        self._matrix = part
        self._kind = "kkt" if self._border_size else "spd"
        self._backend = backend
        self._factors: dict[str, Factor] = {}
        self._factor: Factor | None = None

    def build_matrix(self) -> sp.csr_array:
        """The restricted matrix with the present `values` (its data is a copy)."""
        out = self._matrix.copy()
        out.data = self._gather_values()
        return out

    def factorise(self) -> bool:
        """Factorise the present `values`; false when the matrix is not positive definite (orthogonal to the border)."""
        try:
            self._factor = self._refactor(self._kind)
        except NotPositiveDefinite:
            return False
        return self._factor.negative_eigenvalues in (None, self._border_size)

    def factorise_as(self, kind: str) -> None:
        """Factorise the present `values` as "symmetric", whatever their signs, or "general"."""
        self._factor = self._refactor(kind)

    def factorise_with_shift(self, mass: Array, first_shift: float, *, start_shift: float = 0.0) -> float:
        """Factorise; while the matrix is not positive definite, add ever more `mass` times `scale` to `values`.

        The added mass shortens a Newton step and keeps it a descent direction; a converged solution is the same.
        first: the share of mass to begin with, of use where the last matrix needed some. Returns what was added.
        Raises NotConverged when nothing helps.
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
        """x (n, 3) with A x = right (n, 3) on the moving coordinates, zero on the others."""
        assert self._factor is not None
        b = np.concatenate([rhs.ravel()[self.dofs], np.zeros(self._border_size)])
        x = np.zeros(self._shape)
        x.ravel()[self.dofs] = self._factor.solve(b)[: len(self.dofs)]
        return x

    def solve_many(self, rhs: Array) -> Array:
        """As `solve`, for many right-hand sides (k, n, 3) at once."""
        assert self._factor is not None
        assert not self._border_size
        x = np.zeros(rhs.shape)
        if len(rhs):
            flat = rhs.reshape(len(rhs), -1)[:, self.dofs]
            x.reshape(len(rhs), -1)[:, self.dofs] = self._factor.solve(flat.T).T
        return x

    def copy_symbolic(self) -> RestrictedSystem:
        """The same coordinates, with values and factors of its own; what is known of their pattern is shared."""
        other = copy(self)
        other.values = np.empty_like(self.values)
        other._factors, other._factor = {kind: factor.copy_symbolic() for kind, factor in self._factors.items()}, None
        return other

    def compute_norm(self, vector: Array) -> float:
        """Euclidean length of the moving coordinates of `vector` (n, 3)."""
        with np.errstate(over="ignore"):  # an infinite norm is noticed by the caller
            return float(np.linalg.norm(vector.ravel()[self.dofs]))

    def _gather_values(self) -> Array:
        return (np.concatenate([self.values, self._border_values]) if self._border_size else self.values).take(
            self._gather_indices
        )


def _build_bordered_pattern(
    part: sp.csr_array, gather_indices: IndexArray, border: Array, entries: int
) -> tuple[sp.csr_array, IndexArray, Array]:
    """Pattern of [[A, B], [Bᵀ, 0]], where its values stand in (body values, B), and the values of B."""
    numbered = part.copy()
    numbered.data = gather_indices + 1.0
    places = entries + 1.0 + np.arange(border.size).reshape(border.shape)
    whole = sp.csr_array(sp.block_array([[numbered, sp.csr_array(places)], [sp.csr_array(places.T), None]]))
    whole.sort_indices()
    where = whole.data.astype(np.int64) - 1
    whole.data = np.zeros(whole.nnz)
    return whole, where, border.ravel()
