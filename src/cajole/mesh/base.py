"""Base class and validation of meshes, and triangle meshes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cajole.arrays import Array, IndexArray
from cajole.checks import count_axes, is_empty, require_index_array, require_real_array
from cajole.errors import InputError, MeshError
from cajole.mesh import topology
from cajole.storage import hash_content

# [m] fourth powers of lengths up to this stay finite in double precision
MAX_COORDINATE = 1e75
# volume over the cube (area over the square) of the longest edge; a regular tet has 0.118, and below this the rounding
# of the coordinates decides the sign
MIN_ELEMENT_QUALITY = 1e-10


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Mesh(ABC):
    """Vertices and elements; use `MeshTet`, `MeshTri` or `MeshLine`.

    Two meshes are equal only when they are the same object.
    """

    vertices: Array
    notes: tuple[str, ...]

    _element_edges: ClassVar[NDArray[np.int64]]

    @property
    @abstractmethod
    def elements(self) -> IndexArray:
        """(m, corners) the vertex indices of each element."""

    @property
    @abstractmethod
    def surface(self) -> MeshTri:
        """The visible triangles, which also take part in contact, on the same vertex numbering."""

    @cached_property
    def surface_vertices(self) -> IndexArray:
        """(k,) the vertices on the surface, in order."""
        return make_read_only(np.flatnonzero(self.surface.used_vertex_mask))

    def __repr__(self) -> str:
        kind = {2: "lines", 3: "triangles", 4: "tets"}[self.elements.shape[1]]
        return f"{type(self).__name__}({len(self.vertices)} vertices, {len(self.elements)} {kind})"

    @cached_property
    def used_vertex_mask(self) -> NDArray[np.bool_]:
        """(n,) True if an element uses the vertex."""
        used = np.zeros(len(self.vertices), dtype=bool)
        used[self.elements.reshape(-1)] = True
        return make_read_only(used)

    @cached_property
    def edges(self) -> IndexArray:
        """(k, 2) each edge once, smaller index first, sorted."""
        return make_read_only(topology.find_unique_edges(self.elements, self._element_edges, len(self.vertices)))

    @cached_property
    def adjacency(self) -> sparse.csr_matrix:
        """(n, n) sparse, 1 where an edge joins two vertices."""
        return topology.build_adjacency(self.edges, len(self.vertices))

    @cached_property
    def component_labels(self) -> IndexArray:
        """(n,) the connected component of each vertex, from 0; -1 for a vertex that no element uses."""
        return make_read_only(topology.label_components(self.edges, self.used_vertex_mask))

    @cached_property
    def bounds(self) -> Array:
        """(2, 3) [m] least and greatest coordinates of the used vertices."""
        used = self.vertices[self.used_vertex_mask]
        return make_read_only(np.array([used.min(axis=0), used.max(axis=0)]))

    @cached_property
    def size(self) -> float:
        """The diagonal of the bounding box [m]: the length L of dimensionless options."""
        return float(np.linalg.norm(self.bounds[1] - self.bounds[0]))

    @cached_property
    def content_hash(self) -> str:
        """A hash of type, vertices and elements."""
        return hash_content(type(self).__name__, self.vertices, self.elements)

    @cached_property
    def _vertex_tree(self) -> Any:
        """The k-d tree of the used vertices."""
        return build_kd_tree(self.vertices[self.used_vertex_mask])

    def compacted(self) -> tuple[Self, IndexArray]:
        """The mesh without unused vertices, and the new index of each vertex (n,), -1 where it was dropped.

        Vertices keep their order.
        """
        numbers = np.where(self.used_vertex_mask, np.cumsum(self.used_vertex_mask) - 1, -1)
        if self.used_vertex_mask.all():
            return self, make_read_only(numbers)
        mesh = type(self)(self.vertices[self.used_vertex_mask], numbers[self.elements])  # type: ignore[call-arg]
        dropped = int((~self.used_vertex_mask).sum())
        return mesh.with_notes(f"{dropped} vertices that belong to no element were dropped"), make_read_only(numbers)

    def _checked_positions(self, vertices: ArrayLike) -> Array:
        """`vertices` as positions (n, 3) [m] of a moved copy. Raises MeshError for another number of vertices."""
        points = validate_vertices(vertices)
        if points.shape != self.vertices.shape:
            raise MeshError(
                f"vertices has shape {points.shape}, but the mesh has {self.vertices.shape}; keep every vertex"
            )
        return points

    def with_notes(self, *notes: str) -> Self:
        """The same mesh with `notes` before its own notes."""
        mesh = copy(self)
        object.__setattr__(mesh, "notes", (*notes, *self.notes))
        return mesh

    @overload
    def nearest(self, point: tuple[float, float, float]) -> int: ...
    @overload
    def nearest(self, point: ArrayLike) -> Any: ...

    def nearest(self, point: ArrayLike) -> Any:
        """The index of the used vertex nearest to a point (3,) [m], or (k,) indices for points (k, 3).

        Raises InputError for other shapes and for points that are not finite.
        """
        single = count_axes(point) <= 1
        points = require_real_array(point, "point", (3,) if single else (None, 3), error=InputError)
        if (np.abs(points) > MAX_COORDINATE).any():
            raise InputError(f"a point is beyond {MAX_COORDINATE:g} m, where distances overflow; move it nearer")
        _, found = self._vertex_tree.query(points)
        indices = np.flatnonzero(self.used_vertex_mask)[found]
        return int(indices) if single else indices


def build_kd_tree(points: Array) -> Any:
    """A k-d tree of points (k, 3)."""
    from scipy.spatial import cKDTree  # the import takes a third of a second, and most meshes never need it

    return cKDTree(points)


def make_read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make the array read-only, and return it."""
    array.setflags(write=False)
    return array


def validate_vertices(vertices: ArrayLike) -> Array:
    """`vertices` as a new, non-empty, finite (n, 3) array [m] below MAX_COORDINATE. Raises MeshError."""
    array = require_real_array(vertices, "vertices", (None, 3), error=MeshError)
    if not len(array):
        raise MeshError("the mesh has no vertices; a mesh needs at least one element")
    large = np.abs(array) > MAX_COORDINATE
    if large.any():
        where = [int(i) for i in np.argwhere(large)[0]]
        raise MeshError(
            f"vertices{where} is {array[tuple(where)]}, beyond {MAX_COORDINATE:g} m, where volumes overflow; "
            "change the unit of length"
        )
    # the caller could change shared memory after the checks
    return array.copy() if np.may_share_memory(array, vertices) else array


def validate_elements(elements: ArrayLike, name: str, corners: int, vertex_count: int) -> IndexArray:
    """`elements` as a new, non-empty (m, corners) array of indices without repeats in a row. Raises MeshError."""
    if is_empty(elements):
        raise MeshError(f"{name} is empty: a mesh needs at least one element")
    array = require_index_array(elements, name, (None, corners), vertex_count, error=MeshError)
    ordered = np.sort(array, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if twice.any():
        where = int(np.argmax(twice))
        raise MeshError(
            f"{name}[{where}] is {array[where].tolist()}: it names a vertex twice ({int(twice.sum())} such); remove it"
        )
    return array.copy() if np.may_share_memory(array, elements) else array


def describe_vertex_defects(vertices: Array, used: NDArray[np.bool_]) -> list[str]:
    """Notes on vertices at equal positions and on unused vertices."""
    notes = []
    ordered = vertices[np.lexsort(vertices.T)]
    same = int((ordered[1:] == ordered[:-1]).all(axis=1).sum())
    if same:
        notes.append(f"{same} vertices repeat the position of another vertex")
    if not used.all():
        notes.append(
            f"{int((~used).sum())} vertices belong to no element (first: {int(np.argmin(used))}); "
            "mesh.compacted() drops them"
        )
    return notes


def describe_duplicate_elements(elements: IndexArray, name: str, vertex_count: int) -> list[str]:
    """Notes on elements that occur twice, in any order of their vertices."""
    repeats = len(elements) - len(np.unique(topology.encode_rows(np.sort(elements, axis=1), vertex_count)))
    return [f"{repeats} {name} repeat the vertices of another"] if repeats else []


def compute_longest_edges(vertices: Array, elements: IndexArray, pairs: NDArray[np.int64]) -> Array:
    """(m,) the longest edge of each element [m]."""
    ends = vertices[elements[:, pairs]]
    squares = ((ends[:, :, 1] - ends[:, :, 0]) ** 2).sum(axis=2)
    return np.asarray(np.sqrt(squares.max(axis=1)))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MeshTri(Mesh):
    """Triangles, oriented consistently where the surface allows it.

    vertices: (n, 3) [m]; triangles: (m, 3) indices from 0. `notes` lists flipped triangles, edges with more than two
    triangles, surfaces that cannot be oriented, repeated or unused vertices, and repeated triangles.
    Raises MeshError for invalid surfaces: empty, not finite, out of range, without area.
    """

    triangles: IndexArray

    _element_edges = topology.TRI_EDGES

    def __init__(self, vertices: ArrayLike, triangles: ArrayLike):
        points = validate_vertices(vertices)
        elements = validate_elements(triangles, "triangles", 3, len(points))
        _require_nonzero_areas(points, elements)
        notes = _orient_consistently(elements, len(points))
        notes += describe_duplicate_elements(elements, "triangles", len(points))
        self._set_arrays(points, elements)
        object.__setattr__(self, "notes", tuple(notes + describe_vertex_defects(points, self.used_vertex_mask)))

    @classmethod
    def _from_valid_arrays(cls, vertices: Array, triangles: IndexArray) -> MeshTri:
        """A mesh from arrays that are already validated and oriented."""
        mesh = object.__new__(cls)
        mesh._set_arrays(vertices, triangles)
        return mesh

    def _set_arrays(self, vertices: Array, triangles: IndexArray) -> None:
        object.__setattr__(self, "vertices", make_read_only(vertices))
        object.__setattr__(self, "triangles", make_read_only(triangles))
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
    def _cross_products(self) -> Array:
        return make_read_only(compute_cross_products(self.vertices, self.triangles))

    @cached_property
    def half_edges(self) -> topology.HalfEdges:
        """The half-edges of the triangles, grouped by edge."""
        return topology.HalfEdges(self.triangles, len(self.vertices))

    @cached_property
    def areas(self) -> Array:
        """(m,) [m²] the area of each triangle."""
        return make_read_only(np.linalg.norm(self._cross_products, axis=1) / 2)

    @cached_property
    def area(self) -> float:
        """The total area [m²]."""
        return float(self.areas.sum())

    @cached_property
    def normals(self) -> Array:
        """(m, 3) the unit normal of each triangle, by the right-hand rule."""
        return make_read_only(self._cross_products / (2 * self.areas)[:, None])

    @cached_property
    def vertex_normals(self) -> Array:
        """(n, 3) area-weighted unit normals; zero without triangles, or where their normals cancel."""
        return make_read_only(compute_vertex_normals(self.vertices, self.triangles))

    @cached_property
    def volume(self) -> float:
        """The signed enclosed volume [m³], Σ x₀·(x₁×x₂)/6: positive if the normals face outward.

        Raises MeshError if the surface is open or not oriented.
        """
        if not self.half_edges.has_empty_boundary:
            raise MeshError(
                "the surface has no inside: it is open or its triangles do not agree on a direction; "
                "close its holes, or ask only for its area"
            )
        corners = (self.vertices - self.bounds.mean(axis=0))[self.triangles]
        return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6)

    @cached_property
    def hinges(self) -> IndexArray:
        """(k, 4) a, b, c, d for each edge ab of two triangles, c opposite in the triangle with a→b, d in the other."""
        half = self.half_edges
        one, two = half.twin_pairs.T
        return make_read_only(
            np.column_stack([half.ends[one], half.opposite_vertices[one], half.opposite_vertices[two]])
        )

    @cached_property
    def boundary_edges(self) -> IndexArray:
        """(k, 2) the edges of only one triangle, directed as in that triangle."""
        half = self.half_edges
        return make_read_only(half.ends[half.sort_order[half.edge_starts[half.edge_valences == 1]]])

    def is_closed(self) -> bool:
        """True if the surface has no boundary."""
        return not (self.half_edges.edge_valences == 1).any()

    def is_manifold(self) -> bool:
        """True if each edge has at most two triangles and those at each vertex form one fan; holes are allowed."""
        if (self.half_edges.edge_valences > 2).any():
            return False
        return topology.count_vertex_fans(self.triangles, self.half_edges) == int(self.used_vertex_mask.sum())

    def moved(self, vertices: ArrayLike) -> MeshTri:
        """The same triangles with other vertices (n, 3) [m]. Raises MeshError if one loses its area."""
        points = self._checked_positions(vertices)
        _require_nonzero_areas(points, self.triangles)
        return MeshTri._from_valid_arrays(points, self.triangles).with_notes(*self.notes)


def compute_cross_products(vertices: Array, triangles: IndexArray) -> Array:
    """(m, 3) [m²] (x₁-x₀)×(x₂-x₀): normals of twice the area."""
    x0, x1, x2 = (vertices[column] for column in triangles.T)
    return np.asarray(np.cross(x1 - x0, x2 - x0))


def compute_vertex_normals(vertices: Array, triangles: IndexArray) -> Array:
    """(n, 3) area-weighted unit normals of a triangle list; zero where they are undefined."""
    faces = np.repeat(compute_cross_products(vertices, triangles), 3, axis=0)
    corners = triangles.reshape(-1)
    sums = np.stack([np.bincount(corners, faces[:, k], minlength=len(vertices)) for k in range(3)], axis=1)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0))


def find_degenerate_triangles(vertices: Array, triangles: IndexArray) -> tuple[NDArray[np.bool_], Array, Array]:
    """Mask of triangles below MIN_ELEMENT_QUALITY, areas [m²] and longest edges [m], each (m,)."""
    areas = np.linalg.norm(compute_cross_products(vertices, triangles), axis=1) / 2
    longest = compute_longest_edges(vertices, triangles, topology.TRI_EDGES)
    return areas <= MIN_ELEMENT_QUALITY * longest**2, areas, longest


def _require_nonzero_areas(vertices: Array, triangles: IndexArray) -> None:
    flat, areas, longest = find_degenerate_triangles(vertices, triangles)
    if flat.any():
        i = int(np.argmax(flat))
        raise MeshError(
            f"triangles[{i}] (vertices {triangles[i].tolist()}) has no area: {areas[i]:.3g} m² with a longest edge of "
            f"{longest[i]:.3g} m, below {MIN_ELEMENT_QUALITY:g} of that edge squared ({int(flat.sum())} such); "
            "remove it (cajole.mesh.drop_degenerate_triangles does) or move its vertices apart"
        )


def _orient_consistently(triangles: IndexArray, vertex_count: int) -> list[str]:
    """Flip triangles in place until neighbours agree; return notes on the changes and the conflicts."""
    half = topology.HalfEdges(triangles, vertex_count)
    notes = []
    crowded = int((half.edge_valences > 2).sum())
    if crowded:
        notes.append(f"{crowded} edges belong to more than two triangles; orientation was not carried across them")
    if not half.consistent_mask.all():
        flips, twisted = topology.find_orientation_flips(half, len(triangles))
        triangles[flips] = triangles[flips][:, [0, 2, 1]]
        if flips.any():
            notes.append(f"{int(flips.sum())} triangles were flipped to agree with their neighbours")
        if twisted:
            notes.append(f"{twisted} triangles lie on surfaces that cannot be oriented and were left as they are")
    return notes
