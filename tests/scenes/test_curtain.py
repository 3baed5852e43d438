"""The curtain of Figure 8: its size, its motion, and that three drags make it swing higher and flap."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.body import BodyShell
from cajole.scenes.edit_scenes import EditScene, load_edit_scene
from cajole.scenes.edit_scenes.curtain import (
    FLAP_FRAME,
    FRAMES,
    SWING_FRAME,
    build_springs,
    build_wind_force,
    find_hem_landmarks,
    find_top_vertices,
)


@pytest.fixture(scope="module")
def scene() -> EditScene:
    return load_edit_scene("curtain")


def test_table_claim(scene):
    """1281 vertices, 2400 triangles, T = 240, r = 200."""
    mesh = scene.animation.mesh
    assert (len(mesh.vertices), len(mesh.elements)) == (1281, 2400)
    assert (scene.animation.frames, scene.modes) == (240, 200)
    assert isinstance(scene.body, BodyShell)
    assert {len(move.vertices) for move in scene.drags if move.frame == SWING_FRAME} == {1}
    assert {len(move.vertices) for move in scene.drags if move.frame == FLAP_FRAME} == {2}
    assert {move.frame for move in scene.drags} == {30, 150}


def test_motion_identity(scene):
    """The tape stays where it is, the cloth hardly stretches, and it swings to both sides."""
    x, mesh = scene.animation.positions, scene.animation.mesh
    assert np.ptp(x[:, find_top_vertices()], axis=0).max() == 0
    ends = mesh.edges
    rest = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
    lengths = np.linalg.norm(x[:, ends[:, 0]] - x[:, ends[:, 1]], axis=2) / rest
    assert 0.9 < lengths.min() < lengths.max() < 1.1
    middle = x[:, find_hem_landmarks()["middle"], 1]
    assert middle.max() > 0.3
    assert middle.min() < -0.15


def test_wind_identity(scene):
    """Nothing blows outside the gusts, and all that blows is less than the weight."""
    cloth = build_springs(scene.animation.mesh)
    force = build_wind_force(cloth)
    assert not force(-1.0).any()
    assert not force(60.0).any()
    for t in np.linspace(-0.7, 4.0, 20):
        assert np.linalg.norm(force(t).sum(axis=0)) < 9.81 * cloth.total_mass


def test_swings_higher_and_flaps_claim(scene):
    editor = scene.apply_drags()
    given = scene.animation.positions
    for move in (scene.drags[2], scene.drags[-1]):
        now = editor.positions(move.frame)
        np.testing.assert_allclose(now[move.vertices], move.positions, atol=1e-3)
        assert (now[move.vertices, 2] > given[move.frame, move.vertices, 2] + 0.1).all()
    for frame in (0, 1, FRAMES - 2, FRAMES - 1):
        np.testing.assert_array_equal(editor.positions(frame), given[frame])
    # motion that nobody asked for goes along between the drags and after them
    for frame in (90, 210):
        assert np.linalg.norm(editor.positions(frame) - given[frame], axis=1).max() > 0.05
