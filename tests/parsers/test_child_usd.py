"""USD files that make usd-core crash or never return, and a valid large one on a busy machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import child_cases as cases
import pytest

from cajole.animation import convert, read_animation
from cajole.errors import FileError
from cajole.parsers import child_process
from cajole.parsers.child_process import ParserLimits, run_in_child
from cajole.storage import confine_reads
from waiting import wait_until

pytest.importorskip("pxr", reason="usd-core is not installed")
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits and signals as Linux has them")


def test_rate_of_a_character_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "a.usda"
    cases.write_character(path, points=9, frames=3, joints=2)
    assert read_animation(path).frames == 3
    text = path.read_text(encoding="utf-8")
    for rate in ("inf", "-inf", "nan", "0", "-24"):
        path.write_text(text.replace("timeCodesPerSecond = 24", f"timeCodesPerSecond = {rate}"), encoding="utf-8")
        with pytest.raises(FileError, match=r"timeCodesPerSecond is .* must be positive and finite"):
            read_animation(path)


def layered(path: Path, layer: str) -> Path:
    """A stage that consists of another layer."""
    path.write_text(f"#usda 1.0\n(\n    subLayers = [@{layer}@]\n    timeCodesPerSecond = 24\n)\n", encoding="utf-8")
    return path


def test_layers_of_other_folders_bad_input(tmp_path: Path) -> None:
    """Assets are referenced across folders; only files sent by others are confined to their own."""
    for folder in ("shots", "assets"):
        (tmp_path / folder).mkdir()
    cases.write_character(tmp_path / "assets" / "man.usda", points=9, frames=3, joints=2)
    cases.write_character(tmp_path / "shots" / "own.usda", points=9, frames=3, joints=2)
    shot = layered(tmp_path / "shots" / "shot.usda", "../assets/man.usda")
    own = layered(tmp_path / "shots" / "whole.usda", "./own.usda")
    assert read_animation(shot).frames == read_animation(own).frames == 3
    with confine_reads():
        assert read_animation(own).frames == 3
        for other in ("../assets/man.usda", str(tmp_path / "assets" / "man.usda")):
            with pytest.raises(FileError, match=r"its layer man\.usda is in another folder"):
                read_animation(layered(shot, other))


def test_layers_are_inputs_bad_input(tmp_path: Path) -> None:
    cases.write_character(tmp_path / "man.usda", points=9, frames=3, joints=2)
    before = (tmp_path / "man.usda").read_bytes()
    shot = layered(tmp_path / "shot.usda", "./man.usda")
    with pytest.raises(FileError, match="is what is read, and would be lost"):
        convert(shot, tmp_path / "man.usda")
    assert (tmp_path / "man.usda").read_bytes() == before


@LINUX
def test_a_pipe_as_a_layer_bad_input(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.usda")
    with pytest.raises(FileError, match=r"pipe\.usda is no regular file"):
        read_animation(layered(tmp_path / "a.usda", "./pipe.usda"))


@LINUX
def test_a_parser_ends_with_its_parent_claim(tmp_path: Path) -> None:
    """Also when it is blocked, and when nobody could end it: here the parent is killed."""
    code = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[1:2]; import child_cases\n"
        "from cajole.parsers.child_process import run_in_child\n"
        "run_in_child(child_cases.wait_forever, Path(sys.argv[2]))"
    )
    file = tmp_path / "pid"
    file.touch()
    parent = subprocess.Popen([sys.executable, "-c", code, str(Path(__file__).parent), str(file)])
    wait_until(lambda: file.read_text(encoding="ascii"), "the child to start")
    pid = int(file.read_text(encoding="ascii"))
    parent.kill()
    parent.wait()
    wait_until(lambda: not is_alive(pid), "the child to end")


def is_alive(pid: int) -> bool:
    """True for a process that runs or waits; one that has ended may be left to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@LINUX
def test_skinning_that_never_ends_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What usd-core does with a rate that is not checked first."""
    path = tmp_path / "a.usda"
    cases.write_character(path, points=9, frames=3, joints=2)
    path.write_text(path.read_text(encoding="utf-8").replace("timeCodesPerSecond = 24", "timeCodesPerSecond = inf"))
    with pytest.raises(FileError, match="more than 2 s of CPU time"):
        run_in_child(cases.bake_unchecked, path, limits=ParserLimits(2, 4 << 30))


@LINUX
@pytest.mark.parametrize("suffix", [".usda", ".usd"])
def test_nested_prims_bad_input(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_text("#usda 1.0\n" + 'def Xform "a" {\n' * 100_000 + "}\n" * 100_000, encoding="ascii")
    with pytest.raises(FileError, match=r"its parser crashed \(signal 11, segmentation fault\)"):
        read_animation(path)


@LINUX
def test_a_large_character_on_a_busy_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A valid file of 3 MB is read, also when its parser gets no CPU for many times what a blocked one is allowed."""
    path = tmp_path / "a.usda"
    cases.write_character(path, points=40_000, frames=4, joints=20)
    assert path.stat().st_size > 3_000_000
    of_file = ParserLimits.for_file(path)
    monkeypatch.setattr(
        ParserLimits, "for_file", lambda _: ParserLimits(of_file.cpu_seconds, of_file.memory_bytes, 0.3)
    )
    stopped: list[int] = []
    polls = 0

    class Starved(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: Any, **options: Any):
            super().__init__(*arguments, **options)
            os.kill(self.pid, signal.SIGSTOP)
            stopped.append(self.pid)

    def feed(fraction: float, text: str) -> None:
        nonlocal polls
        polls += 1
        if polls == 12:
            os.kill(stopped[0], signal.SIGCONT)

    monkeypatch.setattr(child_process.subprocess, "Popen", Starved)
    animation = read_animation(path, progress=feed)
    assert (animation.frames, animation.n) == (4, 40_000)
    assert polls >= 12
