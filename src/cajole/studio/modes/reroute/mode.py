"""Reroute: a pilot runs, vertices of it are dragged to where they should have been, and it runs again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodySprings
from cajole.direct.rerouting.force_distribution import compute_default_reach
from cajole.errors import InputError
from cajole.progress import ProgressCallback, report_progress
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import Handler, Message, ModeHost, ModeSnapshot
from cajole.studio.modes.reroute.goals import GoalHandlers, Goals, find_goal
from cajole.studio.modes.reroute.messages import RerouteStateMessage
from cajole.studio.modes.reroute.run import RerouteInputs, RerouteRun, run_pilot, run_reroute, show_method
from cajole.studio.modes.reroute.settings import (
    NET_FIELDS,
    PILOT_FPS,
    RerouteModeSettings,
    build_initial_settings,
    build_net,
    update_settings,
)
from cajole.studio.modes.reroute.snapshot import create_snapshot, restore_snapshot
from cajole.studio.modes.reroute.view_model import build_reroute_state
from cajole.studio.modes.undo import UndoableMode, UndoHistory


@dataclass(frozen=True, eq=False)
class RerouteUndoState:
    """All that undo brings back."""

    net: BodySprings
    settings: RerouteModeSettings
    goals: Goals
    pilot: Animation | None
    run: RerouteRun | None


class RerouteMode(UndoableMode[RerouteUndoState]):
    """A net, its pilot, goals, and the second run that meets them."""

    name = "reroute"
    state_type = RerouteStateMessage

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        self.host, self.content = host, content
        self.history: UndoHistory[RerouteUndoState] = UndoHistory()
        self.net = build_net(content)
        self.default_reach = compute_default_reach(self.net)
        self.settings = build_initial_settings(content, self.default_reach)
        self.pilot = content.animation
        self.goals: Goals = ()
        self.selected: list[int] = []
        self.current_frame = 0
        self.rerouted_run: RerouteRun | None = None
        self.comparison_run: RerouteRun | None = None
        self.shown_method = self.settings.method
        self.running_job: str | None = None
        self.running_stage: str | None = None
        self.partial_frames: list[Array] = []
        self._goal_handlers = GoalHandlers(self)
        if snapshot is not None:
            restore_snapshot(self, snapshot)

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            **self.common_commands,
            **self._goal_handlers.commands,
            "pilot": partial(run_pilot, self),
            "reroute": partial(run_reroute, self),
            "compare": partial(show_method, self),
            "route": self._update_settings,
            "pose.pin": lambda message: self._set_fixed_vertices(message, True),
            "pose.unpin": lambda message: self._set_fixed_vertices(message, False),
        }

    @property
    def frames(self) -> int:
        return self.settings.frames if self.pilot is None else self.pilot.frames

    @property
    def fps(self) -> float:
        return PILOT_FPS if self.pilot is None else self.pilot.fps

    @property
    def drawn_content(self) -> ProjectContent:
        """What is open, with the room that its pilot takes."""
        return self.content if self.pilot is None else replace(self.content, animation=self.pilot)

    def build_state(self) -> dict[str, Any]:
        return build_reroute_state(self)

    def compute_live_vertices(self, frame: int) -> Array:
        self.current_frame = frame
        found = self.compute_stream_vertices("result", frame)
        return self.content.compute_drawn_positions(self.net.vertices) if found is None else found

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        if self.running_stage == "pilot":
            return (
                self.content.compute_drawn_positions(self.partial_frames[frame])
                if frame < len(self.partial_frames)
                else None
            )
        shown = self.shown_run
        motion = shown.animation if stream == "result" and shown is not None else self.pilot
        if stream == "other":
            return None
        if motion is None:
            return self.content.compute_drawn_positions(self.net.vertices) if frame == 0 else None
        return self.content.compute_drawn_positions(np.asarray(motion.frame(frame), dtype=np.float64))

    def export_content(self) -> ProjectContent:
        """The second run, or the pilot, for another mode. Raises InputError when there is neither yet."""
        return replace(self.content, animation=self.export_animation(), shot=None, steer_setup=None)

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """What the second view shows."""
        report_progress(progress, 1.0, "the second run")
        return self.require_pilot() if self.shown_run is None else self.shown_run.animation

    def create_snapshot(self) -> ModeSnapshot:
        return create_snapshot(self)

    def close(self) -> None:
        self._goal_handlers.cancel_drag()

    # --- what parts of the mode need to know

    @property
    def shown_run(self) -> RerouteRun | None:
        """The second run that is looked at."""
        return (
            self.comparison_run
            if self.comparison_run is not None and self.comparison_run.method == self.shown_method
            else self.rerouted_run
        )

    @property
    def has_own_net(self) -> bool:
        """Whether the springs and the pilot are the author's, and no scene's or file's."""
        return self.content.reroute_setup is None and self.content.animation is None

    def get_run_inputs(self) -> RerouteInputs:
        """All that a second run depends on."""
        return RerouteInputs(self.goals, self.settings)

    def is_stale(self) -> bool:
        """Whether something has changed since the second run."""
        return self.rerouted_run is not None and self.rerouted_run.inputs != self.get_run_inputs()

    def require_pilot(self) -> Animation:
        """The pilot. Raises InputError while there is none."""
        if self.pilot is None:
            raise InputError("there is no pilot yet; run it first")
        return self.pilot

    def compute_target(self, node: int, frame: int) -> Array:
        """(3,) [m] where a vertex shall be at a frame, else where it is seen."""
        goal = find_goal(self.goals, node, frame)
        if goal is not None:
            return np.array(goal.position)
        motion = self.pilot if self.shown_run is None else self.shown_run.animation
        there = self.net.vertices if motion is None else motion.positions[frame]
        return np.asarray(there[node], dtype=np.float64)

    def describe_vertices(self, nodes: list[int]) -> str:
        return self.content.describe_vertex(nodes[0]) if len(nodes) == 1 else f"{len(nodes)} points"

    # --- dials

    def _update_settings(self, message: Message) -> None:
        new = update_settings(self.settings, message, float(self.content.mesh.size))
        self._require_own_net(message.keys() & set(NET_FIELDS))
        last = self.goals[-1] if self.goals else None
        if last is not None and last.frame >= new.frames and self.has_own_net:
            raise InputError(
                f"{last.title} stands at frame {last.frame}, beyond {new.frames} frames; move or delete it first"
            )
        names = sorted(message.keys() - {"v", "do", "id"})
        if new != self.settings:
            self.apply_undoable(f"set {', '.join(names)}", lambda: self._apply_settings(new), join=True)

    def _set_fixed_vertices(self, message: Message, is_fixed: bool) -> None:
        """Vertices of a mesh that are held while it falls."""
        nodes = set(message_values.read_vertices(message, "nodes", self.net.vertex_count))
        self._require_own_net({"held"})
        wanted = {goal.node for goal in self.goals}
        if is_fixed and nodes & wanted:
            raise InputError(
                f"{self.content.describe_vertex(min(nodes & wanted))} has a goal; delete that, then hold it"
            )
        held = set(self.settings.held) | nodes if is_fixed else set(self.settings.held) - nodes
        new = replace(self.settings, held=tuple(sorted(held)))
        self.apply_undoable("hold points" if is_fixed else "let go of points", lambda: self._apply_settings(new))

    def _require_own_net(self, names: set[str]) -> None:
        if names and not self.has_own_net:
            raise InputError(f"{min(names)} is as the pilot had it; open the mesh by itself to choose it")

    def _apply_settings(self, settings: RerouteModeSettings) -> None:
        """Other dials; those of the net make another, whose pilot has not been run."""
        other = settings.get_net_settings() != self.settings.get_net_settings()
        self.settings = settings
        if other:
            self.net = build_net(self.content, settings)
            self.pilot = self.rerouted_run = None

    # --- history

    def finish_interaction(self) -> None:
        if self._goal_handlers.is_dragging:
            raise InputError("a drag is under way; let go first, or press Esc")

    def capture_state(self) -> RerouteUndoState:
        return RerouteUndoState(self.net, self.settings, self.goals, self.pilot, self.rerouted_run)

    def apply_undoable(self, label: str, action: Callable[[], None], *, join: bool = False) -> None:
        """One step of undo, or more of the last one; as it was before when it fails on the way."""
        self.finish_interaction()
        self._send_changes(self.run_undoable(label, action, self.restore_fields, join=join), label)

    def restore_fields(self, state: RerouteUndoState) -> None:
        self.net, self.settings, self.goals = state.net, state.settings, state.goals
        self.pilot, self.rerouted_run = state.pilot, state.run
        self.current_frame = min(self.current_frame, self.frames - 1)

    def restore_state(self, state: RerouteUndoState) -> None:
        before = self.capture_state()
        self.restore_fields(state)
        self._send_changes(before, None)

    def _send_changes(self, before: RerouteUndoState, label: str | None) -> None:
        """Tabs are told as much as differs: other bounds, other frames."""
        if self.rerouted_run is not before.run:
            self.comparison_run, self.shown_method = (
                None,
                self.settings.method if self.rerouted_run is None else self.rerouted_run.method,
            )
        if self.pilot is not before.pilot:
            self.host.resend_geometry()
        if self.rerouted_run is not before.run or self.pilot is not before.pilot:
            self.send_frames(label)
        else:
            self.host.record_change(label, frames_changed=False)

    def send_frames(self, label: str | None) -> None:
        """Frames differ: tabs are told, and see the present one."""
        self.host.record_change(label)
        self.host.show_live_frame(self.compute_live_vertices(self.current_frame), frame=self.current_frame)
