"""Common interface of the sparse factorisations: analyse a pattern once, then factorise and solve often."""

from __future__ import annotations

import threading
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole import checks
from cajole.errors import InputError, MissingExtra, SolveError
from cajole.linalg import pardiso
from cajole.linalg.cholesky import Cholesky
from cajole.linalg.ordering import order_saddle_point
from cajole.linalg.superlu import SuperLU
from cajole.locking import synchronized

BACKENDS = ("pardiso", "superlu")


def is_pardiso_available() -> bool:
    """True if the MKL runtime of the fast backend can be loaded."""
    try:
        pardiso.load_mkl()
    except MissingExtra:
        return False
    return True


class Factor:
    """A factorised sparse matrix.

    matrix: square; every later matrix must have its pattern.
    kind: "spd" (raises NotPositiveDefinite otherwise), "symmetric" (indefinite, e.g. K - σM), "kkt" (symmetric with a
        zero block: matched and scaled), "general". Of the symmetric kinds only one triangle is read.
    backend: "pardiso", "superlu", or None for the fastest of these that is installed. "cholesky" accepts "spd", and
        "kkt" with `constraint_count`; it is the fastest on one thread for many matrices of one pattern.
    constraint_count: for "spd" and "kkt", the number of last rows that are constraints, [[A, Cᵀ], [C, 0]] with A
        positive definite. The elimination order then keeps all pivots on the diagonal, without matching or refinement.
        If that fails, `perturbed_pivots` is not zero, or, with "cholesky", NotPositiveDefinite is raised.
    optimise_ordering: with "cholesky", spend a second on a cheaper elimination order; pays off after hundreds of steps.
    Several threads may use it: `refactor` and `solve` take turns, and a solve uses the latest factors.
    """

    def __init__(
        self,
        matrix: sp.sparray | sp.spmatrix,
        *,
        kind: str = "spd",
        backend: str | None = None,
        constraint_count: int | None = None,
        optimise_ordering: bool = False,
    ):
        self.refactor(self._analyse(matrix, kind, backend, constraint_count, optimise_ordering))

    @classmethod
    def from_pattern(cls, matrix: sp.sparray | sp.spmatrix, *, kind: str = "spd", backend: str | None = None) -> Factor:
        """Analyse only the pattern; `refactor` supplies the values."""
        factor = cls.__new__(cls)
        factor._analyse(matrix, kind, backend, None)
        return factor

    def _analyse(
        self,
        matrix: sp.sparray | sp.spmatrix,
        kind: str,
        backend: str | None,
        constraint_count: int | None,
        optimise_ordering: bool = False,
    ) -> NDArray[np.float64]:
        """Set up the backend for the pattern of `matrix`; return its values in canonical order."""
        self.lock = threading.RLock()
        self.kind = checks.require_choice(kind, "kind", ("spd", "symmetric", "kkt", "general"))
        # "cholesky" must know which pivots are negative
        signs_known = kind == "spd" or (kind == "kkt" and constraint_count is not None)
        choice = backend or ("pardiso" if is_pardiso_available() else "superlu")
        self.backend = checks.require_choice(choice, "backend", (*BACKENDS, "cholesky") if signs_known else BACKENDS)
        csr = sp.csr_array(matrix)
        if csr.dtype.kind not in "fiu":
            raise InputError(f"a matrix to factorise must hold real numbers, not {csr.dtype}")
        if csr.shape[0] != csr.shape[1] or csr.shape[0] == 0:
            raise InputError(f"a matrix to factorise must be square and not empty, but has shape {csr.shape}")
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        self.size = csr.shape[0]
        self._entry_count = csr.nnz
        pattern = _number_entries_with_diagonal(csr)
        if self.backend == "pardiso" and kind != "general":
            pattern = sp.triu(pattern, format="csr")
        # position of each entry of the pattern in the caller's data; missing diagonals read a zero past its end
        self._gather_indices = np.where(pattern.data > 0, pattern.data - 1, self._entry_count)
        self._has_full_diagonal = bool((self._gather_indices < self._entry_count).all())
        # the other backends keep their input, which must therefore be a copy
        identity = np.arange(self._entry_count)
        self._is_identity_gather = self.backend == "cholesky" and np.array_equal(self._gather_indices, identity)
        self._values = np.empty(0 if self._is_identity_gather else len(self._gather_indices))
        self._pattern = pattern
        self._is_factorised = False
        values = np.ascontiguousarray(csr.data, dtype=np.float64)
        self._solver: pardiso.Pardiso | SuperLU | Cholesky
        if self.backend == "pardiso":
            order = None if constraint_count is None else order_saddle_point(pattern, constraint_count)
            self._solver = pardiso.Pardiso(pattern.indptr, pattern.indices, kind, self._gather_values(values), order)
        elif self.backend == "superlu":
            self._solver = SuperLU(pattern.indptr, pattern.indices, kind)
        else:
            constraints = (constraint_count or 0) if kind == "kkt" else 0
            self._solver = Cholesky(pattern.indptr, pattern.indices, constraints, optimise_ordering=optimise_ordering)
        return values

    def copy_symbolic(self) -> Factor:
        """A copy that shares the symbolic factorisation; `refactor` supplies its values."""
        other = copy(self)
        other.lock = threading.RLock()
        other._values, other._is_factorised = np.empty_like(self._values), False
        other._solver = self._solver.copy_symbolic()
        return other

    @synchronized
    def refactor(self, data: NDArray[np.float64]) -> None:
        """Factorise new values on the same pattern: `data` of the canonical CSR matrix given at construction."""
        data = np.asarray(data)
        if data.shape != (self._entry_count,) or data.dtype.kind not in "fiu":
            raise InputError(
                f"refactor needs {self._entry_count} real values in canonical order, not {data.dtype} {data.shape}"
            )
        self._is_factorised = False
        self._solver.factorise(self._gather_values(data))
        self._is_factorised = True

    @synchronized
    def solve(self, rhs: NDArray[np.float64]) -> NDArray[np.float64]:
        """x with A x = rhs, (n,) or (n, k).

        Raises SolveError if the matrix is singular, InputError if rhs has another size or is not finite.
        """
        rhs = np.asarray(rhs, dtype=np.float64)
        if rhs.ndim not in (1, 2) or rhs.shape[0] != self.size:
            raise InputError(f"the right-hand side has shape {rhs.shape}, not ({self.size},) or ({self.size}, k)")
        if not np.isfinite(rhs).all():
            bad = int(rhs.size - np.isfinite(rhs).sum())
            raise InputError(f"{bad} of {rhs.size} entries of the right-hand side are not finite; reduce the loads")
        if rhs.size == 0:
            return np.empty(rhs.shape)
        if not self._is_factorised:
            raise SolveError(
                "there are no factors to solve with, as the last factorisation failed; call refactor with other values"
            )
        x = self._solver.solve(rhs)
        size, load = float(np.abs(x).max()), float(np.abs(rhs).max())
        # beyond |A| |x| / |b| = 1e14, x is noise: the condition number has reached the reciprocal of rounding
        if not self._max_abs_value * size <= 1e14 * load or (self.perturbed_pivots and not self._is_solution(x, rhs)):
            raise SolveError("the matrix is singular to rounding; are enough vertices fixed?")
        return x

    def _is_solution(self, x: NDArray[np.float64], rhs: NDArray[np.float64]) -> bool:
        """True if |A x - rhs| is small; checked if pivots were replaced."""
        A = sp.csr_array((self._values, self._pattern.indices, self._pattern.indptr), shape=self._pattern.shape)
        image = A @ x
        if self.backend == "pardiso" and self.kind != "general":
            image += A.T @ x - (A.diagonal() * x.T).T
        return bool(np.abs(image - rhs).max() <= 1e-6 * np.abs(rhs).max())

    @property
    def negative_eigenvalues(self) -> int | None:
        """Number of negative eigenvalues, or None where the backend does not know."""
        return self._solver.negative_eigenvalues

    @property
    def perturbed_pivots(self) -> int:
        """Number of pivots that had to be replaced; the factors are exact when it is zero."""
        return self._solver.perturbed_pivots

    def _gather_values(self, data: NDArray[np.float64]) -> NDArray[np.float64]:
        self._max_abs_value = max(float(data.max(initial=0.0)), -float(data.min(initial=0.0)))
        # both are NaN if any entry is; two passes are cheaper than a test of every entry
        if not np.isfinite(self._max_abs_value):
            bad = int(data.size - np.isfinite(data).sum())
            raise SolveError(
                f"{bad} of {data.size} entries of the matrix are not finite; reduce the displacements or the loads"
            )
        if self._is_identity_gather:
            return np.ascontiguousarray(data, dtype=np.float64)
        source = data if self._has_full_diagonal else np.append(data, 0.0)
        # the indices are valid; with a check of them NumPy would fill a copy of `out`
        return np.take(source, self._gather_indices, out=self._values, mode="clip")


def _number_entries_with_diagonal(csr: sp.csr_array) -> Any:
    """The pattern with its entries numbered from 1 in the order of `csr.data`; missing diagonal entries are 0."""
    numbered = sp.csr_array((np.arange(1, csr.nnz + 1), csr.indices, csr.indptr), shape=csr.shape)
    missing = np.flatnonzero(numbered.diagonal() == 0)
    if len(missing) == 0:
        return numbered
    marker = csr.nnz + 1
    extra = sp.coo_array((np.full(len(missing), marker), (missing, missing)), shape=csr.shape)
    whole = sp.csr_array(numbered + extra)
    whole.sort_indices()
    whole.data[whole.data == marker] = 0
    return whole
