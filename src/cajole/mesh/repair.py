"""Repair of triangle meshes: drop triangles without area, and remove slivers without opening the surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array, IndexArray
from cajole.checks import require_index_array, require_instance, require_positive
from cajole.errors import InputError, MeshError
from cajole.mesh import topology
from cajole.mesh.base import MeshTri, find_degenerate_triangles, make_read_only, validate_vertices

# area over the longest edge squared: 0.43 of an equilateral triangle, 0.001 where the height is 1/500 of the base
SLIVER_QUALITY = 1e-3
# above a tenth, ordinary triangles would count as slivers
MAX_SLIVER_QUALITY = 0.1
# a sliver whose shortest edge is below this multiple of `quality` of its longest is a needle: its ends become one
NEEDLE_RATIO = 4.0
# flips can turn one sliver into another; meshes that take more passes are slivers throughout
MAX_PASSES = 20


def drop_degenerate_triangles(vertices: ArrayLike, triangles: ArrayLike) -> MeshTri:
    """A MeshTri of the triangles that have an area; `notes` says how many were dropped.

    Files of drawn surfaces often hold slivers without area; nothing can be computed on those.
    Raises MeshError for everything else that MeshTri refuses, and when no triangle is left.
    """
    points = validate_vertices(vertices)
    elements = require_index_array(triangles, "triangles", (None, 3), len(points), error=MeshError)
    good = _find_nondegenerate(points, elements)
    if not good.any():
        raise MeshError(
            f"none of the {len(elements)} triangles has an area, so that no mesh is left; check the file's faces"
        )
    mesh = MeshTri(points, elements[good])
    dropped = int((~good).sum())
    return mesh.with_notes(f"{dropped} triangles without area were dropped") if dropped else mesh


def weld_vertices(vertices: Array, triangles: IndexArray) -> tuple[Array, IndexArray]:
    """Vertices at exactly one position made one, in order of first use, and the triangles renumbered."""
    _, first, number = np.unique(vertices + 0.0, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return vertices[np.sort(first)], rank[number.reshape(-1)][triangles]


def compute_triangle_qualities(vertices: Array, triangles: IndexArray) -> Array:
    """(m,) area over the longest edge squared: 0.43 of an equilateral triangle, 0 of a flat one."""
    _, areas, longest = find_degenerate_triangles(vertices, triangles)
    return np.asarray(areas / longest**2)


def remove_slivers(mesh: MeshTri, quality: float = SLIVER_QUALITY) -> tuple[MeshTri, IndexArray]:
    """The mesh without triangles below `quality`, area / longest edge², and numbers (n,): its vertices' new indices.

    Three vertices nearly in line: the longest edge is flipped, or the triangle dropped where that edge is on the
    boundary. A needle: the two ends of its shortest edge become one vertex. The surface stays closed where it was;
    `numbers` is -1 where a vertex was dropped, and `notes` tells what was done.
    Raises MeshError where slivers are left that none of this removes.
    """
    require_instance(mesh, MeshTri, "mesh")
    if require_positive(quality, "quality") > MAX_SLIVER_QUALITY:
        raise InputError(f"quality is {quality:g}, but must be at most {MAX_SLIVER_QUALITY}; slivers are far below")
    triangles, number = mesh.triangles, np.arange(len(mesh.vertices))
    removed = 0
    for _ in range(MAX_PASSES):
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
    """One pass over the slivers of a triangle list, worst first; no triangle is changed twice."""

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
        """Change what can be changed; whether anything was."""
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
        """The triangles that are left."""
        rows = self.merge_targets[self.triangles[~self._is_dropped]]
        a, b, c = rows.T
        return np.ascontiguousarray(rows[(a != b) & (b != c) & (c != a)])

    def _remove_sliver(self, sliver: int) -> bool:
        corners = self.triangles[sliver]
        ends = self.vertices[corners[topology.TRI_EDGES]]
        lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        longest, shortest = int(np.argmax(lengths)), int(np.argmin(lengths))
        if lengths[shortest] <= NEEDLE_RATIO * self.quality * lengths[longest]:
            return self._merge_vertices(*corners[topology.TRI_EDGES[shortest]])
        edge = 3 * sliver + longest
        if self._is_boundary[edge]:
            self._is_modified[sliver] = self._is_dropped[sliver] = True
            return True
        return self._flip_edge(edge, int(self._twin[edge]))

    def _merge_vertices(self, kept: int, removed: int) -> bool:
        """Make two vertices one; not where a neighbour of either was changed in this pass."""
        around = np.isin(self.triangles, (kept, removed)).any(axis=1)
        if (self._is_modified & around).any():
            return False
        self.merge_targets[removed] = kept
        self._is_modified |= around
        return True

    def _flip_edge(self, edge: int, twin: int) -> bool:
        """Triangles abc and bad become adc and dbc, if both are better than the sliver and no edge cd exists."""
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


def _find_nondegenerate(vertices: Array, triangles: IndexArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    a, b, c = triangles.T
    distinct = (a != b) & (b != c) & (c != a)
    flat, _, _ = find_degenerate_triangles(vertices, triangles)
    return distinct & ~flat
