"""The thread that one open project is solved on, and its mailbox."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

from cajole.errors import InputError
from cajole.studio.protocol import Answer, Command, ServerMessage

# a hand moves as long as its last letter is this young [s]
INPUT_TIMEOUT = 0.15
# after so long without a frame [s] one is made, whether it fits or not
MAX_FRAME_INTERVAL = 0.2
# the share of a new measurement in a running mean
SMOOTHING = 0.3


class FrameScheduler:
    """When a hand's next letter comes, and whether a frame can be made before."""

    def __init__(self) -> None:
        self._last_input = self._last_frame = float("-inf")
        self._input_period = self._frame_duration = 0.0

    def record_input(self, time: float) -> None:
        """A letter of a hand came at a time [s]."""
        since = time - self._last_input
        if since < INPUT_TIMEOUT:
            self._input_period += (SMOOTHING if self._input_period else 1.0) * (since - self._input_period)
        self._last_input = time

    def record_frame(self, begin: float, end: float) -> None:
        """A frame was made from one time to the other [s]."""
        self._frame_duration += (SMOOTHING if self._frame_duration else 1.0) * (end - begin - self._frame_duration)
        self._last_frame = end

    def get_frame_delay(self, now: float) -> float:
        """Seconds until a frame may be begun, 0 for at once."""
        if (
            now - self._last_input >= INPUT_TIMEOUT
            or now + self._frame_duration <= self._last_input + self._input_period
        ):
            return 0.0
        return max(0.0, min(self._last_input + INPUT_TIMEOUT, self._last_frame + MAX_FRAME_INTERVAL) - now)


LOG = logging.getLogger("cajole.studio")
# messages that wait: a page never has so many under way
MAX_QUEUED_COMMANDS = 1000
# what is changed is told at least this often [s] while messages keep coming
FLUSH_INTERVAL = 0.1

Reply = Callable[[ServerMessage], None]


@dataclass(frozen=True, eq=False)
class QueuedCommand:
    """A command, and the function that sends messages to the page that it came from."""

    command: Command
    reply: Reply


class CommandQueue:
    """Letters in order. A streamed one gives way to a newer one of its key, unless something else came in between:
    the last move before a commit is made before the commit."""

    def __init__(self) -> None:
        self._commands: list[QueuedCommand] = []
        self._coalescable: dict[Hashable, QueuedCommand] = {}
        self._changed = threading.Condition()
        self._is_woken = self._is_closed = False

    def __len__(self) -> int:
        return len(self._commands)

    def put(self, new: QueuedCommand) -> QueuedCommand | None:
        """Add a letter; the one that it overtook, if any. Raises InputError when too many wait."""
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
        """The next letter; None after `patience` seconds (None: as long as it takes), when rung or closed."""
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
        """Wake whoever waits, though there is no letter."""
        with self._changed:
            self._is_woken = True
            self._changed.notify()

    def close(self) -> None:
        """No more letters will come; those here are still taken."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    @property
    def is_closed(self) -> bool:
        return self._is_closed


class SolverDelegate(Protocol):
    """What the solver drives, all on its own thread; nothing of this may raise but by mistake."""

    def begin(self) -> None:
        """First of all."""

    def handle(self, command: QueuedCommand) -> None:
        """Do what a message says, and answer it."""

    def send_updates(self) -> None:
        """Send what has changed."""

    def send_requested_frame(self) -> bool:
        """Make one frame that someone waits for; whether there was one."""

    def get_tick_delay(self) -> float | None:
        """Seconds until `tick` wants to be called, None when never."""

    def tick(self) -> None:
        """Go on by oneself."""

    def end(self) -> None:
        """Last of all."""


class SolverThread:
    """A thread that handles letters first, then frames that are waited for, and ticks whenever it is time."""

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
        """Someone waits for frames."""
        self._queue.wake()

    def close(self, *, timeout: float | None = None) -> bool:
        """Finish what is in the mailbox, then end; whether it ended within `patience` seconds."""
        self._queue.close()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        self._call_safely(self._delegate.begin)
        more = True  # what was begun is told before anything is waited for
        while len(self._queue) or not self._queue.is_closed:
            found = self._queue.get(self._get_wait_timeout(more))
            if found is not None:
                self._call_safely(lambda new=found: self._delegate.handle(new))  # type: ignore[misc]
            due = self._delegate.get_tick_delay()
            if due is not None and due <= 0.0:
                self._call_safely(self._delegate.tick)
            more = self._run_idle_work() if not len(self._queue) else self._flush_if_due()
        self._call_safely(self._delegate.end)

    def _get_wait_timeout(self, has_pending_frames: bool) -> float | None:
        """Seconds to wait for a letter; None: as long as it takes."""
        if not has_pending_frames:
            return self._delegate.get_tick_delay()
        rest = self._frame_scheduler.get_frame_delay(time.monotonic())
        due = self._delegate.get_tick_delay()
        return rest if due is None else min(rest, max(0.0, due))

    def _run_idle_work(self) -> bool:
        """No letter waits: tell what has changed, make a frame; whether there may be more to make."""
        self._call_safely(self._delegate.send_updates)
        self._last_flush = begin = time.monotonic()
        if self._frame_scheduler.get_frame_delay(begin):
            return True
        made = bool(self._call_safely(self._delegate.send_requested_frame))
        if made:
            self._frame_scheduler.record_frame(begin, time.monotonic())
        return made

    def _flush_if_due(self) -> bool:
        """Letters wait, but nobody shall be left in the dark for long."""
        if time.monotonic() - self._last_flush >= FLUSH_INTERVAL:
            self._call_safely(self._delegate.send_updates)
            self._last_flush = time.monotonic()
        return True

    def _call_safely(self, action: Callable[[], Any]) -> Any:
        """A mistake must not end the thread: the project would be dead, and its author not told why."""
        try:
            return action()
        except Exception:
            LOG.exception("the studio made a mistake and goes on")
            return None
