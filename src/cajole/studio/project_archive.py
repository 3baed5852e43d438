"""A project in one file, `.cajole`: a zip of its folder, to be kept, sent and opened elsewhere."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

from cajole.errors import FileError
from cajole.storage import READ_ERRORS, replace_atomically
from cajole.studio.locks import LOCK_FILE
from cajole.studio.project_store import (
    DOCUMENT_NAME,
    FILE_PATTERN,
    MAX_DOCUMENT_BYTES,
    ProjectRecord,
    ProjectStore,
    generate_id,
    read_record,
)

# what a file may unpack to [bytes], and of how many members
MAX_UNPACKED_BYTES, MAX_FILES = 4_000_000_000, 200
_BLOCK_BYTES = 1 << 20


def pack_project(store: ProjectStore, project_id: str, path: str | os.PathLike[str]) -> None:
    """Write a project that is on the shelf to a .cajole file. Raises FileError."""
    place = store.get_folder(project_id)
    if not store.has_project(project_id):
        raise FileError("the project was not kept yet; change something first")
    with replace_atomically(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(place.iterdir()):
            if FILE_PATTERN.fullmatch(file.name) and file.is_file() and file.name != LOCK_FILE:
                archive.write(file, file.name)


def unpack_project(store: ProjectStore, path: str | os.PathLike[str]) -> ProjectRecord:
    """Put the project of a .cajole file on the shelf under a new id.

    Names with folders in them, files that claim more than they hold or than a project has, and anything that is no
    project raise FileError, and nothing is left of them.
    """
    project = generate_id()
    place = store.get_folder(project)
    try:
        with zipfile.ZipFile(path) as archive:
            members = _check_members(archive, Path(path))
            with store.create_lock(project):
                left = MAX_UNPACKED_BYTES
                for info in members:
                    left = _extract(archive, info, place / info.filename, left)
                record = read_record(place)
                store.save(record)
        return record
    except READ_ERRORS as reason:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(reason, FileError):
            raise
        raise FileError(f"{Path(path).name} is no project of the studio ({reason}); open another file") from None


def _check_members(archive: zipfile.ZipFile, path: Path) -> list[zipfile.ZipInfo]:
    members = archive.infolist()
    names = [info.filename for info in members]
    if DOCUMENT_NAME not in names:
        raise FileError(f"{path.name} is no project of the studio: it has no {DOCUMENT_NAME}; open another file")
    if len(members) > MAX_FILES or len(set(names)) < len(names):
        raise FileError(f"{path.name} has {len(members)} parts, some twice or too many for a project; open another")
    for info in members:
        if not FILE_PATTERN.fullmatch(info.filename) or ".." in info.filename:
            raise FileError(f"{path.name} holds {info.filename!r}, which is no file of a project; open another file")
    total = sum(info.file_size for info in members)
    if total > MAX_UNPACKED_BYTES or archive.getinfo(DOCUMENT_NAME).file_size > MAX_DOCUMENT_BYTES:
        raise FileError(f"{path.name} would unpack to {total} bytes, more than a project has; open another file")
    return members


def _extract(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path, max_bytes: int) -> int:
    """Copy one member, counting what really comes; how much may still come."""
    with archive.open(info) as source, target.open("xb") as sink:
        while block := source.read(_BLOCK_BYTES):
            max_bytes -= len(block)
            if max_bytes < 0:
                raise FileError(f"{info.filename} unpacks to more than a project has; open another file")
            sink.write(block)
        sink.flush()
        os.fsync(sink.fileno())
    return max_bytes
