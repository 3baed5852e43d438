"""Calls from several threads at once, for the tests of thread safety."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from waiting import PATIENCE

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


class _AnnouncedLock:
    """A lock that calls `announce` before it is acquired."""

    def __init__(self, lock: AbstractContextManager[Any], announce: Callable[[], None]):
        self._lock, self._announce = lock, announce

    def __enter__(self) -> None:
        self._announce()
        self._lock.__enter__()

    def __exit__(self, *reason: Any) -> None:
        self._lock.__exit__(*reason)


def take_turns(thing: Any, part: Any, name: str, first: Callable[[], Any], second: Callable[[], Any]) -> bool:
    """Whether the call `second` waits for the call `first`, each in a thread of its own.

    `first` is held inside of `part.name`, which it calls, until `second` has ended or waits for the lock of `thing`. So
    the answer does not depend on how the system switches between threads. Raises what the calls raise.
    """
    inside, arrived, second_ended = threading.Event(), threading.Event(), threading.Event()
    waited: list[bool] = []
    original = getattr(part, name)

    def held(*arguments: Any, **options: Any) -> Any:
        if not inside.is_set():
            inside.set()
            assert arrived.wait(PATIENCE)
            waited.append(not second_ended.is_set())
        return original(*arguments, **options)

    def follow() -> None:
        assert inside.wait(PATIENCE)
        try:
            second()
        finally:
            second_ended.set()
            arrived.set()

    setattr(part, name, held)
    # before the first call is held, it takes the lock itself
    thing.lock = _AnnouncedLock(
        getattr(thing, "lock", contextlib.nullcontext()), lambda: arrived.set() if inside.is_set() else None
    )
    with ThreadPoolExecutor(2) as pool:
        for call in [pool.submit(first), pool.submit(follow)]:
            call.result()
    return waited == [True]
