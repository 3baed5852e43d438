"""Run a parser in a child process with limits on CPU time and memory.

Parsers of foreign formats can crash on a damaged file, hang, or allocate all memory. In a child process each of these
becomes a FileError in the caller.

The CPU limit counts CPU seconds of the child, so that a busy machine never makes a valid file fail. The child sets both
limits on itself, with `resource`, before it imports the parser. The parent ends a child only when it is cancelled, or
when the child sleeps for `blocked_seconds` without using the CPU. Where `resource` is missing (Windows) there is no
memory limit, and the wall-clock time is limited instead.

The result is a JSON document and raw array bytes in a temporary folder. Nothing is unpickled, and sizes and types are
checked against the length of the file before it is read.

This limits the cost of a file. It does not restrict the child, which has the file access of its user.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from cajole.errors import FileError, InputError
from cajole.progress import ProgressCallback, report_progress

# called with the file, further arguments, and report=, a function of the fraction done; returns arrays, text, numbers
# and lists of text by name
Parser = Callable[..., Mapping[str, Any]]

CPU_LIMIT_VARIABLE, MEMORY_LIMIT_VARIABLE = "CAJOLE_PARSER_CPU_SECONDS", "CAJOLE_PARSER_MEMORY_BYTES"

# seconds between two polls of the child; a cancelled read ends within this time
_POLL_INTERVAL = 0.1
_MAX_DOCUMENT_BYTES, _MAX_MESSAGE_LENGTH, _MAX_STDERR_BYTES = 16 << 20, 2000, 4096
_SIGXCPU, _SIGKILL = 24, 9


# the callback of the innermost `reporting_to`
_listener: ContextVar[ProgressCallback | None] = ContextVar("listener", default=None)


@contextlib.contextmanager
def reporting_to(progress: ProgressCallback | None) -> Iterator[None]:
    """Inside the block, children that are started without a callback of their own report to this one.

    A caller of a reader without `progress` can thus still cancel it.
    """
    token = _listener.set(progress)
    try:
        yield
    finally:
        _listener.reset(token)


@dataclass(frozen=True)
class ParserLimits:
    """Resource limits of a child process."""

    # CPU time of all threads [s]
    cpu_seconds: float
    # private memory, and size of the result [bytes]
    memory_bytes: int
    # wall-clock time without use of the CPU [s]; a slow disk or network wakes the child far more often
    blocked_seconds: float = 300.0

    @classmethod
    def for_file(cls, path: Path) -> ParserLimits:
        """Limits by file size: 60 s + 20 s/MB and 4 GiB + 64 bytes per byte, or those of the environment variables.

        Measured: text USD takes 0.15 s/MB; bones that move 40,000 points for 240 frames 1.6 s and 0.5 GB from 0.6 MB.
        """
        size = path.stat().st_size
        cpu = _read_environment_limit(CPU_LIMIT_VARIABLE, 60.0 + 2e-5 * size)
        memory = _read_environment_limit(MEMORY_LIMIT_VARIABLE, float((4 << 30) + 64 * size))
        return cls(cpu, int(memory))

    @property
    def wall_seconds(self) -> float:
        """Wall-clock limit if CPU time cannot be measured [s]: 20 times the CPU limit, for a busy machine."""
        return 20 * self.cpu_seconds + self.blocked_seconds


def run_in_child(
    parser: Parser,
    path: Path,
    *arguments: str | float | bool | None,
    limits: ParserLimits | None = None,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Call `parser(path, *arguments, report=...)` in a child process, and return its values.

    parser: a module-level function, which the child imports. limits: default `ParserLimits.for_file`; progress: default
    the callback of the enclosing `reporting_to`.
    Raises FileError with the error of the parser, or if it crashed or exceeded a limit, and Cancelled.
    """
    limits = ParserLimits.for_file(path) if limits is None else limits
    progress = _listener.get() if progress is None else progress
    with tempfile.TemporaryDirectory(prefix="cajole-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        request = {
            "parser": [parser.__module__, parser.__qualname__],
            "path": str(path),
            "arguments": arguments,
            "folder": name,
            "parent": os.getpid(),
            "cpu_seconds": limits.cpu_seconds,
            "memory_bytes": limits.memory_bytes,
        }
        # one thread: CPU time then equals time, and no thread of a parser reserves memory
        single = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PXR_WORK_THREAD_LIMIT")
        search = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
        try:
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, json.dumps(request)],
                env=os.environ | dict.fromkeys(single, "1") | {"PYTHONPATH": search},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C reaches only the parent, which then ends the child
            )
        except OSError as reason:
            raise FileError(
                f"cannot read {path}: no child process could be started for it ({reason.strerror or reason}); "
                "end other programs and try again"
            ) from reason
        with child:
            tail = _StreamTail(child.stderr)
            try:
                code = _wait_for_child(child, folder, limits, path, progress)
            finally:
                child.kill()
                child.wait()
            said = tail.read_text()
        return _collect_result(path, folder, limits, code, said)


def summarise_error(reason: BaseException) -> str:
    """The reason in one line: messages of USD name its own source files, and may contain bytes that are not text."""
    try:
        text = str(reason).strip()
    except UnicodeDecodeError:
        text = ""
    quoted = re.search(r" : '(.*?)'\s*$", text, re.MULTILINE)
    return (quoted[1] if quoted else text.splitlines()[0] if text else type(reason).__name__)[:200]


# --- parent


def _read_environment_limit(name: str, default: float) -> float:
    text = os.environ.get(name, "")
    if not text:
        return default
    with contextlib.suppress(ValueError):
        value = float(text)
        if 1 <= value < 2**62:
            return value
    raise InputError(f"the environment variable {name} is {text!r}; it must be a number of at least 1")


class _StreamTail:
    """The last bytes of a stream. A thread drains it, so that its writer never blocks."""

    def __init__(self, stream: IO[bytes] | None):
        self._stream, self._bytes = stream, b""
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def read_text(self) -> str:
        self._thread.join(_POLL_INTERVAL)
        return self._bytes.decode(errors="replace")

    def _drain(self) -> None:
        # the stream is closed while the thread reads if a grandchild holds it open
        with contextlib.suppress(OSError, ValueError):
            while self._stream is not None and (data := self._stream.read1(1 << 16)):  # type: ignore[attr-defined]
                self._bytes = (self._bytes + data)[-_MAX_STDERR_BYTES:]


def _wait_for_child(
    child: subprocess.Popen[bytes], folder: Path, limits: ParserLimits, path: Path, progress: ProgressCallback | None
) -> int:
    clock = _BlockedClock(child.pid)
    while True:
        try:
            return child.wait(_POLL_INTERVAL)
        except subprocess.TimeoutExpired:
            fraction = 0.0
            with contextlib.suppress(OSError, ValueError), (folder / "fraction").open("rb") as stream:
                fraction = float(stream.read(32))
            report_progress(progress, fraction if 0 <= fraction <= 1 else 0.0, f"reading {path.name}")
        limit = limits.blocked_seconds if clock.has_process_state else limits.wall_seconds
        if clock.measure_blocked_seconds() > limit:
            state = "did not use the CPU" if clock.has_process_state else "did not finish"
            raise FileError(
                f"cannot read {path}: its parser {state} for {limit:.0f} s and was ended; check that the file can be "
                "reached, or copy it to a local disk"
            )


class _BlockedClock:
    """Wall-clock time during which a process has slept without using the CPU [s].

    On Linux, time in which it is runnable or stopped does not count. Elsewhere all time counts.
    """

    def __init__(self, pid: int):
        self._stat_file = Path(f"/proc/{pid}/stat")
        self.has_process_state = self._stat_file.exists()
        self._last_cpu_ticks, self._blocked_seconds, self._last_poll_time = 0, 0.0, time.monotonic()

    def measure_blocked_seconds(self) -> float:
        """The blocked time up to now [s]; call it every `_POLL_INTERVAL` seconds."""
        now = time.monotonic()
        # time in which the parent itself was stopped does not count
        step, self._last_poll_time = min(now - self._last_poll_time, 10 * _POLL_INTERVAL), now
        state, cpu = self._read_process_state()
        if state not in "SD" or cpu != self._last_cpu_ticks:
            self._blocked_seconds, self._last_cpu_ticks = 0.0, cpu
        else:
            self._blocked_seconds += step
        return self._blocked_seconds

    def _read_process_state(self) -> tuple[str, int]:
        if not self.has_process_state:
            return "S", 0
        try:
            # after the name in parentheses, the state is field 1, utime and stime are fields 12 and 13
            fields = self._stat_file.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            return fields[0], int(fields[11]) + int(fields[12])
        except (OSError, ValueError, IndexError):
            return "Z", 0


def _collect_result(path: Path, folder: Path, limits: ParserLimits, code: int, stderr_text: str) -> dict[str, Any]:
    if code == -_SIGXCPU:
        raise FileError(
            f"cannot read {path}: its parser used more than {limits.cpu_seconds:.0f} s of CPU time, so the file is "
            f"probably damaged; if it is not, set the environment variable {CPU_LIMIT_VARIABLE} to a higher limit"
        )
    if code < 0 and "bad_alloc" not in stderr_text:
        names = {4: "illegal instruction", 6: "abort", 7: "bus error", 8: "arithmetic error", 11: "segmentation fault"}
        why = f"crashed (signal {-code}, {names.get(-code, 'unknown')})"
        if code == -_SIGKILL:
            why = "was ended by the system, which may be out of memory"
        raise FileError(f"cannot read {path}: its parser {why}; the file is damaged: export it again")
    document = _read_document(folder) if code == 0 else None
    if code < 0 or (document and document.get("error") == "memory"):
        raise FileError(
            f"cannot read {path}: its parser needed more than {limits.memory_bytes / 2**30:.3g} GiB of memory, so the "
            f"file is probably damaged; if it is not, set the environment variable {MEMORY_LIMIT_VARIABLE} to a "
            f"higher limit"
        )
    if document is None:
        last = stderr_text.strip().splitlines()[-1:] or [f"exit code {code}"]
        raise FileError(f"cannot read {path}: its parser ended without a result ({last[0][:200]}); try again")
    if "error" in document:
        text = str(document.get("text"))[:_MAX_MESSAGE_LENGTH]
        if document["error"] == "input":
            raise FileError(text)
        raise FileError(f"cannot read {path}: it is damaged or not a {path.suffix} file ({text}); export it again")
    try:
        return _read_values(folder, document)
    except (KeyError, TypeError, ValueError, OSError) as reason:
        raise FileError(
            f"cannot read {path}: the result of its parser is damaged ({summarise_error(reason)})"
        ) from None


def _read_document(folder: Path) -> dict[str, Any] | None:
    try:
        with (folder / "result.json").open("rb") as stream:
            text = stream.read(_MAX_DOCUMENT_BYTES + 1)
        found = json.loads(text) if len(text) <= _MAX_DOCUMENT_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _read_values(folder: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values, and arrays whose total size is the length of their file."""
    plain, entries = dict(document["plain"]), [tuple(entry) for entry in document["arrays"]]
    shapes = [tuple(int(length) for length in shape) for _, _, shape in entries]
    known = all(re.fullmatch(r"[<|][biuf][1248]", kind) for _, kind, _ in entries)
    if not known or any(n < 0 for shape in shapes for n in shape):
        raise ValueError("an array of unknown type or negative length")
    kinds = [np.dtype(kind) for _, kind, _ in entries]
    sizes = [math.prod(shape) * kind.itemsize for shape, kind in zip(shapes, kinds)]
    file = folder / "arrays.bin"
    if sum(sizes) != file.stat().st_size:
        raise ValueError(f"arrays of {sum(sizes)} bytes in a file of {file.stat().st_size}")
    with file.open("rb") as stream:
        for (name, _, _), kind, shape in zip(entries, kinds, shapes):
            plain[str(name)] = np.fromfile(stream, kind, math.prod(shape)).reshape(shape)
    return plain


# --- child


def _set_resource_limits(cpu_seconds: float, memory_bytes: int) -> None:
    """Limit the resources of this process, as far as the system supports it."""
    with contextlib.suppress(OSError):
        # if memory runs out nevertheless, the system ends this process first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    try:
        import resource
    except ImportError:
        return
    cpu = math.ceil(cpu_seconds)
    wanted = {
        "RLIMIT_CPU": (cpu, cpu + 5),
        # not RLIMIT_AS, which would also count address space that threads and allocators only reserve
        "RLIMIT_DATA": (memory_bytes, memory_bytes),
        "RLIMIT_FSIZE": (memory_bytes, memory_bytes),
        "RLIMIT_CORE": (0, 0),
    }
    for name, (soft, hard) in wanted.items():
        with contextlib.suppress(OSError, ValueError, AttributeError):
            number = getattr(resource, name)
            most = resource.getrlimit(number)[1]
            if most != resource.RLIM_INFINITY:
                soft, hard = min(soft, most), min(hard, most)
            resource.setrlimit(number, (soft, hard))


class _ProgressFile:
    """Writes the fraction done, at most every 0.1 s, for the parent to read."""

    def __init__(self, folder: Path):
        self._file, self._next_write_time = folder / "fraction", 0.0

    def __call__(self, fraction: float) -> None:
        now = time.monotonic()
        if now >= self._next_write_time:
            self._next_write_time = now + 0.1
            self._file.write_text(f"{fraction:.6f}", encoding="ascii")


def _run_parser(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Run the parser, write its arrays, and return the document that describes them or the error."""
    module, name = request["parser"]
    try:
        found = getattr(import_module(module), name)(
            Path(request["path"]), *request["arguments"], report=_ProgressFile(folder)
        )
        arrays = {key: value for key, value in found.items() if isinstance(value, np.ndarray)}
        with (folder / "arrays.bin").open("wb") as stream:
            entries = []
            for key, value in arrays.items():
                little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
                little.tofile(stream)
                entries.append([key, little.dtype.str, list(value.shape)])
        return {"plain": {key: found[key] for key in found if key not in arrays}, "arrays": entries}
    except InputError as reason:
        return {"error": "input", "text": str(reason)}
    except MemoryError:
        return {"error": "memory"}
    except (Exception, SystemExit) as reason:
        return {"error": "damage", "text": summarise_error(reason)}


def _run_child_process(text: str) -> None:
    request = json.loads(text)
    if sys.platform.startswith("linux"):
        # end with the parent: a blocked parser would never end
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, _SIGKILL)  # PR_SET_PDEATHSIG
            if os.getppid() != request["parent"]:  # it ended before the call
                os._exit(1)
    _set_resource_limits(request["cpu_seconds"], request["memory_bytes"])
    folder = Path(request["folder"])
    document = _run_parser(request, folder)
    (folder / "result.json").write_text(json.dumps(document), encoding="ascii")
    # Python would wait at exit for the threads of a parser, which a damaged file can block
    os._exit(0)


if __name__ == "__main__":
    _run_child_process(sys.argv[1])
