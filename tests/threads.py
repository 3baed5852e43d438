"""Calls from several threads at once, for the tests of thread safety."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")

THREADS = 4


def run_together(task: Callable[[int], Result], *, threads: int = THREADS) -> list[Result]:
    """Results of `task(0)` ... `task(threads - 1)`, each in a thread of its own; all begin together."""
    barrier = threading.Barrier(threads)

    def begin(index: int) -> Result:
        barrier.wait()
        return task(index)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(begin, range(threads)))
