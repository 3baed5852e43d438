"""What a picture is of and where its camera stands: shots, poses, ghosts, frames in view, the broad side."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from cajole.animation import Animation
from cajole.errors import InputError
from cajole.mesh import Skin
from cajole.pictures import picture, strip
from cajole.pictures.render import DEFAULT_CAMERA, _build_ghosts
from cajole.pictures.renderable import INPUT_COLOR, build_renderable

SMALL = {"size": (96, 64)}
RED_ON_BLUE = {"colors": (0.9, 0.1, 0.1), "background": (0.2, 0.4, 0.9), "floor": (0.2, 0.4, 0.9), **SMALL}


def is_red(pixels):
    red, green, blue = np.moveaxis(pixels.astype(int), -1, 0)
    return (red > 90) & (red > 1.8 * green) & (red > 1.8 * blue)


def test_a_still_is_framed_on_its_frame_identity(box):
    """However far it went before and after, a frame is pictured as large as the same pose alone."""
    far = Animation(box, box.vertices + np.arange(3.0)[:, None, None] * [0.0, 0.0, 40.0], 24.0)
    alone = picture(box, floor_height=0.0, **SMALL)
    assert (picture(far, frame=0, floor_height=0.0, **SMALL) == alone).all()
    assert (picture(far, frame=0, in_view=3, floor_height=0.0, **SMALL) != alone).mean() > 0.2


def test_a_still_has_room_for_its_ghost_identity(box):
    """The camera sees the ghost as well: it stands farther off than for the subject alone."""
    aside = box.vertices + [0.0, 0.0, 2.0]
    ghosted, plain = picture(box, ghost=aside, **RED_ON_BLUE), picture(box, **RED_ON_BLUE)
    assert 0 < is_red(ghosted).sum() < 0.6 * is_red(plain).sum()


def test_a_long_body_is_seen_from_its_broad_side_identity(box):
    """Along x or along y: the same picture; with an azimuth of one's own, another."""
    turned = box.moved(box.vertices @ np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    one, two = picture(box, **SMALL), picture(turned, **SMALL)
    # the rasteriser's rounding may differ on edges
    assert np.abs(one.astype(int) - two).mean() < 0.5
    assert np.abs(one.astype(int) - picture(turned, azimuth=DEFAULT_CAMERA["azimuth"], **SMALL)).mean() > 5


def test_a_shot_is_pictured_as_its_animation_identity(wag):
    """What has an animation is that animation; its camera, where it has one, is used."""
    shot = SimpleNamespace(animation=wag, camera={"azimuth": -20.0})
    assert (picture(shot, **SMALL) == picture(wag, azimuth=-20.0, **SMALL)).all()
    assert (strip(shot, frames=2, size=(32, 32)) == strip(wag, frames=2, size=(32, 32), azimuth=-20.0)).all()


def test_a_pose_is_pictured_at_its_positions_identity(box, wag, red_skin):
    """positions= of a mesh, of an animation's mesh and of a skin show what a moved mesh shows."""
    there = wag.positions[3]
    expected = picture(box.moved(there), **SMALL)
    assert (picture(box, positions=there, **SMALL) == expected).all()
    assert (picture(wag, positions=there, **SMALL) == expected).all()
    flat = red_skin.mesh.vertices * [1.0, 1.0, 0.3]
    assert is_red(picture(red_skin, positions=flat, **SMALL)).sum() < 0.8 * is_red(picture(red_skin, **SMALL)).sum()


def test_a_ghost_in_the_colours_of_its_subject_is_tinted_identity(box):
    """Blue over blue would be lost; a ghost with colours of its own, or with a role, keeps them."""
    aside = box.vertices + [0.0, 0.0, 1.0]
    plain, roled, other = (
        _build_ghosts(build_renderable(box), ghost, role)[0][0].colors
        for ghost, role in ((aside, None), (aside, "output"), (_green(box), None))
    )
    assert (plain[:, 0] > 1.5 * plain[:, 2]).all()
    assert (roled == INPUT_COLOR).all()
    assert (other == (0.2, 0.9, 0.2)).all()


def _green(box):
    """The box with a green skin."""
    n = len(box.vertices)
    return Skin(box.surface, np.tile((0.2, 0.9, 0.2), (n, 1)), ("all",), np.zeros(n, dtype=int), np.zeros(n))


def test_a_scene_brings_its_camera_identity(red_skin):
    scene = SimpleNamespace(skin=red_skin, mesh=red_skin.mesh, camera={"size": (80, 40), "background": (0.1, 0.2, 0.9)})
    pixels = picture(scene, renderer="draft")
    assert pixels.shape == (40, 80, 3)
    assert pixels[1, 1, 2] > pixels[1, 1, 0] + 40
    assert picture(scene, size=(40, 80), renderer="draft").shape == (80, 40, 3)


def test_loops_are_smaller_than_stills_unless_asked_identity(wag):
    assert picture(wag, frames=2).shape == (2, 320, 480, 3)
    assert picture(wag, frame=0).shape == (640, 960, 3)
    assert picture(SimpleNamespace(animation=wag, camera={"size": (40, 30)}), frames=2).shape == (2, 15, 20, 3)
    assert picture(wag, frames=2, size=(40, 30)).shape == (2, 30, 40, 3)


def test_what_has_no_shape_is_told_what_has_bad_input(box):
    with pytest.raises(InputError, match=r"type ndarray.*picture\(mesh, positions=...\)"):
        picture(box.vertices)
    editor = SimpleNamespace(animation=lambda: None)
    with pytest.raises(InputError, match=r"scenes, bodies and shots do; call its \.animation\(\)"):
        picture(editor)
