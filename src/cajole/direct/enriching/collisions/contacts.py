"""The contacts of a step: pairs that may meet, searched for when needed, and impulses between them."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.enriching.collisions import kernels_contacts as kernels
from cajole.direct.enriching.collisions.world import CollisionWorld

# what is pushed may leave its way by this many widths before those that it may meet are searched for anew
SEARCH_MARGIN = 1.0
# the share of vertices that may do so before all are
FULL_SEARCH_SHARE = 0.05


class ContactSet:
    """Contacts of vertices with triangles and of edges with edges."""

    def __init__(self, before: Array, parts: list[tuple[IndexArray, Array, Array, Array]]):
        self._start_positions = before
        self.stencils, self._weights, self._normals, self._target_distances = (
            np.concatenate(part) for part in zip(*parts)
        )
        self.count = len(self.stencils)

    def apply_impulses(self, x: Array, inverse_masses: Array, friction: float, sweeps: int = 1) -> bool:
        """Change x (n, 3) in place by impulses, over all contacts once or several times; whether any had to push."""
        return bool(
            kernels.apply_contact_impulses(
                self._start_positions,
                x,
                self.stencils,
                self._weights,
                self._normals,
                self._target_distances,
                inverse_masses,
                friction,
                sweeps,
            )
        )


class ContactCandidates:
    """The pairs that may meet on the ways of a step, searched again when something leaves the room they cover."""

    def __init__(self, world: CollisionWorld, before: Array, after: Array):
        self._world, self.start_positions, self._search_margin = world, before, SEARCH_MARGIN * world.contact_distance
        self._end_positions, self._last_positions = after.copy(), after.copy()
        self._search_all()

    def _search_all(self) -> None:
        """Find all pairs of the ways as they are."""
        self._broad_phase = self._world.build_broad_phase(
            self.start_positions, self._end_positions, 0.5 * self._world.contact_distance + self._search_margin
        )
        self._stencils, self._start_distances = self._filter_approaching(self._broad_phase.find_all_pairs())
        # of each kind, how much pairs may change before they can be contacts
        self._slack = [np.zeros(len(pairs)) for pairs in self._stencils]

    def _filter_approaching(self, candidates: tuple[IndexArray, IndexArray]) -> tuple[list[IndexArray], list[Array]]:
        """Stencils (k, 4) of vertices and triangles and of edges that may meet, and their distances (k,) before."""
        # both parts may leave their ways by the room along all three axes
        near = self._world.contact_distance + 2.0 * np.sqrt(3.0) * self._search_margin
        found = (
            kernels.filter_approaching(self.start_positions, self._end_positions, *kind, near)
            for kind in zip(candidates, (False, True))
        )
        pairs, starts = zip(*found)
        return list(pairs), list(starts)

    @property
    def min_start_distance(self) -> float:
        """[m] between the parts of all pairs at the start."""
        return min(float(start.min(initial=np.inf)) for start in self._start_distances)

    def update(self, x: Array) -> None:
        """Search again for what a vertex of x (n, 3) may meet that is farther from its way than the room around it."""
        left = kernels.find_displaced_vertices(x, self._end_positions, self._search_margin)
        if len(left) > FULL_SEARCH_SHARE * len(x):
            self._end_positions = x.copy()
            self._search_all()
        elif len(left):
            self._end_positions[left] = x[left]
            self._search_vertices(left)

    def _search_vertices(self, vertices: IndexArray) -> None:
        """Put what is found for the vertices `left` in place of the pairs that held them."""
        for kind, (pairs, starts) in enumerate(
            zip(*self._filter_approaching(self._broad_phase.find_pairs_of(self._end_positions, vertices)))
        ):
            stays = kernels.find_stencils_without(self._stencils[kind], vertices, len(self._end_positions))
            self._stencils[kind] = np.concatenate([self._stencils[kind][stays], pairs])
            self._start_distances[kind] = np.concatenate([self._start_distances[kind][stays], starts])
            self._slack[kind] = np.concatenate([self._slack[kind][stays], np.zeros(len(pairs))])

    def compute_collision_free_fraction(self, x: Array) -> float:
        """The share of the ways to x (n, 3) on which nothing meets.

        What keeps its distance by additive advancement is free; the others are left to tight inclusion.
        """
        self.update(x)
        width = self._world.contact_distance
        near = [
            kernels.filter_impacts(self.start_positions, x, stencils, edges, start, width)
            for stencils, edges, start in zip(self._stencils, (False, True), self._start_distances)
        ]
        return self._world.compute_collision_free_fraction_of(self.start_positions, x, near)

    def find_contacts(self, x: Array, *, only_impacts: bool = False, recovery_share: float = 0.0) -> ContactSet:
        """The contacts on the ways to x (n, 3); recovered: the share of what misses of the width that they want."""
        parts = []
        spares, moved = self._slack, np.zeros(len(x))
        if recovery_share:
            # who wants to go apart looks farther, so at all pairs
            spares = [np.zeros_like(spare) for spare in spares]
        else:
            moved = kernels.update_displacements(x, self._last_positions)
        for stencils, edges, start, spare in zip(self._stencils, (False, True), self._start_distances, spares):
            k = len(stencils)
            which, weights, normals, wanted = np.empty(k, np.int64), np.empty((k, 4)), np.empty((k, 3)), np.empty(k)
            count = kernels.detect_contacts(
                self.start_positions,
                x,
                stencils,
                edges,
                start,
                spare,
                moved,
                self._world.contact_distance,
                recovery_share,
                only_impacts,
                which,
                weights,
                normals,
                wanted,
            )
            parts.append((stencils[which[:count]], weights[:count], normals[:count], wanted[:count]))
        return ContactSet(self.start_positions, parts)
