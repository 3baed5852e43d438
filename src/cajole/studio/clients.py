"""The tabs that look at one project: all are told everything, one of them may change things."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence

from cajole.studio.messages import SeatMessage, StateMessage
from cajole.studio.outbox import Outbox
from cajole.studio.protocol import ServerMessage, StreamName, encode_message


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
