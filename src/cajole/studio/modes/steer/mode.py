"""Steer, for bodies and flows: real time, control, settings, pushes, laps, undo, and the state for the page."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, Literal, TypeVar

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from cajole.arrays import Array
from cajole.checks import require_choice
from cajole.errors import InputError, NotConverged
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.messages import (
    DeleteMarkers,
    ForceMeter,
    Lane,
    Marker,
    SetDials,
    Trail,
    ViewLabels,
)
from cajole.studio.modes.base import Handlers, ModeHost, ModeSnapshot
from cajole.studio.modes.payloads import (
    build_force_lanes,
    build_selected_vertex,
    format_percent,
    to_rounded_list,
    to_vec3,
)
from cajole.studio.modes.settings import change_settings
from cajole.studio.modes.steer.force_arrows import NEGLIGIBLE_FORCE
from cajole.studio.modes.steer.messages import (
    ApplyImpulse,
    BeginPush,
    EndPush,
    FlowState,
    GhostSource,
    MovePush,
    Outcome,
    PulseMessage,
    PushAnswer,
    PushInfo,
    RepeatPush,
    Restart,
    SetControl,
    SetGhost,
    SetPlayback,
    SetWind,
    SteerModeState,
    SteerStateMessage,
    WindInfo,
)
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
        self.ghost: GhostSource = "reference"
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
            kind, settings = type(self.settings), document["settings"]
            self.settings = msgspec.convert({name: settings[name] for name in kind.__struct_fields__}, kind)
            self.ghost = msgspec.convert(document["ghost"], GhostSource)
            self.selected = message_values.read_vertices(document, "selected", vertex_count, min_count=0)
            self.pushes = unpack_pushes(document["pushes"], self.read_saved_location)
        except (KeyError, TypeError, ValueError, msgspec.ValidationError) as reason:
            raise InputError(f"what was saved of the steering cannot be read ({reason}); open the scene anew") from None

    def start(self, realtime: RealtimeLoop[AnyController]) -> None:
        """Start the motion with the present settings."""
        self.realtime = realtime
        self.begin_lap()
        settings = self.settings
        self.settings = msgspec.structs.replace(settings, control=True, wind=0.0)
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
    def describe_outcome(self) -> Outcome | None:
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
    def locate_push(self, push: PushRecord[AnyLocation], state: Array) -> Array:
        """Position (3,) [m] of a push in a state (m,)."""

    @abstractmethod
    def measure_error(self) -> tuple[float, bool]:
        """Distance from the reference, and True outside the linear range of the controller."""

    @abstractmethod
    def build_arrows(self, state: Array) -> list[list[float]]:
        """[x, y, z, fx, fy, fz] of the strongest controller forces in a state (m,)."""

    @abstractmethod
    def describe_push(self, push: PushRecord[AnyLocation]) -> tuple[str, str]:
        """Strength and location in words, and the location alone."""

    @abstractmethod
    def describe_model(self) -> tuple[str, list[str], FlowState | UnsetType]:
        """Size of the model, notes, and the state of a flow."""

    @property
    @abstractmethod
    def trails(self) -> list[Trail]:
        """Trails over one lap."""

    @abstractmethod
    def read_location(self, command: BeginPush | ApplyImpulse) -> AnyLocation:
        """Location of a push in a command. Raises InputError for one that does not exist."""

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
    def read_wind(self, command: SetWind) -> AnySettings:
        """The settings with the wind of a command."""

    @abstractmethod
    def set_wind(self, settings: AnySettings) -> None:
        """Set the wind of all controllers."""

    # --- interface of the project

    @property
    def commands(self) -> Handlers:
        return {
            **self.common_commands,
            SetDials: self._update_settings,
            SetControl: self._set_control,
            SetWind: lambda command: self.change_settings(self.read_wind(command), "set wind", join=True),
            SetPlayback: self._set_playback,
            Restart: lambda _: self._restart(),
            SetGhost: self._set_ghost,
            BeginPush: self._begin_push,
            MovePush: self._move_push,
            EndPush: self._end_push,
            ApplyImpulse: self._apply_impulse,
            RepeatPush: self._repeat_push,
            DeleteMarkers: self._delete_pushes,
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
                "settings": msgspec.to_builtins(self.settings),
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

    def build_state(self) -> SteerStateMessage:
        settings, loop, setup = self.settings, self.realtime, self.realtime.setup
        state = loop.interpolate_states()[0]
        reference = self.compute_reference_state(state)
        selection = []
        for node in self.selected:
            position, given = (self.compute_vertex_path(node, each[None])[0] for each in (state, reference))
            selection.append(build_selected_vertex(self.content, node, position, given, fixed=self.is_fixed(node)))
        has_effort = bool((loop.lap_efforts > NEGLIGIBLE_FORCE).any())
        peak_time, peak = max(self._recent_efforts, key=lambda each: each[1], default=(0.0, 0.0))
        model, notes, flow = self.describe_model()
        if loop.realtime_fraction is not None:
            percent = f"{100 * loop.realtime_fraction:.0f} %"
            notes.append(f"This machine follows at {percent} of real time: choose a slower speed.")
        return SteerStateMessage(
            lanes=[*self._build_lanes(), *(build_force_lanes(loop.lap_efforts) if has_effort else [])],
            meter=ForceMeter(
                share=loop.controller.gentleness,
                peak=peak,
                frame=None,
                curve=to_rounded_list(loop.lap_efforts) if has_effort else None,
                cure=self._describe_peak(peak_time, peak),
                of=self.effort_unit or UNSET,
            ),
            selection=selection,
            trails=self.trails,
            labels=ViewLabels("Live" if loop.is_running else "Paused", "Last lap"),
            undo=self.history.undo_label,
            redo=self.history.redo_label,
            steer=SteerModeState(
                control=settings.control,
                **settings.controller_options,
                retuning=loop.controller.is_retuning,
                wind=WindInfo(strength=settings.wind, pace=settings.pace),
                running=loop.is_running,
                speed=loop.speed,
                dt=setup.step_seconds,
                steps=setup.steps,
                loop=setup.loop,
                pushes=[self._describe_push(push, state) for push in self.pushes],
                ghost=self.ghost,
                outcome=self.describe_outcome(),
                model=model,
                flow=flow,
                notes=notes,
            ),
        )

    def _describe_push(self, push: PushRecord[AnyLocation], state: Array) -> PushInfo:
        node = push.location if isinstance(push.location, int) else None
        return PushInfo(
            id=push.id,
            time=push.time,
            frame=push.frame,
            node=node,
            at=to_vec3(self.locate_push(push, state)) if node is None else UNSET,
            name=self.describe_push(push)[1],
            force=push.force,
            strength=push.strength,
            duration=push.duration,
        )

    def is_fixed(self, node: int) -> bool:
        """True for a fixed vertex."""
        return False

    def _build_lanes(self) -> list[Lane]:
        recent = [push for push in self.pushes if push.frame < self.frames][-self.max_push_markers :]
        pushes = []
        for push in recent:
            text, detail = self.describe_push(push)[0], f"{push.duration:.2f} s"
            pushes.append(Marker(id=push.id, frame=push.frame, text=text, movable=False, detail=detail))
        on = self.settings.control
        text, last = "on" if on else "off", self.frames - 1
        control = Marker(id="control", frame=0, text=text, end=last, movable=False, hollow=not on)
        tone: Literal["asked", "quiet"] = "asked" if on else "quiet"
        return [
            Lane(id="pushes", name="Pushes", shape="triangle", tone="world", markers=pushes),
            Lane(id="control", name="Control", shape="bar", tone=tone, markers=[control]),
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
        now = self.time
        acting = None if self.active_push is None else self.active_push.push
        if acting is None:
            acting = next((p for p in reversed(self.pushes) if p.time <= now < p.time + p.duration), None)
        error, is_astray = self.measure_error()
        pulse = PulseMessage(
            time=now,
            lap=self.realtime.lap,
            frame=self.realtime.frame,
            error=error,
            effort=self.realtime.controller.gentleness,
            astray=is_astray,
            ms=self._tick_ms,
            push=None if acting is None else acting.force,
            at=None if acting is None else to_vec3(np.round(self.locate_push(acting, state), 6)),
            arrows=self.build_arrows(state),
            outcome=self.describe_outcome() or UNSET,
        )
        self.host.broadcast(pulse)

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

    def _set_playback(self, command: SetPlayback) -> None:
        speed, speeds = command.speed, (0.25, 0.5, 1.0, 2.0)
        if speed not in speeds:
            raise InputError(f"speed of run is {speed:g}, but must be one of {', '.join(f'{s:g}' for s in speeds)}")
        self.realtime.speed = speed
        if command.play:
            self.realtime.is_running = True
        else:
            self.realtime.pause()
        self.host.record_change(frames_changed=False)

    def _set_ghost(self, command: SetGhost) -> None:
        self.ghost = command.of
        self.realtime.enable_uncontrolled_copy(self.ghost == "uncontrolled")
        self._show_states(*self.realtime.interpolate_states())
        self.host.record_change()

    # --- pushes

    def _begin_push(self, command: BeginPush) -> None:
        self._end_active_push()  # its tab may have been closed during a push
        location, frame = self.read_location(command), self.realtime.frame
        push = PushRecord(self._get_next_number(), self.time, frame, location, (0.0, 0.0, 0.0), 0.0)
        self.active_push = ActivePush(command.gesture, push)

    def _move_push(self, command: MovePush) -> None:
        active, force = self._require_active_push(command), command.force
        self.sustain_push(active.push.location, force)
        # the record keeps the greatest force
        if np.linalg.norm(force) >= active.push.strength:
            active.push = replace(active.push, force=force)

    def _end_push(self, command: EndPush) -> PushAnswer:
        active = self._require_active_push(command)
        self._end_active_push()
        return PushAnswer(push=active.push.id)

    def _end_active_push(self) -> None:
        """End the push that is held, and list it if it had any effect."""
        active, self.active_push = self.active_push, None
        if active is None:
            return
        self.sustain_push(active.push.location, None)
        duration = self.time - active.push.time
        if active.push.strength > 0 and duration > 0:
            self._record_push(replace(active.push, duration=duration))

    def _require_active_push(self, command: MovePush | EndPush) -> ActivePush[AnyLocation]:
        if self.active_push is None or self.active_push.gesture != command.gesture:
            raise InputError(f"no push {command.gesture} is under way; press on it to begin one")
        return self.active_push

    def _apply_impulse(self, command: ApplyImpulse) -> PushAnswer:
        # one step, but at least a 30th of a second: shorter impulses have the same effect, only harder
        shortest = max(1 / 30, self.realtime.setup.step_seconds)
        duration = shortest if command.duration is None else command.duration
        return self.push_and_record(self.read_location(command), command.force, duration)

    def _repeat_push(self, command: RepeatPush) -> PushAnswer:
        if not self.pushes:
            raise InputError("there is no push to repeat; press on it and drag")
        last = self.pushes[-1]
        return self.push_and_record(last.location, last.force, last.duration)

    def push_and_record(self, location: AnyLocation, force: Force, duration: float) -> PushAnswer:
        """Push for a duration [s]; answers the id of the push."""
        self.apply_push(location, force, duration)
        push = PushRecord(self._get_next_number(), self.time, self.realtime.frame, location, force, duration)
        self._record_push(push)
        return PushAnswer(push=push.id)

    def _record_push(self, push: PushRecord[AnyLocation]) -> None:
        self.pushes = (*self.pushes, push)[-self.max_listed_pushes :]
        self._report_push_at = self.time + 2.0  # tabs get the state again when the recovery is known
        self.host.record_change(frames_changed=False)

    def _get_next_number(self) -> int:
        return 1 + max((push.number for push in self.pushes), default=0)

    def _delete_pushes(self, command: DeleteMarkers) -> None:
        require_choice(command.lane, "lane of marker.delete", ("pushes",))
        ids, known = set(command.ids), {push.id for push in self.pushes}
        if ids - known:
            raise InputError(f"there is no push {min(ids - known)!r}; there are {', '.join(sorted(known)) or 'none'}")
        self.pushes = tuple(push for push in self.pushes if push.id not in ids)
        self.host.record_change(frames_changed=False)

    # --- settings and undo

    def _update_settings(self, command: SetDials) -> None:
        changes = command.get_changes()
        if unknown := changes.keys() - set(CONTROLLER_OPTIONS):
            raise InputError(f"{min(unknown)} is a dial of Keyframe; Steer has tracking, final and effort")
        names = " and ".join(name for name in CONTROLLER_OPTIONS if name in changes)
        self.change_settings(change_settings(self.settings, command, **changes), f"set {names}", join=True)

    def _set_control(self, command: SetControl) -> None:
        settings = msgspec.structs.replace(self.settings, control=command.on)
        self.change_settings(settings, f"control {'on' if command.on else 'off'}")

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
