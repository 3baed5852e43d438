"""The folder in which projects are kept, and files that hold one.

A project is a folder of its own: project.json, and beside it the files that it names. Each of them is written whole
under a new name before project.json speaks of it, and removed only when that no longer does: whenever the power goes,
the last committed step is there. Only the process that holds the lock of a project writes to its folder.

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
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.errors import FileError, InputError
from cajole.storage import hash_content, read_arrays, replace_atomically, write_arrays
from cajole.studio import message_values
from cajole.studio.locks import FolderLock, has_stale_lock, remove_abandoned_temporaries, require_no_owner
from cajole.studio.mode_registry import get_modes
from cajole.studio.modes.base import ModeSnapshot

FORMAT_NAME, FORMAT_VERSION = "cajole studio project", 1
DOCUMENT_NAME = "project.json"
# what a document may weigh [bytes]: drags and dials are words and numbers, motions are in files beside it
MAX_DOCUMENT_BYTES = 64_000_000
ID_PATTERN = re.compile(r"[a-z0-9]{8,32}")
FILE_PATTERN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,80}")
# exports that nobody fetched [s]
EXPORT_LIFETIME = 24 * 3600.0
# how often a project is read that changes while it is copied
MAX_COPY_ATTEMPTS = 5
# characters of a name or a summary
MAX_TEXT_LENGTH = 10_000


@dataclass(frozen=True, eq=False)
class ProjectRecord:
    """A project as it is kept. source: what it was opened from; modes: what each mode needs to go on.

    given: by mode, the file of the motion that was handed to it; when: of the last change [s since 1970].
    """

    id: str
    name: str
    mode: str
    source: Mapping[str, Any]
    snapshots: Mapping[str, ModeSnapshot] = field(default_factory=dict)
    motion_files: Mapping[str, str] = field(default_factory=dict)
    frame: int = 0
    summary: str = ""
    changed_at: float = 0.0


def generate_id() -> str:
    """A name for a project or a file that nobody can guess."""
    return secrets.token_hex(8)


def get_default_folder() -> Path:
    """$CAJOLE_STUDIO, else the user's folder for data."""
    chosen = os.environ.get("CAJOLE_STUDIO")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "cajole" / "studio"


class ProjectStore:
    """All projects of one folder."""

    def __init__(self, folder: str | os.PathLike[str] | None = None):
        self.folder = get_default_folder() if folder is None else Path(folder)

    def get_folder(self, project_id: str) -> Path:
        """The folder of a project. Raises InputError for what is no id of one."""
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

    @property
    def uploads_folder(self) -> Path:
        """Where each server has a folder for uploads."""
        return self.folder / "incoming"

    @property
    def _guard_file(self) -> Path:
        return self.folder / "guard.lock"

    @property
    def exports_folder(self) -> Path:
        """Where exports lie until they are fetched."""
        return self.folder / "outgoing"

    def has_project(self, project_id: str) -> bool:
        return (self.get_folder(project_id) / DOCUMENT_NAME).is_file()

    def save(self, record: ProjectRecord) -> None:
        """Keep a project as it is now. Raises FileError when it cannot be written; what was kept before still is."""
        place = self.get_folder(record.id)
        arrays = _collect_arrays(record.snapshots)
        stored = f"arrays-{hash_content(*_flatten_for_hash(arrays))}.npz" if arrays else None
        if stored is not None and not (place / stored).is_file():
            write_arrays(place / stored, arrays)
        document = _build_document(record, stored)
        with replace_atomically(place / DOCUMENT_NAME) as path:
            path.write_text(_to_json(document) + "\n", encoding="utf-8")
        self._remove_unreferenced_files(place, document)

    def load(self, project_id: str) -> ProjectRecord:
        """A project as it was kept. Raises FileError for one that is not there or damaged."""
        return read_record(self.get_folder(project_id))

    def delete(self, project_id: str) -> None:
        """Remove a project; nothing happens when there is none. Raises FolderLocked while a studio has it open."""
        if self.get_folder(project_id).is_dir():
            with require_no_owner(self.get_folder(project_id), self._guard_file):
                shutil.rmtree(self.get_folder(project_id), ignore_errors=True)

    def copy(self, project_id: str) -> ProjectRecord:
        """Keep a copy of a project, as it was last saved, under a new id. Raises FileError.

        Another studio may have it open, and replace its files in the meantime: then they are read again.
        """
        for left in reversed(range(MAX_COPY_ATTEMPTS)):
            copied = generate_id()
            try:
                record = self.load(project_id)
                record = replace(record, id=copied, name=f"{record.name} (copy)", changed_at=time.time())
                with self.create_lock(copied):
                    for path in self._list_referenced_files(self.get_folder(project_id), record):
                        with replace_atomically(self.get_folder(copied) / path.name) as target:
                            shutil.copyfile(path, target)
                    self.save(record)
                return record
            except FileError:
                shutil.rmtree(self.get_folder(copied), ignore_errors=True)
                if not left:
                    raise
        raise AssertionError("the last try returns or raises")

    def list_recent(self, max_count: int = 24) -> list[ProjectRecord]:
        """Projects without what their modes hold, the last changed first; damaged ones are left out."""
        found = []
        for path in self.folder.glob(f"projects/*/{DOCUMENT_NAME}"):
            with contextlib.suppress(FileError):
                if ID_PATTERN.fullmatch(path.parent.name):
                    found.append(read_record(path.parent, with_arrays=False))
        return sorted(found, key=lambda record: -record.changed_at)[:max_count]

    def has_stale_lock(self, project_id: str) -> bool:
        """Whether the studio that had the project open is gone without having closed it."""
        return has_stale_lock(self.get_folder(project_id))

    def remove_stale_files(self) -> None:
        """Remove what studios left that were killed: half-written files, uploads; and exports of more than a day ago.

        Folders that a running studio owns are left alone.
        """
        for folder in self.folder.glob("projects/*"):
            with contextlib.suppress(FileError, OSError):
                remove_abandoned_temporaries(folder, self._guard_file)
        for folder in self.uploads_folder.glob("*"):
            with contextlib.suppress(FileError, OSError), require_no_owner(folder, self._guard_file):
                _remove(folder)
        for path in self.exports_folder.glob("*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > EXPORT_LIFETIME:
                    _remove(path)

    @staticmethod
    def _list_referenced_files(folder: Path, record: ProjectRecord) -> list[Path]:
        """Files beside project.json that a copy needs: what was opened, with its partner, and motions."""
        named = [folder / name for name in record.motion_files.values()]
        return sorted({*named, *(folder.glob("source.*") if "file" in record.source else ())})

    @staticmethod
    def _remove_unreferenced_files(folder: Path, document: Mapping[str, Any]) -> None:
        """Remove arrays and motions that the document does not name any more."""
        named = {document["arrays"], *(each["given"] for each in document["modes"].values())}
        for path in folder.glob("*.npz"):
            if path.name.startswith(("arrays-", "given-")) and path.name not in named:
                path.unlink(missing_ok=True)


def read_record(folder: Path, *, with_arrays: bool = True) -> ProjectRecord:
    """The project in a folder, whose name is its id. Raises FileError for one that is not there or damaged."""
    document = _read_document(folder / DOCUMENT_NAME)
    try:
        stored = document["arrays"]
        arrays = {} if stored is None or not with_arrays else read_arrays(folder / _require_file_name(stored))
        return _parse_record(document, arrays, folder.name)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as reason:
        if isinstance(reason, FileError):
            raise
        said = f"it lacks {reason}" if isinstance(reason, KeyError) else reason
        raise FileError(f"{folder / DOCUMENT_NAME} is damaged ({said}); open another project") from None


def round_trip_json(snapshot: ModeSnapshot) -> ModeSnapshot:
    """What a mode saved, as `load` would give it back: tuples become lists, keys text, NumPy's numbers plain ones.

    Modes restore from this alone, so that going back to a mode and opening the project again are the same.
    """
    return ModeSnapshot(json.loads(_to_json(snapshot.document)), snapshot.arrays)


def _read_document(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            raise FileError(f"{path} is too large for a project; open another")
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_reject_constant)
    except (OSError, ValueError, RecursionError) as reason:
        if isinstance(reason, FileError):
            raise
        raise FileError(f"{path} cannot be read ({reason}); open another project") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT_NAME:
        raise FileError(f"{path} is no project of the studio; open another file")
    if document.get("version") != FORMAT_VERSION:
        raise FileError(f"{path} is of version {document.get('version')!r}; this Cajole reads version {FORMAT_VERSION}")
    return document


def _parse_record(document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], project_id: str) -> ProjectRecord:
    modes, given = dict[str, ModeSnapshot](), dict[str, str]()
    for name, each in _read_object(document, "modes").items():
        own = {key.removeprefix(f"{name}."): value for key, value in arrays.items() if key.startswith(f"{name}.")}
        modes[_require_mode(name)] = ModeSnapshot(_read_object(each, "document"), own)
        if each["given"] is not None:
            given[name] = _require_file_name(each["given"])
    return ProjectRecord(
        id=project_id,
        name=_read_text(document, "name"),
        mode=_require_mode(document["mode"]),
        source=_read_source(document),
        snapshots=modes,
        motion_files=given,
        frame=message_values.read_integer(document, "frame"),
        summary=_read_text(document, "text"),
        changed_at=message_values.read_number(document, "when"),
    )


def _read_object(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(document[name], dict):
        raise InputError(f"{name} must be an object, not {type(document[name]).__name__}")
    return dict(document[name])


def _read_text(document: Mapping[str, Any], name: str) -> str:
    found = document[name]
    if not isinstance(found, str) or len(found) > MAX_TEXT_LENGTH:
        raise InputError(f"{name} must be text of at most {MAX_TEXT_LENGTH} characters")
    return found


def _read_source(document: Mapping[str, Any]) -> dict[str, Any]:
    """A file of the project's own, or a scene for a mode."""
    source = _read_object(document, "source")
    if "file" in source:
        return {"file": _require_file_name(source["file"])}
    return {"scene": _read_text(source, "scene"), "mode": _require_mode(source["mode"])}


def _build_document(record: ProjectRecord, arrays: str | None) -> dict[str, Any]:
    modes = {
        name: {"document": saved.document, "given": record.motion_files.get(name)}
        for name, saved in record.snapshots.items()
    }
    plain = {name: getattr(record, name) for name in ("id", "name", "mode", "frame")} | {
        "text": record.summary,
        "when": record.changed_at,
    }
    return {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        **plain,
        "source": record.source,
        "modes": modes,
        "arrays": arrays,
    }


def _collect_arrays(modes: Mapping[str, ModeSnapshot]) -> dict[str, NDArray[Any]]:
    return {f"{name}.{key}": np.asarray(value) for name, saved in modes.items() for key, value in saved.arrays.items()}


def _flatten_for_hash(arrays: Mapping[str, NDArray[Any]]) -> list[NDArray[Any] | str]:
    return [part for name in sorted(arrays) for part in (name, arrays[name])]


def _require_mode(name: object) -> str:
    if name not in get_modes():
        raise FileError(f"a project speaks of the mode {name!r}, which there is not; open another")
    return str(name)


def _require_file_name(name: object) -> str:
    """A file of the project's own folder, never one elsewhere."""
    if not isinstance(name, str) or not FILE_PATTERN.fullmatch(name) or ".." in name:
        raise FileError(f"a project names the file {name!r}, which cannot be one of its own; open another")
    return name


def _to_json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, allow_nan=False, default=_to_plain)


def _to_plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be kept in a project")


def _reject_constant(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
