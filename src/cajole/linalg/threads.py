"""Thread counts of the numerical libraries.

Small dense work is fastest on one BLAS thread, and two threads on a busy machine can be ten times slower, so Cajole
limits OpenBLAS around its own loops and does not change the environment of the user.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator

from threadpoolctl import ThreadpoolController


class _SharedBlasLimit:
    """One OpenBLAS thread for the process while any thread is inside `limit_blas_threads`; blocks may overlap."""

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
    """Threads for a sparse factorisation: $CAJOLE_THREADS, else the cores this process may use, at most 4.

    More than 4 threads gained nothing on factorisations of the sizes in use.
    """
    chosen = os.environ.get("CAJOLE_THREADS", "")
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return min(cores, 4)


@functools.cache
def _find_openblas() -> ThreadpoolController:
    # without MKL: a change of its thread count between the phases of PARDISO crashes the process
    import scipy.linalg  # noqa: F401  its OpenBLAS must be loaded to be found

    return ThreadpoolController().select(internal_api="openblas")
