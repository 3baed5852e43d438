"""Sectional images of a patient's heart, made by code: a wall that bulges in one place and is drawn in at another."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct.rerouting.registration import nearest, resampled
from cajole.direct.rerouting.sections import Section, outline
from cajole.scenes.rerouting.heart_beat import DT, VENTRICLES, contraction
from cajole.scenes.rerouting.heart_shape import AHEAD, ASIDE

# a picture's side [pixels], the size of a pixel [m], and where it cuts the long axis [m from the middle]
SIDE, PIXEL, HEIGHT = 128, 1.0e-3, -0.016
# the frames at which there are images
TIMES = (16, 28, 40, 52)
# of the patient: where the wall bulges and is drawn in [rad around the section], how wide [rad] and how far [m]
BULGE, DENT = (-0.5, 0.55, 0.0090), (2.2, 0.45, -0.0025)
# how the patient lay in the scanner: turned [degrees] and shifted [m]
TURNED, SHIFTED = 6.0, (0.007, -0.005)
# greys of what is around, of the wall and of blood, the share of the wall that is blood's, and the noise
AROUND, WALL, BLOOD, POOL, NOISE = 0.12, 0.78, 0.45, 0.66, 0.04
POINTS = 240


def heart_section() -> Section:
    """Across the long axis, through both ventricles."""
    turn = Rotation.from_euler("XY", (AHEAD, ASIDE), degrees=True).as_matrix()
    right, up, axis = turn.T
    half = 0.5 * (SIDE - 1) * PIXEL
    return Section(HEIGHT * axis - half * right + half * up, right, up, PIXEL)


def patient_outlines(pilot: Animation) -> list[Array]:
    """(points, 2) [m] what the section of the patient's heart is at each of TIMES, where the pilot's heart is."""
    section, surface = heart_section(), pilot.mesh.surface
    lines = []
    for frame in TIMES:
        points = resampled(outline(surface, pilot.frame(frame), section, f"frame {frame}").points, POINTS)
        normals = nearest(points, points)[1]
        middle = points.mean(axis=0)
        around = np.arctan2(*(points - middle).T[::-1])
        # the bulge is a wall that does not contract: it stands out most when the rest is smallest
        active = float(contraction(np.array(frame * DT - VENTRICLES)))
        out = (0.4 + 0.6 * active) * _bump(around, *BULGE) + _bump(around, *DENT)
        lines.append(points + out[:, None] * normals)
    return lines


def heart_images(pilot: Animation, seed: int = 0) -> Array:
    """(images, SIDE, SIDE) greys 0..1 of the patient as he lay in the scanner, with noise."""
    random = np.random.default_rng(seed)
    return np.array([_image(_scanned(line), random) for line in patient_outlines(pilot)])


def _scanned(line: Array) -> Array:
    """Where a line (m, 2) [m] is when the patient is not aligned: `rigid` finds the way back."""
    angle = np.radians(TURNED)
    turn = np.array([(np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))])
    return np.asarray((line - SHIFTED) @ turn)


def _image(line: Array, random: np.random.Generator) -> Array:
    middle = line.mean(axis=0)
    arms = line - middle
    around, far = np.arctan2(arms[:, 1], arms[:, 0]), np.linalg.norm(arms, axis=1)
    rows, columns = np.indices((SIDE, SIDE))
    x, y = PIXEL * columns - middle[0], -PIXEL * rows - middle[1]
    order = np.argsort(around)
    edge = np.interp(np.arctan2(y, x), around[order], far[order], period=2 * np.pi)
    inside, pool = (_within(share * edge - np.hypot(x, y)) for share in (1.0, POOL))
    grey = AROUND + (WALL - AROUND) * inside + (BLOOD - WALL) * pool
    return np.asarray(np.clip(grey + NOISE * random.normal(size=grey.shape), 0.0, 1.0))


def _within(depth: Array) -> Array:
    """0 outside to 1 inside, over about a pixel."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(depth / (0.5 * PIXEL), -40.0, 40.0))))


def _bump(around: Array, at: float, width: float, height: float) -> Array:
    away = (around - at + np.pi) % (2 * np.pi) - np.pi
    return np.asarray(height * np.exp(-((away / width) ** 2)))
