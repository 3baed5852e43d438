"""The camera: its fit to the scene, and the projection of points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array
from cajole.checks import format_value, require_integer, require_real_number
from cajole.errors import InputError

# margin at each side, as a share of half the picture
FRAME_MARGIN = 0.08
# larger pictures than two frames of 8K video are mistakes in the size
MAX_PIXELS = 64_000_000
# [pixels] along a side
MIN_SIDE_PIXELS = 8


@dataclass(frozen=True)
class CameraView:
    """Direction and angle of view of a camera, without its position.

    azimuth, elevation: direction from the subject to the camera [degrees]; fov: horizontal angle of view [degrees];
    size: (width, height) [pixels]. Raises InputError for angles that are not finite or out of range, and for bad sizes.
    """

    size: tuple[int, int]
    azimuth: float
    elevation: float
    fov: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_size(self.size))
        object.__setattr__(self, "azimuth", _check_angle(self.azimuth, "azimuth", -3600.0, 3600.0))
        object.__setattr__(self, "elevation", _check_angle(self.elevation, "elevation", -30.0, 90.0))
        object.__setattr__(self, "fov", _check_angle(self.fov, "fov", 2.0, 100.0))

    @property
    def axes(self) -> Array:
        """Unit vectors (3, 3), in rows: right, up and forward."""
        a, e = np.radians([self.azimuth, self.elevation])
        right = [-np.sin(a), np.cos(a), 0.0]
        up = [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]
        forward = [-np.cos(e) * np.cos(a), -np.cos(e) * np.sin(a), -np.sin(e)]
        return np.array([right, up, forward])

    @property
    def half_fov_tangents(self) -> Array:
        """Tangents (2,) of half the horizontal and half the vertical angle of view."""
        across = np.tan(np.radians(self.fov) / 2)
        return np.array([across, across * self.size[1] / self.size[0]])


@dataclass(frozen=True)
class Camera:
    """A view and the position (3,) of the camera."""

    view: CameraView
    position: Array

    def project(self, points: Array) -> tuple[Array, Array]:
        """Pixels (n, 2) from the upper left corner, and depths (n,) along the view direction, of points (n, 3)."""
        local = (points - self.position) @ self.view.axes.T
        depth = np.maximum(local[:, 2], 1e-2)  # stays finite for points beside and behind the camera
        relative = local[:, :2] / (depth[:, None] * self.view.half_fov_tangents)
        return (relative * [1, -1] + 1) / 2 * self.view.size, depth


def fit_camera(view: CameraView, point_sets: Iterable[Array], *, radius: float) -> Camera:
    """The nearest camera that shows every point of every set (n, 3) inside the margins, centred.

    A point at (r, u, f) in the view's axes is inside when |r - r₀| ≤ tₓ (f - f₀), likewise for u: bounds linear in the
    camera's position. With A = max(r - tₓ f) and B = min(r + tₓ f) the nearest is f₀ = (B - A) / 2 tₓ, or that of
    the other axis if it is farther back. No point is nearer than 0.1 radius, which would distort the perspective.
    """
    tangents = view.half_fov_tangents * (1 - FRAME_MARGIN)
    low, high, near = np.full(2, -np.inf), np.full(2, np.inf), np.inf
    for cloud in point_sets:
        local = cloud @ view.axes.T
        slant = local[:, 2:] * tangents
        low = np.maximum(low, (local[:, :2] - slant).max(axis=0))
        high = np.minimum(high, (local[:, :2] + slant).min(axis=0))
        near = min(near, float(local[:, 2].min()))
    back = min(float(((high - low) / (2 * tangents)).min()), near - 0.1 * radius)
    return Camera(view, np.array([*(low + high) / 2, back]) @ view.axes)


def check_size(size: tuple[int, int]) -> tuple[int, int]:
    """Check (width, height) [pixels]. Raises InputError for bad sizes."""
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
