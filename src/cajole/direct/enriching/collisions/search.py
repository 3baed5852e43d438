"""Who may meet whom: boxes around the ways of vertices, edges and triangles, and those of them that overlap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.enriching.collisions import kernels_pairs as kernels

POINTS, EDGES, FACES = range(3)


@dataclass(frozen=True)
class Surface:
    """What a search is made of: vertices (n, 1), edges (k, 2) and triangles (m, 3), the shell's vertices before others.

    Parts of which all vertices are from `shell` on never meet each other.
    """

    vertices: IndexArray
    edges: IndexArray
    triangles: IndexArray
    shell: int

    @property
    def parts(self) -> tuple[IndexArray, IndexArray, IndexArray]:
        return self.vertices, self.edges, self.triangles

    @cached_property
    def owned(self) -> list[tuple[IndexArray, IndexArray]]:
        """Of each kind, starts (n + 1,) and a list: from starts[v] on, the parts that hold vertex v."""
        out = []
        for parts in self.parts:
            held = parts.ravel()
            starts = np.concatenate([[0], np.cumsum(np.bincount(held, minlength=len(self.vertices)))])
            out.append((starts, np.argsort(held, kind="stable") // parts.shape[1]))
        return out


class Search:
    """The boxes of a surface on its ways from `before` to `after` (n, 3), made larger by `pad` [m]."""

    def __init__(self, surface: Surface, before: Array, after: Array, pad: float):
        self._surface, self._before, self._pad = surface, before, pad
        self._boxes = [kernels.swept_boxes(before, after, parts, pad) for parts in surface.parts]
        # the longest first: along it boxes are sorted, and along the next they lie in strips
        self._axes = np.argsort(np.ptp(before[: surface.shell], axis=0))[::-1]
        self._moved = [np.zeros(len(parts), dtype=bool) for parts in surface.parts]

    def all(self) -> tuple[IndexArray, IndexArray]:
        """Vertices (k, 4) of all vertices and triangles, and of all pairs of edges, whose boxes overlap."""
        points, edges, faces = self._boxes
        found = self._overlapping(np.concatenate([points, faces]), len(points))
        found[:, 1] -= len(points)
        return self._joined(found, self._overlapping(edges, 0))

    def of(self, after: Array, some: IndexArray) -> tuple[IndexArray, IndexArray]:
        """As `all`, of those pairs alone that hold one of `some` vertices, which now go to `after` (n, 3)."""
        points, edges, faces = (self._moving(kind, after, some) for kind in (POINTS, EDGES, FACES))
        found, turned = self._near(POINTS, points, FACES), self._near(FACES, faces, POINTS)
        is_some = np.zeros(len(self._surface.vertices), dtype=bool)
        is_some[some] = True
        # those of which both parts are have been found twice
        turned = turned[~is_some[turned[:, 1]]]
        return self._joined(np.concatenate([found, turned[:, ::-1]]), self._near(EDGES, edges, EDGES))

    def _overlapping(self, boxes: Array, split: int) -> IndexArray:
        first, second = int(self._axes[0]), int(self._axes[1])
        # numpy sorts faster than compiled code does
        return np.asarray(kernels.overlapping(boxes, np.argsort(boxes[:, first]), split, first, second))

    def _moving(self, kind: int, after: Array, some: IndexArray) -> IndexArray:
        """The parts of a kind that hold some vertices; their boxes are made anew."""
        parts = np.unique(kernels.holding(some, *self._surface.owned[kind]))
        # sorted as they were before any moved
        _ = self._sorted
        self._boxes[kind][parts] = kernels.swept_boxes(self._before, after, self._surface.parts[kind][parts], self._pad)
        self._moved[kind][parts] = True
        return parts

    def _near(self, kind: int, some: IndexArray, other: int) -> IndexArray:
        """Pairs (k, 2) of some parts of one kind with all of another whose boxes overlap, each pair once."""
        return np.asarray(
            kernels.some_overlapping(
                some, self._boxes[kind], self._boxes[other], *self._sorted[other], self._moved[other],
                np.flatnonzero(self._moved[other]), int(self._axes[0]), kind == other,
            )
        )  # fmt: skip

    @cached_property
    def _sorted(self) -> list[tuple[IndexArray, Array, float]]:
        """Of each kind, the boxes in the order in which they begin along the first axis, there, and the longest one."""
        axis, out = int(self._axes[0]), []
        for boxes in self._boxes:
            order = np.argsort(boxes[:, axis])
            longest = float((boxes[:, 3 + axis] - boxes[:, axis]).max(initial=0.0))
            out.append((order, boxes[order, axis], longest))
        return out

    def _joined(self, touching: IndexArray, crossing: IndexArray) -> tuple[IndexArray, IndexArray]:
        surface = self._surface
        return (
            kernels.joined(surface.vertices, surface.triangles, touching, surface.shell),
            kernels.joined(surface.edges, surface.edges, crossing, surface.shell),
        )
