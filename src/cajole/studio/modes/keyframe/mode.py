"""Keyframe: pull the body into poses, set them as keys, and find the gentlest motion through them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY
from cajole.body.solid import find_inverted_tets
from cajole.checks import require_positive
from cajole.direct import PoseSession
from cajole.direct.keyframing.baselines import compute_spline_weights
from cajole.direct.keyframing.keys import require_few_inversions
from cajole.direct.keyframing.newton import Iterate
from cajole.direct.keyframing.pose_session import LoadDrag, PoseSnapshot
from cajole.errors import CajoleError, Cancelled, InputError
from cajole.progress import ProgressCallback, report_progress
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.messages import (
    Compare,
    MovedMessage,
    NoticeMessage,
    PinVertices,
    SetDials,
    Trail,
    UnpinVertices,
    ViewLabels,
)
from cajole.studio.modes.base import Handlers, ModeHost, ModeSnapshot
from cajole.studio.modes.keyframe import snapshot as saved
from cajole.studio.modes.keyframe import view_model
from cajole.studio.modes.keyframe.messages import (
    BeginPull,
    CancelPull,
    CaptureKey,
    CommitPull,
    FreezeLoads,
    GhostKind,
    IterateMessage,
    KeyAnswer,
    KeyframeModeSettings,
    KeyframeModeState,
    KeyframeStateMessage,
    LoadKey,
    MovePull,
    Optimise,
    OptimisedMotion,
    PullBeginAnswer,
    PullCommitAnswer,
    ResetPose,
    SetGravity,
    UpdateKey,
    UpdateLoad,
)
from cajole.studio.modes.keyframe.pose_loads import compute_pull_stiffness, get_load_key, is_pose_load, select_patch
from cajole.studio.modes.keyframe.solution import (
    KeyframeSolution,
    KeyframeSolver,
    Keys,
    PoseKey,
    SearchProgress,
    build_solution_key,
    require_distinct_frames,
)
from cajole.studio.modes.keyframe.thumbnails import PoseThumbnails
from cajole.studio.modes.payloads import (
    MAX_TRAILS,
    build_force_lanes,
    build_force_meter,
    build_selected_vertex,
    build_trail,
    to_vec3,
)
from cajole.studio.modes.reduced_drawing import ReducedStateDrawing, require_body
from cajole.studio.modes.settings import change_settings, require_index, require_member, require_vertices
from cajole.studio.modes.timeline_markers import (
    MarkerMode,
    find_marker,
    get_next_number,
    replace_marker,
    sort_markers,
)
from cajole.studio.protocol import Answer, Command


@dataclass(frozen=True, eq=False)
class KeyframeUndoState:
    """All that undo restores."""

    pose: PoseSnapshot
    keys: Keys
    settings: KeyframeModeSettings
    solution: KeyframeSolution | None


@dataclass(eq=False)
class ActivePull:
    """A pull in progress; is_warned: the user was told that it is too strong, is_at_rest: the body has followed it."""

    number: int
    node: int
    drag: LoadDrag
    undo_state: KeyframeUndoState
    is_warned: bool = False
    seq: int = 0
    is_at_rest: bool = True


class KeyframeMode(MarkerMode[KeyframeUndoState, PoseKey]):
    """A `PoseSession`, keys, and the motion through them.

    pull_stiffnesses: [N/m] of the hand that drew each load, so that its arrow keeps its length; preview: states
    (frames, r) that the second view plays; thumbnails: a pose (n, 3) and its picture, by id of the pose.
    """

    name, lane, noun = "keyframe", "keys", "key"

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        super().__init__(host, content)
        self.body = require_body(content, "pose")
        self.pose_session, self.solver = PoseSession(self.body), KeyframeSolver(self.body)
        self.pull_stiffnesses: dict[tuple[int, int], float] = {}
        self.ghost: GhostKind = "rest"
        self.solution: KeyframeSolution | None = None
        self.preview: tuple[ReducedStateDrawing, Array] | None = None
        self.thumbnails: dict[int, tuple[Array, str | None]] = {}
        self._thumbnail_renderer = PoseThumbnails(content)
        self._active_pull: ActivePull | None = None
        self._last_command_time = time.monotonic()
        setup = content.keyframe_setup
        self.settings = KeyframeModeSettings(detail=setup.modes, frames=setup.frames, dt=setup.dt)
        if snapshot is not None:
            self._restore_snapshot(snapshot)
            return
        for number, (frame, pose) in enumerate(sorted(setup.keys.items()), start=1):
            displacement = self.body.check_vertex_vectors(pose, f"key at frame {frame}").copy()
            displacement[self.body.fixed] = 0.0
            self.markers = (*self.markers, PoseKey(number, frame, PoseSnapshot((), {}, displacement)))
        frames = max(self.settings.frames, 1 + max(setup.keys, default=0))
        self.settings = msgspec.structs.replace(self.settings, frames=frames)

    @property
    def keys(self) -> Keys:
        return self.markers

    # --- interface of the project

    @property
    def commands(self) -> Handlers:
        session = self.pose_session
        handlers: Handlers = {
            **self.common_commands,
            **self.marker_commands,
            BeginPull: self._begin_pull,
            MovePull: self._move_pull,
            CommitPull: self._commit_pull,
            CancelPull: self._cancel_pull,
            UpdateLoad: self._update_load,
            FreezeLoads: lambda _: self._change_pose("freeze the loads", session.freeze),
            ResetPose: lambda _: self._change_pose("reset the pose", session.reset),
            PinVertices: self._pin_vertices,
            UnpinVertices: self._unpin_vertices,
            SetGravity: self._set_gravity,
            CaptureKey: self._capture_key,
            UpdateKey: self._update_key,
            LoadKey: self._load_key,
            SetDials: self._update_settings,
            Compare: self._set_ghost,
            Optimise: self._optimise,
        }
        return {kind: self._wrap_with_timestamp(handler) for kind, handler in handlers.items()}

    def _wrap_with_timestamp(self, handler: Callable[[Any], Answer | None]) -> Callable[[Any], Answer | None]:
        def handle_with_timestamp(command: Command) -> Answer | None:
            try:
                return handler(command)
            finally:
                self._last_command_time = time.monotonic()

        return handle_with_timestamp

    @property
    def frames(self) -> int:
        return self.settings.frames

    @property
    def fps(self) -> float:
        dt = self.settings.dt or (None if self.solution is None else self.solution.dt)
        return 60.0 if dt is None else 1.0 / dt

    def build_state(self) -> KeyframeStateMessage:
        content, session, solution, settings = self.content, self.pose_session, self.solution, self.settings
        is_stale = self.is_stale()
        errors: Mapping[str, float] = {} if solution is None or is_stale else solution.key_errors
        loads = view_model.describe_loads(content, session, self.pull_stiffnesses)
        meter, curve, result = build_force_meter(None), None, None
        if solution is not None:
            curve, summary = solution.added_force, solution.summary
            meter = build_force_meter(curve, view_model.describe_peak_remedy(self.keys, solution))
            result = OptimisedMotion(
                cost=summary.cost, worst=summary.worst, iterations=summary.iterations, seconds=summary.seconds,
                text=summary.text, stale=is_stale,
            )  # fmt: skip
        trails = list[Trail]()
        if self.preview is not None:
            drawing, states = self.preview
            paths = {node: drawing.compute_vertex_path(node, states) for node in self.selected[:MAX_TRAILS]}
            trails = [build_trail(node, None, path) for node, path in paths.items()]
        selection = []
        for node in self.selected:
            position, is_fixed = self._compute_position(node), bool(np.isin(node, self.body.fixed))
            given = self.body.vertices[node]
            selection.append(build_selected_vertex(content, node, position, given, fixed=is_fixed))
        label = "Preview"
        if self.running_job is not None:
            label = "Preview · optimising"
        elif self.preview is None:
            label = "Preview · no motion yet"
        elif is_stale:
            label = "Preview · older keys"
        at_key = any(key.frame == self.current_frame for key in self.keys)
        return KeyframeStateMessage(
            lanes=[
                view_model.build_key_lane(self.keys, errors, self.current_frame, self.fps),
                *build_force_lanes(curve),
            ],
            meter=meter,
            selection=selection,
            trails=trails,
            labels=ViewLabels(f"Posing · {'key at' if at_key else 'at'} frame {self.current_frame}", label),
            undo=self.history.undo_label,
            redo=self.history.redo_label,
            keyframe=KeyframeModeState(
                loads=loads,
                pins=view_model.describe_pins(content, session),
                gravity=session.has_gravity,
                moved=float(np.linalg.norm(session.displacement, axis=1).max(initial=0.0)),
                keys=view_model.describe_keys(self.keys, errors, self.thumbnails, session.displacement),
                effort=settings.effort,
                detail=settings.detail,
                frames=settings.frames,
                dt=settings.dt,
                loop=settings.loop,
                natural_dt=self.solver.get_natural_dt(self.keys, settings),
                optimising=self.running_job,
                result=result,
                ghost=self.ghost,
            ),
        )

    def compute_live_vertices(self, frame: int) -> Array:
        self.current_frame = frame
        return self.content.compute_drawn_positions(self.body.vertices + self.pose_session.displacement)

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        if stream == "given":  # the ghost: the rest shape, or a spline through the keys
            poses = {0: np.zeros((self.body.vertex_count, 3))}
            if self.ghost == "spline":
                poses |= {key.frame: key.pose.displacement for key in self.keys}
            weights = compute_spline_weights(list(poses), self.frames)[frame]
            displacement = np.tensordot(weights, np.stack(list(poses.values())), axes=1)
            return self.content.compute_drawn_positions(self.body.vertices + displacement)
        if stream == "other" or self.preview is None:
            return None
        drawing, states = self.preview
        return drawing.compute_positions(states[min(frame, len(states) - 1)])

    def export_content(self) -> ProjectContent:
        """The motion and the body as pins held it, for another mode. Raises InputError if there is no motion yet."""
        shot, motion = self._require_solution().get_shot(self.body), self.export_animation()
        return replace(self.content, body=shot.model.body, shot=shot, animation=motion, steer_setup=None)

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """The motion through the keys on the body's mesh, with the skin of the content."""
        motion = self._require_solution().get_shot(self.body).animation
        report_progress(progress, 1.0, "the motion through the keys")
        return motion if self.content.skin is None else replace(motion, skin=self.content.skin)

    def _require_solution(self) -> KeyframeSolution:
        if self.solution is None:
            raise InputError("there is no motion yet; set keys and optimise first")
        return self.solution

    def get_tick_delay(self) -> float | None:
        pull = self._active_pull
        if pull is not None:
            return None if pull.is_at_rest else 0.0
        if self._find_key_without_thumbnail() is None:
            return None
        # pictures are rendered when no message has come for 0.4 s, so that no drag waits for them
        return max(0.0, self._last_command_time + 0.4 - time.monotonic())

    def tick(self) -> None:
        """Let the body follow the hand; without a pull, render the picture of one key."""
        pull = self._active_pull
        if pull is not None and not pull.is_at_rest:
            begin = time.perf_counter()
            try:
                pull.is_at_rest = pull.drag.refine() < 2e-4  # body sizes
            except CajoleError:
                pull.is_at_rest = True
            self._send_pull(pull, begin)
            return
        key = self._find_key_without_thumbnail()
        if key is not None:
            pose = key.pose.displacement
            self.thumbnails[id(pose)] = (pose, self._thumbnail_renderer.render_data_url(self.body.vertices + pose))
            self.host.record_change(frames_changed=False)

    def _find_key_without_thumbnail(self) -> PoseKey | None:
        if not self._thumbnail_renderer.is_enabled:
            return None
        return next((key for key in self.keys if id(key.pose.displacement) not in self.thumbnails), None)

    def create_snapshot(self) -> ModeSnapshot:
        poses = [self.pose_session.snapshot, *(key.pose for key in self.keys)]
        documents, arrays = saved.pack_poses(poses)
        load_keys = {get_load_key(load) for pose in poses for load in pose.loads} & self.pull_stiffnesses.keys()
        solution = None
        if self.solution is not None:
            solution, more = saved.pack_solution(self.solution, is_stale=self.is_stale())
            arrays |= more
        document = {
            "moments": documents,
            "keys": [saved.pack_key(key) for key in self.keys],
            "ghost": self.ghost,
            "selected": list(self.selected),
            "dials": msgspec.to_builtins(self.settings),
            "take": solution,
            "hands": [[*key, self.pull_stiffnesses[key]] for key in sorted(load_keys)],
        }
        return ModeSnapshot(document, arrays)

    def _restore_snapshot(self, snapshot: ModeSnapshot) -> None:
        document, arrays = snapshot.document, snapshot.arrays
        try:
            present, *poses = saved.unpack_poses(self.body, document["moments"], arrays)
            keys = (saved.unpack_key(each, pose) for each, pose in zip(document["keys"], poses, strict=True))
            self.markers = sort_markers(keys)
            self.settings = msgspec.convert(document["dials"], KeyframeModeSettings)
            self.pose_session.restore(present)
            for number, node, stiffness in document.get("hands", []):
                self.pull_stiffnesses[int(number), int(node)] = require_positive(stiffness, "a saved hand (N/m)")
            self.ghost = msgspec.convert(document["ghost"], GhostKind)
            self.selected = message_values.read_vertices(document, "selected", self.body.vertex_count, min_count=0)
            if document["take"] is not None:
                solution = saved.unpack_solution(self.body, document["take"], arrays, self.keys, self.settings)
                self._set_solution(solution)
        except (KeyError, TypeError, IndexError, ValueError, msgspec.ValidationError) as reason:
            raise InputError(f"what was saved of the keys cannot be read ({reason}); open the scene anew") from None

    def close(self) -> None:
        self.finish_interaction()

    # --- undo

    def capture_state(self) -> KeyframeUndoState:
        return KeyframeUndoState(self.pose_session.snapshot, self.keys, self.settings, self.solution)

    def restore_fields(self, state: KeyframeUndoState) -> None:
        if self.pose_session.snapshot is not state.pose:
            self.pose_session.restore(state.pose)
        self.markers, self.settings = state.keys, state.settings
        if self.solution is not state.solution:
            self._set_solution(state.solution)
        self.current_frame = min(self.current_frame, self.frames - 1)

    def send_changes(self, before: KeyframeUndoState, label: str | None) -> None:
        frames_changed = self.solution is not before.solution or self.frames != before.settings.frames
        if self.pose_session.snapshot is not before.pose:
            self._show_pose()
            if label is not None:
                self._warn_about_inversion(before.pose)
        elif label is None and self.frames != before.settings.frames:  # undo may have moved the frame that is shown
            self._show_pose()
        has_other_ghost = self.ghost == "spline" and self.keys is not before.keys
        self.host.record_change(label, frames_changed=frames_changed or has_other_ghost)

    def finish_interaction(self) -> None:
        """Cancel the active pull."""
        if self._active_pull is not None:
            self._active_pull.drag.cancel()
            self._active_pull = None

    def _warn_about_inversion(self, before: PoseSnapshot) -> None:
        """Warn of tets that the pose inverts, if they are others than in the pose before."""
        found = find_inverted_tets(self.body, self.pose_session.displacement)
        if found is not None and not np.array_equal(np.sort(found.tets), self.body.inverted(before.displacement)):
            self.warn("Elements are inside out", f"{found}.")

    # --- pose

    def _show_pose(self) -> None:
        self.host.show_live_frame(self.compute_live_vertices(self.current_frame), frame=self.current_frame)

    def _compute_position(self, node: int) -> Array:
        return np.asarray(self.body.vertices[node] + self.pose_session.displacement[node])

    def _change_pose(self, label: str, change: Callable[[], object], *, join: bool = False) -> None:
        with self.undo_step(label, join=join):
            change()

    def _begin_pull(self, command: BeginPull) -> PullBeginAnswer:
        self.finish_interaction()  # its tab may have been closed during a pull
        node = require_index(command, "node", self.body.vertex_count)
        before, vertices = self.capture_state(), select_patch(self.body, node)
        stiffness = compute_pull_stiffness(self.pose_session, self.content.mesh.edges, vertices)
        drag = self.pose_session.grab(vertices, replace_loads=not command.add)
        self.pull_stiffnesses[get_load_key(drag.load)] = stiffness
        self._active_pull = ActivePull(command.gesture, node, drag, before)
        self.selected = [node]
        position = to_vec3(self._compute_position(node))
        return PullBeginAnswer(position=position, load=drag.load.load_id, stiffness=stiffness)

    def _move_pull(self, command: MovePull) -> None:
        pull, begin = self._require_pull(command), time.perf_counter()
        pull.seq = command.seq
        try:
            pull.drag.move(command.force)
            pull.is_at_rest = False
        except CajoleError as error:
            if not pull.is_warned:
                pull.is_warned = True
                text, _, remedy = str(error).partition("; ")
                remedy = remedy or "pull less, pin more, or freeze these loads and pull on from there"
                self.warn("That is too strong", f"{text}. The last pose that holds is kept: {remedy}.")
        self._send_pull(pull, begin)

    def _send_pull(self, pull: ActivePull, start_time: float) -> None:
        self._show_pose()
        position, milliseconds = to_vec3(self._compute_position(pull.node)), 1e3 * (time.perf_counter() - start_time)
        self.host.broadcast(MovedMessage(
            gesture=pull.number, seq=pull.seq, position=position, miss=0.0, ms=milliseconds, meter=None
        ))  # fmt: skip

    def _commit_pull(self, command: CommitPull) -> PullCommitAnswer:
        pull = self._require_pull(command)
        try:
            pull.drag.commit()
        except CajoleError:
            pull.drag.cancel()
            raise
        finally:
            self._active_pull = None
            self._show_pose()
        if self.pose_session.snapshot is not pull.undo_state.pose:
            label = f"pull {self.content.describe_vertex(pull.node)}"
            self.history.record(label, pull.undo_state)
            self.host.record_change(label, frames_changed=False)
            self._warn_about_inversion(pull.undo_state.pose)
        return PullCommitAnswer(load=pull.drag.load.load_id)

    def _cancel_pull(self, command: CancelPull) -> None:
        self._require_pull(command)
        self.finish_interaction()
        self._show_pose()
        self.host.record_change(frames_changed=False)

    def _require_pull(self, command: MovePull | CommitPull | CancelPull) -> ActivePull:
        if self._active_pull is None or self._active_pull.number != command.gesture:
            raise InputError(f"no pull {command.gesture} is under way; press on the body to begin one")
        return self._active_pull

    def _update_load(self, command: UpdateLoad) -> None:
        """Remove, mute or scale a load."""
        number, session, strength, muted = command.load, self.pose_session, command.strength, command.muted
        load = next((load for load in session.loads if load.load_id == number), None)
        is_pull = load is not None and not is_pose_load(load)
        name = self.content.describe_vertex(int(load.vertices[0])) if load is not None and is_pull else "load"
        if command.remove:
            self._change_pose(f"remove pull {name}", lambda: session.remove(number))
            return
        if strength is UNSET and muted is UNSET:
            raise InputError("load needs strength, muted or remove, and all are missing")
        if strength is not UNSET:
            force = np.zeros(3) if load is None else load.forces.sum(axis=0)
            size = float(np.linalg.norm(force))
            # `change` explains what is wrong with a load that is missing, frozen or without a direction
            force = strength / size * force if size else force
            self._change_pose(f"retune pull {name}", lambda: session.change(number, force), join=True)
        if muted is not UNSET:
            self._change_pose(f"{'mute' if muted else 'unmute'} pull {name}", lambda: session.mute(number, muted))

    def _pin_vertices(self, command: PinVertices) -> None:
        nodes = require_vertices(command, self.body.vertex_count)
        self._change_pose(f"pin {self.describe_vertices(nodes)}", lambda: self.pose_session.pin(nodes))

    def _unpin_vertices(self, command: UnpinVertices) -> None:
        nodes = require_vertices(command, self.body.vertex_count)
        self._change_pose(f"unpin {self.describe_vertices(nodes)}", lambda: self.pose_session.unpin(nodes))

    def _set_gravity(self, command: SetGravity) -> None:
        with self.undo_step(f"gravity {'on' if command.on else 'off'}"):
            self.pose_session.set_gravity(EARTH_GRAVITY if command.on else None)

    # --- keys

    def require_distinct(self, markers: Keys) -> Keys:
        return require_distinct_frames(markers)

    def _capture_key(self, command: CaptureKey) -> KeyAnswer:
        """Make the present pose a key; a key of that frame gets the pose and keeps the rest."""
        frame, name = require_index(command, "frame", self.frames), command.name_ and command.name_.strip()
        require_few_inversions(self.body, self.pose_session.displacement, "this pose")
        pose, old = self.pose_session.snapshot, next((key for key in self.keys if key.frame == frame), None)
        if old is None:
            key = PoseKey(get_next_number(self.keys), frame, pose, name)
            self.set_markers(sort_markers([*self.keys, key]), f"key at frame {frame}")
        else:
            key = replace(old, pose=pose, name=old.name if name is None else name)
            self.set_markers(replace_marker(self.keys, key), f"key at frame {frame}")
        return KeyAnswer(key=key.id)

    def _update_key(self, command: UpdateKey) -> None:
        key = find_marker(self.keys, command.key)
        if command.hard is not UNSET:
            key = replace(key, hard=command.hard)
        if command.weight is not UNSET:
            key = replace(key, weight=command.weight)
        if command.name_ is not UNSET:
            key = replace(key, name=command.name_.strip())
        self.set_markers(replace_marker(self.keys, key), f"change {key.title}", join=command.weight is not UNSET)

    def _load_key(self, command: LoadKey) -> None:
        """Restore the pose of a key with its loads and pins; where they are unknown, loads that hold the pose."""
        key = find_marker(self.keys, command.key)
        pose, displacement = key.pose, key.pose.displacement
        with self.undo_step(f"load {key.title}"):
            if pose.loads or pose.pins or pose.gravity_force is not None or not displacement.any():
                self.pose_session.restore(pose)
            else:
                self.pose_session.set_pose(displacement)

    # --- motion

    def is_stale(self) -> bool:
        """True if keys or settings have changed since the motion was found."""
        return self.solution is not None and self.solution.key != build_solution_key(self.keys, self.settings)

    def _set_solution(self, solution: KeyframeSolution | None) -> None:
        """Set the motion and let the second view play it."""
        self.solution, self.preview = solution, None
        if solution is not None:
            drawing = ReducedStateDrawing(self.content, self.body.vertices, solution.basis)
            self.preview = drawing, solution.states

    def _update_settings(self, command: SetDials) -> None:
        changes = command.get_changes()
        if unknown := {"tracking", "final"} & changes.keys():
            raise InputError(f"{min(unknown)} is a dial of Steer; Keyframe has effort, detail, frames, dt and loop")
        new = change_settings(self.settings, command, **changes)
        if command.detail is not UNSET:
            require_index(command, "detail", 3 * len(self.body.free_vertices) + 1)
        last = self.keys[-1] if self.keys else None
        if last is not None and last.frame >= new.frames:
            raise InputError(
                f"{last.title} stands at frame {last.frame}, beyond {new.frames} frames; move or delete it first"
            )
        names = [name for name in changes if getattr(new, name) != getattr(self.settings, name)]
        if names:
            with self.undo_step(f"set {' and '.join(names)}", join=True):
                self.settings = new

    def _set_ghost(self, command: Compare) -> None:
        self.ghost = require_member(GhostKind, command.with_, "with of compare")
        self.host.record_change()

    def _optimise(self, command: Optimise) -> None:
        """Find the gentlest motion through the keys. Raises InputError for impossible keys, Cancelled."""
        if not self.keys:
            raise InputError("there are no keys to go through; pull the body into a pose, then capture it")
        require_distinct_frames(self.keys)
        before, shown = self.capture_state(), self.preview
        try:
            with self.job("Optimising", stoppable=True, frames_changed=False) as progress:
                solution = self._solve(progress)
                self._set_solution(solution)
        except BaseException as reason:
            self.preview = shown
            if isinstance(reason, Cancelled) and self.host.has_stop_request:
                text = "The search had not made its first step, and nothing has changed."
                self.warn("Stopped before there was a motion", f"{text} Optimise again, and stop it later.")
            raise
        self.history.record("optimise", before)
        self.host.record_change("optimise")
        summary = solution.summary
        tone: Literal["ok", "warn"] = "ok" if summary.converged else "warn"
        self.host.broadcast(NoticeMessage(tone=tone, title="The motion is ready", text=summary.text))

    def _solve(self, progress: ProgressCallback) -> KeyframeSolution:
        """Run the search; each iterate is reported, and the motion is shown from time to time."""
        report_progress(progress, 0.0, "finding how the body may move")
        problem = self.solver.build_problem(self.keys, self.settings)
        report_progress(progress, 0.0, "looking for the gentlest motion")
        search = SearchProgress(any(key.hard for key in self.keys))
        drawing = ReducedStateDrawing(self.content, self.body.vertices, problem.model.basis)
        initial = problem.model.project(problem.start_displacement)

        def on_iteration(iterate: Iterate) -> bool:
            fraction = search.update(iterate)
            self.host.broadcast(IterateMessage(
                job=self.running_job or "", iteration=search.steps, cost=float(iterate.cost),
                gradient=float(iterate.gradient_norm), seconds=search.seconds,
            ))  # fmt: skip
            if search.seconds - search.last_preview >= 0.25:
                search.last_preview = search.seconds
                states = iterate.trajectory.coordinates
                self.preview = drawing, np.vstack([initial, states]) if problem.boundary == "open" else states
                self.host.record_change()
            search.is_stopped = progress(fraction, f"step {search.steps} · {search.seconds:.1f} s") is False
            return not search.is_stopped

        solution = self.solver.solve(problem, self.keys, self.settings, on_iteration)
        if search.is_stopped and not self.host.has_stop_request:
            raise Cancelled("the optimisation was cancelled; what was there before is kept")
        return solution
