"""Synchronised methods: an object has a lock that is held while such a method runs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class Lockable(Protocol):
    """An object with a lock of its own; methods that call each other need a reentrant one."""

    lock: threading.RLock


LockOwner = TypeVar("LockOwner", bound=Lockable)
MethodArguments = ParamSpec("MethodArguments")
MethodResult = TypeVar("MethodResult")


def synchronized(
    method: Callable[Concatenate[LockOwner, MethodArguments], MethodResult],
) -> Callable[Concatenate[LockOwner, MethodArguments], MethodResult]:
    """Hold `self.lock` while the method runs, so that threads take turns."""

    @functools.wraps(method)
    def call_with_lock(
        self: LockOwner, /, *args: MethodArguments.args, **kwargs: MethodArguments.kwargs
    ) -> MethodResult:
        with self.lock:
            return method(self, *args, **kwargs)

    return call_with_lock
