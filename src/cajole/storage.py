"""Files that are either whole or absent, arrays in archives, and a cache on disk addressed by content.

One place for opening, for atomic writing and for hashing arrays; every reader, writer and cache uses it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import math
import os
import re
import stat
import struct
import tempfile
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cajole.errors import FileError, InputError
from cajole.memory import read_environment_limit, require_memory

# what helps where the system refuses to write
_WRITE_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free some space or choose another place"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "choose a folder that you may write to"),
    **dict.fromkeys((errno.ENOENT, errno.EINVAL), "no file can be made in this folder: choose another place"),
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR), "part of the path is a file, not a folder: choose another place"),
    errno.EISDIR: "this is a folder: give the name of a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}

# What parsers, numpy and zipfile raise on bytes that are not what they should be.
READ_ERRORS = (
    OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, EOFError, MemoryError, RuntimeError,
    SyntaxError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def as_path(path: str | os.PathLike[str]) -> Path:
    """`path` as a Path. Raises FileError for what no file can be called."""
    if isinstance(path, bytes) or not isinstance(path, str | os.PathLike):
        raise FileError(f"a path must be a string or a Path, not {type(path).__name__}")
    try:
        place = Path(path)
    except TypeError:  # a path of bytes
        raise FileError(f"a path must be a string or a Path, not {type(path).__name__}") from None
    if "\0" in str(place):
        raise FileError(f"the path {str(place)!r} contains a NUL character, which no file name may have; remove it")
    try:
        os.lstat(place)
    except (OSError, ValueError) as reason:  # ValueError: characters that the file system cannot encode
        if isinstance(reason, ValueError) or reason.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            said = getattr(reason, "strerror", None) or reason
            raise FileError(
                f"the path {str(place)[:60]!r}… cannot be a file's: {said}; choose a shorter name"
            ) from None
    return place


def open_regular_file(path: str | os.PathLike[str], *, is_input: bool = True) -> BinaryIO:
    """Open a regular file for reading. Raises FileError where there is none, and for folders, pipes and devices.

    is_input: what is read here must not be overwritten (see `protect_inputs`); False for files of Cajole's own.
    """
    file = as_path(path)
    try:
        _require_regular(file, os.stat(file))  # a device is not even opened
        # without O_NONBLOCK the process would wait forever for a pipe that took the file's place in the meantime
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            status = os.fstat(handle)
            _require_regular(file, status)
        except BaseException:
            os.close(handle)
            raise
    except FileNotFoundError:
        raise FileError(f"{file} does not exist; check the name and the folder") from None
    except OSError as reason:
        raise build_read_error(file, reason) from None
    if is_input:
        _record_input(file, status)
    return os.fdopen(handle, "rb")


def build_read_error(path: Path, reason: OSError) -> FileError:
    """What to raise when the system refuses to read `path`."""
    return FileError(f"cannot read {path}: {reason.strerror or reason}; check the path and its permissions")


def _require_regular(file: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise FileError(f"{file} is a folder; name a file in it")
    if not stat.S_ISREG(status.st_mode):
        kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
        kind = kinds.get(stat.S_IFMT(status.st_mode), "no regular file")
        raise FileError(f"{file} is {kind}, and only regular files are read; save its content to a file first")


@dataclass
class _TrackedFiles:
    """Files by device and inode: those that were read, with the path they were read by, and those written here."""

    inputs: dict[tuple[int, int], Path] = field(default_factory=dict)
    outputs: set[tuple[int, int]] = field(default_factory=set)


_tracked_files: ContextVar[tuple[_TrackedFiles, ...]] = ContextVar("tracked_files", default=())


_reads_confined: ContextVar[bool] = ContextVar("reads_confined", default=False)


@contextlib.contextmanager
def confine_reads() -> Iterator[None]:
    """Inside the block, a file that is read may name other files of its own folder only: for files sent by others."""
    token = _reads_confined.set(True)
    try:
        yield
    finally:
        _reads_confined.reset(token)


def has_confined_reads() -> bool:
    """True inside `confine_reads`."""
    return _reads_confined.get()


@contextlib.contextmanager
def protect_inputs() -> Iterator[None]:
    """Inside the block, FileError is raised instead of writing to a file that was read in it, by whatever name.

    Files are compared by device and inode, so that symbolic links, hard links, relative paths and case-insensitive
    file systems make no difference. What the block wrote itself may be read and written again; blocks may be nested.
    """
    token = _tracked_files.set((*_tracked_files.get(), _TrackedFiles()))
    try:
        yield
    finally:
        _tracked_files.reset(token)


def register_input(path: str | os.PathLike[str]) -> None:
    """Protect a file that will be read, so that a conflict is found before the work; does nothing if there is none."""
    with contextlib.suppress(OSError, FileError):
        file = as_path(path)
        status = os.stat(file)
        if stat.S_ISREG(status.st_mode):
            _record_input(file, status)


def _record_input(file: Path, status: os.stat_result) -> None:
    key = status.st_dev, status.st_ino
    for inputs in _tracked_files.get():
        if key not in inputs.outputs:
            inputs.inputs.setdefault(key, file)


def require_not_input(path: Path) -> None:
    """Raise FileError if `path` is a file that was read inside `protect_inputs`."""
    try:
        status = os.stat(path)
    except OSError:  # nothing is there, or nothing that could be read
        return
    for inputs in _tracked_files.get():
        source = inputs.inputs.get((status.st_dev, status.st_ino))
        if source is not None:
            same = "" if source == path else f" (it is the same file as {source})"
            raise FileError(f"{path} is what is read, and would be lost{same}; name another file")


def register_output(path: Path) -> None:
    """Note that `path` is a result of the `protect_inputs` blocks, not an input."""
    with contextlib.suppress(OSError):
        status = os.stat(path)
        for inputs in _tracked_files.get():
            inputs.outputs.add((status.st_dev, status.st_ino))


# names of the files that `atomic_path` works on: those of tempfile.mkstemp
_TEMPORARY_NAME_PATTERN = re.compile(r"\..+-[a-z0-9_]{8}(\.[^.]+)?")
# what systems answer that cannot sync a folder, or not open one, at all: there is nothing to do about it
_FOLDER_SYNC_UNSUPPORTED = (errno.EINVAL, errno.EBADF, errno.EACCES, errno.EISDIR, errno.ENOTSUP, errno.ENOSYS)


@contextlib.contextmanager
def replace_atomically(target: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `target`, moved over it when the block ends well.

    Once the block has ended, the content and the name are synced to the disk, so that they survive a power failure. A
    crash, a full disk or a cancelled run leaves the old file as it was. Only a killed process leaves its temporary
    file, which `temporaries` finds. Raises FileError where a file that was read
    would be replaced (see `protect_inputs`).
    """
    path = as_path(target)
    require_not_input(path)
    try:
        make_folder(path.parent)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    except OSError as reason:
        raise build_write_error(path, reason) from reason
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_read_umask())
        temporary.replace(path)
        register_output(path)
    except OSError as reason:
        raise build_write_error(path, reason) from reason
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
        if reason.errno not in _FOLDER_SYNC_UNSUPPORTED:
            raise FileError(
                f"cannot sync {folder}: {reason.strerror or reason}; what was written may be lost if the power fails: "
                "check the disk"
            ) from reason


def find_temporary_files(folder: Path) -> list[Path]:
    """Files that `atomic_path` works on in a folder, or that it left there when its process was killed."""
    return [path for path in folder.glob(".*") if _TEMPORARY_NAME_PATTERN.fullmatch(path.name) and path.is_file()]


def require_writable_path(target: str | os.PathLike[str]) -> None:
    """Raise FileError where no file could be written at `target`: before the work, not after it; leaves nothing."""
    path = as_path(target)
    require_not_input(path)
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
        raise build_write_error(path, reason) from reason


def build_write_error(path: Path, reason: OSError) -> FileError:
    """What to raise when the system refuses to write `path`: its reason, and what to do about that."""
    remedy = _WRITE_REMEDIES.get(reason.errno or 0, "choose another place")
    return FileError(
        f"cannot write {path}: {reason.strerror or reason}; {remedy} (what stood there before is unchanged)"
    )


def hash_content(*parts: NDArray[Any] | str | int | float | None) -> str:
    """A hex digest of arrays (shape, type and bytes) and plain values: equal content, equal name."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(f"|{type(part).__name__}:{part!r}|".encode())
    return digest.hexdigest()[:32]


# An archive may unpack to this multiple of its size, $CAJOLE_MAX_EXPANSION instead, and in any case to UNPACKED bytes:
# measured positions shrink to a half, zeros to a thousandth, and only a file made to fill the memory is mostly zeros.
MAX_EXPANSION, EXPANSION_VARIABLE = 100, "CAJOLE_MAX_EXPANSION"
MAX_UNPACKED_BYTES = 256_000_000
# bytes that are unpacked at a time
_CHUNK_BYTES = 1 << 24


def read_arrays(
    path: str | os.PathLike[str], name_filter: Callable[[str], bool] | None = None, *, is_input: bool = True
) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file, or those whose names `only` says yes to, never unpickled.

    Shapes and sizes are checked before anything is unpacked. Raises FileError for anything that is not one, and for an
    archive that unpacks to far more than its size.
    """
    file = as_path(path)
    try:
        with open_regular_file(file, is_input=is_input) as stream, zipfile.ZipFile(stream) as archive:
            found = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            wanted = {name: info for name, info in found.items() if name_filter is None or name_filter(name)}
            total = sum(info.file_size for info in wanted.values())
            require_plausible_expansion(file, os.fstat(stream.fileno()).st_size, total)
            require_memory(total, f"what {file} holds", "take a smaller file", error=FileError)
            return {name: _read_member(archive, info) for name, info in wanted.items()}
    except FileError:
        raise
    except READ_ERRORS as reason:
        raise FileError(f"cannot read arrays from {file}: {reason or type(reason).__name__}") from None


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to an .npz, atomically. Raises TypeError for objects, which only pickle could write.

    `np.savez(allow_pickle=False)` does the same from NumPy 2.2 on; before, it adds an array of that name to the file.
    """
    if objects := [name for name, array in arrays.items() if array.dtype.hasobject]:
        raise TypeError(f"arrays of objects cannot be written: {', '.join(objects)}")
    with replace_atomically(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, **dict(arrays))  # type: ignore[arg-type]


def read_array(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The array of an .npy file, never unpickled. Raises FileError for anything that is not one."""
    file = as_path(path)
    try:
        with open_regular_file(file) as stream:
            return _read_npy(stream, os.fstat(stream.fileno()).st_size, file.name)
    except FileError:
        raise
    except READ_ERRORS as reason:
        raise FileError(f"cannot read an array from {file}: {reason or type(reason).__name__}") from None


def require_plausible_expansion(file: Path, packed_bytes: int, unpacked_bytes: int) -> None:
    """Raise FileError where a compressed file of `size` bytes claims to unpack to implausibly many, `total`."""
    expansion = read_environment_limit(EXPANSION_VARIABLE) or MAX_EXPANSION
    if unpacked_bytes > max(MAX_UNPACKED_BYTES, expansion * packed_bytes):
        raise FileError(
            f"{file} has {packed_bytes} bytes and claims to hold {unpacked_bytes}, more than {expansion} times "
            f"as many: it is damaged, "
            "or made to fill the memory; store it uncompressed, or allow more with the environment variable "
            f"{EXPANSION_VARIABLE}"
        )


def read_npy_header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and type of the array at the start of a stream, which is left at its data.

    Raises InputError for types that are no numbers or words.
    """
    version = np.lib.format.read_magic(member)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's remarks on headers of other versions are none on the content
        shape, fortran, dtype = read(member)
    if dtype.kind not in "fiubcU":
        raise InputError(f"an array of type {dtype} is not read, for it could run code; store numbers")
    if any(length < 0 for length in shape):
        raise InputError(f"an array has the negative shape {shape}")
    return shape, fortran, dtype


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(info) as member:
        array = _read_npy(member, info.file_size, info.filename)
        member.read(1)  # the checksum is compared at the end of the member
    return array


def _read_npy(stream: IO[bytes], size: int, name: str) -> NDArray[Any]:
    """The array in a stream of `size` bytes; nothing is allocated for a shape that does not fit them."""
    shape, fortran, dtype = read_npy_header(stream)
    left = size - stream.tell()
    if math.prod(shape) * dtype.itemsize != left:
        raise ValueError(f"{name} says it has shape {shape}, which is not the size of its data")
    array = np.empty(math.prod(shape), dtype)
    raw = array.view(np.uint8) if left else np.empty(0, np.uint8)
    for start in range(0, left, _CHUNK_BYTES):
        piece = stream.read(min(_CHUNK_BYTES, left - start))
        raw[start : start + len(piece)] = np.frombuffer(piece, np.uint8)
    return array.reshape(shape, order="F" if fortran else "C")


def find_cache_folder() -> Path:
    """Where results that are slow to make are kept: $CAJOLE_CACHE, else the user's cache folder."""
    chosen = os.environ.get("CAJOLE_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "cajole"


def load_from_cache(kind: str, key: str) -> dict[str, NDArray[Any]] | None:
    """The arrays stored under `key`, or None when there are none (or they are damaged)."""
    try:
        return read_arrays(find_cache_folder() / kind / f"{key}.npz", is_input=False)
    except FileError:
        return None


def store_in_cache(kind: str, key: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store arrays under `key`; a cache that cannot be written is no reason to fail."""
    with contextlib.suppress(FileError):
        write_arrays(find_cache_folder() / kind / f"{key}.npz", arrays)


def load_or_compute(
    kind: str, key: str, compute: Callable[[], Mapping[str, NDArray[Any]]]
) -> Mapping[str, NDArray[Any]]:
    """The arrays stored under `key`, or those that `make` makes, which are stored."""
    stored = load_from_cache(kind, key)
    if stored is not None:
        return stored
    made = compute()
    store_in_cache(kind, key, made)
    return made


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
