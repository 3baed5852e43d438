"""The pages that look at one project, and the queue of messages to each of them.

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


class ClientGroup:
    """Pipes in the order in which they came. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._outboxes: list[Outbox] = []
        self._writer: Outbox | None = None
        self._lock = threading.RLock()
        self._project_messages: Sequence[str | bytes] = ()
        self._region_messages: Sequence[bytes] = ()
        self._state_text: str | None = None
        self._live_frame: tuple[int, bytes] | None = None
        self._seq = itertools.count(1)
        self.last_left_at = time.monotonic()

    def __len__(self) -> int:
        return len(self._outboxes)

    def list_outboxes(self) -> list[Outbox]:
        with self._lock:
            return list(self._outboxes)

    def add(self, outbox: Outbox, *, first_message: ServerMessage | None = None) -> None:
        """A tab comes: it hears where it sits, `first` (a job under way, say), and all there is to draw."""
        with self._lock:
            outbox.discard_frames()
            self._outboxes.append(outbox)
            self._writer = self._writer or outbox
            outbox.enqueue_message(SeatMessage(pilot=self._writer is outbox))
            if first_message is not None:
                outbox.enqueue_message(first_message)
            self._send_initial_state(outbox)

    def remove(self, outbox: Outbox) -> None:
        """A tab goes; if it was the pilot, the next one is."""
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
        """This tab may change things from now on, and no other."""
        with self._lock:
            old, self._writer = self._writer, outbox
            if old is not None and old is not outbox:
                old.enqueue_message(SeatMessage(pilot=False))
            outbox.enqueue_message(SeatMessage(pilot=True))

    def can_write(self, outbox: Outbox) -> bool:
        return self._writer is outbox

    def broadcast(self, message: ServerMessage) -> None:
        """A text to every tab; the last state is kept for tabs that come later."""
        text = encode_message(message)
        with self._lock:
            if isinstance(message, StateMessage):
                self._state_text = text
            for pipe in self._outboxes:
                pipe.enqueue(text)

    def broadcast_live_frame(self, pack: Callable[[int], bytes]) -> None:
        """A NOW frame to every tab; `pack` makes it of its number."""
        seq = next(self._seq)
        data = pack(seq)
        with self._lock:
            self._live_frame = seq, data
            for pipe in self._outboxes:
                pipe.set_live_frame(seq, data)

    def send_requested_frame(self, encode_frame: Callable[[StreamName, int], bytes | None]) -> bool:
        """Send one frame that a tab waits for, as `make` makes it of stream and frame; whether there was one."""
        for pipe in self.list_outboxes():
            wanted = pipe.pop_requested_frame()
            if wanted is not None:
                data = encode_frame(*wanted)
                if data is not None:
                    pipe.enqueue_frame(data)
                return True
        return False

    def broadcast_regions(self, messages: Sequence[bytes]) -> None:
        """Regions that colour what is drawn; tabs that come later get the newest."""
        with self._lock:
            self._region_messages = messages
            for pipe in self._outboxes:
                for data in messages:
                    pipe.enqueue(data)

    def broadcast_project(self, messages: Sequence[str | bytes]) -> None:
        """Something else is open from now on: its `project` message and its meshes."""
        with self._lock:
            self._project_messages, self._region_messages, self._state_text, self._live_frame = messages, (), None, None
            for pipe in self._outboxes:
                pipe.discard_frames()
                self._send_initial_state(pipe)

    def _send_initial_state(self, outbox: Outbox) -> None:
        for data in (*self._project_messages, *self._region_messages):
            outbox.enqueue(data)
        if self._state_text is not None:
            outbox.enqueue(self._state_text)
        if self._live_frame is not None:
            outbox.set_live_frame(*self._live_frame)
