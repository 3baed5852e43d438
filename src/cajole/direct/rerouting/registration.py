"""Contours laid over the outlines of a body, and how far along its normals the outline is from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array

ALIGNMENTS = ("rigid", "shift", "none")
# points that stand for a contour while it is laid over an outline
SAMPLES = 160
# the share of them by which it is laid: where the shapes differ, they do not say how the image lies
ALIKE = 0.6
MOST_ITERATIONS = 200
# a step below this share of the section's width ends the search
SETTLED = 1e-8
# passes of (1/4, 1/2, 1/4) over the offsets around an outline: noise of a contour would crumple the surface
PASSES = 8


@dataclass(frozen=True, eq=False)
class Alignment:
    """x -> turn x + shift: turn (2, 2), shift (2,) [m]."""

    turn: Array
    shift: Array

    @property
    def angle(self) -> float:
        """[degrees]"""
        return float(np.degrees(np.arctan2(self.turn[1, 0], self.turn[0, 0])))

    def apply(self, points: Array) -> Array:
        """(n, 2) [m]"""
        return np.asarray(points @ self.turn.T + self.shift)


def aligned(contours: list[Array], outlines: list[Array], kind: str) -> Alignment:
    """The one move in the plane that lays all contours (m, 2) [m] best over the outlines (k, 2) [m] of their frames.

    kind: "rigid" turns and shifts, "shift" only shifts, "none" leaves them. One for all: what differs from frame to
    frame, or in shape, is what the images are for. Distances along normals, again and again (Chen and Medioni 1992), of
    the share that fits best (Chetverikov et al. 2002), from where the middles agree. What an image is larger by all
    around does not count.
    """
    still = Alignment(np.eye(2), np.zeros(2))
    if kind == "none":
        return still
    samples = [resampled(line, SAMPLES) for line in contours]
    middles = [np.mean([line.mean(axis=0) for line in lines], axis=0) for lines in (samples, _even(outlines))]
    now, points = Alignment(np.eye(2), middles[1] - middles[0]), np.vstack(samples)
    size = float(np.ptp(points, axis=0).max())
    for _ in range(MOST_ITERATIONS):
        found = [nearest(now.apply(line), loop) for line, loop in zip(samples, outlines)]
        there, normals = (np.vstack([part[i] for part in found]) for i in range(2))
        here = now.apply(points)
        off = ((there - here) * normals).sum(axis=1).reshape(-1, SAMPLES)
        off = (off - np.median(off, axis=1, keepdims=True)).ravel()
        alike = np.abs(off) <= np.quantile(np.abs(off), ALIKE)
        step = _step(here[alike], normals[alike], off[alike], turning=kind == "rigid")
        now = Alignment(step.turn @ now.turn, step.turn @ now.shift + step.shift)
        if np.abs(now.apply(points) - here).max() < SETTLED * size:
            break
    return now


def offsets(points: Array, normals: Array, contour: Array, most: float) -> Array:
    """(k,) [m] from points (k, 2) along their normals to where these first meet a closed contour, outward or inward.

    NaN where the normal does not meet it within `most`.
    """
    ways = np.roll(contour, -1, axis=0) - contour
    arms = contour - points[:, None]
    across = _cross(normals[:, None], ways)
    with np.errstate(divide="ignore", invalid="ignore"):
        far, share = _cross(arms, ways) / across, _cross(arms, normals[:, None]) / across
    far = np.where((share >= 0.0) & (share <= 1.0) & (np.abs(far) <= most), far, np.inf)
    found = far[np.arange(len(points)), np.abs(far).argmin(axis=1)]
    return np.where(np.isfinite(found), found, np.nan)


def filled(values: Array) -> Array:
    """Values (k,) around a loop with those that are missing (NaN) between their neighbours'."""
    known = np.flatnonzero(np.isfinite(values))
    return np.interp(np.arange(len(values)), known, values[known], period=len(values))


def smoothed(values: Array) -> Array:
    """Values (k,) around a loop, each pass a quarter of both neighbours' and half its own."""
    for _ in range(PASSES):
        values = 0.25 * np.roll(values, 1) + 0.5 * values + 0.25 * np.roll(values, -1)
    return values


def nearest(points: Array, line: Array) -> tuple[Array, Array]:
    """The nearest place (k, 2) on a closed line (m, 2) to each of points (k, 2), and the outward normal (k, 2) there.

    The line goes counter-clockwise; normals turn evenly along it.
    """
    ways = np.roll(line, -1, axis=0) - line
    squares = np.maximum((ways**2).sum(axis=1), np.finfo(float).tiny)
    share = np.clip(((points[:, None] - line) * ways).sum(axis=2) / squares, 0.0, 1.0)
    places = line + share[:, :, None] * ways
    which = ((points[:, None] - places) ** 2).sum(axis=2).argmin(axis=1)
    rows = np.arange(len(points))
    corners, part = _normals(ways), share[rows, which][:, None]
    normals = (1.0 - part) * corners[which] + part * corners[(which + 1) % len(line)]
    return places[rows, which], _unit(normals)


def resampled(line: Array, count: int) -> Array:
    """(count, 2) a closed line (m, 2) in even steps."""
    closed = np.vstack([line, line[:1]])
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    at = along[-1] * np.arange(count) / count
    return np.column_stack([np.interp(at, along, column) for column in closed.T])


def _even(lines: list[Array]) -> list[Array]:
    return [resampled(line, SAMPLES) for line in lines]


def _step(points: Array, normals: Array, off: Array, *, turning: bool) -> Alignment:
    """The small move of least squares that brings points (n, 2) by `off` (n,) [m] along their normals (n, 2)."""
    middle = points.mean(axis=0)
    turned = _cross(points - middle, normals) if turning else np.zeros(len(points))
    columns = np.column_stack([turned, normals])
    angle, *way = np.linalg.lstsq(columns, off, rcond=None)[0]
    turn = np.array([(np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))])
    return Alignment(turn, middle - turn @ middle + way)


def _normals(ways: Array) -> Array:
    """(m, 2) outward at the corners of a line whose steps are `ways` (m, 2)."""
    out = _unit(ways)[:, ::-1] * (1.0, -1.0)
    return _unit(out + np.roll(out, 1, axis=0))


def _unit(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(float).tiny))


def _cross(a: Array, b: Array) -> Array:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])
