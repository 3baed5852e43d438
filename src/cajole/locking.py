"""Methods that threads call one at a time: each object has a lock, held while such a method runs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class Lockable(Protocol):
    """An object with a lock of its own; methods that call each other need a reentrant one."""

    lock: threading.RLock


Owner = TypeVar("Owner", bound=Lockable)
Given = ParamSpec("Given")
Result = TypeVar("Result")


def synchronized(method: Callable[Concatenate[Owner, Given], Result]) -> Callable[Concatenate[Owner, Given], Result]:
    """Hold `self.lock` while the method runs, so that threads take turns."""

    @functools.wraps(method)
    def locked(self: Owner, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        with self.lock:
            return method(self, *args, **kwargs)

    return locked
