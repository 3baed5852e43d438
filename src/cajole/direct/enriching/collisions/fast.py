"""The fast response: impulses at contacts after a constrained step, and nothing that tight inclusion has not passed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array
from cajole.direct.enriching.collisions.averages import Averages
from cajole.direct.enriching.collisions.contacts import Contacts
from cajole.direct.enriching.collisions.strain import Strain
from cajole.direct.enriching.collisions.world import World
from cajole.direct.enriching.collisions.zones import merged, moved_as_one
from cajole.errors import SolveError

# looks at all pairs, each followed by sweeps of impulses over what was found, and each of these by sweeps over the
# edges, after which the averages are met again: contacts and averages agree sooner than when they take longer turns
PASSES, SWEEPS, EDGE_SWEEPS = 6, 4, 8
# of the passes those that keep edges: a guide that strains its shell would otherwise be left by it
EDGE_PASSES = 4
# groups of vertices that keep colliding move as one, and grow this often at most
MOST_ZONES = 20
# how often a truncated step is taken up again where it ended, before it is left there
MOST_ROUNDS = 6
# a share of the width below which what tight inclusion finds is looked at again, and no truncated step goes on
TIGHT = 1e-2
# and below which going apart matters more than averages
NARROW = 0.2
# what is nearer than the width goes apart with this time constant [s], whatever the step
RECOVERY = 0.03


@dataclass
class Tally:
    """contacts: the most at once; how often a step was cut short; how often vertices had to move as one."""

    contacts: int = 0
    truncations: int = 0
    zones: int = 0


class FastResponse:
    """Positions after a step of h [s] become such that nothing meets on the way: Bridson et al. 2002, certified.

    Impulses take speed and never give any, at contacts and along edges: what collides loses energy. friction:
    Coulomb's. rows (m, n): averages to be met as far as contacts let them. tick: called before each look at all pairs;
    it may raise to end a step that takes long.
    """

    def __init__(
        self,
        world: World,
        friction: float,
        rows: sp.csr_array,
        h: float,
        *,
        passes: int = PASSES,
        tick: Callable[[], None] = lambda: None,
    ):
        self.world, self.friction, self.passes, self._tick = world, friction, passes, tick
        self.tally = Tally()
        self.averages = Averages(rows, world.cloth, h)
        self._strain = Strain(world, led=rows.shape[0] > 0)
        self._recovered = -np.expm1(-h / RECOVERY)

    def __call__(self, before: Array, after: Array, target: Array | None = None) -> tuple[Array, Array]:
        """(n, 3) of shell and colliders instead of `after`, reached from `before`; nothing meets on the way there.

        And (n, 3) [m], which part of that way only puts surfaces apart, and is no motion that goes on.
        """
        x, wish, world = before, after, self.world
        apart = np.zeros_like(before)
        for turn in range(MOST_ROUNDS):
            contacts = Contacts(world, x, wish)
            tight = turn > 0 and contacts.nearest < TIGHT * world.width
            if tight and self._is_there(x, after):
                break
            # colliders that have to move on matter more than averages
            stopped = self._stopped(contacts, wish, None if tight else target)
            parted = stopped if tight else self._parted(contacts, stopped, target)
            share = self._share(contacts, parted)
            apart += share * (parted - stopped)
            if share >= 1.0:
                return parted, apart
            self.tally.truncations += 1
            x = x + share * (parted - x)
            # what is left of the way
            wish = stopped + share * (parted - stopped)
            wish[world.shell :] = after[world.shell :]
        if self._is_there(x, after):
            return x, apart
        raise SolveError("a collider moves on where the shell cannot give way; slow it down, or free fixed vertices")

    def _is_there(self, x: Array, after: Array) -> bool:
        """Whether the colliders in x (n, 3) are where they go."""
        return bool(np.array_equal(x[self.world.shell :], after[self.world.shell :]))

    def _share(self, contacts: Contacts, x: Array) -> float:
        """The share of the ways to x (n, 3) on which nothing meets."""
        share = contacts.free_share(x)
        # tight inclusion runs out of digits between parts that nearly touch, and then may find nothing
        tight = contacts.nearest < TIGHT * self.world.width
        return 0.0 if tight and self.world.intersects(contacts.before + share * (x - contacts.before)) else share

    def _stopped(self, contacts: Contacts, after: Array, target: Array | None) -> Array:
        """After impulses (n, 3); where they do not suffice vertices move as one."""
        x = after.copy()
        if self._strain.begin(contacts.before, after):
            self._strain.keep(x, SWEEPS * EDGE_SWEEPS)
            self._meet(x, target)
        for turn in range(1, self.passes + 1):
            self._tick()
            found = contacts.found(x)
            self.tally.contacts = max(self.tally.contacts, found.count)
            if not found.count:
                return x
            for _ in range(SWEEPS):
                if not found.push(x, self.world.inverse, self.friction):
                    break
                if turn <= EDGE_PASSES:
                    self._strain.keep(x, EDGE_SWEEPS)
                # contacts have the last word
                if turn < self.passes:
                    self._meet(x, target)
            contacts.widen(x)
        return self._as_zones(contacts, x)

    def _parted(self, contacts: Contacts, stopped: Array, target: Array | None) -> Array:
        """What has stopped too near goes apart a little, without rubbing."""
        found = contacts.found(stopped, recovered=self._recovered)
        if not found.count:
            return stopped
        x = stopped.copy()
        found.push(x, self.world.inverse, 0.0, SWEEPS)
        self._strain.keep(x, EDGE_SWEEPS)
        self._meet(x, target)
        # averages have the last word but where there is no room: there surfaces would come nearer in every step
        if contacts.nearest < NARROW * self.world.width:
            found.push(x, self.world.inverse, 0.0, SWEEPS)
        return x

    def _meet(self, x: Array, target: Array | None) -> None:
        """Move the shell in x (n, 3) so that its averages are at the target, where there is one."""
        if target is not None:
            self.averages.meet(x, target)

    def _as_zones(self, contacts: Contacts, x: Array) -> Array:
        """Groups of vertices that still collide get their common mean motion, and grow until nothing collides."""
        zone = np.arange(len(x))
        masses = np.where(self.world.inverse > 0, 1.0, 0.0)
        masses[masses > 0] = 1.0 / self.world.inverse[masses > 0]
        for _ in range(MOST_ZONES):
            self._tick()
            hits = contacts.found(x, only_hits=True)
            if not hits.count:
                break
            self.tally.zones += 1
            zone = merged(zone, hits.stencils)
            x = moved_as_one(zone, masses, contacts.before, x)
            contacts.widen(x)
        return x
