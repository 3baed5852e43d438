"""Repair of triangle meshes: remove triangles without area, and slivers without opening the surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array, IndexArray
from cajole.checks import require_index_array, require_instance, require_positive
from cajole.errors import InputError, MeshError
from cajole.mesh import topology
from cajole.mesh.base import MeshTri, find_degenerate_triangles, make_read_only, validate_vertices


def drop_degenerate_triangles(vertices: ArrayLike, triangles: ArrayLike) -> MeshTri:
    """A MeshTri of the triangles with an area; `notes` has the number of the others, which are common in files.

    Raises MeshError for other errors that MeshTri rejects, and if no triangle is left.
    """
    points = validate_vertices(vertices)
    elements = require_index_array(triangles, "triangles", (None, 3), len(points), error=MeshError)
    a, b, c = elements.T
    good = (a != b) & (b != c) & (c != a) & ~find_degenerate_triangles(points, elements)[0]
    if not good.any():
        raise MeshError(
            f"none of the {len(elements)} triangles has an area, so that no mesh is left; check the file's faces"
        )
    mesh = MeshTri(points, elements[good])
    dropped = int((~good).sum())
    return mesh.with_notes(f"{dropped} triangles without area were dropped") if dropped else mesh


def weld_vertices(vertices: Array, triangles: IndexArray) -> tuple[Array, IndexArray]:
    """Merge vertices at equal positions, in order of first use, and renumber the triangles."""
    _, first, number = np.unique(vertices + 0.0, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return vertices[np.sort(first)], rank[number.reshape(-1)][triangles]


def compute_triangle_qualities(vertices: Array, triangles: IndexArray) -> Array:
    """(m,) area over the longest edge squared: 0.43 of an equilateral triangle, 0 of a flat one."""
    _, areas, longest = find_degenerate_triangles(vertices, triangles)
    return np.asarray(areas / longest**2)


def remove_slivers(mesh: MeshTri, quality: float = 1e-3) -> tuple[MeshTri, IndexArray]:
    """Remove triangles below `quality`, area / longest edge²; return the mesh and the new vertex indices (n,).

    The default quality is a height of 1/500 of the base; equilateral triangles have 0.43. If three vertices are nearly
    collinear, the longest edge is flipped, or the triangle dropped if that edge is on the boundary. The ends of the
    shortest edge of a needle are merged. A closed surface stays closed. The indices are -1 for dropped vertices.
    Raises MeshError if slivers remain.
    """
    require_instance(mesh, MeshTri, "mesh")
    if require_positive(quality, "quality") > 0.1:
        raise InputError(f"quality is {quality:g}, but must be at most 0.1; slivers are far below")
    triangles, number = mesh.triangles, np.arange(len(mesh.vertices))
    removed = 0
    # flips can create slivers; a mesh that needs more passes consists of slivers
    for _ in range(20):
        step = _SliverPass(mesh.vertices, triangles.copy(), quality)
        if not step.run():
            break
        removed += step.change_count
        number = step.merge_targets[number]
        triangles = step.collect_triangles()
        if not len(triangles):
            raise MeshError("every triangle is a sliver, so that no triangle would be left; check the mesh's shape")
    if not removed and not len(step.slivers):
        return mesh, make_read_only(number)
    if len(step.slivers):
        worst = step.slivers[0]
        raise MeshError(
            f"the triangle of vertices {triangles[worst].tolist()} is a sliver of quality {step.qualities[worst]:.2g} "
            f"({len(step.slivers)} such) that cannot be removed without opening or folding the surface; remesh it"
        )
    fixed, kept = MeshTri(mesh.vertices, triangles).compacted()
    return fixed.with_notes(f"{removed} slivers were removed"), make_read_only(kept[number])


@dataclass
class _SliverPass:
    """One pass over the slivers of a triangle list, worst first; each triangle is changed at most once."""

    vertices: Array
    triangles: IndexArray
    quality: float

    def __post_init__(self) -> None:
        self.qualities = compute_triangle_qualities(self.vertices, self.triangles)
        thin = np.flatnonzero(self.qualities < self.quality)
        self.slivers = thin[np.argsort(self.qualities[thin], kind="stable")]
        self.merge_targets = np.arange(len(self.vertices))
        self.change_count = 0

    def run(self) -> bool:
        """Remove the slivers that can be removed; return True if there were any."""
        if not len(self.slivers):
            return False
        half = topology.HalfEdges(self.triangles, len(self.vertices))
        self._twin = np.full(3 * len(self.triangles), -1)
        one, two = half.twin_pairs.T
        self._twin[one], self._twin[two] = two, one
        self._is_boundary = np.zeros(3 * len(self.triangles), dtype=bool)
        self._is_boundary[half.sort_order[half.edge_starts[half.edge_valences == 1]]] = True
        self._edges = {(int(a), int(b)) for a, b in np.sort(half.ends, axis=1)}
        self._is_modified, self._is_dropped = np.zeros((2, len(self.triangles)), dtype=bool)
        for sliver in self.slivers:
            if not self._is_modified[sliver] and self._remove_sliver(int(sliver)):
                self.change_count += 1
        return self.change_count > 0

    def collect_triangles(self) -> IndexArray:
        """The remaining triangles."""
        rows = self.merge_targets[self.triangles[~self._is_dropped]]
        a, b, c = rows.T
        return np.ascontiguousarray(rows[(a != b) & (b != c) & (c != a)])

    def _remove_sliver(self, sliver: int) -> bool:
        corners = self.triangles[sliver]
        ends = self.vertices[corners[topology.TRI_EDGES]]
        lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        longest, shortest = int(np.argmax(lengths)), int(np.argmin(lengths))
        if lengths[shortest] <= 4.0 * self.quality * lengths[longest]:  # a needle: merge the ends of its shortest edge
            kept, removed = corners[topology.TRI_EDGES[shortest]]
            around = np.isin(self.triangles, (kept, removed)).any(axis=1)
            if (self._is_modified & around).any():
                return False
            self.merge_targets[removed] = kept
            self._is_modified |= around
            return True
        edge = 3 * sliver + longest
        if self._is_boundary[edge]:
            self._is_modified[sliver] = self._is_dropped[sliver] = True
            return True
        return self._flip_edge(edge, int(self._twin[edge]))

    def _flip_edge(self, edge: int, twin: int) -> bool:
        """Replace triangles abc and bad by adc and dbc if both are better than the sliver and no edge cd exists."""
        if twin < 0 or self._is_modified[twin // 3]:
            return False
        (one, i), (two, j) = divmod(edge, 3), divmod(twin, 3)
        a, b, c = np.roll(self.triangles[one], -i)
        d = self.triangles[two, (j + 2) % 3]
        new = np.array([[a, d, c], [d, b, c]])
        if (min(c, d), max(c, d)) in self._edges or c == d:
            return False
        if compute_triangle_qualities(self.vertices, new).min() <= self.qualities[one]:
            return False
        self.triangles[[one, two]] = new
        self._edges.add((int(min(c, d)), int(max(c, d))))
        self._is_modified[[one, two]] = True
        return True
