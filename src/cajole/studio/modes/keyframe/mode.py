"""Keyframe: pull the body into poses, put them at frames, and have the gentlest motion through them found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY
from cajole.body.solid import find_inverted_tets
from cajole.direct import PoseSession
from cajole.direct.keyframing.baselines import compute_spline_weights
from cajole.direct.keyframing.keys import require_few_inversions
from cajole.direct.keyframing.pose_session import LoadDrag
from cajole.direct.keyframing.pose_session import PoseSnapshot as Posed
from cajole.errors import CajoleError, InputError
from cajole.progress import ProgressCallback, report_progress
from cajole.studio import message_values as given
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import Handler, Message, ModeHost, ModeSnapshot
from cajole.studio.modes.keyframe import keys as keyed
from cajole.studio.modes.keyframe.keys import Keys, PoseKey
from cajole.studio.modes.keyframe.messages import KeyframeStateMessage
from cajole.studio.modes.keyframe.pose_loads import PullStiffnesses, compute_pull_stiffness, is_pose_load, select_patch
from cajole.studio.modes.keyframe.snapshot import create_snapshot, load_initial_keys, restore_snapshot
from cajole.studio.modes.keyframe.solution import (
    GHOST_KINDS,
    KeyframeModeSettings,
    KeyframeSolution,
    KeyframeSolver,
    build_solution_key,
    optimise,
    update_settings,
)
from cajole.studio.modes.keyframe.thumbnails import PoseThumbnails
from cajole.studio.modes.keyframe.view_model import build_keyframe_state
from cajole.studio.modes.payloads import to_list
from cajole.studio.modes.reduced_drawing import ReducedStateDrawing, require_body
from cajole.studio.modes.timeline_markers import MarkerHandlers, find_item, replace_item
from cajole.studio.modes.undo import UndoableMode, UndoHistory
from cajole.studio.protocol import Answer

WEIGHT_RANGE = (1e-6, 1e6)


class KeyframeKeyHandlers(MarkerHandlers[PoseKey]):
    """What messages do to keys and dials."""

    lane, noun = "keys", "key"

    def __init__(self, mode: KeyframeMode):
        super().__init__(mode)
        self.mode = mode

    @property
    def commands(self) -> dict[str, Handler]:
        return {
            "key.capture": self._capture_key,
            "key.set": self._update_key,
            "key.load": self._load_key,
            **self.marker_commands,
            "dials": self._update_settings,
            "compare": self._set_ghost,
        }

    def _capture_key(self, message: Message) -> Mapping[str, Any]:
        frame = given.read_integer(message, "frame", 0, self.mode.frames - 1)
        name = given.read_text(message, "name") if message.get("name") is not None else None
        require_few_inversions(self.mode.body, self.mode.pose_session.displacement, "this pose")
        new = keyed.capture_key(self.mode.keys, frame, self.mode.pose_session.snapshot, name)
        self.commit_items(new, f"key at frame {frame}")
        return {"key": next(key.id for key in self.mode.keys if key.frame == frame)}

    def _update_key(self, message: Message) -> None:
        key = find_item(self.mode.keys, given.read_text(message, "key"))
        if "hard" in message:
            key = replace(key, hard=given.read_flag(message, "hard"))
        if "weight" in message:
            key = replace(key, weight=given.read_number(message, "weight", *WEIGHT_RANGE))
        if "name" in message:
            key = replace(key, name=given.read_text(message, "name"))
        self.commit_items(replace_item(self.mode.keys, key), f"change {key.title}", join="weight" in message)

    def _load_key(self, message: Message) -> None:
        key = find_item(self.mode.keys, given.read_text(message, "key"))
        self.mode.apply_undoable(f"load {key.title}", lambda: self._apply_pose(key))

    def _apply_pose(self, key: PoseKey) -> None:
        if key.pose.loads or key.pose.pins or key.pose.gravity_force is not None or not key.pose.displacement.any():
            self.mode.pose_session.restore(key.pose)
        else:
            self.mode.pose_session.set_pose(key.pose.displacement)

    # --- markers

    @property
    def items(self) -> Keys:
        return self.mode.keys

    def set_items(self, items: Keys) -> None:
        self.mode.keys = items

    def require_distinct(self, items: Keys) -> Keys:
        return keyed.require_distinct_frames(items)

    @property
    def affects_frames(self) -> bool:
        return self.mode.ghost == "spline"

    def commit_items(self, items: Keys, label: str, *, join: bool = False) -> None:
        self.mode.apply_undoable(label, lambda: self.set_items(items), frames_changed=self.affects_frames, join=join)

    # --- dials

    def _update_settings(self, message: Message) -> None:
        old = self.mode.settings
        new = update_settings(old, message, max_modes=3 * len(self.mode.body.free_vertices))
        last = self.mode.keys[-1] if self.mode.keys else None
        if last is not None and last.frame >= new.frames:
            raise InputError(
                f"{last.title} stands at frame {last.frame}, beyond {new.frames} frames; move or delete it first"
            )

        def apply_new_settings() -> None:
            self.mode.settings = new

        names = [
            field.name for field in fields(KeyframeModeSettings) if getattr(new, field.name) != getattr(old, field.name)
        ]
        if names:
            self.mode.apply_undoable(
                f"set {' and '.join(names)}", apply_new_settings, frames_changed="frames" in names, join=True
            )

    def _set_ghost(self, message: Message) -> None:
        self.mode.ghost = given.read_choice(message, "with", GHOST_KINDS)
        self.mode.host.record_change()


# A body that moves by less than this, in body sizes, has come to where it is pulled.
SETTLED_DISTANCE = 2e-4


@dataclass(eq=False)
class ActivePull:
    """A pull under way, and whether its author was told already that it is too strong."""

    number: int
    node: int
    pull: LoadDrag
    undo_state: KeyframeUndoState
    is_warned: bool = False
    seq: int = 0
    is_at_rest: bool = True


class PoseHandlers:
    """What messages do to the pose."""

    def __init__(self, mode: KeyframeMode):
        self.mode = mode
        self._active_pull: ActivePull | None = None

    @property
    def is_pulling(self) -> bool:
        """Whether a pull is in the hand."""
        return self._active_pull is not None

    @property
    def is_at_rest(self) -> bool:
        """Whether the body has come to where it is pulled, or nothing pulls."""
        return self._active_pull is None or self._active_pull.is_at_rest

    @property
    def commands(self) -> dict[str, Handler]:
        session = self.mode.pose_session
        return {
            "pull.begin": self._begin_pull,
            "pull.move": self._move_pull,
            "pull.commit": self._commit_pull,
            "pull.cancel": self._handle_cancel,
            "load": self._update_load,
            "freeze": lambda _: self.mode.apply_undoable("freeze the loads", session.freeze),
            "pose.reset": lambda _: self.mode.apply_undoable("reset the pose", session.reset),
            "pose.pin": self._pin,
            "pose.unpin": self._unpin,
            "gravity": self._set_gravity,
        }

    def cancel_pull(self) -> None:
        """Let go of a pull, as if it had not been."""
        if self._active_pull is not None:
            self._active_pull.pull.cancel()
            self._active_pull = None

    # --- pulls

    def _begin_pull(self, message: Message) -> Mapping[str, Any]:
        self.cancel_pull()  # a tab that went away in the middle of it
        node = given.read_integer(message, "node", 0, self.mode.body.vertex_count - 1)
        number, alone = given.read_integer(message, "gesture"), not given.read_flag(message, "add")
        before, vertices = self.mode.capture_state(), select_patch(self.mode.body, node)
        stiffness = compute_pull_stiffness(self.mode.pose_session, self.mode.content.mesh.edges, vertices)
        pull = self.mode.pose_session.grab(vertices, replace_loads=alone)
        self.mode.pull_stiffnesses.record(pull.load, stiffness)
        self._active_pull = ActivePull(number, node, pull, before)
        self.mode.selected = [node]
        return {
            "position": to_list(self.mode.compute_position(node)),
            "load": pull.load.load_id,
            "stiffness": stiffness,
        }

    def _move_pull(self, message: Message) -> None:
        gesture, begin = self._require_pull(message), time.perf_counter()
        force, gesture.seq = given.read_vector(message, "force"), given.read_integer(message, "seq")
        try:
            gesture.pull.move(force)
            gesture.is_at_rest = False
        except CajoleError as error:
            self._warn_once(gesture, error)
        self._broadcast_moved_message(gesture, begin)

    def relax_pull(self) -> None:
        """The hand rests: the body goes on to where it is pulled."""
        gesture, begin = self._active_pull, time.perf_counter()
        if gesture is None:
            return
        try:
            gesture.is_at_rest = gesture.pull.refine() < SETTLED_DISTANCE
        except CajoleError:
            gesture.is_at_rest = True
        self._broadcast_moved_message(gesture, begin)

    def _broadcast_moved_message(self, gesture: ActivePull, start_time: float) -> None:
        self.mode.show_pose()
        self.mode.host.broadcast(
            {
                "is": "moved",
                "gesture": gesture.number,
                "seq": gesture.seq,
                "position": to_list(self.mode.compute_position(gesture.node)),
                "miss": 0.0,
                "ms": 1e3 * (time.perf_counter() - start_time),
                "meter": None,
            }
        )

    def _commit_pull(self, message: Message) -> Mapping[str, Any]:
        gesture = self._require_pull(message)
        try:
            gesture.pull.commit()
        except CajoleError:
            gesture.pull.cancel()
            raise
        finally:
            self._active_pull = None
            self.mode.show_pose()
        if self.mode.pose_session.snapshot is not gesture.undo_state.pose:
            label = f"pull {self.mode.content.describe_vertex(gesture.node)}"
            self.mode.history.record(label, gesture.undo_state)
            self.mode.host.record_change(label, frames_changed=False)
            self.mode.warn_about_inversion(gesture.undo_state.pose)
        return {"load": gesture.pull.load.load_id}

    def _handle_cancel(self, message: Message) -> None:
        self._require_pull(message)
        self.cancel_pull()
        self.mode.show_pose()
        self.mode.host.record_change(frames_changed=False)

    def _require_pull(self, message: Message) -> ActivePull:
        number = given.read_integer(message, "gesture")
        if self._active_pull is None or self._active_pull.number != number:
            raise InputError(f"no pull {number} is under way; press on the body to begin one")
        return self._active_pull

    def _warn_once(self, gesture: ActivePull, error: CajoleError) -> None:
        if not gesture.is_warned:
            gesture.is_warned = True
            text, _, remedy = str(error).partition("; ")
            remedy = remedy or "pull less, pin more, or freeze these loads and pull on from there"
            text = f"{text}. The last pose that holds is kept: {remedy}."
            self.mode.host.broadcast({"is": "notice", "tone": "warn", "title": "That is too strong", "text": text})

    # --- loads, pins and gravity

    def _update_load(self, message: Message) -> None:
        number = given.read_integer(message, "load")
        found = [load for load in self.mode.pose_session.loads if load.load_id == number]
        name = (
            "load"
            if not found or is_pose_load(found[0])
            else self.mode.content.describe_vertex(int(found[0].vertices[0]))
        )
        if given.read_flag(message, "remove", False):
            self.mode.apply_undoable(f"remove pull {name}", lambda: self.mode.pose_session.remove(number))
            return
        if "strength" not in message and "muted" not in message:
            raise InputError("load needs strength, muted or remove, and all are missing")
        if "strength" in message:
            strength = given.read_number(message, "strength", 0.0)
            self.mode.apply_undoable(
                f"retune pull {name}", lambda: self._set_load_strength(number, strength), join=True
            )
        if "muted" in message:
            muted = given.read_flag(message, "muted")
            self.mode.apply_undoable(
                f"{'mute' if muted else 'unmute'} pull {name}", lambda: self.mode.pose_session.mute(number, muted)
            )

    def _set_load_strength(self, load_number: int, strength: float) -> None:
        session = self.mode.pose_session
        force = next((load.forces.sum(axis=0) for load in session.loads if load.load_id == load_number), np.zeros(3))
        size = float(np.linalg.norm(force))
        # of a load that is missing, frozen or without a direction `change` is asked to keep it, and says what is wrong
        session.change(load_number, strength / size * force if size else force)

    def _pin(self, message: Message) -> None:
        nodes = given.read_vertices(message, "nodes", self.mode.body.vertex_count)
        self.mode.apply_undoable(f"pin {self.mode.describe_vertices(nodes)}", lambda: self.mode.pose_session.pin(nodes))

    def _unpin(self, message: Message) -> None:
        nodes = given.read_vertices(message, "nodes", self.mode.body.vertex_count)
        self.mode.apply_undoable(
            f"unpin {self.mode.describe_vertices(nodes)}", lambda: self.mode.pose_session.unpin(nodes)
        )

    def _set_gravity(self, message: Message) -> None:
        on = given.read_flag(message, "on")
        self.mode.apply_undoable(
            f"gravity {'on' if on else 'off'}",
            lambda: self.mode.pose_session.set_gravity(EARTH_GRAVITY if on else None),
        )


# [frames/s] as long as no motion has a pace of its own
DEFAULT_FPS = 60.0
# [s] without a message before a picture of a key is drawn: the hand comes first
IDLE_BEFORE_THUMBNAIL = 0.4


@dataclass(frozen=True, eq=False)
class KeyframeUndoState:
    """All that undo brings back."""

    pose: Posed
    keys: Keys
    settings: KeyframeModeSettings
    solution: KeyframeSolution | None


class KeyframeMode(UndoableMode[KeyframeUndoState]):
    """A `PoseSession`, keys, and the shots through them."""

    name = "keyframe"
    state_type = KeyframeStateMessage

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        self.host, self.content, self.body = host, content, require_body(content, "pose")
        self.pose_session, self.pull_stiffnesses = PoseSession(self.body), PullStiffnesses()
        self.solver = KeyframeSolver(self.body)
        self.history: UndoHistory[KeyframeUndoState] = UndoHistory()
        self.selected: list[int] = []
        self.current_frame, self.ghost = 0, "rest"
        self.keys: Keys = ()
        self.solution: KeyframeSolution | None = None
        self.thumbnails: dict[int, tuple[Array, str | None]] = {}
        self.running_job: str | None = None
        self._thumbnail_renderer = PoseThumbnails(content)
        self.preview: tuple[ReducedStateDrawing, Array] | None = None
        self._pose_handlers, self._key_handlers = PoseHandlers(self), KeyframeKeyHandlers(self)
        self._last_command_time = time.monotonic()
        plan = content.keyframe_setup
        self.settings = KeyframeModeSettings(detail=plan.modes, frames=plan.frames, dt=plan.dt)
        if snapshot is None:
            load_initial_keys(self, plan.keys)
        else:
            restore_snapshot(self, snapshot)

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        handlers: dict[str, Handler] = {
            **self.common_commands,
            "optimise": lambda message: optimise(self, message),
            **self._pose_handlers.commands,
            **self._key_handlers.commands,
        }
        return {name: self._wrap_with_timestamp(handler) for name, handler in handlers.items()}

    @property
    def frames(self) -> int:
        return self.settings.frames

    @property
    def fps(self) -> float:
        dt = self.settings.dt or (None if self.solution is None else self.solution.dt)
        return DEFAULT_FPS if dt is None else 1.0 / dt

    def build_state(self) -> dict[str, Any]:
        return build_keyframe_state(self)

    def compute_live_vertices(self, frame: int) -> Array:
        self.current_frame = frame
        return self.content.compute_drawn_positions(self.body.vertices + self.pose_session.displacement)

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        if stream == "given":
            return self.content.compute_drawn_positions(self.body.vertices + self.compute_ghost_displacement(frame))
        if stream == "other" or self.preview is None:
            return None
        drawing, states = self.preview
        return drawing.compute_positions(states[min(frame, len(states) - 1)])

    def export_content(self) -> ProjectContent:
        """The motion through the keys, and the body as pins held it, for another mode.

        Raises InputError when there is none yet.
        """
        shot = self._require_solution().get_shot(self.body)
        return replace(
            self.content, body=shot.model.body, shot=shot, animation=self.export_animation(), steer_setup=None
        )

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """The motion through the keys on the body's mesh, dressed."""
        made = self._require_solution().get_shot(self.body).animation
        report_progress(progress, 1.0, "the motion through the keys")
        return replace(made, skin=self.content.skin) if self.content.skin is not None else made

    def get_tick_delay(self) -> float | None:
        if not self._pose_handlers.is_at_rest:
            return 0.0
        if self._pose_handlers.is_pulling or self._find_key_without_thumbnail() is None:
            return None
        return max(0.0, self._last_command_time + IDLE_BEFORE_THUMBNAIL - time.monotonic())

    def tick(self) -> None:
        """Let the body follow the hand; where that is calm, draw the picture of one key."""
        if not self._pose_handlers.is_at_rest:
            self._pose_handlers.relax_pull()
            return
        key = self._find_key_without_thumbnail()
        if key is not None:
            pose = key.pose.displacement
            self.thumbnails[id(pose)] = (pose, self._thumbnail_renderer.render_data_url(self.body.vertices + pose))
            self.host.record_change(frames_changed=False)

    def create_snapshot(self) -> ModeSnapshot:
        return create_snapshot(self)

    def close(self) -> None:
        self._pose_handlers.cancel_pull()

    # --- the motion

    def update_preview(self) -> None:
        """Have the second view play the take."""
        if self.solution is None:
            self.preview = None
        else:
            self.preview = (
                ReducedStateDrawing(self.content, self.body.vertices, self.solution.basis),
                self.solution.states,
            )

    def is_stale(self) -> bool:
        """Whether keys or dials have changed since the motion was made."""
        return self.solution is not None and self.solution.key != build_solution_key(self.keys, self.settings)

    def compute_ghost_displacement(self, frame: int) -> Array:
        """The displacement (n, 3) [m] of what the ghost shows: rest, or a spline through the keys."""
        poses = {0: np.zeros((self.body.vertex_count, 3))}
        if self.ghost == "spline":
            poses |= {key.frame: key.pose.displacement for key in self.keys}
        share = compute_spline_weights(list(poses), self.frames)[frame]
        return np.tensordot(share, np.stack(list(poses.values())), axes=1)

    def _require_solution(self) -> KeyframeSolution:
        if self.solution is None:
            raise InputError("there is no motion yet; set keys and optimise first")
        return self.solution

    # --- history

    def capture_state(self) -> KeyframeUndoState:
        return KeyframeUndoState(self.pose_session.snapshot, self.keys, self.settings, self.solution)

    def apply_undoable(
        self, label: str, action: Callable[[], object], *, frames_changed: bool = False, join: bool = False
    ) -> None:
        """One step of undo; join: it goes on what was just done under the same name, as a slider in the hand does."""
        self.finish_interaction()
        before = self.capture_state()
        action()
        self.history.record(label, before, join=join)
        if self.pose_session.snapshot is not before.pose:
            self.show_pose()
            self.warn_about_inversion(before.pose)
        self.host.record_change(label, frames_changed=frames_changed)

    def warn_about_inversion(self, before: Posed) -> None:
        """Send a notice of tets that the pose turns inside out, when it has others than the one before."""
        found = find_inverted_tets(self.body, self.pose_session.displacement)
        if found is None or np.array_equal(np.sort(found.tets), self.body.inverted(before.displacement)):
            return
        self.host.broadcast({"is": "notice", "tone": "warn", "title": "Elements are inside out", "text": f"{found}."})

    def finish_interaction(self) -> None:
        self._pose_handlers.cancel_pull()

    def restore_state(self, state: KeyframeUndoState) -> None:
        before = self.solution
        self.pose_session.restore(state.pose)
        self.keys, self.settings, self.solution = state.keys, state.settings, state.solution
        if self.solution is not before:
            self.update_preview()
        self.current_frame = min(self.current_frame, self.frames - 1)
        self.show_pose()
        self.host.record_change()

    def _wrap_with_timestamp(self, handler: Handler) -> Handler:
        def handle_with_timestamp(message: Message) -> Answer | Mapping[str, Any] | None:
            try:
                return handler(message)
            finally:
                self._last_command_time = time.monotonic()

        return handle_with_timestamp

    # --- small things

    def show_pose(self) -> None:
        """The present pose to the first view."""
        self.host.show_live_frame(self.compute_live_vertices(self.current_frame), frame=self.current_frame)

    def compute_position(self, node: int) -> Array:
        return np.asarray(self.body.vertices[node] + self.pose_session.displacement[node])

    def describe_vertices(self, nodes: Sequence[int]) -> str:
        name = self.content.describe_vertex(nodes[0])
        return name if len(nodes) == 1 else f"{name} and {len(nodes) - 1} more"

    def _find_key_without_thumbnail(self) -> PoseKey | None:
        if not self._thumbnail_renderer.is_enabled:
            return None
        return next((key for key in self.keys if id(key.pose.displacement) not in self.thumbnails), None)
