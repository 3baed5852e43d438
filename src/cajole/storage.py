"""Files that are either whole or absent, and a cache on disk addressed by content.

One place for atomic writing and for hashing arrays; every writer and every cache uses it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.errors import FileError

# what helps where the system refuses to write
_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free some space or choose another place"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "choose a folder that you may write to"),
    **dict.fromkeys((errno.ENOENT, errno.EINVAL), "no file can be made in this folder: choose another place"),
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR), "part of the path is a file, not a folder: choose another place"),
    errno.EISDIR: "this is a folder: give the name of a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}


# names of the files that `atomic_path` works on: those of tempfile.mkstemp
_TEMPORARY = re.compile(r"\..+-[a-z0-9_]{8}(\.[^.]+)?")
# what systems answer that cannot sync a folder, or not open one, at all: there is nothing to do about it
_NO_FOLDER_SYNC = (errno.EINVAL, errno.EBADF, errno.EACCES, errno.EISDIR, errno.ENOTSUP, errno.ENOSYS)


@contextlib.contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `target`, moved over it when the block ends well.

    Once the block has ended, the content and the name are synced to the disk, so that they survive a power failure. A
    crash, a full disk or a cancelled run leaves the old file as it was. Only a killed process leaves its temporary
    file, which `temporaries` finds.
    """
    path = Path(target)
    try:
        make_folder(path.parent)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    except OSError as reason:
        raise cannot_write(path, reason) from reason
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as reason:
        raise cannot_write(path, reason) from reason
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, each entry synced to the disk. Raises OSError, FileError."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in reversed(missing):
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Have the names of a folder's files on the disk, where the system can. Raises FileError where the disk fails."""
    if os.name == "nt":  # Windows opens no folder, and writes its entries by itself
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as reason:
        if reason.errno not in _NO_FOLDER_SYNC:
            raise FileError(
                f"cannot sync {folder}: {reason.strerror or reason}; what was written may be lost if the power fails: "
                "check the disk"
            ) from reason


def temporaries(folder: Path) -> list[Path]:
    """Files that `atomic_path` works on in a folder, or that it left there when its process was killed."""
    return [path for path in folder.glob(".*") if _TEMPORARY.fullmatch(path.name) and path.is_file()]


def require_place(target: str | os.PathLike[str]) -> None:
    """Raise FileError where no file could be written at `target`: before the work, not after it; leaves nothing."""
    path = Path(target)
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        folder = path.absolute().parent
        while not folder.exists():
            folder = folder.parent
        # permissions do not tell of file systems that refuse: only trying does
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as reason:
        raise cannot_write(path, reason) from reason


def cannot_write(path: Path, reason: OSError) -> FileError:
    """What to raise when the system refuses to write `path`: its reason, and what to do about that."""
    remedy = _REMEDIES.get(reason.errno or 0, "choose another place")
    return FileError(
        f"cannot write {path}: {reason.strerror or reason}; {remedy} (what stood there before is unchanged)"
    )


def content_hash(*parts: NDArray[Any] | str | int | float | None) -> str:
    """A hex digest of arrays (shape, type and bytes) and plain values: equal content, equal name."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(f"|{type(part).__name__}:{part!r}|".encode())
    return digest.hexdigest()[:32]


# What numpy and zipfile raise for damaged files.
READ_ERRORS = (
    OSError, ValueError, KeyError, EOFError, RuntimeError, AttributeError, MemoryError, OverflowError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_arrays(path: str | os.PathLike[str], only: Callable[[str], bool] | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file, or those whose names `only` says yes to, never unpickled.

    Raises FileError for anything that is not one.
    """
    try:
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files if only is None or only(name)}
    except READ_ERRORS as reason:
        said = f"{reason.strerror}; check the path" if isinstance(reason, OSError) and reason.strerror else reason
        raise FileError(f"cannot read arrays from {path}: {said}") from None


def cache_folder() -> Path:
    """Where results that are slow to make are kept: $CAJOLE_CACHE, else the user's cache folder."""
    chosen = os.environ.get("CAJOLE_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "cajole"


def cache_load(kind: str, key: str) -> dict[str, NDArray[Any]] | None:
    """The arrays stored under `key`, or None when there are none (or they are damaged)."""
    try:
        return read_arrays(cache_folder() / kind / f"{key}.npz")
    except FileError:
        return None


def cache_store(kind: str, key: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store arrays under `key`; a cache that cannot be written is no reason to fail."""
    with contextlib.suppress(FileError), atomic_path(cache_folder() / kind / f"{key}.npz") as path:
        np.savez(path, allow_pickle=False, **dict(arrays))


def cached(kind: str, key: str, make: Callable[[], Mapping[str, NDArray[Any]]]) -> Mapping[str, NDArray[Any]]:
    """The arrays stored under `key`, or those that `make` makes, which are stored."""
    stored = cache_load(kind, key)
    if stored is not None:
        return stored
    made = make()
    cache_store(kind, key, made)
    return made


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
