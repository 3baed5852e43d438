"""Jobs: long work on the solver thread, with progress, stop and cancel, and frames in between."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Literal

from msgspec import UNSET
from msgspec.structs import replace

from cajole.errors import Cancelled
from cajole.progress import ProgressCallback
from cajole.studio.messages import JobMessage
from cajole.studio.protocol import ServerMessage, build_error

# [s] between two progress messages of one job
UPDATE_INTERVAL = 0.05


class JobTracker:
    """The current job; `broadcast` sends a message to every page, `send_frame` computes one requested frame."""

    def __init__(self, broadcast: Callable[[ServerMessage], None], send_frame: Callable[[], bool]):
        self._broadcast, self._send_frame = broadcast, send_frame
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._current: JobMessage | None = None
        self._last_update = 0.0
        self._requested_action: str | None = None

    @property
    def has_stop_request(self) -> bool:
        """True if the user stopped the job and wants what it has so far."""
        return self._requested_action == "stop"

    @property
    def current(self) -> JobMessage | None:
        """The running job."""
        return self._current

    def begin(self, title: str, *, stoppable: bool = False) -> ProgressCallback:
        """Start a job; the progress callback returns False once it is cancelled or stopped."""
        self.end("done")
        with self._lock:
            self._requested_action = None
            job = f"job-{next(self._ids)}"
            self._current = JobMessage(
                job=job, title=title, fraction=None, text="", state="running", stoppable=stoppable
            )
        self._broadcast_current()
        return self._on_progress

    def end(self, state: Literal["done", "failed", "cancelled"], error: BaseException | None = None) -> None:
        """End the current job, if there is one."""
        with self._lock:
            if self._current is None:
                return
            job, self._current = self._current, None
        failure = build_error(error) if error is not None and state == "failed" else None
        self._broadcast(
            replace(
                job,
                state=state,
                fraction=1.0 if state == "done" else job.fraction,
                reason=UNSET if failure is None else failure.text,
                remedy=UNSET if failure is None else failure.remedy,
            )
        )

    def end_with_error(self, error: BaseException) -> None:
        """End the current job by an error."""
        self.end("cancelled" if isinstance(error, Cancelled) else "failed", error)

    def request_action(self, action: Literal["cancel", "stop"], job: str) -> bool:
        """Cancel or stop the job of that id; False if it is not running. Called from any thread."""
        with self._lock:
            if self._current is None or self._current.job != job:
                return False
            if action == "cancel" or self._current.stoppable:
                self._requested_action = action
            return True

    def cancel(self) -> None:
        """Cancel the current job."""
        with self._lock:
            if self._current is not None:
                self._requested_action = "cancel"

    def _on_progress(self, fraction: float, text: str) -> bool:
        with self._lock:
            if self._current is not None:
                self._current = replace(self._current, fraction=fraction, text=text)
        if time.monotonic() - self._last_update >= UPDATE_INTERVAL:
            self._broadcast_current()
        self._send_frame()
        return self._requested_action is None

    def _broadcast_current(self) -> None:
        self._last_update = time.monotonic()
        told = self.current
        if told is not None:
            self._broadcast(told)
