"""Local processes of our own, each with a pipe.

The standard pool breaks as a whole when one process dies, does not tell which item it had, and cannot stop a task.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import pickle
import signal
from collections import Counter, deque
from multiprocessing import connection
from typing import Any

from cajole.cluster.tasks import AHEAD, PATIENCE, Answer, answered, answered_afar, one_thread, pickled
from cajole.errors import SolveError

# An item may lose this many workers; one more is the item's fault. Dask's own limit is the same.
MOST_DEATHS = 3
# Seconds that a process has to end by itself before it is killed.
FAREWELL = 5.0
_DEADLY = (
    "its process died {} times, the last with exit code {}. Too little memory, or a crash: try it alone with "
    'cluster=None. If every item fails so, the script that runs this lacks `if __name__ == "__main__":`'
)


class Processes:
    """At most `count` processes, each given the pickled `function` once; they end with `close`."""

    def __init__(self, function: bytes, count: int):
        self.ahead = AHEAD * count
        self._function, self._count = function, count
        self._items: dict[int, bytes] = {}
        self._queue: deque[int] = deque()
        self._deaths: Counter[int] = Counter()
        self._processes: list[_Process] = []

    def submit(self, index: int, item: Any) -> None:
        self._items[index] = pickled(item, f"item {index}")
        self._queue.append(index)

    def collect(self) -> dict[int, Answer]:
        self._give_out()
        busy = [process for process in self._processes if process.item is not None]
        ready = connection.wait([place for process in busy for place in process.signs], PATIENCE)
        found: dict[int, Answer] = {}
        for process in busy:
            if any(place in ready for place in process.signs):
                found |= self._taken(process)
        return found

    def close(self) -> None:
        for process in self._processes:
            process.end()
        for process in self._processes:
            process.bury()

    def _give_out(self) -> None:
        idle = [process for process in self._processes if process.item is None]
        while self._queue and (idle or len(self._processes) < self._count):
            if not idle:
                idle = [_Process(self._function)]
                self._processes += idle
            index = self._queue.popleft()
            idle.pop().give(index, self._items[index])

    def _taken(self, process: _Process) -> dict[int, Answer]:
        """What `process` found; if it died, its item goes back to the head of the queue."""
        assert process.item is not None
        index, process.item = process.item, None
        answer = process.answer()
        if answer is None:
            self._processes.remove(process)
            code = process.bury()
            self._deaths[index] += 1
            if self._deaths[index] <= MOST_DEATHS:
                self._queue.appendleft(index)
                return {}
            answer = None, SolveError(_DEADLY.format(self._deaths[index], code))
        del self._items[index]
        return {index: answer}


class _Process:
    """One worker; item: the number of the one it works on; signs: where its answer, or its end, is noticed."""

    def __init__(self, function: bytes):
        context = multiprocessing.get_context("spawn")
        self.item: int | None = None
        self._pipe, theirs = context.Pipe()
        # a daemon ends with its parent, and one whose parent was killed finds its pipe closed
        self._process = context.Process(target=_serve, args=(theirs, function), daemon=True)
        self._process.start()
        theirs.close()
        self.signs: tuple[Any, ...] = (self._pipe, self._process.sentinel)

    def give(self, index: int, item: bytes) -> None:
        self.item = index
        with contextlib.suppress(OSError):  # it has just died, which `answer` will find
            self._pipe.send_bytes(item)

    def answer(self) -> Answer | None:
        """What it sent, None if it died instead."""
        try:
            sent = self._pipe.recv_bytes() if self._pipe.poll() else None
        except (EOFError, OSError):
            return None
        if sent is None:
            return None
        answer, unread = answered(pickle.loads, sent)
        return (None, unread) if unread else answer

    def end(self) -> None:
        """An idle one ends by itself when its pipe closes; a busy one is stopped."""
        self._pipe.close()
        if self.item is not None:
            self._process.terminate()

    def bury(self) -> int | None:
        """Wait for its end; its exit code."""
        self._pipe.close()
        self._process.join(FAREWELL)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        return self._process.exitcode


def _serve(pipe: connection.Connection, function: bytes) -> None:
    # an interrupt goes to the parent, which ends its workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # loaded within a task, so that a function that cannot be is an answer and not a death
    load = functools.cache(lambda: pickle.loads(function))
    with one_thread, contextlib.suppress(EOFError, OSError):
        while True:
            answer = answered_afar(lambda item: load()(pickle.loads(item)), pipe.recv_bytes())
            pipe.send_bytes(_sendable(answer))


def _sendable(answer: Answer) -> bytes:
    try:
        return pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as reason:  # pickling runs code of the value's own
        return pickle.dumps((None, SolveError(f"its result cannot be sent back ({reason})")))
