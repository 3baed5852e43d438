"""Reroute: simulate a pilot, drag its vertices to where they should have been, and simulate it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodySprings
from cajole.direct.rerouting import reroute
from cajole.direct.rerouting.force_distribution import compute_default_reach
from cajole.dynamics.prescribed_motion import simulate_with_prescribed_motion
from cajole.errors import InputError
from cajole.progress import ProgressCallback, report_progress
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.messages import (
    AddSuggestedTargets,
    BeginDrag,
    CancelDrag,
    CommitDrag,
    Compare,
    DragBeginAnswer,
    DragCommitAnswer,
    MovedMessage,
    MoveDrag,
    NoticeMessage,
    PinVertices,
    PlaceVertex,
    UnpinVertices,
    ViewLabels,
)
from cajole.studio.modes.base import Handlers, ModeHost, ModeSnapshot
from cajole.studio.modes.payloads import build_force_lanes, build_force_meter, build_selected_vertex, to_vec3
from cajole.studio.modes.reroute import view_model
from cajole.studio.modes.reroute.messages import (
    GoalOutcome,
    NetInfo,
    Reroute,
    RerouteDials,
    RerouteMethod,
    RerouteModeState,
    RerouteRunReport,
    RerouteStateMessage,
    RunPilot,
    SetGoalWindow,
    SetRoute,
)
from cajole.studio.modes.reroute.run import (
    GoalMarker,
    Goals,
    RerouteInputs,
    RerouteRun,
    find_goal,
    set_goal_positions,
    summarise_report,
)
from cajole.studio.modes.reroute.settings import (
    NET_FIELDS,
    PILOT_FPS,
    build_initial_dials,
    build_net,
    build_pilot_key,
    find_fixed_vertices,
)
from cajole.studio.modes.settings import (
    change_settings,
    require_active_gesture,
    require_index,
    require_member,
    require_range,
    require_vertices,
)
from cajole.studio.modes.timeline_markers import MarkerMode, find_marker, replace_marker, sort_markers
from cajole.studio.protocol import JsonObject


@dataclass(frozen=True, eq=False)
class RerouteUndoState:
    """All that undo restores."""

    net: BodySprings
    dials: RerouteDials
    held: tuple[int, ...]
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

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        super().__init__(host, content)
        self.dials, self.held = build_initial_dials(content), tuple(find_fixed_vertices(content).tolist())
        self.net = build_net(content, self.dials, self.held)
        self.default_reach = compute_default_reach(self.net)
        if content.reroute_setup is None or "reach" not in content.reroute_setup.reroute_options:
            self.dials = msgspec.structs.replace(self.dials, reach=self.default_reach)
        self.pilot = content.animation
        self.rerouted_run: RerouteRun | None = None
        self.comparison_run: RerouteRun | None = None
        self.shown_method: RerouteMethod = self.dials.method
        self.running_stage: Literal["pilot", "run"] | None = None
        self.partial_frames: list[Array] = []
        self._active_drag: GoalDrag | None = None
        if snapshot is not None:
            self._restore_snapshot(snapshot)

    @property
    def goals(self) -> Goals:
        return self.markers

    # --- interface of the project

    @property
    def commands(self) -> Handlers:
        return {
            **self.common_commands,
            **self.marker_commands,
            BeginDrag: self._begin_drag,
            MoveDrag: self._move_drag,
            CommitDrag: self._commit_drag,
            CancelDrag: self._cancel_drag,
            PlaceVertex: self._place_vertex,
            SetGoalWindow: self._set_window,
            AddSuggestedTargets: self._add_scene_goals,
            RunPilot: self._run_pilot,
            Reroute: self._run_reroute,
            Compare: self._show_method,
            SetRoute: self._update_settings,
            PinVertices: self._set_fixed_vertices,
            UnpinVertices: self._set_fixed_vertices,
        }

    @property
    def frames(self) -> int:
        return self.dials.frames if self.pilot is None else self.pilot.frames

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

    def build_state(self) -> RerouteStateMessage:
        shown, pilot, net, is_stale = self.shown_run, self.pilot, self.net, self.is_stale()
        outcomes = {} if shown is None or is_stale else {each.id: each for each in shown.outcomes}
        rerouted = None if shown is None else shown.animation
        goals = view_model.describe_goals(self.content, net, self.goals, self.dials.alpha, pilot, rerouted, outcomes)
        method = self.shown_method if shown is None else shown.summary.method
        hint = "A wider window or reach is gentler." if method == "least-force" else "Least force is gentler."
        ready: int | None = 1 if pilot is None else None
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
        run, other = self.rerouted_run, self.comparison_run
        curve = None if shown is None else shown.added_force
        return RerouteStateMessage(
            lanes=[view_model.build_goal_lane(goals, self.selected, self.fps), *build_force_lanes(curve)],
            meter=build_force_meter(curve, hint),
            selection=selection,
            labels=ViewLabels("Pilot" if shown is None else "Second run", label),
            ready=ready,
            undo=self.history.undo_label,
            redo=self.history.redo_label,
            reroute=RerouteModeState(
                goals=goals,
                pilot_frames=None if pilot is None else pilot.frames,
                dials=self.dials,
                net=NetInfo(
                    vertices=net.vertex_count,
                    springs=len(net.edges),
                    weight=float(net.weight),
                    own=self.has_own_net,
                    usual_reach=self.default_reach,
                ),
                held=self.held if self.has_own_net else (),
                suggested=self.content.reroute_setup is not None and pilot is not None,
                running=self.running_job,
                making=self.running_stage,
                result=None if run is None else msgspec.structs.replace(run.summary, stale=is_stale),
                compared=[each.summary for each in (run, other) if each is not None],
                sight=method,
            ),
        )

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
        document: JsonObject = {
            "dials": msgspec.to_builtins(self.dials) | {"held": list(self.held)},
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
            run = self.rerouted_run
            about = msgspec.to_builtins(run.summary) | {"goals": msgspec.to_builtins(run.outcomes)}
            document["run"] = {"about": about, "stale": self.is_stale()}
            arrays["positions"] = self.rerouted_run.animation.positions
            arrays["curve"] = self.rerouted_run.added_force
        return ModeSnapshot(document, arrays)

    def _restore_snapshot(self, snapshot: ModeSnapshot) -> None:
        document, arrays, count = snapshot.document, snapshot.arrays, self.net.vertex_count
        read_vertices, require_array = message_values.read_vertices, checks.require_real_array
        try:
            dials, run = document["dials"], document["run"]
            self.dials = msgspec.convert(dials, RerouteDials)
            if self.has_own_net:
                self.held = tuple(read_vertices(dials, "held", count, min_count=0))
                self.net = build_net(self.content, self.dials, self.held)
            if self.pilot is None and "pilot" in arrays:
                positions = require_array(arrays["pilot"], "the saved pilot", (self.dials.frames, count, 3))
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
                motion = replace(self.pilot, positions=positions, velocities=None)
                # documents of earlier versions have no stale, and other fields
                summary = msgspec.convert({"stale": False} | run["about"], RerouteRunReport)
                outcomes = msgspec.convert(run["about"]["goals"], tuple[GoalOutcome, ...])
                self.rerouted_run = RerouteRun(motion, force, summary, outcomes, inputs)
                self.shown_method = self.rerouted_run.summary.method
        except (KeyError, TypeError, IndexError, ValueError, AttributeError, msgspec.ValidationError) as reason:
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
        return RerouteUndoState(self.net, self.dials, self.held, self.goals, self.pilot, self.rerouted_run)

    def restore_fields(self, state: RerouteUndoState) -> None:
        self.net, self.dials, self.held, self.markers = state.net, state.dials, state.held, state.goals
        self.pilot, self.rerouted_run = state.pilot, state.run
        self.current_frame = min(self.current_frame, self.frames - 1)

    def send_changes(self, before: RerouteUndoState, label: str | None) -> None:
        run = self.rerouted_run
        if run is not before.run:
            self.comparison_run, self.shown_method = None, self.dials.method if run is None else run.summary.method
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

    def _begin_drag(self, command: BeginDrag) -> DragBeginAnswer:
        self._active_drag = None  # its tab may have been closed during a drag
        frame = self._require_frame(command)
        nodes = self._require_free(require_vertices(command, self.net.vertex_count))
        if command.directions not in (None, "xyz"):
            raise InputError("a goal is a whole place; leave directions out, or say xyz")
        starts = np.array([self.compute_target(node, frame) for node in nodes])
        self._active_drag = GoalDrag(command.gesture, frame, nodes, starts, starts)
        self.selected, self.current_frame = nodes, frame
        return DragBeginAnswer(position=to_vec3(starts[0]))

    def _move_drag(self, command: MoveDrag) -> None:
        drag = require_active_gesture(command, self._active_drag)
        drag.positions = drag.start_positions + command.delta
        position = to_vec3(drag.positions[0])
        self.host.broadcast(
            MovedMessage(gesture=drag.number, seq=command.seq, position=position, miss=0.0, ms=0.0, meter=None)
        )

    def _commit_drag(self, command: CommitDrag) -> DragCommitAnswer:
        drag = require_active_gesture(command, self._active_drag)
        self._active_drag = None
        goals = set_goal_positions(self.goals, drag.frame, drag.nodes, drag.positions)
        self.set_markers(goals, f"move {self.describe_vertices(drag.nodes)}")
        return DragCommitAnswer(moved=float(np.linalg.norm(drag.positions[0] - drag.start_positions[0])))

    def _cancel_drag(self, command: CancelDrag) -> None:
        require_active_gesture(command, self._active_drag)
        self._active_drag = None
        self.host.record_change(frames_changed=False)

    def _place_vertex(self, command: PlaceVertex) -> None:
        frame = self._require_frame(command)
        nodes = self._require_free([require_index(command, "node", self.net.vertex_count)])
        goals = set_goal_positions(self.goals, frame, nodes, np.array([command.position]))
        self.set_markers(goals, f"move {self.describe_vertices(nodes)}", join=True)
        self.selected = nodes

    def _set_window(self, command: SetGoalWindow) -> None:
        """Set the window of a goal; null for one that suits the distance."""
        goal, window = find_marker(self.goals, command.goal), None
        if command.window is not None:
            window = require_index(command, "window", self.frames, first=1)
        goals = replace_marker(self.goals, replace(goal, window=window))
        self.set_markers(goals, f"set window of {goal.title}", join=True)

    def _add_scene_goals(self, command: AddSuggestedTargets) -> None:
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

    def _require_frame(self, command: BeginDrag | PlaceVertex) -> int:
        frame = require_index(command, "frame", self.frames)
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

    def _update_settings(self, command: SetRoute) -> None:
        size, changes = float(self.content.mesh.size), command.get_changes()
        require_range(command, "reach", 0.0, 10.0 * size)
        require_range(command, "within", 1e-6 * size, size)
        new = change_settings(self.dials, command, **changes)
        self._require_own_net(changes.keys() & set(NET_FIELDS))
        last = self.goals[-1] if self.goals else None
        if last is not None and last.frame >= new.frames and self.has_own_net:
            raise InputError(
                f"{last.title} stands at frame {last.frame}, beyond {new.frames} frames; move or delete it first"
            )
        if new != self.dials:
            self._apply_settings(new, self.held, f"set {', '.join(sorted(changes))}", join=True)

    def _set_fixed_vertices(self, command: PinVertices | UnpinVertices) -> None:
        """Fix or free vertices of a mesh in its pilot."""
        nodes, is_fixed = set(require_vertices(command, self.net.vertex_count)), isinstance(command, PinVertices)
        self._require_own_net({"held"})
        if is_fixed and (with_goals := nodes & {goal.node for goal in self.goals}):
            name = self.content.describe_vertex(min(with_goals))
            raise InputError(f"{name} has a goal; delete that, then hold it")
        held = set(self.held) | nodes if is_fixed else set(self.held) - nodes
        self._apply_settings(self.dials, tuple(sorted(held)), "hold points" if is_fixed else "let go of points")

    def _require_own_net(self, names: set[str]) -> None:
        if names and not self.has_own_net:
            raise InputError(f"{min(names)} is as the pilot had it; open the mesh by itself to choose it")

    def _apply_settings(self, dials: RerouteDials, held: tuple[int, ...], label: str, *, join: bool = False) -> None:
        """Change settings as one undo step; those of the net make another net, without a pilot."""
        with self.undo_step(label, join=join):
            old_key = build_pilot_key(self.dials, self.held)
            self.dials, self.held = dials, held
            if build_pilot_key(dials, held) != old_key:
                self.net = build_net(self.content, dials, held)
                self.pilot = self.rerouted_run = None

    # --- runs

    def require_pilot(self) -> Animation:
        """The pilot. Raises InputError if it has not been run."""
        if self.pilot is None:
            raise InputError("there is no pilot yet; run it first")
        return self.pilot

    def _get_run_inputs(self) -> RerouteInputs:
        return RerouteInputs(self.goals, self.dials, self.held)

    def is_stale(self) -> bool:
        """True if goals or settings have changed since the last run."""
        return self.rerouted_run is not None and self.rerouted_run.inputs != self._get_run_inputs()

    @contextmanager
    def _stage_job(self, title: str, stage: Literal["pilot", "run"]) -> Iterator[ProgressCallback]:
        self.running_stage, self.partial_frames = stage, []
        with self.job(title, frames_changed=stage == "pilot") as progress:
            try:
                yield progress
            finally:
                self.running_stage, self.partial_frames = None, []

    def _run_pilot(self, command: RunPilot) -> None:
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
                frames, dt = self.dials.frames, 1 / PILOT_FPS
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

    def _run_reroute(self, command: Reroute | Compare) -> None:
        """Lead the vertices to their goals. Raises InputError without goals, SolveError, Cancelled."""
        before = self.capture_state()
        self.rerouted_run = run = self._solve(self._get_run_inputs())
        summary = run.summary
        self.comparison_run, self.shown_method = None, summary.method
        self.history.record("run again", before)
        self._send_frames("run again")
        why = next((goal.why for goal in run.outcomes if goal.why), "")
        tone: Literal["ok", "warn"] = "warn" if summary.reached < summary.count else "ok"
        text = f"{why[:1].upper()}{why[1:]}." if why else ""
        self.host.broadcast(NoticeMessage(tone=tone, title=summary.text, text=text))

    def _show_method(self, command: Compare) -> None:
        """Show the run of a method, and make what is missing of both methods."""
        method: RerouteMethod = require_member(RerouteMethod, command.with_, "with of compare")
        if self.rerouted_run is None or self.is_stale():
            self._run_reroute(command)
        run, other = self.rerouted_run, self.comparison_run
        if run is None or run.inputs is None:
            raise InputError("there is no second run to compare with; run again first")
        if method != run.summary.method and (other is None or other.summary.method != method):
            dials = msgspec.structs.replace(run.inputs.dials, method=method)
            self.comparison_run = self._solve(replace(run.inputs, dials=dials))
        self.shown_method = method
        self._send_frames(None)

    def _solve(self, inputs: RerouteInputs) -> RerouteRun:
        self.finish_interaction()
        pilot, count, dials = self.require_pilot(), len(inputs.goals), inputs.dials
        if not inputs.goals:
            raise InputError("nothing is asked for yet; go to a frame, click a vertex and drag it to where it shall be")
        plan, options = self.content.reroute_setup, {}
        if plan is not None and pilot.frames == plan.frames:  # options per frame suit this number of frames only
            names = ("rest_lengths", "capsules")
            options = {name: plan.reroute_options[name] for name in names if name in plan.reroute_options}
        goals = [goal.to_goal() for goal in inputs.goals]
        title = f"Leading {count} {'vertex' if count == 1 else 'vertices'} by {dials.method}"
        with self._stage_job(title, "run") as progress:
            result = reroute(
                self.net, pilot, goals, dials.method, dials.within, dials.limit, reach=dials.reach, alpha=dials.alpha,
                progress=progress, **options,
            )  # fmt: skip
        summary, outcomes = summarise_report(result.report, inputs.goals)
        return RerouteRun(result.animation, result.report.gentleness, summary, outcomes, inputs)
