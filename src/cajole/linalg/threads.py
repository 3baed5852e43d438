"""How many threads the numerical libraries use, decided here and nowhere else.

Small dense work is fastest on one BLAS thread, and two threads on a busy machine can be ten times slower, so Cajole
limits OpenBLAS around its own loops and leaves the user's environment alone.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator

from threadpoolctl import ThreadpoolController

# More threads than this gave nothing on factorisations of the sizes Cajole meets.
MAX_FACTOR_THREADS = 4


class _SharedBlasLimit:
    """OpenBLAS on one thread while anybody wants it so: the number is the process's, and blocks of several threads may
    overlap, of which the one that began first need not end last."""

    def __init__(self) -> None:
        self._lock, self._user_count, self._restore_stack = threading.Lock(), 0, contextlib.ExitStack()

    def acquire(self) -> None:
        with self._lock:
            if self._user_count == 0:
                self._restore_stack.enter_context(_find_openblas().limit(limits=1, user_api="blas"))
            self._user_count += 1

    def release(self) -> None:
        with self._lock:
            self._user_count -= 1
            if self._user_count == 0:
                self._restore_stack.close()


_BLAS_LIMIT = _SharedBlasLimit()


@contextlib.contextmanager
def limit_blas_threads() -> Iterator[None]:
    """Run the block with one OpenBLAS thread."""
    _BLAS_LIMIT.acquire()
    try:
        yield
    finally:
        _BLAS_LIMIT.release()


def choose_factor_threads() -> int:
    """Threads for a sparse factorisation: $CAJOLE_THREADS, else the cores this process may use, four at most."""
    chosen = os.environ.get("CAJOLE_THREADS", "")
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return min(cores, MAX_FACTOR_THREADS)


@functools.cache
def _find_openblas() -> ThreadpoolController:
    # MKL is left out: changing its thread count between the phases of PARDISO crashes the process.
    import scipy.linalg  # noqa: F401  its OpenBLAS must be loaded to be found

    return ThreadpoolController().select(internal_api="openblas")
