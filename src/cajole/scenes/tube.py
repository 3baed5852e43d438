"""Tubes along curved lines: branches and wires, with few triangles for contact."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline, PchipInterpolator

from cajole.arrays import Array
from cajole.mesh import MeshTri


def resample_spline(points: ArrayLike, radii: ArrayLike, samples: int) -> tuple[Array, Array]:
    """Points (rings, 3) [m] and radii (rings,) [m] of a spline through given points at equal arc lengths."""
    given = np.asarray(points, dtype=float)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(given, axis=0), axis=1))])
    at = np.linspace(0.0, along[-1], samples)
    return CubicSpline(along, given)(at), PchipInterpolator(along, np.asarray(radii, dtype=float))(at)


def build_tube(centreline: Array, radii: ArrayLike, sides: int) -> MeshTri:
    """Closed surface around a line (k, 3) [m] with radii (k,) or one for all [m]; caps are triangle fans."""
    rings, thick = len(centreline), np.broadcast_to(np.asarray(radii, dtype=float), len(centreline))
    tangents = np.gradient(centreline, axis=0)
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    # a direction that the line is far from wherever it leads
    aside = np.eye(3)[np.abs(tangents).max(axis=0).argmin()]
    first = np.cross(tangents, aside)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = np.cross(tangents, first)
    turn = 2 * np.pi * np.arange(sides) / sides
    around = np.cos(turn)[:, None] * first[:, None] + np.sin(turn)[:, None] * second[:, None]
    points = (centreline[:, None] + thick[:, None, None] * around).reshape(-1, 3)
    i, j = np.indices((rings - 1, sides)).reshape(2, -1)
    a, b = i * sides + j, i * sides + (j + 1) % sides
    walls = [np.column_stack([a, b, b + sides]), np.column_stack([a, b + sides, a + sides])]
    k = np.arange(sides)
    last = (rings - 1) * sides
    ends = [
        np.column_stack([np.full(sides, len(points)), (k + 1) % sides, k]),
        np.column_stack([np.full(sides, len(points) + 1), last + k, last + (k + 1) % sides]),
    ]
    return MeshTri(np.vstack([points, centreline[:1], centreline[-1:]]), np.vstack([*walls, *ends]))


def join_meshes(parts: list[MeshTri]) -> MeshTri:
    """Join meshes into one."""
    firsts = np.cumsum([0] + [len(part.vertices) for part in parts])
    return MeshTri(
        np.vstack([part.vertices for part in parts]),
        np.vstack([part.triangles + first for part, first in zip(parts, firsts)]),
    )
