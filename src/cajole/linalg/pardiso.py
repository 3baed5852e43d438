"""MKL PARDISO through ctypes: analyse once, factorise many times, solve many right-hand sides.

Results are reproducible: the same matrix and right-hand side give the same bytes in every run with the same number of
threads. By default the threads of a solve add their parts in the order in which they end; conditional numerical
reproducibility (CNR) fixes that order. It is set for each set of factors, so that the rest of MKL is left alone.
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
from cajole.linalg.threads import factor_threads

MATRIX_TYPES = {"spd": 2, "symmetric": -2, "kkt": -2, "general": 11}
ANALYSE, FACTORISE, SOLVE, RELEASE = 11, 22, 33, -1
REASONS = {
    -1: "the matrix is inconsistent",
    -2: "not enough memory",
    -3: "the reordering failed",
    -4: "a pivot is zero",
    -7: "the diagonal is singular",
    -8: "the factors need 64-bit indices",
}
# Analyses take turns: they draw from one random number generator, whose state decides about the ordering.
_ANALYSIS = threading.Lock()


@functools.cache
def library() -> ctypes.CDLL:
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


def available() -> bool:
    """Whether the MKL runtime can be loaded."""
    try:
        library()
    except MissingExtra:
        return False
    return True


class Pardiso:
    """One matrix pattern with its factors; `kind` as in `Factor`; symmetric kinds take the upper triangle.

    order: in which to eliminate; pivots of a symmetric matrix then stay on the diagonal.
    """

    def __init__(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        kind: str,
        data: NDArray[np.float64],
        order: NDArray[Any] | None = None,
    ):
        self.kind = kind
        self.size = len(indptr) - 1
        self._indptr = np.ascontiguousarray(indptr, dtype=np.int32)
        self._indices = np.ascontiguousarray(indices, dtype=np.int32)
        self._handle = np.zeros(64, dtype=np.int64)
        self._order = None if order is None else np.ascontiguousarray(order, dtype=np.int32)
        # Fixed for the life of the factors: MKL crashes when the count changes between phases.
        self._threads = factor_threads()
        self._options = _options(kind, self._threads, ordered=order is not None)
        # MKL solves with one set of factors for one caller at a time, or mixes up what they ask
        self._turn = threading.Lock()
        self._data = data
        weakref.finalize(self, _release, self._handle, self._options, self.size, MATRIX_TYPES[kind], self._threads)
        with _ANALYSIS:
            self._call(ANALYSE)

    def twin(self) -> Pardiso:
        """The same pattern with factors of its own, analysed again: MKL shares nothing."""
        return Pardiso(self._indptr, self._indices, self.kind, self._data.copy(), self._order)

    def factorise(self, data: NDArray[np.float64]) -> None:
        """Numeric factorisation of the values `data` on the analysed pattern."""
        self._data = data
        self._call(FACTORISE)

    def solve(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """x with A x = right, (n,) or (n, k)."""
        b = np.array(right, dtype=np.float64, order="F")
        x = np.empty_like(b, order="F")
        self._call(SOLVE, b, x)
        return x

    @property
    def perturbed(self) -> int:
        """How many pivots PARDISO had to replace: not zero means the factors are approximate."""
        return int(self._options[13])

    @property
    def negative(self) -> int | None:
        """Negative eigenvalues (Sylvester's inertia), known for symmetric indefinite kinds."""
        return int(self._options[22]) if MATRIX_TYPES[self.kind] == -2 else 0 if self.kind == "spd" else None

    def _call(self, phase: int, b: NDArray[np.float64] | None = None, x: NDArray[np.float64] | None = None) -> None:
        count = 1 if b is None or b.ndim == 1 else b.shape[1]
        with self._turn:
            error = _pardiso(
                self._handle, self._options, self.size, MATRIX_TYPES[self.kind], self._threads, phase,
                arrays=(self._data, self._indptr, self._indices, self._order), vectors=(b, x), count=count,
            )  # fmt: skip
        if error == -4 and self.kind == "spd":
            raise NotPositiveDefinite("the matrix is not positive definite")
        if error:
            reason = REASONS.get(error, f"error {error}")
            raise SolveError(
                f"PARDISO cannot factorise this matrix: {reason}; try backend='superlu', or a coarser mesh"
            )


def _options(kind: str, threads: int, *, ordered: bool) -> NDArray[np.int32]:
    matched = kind == "general" or (kind == "kkt" and not ordered)
    options = np.zeros(64, dtype=np.int32)
    options[0] = 1  # no defaults
    options[1] = 2  # nested dissection
    options[4] = int(ordered)  # the caller's order
    options[7] = 2 if matched else 0  # steps of iterative refinement
    options[9] = 13 if kind == "general" else 8  # size of a replaced pivot, 10^-k
    options[10] = options[12] = int(matched)  # scaling and weighted matching
    options[20] = int(not ordered)  # 1x1 and 2x2 pivots
    options[33] = threads if threads > 1 else 0  # CNR; one thread needs none, and is a little faster without
    options[34] = 1  # indices from zero
    return options


def _release(handle: NDArray[np.int64], options: NDArray[np.int32], size: int, kind: int, threads: int) -> None:
    _pardiso(handle, options, size, kind, threads, RELEASE)


def _pardiso(
    handle: NDArray[np.int64],
    options: NDArray[np.int32],
    size: int,
    matrix_type: int,
    threads: int,
    phase: int,
    *,
    arrays: tuple[NDArray[Any] | None, ...] = (None, None, None, None),
    vectors: tuple[NDArray[Any] | None, ...] = (None, None),
    count: int = 1,
) -> int:
    mkl = library()
    error = ctypes.c_int(0)
    before = mkl.MKL_Set_Num_Threads_Local(ctypes.c_int(threads))
    try:
        mkl.pardiso(
            _pointer(handle), _int(1), _int(1), _int(matrix_type), _int(phase), _int(size),
            *(_pointer(array) for array in arrays), _int(count), _pointer(options), _int(0),
            *(_pointer(vector) for vector in vectors), ctypes.byref(error),
        )  # fmt: skip
    finally:
        mkl.MKL_Set_Num_Threads_Local(ctypes.c_int(before))
    return error.value


def _int(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


def _pointer(array: NDArray[Any] | None) -> ctypes.c_void_p | None:
    return None if array is None else ctypes.c_void_p(array.ctypes.data)
