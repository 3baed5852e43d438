"""What `enrich` asks of collisions: a start that is free of them, steps that stay so, and an account at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.direct.enriching.collisions.colliders import Colliders
from cajole.direct.enriching.collisions.exact import ExactStep
from cajole.direct.enriching.collisions.fast import FastResponse
from cajole.direct.enriching.collisions.world import World
from cajole.direct.enriching.stepping import Moment, Tracker
from cajole.errors import InputError

Array = NDArray[np.float64]

KINDS = ("fast", "exact")


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

    def __init__(self, kind: str, tracker: Tracker, colliders: Colliders, friction: float, distance: float | None):
        self._kind, self._tracker = kind, tracker
        self._world = World(tracker.body, colliders, distance)
        if distance is not None:
            self._world.require_narrow()
        self._fast = FastResponse(self._world, friction, tracker.rows, tracker.h)
        self._exact = ExactStep(tracker, self._fast, friction) if kind == "exact" else None
        self._crossed = 0

    def require_start(self, positions: Array) -> None:
        """Raise InputError where the shell's start (n, 3) passes through itself or through a collider."""
        self._world.require_apart(self._world.positions(positions, 0.0))

    def step(self, now: Moment, target: Array, load: Array, at: float) -> Moment:
        """The moment h later, at the time `at` [s]: averages near `target` (m, 3), under `load` (n, 3) [N]."""
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
    collisions: Any, tracker: Tracker, bounds: Array, *, colliders: Any, friction: float, distance: float | None
) -> Colliding | Response | None:
    """What moves a tracker whose guide stays in the box `bounds` (2, 3) [m]: collisions, their settings checked."""
    friction = checks.positive(friction, "friction", zero=True)
    width = None if distance is None else checks.positive(distance, "distance (m)")
    if collisions is not None and not callable(collisions):
        checks.one_of(collisions, "collisions", KINDS)
        return Colliding(collisions, tracker, Colliders(colliders, bounds), friction, width)
    if not (isinstance(colliders, Sequence) and len(colliders) == 0):
        raise InputError("colliders are only met with collisions: collisions='fast', or 'exact'")
    return collisions
