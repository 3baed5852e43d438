"""The pages that have a project open, and the queue of messages to each of them.

Filled on the solver thread and emptied by the connections; all methods may be called from any thread.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import get_args

from cajole.studio.messages import SeatMessage, StateMessage
from cajole.studio.protocol import ServerMessage, StreamName, encode_message

# live frames in flight that the page has not acknowledged
MAX_UNACKNOWLEDGED_FRAMES = 2
# requested frames that are computed ahead of sending
MAX_QUEUED_FRAMES = 3
# [bytes] in flight above which no requested frame is sent: a socket takes megabytes at once, and the next live frame
# would wait behind them
MAX_IN_FLIGHT_BYTES = 500_000
# [bytes] above which a page is disconnected because it does not read; it gets everything again when it reconnects
MAX_QUEUED_BYTES = 256_000_000


class Outbox:
    """Messages to one page: texts and meshes in order, the newest live frame while credit lasts, requested frames."""

    def __init__(self, wake: Callable[[], None] = lambda: None):
        self._wake, self._lock = wake, threading.Lock()
        self._messages: deque[str | bytes] = deque()
        self._queued_bytes = 0
        self._live_frame: tuple[int, bytes] | None = None
        self._unacknowledged: deque[tuple[int, int]] = deque()
        self._frames: deque[bytes] = deque()
        self._in_flight: deque[int] = deque()
        self._requested: dict[StreamName, deque[int]] = {stream: deque() for stream in get_args(StreamName)}
        self.is_closed = False

    def enqueue_message(self, message: ServerMessage) -> None:
        """Queue a message, which is never dropped."""
        self.enqueue(encode_message(message))

    def enqueue(self, data: str | bytes) -> None:
        """Queue an encoded message, which is never dropped."""
        with self._lock:
            self._messages.append(data)
            self._queued_bytes += len(data)
        self._wake()

    def set_live_frame(self, seq: int, data: bytes) -> None:
        """Queue a live frame in place of one that was not sent yet."""
        with self._lock:
            self._live_frame = seq, data
        self._wake()

    def enqueue_frame(self, data: bytes) -> None:
        """Queue a requested frame."""
        with self._lock:
            self._frames.append(data)
        self._wake()

    def acknowledge(self, seq: int) -> None:
        """Record that the page has drawn a live frame, and with it all before."""
        with self._lock:
            while self._unacknowledged and self._unacknowledged[0][0] <= seq:
                self._unacknowledged.popleft()
        self._wake()

    def confirm_frame(self) -> None:
        """Record that the oldest requested frame in flight has arrived."""
        with self._lock:
            if self._in_flight:  # else it belonged to a project that the page has left
                self._in_flight.popleft()
        self._wake()

    def request_frames(self, stream: StreamName, frames: Sequence[int]) -> None:
        """Replace the requested frames of a stream, nearest first."""
        with self._lock:
            self._requested[stream] = deque(frames)

    def pop_requested_frame(self) -> tuple[StreamName, int] | None:
        """The next frame to compute, of each stream in turn; None if none is requested or enough are queued."""
        with self._lock:
            if len(self._frames) >= MAX_QUEUED_FRAMES or self.is_closed:
                return None
            for stream in list(self._requested):
                if self._requested[stream]:
                    # moved to the end, so that the other streams come first the next time
                    self._requested[stream] = frames = self._requested.pop(stream)
                    return stream, frames.popleft()
        return None

    def pop_next(self) -> str | bytes | None:
        """The next data to send: messages, then the live frame, then requested frames; None if nothing can be sent."""
        with self._lock:
            if self._messages:
                data = self._messages.popleft()
                self._queued_bytes -= len(data)
                return data
            if self._live_frame is not None and len(self._unacknowledged) < MAX_UNACKNOWLEDGED_FRAMES:
                seq, live = self._live_frame
                self._live_frame = None
                self._unacknowledged.append((seq, len(live)))
                return live
            in_flight = sum(self._in_flight) + sum(size for _, size in self._unacknowledged)
            if not self._frames or (in_flight and in_flight + len(self._frames[0]) > MAX_IN_FLIGHT_BYTES):
                return None
            frame = self._frames.popleft()
            self._in_flight.append(len(frame))
            return frame

    def discard_frames(self) -> None:
        """Drop all frames of a project that the page leaves; messages stay."""
        with self._lock:
            self._live_frame = None
            self._unacknowledged.clear()
            self._frames.clear()
            self._in_flight.clear()
            for frames in self._requested.values():
                frames.clear()

    @property
    def is_over_limit(self) -> bool:
        """True if the page does not read its messages."""
        with self._lock:
            return self._queued_bytes > MAX_QUEUED_BYTES

    def close(self) -> None:
        """The page has disconnected."""
        self.is_closed = True
        self._wake()


class ClientGroup:
    """The pages of one project in the order in which they came; one of them may change it."""

    def __init__(self) -> None:
        self._outboxes: list[Outbox] = []
        self._writer: Outbox | None = None
        self._lock = threading.RLock()
        # sent to pages that come later
        self._project_messages: Sequence[str | bytes] = ()
        self._region_messages: Sequence[bytes] = ()
        self._state_text: str | None = None
        self._live_frame: tuple[int, bytes] | None = None
        self._seq = itertools.count(1)
        self.last_left_at = time.monotonic()

    def __len__(self) -> int:
        return len(self._outboxes)

    def add(self, outbox: Outbox, *, first_message: ServerMessage | None = None) -> None:
        """Add a page and send it everything that it needs; first_message: for example the running job."""
        with self._lock:
            outbox.discard_frames()
            self._outboxes.append(outbox)
            self._writer = self._writer or outbox
            outbox.enqueue_message(SeatMessage(pilot=self._writer is outbox))
            if first_message is not None:
                outbox.enqueue_message(first_message)
            self._send_current(outbox)

    def remove(self, outbox: Outbox) -> None:
        """Remove a page; if it could change the project, the next one can."""
        with self._lock:
            if outbox not in self._outboxes:
                return
            self._outboxes.remove(outbox)
            self.last_left_at = time.monotonic()
            if self._writer is outbox:
                self._writer = None
                if self._outboxes:
                    self.grant_write_access(self._outboxes[0])

    def grant_write_access(self, outbox: Outbox) -> None:
        """Make this page the only one that may change the project."""
        with self._lock:
            old, self._writer = self._writer, outbox
            if old is not None and old is not outbox:
                old.enqueue_message(SeatMessage(pilot=False))
            outbox.enqueue_message(SeatMessage(pilot=True))

    def can_write(self, outbox: Outbox) -> bool:
        return self._writer is outbox

    def broadcast(self, message: ServerMessage) -> None:
        """Send a message to every page, and the last state also to pages that come later."""
        text = encode_message(message)
        with self._lock:
            if isinstance(message, StateMessage):
                self._state_text = text
            for outbox in self._outboxes:
                outbox.enqueue(text)

    def broadcast_live_frame(self, pack: Callable[[int], bytes]) -> None:
        """Send a live frame to every page; `pack` encodes it with its number."""
        seq = next(self._seq)
        data = pack(seq)
        with self._lock:
            self._live_frame = seq, data
            for outbox in self._outboxes:
                outbox.set_live_frame(seq, data)

    def send_requested_frame(self, encode_frame: Callable[[StreamName, int], bytes | None]) -> bool:
        """Compute and send one frame that a page has requested; False if there was none."""
        with self._lock:
            outboxes = list(self._outboxes)
        for outbox in outboxes:
            requested = outbox.pop_requested_frame()
            if requested is not None:
                data = encode_frame(*requested)
                if data is not None:
                    outbox.enqueue_frame(data)
                return True
        return False

    def broadcast_regions(self, messages: Sequence[bytes]) -> None:
        """Send region labels to every page, and to pages that come later."""
        with self._lock:
            self._region_messages = messages
            for outbox in self._outboxes:
                for data in messages:
                    outbox.enqueue(data)

    def broadcast_project(self, messages: Sequence[str | bytes]) -> None:
        """Replace the open content: its `project` message and its meshes."""
        with self._lock:
            self._project_messages, self._region_messages, self._state_text, self._live_frame = messages, (), None, None
            for outbox in self._outboxes:
                outbox.discard_frames()
                self._send_current(outbox)

    def _send_current(self, outbox: Outbox) -> None:
        for data in (*self._project_messages, *self._region_messages):
            outbox.enqueue(data)
        if self._state_text is not None:
            outbox.enqueue(self._state_text)
        if self._live_frame is not None:
            outbox.set_live_frame(*self._live_frame)
