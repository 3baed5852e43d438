"""One tab's line: what is to be sent to it, what must not be lost and what may be overtaken by newer things.

Filled from the solver's thread, emptied by the connection; all methods may be called from any thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import get_args

from cajole.studio.protocol import ServerMessage, StreamName, encode_message

# NOW frames on the way that the tab has not yet applied
MAX_UNACKNOWLEDGED_FRAMES = 2
# frames of a motion that are made ahead of the line
MAX_QUEUED_FRAMES = 3
# Bytes on the way that the tab has not yet got, beyond which no such frame is sent: a socket takes megabytes at once,
# and the newest NOW would stand behind them.
MAX_IN_FLIGHT_BYTES = 500_000
# A tab that leaves this much lying does not listen any more: it is cut off, and gets everything anew when it is back.
MAX_QUEUED_BYTES = 256_000_000


class Outbox:
    """Texts and meshes in order, none lost; the newest NOW frame, while credit lasts; frames that were asked for."""

    def __init__(self, wake: Callable[[], None] = lambda: None):
        self._wake, self._lock = wake, Lock()
        self._messages: deque[str | bytes] = deque()
        self._queued_bytes = 0
        self._live_frame: tuple[int, bytes] | None = None
        self._unacknowledged: deque[tuple[int, int]] = deque()
        self._frames: deque[bytes] = deque()
        self._in_flight: deque[int] = deque()
        self._requested: dict[StreamName, deque[int]] = {stream: deque() for stream in get_args(StreamName)}
        self.is_closed = False

    def enqueue_message(self, message: ServerMessage) -> None:
        """A text, never dropped."""
        self.enqueue(encode_message(message))

    def enqueue(self, data: str | bytes) -> None:
        """A text or a mesh, never dropped, in order."""
        with self._lock:
            self._messages.append(data)
            self._queued_bytes += len(data)
        self._wake()

    def set_live_frame(self, seq: int, data: bytes) -> None:
        """A NOW frame; one that was not yet sent gives way to it."""
        with self._lock:
            self._live_frame = seq, data
        self._wake()

    def enqueue_frame(self, data: bytes) -> None:
        """A frame that was asked for."""
        with self._lock:
            self._frames.append(data)
        self._wake()

    def acknowledge(self, seq: int) -> None:
        """The tab has applied this NOW frame, and with it all before."""
        with self._lock:
            while self._unacknowledged and self._unacknowledged[0][0] <= seq:
                self._unacknowledged.popleft()
        self._wake()

    def confirm_frame(self) -> None:
        """The tab has got the oldest of the asked-for frames on the way."""
        with self._lock:
            if self._in_flight:  # else of a project that it has left
                self._in_flight.popleft()
        self._wake()

    def request_frames(self, stream: StreamName, frames: Sequence[int]) -> None:
        """These frames of a stream are wanted, nearest first, in place of what was wanted of it before."""
        with self._lock:
            self._requested[stream] = deque(frames)

    def pop_requested_frame(self) -> tuple[StreamName, int] | None:
        """A frame to make: one of each stream in turn; None when none is wanted, or enough are on the way."""
        with self._lock:
            if len(self._frames) >= MAX_QUEUED_FRAMES or self.is_closed:
                return None
            for stream in list(self._requested):
                if self._requested[stream]:
                    # to the end, so that the other streams come first the next time
                    self._requested[stream] = frames = self._requested.pop(stream)
                    return stream, frames.popleft()
        return None

    def pop_next(self) -> str | bytes | None:
        """What to send next: what is in order, then the newest NOW, then frames; None when nothing can be sent."""
        with self._lock:
            if self._messages:
                data = self._messages.popleft()
                self._queued_bytes -= len(data)
                return data
            if self._live_frame is not None and len(self._unacknowledged) < MAX_UNACKNOWLEDGED_FRAMES:
                seq, shown = self._live_frame
                self._live_frame = None
                self._unacknowledged.append((seq, len(shown)))
                return shown
            on_way = sum(self._in_flight) + sum(size for _, size in self._unacknowledged)
            if not self._frames or (on_way and on_way + len(self._frames[0]) > MAX_IN_FLIGHT_BYTES):
                return None
            frame = self._frames.popleft()
            self._in_flight.append(len(frame))
            return frame

    def discard_frames(self) -> None:
        """Another project comes: what is still to be shown of the old one goes, texts stay."""
        with self._lock:
            self._live_frame = None
            self._unacknowledged.clear()
            self._frames.clear()
            self._in_flight.clear()
            for frames in self._requested.values():
                frames.clear()

    @property
    def is_over_limit(self) -> bool:
        """Whether the tab has stopped listening."""
        with self._lock:
            return self._queued_bytes > MAX_QUEUED_BYTES

    def close(self) -> None:
        """The tab is gone."""
        self.is_closed = True
        self._wake()
