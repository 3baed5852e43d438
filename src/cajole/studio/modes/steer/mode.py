"""Steer, for bodies and flows: real time, control, settings, pushes, laps, undo, and the state for the page."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from cajole.arrays import Array
from cajole.errors import InputError, NotConverged
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import Handler, Message, ModeHost, ModeSnapshot
from cajole.studio.modes.payloads import (
    build_force_lanes,
    build_lane,
    build_marker,
    build_selected_vertex,
    format_percent,
    to_rounded_list,
)
from cajole.studio.modes.settings import update_settings
from cajole.studio.modes.steer.force_arrows import NEGLIGIBLE_FORCE
from cajole.studio.modes.steer.messages import SteerStateMessage
from cajole.studio.modes.steer.pushes import (
    ActivePush,
    AnyLocation,
    Force,
    PushRecord,
    pack_pushes,
    unpack_pushes,
)
from cajole.studio.modes.steer.realtime_loop import RealtimeLoop
from cajole.studio.modes.steer.settings import CONTROLLER_OPTIONS, SteerModeSettings
from cajole.studio.modes.undo import UndoableMode

GHOST_KINDS = ("reference", "uncontrolled")
# Longest push [s]: one that is held ends then by itself, because its tab may be gone.
MAX_PUSH_SECONDS = 20.0

AnySettings = TypeVar("AnySettings", bound=SteerModeSettings)
AnyController = TypeVar("AnyController", bound=Any)


class SteerMode(UndoableMode[AnySettings], Generic[AnySettings, AnyController, AnyLocation]):
    """A controller in real time. Subclasses set `settings`, restore a snapshot, and call `start`.

    location_key: name of a push's location in messages; effort_unit: what the added force is a fraction of, None for
    the body's weight; target_name: what is steered; max_failures: pushes in a row that are too hard until the motion
    starts again; max_listed_pushes, max_push_markers: older pushes are forgotten, or not drawn.
    """

    name = "steer"
    state_type = SteerStateMessage
    location_key: ClassVar[str] = "node"
    effort_unit: ClassVar[str | None] = None
    target_name: ClassVar[str] = "the body"
    max_failures: ClassVar[int] = 2
    max_listed_pushes, max_push_markers = 50, 24
    realtime: RealtimeLoop[AnyController]
    settings: AnySettings

    def __init__(self, host: ModeHost, content: ProjectContent):
        super().__init__(host, content)
        self.clock = time.monotonic
        self.ghost = "reference"
        self.pushes: tuple[PushRecord[AnyLocation], ...] = ()
        self.active_push: ActivePush[AnyLocation] | None = None
        self.outcome_holds: bool | None = None
        self._recent_efforts: deque[tuple[float, float]] = deque()
        self._tick_ms = 0.0
        self._failure_count, self._was_retuning, self._was_slow = 0, False, False
        self._report_push_at: float | None = None

    def restore_snapshot(self, snapshot: ModeSnapshot, vertex_count: int) -> None:
        """Restore settings, ghost, selection and pushes. Raises InputError for those of another body or flow."""
        document = snapshot.document
        try:
            values = {each.name: document["settings"][each.name] for each in fields(self.settings)}
            self.settings = update_settings(self.settings, values)
            self.ghost = message_values.read_choice(document, "ghost", GHOST_KINDS)
            self.selected = message_values.read_vertices(document, "selected", vertex_count, min_count=0)
            self.pushes = unpack_pushes(document["pushes"], self.read_saved_location)
        except (KeyError, TypeError, ValueError) as reason:
            raise InputError(f"what was saved of the steering cannot be read ({reason}); open the scene anew") from None

    def start(self, realtime: RealtimeLoop[AnyController]) -> None:
        """Start the motion with the present settings."""
        self.realtime = realtime
        self.begin_lap()
        settings, self.settings = self.settings, replace(self.settings, control=True, wind=0.0)
        self.restore_fields(settings)
        self.realtime.enable_uncontrolled_copy(self.ghost == "uncontrolled")
        self.host.end_job()

    # --- hooks for bodies and flows

    @abstractmethod
    def begin_lap(self) -> None:
        """Called when the motion starts again."""

    def on_step(self) -> None:
        """Called after each step."""

    @abstractmethod
    def evaluate_outcome(self) -> bool | None:
        """True if the wanted outcome holds after a step, None while it is open."""

    @abstractmethod
    def describe_outcome(self) -> dict[str, Any] | None:
        """Wanted outcome and whether it holds, None without one."""

    @abstractmethod
    def draw_states(self, states: Array) -> Array:
        """Drawn vertices (..., k, 3) [m] of states (..., m)."""

    @abstractmethod
    def compute_reference_state(self, state: Array) -> Array:
        """State (m,) of the reference at the time of a live one."""

    @abstractmethod
    def compute_vertex_path(self, node: int, states: Array) -> Array:
        """Positions (frames, 3) [m] of a vertex or particle in states (frames, m)."""

    @abstractmethod
    def describe_moment(self, state: Array, push: PushRecord[AnyLocation] | None) -> dict[str, Any]:
        """Error, whether it is outside the linear range, position of the acting push, and arrows, for the pulse."""

    @abstractmethod
    def describe_push(self, push: PushRecord[AnyLocation]) -> tuple[str, dict[str, Any]]:
        """Strength and location in words, and the location for the page."""

    @abstractmethod
    def describe_model(self) -> dict[str, Any]:
        """Model and notes for the panel."""

    @property
    @abstractmethod
    def trails(self) -> list[dict[str, Any]]:
        """Trails over one lap."""

    @abstractmethod
    def read_location(self, message: Message) -> AnyLocation:
        """Location of a push in a message. Raises InputError for one that does not exist."""

    @abstractmethod
    def read_saved_location(self, document: Mapping[str, Any]) -> AnyLocation:
        """Location of a push in a saved project. Raises InputError for one that does not exist."""

    @abstractmethod
    def apply_push(self, location: AnyLocation, force: Force, duration: float) -> None:
        """Push all controllers for a duration [s]."""

    @abstractmethod
    def sustain_push(self, location: AnyLocation, force: Force | None) -> None:
        """Push all controllers until the next call; None ends it."""

    @abstractmethod
    def read_wind(self, message: Message) -> AnySettings:
        """The settings with the wind of a message."""

    @abstractmethod
    def set_wind(self, settings: AnySettings) -> None:
        """Set the wind of all controllers."""

    # --- interface of the project

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
            "push.begin": self._begin_push,
            "push.move": self._move_push,
            "push.end": self._end_push,
            "impulse": self._apply_impulse,
            "push.repeat": self._repeat_push,
            "marker.delete": self._delete_pushes,
        }

    @property
    def time(self) -> float:
        """Time [s] since the start, at speed 1."""
        return float(self.realtime.controller.time)

    @property
    def frames(self) -> int:
        return self.realtime.frames

    @property
    def fps(self) -> float:
        return 1.0 / (self.realtime.setup.step_seconds * self.realtime.setup.substeps)

    def compute_live_vertices(self, frame: int) -> Array:
        self.current_frame = frame
        return self.draw_states(self.realtime.interpolate_states()[0])

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        loop = self.realtime
        streams = {"given": loop.setup.reference_states, "result": loop.lap_states, "other": loop.uncontrolled_states}
        return self.draw_states(streams[stream][frame])

    def create_snapshot(self) -> ModeSnapshot:
        return ModeSnapshot(
            {
                "settings": asdict(self.settings),
                "pushes": pack_pushes(self.pushes, self.location_key),
                "ghost": self.ghost,
                "selected": list(self.selected),
            }
        )

    def close(self) -> None:
        self.realtime.controller.close()

    def list_controllers(self) -> list[AnyController]:
        """The controller and, where there is one, its uncontrolled copy."""
        return [live for live in (self.realtime.controller, self.realtime.uncontrolled) if live is not None]

    # --- state for the page

    def build_state(self) -> dict[str, Any]:
        settings, loop, setup = self.settings, self.realtime, self.realtime.setup
        state = loop.interpolate_states()[0]
        reference = self.compute_reference_state(state)
        selection = []
        for node in self.selected:
            position, given = (self.compute_vertex_path(node, each[None])[0] for each in (state, reference))
            selection.append(build_selected_vertex(self.content, node, position, given, fixed=self.is_fixed(node)))
        has_effort = bool((loop.lap_efforts > NEGLIGIBLE_FORCE).any())
        peak_time, peak = max(self._recent_efforts, key=lambda each: each[1], default=(0.0, 0.0))
        meter = {
            "share": loop.controller.gentleness,
            "peak": peak,
            "frame": None,
            "curve": to_rounded_list(loop.lap_efforts) if has_effort else None,
            "cure": self._describe_peak(peak_time, peak),
        }
        model = self.describe_model()
        notes = list(model.pop("notes", []))
        if loop.realtime_fraction is not None:
            percent = f"{100 * loop.realtime_fraction:.0f} %"
            notes.append(f"This machine follows at {percent} of real time: choose a slower speed.")
        return {
            "lanes": [*self._build_lanes(), *(build_force_lanes(loop.lap_efforts) if has_effort else [])],
            "meter": meter if self.effort_unit is None else {**meter, "of": self.effort_unit},
            "selection": selection,
            "trails": self.trails,
            "labels": {"now": "Live" if loop.is_running else "Paused", "result": "Last lap"},
            **self.build_history_state(),
            "steer": {
                "control": settings.control,
                **settings.controller_options,
                "retuning": loop.controller.is_retuning,
                "wind": {"strength": settings.wind, "pace": settings.pace},
                "running": loop.is_running,
                "speed": loop.speed,
                "dt": setup.step_seconds,
                "steps": setup.steps,
                "loop": setup.loop,
                "pushes": [
                    {
                        "id": push.id,
                        "time": push.time,
                        "frame": push.frame,
                        "force": list(push.force),
                        "strength": push.strength,
                        "duration": push.duration,
                        **self.describe_push(push)[1],
                    }
                    for push in self.pushes
                ],
                "ghost": self.ghost,
                "outcome": self.describe_outcome(),
                **model,
                "notes": notes,
            },
        }

    def is_fixed(self, node: int) -> bool:
        """True for a fixed vertex."""
        return False

    def _build_lanes(self) -> list[dict[str, Any]]:
        recent = [push for push in self.pushes if push.frame < self.frames][-self.max_push_markers :]
        pushes = [
            build_marker(push.id, push.frame, self.describe_push(push)[0], detail=f"{push.duration:.2f} s")
            | {"movable": False}
            for push in recent
        ]
        on = self.settings.control
        control = build_marker("control", 0, "on" if on else "off", end=self.frames - 1, hollow=not on)
        return [
            build_lane("pushes", "Pushes", "triangle", "world", pushes),
            build_lane("control", "Control", "bar", "asked" if on else "quiet", [control | {"movable": False}]),
        ]

    def _describe_peak(self, peak_time: float, peak: float) -> str | None:
        """The greatest effort of the last seconds, and how to lower it."""
        if not self.settings.control:
            return f"Control is off: nothing brings {self.target_name} back."
        if peak <= NEGLIGIBLE_FORCE:
            return None
        cause = next((push for push in reversed(self.pushes) if push.time <= peak_time), None)
        reason = "" if cause is None else f" while recovering from the push at {cause.time:.1f} s"
        return f"Peak {format_percent(peak)}{reason}. Raise effort to recover more gently."

    def _send_pulse(self, state: Array) -> None:
        now, outcome = self.time, self.describe_outcome()
        acting = None if self.active_push is None else self.active_push.push
        if acting is None:
            acting = next((p for p in reversed(self.pushes) if p.time <= now < p.time + p.duration), None)
        pulse = {
            "is": "pulse",
            "time": now,
            "lap": self.realtime.lap,
            "frame": self.realtime.frame,
            "effort": self.realtime.controller.gentleness,
            "ms": self._tick_ms,
            "push": None if acting is None else list(acting.force),
            **self.describe_moment(state, acting),
        }
        self.host.broadcast(pulse if outcome is None else {**pulse, "outcome": outcome})

    # --- time

    def get_tick_delay(self) -> float | None:
        if self.realtime.is_running:
            return self.realtime.get_tick_delay(self.clock())
        # while nothing moves, the end of retuning in the background is looked for
        return 0.1 if self.realtime.controller.is_retuning or self._was_retuning else None

    def tick(self) -> None:
        """Advance to the time of the clock, and show the state."""
        begin, lap = time.perf_counter(), self.realtime.lap
        due = self.realtime.count_due_steps(self.clock())
        if self.realtime.lap != lap:  # the pause at the end is over
            self.begin_lap()
        self._advance(due)
        push = self.active_push
        if push is not None and self.time - push.push.time > MAX_PUSH_SECONDS:
            self._end_active_push()
        state, uncontrolled = self.realtime.interpolate_states()
        if self.realtime.is_running:
            self._show_states(state, uncontrolled)
            self._tick_ms = 1e3 * (time.perf_counter() - begin)
            self._send_pulse(state)
        # tabs do not see by themselves that gains are ready, how a push ended, and that the machine is slow
        retuning, slow = self.realtime.controller.is_retuning, self.realtime.realtime_fraction is not None
        has_report = self._report_push_at is not None and self.time >= self._report_push_at
        if retuning != self._was_retuning or slow != self._was_slow or has_report:
            self._report_push_at = None if has_report else self._report_push_at
            self._was_retuning, self._was_slow = retuning, slow
            self.host.record_change(frames_changed=False)

    def _advance(self, steps: int) -> None:
        loop = self.realtime
        while steps > 0:
            try:
                done = loop.advance(steps, self._on_step)
            except NotConverged as error:
                self._handle_divergence(error)
                return
            self._failure_count = 0 if done else self._failure_count
            if not loop.is_lap_over:
                return
            loop.end_lap()
            if loop.setup.loop:
                self.begin_lap()
            self.host.record_change(frames_changed=True)
            steps = steps - done if loop.setup.loop else 0

    def _on_step(self) -> None:
        self._recent_efforts.append((self.time, self.realtime.controller.gentleness))
        while self._recent_efforts[0][0] < self.time - 7.0:  # the meter looks back 7 s
            self._recent_efforts.popleft()
        self.on_step()
        outcome = self.evaluate_outcome()
        if outcome != self.outcome_holds:
            self.outcome_holds = outcome
            self.host.record_change(frames_changed=False)

    def _handle_divergence(self, error: NotConverged) -> None:
        """The controller has stopped all pushes and stands where it was; after repeated failures, restart."""
        self.active_push, now = None, self.time
        self.pushes = tuple(
            replace(push, duration=max(min(push.duration, now - push.time), 0.0)) for push in self.pushes
        )
        self._failure_count += 1
        text, _, remedy = str(error).partition("; ")
        if self._failure_count < self.max_failures:
            text = f"{text}. It goes on from where it was; {remedy or 'push less'}."
        else:
            self._restart()
            text = f"{text}. It begins anew; {remedy or 'push less, or switch control on'}."
        self.warn("Pushed too hard", text)
        self.host.record_change(frames_changed=False)

    def _show_states(self, state: Array, uncontrolled: Array | None) -> None:
        ghost = self.compute_reference_state(state) if uncontrolled is None else uncontrolled
        self.host.show_live_frame(self.draw_states(state), frame=self.current_frame, ghost=self.draw_states(ghost))

    def _restart(self) -> None:
        self._end_active_push()
        self.realtime.restart()
        self.begin_lap()
        self.outcome_holds = None
        self._show_states(*self.realtime.interpolate_states())
        self.host.record_change()

    def _set_playback(self, message: Message) -> None:
        speeds = (0.25, 0.5, 1.0, 2.0)
        speed = message_values.read_number(message, "speed", speeds[0], speeds[-1])
        if speed not in speeds:
            raise InputError(f"speed of run is {speed:g}, but must be one of {', '.join(f'{s:g}' for s in speeds)}")
        play = message_values.read_flag(message, "play")
        self.realtime.speed = speed
        if play:
            self.realtime.is_running = True
        else:
            self.realtime.pause()
        self.host.record_change(frames_changed=False)

    def _set_ghost(self, message: Message) -> None:
        self.ghost = message_values.read_choice(message, "of", GHOST_KINDS)
        self.realtime.enable_uncontrolled_copy(self.ghost == "uncontrolled")
        self._show_states(*self.realtime.interpolate_states())
        self.host.record_change()

    # --- pushes

    def _begin_push(self, message: Message) -> None:
        self._end_active_push()  # its tab may have been closed during a push
        location, frame = self.read_location(message), self.realtime.frame
        push = PushRecord(self._get_next_number(), self.time, frame, location, (0.0, 0.0, 0.0), 0.0)
        self.active_push = ActivePush(message_values.read_integer(message, "gesture"), push)

    def _move_push(self, message: Message) -> None:
        active, force = self._require_active_push(message), _read_force(message)
        message_values.read_integer(message, "seq")
        self.sustain_push(active.push.location, force)
        # the record keeps the greatest force
        if np.linalg.norm(force) >= active.push.strength:
            active.push = replace(active.push, force=force)

    def _end_push(self, message: Message) -> Mapping[str, Any]:
        active = self._require_active_push(message)
        self._end_active_push()
        return {"push": active.push.id}

    def _end_active_push(self) -> None:
        """End the push that is held, and list it if it had any effect."""
        active, self.active_push = self.active_push, None
        if active is None:
            return
        self.sustain_push(active.push.location, None)
        duration = self.time - active.push.time
        if active.push.strength > 0 and duration > 0:
            self._record_push(replace(active.push, duration=duration))

    def _require_active_push(self, message: Message) -> ActivePush[AnyLocation]:
        gesture = message_values.read_integer(message, "gesture")
        if self.active_push is None or self.active_push.gesture != gesture:
            raise InputError(f"no push {gesture} is under way; press on it to begin one")
        return self.active_push

    def _apply_impulse(self, message: Message) -> Mapping[str, Any]:
        location, force = self.read_location(message), _read_force(message)
        # one step, but at least a 30th of a second: shorter impulses have the same effect, only harder
        duration = max(1 / 30, self.realtime.setup.step_seconds)
        if message.get("duration") is not None:
            duration = message_values.read_number(message, "duration", 1e-3, MAX_PUSH_SECONDS)
        return self.push_and_record(location, force, duration)

    def _repeat_push(self, message: Message) -> Mapping[str, Any]:
        if not self.pushes:
            raise InputError("there is no push to repeat; press on it and drag")
        last = self.pushes[-1]
        return self.push_and_record(last.location, last.force, last.duration)

    def push_and_record(self, location: AnyLocation, force: Force, duration: float) -> Mapping[str, Any]:
        """Push for a duration [s]; answers the id of the push."""
        self.apply_push(location, force, duration)
        push = PushRecord(self._get_next_number(), self.time, self.realtime.frame, location, force, duration)
        self._record_push(push)
        return {"push": push.id}

    def _record_push(self, push: PushRecord[AnyLocation]) -> None:
        self.pushes = (*self.pushes, push)[-self.max_listed_pushes :]
        self._report_push_at = self.time + 2.0  # tabs get the state again when the recovery is known
        self.host.record_change(frames_changed=False)

    def _get_next_number(self) -> int:
        return 1 + max((push.number for push in self.pushes), default=0)

    def _delete_pushes(self, message: Message) -> None:
        message_values.read_choice(message, "lane", ("pushes",))
        ids, known = set(message_values.read_texts(message, "ids")), {push.id for push in self.pushes}
        if ids - known:
            raise InputError(f"there is no push {min(ids - known)!r}; there are {', '.join(sorted(known)) or 'none'}")
        self.pushes = tuple(push for push in self.pushes if push.id not in ids)
        self.host.record_change(frames_changed=False)

    # --- settings and undo

    def _update_settings(self, message: Message) -> None:
        if unknown := {"detail", "frames", "dt", "loop"} & message.keys():
            raise InputError(f"{min(unknown)} is a dial of Keyframe; Steer has tracking, final and effort")
        names = " and ".join(name for name in CONTROLLER_OPTIONS if name in message)
        self.change_settings(update_settings(self.settings, message), f"set {names}", join=True)

    def _set_control(self, message: Message) -> None:
        on = message_values.read_flag(message, "on")
        self.change_settings(replace(self.settings, control=on), f"control {'on' if on else 'off'}")

    def change_settings(self, settings: AnySettings, label: str, *, join: bool = False) -> None:
        """Change settings as one undo step. Raises InputError for those that `steer` rejects."""
        if settings != self.settings:
            with self.undo_step(label, join=join):
                self.restore_fields(settings)

    def capture_state(self) -> AnySettings:
        return self.settings

    def restore_fields(self, state: AnySettings) -> None:
        """Set settings and apply them to the controllers. Raises InputError, before any change, for bad ones."""
        before, live = self.settings, self.realtime.controller
        if state.controller_options != before.controller_options:
            live.retune(**state.controller_options)
            self._was_retuning = True
        live.controlled = state.control
        if state.wind_key != before.wind_key:
            self.set_wind(state)
        self.settings = state

    def send_changes(self, before: AnySettings, label: str | None) -> None:
        self.host.record_change(label, frames_changed=False)


def _read_force(message: Message) -> Force:
    x, y, z = message_values.read_vector(message, "force").tolist()
    return x, y, z
