"""Control over long work in tests: hold it at a progress report, or hide how long it takes.

A test that needs work in progress holds it: the work then waits at one of its progress reports until the test releases
it, or until it is stopped, cancelled or interrupted. So the test does not depend on how long the work takes.

With a fast solver (`pytest --fast-solver`), every job of the studio that is not held ends at once as seen from outside:
while it works no message leaves the studio, and orders to stop it find no job. A test that relies on slow work fails
then on every machine.

`JobControl` is the test's side. `install` is the side of the process that works: called in a test's own process, or by
running this file, `python job_control.py FOLDER simulate ...`, which is `cajole simulate ...` under control.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

from cajole.progress import ProgressCallback
from cajole.studio.clients import Outbox
from cajole.studio.jobs import JobTracker
from waiting import PATIENCE, POLL, wait_until

# set by `pytest --fast-solver`, and inherited by the processes that tests start
FAST_SOLVER = "CAJOLE_TEST_FAST_SOLVER"


def is_fast() -> bool:
    """Whether jobs end at once as seen from outside."""
    return os.environ.get(FAST_SOLVER) == "1"


class JobControl:
    """The test's side: requests in a folder that the working process reads."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._request, self._held = folder / "request.json", folder / "held"

    @contextmanager
    def hold(self, title: str, *, report: int = 1, fraction: float = 0.0) -> Iterator[None]:
        """Hold the job of this title until the end of the block.

        It waits at its first progress report of a number of at least `report`, counted from 1, and of at least
        `fraction` of the work.
        """
        temporary = self._request.with_suffix(".part")
        request = {"title": title, "report": report, "fraction": fraction}
        temporary.write_text(json.dumps(request), encoding="utf-8")
        temporary.replace(self._request)
        try:
            yield
        finally:
            self._request.unlink()

    def wait_until_held(self) -> None:
        """Wait until the work has reached the report at which it is held."""
        wait_until(self._held.exists, "holding the job")

    # --- the working process

    def is_requested(self, title: str, report: int, fraction: float) -> bool:
        """Whether the job of this title is to wait at this report."""
        try:
            request = json.loads(self._request.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return False
        return request["title"] == title and report >= request["report"] and fraction >= request["fraction"]

    @contextmanager
    def marked(self) -> Iterator[None]:
        """Work is held in this block, which the test can see."""
        self._held.touch()
        try:
            yield
        finally:
            self._held.unlink()


class Gate:
    """Closed while a job works that is not held, if the solver is fast: then no message leaves the studio."""

    def __init__(self, control: JobControl, *, fast: bool):
        self.control, self._fast = control, fast
        self._lock = threading.Lock()
        self._hidden: set[JobTracker] = set()
        self._waiting: WeakSet[GatedPipe] = WeakSet()

    def hide(self, jobs: JobTracker) -> None:
        """A job begins, or goes on after it was held."""
        if self._fast:
            with self._lock:
                self._hidden.add(jobs)

    def show(self, jobs: JobTracker) -> None:
        """The job has ended, or is held."""
        with self._lock:
            self._hidden.discard(jobs)
            waiting = list(self._waiting)
        for pipe in waiting:
            pipe.wake()

    def hides(self, jobs: JobTracker) -> bool:
        with self._lock:
            return jobs in self._hidden

    def is_closed_for(self, pipe: GatedPipe) -> bool:
        """Whether this pipe must not send now; it is woken when it may."""
        with self._lock:
            self._waiting.add(pipe)
            return bool(self._hidden)


class GatedJobs(JobTracker):
    """Jobs whose progress reports wait while the test holds them."""

    def __init__(self, gate: Gate, say: Callable[..., None], serve: Callable[[], bool]):
        super().__init__(say, serve)
        self._gate = gate

    def begin(self, title: str, *, stoppable: bool = False) -> ProgressCallback:
        super().end("done")
        self._gate.hide(self)
        return self._gated(title, super().begin(title, stoppable=stoppable))

    def end(self, state: str, error: BaseException | None = None) -> None:
        if self.current is not None:  # else `begin` has made sure that there is no other
            super().end(state, error)
            self._gate.show(self)

    def request_action(self, action: str, job: object) -> bool:
        return not self._gate.hides(self) and super().request_action(action, job)

    def _gated(self, title: str, progress: ProgressCallback) -> ProgressCallback:
        count, control = itertools.count(1), self._gate.control

        def report(fraction: float, text: str) -> bool:
            number, go_on = next(count), progress(fraction, text) is not False
            if go_on and control.is_requested(title, number, fraction):
                self._gate.show(self)
                with control.marked():
                    # repeated, because it sends the frames that tabs wait for
                    while go_on and control.is_requested(title, number, fraction):
                        time.sleep(POLL)
                        go_on = progress(fraction, text) is not False
                self._gate.hide(self)
            return go_on

        return report


class GatedPipe(Outbox):
    """A pipe that sends nothing while the gate is closed."""

    def __init__(self, gate: Gate, wake: Callable[[], None] = lambda: None):
        super().__init__(wake)
        self._gate, self.wake = gate, wake

    def pop_next(self) -> str | bytes | None:
        return None if self._gate.is_closed_for(self) else super().pop_next()


def install(control: JobControl, patch: Callable[[Any, str, Any], None] = setattr) -> None:
    """Put the studios of this process under control; patch: sets an attribute, `monkeypatch.setattr` in a test."""
    from cajole.studio import connection, project

    gate = Gate(control, fast=is_fast())
    patch(project, "JobTracker", partial(GatedJobs, gate))
    patch(connection, "Outbox", partial(GatedPipe, gate))
    # tabs are refused that do not greet within seconds; a busy machine needs longer
    patch(connection, "HELLO_TIMEOUT", PATIENCE)


def _install_in_commands(control: JobControl) -> None:
    """Put the progress reports of commands under control, under the title "command"."""
    from cajole.cli import output

    told = contextmanager(output._open_progress_bars)

    def gated(*arguments: Any) -> Iterator[Callable[[str, float, str], None]]:
        count = itertools.count(1)
        with told(*arguments) as tell:

            def report(title: str, fraction: float, text: str) -> None:
                number = next(count)
                tell(title, fraction, text)
                if control.is_requested("command", number, fraction):
                    with control.marked():
                        while control.is_requested("command", number, fraction):
                            time.sleep(POLL)

            yield report

    output._open_progress_bars = gated


def _main() -> None:
    from cajole.cli import main

    control = JobControl(Path(sys.argv.pop(1)))
    if sys.argv[1] == "studio":
        install(control)
    else:
        _install_in_commands(control)
    main()


if __name__ == "__main__":
    _main()
