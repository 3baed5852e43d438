"""Pictures show what they should, in both renderers, and say clearly when they cannot."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

from cajole.animation import Animation
from cajole.errors import Cancelled, InputError, MissingExtra
from cajole.mesh import MeshTri, grid_triangles
from cajole.pictures import mitsuba_renderer, picture, strip
from cajole.pictures.draft_renderer import compute_coverage
from cajole.pictures.render import DEFAULT_CAMERA
from cajole.pictures.render_scene import build_environment, build_render_scene
from cajole.pictures.renderable import INPUT_COLOR, OUTPUT_COLOR, build_renderable

SMALL = {"size": (96, 64), "samples": 4}
RENDERERS = [
    "draft",
    pytest.param("mitsuba", marks=pytest.mark.skipif(not mitsuba_renderer.MITSUBA.is_installed(), reason="no mitsuba")),
]


def _is_red(pixels):
    red, green, blue = np.moveaxis(pixels.astype(int), -1, 0)
    return (red > 90) & (red > 1.8 * green) & (red > 1.8 * blue)


def _is_yellow(pixels):
    red, green, blue = np.moveaxis(pixels.astype(int), -1, 0)
    return (red > 100) & (green > 0.6 * red) & (blue < 0.55 * red)


@pytest.mark.parametrize("renderer", RENDERERS)
def test_a_red_sphere_is_red_in_the_middle_and_not_at_the_corners_identity(red_skin, renderer):
    pixels = picture(red_skin, renderer=renderer, **SMALL)
    assert pixels.shape == (64, 96, 3)
    assert pixels.dtype == np.uint8
    assert _is_red(pixels[24:44, 38:58]).mean() > 0.9
    for corner in (pixels[:6, :6], pixels[:6, -6:], pixels[-6:, :6], pixels[-6:, -6:]):
        assert not _is_red(corner).any()
        assert corner.mean() > 120


@pytest.mark.parametrize("renderer", RENDERERS)
def test_same_seed_same_picture_identity(red_skin, renderer):
    first, second = (picture(red_skin, renderer=renderer, seed=5, **SMALL) for _ in range(2))
    assert (first == second).all()


@pytest.mark.skipif(not mitsuba_renderer.MITSUBA.is_installed(), reason="no mitsuba")
def test_draft_and_traced_silhouettes_agreement(sphere):
    """On a background of another hue both renderers give the same silhouette."""
    options = {"colors": (0.9, 0.1, 0.1), "background": (0.2, 0.4, 0.9), "floor": (0.2, 0.4, 0.9), **SMALL}
    one, two = (
        (lambda p: p[..., 0].astype(int) > p[..., 2])(picture(sphere, renderer=r, **options))
        for r in ("draft", "mitsuba")
    )
    assert (one & two).sum() / (one | two).sum() > 0.95


def test_light_does_not_depend_on_units_identity(sphere):
    """A sphere in millimetres far from the origin looks the same."""
    far = MeshTri(sphere.vertices * 1e-3 + [5.0, -3.0, 7.0], sphere.triangles)
    difference = picture(far, renderer="draft", **SMALL).astype(int) - picture(sphere, renderer="draft", **SMALL)
    assert np.abs(difference).mean() < 0.1


def test_the_sphere_shades_the_floor_identity(sphere):
    """Below the sphere the floor is darker than at the same row beside it."""
    pixels = picture(sphere, renderer="draft", floor_height=-1.0, elevation=20.0, **SMALL)
    covered = compute_coverage(*_stage(sphere)) > 0
    row = np.flatnonzero(covered.any(axis=1)).max()
    assert pixels[row + 2, 50:60].mean() < pixels[row + 2, 2:10].mean() - 20


def _stage(mesh):
    cast = build_render_scene(build_renderable(mesh), (), None, None, None, smooth=None, wireframe=False)
    stage = build_environment(cast, {**DEFAULT_CAMERA, "size": (96, 64), "elevation": 20.0})
    return stage, cast.build_meshes(0)


def test_coverage_of_a_sphere_reference(sphere):
    """The share of the picture covered is that of a disc whose radius reaches the upper margin."""
    stage, actors = _stage(sphere)
    share = compute_coverage(stage, actors).sum() / (np.pi * (0.92 * 32) ** 2)
    assert share == pytest.approx(1, abs=0.03)


def test_a_closed_surface_has_no_pinholes_identity(sphere):
    """Every row of the silhouette is covered without a gap."""
    stage, actors = _stage(sphere)
    for row in compute_coverage(stage, actors) > 0:
        columns = np.flatnonzero(row)
        assert columns.size == 0 or columns.size == np.ptp(columns) + 1


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("elevation", [90.0, 35.0])
def test_a_cloth_on_the_floor_is_seen_identity(renderer, elevation):
    cloth = grid_triangles(4, 4)
    pixels = picture(cloth, colors=(0.9, 0.1, 0.1), elevation=elevation, renderer=renderer, azimuth=0.0, **SMALL)
    assert _is_red(pixels[26:38, 42:54]).mean() > 0.95
    assert pixels.reshape(-1, 3).max(axis=1).min() > 60


@pytest.mark.parametrize(("role", "test"), [("input", _is_yellow), ("output", _is_red)])
def test_roles_paint_the_subject_identity(sphere, role, test):
    assert test(picture(sphere, role=role, renderer="draft", **SMALL)[24:44, 38:58]).mean() > 0.8
    assert INPUT_COLOR != OUTPUT_COLOR


def test_roles_leave_wet_parts_alone_identity(red_skin):
    subject = build_renderable(red_skin).with_role_color("input")
    wet = red_skin.gloss > 0.5
    assert (subject.colors[wet] == red_skin.colors[wet]).all()
    assert (subject.colors[~wet] == INPUT_COLOR).all()


@pytest.mark.parametrize("role", ["input", "output"])
def test_compare_stands_inputs_left_and_outputs_right_identity(sphere, role):
    pixels = picture(sphere, role=role, compare=1.0 * sphere.vertices, renderer="draft", size=(128, 64))
    left, right = pixels[:, :64], pixels[:, 64:]
    assert _is_yellow(left).mean() > 0.15
    assert _is_red(right).mean() > 0.15
    assert not _is_red(left).any()


@pytest.mark.parametrize("renderer", RENDERERS)
def test_a_ghost_is_between_its_colour_and_what_is_behind_identity(sphere, renderer):
    aside = sphere.vertices + [0.0, 0.0, 2.5]
    options = {"background": (0.2, 0.3, 0.8), "floor": (0.2, 0.3, 0.8), "size": (64, 96), "samples": 8, "fov": 15.0}
    ghost = picture(sphere, colors=(0.8, 0.1, 0.1), ghost=aside, renderer=renderer, **options)
    solid = picture(
        MeshTri(aside, sphere.triangles), compare=None, colors=(0.8, 0.1, 0.1), renderer=renderer, **options
    )
    # the ghost is in the upper half of its picture, and the solid sphere in the middle of its own
    there, empty, full = (
        ghost[22:30, 28:36].mean((0, 1)),
        ghost[22:30, 2:6].mean((0, 1)),
        solid[44:52, 28:36].mean((0, 1)),
    )
    assert empty[0] + 10 < there[0] < full[0] - 5
    assert full[2] + 10 < there[2] < empty[2]


def test_a_coinciding_ghost_hides_identity(sphere):
    plain = picture(sphere, renderer="draft", **SMALL).astype(int)
    with_ghost = picture(sphere, ghost=sphere, role=None, renderer="draft", **SMALL)
    assert (np.abs(plain - with_ghost).max(axis=2) > 40).mean() < 0.02


def test_marks_arrows_and_wireframe_show_identity(box):
    plain = picture(box, renderer="draft", **SMALL).astype(int)
    for extra in ({"wireframe": True}, {"smooth": True}):
        assert (picture(box, renderer="draft", **extra, **SMALL) != plain).mean() > 0.01
    marked = picture(box, marks=[[1.0, 0.0, 0.5]], colors=(0.7, 0.1, 0.1), renderer="draft", size=(240, 160)).astype(
        int
    )
    assert ((marked[..., 2] > 150) & (marked[..., 0] < 100)).sum() > 10
    loaded = picture(box, arrows=([[1, 0.25, 0.5]], [[0, 0, 1.0]]), renderer="draft", size=(240, 160)).astype(int)
    dark = (loaded.max(axis=2) < 110).nonzero()[0]
    assert dark.size > 30
    assert dark.min() < 60


def test_an_open_sheet_is_lit_on_both_sides_identity():
    """A cloth seen from above and from below is not black from either."""
    cloth = grid_triangles(4, 4)
    for elevation in (60.0, -25.0):
        pixels = picture(
            cloth, colors=(0.9, 0.2, 0.2), elevation=elevation, floor_height=-1.0, renderer="draft", **SMALL
        )
        assert _is_red(pixels).mean() > 0.02


def test_the_default_frame_is_the_farthest_one_identity(wag):
    assert (picture(wag, renderer="draft", **SMALL) == picture(wag, frame=3, renderer="draft", **SMALL)).all()


def test_the_camera_stands_still_over_an_animation_identity(wag):
    """Away from the subject and its shadow the background of all frames is the same."""
    loop = picture(wag, frames=[0, 3, 9], size=(96, 64))
    assert loop.shape == (3, 64, 96, 3)
    assert (loop[0] == loop[2]).all()
    assert (loop[0] != loop[1]).any()
    assert np.abs(loop[0][:2].astype(int) - loop[1][:2]).max() < 4


def test_a_long_animation_stays_in_view_identity(box):
    """Of 1000 frames only some are looked at to place the camera; a smooth motion still fits in all of them."""
    lift = np.sin(np.linspace(0, 7, 1000))[:, None, None]
    long = Animation(box, box.vertices + lift * box.vertices[None, :, :1] * [0.0, 0.0, 0.6], 60.0)
    cast = build_render_scene(build_renderable(long), (), None, None, None, smooth=None, wireframe=False)
    camera = build_environment(cast, {**DEFAULT_CAMERA, "size": (96, 64)}).camera
    for frame in range(0, 1000, 7):
        pixels, _ = camera.project((long.frame(frame) - cast.centre) / cast.radius)
        assert np.abs(pixels / (96, 64) * 2 - 1).max() < 0.93


def test_a_leap_out_of_view_is_drawn_without_fuss_identity(box):
    """A frame that was not foreseen may be anywhere, behind the camera too."""
    positions = np.repeat(box.vertices[None], 10, axis=0)
    positions[5] += [20.0, -60.0, 5.0]
    assert picture(Animation(box, positions, 60.0), frame=5, in_view=[0], **SMALL).shape == (64, 96, 3)


def test_strip_places_frames_side_by_side_identity(wag):
    row = strip(wag, frames=[0, 3], size=(48, 32), renderer="draft")
    assert row.shape == (32, 2 * 48 + 4, 3)
    assert (row[:, :48] == picture(wag, frame=0, in_view=[0, 3], size=(48, 32), renderer="draft")).all()
    assert strip(wag, onion=True, size=(48, 32), renderer="draft").shape == (32, 48, 3)


def test_progress_reaches_the_end_and_can_stop_identity(wag):
    told = []
    picture(wag, frames=4, size=(32, 32), progress=lambda share, text: told.append(share))
    assert told[0] == 0
    assert told[-1] == 1
    assert sorted(told) == told
    with pytest.raises(Cancelled):
        picture(wag, frames=4, size=(32, 32), progress=lambda share, text: share < 0.5)


@pytest.mark.skipif(not mitsuba_renderer.MITSUBA.is_installed(), reason="no mitsuba")
def test_tracing_is_silent_and_leaves_the_variant_identity(sphere, capfd):
    import mitsuba as mi

    mi.set_variant("scalar_spectral")
    level = mi.log_level()
    picture(sphere, renderer="mitsuba", size=(16, 16), samples=1)
    assert mi.variant() == "scalar_spectral"
    assert mi.log_level() == level
    assert capfd.readouterr() == ("", "")


def test_without_mitsuba_auto_drafts_and_asking_says_what_to_install_bad_input(sphere, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "mitsuba" in name else find(name))
    assert (picture(sphere, renderer="auto", **SMALL) == picture(sphere, renderer="draft", **SMALL)).all()
    with pytest.raises(MissingExtra, match=r"cajole\[viz\]"):
        picture(sphere, renderer="mitsuba", **SMALL)


def test_without_pillow_the_message_says_what_to_install_bad_input(sphere, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtra, match="pillow"):
        picture(sphere, tmp_path / "a.png", renderer="draft", **SMALL)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"frame": 10}, r"frame 10 is outside 0\.\.9"),
        ({"frame": -1}, r"outside 0\.\.9"),
        ({"frame": 1.5}, "whole number"),
        ({"frames": []}, "frames is empty"),
        ({"frames": [3, 12]}, r"frame 12 is outside 0\.\.9"),
        ({"frames": 0}, "frames is 0"),
        ({"frames": 11}, "between 1 and 10"),
        ({"frames": 2.5}, "whole number"),
        ({"frames": None, "frame": 2, "path": "a.gif"}, "asks for a still"),
        ({"frames": 3, "path": "a.png"}, "use strip"),
        ({"in_view": []}, "in_view is empty"),
        ({"in_view": [10]}, r"frame 10 is outside 0\.\.9"),
        ({"positions": np.zeros((3, 3))}, "positions has shape"),
        ({"path": "a.tiff"}, r"suffix '\.tiff' is unknown"),
        ({"azimuth": np.inf}, "azimuth is inf"),
        ({"floor_height": np.nan}, "floor_height"),
        ({"background": (2, 0, 0)}, r"background\[0\] is 2.0, outside 0..1 .*divide colours of 0..255"),
        ({"colors": (1, 1)}, "colors has shape"),
        ({"colors": (1, 1, 3)}, r"colors\[2\] is 3.0, outside 0..1"),
        ({"role": "hero"}, "'input', 'output'"),
        ({"renderer": "povray"}, "'mitsuba', 'draft'"),
        ({"samples": 0}, "samples is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"ghost": np.zeros((3, 3))}, "ghost has shape"),
        ({"ghost": "boo"}, "ghost is of type str"),
        ({"compare": 3}, "compare is of type int"),
        ({"marks": [[np.nan, 0, 0]]}, r"marks\[0, 0\]"),
        ({"arrows": ([[0, 0, 0]],)}, "two arrays"),
        ({"arrows": ([[0, 0, 0]], [[0, 0]])}, r"arrows\[1\]"),
    ],
)
def test_picture_bad_input(wag, options, words):
    with pytest.raises(InputError, match=words):
        picture(wag, **{"size": (32, 32), "renderer": "draft", **options})


def test_subjects_bad_input(sphere, wag):
    with pytest.raises(InputError, match="type list"):
        picture([1, 2, 3])
    with pytest.raises(InputError, match="at least two frames"):
        picture(sphere, "a.webp")
    with pytest.raises(InputError, match="shows an Animation"):
        strip(sphere)
    with pytest.raises(InputError, match="one picture"):
        strip(wag, "a.gif")
