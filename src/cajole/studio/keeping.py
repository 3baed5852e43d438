"""What is kept of an open project, and what its modes work on: what was opened, or what one mode gave to the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cajole.animation import Animation, read_animation
from cajole.body import Body, BodyAround
from cajole.direct.editing.opening import still_vertices
from cajole.errors import InputError
from cajole.progress import Progress
from cajole.storage import content_hash
from cajole.studio.content import Content, EditPlan
from cajole.studio.exporting import motion_of
from cajole.studio.locks import FolderLock
from cajole.studio.modes.base import Saved
from cajole.studio.opening import of_shell
from cajole.studio.shelf import Record, Shelf, as_read

# seconds until a failed save is tried again: at first, and at most
RETRY_FIRST, RETRY_LAST = 1.0, 30.0


@dataclass(frozen=True, eq=False)
class Start:
    """How a project begins: what it was kept as, and what opens what it was made of.

    kept: whether it is on the shelf from the start, or only once something was done in it; ready: called once it is
    open; lock: of its folder, acquired before anything is read from it or written to it, a new one when None.
    """

    record: Record
    content: Callable[[Progress], Content]
    kept: bool = False
    ready: Callable[[], None] | None = None
    lock: FolderLock | None = None


class Keeper:
    """The record of a project, and the shelf that it is kept on; opened: what it was opened from, once that is here.

    is_saved: whether all that was done is written and synced to the disk; failure: why it is not, where that was tried.
    """

    def __init__(self, shelf: Shelf, start: Start):
        self._shelf, self.record = shelf, start.record
        self._lock = shelf.lock(start.record.id) if start.lock is None else start.lock
        self.opened: Content | None = None
        self._is_kept, self.is_saved = start.kept, True
        self.failure: str | None = None
        self._failures, self._retry_at = 0, 0.0

    def content(self, mode: str) -> Content:
        """What a mode works on: what was opened, with the motion that was handed to it, if one was."""
        if self.opened is None:
            raise InputError(f"{self.record.name} is not open yet; wait until it is")
        given = self.record.given.get(mode)
        return self.opened if given is None else with_motion(self.opened, self._shelf.place(self.record.id) / given)

    def saved(self, mode: str) -> Saved | None:
        """What a mode was left with, as it would be read from disk; None where it was never entered."""
        found = self.record.modes.get(mode)
        return None if found is None else as_read(found)

    def motion(self, content: Content) -> str:
        """Keep the motion of `content` beside the project; the name of its file. Raises FileError."""
        self._lock.acquire()
        return keep_motion(self._shelf.place(self.record.id), content).name

    def hand(self, mode: str, motion: str) -> None:
        """A mode works on that motion from now on."""
        self.record = replace(self.record, given={**self.record.given, mode: motion})

    def changed(self, label: str | None) -> None:
        """Something was done, or with None only looked at: what was only opened is not kept."""
        self._is_kept = self._is_kept or label is not None
        self.is_saved = not self._is_kept
        self._retry_at = 0.0

    def due(self) -> float | None:
        """Seconds until saving shall be tried, 0 for at once; None where there is nothing to save."""
        return None if self.is_saved else max(0.0, self._retry_at - time.monotonic())

    def rename(self, name: str) -> None:
        self.record = replace(self.record, name=name)

    def remember(self, mode: str, saved: Saved, frame: int, text: str) -> None:
        """The mode that is at work, and what it would need to go on."""
        modes = {**self.record.modes, mode: saved}
        self.record = replace(self.record, mode=mode, modes=modes, frame=frame, text=text, when=time.time())

    def save(self) -> None:
        """Write the record and sync it to the disk. Raises FileError."""
        self._lock.acquire()
        self._shelf.save(self.record)
        self.is_saved, self.failure, self._failures = True, None, 0

    def postpone(self, reason: str) -> None:
        """Saving failed: it is tried again after a while that grows with every failure, and after the next change."""
        self.is_saved, self.failure = False, reason
        self._retry_at = time.monotonic() + min(RETRY_FIRST * 2.0**self._failures, RETRY_LAST)
        self._failures += 1

    def close(self) -> None:
        """The project was closed, and not cut off."""
        self._lock.release()


def keep_motion(place: Path, content: Content) -> Path:
    """Write the motion of `content` into a project's folder. Raises FileError."""
    motion = motion_of(content)
    digest = content_hash(np.ascontiguousarray(motion.positions), motion.fps, motion.mesh.content)
    path = place / f"given-{digest}.npz"
    if not path.is_file():
        motion.write(path)
    return path


def with_motion(content: Content, path: Path) -> Content:
    """The same body with the motion of a file, which also tells what pins held. Raises FileError.

    What the scene planned was for its own motion, and goes.
    """
    motion = read_animation(path)
    if len(motion.mesh.vertices) != len(content.mesh.vertices):  # a shell that was made of a coarser guide
        return of_shell(motion, content)
    return replace(content, body=_held(content, motion), animation=motion, shot=None, steer=None, edit=EditPlan())


def _held(content: Content, motion: Animation) -> Body | BodyAround | None:
    """The body as it was held when the motion was made: of one that nothing holds by itself, by what stays at rest."""
    body = content.body
    if not isinstance(body, Body) or len(body.fixed) or (still := still_vertices(motion)) is None:
        return body
    at_rest = (motion.frame(0)[still] == body.vertices[still]).all(axis=1)
    return body.holding(still[at_rest]) if at_rest.any() else body


def summary(state: Mapping[str, Any]) -> str:
    """A project in two words, as a list shows it: "3 drags"."""
    lanes = state.get("lanes") or [{"name": "", "markers": []}]
    count, name = len(lanes[0]["markers"]), str(lanes[0]["name"]).lower()
    return f"{count} {name if count != 1 else name.removesuffix('s')}" if count else ""
