"""Edit: drag any vertex of any frame of a finished motion; the whole motion follows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct import Editor, edit, save_edit
from cajole.direct.editing import serialization
from cajole.direct.editing.constraint_system import EditState
from cajole.direct.editing.constraints import OffsetConstraint, PointKey, VertexConstraint
from cajole.direct.editing.editor import DragSession
from cajole.errors import InputError
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes.edit_scenes import VertexDrag
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.messages import (
    AddSuggestedTargets,
    BeginDrag,
    CancelDrag,
    CommitDrag,
    CopyMarkers,
    DeleteMarkers,
    DragBeginAnswer,
    DragCommitAnswer,
    MovedMessage,
    MoveDrag,
    MoveMarkers,
    PlaceVertex,
    RenameMarker,
    ViewLabels,
)
from cajole.studio.modes.base import Handlers, ModeHost, ModeSnapshot
from cajole.studio.modes.edit import view_model
from cajole.studio.modes.edit.messages import (
    EditDefaults,
    EditModeState,
    EditStateMessage,
    EndCondition,
    EnergyKind,
    PinDraggedVertices,
    Reopen,
    Tune,
    WarpName,
)
from cajole.studio.modes.edit.view_model import format_marker_id
from cajole.studio.modes.payloads import build_force_lanes, build_force_meter, build_selected_vertex, to_vec3
from cajole.studio.modes.settings import require_active_gesture, require_frames, require_index, require_vertices
from cajole.studio.modes.undo import UndoableMode


@dataclass(frozen=True, eq=False)
class EditUndoState:
    """All that undo restores: the editor (a new one after reopening), its state, and names of drags."""

    editor: Editor
    state: EditState
    marker_names: Mapping[str, str]


@dataclass(eq=False)
class EditDrag:
    """A drag in progress: its vertices, their start positions [m] (k, 3), and the state before it.

    The vertices are its own, because other messages may change the selection meanwhile.
    """

    number: int
    nodes: list[int]
    session: DragSession
    start_positions: Array
    undo_state: EditUndoState


class EditMode(UndoableMode[EditUndoState]):
    """An `Editor` in the studio.

    computed_positions: exact positions (3,) [m] of selected vertices, by vertex and frame, for their trails.
    """

    name = "edit"
    immutable_streams = ("given",)

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        if content.animation is None:
            raise InputError("there is no motion to edit; open an animation, or make one with keys first")
        super().__init__(host, content)
        self.input_animation = content.animation
        self.marker_names: dict[str, str] = {}
        self.uses_contacts = content.animation.contacts is not None
        self.computed_positions: dict[tuple[int, int], Array] = {}
        self._active_drag: EditDrag | None = None
        self._active_move: tuple[tuple[str, ...], EditUndoState] | None = None
        self._next_meter_time = 0.0
        progress = host.begin_job("Preparing the motion")
        self.editor = self._open_editor(progress) if snapshot is None else self._restore_editor(snapshot, progress)
        host.end_job()

    def _open_editor(self, progress: ProgressCallback, **options: Any) -> Editor:
        setup = self.content.edit_setup
        options = {"modes": setup.modes, **setup.options, **options}
        return edit(self._get_edited_animation(), self.content.body, progress=progress, **options)

    def _get_edited_animation(self) -> Animation:
        return self.input_animation if self.uses_contacts else replace(self.input_animation, contacts=None)

    def _restore_editor(self, snapshot: ModeSnapshot, progress: ProgressCallback) -> Editor:
        document, source = snapshot.document, Path("the saved project")
        self.marker_names = {str(key): str(name) for key, name in dict(document.get("names", {})).items()}
        self.uses_contacts = bool(document.get("contacts", self.uses_contacts))
        # absent in projects of earlier versions
        selected = {"selected": [], **document}
        self.selected = message_values.read_vertices(selected, "selected", self.input_animation.n, min_count=0)
        parsed = serialization.parse_edit_document(document.get("edit"), source)
        motion = self._get_edited_animation()
        return serialization.build_editor(parsed, source, motion, self.content.body, progress=progress)

    # --- interface of the project

    @property
    def commands(self) -> Handlers:
        return {
            **self.common_commands,
            BeginDrag: self._begin_drag,
            MoveDrag: self._move_drag,
            CommitDrag: self._commit_drag,
            CancelDrag: self._cancel_drag,
            PlaceVertex: self._place_vertex,
            PinDraggedVertices: self._pin_vertices,
            AddSuggestedTargets: self._make_suggested_drags,
            Tune: self._tune_editor,
            Reopen: self._reopen_editor,
            MoveMarkers: self._move_markers,
            CopyMarkers: self._copy_markers,
            DeleteMarkers: self._release_markers,
            RenameMarker: self._rename_marker,
        }

    @property
    def frames(self) -> int:
        return self.input_animation.frames

    @property
    def fps(self) -> float:
        return self.input_animation.fps

    def build_state(self) -> EditStateMessage:
        editor, motion, curve = self.editor, self.input_animation, self.editor.gentleness()
        drags = view_model.describe_drags(editor, self.content, self.marker_names)
        hint = "" if editor.settings.window is None else "Widen the window to make it gentler."
        selection = []
        for node in self.selected:
            now = self.computed_positions.get((node, self.current_frame))
            position = editor.positions(self.current_frame)[node] if now is None else now
            given, is_fixed = (
                motion.positions[self.current_frame, node],
                not editor.model.compute_constraint_rows(node).any(),
            )
            selection.append(build_selected_vertex(self.content, node, position, given, fixed=is_fixed))
        settings, options, setup = editor.settings, editor.options, self.content.edit_setup
        damping = setup.options.get("damping") or [
            float(getattr(self.content.body, name, 0.0)) for name in ("alpha", "beta")
        ]
        contacts = motion.contacts
        return EditStateMessage(
            lanes=[
                view_model.build_drag_lane(editor, drags, self.selected, self.fps),
                *build_force_lanes(curve),
                *view_model.build_contact_lanes(motion),
            ],
            meter=build_force_meter(curve, hint),
            selection=selection,
            trails=view_model.build_trails(editor, motion, self.selected, self.computed_positions),
            labels=ViewLabels("Editing", "Result"),
            undo=self.history.undo_label,
            redo=self.history.redo_label,
            edit=EditModeState(
                drags=drags,
                h=settings.h,
                alpha=settings.damping[0],
                beta=settings.damping[1],
                defaults=EditDefaults(
                    h=setup.options.get("h") or 1.0 / motion.fps,
                    alpha=damping[0],
                    beta=damping[1],
                    modes=setup.modes or options.modes,
                ),
                ends=cast(EndCondition, settings.ends),
                energy=cast(EnergyKind, settings.energy),
                smoothness=settings.smoothness,
                window=settings.window,
                editable=editor.editable_frames,
                modes=options.modes,
                most_modes=max(options.modes, min(1000, 3 * motion.n - 6)),
                warp=cast(WarpName, options.warp),
                contacts=self.uses_contacts,
                contacts_found=0 if contacts is None else len(contacts),
                contacts_kept=editor.contact_count,
                contact_points=view_model.build_contact_points(editor, motion, self.current_frame),
                suggested=len(self._list_missing_drags()),
            ),
        )

    def compute_live_vertices(self, frame: int) -> Array:
        self.current_frame = frame
        return self.content.compute_drawn_positions(self._compute_positions(frame))

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        given = self.input_animation.positions
        positions = self._compute_positions(frame) if stream == "result" else np.asarray(given[frame], dtype=np.float64)
        return self.content.compute_drawn_positions(positions)

    def export_content(self) -> ProjectContent:
        """The edited motion, for another mode."""
        moved = self.editor.animation(progress=self.host.begin_job("Making the edited motion"))
        self.host.end_job()
        return replace(self.content, animation=moved, shot=None, steer_setup=None)

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """The edited motion."""
        return self.editor.animation(progress=progress)

    def write_export(self, kind: str, path: Path) -> None:
        save_edit(self.editor, path)

    def create_snapshot(self) -> ModeSnapshot:
        return ModeSnapshot(
            {
                "edit": serialization.build_edit_document(self.editor),
                "names": self.marker_names,
                "contacts": self.uses_contacts,
                "selected": self.selected,
            }
        )

    def close(self) -> None:
        if self._active_drag is not None:
            self._active_drag.session.cancel()

    # --- undo

    def capture_state(self) -> EditUndoState:
        return EditUndoState(self.editor, self.editor.state, dict(self.marker_names))

    def restore_fields(self, state: EditUndoState) -> None:
        self.editor, self.marker_names = state.editor, dict(state.marker_names)
        self.uses_contacts = state.editor.input.contacts is not None
        self.editor.restore(state.state)

    def send_changes(self, before: EditUndoState, label: str | None) -> None:
        self.computed_positions.clear()
        self.host.record_change(label)
        self._show_current_frame()

    def finish_interaction(self) -> None:
        if self._active_drag is not None:
            raise InputError("a drag is under way; let go first, or press Esc")

    # --- drags

    def _begin_drag(self, command: BeginDrag) -> DragBeginAnswer:
        if self._active_drag is not None:  # its tab was closed during the drag
            self._active_drag.session.cancel()
            self._active_drag = None
        frame, nodes = require_index(command, "frame", self.frames), require_vertices(command, self.input_animation.n)
        before, starts = self.capture_state(), self._compute_positions(frame)[nodes]
        directions = None if command.directions == "xyz" else command.directions
        session = self.editor.grab(nodes, frame, directions=directions)
        self._active_drag = EditDrag(command.gesture, nodes, session, starts, before)
        self.selected, self.current_frame = nodes, frame
        return DragBeginAnswer(position=to_vec3(starts[0]))

    def _move_drag(self, command: MoveDrag) -> None:
        drag = require_active_gesture(command, self._active_drag)
        begin = time.perf_counter()
        landing = drag.session.move(drag.start_positions + command.delta, approximate=True)
        positions = drag.session.positions()
        self.computed_positions.clear()
        milliseconds = 1e3 * (time.perf_counter() - begin)
        self.host.invalidate_frames()
        drawn = self.content.compute_drawn_positions(positions)
        self.host.show_live_frame(drawn, frame=drag.session.frame, reply_seq=command.seq)
        begin, meter = time.perf_counter(), None
        if begin >= self._next_meter_time:
            meter = build_force_meter(self.editor.gentleness())
            # measured again after ten times its own duration, so that it slows the drag by a tenth at most
            self._next_meter_time = begin + 10.0 * (time.perf_counter() - begin)
        position, miss = to_vec3(positions[drag.nodes[0]]), float(landing.relative_error)
        self.host.broadcast(MovedMessage(
            gesture=drag.number, seq=command.seq, position=position, miss=miss, ms=milliseconds, meter=meter
        ))  # fmt: skip

    def _commit_drag(self, command: CommitDrag) -> DragCommitAnswer:
        drag = require_active_gesture(command, self._active_drag)
        self._active_drag = None
        landing, node, frame = drag.session.commit(), drag.nodes[0], drag.session.frame
        label = f"move {self.describe_vertices(drag.nodes)}"
        self.history.record(label, drag.undo_state)
        self.send_changes(drag.undo_state, label)
        if not landing.reached:
            self.warn("Not quite there", f"{landing}")
        moved = self.editor.positions(frame)[node] - self.input_animation.positions[frame, node]
        return DragCommitAnswer(missed=float(landing.relative_error), moved=float(np.linalg.norm(moved)))

    def _cancel_drag(self, command: CancelDrag) -> None:
        drag = require_active_gesture(command, self._active_drag)
        self._active_drag = None
        drag.session.cancel()
        self.send_changes(drag.undo_state, None)

    def _place_vertex(self, command: PlaceVertex) -> None:
        node = require_index(command, "node", self.input_animation.n)
        with self.undo_step(f"move {self.describe_vertices([node])}"):
            self.editor.drag(node, command.frame, command.position)
        self.selected = [node]

    def _pin_vertices(self, command: PinDraggedVertices) -> None:
        nodes, frame = require_vertices(command, self.input_animation.n), require_index(command, "frame", self.frames)
        with self.undo_step(f"pin {self.describe_vertices(nodes)}"):
            self.editor.pin(nodes, frame)

    def _make_suggested_drags(self, command: AddSuggestedTargets) -> None:
        """Make the drags that the scene suggests."""
        progress, missing = self.host.begin_job("Making the suggested drags"), self._list_missing_drags()
        with self.undo_step("make the suggested drags"):
            for k, drag in enumerate(missing):
                report_progress(progress, k / len(missing), f"drag {k + 1} of {len(missing)}")
                drag.apply(self.editor)
            self.host.end_job()

    def _list_missing_drags(self) -> list[VertexDrag]:
        """Suggested drags that are not made yet."""
        made = self.editor.state.constraints
        suggested = self.content.edit_setup.suggested_drags
        return [drag for drag in suggested if not all(PointKey(int(v), drag.frame) in made for v in drag.vertices)]

    # --- markers

    def _move_markers(self, command: MoveMarkers) -> None:
        """Move drags in time: each keeps its offset from the input, at another frame."""
        ids, frames = command.ids, require_frames(command, self.frames)
        if self._active_move is None or self._active_move[0] != ids:
            self._active_move = (ids, self.capture_state())
        before = self._active_move[1]
        self.restore_fields(before)
        try:
            moved = self._shift_drags(self._find_constraints(ids), frames, keep_originals=False)
        except BaseException:
            self._active_move = None
            self.restore_fields(before)
            raise
        for old, new in zip(ids, moved):
            if old in before.marker_names:
                self.marker_names[new] = self.marker_names.pop(old)
        if not command.final:
            self.host.invalidate_frames()
            self._show_current_frame()
            return
        self._active_move = None
        label = f"move {_describe_drag_count(ids)} in time" if moved != list(ids) else None
        if label is not None:
            self.history.record(label, before)
        self.send_changes(before, label)

    def _copy_markers(self, command: CopyMarkers) -> None:
        ids, frames = command.ids, require_frames(command, self.frames)
        constraints = self._find_constraints(ids)
        with self.undo_step(f"copy {_describe_drag_count(ids)}"):
            self._shift_drags(constraints, frames, keep_originals=True)

    def _release_markers(self, command: DeleteMarkers) -> None:
        constraints = self._find_constraints(command.ids)
        with self.undo_step(f"release {_describe_drag_count(constraints)}"):
            for constraint in constraints:
                self.editor.release(*constraint.key)

    def _rename_marker(self, command: RenameMarker) -> None:
        self._find_constraints(command.ids)
        self.marker_names[command.ids[0]] = command.name_.strip()
        self.host.record_change("rename", frames_changed=False)

    def _shift_drags(
        self, constraints: list[VertexConstraint], frames: list[int], *, keep_originals: bool
    ) -> list[str]:
        """Make the drags at other frames; the ids of the new ones."""
        editor = self.editor
        if len(frames) != len(constraints):
            raise InputError(f"frames has {len(frames)} entries, but {len(constraints)} drags are to go there")
        if not keep_originals:
            for constraint in constraints:
                editor.release(*constraint.key)
        for constraint, frame in zip(constraints, frames):
            vertex = constraint.vertex
            if PointKey(vertex, frame) in editor.state.constraints:
                name = self.describe_vertices([vertex])
                raise InputError(f"{name} is dragged at frame {frame} already; move that one")
            offset = constraint.target - editor.model.get_input_position(constraint.frame, vertex)
            goal = editor.model.get_input_position(frame, vertex) + offset
            editor.drag(vertex, frame, goal, directions=constraint.directions)
        return [format_marker_id(PointKey(constraint.vertex, frame)) for constraint, frame in zip(constraints, frames)]

    def _find_constraints(self, ids: Sequence[str]) -> list[VertexConstraint]:
        known = {format_marker_id(key): held.constraint for key, held in self.editor.state.constraints.items()}
        for name in ids:
            if name not in known:
                raise InputError(f"there is no drag {name!r}; it may have been released")
        return [known[name] for name in ids]

    # --- settings

    def _tune_editor(self, command: Tune) -> None:
        """Change settings that `Editor.tune` changes; the values of one slider movement are one undo step."""
        changes, damping = dict(command.get_changes()), dict(zip(("alpha", "beta"), self.editor.settings.damping))
        new_damping = {name: changes.pop(name) for name in damping if name in changes}
        if new_damping:
            changes["damping"] = tuple((damping | new_damping).values())
        if changes.get("window") is not None:
            checks.require_index_array(list(changes["window"]), "window of tune", (2,), self.frames)
        with self.undo_step(f"set {', '.join(sorted(changes)) or 'nothing'}", join=True):
            self.editor.tune(**changes)

    def _reopen_editor(self, command: Reopen) -> None:
        """Open another editor for options that need one, and repeat the drags in it."""
        old = self.editor
        changes = dict(command.get_changes())
        contacts = changes.pop("contacts", self.uses_contacts)
        options = {"modes": old.options.modes, "warp": old.options.warp, **changes}
        progress = self.host.begin_job("Preparing the motion")
        with self.undo_step("set detail, warp or contacts"):
            self.uses_contacts = contacts
            new = self._open_editor(progress, **options, **asdict(old.settings))
            constraints = [held.constraint for held in old.state.constraints.values()]
            for k, constraint in enumerate(constraints):
                report_progress(progress, 1.0, f"drag {k + 1} of {len(constraints)}")
                vertex, frame, target = constraint.vertex, constraint.frame, constraint.target
                if isinstance(constraint, OffsetConstraint):
                    new.tie(vertex, constraint.other, frame, target, directions=constraint.directions)
                else:
                    new.drag(vertex, frame, target, directions=constraint.directions)
            self.editor = new
            self.host.end_job()

    # --- positions

    def _show_current_frame(self) -> None:
        self.host.show_live_frame(self.compute_live_vertices(self.current_frame), frame=self.current_frame)

    def _compute_positions(self, frame: int) -> Array:
        """Edited positions (n, 3) [m] of a frame; those of selected vertices are kept for their trails."""
        positions = self.editor.positions(frame)
        for node in self.selected:
            self.computed_positions[node, frame] = positions[node]
        return positions


def _describe_drag_count(drags: Sequence[object]) -> str:
    return "a drag" if len(drags) == 1 else f"{len(drags)} drags"
