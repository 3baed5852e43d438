"""Registration of contours with the outlines of a body, and their distances along the normals of the outline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array

ALIGNMENTS = ("rigid", "shift", "none")


@dataclass(frozen=True)
class RegistrationOptions:
    """Limits of `align_contours`."""

    # Points that represent a contour.
    samples: int = 160
    # Share of the points with the smallest distances that determine a step: where the shapes differ, they do not tell
    # how the image lies.
    trimmed_share: float = 0.6
    max_iterations: int = 200
    # The search ends at a step below this share of the width of the section.
    step_tolerance: float = 1e-8


@dataclass(frozen=True, eq=False)
class Alignment:
    """x -> R x + t: rotation (2, 2), translation (2,) [m]."""

    rotation: Array
    translation: Array

    @property
    def angle(self) -> float:
        """[degrees]"""
        return float(np.degrees(np.arctan2(self.rotation[1, 0], self.rotation[0, 0])))

    def apply(self, points: Array) -> Array:
        """(n, 2) [m]"""
        return np.asarray(points @ self.rotation.T + self.translation)


def align_contours(contours: list[Array], outlines: list[Array], kind: str) -> Alignment:
    """The alignment in the plane that registers all contours (m, 2) [m] with the outlines (k, 2) [m] of their frames.

    kind: "rigid" rotates and shifts, "shift" only shifts, "none" does neither. One alignment for all frames:
    differences between frames, and of shape, are what the images are for. Iterative closest points with distances
    along normals (Chen and Medioni 1992), trimmed (Chetverikov et al. 2002), from aligned centroids. A constant offset
    all around an outline is ignored.
    """
    if kind == "none":
        return Alignment(np.eye(2), np.zeros(2))
    limits = RegistrationOptions()
    samples = [resample_loop(line, limits.samples) for line in contours]
    outline_samples = [resample_loop(line, limits.samples) for line in outlines]
    middles = [np.mean([line.mean(axis=0) for line in lines], axis=0) for lines in (samples, outline_samples)]
    now, points = Alignment(np.eye(2), middles[1] - middles[0]), np.vstack(samples)
    size = float(np.ptp(points, axis=0).max())
    for _ in range(limits.max_iterations):
        found = [find_closest_on_loop(now.apply(line), loop) for line, loop in zip(samples, outlines)]
        there, normals = (np.vstack([part[i] for part in found]) for i in range(2))
        here = now.apply(points)
        off = ((there - here) * normals).sum(axis=1).reshape(-1, limits.samples)
        off = (off - np.median(off, axis=1, keepdims=True)).ravel()
        alike = np.abs(off) <= np.quantile(np.abs(off), limits.trimmed_share)
        step = _solve_alignment_step(here[alike], normals[alike], off[alike], allow_rotation=kind == "rigid")
        now = Alignment(step.rotation @ now.rotation, step.rotation @ now.translation + step.translation)
        if np.abs(now.apply(points) - here).max() < limits.step_tolerance * size:
            break
    return now


def compute_normal_offsets(points: Array, normals: Array, contour: Array, max_offset: float) -> Array:
    """(k,) [m] signed distances from points (k, 2) along their normals to a closed contour, outward or inward.

    NaN where the normal does not meet it within `max_offset`.
    """
    ways = np.roll(contour, -1, axis=0) - contour
    arms = contour - points[:, None]
    across = _compute_cross_2d(normals[:, None], ways)
    with np.errstate(divide="ignore", invalid="ignore"):
        far, share = _compute_cross_2d(arms, ways) / across, _compute_cross_2d(arms, normals[:, None]) / across
    far = np.where((share >= 0.0) & (share <= 1.0) & (np.abs(far) <= max_offset), far, np.inf)
    found = far[np.arange(len(points)), np.abs(far).argmin(axis=1)]
    return np.where(np.isfinite(found), found, np.nan)


def fill_missing_values(values: Array) -> Array:
    """Values (k,) around a loop, with NaN interpolated between neighbours."""
    known = np.flatnonzero(np.isfinite(values))
    return np.interp(np.arange(len(values)), known, values[known], period=len(values))


def smooth_loop_values(values: Array) -> Array:
    """Values (k,) around a loop after eight passes of the filter (1/4, 1/2, 1/4): noise would crumple the surface."""
    for _ in range(8):
        values = 0.25 * np.roll(values, 1) + 0.5 * values + 0.25 * np.roll(values, -1)
    return values


def find_closest_on_loop(points: Array, line: Array) -> tuple[Array, Array]:
    """Closest points (k, 2) on a closed counter-clockwise line (m, 2) to points (k, 2), and outward normals (k, 2).

    Normals are interpolated along the line.
    """
    ways = np.roll(line, -1, axis=0) - line
    squares = np.maximum((ways**2).sum(axis=1), np.finfo(float).tiny)
    share = np.clip(((points[:, None] - line) * ways).sum(axis=2) / squares, 0.0, 1.0)
    places = line + share[:, :, None] * ways
    which = ((points[:, None] - places) ** 2).sum(axis=2).argmin(axis=1)
    rows = np.arange(len(points))
    outward = _normalise(ways)[:, ::-1] * (1.0, -1.0)
    corners, part = _normalise(outward + np.roll(outward, 1, axis=0)), share[rows, which][:, None]
    normals = (1.0 - part) * corners[which] + part * corners[(which + 1) % len(line)]
    return places[rows, which], _normalise(normals)


def resample_loop(line: Array, count: int) -> Array:
    """(count, 2) points of a closed line (m, 2) at equal distances."""
    closed = np.vstack([line, line[:1]])
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    at = along[-1] * np.arange(count) / count
    return np.column_stack([np.interp(at, along, column) for column in closed.T])


def _solve_alignment_step(points: Array, normals: Array, distances: Array, *, allow_rotation: bool) -> Alignment:
    """The small motion that moves points (n, 2) by distances (n,) [m] along normals (n, 2), by least squares."""
    middle = points.mean(axis=0)
    turned = _compute_cross_2d(points - middle, normals) if allow_rotation else np.zeros(len(points))
    columns = np.column_stack([turned, normals])
    angle, *way = np.linalg.lstsq(columns, distances, rcond=None)[0]
    turn = np.array([(np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))])
    return Alignment(turn, middle - turn @ middle + way)


def _normalise(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(float).tiny))


def _compute_cross_2d(a: Array, b: Array) -> Array:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])
