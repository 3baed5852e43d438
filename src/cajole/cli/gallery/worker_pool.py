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
from cajole.progress import ProgressCallback

# how long [s] to wait for a word before looking whether all workers live
POLL_INTERVAL = 0.2
CardProgress = Callable[[str, float, str], None]


def build_cards(
    names: Sequence[str], folder: Path, workers: int, report_progress: CardProgress
) -> dict[str, dict[str, Any]]:
    """Entries by name. `told(name, fraction, text)` is called as work goes on. Raises SolveError when an item fails."""
    context = multiprocessing.get_context("spawn")
    words, work = context.Queue(), context.Queue()
    for name in [*names, *[None] * workers]:
        work.put(name)
    # daemons end with the parent, whatever ends it
    processes = [context.Process(target=_run_worker, args=(work, words, folder), daemon=True) for _ in range(workers)]
    try:
        for process in processes:
            process.start()
        return _collect_results(words, len(names), processes, report_progress)
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _collect_results(
    messages: Any, count: int, processes: Sequence[Any], report_progress: CardProgress
) -> dict[str, dict[str, Any]]:
    entries: dict[str, dict[str, Any]] = {}
    while len(entries) < count:
        try:
            name, fraction, content = messages.get(timeout=POLL_INTERVAL)
        except queue.Empty:
            _require_alive(processes)
            continue
        if fraction is None:
            raise SolveError(f"{name}: {content}")
        if isinstance(content, dict):
            entries[name] = content
            content = "done"
        report_progress(name, fraction, content)
    return entries


def _require_alive(processes: Sequence[Any]) -> None:
    for process in processes:
        if process.exitcode not in (None, 0):
            raise SolveError(
                f"a worker died with exit code {process.exitcode}, perhaps for want of memory; try --workers 1"
            )


def _run_worker(tasks: Any, messages: Any, folder: Path) -> None:
    # an interrupt goes to the parent, which ends the workers and removes what they left
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # the processes are the parallelism: threads on top of them only get in each other's way
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "CAJOLE_THREADS": "1"}
    for name in iter(tasks.get, None):
        try:
            from cajole.cli.gallery.registry import write_card_files

            messages.put((name, 1.0, write_card_files(name, folder, _build_progress(messages, name))))
        except CajoleError as error:
            messages.put((name, None, str(error)))
        except Exception:
            messages.put((name, None, traceback.format_exc()))


def _build_progress(messages: Any, name: str) -> ProgressCallback:
    return lambda fraction, text: messages.put((name, fraction, text))
