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
DISPLAY_RATE, MAX_STEP_SECONDS = 60.0, 0.03
# Of what passes between two ticks so much is made up for at most [s]: the rest was a pause of the machine.
MAX_CATCH_UP = 0.1
# Steps longer than this [s] of the clock are blended, so that motion stays smooth.
MAX_UNBLENDED_STEP = 1 / 50
# How long the end of a motion that is no loop is looked at [s].
END_PAUSE = 0.8
# What a step at this share of real time or below is worth a word; over how many ticks it is measured.
SLOW_THRESHOLD, SLOW_AVERAGING_TICKS = 0.9, 60


class LiveController(Protocol):
    """A controller in live use."""

    @property
    def gentleness(self) -> float: ...
    def step(self, count: int = 1) -> None: ...
    def restart(self) -> None: ...
    def copy(self, *, controlled: bool) -> Self: ...


AnyController = TypeVar("AnyController", bound=LiveController)


@dataclass(frozen=True, eq=False)
class LapSetup(Generic[AnyController]):
    """What a lap is: how many steps, how many of them to a frame, whether it goes on and on.

    tick: what a step takes of the clock [s]; states: (frames, m) of an undisturbed lap; state: what is seen of a live
    one (m,), of which something between two is as good.
    """

    steps: int
    substeps: int
    loop: bool
    step_seconds: float
    reference_states: Array
    get_state: Callable[[AnyController], Array]


class RealtimeLoop(Generic[AnyController]):
    """What is controlled and, when wanted, its uncontrolled twin; both get the same pushes and winds.

    step: how far into the lap (0..T); lap: counted from 1; path, efforts: states (frames, m) and feedback of the
    present lap, where it has come, and of the one before it elsewhere; other: the twin's states; clock: measures what a
    tick spends on steps [s].
    """

    def __init__(self, controller: AnyController, setup: LapSetup[AnyController]):
        self.controller, self.setup, self.clock = controller, setup, time.perf_counter
        self.uncontrolled: AnyController | None = None
        self.lap, self.step = 1, 0
        self.speed, self.is_running = 1.0, True
        self.lap_states = setup.reference_states.copy()
        self.uncontrolled_states, self.lap_efforts = self.lap_states.copy(), np.zeros(len(self.lap_states))
        self.last_lap_states: Array | None = None
        self._unspent_time, self._remaining_pause = 0.0, 0.0
        self._last_tick: float | None = None
        self._previous_states = self._get_states()
        self._realtime_factor = 1.0

    @property
    def frames(self) -> int:
        """Of a lap."""
        return len(self.lap_states)

    @property
    def frame(self) -> int:
        """Of the time line."""
        return min(self.step // self.setup.substeps, self.frames - 1)

    @property
    def realtime_fraction(self) -> float | None:
        """At which share of real time the machine follows, None where it keeps up."""
        return self._realtime_factor if self._realtime_factor < SLOW_THRESHOLD else None

    def get_tick_delay(self, now: float) -> float:
        """Seconds until the next picture."""
        return 0.0 if self._last_tick is None else max(0.0, self._last_tick + 1 / DISPLAY_RATE - now)

    def count_due_steps(self, now: float) -> int:
        """Steps to be made by now [s]."""
        elapsed = 0.0 if self._last_tick is None else self.speed * min(now - self._last_tick, MAX_CATCH_UP)
        self._last_tick = now
        if not self.is_running:
            return 0
        if self._remaining_pause > 0.0:
            self._remaining_pause -= elapsed
            if self._remaining_pause <= 0.0:
                self.restart()
            return 0
        self._unspent_time += elapsed
        return int(self._unspent_time / self.setup.step_seconds)

    def pause(self) -> None:
        """Stand still; the clock begins anew when it goes on."""
        self.is_running, self._last_tick = False, None

    def advance(self, count: int, on_step: Callable[[], None]) -> int:
        """Make so many steps, or as many as there is time for, at most to the end of the lap; how many they were.

        after: called after each of them.
        Raises NotConverged when the body is pushed too hard; it then stands where it was, and the pushes are over.
        """
        tick, begin, done = self.setup.step_seconds, self.clock(), 0
        while done < count and self.clock() - begin < MAX_STEP_SECONDS:
            self._previous_states = self._get_states()
            self._unspent_time -= tick
            self._step_once()
            on_step()
            done += 1
            if self.step == self.setup.steps:
                break
        if done < count and self.step < self.setup.steps:
            self._unspent_time = 0.0
        if count:
            share = done / count if self.step < self.setup.steps else 1.0
            self._realtime_factor += (share - self._realtime_factor) / SLOW_AVERAGING_TICKS
        return done

    def end_lap(self) -> None:
        """The last frame was reached: a loop goes on, what is none is looked at for a while, and begins anew."""
        self.last_lap_states = self.lap_states.copy()
        if self.setup.loop:
            self.lap, self.step = self.lap + 1, 0
            self._record_frame()
        else:
            self._remaining_pause, self._unspent_time = END_PAUSE, 0.0

    @property
    def is_lap_over(self) -> bool:
        """Whether the lap is over."""
        return self.step == self.setup.steps and self._remaining_pause <= 0.0

    def restart(self) -> None:
        """Stand at the start, in a new lap."""
        self.controller.restart()
        if self.uncontrolled is not None:
            self.uncontrolled = self.controller.copy(controlled=False)
        self.lap, self.step, self._unspent_time, self._remaining_pause = self.lap + 1, 0, 0.0, 0.0
        self._previous_states = self._get_states()
        self._record_frame()

    def enable_uncontrolled_copy(self, enabled: bool) -> None:
        """Have an uncontrolled twin from now on, or none."""
        self.uncontrolled = self.controller.copy(controlled=False) if enabled else None
        self._previous_states = self._get_states()

    @property
    def blend_fraction(self) -> float:
        """How far what is seen has come from the last state to the present one: all the way where steps are short."""
        if self.setup.step_seconds / self.speed <= MAX_UNBLENDED_STEP or self._remaining_pause > 0.0:
            return 1.0
        return min(max(self._unspent_time / self.setup.step_seconds, 0.0), 1.0)

    def interpolate_states(self) -> tuple[Array, Array | None]:
        """States (m,) to be drawn, of the one and its twin: between two steps where these are far apart in time."""
        (a, b), (z, y), share = self._previous_states, self._get_states(), self.blend_fraction
        if share == 1.0:
            return z, y
        blended = None if b is None or y is None else b + share * (y - b)
        return a + share * (z - a), blended

    def _step_once(self) -> None:
        self.controller.step()
        self.step += 1
        if self.uncontrolled is not None:
            try:
                self.uncontrolled.step()
            except NotConverged:  # nobody steers it: it begins anew where the body is
                self.uncontrolled = self.controller.copy(controlled=False)
        if self.step % self.setup.substeps == 0:
            self._record_frame()

    def _record_frame(self) -> None:
        z, y = self._get_states()
        self.lap_states[self.frame], self.lap_efforts[self.frame] = z, self.controller.gentleness
        self.uncontrolled_states[self.frame] = z if y is None else y

    def _get_states(self) -> tuple[Array, Array | None]:
        state = self.setup.get_state
        return state(self.controller), None if self.uncontrolled is None else state(self.uncontrolled)
