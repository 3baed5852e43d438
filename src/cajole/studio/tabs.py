"""The tabs that look at one project: all are told everything, one of them may change things."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cajole.studio.pipe import Pipe
from cajole.studio.protocol import encoded


class Tabs:
    """Pipes in the order in which they came. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._pipes: list[Pipe] = []
        self._pilot: Pipe | None = None
        self._lock = threading.RLock()
        self._intro: Sequence[str | bytes] = ()
        self._colours: Sequence[bytes] = ()
        self._state: str | None = None
        self._now: tuple[int, bytes] | None = None
        self._seq = itertools.count(1)
        self.left = time.monotonic()

    def __len__(self) -> int:
        return len(self._pipes)

    def listed(self) -> list[Pipe]:
        with self._lock:
            return list(self._pipes)

    def add(self, pipe: Pipe, *, first: Mapping[str, Any] | None = None) -> None:
        """A tab comes: it hears where it sits, `first` (a job under way, say), and all there is to draw."""
        with self._lock:
            pipe.forget()
            self._pipes.append(pipe)
            self._pilot = self._pilot or pipe
            pipe.say({"is": "seat", "pilot": self._pilot is pipe})
            if first is not None:
                pipe.say(first)
            self._introduce(pipe)

    def remove(self, pipe: Pipe) -> None:
        """A tab goes; if it was the pilot, the next one is."""
        with self._lock:
            if pipe not in self._pipes:
                return
            self._pipes.remove(pipe)
            self.left = time.monotonic()
            if self._pilot is pipe:
                self._pilot = None
                if self._pipes:
                    self.give_seat(self._pipes[0])

    def give_seat(self, pipe: Pipe) -> None:
        """This tab may change things from now on, and no other."""
        with self._lock:
            old, self._pilot = self._pilot, pipe
            if old is not None and old is not pipe:
                old.say({"is": "seat", "pilot": False})
            pipe.say({"is": "seat", "pilot": True})

    def may_change(self, pipe: Pipe) -> bool:
        return self._pilot is pipe

    def say(self, message: Mapping[str, Any]) -> None:
        """A text to every tab; the last state is kept for tabs that come later."""
        text = encoded(message)
        with self._lock:
            if message["is"] == "state":
                self._state = text
            for pipe in self._pipes:
                pipe.send(text)

    def show(self, pack: Callable[[int], bytes]) -> None:
        """A NOW frame to every tab; `pack` makes it of its number."""
        seq = next(self._seq)
        data = pack(seq)
        with self._lock:
            self._now = seq, data
            for pipe in self._pipes:
                pipe.show(seq, data)

    def serve(self, make: Callable[[str, int], bytes | None]) -> bool:
        """Send one frame that a tab waits for, as `make` makes it of stream and frame; whether there was one."""
        for pipe in self.listed():
            wanted = pipe.next_wanted()
            if wanted is not None:
                data = make(*wanted)
                if data is not None:
                    pipe.frame(data)
                return True
        return False

    def colour(self, colours: Sequence[bytes]) -> None:
        """Regions that colour what is drawn; tabs that come later get the newest."""
        with self._lock:
            self._colours = colours
            for pipe in self._pipes:
                for data in colours:
                    pipe.send(data)

    def open(self, intro: Sequence[str | bytes]) -> None:
        """Something else is open from now on: its `project` message and its meshes."""
        with self._lock:
            self._intro, self._colours, self._state, self._now = intro, (), None, None
            for pipe in self._pipes:
                pipe.forget()
                self._introduce(pipe)

    def _introduce(self, pipe: Pipe) -> None:
        for data in (*self._intro, *self._colours):
            pipe.send(data)
        if self._state is not None:
            pipe.send(self._state)
        if self._now is not None:
            pipe.show(*self._now)
