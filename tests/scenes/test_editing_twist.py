"""The twisted beam, and what scenes for `edit` are made of: moves, props, and pictures of an edit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import cajole as cj
from cajole.pictures import Prop
from cajole.scenes.edit_scenes import (
    EditScene,
    VertexDrag,
    list_edit_scene_names,
    load_edit_scene,
    render_edit_frame,
    render_edit_loop,
    render_edit_strip,
)
from cajole.scenes.edit_scenes.edit_scene import apply_drags
from cajole.scenes.edit_scenes.twist import TWIST_FRAME, find_end_corners, generate_twist_drags, measure_twist

SMALL = {"renderer": "draft", "size": (240, 120)}


@pytest.fixture(scope="module")
def scene() -> EditScene:
    return load_edit_scene("twist")


@pytest.fixture(scope="module")
def twisted(scene: EditScene) -> cj.Editor:
    return scene.apply_drags()


def volumes(positions: np.ndarray, tets: np.ndarray) -> np.ndarray:
    x = positions[tets]
    return np.asarray(np.linalg.det(x[:, 1:] - x[:, :1]) / 6)


def test_beam_is_of_table_1_claim(scene):
    """208 vertices of 75 cubes, 600 degrees of freedom, 500 modes, 360 frames."""
    assert scene.animation.n == 208
    assert len(scene.animation.mesh.tets) == 6 * 75
    assert len(scene.body.free_dofs) == 600
    assert scene.modes == 500
    assert scene.animation.frames == 360
    assert len(scene.drags) == 48


def test_beam_is_twisted_by_two_turns_claim(scene, twisted):
    """Every section is turned as far as its neighbour or farther, the last by 720 degrees; no tet turns inside out."""
    positions = twisted.positions(TWIST_FRAME)
    turned = measure_twist(scene.animation.mesh, positions)
    assert turned[0] == pytest.approx(0.0, abs=1e-9)
    assert turned[-1] == pytest.approx(720.0, abs=1.0)
    assert (np.diff(turned) > 0).all()
    assert volumes(positions, scene.animation.mesh.tets).min() > 0
    corners = find_end_corners(scene.animation.mesh)
    assert np.linalg.norm(positions[corners] - scene.drags[-1].positions, axis=1).max() < 1e-3 * scene.body.size


def test_ends_of_the_motion_stay_identity(scene, twisted):
    rest = scene.animation.mesh.vertices
    for frame in (0, 1, 358, 359):
        assert np.array_equal(twisted.positions(frame), rest)
    assert np.array_equal(twisted.positions(TWIST_FRAME)[scene.body.fixed], rest[scene.body.fixed])


def test_twist_moves_identity(scene):
    """Steps follow one another by the same angle; a whole turn ends where it began."""
    mesh = scene.animation.mesh
    moves = list(generate_twist_drags(mesh, 7, total_angle=360.0, angle_step=90.0))
    corners = mesh.vertices[find_end_corners(mesh)]
    assert [move.frame for move in moves] == [7] * 4
    assert moves[-1].positions == pytest.approx(corners)
    assert moves[1].positions[:, 1:] == pytest.approx(-corners[:, 1:])
    with pytest.raises(cj.InputError, match="step"):
        next(generate_twist_drags(mesh, 7, angle_step=0.0))


def test_skin_is_the_beam_identity(scene):
    """At rest the skin is the box that the cubes fill, closed and facing outwards: its volume is theirs."""
    skin = scene.animation.skin
    assert skin is not None
    x = skin.mesh.vertices[skin.mesh.triangles]
    volume = np.einsum("ij,ij->i", x[:, 0], np.cross(x[:, 1], x[:, 2])).sum() / 6
    assert volume == pytest.approx(scene.animation.mesh.volumes.sum())
    assert skin.mesh.bounds == pytest.approx(scene.animation.mesh.bounds)
    # rigid motions carry it along exactly
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    moved = skin.deform(scene.animation.mesh.vertices @ turn.T + [1.0, 2.0, 3.0])
    assert moved == pytest.approx(skin.mesh.vertices @ turn.T + [1.0, 2.0, 3.0])


def test_output_wears_the_skin_identity(scene, twisted):
    made = twisted.animation()
    assert made.skin is scene.animation.skin
    assert made.positions[TWIST_FRAME] == pytest.approx(twisted.positions(TWIST_FRAME), abs=1e-7)


def test_moves_can_be_stopped(scene):
    editor = scene.create_editor()
    with pytest.raises(cj.Cancelled):
        apply_drags(editor, scene.drags, progress=lambda fraction, text: fraction < 0.02)
    assert len(editor.constraints) == 4


def yellowish(pixels: np.ndarray) -> int:
    r, g, b = pixels.transpose(2, 0, 1)
    return int(((r > 200) & (g > b + 60) & (r - g < 110)).sum())


def test_picture_shows_input_output_and_handles(scene, twisted):
    """Red is the output, yellow its input where that is seen, blue the dragged corners; without a ghost no yellow."""
    both, alone = (
        render_edit_frame(scene, twisted, TWIST_FRAME, ghost=ghost, **SMALL).astype(int) for ghost in (True, False)
    )
    r, g, b = both.transpose(2, 0, 1)
    assert ((r > g + 90) & (r > b + 90)).sum() > 300
    assert ((b > r + 60) & (g > r + 30)).sum() > 10
    assert yellowish(both) > 300 > 3 * yellowish(alone)


def test_props_are_drawn_and_do_not_move_the_camera(scene, twisted):
    """A green box above the beam is seen, all else stays as it was. A prop that moves is where its frame says."""
    box = cj.MeshTri([[0, 0, 0.4], [1, 0, 0.4], [1, 0, 0.7], [0, 0, 0.7]], [[0, 1, 2], [0, 2, 3]])
    path = np.repeat(box.vertices[None], 360, axis=0)
    path[: TWIST_FRAME - 1, :, 2] += 50.0
    plain = render_edit_frame(scene, twisted, TWIST_FRAME, **SMALL).astype(int)
    for shape in (box, cj.Animation(box, path, fps=60.0)):
        dressed = replace(scene, props=(Prop("box", shape, (0.1, 0.8, 0.1)),))
        seen = render_edit_frame(dressed, twisted, TWIST_FRAME, **SMALL).astype(int)
        green = (seen[..., 1] > seen[..., 0] + 50) & (seen[..., 1] > seen[..., 2] + 50)
        assert green.sum() > 100
        # the box casts a shadow, but what was red stays in its place
        red = [(p[..., 0] > p[..., 1] + 90) & ~green for p in (plain, seen)]
        assert (red[0] == red[1]).mean() > 0.99
    gone = render_edit_frame(dressed, twisted, 100, **SMALL).astype(int)
    assert not ((gone[..., 1] > gone[..., 0] + 50) & (gone[..., 1] > gone[..., 2] + 50)).any()


def test_strip_is_written(scene, twisted, tmp_path):
    pixels = render_edit_strip(
        scene, twisted, tmp_path / "strip.png", frames=(60, TWIST_FRAME), size=(90, 60), renderer="draft"
    )
    assert pixels.shape == (60, 184, 3)
    assert (tmp_path / "strip.png").stat().st_size > 0


def test_loop_plays_at_the_speed_of_the_motion(scene, twisted, tmp_path):
    """Every sixtieth frame of six seconds: six pictures that differ, one a second."""
    pixels = render_edit_loop(scene, twisted, tmp_path / "loop.webp", every=60, size=(60, 40), renderer="draft")
    assert pixels.shape == (6, 40, 60, 3)
    assert (pixels[3] != pixels[0]).any()
    with Image.open(tmp_path / "loop.webp") as stored:
        assert stored.n_frames == 6
        stored.load()
        assert stored.info["duration"] == pytest.approx(1000.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda scene, editor: load_edit_scene("nothing"), "name of an edit scene"),
        (lambda scene, editor: VertexDrag(np.array([1, 2]), 3, np.zeros((1, 3))), r"positions of a drag"),
        (lambda scene, editor: VertexDrag(np.array([1]), -3, np.zeros((1, 3))), "frame of a drag"),
        (
            lambda scene, editor: replace(scene, drags=(VertexDrag(np.array([208]), 3, np.zeros((1, 3))),)),
            "208 vertices",
        ),
        (lambda scene, editor: replace(scene, drags=(VertexDrag(np.array([8]), 360, np.zeros((1, 3))),)), "360 frames"),
        (lambda scene, editor: Prop("glass", scene.animation, opacity=0.0), "opacity of glass"),
        (lambda scene, editor: Prop("glass", scene.animation, (2.0, 0.0, 0.0)), "colour of glass"),
        (lambda scene, editor: Prop("glass", "a mesh"), "glass is of type str"),
        (lambda scene, editor: render_edit_frame(scene, editor, 360, **SMALL), "frame is 360"),
        (lambda scene, editor: render_edit_frame(scene, editor, TWIST_FRAME, mark_size=-1.0, **SMALL), "mark_size"),
        (lambda scene, editor: render_edit_frame(scene, editor, 3, props=[scene.animation], **SMALL), "each of props"),
        (lambda scene, editor: render_edit_strip(scene, editor, frames=()), "frames is empty"),
        (lambda scene, editor: render_edit_strip(scene, editor, "strip.mp4"), "one picture"),
    ],
)
def test_bad_input(scene, twisted, make, words):
    with pytest.raises(cj.InputError, match=words):
        make(scene, twisted)


def test_names():
    assert {"bridge", "bridge-pulled", "twist"} <= set(list_edit_scene_names())
