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

from cajole.animation import read_animation
from cajole.errors import FileError
from cajole.parsers import child
from cajole.parsers.child import Limits, run_in_child

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


@LINUX
def test_skinning_that_never_ends_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What usd-core does with a rate that is not checked first."""
    path = tmp_path / "a.usda"
    cases.write_character(path, points=9, frames=3, joints=2)
    path.write_text(path.read_text(encoding="utf-8").replace("timeCodesPerSecond = 24", "timeCodesPerSecond = inf"))
    with pytest.raises(FileError, match="more than 2 s of CPU time"):
        run_in_child(cases.bake_unchecked, path, limits=Limits(2, 4 << 30))


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
    of_file = Limits.for_file(path)
    monkeypatch.setattr(Limits, "for_file", lambda _: Limits(of_file.cpu_seconds, of_file.memory_bytes, 0.3))
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

    monkeypatch.setattr(child.subprocess, "Popen", Starved)
    animation = read_animation(path, progress=feed)
    assert (animation.frames, animation.n) == (4, 40_000)
    assert polls >= 12
