"""The contacts of a step: pairs that may meet, searched for when needed, and impulses between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.direct.enriching.collisions import kernels_contacts as kernels
from cajole.direct.enriching.collisions.world import World

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# the share of the way by which something has left its box that it gets as room when the search is made anew
ROOM = 0.25


class Found:
    """Contacts of vertices with triangles and of edges with edges."""

    def __init__(self, before: Array, parts: list[tuple[Index, Array, Array, Array]]):
        self._before = before
        self.stencils, self._weights, self._normals, self._wanted = (np.concatenate(part) for part in zip(*parts))
        self.count = len(self.stencils)

    def push(self, x: Array, inverse: Array, friction: float, sweeps: int = 1) -> None:
        """Change x (n, 3) in place by impulses."""
        kernels.push_apart(
            self._before, x, self.stencils, self._weights, self._normals, self._wanted, inverse, friction, sweeps
        )


class Contacts:
    """The pairs that may meet on the ways of a step, searched again when something leaves the room they cover."""

    def __init__(self, world: World, before: Array, after: Array):
        self._world, self.before = world, before
        # what is pushed may leave its box by half a width before the search is made anew
        self._search(after, 0.5 * world.width)

    def _search(self, after: Array, room: float) -> None:
        self._after, self._room = after.copy(), room
        self._pairs = self._world.stencils(self.before, after, 0.5 * self._world.width + room)
        self._starts = tuple(
            kernels.distances(self.before, stencils, edges) for stencils, edges in zip(self._pairs, (False, True))
        )

    @property
    def nearest(self) -> float:
        """[m] between the parts of all pairs at the start."""
        return min(float(start.min(initial=np.inf)) for start in self._starts)

    def widen(self, x: Array) -> None:
        """Search again if a vertex of x (n, 3) is farther from where it was than the room around its box."""
        left = float(np.abs(x - self._after).max(initial=0.0))
        if left > self._room:
            # what moves much is not done yet
            self._search(x, min(max(self._room, ROOM * left), self._world.width))

    def found(self, x: Array, *, only_hits: bool = False, recovered: float = 0.0) -> Found:
        """The contacts on the ways to x (n, 3); recovered: the share of what misses of the width that they want."""
        parts = []
        for stencils, edges, start in zip(self._pairs, (False, True), self._starts):
            k = len(stencils)
            which, weights, normals, wanted = np.empty(k, np.int64), np.empty((k, 4)), np.empty((k, 3)), np.empty(k)
            count = kernels.find_contacts(
                self.before, x, stencils, edges, start, self._world.width, recovered, only_hits,
                which, weights, normals, wanted,
            )  # fmt: skip
            parts.append((stencils[which[:count]], weights[:count], normals[:count], wanted[:count]))
        return Found(self.before, parts)
