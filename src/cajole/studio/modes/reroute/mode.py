"""Reroute: simulate a pilot, drag its vertices to where they should have been, and simulate it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodySprings
from cajole.direct.rerouting import METHODS, reroute
from cajole.direct.rerouting.force_distribution import compute_default_reach
from cajole.dynamics.prescribed_motion import simulate_with_prescribed_motion
from cajole.errors import InputError
from cajole.progress import ProgressCallback, report_progress
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import Handler, Message, ModeHost, ModeSnapshot
from cajole.studio.modes.payloads import build_force_lanes, build_force_meter, build_selected_vertex, to_list
from cajole.studio.modes.reroute import view_model
from cajole.studio.modes.reroute.messages import RerouteStateMessage
from cajole.studio.modes.reroute.run import (
    GoalMarker,
    Goals,
    RerouteInputs,
    RerouteRun,
    RunSummary,
    find_goal,
    set_goal_positions,
)
from cajole.studio.modes.reroute.settings import PILOT_FPS, RerouteModeSettings, build_initial_settings, build_net
from cajole.studio.modes.settings import update_settings
from cajole.studio.modes.timeline_markers import MarkerMode, find_marker, replace_marker, sort_markers


@dataclass(frozen=True, eq=False)
class RerouteUndoState:
    """All that undo restores."""

    net: BodySprings
    settings: RerouteModeSettings
    goals: Goals
    pilot: Animation | None
    run: RerouteRun | None


@dataclass(eq=False)
class GoalDrag:
    """A drag in progress: vertices, their start positions and target positions [m] (k, 3)."""

    number: int
    frame: int
    nodes: list[int]
    start_positions: Array
    positions: Array


class RerouteMode(MarkerMode[RerouteUndoState, GoalMarker]):
    """A net, its pilot, goals, and the rerouted motion that meets them.

    rerouted_run: the last run; comparison_run: the same with the other method; shown_method: which of them is shown;
    running_stage: "pilot" or "run" while a job is under way; partial_frames: frames of a pilot under way.
    """

    name, lane, noun = "reroute", "goals", "goal"
    state_type = RerouteStateMessage

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        super().__init__(host, content)
        self.settings = build_initial_settings(content)
        self.net = build_net(content, self.settings)
        self.default_reach = compute_default_reach(self.net)
        if content.reroute_setup is None or "reach" not in content.reroute_setup.reroute_options:
            self.settings = replace(self.settings, reach=self.default_reach)
        self.pilot = content.animation
        self.rerouted_run: RerouteRun | None = None
        self.comparison_run: RerouteRun | None = None
        self.shown_method = self.settings.method
        self.running_stage: str | None = None
        self.partial_frames: list[Array] = []
        self._active_drag: GoalDrag | None = None
        if snapshot is not None:
            self._restore_snapshot(snapshot)

    @property
    def goals(self) -> Goals:
        return self.markers

    # --- interface of the project

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            **self.common_commands,
            **self.marker_commands,
            "drag.begin": self._begin_drag,
            "drag.move": self._move_drag,
            "drag.commit": self._commit_drag,
            "drag.cancel": self._cancel_drag,
            "place": self._place_vertex,
            "goal.set": self._set_window,
            "moves": self._add_scene_goals,
            "pilot": self._run_pilot,
            "reroute": self._run_reroute,
            "compare": self._show_method,
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
        """The content with the bounds of its pilot."""
        return self.content if self.pilot is None else replace(self.content, animation=self.pilot)

    @property
    def shown_run(self) -> RerouteRun | None:
        """The run of the method that is shown."""
        other = self.comparison_run
        return other if other is not None and other.summary.method == self.shown_method else self.rerouted_run

    def build_state(self) -> dict[str, Any]:
        shown, pilot, net, is_stale = self.shown_run, self.pilot, self.net, self.is_stale()
        outcomes = {} if shown is None or is_stale else {each.id: each for each in shown.summary.goals}
        rerouted = None if shown is None else shown.animation
        goals = view_model.describe_goals(self.content, net, self.goals, self.settings.alpha, pilot, rerouted, outcomes)
        method = self.shown_method if shown is None else shown.summary.method
        hint = "A wider window or reach is gentler." if method == "least-force" else "Least force is gentler."
        ready = 1 if pilot is None else None
        label = "At rest" if pilot is None else "Pilot"
        if self.running_stage == "pilot":
            ready, label = len(self.partial_frames), "Pilot · running"
        elif shown is not None:
            label = f"Second run · {'of older goals' if is_stale else method.replace('-', ' ')}"
        given = net.vertices if pilot is None else pilot.positions[self.current_frame]
        selection = []
        for node in self.selected:
            position, is_fixed = self.compute_target(node, self.current_frame), bool(node in net.fixed)
            selection.append(build_selected_vertex(self.content, node, position, given[node], fixed=is_fixed))
        settings = asdict(self.settings)
        held = settings.pop("held")
        run, other = self.rerouted_run, self.comparison_run
        curve = None if shown is None else shown.added_force
        return {
            "lanes": [view_model.build_goal_lane(goals, self.selected, self.fps), *build_force_lanes(curve)],
            "meter": build_force_meter(curve, hint),
            "selection": selection,
            "trails": [],
            "labels": {"now": "Pilot" if shown is None else "Second run", "result": label},
            "ready": ready,
            **self.build_history_state(),
            "reroute": {
                "goals": goals,
                "pilot_frames": None if pilot is None else pilot.frames,
                "dials": settings,
                "net": {
                    "vertices": net.vertex_count,
                    "springs": len(net.edges),
                    "weight": float(net.weight),
                    "own": self.has_own_net,
                    "usual_reach": self.default_reach,
                },
                "held": list(held) if self.has_own_net else [],
                "suggested": self.content.reroute_setup is not None and pilot is not None,
                "running": self.running_job,
                "making": self.running_stage,
                "result": None if run is None else view_model.describe_run(run, is_stale=is_stale),
                "compared": [
                    view_model.describe_run(each, is_stale=False) for each in (run, other) if each is not None
                ],
                "sight": method,
            },
        }

    def compute_live_vertices(self, frame: int) -> Array:
        self.current_frame = frame
        found = self.compute_stream_vertices("result", frame)
        return self.content.compute_drawn_positions(self.net.vertices) if found is None else found

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        shown, positions = self.shown_run, None
        motion = shown.animation if stream == "result" and shown is not None else self.pilot
        if self.running_stage == "pilot":
            positions = self.partial_frames[frame] if frame < len(self.partial_frames) else None
        elif stream == "other":
            return None
        elif motion is not None:
            positions = np.asarray(motion.frame(frame), dtype=np.float64)
        elif frame == 0:
            positions = self.net.vertices
        return None if positions is None else self.content.compute_drawn_positions(positions)

    def export_content(self) -> ProjectContent:
        """The rerouted motion, else the pilot, for another mode. Raises InputError without a pilot."""
        return replace(self.content, animation=self.export_animation(), shot=None, steer_setup=None)

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """The motion that the second view shows."""
        report_progress(progress, 1.0, "the second run")
        return self.require_pilot() if self.shown_run is None else self.shown_run.animation

    def create_snapshot(self) -> ModeSnapshot:
        document: dict[str, Any] = {
            "dials": asdict(self.settings) | {"held": list(self.settings.held)},
            "goals": [asdict(goal) | {"position": list(goal.position)} for goal in self.goals],
            "selected": list(self.selected),
            "run": None,
        }
        arrays: dict[str, NDArray[Any]] = {}
        if self.pilot is not None and self.content.animation is None:
            arrays["pilot"] = self.pilot.positions
            if self.pilot.velocities is not None:
                arrays["pilot_velocities"] = self.pilot.velocities
        if self.rerouted_run is not None:
            document["run"] = {"about": asdict(self.rerouted_run.summary), "stale": self.is_stale()}
            arrays["positions"] = self.rerouted_run.animation.positions
            arrays["curve"] = self.rerouted_run.added_force
        return ModeSnapshot(document, arrays)

    def _restore_snapshot(self, snapshot: ModeSnapshot) -> None:
        document, arrays, count = snapshot.document, snapshot.arrays, self.net.vertex_count
        read_vertices, require_array = message_values.read_vertices, checks.require_real_array
        try:
            dials, run = document["dials"], document["run"]
            self.settings = update_settings(self.settings, dials, units={"size": float(self.content.mesh.size)})
            if self.has_own_net:
                held = tuple(read_vertices(dials, "held", count, min_count=0))
                self.settings = replace(self.settings, held=held)
                self.net = build_net(self.content, self.settings)
            if self.pilot is None and "pilot" in arrays:
                positions = require_array(arrays["pilot"], "the saved pilot", (self.settings.frames, count, 3))
                velocities = arrays.get("pilot_velocities")
                if velocities is not None:
                    velocities = require_array(velocities, "the saved velocities of the pilot", positions.shape)
                mesh, name = self.content.mesh, self.content.name
                self.pilot = Animation(mesh, positions, PILOT_FPS, velocities=velocities, name=name)
            self.markers = sort_markers(self._parse_goal(each) for each in document["goals"])
            self.selected = read_vertices(document, "selected", count, min_count=0)
            if run is not None and self.pilot is not None:
                positions = require_array(arrays["positions"], "the saved second run", self.pilot.positions.shape)
                force = require_array(arrays["curve"], "the saved forces", (self.pilot.frames,))
                inputs = None if run["stale"] else self._get_run_inputs()
                motion, summary = replace(self.pilot, positions=positions, velocities=None), run["about"]
                self.rerouted_run = RerouteRun(motion, force, RunSummary.from_document(summary), inputs)
                self.shown_method = self.rerouted_run.summary.method
        except (KeyError, TypeError, IndexError, ValueError, AttributeError) as reason:
            raise InputError(f"what was kept of the goals cannot be read ({reason}); open the scene anew") from None

    def _parse_goal(self, document: Mapping[str, Any]) -> GoalMarker:
        x, y, z = message_values.read_vector(document, "position").tolist()
        window, name = document["window"], document["name"]
        return GoalMarker(
            message_values.read_integer(document, "number", 1),
            message_values.read_integer(document, "frame", 1, self.frames - 1),
            message_values.read_integer(document, "node", 0, self.net.vertex_count - 1),
            (x, y, z),
            None if window is None else message_values.read_integer(document, "window", 1),
            None if name is None else str(name),
        )

    def close(self) -> None:
        self._active_drag = None

    # --- undo

    def finish_interaction(self) -> None:
        if self._active_drag is not None:
            raise InputError("a drag is under way; let go first, or press Esc")

    def capture_state(self) -> RerouteUndoState:
        return RerouteUndoState(self.net, self.settings, self.goals, self.pilot, self.rerouted_run)

    def restore_fields(self, state: RerouteUndoState) -> None:
        self.net, self.settings, self.markers = state.net, state.settings, state.goals
        self.pilot, self.rerouted_run = state.pilot, state.run
        self.current_frame = min(self.current_frame, self.frames - 1)

    def send_changes(self, before: RerouteUndoState, label: str | None) -> None:
        run = self.rerouted_run
        if run is not before.run:
            self.comparison_run, self.shown_method = None, self.settings.method if run is None else run.summary.method
        if self.pilot is not before.pilot:
            self.host.resend_geometry()  # the motion has other bounds
        if run is not before.run or self.pilot is not before.pilot:
            self._send_frames(label)
        else:
            self.host.record_change(label, frames_changed=False)

    def _send_frames(self, label: str | None) -> None:
        """Record that frames differ, and show the present one."""
        self.host.record_change(label)
        self.host.show_live_frame(self.compute_live_vertices(self.current_frame), frame=self.current_frame)

    # --- goals

    def require_distinct(self, markers: Goals) -> Goals:
        seen: dict[tuple[int, int], GoalMarker] = {}
        for goal in markers:
            if seen.setdefault((goal.node, goal.frame), goal) is not goal:
                name = self.content.describe_vertex(goal.node)
                raise InputError(f"{name} would have two goals at frame {goal.frame}; move one of them, or delete it")
            if goal.frame == 0:
                raise InputError(f"{goal.title} would be at frame 0, where nothing can have led it; choose a later one")
        return markers

    def _begin_drag(self, message: Message) -> Mapping[str, Any]:
        self._active_drag = None  # its tab may have been closed during a drag
        number, frame = message_values.read_integer(message, "gesture"), self._read_frame(message)
        nodes = self._require_free(message_values.read_vertices(message, "nodes", self.net.vertex_count))
        if message.get("directions") not in (None, "xyz"):
            raise InputError("a goal is a whole place; leave directions out, or say xyz")
        starts = np.array([self.compute_target(node, frame) for node in nodes])
        self._active_drag = GoalDrag(number, frame, nodes, starts, starts)
        self.selected, self.current_frame = nodes, frame
        return {"position": to_list(starts[0])}

    def _move_drag(self, message: Message) -> None:
        drag = message_values.require_active_gesture(message, self._active_drag)
        drag.positions = drag.start_positions + message_values.read_vector(message, "delta")
        self.host.broadcast({
            "is": "moved", "gesture": drag.number, "seq": message_values.read_integer(message, "seq"),
            "position": to_list(drag.positions[0]), "miss": 0.0, "ms": 0.0, "meter": None,
        })  # fmt: skip

    def _commit_drag(self, message: Message) -> Mapping[str, Any]:
        drag = message_values.require_active_gesture(message, self._active_drag)
        self._active_drag = None
        goals = set_goal_positions(self.goals, drag.frame, drag.nodes, drag.positions)
        self.set_markers(goals, f"move {self.describe_vertices(drag.nodes)}")
        return {"moved": float(np.linalg.norm(drag.positions[0] - drag.start_positions[0]))}

    def _cancel_drag(self, message: Message) -> None:
        message_values.require_active_gesture(message, self._active_drag)
        self._active_drag = None
        self.host.record_change(frames_changed=False)

    def _place_vertex(self, message: Message) -> None:
        frame = self._read_frame(message)
        nodes = self._require_free([message_values.read_integer(message, "node", 0, self.net.vertex_count - 1)])
        goals = set_goal_positions(self.goals, frame, nodes, message_values.read_vector(message, "position")[None])
        self.set_markers(goals, f"move {self.describe_vertices(nodes)}", join=True)
        self.selected = nodes

    def _set_window(self, message: Message) -> None:
        """Set the window of a goal; null for one that suits the distance."""
        goal, window = find_marker(self.goals, message_values.read_text(message, "goal")), None
        if message["window"] is not None:
            window = message_values.read_integer(message, "window", 1, self.frames - 1)
        goals = replace_marker(self.goals, replace(goal, window=window))
        self.set_markers(goals, f"set window of {goal.title}", join=True)

    def _add_scene_goals(self, message: Message) -> None:
        """Add the goals of the scene to those that exist."""
        plan, pilot, goals = self.content.reroute_setup, self.require_pilot(), self.goals
        if plan is None:
            raise InputError("what is open has no goals of its own; click a vertex and drag it")
        for goal in plan.build_goals(pilot):
            goals = set_goal_positions(goals, goal.frame, [goal.vertex], np.array([goal.position], dtype=np.float64))
            added = find_goal(goals, goal.vertex, goal.frame)
            if added is not None and goal.window is not None:
                goals = replace_marker(goals, replace(added, window=goal.window))
        self.set_markers(goals, "take the scene's goals")

    def compute_target(self, node: int, frame: int) -> Array:
        """Goal position (3,) [m] of a vertex at a frame; without a goal, the position that is shown."""
        goal = find_goal(self.goals, node, frame)
        if goal is not None:
            return np.array(goal.position)
        motion = self.pilot if self.shown_run is None else self.shown_run.animation
        positions = self.net.vertices if motion is None else motion.positions[frame]
        return np.asarray(positions[node], dtype=np.float64)

    def _read_frame(self, message: Message) -> int:
        frame = message_values.read_integer(message, "frame", 0, self.frames - 1)
        self.require_pilot()
        if frame == 0:
            raise InputError("nothing can have led a vertex at frame 0, where the motion starts; go to a later frame")
        return frame

    def _require_free(self, nodes: list[int], *, max_count: int = 200) -> list[int]:
        for node in nodes:
            if node in self.net.fixed:
                name = self.content.describe_vertex(node)
                raise InputError(f"{name} is held, and nothing leads it; drag one of its neighbours")
        if len(nodes) > max_count:
            raise InputError(f"{len(nodes)} vertices are too many to be dragged at once; select {max_count} at most")
        return nodes

    # --- settings

    @property
    def has_own_net(self) -> bool:
        """True if springs and pilot are made here, not by a scene or file."""
        return self.content.reroute_setup is None and self.content.animation is None

    def _update_settings(self, message: Message) -> None:
        new = update_settings(self.settings, message, units={"size": float(self.content.mesh.size)})
        self._require_own_net(message.keys() & set(new.net_fields))
        last = self.goals[-1] if self.goals else None
        if last is not None and last.frame >= new.frames and self.has_own_net:
            raise InputError(
                f"{last.title} stands at frame {last.frame}, beyond {new.frames} frames; move or delete it first"
            )
        names = sorted(message.keys() - {"v", "do", "id"})
        if new != self.settings:
            self._apply_settings(new, f"set {', '.join(names)}", join=True)

    def _set_fixed_vertices(self, message: Message, is_fixed: bool) -> None:
        """Fix or free vertices of a mesh in its pilot."""
        nodes = set(message_values.read_vertices(message, "nodes", self.net.vertex_count))
        self._require_own_net({"held"})
        if is_fixed and (with_goals := nodes & {goal.node for goal in self.goals}):
            name = self.content.describe_vertex(min(with_goals))
            raise InputError(f"{name} has a goal; delete that, then hold it")
        held = set(self.settings.held) | nodes if is_fixed else set(self.settings.held) - nodes
        new = replace(self.settings, held=tuple(sorted(held)))
        self._apply_settings(new, "hold points" if is_fixed else "let go of points")

    def _require_own_net(self, names: set[str]) -> None:
        if names and not self.has_own_net:
            raise InputError(f"{min(names)} is as the pilot had it; open the mesh by itself to choose it")

    def _apply_settings(self, settings: RerouteModeSettings, label: str, *, join: bool = False) -> None:
        """Change settings as one undo step; those of the net make another net, without a pilot."""
        with self.undo_step(label, join=join):
            old, self.settings = self.settings, settings
            if settings.get_net_settings() != old.get_net_settings():
                self.net = build_net(self.content, settings)
                self.pilot = self.rerouted_run = None

    # --- runs

    def require_pilot(self) -> Animation:
        """The pilot. Raises InputError if it has not been run."""
        if self.pilot is None:
            raise InputError("there is no pilot yet; run it first")
        return self.pilot

    def _get_run_inputs(self) -> RerouteInputs:
        return RerouteInputs(self.goals, self.settings)

    def is_stale(self) -> bool:
        """True if goals or settings have changed since the last run."""
        return self.rerouted_run is not None and self.rerouted_run.inputs != self._get_run_inputs()

    @contextmanager
    def _stage_job(self, title: str, stage: str) -> Iterator[ProgressCallback]:
        self.running_stage, self.partial_frames = stage, []
        with self.job(title, frames_changed=stage == "pilot") as progress:
            try:
                yield progress
            finally:
                self.running_stage, self.partial_frames = None, []

    def _run_pilot(self, message: Message) -> Mapping[str, Any]:
        """Simulate the pilot and show its frames as they come. Raises InputError if it was opened from a file."""
        if self.content.animation is not None:
            raise InputError("the motion that was opened is the pilot; there is nothing to run")
        self.finish_interaction()
        before, plan = self.capture_state(), self.content.reroute_setup

        def record_frame(frame: int, positions: Array) -> None:
            self.partial_frames.append(np.array(positions))
            self.host.record_change(frames_changed=False)

        with self._stage_job("Running the pilot", "pilot") as progress:
            if plan is not None:
                pilot = plan.simulate_pilot(progress, record_frame)
            else:
                frames, dt = self.settings.frames, 1 / PILOT_FPS
                pilot = simulate_with_prescribed_motion(
                    self.net, frames, dt, gravity=EARTH_GRAVITY, on_frame=record_frame, progress=progress
                )
        self.pilot = replace(pilot, name=self.content.name)
        self.rerouted_run = self.comparison_run = None
        label = None
        if before.pilot is not None:
            label = "run the pilot"
            self.history.record(label, before)
        self.host.resend_geometry()  # the motion has other bounds than the net at rest
        self._send_frames(label)
        return {"frames": self.pilot.frames}

    def _run_reroute(self, message: Message) -> Mapping[str, Any]:
        """Lead the vertices to their goals. Raises InputError without goals, SolveError, Cancelled."""
        before = self.capture_state()
        self.rerouted_run = run = self._solve(self._get_run_inputs())
        summary = run.summary
        self.comparison_run, self.shown_method = None, summary.method
        self.history.record("run again", before)
        self._send_frames("run again")
        why = next((goal.why for goal in summary.goals if goal.why), "")
        self.host.broadcast({
            "is": "notice", "tone": "warn" if summary.reached < summary.count else "ok", "title": summary.text,
            "text": f"{why[:1].upper()}{why[1:]}." if why else "",
        })  # fmt: skip
        return {"reached": summary.reached}

    def _show_method(self, message: Message) -> None:
        """Show the run of a method, and make what is missing of both methods."""
        method = message_values.read_choice(message, "with", METHODS)
        if self.rerouted_run is None or self.is_stale():
            self._run_reroute(message)
        run, other = self.rerouted_run, self.comparison_run
        if run is None or run.inputs is None:
            raise InputError("there is no second run to compare with; run again first")
        if method != run.summary.method and (other is None or other.summary.method != method):
            settings = replace(run.inputs.settings, method=method)
            self.comparison_run = self._solve(replace(run.inputs, settings=settings))
        self.shown_method = method
        self._send_frames(None)

    def _solve(self, inputs: RerouteInputs) -> RerouteRun:
        self.finish_interaction()
        pilot, count, settings = self.require_pilot(), len(inputs.goals), inputs.settings
        if not inputs.goals:
            raise InputError("nothing is asked for yet; go to a frame, click a vertex and drag it to where it shall be")
        plan, options = self.content.reroute_setup, {}
        if plan is not None and pilot.frames == plan.frames:  # options per frame suit this number of frames only
            names = ("rest_lengths", "capsules")
            options = {name: plan.reroute_options[name] for name in names if name in plan.reroute_options}
        goals = [goal.to_goal() for goal in inputs.goals]
        title = f"Leading {count} {'vertex' if count == 1 else 'vertices'} by {settings.method}"
        with self._stage_job(title, "run") as progress:
            result = reroute(
                self.net, pilot, goals, settings.method, settings.within, settings.limit, reach=settings.reach,
                alpha=settings.alpha, progress=progress, **options,
            )  # fmt: skip
        summary = RunSummary.from_report(result.report, inputs.goals)
        return RerouteRun(result.animation, result.report.gentleness, summary, inputs)
