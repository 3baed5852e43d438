"""Steer: a motion that the body keeps to by the least force, live, while it is pushed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, Body
from cajole.direct import Wind, steer
from cajole.direct.steering.realtime_controller import RealtimeController
from cajole.progress import ProgressCallback, report_progress
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import Message, ModeHost, ModeSnapshot
from cajole.studio.modes.payloads import MAX_TRAILS, to_list, to_rounded_list
from cajole.studio.modes.reduced_drawing import ReducedStateDrawing
from cajole.studio.modes.steer.force_arrows import ForceArrows
from cajole.studio.modes.steer.live_mode import LiveSteerMode
from cajole.studio.modes.steer.pushes import BodyPushHandlers, PushRecord
from cajole.studio.modes.steer.realtime_loop import LapSetup, RealtimeLoop
from cajole.studio.modes.steer.settings import (
    CONTROLLER_OPTIONS,
    SteerModeSettings,
    build_reference,
    restore_steer_state,
    update_settings,
    update_wind,
)
from cajole.studio.modes.steer.view_model import build_pulse_message


def build_body_pulse(mode: SteerMode, state: Array) -> dict[str, Any]:
    """Where the body is at this moment, drawn in a reduced state (r,)."""
    live, acting = mode.realtime.controller, mode.push_handlers.find_acting_push()
    return build_pulse_message(
        mode,
        error=live.error,
        astray=live.is_outside_linear_range,
        at=None
        if acting is None
        else to_rounded_list(mode.drawing.compute_vertex_path(acting.location, state[None])[0]),
        arrows=mode.force_arrows.build_arrows(state, live.feedback),
    )


def describe_push(mode: SteerMode, push: PushRecord[int]) -> str:
    """How hard and where."""
    strong = push.strength >= 999.5  # what three digits of newtons would tell with a power of ten
    force = f"{push.strength / 1000:.3g} kN" if strong else f"{push.strength:.3g} N"
    return f"{force} on {mode.content.describe_vertex(push.location)}"


def describe_selected_vertex(mode: SteerMode, node: int) -> dict[str, Any]:
    """A selected vertex, and where it should be."""
    drive, path = mode.realtime, mode.drawing.compute_vertex_path
    reference = mode.reference.states[min(drive.step, mode.reference.step_count)]
    return {
        "node": node,
        "name": mode.content.describe_vertex(node),
        "position": to_list(path(node, drive.controller.state[0][None])[0]),
        "given": to_list(path(node, reference[None])[0]),
        "fixed": bool(np.isin(node, mode.body.fixed)),
    }


def build_body_trails(mode: SteerMode) -> list[dict[str, Any]]:
    """One lap of selected vertices: of the reference, and the last of the body."""
    drive, path = mode.realtime, mode.drawing.compute_vertex_path
    given = drive.setup.reference_states
    return [
        {
            "node": node,
            "given": to_rounded_list(path(node, given)),
            "result": to_rounded_list(path(node, drive.lap_states)),
            "rev": 0,
        }
        for node in mode.selected[:MAX_TRAILS]
    ]


class SteerMode(LiveSteerMode[SteerModeSettings, RealtimeController, int]):
    """A `Live` in the studio."""

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        super().__init__(host, content)
        progress = host.begin_job("Preparing the motion")
        self.reference = build_reference(content, progress)
        model = self.reference.model
        self.body: Body = model.body
        own = dict({} if content.steer_setup is None else content.steer_setup.options)
        self.settings = update_settings(
            SteerModeSettings(), {name: own.pop(name) for name in CONTROLLER_OPTIONS if name in own}
        )
        self.ghost, self.push_handlers = "reference", BodyPushHandlers(self)
        if snapshot is not None:
            self.settings, self.ghost, self.selected, self.push_handlers.records = restore_steer_state(
                snapshot, self.body.vertex_count
            )
        report_progress(progress, 0.9, "making the controller")
        rest = self.body.vertices + model.lift(np.zeros(model.size))
        self.drawing, self.force_arrows = ReducedStateDrawing(content, rest, model.basis), ForceArrows(content, model)
        live = steer(self.reference, **own, **self.settings.controller_options).start()
        self.start(RealtimeLoop(live, self._build_lap_setup()))

    def _build_lap_setup(self) -> LapSetup[RealtimeController]:
        reference = self.reference
        states = reference.states[:: reference.substeps]
        frames = reference.step_count // reference.substeps + (0 if reference.loop else 1)
        return LapSetup(
            reference.step_count,
            reference.substeps,
            reference.loop,
            reference.dt,
            states[:frames],
            lambda live: live.state[0],
        )

    # --- what the project asks

    def compute_live_vertices(self, frame: int) -> Array:
        self.shown_frame = frame
        return self.drawing.compute_positions(self.realtime.interpolate_states()[0])

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        if stream == "given":
            return self.drawing.compute_positions(self.realtime.setup.reference_states[frame])
        return self.drawing.compute_positions(
            self.realtime.lap_states[frame] if stream == "result" else self.realtime.uncontrolled_states[frame]
        )

    def export_content(self) -> ProjectContent:
        """The last whole lap as a motion, for another mode."""
        return replace(self.content, animation=self.export_animation(), shot=None, steer_setup=None)

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """The last whole lap on the body's mesh, dressed; before there is one, a lap without any push."""
        model, drive = self.reference.model, self.realtime
        states = drive.last_lap_states
        if states is None:
            run = drive.controller.controller.run(controlled=self.settings.control, progress=progress)
            states = run.states[:: self.reference.substeps][: drive.frames]
        positions = model.body.vertices + model.lift(states)
        report_progress(progress, 1.0, "the last lap")
        return Animation(model.body.get_display_mesh(), positions, fps=self.fps, skin=self.content.skin)

    # --- what is particular to bodies

    def begin_lap(self) -> None:
        if self.content.steer_setup is not None and self.content.steer_setup.reset_outcome is not None:
            self.content.steer_setup.reset_outcome()

    def evaluate_outcome(self) -> bool | None:
        plan = self.content.steer_setup
        if plan is None or plan.evaluate_outcome is None:
            return None
        return plan.evaluate_outcome(
            self.realtime.step, self.body.vertices + self.reference.model.lift(self.realtime.controller.state[0])
        )

    def show_states(self, state: Array, uncontrolled: Array | None) -> None:
        beside = uncontrolled
        if beside is None:
            beside = self.reference.states[min(self.realtime.step, self.reference.step_count)]
        self.host.show_live_frame(
            self.drawing.compute_positions(state), frame=self.shown_frame, ghost=self.drawing.compute_positions(beside)
        )

    def build_pulse(self, state: Array) -> dict[str, Any]:
        return build_body_pulse(self, state)

    def describe_push(self, push: PushRecord[int]) -> str:
        return describe_push(self, push)

    def locate_push(self, push: PushRecord[int]) -> dict[str, Any]:
        return {"node": push.location, "name": self.content.describe_vertex(push.location)}

    def describe_outcome(self) -> dict[str, Any] | None:
        plan = self.content.steer_setup
        return (
            None
            if plan is None or plan.evaluate_outcome is None
            else {"text": plan.outcome_text, "good": self.outcome_holds}
        )

    def describe_selection(self) -> list[dict[str, Any]]:
        return [describe_selected_vertex(self, node) for node in self.selected]

    def build_trails(self) -> list[dict[str, Any]]:
        return build_body_trails(self)

    def describe_model(self) -> dict[str, Any]:
        return {"model": f"{self.reference.model.size} coordinates"}

    def list_notes(self) -> list[str]:
        return [f"{note[0].upper()}{note[1:]}." for note in self.reference.notes]

    def read_wind(self, message: Message) -> SteerModeSettings:
        return update_wind(self.settings, message)

    def set_wind(self, settings: SteerModeSettings) -> None:
        winds = [Wind(strength=EARTH_GRAVITY * settings.wind, pace=settings.pace)] if settings.wind > 0 else []
        for live in self.list_controllers():
            live.set_disturbances(*winds)
