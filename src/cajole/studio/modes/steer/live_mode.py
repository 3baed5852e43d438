"""What steering a body and steering a flow have in common: real time, control, dials, pushes, laps, undo."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from cajole.arrays import Array
from cajole.errors import InputError, NotConverged
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import Handler, Message, ModeHost, ModeSnapshot
from cajole.studio.modes.steer.messages import SteerStateMessage
from cajole.studio.modes.steer.pushes import AnyLocation, PushHandlers, pack_pushes
from cajole.studio.modes.steer.realtime_loop import RealtimeLoop
from cajole.studio.modes.steer.settings import CONTROLLER_OPTIONS, GHOST_KINDS, SteerModeSettings, update_settings
from cajole.studio.modes.steer.view_model import SteerViewModel, build_steer_state
from cajole.studio.modes.undo import UndoableMode, UndoHistory

SPEEDS = (0.25, 0.5, 1.0, 2.0)
# [s] that the meter looks back; and after a push until the tabs are told how it went
METER_WINDOW, RECOVERY_SECONDS = 7.0, 2.0
# [s] between two looks at the background while nothing moves
IDLE_POLL_INTERVAL = 0.1

AnySettings = TypeVar("AnySettings", bound=SteerModeSettings)
AnyController = TypeVar("AnyController", bound=Any)


class LiveSteerMode(
    UndoableMode[AnySettings], SteerViewModel[AnyLocation], Generic[AnySettings, AnyController, AnyLocation]
):
    """Something live that is steered. Whoever is one sets `settings`, `ghost` and `pushes`, then calls `begin`.

    chances: how often in a row it may be pushed too hard before it begins anew; at: what places of pushes are called;
    share: what the added force is a share of, where not of a weight; whom: what is brought back.
    """

    name = "steer"
    state_type = SteerStateMessage
    max_failures: ClassVar[int] = 2
    location_key: ClassVar[str] = "node"
    effort_unit: ClassVar[str | None] = None
    target_name: ClassVar[str] = "the body"
    realtime: RealtimeLoop[AnyController]
    settings: AnySettings
    push_handlers: PushHandlers[AnyLocation]
    ghost: str

    def __init__(self, host: ModeHost, content: ProjectContent):
        self.host, self.content, self.clock = host, content, time.monotonic
        self.history: UndoHistory[AnySettings] = UndoHistory()
        self.selected: list[int] = []
        self.shown_frame = 0
        self.recent_efforts: deque[tuple[float, float]] = deque()
        self.outcome_holds: bool | None = None
        self.tick_ms = 0.0
        self._failure_count, self._was_retuning, self._was_slow = 0, False, False
        self._report_push_at: float | None = None

    def start(self, realtime: RealtimeLoop[AnyController]) -> None:
        """Go, under the settings that there are."""
        self.realtime = realtime
        self.begin_lap()
        self.apply_settings(replace(self.settings, control=True, wind=0.0), self.settings)
        self.realtime.enable_uncontrolled_copy(self.ghost == "uncontrolled")
        self.host.end_job()

    # --- what differs

    @abstractmethod
    def begin_lap(self) -> None:
        """The motion begins anew."""

    def on_step(self) -> None:
        """A step was made."""

    @abstractmethod
    def evaluate_outcome(self) -> bool | None:
        """Whether what must happen holds after the step that was made; None while it is open."""

    @abstractmethod
    def show_states(self, state: Array, uncontrolled: Array | None) -> None:
        """Show what is seen of the live one, and beside it the twin, else the reference."""

    @abstractmethod
    def read_wind(self, message: Message) -> AnySettings:
        """The settings with the wind that a message asks for."""

    @abstractmethod
    def set_wind(self, settings: AnySettings) -> None:
        """Let that wind blow."""

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            **self.common_commands,
            "dials": self._update_settings,
            "control": self._set_control,
            "wind": lambda message: self.change_settings(self.read_wind(message), "set wind", join=True),
            "run": self._set_playback,
            "restart": lambda _: self._restart(),
            "ghost": self._set_ghost,
            **self.push_handlers.commands,
        }

    @property
    def time(self) -> float:
        """[s] of the clock since the start, at speed 1."""
        return float(self.realtime.controller.time)

    @property
    def frames(self) -> int:
        return self.realtime.frames

    @property
    def fps(self) -> float:
        return 1.0 / (self.realtime.setup.step_seconds * self.realtime.setup.substeps)

    def build_state(self) -> dict[str, Any]:
        return build_steer_state(self)

    def create_snapshot(self) -> ModeSnapshot:
        document = {
            "settings": vars(self.settings),
            "pushes": pack_pushes(self.push_handlers.records, self.location_key),
            "ghost": self.ghost,
        }
        return ModeSnapshot({**document, "selected": list(self.selected)})

    def close(self) -> None:
        self.realtime.controller.close()

    def list_controllers(self) -> list[AnyController]:
        """What is live and, where it has one, its twin."""
        return [live for live in (self.realtime.controller, self.realtime.uncontrolled) if live is not None]

    # --- time

    def get_tick_delay(self) -> float | None:
        if self.realtime.is_running:
            return self.realtime.get_tick_delay(self.clock())
        return IDLE_POLL_INTERVAL if self.realtime.controller.is_retuning or self._was_retuning else None

    def tick(self) -> None:
        """Go on to where the clock is, and show it."""
        begin, lap = time.perf_counter(), self.realtime.lap
        owed = self.realtime.count_due_steps(self.clock())
        if self.realtime.lap != lap:  # the end was looked at for long enough
            self.begin_lap()
        self._advance(owed)
        self.push_handlers.expire_active()
        state, twin = self.realtime.interpolate_states()
        if self.realtime.is_running:
            self.show_states(state, twin)
            self.tick_ms = 1e3 * (time.perf_counter() - begin)
            self.host.broadcast(self.build_pulse(state))
        self._send_status_changes()

    def _advance(self, steps: int) -> None:
        drive = self.realtime
        while steps > 0:
            try:
                done = drive.advance(steps, self._on_step)
            except NotConverged as error:
                self._handle_divergence(error)
                return
            self._failure_count = 0 if done else self._failure_count
            if not drive.is_lap_over:
                return
            drive.end_lap()
            if drive.setup.loop:
                self.begin_lap()
            self.host.record_change(frames_changed=True)
            steps = steps - done if drive.setup.loop else 0

    def _on_step(self) -> None:
        """After every step: what it took is remembered, and whether what must happen did."""
        self.recent_efforts.append((self.time, self.realtime.controller.gentleness))
        while self.recent_efforts[0][0] < self.time - METER_WINDOW:
            self.recent_efforts.popleft()
        self.on_step()
        good = self.evaluate_outcome()
        if good != self.outcome_holds:
            self.outcome_holds = good
            self.host.record_change(frames_changed=False)

    def _handle_divergence(self, error: NotConverged) -> None:
        """It stands where it was; when it cannot go on from there, it begins anew."""
        self.push_handlers.discard_active()
        self._failure_count += 1
        text, _, remedy = str(error).partition("; ")
        if self._failure_count < self.max_failures:
            said = f"{text}. It goes on from where it was; {remedy or 'push less'}."
        else:
            self._restart()
            said = f"{text}. It begins anew; {remedy or 'push less, or switch control on'}."
        self.host.broadcast({"is": "notice", "tone": "warn", "title": "Pushed too hard", "text": said})
        self.host.record_change(frames_changed=False)

    def _send_status_changes(self) -> None:
        """What tabs do not see by themselves: that gains are ready, how a push ended, that the machine is slow."""
        retuning, slow = self.realtime.controller.is_retuning, self.realtime.realtime_fraction is not None
        due = self._report_push_at is not None and self.time >= self._report_push_at
        if retuning != self._was_retuning or slow != self._was_slow or due:
            self._report_push_at = None if due else self._report_push_at
            self._was_retuning, self._was_slow = retuning, slow
            self.host.record_change(frames_changed=False)

    # --- what messages do

    def on_push(self) -> None:
        """A push was made: tabs are told at once, and again when its end is known."""
        self._report_push_at = self.time + RECOVERY_SECONDS
        self.host.record_change(frames_changed=False)

    def _update_settings(self, message: Message) -> None:
        names = " and ".join(name for name in CONTROLLER_OPTIONS if name in message)
        self.change_settings(update_settings(self.settings, message), f"set {names}", join=True)

    def _set_control(self, message: Message) -> None:
        on = message_values.read_flag(message, "on")
        self.change_settings(replace(self.settings, control=on), f"control {'on' if on else 'off'}")

    def _set_playback(self, message: Message) -> None:
        speed = message_values.read_number(message, "speed", SPEEDS[0], SPEEDS[-1])
        if speed not in SPEEDS:
            raise InputError(f"speed of run is {speed:g}, but must be one of {', '.join(f'{s:g}' for s in SPEEDS)}")
        play = message_values.read_flag(message, "play")
        self.realtime.speed = speed
        if play:
            self.realtime.is_running = True
        else:
            self.realtime.pause()
        self.host.record_change(frames_changed=False)

    def _restart(self) -> None:
        self.push_handlers.end_active()
        self.realtime.restart()
        self.begin_lap()
        self.outcome_holds = None
        self.show_states(*self.realtime.interpolate_states())
        self.host.record_change()

    def _set_ghost(self, message: Message) -> None:
        self.ghost = message_values.read_choice(message, "of", GHOST_KINDS)
        self.realtime.enable_uncontrolled_copy(self.ghost == "uncontrolled")
        self.show_states(*self.realtime.interpolate_states())
        self.host.record_change()

    # --- settings

    def change_settings(self, new: AnySettings, label: str, *, join: bool = False) -> None:
        """One step of undo; join: it goes on what was just done under the same name, as a slider in the hand does."""
        before = self.settings
        if new == before:
            return
        self.apply_settings(before, new)
        self.history.record(label, before, join=join)
        self.settings = new
        self.host.record_change(label, frames_changed=False)

    def capture_state(self) -> AnySettings:
        return self.settings

    def restore_state(self, state: AnySettings) -> None:
        self.apply_settings(self.settings, state)
        self.settings = state
        self.host.record_change(frames_changed=False)

    def apply_settings(self, before: AnySettings, new: AnySettings) -> None:
        """Have what is live follow other settings. Raises InputError for dials that `steer` refuses, before any
        change."""
        if new.controller_options != before.controller_options:
            self.realtime.controller.retune(**new.controller_options)
            self._was_retuning = True
        self.realtime.controller.controlled = new.control
        if new.wind_key != before.wind_key:
            self.set_wind(new)
