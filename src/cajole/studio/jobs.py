"""Long work on the solver's thread: it is shown, stopped and cancelled from outside, and frames go on being sent."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from cajole.errors import Cancelled
from cajole.progress import Progress
from cajole.studio.protocol import failure

# [s] between two words about one job
EVERY = 0.05


class Jobs:
    """At most one job at a time; `say` sends a message to every tab, `serve` makes a frame that a tab waits for."""

    def __init__(self, say: Callable[[Mapping[str, Any]], None], serve: Callable[[], bool]):
        self._say, self._serve = say, serve
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._present: dict[str, Any] | None = None
        self._last = 0.0
        self._order: str | None = None

    @property
    def stopped(self) -> bool:
        """Whether the author wants what the present work has so far."""
        return self._order == "stop"

    @property
    def present(self) -> dict[str, Any] | None:
        """The job under way, as it was last told."""
        with self._lock:
            return None if self._present is None else dict(self._present)

    def begin(self, title: str, *, stoppable: bool = False) -> Progress:
        """Announce work; the callback returns False once it is cancelled or stopped."""
        self.end("done")
        with self._lock:
            self._order = None
            job = f"job-{next(self._numbers)}"
            self._present = {"is": "job", "job": job, "title": title, "fraction": None, "text": "", "state": "running"}
            self._present["stoppable"] = stoppable
        self._tell()
        return self._reported

    def end(self, state: str, error: BaseException | None = None) -> None:
        """The present work is over: "done", "failed" or "cancelled"; nothing when there is none."""
        with self._lock:
            if self._present is None:
                return
            told = self._present | {"state": state}
            self._present = None
        if state == "done":
            told["fraction"] = 1.0
        if error is not None and state == "failed":
            said = failure(error)
            told |= {"reason": said["text"]} | ({"remedy": said["remedy"]} if "remedy" in said else {})
        self._say(told)

    def end_with(self, error: BaseException) -> None:
        """The present work ended by an error."""
        self.end("cancelled" if isinstance(error, Cancelled) else "failed", error)

    def order(self, what: str, job: object) -> bool:
        """ "cancel" or "stop" the job of that name; False when there is none such. From any thread, at once."""
        with self._lock:
            if self._present is None or self._present["job"] != job:
                return False
            if what == "cancel" or self._present["stoppable"]:
                self._order = what
            return True

    def cancel(self) -> None:
        """Cancel whatever is under way."""
        with self._lock:
            if self._present is not None:
                self._order = "cancel"

    def _reported(self, fraction: float, text: str) -> bool:
        with self._lock:
            if self._present is not None:
                self._present |= {"fraction": fraction, "text": text}
        if time.monotonic() - self._last >= EVERY:
            self._tell()
        self._serve()
        return self._order is None

    def _tell(self) -> None:
        self._last = time.monotonic()
        told = self.present
        if told is not None:
            self._say(told)
