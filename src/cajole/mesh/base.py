"""What meshes of tets, triangles and lines have in common: validated arrays, quantities of vertices and edges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cajole.arrays import Array, IndexArray
from cajole.checks import depth, index_array, is_empty, real_array
from cajole.errors import InputError, MeshError
from cajole.mesh import topology
from cajole.storage import content_hash

if TYPE_CHECKING:
    from cajole.mesh.tri import MeshTri


# fourth powers of lengths up to this stay finite in double precision
LARGEST_COORDINATE = 1e75
# volume over the cube (area over the square) of the longest edge; a regular tet has 0.118, and below this
# rounding of the coordinates alone decides the sign
FLATTEST = 1e-10


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
        """The vertex indices of every element."""

    @property
    @abstractmethod
    def surface(self) -> MeshTri:
        """What is seen of the mesh, and touched: its triangles, on the same vertex numbering."""

    @cached_property
    def surface_vertices(self) -> IndexArray:
        """(k,) the vertices on the surface, in order."""
        return frozen(np.flatnonzero(self.surface.used))

    def __repr__(self) -> str:
        kind = {2: "lines", 3: "triangles", 4: "tets"}[self.elements.shape[1]]
        return f"{type(self).__name__}({len(self.vertices)} vertices, {len(self.elements)} {kind})"

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """(n,) whether any element uses the vertex."""
        used = np.zeros(len(self.vertices), dtype=bool)
        used[self.elements.reshape(-1)] = True
        return frozen(used)

    @cached_property
    def edges(self) -> IndexArray:
        """(k, 2) every edge once, its smaller index first, in order."""
        return frozen(topology.unique_edges(self.elements, self._element_edges, len(self.vertices)))

    @cached_property
    def adjacency(self) -> sparse.csr_matrix:
        """(n, n) sparse, a one wherever an edge joins two vertices."""
        return topology.adjacency(self.edges, len(self.vertices))

    @cached_property
    def components(self) -> IndexArray:
        """(n,) the connected component of each vertex, from 0; -1 for a vertex that no element uses."""
        return frozen(topology.component_labels(self.edges, self.used))

    @cached_property
    def bounds(self) -> Array:
        """(2, 3) [m] least and greatest coordinates of the vertices in use."""
        used = self.vertices[self.used]
        return frozen(np.array([used.min(axis=0), used.max(axis=0)]))

    @cached_property
    def size(self) -> float:
        """The diagonal of the bounding box [m]: the body's length L in every dimensionless dial."""
        return float(np.linalg.norm(self.bounds[1] - self.bounds[0]))

    @cached_property
    def content(self) -> str:
        """A name for what the mesh holds: equal vertices and elements, equal name."""
        return content_hash(type(self).__name__, self.vertices, self.elements)

    @cached_property
    def _tree(self) -> Any:
        return point_tree(self.vertices[self.used])

    def compacted(self) -> tuple[Self, IndexArray]:
        """The mesh without the vertices that no element uses, and `numbers` (n,): their new indices, -1 where dropped.

        Vertices keep their order, so `numbers[held]` are the new indices of the vertices `held`.
        """
        numbers = np.where(self.used, np.cumsum(self.used) - 1, -1)
        if self.used.all():
            return self, frozen(numbers)
        mesh = type(self)(self.vertices[self.used], numbers[self.elements])  # type: ignore[call-arg]
        dropped = int((~self.used).sum())
        return mesh.noted(f"{dropped} vertices that belong to no element were dropped"), frozen(numbers)

    def _checked_positions(self, vertices: ArrayLike) -> Array:
        """`vertices` as the positions (n, 3) [m] of a moved copy. Raises MeshError unless there is one for each."""
        points = checked_vertices(vertices)
        if points.shape != self.vertices.shape:
            raise MeshError(
                f"vertices has shape {points.shape}, but the mesh has {self.vertices.shape}; keep every vertex"
            )
        return points

    def noted(self, *notes: str) -> Self:
        """The same mesh with more to tell: `notes` before its own."""
        mesh = copy(self)
        object.__setattr__(mesh, "notes", (*notes, *self.notes))
        return mesh

    @overload
    def nearest(self, point: tuple[float, float, float]) -> int: ...
    @overload
    def nearest(self, point: ArrayLike) -> Any: ...

    def nearest(self, point: ArrayLike) -> Any:
        """The index of the vertex in use nearest to a point (3,) [m], or (k,) indices for points (k, 3).

        Raises InputError unless the points are finite and of one of these shapes.
        """
        single = depth(point) <= 1
        points = real_array(point, "point", (3,) if single else (None, 3), error=InputError)
        if (np.abs(points) > LARGEST_COORDINATE).any():
            raise InputError(f"a point is beyond {LARGEST_COORDINATE:g} m, where distances overflow; move it nearer")
        _, found = self._tree.query(points)
        indices = np.flatnonzero(self.used)[found]
        return int(indices) if single else indices


def point_tree(points: Array) -> Any:
    """A k-d tree of points (k, 3)."""
    from scipy.spatial import cKDTree  # takes a third of a second to load, which most uses of a mesh never need

    return cKDTree(points)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, which can no longer be written to."""
    array.setflags(write=False)
    return array


def checked_vertices(vertices: ArrayLike) -> Array:
    """`vertices` as an own, non-empty, finite (n, 3) array [m] of coordinates that can be multiplied."""
    array = real_array(vertices, "vertices", (None, 3), error=MeshError)
    if not len(array):
        raise MeshError("the mesh has no vertices; a mesh needs at least one element")
    large = np.abs(array) > LARGEST_COORDINATE
    if large.any():
        where = [int(i) for i in np.argwhere(large)[0]]
        raise MeshError(
            f"vertices{where} is {array[tuple(where)]}, beyond {LARGEST_COORDINATE:g} m, where volumes overflow; "
            "change the unit of length"
        )
    # a view of the caller's memory could change under a mesh that was checked
    return array.copy() if np.may_share_memory(array, vertices) else array


def checked_elements(elements: ArrayLike, name: str, corners: int, count: int) -> IndexArray:
    """`elements` as an own, non-empty (m, corners) array of indices below `count`, no index twice in a row."""
    if is_empty(elements):
        raise MeshError(f"{name} is empty: a mesh needs at least one element")
    array = index_array(elements, name, (None, corners), count, error=MeshError)
    ordered = np.sort(array, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if twice.any():
        where = int(np.argmax(twice))
        raise MeshError(
            f"{name}[{where}] is {array[where].tolist()}: it names a vertex twice ({int(twice.sum())} such); remove it"
        )
    return array.copy() if np.may_share_memory(array, elements) else array


def vertex_notes(vertices: Array, used: NDArray[np.bool_]) -> list[str]:
    """What is unusual about the vertices: several at one position, or used by no element."""
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


def repeat_notes(elements: IndexArray, name: str, count: int) -> list[str]:
    """Whether elements stand twice in the list, in whatever order of their vertices."""
    repeats = len(elements) - len(np.unique(topology.row_keys(np.sort(elements, axis=1), count)))
    return [f"{repeats} {name} repeat the vertices of another"] if repeats else []


def longest_edges(vertices: Array, elements: IndexArray, pairs: NDArray[np.int64]) -> Array:
    """(m,) the longest edge of each element [m]."""
    ends = vertices[elements[:, pairs]]
    squares = ((ends[:, :, 1] - ends[:, :, 0]) ** 2).sum(axis=2)
    return np.asarray(np.sqrt(squares.max(axis=1)))
