"""Plots of runs: whole files or none, and messages for what cannot be drawn."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import cajole as cj
from bodies import beam_body
from cajole.animation import Animation
from cajole.direct.steering.plots import plot_runs

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def runs():
    body = beam_body((4, 1, 1), damping=(0.1, 0.002))
    motion = Animation(body.get_display_mesh(), np.tile(body.vertices, (21, 1, 1)), fps=50)
    controller = cj.steer(cj.build_reference(cj.reduce(body, cj.modes(body, 3)), motion))
    push = cj.Push(9, (0.0, 0.0, 5.0))
    return {name: controller.run(force=push, controlled=name == "with") for name in ("without", "with")}


@pytest.mark.parametrize(("suffix", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_formats_identity(runs, tmp_path, suffix, begins):
    path = tmp_path / f"curves{suffix}"
    plot_runs(runs, path, title="a beam")
    assert path.read_bytes().startswith(begins)
    assert list(tmp_path.iterdir()) == [path]


def test_curves_identity(runs, tmp_path, monkeypatch):
    """The error of every run is drawn, in percent; force only of the one that is controlled."""
    drawn = {}
    from matplotlib.axes import Axes

    plain = Axes.plot

    def noted(self, x, y, **options):
        drawn.setdefault(id(self), []).append((options["label"], np.asarray(y), np.asarray(x)))
        return plain(self, x, y, **options)

    monkeypatch.setattr(Axes, "plot", noted)
    plot_runs(runs, tmp_path / "curves.png")
    errors, forces = drawn.values()
    assert [name for name, _, _ in errors] == ["without", "with"]
    assert errors[0][1] == pytest.approx(100 * runs["without"].error)
    assert errors[0][2][-1] == pytest.approx(20 / 50)
    assert [name for name, _, _ in forces] == ["with"]
    assert forces[0][1] == pytest.approx(runs["with"].gentleness)


def test_plot_bad_input(runs, tmp_path):
    with pytest.raises(cj.FileError, match=r"\.png"):
        plot_runs(runs, tmp_path / "curves.docx")
    with pytest.raises(cj.InputError, match="no runs"):
        plot_runs({}, tmp_path / "curves.png")
    with pytest.raises(cj.InputError, match="run 'a' must be a ControllerRun"):
        plot_runs({"a": 1}, tmp_path / "curves.png")
    assert not list(tmp_path.iterdir())


def test_missing_package_bad_input(runs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(cj.MissingExtra, match=r"cajole\[viz\]"):
        plot_runs(runs, tmp_path / "curves.png")
