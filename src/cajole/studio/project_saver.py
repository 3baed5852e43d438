"""Saving of an open project, and the content of each of its modes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cajole.animation import Animation, read_animation
from cajole.body import Body, EmbeddedMesh
from cajole.direct.editing.setup import find_static_vertices
from cajole.errors import InputError
from cajole.progress import ProgressCallback
from cajole.storage import hash_content
from cajole.studio.content import EditSetup, ProjectContent, build_shell_content, get_motion
from cajole.studio.locks import FolderLock
from cajole.studio.messages import StateMessage
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.project_store import ProjectRecord, ProjectStore, round_trip_json

# seconds until a failed save is tried again: at first, and at most
FIRST_RETRY_DELAY, MAX_RETRY_DELAY = 1.0, 30.0


@dataclass(frozen=True, eq=False)
class ProjectStartup:
    """How a project starts: its record, and the function that loads its content.

    is_stored: it is on the disk already, not only after the first change; on_opened: called when it is open; lock: of
    its folder, acquired before anything is read or written there; None for a new one.
    """

    record: ProjectRecord
    load_content: Callable[[ProgressCallback], ProjectContent]
    is_stored: bool = False
    on_opened: Callable[[], None] | None = None
    lock: FolderLock | None = None


class ProjectSaver:
    """The record of a project and the state of its saving.

    source_content: what was opened, None until then; is_saved: all changes are synced to the disk; save_error: why the
    last attempt failed.
    """

    def __init__(self, store: ProjectStore, startup: ProjectStartup):
        self._store, self.record = store, startup.record
        self._lock = store.create_lock(startup.record.id) if startup.lock is None else startup.lock
        self.source_content: ProjectContent | None = None
        self._is_stored, self.is_saved = startup.is_stored, True
        self.save_error: str | None = None
        self._failure_count, self._retry_at = 0, 0.0

    def get_content(self, mode: str) -> ProjectContent:
        """The content of a mode: what was opened, with the motion that another mode handed over, if there is one."""
        if self.source_content is None:
            raise InputError(f"{self.record.name} is not open yet; wait until it is")
        given = self.record.motion_files.get(mode)
        return (
            self.source_content
            if given is None
            else replace_motion(self.source_content, self._store.get_folder(self.record.id) / given)
        )

    def get_snapshot(self, mode: str) -> ModeSnapshot | None:
        """The snapshot of a mode, as it would be read from the disk; None if it was never active."""
        found = self.record.snapshots.get(mode)
        return None if found is None else round_trip_json(found)

    def write_motion(self, content: ProjectContent) -> str:
        """Write the motion of `content` into the project; return the file name. Raises FileError."""
        self._lock.acquire()
        return write_motion(self._store.get_folder(self.record.id), content).name

    def assign_motion(self, mode: str, motion: str) -> None:
        """Make a mode work on a motion."""
        self.record = replace(self.record, motion_files={**self.record.motion_files, mode: motion})

    def record_change(self, label: str | None) -> None:
        """Mark the project as changed; label None: a new project that was only viewed is not stored."""
        self._is_stored = self._is_stored or label is not None
        self.is_saved = not self._is_stored
        self._retry_at = 0.0

    def get_save_delay(self) -> float | None:
        """Seconds until the next attempt to save, 0 for now; None if there is nothing to save."""
        return None if self.is_saved else max(0.0, self._retry_at - time.monotonic())

    def rename(self, name: str) -> None:
        self.record = replace(self.record, name=name)

    def record_mode(self, mode: str, snapshot: ModeSnapshot, frame: int, text: str) -> None:
        """Record the active mode and its snapshot."""
        modes = {**self.record.snapshots, mode: snapshot}
        self.record = replace(
            self.record, mode=mode, snapshots=modes, frame=frame, summary=text, changed_at=time.time()
        )

    def save(self) -> None:
        """Write the record and sync it to the disk. Raises FileError."""
        self._lock.acquire()
        self._store.save(self.record)
        self.is_saved, self.save_error, self._failure_count = True, None, 0

    def schedule_retry(self, reason: str) -> None:
        """Record a failed save; it is repeated after a delay that doubles each time, and after the next change."""
        self.is_saved, self.save_error = False, reason
        self._retry_at = time.monotonic() + min(FIRST_RETRY_DELAY * 2.0**self._failure_count, MAX_RETRY_DELAY)
        self._failure_count += 1

    def close(self) -> None:
        """Release the lock of the project."""
        self._lock.release()


def write_motion(folder: Path, content: ProjectContent) -> Path:
    """Write the motion of `content` into a project's folder. Raises FileError."""
    motion = get_motion(content)
    digest = hash_content(np.ascontiguousarray(motion.positions), motion.fps, motion.mesh.content_hash)
    path = folder / f"given-{digest}.npz"
    if not path.is_file():
        motion.write(path)
    return path


def replace_motion(content: ProjectContent, path: Path) -> ProjectContent:
    """The content with the motion of a file, and without the scene's setups, which are for its own motion.

    Raises FileError.
    """
    motion = read_animation(path)
    if len(motion.mesh.vertices) != len(content.mesh.vertices):  # a shell that was made of a coarser guide
        return build_shell_content(motion, content)
    return replace(
        content,
        body=_fix_still_vertices(content, motion),
        animation=motion,
        shot=None,
        steer_setup=None,
        edit_setup=EditSetup(),
    )


def _fix_still_vertices(content: ProjectContent, motion: Animation) -> Body | EmbeddedMesh | None:
    """The body; if it has no fixed vertices, those that stay at rest are fixed, as pins did in the motion."""
    body = content.body
    if not isinstance(body, Body) or len(body.fixed) or (still := find_static_vertices(motion)) is None:
        return body
    at_rest = (motion.frame(0)[still] == body.vertices[still]).all(axis=1)
    return body.with_fixed_vertices(still[at_rest]) if at_rest.any() else body


def summarise_state(state: StateMessage) -> str:
    """The number of markers in the first lane, as the list of projects shows it: "3 drags"."""
    count, name = (len(state.lanes[0].markers), state.lanes[0].name.lower()) if state.lanes else (0, "")
    return f"{count} {name if count != 1 else name.removesuffix('s')}" if count else ""
