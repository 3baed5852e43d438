"""The exact option: steps in which averages are met to rounding, contacts push by a barrier, and nothing ever meets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array
from cajole.direct.enriching.collisions.barrier import Barrier
from cajole.direct.enriching.collisions.fast import FastResponse
from cajole.direct.enriching.collisions.increment import Increment
from cajole.direct.enriching.collisions.saddle import ContactSaddle
from cajole.direct.enriching.stepping import Moment, Tracker
from cajole.errors import NotConverged, SolveError

# a step is solved when no vertex of a Newton correction moves faster than this many body sizes a second; corrections
# of the second are rounding, whatever is in their way
SOLVED, NOTHING = 5e-3, 1e-9
MOST_NEWTON = 100
MOST_HALVINGS = 30
# the share of the promised fall that a shortened correction must keep (Armijo), and of what the averages may cost
FALL, SHARE = 1e-4, 0.5
# a correction at whose end the potential still falls by this share of its slope at the start is doubled, so often
STEEP, MOST_DOUBLINGS = 0.5, 6
# what averages may be off when a step ends, in body sizes
MET = 1e-12
INSTEAD = "; collisions='fast' goes on where that happens, and tells how far off it is"


@dataclass(frozen=True)
class _Place:
    """Where an iteration is: x (n, 3) of shell and colliders, the potential [J], its gradient (shell, 3) [N]."""

    x: Array
    energy: float
    slope: Array
    missed: Array


class ExactStep:
    """Implicit Euler with contacts: the minimum of the incremental potential where the averages are met.

    `Increment` + barrier + friction, subject to C x = target: Li et al. 2020 with constraints. It begins where the
    fast response ends, which is free of intersections, and no correction is longer than tight inclusion allows.
    """

    def __init__(self, tracker: Tracker, fast: FastResponse, friction: float, tick: Callable[[], None] = lambda: None):
        body = tracker.body
        self._tracker, self._fast, self._world, self._tick = tracker, fast, fast.world, tick
        self._saddle = ContactSaddle(body, sp.csr_array(sp.csc_array(tracker.rows)[:, body.free]))
        self._barrier = Barrier(self._world, friction, tracker.h)
        self._values = np.empty(body.pattern.entries)

    @property
    def analyses(self) -> int:
        """How often the pattern of contacts had to be analysed."""
        return self._saddle.analyses

    def step(self, now: Moment, target: Array, load: Array, at: float) -> Moment:
        """The moment h later, at the time `at` [s]: averages at `target` (m, 3), under `load` (n, 3) [N]."""
        world, tracker = self._world, self._tracker
        guess = tracker.step(now, target, load)
        before = world.positions(now.positions, at - tracker.h)
        begun, _ = self._fast(before, world.positions(guess.positions, at), target)
        x = self._met(begun, target)
        problem = Increment(tracker.body, tracker.h, now, load)
        self._barrier.begin(before, problem.stiffness())
        x, pull, count = self._solved(problem, x, target)
        self._fast.tally.contacts = max(self._fast.tally.contacts, self._barrier.count(x))
        q = x[: world.shell]
        return Moment(q, (q - now.positions) / tracker.h, pull, count)

    def _met(self, x: Array, target: Array) -> Array:
        """x (n, 3) with the averages met, as far as nothing meets on the way."""
        wish = x.copy()
        self._fast.averages.meet(wish, target)
        share = self._world.free_share(x, wish)
        return wish if share >= 1.0 else x + share * (wish - x)

    def _solved(self, problem: Increment, x: Array, target: Array) -> tuple[Array, Array, int]:
        """Newton's iteration; while averages are missed they weigh in what must fall (Nocedal and Wright, 18.36)."""
        tracker, weight = self._tracker, 0.0
        here = self._place(problem, x, target)
        for iteration in range(1, MOST_NEWTON + 1):
            self._tick()
            moved, pull = self._correction(problem, here)
            speed = float(np.linalg.norm(moved, axis=1).max()) / tracker.h / tracker.body.size
            slope, missed = float((here.slope * moved).sum()), float(np.abs(here.missed).sum())
            bent = float((pull * moved).sum()) - slope
            if missed > 0.0:
                weight = max(weight, (slope + 0.5 * bent) / ((1.0 - SHARE) * missed))
            before = here
            here, free = self._searched(problem, here, moved, target, weight)
            # a correction that only the potential has shortened leads past the minimum on its way: that is nearer
            if speed <= SOLVED and (free or speed <= NOTHING):
                here = _Place(self._met(here.x, target), here.energy, here.slope, here.missed)
                off = tracker.gap(here.x[: self._world.shell], target)
                if off <= MET:
                    return here.x, pull, iteration
            # the next correction would be the same
            if here is before:
                break
        off = tracker.gap(here.x[: self._world.shell], target)
        raise NotConverged(
            f"contacts and averages were not brought together in {iteration} Newton iterations (corrections still move "
            f"at {speed:.2g} sizes/s, averages are off by {off:.1e} of the size): the guide leaves its surfaces no "
            f"room, or moves too fast{INSTEAD}"
        )

    def _correction(self, problem: Increment, here: _Place) -> tuple[Array, Array]:
        """Newton's correction (shell, 3), and the pull of the averages."""
        H, near = self._barrier.curvature(here.x)
        # where something buckles the exact one leads uphill
        for exact in (True, False):
            problem.curvature(here.x[: self._world.shell], self._values, exact=exact)
            if self._saddle.factorise_touching(self._values, H, near):
                break
        else:
            raise SolveError("the regions cannot be told apart at this step")
        try:
            return self._saddle.solve(-here.slope, here.missed)
        except SolveError:
            raise NotConverged(
                "contacts press so hard that a step cannot be solved: the guide leaves its surfaces no room, or moves "
                f"too fast{INSTEAD}"
            ) from None

    def _searched(
        self, problem: Increment, here: _Place, moved: Array, target: Array, weight: float
    ) -> tuple[_Place, bool]:
        """The longest tried part of a correction that nothing stops and after which the potential has fallen.

        And whether nothing is in the way of all of it.
        """
        wish = here.x.copy()
        wish[: self._world.shell] += moved
        share = self._world.free_share(here.x, wish)
        missed = float(np.abs(here.missed).sum())
        promised = float((here.slope * moved).sum()) - weight * missed
        # near the minimum differences of the potential are rounding
        limit = here.energy + weight * missed + 1e-12 * abs(here.energy)
        for halving in range(MOST_HALVINGS):
            part = share * 0.5**halving
            there = self._place(problem, here.x + part * (wish - here.x), target)
            if there.energy + weight * float(np.abs(there.missed).sum()) <= limit + FALL * part * promised:
                whole = part == 1.0
                return self._farther(problem, here, there, moved, target) if whole else there, share >= 1.0
        return here, share >= 1.0

    def _farther(self, problem: Increment, here: _Place, there: _Place, moved: Array, target: Array) -> _Place:
        """Where a whole correction from `here` to `there` goes on downhill: the stand-in is too stiff in folds.

        Only where averages are met, so that they stay so.
        """
        fall = float((here.slope * moved).sum())
        if self._tracker.gap(here.x[: self._world.shell], target) > MET:
            return there
        for doubling in range(1, MOST_DOUBLINGS + 1):
            if float((there.slope * moved).sum()) > STEEP * fall:
                break
            wish = here.x.copy()
            wish[: self._world.shell] += 2.0**doubling * moved
            if self._world.free_share(there.x, wish) < 1.0:
                break
            trial = self._place(problem, wish, target)
            if trial.energy >= there.energy:
                break
            there = trial
        return there

    def _place(self, problem: Increment, x: Array, target: Array) -> _Place:
        q = x[: self._world.shell]
        pushed, push = self._barrier.measured(x)
        slope = problem.slope(q) + push[: self._world.shell]
        return _Place(x, problem.energy(q) + pushed, slope, target - self._tracker.rows @ q)
