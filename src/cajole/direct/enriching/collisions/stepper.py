"""Interface of `enrich` to collisions: check of the start, steps without intersections, and a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.direct.enriching.collisions.barrier_solver import BarrierSolver
from cajole.direct.enriching.collisions.impulse_solver import ContactCandidates, ImpulseSolver
from cajole.direct.enriching.collisions.world import ColliderSet, CollisionWorld
from cajole.direct.enriching.tracking import ShellState, TrackingIntegrator
from cajole.errors import InputError

COLLISION_METHODS = ("fast", "exact")


class CollisionResponse(Protocol):
    """A user-defined correction of each step, for example for collisions."""

    def __call__(self, before: Array, after: Array, h: float) -> Array:
        """Return positions (n, 3) [m] that replace `after`, which a step of h [s] reached from `before`."""
        ...


@dataclass(frozen=True)
class CollisionReport:
    """Report of collisions; kind: "fast" or "exact"; distance [m]: contact distance; contacts: largest number at once;
    truncations: number of truncated steps; intersections: number of frames with intersections, which is 0.
    """

    kind: str
    distance: float
    contacts: int
    truncations: int
    intersections: int

    def __str__(self) -> str:
        cut = f", {self.truncations} steps cut short" if self.truncations else ""
        return f"{self.kind}, {self.contacts} contacts at most{cut}, {self.intersections} frames with intersections"


class CollisionStepper:
    """Steps of an integrator without collisions: "fast" corrects each by impulses, "exact" minimises with a barrier."""

    def __init__(
        self,
        kind: str,
        integrator: TrackingIntegrator,
        colliders: ColliderSet,
        friction: float,
        distance: float | None,
        on_progress: Callable[[], None] = lambda: None,
    ):
        self._kind, self._integrator = kind, integrator
        self._world = CollisionWorld(integrator.body, colliders, distance)
        if distance is not None:
            self._world.require_contact_distance_below_edge()
        self._impulse_solver = ImpulseSolver(
            self._world, friction, integrator.constraints, integrator.h, on_progress=on_progress
        )
        self._barrier_solver = (
            BarrierSolver(integrator, self._impulse_solver, friction, on_progress) if kind == "exact" else None
        )
        self._intersecting_frames = 0

    def check_start(self, positions: Array) -> tuple[str, ...]:
        """Check the start (n, 3) of the shell, and return notes.

        Raises InputError if it intersects itself or a collider.
        """
        world = self._world
        world.colliders.recentre_grounds(positions)
        x = world.stack_positions(positions, 0.0)
        world.require_no_intersections(x)
        near = np.inf if self._barrier_solver is None else ContactCandidates(world, x, x).min_start_distance
        # a barrier would eject a shell that starts nearer
        if near >= 0.5 * world.contact_distance:
            return ()
        return (
            f"the shell starts {near:.2g} m from what it may touch, but contacts push within "
            f"{world.contact_distance:.2g} m: it is thrown apart; start farther away, or give a smaller distance=",
        )

    def step(self, state: ShellState, target: Array, external_force: Array, time: float) -> ShellState:
        """Advance to `time` [s]: averages near `target` (m, 3), under `external_force` (n, 3) [N]."""
        self._world.colliders.recentre_grounds(state.positions)
        if self._barrier_solver is not None:
            return self._barrier_solver.step(state, target, external_force, time)
        world, h = self._world, self._integrator.h
        after = self._integrator.step(state, target, external_force)
        before = world.stack_positions(state.positions, time - h)
        reached, apart = self._impulse_solver(before, world.stack_positions(after.positions, time), target)
        x = reached[: world.shell_vertex_count]
        # separation adds no velocity
        moved = x - apart[: world.shell_vertex_count] - state.positions
        return ShellState(x, moved / h, after.constraint_force, after.iterations)

    def record_intersections(self, positions: Array, time: float) -> None:
        """Count the frame at `time` [s] if it has intersections."""
        self._intersecting_frames += self._world.has_intersections(self._world.stack_positions(positions, time))

    def build_report(self) -> CollisionReport:
        tally = self._impulse_solver.statistics
        return CollisionReport(
            self._kind, self._world.contact_distance, tally.max_contacts, tally.truncations, self._intersecting_frames
        )


def build_collision_handler(
    collisions: Any, integrator: TrackingIntegrator, bounds: Array, *, colliders: Any, friction: float | None,
    distance: float | None, on_progress: Callable[[], None],
) -> CollisionStepper | CollisionResponse | None:  # fmt: skip
    """Check the collision settings, and build the handler of an integrator whose guide moves in `bounds` (2, 3) [m].

    on_progress: called during long steps; it may raise to cancel them.
    """
    rub = 0.3 if friction is None else checks.require_positive(friction, "friction", allow_zero=True)
    width = None if distance is None else checks.require_positive(distance, "distance (m)")
    if collisions is not None and not callable(collisions):
        checks.require_choice(collisions, "collisions", COLLISION_METHODS)
        return CollisionStepper(collisions, integrator, ColliderSet(colliders, bounds), rub, width, on_progress)
    if not (isinstance(colliders, Sequence) and len(colliders) == 0):
        raise InputError("colliders are only met with collisions: collisions='fast', or 'exact'")
    for name, value in (("friction", friction), ("distance", distance)):
        if value is not None:
            raise InputError(f"{name}={value:g} is for collisions; say collisions='fast', or 'exact', or leave it out")
    handler: CollisionResponse | None = collisions
    return handler
