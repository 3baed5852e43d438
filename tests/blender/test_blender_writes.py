"""What Blender's own exporters write is read as it moved there, and `cajole edit` and `cajole enrich` take it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from cajole.animation import Animation, read_animation
from cajole.cli.app import app

# of the size of the body
NEAR = 1e-5
VERTEX, FRAME = 12, 14
USD = ["z_up.usdc", "y_up.usdc", "centimetres.usdc"]
OBJ = {"y_up_": {"up": "y"}, "z_up_": {}}


@pytest.fixture(scope="module")
def written(blender: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], Any]:
    """The folder that Blender wrote to, what it says of the scene, and where the vertices were."""
    folder = tmp_path_factory.mktemp("from_blender")
    told = blender("inside_writing", folder=folder)
    return folder, told, np.load(folder / "truth.npz")


def cajole(*words: object) -> dict[str, Any]:
    done = CliRunner().invoke(app, [str(word) for word in words] + ["--json"])
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


def require_same(found: Animation, truth: np.ndarray, told: dict[str, Any]) -> None:
    """The same vertices at the same frames, in metres and with z up."""
    assert (found.fps, found.start_frame) == (told["fps"], told["first"])
    assert found.positions.shape == truth.shape
    assert np.abs(found.positions - truth).max() < NEAR * found.mesh.size


@pytest.mark.parametrize("name", USD)
def test_usd_is_read_with_its_axes_units_and_frames_reference(name, written):
    folder, told, truth = written
    require_same(read_animation(folder / name), truth["travelling"], told)


def test_bones_of_usd_move_their_vertices_reference(written):
    folder, told, truth = written
    require_same(read_animation(folder / "bones.usdc"), truth["bones"], told)
    assert np.ptp(truth["bones"], axis=0).max() > 0.5


def test_a_motion_that_comes_to_rest_is_not_cut_there_reference(written):
    folder, told, truth = written
    resting = truth["travelling"][-5:]
    assert np.abs(resting - resting[0]).max() < NEAR
    assert read_animation(folder / "z_up.usdc").frames == told["last"] - told["first"] + 1


def test_gltf_is_read_and_its_cut_edges_are_whole_reference(written):
    folder, told, truth = written
    found = read_animation(folder / "staying.glb")
    assert (found.fps, found.start_frame, found.n) == (told["fps"], told["first"], truth["staying"].shape[1])
    # glTF numbers vertices anew: each of ours is where one of Blender's is, in all frames
    first = np.linalg.norm(found.positions[0][:, None] - truth["staying"][0][None], axis=2)
    order = first.argmin(axis=1)
    assert len(set(order)) == found.n
    frames = min(found.frames, len(truth["staying"]))
    assert frames > told["last"] - told["first"] - 10
    difference = found.positions[:frames] - truth["staying"][:frames, order]
    assert np.abs(difference).max() < NEAR * found.mesh.size
    assert len(found.mesh.boundary_edges) == 2 * (6 + 4)


@pytest.mark.parametrize("name", list(OBJ))
def test_obj_sequences_are_read_when_told_which_way_is_up_reference(name, written):
    folder, told, truth = written
    require_same(read_animation(folder / f"{name}####.obj", fps=told["fps"], **OBJ[name]), truth["staying"], told)


def test_edit_takes_what_blender_wrote_claim(written, tmp_path):
    folder, _, truth = written
    drag = ["--drag", f"{VERTEX}:{FRAME}:+0,0,0.2", "--whole"]
    cajole("edit", folder / "y_up.usdc", *drag, "-o", tmp_path / "edited.npz")
    found = read_animation(tmp_path / "edited.npz")
    aim = truth["travelling"][FRAME, VERTEX] + [0.0, 0.0, 0.2]
    np.testing.assert_allclose(found.frame(FRAME)[VERTEX], aim, atol=2e-3 * found.mesh.size)
    np.testing.assert_allclose(found.frame(0), truth["travelling"][0], atol=NEAR * found.mesh.size)


def test_enrich_takes_what_blender_wrote_claim(written, tmp_path):
    folder, _, truth = written
    options = ["--subdivide", 1, "--frames", 6, "--dt", "1/50", "-o", tmp_path / "folds.npz"]
    cajole("enrich", folder / "z_up.usdc", *options)
    found = read_animation(tmp_path / "folds.npz")
    assert found.frames == 6
    assert found.n > truth["travelling"].shape[1]
    # the shell follows its guide on average
    gap = found.positions.mean(axis=1) - truth["travelling"][:6].mean(axis=1)
    assert np.abs(gap).max() < 0.05 * found.mesh.size
