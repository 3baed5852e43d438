"""Matrices of a body on the coordinates that may move: the one place where fixed coordinates are left out."""

from __future__ import annotations

from copy import copy

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.errors import NotConverged, NotPositiveDefinite
from cajole.linalg import Factor


class Restricted:
    """A symmetric matrix on the pattern of `body`, restricted to `dofs` and factorised there.

    Fill `values` (on the body's pattern), call `factorise`, then `solve`. With `border` B (3n, k) the matrix solved is
    [[A, B], [Bᵀ, 0]]: the solution is orthogonal to B.
    """

    def __init__(self, body: Body, dofs: IndexArray, *, border: Array | None = None, backend: str | None = None):
        self.dofs = dofs
        self.values = np.empty(body.pattern.entries)
        self._shape = (body.count, 3)
        part, self._take = body.pattern.restricted(dofs)
        self._held = 0 if border is None else border.shape[1]
        self._border = np.empty(0)
        if self._held:
            assert border is not None
            part, self._take, self._border = _bordered(part, self._take, border[dofs], body.pattern.entries)
        self._matrix = part
        self._kind = "kkt" if self._held else "spd"
        self._backend = backend
        self._factors: dict[str, Factor] = {}
        self._factor: Factor | None = None

    def matrix(self) -> sp.csr_array:
        """The restricted matrix with the present `values` (its data is a copy)."""
        out = self._matrix.copy()
        out.data = self._gathered()
        return out

    def factorise(self) -> bool:
        """Factorise the present `values`; false when the matrix is not positive definite (orthogonal to the border)."""
        try:
            self._factor = self._factorised(self._kind)
        except NotPositiveDefinite:
            return False
        return self._factor.negative in (None, self._held)

    def factorise_as(self, kind: str) -> None:
        """Factorise the present `values` as "symmetric", whatever their signs, or "general"."""
        self._factor = self._factorised(kind)

    def factorise_shifted(self, mass: Array, scale: float, *, first: float = 0.0) -> float:
        """Factorise; while the matrix is not positive definite, add ever more `mass` times `scale` to `values`.

        The added mass shortens a Newton step and keeps it a descent direction; a converged solution is the same.
        first: the share of mass to begin with, of use where the last matrix needed some. Returns what was added.
        Raises NotConverged when nothing helps.
        """
        shift = first
        if first != 0.0:
            self.values += first * mass
        while not self.factorise():
            more = scale if shift == 0.0 else 9.0 * shift
            if not more <= 1e12 * scale:
                raise NotConverged("the tangent stays indefinite whatever is added to it; use smaller steps or loads")
            self.values += more * mass
            shift += more
        return shift

    def _factorised(self, kind: str) -> Factor:
        if kind not in self._factors:
            self._factors[kind] = Factor.analysed(self.matrix(), kind=kind, backend=self._backend)
        factor = self._factors[kind]
        factor.refactor(self._gathered())
        return factor

    def solve(self, right: Array) -> Array:
        """x (n, 3) with A x = right (n, 3) on the moving coordinates, zero on the others."""
        assert self._factor is not None
        b = np.concatenate([right.ravel()[self.dofs], np.zeros(self._held)])
        x = np.zeros(self._shape)
        x.ravel()[self.dofs] = self._factor.solve(b)[: len(self.dofs)]
        return x

    def solve_all(self, right: Array) -> Array:
        """As `solve`, for many right-hand sides (k, n, 3) at once."""
        assert self._factor is not None
        assert not self._held
        x = np.zeros(right.shape)
        if len(right):
            flat = right.reshape(len(right), -1)[:, self.dofs]
            x.reshape(len(right), -1)[:, self.dofs] = self._factor.solve(flat.T).T
        return x

    def twin(self) -> Restricted:
        """The same coordinates, with values and factors of its own; what is known of their pattern is shared."""
        other = copy(self)
        other.values = np.empty_like(self.values)
        other._factors, other._factor = {kind: factor.twin() for kind, factor in self._factors.items()}, None
        return other

    def norm(self, vector: Array) -> float:
        """Euclidean length of the moving coordinates of `vector` (n, 3)."""
        with np.errstate(over="ignore"):  # an infinite norm is noticed by the caller
            return float(np.linalg.norm(vector.ravel()[self.dofs]))

    def _gathered(self) -> Array:
        return (np.concatenate([self.values, self._border]) if self._held else self.values).take(self._take)


def _bordered(
    part: sp.csr_array, take: IndexArray, border: Array, entries: int
) -> tuple[sp.csr_array, IndexArray, Array]:
    """Pattern of [[A, B], [Bᵀ, 0]], where its values stand in (body values, B), and the values of B."""
    numbered = part.copy()
    numbered.data = take + 1.0
    places = entries + 1.0 + np.arange(border.size).reshape(border.shape)
    whole = sp.csr_array(sp.block_array([[numbered, sp.csr_array(places)], [sp.csr_array(places.T), None]]))
    whole.sort_indices()
    where = whole.data.astype(np.int64) - 1
    whole.data = np.zeros(whole.nnz)
    return whole, where, border.ravel()
