"""The fast response: impulses at contacts after a constrained step, and nothing that tight inclusion has not passed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.direct.enriching.collisions import kernels_contacts as kernels
from cajole.direct.enriching.collisions.world import World
from cajole.errors import SolveError
from cajole.linalg import Factor

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# looks at all pairs, each followed by sweeps of impulses over what was found; then the averages are met again
PASSES, SWEEPS = 8, 4
# groups of vertices that keep colliding move as one, and grow this often at most
MOST_ZONES = 20
# how often a truncated step is taken up again where it ended, before it is left there
MOST_ROUNDS = 6


@dataclass
class Tally:
    """contacts: the most at once; how often a step was cut short; how often vertices had to move as one."""

    contacts: int = 0
    truncations: int = 0
    zones: int = 0


class Averages:
    """Moves by M⁻¹Cᵀ that put `rows` (m, n) @ x at their targets, with lumped masses: the least momentum that does."""

    def __init__(self, rows: sp.csr_array, inverse: Array):
        self._rows = rows
        self._spread = sp.csr_array(sp.diags_array(inverse) @ rows.T)
        self._factor = Factor(sp.csr_array(rows @ self._spread)) if rows.shape[0] else None

    def met(self, x: Array, target: Array) -> Array:
        """x (n, 3) moved so that rows @ x = target (m, 3)."""
        if self._factor is None:
            return x
        return np.asarray(x + self._spread @ self._factor.solve(target - self._rows @ x))


class FastResponse:
    """Positions after a step become such that nothing meets on the way: Bridson et al. 2002, certified.

    friction: Coulomb's. rows (m, n): averages to be met as far as contacts let them.
    """

    def __init__(self, world: World, friction: float, rows: sp.csr_array, *, passes: int = PASSES):
        self.world, self.friction, self.passes = world, friction, passes
        self.tally = Tally()
        self.averages = Averages(rows, world.inverse[: world.shell])

    def __call__(self, before: Array, after: Array, target: Array | None = None) -> Array:
        """(n, 3) of shell and colliders instead of `after`, reached from `before`; nothing meets on the way there."""
        x, wish, world = before, after, self.world
        for _ in range(MOST_ROUNDS):
            responded = self._responded(x, wish, target)
            share = world.free_share(x, responded)
            if share >= 1.0:
                return responded
            self.tally.truncations += 1
            x = x + share * (responded - x)
            wish = np.concatenate([responded[: world.shell], after[world.shell :]])
        if np.array_equal(x[world.shell :], after[world.shell :]):
            return x
        raise SolveError("a collider moves on where the shell cannot give way; slow it down, or free fixed vertices")

    def _responded(self, before: Array, after: Array, target: Array | None) -> Array:
        """After impulses (n, 3); where they do not suffice vertices move as one."""
        world = self.world
        # a vertex moves again in each pass, by no more than it was off
        contacts = Contacts(world, before, after)
        x = after.copy()
        for turn in range(self.passes):
            found = contacts.found(x, only_hits=False)
            self.tally.contacts = max(self.tally.contacts, found.count)
            if not found.count:
                return x
            found.push(before, x, world.inverse, self.friction)
            if target is not None and turn < self.passes - 1:
                x[: world.shell] = self.averages.met(x[: world.shell], target)
            contacts.widen(x)
        return self._as_zones(contacts, before, x)

    def _as_zones(self, contacts: Contacts, before: Array, x: Array) -> Array:
        """Groups of vertices that still collide get their common mean motion, and grow until nothing collides."""
        zone = np.arange(len(x))
        masses = np.where(self.world.inverse > 0, 1.0, 0.0)
        masses[masses > 0] = 1.0 / self.world.inverse[masses > 0]
        for _ in range(MOST_ZONES):
            hits = contacts.found(x, only_hits=True)
            if not hits.count:
                break
            self.tally.zones += 1
            zone = merged(zone, hits.stencils)
            x = moved_as_one(zone, masses, before, x)
            contacts.widen(x)
        return x


class Found:
    """Contacts of vertices with triangles and of edges with edges."""

    def __init__(self, parts: list[tuple[Index, Array, Array, Array]], hits: int):
        self.stencils, self.weights, self.normals, self.wanted = (np.concatenate(part) for part in zip(*parts))
        self.count, self.hits = len(self.stencils), hits

    def push(self, before: Array, x: Array, inverse: Array, friction: float) -> None:
        """Change x (n, 3) in place by impulses."""
        kernels.push_apart(before, x, self.stencils, self.weights, self.normals, self.wanted, inverse, friction, SWEEPS)


class Contacts:
    """The pairs that may meet on the ways of a step, searched again when something leaves the room they cover."""

    def __init__(self, world: World, before: Array, after: Array):
        self._world, self._before = world, before
        self._search(after)

    def _search(self, after: Array) -> None:
        world = self._world
        self._after = after.copy()
        # what is pushed may leave its box by half a width before the search is made anew
        self._room = 0.5 * world.width
        self._pairs = world.stencils(self._before, after, 0.5 * world.width + self._room)
        self._starts = tuple(
            kernels.distances(self._before, stencils, edges) for stencils, edges in zip(self._pairs, (False, True))
        )

    def widen(self, x: Array) -> None:
        """Search again if a vertex of x (n, 3) is farther from where it was than the room around its box."""
        if float(np.abs(x - self._after).max(initial=0.0)) > self._room:
            self._search(x)

    def found(self, x: Array, *, only_hits: bool) -> Found:
        """The contacts on the ways to x (n, 3)."""
        parts, hits = [], 0
        for stencils, edges, start in zip(self._pairs, (False, True), self._starts):
            k = len(stencils)
            which, weights, normals, wanted = np.empty(k, np.int64), np.empty((k, 4)), np.empty((k, 3)), np.empty(k)
            count, hit = kernels.find_contacts(
                self._before, x, stencils, edges, start, self._world.width, only_hits, which, weights, normals, wanted
            )
            parts.append((stencils[which[:count]], weights[:count], normals[:count], wanted[:count]))
            hits += hit
        return Found(parts, hits)


def merged(zone: Index, stencils: Index) -> Index:
    """Zones (n,) after the vertices of each stencil (k, 4) have been put into one."""
    n = len(zone)
    ones = np.ones(3 * len(stencils) + n)
    rows = np.concatenate([np.repeat(zone[stencils[:, 0]], 3), np.arange(n)])
    columns = np.concatenate([zone[stencils[:, 1:]].ravel(), zone])
    graph = sp.csr_array((ones, (rows, columns)), shape=(n, n))
    return sp.csgraph.connected_components(graph, directed=False)[1].astype(np.int64)


def moved_as_one(zone: Index, masses: Array, before: Array, x: Array) -> Array:
    """x (n, 3) where each zone of several vertices moves by its mean, as its momentum or its immovable part says."""
    count = int(zone.max()) + 1
    sizes = np.bincount(zone, minlength=count)
    held = np.bincount(zone, weights=masses == 0, minlength=count) > 0
    weights = np.where(held[zone], (masses == 0).astype(float), masses)
    total = np.bincount(zone, weights=weights, minlength=count)
    mean = np.stack([np.bincount(zone, weights=weights * part, minlength=count) for part in (x - before).T], axis=1)
    several = sizes[zone] > 1
    out = x.copy()
    out[several] = before[several] + (mean / total[:, None])[zone[several]]
    # colliders go where they go
    out[masses == 0] = x[masses == 0]
    return out
