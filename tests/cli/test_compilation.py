"""Commands compile only the kernels they need, and announce it once on stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cajole as cj
from cajole.direct import save_edit

ANNOUNCEMENT = "Compiling numerical kernels for first use"
IMPORTED = (
    "import sys; from cajole.cli import main\ntry: main()\nfinally: print('numba' in sys.modules, file=sys.stderr)"
)


@pytest.fixture
def fresh(tmp_path):
    """Run a command in a process of its own with an empty cache of kernels; returns the run and the kernels cached."""
    folder = tmp_path / "kernels"

    def run(*words, code="from cajole.cli import main; main()"):
        places = {"NUMBA_CACHE_DIR": str(folder), "CAJOLE_CACHE": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, words)],
            env=os.environ | places,
            capture_output=True,
            text=True,
            check=True,
        )
        return done, {path.name for path in folder.rglob("*.nbi")}

    return run


@pytest.fixture
def files(body, motion, swing, beam, tmp_path) -> list[Path]:
    """One file of each kind that `cajole info` reads and that could need a body."""
    model = cj.reduce(body, cj.modes(body, 3))
    model.save(tmp_path / "model.npz")
    cj.steer(cj.build_reference(model, motion), effort=0.5).save(tmp_path / "controller.npz")
    editor = cj.edit(motion, body, modes=3)
    vertex = int(np.argmax(motion.positions[0][:, 0]))
    editor.drag(vertex, 3, motion.positions[3, vertex] + 0.01)
    save_edit(editor, tmp_path / "edit.json")
    for suffix in ("glb", "pc2"):
        motion.write(tmp_path / f"swing.{suffix}")
    (tmp_path / "held.bou").write_text("2,5,3\n")
    names = ("model.npz", "controller.npz", "edit.json", "swing.glb", "swing.pc2", "held.bou")
    return [beam, swing, *(tmp_path / name for name in names)]


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["simulate", "--help"], ["studio", "--help"]])
def test_help_does_not_load_numba_identity(fresh, words):
    done, kernels = fresh(*words, code=IMPORTED)
    assert done.stderr.split() == ["False"]
    assert not kernels


def test_info_compiles_nothing_identity(fresh, files):
    for file in files:
        done, kernels = fresh("info", file, "--json")
        assert json.loads(done.stdout)["path"] == str(file)
        assert not kernels, file
        assert ANNOUNCEMENT not in done.stderr, file


def test_compilation_is_announced_once_identity(fresh, beam):
    words = ("simulate", beam, "--frames", 3, "--fixed", "x<1%", "--json")
    done, kernels = fresh(*words)
    assert done.stderr.count(ANNOUNCEMENT) == 1
    assert json.loads(done.stdout)["frames"] == 3
    # a mesh file needs none of the kernels that make scenes, and a simulation none that edit
    assert any("force" in name for name in kernels)
    assert not [name for name in kernels if "stencils" in name or "warp" in name]
    done, again = fresh(*words)
    assert ANNOUNCEMENT not in done.stderr
    assert again == kernels
