"""SuperLU with a METIS or minimum degree order that is computed once: the backend for every platform."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from cajole.errors import NotPositiveDefinite, SolveError
from cajole.linalg.ordering import order_by_nested_dissection


class SuperLU:
    """One matrix pattern with its factors; takes the whole matrix in CSR order."""

    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any], kind: str):
        self.kind = kind
        self.size = len(indptr) - 1
        pattern = sp.csr_array((np.arange(1, len(indices) + 1), indices, indptr), shape=(self.size, self.size))
        self._order = order_by_nested_dissection(pattern)
        permuted = pattern[self._order][:, self._order].tocsc()
        permuted.sort_indices()
        self._gather_indices = permuted.data - 1
        self._matrix = sp.csc_matrix(
            (np.zeros(len(indices)), permuted.indices.astype(np.int32), permuted.indptr.astype(np.int32)),
            shape=permuted.shape,
        )
        self.negative_eigenvalues: int | None = None
        self.perturbed_pivots = 0

    def copy_symbolic(self) -> SuperLU:
        """A copy with the same order and factors of its own."""
        other = copy(self)
        other._matrix = self._matrix.copy()
        return other

    def factorise(self, data: NDArray[np.float64]) -> None:
        """Numeric factorisation of the values `data` on the known pattern."""
        np.take(data, self._gather_indices, out=self._matrix.data)
        symmetric = self.kind != "general"
        # Rows are exchanged if the diagonal entry is smaller than this share of the largest of its column. Never for
        # definite and indefinite matrices: pivots on the diagonal keep the order, halve the work, and make the signs
        # of U the inertia.
        threshold = {"spd": 0.0, "symmetric": 0.0, "kkt": 1e-3, "general": 1e-1}[self.kind]
        try:
            self._factors = splu(
                self._matrix,
                permc_spec="NATURAL" if symmetric else "COLAMD",
                diag_pivot_thresh=threshold,
                options={"SymmetricMode": symmetric},
            )
        except RuntimeError as reason:
            if self.kind == "spd":
                raise NotPositiveDefinite("the matrix is not positive definite (it is singular)") from reason
            raise SolveError(f"SuperLU cannot factorise this matrix: {reason}") from reason
        self.negative_eigenvalues = None
        # With equal row and column orders A = L D Lᵀ, and the signs of diag(U) = D are the inertia (Sylvester).
        if symmetric and np.array_equal(self._factors.perm_r, self._factors.perm_c):
            self.negative_eigenvalues = int((self._factors.U.diagonal() < 0).sum())
        if self.kind == "spd" and self.negative_eigenvalues != 0:
            raise NotPositiveDefinite("the matrix is not positive definite")

    def solve(self, rhs: NDArray[np.float64]) -> NDArray[np.float64]:
        """x with A x = rhs, (n,) or (n, k)."""
        x = np.empty(rhs.shape)
        x[self._order] = self._factors.solve(np.ascontiguousarray(rhs[self._order], dtype=np.float64))
        return x
