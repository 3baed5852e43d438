"""How like its pilot a path moves: step lengths, turning angles, and its shape but for place, turn and size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array

# a shape this near to the pilot's reads as the same motion
SIMILAR_SHAPE_DISTANCE = 0.1


@dataclass(frozen=True)
class PathSimilarity:
    """What is kept of the pilot's path.

    stepping: standard deviation over mean of the ratios of step lengths, 0 where they are proportional. turning:
    correlation of the turning angles, 1 where all are alike; None where the pilot hardly turns. shape: Procrustes
    distance from 0 to 1, 0 where the path is the pilot's, moved, turned and scaled. turned: the largest angle [rad]
    between a step and the next, less the pilot's there.
    """

    step_length_variation: float
    turning_correlation: float | None
    shape_distance: float
    max_turning_difference: float

    @property
    def is_similar(self) -> bool:
        """Whether the shape is near enough to the pilot's to read as the same motion."""
        return self.shape_distance <= SIMILAR_SHAPE_DISTANCE


def compute_path_similarity(path: Array, pilot: Array) -> PathSimilarity:
    """`path` beside `pilot`, (N + 1, 3) [m] each."""
    ours, theirs = np.diff(path, axis=0), np.diff(pilot, axis=0)
    long, longs = np.linalg.norm(ours, axis=1), np.linalg.norm(theirs, axis=1)
    moving = longs > 1e-9 * max(float(longs.max(initial=0.0)), np.finfo(float).tiny)
    ratios = long[moving] / longs[moving]
    stepping = float(ratios.std() / ratios.mean()) if len(ratios) and ratios.mean() > 0 else 0.0
    mine, pilots = compute_turning_angles(path), compute_turning_angles(pilot)
    turned = float(np.abs(mine - pilots).max(initial=0.0))
    return PathSimilarity(
        stepping, _compute_correlation(mine, pilots), compute_procrustes_distance(path, pilot), turned
    )


def compute_turning_angles(path: Array) -> Array:
    """(N - 1,) [rad] the angle between each step of a path (N + 1, 3) and the next."""
    steps = np.diff(path, axis=0)
    across = np.linalg.norm(np.cross(steps[:-1], steps[1:]), axis=1)
    return np.asarray(np.arctan2(across, (steps[:-1] * steps[1:]).sum(axis=1)))


def compute_procrustes_distance(path: Array, pilot: Array) -> float:
    """√(1 - (Σσ)² / |x|²|y|²) of the centred paths: what no move, turn and scale takes away."""
    x, y = path - path.mean(axis=0), pilot - pilot.mean(axis=0)
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    if size == 0.0:
        return 0.0 if np.linalg.norm(x) == np.linalg.norm(y) else 1.0
    U, values, V = np.linalg.svd(x.T @ y)
    # turned, not mirrored
    values[-1] *= np.sign(np.linalg.det(U) * np.linalg.det(V)) or 1.0
    return float(np.sqrt(max(0.0, 1.0 - (values.sum() / size) ** 2)))


def _compute_correlation(a: Array, b: Array) -> float | None:
    if len(a) < 3 or b.std() < 1e-3 or a.std() == 0.0:
        return None
    return float(np.corrcoef(a, b)[0, 1])
