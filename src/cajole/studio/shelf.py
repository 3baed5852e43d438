"""The folder in which projects are kept, and files that hold one.

A project is a folder of its own: project.json, and beside it the files that it names. Each of them is written whole
under a new name before project.json speaks of it, and removed only when that no longer does: whenever the power goes,
the last committed step is there.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.errors import FileError, InputError
from cajole.storage import atomic_path, content_hash, read_arrays
from cajole.studio.modes.base import Saved
from cajole.studio.protocol import MODES

OPEN = "open.pid"
FORMAT, VERSION = "cajole studio project", 1
DOCUMENT = "project.json"
# what a document may weigh [bytes]: drags and dials are words and numbers, motions are in files beside it
LARGEST_DOCUMENT = 64_000_000
ID = re.compile(r"[a-z0-9]{8,32}")
FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,80}")
# exports and uploads that nobody fetched [s]
STALE = 24 * 3600.0


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

    @property
    def incoming(self) -> Path:
        """Where uploads lie until they are opened."""
        return self.folder / "incoming"

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
            with atomic_path(place / stored) as path:
                np.savez(path, allow_pickle=False, **arrays)
        document = _document(record, stored)
        with atomic_path(place / DOCUMENT) as path:
            path.write_text(_as_text(document) + "\n", encoding="utf-8")
        self._tidy(place, document)

    def load(self, project: str) -> Record:
        """A project as it was kept. Raises FileError for one that is not there or damaged."""
        return read_record(self.place(project))

    def delete(self, project: str) -> None:
        """Remove a project; nothing happens when there is none."""
        shutil.rmtree(self.place(project), ignore_errors=True)

    def recent(self, most: int = 24) -> list[Record]:
        """Projects without what their modes hold, the last changed first; damaged ones are left out."""
        found = []
        for path in self.folder.glob(f"projects/*/{DOCUMENT}"):
            try:
                found.append(_told(_read_document(path), {}))
            except (FileError, KeyError, TypeError, ValueError):
                continue
        return sorted(found, key=lambda record: -record.when)[:most]

    def mark(self, project: str) -> None:
        """The project is open here; without `unmark` it was not closed, but cut off."""
        with contextlib.suppress(OSError):
            (self.place(project) / OPEN).write_text(str(os.getpid()), encoding="ascii")

    def unmark(self, project: str) -> None:
        """The project was closed."""
        (self.place(project) / OPEN).unlink(missing_ok=True)

    def was_cut_off(self, project: str) -> bool:
        """Whether the studio that had the project open is gone without having closed it."""
        try:
            owner = int((self.place(project) / OPEN).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return False
        return owner != os.getpid() and not _is_running(owner)

    def sweep(self) -> None:
        """Remove uploads and exports that nobody fetched within a day."""
        for folder in (self.incoming, self.outgoing):
            for path in folder.glob("*"):
                try:
                    if time.time() - path.stat().st_mtime > STALE:
                        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
                except OSError:
                    continue

    @staticmethod
    def _tidy(place: Path, document: Mapping[str, Any]) -> None:
        """Remove arrays and motions that the document does not name any more."""
        named = {document["arrays"], *(each["given"] for each in document["modes"].values())}
        for path in place.glob("*.npz"):
            if path.name.startswith(("arrays-", "given-")) and path.name not in named:
                path.unlink(missing_ok=True)


def read_record(place: Path) -> Record:
    """The project in a folder. Raises FileError for one that is not there or damaged, saying where."""
    document = _read_document(place / DOCUMENT)
    try:
        stored = document["arrays"]
        arrays = {} if stored is None else read_arrays(place / _file(stored))
        return _told(document, arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as reason:
        if isinstance(reason, FileError):
            raise
        raise FileError(f"{place / DOCUMENT} is damaged ({reason}); open another project") from None


def as_read(saved: Saved) -> Saved:
    """What a mode saved, as `load` would give it back: tuples become lists, keys text, NumPy's numbers plain ones.

    Modes restore from this alone, so that going back to a mode and opening the project again are the same.
    """
    return Saved(json.loads(_as_text(saved.document)), saved.arrays)


def _read_document(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LARGEST_DOCUMENT:
            raise FileError(f"{path} is too large for a project; open another")
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as reason:
        if isinstance(reason, FileError):
            raise
        raise FileError(f"{path} cannot be read ({reason}); open another project") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileError(f"{path} is no project of the studio; open another file")
    if document.get("version") != VERSION:
        raise FileError(f"{path} is of version {document.get('version')!r}; this Cajole reads version {VERSION}")
    return document


def _told(document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Record:
    modes = {}
    for name, each in document["modes"].items():
        own = {key.removeprefix(f"{name}."): value for key, value in arrays.items() if key.startswith(f"{name}.")}
        modes[_mode(name)] = Saved(dict(each["document"]), own)
    given = {name: _file(each["given"]) for name, each in document["modes"].items() if each["given"] is not None}
    source = dict(document["source"])
    if "file" in source:
        _file(source["file"])
    return Record(
        id=str(document["id"]), name=str(document["name"]), mode=_mode(document["mode"]), source=source, modes=modes,
        given=given, frame=int(document["frame"]), text=str(document["text"]), when=float(document["when"]),
    )  # fmt: skip


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


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of someone else, or of a system that does not tell
        return True
    return True
