"""Contours laid over the outlines of a body, and how far along its normals the outline is from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array

ALIGNMENTS = ("rigid", "shift", "none")
# points that stand for a contour while it is laid over an outline
CONTOUR_SAMPLES = 160
# the share of them by which it is laid: where the shapes differ, they do not say how the image lies
TRIMMED_SHARE = 0.6
MAX_ITERATIONS = 200
# a step below this share of the section's width ends the search
STEP_TOLERANCE = 1e-8
# passes of (1/4, 1/2, 1/4) over the offsets around an outline: noise of a contour would crumple the surface
SMOOTHING_PASSES = 8


@dataclass(frozen=True, eq=False)
class Alignment:
    """x -> turn x + shift: turn (2, 2), shift (2,) [m]."""

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
    """The one move in the plane that lays all contours (m, 2) [m] best over the outlines (k, 2) [m] of their frames.

    kind: "rigid" turns and shifts, "shift" only shifts, "none" leaves them. One for all: what differs from frame to
    frame, or in shape, is what the images are for. Distances along normals, again and again (Chen and Medioni 1992), of
    the share that fits best (Chetverikov et al. 2002), from where the middles agree. What an image is larger by all
    around does not count.
    """
    still = Alignment(np.eye(2), np.zeros(2))
    if kind == "none":
        return still
    samples = [resample_loop(line, CONTOUR_SAMPLES) for line in contours]
    middles = [np.mean([line.mean(axis=0) for line in lines], axis=0) for lines in (samples, _resample_loops(outlines))]
    now, points = Alignment(np.eye(2), middles[1] - middles[0]), np.vstack(samples)
    size = float(np.ptp(points, axis=0).max())
    for _ in range(MAX_ITERATIONS):
        found = [find_closest_on_loop(now.apply(line), loop) for line, loop in zip(samples, outlines)]
        there, normals = (np.vstack([part[i] for part in found]) for i in range(2))
        here = now.apply(points)
        off = ((there - here) * normals).sum(axis=1).reshape(-1, CONTOUR_SAMPLES)
        off = (off - np.median(off, axis=1, keepdims=True)).ravel()
        alike = np.abs(off) <= np.quantile(np.abs(off), TRIMMED_SHARE)
        step = _solve_alignment_step(here[alike], normals[alike], off[alike], allow_rotation=kind == "rigid")
        now = Alignment(step.rotation @ now.rotation, step.rotation @ now.translation + step.translation)
        if np.abs(now.apply(points) - here).max() < STEP_TOLERANCE * size:
            break
    return now


def compute_normal_offsets(points: Array, normals: Array, contour: Array, max_offset: float) -> Array:
    """(k,) [m] from points (k, 2) along their normals to where these first meet a closed contour, outward or inward.

    NaN where the normal does not meet it within `most`.
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
    """Values (k,) around a loop with those that are missing (NaN) between their neighbours'."""
    known = np.flatnonzero(np.isfinite(values))
    return np.interp(np.arange(len(values)), known, values[known], period=len(values))


def smooth_loop_values(values: Array) -> Array:
    """Values (k,) around a loop, each pass a quarter of both neighbours' and half its own."""
    for _ in range(SMOOTHING_PASSES):
        values = 0.25 * np.roll(values, 1) + 0.5 * values + 0.25 * np.roll(values, -1)
    return values


def find_closest_on_loop(points: Array, line: Array) -> tuple[Array, Array]:
    """The nearest place (k, 2) on a closed line (m, 2) to each of points (k, 2), and the outward normal (k, 2) there.

    The line goes counter-clockwise; normals turn evenly along it.
    """
    ways = np.roll(line, -1, axis=0) - line
    squares = np.maximum((ways**2).sum(axis=1), np.finfo(float).tiny)
    share = np.clip(((points[:, None] - line) * ways).sum(axis=2) / squares, 0.0, 1.0)
    places = line + share[:, :, None] * ways
    which = ((points[:, None] - places) ** 2).sum(axis=2).argmin(axis=1)
    rows = np.arange(len(points))
    corners, part = _compute_corner_normals(ways), share[rows, which][:, None]
    normals = (1.0 - part) * corners[which] + part * corners[(which + 1) % len(line)]
    return places[rows, which], _normalise(normals)


def resample_loop(line: Array, count: int) -> Array:
    """(count, 2) a closed line (m, 2) in even steps."""
    closed = np.vstack([line, line[:1]])
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    at = along[-1] * np.arange(count) / count
    return np.column_stack([np.interp(at, along, column) for column in closed.T])


def _resample_loops(lines: list[Array]) -> list[Array]:
    return [resample_loop(line, CONTOUR_SAMPLES) for line in lines]


def _solve_alignment_step(points: Array, normals: Array, distances: Array, *, allow_rotation: bool) -> Alignment:
    """The small move of least squares that brings points (n, 2) by `off` (n,) [m] along their normals (n, 2)."""
    middle = points.mean(axis=0)
    turned = _compute_cross_2d(points - middle, normals) if allow_rotation else np.zeros(len(points))
    columns = np.column_stack([turned, normals])
    angle, *way = np.linalg.lstsq(columns, distances, rcond=None)[0]
    turn = np.array([(np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))])
    return Alignment(turn, middle - turn @ middle + way)


def _compute_corner_normals(segments: Array) -> Array:
    """(m, 2) outward at the corners of a line whose steps are `ways` (m, 2)."""
    out = _normalise(segments)[:, ::-1] * (1.0, -1.0)
    return _normalise(out + np.roll(out, 1, axis=0))


def _normalise(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(float).tiny))


def _compute_cross_2d(a: Array, b: Array) -> Array:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])
