"""Goals from sectional images: sections, contours, how they are laid over the body, and what is said of bad images."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import cajole as cj
from bodies import Array
from cajole.direct.rerouting import ImageSection, build_image_goals
from cajole.direct.rerouting.contours import find_contour
from cajole.direct.rerouting.registration import (
    align_contours,
    compute_normal_offsets,
    fill_missing_values,
    find_closest_on_loop,
    resample_loop,
    smooth_loop_values,
)
from cajole.direct.rerouting.sections import compute_signed_area, cut_outline

RINGS, COLUMNS, FRAMES = 19, 40, 6
SIDE, PIXEL, HEIGHT = 96, 0.025, 0.25
# half lengths of the body's section
WIDE, DEEP = 0.9 * np.sqrt(1 - HEIGHT**2), 0.6 * np.sqrt(1 - HEIGHT**2)


def egg() -> cj.MeshTri:
    """An ellipsoid, 0.9 x 0.6 x 1 m, with a ring of vertices close to the section's height."""
    theta = np.pi * np.arange(1, RINGS + 1)[:, None] / (RINGS + 1)
    phi = 2 * np.pi * np.arange(COLUMNS) / COLUMNS
    grid = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta) + 0 * phi], axis=2)
    points = np.vstack([[(0, 0, 1)], grid.reshape(-1, 3), [(0, 0, -1)]]) * (0.9, 0.6, 1.0)
    i, j = np.indices((RINGS - 1, COLUMNS)).reshape(2, -1)
    a, b = 1 + i * COLUMNS + j, 1 + i * COLUMNS + (j + 1) % COLUMNS
    k, last = np.arange(COLUMNS), 1 + (RINGS - 1) * COLUMNS
    next_ = (k + 1) % COLUMNS
    triangles = [
        np.column_stack([0 * k, 1 + k, 1 + next_]),
        np.column_stack([0 * k + last + COLUMNS, last + next_, last + k]),
    ]
    triangles += [np.column_stack([a, a + COLUMNS, b + COLUMNS]), np.column_stack([a, b + COLUMNS, b])]
    return cj.MeshTri(points, np.vstack(triangles))


def still() -> cj.Animation:
    mesh = egg()
    return cj.Animation(mesh, np.repeat(mesh.vertices[None], FRAMES, axis=0))


def section(height: float = HEIGHT) -> ImageSection:
    half = 0.5 * (SIDE - 1) * PIXEL
    return ImageSection((-half, half, height), (2.0, 0.0, 0.0), (0.0, 1.0, 0.0), PIXEL)


def ellipse(wide: float = WIDE, deep: float = DEEP, *, turned: float = 0.0, shifted: Any = (0.0, 0.0)) -> Array:
    """An image of a bright ellipse with dark blood in it, turned [degrees] and then shifted [m]."""
    rows, columns = np.indices((SIDE, SIDE))
    half = 0.5 * (SIDE - 1) * PIXEL
    x, y = PIXEL * columns - half - shifted[0], half - PIXEL * rows - shifted[1]
    c, s = np.cos(np.radians(turned)), np.sin(np.radians(turned))
    far = np.hypot((c * x + s * y) / wide, (c * y - s * x) / deep)
    # distance from the edge to first order
    slope = np.hypot((c * x + s * y) / wide**2, (c * y - s * x) / deep**2) / np.maximum(far, 1e-9)
    inside, blood = (1 / (1 + np.exp(np.clip((far - at) / slope / (0.5 * PIXEL), -40, 40))) for at in (1.0, 0.6))
    return 0.1 + 0.7 * inside - 0.3 * blood


def test_section_reference() -> None:
    """Pixels count down and to the right, places up and to the right; who looks at the image looks from above."""
    plane = ImageSection((1.0, 2.0, 3.0), (0.0, 3.0, 0.0), (0.0, 0.0, 1.0), 0.5)
    assert plane.convert_pixels(np.array([[2.0, 4.0]])) == pytest.approx(np.array([[2.0, -1.0]]))
    point = np.array([[1.25, 4.0, 2.0]])
    assert plane.project_points(point) == pytest.approx(np.array([[2.0, -1.0]]))
    assert plane.compute_heights(point) == pytest.approx([0.25])
    assert plane.origin + plane.lift_vectors(plane.project_points(point)) == pytest.approx(np.array([[1.0, 4.0, 2.0]]))


def test_outline_of_an_ellipsoid_reference() -> None:
    cut = cut_outline(egg(), egg().vertices, section(), "frame 0")
    x, y = (cut.points - section().project_points(np.array([[0.0, 0.0, HEIGHT]]))).T
    assert np.hypot(x / WIDE, y / DEEP) == pytest.approx(1.0, abs=0.01)
    assert compute_signed_area(cut.points) == pytest.approx(np.pi * WIDE * DEEP, rel=0.012)
    assert np.abs(egg().vertices[cut.vertices, 2] - HEIGHT).max() < 0.5 * np.pi / (RINGS + 1)


def test_outline_is_the_outermost_identity() -> None:
    """Of a wall with a hollow in it."""
    mesh = egg()
    inner = 0.5 * mesh.vertices
    wall = cj.MeshTri(
        np.vstack([mesh.vertices, inner]), np.vstack([mesh.triangles, mesh.triangles[:, ::-1] + len(inner)])
    )
    cut = cut_outline(wall, wall.vertices, section(), "frame 0")
    assert np.array_equal(cut.points, cut_outline(mesh, mesh.vertices, section(), "frame 0").points)


def test_contour_of_an_ellipse_reference() -> None:
    """To a twentieth of a pixel, although there are three greys: Otsu's own level is off by several times that."""
    places = section().convert_pixels(find_contour(ellipse(), "image")) - section().project_points(
        np.array([[0.0, 0.0, HEIGHT]])
    )
    off = np.hypot(places[:, 0] / WIDE, places[:, 1] / DEEP) - 1.0
    assert abs(off.mean()) * DEEP < 0.05 * PIXEL
    assert np.abs(off).max() * WIDE < 0.3 * PIXEL


def test_contours_are_laid_over_the_body_agreement() -> None:
    """Half a pixel and half a degree from how they were moved, with a wall that bulges on one side."""
    turned, shifted = 9.0, (0.08, -0.05)
    cut = cut_outline(egg(), egg().vertices, section(), "frame 0").points
    line = resample_loop(cut, 200)
    middle = line.mean(axis=0)
    around = np.arctan2(*(line - middle).T[::-1])
    bulged = line + (0.08 * np.exp(-(((around - 0.6) / 0.4) ** 2)))[:, None] * find_closest_on_loop(line, cut)[1]
    c, s = np.cos(np.radians(turned)), np.sin(np.radians(turned))
    moved = (bulged - shifted - middle) @ np.array([(c, -s), (s, c)]) + middle
    found = align_contours([moved], [cut], "rigid")
    assert found.angle == pytest.approx(turned, abs=0.5)
    assert np.linalg.norm(found.apply(moved) - bulged, axis=1).max() < 0.5 * PIXEL
    assert align_contours([moved], [cut], "shift").angle == 0.0
    assert np.array_equal(align_contours([moved], [cut], "none").apply(moved), moved)


def test_goals_follow_the_images_reference() -> None:
    """A section that grows by a tenth, in an image turned and shifted: vertices go out by what the ellipse grows by."""
    images = [ellipse(f * WIDE, f * DEEP, turned=-7.0, shifted=(0.06, 0.04)) for f in (1.0, 1.1)]
    pilot = still()
    found = build_image_goals(pilot, images, [2, 5], section(), every=3)
    assert len(found.goals) == 2 * len(found.vertices)
    assert np.abs(found.offsets[0]).max() < 0.3 * PIXEL
    there = pilot.positions[0, found.vertices]
    # along a normal the ellipse is farther out by a tenth of the support distance
    x, y = (there[:, :2] / np.hypot(there[:, :1] / WIDE, there[:, 1:2] / DEEP)).T
    grown = 0.1 / np.hypot(x / WIDE**2, y / DEEP**2)
    assert found.offsets[1] == pytest.approx(grown, abs=0.35 * PIXEL)
    goals = [goal for goal in found.goals if goal.frame == 5]
    assert [goal.window for goal in goals] == [3] * len(goals)
    targets = np.array([goal.position for goal in goals])
    assert targets[:, 2] == pytest.approx(there[:, 2], abs=1e-12)
    assert np.linalg.norm(targets - there, axis=1) == pytest.approx(np.abs(found.offsets[1]))
    assert found.contours[1][:, 2] == pytest.approx(HEIGHT)


def test_noise_does_not_turn_neighbours_around_claim(random: np.random.Generator) -> None:
    """Targets keep their order around the section; nearest points of a noisy contour would not."""
    noisy = ellipse(1.1 * WIDE, 0.9 * DEEP) + 0.08 * random.normal(size=(SIDE, SIDE))
    found = build_image_goals(still(), [noisy], [3], section(), every=1)
    targets = np.array([goal.position for goal in found.goals])[:, :2]
    assert (np.diff(np.unwrap(np.arctan2(*targets.T[::-1]))) > 0).all()


def test_offsets_reference() -> None:
    """Outward, inward, and past: a square around points on the x axis."""
    square = np.array([(1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0)])
    points, normals = np.array([(0.7, 0.0), (1.2, 0.5), (0.0, 5.0)]), np.array([(1.0, 0.0), (1.0, 0.0), (1.0, 0.0)])
    found = compute_normal_offsets(points, normals, square, 0.5)
    assert found[:2] == pytest.approx([0.3, -0.2])
    assert np.isnan(found[2])
    assert fill_missing_values(np.array([np.nan, 1.0, np.nan, 3.0])) == pytest.approx([2.0, 1.0, 2.0, 3.0])
    assert smooth_loop_values(np.full(9, 2.5)) == pytest.approx(2.5)
    assert smooth_loop_values(np.eye(9)[4]).sum() == pytest.approx(1.0)


def asked(images: Any, frames: Any = (3,), **options: Any) -> None:
    plane = options.pop("section", section())
    build_image_goals(still(), images, frames, plane, **options)


def test_images_bad_input() -> None:
    good = ellipse()
    with pytest.raises(
        cj.InputError, match=r"images\[1\] has 90 x 96 pixels, but images\[0\] 96 x 96; sections of one"
    ):
        asked([good, good[:90]], (3, 4))
    with pytest.raises(cj.InputError, match=r"images\[0\] has no contour: it is 0.2 everywhere; leave it out"):
        asked([np.full((SIDE, SIDE), 0.2)])
    with pytest.raises(cj.InputError, match=r"images\[0\] has no contour at level 3, it is .*; change level"):
        asked([good], level=3.0)
    with pytest.raises(cj.InputError, match=r"images\[1\] has no closed contour .* run out of the image; use a larger"):
        asked([good, np.repeat(np.linspace(0, 1, SIDE)[None], SIDE, axis=0)], (3, 4))
    speck = np.zeros((SIDE, SIDE))
    speck[40:42, 40:42] = 1.0
    with pytest.raises(cj.InputError, match=r"no contour larger than .* of the image .* which is a speck"):
        asked([speck])
    with pytest.raises(cj.InputError, match=r"images\[0\] has colours \(shape \(96, 96, 3\)\); give grey values"):
        asked([np.repeat(good[:, :, None], 3, axis=2)])
    with pytest.raises(cj.InputError, match="images is empty"):
        asked([], ())
    with pytest.raises(cj.InputError, match=r"images\[1\] has no pixels \(shape \(0, 96\)\); leave it out"):
        asked([good, good[:0]], (3, 4))
    with pytest.raises(cj.InputError, match="images must be a list of grey images, not 3"):
        asked(3)
    hole = good.copy()
    hole[3, 5] = np.nan
    with pytest.raises(cj.InputError, match=r"images\[0\]\[3, 5\] is nan"):
        asked([hole])


def test_sections_and_frames_bad_input() -> None:
    good = ellipse()
    with pytest.raises(
        cj.InputError, match=r"the section misses the body at frame 3, which lies between -2\.5 and -0\.5 m"
    ):
        asked([good], section=section(1.5))
    with pytest.raises(cj.InputError, match=r"there are 1 images for 2 frames; give one image a frame"):
        asked([good], (3, 4))
    with pytest.raises(
        cj.InputError, match=r"frames\[1\] is 3, which is not after the one before; sort images by time"
    ):
        asked([good, good], (3, 3))
    with pytest.raises(cj.InputError, match="frames"):
        asked([good], (FRAMES,))
    for window in (0, -1, 2.5, "x"):
        with pytest.raises(cj.InputError, match="window"):
            asked([good], window=window)
    with pytest.raises(cj.InputError, match="right and up of the section are not at right angles"):
        ImageSection((0, 0, 0), (1, 0, 0), (1, 1, 0), 0.1)
    with pytest.raises(cj.InputError, match=r"pixel_size \(m\)"):
        ImageSection((0, 0, 0), (1, 0, 0), (0, 1, 0), 0.0)
    with pytest.raises(cj.InputError, match=r"the contour of images\[0\] is beside \d+% of the body's outline only"):
        asked([ellipse(0.15, 0.15, shifted=(0.0, 0.95))], align="none")


def test_open_surface_bad_input() -> None:
    mesh = egg()
    open_ = cj.MeshTri(mesh.vertices, mesh.triangles[mesh.vertices[mesh.triangles][:, :, 0].mean(axis=1) < 0.5])
    with pytest.raises(
        cj.InputError, match=r"cuts the body at frame 0 along a line that ends at edge .* close the surface"
    ):
        cut_outline(open_, open_.vertices, section(), "frame 0")


def test_without_scikit_image_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(
        cj.MissingExtra, match=r"contours of images needs the package scikit-image: pip install 'cajole\[im"
    ):
        asked([ellipse()])
