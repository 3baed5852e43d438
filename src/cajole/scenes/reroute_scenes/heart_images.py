"""Synthetic sectional images of a patient's heart: a wall with one bulge and one indentation."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct.rerouting.registration import find_closest_on_loop, resample_loop
from cajole.direct.rerouting.sections import ImageSection, cut_outline
from cajole.scenes.reroute_scenes.heart_model import (
    AXIS_FORWARD_TILT,
    AXIS_SIDE_TILT,
    DT,
    VENTRICLE_START,
    compute_contraction,
)

# a picture's side [pixels], the size of a pixel [m], and where it cuts the long axis [m from the middle]
IMAGE_SIDE, PIXEL_SIZE, SECTION_HEIGHT = 128, 1.0e-3, -0.016
# the frames at which there are images
IMAGE_FRAMES = (16, 28, 40, 52)
# of the patient: where the wall bulges and is drawn in [rad around the section], how wide [rad] and how far [m]
WALL_BULGE, WALL_DENT = (-0.5, 0.55, 0.0090), (2.2, 0.45, -0.0025)
# how the patient lay in the scanner: turned [degrees] and shifted [m]
SCAN_ROTATION, SCAN_SHIFT = 6.0, (0.007, -0.005)
# greys of what is around, of the wall and of blood, the share of the wall that is blood's, and the noise
BACKGROUND_GREY, WALL_GREY, BLOOD_GREY, BLOOD_POOL_FRACTION, NOISE_LEVEL = 0.12, 0.78, 0.45, 0.66, 0.04


def build_heart_section() -> ImageSection:
    """Section across the long axis, through both ventricles."""
    turn = Rotation.from_euler("XY", (AXIS_FORWARD_TILT, AXIS_SIDE_TILT), degrees=True).as_matrix()
    right, up, axis = turn.T
    half = 0.5 * (IMAGE_SIDE - 1) * PIXEL_SIZE
    return ImageSection(SECTION_HEIGHT * axis - half * right + half * up, right, up, PIXEL_SIZE)


def compute_patient_outlines(pilot: Animation) -> list[Array]:
    """Outline (points, 2) [m] of the patient's heart in the section at each image frame, aligned with the pilot."""
    outline_points = 240
    section, surface = build_heart_section(), pilot.mesh.surface
    lines = []
    for frame in IMAGE_FRAMES:
        points = resample_loop(
            cut_outline(surface, pilot.frame(frame), section, f"frame {frame}").points, outline_points
        )
        normals = find_closest_on_loop(points, points)[1]
        middle = points.mean(axis=0)
        around = np.arctan2(*(points - middle).T[::-1])
        # the bulge is a wall that does not contract: it stands out most when the rest is smallest
        active = float(compute_contraction(np.array(frame * DT - VENTRICLE_START)))
        out = (0.4 + 0.6 * active) * _evaluate_angular_gaussian(around, *WALL_BULGE) + _evaluate_angular_gaussian(
            around, *WALL_DENT
        )
        lines.append(points + out[:, None] * normals)
    return lines


def render_heart_images(pilot: Animation, seed: int = 0) -> Array:
    """Render noisy grey images (images, side, side), 0 to 1, of the misaligned patient."""
    random = np.random.default_rng(seed)
    return np.array([_render_image(_misalign_outline(line), random) for line in compute_patient_outlines(pilot)])


def _misalign_outline(line: Array) -> Array:
    """Apply the patient's rigid misalignment to a line (m, 2) [m]; registration must undo it."""
    angle = np.radians(SCAN_ROTATION)
    turn = np.array([(np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))])
    return np.asarray((line - SCAN_SHIFT) @ turn)


def _render_image(line: Array, random: np.random.Generator) -> Array:
    middle = line.mean(axis=0)
    arms = line - middle
    around, far = np.arctan2(arms[:, 1], arms[:, 0]), np.linalg.norm(arms, axis=1)
    rows, columns = np.indices((IMAGE_SIDE, IMAGE_SIDE))
    x, y = PIXEL_SIZE * columns - middle[0], -PIXEL_SIZE * rows - middle[1]
    order = np.argsort(around)
    edge = np.interp(np.arctan2(y, x), around[order], far[order], period=2 * np.pi)
    inside, pool = (_compute_pixel_coverage(share * edge - np.hypot(x, y)) for share in (1.0, BLOOD_POOL_FRACTION))
    grey = BACKGROUND_GREY + (WALL_GREY - BACKGROUND_GREY) * inside + (BLOOD_GREY - WALL_GREY) * pool
    return np.asarray(np.clip(grey + NOISE_LEVEL * random.normal(size=grey.shape), 0.0, 1.0))


def _compute_pixel_coverage(depth: Array) -> Array:
    """Coverage of a pixel, 0 outside to 1 inside, over about one pixel."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(depth / (0.5 * PIXEL_SIZE), -40.0, 40.0))))


def _evaluate_angular_gaussian(angle: Array, centre: float, width: float, height: float) -> Array:
    away = (angle - centre + np.pi) % (2 * np.pi) - np.pi
    return np.asarray(height * np.exp(-((away / width) ** 2)))
