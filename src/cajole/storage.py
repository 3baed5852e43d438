"""File access of all readers and writers: checked opening, atomic writes, arrays in archives, and the cache on disk."""

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

# remedies for errors of the system on writing, by errno
_WRITE_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free some space or choose another place"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "choose a folder that you may write to"),
    **dict.fromkeys((errno.ENOENT, errno.EINVAL), "no file can be made in this folder: choose another place"),
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR), "part of the path is a file, not a folder: choose another place"),
    errno.EISDIR: "this is a folder: give the name of a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}

# what parsers, NumPy and zipfile raise for damaged files
READ_ERRORS = (
    OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, EOFError, MemoryError, RuntimeError,
    SyntaxError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def as_path(path: str | os.PathLike[str]) -> Path:
    """`path` as a Path. Raises FileError for invalid file names."""
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
    """Open a regular file for reading. Raises FileError if it is missing, a folder, a pipe or a device.

    is_input: protect it from being overwritten (see `protect_inputs`); False for files of Cajole itself.
    """
    file = as_path(path)
    try:
        _require_regular(file, os.stat(file))  # a device is not even opened
        # without O_NONBLOCK the process would wait forever if a pipe has replaced the file in the meantime
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
    """A FileError for an error of the system on reading `path`."""
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
    """Files by device and inode: inputs, with the path by which they were read, and outputs."""

    inputs: dict[tuple[int, int], Path] = field(default_factory=dict)
    outputs: set[tuple[int, int]] = field(default_factory=set)


_tracked_files: ContextVar[tuple[_TrackedFiles, ...]] = ContextVar("tracked_files", default=())


_reads_confined: ContextVar[bool] = ContextVar("reads_confined", default=False)


@contextlib.contextmanager
def confine_reads() -> Iterator[None]:
    """Inside the block, a file may refer only to files of its own folder; for uploaded files."""
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
    """Inside the block, writing to a file that was read in it raises FileError.

    Files are compared by device and inode: symbolic links, hard links, relative paths and case-insensitive file systems
    make no difference. Files that the block wrote itself may be read and written again. Blocks may be nested.
    """
    token = _tracked_files.set((*_tracked_files.get(), _TrackedFiles()))
    try:
        yield
    finally:
        _tracked_files.reset(token)


def register_input(path: str | os.PathLike[str]) -> None:
    """Protect a file that will be read, so that a conflict is found before the work. Missing files are ignored."""
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
    except OSError:  # no file, or no permission
        return
    for inputs in _tracked_files.get():
        source = inputs.inputs.get((status.st_dev, status.st_ino))
        if source is not None:
            same = "" if source == path else f" (it is the same file as {source})"
            raise FileError(f"{path} is what is read, and would be lost{same}; name another file")


def register_output(path: Path) -> None:
    """Register `path` as an output of the `protect_inputs` blocks."""
    with contextlib.suppress(OSError):
        status = os.stat(path)
        for inputs in _tracked_files.get():
            inputs.outputs.add((status.st_dev, status.st_ino))


@contextlib.contextmanager
def replace_atomically(target: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `target`, which replaces `target` after the block.

    Content and name are synced to the disk, so that they survive a power failure. A crash, a full disk or a cancelled
    run leaves the old file unchanged. Only a killed process leaves its temporary file; see `find_temporary_files`.
    Raises FileError if a file that was read would be replaced (see `protect_inputs`).
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
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
        register_output(path)
    except OSError as reason:
        raise build_write_error(path, reason) from reason
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, each entry synced to the disk. Raises OSError, FileError."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in reversed(missing):
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Sync the entries of a folder to the disk, if the system supports it. Raises FileError if the disk fails."""
    if os.name == "nt":  # Windows cannot open folders, and syncs their entries itself
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as reason:
        unsupported = errno.EINVAL, errno.EBADF, errno.EACCES, errno.EISDIR, errno.ENOTSUP, errno.ENOSYS
        if reason.errno not in unsupported:
            raise FileError(
                f"cannot sync {folder}: {reason.strerror or reason}; what was written may be lost if the power fails: "
                "check the disk"
            ) from reason


def find_temporary_files(folder: Path) -> list[Path]:
    """Temporary files of `replace_atomically` in a folder, in use or left by a killed process."""
    name = re.compile(r"\..+-[a-z0-9_]{8}(\.[^.]+)?")  # as tempfile.mkstemp makes them
    return [path for path in folder.glob(".*") if name.fullmatch(path.name) and path.is_file()]


def require_writable_path(target: str | os.PathLike[str]) -> None:
    """Raise FileError if no file can be written at `target`; call it before the work. Leaves no file."""
    path = as_path(target)
    require_not_input(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        folder = path.absolute().parent
        while not folder.exists():
            folder = folder.parent
        # permissions do not reveal read-only file systems
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as reason:
        raise build_write_error(path, reason) from reason


def build_write_error(path: Path, reason: OSError) -> FileError:
    """A FileError for an error of the system on writing `path`, with the remedy."""
    remedy = _WRITE_REMEDIES.get(reason.errno or 0, "choose another place")
    return FileError(
        f"cannot write {path}: {reason.strerror or reason}; {remedy} (what stood there before is unchanged)"
    )


def hash_content(*parts: NDArray[Any] | str | int | float | None) -> str:
    """A hex digest of arrays (shape, type and bytes) and plain values."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(f"|{type(part).__name__}:{part!r}|".encode())
    return digest.hexdigest()[:32]


# An archive may unpack to this multiple of its size, or that of the variable, and in any case to MAX_UNPACKED_BYTES.
# Measured positions shrink to a half, zeros to a thousandth; only a file made to fill the memory consists of zeros.
MAX_EXPANSION, EXPANSION_VARIABLE = 100, "CAJOLE_MAX_EXPANSION"
MAX_UNPACKED_BYTES = 256_000_000


def read_arrays(
    path: str | os.PathLike[str], name_filter: Callable[[str], bool] | None = None, *, is_input: bool = True
) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file, or those whose names pass `name_filter`. Nothing is unpickled.

    Shapes and sizes are checked before unpacking. Raises FileError for other files, and for an archive that unpacks to
    far more than its size.
    """
    file = as_path(path)
    try:
        with open_regular_file(file, is_input=is_input) as stream, zipfile.ZipFile(stream) as archive:
            found = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            wanted = {name: info for name, info in found.items() if name_filter is None or name_filter(name)}
            total = sum(info.file_size for info in wanted.values())
            require_plausible_expansion(file, os.fstat(stream.fileno()).st_size, total)
            require_memory(total, f"what {file} holds", "take a smaller file", error=FileError)
            arrays = {}
            for name, info in wanted.items():
                with archive.open(info) as member:
                    arrays[name] = _read_npy(member, info.file_size, info.filename)
                    member.read(1)  # the checksum is compared at the end of the member
            return arrays
    except FileError:
        raise
    except READ_ERRORS as reason:
        raise FileError(f"cannot read arrays from {file}: {reason or type(reason).__name__}") from None


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to an .npz atomically. Raises TypeError for objects, which would need pickle.

    `np.savez(allow_pickle=False)` does the same from NumPy 2.2 on; before, it adds an array of that name to the file.
    """
    if objects := [name for name, array in arrays.items() if array.dtype.hasobject]:
        raise TypeError(f"arrays of objects cannot be written: {', '.join(objects)}")
    with replace_atomically(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, **dict(arrays))  # type: ignore[arg-type]


def read_array(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The array of an .npy file, never unpickled. Raises FileError for other files."""
    file = as_path(path)
    try:
        with open_regular_file(file) as stream:
            return _read_npy(stream, os.fstat(stream.fileno()).st_size, file.name)
    except FileError:
        raise
    except READ_ERRORS as reason:
        raise FileError(f"cannot read an array from {file}: {reason or type(reason).__name__}") from None


def require_plausible_expansion(file: Path, packed_bytes: int, unpacked_bytes: int) -> None:
    """Raise FileError if a compressed file claims to unpack to implausibly many bytes."""
    expansion = read_environment_limit(EXPANSION_VARIABLE) or MAX_EXPANSION
    if unpacked_bytes > max(MAX_UNPACKED_BYTES, expansion * packed_bytes):
        raise FileError(
            f"{file} has {packed_bytes} bytes and claims to hold {unpacked_bytes}, more than {expansion} times as many:"
            " it is damaged, or made to fill the memory; store it uncompressed, or allow more with the environment "
            f"variable {EXPANSION_VARIABLE}"
        )


def read_npy_header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and type of the array in a stream, whose position is then at the data.

    Raises InputError for types other than numbers and text.
    """
    version = np.lib.format.read_magic(member)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of header versions, not of the content
        shape, fortran, dtype = read(member)
    if dtype.kind not in "fiubcU":
        raise InputError(f"an array of type {dtype} is not read, for it could run code; store numbers")
    if any(length < 0 for length in shape):
        raise InputError(f"an array has the negative shape {shape}")
    return shape, fortran, dtype


def _read_npy(stream: IO[bytes], size: int, name: str) -> NDArray[Any]:
    """The array in a stream of `size` bytes. Nothing is allocated if the shape does not fit the size."""
    shape, fortran, dtype = read_npy_header(stream)
    left = size - stream.tell()
    if math.prod(shape) * dtype.itemsize != left:
        raise ValueError(f"{name} says it has shape {shape}, which is not the size of its data")
    array = np.empty(math.prod(shape), dtype)
    raw = array.view(np.uint8) if left else np.empty(0, np.uint8)
    chunk = 1 << 24
    for start in range(0, left, chunk):
        piece = stream.read(min(chunk, left - start))
        raw[start : start + len(piece)] = np.frombuffer(piece, np.uint8)
    return array.reshape(shape, order="F" if fortran else "C")


def find_cache_folder() -> Path:
    """The folder of cached results: $CAJOLE_CACHE, else the cache folder of the user."""
    chosen = os.environ.get("CAJOLE_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "cajole"


def load_from_cache(kind: str, key: str) -> dict[str, NDArray[Any]] | None:
    """The arrays stored under `key`, or None if there are none or they are damaged."""
    try:
        return read_arrays(find_cache_folder() / kind / f"{key}.npz", is_input=False)
    except FileError:
        return None


def store_in_cache(kind: str, key: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store arrays under `key`; errors on writing are ignored."""
    with contextlib.suppress(FileError):
        write_arrays(find_cache_folder() / kind / f"{key}.npz", arrays)


def load_or_compute(
    kind: str, key: str, compute: Callable[[], Mapping[str, NDArray[Any]]]
) -> Mapping[str, NDArray[Any]]:
    """The arrays stored under `key`, or those of `compute`, which are then stored."""
    stored = load_from_cache(kind, key)
    if stored is not None:
        return stored
    computed = compute()
    store_in_cache(kind, key, computed)
    return computed
