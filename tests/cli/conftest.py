"""A small tet mesh and its files, and a way to run commands inside this process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from cajole.mesh import box_tets, write_mesh
from waiting import PATIENCE


class Run:
    """What a command said: exit code, stdout, stderr."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        """The one JSON document on stdout."""
        return json.loads(self.out)


@pytest.fixture
def cajole():
    """Run a command line inside this process."""
    from cajole.cli.app import app

    def run(*words):
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Run(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def outside():
    """Run a command line in a process of its own."""

    def run(*words, cwd=None):
        command = [sys.executable, "-c", "from cajole.cli import main; main()", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=PATIENCE, check=False)
        return Run(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def beam(tmp_path) -> Path:
    """A beam of 36 tets along x, one metre long."""
    path = tmp_path / "beam.veg"
    write_mesh(box_tets(6, 1, 1, size=(1.0, 0.2, 0.2)), path)
    return path


@pytest.fixture
def body(beam):
    """The beam as a solid, held at its low end: what `--fixed "x<1%"` makes of it."""
    import cajole as cj

    mesh = cj.read_mesh(beam)
    fixed = np.flatnonzero(mesh.vertices[:, 0] < 0.01)
    return cj.BodySolid(mesh, cj.MaterialStVK(), fixed=fixed, damping=(0.2, 0.002))


@pytest.fixture
def bent(body):
    """Its shape (n, 3) under a load at the tip."""
    from cajole.dynamics import pose

    return pose(body, {int(v): (0, 0, 30.0) for v in np.flatnonzero(body.vertices[:, 0] > 0.99)})


@pytest.fixture
def motion(body, bent):
    """A swing of 13 frames, let go from there."""
    from cajole.dynamics import simulate

    return simulate(body, 13, 0.02, start=bent)


@pytest.fixture
def swing(motion, tmp_path) -> Path:
    """A file with that swing."""
    path = tmp_path / "swing.npz"
    motion.write(path)
    return path


@pytest.fixture
def wave(tmp_path) -> Path:
    """An animation of three frames."""
    from cajole.animation import Animation

    mesh = box_tets(2, 1, 1)
    positions = mesh.vertices + np.arange(3)[:, None, None] * np.array([0.0, 0.0, 0.1])
    path = tmp_path / "wave.npz"
    Animation(mesh, positions, fps=24).write(path)
    return path
