"""Parsers in a child process: results come back, and a crash, a hang or a bomb becomes a FileError."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import child_cases as cases
import numpy as np
import pytest

from cajole.errors import Cancelled, FileError, InputError
from cajole.parsers import child_process
from cajole.parsers.child_process import CPU_LIMIT_VARIABLE, MEMORY_LIMIT_VARIABLE, ParserLimits, run_in_child

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits and /proc as Linux has them")
SMALL = ParserLimits(cpu_seconds=1, memory_bytes=1 << 30, blocked_seconds=600)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a b.xyz"
    path.write_text("content", encoding="ascii")
    return path


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the child processes that were started."""
    numbers: list[int] = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: Any, **options: Any):
            super().__init__(*arguments, **options)
            numbers.append(self.pid)

    monkeypatch.setattr(child_process.subprocess, "Popen", Recorded)
    return numbers


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_values_come_back_identity(file: Path) -> None:
    found = run_in_child(cases.echo, file, "größer\ud800", 0.1)
    assert (found["text"], found["number"]) == ("größer\ud800", 0.1)
    np.testing.assert_array_equal(found["table"], np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(found["turned"], np.arange(6.0).reshape(2, 3).T)
    assert (found["none"].shape, found["none"].dtype) == ((0, 3), np.int32)


def test_errors_of_the_parser_bad_input(file: Path) -> None:
    with pytest.raises(FileError, match=r"a b\.xyz: a value is wrong; change it$"):
        run_in_child(cases.refuse, file)
    with pytest.raises(FileError, match=r"it is damaged or not a \.xyz file \(list index out of range\); export it"):
        run_in_child(cases.stumble, file)
    with pytest.raises(FileError, match="ended without a result"):
        run_in_child(cases.leave, file)


@LINUX
def test_limits_bad_input(file: Path) -> None:
    with pytest.raises(FileError, match=f"more than 1 s of CPU time.*{CPU_LIMIT_VARIABLE} to a higher limit"):
        run_in_child(cases.run_for_ever, file, limits=SMALL)
    with pytest.raises(FileError, match=f"more than 1 GiB of memory.*{MEMORY_LIMIT_VARIABLE} to a higher limit"):
        run_in_child(cases.fill_memory, file, limits=SMALL)
    with pytest.raises(FileError, match="did not use the CPU for 1 s and was ended"):
        run_in_child(cases.sleep, file, limits=ParserLimits(60, 1 << 30, blocked_seconds=1))


@LINUX
@pytest.mark.parametrize(
    ("number", "said"),
    [(signal.SIGSEGV, "signal 11, segmentation fault"), (signal.SIGABRT, "signal 6, abort"), (signal.SIGKILL, "ended")],
)
def test_crashes_bad_input(file: Path, number: int, said: str) -> None:
    with pytest.raises(FileError, match=said):
        run_in_child(cases.crash, file, int(number))


def test_limits_from_the_environment(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ParserLimits.for_file(file).cpu_seconds >= 60
    small, large = ParserLimits.for_file(file), file.parent / "large"
    with large.open("wb") as stream:
        stream.truncate(1 << 30)
    assert ParserLimits.for_file(large).cpu_seconds > 100 * small.cpu_seconds
    assert ParserLimits.for_file(large).memory_bytes > 10 * small.memory_bytes
    monkeypatch.setenv(CPU_LIMIT_VARIABLE, "2")
    monkeypatch.setenv(MEMORY_LIMIT_VARIABLE, "3e9")
    assert ParserLimits.for_file(large) == ParserLimits(2, 3_000_000_000)
    for wrong in ("many", "0", "inf", "-1", "nan"):
        monkeypatch.setenv(CPU_LIMIT_VARIABLE, wrong)
        with pytest.raises(InputError, match=f"{CPU_LIMIT_VARIABLE} is '{wrong}'"):
            ParserLimits.for_file(file)


@LINUX
def test_a_stopped_child_is_waited_for(file: Path) -> None:
    """A child that gets no CPU is not ended, however long that takes beside the limit of one that sleeps."""
    polls = 0

    def go_on(fraction: float, text: str) -> None:
        nonlocal polls
        stat = Path(f"/proc/{file.read_text(encoding='ascii')}/stat")
        if stat.exists() and stat.read_text(encoding="ascii").rpartition(")")[2].split()[0] == "T":
            polls += 1
        if polls == 10:
            os.kill(int(file.read_text(encoding="ascii")), signal.SIGCONT)

    limits = ParserLimits(60, 1 << 30, blocked_seconds=0.3)
    assert run_in_child(cases.stop, file, limits=limits, progress=go_on) == {"continued": True}
    assert polls >= 10


@LINUX
@pytest.mark.parametrize("error", [Cancelled, KeyboardInterrupt])
def test_cancelling_ends_the_child(file: Path, started: list[int], error: type[BaseException]) -> None:
    def interrupt(fraction: float, text: str) -> bool:
        if error is KeyboardInterrupt:
            raise KeyboardInterrupt
        return False

    with pytest.raises(error):
        run_in_child(cases.sleep, file, progress=interrupt)
    (number,) = started
    assert not is_alive(number)


@pytest.mark.parametrize("name", cases.FORGED)
def test_forged_results_bad_input(file: Path, name: str) -> None:
    with pytest.raises(FileError, match=r"result of its parser is damaged|ended without a result"):
        run_in_child(cases.forge, file, cases.FORGED[name])


def test_results_are_not_left_behind(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process.tempfile, "tempdir", str(tmp_path))
    run_in_child(cases.echo, file, None, 1.0)
    with pytest.raises(FileError):
        run_in_child(cases.stumble, file)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_threads_read_at_once(file: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: run_in_child(cases.echo, file, None, number), range(8)))
    assert [each["number"] for each in found] == list(range(8))


def test_reading_from_a_command_line_program(tmp_path: Path) -> None:
    """No guard of `__main__` is needed, and no file that holds the program."""
    code = (
        "from cajole.mesh import box_tets, read_mesh, write_mesh\n"
        "write_mesh(box_tets(1, 1, 1), 'a.vtu')\n"
        "print(len(read_mesh('a.vtu').vertices))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert run.stdout.split() == [b"8"]


def test_without_resource_or_proc(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither exists all wall-clock time counts, against a limit of many times the CPU seconds."""
    monkeypatch.setitem(sys.modules, "resource", None)
    child_process._set_resource_limits(1, 1)
    clock = child_process._BlockedClock(-1)
    assert not clock.has_process_state
    before = clock.measure_blocked_seconds()
    while time.monotonic() == clock._last_poll_time:
        pass
    assert clock.measure_blocked_seconds() > before
    assert ParserLimits(10, 1).wall_seconds == 500
