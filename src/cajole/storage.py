"""Files that are either whole or absent, and a cache on disk addressed by content.

One place for atomic writing and for hashing arrays; every writer and every cache uses it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.errors import FileError


@contextlib.contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `target`, moved over it when the block ends well.

    A crash, a full disk or a cancelled run leaves the old file as it was and no debris.
    """
    path = Path(target)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    except OSError as reason:
        raise _cannot_write(path, reason) from reason
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as reason:
        raise _cannot_write(path, reason) from reason
    finally:
        temporary.unlink(missing_ok=True)


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


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file, never unpickled. Raises FileError for anything that is not one."""
    try:
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except READ_ERRORS as reason:
        raise FileError(f"cannot read arrays from {path}: {reason}") from None


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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot_write(path: Path, reason: OSError) -> FileError:
    return FileError(
        f"cannot write {path}: {reason.strerror or reason}; free some space or choose another place "
        "(what stood there before is unchanged)"
    )
