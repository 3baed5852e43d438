"""Triangles from elsewhere, freed of those that are no triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cajole.checks import index_array
from cajole.errors import MeshError
from cajole.mesh.base import Floats, Indices, checked_vertices
from cajole.mesh.tri import MeshTri, flat_triangles


def repaired(vertices: ArrayLike, triangles: ArrayLike) -> MeshTri:
    """A MeshTri of the triangles that have an area; `notes` says how many were dropped.

    Files of drawn surfaces often hold slivers without area; nothing can be computed on those.
    Raises MeshError for everything else that MeshTri refuses, and when no triangle is left.
    """
    points = checked_vertices(vertices)
    elements = index_array(triangles, "triangles", (None, 3), len(points), error=MeshError)
    good = _with_area(points, elements)
    if not good.any():
        raise MeshError(
            f"none of the {len(elements)} triangles has an area, so that no mesh is left; check the file's faces"
        )
    mesh = MeshTri(points, elements[good])
    dropped = int((~good).sum())
    return mesh.noted(f"{dropped} triangles without area were dropped") if dropped else mesh


def welded(vertices: Floats, triangles: Indices) -> tuple[Floats, Indices]:
    """Vertices at exactly one position made one, in order of first use, and the triangles renumbered."""
    _, first, number = np.unique(vertices + 0.0, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return vertices[np.sort(first)], rank[number.reshape(-1)][triangles]


def _with_area(vertices: Floats, triangles: Indices) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    a, b, c = triangles.T
    distinct = (a != b) & (b != c) & (c != a)
    flat, _, _ = flat_triangles(vertices, triangles)
    return distinct & ~flat
