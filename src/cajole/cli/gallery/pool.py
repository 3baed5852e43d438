"""Items made side by side in processes of their own; what they do is told, and a dead one is noticed."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cajole.errors import CajoleError, SolveError
from cajole.progress import Progress

# how long [s] to wait for a word before looking whether all workers live
PATIENCE = 0.2
Told = Callable[[str, float, str], None]


def make_all(names: Sequence[str], folder: Path, workers: int, told: Told) -> dict[str, dict[str, Any]]:
    """Entries by name. `told(name, fraction, text)` is called as work goes on. Raises SolveError when an item fails."""
    context = multiprocessing.get_context("spawn")
    words, work = context.Queue(), context.Queue()
    for name in [*names, *[None] * workers]:
        work.put(name)
    # daemons end with the parent, whatever ends it
    processes = [context.Process(target=_worker, args=(work, words, folder), daemon=True) for _ in range(workers)]
    try:
        for process in processes:
            process.start()
        return _listened(words, len(names), processes, told)
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _listened(words: Any, count: int, processes: Sequence[Any], told: Told) -> dict[str, dict[str, Any]]:
    entries: dict[str, dict[str, Any]] = {}
    while len(entries) < count:
        try:
            name, fraction, content = words.get(timeout=PATIENCE)
        except queue.Empty:
            _require_alive(processes)
            continue
        if fraction is None:
            raise SolveError(f"{name}: {content}")
        if isinstance(content, dict):
            entries[name] = content
            content = "done"
        told(name, fraction, content)
    return entries


def _require_alive(processes: Sequence[Any]) -> None:
    for process in processes:
        if process.exitcode not in (None, 0):
            raise SolveError(
                f"a worker died with exit code {process.exitcode}, perhaps for want of memory; try --workers 1"
            )


def _worker(work: Any, words: Any, folder: Path) -> None:
    # an interrupt goes to the parent, which ends the workers and removes what they left
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # the processes are the parallelism: threads on top of them only get in each other's way
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "CAJOLE_THREADS": "1"}
    for name in iter(work.get, None):
        try:
            from cajole.cli.gallery.files import produce

            words.put((name, 1.0, produce(name, folder, _teller(words, name))))
        except CajoleError as error:
            words.put((name, None, str(error)))
        except Exception:
            words.put((name, None, traceback.format_exc()))


def _teller(words: Any, name: str) -> Progress:
    return lambda fraction, text: words.put((name, fraction, text))
