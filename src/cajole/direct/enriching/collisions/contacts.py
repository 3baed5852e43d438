"""The contacts of a step: pairs that may meet, searched for when needed, and impulses between them."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.enriching.collisions import kernels_contacts as kernels
from cajole.direct.enriching.collisions.world import World

# what is pushed may leave its way by this many widths before those that it may meet are searched for anew
ROOM = 1.0
# the share of vertices that may do so before all are
MANY = 0.05


class Found:
    """Contacts of vertices with triangles and of edges with edges."""

    def __init__(self, before: Array, parts: list[tuple[IndexArray, Array, Array, Array]]):
        self._before = before
        self.stencils, self._weights, self._normals, self._wanted = (np.concatenate(part) for part in zip(*parts))
        self.count = len(self.stencils)

    def push(self, x: Array, inverse: Array, friction: float, sweeps: int = 1) -> bool:
        """Change x (n, 3) in place by impulses, over all contacts once or several times; whether any had to push."""
        return bool(
            kernels.push_apart(
                self._before, x, self.stencils, self._weights, self._normals, self._wanted, inverse, friction, sweeps
            )
        )


class Contacts:
    """The pairs that may meet on the ways of a step, searched again when something leaves the room they cover."""

    def __init__(self, world: World, before: Array, after: Array):
        self._world, self.before, self._room = world, before, ROOM * world.width
        self._after, self._seen = after.copy(), after.copy()
        self._search()

    def _search(self) -> None:
        """Find all pairs of the ways as they are."""
        self._boxes = self._world.search(self.before, self._after, 0.5 * self._world.width + self._room)
        self._pairs, self._starts = self._approaching(self._boxes.all())
        # of each kind, how much pairs may change before they can be contacts
        self._spare = [np.zeros(len(pairs)) for pairs in self._pairs]

    def _approaching(self, boxes: tuple[IndexArray, IndexArray]) -> tuple[list[IndexArray], list[Array]]:
        """Stencils (k, 4) of vertices and triangles and of edges that may meet, and their distances (k,) before."""
        # both parts may leave their ways by the room along all three axes
        near = self._world.width + 2.0 * np.sqrt(3.0) * self._room
        found = (kernels.approaching(self.before, self._after, *kind, near) for kind in zip(boxes, (False, True)))
        pairs, starts = zip(*found)
        return list(pairs), list(starts)

    @property
    def nearest(self) -> float:
        """[m] between the parts of all pairs at the start."""
        return min(float(start.min(initial=np.inf)) for start in self._starts)

    def widen(self, x: Array) -> None:
        """Search again for what a vertex of x (n, 3) may meet that is farther from its way than the room around it."""
        left = kernels.leaving(x, self._after, self._room)
        if len(left) > MANY * len(x):
            self._after = x.copy()
            self._search()
        elif len(left):
            self._after[left] = x[left]
            self._replace(left)

    def _replace(self, left: IndexArray) -> None:
        """Put what is found for the vertices `left` in place of the pairs that held them."""
        for kind, (pairs, starts) in enumerate(zip(*self._approaching(self._boxes.of(self._after, left)))):
            stays = kernels.without(self._pairs[kind], left, len(self._after))
            self._pairs[kind] = np.concatenate([self._pairs[kind][stays], pairs])
            self._starts[kind] = np.concatenate([self._starts[kind][stays], starts])
            self._spare[kind] = np.concatenate([self._spare[kind][stays], np.zeros(len(pairs))])

    def free_share(self, x: Array) -> float:
        """The share of the ways to x (n, 3) on which nothing meets.

        What keeps its distance by additive advancement is free; the others are left to tight inclusion.
        """
        self.widen(x)
        width = self._world.width
        near = [
            kernels.meeting(self.before, x, stencils, edges, start, width)
            for stencils, edges, start in zip(self._pairs, (False, True), self._starts)
        ]
        return self._world.free_share_of(self.before, x, near)

    def found(self, x: Array, *, only_hits: bool = False, recovered: float = 0.0) -> Found:
        """The contacts on the ways to x (n, 3); recovered: the share of what misses of the width that they want."""
        parts = []
        spares, moved = self._spare, np.zeros(len(x))
        if recovered:
            # who wants to go apart looks farther, so at all pairs
            spares = [np.zeros_like(spare) for spare in spares]
        else:
            moved = kernels.moved_since(x, self._seen)
        for stencils, edges, start, spare in zip(self._pairs, (False, True), self._starts, spares):
            k = len(stencils)
            which, weights, normals, wanted = np.empty(k, np.int64), np.empty((k, 4)), np.empty((k, 3)), np.empty(k)
            count = kernels.find_contacts(
                self.before, x, stencils, edges, start, spare, moved, self._world.width, recovered, only_hits,
                which, weights, normals, wanted,
            )  # fmt: skip
            parts.append((stencils[which[:count]], weights[:count], normals[:count], wanted[:count]))
        return Found(self.before, parts)
