"""The studio as a process of its own, as a person starts it."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import job_control
from job_control import JobControl
from waiting import PATIENCE

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/#(\S+)")


def can_fill_disk() -> bool:
    """Whether the system lets a process limit another one, see `StudioProcess.fill_disk`."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        return resource.prlimit(os.getpid(), resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    return False


class StudioProcess:
    """`cajole studio` on a folder of its own, until `stop` or `kill`; jobs: holds its long work."""

    def __init__(self, folder: Path, cache: Path, *, port: int | None = None):
        options = ["--no-browser", "--folder", str(folder)]
        options += [] if port is None else ["--port", str(port)]
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.jobs = folder, JobControl(folder.with_name(f"{folder.name}-jobs"))
        self._log = (folder / f"log-{time.monotonic_ns()}.txt").open("w+b")
        self._process = subprocess.Popen(
            [sys.executable, job_control.__file__, str(self.jobs.folder), "studio", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            # one thread, so that page and server get a core each on a small machine
            env={**os.environ, "CAJOLE_CACHE": str(cache), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        self.address, self.port, self.token = self._started()

    def _started(self) -> tuple[str, int, str]:
        assert self._process.stdout is not None
        said = b""
        end = time.monotonic() + PATIENCE
        while not said.endswith(b"\n"):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))
            more = os.read(self._process.stdout.fileno(), 4096) if ready else b""
            if not more:
                self.kill()
                raise AssertionError(f"the studio did not start; it said:\n{self.errors()}")
            said += more
        found = ADDRESS.fullmatch(said.decode().strip())
        assert found, f"the studio must print its address and nothing else, but printed {said!r}"
        return found[0], int(found[1]), found[2]

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def errors(self) -> str:
        """All that it wrote to its error stream."""
        with open(self._log.name, encoding="utf-8", errors="replace") as log:
            return log.read()

    def fill_disk(self, is_full: bool) -> None:
        """As on a full disk: none of its files may grow, by a limit of the system."""
        import resource

        limit = 0 if is_full else resource.RLIM_INFINITY
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    def kill(self) -> None:
        """As the power fails: nothing is kept that was not kept already."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As Ctrl-C does; whoever does not end then is killed."""
        self._end(signal.SIGINT)

    def _end(self, how: signal.Signals) -> None:
        if self.is_running:
            self._process.send_signal(how)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()
