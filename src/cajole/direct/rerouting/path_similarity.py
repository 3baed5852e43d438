"""Similarity of a path to the pilot's: step lengths, turning angles, and shape up to similarity transformations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array


@dataclass(frozen=True)
class PathSimilarity:
    """Similarity of a path to the pilot's.

    step_length_variation: standard deviation over mean of the ratios of step lengths, 0 if they are proportional.
    turning_correlation: of the turning angles, 1 if all are alike; None if the pilot hardly turns. shape_distance:
    Procrustes distance from 0 to 1, 0 if the path is the pilot's, moved, rotated and scaled. max_turning_difference
    [rad]: largest difference of the angles between consecutive steps.
    """

    step_length_variation: float
    turning_correlation: float | None
    shape_distance: float
    max_turning_difference: float

    @property
    def is_similar(self) -> bool:
        """True if the shape is close enough to be seen as the same motion: a Procrustes distance of at most 0.1."""
        return self.shape_distance <= 0.1


def compute_path_similarity(path: Array, pilot: Array) -> PathSimilarity:
    """Compare paths (N + 1, 3) [m]."""
    lengths, pilot_lengths = (np.linalg.norm(np.diff(x, axis=0), axis=1) for x in (path, pilot))
    moving = pilot_lengths > 1e-9 * max(float(pilot_lengths.max(initial=0.0)), np.finfo(float).tiny)
    ratios = lengths[moving] / pilot_lengths[moving]
    variation = float(ratios.std() / ratios.mean()) if len(ratios) and ratios.mean() > 0 else 0.0
    angles, pilot_angles = compute_turning_angles(path), compute_turning_angles(pilot)
    has_turns = len(angles) >= 3 and pilot_angles.std() >= 1e-3 and angles.std() != 0.0
    correlation = float(np.corrcoef(angles, pilot_angles)[0, 1]) if has_turns else None
    turning = float(np.abs(angles - pilot_angles).max(initial=0.0))
    return PathSimilarity(variation, correlation, compute_procrustes_distance(path, pilot), turning)


def compute_turning_angles(path: Array) -> Array:
    """(N - 1,) [rad] angles between consecutive steps of a path (N + 1, 3)."""
    steps = np.diff(path, axis=0)
    across = np.linalg.norm(np.cross(steps[:-1], steps[1:]), axis=1)
    return np.asarray(np.arctan2(across, (steps[:-1] * steps[1:]).sum(axis=1)))


def compute_procrustes_distance(path: Array, pilot: Array) -> float:
    """√(1 - (Σσ)² / |x|²|y|²) of the centred paths: the difference that no motion and scaling removes."""
    x, y = path - path.mean(axis=0), pilot - pilot.mean(axis=0)
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    if size == 0.0:
        return 0.0 if np.linalg.norm(x) == np.linalg.norm(y) else 1.0
    U, values, V = np.linalg.svd(x.T @ y)
    # rotations, no reflections
    values[-1] *= np.sign(np.linalg.det(U) * np.linalg.det(V)) or 1.0
    return float(np.sqrt(max(0.0, 1.0 - (values.sum() / size) ** 2)))
