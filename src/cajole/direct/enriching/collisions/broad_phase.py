"""Who may meet whom: boxes around the ways of vertices, edges and triangles, and those of them that overlap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.enriching.collisions import kernels_broad_phase as kernels

POINTS, EDGES, FACES = range(3)


@dataclass(frozen=True)
class CollisionSurface:
    """What a search is made of: vertices (n, 1), edges (k, 2) and triangles (m, 3), the shell's vertices before others.

    Parts of which all vertices are from `shell` on never meet each other.
    """

    vertices: IndexArray
    edges: IndexArray
    triangles: IndexArray
    shell_vertex_count: int

    @property
    def primitives(self) -> tuple[IndexArray, IndexArray, IndexArray]:
        return self.vertices, self.edges, self.triangles

    @cached_property
    def incidence(self) -> list[tuple[IndexArray, IndexArray]]:
        """Of each kind, starts (n + 1,) and a list: from starts[v] on, the parts that hold vertex v."""
        out = []
        for parts in self.primitives:
            held = parts.ravel()
            starts = np.concatenate([[0], np.cumsum(np.bincount(held, minlength=len(self.vertices)))])
            out.append((starts, np.argsort(held, kind="stable") // parts.shape[1]))
        return out


class BroadPhase:
    """The boxes of a surface on its ways from `before` to `after` (n, 3), made larger by `pad` [m]."""

    def __init__(self, surface: CollisionSurface, before: Array, after: Array, pad: float):
        self._surface, self._start_positions, self._pad = surface, before, pad
        self._boxes = [kernels.compute_swept_boxes(before, after, parts, pad) for parts in surface.primitives]
        # the longest first: along it boxes are sorted, and along the next they lie in strips
        self._axes = np.argsort(np.ptp(before[: surface.shell_vertex_count], axis=0))[::-1]
        self._is_updated = [np.zeros(len(parts), dtype=bool) for parts in surface.primitives]

    def find_all_pairs(self) -> tuple[IndexArray, IndexArray]:
        """Vertices (k, 4) of all vertices and triangles, and of all pairs of edges, whose boxes overlap."""
        points, edges, faces = self._boxes
        found = self._find_overlaps(np.concatenate([points, faces]), len(points))
        found[:, 1] -= len(points)
        return self._build_stencils(found, self._find_overlaps(edges, 0))

    def find_pairs_of(self, after: Array, vertices: IndexArray) -> tuple[IndexArray, IndexArray]:
        """As `all`, of those pairs alone that hold one of `some` vertices, which now go to `after` (n, 3)."""
        points, edges, faces = (self._update_boxes(kind, after, vertices) for kind in (POINTS, EDGES, FACES))
        found, turned = self._find_overlaps_of(POINTS, points, FACES), self._find_overlaps_of(FACES, faces, POINTS)
        is_some = np.zeros(len(self._surface.vertices), dtype=bool)
        is_some[vertices] = True
        # those of which both parts are have been found twice
        turned = turned[~is_some[turned[:, 1]]]
        return self._build_stencils(
            np.concatenate([found, turned[:, ::-1]]), self._find_overlaps_of(EDGES, edges, EDGES)
        )

    def _find_overlaps(self, boxes: Array, split: int) -> IndexArray:
        first, second = int(self._axes[0]), int(self._axes[1])
        # numpy sorts faster than compiled code does
        return np.asarray(kernels.find_overlaps(boxes, np.argsort(boxes[:, first]), split, first, second))

    def _update_boxes(self, kind: int, after: Array, vertices: IndexArray) -> IndexArray:
        """The parts of a kind that hold some vertices; their boxes are made anew."""
        parts = np.unique(kernels.find_incident_primitives(vertices, *self._surface.incidence[kind]))
        # sorted as they were before any moved
        _ = self._sorted_bounds
        self._boxes[kind][parts] = kernels.compute_swept_boxes(
            self._start_positions, after, self._surface.primitives[kind][parts], self._pad
        )
        self._is_updated[kind][parts] = True
        return parts

    def _find_overlaps_of(self, kind: int, selected: IndexArray, other_kind: int) -> IndexArray:
        """Pairs (k, 2) of some parts of one kind with all of another whose boxes overlap, each pair once."""
        return np.asarray(
            kernels.find_overlaps_of(
                selected,
                self._boxes[kind],
                self._boxes[other_kind],
                *self._sorted_bounds[other_kind],
                self._is_updated[other_kind],
                np.flatnonzero(self._is_updated[other_kind]),
                int(self._axes[0]),
                kind == other_kind,
            )
        )

    @cached_property
    def _sorted_bounds(self) -> list[tuple[IndexArray, Array, float]]:
        """Of each kind, the boxes in the order in which they begin along the first axis, there, and the longest one."""
        axis, out = int(self._axes[0]), []
        for boxes in self._boxes:
            order = np.argsort(boxes[:, axis])
            longest = float((boxes[:, 3 + axis] - boxes[:, axis]).max(initial=0.0))
            out.append((order, boxes[order, axis], longest))
        return out

    def _build_stencils(
        self, point_triangle_pairs: IndexArray, edge_edge_pairs: IndexArray
    ) -> tuple[IndexArray, IndexArray]:
        surface = self._surface
        return (
            kernels.build_stencils(
                surface.vertices, surface.triangles, point_triangle_pairs, surface.shell_vertex_count
            ),
            kernels.build_stencils(surface.edges, surface.edges, edge_edge_pairs, surface.shell_vertex_count),
        )
