"""What is live in real time: how many steps are due, what is seen between them, what a lap leaves behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from cajole.arrays import Array
from cajole.errors import NotConverged

# Pictures a second; and what a tick may spend on steps [s]: time that is lost is dropped, never caught up with.
PICTURES, SPENT = 60.0, 0.03
# Of what passes between two ticks so much is made up for at most [s]: the rest was a pause of the machine.
LONGEST = 0.1
# Steps longer than this [s] of the clock are blended, so that motion stays smooth.
SMOOTH = 1 / 50
# How long the end of a motion that is no loop is looked at [s].
ENDING = 0.8
# What a step at this share of real time or below is worth a word; over how many ticks it is measured.
SLOW, TICKS = 0.9, 60


class Driven(Protocol):
    """A controller in live use."""

    @property
    def gentleness(self) -> float: ...
    def step(self, count: int = 1) -> None: ...
    def restart(self) -> None: ...
    def twin(self, *, controlled: bool) -> Self: ...


AnyLive = TypeVar("AnyLive", bound=Driven)


@dataclass(frozen=True, eq=False)
class Course(Generic[AnyLive]):
    """What a lap is: how many steps, how many of them to a frame, whether it goes on and on.

    tick: what a step takes of the clock [s]; states: (frames, m) of an undisturbed lap; state: what is seen of a live
    one (m,), of which something between two is as good.
    """

    steps: int
    substeps: int
    loop: bool
    tick: float
    states: Array
    state: Callable[[AnyLive], Array]


class Drive(Generic[AnyLive]):
    """What is controlled and, when wanted, its uncontrolled twin; both get the same pushes and winds.

    step: how far into the lap (0..T); lap: counted from 1; path, efforts: states (frames, m) and feedback of the
    present lap, where it has come, and of the one before it elsewhere; other: the twin's states; clock: measures what a
    tick spends on steps [s].
    """

    def __init__(self, live: AnyLive, course: Course[AnyLive]):
        self.live, self.course, self.clock = live, course, time.perf_counter
        self.twin: AnyLive | None = None
        self.lap, self.step = 1, 0
        self.speed, self.running = 1.0, True
        self.path = course.states.copy()
        self.other, self.efforts = self.path.copy(), np.zeros(len(self.path))
        self.whole: Array | None = None
        self._debt, self._rest = 0.0, 0.0
        self._last: float | None = None
        self._before = self._states()
        self._pace = 1.0

    @property
    def frames(self) -> int:
        """Of a lap."""
        return len(self.path)

    @property
    def frame(self) -> int:
        """Of the time line."""
        return min(self.step // self.course.substeps, self.frames - 1)

    @property
    def slow(self) -> float | None:
        """At which share of real time the machine follows, None where it keeps up."""
        return self._pace if self._pace < SLOW else None

    def due(self, now: float) -> float:
        """Seconds until the next picture."""
        return 0.0 if self._last is None else max(0.0, self._last + 1 / PICTURES - now)

    def owed(self, now: float) -> int:
        """Steps to be made by now [s]."""
        elapsed = 0.0 if self._last is None else self.speed * min(now - self._last, LONGEST)
        self._last = now
        if not self.running:
            return 0
        if self._rest > 0.0:
            self._rest -= elapsed
            if self._rest <= 0.0:
                self.restart()
            return 0
        self._debt += elapsed
        return int(self._debt / self.course.tick)

    def pause(self) -> None:
        """Stand still; the clock begins anew when it goes on."""
        self.running, self._last = False, None

    def advance(self, count: int, after: Callable[[], None]) -> int:
        """Make so many steps, or as many as there is time for, at most to the end of the lap; how many they were.

        after: called after each of them.
        Raises NotConverged when the body is pushed too hard; it then stands where it was, and the pushes are over.
        """
        tick, begin, done = self.course.tick, self.clock(), 0
        while done < count and self.clock() - begin < SPENT:
            self._before = self._states()
            self._debt -= tick
            self._stepped()
            after()
            done += 1
            if self.step == self.course.steps:
                break
        if done < count and self.step < self.course.steps:
            self._debt = 0.0
        if count:
            share = done / count if self.step < self.course.steps else 1.0
            self._pace += (share - self._pace) / TICKS
        return done

    def end_lap(self) -> None:
        """The last frame was reached: a loop goes on, what is none is looked at for a while, and begins anew."""
        self.whole = self.path.copy()
        if self.course.loop:
            self.lap, self.step = self.lap + 1, 0
            self._record()
        else:
            self._rest, self._debt = ENDING, 0.0

    @property
    def ended(self) -> bool:
        """Whether the lap is over."""
        return self.step == self.course.steps and self._rest <= 0.0

    def restart(self) -> None:
        """Stand at the start, in a new lap."""
        self.live.restart()
        if self.twin is not None:
            self.twin = self.live.twin(controlled=False)
        self.lap, self.step, self._debt, self._rest = self.lap + 1, 0, 0.0, 0.0
        self._before = self._states()
        self._record()

    def with_twin(self, wanted: bool) -> None:
        """Have an uncontrolled twin from now on, or none."""
        self.twin = self.live.twin(controlled=False) if wanted else None
        self._before = self._states()

    @property
    def share(self) -> float:
        """How far what is seen has come from the last state to the present one: all the way where steps are short."""
        if self.course.tick / self.speed <= SMOOTH or self._rest > 0.0:
            return 1.0
        return min(max(self._debt / self.course.tick, 0.0), 1.0)

    def seen(self) -> tuple[Array, Array | None]:
        """States (m,) to be drawn, of the one and its twin: between two steps where these are far apart in time."""
        (a, b), (z, y), share = self._before, self._states(), self.share
        if share == 1.0:
            return z, y
        blended = None if b is None or y is None else b + share * (y - b)
        return a + share * (z - a), blended

    def _stepped(self) -> None:
        self.live.step()
        self.step += 1
        if self.twin is not None:
            try:
                self.twin.step()
            except NotConverged:  # nobody steers it: it begins anew where the body is
                self.twin = self.live.twin(controlled=False)
        if self.step % self.course.substeps == 0:
            self._record()

    def _record(self) -> None:
        z, y = self._states()
        self.path[self.frame], self.efforts[self.frame] = z, self.live.gentleness
        self.other[self.frame] = z if y is None else y

    def _states(self) -> tuple[Array, Array | None]:
        state = self.course.state
        return state(self.live), None if self.twin is None else state(self.twin)
