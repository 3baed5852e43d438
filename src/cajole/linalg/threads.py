"""How many threads the numerical libraries use, decided here and nowhere else.

Small dense work is fastest on one BLAS thread, and two threads on a busy machine can be ten times slower, so Cajole
limits OpenBLAS around its own loops and leaves the user's environment alone.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator

from threadpoolctl import ThreadpoolController

# More threads than this gave nothing on factorisations of the sizes Cajole meets.
MOST_FACTOR_THREADS = 4


@contextlib.contextmanager
def blas_threads(limit: int = 1) -> Iterator[None]:
    """Run the block with at most `limit` OpenBLAS threads."""
    with _openblas().limit(limits=limit, user_api="blas"):
        yield


def factor_threads() -> int:
    """Threads for a sparse factorisation: $CAJOLE_THREADS, else the cores this process may use, four at most."""
    chosen = os.environ.get("CAJOLE_THREADS", "")
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return min(cores, MOST_FACTOR_THREADS)


@functools.cache
def _openblas() -> ThreadpoolController:
    # MKL is left out: changing its thread count between the phases of PARDISO crashes the process.
    import scipy.linalg  # noqa: F401  its OpenBLAS must be loaded to be found

    return ThreadpoolController().select(internal_api="openblas")
