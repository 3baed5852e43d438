"""Edges that contacts may not stretch: limits of one step, and the impulses that keep them."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.direct.enriching.collisions import kernels_strain as kernels
from cajole.direct.enriching.collisions.world import World

# the share of its length by which a step without contacts may change an edge beyond its limits: a guide can ask for any
# strain, and where there is none only solves that went wrong do
LED, FREE = 0.5, 0.02


class Strain:
    """Limits of the shell's edges: `begin` sets those of a step, `keep` moves what contacts have moved too far.

    Contacts know nothing of the membrane: a vertex that one stops in a step stretches its triangles by all of the
    others' way, and they would store many times the motion that was lost (Provot 1995).
    """

    def __init__(self, world: World, *, led: bool):
        self._change = LED if led else FREE
        self._edges, self._rest, self._inverse = world.cloth.mesh.edges, world.lengths, world.inverse
        self._longest, self._shortest = np.empty((2, len(self._rest)))
        self._before: Array = np.empty((0, 3))

    def begin(self, before: Array, after: Array) -> bool:
        """A step goes from `before` to `after` (n, 3), which knows of no contacts: whether it leaves the limits."""
        self._before = before
        limits = self._longest, self._shortest
        return bool(kernels.edge_limits(before, after, self._edges, self._rest, self._change, *limits))

    def keep(self, x: Array, sweeps: int) -> None:
        """Move x (n, 3) in place, by impulses along edges."""
        kernels.limit_edges(self._before, x, self._edges, self._longest, self._shortest, self._inverse, sweeps)
