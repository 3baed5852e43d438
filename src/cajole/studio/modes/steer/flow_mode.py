"""Steer for flows: particles keep to their paths while the user blows into the flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct import steer
from cajole.direct.steering.controller import FlowRealtimeController
from cajole.errors import InputError
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes.flow_scenes.swirl import KICK_DURATION, KICK_RADIUS
from cajole.studio.content import FlowSteerSetup, ProjectContent
from cajole.studio.messages import Select, Trail
from cajole.studio.modes.base import Handlers, ModeHost, ModeSnapshot
from cajole.studio.modes.payloads import MAX_TRAILS, build_trail
from cajole.studio.modes.settings import require_index, require_range, require_vertices
from cajole.studio.modes.steer.force_arrows import NEGLIGIBLE_FORCE, build_arrows
from cajole.studio.modes.steer.messages import (
    ApplyImpulse,
    ApplyKick,
    BeginPush,
    FlowState,
    KickInfo,
    Outcome,
    PushAnswer,
    SetSmoke,
    SetWind,
)
from cajole.studio.modes.steer.mode import SteerMode
from cajole.studio.modes.steer.pushes import Force, PushRecord
from cajole.studio.modes.steer.realtime_loop import LapSetup, RealtimeLoop
from cajole.studio.modes.steer.scenes import STEPS_PER_SECOND, build_ball_vertices, compute_ball_radius, embed_in_3d
from cajole.studio.modes.steer.settings import CONTROLLER_OPTIONS, FlowModeSettings

# in the plane of the flow [m]
Point = tuple[float, float]
# The flow's x and y are x and z in the views.
PLANE_AXES = slice(0, 3, 2)


class FlowSteerMode(SteerMode[FlowModeSettings, FlowRealtimeController, Point]):
    """A `FlowRealtimeController` in the studio; states are particles (N + k, 2) [m], flat. Pushes are gusts [m/s²]."""

    max_failures: ClassVar[int] = 1  # after an overflow the flow is at its start
    location_key: ClassVar[str] = "at"
    effort_unit: ClassVar[str | None] = "of its momentum"
    target_name: ClassVar[str] = "the particles"

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        super().__init__(host, content)
        assert content.flow_setup is not None
        self.setup: FlowSteerSetup = content.flow_setup
        shot, options, paths = self.setup.shot, self.setup.options, self.setup.paths
        progress = host.begin_job("Preparing the flow")
        self.steered_count, self.particle_count = shot.particles.shape[1], paths.shape[1]
        own = {name: options[name] for name in CONTROLLER_OPTIONS if name in options}
        self.settings = FlowModeSettings(wind=self.setup.initial_wind, **own)
        if snapshot is not None:
            self.restore_snapshot(snapshot, self.particle_count)
        report_progress(progress, 0.2, "making the controller")
        controller = steer(shot, **{**options, **self.settings.controller_options})
        live = controller.start(passive_particles=paths[0, self.steered_count :])
        self._smoke_fields: tuple[Array | None, Array | None] = None, None
        # a grid of 9 x 9 arrows
        x, y = ((np.arange(9) + 0.5) / 9 * side for side in shot.model.flow.size)
        points, zero = np.stack(np.meshgrid(x, y, indexing="ij"), axis=2).reshape(-1, 2), np.zeros(shot.model.size)
        self._arrow_points = embed_in_3d(points)
        self._arrow_modes = np.array([shot.model.interpolate_modes_and_gradient(point, zero)[0] for point in points])
        # fraction of the acceleration U²/L of the fastest motion
        self._min_arrow_force = NEGLIGIBLE_FORCE * shot.max_speed**2 / float(np.hypot(*shot.model.flow.size))
        lap: LapSetup[FlowRealtimeController] = LapSetup(
            shot.step_count, 1, False, 1 / STEPS_PER_SECOND, paths.reshape(len(paths), -1),
            lambda live: np.concatenate([live.particles, live.passive_particles]).ravel(),
        )  # fmt: skip
        self.start(RealtimeLoop(live, lap))

    @property
    def commands(self) -> Handlers:
        return {
            **super().commands,
            SetSmoke: self._set_smoke,
            Select: self._select_particles,
            ApplyKick: self._apply_preset_gust,
        }

    @property
    def time(self) -> float:
        return self.realtime.controller.time / (self.setup.shot.dt * STEPS_PER_SECOND)

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """The balls of the last complete lap; before there is one, of their reference paths."""
        loop = self.realtime
        states = loop.setup.reference_states if loop.last_lap_states is None else loop.last_lap_states
        report_progress(progress, 1.0, "the last lap")
        return Animation(self.content.mesh, self.draw_states(states), fps=self.fps, skin=self.content.skin)

    # --- states

    def begin_lap(self) -> None:
        self._fill_smoke(self.settings.smoke)

    def on_step(self) -> None:
        self._smoke_fields = self._smoke_fields[1], self.realtime.controller.smoke

    def evaluate_outcome(self) -> bool | None:
        live = self.realtime.controller
        if live.particles_outside_linear_range:
            return False
        # every particle within a cell of its place
        return True if live.distances_in_cells.max(initial=0.0) <= 1.0 else None

    def describe_outcome(self) -> Outcome:
        lost = self.realtime.controller.particles_outside_linear_range
        if lost:
            names = " and ".join(self.content.describe_vertex(k) for k in lost)
            verb = "is" if len(lost) == 1 else "are"
            return Outcome(text=f"Lost: {names} {verb} too far off to be brought back", good=False)
        if self.outcome_holds:
            return Outcome(text="Holds: every particle is within a cell of its place", good=True)
        rest = "and is led back" if self.settings.control else "and nothing leads it back"
        return Outcome(text=f"Off its path by more than a cell, {rest}", good=None)

    def draw_states(self, states: Array) -> Array:
        return build_ball_vertices(states.reshape(*states.shape[:-1], -1, 2), compute_ball_radius(self.setup.shot))

    def compute_reference_state(self, state: Array) -> Array:
        """Where the particles should be (m,); passive ones are where they are."""
        path, step, steered = self.setup.shot.particles, self.realtime.step, 2 * self.steered_count
        before, now = path[max(step - 1, 0)], path[step]
        return np.concatenate([(before + self.realtime.blend_fraction * (now - before)).ravel(), state[steered:]])

    def compute_vertex_path(self, node: int, states: Array) -> Array:
        return embed_in_3d(states.reshape(len(states), -1, 2)[:, node])

    @property
    def trails(self) -> list[Trail]:
        """Reference paths of steered particles; their present paths are seen in the smoke, and would hide these."""
        given = embed_in_3d(self.setup.shot.particles)
        return [build_trail(k, given[:, k], None) for k in range(min(self.steered_count, MAX_TRAILS))]

    def locate_push(self, push: PushRecord[Point], state: Array) -> Array:
        return embed_in_3d(np.array(push.location))

    def measure_error(self) -> tuple[float, bool]:
        live = self.realtime.controller
        return float(live.distances_in_cells.max(initial=0.0)), bool(live.particles_outside_linear_range)

    def build_arrows(self, state: Array) -> list[list[float]]:
        forces = embed_in_3d(self._arrow_modes @ self.realtime.controller.feedback)
        return build_arrows(self._arrow_points, forces, self._min_arrow_force)

    def describe_model(self) -> tuple[str, list[str], FlowState | UnsetType]:
        kicks = []
        for number, (particle, gust) in enumerate(self.setup.preset_gusts, 1):
            text = f"{np.hypot(*gust):.2g} m/s² on {self.content.describe_vertex(particle)}"
            kicks.append(KickInfo(name=f"F{number}", text=text))
        flow = FlowState(kicks=kicks, smoke=self.settings.smoke, seed=self.settings.seed)
        return f"{self.setup.shot.model.size} modes", [], flow

    def _select_particles(self, command: Select) -> None:
        self.selected = require_vertices(command, self.particle_count)
        self.host.record_change(frames_changed=False)

    # --- smoke

    @property
    def smoke_image(self) -> NDArray[np.uint8] | None:
        """Smoke (rows, columns) as bytes, interpolated between two steps like all states."""
        before, now = self._smoke_fields
        if before is None or now is None:
            return None
        smoke = before + self.realtime.blend_fraction * (now - before)
        return np.rint(255 * np.clip(smoke, 0.0, 1.0)).astype(np.uint8).T

    def restore_fields(self, state: FlowModeSettings) -> None:
        has_changed = state.smoke != self.settings.smoke
        super().restore_fields(state)
        if has_changed:
            self._fill_smoke(state.smoke)

    def _set_smoke(self, command: SetSmoke) -> None:
        settings = msgspec.structs.replace(self.settings, smoke=command.on)
        self.change_settings(settings, f"smoke {'on' if command.on else 'off'}")
        self._show_states(*self.realtime.interpolate_states())

    def _fill_smoke(self, enabled: bool) -> None:
        self.realtime.controller.set_smoke(self.setup.initial_smoke if enabled else None)
        self._smoke_fields = self.realtime.controller.smoke, self.realtime.controller.smoke

    # --- gusts and wind

    def describe_push(self, push: PushRecord[Point]) -> tuple[str, str]:
        x, y = push.location
        name = f"{x:.0f}, {y:.0f}"
        return f"{push.strength:.2g} m/s² at {name}", name

    def read_location(self, command: BeginPush | ApplyImpulse) -> Point:
        if command.node is not UNSET:
            raise InputError("node is a vertex of a body; a flow is pushed at a point, so send at")
        if command.at is UNSET:
            raise InputError(f"{command.name} needs at, which is missing")
        return self._require_inside(command.at[PLANE_AXES], f"at of {command.name} (m)")

    def read_saved_location(self, document: Mapping[str, Any]) -> Point:
        return self._require_inside(document["at"], "the place of a push (m)")

    def _require_inside(self, point: Any, name: str) -> Point:
        x, y = self.setup.shot.model.flow.check_points([point], name)[0].tolist()
        return x, y

    def apply_push(self, location: Point, force: Force, duration: float) -> None:
        for live in self.list_controllers():
            seconds = duration * STEPS_PER_SECOND * self.setup.shot.dt
            live.push(location, force[PLANE_AXES], seconds, radius=KICK_RADIUS)

    def sustain_push(self, location: Point, force: Force | None) -> None:
        gust = (0.0, 0.0) if force is None else force[PLANE_AXES]
        for live in self.list_controllers():
            live.set_sustained_force(None if force is None else location, gust, radius=KICK_RADIUS)

    def _apply_preset_gust(self, command: ApplyKick) -> PushAnswer:
        """Apply one of the scene's gusts at the present position of its particle."""
        gusts = self.setup.preset_gusts
        if not gusts:
            raise InputError("this scene has no kicks of its own; press on the flow and drag")
        particle, (ax, ay) = gusts[require_index(command, "number", len(gusts) + 1, first=1) - 1]
        x, y = self.realtime.controller.particles[particle].tolist()
        return self.push_and_record((x, y), (ax, 0.0, ay), KICK_DURATION / STEPS_PER_SECOND)

    def read_wind(self, command: SetWind) -> FlowModeSettings:
        if command.pace is not None:
            raise InputError("pace of wind is for bodies; a flow's wind has a strength and a seed")
        require_range(command, "strength", 0.0, 1.0)
        seed = self.settings.seed if command.seed is UNSET else command.seed
        return msgspec.structs.replace(self.settings, wind=command.strength, seed=seed)

    def set_wind(self, settings: FlowModeSettings) -> None:
        winds = [self.setup.build_wind(settings.seed, strength=settings.wind)] if settings.wind > 0 else []
        for live in self.list_controllers():
            live.set_disturbances(*winds)
