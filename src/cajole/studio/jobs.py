"""Long work on the solver's thread: it is shown, stopped and cancelled from outside, and frames go on being sent."""

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

# [s] between two words about one job
UPDATE_INTERVAL = 0.05


class JobTracker:
    """At most one job at a time; `say` sends a message to every tab, `serve` makes a frame that a tab waits for."""

    def __init__(self, broadcast: Callable[[ServerMessage], None], send_frame: Callable[[], bool]):
        self._broadcast, self._send_frame = broadcast, send_frame
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._current: JobMessage | None = None
        self._last_update = 0.0
        self._requested_action: str | None = None

    @property
    def has_stop_request(self) -> bool:
        """Whether the author wants what the present work has so far."""
        return self._requested_action == "stop"

    @property
    def current(self) -> JobMessage | None:
        """The running job."""
        return self._current

    def begin(self, title: str, *, stoppable: bool = False) -> ProgressCallback:
        """Announce work; the callback returns False once it is cancelled or stopped."""
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
        """The present work is over: "done", "failed" or "cancelled"; nothing when there is none."""
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
        """The present work ended by an error."""
        self.end("cancelled" if isinstance(error, Cancelled) else "failed", error)

    def request_action(self, action: Literal["cancel", "stop"], job: str) -> bool:
        """ "cancel" or "stop" the job of that name; False when there is none such. From any thread, at once."""
        with self._lock:
            if self._current is None or self._current.job != job:
                return False
            if action == "cancel" or self._current.stoppable:
                self._requested_action = action
            return True

    def cancel(self) -> None:
        """Cancel whatever is under way."""
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
