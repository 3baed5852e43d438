"""A controller in real time: steps that are due, states between steps, and the records of a lap."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from cajole.arrays import Array
from cajole.errors import NotConverged


class LiveController(Protocol):
    """A controller that is stepped in real time."""

    @property
    def gentleness(self) -> float: ...
    def step(self, count: int = 1) -> None: ...
    def restart(self) -> None: ...
    def copy(self, *, controlled: bool) -> Self: ...


AnyController = TypeVar("AnyController", bound=LiveController)


@dataclass(frozen=True)
class RealtimeOptions:
    """Limits of a real-time loop."""

    display_rate: float = 60.0  # [Hz] of ticks
    max_step_seconds: float = 0.03  # computation per tick; time beyond it is dropped, never caught up with
    max_catch_up: float = 0.1  # [s] between two ticks that are made up for; more was a pause of the machine
    max_unblended_step: float = 1 / 50  # [s] of the clock; states of longer steps are interpolated
    end_pause: float = 0.8  # [s] for which the end of a motion is shown, if it is no loop
    slow_threshold: float = 0.9  # fraction of real time below which the machine counts as slow
    slow_averaging_ticks: int = 60  # over which that fraction is averaged


@dataclass(frozen=True, eq=False)
class LapSetup(Generic[AnyController]):
    """Steps of a lap, steps per frame, and whether it repeats; step_seconds: duration of a step on the clock.

    reference_states: (frames, m) of an undisturbed lap; get_state: state (m,) of a controller, which may be
    interpolated.
    """

    steps: int
    substeps: int
    loop: bool
    step_seconds: float
    reference_states: Array
    get_state: Callable[[AnyController], Array]


class RealtimeLoop(Generic[AnyController]):
    """A controller and, when wanted, an uncontrolled copy that gets the same pushes and winds.

    step: position in the lap (0..steps); lap: counted from 1; lap_states (frames, m), lap_efforts (frames,): of the
    present lap up to `step`, of the one before after it; uncontrolled_states: of the copy; clock: measures the time
    that a tick spends on steps [s].
    """

    def __init__(self, controller: AnyController, setup: LapSetup[AnyController]):
        self.controller, self.setup, self.clock = controller, setup, time.perf_counter
        self.options = RealtimeOptions()
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
        """Frames of a lap."""
        return len(self.lap_states)

    @property
    def frame(self) -> int:
        """Present frame of the time line."""
        return min(self.step // self.setup.substeps, self.frames - 1)

    @property
    def realtime_fraction(self) -> float | None:
        """Speed of a slow machine as a fraction of real time, None if it keeps up."""
        return self._realtime_factor if self._realtime_factor < self.options.slow_threshold else None

    @property
    def is_lap_over(self) -> bool:
        """True at the last step, until `end_lap` is called."""
        return self.step == self.setup.steps and self._remaining_pause <= 0.0

    def get_tick_delay(self, now: float) -> float:
        """Seconds until the next tick."""
        return 0.0 if self._last_tick is None else max(0.0, self._last_tick + 1 / self.options.display_rate - now)

    def count_due_steps(self, now: float) -> int:
        """Steps that are due at a time [s]; restarts the motion at the end of the pause."""
        elapsed = 0.0
        if self._last_tick is not None:
            elapsed = self.speed * min(now - self._last_tick, self.options.max_catch_up)
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
        """Stop; the clock starts again when the loop goes on."""
        self.is_running, self._last_tick = False, None

    def advance(self, count: int, on_step: Callable[[], None]) -> int:
        """Make up to `count` steps, as time allows and at most to the end of the lap; returns their number.

        on_step: called after each step. Raises NotConverged if pushes are too hard; the controller then stands where
        it was, without pushes.
        """
        seconds, begin, done, limit = self.setup.step_seconds, self.clock(), 0, self.options.max_step_seconds
        while done < count and self.clock() - begin < limit:
            self._previous_states = self._get_states()
            self._unspent_time -= seconds
            self.controller.step()
            self.step += 1
            if self.uncontrolled is not None:
                try:
                    self.uncontrolled.step()
                except NotConverged:  # without control it may diverge: it starts again from the controlled state
                    self.uncontrolled = self.controller.copy(controlled=False)
            if self.step % self.setup.substeps == 0:
                self._record_frame()
            on_step()
            done += 1
            if self.step == self.setup.steps:
                break
        if done < count and self.step < self.setup.steps:
            self._unspent_time = 0.0
        if count:
            fraction = done / count if self.step < self.setup.steps else 1.0
            self._realtime_factor += (fraction - self._realtime_factor) / self.options.slow_averaging_ticks
        return done

    def end_lap(self) -> None:
        """Go on to the next lap of a loop; another motion pauses at its end."""
        self.last_lap_states = self.lap_states.copy()
        if self.setup.loop:
            self.lap, self.step = self.lap + 1, 0
            self._record_frame()
        else:
            self._remaining_pause, self._unspent_time = self.options.end_pause, 0.0

    def restart(self) -> None:
        """Start a new lap from the initial state."""
        self.controller.restart()
        if self.uncontrolled is not None:
            self.uncontrolled = self.controller.copy(controlled=False)
        self.lap, self.step, self._unspent_time, self._remaining_pause = self.lap + 1, 0, 0.0, 0.0
        self._previous_states = self._get_states()
        self._record_frame()

    def enable_uncontrolled_copy(self, enabled: bool) -> None:
        """Create or remove the uncontrolled copy."""
        self.uncontrolled = self.controller.copy(controlled=False) if enabled else None
        self._previous_states = self._get_states()

    @property
    def blend_fraction(self) -> float:
        """Position of the shown state between the last two steps: 1 where steps are short."""
        seconds = self.setup.step_seconds
        if seconds / self.speed <= self.options.max_unblended_step or self._remaining_pause > 0.0:
            return 1.0
        return min(max(self._unspent_time / seconds, 0.0), 1.0)

    def interpolate_states(self) -> tuple[Array, Array | None]:
        """States (m,) to draw, of the controller and its uncontrolled copy."""
        (a, b), (z, y), share = self._previous_states, self._get_states(), self.blend_fraction
        if share == 1.0:
            return z, y
        return a + share * (z - a), None if b is None or y is None else b + share * (y - b)

    def _record_frame(self) -> None:
        z, y = self._get_states()
        self.lap_states[self.frame], self.lap_efforts[self.frame] = z, self.controller.gentleness
        self.uncontrolled_states[self.frame] = z if y is None else y

    def _get_states(self) -> tuple[Array, Array | None]:
        state = self.setup.get_state
        return state(self.controller), None if self.uncontrolled is None else state(self.uncontrolled)
