"""The camera: where it stands so that everything fits, and where it puts a point in the picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array
from cajole.checks import format_value, require_integer, require_real_number
from cajole.errors import InputError

# share of the half picture left free at each side
FRAME_MARGIN = 0.08
# nearer than this share of the subject's radius nothing may stand, or perspective turns into distortion
MIN_CAMERA_DISTANCE = 0.1
# what an unforeseen leap brings beside or behind the camera is projected from here, so that numbers stay finite
MIN_PROJECTION_DEPTH = 1e-2
# above: one frame of 8K video squared; a picture beyond it is a mistake in the size
MAX_PIXELS = 64_000_000
# [pixels] along a side
MIN_SIDE_PIXELS = 8
FOV_LIMITS = (2.0, 100.0)
# from far below, the studio has no floor or wall to show
ELEVATION_LIMITS = (-30.0, 90.0)


@dataclass(frozen=True)
class CameraView:
    """A direction of sight without a place: azimuth and elevation of the camera as seen from the subject, and the
    horizontal angle of view [degrees]; size: (width, height) in pixels.

    Raises InputError for angles that are not finite or out of range, and for sizes that are no picture.
    """

    size: tuple[int, int]
    azimuth: float
    elevation: float
    fov: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_size(self.size))
        object.__setattr__(self, "azimuth", _check_angle(self.azimuth, "azimuth", -3600.0, 3600.0))
        object.__setattr__(self, "elevation", _check_angle(self.elevation, "elevation", *ELEVATION_LIMITS))
        object.__setattr__(self, "fov", _check_angle(self.fov, "fov", *FOV_LIMITS))

    @property
    def axes(self) -> Array:
        """(3, 3) rows: the picture's right, the picture's up, and forward into it."""
        a, e = np.radians([self.azimuth, self.elevation])
        right = [-np.sin(a), np.cos(a), 0.0]
        up = [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]
        forward = [-np.cos(e) * np.cos(a), -np.cos(e) * np.sin(a), -np.sin(e)]
        return np.array([right, up, forward])

    @property
    def half_fov_tangents(self) -> Array:
        """(2,) the tangents of half the angle of view, across and up."""
        across = np.tan(np.radians(self.fov) / 2)
        return np.array([across, across * self.size[1] / self.size[0]])


@dataclass(frozen=True)
class Camera:
    """A view from a position (3,)."""

    view: CameraView
    position: Array

    def project(self, points: Array) -> tuple[Array, Array]:
        """(n, 2) pixels from the upper left corner, and (n,) depths along the line of sight, of points (n, 3)."""
        local = (points - self.position) @ self.view.axes.T
        depth = np.maximum(local[:, 2], MIN_PROJECTION_DEPTH)
        relative = local[:, :2] / (depth[:, None] * self.view.half_fov_tangents)
        return (relative * [1, -1] + 1) / 2 * self.view.size, depth


def fit_camera(view: CameraView, point_sets: Iterable[Array], *, radius: float) -> Camera:
    """The nearest camera that keeps every point of every cloud (n, 3) inside the margins, and the cloud centred.

    A point at (r, u, f) in the view's axes is inside when |r - r₀| ≤ tₓ (f - f₀), likewise for u: bounds linear in the
    camera's place. With A = max(r - tₓ f) and B = min(r + tₓ f) the nearest is f₀ = (B - A) / 2 tₓ, or what
    the other axis asks if that is farther back.
    """
    tangents = view.half_fov_tangents * (1 - FRAME_MARGIN)
    low, high, near = np.full(2, -np.inf), np.full(2, np.inf), np.inf
    for cloud in point_sets:
        local = cloud @ view.axes.T
        slant = local[:, 2:] * tangents
        low = np.maximum(low, (local[:, :2] - slant).max(axis=0))
        high = np.minimum(high, (local[:, :2] + slant).min(axis=0))
        near = min(near, float(local[:, 2].min()))
    back = min(float(((high - low) / (2 * tangents)).min()), near - MIN_CAMERA_DISTANCE * radius)
    return Camera(view, np.array([*(low + high) / 2, back]) @ view.axes)


def check_size(size: tuple[int, int]) -> tuple[int, int]:
    """(width, height) in pixels. Raises InputError for sizes that are no picture."""
    try:
        width, height = size
    except (TypeError, ValueError):
        raise InputError(f"size is {format_value(size)}, but must be (width, height) in pixels") from None
    width, height = (
        require_integer(width, "size[0]", minimum=MIN_SIDE_PIXELS),
        require_integer(height, "size[1]", minimum=MIN_SIDE_PIXELS),
    )
    if width * height > MAX_PIXELS:
        raise InputError(f"size is {width} x {height}, more than {MAX_PIXELS} pixels; ask for a smaller picture")
    return width, height


def _check_angle(value: float, name: str, low: float, high: float) -> float:
    number = require_real_number(value, name)
    if not low <= number <= high:
        raise InputError(f"{name} is {number}, but must be between {low:g} and {high:g} degrees")
    return number
