"""Projects on disk.

A project is a folder with project.json and the files that it names. Each file is written completely under a new name
before project.json refers to it, and removed after project.json does not. So the last saved step survives a power
failure. Only the process that holds the lock of a project writes to its folder.

The name of the folder is the id of the project; the id in project.json is not read. So a folder that was copied under
another name is another project, and never writes to the first one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from cajole.errors import FileError, InputError
from cajole.storage import READ_ERRORS, hash_content, read_arrays, replace_atomically, write_arrays
from cajole.studio.locks import (
    LOCK_FILE,
    FolderLock,
    has_stale_lock,
    remove_abandoned_temporaries,
    require_no_owner,
)
from cajole.studio.mode_registry import get_modes
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.protocol import JsonObject, Real, Whole, convert_checked, reject_constant

DOCUMENT_NAME = "project.json"
# settings and drags are small; motions are in files beside the document
MAX_DOCUMENT_BYTES = 64_000_000
ID_PATTERN = re.compile(r"[a-z0-9]{8,32}")
FILE_PATTERN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,80}")
# limits of a .cajole file [bytes], so that a small file cannot fill the disk
MAX_UNPACKED_BYTES, MAX_FILES = 4_000_000_000, 200
DocumentText = Annotated[str, Meta(max_length=10_000)]


class ProjectSource(Struct, frozen=True, omit_defaults=True):
    """The input of a project: a file in its folder, or a scene of a mode."""

    file: str | None = None
    scene: DocumentText | None = None
    mode: str | None = None


class StoredMode(Struct, frozen=True):
    """A mode in project.json: its snapshot, and the file of the motion that it got from another mode."""

    document: JsonObject
    given: str | None


class ProjectDocument(Struct, frozen=True, kw_only=True):
    """The content of project.json."""

    format: Literal["cajole studio project"] = "cajole studio project"
    version: Literal[1] = 1
    id: str
    name: DocumentText
    mode: str  # the active one
    frame: Whole
    text: DocumentText  # summary for the start page
    when: Real  # of the last change [s since 1970]
    source: ProjectSource
    modes: dict[str, StoredMode]
    arrays: str | None  # file with the arrays of all snapshots


@dataclass(frozen=True, eq=False)
class ProjectRecord:
    """A stored project. motion_files: files of motions by the mode that got them; changed_at: [s since 1970]."""

    id: str
    name: str
    mode: str
    source: ProjectSource
    snapshots: Mapping[str, ModeSnapshot] = field(default_factory=dict)
    motion_files: Mapping[str, str] = field(default_factory=dict)
    frame: int = 0
    summary: str = ""
    changed_at: float = 0.0


def generate_id() -> str:
    """A random name for a project or a file."""
    return secrets.token_hex(8)


def get_default_folder() -> Path:
    """$CAJOLE_STUDIO, else the user's data folder."""
    if chosen := os.environ.get("CAJOLE_STUDIO"):
        return Path(chosen)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "cajole" / "studio"


class ProjectStore:
    """All projects of one folder."""

    def __init__(self, folder: str | os.PathLike[str] | None = None):
        self.folder = get_default_folder() if folder is None else Path(folder)
        # each server has a folder of its own for uploads
        self.uploads_folder = self.folder / "incoming"
        # exports until they are downloaded
        self.exports_folder = self.folder / "outgoing"
        self._guard_file = self.folder / "guard.lock"

    def get_folder(self, project_id: str) -> Path:
        """The folder of a project. Raises InputError for an invalid id."""
        if not isinstance(project_id, str) or not ID_PATTERN.fullmatch(project_id):
            raise InputError(f"{project_id!r} is no project; choose one of the list")
        return self.folder / "projects" / project_id

    def create_lock(self, project_id: str) -> FolderLock:
        """The lock of a project, not acquired yet."""
        return FolderLock(self.get_folder(project_id), self._guard_file)

    def create_upload_folder(self) -> tuple[Path, FolderLock]:
        """A folder for the uploads of one server, and its lock, not acquired yet."""
        folder = self.uploads_folder / generate_id()
        return folder, FolderLock(folder, self._guard_file)

    def has_project(self, project_id: str) -> bool:
        return (self.get_folder(project_id) / DOCUMENT_NAME).is_file()

    def save(self, record: ProjectRecord) -> None:
        """Write a project. Raises FileError if it cannot be written; the version before then is still there."""
        folder = self.get_folder(record.id)
        arrays: dict[str, NDArray[Any]] = {
            f"{name}.{key}": np.asarray(value)
            for name, snapshot in record.snapshots.items()
            for key, value in snapshot.arrays.items()
        }
        stored = None
        if arrays:
            stored = f"arrays-{hash_content(*(part for name in sorted(arrays) for part in (name, arrays[name])))}.npz"
            if not (folder / stored).is_file():
                write_arrays(folder / stored, arrays)
        document = _build_document(record, stored)
        with replace_atomically(folder / DOCUMENT_NAME) as path:
            path.write_text(_to_json(document) + "\n", encoding="utf-8")
        named = {stored, *record.motion_files.values()}
        for path in folder.glob("*.npz"):
            if path.name.startswith(("arrays-", "given-")) and path.name not in named:
                path.unlink(missing_ok=True)

    def load(self, project_id: str) -> ProjectRecord:
        """Read a project. Raises FileError if it does not exist or is damaged."""
        return read_record(self.get_folder(project_id))

    def delete(self, project_id: str) -> None:
        """Remove a project; nothing happens if there is none. Raises FolderLocked while a studio has it open."""
        if self.get_folder(project_id).is_dir():
            with require_no_owner(self.get_folder(project_id), self._guard_file):
                shutil.rmtree(self.get_folder(project_id), ignore_errors=True)

    def copy(self, project_id: str) -> ProjectRecord:
        """Copy a project, as it was last saved, under a new id. Raises FileError.

        If another studio has it open and replaces its files meanwhile, they are read again.
        """
        for attempts_left in reversed(range(5)):
            copied = generate_id()
            try:
                record = self.load(project_id)
                record = replace(record, id=copied, name=f"{record.name} (copy)", changed_at=time.time())
                folder = self.get_folder(project_id)
                # the source may be two files, such as a .node and an .ele
                files = {folder / name for name in record.motion_files.values()}
                files |= set(folder.glob("source.*") if record.source.file is not None else ())
                with self.create_lock(copied):
                    for path in sorted(files):
                        with replace_atomically(self.get_folder(copied) / path.name) as target:
                            shutil.copyfile(path, target)
                    self.save(record)
                return record
            except FileError:
                shutil.rmtree(self.get_folder(copied), ignore_errors=True)
                if not attempts_left:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def list_recent(self, max_count: int = 24) -> list[ProjectRecord]:
        """Projects without their arrays, the last changed first; damaged ones are left out."""
        found = []
        for path in self.folder.glob(f"projects/*/{DOCUMENT_NAME}"):
            with contextlib.suppress(FileError):
                if ID_PATTERN.fullmatch(path.parent.name):
                    found.append(read_record(path.parent, with_arrays=False))
        return sorted(found, key=lambda record: -record.changed_at)[:max_count]

    def has_stale_lock(self, project_id: str) -> bool:
        """True if the studio that had the project open ended without closing it."""
        return has_stale_lock(self.get_folder(project_id))

    def remove_stale_files(self) -> None:
        """Remove incomplete files and uploads of studios that were killed, and exports older than a day.

        Folders that a running studio owns stay.
        """
        for folder in self.folder.glob("projects/*"):
            with contextlib.suppress(FileError, OSError):
                remove_abandoned_temporaries(folder, self._guard_file)
        for folder in self.uploads_folder.glob("*"):
            with contextlib.suppress(FileError, OSError), require_no_owner(folder, self._guard_file):
                _remove(folder)
        for path in self.exports_folder.glob("*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > 24 * 3600.0:
                    _remove(path)


def read_record(folder: Path, *, with_arrays: bool = True) -> ProjectRecord:
    """The project in a folder, whose name is its id. Raises FileError if it does not exist or is damaged."""
    path = folder / DOCUMENT_NAME
    try:
        document = _read_document(path)
        stored = document.arrays
        arrays = {} if stored is None or not with_arrays else read_arrays(folder / stored)
    except (TypeError, ValueError, OverflowError) as reason:
        if isinstance(reason, FileError):
            raise
        raise FileError(f"{path} is damaged ({reason}); open another project") from None
    snapshots = {}
    for name, mode in document.modes.items():
        own = {key.removeprefix(f"{name}."): value for key, value in arrays.items() if key.startswith(f"{name}.")}
        snapshots[name] = ModeSnapshot(mode.document, own)
    return ProjectRecord(
        id=folder.name,
        name=document.name,
        mode=document.mode,
        source=document.source,
        snapshots=snapshots,
        motion_files={name: mode.given for name, mode in document.modes.items() if mode.given is not None},
        frame=document.frame,
        summary=document.text,
        changed_at=document.when,
    )


def round_trip_json(snapshot: ModeSnapshot) -> ModeSnapshot:
    """A snapshot as `load` returns it: tuples become lists, keys text, and NumPy numbers plain ones.

    Modes are restored from this alone, so that returning to a mode and opening the project again are the same.
    """
    return ModeSnapshot(json.loads(_to_json(snapshot.document)), snapshot.arrays)


def _read_document(path: Path) -> ProjectDocument:
    """A validated document. Raises FileError, or InputError with the first wrong value."""
    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            raise FileError(f"{path} is too large for a project; open another")
        plain = json.loads(path.read_text(encoding="utf-8"), parse_constant=reject_constant)
    except (OSError, ValueError, RecursionError) as reason:
        if isinstance(reason, FileError):
            raise
        raise FileError(f"{path} cannot be read ({reason}); open another project") from None
    if not isinstance(plain, dict) or plain.get("format") != "cajole studio project":
        raise FileError(f"{path} is no project of the studio; open another file")
    if plain.get("version") != 1:
        raise FileError(f"{path} is of version {plain.get('version')!r}; this Cajole reads version 1")
    document = convert_checked(plain, ProjectDocument, "the document")
    source = document.source
    if source.file is None and (source.scene is None or source.mode is None):
        raise InputError("source of the document lacks file, or scene and mode")
    for name in (document.mode, *document.modes, *(() if source.mode is None else (source.mode,))):
        if name not in get_modes():
            raise FileError(
                f"{path} has the mode {name!r}, which is not installed; install it, or open another project"
            )
    for file in (source.file, document.arrays, *(mode.given for mode in document.modes.values())):
        if file is not None and (not FILE_PATTERN.fullmatch(file) or ".." in file):
            raise FileError(f"{path} names the file {file!r}, which cannot be one of its own; open another project")
    return document


def _build_document(record: ProjectRecord, arrays: str | None) -> ProjectDocument:
    return ProjectDocument(
        id=record.id,
        name=record.name,
        mode=record.mode,
        frame=record.frame,
        text=record.summary,
        when=record.changed_at,
        source=record.source,
        modes={
            name: StoredMode(snapshot.document, record.motion_files.get(name))
            for name, snapshot in record.snapshots.items()
        },
        arrays=arrays,
    )


def _to_json(document: object) -> str:
    """A document as JSON. Raises ValueError for numbers that are not finite."""

    def to_plain(value: object) -> object:
        if isinstance(value, np.ndarray | np.generic):
            return value.tolist()
        raise TypeError(f"{type(value).__name__} cannot be stored in a project")

    return json.dumps(msgspec.to_builtins(document, enc_hook=to_plain, str_keys=True), allow_nan=False)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


# --- projects in one file


def pack_project(store: ProjectStore, project_id: str, path: str | os.PathLike[str]) -> None:
    """Write a stored project to a .cajole file, a zip of its folder. Raises FileError."""
    folder = store.get_folder(project_id)
    if not store.has_project(project_id):
        raise FileError("the project was not kept yet; change something first")
    with replace_atomically(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(folder.iterdir()):
            if FILE_PATTERN.fullmatch(file.name) and file.is_file() and file.name != LOCK_FILE:
                archive.write(file, file.name)


def unpack_project(store: ProjectStore, path: str | os.PathLike[str]) -> ProjectRecord:
    """Store the project of a .cajole file under a new id.

    Raises FileError, and leaves nothing, if a name has folders in it, a member is larger than it claims, or the file is
    no project.
    """
    project_id, name = generate_id(), Path(path).name
    folder = store.get_folder(project_id)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check_members(archive, members, name)
            with store.create_lock(project_id):
                bytes_left = MAX_UNPACKED_BYTES
                for info in members:
                    with archive.open(info) as source, (folder / info.filename).open("xb") as sink:
                        while block := source.read(1 << 20):
                            bytes_left -= len(block)
                            if bytes_left < 0:
                                raise FileError(
                                    f"{info.filename} unpacks to more than a project has; open another file"
                                )
                            sink.write(block)
                        sink.flush()
                        os.fsync(sink.fileno())
                record = read_record(folder)
                store.save(record)
        return record
    except READ_ERRORS as reason:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(reason, FileError):
            raise
        raise FileError(f"{name} is no project of the studio ({reason}); open another file") from None


def _check_members(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], name: str) -> None:
    names = [info.filename for info in members]
    if DOCUMENT_NAME not in names:
        raise FileError(f"{name} is no project of the studio: it has no {DOCUMENT_NAME}; open another file")
    if len(members) > MAX_FILES or len(set(names)) < len(names):
        raise FileError(f"{name} has {len(members)} parts, some twice or too many for a project; open another")
    for member in names:
        if not FILE_PATTERN.fullmatch(member) or ".." in member:
            raise FileError(f"{name} holds {member!r}, which is no file of a project; open another file")
    total = sum(info.file_size for info in members)
    if total > MAX_UNPACKED_BYTES or archive.getinfo(DOCUMENT_NAME).file_size > MAX_DOCUMENT_BYTES:
        raise FileError(f"{name} would unpack to {total} bytes, more than a project has; open another file")
