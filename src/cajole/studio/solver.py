"""The thread that one open project is solved on, and its mailbox."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cajole.errors import InputError
from cajole.studio.rhythm import Rhythm

LOG = logging.getLogger("cajole.studio")
# messages that wait: a page never has so many under way
MOST_WAITING = 1000
# what is changed is told at least this often [s] while messages keep coming
TELL_EVERY = 0.1
# newest wins among those of one gesture
STREAMED = ("drag.move", "pull.move", "push.move")

Reply = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, eq=False)
class Letter:
    """A message, and the way back to whoever sent it; key: set where newer ones of the same key may overtake it."""

    message: Mapping[str, Any]
    reply: Reply
    key: Hashable = None


def letter(message: Mapping[str, Any], reply: Reply) -> Letter:
    """A letter with the key that its message has: moves of a gesture, and of markers that are still in the hand."""
    name = message["do"]
    if name in STREAMED:
        return Letter(message, reply, (name, repr(message.get("gesture"))))
    if name == "marker.move" and message.get("final") is False:
        return Letter(message, reply, (name, repr(message.get("lane")), repr(message.get("ids"))))
    return Letter(message, reply)


class Mailbox:
    """Letters in order. A streamed one gives way to a newer one of its key, unless something else came in between:
    the last move before a commit is made before the commit."""

    def __init__(self) -> None:
        self._letters: list[Letter] = []
        self._moves: dict[Hashable, Letter] = {}
        self._changed = threading.Condition()
        self._rung = self._closed = False

    def __len__(self) -> int:
        return len(self._letters)

    def put(self, new: Letter) -> Letter | None:
        """Add a letter; the one that it overtook, if any. Raises InputError when too many wait."""
        with self._changed:
            if len(self._letters) >= MOST_WAITING:
                raise InputError("the studio is behind with its work; wait until it has caught up, or cancel the job")
            old = self._moves.pop(new.key, None) if new.key is not None else None
            if old is not None:
                self._letters.remove(old)
            if new.key is None:
                self._moves.clear()
            else:
                self._moves[new.key] = new
            self._letters.append(new)
            self._changed.notify()
            return old

    def take(self, patience: float | None) -> Letter | None:
        """The next letter; None after `patience` seconds (None: as long as it takes), when rung or closed."""
        with self._changed:
            if not self._letters and not self._rung and not self._closed:
                self._changed.wait(patience)
            self._rung = False
            if not self._letters:
                return None
            found = self._letters.pop(0)
            if self._moves.get(found.key) is found:
                del self._moves[found.key]
            return found

    def ring(self) -> None:
        """Wake whoever waits, though there is no letter."""
        with self._changed:
            self._rung = True
            self._changed.notify()

    def close(self) -> None:
        """No more letters will come; those here are still taken."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    @property
    def is_closed(self) -> bool:
        return self._closed


class Worker(Protocol):
    """What the solver drives, all on its own thread; nothing of this may raise but by mistake."""

    def begin(self) -> None:
        """First of all."""

    def handle(self, letter: Letter) -> None:
        """Do what a message says, and answer it."""

    def tell(self) -> None:
        """Send what has changed."""

    def serve(self) -> bool:
        """Make one frame that someone waits for; whether there was one."""

    def due(self) -> float | None:
        """Seconds until `tick` wants to be called, None when never."""

    def tick(self) -> None:
        """Go on by oneself."""

    def end(self) -> None:
        """Last of all."""


class Solver:
    """A thread that handles letters first, then frames that are waited for, and ticks whenever it is time."""

    def __init__(self, worker: Worker, name: str):
        self._worker, self._mailbox = worker, Mailbox()
        self._thread = threading.Thread(target=self._run, name=f"cajole-{name}", daemon=True)
        self._told, self._rhythm = 0.0, Rhythm()

    def start(self) -> None:
        self._thread.start()

    def post(self, message: Mapping[str, Any], reply: Reply) -> None:
        """Have a message handled; one that it overtakes is answered as such. Raises InputError when too many wait."""
        new = letter(message, reply)
        old = self._mailbox.put(new)
        if new.key is not None:
            self._rhythm.hear(time.monotonic())
        if old is not None:
            old.reply({"overtaken": True})

    def wake(self) -> None:
        """Someone waits for frames."""
        self._mailbox.ring()

    def close(self, *, patience: float | None = None) -> bool:
        """Finish what is in the mailbox, then end; whether it ended within `patience` seconds."""
        self._mailbox.close()
        self._thread.join(patience)
        return not self._thread.is_alive()

    def _run(self) -> None:
        self._guarded(self._worker.begin)
        more = True  # what was begun is told before anything is waited for
        while len(self._mailbox) or not self._mailbox.is_closed:
            found = self._mailbox.take(self._patience(more))
            if found is not None:
                self._guarded(lambda new=found: self._worker.handle(new))  # type: ignore[misc]
            due = self._worker.due()
            if due is not None and due <= 0.0:
                self._guarded(self._worker.tick)
            more = self._spare() if not len(self._mailbox) else self._hurried()
        self._guarded(self._worker.end)

    def _patience(self, more: bool) -> float | None:
        """Seconds to wait for a letter; None: as long as it takes."""
        if not more:
            return self._worker.due()
        rest = self._rhythm.rest(time.monotonic())
        due = self._worker.due()
        return rest if due is None else min(rest, max(0.0, due))

    def _spare(self) -> bool:
        """No letter waits: tell what has changed, make a frame; whether there may be more to make."""
        self._guarded(self._worker.tell)
        self._told = begin = time.monotonic()
        if self._rhythm.rest(begin):
            return True
        made = bool(self._guarded(self._worker.serve))
        if made:
            self._rhythm.make(begin, time.monotonic())
        return made

    def _hurried(self) -> bool:
        """Letters wait, but nobody shall be left in the dark for long."""
        if time.monotonic() - self._told >= TELL_EVERY:
            self._guarded(self._worker.tell)
            self._told = time.monotonic()
        return True

    def _guarded(self, work: Callable[[], Any]) -> Any:
        """A mistake must not end the thread: the project would be dead, and its author not told why."""
        try:
            return work()
        except Exception:
            LOG.exception("the studio made a mistake and goes on")
            return None
