"""Steer, of a flow: particles that keep to their paths, live, while one blows into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct import steer
from cajole.direct.steering.flow_realtime_controller import FlowRealtimeController
from cajole.errors import InputError
from cajole.flow import Flow
from cajole.progress import ProgressCallback, report_progress
from cajole.reduction import FlowShot
from cajole.scenes.flow_scenes.swirl import KICK_DURATION, KICK_RADIUS
from cajole.studio import message_values
from cajole.studio.content import FlowSteerSetup, ProjectContent
from cajole.studio.modes.base import Handler, Message, ModeHost, ModeSnapshot
from cajole.studio.modes.payloads import MAX_TRAILS, to_list, to_rounded_list
from cajole.studio.modes.steer.force_arrows import format_arrows, select_strongest
from cajole.studio.modes.steer.live_mode import LiveSteerMode
from cajole.studio.modes.steer.pushes import Force, PushHandlers, PushRecord, unpack_pushes
from cajole.studio.modes.steer.realtime_loop import LapSetup, RealtimeLoop
from cajole.studio.modes.steer.scenes import STEPS_PER_SECOND, build_ball_vertices, compute_ball_radius, embed_in_3d
from cajole.studio.modes.steer.settings import (
    CONTROLLER_OPTIONS,
    GHOST_KINDS,
    SteerModeSettings,
    convert_read_errors,
    read_settings,
)
from cajole.studio.modes.steer.view_model import build_pulse_message

# in the plane of the flow [m]
Point = tuple[float, float]
# The room's x and z are the flow's x and y.
PLANE_AXES = slice(0, 3, 2)


class FlowPushHandlers(PushHandlers[Point]):
    """Gusts [m/s²] at points of the flow [m]; what they have across its plane does nothing."""

    mode: FlowSteerMode

    @property
    def commands(self) -> dict[str, Handler]:
        return {**super().commands, "kick": self._apply_preset_gust}

    def read_location(self, message: Message) -> Point:
        if "node" in message:
            raise InputError("node is a vertex of a body; a flow is pushed at a point, so send at")
        place = message_values.read_vector(message, "at")[PLANE_AXES].tolist()
        return require_inside(self.mode.setup.shot.model.flow, place, f"at of {message['do']} (m)")

    def apply_push(self, location: Point, force: Force, duration: float) -> None:
        for live in self.mode.list_controllers():
            live.push(location, force[PLANE_AXES], KICK_RADIUS, duration * STEPS_PER_SECOND * self.mode.setup.shot.dt)

    def set_held_push(self, location: Point, force: Force | None) -> None:
        for live in self.mode.list_controllers():
            live.set_sustained_force(
                None if force is None else location, (0.0, 0.0) if force is None else force[PLANE_AXES], KICK_RADIUS
            )

    def _apply_preset_gust(self, message: Message) -> Mapping[str, Any]:
        """One of the scene's own, where its particle is now."""
        kicks = self.mode.setup.preset_gusts
        if not kicks:
            raise InputError("this scene has no kicks of its own; press on the flow and drag")
        particle, (ax, ay) = kicks[message_values.read_integer(message, "number", 1, len(kicks)) - 1]
        x, y = self.mode.realtime.controller.particles[particle].tolist()
        return self.push_and_record((x, y), (ax, 0.0, ay), KICK_DURATION / STEPS_PER_SECOND)


def require_inside(flow: Flow, point: Any, name: str) -> Point:
    """A point (2,) [m], checked to lie in the box."""
    x, y = flow.check_points([point], name)[0].tolist()
    return x, y


# of the wind [m/s²], and how many different ones there are
MAX_WIND, MAX_SEED = 1.0, 9999


@dataclass(frozen=True)
class FlowModeSettings(SteerModeSettings):
    """What undo brings back; wind [m/s²], and which one of many; smoke: whether there is some."""

    seed: int = 0
    smoke: bool = True

    @property
    def wind_key(self) -> tuple[float, ...]:
        """What another wind differs in."""
        return self.wind, self.seed


def build_initial_settings(setup: FlowSteerSetup) -> FlowModeSettings:
    """As a scene begins."""
    return FlowModeSettings(
        wind=setup.initial_wind, **{name: setup.options[name] for name in CONTROLLER_OPTIONS if name in setup.options}
    )


def update_wind(settings: FlowModeSettings, message: Message) -> FlowModeSettings:
    """`old` with the wind that a message asks for. Raises InputError for what only the wind on bodies has."""
    if "pace" in message:
        raise InputError("pace of wind is for bodies; a flow's wind has a strength and a seed")
    seed = message_values.read_integer(message, "seed", 0, MAX_SEED) if "seed" in message else settings.seed
    return replace(settings, wind=message_values.read_number(message, "strength", 0.0, MAX_WIND), seed=seed)


def restore_flow_state(
    snapshot: ModeSnapshot, flow: Flow, particles: int
) -> tuple[FlowModeSettings, str, list[int], tuple[PushRecord[Point], ...]]:
    """Settings, ghost, selection and pushes that were saved. Raises InputError for those of another flow."""
    document = snapshot.document
    with convert_read_errors():
        wanted = document["settings"]
        seed, smoke = (
            message_values.read_integer(wanted, "seed", 0, MAX_SEED),
            message_values.read_flag(wanted, "smoke"),
        )
        settings = FlowModeSettings(**read_settings(wanted), seed=seed, smoke=smoke)
        selected = message_values.read_vertices(document, "selected", particles, min_count=0)
        made = unpack_pushes(
            document["pushes"], lambda push: require_inside(flow, push["at"], "the place of a push (m)")
        )
        return settings, message_values.read_choice(document, "ghost", GHOST_KINDS), selected, made


# Places of arrows along each side; those of a force below this share of the fastest motion's (U²/L) are rounding.
ARROW_GRID, NEGLIGIBLE_FORCE = 9, 1e-6


class FlowForceArrows:
    """What the controller does to the flow, as arrows at places spread over the box."""

    def __init__(self, shot: FlowShot):
        flow = shot.model.flow
        x, y = ((np.arange(ARROW_GRID) + 0.5) / ARROW_GRID * side for side in flow.size)
        points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=2).reshape(-1, 2)
        still = np.zeros(shot.model.size)
        self._positions = embed_in_3d(points)
        self._modes = np.array([shot.model.interpolate_modes_and_gradient(point, still)[0] for point in points])
        self._min_force = NEGLIGIBLE_FORCE * shot.max_speed**2 / float(np.hypot(*flow.size))

    def build_arrows(self, feedback: Array) -> list[list[float]]:
        """[x, y, z [m], ax, ay, az [m/s²]] of the strongest, of a reduced force (r,)."""
        forces = embed_in_3d(self._modes @ feedback)
        order = select_strongest(forces, self._min_force)
        return format_arrows(self._positions[order], forces[order])


def build_flow_pulse(mode: FlowSteerMode) -> dict[str, Any]:
    """How things are at this moment."""
    live, acting = mode.realtime.controller, mode.push_handlers.find_acting_push()
    return build_pulse_message(
        mode,
        error=float(live.distances_in_cells.max(initial=0.0)),
        astray=bool(live.particles_outside_linear_range),
        at=None if acting is None else to_rounded_list(embed_in_3d(np.array(acting.location))),
        arrows=mode.force_arrows.build_arrows(live.feedback),
    )


def describe_flow_outcome(mode: FlowSteerMode) -> dict[str, Any]:
    """Whether every particle is where it should be, in plain words; good: None while that is open."""
    lost = mode.realtime.controller.particles_outside_linear_range
    if lost:
        names = " and ".join(mode.content.describe_vertex(k) for k in lost)
        return {
            "text": f"Lost: {names} {'is' if len(lost) == 1 else 'are'} too far off to be brought back",
            "good": False,
        }
    if mode.outcome_holds:
        return {"text": "Holds: every particle is within a cell of its place", "good": True}
    way = "and is led back" if mode.settings.control else "and nothing leads it back"
    return {"text": f"Off its path by more than a cell, {way}", "good": None}


def describe_selected_particle(mode: FlowSteerMode, particle: int) -> dict[str, Any]:
    """A particle, and where it should be."""
    state, _ = mode.realtime.interpolate_states()
    where = [embed_in_3d(each.reshape(-1, 2)[particle]) for each in (state, mode.compute_reference_positions(state))]
    return {
        "node": particle,
        "name": mode.content.describe_vertex(particle),
        "position": to_list(where[0]),
        "given": to_list(where[1]),
        "fixed": False,
    }


def build_flow_trails(mode: FlowSteerMode) -> list[dict[str, Any]]:
    """The paths of steered particles; what became of them is seen in the smoke, and would hide these."""
    given = embed_in_3d(mode.setup.shot.particles)
    shown = range(min(mode.steered_count, MAX_TRAILS))
    return [{"node": k, "given": to_rounded_list(given[:, k]), "result": [], "rev": 0} for k in shown]


def describe_flow_model(mode: FlowSteerMode) -> dict[str, Any]:
    """What the panel says of the flow."""
    model, plan = mode.setup.shot.model, mode.setup
    kicks = [
        {"name": f"F{number}", "text": f"{np.hypot(*way):.2g} m/s² on {mode.content.describe_vertex(particle)}"}
        for number, (particle, way) in enumerate(plan.preset_gusts, 1)
    ]
    return {
        "model": f"{model.size} modes",
        "flow": {"kicks": kicks, "smoke": mode.settings.smoke, "seed": mode.settings.seed},
    }


# Particles that are nearer to their places than this [cells] are where they should be.
ON_PATH_DISTANCE = 1.0


class FlowSteerMode(LiveSteerMode[FlowModeSettings, FlowRealtimeController, Point]):
    """A `FlowLive` in the studio. What is seen of it are its particles (N + k, 2) [m], flat."""

    max_failures: ClassVar[int] = 1  # a flow that overflowed stands at its start already
    location_key: ClassVar[str] = "at"
    effort_unit: ClassVar[str | None] = "of its momentum"
    target_name: ClassVar[str] = "the particles"

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        super().__init__(host, content)
        assert content.flow_setup is not None
        self.setup: FlowSteerSetup = content.flow_setup
        progress = host.begin_job("Preparing the flow")
        self.steered_count, self.particle_count = self.setup.shot.particles.shape[1], self.setup.paths.shape[1]
        self.settings, self.ghost, self.push_handlers = (
            build_initial_settings(self.setup),
            "reference",
            FlowPushHandlers(self),
        )
        if snapshot is not None:
            flow = self.setup.shot.model.flow
            self.settings, self.ghost, self.selected, self.push_handlers.records = restore_flow_state(
                snapshot, flow, self.particle_count
            )
        report_progress(progress, 0.2, "making the controller")
        controller = steer(self.setup.shot, **{**self.setup.options, **self.settings.controller_options})
        live = controller.start(passive_particles=self.setup.paths[0, self.steered_count :])
        self.force_arrows = FlowForceArrows(self.setup.shot)
        self._smoke_fields: tuple[Array | None, Array | None] = None, None
        self.start(RealtimeLoop(live, self._build_lap_setup()))

    def _build_lap_setup(self) -> LapSetup[FlowRealtimeController]:
        paths = self.setup.paths
        return LapSetup(
            self.setup.shot.step_count, 1, False, 1 / STEPS_PER_SECOND, paths.reshape(len(paths), -1),
            lambda live: np.concatenate([live.particles, live.passive_particles]).ravel(),
        )  # fmt: skip

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {**super().commands, "smoke": self._set_smoke, "select": self._select_particles}

    @property
    def time(self) -> float:
        return self.realtime.controller.time / (self.setup.shot.dt * STEPS_PER_SECOND)

    @property
    def smoke_image(self) -> NDArray[np.uint8] | None:
        """Smoke (rows, columns) as bytes, between two steps as everything that is seen."""
        before, now = self._smoke_fields
        if before is None or now is None:
            return None
        mixed = before + self.realtime.blend_fraction * (now - before)
        return np.rint(255 * np.clip(mixed, 0.0, 1.0)).astype(np.uint8).T

    def compute_live_vertices(self, frame: int) -> Array:
        self.shown_frame = frame
        return self._build_vertices(self.realtime.interpolate_states()[0])

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        drive = self.realtime
        return self._build_vertices(
            {"given": drive.setup.reference_states, "result": drive.lap_states, "other": drive.uncontrolled_states}[
                stream
            ][frame]
        )

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """The balls of the last whole lap; before there is one, of their paths."""
        states = (
            self.realtime.setup.reference_states
            if self.realtime.last_lap_states is None
            else self.realtime.last_lap_states
        )
        report_progress(progress, 1.0, "the last lap")
        return Animation(self.content.mesh, self._build_vertices(states), fps=self.fps, skin=self.content.skin)

    # --- what is particular to flows

    def begin_lap(self) -> None:
        self._fill_smoke(self.settings.smoke)

    def on_step(self) -> None:
        self._smoke_fields = self._smoke_fields[1], self.realtime.controller.smoke

    def evaluate_outcome(self) -> bool | None:
        live = self.realtime.controller
        if live.particles_outside_linear_range:
            return False
        return True if live.distances_in_cells.max(initial=0.0) <= ON_PATH_DISTANCE else None

    def show_states(self, state: Array, uncontrolled: Array | None) -> None:
        beside = self.compute_reference_positions(state) if uncontrolled is None else uncontrolled
        self.host.show_live_frame(
            self._build_vertices(state), frame=self.shown_frame, ghost=self._build_vertices(beside)
        )

    def compute_reference_positions(self, state: Array) -> Array:
        """Where the particles should be (m,); those that nobody steers are where they are."""
        path, step, steered = self.setup.shot.particles, self.realtime.step, 2 * self.steered_count
        before, now = path[max(step - 1, 0)], path[step]
        return np.concatenate([(before + self.realtime.blend_fraction * (now - before)).ravel(), state[steered:]])

    def build_pulse(self, state: Array) -> dict[str, Any]:
        return build_flow_pulse(self)

    def describe_push(self, push: PushRecord[Point]) -> str:
        return f"{push.strength:.2g} m/s² at {push.location[0]:.0f}, {push.location[1]:.0f}"

    def locate_push(self, push: PushRecord[Point]) -> dict[str, Any]:
        x, y = push.location
        return {"node": None, "at": [x, 0.0, y], "name": f"{x:.0f}, {y:.0f}"}

    def describe_outcome(self) -> dict[str, Any]:
        return describe_flow_outcome(self)

    def describe_selection(self) -> list[dict[str, Any]]:
        return [describe_selected_particle(self, particle) for particle in self.selected]

    def build_trails(self) -> list[dict[str, Any]]:
        return build_flow_trails(self)

    def describe_model(self) -> dict[str, Any]:
        return describe_flow_model(self)

    def read_wind(self, message: Message) -> FlowModeSettings:
        return update_wind(self.settings, message)

    def set_wind(self, settings: FlowModeSettings) -> None:
        winds = [self.setup.build_wind(settings.seed, strength=settings.wind)] if settings.wind > 0 else []
        for live in self.list_controllers():
            live.set_disturbances(*winds)

    def apply_settings(self, before: FlowModeSettings, new: FlowModeSettings) -> None:
        super().apply_settings(before, new)
        if new.smoke != before.smoke:
            self._fill_smoke(new.smoke)

    def _set_smoke(self, message: Message) -> None:
        on = message_values.read_flag(message, "on")
        self.change_settings(replace(self.settings, smoke=on), f"smoke {'on' if on else 'off'}")
        self.show_states(*self.realtime.interpolate_states())

    def _select_particles(self, message: Message) -> None:
        self.selected = message_values.read_vertices(message, "nodes", self.particle_count, min_count=0)
        self.host.record_change(frames_changed=False)

    def _fill_smoke(self, enabled: bool) -> None:
        self.realtime.controller.set_smoke(self.setup.initial_smoke if enabled else None)
        self._smoke_fields = self.realtime.controller.smoke, self.realtime.controller.smoke

    def _build_vertices(self, states: Array) -> Array:
        """Vertices (..., n, 3) [m] of particles (..., m) [m], flat."""
        return build_ball_vertices(states.reshape(*states.shape[:-1], -1, 2), compute_ball_radius(self.setup.shot))
