"""The add-on in Blender: the whole circle from a mesh through the studio and back, and what it says when it cannot."""

from __future__ import annotations

import runpy
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from cajole import __version__
from cajole.animation import read_animation
from cajole.cli.app import app

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).parent / "cajole"
NODE, FRAME, DELTA = 12, 14, [0.0, 0.05, 0.1]
# metres in a unit of the scene
UNIT = 0.5
# of the size of the body
NEAR = 1e-5


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The add-on as a file to install."""
    made = runpy.run_path(str(ROOT / "scripts" / "blender_addon.py"))["packed"]
    return Path(made(tmp_path_factory.mktemp("addon")))


@pytest.fixture(scope="module")
def circle(
    blender: Callable[..., Any], packed: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any], Any]:
    folder = tmp_path_factory.mktemp("circle")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAJOLE_STUDIO", str(folder / "shelf"))
        told = blender(
            "inside_circle", addon=packed, command=COMMAND, folder=folder, node=NODE, frame=FRAME, delta=DELTA
        )
    return folder, told, np.load(folder / "seen.npz")


def test_the_edit_comes_back_as_the_command_line_makes_it_agreement(circle):
    folder, _, seen = circle
    target = folder / "expected.npz"
    done = CliRunner().invoke(
        app, ["edit", str(folder / "sent.npz"), "--edit", str(folder / "edit.json"), "-o", str(target)]
    )
    assert done.exit_code == 0, done.output
    expected = read_animation(target)
    size = expected.mesh.size
    assert expected.start_frame == 11
    assert np.abs(UNIT * seen["after"] - expected.positions).max() < NEAR * size
    moved = UNIT * (seen["after"] - seen["before"])
    # nothing holds the banner, so that a drag bends it about its middle; it goes where it was pulled to
    assert moved[FRAME, NODE] @ DELTA > 0.3 * np.dot(DELTA, DELTA)
    assert np.abs(moved[0]).max() < NEAR * size


def test_what_was_sent_is_what_blender_showed_identity(circle):
    folder, _, seen = circle
    found = read_animation(folder / "sent.npz")
    assert (found.fps, found.start_frame, found.name) == (25.0, 11, "Banner")
    assert np.abs(found.positions - UNIT * seen["before"]).max() < NEAR * found.mesh.size


def test_another_studio_goes_on_with_the_project_identity(circle):
    _, _, seen = circle
    np.testing.assert_array_equal(seen["again"], seen["after"])


def test_the_stack_the_view_and_the_frame_stay_as_they_were_identity(circle):
    _, told, _ = circle
    assert told["order"] == ["MESH_CACHE", "SUBSURF"]
    assert told["smooth"] is True
    assert told["frame"] == 17
    assert told["cache"].startswith("//cajole_cache")


def test_what_cannot_be_done_is_reported_bad_input(blender, packed, tmp_path):
    said = blender("inside_refusals", addon=packed, folder=tmp_path)
    assert "install it with pip install" in said["no command"]
    assert "no address of a studio" in said["no address"]
    assert "no studio answers" in said["nobody there"]
    assert "keep their vertices" in said["other vertices"]
    assert "no faces" in said["no faces"]
    assert "cannot be written" in said["no folder"]


def test_a_shell_comes_back_as_an_object_of_its_own_claim(blender, packed, tmp_path, monkeypatch):
    monkeypatch.setenv("CAJOLE_STUDIO", str(tmp_path / "shelf"))
    told = blender("inside_enriching", addon=packed, command=COMMAND, folder=tmp_path, frames=6)
    assert told["guide"] == []
    seen = np.load(tmp_path / "seen.npz")
    frames, n = seen["guide"].shape[:2]
    assert seen["shell"].shape[0] == frames
    assert seen["shell"].shape[1] > 2 * n
    # it follows its guide on average, and moves
    size = np.ptp(seen["guide"][0], axis=0).max()
    assert np.abs(seen["shell"].mean(axis=1) - seen["guide"].mean(axis=1)).max() < 0.05 * size
    assert np.abs(seen["shell"][-1] - seen["shell"][0]).max() > 0.01 * size


def test_operators_wait_beside_the_window_identity(blender, packed):
    told = blender("inside_waiting", addon=packed)
    for name, end in (
        ("well", "FINISHED"),
        ("refused", "CANCELLED"),
        ("unexpected", "CANCELLED"),
        ("gone", "CANCELLED"),
    ):
        one = told[name]
        assert (one["states"][0], one["states"][-1]) == ("RUNNING_MODAL", end), one
        assert (one["timers"], one["handlers"], one["texts"][-1]) == (0, 1, None)
    assert "PASS_THROUGH" in told["well"]["states"]
    assert told["well"]["beside"]
    assert told["refused"]["said"] == ["the studio is out"]
    assert "something unexpected" in told["unexpected"]["said"][0]
    assert "removed meanwhile" in told["gone"]["said"][0]


def test_results_with_other_vertices_become_an_object_of_their_own_identity(blender, packed, tmp_path):
    told = blender("inside_attaching", addon=packed, folder=tmp_path)
    given = np.load(tmp_path / "given.npz")
    assert told["name"] == "Banner shell"
    for name in ("finer", "slower"):
        assert np.abs(given[f"{name}_seen"] - given[f"{name}_asked"]).max() < NEAR, name


def test_its_version_is_that_of_the_package_identity():
    about = (ROOT / "integrations" / "blender" / "cajole_studio" / "blender_manifest.toml").read_text(encoding="utf-8")
    assert tomllib.loads(about)["version"] == __version__


def test_the_file_to_install_has_all_of_it_identity(packed):
    import zipfile

    names = set(zipfile.ZipFile(packed).namelist())
    source = ROOT / "integrations" / "blender" / "cajole_studio"
    assert names == {path.name for path in source.iterdir() if path.is_file()} | {"LICENSE"}
