"""Edit: drag any vertex of any frame of a finished motion, live; the whole motion follows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct import Editor, edit
from cajole.direct.editing import serialization
from cajole.direct.editing.constraint_system import EditState
from cajole.direct.editing.constraints import OffsetConstraint, PointKey, VertexConstraint
from cajole.direct.editing.editor import DragSession
from cajole.direct.editing.report import WARP_NAMES
from cajole.direct.editing.serialization import build_edit_document, build_editor
from cajole.errors import InputError
from cajole.progress import ProgressCallback, report_progress
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import Handler, Message, ModeHost, ModeSnapshot
from cajole.studio.modes.edit.messages import EditStateMessage
from cajole.studio.modes.edit.view_model import build_edit_state, format_marker_id
from cajole.studio.modes.payloads import build_force_meter, to_list
from cajole.studio.modes.undo import UndoableMode, UndoHistory


class DragMarkerHandlers:
    """What the hand does with markers of an `EditMode`."""

    def __init__(self, mode: EditMode):
        self.mode = mode
        self._move_in_progress: tuple[tuple[str, ...], EditUndoState] | None = None

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            "marker.move": self._move,
            "marker.copy": self._copy,
            "marker.delete": self._release,
            "marker.rename": self._rename,
        }

    def _move(self, message: Message) -> None:
        """Drags move in time: each goes as far from the input's new frame as it was from that of its old one."""
        mode, ids = self.mode, tuple(message_values.read_texts(message, "ids"))
        frames, final = (
            message_values.read_integers(message, "frames", mode.frames),
            message_values.read_flag(message, "final"),
        )
        if self._move_in_progress is None or self._move_in_progress[0] != ids:
            self._move_in_progress = (ids, mode.capture_state())
        before = self._move_in_progress[1]
        mode.restore_editor(before)
        try:
            moved = self._shift_drags(self._find_constraints(ids), frames, keep_originals=False)
        except BaseException:
            self._move_in_progress = None
            mode.restore_editor(before)
            raise
        for old, new in zip(ids, moved):
            if old in before.marker_names:
                mode.marker_names[new] = mode.marker_names.pop(old)
        if not final:
            mode.host.invalidate_frames()
            mode.host.show_live_frame(mode.compute_live_vertices(mode.current_frame), frame=mode.current_frame)
            return
        self._move_in_progress = None
        label = f"move {describe_drag_count(len(ids))} in time" if moved != list(ids) else None
        if label is not None:
            mode.history.record(label, before)
        mode.commit_change(label)

    def _copy(self, message: Message) -> None:
        ids, frames = (
            message_values.read_texts(message, "ids"),
            message_values.read_integers(message, "frames", self.mode.frames),
        )
        found = self._find_constraints(ids)
        self.mode.apply_undoable(
            f"copy {describe_drag_count(len(ids))}", lambda: self._shift_drags(found, frames, keep_originals=True)
        )

    def _release(self, message: Message) -> None:
        found = self._find_constraints(message_values.read_texts(message, "ids"))
        self.mode.apply_undoable(f"release {describe_drag_count(len(found))}", lambda: self._release_constraints(found))

    def _rename(self, message: Message) -> None:
        (name,) = message_values.read_texts(message, "ids", max_count=1)
        self._find_constraints([name])
        self.mode.marker_names[name] = message_values.read_text(message, "name")
        self.mode.host.record_change("rename", frames_changed=False)

    def _shift_drags(
        self, constraints: list[VertexConstraint], frames: list[int], *, keep_originals: bool
    ) -> list[str]:
        editor = self.mode.editor
        if len(frames) != len(constraints):
            raise InputError(f"frames has {len(frames)} entries, but {len(constraints)} drags are to go there")
        if not keep_originals:
            self._release_constraints(constraints)
        for hold, frame in zip(constraints, frames):
            if PointKey(hold.vertex, frame) in editor.state.constraints:
                name = self.mode.describe_vertices([hold.vertex])
                raise InputError(f"{name} is dragged at frame {frame} already; move that one")
            offset = hold.target - editor.model.get_input_position(hold.frame, hold.vertex)
            goal = editor.model.get_input_position(frame, hold.vertex) + offset
            editor.drag(hold.vertex, frame, goal, directions=hold.directions)
        return [format_marker_id(PointKey(hold.vertex, frame)) for hold, frame in zip(constraints, frames)]

    def _release_constraints(self, constraints: list[VertexConstraint]) -> None:
        for hold in constraints:
            self.mode.editor.release(*hold.key)

    def _find_constraints(self, ids: Sequence[str]) -> list[VertexConstraint]:
        held = {format_marker_id(key): one.constraint for key, one in self.mode.editor.state.constraints.items()}
        for name in ids:
            if name not in held:
                raise InputError(f"there is no drag {name!r}; it may have been released")
        return [held[name] for name in ids]


def describe_drag_count(count: int) -> str:
    return "a drag" if count == 1 else f"{count} drags"


def tune_editor(mode: EditMode, message: Message) -> None:
    """Change what `Editor.tune` changes; a slider under the hand is one step of undo."""
    wanted: dict[str, Any] = {
        name: message_values.read_number(message, name) for name in ("h", "smoothness") if name in message
    } | {name: message_values.read_text(message, name) for name in ("ends", "energy") if name in message}
    if "alpha" in message or "beta" in message:
        alpha, beta = mode.editor.settings.damping
        wanted["damping"] = (
            message_values.read_number(message, "alpha", 0.0) if "alpha" in message else alpha,
            message_values.read_number(message, "beta", 0.0) if "beta" in message else beta,
        )
    if "window" in message:
        asked = message["window"]
        wanted["window"] = (
            None if asked is None else tuple(message_values.read_integers(message, "window", mode.frames, max_count=2))
        )
    mode.apply_undoable(f"set {', '.join(sorted(wanted)) or 'nothing'}", lambda: mode.editor.tune(**wanted), join=True)


def reopen_editor(mode: EditMode, message: Message) -> None:
    """Another number of modes, another warp, with or without contacts: the drags are laid over a new editor."""
    options = mode.editor.options
    modes = message_values.read_integer(message, "modes", 1) if "modes" in message else options.modes
    warp = message_values.read_choice(message, "warp", WARP_NAMES) if "warp" in message else options.warp
    contacts = message_values.read_flag(message, "contacts", mode.uses_contacts)
    before = mode.capture_state()
    progress = mode.host.begin_job("Preparing the motion")
    was, mode.uses_contacts = mode.uses_contacts, contacts
    try:
        fresh = mode.open_editor(progress, modes=modes, warp=warp, **asdict(mode.editor.settings))
        _copy_drags(fresh, mode.editor, progress)
    except BaseException:
        mode.uses_contacts = was
        raise
    mode.editor = fresh
    mode.history.record("set detail, warp or contacts", before)
    mode.host.end_job()
    mode.commit_change("settings")


def _copy_drags(target: Editor, source: Editor, progress: ProgressCallback) -> None:
    """Make the drags of an editor in another."""
    holds = [held.constraint for held in source.state.constraints.values()]
    for k, hold in enumerate(holds):
        report_progress(progress, 1.0, f"drag {k + 1} of {len(holds)}")
        if isinstance(hold, OffsetConstraint):
            target.tie(hold.vertex, hold.other, hold.frame, hold.target, directions=hold.directions)
        else:
            target.drag(hold.vertex, hold.frame, hold.target, directions=hold.directions)


# While a hand moves, the meter is measured again after so many times what that takes.
METER_INTERVAL_FACTOR = 10.0
# what messages call a document that was saved by the studio
SAVED_PROJECT_PATH = Path("the saved project")


@dataclass(frozen=True, eq=False)
class EditUndoState:
    """All that undo brings back: an editor (another after it was reopened), what it held, names that were given."""

    editor: Editor
    state: EditState
    marker_names: Mapping[str, str]


@dataclass(eq=False)
class EditDrag:
    """A drag in progress: its vertices, where they were [m] (k, 3), and the state before it.

    The vertices are the drag's own: other messages may change the selection meanwhile.
    """

    number: int
    nodes: list[int]
    hand: DragSession
    start_positions: Array
    undo_state: EditUndoState


class EditMode(UndoableMode[EditUndoState]):
    """An `Editor` in the studio."""

    name = "edit"
    state_type = EditStateMessage
    immutable_streams = ("given",)

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        if content.animation is None:
            raise InputError("there is no motion to edit; open an animation, or make one with keys first")
        self.host, self.content, self.input_animation = host, content, content.animation
        self.history: UndoHistory[EditUndoState] = UndoHistory()
        self.marker_names: dict[str, str] = {}
        self.selected: list[int] = []
        self.current_frame = 0
        self.uses_contacts = content.animation.contacts is not None
        self.computed_positions: dict[tuple[int, int], Array] = {}
        self._active_drag: EditDrag | None = None
        self._marker_handlers = DragMarkerHandlers(self)
        self._next_meter_time = 0.0
        progress = host.begin_job("Preparing the motion")
        self.editor = self.open_editor(progress) if snapshot is None else self._open_saved_editor(snapshot, progress)
        host.end_job()

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            **self.common_commands,
            "drag.begin": self._begin_drag,
            "drag.move": self._move_drag,
            "drag.commit": self._commit_drag,
            "drag.cancel": self._cancel_drag,
            "place": self._place_vertex,
            "pin": self._pin_vertices,
            "moves": self._make_suggested_drags,
            "tune": lambda message: tune_editor(self, message),
            "reopen": lambda message: reopen_editor(self, message),
            **self._marker_handlers.commands,
        }

    @property
    def frames(self) -> int:
        return self.input_animation.frames

    @property
    def fps(self) -> float:
        return self.input_animation.fps

    def build_state(self) -> dict[str, Any]:
        return build_edit_state(self)

    def compute_live_vertices(self, frame: int) -> Array:
        self.current_frame = frame
        return self.content.compute_drawn_positions(self._compute_positions(frame))

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        if stream == "result":
            return self.content.compute_drawn_positions(self._compute_positions(frame))
        return self.content.compute_drawn_positions(np.asarray(self.input_animation.positions[frame], dtype=np.float64))

    def export_content(self) -> ProjectContent:
        """The edited motion, for another mode."""
        moved = self.editor.animation(progress=self.host.begin_job("Making the edited motion"))
        self.host.end_job()
        return replace(self.content, animation=moved, shot=None, steer_setup=None)

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """The edited motion."""
        return self.editor.animation(progress=progress)

    def create_snapshot(self) -> ModeSnapshot:
        document = {
            "edit": build_edit_document(self.editor),
            "names": self.marker_names,
            "contacts": self.uses_contacts,
        }
        return ModeSnapshot({**document, "selected": self.selected})

    def close(self) -> None:
        if self._active_drag is not None:
            self._active_drag.hand.cancel()

    # --- drags

    def _begin_drag(self, message: Message) -> Mapping[str, Any]:
        if self._active_drag is not None:  # a tab that went away in the middle of it
            self._active_drag.hand.cancel()
            self._active_drag = None
        number, frame = (
            message_values.read_integer(message, "gesture"),
            message_values.read_integer(message, "frame", 0, self.frames - 1),
        )
        nodes = message_values.read_vertices(message, "nodes", self.input_animation.n)
        before, starts = self.capture_state(), self._compute_positions(frame)[nodes]
        directions = (
            None if message.get("directions") in (None, "xyz") else message_values.read_text(message, "directions", 3)
        )
        hand = self.editor.grab(nodes, frame, directions=directions)
        self._active_drag = EditDrag(number, nodes, hand, starts, before)
        self.selected, self.current_frame = nodes, frame
        return {"position": to_list(starts[0])}

    def _move_drag(self, message: Message) -> None:
        gesture = message_values.require_active_gesture(message, self._active_drag)
        begin = time.perf_counter()
        goal = gesture.start_positions + message_values.read_vector(message, "delta")
        landing = gesture.hand.move(goal, approximate=True)
        positions = gesture.hand.positions()
        self.computed_positions.clear()
        took = time.perf_counter() - begin
        self.host.invalidate_frames()
        seq = message_values.read_integer(message, "seq")
        self.host.show_live_frame(
            self.content.compute_drawn_positions(positions), frame=gesture.hand.frame, reply_seq=seq
        )
        self.host.broadcast({
            "is": "moved", "gesture": gesture.number, "seq": seq,
            "position": to_list(positions[gesture.nodes[0]]), "miss": float(landing.relative_error), "ms": 1e3 * took,
            "meter": self._measure_added_force(),
        })  # fmt: skip

    def _commit_drag(self, message: Message) -> Mapping[str, Any]:
        gesture = message_values.require_active_gesture(message, self._active_drag)
        self._active_drag = None
        landing = gesture.hand.commit()
        label = f"move {self.describe_vertices(gesture.nodes)}"
        self.history.record(label, gesture.undo_state)
        self.commit_change(label)
        if not landing.reached:
            self._broadcast_warning(f"{landing}")
        return {
            "missed": float(landing.relative_error),
            "moved": float(self._compute_moved_distance(gesture.nodes[0], gesture.hand.frame)),
        }

    def _cancel_drag(self, message: Message) -> None:
        gesture = message_values.require_active_gesture(message, self._active_drag)
        self._active_drag = None
        gesture.hand.cancel()
        self.commit_change(None)

    def _place_vertex(self, message: Message) -> None:
        node, frame = (
            message_values.read_integer(message, "node", 0, self.input_animation.n - 1),
            message_values.read_integer(message, "frame"),
        )
        position = message_values.read_vector(message, "position")
        self.apply_undoable(f"move {self.describe_vertices([node])}", lambda: self.editor.drag(node, frame, position))
        self.selected = [node]

    def _pin_vertices(self, message: Message) -> None:
        nodes = message_values.read_vertices(message, "nodes", self.input_animation.n)
        frame = message_values.read_integer(message, "frame", 0, self.frames - 1)
        self.apply_undoable(f"pin {self.describe_vertices(nodes)}", lambda: self.editor.pin(nodes, frame))

    # --- what the scene suggests

    def _make_suggested_drags(self, message: Message) -> None:
        """The drags that the scene suggests."""
        progress, before = self.host.begin_job("Making the suggested drags"), self.capture_state()
        wanted = [
            move for move in self.content.edit_setup.suggested_drags if not self._has_drags(move.vertices, move.frame)
        ]
        try:
            for k, move in enumerate(wanted):
                report_progress(progress, k / len(wanted), f"drag {k + 1} of {len(wanted)}")
                move.apply(self.editor)
        except BaseException:
            self.restore_editor(before)
            raise
        self.host.end_job()
        self.history.record("make the suggested drags", before)
        self.commit_change("suggested drags")

    def count_suggested_drags(self) -> int:
        """How many of the scene's drags were not made."""
        return sum(not self._has_drags(move.vertices, move.frame) for move in self.content.edit_setup.suggested_drags)

    def _has_drags(self, vertices: NDArray[np.int64], frame: int) -> bool:
        return all(PointKey(int(vertex), frame) in self.editor.state.constraints for vertex in vertices)

    # --- inner workings

    def open_editor(self, progress: ProgressCallback, **options: Any) -> Editor:
        plan = self.content.edit_setup
        wanted = {"modes": plan.modes, **plan.options, **options}
        animation = self.input_animation if self.uses_contacts else replace(self.input_animation, contacts=None)
        return edit(animation, self.content.body, progress=progress, **wanted)

    def _open_saved_editor(self, snapshot: ModeSnapshot, progress: ProgressCallback) -> Editor:
        self.marker_names = {str(key): str(name) for key, name in dict(snapshot.document.get("names", {})).items()}
        self.uses_contacts = bool(snapshot.document.get("contacts", self.uses_contacts))
        # absent in projects of earlier versions
        self.selected = message_values.read_vertices(
            {"selected": [], **snapshot.document}, "selected", self.input_animation.n, min_count=0
        )
        animation = self.input_animation if self.uses_contacts else replace(self.input_animation, contacts=None)
        found = serialization.parse_edit_document(snapshot.document.get("edit"), SAVED_PROJECT_PATH)
        return build_editor(found, SAVED_PROJECT_PATH, animation, self.content.body, progress=progress)

    def apply_undoable(self, label: str, action: Callable[[], Any], *, join: bool = False) -> None:
        """One step of undo, or more of the last one; as it was before when it fails on the way."""
        self.finish_interaction()
        self.run_undoable(label, action, self.restore_editor, join=join)
        self.commit_change(label)

    def capture_state(self) -> EditUndoState:
        return EditUndoState(self.editor, self.editor.state, dict(self.marker_names))

    def restore_editor(self, state: EditUndoState) -> None:
        self.editor, self.marker_names = state.editor, dict(state.marker_names)
        self.uses_contacts = state.editor.input.contacts is not None
        self.editor.restore(state.state)

    def restore_state(self, state: EditUndoState) -> None:
        self.restore_editor(state)
        self.commit_change(None)

    def commit_change(self, label: str | None) -> None:
        self.computed_positions.clear()
        self.host.record_change(label)
        self.host.show_live_frame(self.compute_live_vertices(self.current_frame), frame=self.current_frame)

    def finish_interaction(self) -> None:
        if self._active_drag is not None:
            raise InputError("a drag is under way; let go first, or press Esc")

    def _measure_added_force(self) -> dict[str, Any] | None:
        """The meter, as often as it is cheap."""
        begin = time.perf_counter()
        if begin < self._next_meter_time:
            return None
        found = build_force_meter(self.editor.gentleness())
        took = time.perf_counter() - begin
        self._next_meter_time = begin + METER_INTERVAL_FACTOR * took
        return found

    def _compute_positions(self, frame: int) -> Array:
        """Positions (n, 3) of a frame as edited; what is selected leaves its trail."""
        positions = self.editor.positions(frame)
        for node in self.selected:
            self.computed_positions[node, frame] = positions[node]
        return positions

    def describe_vertices(self, nodes: list[int]) -> str:
        return self.content.describe_vertex(nodes[0]) if len(nodes) == 1 else f"{len(nodes)} points"

    def _compute_moved_distance(self, node: int, frame: int) -> float:
        return float(np.linalg.norm(self.editor.positions(frame)[node] - self.input_animation.positions[frame, node]))

    def _broadcast_warning(self, text: str) -> None:
        self.host.broadcast({"is": "notice", "tone": "warn", "title": "Not quite there", "text": text})
