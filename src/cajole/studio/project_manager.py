"""All projects, uploads and exports of one server."""

from __future__ import annotations

import json
import logging
import shutil
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from msgspec import UNSET

from cajole.animation import read_animation
from cajole.errors import FileError, InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri, read_mesh
from cajole.parsers.child_process import reporting_to
from cajole.progress import ProgressCallback
from cajole.storage import READ_ERRORS, confine_reads, replace_atomically
from cajole.studio.catalogue import SceneCatalogue
from cajole.studio.content import ProjectContent, build_animation_content, detect_file_kind, open_file
from cajole.studio.messages import ModeAvailability, Open
from cajole.studio.mode_registry import (
    find_available_modes,
    find_modes_for_mesh,
    get_modes,
    open_scene,
    require_mode_name,
)
from cajole.studio.project import Project
from cajole.studio.project_saver import ProjectStartup
from cajole.studio.project_store import (
    DOCUMENT_NAME,
    ID_PATTERN,
    MAX_DOCUMENT_BYTES,
    ProjectRecord,
    ProjectSource,
    ProjectStore,
    generate_id,
    unpack_project,
)

LOG = logging.getLogger("cajole.studio")
# [s] that a project without pages stays open, for pages that are reloaded or wake up
IDLE_PROJECT_TIMEOUT = 600.0
# open projects; beyond them, the one that was left first is closed
MAX_OPEN_PROJECTS = 4
# [s] to wait for a project that is closed: the time between two progress reports of its work
CLOSE_TIMEOUT = 20.0
# [bytes] of one uploaded file
MAX_UPLOAD_BYTES = 2_000_000_000
# a mesh in two files
TETGEN_SUFFIXES = (".node", ".ele")


@dataclass(frozen=True)
class Upload:
    """An uploaded file."""

    id: str
    path: Path


class ProjectManager:
    """Opens, finds and closes projects. All methods may be called from any thread."""

    def __init__(self, store: ProjectStore | None = None, *, max_upload_bytes: int = MAX_UPLOAD_BYTES):
        self.store = ProjectStore() if store is None else store
        self.max_upload_bytes = max_upload_bytes
        self.catalogue = SceneCatalogue(self.store)
        self._projects: dict[str, Project] = {}
        self._uploads: dict[str, Upload] = {}
        self._lock = threading.RLock()
        # projects are resumed one at a time, after those that are closing
        self._resume_lock = threading.Lock()
        self._closing: dict[str, Project] = {}
        self._inbox, self._inbox_lock = self.store.create_upload_folder()
        # the project that new pages open
        self.active_project_id: str | None = None

    # --- opening

    def open_from_message(self, command: Open) -> Project:
        """Open what a message asks for. Raises InputError for what cannot be opened."""
        given = [name for name in ("scene", "upload", "project") if getattr(command, name) is not UNSET]
        if len(given) != 1:
            raise InputError("open takes one of scene, upload and project; say which")
        if command.project is not UNSET:
            project_id = command.project.strip()
            return self.open_copy(project_id) if command.copy else self.resume_project(project_id)
        if command.copy:
            raise InputError("copy is for a project; leave it out")
        if command.mode is UNSET:
            raise InputError("open needs mode, which is missing")
        mode = require_mode_name(command.mode, "mode of open")
        if command.scene is not UNSET:
            return self.open_scene(command.scene.strip(), mode)
        upload = self._uploads.get(str(command.upload))
        if upload is None or not upload.path.is_file():
            raise InputError("that upload is gone; drop the file again")
        return self.open_path(upload.path, mode)

    def open_scene(self, name: str, mode: str) -> Project:
        """Open a built-in scene of a mode."""
        title = self.catalogue.get_title(name, mode)
        record = ProjectRecord(generate_id(), title, mode, ProjectSource(scene=name, mode=mode))
        start = ProjectStartup(
            record, self._make_loader(record), on_opened=lambda: self.catalogue.record_opening(name, mode)
        )
        return self._start_project(start)

    def open_path(self, path: Path, mode: str | None = None) -> Project:
        """Open a mesh, an animation or a .cajole file; it is copied into the store."""
        if path.suffix.lower() == ".cajole":
            return self._open_stored_project(unpack_project(self.store, path).id)
        suffix = ".npz" if detect_file_kind(path) == "animation" else path.suffix.lower()
        if not path.exists():
            raise FileError(f"{path} is not there; check the path")
        record = ProjectRecord(
            generate_id(), path.stem, mode or next(iter(get_modes())), ProjectSource(file=f"source{suffix}")
        )
        lock = self.store.create_lock(record.id)

        def load_content(progress: ProgressCallback) -> ProjectContent:
            found = open_file(path, progress)
            lock.acquire()
            copy_source(self.store.get_folder(record.id), path, found)
            return replace(found, name=path.stem)

        return self._start_project(ProjectStartup(record, load_content, is_stored=True, lock=lock))

    def resume_project(self, project_id: str) -> Project:
        """The project of an id: the open one, else the stored one.

        Raises FolderLocked where another studio has it open, FileError for one that is not there or damaged.
        """
        with self._resume_lock:
            with self._lock:
                live, ending = self._projects.get(project_id), self._closing.get(project_id)
                if live is not None:
                    self.active_project_id = live.id
                    return live
            if ending is not None:
                ending.close(timeout=CLOSE_TIMEOUT)
            return self._open_stored_project(project_id)

    @property
    def is_idle(self) -> bool:
        """True if no project is open."""
        return not self._projects

    def open_copy(self, project_id: str) -> Project:
        """Open a copy of a project as it was last saved, even if another studio has it open. Raises FileError."""
        return self._open_stored_project(self.store.copy(project_id).id)

    # --- finding, leaving

    def find_project(self, project_id: str) -> Project | None:
        with self._lock:
            return self._projects.get(project_id)

    def clear_active_project(self, project: Project) -> None:
        """Let new pages start at the start page instead of this project."""
        if self.active_project_id == project.id:
            self.active_project_id = None

    def delete_project(self, project_id: str) -> None:
        """Delete a stored project. Raises InputError while it is open in a page or in another studio."""
        live = self.find_project(project_id)
        if live is not None and len(live.clients):
            raise InputError("the project is open in a tab; close it there first")
        if live is not None:
            self._close_projects(live)
        self.store.delete(project_id)

    def close_idle_projects(self) -> None:
        """Close projects that no page has used for a while."""
        with self._lock:
            # projects that could not be saved stay open until they can be
            left = [each for each in self._projects.values() if not len(each.clients) and each.is_saved]
            old = [each for each in left if time.monotonic() - each.clients.last_left_at > IDLE_PROJECT_TIMEOUT]
        for project in old:
            self._close_projects(project)

    def close(self) -> None:
        """Save and close everything."""
        with self._lock:
            projects = list(self._projects.values())
        for project in projects:
            self._close_projects(project)
        self.catalogue.close()
        shutil.rmtree(self._inbox, ignore_errors=True)
        self._inbox_lock.release()

    # --- files

    def create_upload(self, name: str) -> Upload:
        """A place for an upload; only the last part of a path counts. Raises FileError for invalid names."""
        plain = Path(name.replace("\\", "/")).name
        if not plain or plain.startswith(".") or not plain.isprintable() or len(plain.encode()) > 200:
            raise FileError(f"{name[:60]!r} is no name of a file; rename it and drop it again")
        if Path(plain).suffix.lower() != ".cajole":
            detect_file_kind(Path(plain))
        number = generate_id()
        return Upload(number, self._inbox / number / plain)

    def lock_upload_folder(self) -> None:
        """Lock the folder of uploads, so that other studios do not remove it. Raises FileError."""
        self._inbox_lock.acquire()

    def register_upload(self, upload: Upload) -> None:
        """Add a complete upload."""
        with self._lock:
            self._uploads[upload.id] = upload

    def discard_upload(self, upload: Upload) -> None:
        """Remove an upload."""
        shutil.rmtree(upload.path.parent, ignore_errors=True)

    def find_export(self, export_id: str) -> Path | None:
        """An exported file by its id."""
        if not ID_PATTERN.fullmatch(export_id):
            return None
        files = sorted((self.store.exports_folder / export_id).glob("*"))
        return files[0] if len(files) == 1 and not files[0].name.startswith(".") else None

    # --- inner workings

    def _open_stored_project(self, project_id: str) -> Project:
        """Open a stored project; its folder is locked before it is read."""
        if not self.store.has_project(project_id):
            self.store.load(project_id)  # raises what is wrong with it
        lock = self.store.create_lock(project_id)
        lock.acquire()
        try:
            record = self.store.load(project_id)
        except BaseException:
            lock.release()
            raise
        return self._start_project(ProjectStartup(record, self._make_loader(record), is_stored=True, lock=lock))

    def _make_loader(self, record: ProjectRecord) -> Callable[[ProgressCallback], ProjectContent]:
        source, place = record.source, self.store.get_folder(record.id)

        def load_content(progress: ProgressCallback) -> ProjectContent:
            if source.file is None:
                return open_scene(str(source.scene), str(source.mode), progress)
            return replace(open_file(place / source.file, progress), name=record.name)

        return load_content

    def _start_project(self, start: ProjectStartup) -> Project:
        project = Project(start, self.store)
        with self._lock:
            self._projects[project.id] = project
            self.active_project_id = project.id
            others = [each for each in self._projects.values() if each is not project]
            left = [each for each in others if not len(each.clients) and each.is_saved]
            many = sorted(left, key=lambda each: each.clients.last_left_at)[
                : max(len(self._projects) - MAX_OPEN_PROJECTS, 0)
            ]
            for old in many:
                self._closing[old.id] = self._projects.pop(old.id)
        project.start()
        # the new project need not wait for jobs of the old ones
        threading.Thread(target=self._close_projects, args=many, name="cajole-close", daemon=True).start()
        return project

    def _close_projects(self, *projects: Project) -> None:
        for project in projects:
            with self._lock:
                self._projects.pop(project.id, None)
                self._closing[project.id] = project
                self.clear_active_project(project)
            if not project.close(timeout=CLOSE_TIMEOUT):
                LOG.warning("%s is still at work and was left behind", project.name)
            with self._lock:
                self._closing.pop(project.id, None)


def copy_source(folder: Path, path: Path, content: ProjectContent) -> None:
    """Copy the input of a project: an animation as .npz, which stores all of it; a mesh unchanged."""
    if content.animation is not None:
        content.animation.write(folder / "source.npz")
        return
    parts = path.parent.glob(f"{path.stem}.*") if path.suffix.lower() in TETGEN_SUFFIXES else [path]
    for file in parts:
        with replace_atomically(folder / f"source{file.suffix.lower()}") as target:
            shutil.copyfile(file, target)


# --- uploads


@dataclass(frozen=True)
class FileSummary:
    """Kind and description of a file, and the modes that it can be opened in."""

    kind: Literal["mesh", "animation", "project"]
    description: str
    modes: dict[str, ModeAvailability]


def inspect_file(path: Path, progress: ProgressCallback | None = None) -> FileSummary:
    """Read a file as far as needed to describe it. Raises FileError for files that cannot be opened, Cancelled.

    The file comes from a client, so it may not refer to files outside its own folder.
    """
    with confine_reads(), reporting_to(progress):
        if path.suffix.lower() == ".cajole":
            return _inspect_project(path)
        if detect_file_kind(path) == "animation":
            animation = read_animation(path)
            description = f"a motion of {animation.frames} frames, {_describe_mesh(animation.mesh)}"
            return FileSummary("animation", description, find_available_modes(build_animation_content(animation)))
        mesh = read_mesh(path)
        return FileSummary("mesh", _describe_mesh(mesh), find_modes_for_mesh())


def _describe_mesh(mesh: MeshTet | MeshTri | MeshLine) -> str:
    if isinstance(mesh, MeshLine):
        return f"a mesh of {len(mesh.lines)} lines"
    if isinstance(mesh, MeshTet):
        return f"a solid mesh, {len(mesh.tets)} tets"
    return f"a surface mesh, {len(mesh.triangles)} triangles"


def _inspect_project(path: Path) -> FileSummary:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(DOCUMENT_NAME).file_size > MAX_DOCUMENT_BYTES:
                raise FileError(f"{path.name} is too large for a project; open another file")
            with archive.open(DOCUMENT_NAME) as stream:
                document = json.loads(stream.read(MAX_DOCUMENT_BYTES))
        name, mode = str(document["name"]), str(document["mode"])
    except (*READ_ERRORS, TypeError, RecursionError) as reason:
        if isinstance(reason, FileError):
            raise
        raise FileError(f"{path.name} is no project of the studio ({reason}); open another file") from None
    return FileSummary("project", f"the project {name}, in {mode.capitalize()}", {mode: ModeAvailability(True)})
