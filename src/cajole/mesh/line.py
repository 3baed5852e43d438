"""MeshLine: line segments, such as ropes and nets of springs, and tubes that display them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array, IndexArray
from cajole.errors import InputError, MeshError
from cajole.mesh.base import (
    Mesh,
    MeshTri,
    describe_duplicate_elements,
    describe_vertex_defects,
    make_read_only,
    validate_elements,
    validate_vertices,
)
from cajole.mesh.tet import MeshTet

# radius of the tubes that display lines, as a share of the mesh size: a few pixels in a picture of the whole mesh
RELATIVE_TUBE_RADIUS = 0.005
TUBE_SIDES = 6


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MeshLine(Mesh):
    """Line segments: vertices (n, 3) [m]; lines (m, 2) indices from 0.

    `notes` lists repeated or unused vertices and repeated lines. Raises MeshError for invalid lines: empty, not finite,
    out of range, without length.
    """

    lines: IndexArray

    _element_edges = np.array([(0, 1)])

    def __init__(self, vertices: ArrayLike, lines: ArrayLike):
        points = validate_vertices(vertices)
        elements = validate_elements(lines, "lines", 2, len(points))
        short = (points[elements[:, 0]] == points[elements[:, 1]]).all(axis=1)
        if short.any():
            i = int(np.argmax(short))
            raise MeshError(
                f"lines[{i}] joins {elements[i].tolist()}, two vertices at one place ({int(short.sum())} such); "
                "remove it"
            )
        object.__setattr__(self, "vertices", make_read_only(points))
        object.__setattr__(self, "lines", make_read_only(elements))
        notes = describe_duplicate_elements(elements, "lines", len(points)) + describe_vertex_defects(
            points, self.used_vertex_mask
        )
        object.__setattr__(self, "notes", tuple(notes))

    @property
    def elements(self) -> IndexArray:
        """(m, 2) the lines."""
        return self.lines

    @property
    def surface(self) -> MeshTri:
        """Raises MeshError: lines have no surface."""
        raise MeshError(
            "a mesh of lines has no surface, which this needs; give triangles or tets, as with BodySprings(mesh=)"
        )

    @cached_property
    def surface_vertices(self) -> IndexArray:
        """(k,) the vertices that a line uses, in order; all of them are visible."""
        return make_read_only(np.flatnonzero(self.used_vertex_mask))

    def moved(self, vertices: ArrayLike) -> MeshLine:
        """The same lines with other vertices (n, 3) [m]. Raises MeshError if one loses its length."""
        return MeshLine(self._checked_positions(vertices), self.lines)

    @cached_property
    def tube_mesh(self) -> MeshTri:
        """Thin tubes around the lines; `compute_tube_vertices` gives their vertices for other positions."""
        sides = np.arange(TUBE_SIDES)
        a, b = sides, (sides + 1) % TUBE_SIDES
        one = np.concatenate(
            [np.stack([a, b, b + TUBE_SIDES], axis=1), np.stack([a, b + TUBE_SIDES, a + TUBE_SIDES], axis=1)]
        )
        triangles = (one + 2 * TUBE_SIDES * np.arange(len(self.lines))[:, None, None]).reshape(-1, 3)
        return MeshTri._from_valid_arrays(self.compute_tube_vertices(self.vertices), triangles)

    @property
    def tube_line_vertices(self) -> IndexArray:
        """(12 m,) the line vertex of each vertex of `tube_mesh`."""
        return np.repeat(self.lines.reshape(-1), TUBE_SIDES)

    def compute_tube_vertices(self, positions: Array) -> Array:
        """(12 m, 3) [m] the vertices of `tube_mesh` for line vertices at positions (n, 3)."""
        start, end = positions[self.lines[:, 0]], positions[self.lines[:, 1]]
        axis = _normalise(end - start)
        helper = np.where(np.abs(axis[:, 2:]) < 0.9, [0.0, 0.0, 1.0], [1.0, 0.0, 0.0])
        one = _normalise(np.cross(axis, helper))
        turns = 2 * np.pi * np.arange(TUBE_SIDES) / TUBE_SIDES
        circle = np.cos(turns)[:, None] * one[:, None] + np.sin(turns)[:, None] * np.cross(axis, one)[:, None]
        ends = np.stack([start, end], axis=1)
        return np.asarray((ends[:, :, None] + RELATIVE_TUBE_RADIUS * self.size * circle[:, None]).reshape(-1, 3))


def require_surface(mesh: MeshTet | MeshTri | MeshLine, purpose: str) -> MeshTet | MeshTri:
    """`mesh` if it has triangles or tets, else raise InputError. purpose: subject of the message, such as "enrich"."""
    if isinstance(mesh, MeshLine):
        raise InputError(
            f"{purpose} needs triangles or tets, but the mesh has lines only; lines are for BodySprings, which "
            "simulate, pose, keyframe, steer and reroute take"
        )
    return mesh


def _normalise(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0))
