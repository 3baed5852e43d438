"""The seagull of Figures 3 and 4: a mesh as artists make them, a keyed flight, and two edits."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.body import EmbeddedMesh
from cajole.mesh import MeshTri
from cajole.scenes.edit_scenes import EditScene, load_edit_scene
from cajole.scenes.edit_scenes.bird import FRAMES, TAIL_FRAME, WING_FRAME
from cajole.scenes.edit_scenes.bird_mesh import (
    EYE_RADIUS,
    SeagullPose,
    build_seagull_mesh,
    compute_part_offsets,
    compute_seagull_vertices,
    find_landmarks,
)


@pytest.fixture(scope="module")
def scene() -> EditScene:
    return load_edit_scene("bird")


def angle_between(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b))))


def test_table_claim(scene):
    """664 vertices, 1324 triangles, not manifold, T = 255, r = 500."""
    mesh = scene.animation.mesh
    assert isinstance(mesh, MeshTri)
    assert (len(mesh.vertices), len(mesh.triangles)) == (664, 1324)
    assert not mesh.is_manifold()
    assert mesh.component_labels.max() == 0
    assert not any("repeat" in note for note in mesh.notes)
    assert (scene.animation.frames, scene.modes) == (255, 500)


def test_body_identity(scene):
    """One free solid of cells that carries every vertex."""
    around = scene.body
    assert isinstance(around, EmbeddedMesh)
    assert len(around.body.connected_components) == 1
    assert len(around.body.fixed) == 0
    assert not around.embedding.outside_mask.any()


def test_mirrored_identity():
    """Left and right are alike, whatever the pose of both wings."""
    points = compute_seagull_vertices(SeagullPose(shoulder=30.0, wrist=10.0, twist=8.0, tail=12.0))
    flipped = points * [1.0, -1.0, 1.0]
    away = np.linalg.norm(points[:, None] - flipped[None], axis=2).min(axis=1)
    assert away.max() < 1e-12


def test_flight_identity(scene):
    """Wings beat up and down and rest in between, hardly an edge is stretched, and nothing jumps."""
    x, mesh = scene.animation.positions, scene.animation.mesh
    tip, body = find_landmarks()["tip front"], np.arange(120)
    height = x[:, tip, 2] - x[:, body, 2].mean(axis=1)
    assert height[:80].max() > 0.5
    assert height[:80].min() < -0.5
    assert np.ptp(height[105:150]) < 0.6
    ends = mesh.edges
    rest = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
    stretch = np.linalg.norm(x[:, ends[:, 0]] - x[:, ends[:, 1]], axis=2) / rest
    assert np.quantile(abs(stretch - 1), 0.99) < 0.25
    assert np.linalg.norm(np.diff(x, axis=0), axis=2).max() < 0.35


def test_rest_is_oriented_identity():
    """Body, wings and eyes face outwards and the tail upwards, so that shading and warping agree."""
    mesh = build_seagull_mesh()
    corners = mesh.vertices[mesh.triangles]
    signed = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
    first = compute_part_offsets()
    bounds = [0, first["left"], first["right"], first["tail"], first["left eye"], first["toes"], len(mesh.vertices)]
    # a triangle belongs to the latest part that it touches; the two that carry the eyes stay inside
    last = np.searchsorted(bounds, mesh.triangles.max(axis=1), side="right") - 1
    volumes = [signed[last == part].sum() for part in range(3)]
    assert 0.03 < volumes[0] < 0.1
    assert 0.005 < volumes[1] == pytest.approx(volumes[2])
    whole = (mesh.triangles >= first["left eye"]).all(axis=1) & (mesh.triangles < first["toes"]).all(axis=1)
    assert 0.5 < signed[whole].sum() / (2 * 4 / 3 * np.pi * EYE_RADIUS**3) < 1
    assert (mesh.normals[last == 3][:, 2] > 0).mean() > 0.9


def test_bent_and_twisted_claim(scene):
    """A wing bent by 45 degrees and a tail twisted by 60, exactly; the first and last frames stay."""
    editor, given, at = scene.apply_drags(), scene.animation.positions, find_landmarks()
    tail = editor.positions(TAIL_FRAME)
    span = tail[at["tail left"]] - tail[at["tail right"]]
    before = given[TAIL_FRAME, at["tail left"]] - given[TAIL_FRAME, at["tail right"]]
    assert angle_between(span, before) == pytest.approx(60.0, abs=1.0)
    wing = editor.positions(WING_FRAME)
    wrist = [at["wrist front"], at["wrist back"]]
    hand = wing[at["tip front"]] - wing[wrist].mean(axis=0)
    straight = given[WING_FRAME, at["tip front"]] - given[WING_FRAME, wrist].mean(axis=0)
    assert angle_between(hand, straight) == pytest.approx(45.0, abs=5.0)
    for move in scene.drags:
        if move is scene.drags[-1]:
            np.testing.assert_allclose(wing[move.vertices], move.positions, atol=1e-3)
    for frame in (0, 1, FRAMES - 2, FRAMES - 1):
        np.testing.assert_array_equal(editor.positions(frame), given[frame])
