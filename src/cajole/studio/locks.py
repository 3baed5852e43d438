"""Locks on folders that only one process may write to.

The owner of a folder is written into a file in it, so that a second process can say who the first one is. A killed
process leaves its lock behind. Such a lock is stale, and is replaced, if its owner certainly is gone: on the same host,
the machine was started anew, no process has the pid, or the process of that pid began at another time. A lock that was
copied from another folder is stale, too. Processes of other hosts cannot be examined, so their locks count
until someone removes the file.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import TracebackType

from cajole.errors import FileError
from cajole.storage import build_write_error, find_temporary_files, make_folder, replace_atomically

LOCK_FILE = "lock.json"
# Answers of file systems without advisory locks; there, two processes that open a project at the same instant both do.
_NO_ADVISORY_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)
# tokens of the locks that this process holds
_HELD_TOKENS: set[str] = set()


class FolderLocked(FileError):
    """Another process, or another part of this one, owns the folder."""


@dataclass(frozen=True)
class FolderLockOwner:
    """The process that holds a lock.

    started: when it began, as the system writes it ("" where that is unknown): another process may get the same pid
    later; boot: which start of the machine; token: which lock of that process. folder, path, device, inode: name,
    resolved path and file number of the locked folder, so that a lock that was copied with its folder, or with all
    folders around it, is recognised; older studios wrote the name alone, and systems may have no file numbers (0).
    """

    host: str
    pid: int
    started: str
    boot: str
    folder: str
    token: str
    path: str = ""
    device: int = 0
    inode: int = 0

    def is_for_folder(self, folder: Path) -> bool:
        """True if the lock was written for this folder.

        Another host may know the folder by another path, so there the name decides. Here path or file number do: a
        folder that was moved keeps its number, and one that was replaced is still written to by its path.
        """
        if not self.path or self.host != socket.gethostname():
            return self.folder == folder.name
        path, device, inode = _read_folder_identity(folder)
        return self.path == path or (self.inode != 0 and (self.device, self.inode) == (device, inode))

    def __str__(self) -> str:
        return "this studio" if self.token in _HELD_TOKENS else f"another studio (process {self.pid} on {self.host})"


class FolderLock:
    """A lock on a folder. guard: a file that is locked, by the system, while any of the locks is read and written.

    As a context manager it is acquired on entry and released on exit.
    """

    def __init__(self, folder: Path, guard_file: Path):
        self._folder, self._guard_file = folder, guard_file
        self._token = secrets.token_hex(8)

    def acquire(self) -> None:
        """Own the folder from now on, and remove what a killed owner left half-written; it is made where it is missing.

        Where it is owned already, checks that it still is. Raises FolderLocked, FileError where it cannot be written.
        """
        found = read_owner(self._folder)
        if found is not None and found.token == self._token:
            return
        with require_no_owner(self._folder, self._guard_file):
            _remove_temporaries(self._folder)
            _HELD_TOKENS.add(self._token)
            try:
                with replace_atomically(self._folder / LOCK_FILE) as path:
                    path.write_text(
                        json.dumps(asdict(_describe_this_process(self._folder, self._token))), encoding="utf-8"
                    )
            except BaseException:
                _HELD_TOKENS.discard(self._token)
                raise

    def release(self) -> None:
        """Others may own the folder from now on; nothing happens where it is not owned."""
        if self._token not in _HELD_TOKENS:
            return
        with contextlib.suppress(OSError, FileError):
            found = read_owner(self._folder)
            if found is not None and found.token == self._token:
                (self._folder / LOCK_FILE).unlink(missing_ok=True)
        _HELD_TOKENS.discard(self._token)

    def __enter__(self) -> FolderLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def read_owner(folder: Path) -> FolderLockOwner | None:
    """Owner in the lock file of a folder; None if there is no valid one. Raises FileError."""
    try:
        found = json.loads((folder / LOCK_FILE).read_text(encoding="utf-8"))
        required = {name: kind(found[name]) for name, kind in _REQUIRED_FIELDS.items()}
        owner = FolderLockOwner(
            **required, **{name: kind(found[name]) for name, kind in _OPTIONAL_FIELDS.items() if name in found}
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as reason:
        raise FileError(f"cannot read {folder / LOCK_FILE}: {reason.strerror or reason}; check the folder") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return owner if owner.pid > 0 else None


_REQUIRED_FIELDS = {"host": str, "pid": int, "started": str, "boot": str, "folder": str, "token": str}
_OPTIONAL_FIELDS = {"path": str, "device": int, "inode": int}


def is_alive(owner: FolderLockOwner, folder: Path) -> bool:
    """True unless the owner of a folder's lock certainly does not write to it any more."""
    if not owner.is_for_folder(folder):
        return False
    if owner.host != socket.gethostname():
        return True
    if owner.boot != read_boot_id():
        return False
    if owner.pid == os.getpid():
        return owner.token in _HELD_TOKENS
    started = read_process_start(owner.pid)
    return started is not None and (not started or not owner.started or started == owner.started)


def has_stale_lock(folder: Path) -> bool:
    """True if the owner of a folder ended without releasing it."""
    try:
        owner = read_owner(folder)
    except FileError:
        return False
    return owner is not None and owner.is_for_folder(folder) and not is_alive(owner, folder)


@contextlib.contextmanager
def require_no_owner(folder: Path, guard_file: Path) -> Iterator[None]:
    """A block in which nobody owns a folder or becomes its owner. Raises FolderLocked if someone does, FileError."""
    with _hold_file_lock(guard_file):
        owner = read_owner(folder)
        if owner is not None and is_alive(owner, folder):
            raise FolderLocked(
                f"the project is open in {owner}; open a copy of it, or close it there first "
                f"(if that studio is gone, remove {folder / LOCK_FILE})"
            )
        yield


def remove_abandoned_temporaries(folder: Path, guard_file: Path) -> None:
    """Remove what was half-written in a folder when its owner was killed. Raises FolderLocked where it has an owner."""
    if find_temporary_files(folder):
        with require_no_owner(folder, guard_file):
            _remove_temporaries(folder)


def _remove_temporaries(folder: Path) -> None:
    for path in find_temporary_files(folder):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _hold_file_lock(guard_file: Path) -> Iterator[None]:
    """Only one process of this machine is in such a block; locks of the system end with the process that holds them."""
    try:
        make_folder(guard_file.parent)
        stream = guard_file.open("ab")
    except OSError as reason:
        raise build_write_error(guard_file, reason) from reason
    with stream:
        try:
            _lock_file(stream.fileno())
        except OSError as reason:
            if reason.errno not in _NO_ADVISORY_LOCKS:
                raise build_write_error(guard_file, reason) from reason
        yield


if sys.platform == "win32":
    import msvcrt

    def _lock_file(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def _lock_file(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)


def _describe_this_process(folder: Path, token: str) -> FolderLockOwner:
    started = read_process_start(os.getpid()) or ""
    return FolderLockOwner(
        socket.gethostname(), os.getpid(), started, read_boot_id(), folder.name, token, *_read_folder_identity(folder)
    )


def _read_folder_identity(folder: Path) -> tuple[str, int, int]:
    """Resolved path, device and inode of a folder; zeros where the system has none."""
    path = os.path.realpath(folder)
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, 0
    return path, found.st_dev, found.st_ino


@cache
def read_boot_id() -> str:
    """Which start of the machine this is; "" where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def read_process_start(pid: int) -> str | None:
    """When a process began, as the system writes it; None where there is no such process, "" where it is unknown."""
    if sys.platform == "win32":
        return _read_process_start_windows(pid)
    try:
        # after the command's name, which may hold anything, in brackets: state first, and the start [ticks] as the 20th
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return None if fields[0] in ("Z", "X") else fields[19]
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except (OSError, OverflowError):  # of another user
        pass
    return _read_process_start_ps(pid)


def _read_process_start_ps(pid: int) -> str:
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    try:
        found = subprocess.run(command, capture_output=True, env={**os.environ, "LC_ALL": "C"}, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.decode(errors="replace").strip()


def _read_process_start_windows(pid: int) -> str | None:
    """Through the Win32 API: os.kill would end the process there."""
    if sys.platform != "win32":
        return ""
    import ctypes
    from ctypes import wintypes

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.OpenProcess.restype = wintypes.HANDLE
    query_limited_information, invalid_parameter, still_active = 0x1000, 87, 259
    handle = kernel.OpenProcess(query_limited_information, False, pid)
    if not handle:
        return None if ctypes.get_last_error() == invalid_parameter else ""
    try:
        code = wintypes.DWORD()
        if kernel.GetExitCodeProcess(wintypes.HANDLE(handle), ctypes.byref(code)) and code.value != still_active:
            return None
        times = [wintypes.FILETIME() for _ in range(4)]
        if not kernel.GetProcessTimes(wintypes.HANDLE(handle), *(ctypes.byref(each) for each in times)):
            return ""
        return f"{times[0].dwHighDateTime}:{times[0].dwLowDateTime}"
    finally:
        kernel.CloseHandle(wintypes.HANDLE(handle))
