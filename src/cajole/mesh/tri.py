"""MeshTri: surfaces as triangles; closed skins, open cloth and unconnected soups alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.arrays import Array, IndexArray
from cajole.errors import MeshError
from cajole.mesh import topology
from cajole.mesh.base import (
    FLATTEST,
    Mesh,
    checked_elements,
    checked_vertices,
    frozen,
    longest_edges,
    repeat_notes,
    vertex_notes,
)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MeshTri(Mesh):
    """Triangles, oriented alike wherever two of them share an edge and the surface allows it.

    vertices: (n, 3) [m]; triangles: (m, 3) indices from 0. `notes` tells of flipped triangles, of edges with more than
    two triangles, of surfaces that cannot be oriented, and of repeated or unused vertices and repeated triangles.
    Raises MeshError for anything that cannot be a surface: empty, not finite, out of range, without area.
    """

    triangles: IndexArray

    _element_edges = topology.TRI_EDGES

    def __init__(self, vertices: ArrayLike, triangles: ArrayLike):
        points = checked_vertices(vertices)
        elements = checked_elements(triangles, "triangles", 3, len(points))
        _refuse_flat(points, elements)
        notes = _orient(elements, len(points)) + repeat_notes(elements, "triangles", len(points))
        self._fill(points, elements)
        object.__setattr__(self, "notes", tuple(notes + vertex_notes(points, self.used)))

    @classmethod
    def _trusted(cls, vertices: Array, triangles: IndexArray) -> MeshTri:
        """A mesh from arrays that another mesh has already checked and oriented."""
        mesh = object.__new__(cls)
        mesh._fill(vertices, triangles)
        return mesh

    def _fill(self, vertices: Array, triangles: IndexArray) -> None:
        object.__setattr__(self, "vertices", frozen(vertices))
        object.__setattr__(self, "triangles", frozen(triangles))
        object.__setattr__(self, "notes", ())

    @property
    def elements(self) -> IndexArray:
        """(m, 3) the triangles."""
        return self.triangles

    @property
    def surface(self) -> MeshTri:
        """The mesh itself."""
        return self

    @cached_property
    def _crosses(self) -> Array:
        return frozen(cross_products(self.vertices, self.triangles))

    @cached_property
    def half_edges(self) -> topology.HalfEdges:
        """The directed edges of the triangles, grouped by the edge they lie on."""
        return topology.HalfEdges(self.triangles, len(self.vertices))

    @cached_property
    def areas(self) -> Array:
        """(m,) [m²] the area of each triangle."""
        return frozen(np.linalg.norm(self._crosses, axis=1) / 2)

    @cached_property
    def area(self) -> float:
        """The area of all triangles together [m²]."""
        return float(self.areas.sum())

    @cached_property
    def normals(self) -> Array:
        """(m, 3) the unit normal of each triangle, by the right-hand rule."""
        return frozen(self._crosses / (2 * self.areas)[:, None])

    @cached_property
    def vertex_normals(self) -> Array:
        """(n, 3) area-weighted unit normals; zero where no triangle is, or where those around cancel."""
        return frozen(vertex_normals(self.vertices, self.triangles))

    @cached_property
    def volume(self) -> float:
        """The signed volume inside [m³], Σ x₀·(x₁×x₂)/6: positive when the normals face outward.

        Raises MeshError when the surface is open or not oriented, and so has no inside.
        """
        if not self.half_edges.is_balanced:
            raise MeshError(
                "the surface has no inside: it is open or its triangles do not agree on a direction; "
                "close its holes, or ask only for its area"
            )
        corners = (self.vertices - self.bounds.mean(axis=0))[self.triangles]
        return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6)

    @cached_property
    def hinges(self) -> IndexArray:
        """(k, 4) a, b, c, d: each edge ab of two triangles, c opposite in the one that runs a→b, d in the other."""
        half = self.half_edges
        one, two = half.pairs.T
        return frozen(np.column_stack([half.ends[one], half.opposite[one], half.opposite[two]]))

    @cached_property
    def boundary_edges(self) -> IndexArray:
        """(k, 2) the edges of one triangle only, directed as that triangle runs."""
        half = self.half_edges
        return frozen(half.ends[half.order[half.first[half.count == 1]]])

    def is_closed(self) -> bool:
        """Whether no edge belongs to one triangle only."""
        return not (self.half_edges.count == 1).any()

    def is_manifold(self) -> bool:
        """Whether at most two triangles meet at every edge and those at each vertex form one fan; holes are allowed."""
        if (self.half_edges.count > 2).any():
            return False
        return topology.fan_count(self.triangles, self.half_edges) == int(self.used.sum())

    def moved(self, vertices: ArrayLike) -> MeshTri:
        """The same triangles with their vertices elsewhere, (n, 3) [m]. Raises MeshError where one loses its area."""
        points = self._checked_positions(vertices)
        _refuse_flat(points, self.triangles)
        return MeshTri._trusted(points, self.triangles).noted(*self.notes)


def cross_products(vertices: Array, triangles: IndexArray) -> Array:
    """(m, 3) [m²] (x₁-x₀)×(x₂-x₀): along the normal, twice the area long."""
    x0, x1, x2 = (vertices[column] for column in triangles.T)
    return np.asarray(np.cross(x1 - x0, x2 - x0))


def vertex_normals(vertices: Array, triangles: IndexArray) -> Array:
    """(n, 3) area-weighted unit normals of any positions of a triangle list; zero where none is defined."""
    faces = np.repeat(cross_products(vertices, triangles), 3, axis=0)
    corners = triangles.reshape(-1)
    sums = np.stack([np.bincount(corners, faces[:, k], minlength=len(vertices)) for k in range(3)], axis=1)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)


def flat_triangles(vertices: Array, triangles: IndexArray) -> tuple[NDArray[np.bool_], Array, Array]:
    """Which triangles have no area to speak of, all areas [m²] and all longest edges [m]."""
    areas = np.linalg.norm(cross_products(vertices, triangles), axis=1) / 2
    longest = longest_edges(vertices, triangles, topology.TRI_EDGES)
    return areas <= FLATTEST * longest**2, areas, longest


def _refuse_flat(vertices: Array, triangles: IndexArray) -> None:
    flat, areas, longest = flat_triangles(vertices, triangles)
    if flat.any():
        i = int(np.argmax(flat))
        raise MeshError(
            f"triangles[{i}] (vertices {triangles[i].tolist()}) has no area: {areas[i]:.3g} m² with a longest edge of "
            f"{longest[i]:.3g} m, below {FLATTEST:g} of that edge squared ({int(flat.sum())} such); "
            "remove it (cajole.mesh.repaired does) or move its vertices apart"
        )


def _orient(triangles: IndexArray, count: int) -> list[str]:
    """Flip triangles in place until neighbours agree; say what was done and what could not be."""
    half = topology.HalfEdges(triangles, count)
    notes = []
    crowded = int((half.count > 2).sum())
    if crowded:
        notes.append(f"{crowded} edges belong to more than two triangles; orientation was not carried across them")
    if not half.agree.all():
        flips, twisted = topology.consistent_flips(half, len(triangles))
        triangles[flips] = triangles[flips][:, [0, 2, 1]]
        if flips.any():
            notes.append(f"{int(flips.sum())} triangles were flipped to agree with their neighbours")
        if twisted:
            notes.append(f"{twisted} triangles lie on surfaces that cannot be oriented and were left as they are")
    return notes
