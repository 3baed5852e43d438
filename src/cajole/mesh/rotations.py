"""Rotations between directions."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array


def compute_minimal_rotation(a: Array, b: Array, max_angle: float = np.pi) -> Array:
    """(3, 3) the minimal rotation of the direction of `a` (3,) to that of `b`, by at most `max_angle` [rad]."""
    axis = np.cross(a, b)
    sine, cosine = float(np.linalg.norm(axis)), float(a @ b)
    if sine == 0.0:
        if cosine >= 0.0:
            return np.eye(3)
        # opposite directions: any perpendicular axis
        axis = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        sine = float(np.linalg.norm(axis))
    angle = min(float(np.arctan2(np.linalg.norm(np.cross(a, b)), cosine)), max_angle)
    x, y, z = axis / sine
    K = np.array([(0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K)
