"""The thread on which one open project is solved, and its command queue."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

from cajole.errors import InputError
from cajole.studio.protocol import Answer, Command, ServerMessage

# [s] after its last command, a gesture counts as resting
INPUT_TIMEOUT = 0.15
# [s] without a frame after which one is computed even during a gesture
MAX_FRAME_INTERVAL = 0.2
# the share of a new measurement in a running mean
SMOOTHING = 0.3


class FrameScheduler:
    """Predicts the next command of a gesture, and tells if a frame can be computed before it."""

    def __init__(self) -> None:
        self._last_input = self._last_frame = float("-inf")
        self._input_period = self._frame_duration = 0.0

    def record_input(self, time: float) -> None:
        """Record the time [s] of a command of a gesture."""
        since = time - self._last_input
        if since < INPUT_TIMEOUT:
            self._input_period += (SMOOTHING if self._input_period else 1.0) * (since - self._input_period)
        self._last_input = time

    def record_frame(self, begin: float, end: float) -> None:
        """Record the begin and end [s] of the computation of a frame."""
        self._frame_duration += (SMOOTHING if self._frame_duration else 1.0) * (end - begin - self._frame_duration)
        self._last_frame = end

    def get_frame_delay(self, now: float) -> float:
        """Seconds until a frame may be computed, 0 for now."""
        if (
            now - self._last_input >= INPUT_TIMEOUT
            or now + self._frame_duration <= self._last_input + self._input_period
        ):
            return 0.0
        return max(0.0, min(self._last_input + INPUT_TIMEOUT, self._last_frame + MAX_FRAME_INTERVAL) - now)


LOG = logging.getLogger("cajole.studio")
# more than any page has in flight
MAX_QUEUED_COMMANDS = 1000
# [s] between two states while commands keep coming
FLUSH_INTERVAL = 0.1

Reply = Callable[[ServerMessage], None]


@dataclass(frozen=True, eq=False)
class QueuedCommand:
    """A command, and the function that sends messages to the page that it came from."""

    command: Command
    reply: Reply


class CommandQueue:
    """Commands in order. A newer command of the same stream replaces one that waits, unless another came in between:
    the last move before a commit is executed before the commit."""

    def __init__(self) -> None:
        self._commands: list[QueuedCommand] = []
        self._coalescable: dict[Hashable, QueuedCommand] = {}
        self._changed = threading.Condition()
        self._is_woken = self._is_closed = False

    def __len__(self) -> int:
        return len(self._commands)

    def put(self, new: QueuedCommand) -> QueuedCommand | None:
        """Add a command; return the one that it replaces, if any. Raises InputError if too many wait."""
        with self._changed:
            if len(self._commands) >= MAX_QUEUED_COMMANDS:
                raise InputError("the studio is behind with its work; wait until it has caught up, or cancel the job")
            key = new.command.coalescing_key
            old = None if key is None else self._coalescable.pop(key, None)
            if old is not None:
                self._commands.remove(old)
            if key is None:
                self._coalescable.clear()
            else:
                self._coalescable[key] = new
            self._commands.append(new)
            self._changed.notify()
            return old

    def get(self, timeout: float | None) -> QueuedCommand | None:
        """The next command; None after `timeout` seconds (None: no limit), and when woken or closed."""
        with self._changed:
            if not self._commands and not self._is_woken and not self._is_closed:
                self._changed.wait(timeout)
            self._is_woken = False
            if not self._commands:
                return None
            found = self._commands.pop(0)
            key = found.command.coalescing_key
            if key is not None and self._coalescable.get(key) is found:
                del self._coalescable[key]
            return found

    def wake(self) -> None:
        """Wake the waiting thread without a command."""
        with self._changed:
            self._is_woken = True
            self._changed.notify()

    def close(self) -> None:
        """Accept no more commands; those in the queue are still executed."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    @property
    def is_closed(self) -> bool:
        return self._is_closed


class SolverDelegate(Protocol):
    """Methods that the solver thread calls, all on that thread. An exception of one is logged as a bug."""

    def begin(self) -> None:
        """Start; called first."""

    def handle(self, command: QueuedCommand) -> None:
        """Execute a command and answer it."""

    def send_updates(self) -> None:
        """Send changed state and frames."""

    def send_requested_frame(self) -> bool:
        """Compute one requested frame; False if there is none."""

    def get_tick_delay(self) -> float | None:
        """Seconds until `tick` is due; None for never."""

    def tick(self) -> None:
        """Continue work that needs no command."""

    def end(self) -> None:
        """Finish; called last."""


class SolverThread:
    """A thread that executes commands first, then computes requested frames, and ticks when it is due."""

    def __init__(self, delegate: SolverDelegate, name: str):
        self._delegate, self._queue = delegate, CommandQueue()
        self._thread = threading.Thread(target=self._run, name=f"cajole-{name}", daemon=True)
        self._last_flush, self._frame_scheduler = 0.0, FrameScheduler()

    def start(self) -> None:
        self._thread.start()

    def post(self, command: Command, reply: Reply) -> None:
        """Queue a command; one that it replaces is answered as overtaken. Raises InputError when too many wait."""
        old = self._queue.put(QueuedCommand(command, reply))
        if command.coalescing_key is not None:
            self._frame_scheduler.record_input(time.monotonic())
        if old is not None:
            old.reply(Answer(id=old.command.id, overtaken=True))

    def wake(self) -> None:
        """Check for requested frames."""
        self._queue.wake()

    def close(self, *, timeout: float | None = None) -> bool:
        """Execute the queued commands, then end; False if that takes longer than `timeout` [s]."""
        self._queue.close()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        self._call_safely(self._delegate.begin)
        more = True  # send the first state before waiting
        while len(self._queue) or not self._queue.is_closed:
            found = self._queue.get(self._get_wait_timeout(more))
            if found is not None:
                self._call_safely(lambda new=found: self._delegate.handle(new))  # type: ignore[misc]
            due = self._delegate.get_tick_delay()
            if due is not None and due <= 0.0:
                self._call_safely(self._delegate.tick)
            if not len(self._queue):
                more = self._run_idle_work()
                continue
            more = True
            if time.monotonic() - self._last_flush >= FLUSH_INTERVAL:
                self._call_safely(self._delegate.send_updates)
                self._last_flush = time.monotonic()
        self._call_safely(self._delegate.end)

    def _get_wait_timeout(self, has_pending_frames: bool) -> float | None:
        """Seconds to wait for a command; None: no limit."""
        if not has_pending_frames:
            return self._delegate.get_tick_delay()
        rest = self._frame_scheduler.get_frame_delay(time.monotonic())
        due = self._delegate.get_tick_delay()
        return rest if due is None else min(rest, max(0.0, due))

    def _run_idle_work(self) -> bool:
        """Send updates and compute a frame while no command waits; True if there may be more frames."""
        self._call_safely(self._delegate.send_updates)
        self._last_flush = begin = time.monotonic()
        if self._frame_scheduler.get_frame_delay(begin):
            return True
        made = bool(self._call_safely(self._delegate.send_requested_frame))
        if made:
            self._frame_scheduler.record_frame(begin, time.monotonic())
        return made

    def _call_safely(self, action: Callable[[], Any]) -> Any:
        """Log an exception instead of ending the thread, which would leave the project dead."""
        try:
            return action()
        except Exception:
            LOG.exception("unhandled exception in the solver thread (continuing)")
            return None
