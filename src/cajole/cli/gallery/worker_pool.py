"""Parallel processes that build the cards of the demo. Each limits its threads before it imports numerical packages."""

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


def build_cards(
    names: Sequence[str], folder: Path, workers: int, report_progress: Callable[[str, float, str], None]
) -> dict[str, dict[str, Any]]:
    """Descriptions of the cards by name; their files are written into `folder`.

    report_progress: called as (name, fraction, text). Raises SolveError when a card fails or a worker dies.
    """
    context = multiprocessing.get_context("spawn")
    messages, tasks = context.Queue(), context.Queue()
    for name in [*names, *[None] * workers]:
        tasks.put(name)
    # daemons end with this process, however it ends
    processes = [
        context.Process(target=_run_worker, args=(tasks, messages, folder), daemon=True) for _ in range(workers)
    ]
    try:
        for process in processes:
            process.start()
        entries: dict[str, dict[str, Any]] = {}
        while len(entries) < len(names):
            try:
                name, fraction, content = messages.get(timeout=0.2)  # [s], then look for dead workers
            except queue.Empty:
                _require_alive(processes)
                continue
            if fraction is None:
                raise SolveError(f"{name}: {content}")
            if isinstance(content, dict):
                entries[name] = content
            report_progress(name, fraction, "done" if isinstance(content, dict) else content)
        return entries
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _require_alive(processes: Sequence[Any]) -> None:
    for process in processes:
        if process.exitcode not in (None, 0):
            raise SolveError(
                f"a worker died with exit code {process.exitcode}, perhaps for want of memory; try --workers 1"
            )


def _run_worker(tasks: Any, messages: Any, folder: Path) -> None:
    # Ctrl-C goes to the parent, which ends the workers and removes their files
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # one thread per process: the processes use all cores already
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "CAJOLE_THREADS": "1"}
    for name in iter(tasks.get, None):
        try:
            from cajole.cli.gallery.cards import write_card_files

            def report_progress(fraction: float, text: str, name: str = name) -> None:
                messages.put((name, fraction, text))

            messages.put((name, 1.0, write_card_files(name, folder, report_progress)))
        except CajoleError as error:
            messages.put((name, None, str(error)))
        except Exception:
            messages.put((name, None, traceback.format_exc()))
