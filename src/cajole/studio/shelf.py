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
from cajole.storage import atomic_path, content_hash, read_arrays, write_arrays
from cajole.studio import take
from cajole.studio.locks import FolderLock, remove_abandoned_temporaries, unowned, was_abandoned
from cajole.studio.modes.base import Saved
from cajole.studio.protocol import MODES

FORMAT, VERSION = "cajole studio project", 1
DOCUMENT = "project.json"
# what a document may weigh [bytes]: drags and dials are words and numbers, motions are in files beside it
LARGEST_DOCUMENT = 64_000_000
ID = re.compile(r"[a-z0-9]{8,32}")
FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,80}")
# exports that nobody fetched [s]
STALE = 24 * 3600.0
# how often a project is read that changes while it is copied
COPY_TRIES = 5
# characters of a name or a summary
LONGEST_TEXT = 10_000


@dataclass(frozen=True, eq=False)
class Record:
    """A project as it is kept. source: what it was opened from; modes: what each mode needs to go on.

    given: by mode, the file of the motion that was handed to it; when: of the last change [s since 1970].
    """

    id: str
    name: str
    mode: str
    source: Mapping[str, Any]
    modes: Mapping[str, Saved] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    frame: int = 0
    text: str = ""
    when: float = 0.0


def new_id() -> str:
    """A name for a project or a file that nobody can guess."""
    return secrets.token_hex(8)


def default_folder() -> Path:
    """$CAJOLE_STUDIO, else the user's folder for data."""
    chosen = os.environ.get("CAJOLE_STUDIO")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "cajole" / "studio"


class Shelf:
    """All projects of one folder."""

    def __init__(self, folder: str | os.PathLike[str] | None = None):
        self.folder = default_folder() if folder is None else Path(folder)

    def place(self, project: str) -> Path:
        """The folder of a project. Raises InputError for what is no id of one."""
        if not isinstance(project, str) or not ID.fullmatch(project):
            raise InputError(f"{project!r} is no project; choose one of the list")
        return self.folder / "projects" / project

    def lock(self, project: str) -> FolderLock:
        """The lock of a project, not acquired yet."""
        return FolderLock(self.place(project), self._guard)

    def inbox(self) -> tuple[Path, FolderLock]:
        """A folder for the uploads of one server, and its lock, not acquired yet."""
        folder = self.incoming / new_id()
        return folder, FolderLock(folder, self._guard)

    @property
    def incoming(self) -> Path:
        """Where each server has a folder for uploads."""
        return self.folder / "incoming"

    @property
    def _guard(self) -> Path:
        return self.folder / "guard.lock"

    @property
    def outgoing(self) -> Path:
        """Where exports lie until they are fetched."""
        return self.folder / "outgoing"

    def has(self, project: str) -> bool:
        return (self.place(project) / DOCUMENT).is_file()

    def save(self, record: Record) -> None:
        """Keep a project as it is now. Raises FileError when it cannot be written; what was kept before still is."""
        place = self.place(record.id)
        arrays = _arrays(record.modes)
        stored = f"arrays-{content_hash(*_flat(arrays))}.npz" if arrays else None
        if stored is not None and not (place / stored).is_file():
            write_arrays(place / stored, arrays)
        document = _document(record, stored)
        with atomic_path(place / DOCUMENT) as path:
            path.write_text(_as_text(document) + "\n", encoding="utf-8")
        self._tidy(place, document)

    def load(self, project: str) -> Record:
        """A project as it was kept. Raises FileError for one that is not there or damaged."""
        return read_record(self.place(project))

    def delete(self, project: str) -> None:
        """Remove a project; nothing happens when there is none. Raises FolderLocked while a studio has it open."""
        if self.place(project).is_dir():
            with unowned(self.place(project), self._guard):
                shutil.rmtree(self.place(project), ignore_errors=True)

    def copy(self, project: str) -> Record:
        """Keep a copy of a project, as it was last saved, under a new id. Raises FileError.

        Another studio may have it open, and replace its files in the meantime: then they are read again.
        """
        for left in reversed(range(COPY_TRIES)):
            copied = new_id()
            try:
                record = self.load(project)
                record = replace(record, id=copied, name=f"{record.name} (copy)", when=time.time())
                with self.lock(copied):
                    for path in self._named_files(self.place(project), record):
                        with atomic_path(self.place(copied) / path.name) as target:
                            shutil.copyfile(path, target)
                    self.save(record)
                return record
            except FileError:
                shutil.rmtree(self.place(copied), ignore_errors=True)
                if not left:
                    raise
        raise AssertionError("the last try returns or raises")

    def recent(self, most: int = 24) -> list[Record]:
        """Projects without what their modes hold, the last changed first; damaged ones are left out."""
        found = []
        for path in self.folder.glob(f"projects/*/{DOCUMENT}"):
            with contextlib.suppress(FileError):
                if ID.fullmatch(path.parent.name):
                    found.append(read_record(path.parent, with_arrays=False))
        return sorted(found, key=lambda record: -record.when)[:most]

    def was_cut_off(self, project: str) -> bool:
        """Whether the studio that had the project open is gone without having closed it."""
        return was_abandoned(self.place(project))

    def sweep(self) -> None:
        """Remove what studios left that were killed: half-written files, uploads; and exports of more than a day ago.

        Folders that a running studio owns are left alone.
        """
        for folder in self.folder.glob("projects/*"):
            with contextlib.suppress(FileError, OSError):
                remove_abandoned_temporaries(folder, self._guard)
        for folder in self.incoming.glob("*"):
            with contextlib.suppress(FileError, OSError), unowned(folder, self._guard):
                _remove(folder)
        for path in self.outgoing.glob("*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > STALE:
                    _remove(path)

    @staticmethod
    def _named_files(place: Path, record: Record) -> list[Path]:
        """Files beside project.json that a copy needs: what was opened, with its partner, and motions."""
        named = [place / name for name in record.given.values()]
        return sorted({*named, *(place.glob("source.*") if "file" in record.source else ())})

    @staticmethod
    def _tidy(place: Path, document: Mapping[str, Any]) -> None:
        """Remove arrays and motions that the document does not name any more."""
        named = {document["arrays"], *(each["given"] for each in document["modes"].values())}
        for path in place.glob("*.npz"):
            if path.name.startswith(("arrays-", "given-")) and path.name not in named:
                path.unlink(missing_ok=True)


def read_record(place: Path, *, with_arrays: bool = True) -> Record:
    """The project in a folder, whose name is its id. Raises FileError for one that is not there or damaged."""
    document = _read_document(place / DOCUMENT)
    try:
        stored = document["arrays"]
        arrays = {} if stored is None or not with_arrays else read_arrays(place / _file(stored))
        return _told(document, arrays, place.name)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as reason:
        if isinstance(reason, FileError):
            raise
        said = f"it lacks {reason}" if isinstance(reason, KeyError) else reason
        raise FileError(f"{place / DOCUMENT} is damaged ({said}); open another project") from None


def as_read(saved: Saved) -> Saved:
    """What a mode saved, as `load` would give it back: tuples become lists, keys text, NumPy's numbers plain ones.

    Modes restore from this alone, so that going back to a mode and opening the project again are the same.
    """
    return Saved(json.loads(_as_text(saved.document)), saved.arrays)


def _read_document(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LARGEST_DOCUMENT:
            raise FileError(f"{path} is too large for a project; open another")
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (OSError, ValueError, RecursionError) as reason:
        if isinstance(reason, FileError):
            raise
        raise FileError(f"{path} cannot be read ({reason}); open another project") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileError(f"{path} is no project of the studio; open another file")
    if document.get("version") != VERSION:
        raise FileError(f"{path} is of version {document.get('version')!r}; this Cajole reads version {VERSION}")
    return document


def _told(document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], project: str) -> Record:
    modes, given = dict[str, Saved](), dict[str, str]()
    for name, each in _table(document, "modes").items():
        own = {key.removeprefix(f"{name}."): value for key, value in arrays.items() if key.startswith(f"{name}.")}
        modes[_mode(name)] = Saved(_table(each, "document"), own)
        if each["given"] is not None:
            given[name] = _file(each["given"])
    return Record(
        id=project, name=_text(document, "name"), mode=_mode(document["mode"]), source=_source(document), modes=modes,
        given=given, frame=take.integer(document, "frame"), text=_text(document, "text"),
        when=take.number(document, "when"),
    )  # fmt: skip


def _table(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(document[name], dict):
        raise InputError(f"{name} must be an object, not {type(document[name]).__name__}")
    return dict(document[name])


def _text(document: Mapping[str, Any], name: str) -> str:
    found = document[name]
    if not isinstance(found, str) or len(found) > LONGEST_TEXT:
        raise InputError(f"{name} must be text of at most {LONGEST_TEXT} characters")
    return found


def _source(document: Mapping[str, Any]) -> dict[str, Any]:
    """A file of the project's own, or a scene for a mode."""
    source = _table(document, "source")
    if "file" in source:
        return {"file": _file(source["file"])}
    return {"scene": _text(source, "scene"), "mode": _mode(source["mode"])}


def _document(record: Record, arrays: str | None) -> dict[str, Any]:
    modes = {
        name: {"document": saved.document, "given": record.given.get(name)} for name, saved in record.modes.items()
    }
    plain = {name: getattr(record, name) for name in ("id", "name", "mode", "frame", "text", "when")}
    return {"format": FORMAT, "version": VERSION, **plain, "source": record.source, "modes": modes, "arrays": arrays}


def _arrays(modes: Mapping[str, Saved]) -> dict[str, NDArray[Any]]:
    return {f"{name}.{key}": np.asarray(value) for name, saved in modes.items() for key, value in saved.arrays.items()}


def _flat(arrays: Mapping[str, NDArray[Any]]) -> list[NDArray[Any] | str]:
    return [part for name in sorted(arrays) for part in (name, arrays[name])]


def _mode(name: object) -> str:
    if name not in MODES:
        raise FileError(f"a project speaks of the mode {name!r}, which there is not; open another")
    return str(name)


def _file(name: object) -> str:
    """A file of the project's own folder, never one elsewhere."""
    if not isinstance(name, str) or not FILE.fullmatch(name) or ".." in name:
        raise FileError(f"a project names the file {name!r}, which cannot be one of its own; open another")
    return name


def _as_text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be kept in a project")


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
