"""MKL PARDISO through ctypes: analyse once, factorise many times, solve many right-hand sides.

Results are reproducible: the same matrix and right-hand side give the same bytes in every run with the same number of
threads. By default the threads of a solve add their parts in the order in which they end; conditional numerical
reproducibility (CNR) fixes that order. It is set per set of factors, so that other uses of MKL are not affected.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.errors import MissingExtra, NotPositiveDefinite, SolveError
from cajole.linalg.threads import choose_factor_threads

ANALYSE, FACTORISE, SOLVE, RELEASE = 11, 22, 33, -1
# Analyses take turns: they share one random number generator, whose state changes the ordering.
_ANALYSIS_LOCK = threading.Lock()


@functools.cache
def load_mkl() -> ctypes.CDLL:
    """The MKL runtime of the `mkl` wheel."""
    try:
        files = importlib.metadata.files("mkl") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if "mkl_rt" in file.name and not file.name.endswith((".lib", ".a")):
            try:
                return ctypes.CDLL(str(file.locate()))
            except OSError:
                continue
    raise MissingExtra("mkl", "fast", "the PARDISO backend")


class Pardiso:
    """One matrix pattern with its factors; `kind` as in `Factor`. Symmetric kinds take the upper triangle.

    order: elimination order, with which the pivots of a symmetric matrix stay on the diagonal; None: that of PARDISO.
    """

    def __init__(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        kind: str,
        data: NDArray[np.float64],
        order: NDArray[Any] | None = None,
    ):
        self.kind, self.size = kind, len(indptr) - 1
        self._matrix_type = {"spd": 2, "symmetric": -2, "kkt": -2, "general": 11}[kind]
        self._indptr = np.ascontiguousarray(indptr, dtype=np.int32)
        self._indices = np.ascontiguousarray(indices, dtype=np.int32)
        self._handle = np.zeros(64, dtype=np.int64)
        self._order = None if order is None else np.ascontiguousarray(order, dtype=np.int32)
        # constant for the life of the factors: MKL crashes if the count changes between phases
        self._threads = choose_factor_threads()
        self._parameters = _build_parameters(kind, self._threads, has_order=order is not None)
        # MKL mixes up concurrent solves with one set of factors
        self._solver_lock = threading.Lock()
        self._data = data
        weakref.finalize(
            self, _call_pardiso, self._handle, self._parameters, self.size, self._matrix_type, self._threads, RELEASE
        )
        with _ANALYSIS_LOCK:
            self._run_phase(ANALYSE)

    def copy_symbolic(self) -> Pardiso:
        """The same pattern with factors of its own, analysed again: MKL shares nothing."""
        return Pardiso(self._indptr, self._indices, self.kind, self._data.copy(), self._order)

    def factorise(self, data: NDArray[np.float64]) -> None:
        """Numeric factorisation of the values `data` on the analysed pattern."""
        self._data = data
        self._run_phase(FACTORISE)

    def solve(self, rhs: NDArray[np.float64]) -> NDArray[np.float64]:
        """x with A x = rhs, (n,) or (n, k)."""
        b = np.array(rhs, dtype=np.float64, order="F")
        x = np.empty_like(b, order="F")
        self._run_phase(SOLVE, b, x)
        return x

    @property
    def perturbed_pivots(self) -> int:
        """Number of replaced pivots; the factors are exact if it is zero."""
        return int(self._parameters[13])

    @property
    def negative_eigenvalues(self) -> int | None:
        """Number of negative eigenvalues (Sylvester's law of inertia); None for general matrices."""
        return int(self._parameters[22]) if self._matrix_type == -2 else 0 if self.kind == "spd" else None

    def _run_phase(
        self, phase: int, b: NDArray[np.float64] | None = None, x: NDArray[np.float64] | None = None
    ) -> None:
        count = 1 if b is None or b.ndim == 1 else b.shape[1]
        with self._solver_lock:
            error = _call_pardiso(
                self._handle,
                self._parameters,
                self.size,
                self._matrix_type,
                self._threads,
                phase,
                arrays=(self._data, self._indptr, self._indices, self._order),
                vectors=(b, x),
                rhs_count=count,
            )
        if error == -4 and self.kind == "spd":
            raise NotPositiveDefinite("the matrix is not positive definite")
        if error:
            reasons = {
                -1: "the matrix is inconsistent",
                -2: "not enough memory",
                -3: "the reordering failed",
                -4: "a pivot is zero",
                -7: "the diagonal is singular",
                -8: "the factors need 64-bit indices",
            }
            reason = reasons.get(error, f"error {error}")
            raise SolveError(
                f"PARDISO cannot factorise this matrix: {reason}; try backend='superlu', or a coarser mesh"
            )


def _build_parameters(kind: str, threads: int, *, has_order: bool) -> NDArray[np.int32]:
    matched = kind == "general" or (kind == "kkt" and not has_order)
    options = np.zeros(64, dtype=np.int32)
    options[0] = 1  # no default values
    options[1] = 2  # nested dissection
    options[4] = int(has_order)  # the order of the caller
    options[7] = 2 if matched else 0  # steps of iterative refinement
    options[9] = 13 if kind == "general" else 8  # size of a replaced pivot, 10^-k
    options[10] = options[12] = int(matched)  # scaling and weighted matching
    options[20] = int(not has_order)  # 1x1 and 2x2 pivots
    options[33] = threads if threads > 1 else 0  # CNR; one thread needs none, and is a little faster without
    options[34] = 1  # indices from zero
    return options


def _call_pardiso(
    handle: NDArray[np.int64],
    parameters: NDArray[np.int32],
    size: int,
    matrix_type: int,
    threads: int,
    phase: int,
    *,
    arrays: tuple[NDArray[Any] | None, ...] = (None, None, None, None),
    vectors: tuple[NDArray[Any] | None, ...] = (None, None),
    rhs_count: int = 1,
) -> int:
    mkl = load_mkl()
    error = ctypes.c_int(0)

    def pointer(array: NDArray[Any] | None) -> ctypes.c_void_p | None:
        return None if array is None else ctypes.c_void_p(array.ctypes.data)

    def integer(value: int) -> Any:
        return ctypes.byref(ctypes.c_int(value))

    before = mkl.MKL_Set_Num_Threads_Local(ctypes.c_int(threads))
    try:
        head = pointer(handle), integer(1), integer(1), integer(matrix_type), integer(phase), integer(size)
        options = integer(rhs_count), pointer(parameters), integer(0)
        mkl.pardiso(*head, *map(pointer, arrays), *options, *map(pointer, vectors), ctypes.byref(error))
    finally:
        mkl.MKL_Set_Num_Threads_Local(ctypes.c_int(before))
    return error.value
