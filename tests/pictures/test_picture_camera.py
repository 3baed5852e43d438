"""The camera and the studio: everything fits, nothing ends in view, and projection is what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cajole.pictures.camera import FRAME_MARGIN, CameraView, fit_camera
from cajole.pictures.environment import RenderEnvironment, tonemap

angles = st.tuples(st.floats(-360, 360), st.floats(-30, 90), st.floats(5, 90))
sizes = st.tuples(st.integers(32, 2000), st.integers(32, 2000))


def _cloud(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rng.integers(4, 60), 3)) * rng.uniform(0.01, 1, 3)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    return (points - middle) / np.abs(points - middle).max()


@settings(max_examples=60, deadline=None)
@given(angles, sizes, st.integers(0, 10_000))
def test_every_point_lies_within_the_margins_identity(angles, size, seed):
    view, cloud = CameraView(size, *angles), _cloud(seed)
    pixels, depth = fit_camera(view, [cloud[:2], cloud[2:]], radius=1.0).project(cloud)
    relative = np.abs(pixels / view.size * 2 - 1)
    assert depth.min() > 0
    assert relative.max() <= 1 - FRAME_MARGIN + 1e-9


@settings(max_examples=40, deadline=None)
@given(angles, sizes, st.integers(0, 10_000))
def test_the_picture_is_filled_identity(angles, size, seed):
    view, cloud = CameraView(size, *angles), _cloud(seed)
    camera = fit_camera(view, [cloud], radius=1.0)
    pixels, depth = camera.project(cloud)
    spans = np.abs(pixels / view.size * 2 - 1).max(axis=0)
    # either an axis reaches its margin, or nearness stopped the camera
    assert spans.max() == pytest.approx(1 - FRAME_MARGIN, abs=1e-6) or depth.min() == pytest.approx(0.1, rel=1e-6)


def test_axes_are_a_right_handed_frame_identity():
    right, up, forward = CameraView((64, 64), 33.0, 21.0, 30.0).axes
    assert np.allclose(np.cross(right, up), -forward)
    assert up[2] > 0
    assert CameraView((64, 64), -90.0, 0.0, 30.0).axes[0] == pytest.approx([1, 0, 0])


def test_the_cyclorama_meets_every_ray_identity(monkeypatch):
    """Each corner ray of the picture ends on the set, so that its edge is never seen."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        view = CameraView((96, 64), rng.uniform(0, 360), rng.uniform(-30, 90), rng.uniform(10, 60))
        cloud = rng.normal(size=(20, 3))
        stage = RenderEnvironment(
            fit_camera(view, [cloud / np.abs(cloud).max()], radius=1.0), -1.0, np.ones(3), np.ones(3)
        )
        vertices, triangles, _, _ = stage.build_cyclorama()
        for x, y in ((-1, -1), (1, -1), (-1, 1), (1, 1)):
            ray = (
                view.axes[2]
                + x * view.half_fov_tangents[0] * view.axes[0]
                + y * view.half_fov_tangents[1] * view.axes[1]
            )
            assert _hits(stage.camera.position, ray, vertices[triangles]).any(), (view, x, y)


def _hits(origin, ray, corners) -> np.ndarray:
    """Which triangles (m, 3, 3) a ray meets (Möller and Trumbore)."""
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    p = np.cross(ray, b)
    det = (a * p).sum(axis=1)
    s = origin - corners[:, 0]
    q = np.cross(s, a)
    u, v, t = (s * p).sum(axis=1) / det, (ray * q).sum(axis=1) / det, (b * q).sum(axis=1) / det
    return (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9) & (t > 0)


def test_the_tone_curve_rises_smoothly_to_white_identity():
    light = np.linspace(0, 20, 4001)
    values = tonemap(light)
    assert values[0] == 0
    assert (np.diff(values) >= 0).all()
    assert values[-1] == pytest.approx(1)
    # no step where the shoulder begins, as a difference of neighbours beyond those around it would show
    assert np.abs(np.diff(values, 2))[100:250].max() < 1e-3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"azimuth": np.nan}, "azimuth is nan"),
        ({"elevation": 120.0}, "between -30 and 90"),
        ({"fov": 0.0}, "fov is 0.0"),
        ({"fov": "wide"}, "fov must be a number"),
        ({"size": (0, 64)}, r"size\[0\] is 0"),
        ({"size": (64.5, 64)}, "whole number"),
        ({"size": 64}, "width, height"),
        ({"size": (100_000, 100_000)}, "smaller picture"),
    ],
)
def test_camera_bad_input(change, words):
    good = {"size": (64, 64), "azimuth": 0.0, "elevation": 0.0, "fov": 30.0}
    with pytest.raises(ValueError, match=words):
        CameraView(**{**good, **change})
