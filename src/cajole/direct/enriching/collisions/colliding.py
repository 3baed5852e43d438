"""What `enrich` asks of collisions: a start that is free of them, steps that stay so, and an account at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.direct.enriching.collisions.colliders import Colliders
from cajole.direct.enriching.collisions.contacts import Contacts
from cajole.direct.enriching.collisions.exact import ExactStep
from cajole.direct.enriching.collisions.fast import FastResponse
from cajole.direct.enriching.collisions.world import World
from cajole.direct.enriching.stepping import Moment, Tracker
from cajole.errors import InputError

KINDS = ("fast", "exact")
FRICTION = 0.3
# the share of the width below which a start is so near that the barrier of "exact" throws it apart
CROWDED = 0.5


class Response(Protocol):
    """What happens to a step before it counts, such as collisions."""

    def __call__(self, before: Array, after: Array, h: float) -> Array:
        """Positions (n, 3) [m] instead of `after`, which a step of h [s] reached from `before`."""
        ...


@dataclass(frozen=True)
class CollisionReport:
    """kind: "fast" or "exact"; distance [m]: how near surfaces come before they push; contacts: the most pairs that
    pushed at once; truncations: steps that had to be cut short; intersections: frames in which surfaces pass through
    each other, which is 0.
    """

    kind: str
    distance: float
    contacts: int
    truncations: int
    intersections: int

    def __str__(self) -> str:
        cut = f", {self.truncations} steps cut short" if self.truncations else ""
        return f"{self.kind}, {self.contacts} contacts at most{cut}, {self.intersections} frames with intersections"


class Colliding:
    """Steps of a tracker in which nothing meets: kind "fast" corrects each by impulses, "exact" solves for contacts."""

    def __init__(
        self,
        kind: str,
        tracker: Tracker,
        colliders: Colliders,
        friction: float,
        distance: float | None,
        tick: Callable[[], None] = lambda: None,
    ):
        self._kind, self._tracker = kind, tracker
        self._world = World(tracker.body, colliders, distance)
        if distance is not None:
            self._world.require_narrow()
        self._fast = FastResponse(self._world, friction, tracker.rows, tracker.h, tick=tick)
        self._exact = ExactStep(tracker, self._fast, friction, tick) if kind == "exact" else None
        self._crossed = 0

    def started(self, positions: Array) -> tuple[str, ...]:
        """What to tell of the shell's start (n, 3).

        Raises InputError where it passes through itself or through a collider.
        """
        world = self._world
        world.colliders.follow(positions)
        x = world.positions(positions, 0.0)
        world.require_apart(x)
        near = np.inf if self._exact is None else Contacts(world, x, x).nearest
        if near >= CROWDED * world.width:
            return ()
        return (
            f"the shell starts {near:.2g} m from what it may touch, but contacts push within {world.width:.2g} m: it "
            "is thrown apart; start farther away, or give a smaller distance=",
        )

    def step(self, now: Moment, target: Array, load: Array, at: float) -> Moment:
        """The moment h later, at the time `at` [s]: averages near `target` (m, 3), under `load` (n, 3) [N]."""
        self._world.colliders.follow(now.positions)
        if self._exact is not None:
            return self._exact.step(now, target, load, at)
        world, h = self._world, self._tracker.h
        after = self._tracker.step(now, target, load)
        before = world.positions(now.positions, at - h)
        reached, apart = self._fast(before, world.positions(after.positions, at), target)
        x = reached[: world.shell]
        # what only went apart shall not fly on
        moved = x - apart[: world.shell] - now.positions
        return Moment(x, moved / h, after.pull, after.iterations)

    def look(self, positions: Array, at: float) -> None:
        """Count the frame at a time [s] if surfaces pass through each other in it."""
        self._crossed += self._world.intersects(self._world.positions(positions, at))

    def account(self) -> CollisionReport:
        """What happened so far."""
        tally = self._fast.tally
        return CollisionReport(self._kind, self._world.width, tally.contacts, tally.truncations, self._crossed)


def mover_of(
    collisions: Any, tracker: Tracker, bounds: Array, *, colliders: Any, friction: float | None,
    distance: float | None, tick: Callable[[], None],
) -> Colliding | Response | None:  # fmt: skip
    """What moves a tracker whose guide stays in the box `bounds` (2, 3) [m]: collisions, their settings checked.

    tick: called now and then in steps that take long; it may raise to end them.
    """
    rub = FRICTION if friction is None else checks.positive(friction, "friction", zero=True)
    width = None if distance is None else checks.positive(distance, "distance (m)")
    if collisions is not None and not callable(collisions):
        checks.one_of(collisions, "collisions", KINDS)
        return Colliding(collisions, tracker, Colliders(colliders, bounds), rub, width, tick)
    if not (isinstance(colliders, Sequence) and len(colliders) == 0):
        raise InputError("colliders are only met with collisions: collisions='fast', or 'exact'")
    for name, value in (("friction", friction), ("distance", distance)):
        if value is not None:
            raise InputError(f"{name}={value:g} is for collisions; say collisions='fast', or 'exact', or leave it out")
    return collisions
