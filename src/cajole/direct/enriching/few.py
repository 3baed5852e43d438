"""The equations of a constrained step with few regions: the plain step's factors, and some solves with them."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.body import Body
from cajole.direct.enriching.saddle import Saddle
from cajole.errors import SolveError

Array = NDArray[np.float64]

# more regions than this change S = C A⁻¹ Cᵀ too much from step to step: with 8 a step takes two solves more, with 88
# dozens
MOST = 16
# what averages may be off before the rest is met in the metric of masses, in body sizes: in steps of 1/240 s a pull
# that is wrong by less than a thousandth of the weight
TOLERANCE = 1e-7
# solves of a step after which S is made anew, and after which something is wrong
STALE, MOST_SOLVES = 5, 60


class FewSaddle(Saddle):
    """As Saddle, without indefinite factors: A alone is factorised, as it would be without regions.

    S λ = gap - C A⁻¹ right by conjugate gradients (Golub and Van Loan 2013, 11.5), from the last multipliers on, with
    the S⁻¹ of an earlier step in front, which learns from every solve (BFGS). What is left, below TOLERANCE, is moved
    by M⁻¹Cᵀ: averages are met to rounding.
    """

    def __init__(self, body: Body, held: sp.csr_array, *, backend: str | None = None):
        super().__init__(body, sp.csr_array((0, held.shape[1])), backend=backend)
        self._rows = sp.csr_array(sp.kron(held, sp.eye_array(3)))
        self._columns = sp.csr_array(self._rows.T)
        self._most = TOLERANCE * body.size * np.repeat(np.asarray(abs(held).sum(axis=1)), 3)
        inverse = np.repeat(1.0 / body.vertex_masses[body.free], 3)
        self._spread = sp.csr_array(sp.diags_array(inverse) @ self._columns)
        self._gram = scipy.linalg.cho_factor((self._rows @ self._spread).toarray())
        self._inverse_schur: Array | None = None
        self._last: list[Array] = []

    def factorise(self, values: Array) -> bool:
        """Factorise with A given by `values` on the body's pattern; false where A or S is not positive definite."""
        if not super().factorise(values):
            return False
        try:
            if self._inverse_schur is None:
                self._inverse_schur = self._schur_inverted()
        except np.linalg.LinAlgError:
            return False
        return True

    def solve(self, right: Array, gap: Array) -> tuple[Array, Array]:
        """x (n, 3) and the pull Cᵀλ (n, 3), for right (n, 3) and gap (m, 3)."""
        wanted = gap.ravel()
        lam = self._guess(len(wanted))
        x = self._inverse(right.ravel()[self.dofs] + self._columns @ lam)
        x, lam = self._iterated(x, lam, wanted - self._rows @ x)
        x = x + self._spread @ scipy.linalg.cho_solve(self._gram, wanted - self._rows @ x)
        self._last = [*self._last[-1:], lam]
        out, pull = np.zeros((2, *self._shape))
        out.ravel()[self.dofs], pull.ravel()[self.dofs] = x, self._columns @ lam
        return out, pull

    def _iterated(self, x: Array, lam: Array, off: Array) -> tuple[Array, Array]:
        """x and λ after conjugate gradients; off: gap - C x."""
        H, before = self._inverse_schur, 1.0
        pairs: list[tuple[Array, Array]] = []
        assert H is not None
        for solves in range(MOST_SOLVES):
            if (np.abs(off) <= self._most).all():
                self._inverse_schur = learnt(H, pairs) if solves <= STALE else None
                return x, lam
            guess = H @ off
            now = float(off @ guess)
            way = guess + (now / before) * pairs[-1][0] if pairs else guess
            moved = self._inverse(self._columns @ way)
            bent = self._rows @ moved
            share, before = now / float(way @ bent), now
            x, lam, off = x + share * moved, lam + share * way, off - share * bent
            pairs.append((way, bent))
        raise SolveError(f"the regions' means were not met in {MOST_SOLVES} solves; use fewer or larger regions")

    def _guess(self, size: int) -> Array:
        """The last multipliers, extrapolated."""
        if len(self._last) == 2:
            return np.asarray(2.0 * self._last[1] - self._last[0])
        return self._last[0] if self._last else np.zeros(size)

    def _schur_inverted(self) -> Array:
        S = self._rows @ self._inverse(self._columns.toarray())
        return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(0.5 * (S + S.T)), np.eye(len(S))))

    def _inverse(self, right: Array) -> Array:
        assert self._factor is not None
        return self._factor.solve(right)


def learnt(H: Array, pairs: list[tuple[Array, Array]]) -> Array:
    """H (k, k), near S⁻¹, changed so that H y = s for the pairs s, y = S s (Nocedal and Wright 2006, 6.17)."""
    for s, y in pairs:
        r, Hy = 1.0 / float(s @ y), H @ y
        H = H - r * (np.outer(s, Hy) + np.outer(Hy, s)) + (r * r * float(y @ Hy) + r) * np.outer(s, s)
    return H
