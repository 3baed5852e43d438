"""The virtual photo studio, in units of the scene's radius around its centre: cyclorama, lights, tone curve.

Both renderers use this geometry and these lights, so that their pictures agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cajole.animation.export_geometry import linear_to_srgb, srgb_to_linear
from cajole.arrays import Array
from cajole.pictures.camera import Camera

# end of the floor behind the subject, radius of the fillet up to the wall, and the smallest half width of both
FLOOR_DEPTH, FILLET_RADIUS, MIN_HALF_WIDTH = 3.0, 2.6, 14.0
FILL_RADIANCE = 0.55 * np.array([0.93, 0.97, 1.0])


@dataclass(frozen=True)
class AreaLight:
    """A square light that faces the subject: centre (3,), unit axes (2, 3), half size, radiance (3,) linear RGB."""

    centre: Array
    axes: Array
    half_size: float
    radiance: Array

    @property
    def direction(self) -> Array:
        """Unit vector (3,) from the light to the subject."""
        return -self.centre / np.linalg.norm(self.centre)


@dataclass(frozen=True)
class RenderEnvironment:
    """A camera in a studio: floor height, and the sRGB colours of wall and floor."""

    camera: Camera
    floor_height: float
    wall_color: Array
    floor_color: Array

    @property
    def back_direction(self) -> Array:
        """Horizontal unit vector (3,) from the camera to the wall."""
        azimuth = np.radians(self.camera.view.azimuth)
        return np.array([-np.cos(azimuth), -np.sin(azimuth), 0.0])

    @property
    def drawn_floor_height(self) -> float:
        """Height of the floor: 0.001 below objects that lie on it, and at least 0.3 below a camera that looks up."""
        return min(self.floor_height - 1e-3, float(self.camera.position[2]) - 0.3)

    @cached_property
    def lights(self) -> tuple[AreaLight, AreaLight]:
        """The key light, above left of the camera, and the rim light, behind right of the subject."""
        key = _build_softbox(self.camera.view.azimuth - 55.0, 1.15, 4.0, 1.5, 7.5 * np.array([1.0, 0.95, 0.87]))
        rim = _build_softbox(self.camera.view.azimuth + 140.0, 1.0, 4.2, 1.0, 3.0 * np.array([0.9, 0.95, 1.0]))
        return key, rim

    def build_cyclorama(self) -> tuple[Array, NDArray[np.int64], Array, Array]:
        """Vertices, triangles, normals and linear colours of floor, fillet and wall."""
        distance, height, normal, share = self._compute_profile()
        across = self.camera.view.axes[0] * self._compute_extent(0, MIN_HALF_WIDTH)
        centre = distance[:, None] * self.back_direction + (height + self.drawn_floor_height)[:, None] * [0, 0, 1.0]
        colors = mix_colors(self.floor_color, self.wall_color, share)
        i = np.arange(len(distance) - 1)
        n = len(distance)
        triangles = np.concatenate([np.stack([i, i + n, i + 1], 1), np.stack([i + 1, i + n, i + n + 1], 1)])
        return (
            np.concatenate([centre - across, centre + across]),
            triangles,
            np.tile(normal, (2, 1)),
            np.tile(colors, (2, 1)),
        )

    def _compute_profile(self) -> tuple[Array, Array, Array, Array]:
        """Profile from the camera to the top of the wall: distance, height, normal, share of the wall colour."""
        angle = np.linspace(0, np.pi / 2, 32)
        front = float(self.camera.position @ self.back_direction) * 1.6 - MIN_HALF_WIDTH
        distance = np.concatenate([[front], FLOOR_DEPTH + FILLET_RADIUS * np.sin(angle), [FLOOR_DEPTH + FILLET_RADIUS]])
        height = np.concatenate([[0.0], FILLET_RADIUS * (1 - np.cos(angle)), [self._compute_extent(1, 9.0)]])
        tilt = np.concatenate([[0.0], angle, [np.pi / 2]])
        normal = np.cos(tilt)[:, None] * [0, 0, 1.0] - np.sin(tilt)[:, None] * self.back_direction
        return distance, height, normal, tilt / (np.pi / 2)

    def _compute_extent(self, axis: int, minimum: float) -> float:
        """Half width (axis 0) or height (axis 1) of the cyclorama that fills the view, at least `minimum`."""
        view = self.camera.view
        depth = FLOOR_DEPTH + FILLET_RADIUS - float(self.camera.position @ self.back_direction)
        tilt = 0.0 if axis == 0 else max(-np.radians(view.elevation), 0.0)
        reach = depth * np.tan(min(np.arctan(view.half_fov_tangents[axis]) + tilt, np.radians(85.0)))
        shift = (
            abs(float(self.camera.position @ view.axes[0]))
            if axis == 0
            else float(self.camera.position[2]) - self.drawn_floor_height
        )
        return max(minimum, 1.5 * (float(reach) + shift))


def _build_softbox(azimuth: float, slope: float, distance: float, half_size: float, radiance: Array) -> AreaLight:
    """A square light at an azimuth [degrees]; slope: its height over its horizontal distance."""
    a = np.radians(azimuth)
    outward = np.array([np.cos(a), np.sin(a), slope]) / np.hypot(1.0, slope)
    across = np.array([-np.sin(a), np.cos(a), 0.0])
    return AreaLight(distance * outward, np.stack([across, np.cross(outward, across)]), half_size, radiance)


def mix_colors(first: Array, second: Array, weight: Array) -> Array:
    """Linear colours (n, 3) between two sRGB colours, interpolated in linear space."""
    one, two = srgb_to_linear(first), srgb_to_linear(second)
    return one + (two - one) * weight[:, None]


def tonemap(linear: Array) -> Array:
    """Map linear light to sRGB in 0..1: exposure, tone curve with a shoulder towards white, encoding."""
    shoulder = 0.75
    exposed = 1.12 * np.maximum(linear, 0.0)
    room = 1 - shoulder
    compressed = 1 - room * np.exp(-np.maximum(exposed - shoulder, 0.0) / room)
    return linear_to_srgb(np.where(exposed < shoulder, exposed, compressed))
