"""One tab's line: what is to be sent to it, what must not be lost and what may be overtaken by newer things.

Filled from the solver's thread, emptied by the connection; all methods may be called from any thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from cajole.studio.protocol import STREAMS, encoded

# NOW frames on the way that the tab has not yet applied
CREDITS = 2
# frames of a motion that are made ahead of the line
MOST_FRAMES = 3
# Bytes on the way that the tab has not yet got, beyond which no such frame is sent: a socket takes megabytes at once,
# and the newest NOW would stand behind them.
MOST_ON_WAY = 500_000
# A tab that leaves this much lying does not listen any more: it is cut off, and gets everything anew when it is back.
MOST_BYTES = 256_000_000


class Pipe:
    """Texts and meshes in order, none lost; the newest NOW frame, while credit lasts; frames that were asked for."""

    def __init__(self, wake: Callable[[], None] = lambda: None):
        self._wake, self._lock = wake, Lock()
        self._ordered: deque[str | bytes] = deque()
        self._bytes = 0
        self._now: tuple[int, bytes] | None = None
        self._unacknowledged: deque[tuple[int, int]] = deque()
        self._frames: deque[bytes] = deque()
        self._on_way: deque[int] = deque()
        self._wanted: dict[str, deque[int]] = {stream: deque() for stream in STREAMS}
        self.is_closed = False

    def say(self, message: Mapping[str, Any]) -> None:
        """A text, never dropped."""
        self.send(encoded(message))

    def send(self, data: str | bytes) -> None:
        """A text or a mesh, never dropped, in order."""
        with self._lock:
            self._ordered.append(data)
            self._bytes += len(data)
        self._wake()

    def show(self, seq: int, data: bytes) -> None:
        """A NOW frame; one that was not yet sent gives way to it."""
        with self._lock:
            self._now = seq, data
        self._wake()

    def frame(self, data: bytes) -> None:
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

    def got(self) -> None:
        """The tab has got the oldest of the asked-for frames on the way."""
        with self._lock:
            if self._on_way:  # else of a project that it has left
                self._on_way.popleft()
        self._wake()

    def want(self, stream: str, frames: Sequence[int]) -> None:
        """These frames of a stream are wanted, nearest first, in place of what was wanted of it before."""
        with self._lock:
            self._wanted[stream] = deque(frames)

    def next_wanted(self) -> tuple[str, int] | None:
        """A frame to make: one of each stream in turn; None when none is wanted, or enough are on the way."""
        with self._lock:
            if len(self._frames) >= MOST_FRAMES or self.is_closed:
                return None
            for stream in list(self._wanted):
                if self._wanted[stream]:
                    # to the end, so that the other streams come first the next time
                    self._wanted[stream] = frames = self._wanted.pop(stream)
                    return stream, frames.popleft()
        return None

    def take(self) -> str | bytes | None:
        """What to send next: what is in order, then the newest NOW, then frames; None when nothing can be sent."""
        with self._lock:
            if self._ordered:
                data = self._ordered.popleft()
                self._bytes -= len(data)
                return data
            if self._now is not None and len(self._unacknowledged) < CREDITS:
                seq, shown = self._now
                self._now = None
                self._unacknowledged.append((seq, len(shown)))
                return shown
            on_way = sum(self._on_way) + sum(size for _, size in self._unacknowledged)
            if not self._frames or (on_way and on_way + len(self._frames[0]) > MOST_ON_WAY):
                return None
            frame = self._frames.popleft()
            self._on_way.append(len(frame))
            return frame

    def forget(self) -> None:
        """Another project comes: what is still to be shown of the old one goes, texts stay."""
        with self._lock:
            self._now = None
            self._unacknowledged.clear()
            self._frames.clear()
            self._on_way.clear()
            for frames in self._wanted.values():
                frames.clear()

    @property
    def is_overfull(self) -> bool:
        """Whether the tab has stopped listening."""
        with self._lock:
            return self._bytes > MOST_BYTES

    def close(self) -> None:
        """The tab is gone."""
        self.is_closed = True
        self._wake()
