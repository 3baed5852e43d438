"""All that one start of the studio holds: the shelf, what is open, uploads and files to fetch."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cajole.errors import FileError, InputError
from cajole.progress import Progress
from cajole.storage import atomic_path
from cajole.studio import take
from cajole.studio.catalogue import Catalogue
from cajole.studio.content import Content
from cajole.studio.keeping import Start
from cajole.studio.opening import file_kind, open_file, open_scene
from cajole.studio.packing import unpack
from cajole.studio.project import Project
from cajole.studio.protocol import MODES
from cajole.studio.shelf import ID, Record, Shelf, new_id

LOG = logging.getLogger("cajole.studio")
# A project that no tab looks at stays open for so long [s]: a tab that is reloaded, or was asleep, finds it as it was.
LINGER = 600.0
# projects that are open at once; the one that was left first is closed for the next
MOST_OPEN = 4
# how long a project is waited for when it is closed [s]: work between two words of progress
PATIENCE = 20.0
# [bytes] of one file that is dropped on the page
LARGEST_UPLOAD = 2_000_000_000
# one mesh in two files
TETGEN = (".node", ".ele")


@dataclass(frozen=True)
class Upload:
    """A file that came in, by its own name."""

    id: str
    path: Path


class Hub:
    """Opens projects and finds them again. All methods may be called from any thread."""

    def __init__(self, shelf: Shelf | None = None, *, largest_upload: int = LARGEST_UPLOAD):
        self.shelf = Shelf() if shelf is None else shelf
        self.largest_upload = largest_upload
        self.catalogue = Catalogue(self.shelf)
        self._projects: dict[str, Project] = {}
        self._uploads: dict[str, Upload] = {}
        self._lock = threading.RLock()
        # one project is resumed at a time, and those that are being closed are waited for
        self._resuming = threading.Lock()
        self._ending: dict[str, Project] = {}
        self._inbox, self._inbox_lock = self.shelf.inbox()
        # the project that a new tab is shown
        self.current: str | None = None

    def told(self) -> dict[str, Any]:
        """The catalogue, as the page takes it."""
        return self.catalogue.told(alone=not self._projects)

    # --- opening

    def open(self, message: Mapping[str, Any]) -> Project:
        """What `open` asks for. Raises InputError for what cannot be opened, saying what can."""
        given = [name for name in ("scene", "upload", "project") if name in message]
        if len(given) != 1:
            raise InputError("open takes one of scene, upload and project; say which")
        is_copy = take.flag(message, "copy", False)
        if is_copy and given != ["project"]:
            raise InputError("copy is for a project; leave it out")
        if given == ["project"]:
            project = take.text(message, "project")
            return self.open_copy(project) if is_copy else self.resume(project)
        mode = take.one_of(message, "mode", MODES)
        if given == ["scene"]:
            return self.open_scene(take.text(message, "scene"), mode)
        upload = self._uploads.get(take.text(message, "upload"))
        if upload is None or not upload.path.is_file():
            raise InputError("that upload is gone; drop the file again")
        return self.open_path(upload.path, mode)

    def open_scene(self, name: str, mode: str) -> Project:
        """A built-in scene for a verb."""
        title = self.catalogue.title(name, mode)
        record = Record(new_id(), title, mode, {"scene": name, "mode": mode})
        start = Start(record, self._opener(record), ready=lambda: self.catalogue.was_opened(name, mode))
        return self._started(start)

    def open_path(self, path: Path, mode: str | None = None) -> Project:
        """A mesh, an animation or a project in a file; it is copied to the shelf."""
        if path.suffix.lower() == ".cajole":
            return self._resumed(unpack(self.shelf, path).id)
        suffix = ".npz" if file_kind(path) == "animation" else path.suffix.lower()
        if not path.exists():
            raise FileError(f"{path} is not there; check the path")
        record = Record(new_id(), path.stem, mode or "edit", {"file": f"source{suffix}"})
        lock = self.shelf.lock(record.id)

        def content(progress: Progress) -> Content:
            found = open_file(path, progress)
            lock.acquire()
            keep_source(self.shelf.place(record.id), path, found)
            return replace(found, name=path.stem)

        return self._started(Start(record, content, kept=True, lock=lock))

    def resume(self, project: str) -> Project:
        """A project by its id: as it is, if it is open, else as it was kept.

        Raises FolderLocked where another studio has it open, FileError for one that is not there or damaged.
        """
        with self._resuming:
            with self._lock:
                live, ending = self._projects.get(project), self._ending.get(project)
                if live is not None:
                    self.current = live.id
                    return live
            if ending is not None:
                ending.close(patience=PATIENCE)
            return self._resumed(project)

    def open_copy(self, project: str) -> Project:
        """A copy of a project, as it was last saved; another studio may have it open. Raises FileError."""
        return self._resumed(self.shelf.copy(project).id)

    # --- finding, leaving

    def project(self, project: str) -> Project | None:
        with self._lock:
            return self._projects.get(project)

    def leave(self, project: Project) -> None:
        """The pilot goes back to the start page: new tabs are no longer led to this project."""
        if self.current == project.id:
            self.current = None

    def forget(self, project: str) -> None:
        """Remove a project from the shelf. Raises InputError while it is open in a tab or in another studio."""
        live = self.project(project)
        if live is not None and len(live.tabs):
            raise InputError("the project is open in a tab; close it there first")
        if live is not None:
            self._end(live)
        self.shelf.delete(project)

    def tidy(self) -> None:
        """Close projects that were left long ago."""
        with self._lock:
            # what could not be saved stays open until it can be
            left = [each for each in self._projects.values() if not len(each.tabs) and each.is_saved]
            old = [each for each in left if time.monotonic() - each.tabs.left > LINGER]
        for project in old:
            self._end(project)

    def close(self) -> None:
        """Keep everything and end."""
        with self._lock:
            projects = list(self._projects.values())
        for project in projects:
            self._end(project)
        self.catalogue.close()
        shutil.rmtree(self._inbox, ignore_errors=True)
        self._inbox_lock.release()

    # --- files

    def receive(self, name: str) -> Upload:
        """A place for an upload of that name, of which only the last part counts. Raises FileError for names that no
        file can have here."""
        plain = Path(name.replace("\\", "/")).name
        if not plain or plain.startswith(".") or not plain.isprintable() or len(plain.encode()) > 200:
            raise FileError(f"{name[:60]!r} is no name of a file; rename it and drop it again")
        if Path(plain).suffix.lower() != ".cajole":
            file_kind(Path(plain))
        number = new_id()
        return Upload(number, self._inbox / number / plain)

    def reserve(self) -> None:
        """Own the folder for uploads, so that no other studio that starts removes it. Raises FileError."""
        self._inbox_lock.acquire()

    def received(self, upload: Upload) -> None:
        """The upload is whole."""
        with self._lock:
            self._uploads[upload.id] = upload

    def refused(self, upload: Upload) -> None:
        """Nothing is left of an upload."""
        shutil.rmtree(upload.path.parent, ignore_errors=True)

    def fetched(self, number: str) -> Path | None:
        """An exported file by its id."""
        if not ID.fullmatch(number):
            return None
        files = sorted((self.shelf.outgoing / number).glob("*"))
        return files[0] if len(files) == 1 and not files[0].name.startswith(".") else None

    # --- inner workings

    def _resumed(self, project: str) -> Project:
        """Open a project of the shelf; its folder is owned before it is read."""
        if not self.shelf.has(project):
            self.shelf.load(project)  # raises what is wrong with it
        lock = self.shelf.lock(project)
        lock.acquire()
        try:
            record = self.shelf.load(project)
        except BaseException:
            lock.release()
            raise
        return self._started(Start(record, self._opener(record), kept=True, lock=lock))

    def _opener(self, record: Record) -> Callable[[Progress], Content]:
        source, place = record.source, self.shelf.place(record.id)

        def content(progress: Progress) -> Content:
            if "scene" in source:
                return open_scene(str(source["scene"]), str(source["mode"]), progress)
            return replace(open_file(place / str(source["file"]), progress), name=record.name)

        return content

    def _started(self, start: Start) -> Project:
        project = Project(start, self.shelf)
        with self._lock:
            self._projects[project.id] = project
            self.current = project.id
            others = [each for each in self._projects.values() if each is not project]
            left = [each for each in others if not len(each.tabs) and each.is_saved]
            many = sorted(left, key=lambda each: each.tabs.left)[: max(len(self._projects) - MOST_OPEN, 0)]
            for old in many:
                self._ending[old.id] = self._projects.pop(old.id)
        project.start()
        # whoever opens this one need not wait for what the others are still at
        threading.Thread(target=self._end, args=many, name="cajole-ends", daemon=True).start()
        return project

    def _end(self, *projects: Project) -> None:
        for project in projects:
            with self._lock:
                self._projects.pop(project.id, None)
                self._ending[project.id] = project
                self.leave(project)
            if not project.close(patience=PATIENCE):
                LOG.warning("%s is still at work and was left behind", project.name)
            with self._lock:
                self._ending.pop(project.id, None)


def keep_source(place: Path, path: Path, content: Content) -> None:
    """A copy of what was opened: a motion as .npz, which keeps all of it; a mesh as it came, with its partner."""
    if content.animation is not None:
        content.animation.write(place / "source.npz")
        return
    parts = path.parent.glob(f"{path.stem}.*") if path.suffix.lower() in TETGEN else [path]
    for file in parts:
        with atomic_path(place / f"source{file.suffix.lower()}") as target:
            shutil.copyfile(file, target)
