"""Steer for bodies: a body keeps to a motion by the least force while it is pushed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, Body
from cajole.direct import Reference, Wind, build_reference, steer
from cajole.direct.steering.controller import RealtimeController
from cajole.direct.steering.reference import build_shot_reference
from cajole.errors import InputError
from cajole.progress import ProgressCallback, report_progress
from cajole.studio.content import ProjectContent
from cajole.studio.messages import Trail
from cajole.studio.modes.base import ModeHost, ModeSnapshot
from cajole.studio.modes.payloads import MAX_TRAILS, build_trail
from cajole.studio.modes.reduced_drawing import ReducedStateDrawing, require_body
from cajole.studio.modes.settings import require_index
from cajole.studio.modes.steer.force_arrows import ForceArrows
from cajole.studio.modes.steer.messages import ApplyImpulse, BeginPush, FlowState, Outcome, SetWind
from cajole.studio.modes.steer.mode import SteerMode
from cajole.studio.modes.steer.pushes import Force, PushRecord
from cajole.studio.modes.steer.realtime_loop import LapSetup, RealtimeLoop
from cajole.studio.modes.steer.settings import CONTROLLER_OPTIONS, SteerModeSettings


class BodySteerMode(SteerMode[SteerModeSettings, RealtimeController, int]):
    """A `RealtimeController` in the studio; states (r,) are reduced coordinates."""

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        super().__init__(host, content)
        progress = host.begin_job("Preparing the motion")
        self.reference = reference = _build_reference(content, progress)
        model = reference.model
        self.body: Body = model.body
        options = {} if content.steer_setup is None else dict(content.steer_setup.options)
        own = {name: options.pop(name) for name in CONTROLLER_OPTIONS if name in options}
        self.settings = SteerModeSettings(**own)
        if snapshot is not None:
            self.restore_snapshot(snapshot, self.body.vertex_count)
        report_progress(progress, 0.9, "making the controller")
        rest = self.body.vertices + model.lift(np.zeros(model.size))
        self.drawing, self.force_arrows = ReducedStateDrawing(content, rest, model.basis), ForceArrows(content, model)
        controller = steer(reference, **{**options, **self.settings.controller_options}).start()
        frames = reference.step_count // reference.substeps + (0 if reference.loop else 1)
        states = reference.states[:: reference.substeps][:frames]
        lap: LapSetup[RealtimeController] = LapSetup(
            reference.step_count, reference.substeps, reference.loop, reference.dt, states,
            lambda live: live.state[0],
        )  # fmt: skip
        self.start(RealtimeLoop(controller, lap))

    def export_content(self) -> ProjectContent:
        """The last complete lap as a motion, for another mode."""
        return replace(self.content, animation=self.export_animation(), shot=None, steer_setup=None)

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """The last complete lap on the body's mesh with its skin; before there is one, a lap without pushes."""
        model, loop = self.reference.model, self.realtime
        states = loop.last_lap_states
        if states is None:
            run = loop.controller.controller.run(controlled=self.settings.control, progress=progress)
            states = run.states[:: self.reference.substeps][: loop.frames]
        positions = model.body.vertices + model.lift(states)
        report_progress(progress, 1.0, "the last lap")
        return Animation(model.body.get_display_mesh(), positions, fps=self.fps, skin=self.content.skin)

    # --- states

    def begin_lap(self) -> None:
        if self.content.steer_setup is not None and self.content.steer_setup.reset_outcome is not None:
            self.content.steer_setup.reset_outcome()

    def evaluate_outcome(self) -> bool | None:
        setup = self.content.steer_setup
        if setup is None or setup.evaluate_outcome is None:
            return None
        displacement = self.reference.model.lift(self.realtime.controller.state[0])
        return setup.evaluate_outcome(self.realtime.step, self.body.vertices + displacement)

    def describe_outcome(self) -> Outcome | None:
        setup = self.content.steer_setup
        if setup is None or setup.evaluate_outcome is None:
            return None
        return Outcome(text=setup.outcome_text, good=self.outcome_holds)

    def draw_states(self, states: Array) -> Array:
        return self.drawing.compute_positions(states)

    def compute_reference_state(self, state: Array) -> Array:
        found: Array = self.reference.states[min(self.realtime.step, self.reference.step_count)]
        return found

    def compute_vertex_path(self, node: int, states: Array) -> Array:
        return self.drawing.compute_vertex_path(node, states)

    def is_fixed(self, node: int) -> bool:
        return bool(np.isin(node, self.body.fixed))

    @property
    def trails(self) -> list[Trail]:
        loop, path = self.realtime, self.drawing.compute_vertex_path
        return [
            build_trail(node, path(node, loop.setup.reference_states), path(node, loop.lap_states))
            for node in self.selected[:MAX_TRAILS]
        ]

    def locate_push(self, push: PushRecord[int], state: Array) -> Array:
        return np.asarray(self.compute_vertex_path(push.location, state[None])[0])

    def measure_error(self) -> tuple[float, bool]:
        live = self.realtime.controller
        return live.error, live.is_outside_linear_range

    def build_arrows(self, state: Array) -> list[list[float]]:
        return self.force_arrows.build(state, self.realtime.controller.feedback)

    def describe_model(self) -> tuple[str, list[str], FlowState | UnsetType]:
        notes = [f"{note[0].upper()}{note[1:]}." for note in self.reference.notes]
        return f"{self.reference.model.size} coordinates", notes, UNSET

    # --- pushes and wind

    def describe_push(self, push: PushRecord[int]) -> tuple[str, str]:
        name = self.content.describe_vertex(push.location)
        # from here on, three digits of newtons would be shown with an exponent
        is_strong = push.strength >= 999.5
        force = f"{push.strength / 1000:.3g} kN" if is_strong else f"{push.strength:.3g} N"
        return f"{force} on {name}", name

    def read_location(self, command: BeginPush | ApplyImpulse) -> int:
        if command.at is not UNSET:
            raise InputError("at is a point of a flow; a body is pushed at a node")
        if command.node is UNSET:
            raise InputError(f"{command.name} needs node, which is missing")
        return require_index(command, "node", self.body.vertex_count)

    def read_saved_location(self, document: Mapping[str, Any]) -> int:
        return checks.require_integer(document["node"], "a node", minimum=0, maximum=self.body.vertex_count - 1)

    def apply_push(self, location: int, force: Force, duration: float) -> None:
        for live in self.list_controllers():
            live.push(location, force, duration)

    def sustain_push(self, location: int, force: Force | None) -> None:
        for live in self.list_controllers():
            live.set_sustained_force(None if force is None else location, force or (0.0, 0.0, 0.0))

    def read_wind(self, command: SetWind) -> SteerModeSettings:
        if command.seed is not UNSET:
            raise InputError("seed of wind is for flows; a body's wind has a strength and a pace")
        pace = self.settings.pace if command.pace is None else command.pace
        return msgspec.structs.replace(self.settings, wind=command.strength, pace=pace)

    def set_wind(self, settings: SteerModeSettings) -> None:
        winds = [Wind(strength=EARTH_GRAVITY * settings.wind, pace=settings.pace)] if settings.wind > 0 else []
        for live in self.list_controllers():
            live.set_disturbances(*winds)


def _build_reference(content: ProjectContent, progress: ProgressCallback) -> Reference:
    """The motion to keep to: the scene's, that of a shot, or the animation. Raises InputError without any."""
    if content.steer_setup is not None:
        return content.steer_setup.build_reference(progress)
    if content.shot is not None:
        return build_shot_reference(content.shot)
    if content.animation is None:
        raise InputError(f"{content.name} does not move yet; make a motion with Keyframe, or open an animation")
    return build_reference(require_body(content, "steer"), content.animation)
