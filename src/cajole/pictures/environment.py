"""The studio set, in units of the subject's radius around its centre: a cyclorama, three lights, a tone curve.

Both renderers take the geometry and the lights from here, so that their pictures agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cajole.animation.export_geometry import linear_to_srgb, srgb_to_linear
from cajole.arrays import Array
from cajole.pictures.camera import Camera

# where the floor ends behind the subject, the radius of the fillet up to the wall, and the least extent of both
FLOOR_DEPTH = 3.0
FILLET_RADIUS = 2.6
MIN_WALL_HEIGHT = 9.0
MIN_HALF_WIDTH = 14.0
FILLET_SEGMENTS = 32
# the floor stays at least this far below a camera that looks up
CAMERA_CLEARANCE = 0.3
# a cloth that lies on the floor must win against it
FLOOR_OFFSET = 1e-3

FILL_RADIANCE = 0.55 * np.array([0.93, 0.97, 1.0])
EXPOSURE = 1.12
# values up to here stay as they are, brighter ones bend towards white
TONE_CURVE_SHOULDER = 0.75


@dataclass(frozen=True)
class AreaLight:
    """A square softbox that faces the subject: centre (3,), unit axes (2, 3), half size, radiance (3,) linear RGB."""

    centre: Array
    axes: Array
    half_size: float
    radiance: Array

    @property
    def direction(self) -> Array:
        """(3,) the unit vector from the box to the subject."""
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
        """(3,) the horizontal direction from the camera to the wall."""
        azimuth = np.radians(self.camera.view.azimuth)
        return np.array([-np.cos(azimuth), -np.sin(azimuth), 0.0])

    @property
    def drawn_floor_height(self) -> float:
        """The floor's height, a hair below what lies on it, and below a camera that looks up."""
        return min(self.floor_height - FLOOR_OFFSET, float(self.camera.position[2]) - CAMERA_CLEARANCE)

    @cached_property
    def lights(self) -> tuple[AreaLight, AreaLight]:
        """The key light, up at the camera's left, and the rim light, behind at its right."""
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
        """Distance back, height, normal and share of the wall's colour, from the camera's feet to the wall's top."""
        angle = np.linspace(0, np.pi / 2, FILLET_SEGMENTS)
        front = float(self.camera.position @ self.back_direction) * 1.6 - MIN_HALF_WIDTH
        distance = np.concatenate([[front], FLOOR_DEPTH + FILLET_RADIUS * np.sin(angle), [FLOOR_DEPTH + FILLET_RADIUS]])
        height = np.concatenate(
            [[0.0], FILLET_RADIUS * (1 - np.cos(angle)), [self._compute_extent(1, MIN_WALL_HEIGHT)]]
        )
        tilt = np.concatenate([[0.0], angle, [np.pi / 2]])
        normal = np.cos(tilt)[:, None] * [0, 0, 1.0] - np.sin(tilt)[:, None] * self.back_direction
        return distance, height, normal, tilt / (np.pi / 2)

    def _compute_extent(self, axis: int, minimum: float) -> float:
        """How far the set must reach so that the camera sees no end of it."""
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
    """A box at an azimuth [degrees] whose height over its horizontal distance is `height`."""
    a = np.radians(azimuth)
    outward = np.array([np.cos(a), np.sin(a), slope]) / np.hypot(1.0, slope)
    across = np.array([-np.sin(a), np.cos(a), 0.0])
    return AreaLight(distance * outward, np.stack([across, np.cross(outward, across)]), half_size, radiance)


def mix_colors(first: Array, second: Array, weight: Array) -> Array:
    """(n, 3) linear colours between two sRGB ones, mixed as light mixes."""
    one, two = srgb_to_linear(first), srgb_to_linear(second)
    return one + (two - one) * weight[:, None]


def tonemap(linear: Array) -> Array:
    """sRGB values in 0..1 of linear light: exposed, bent towards white above the shoulder, and encoded."""
    exposed = EXPOSURE * np.maximum(linear, 0.0)
    room = 1 - TONE_CURVE_SHOULDER
    bent = 1 - room * np.exp(-np.maximum(exposed - TONE_CURVE_SHOULDER, 0.0) / room)
    return linear_to_srgb(np.where(exposed < TONE_CURVE_SHOULDER, exposed, bent))
