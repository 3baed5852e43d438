"""One task, wherever it runs: on one thread, and with an answer whatever happens."""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
import traceback
from collections.abc import Callable
from typing import Any

from cajole.errors import InputError, SolveError
from cajole.linalg import blas_threads

# a result, or the exception instead of one
Answer = tuple[Any, BaseException | None]

# Seconds to wait for a result before `progress` is asked again whether to go on.
PATIENCE = 0.1
# Items given out from the one awaited on, per worker: a slow item then idles no one, and few results wait their turn.
AHEAD = 4


def answered(function: Callable[[Any], Any], item: Any) -> Answer:
    """function(item), or the exception that it raised."""
    try:
        with one_thread:
            return function(item), None
    except Exception as error:
        return None, error


def answered_afar(function: Callable[[Any], Any], item: Any) -> Answer:
    """As `answered`, in a worker: the exception can travel, and a note tells where it was raised."""
    value, error = answered(function, item)
    if error is None:
        return value, None
    place = "".join(traceback.format_exception(error))
    try:
        error = pickle.loads(pickle.dumps(error))
    except Exception:  # many exceptions cannot be made again from their arguments
        error = SolveError(f"{type(error).__name__}: {error}")
    assert error is not None
    error.add_note(place)
    return None, error


def pickled(value: Any, name: str) -> bytes:
    """`value` as bytes for another process."""
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as reason:  # pickling runs code of the value's own
        raise InputError(
            f"{name} cannot be sent to another process ({reason}); define functions and classes at the top of a "
            "module, or leave cluster=None"
        ) from None


class _OneThread:
    """BLAS and the sparse solver of this process on one thread while any task runs in it, in whatever thread.

    Not for speed alone: sums are added in an order that depends on the number of threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._running += 1
            if self._running == 1:
                self._undo.enter_context(blas_threads())
                self._undo.callback(_set_threads, os.environ.get("CAJOLE_THREADS"))
                _set_threads("1")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running -= 1
            if self._running == 0:
                self._undo.close()


def _set_threads(value: str | None) -> None:
    if value is None:
        os.environ.pop("CAJOLE_THREADS", None)
    else:
        os.environ["CAJOLE_THREADS"] = value


one_thread = _OneThread()
