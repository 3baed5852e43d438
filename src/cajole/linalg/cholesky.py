"""Factors L S Lᵀ by dense panels: of matrices that change from step to step, on one thread, the fastest there are."""

from __future__ import annotations

import threading
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.errors import NotPositiveDefinite
from cajole.linalg import kernels_cholesky as kernels
from cajole.linalg.symbolic import planned


class Cholesky:
    """One pattern of positive definite matrices with its factors; takes the whole matrix in CSR order.

    border: how many of the last rows are constraints of the others, so that as many pivots are negative. That they are
    is what a factorisation proves (Sylvester's law of inertia). thorough: see `planned`.
    """

    perturbed = 0

    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any], border: int = 0, *, thorough: bool = False):
        size = len(indptr) - 1
        pattern = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(size, size))
        self._plan = planned(pattern, border, thorough=thorough)
        self.negative = border
        # Scratch that twins share, as it can be larger than the factors: they factorise one at a time.
        self._updated, self._turn = np.empty(self._plan.room), threading.Lock()
        self._factors = np.empty(self._plan.panels[-1])

    def twin(self) -> Cholesky:
        """The same pattern with factors of its own."""
        other = copy(self)
        other._factors = np.empty_like(self._factors)
        return other

    def factorise(self, data: NDArray[np.float64]) -> None:
        """Numeric factorisation of the values `data` on the known pattern."""
        p = self._plan
        with self._turn:
            done = kernels.factorise(
                data, *p.entries, p.first, p.rows_from, p.local, p.runs, p.panels, p.updates, p.children_from,
                p.children, p.negative, self._factors, self._updated, np.empty(kernels.STRIP**2), _sizes(),
            )  # fmt: skip
        if not done:
            raise NotPositiveDefinite(
                "the matrix is not positive definite" + (" where its constraints hold" if self.negative else "")
            )

    def solve(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """x with A x = right, (n,) or (n, k)."""
        p = self._plan
        n, count = len(right), right.size // len(right)
        X = np.ascontiguousarray(right[p.order].T).ravel()
        held = np.empty(max(1, count * p.tallest))
        kernels.solve(X, n, count, p.first, p.rows_from, p.rows, p.panels, p.negative, self._factors, held, _sizes())
        x = np.empty(right.shape)
        x[p.order] = X.reshape(count, n).T.reshape(right.shape)
        return x


def _sizes() -> NDArray[np.int32]:
    """Room for the arguments of BLAS, of each call its own: threads may solve at once."""
    return np.empty(6, dtype=np.int32)
