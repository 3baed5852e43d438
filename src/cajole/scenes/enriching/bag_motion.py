"""A backflip: crouch, jump, flip, hard landing, recoil."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from scipy.interpolate import PchipInterpolator

from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY
from cajole.scenes.enriching.bag_shape import Pose, posed

FPS = 30.0
# when it leaves the ground and when it is back on it [s], and how far back it lands [m]
TAKEOFF, LANDING, BACK = 1.10, 1.80, 0.55
DURATION = 3.6
# [s], then pitch, ankle, knee, hip, chest [degrees], stretch, pinch
KEYS = (
    (0.00, 0, 0, 0, 0, 0, 1.00, 0.00),
    (0.15, 0, 0, 0, 0, 0, 1.00, 0.00),
    # a short rise before the crouch
    (0.35, 0, 0, 0, -6, -10, 1.05, 0.05),
    (0.72, 0, 40, -90, 102, 16, 0.92, 0.26),
    (0.88, 0, 42, -94, 108, 22, 0.90, 0.28),
    # the push: everything opens, the chest leads backwards
    (1.02, -4, 6, -16, -18, -34, 1.10, 0.12),
    (1.10, -14, 0, 0, -26, -38, 1.16, 0.05),
    # tucked, upside down
    (1.30, -112, 10, -48, 62, 34, 0.94, 0.22),
    (1.46, -208, 14, -66, 88, 44, 0.90, 0.30),
    (1.62, -296, 8, -34, 46, 18, 0.98, 0.15),
    (1.80, -356, 4, -10, 24, 6, 1.06, 0.04),
    # the landing
    (1.86, -360, 30, -70, 84, 20, 0.90, 0.18),
    (1.95, -360, 46, -102, 116, 36, 0.82, 0.32),
    (2.04, -360, 44, -98, 112, 38, 0.84, 0.30),
    # the recoil, and what is left of it
    (2.32, -360, 4, -8, -8, -26, 1.12, 0.02),
    (2.58, -360, 8, -20, 24, 10, 0.95, 0.10),
    (2.84, -360, 0, 0, -4, -8, 1.02, 0.02),
    (3.10, -360, 0, 0, 2, 3, 0.995, 0.00),
    (3.35, -360, 0, 0, 0, 0, 1.00, 0.00),
    (3.60, -360, 0, 0, 0, 0, 1.00, 0.00),
)  # fmt: skip


def poses(times: Array) -> list[Pose]:
    """The pose at each of the times (k,) [s]; between keys it never overshoots them."""
    table = np.array(KEYS)
    names = [field.name for field in fields(Pose)]
    values = PchipInterpolator(table[:, 0], table[:, 1:])(np.clip(times, 0.0, DURATION))
    return [Pose(**dict(zip(names, row.tolist()))) for row in values]


def backflip(rest: Array) -> Array:
    """Positions (frames, n, 3) [m] of the bag's points `rest` (n, 3)."""
    times = np.arange(round(DURATION * FPS) + 1) / FPS
    shapes = np.array([posed(rest, pose) for pose in poses(times)])
    return shapes + _path(rest, shapes, times)[:, None]


def _path(rest: Array, shapes: Array, times: Array) -> Array:
    """Where the middle of the bottom is (frames, 3): on the ground, or such that the bag as a whole falls freely."""
    left, landed = (_standing(posed(rest, pose)) for pose in poses(np.array([TAKEOFF, LANDING])))
    middle = [posed(rest, pose).mean(axis=0) for pose in poses(np.array([TAKEOFF, LANDING]))]
    start, end = middle[0] + left, middle[1] + landed - [BACK, 0.0, 0.0]
    out = np.empty((len(times), 3))
    for frame, (t, shape) in enumerate(zip(times, shapes)):
        if t <= TAKEOFF:
            out[frame] = _standing(shape)
        elif t >= LANDING:
            out[frame] = _standing(shape) - [BACK, 0.0, 0.0]
        else:
            share = (t - TAKEOFF) / (LANDING - TAKEOFF)
            rise = 0.5 * EARTH_GRAVITY * (t - TAKEOFF) * (LANDING - t)
            out[frame] = (1 - share) * start + share * end + [0.0, 0.0, rise] - shape.mean(axis=0)
    return out


def _standing(shape: Array) -> Array:
    """What lifts a shape (n, 3) so that it touches the ground."""
    return np.array([0.0, 0.0, -shape[:, 2].min()])
