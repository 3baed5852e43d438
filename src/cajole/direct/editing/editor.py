"""`Editor`: drag any vertex of any frame of a finished animation; the whole motion follows."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, Contacts
from cajole.arrays import Array
from cajole.direct.editing.constraint_solver import (
    FrameConstraintSolver,
    compute_drag_distances,
    compute_requested_displacement,
    compute_residuals,
    solve_all_constraints,
)
from cajole.direct.editing.constraint_system import ConstraintSystem, EditState, LinearisedConstraint
from cajole.direct.editing.edit_model import EditModel
from cajole.direct.editing.linear_constraints import LinearConstraints
from cajole.direct.editing.reach import DragResult, TargetError, measure_target_errors
from cajole.direct.editing.report import EditOptions, EditReport
from cajole.direct.editing.spacetime import EditSettings, find_editable_frames
from cajole.direct.editing.vertex_constraints import ConstraintKey, VertexConstraint, orthonormalise_directions
from cajole.errors import InputError
from cajole.linalg.threads import limit_blas_threads
from cajole.locking import synchronized
from cajole.progress import ProgressCallback, report_progress

# Drags beyond so many body sizes are mistakes.
MAX_DRAG_DISTANCE = 10.0


class DragSession:
    """What `Editor.grab` gives: `move` as often as wanted, then `commit`, or `cancel`; a with-block commits at its end.

    Threads may share it: its methods take turns with each other and with those of the editor.
    """

    def __init__(self, editor: Editor, solver: FrameConstraintSolver):
        self.lock = editor.lock
        self._editor, self._solver = editor, solver
        self._error_history = list[float]()
        self._result: DragResult | None = None
        self._is_approximate = False
        self.is_active = True

    @property
    def frame(self) -> int:
        return self._solver.frame

    @property
    def result(self) -> DragResult:
        """How the last move, or the drop, ended."""
        if self._result is None:
            raise InputError("nothing was moved yet; move or commit first")
        return self._result

    @synchronized
    def move(self, position: ArrayLike, *, approximate: bool = False) -> DragResult:
        """Bring the vertices to `position` (3,) [m], or (k, 3) for k of them; of a tie, to that offset.

        approximate: in a bounded time, as a mouse needs it: what is far may be missed until later moves or the drop.
        """
        self._require_active()
        constraints = self._solver.constraints
        shape = (3,) if len(constraints) == 1 and checks.count_axes(position) < 2 else (len(constraints), 3)
        targets = checks.require_real_array(position, "position (m)", shape).reshape(-1, 3)
        moved_constraints = [self._move_constraint(hold, target) for hold, target in zip(constraints, targets)]
        with limit_blas_threads():
            result = self._solver.solve(moved_constraints, approximate=approximate)
            distances = compute_drag_distances(self._solver.model, moved_constraints)
        self._editor.apply_drag(moved_constraints, self._solver.linear_targets)
        ends = np.cumsum([len(constraint.directions) for constraint in moved_constraints])
        errors = measure_target_errors(np.split(result.residual, ends[:-1]), distances, self._solver.model.size)
        far = float(distances.max())
        self._result = DragResult(
            max(error.relative for error in errors), tuple(largest / far for largest in result.residual_history)
        )
        self._is_approximate = approximate
        return self._result

    @synchronized
    def compute_linear_displacement(self) -> Array:
        """The linear change (n, 3) of the frame as it is now."""
        return self._solver.compute_linear_displacement(self._solver.unknowns)

    @synchronized
    def positions(self) -> Array:
        """(n, 3) [m] where all vertices of the frame are now."""
        if not self.is_active:
            return self._editor.positions(self.frame)
        # as the editor has it, without a sum over all modes
        with limit_blas_threads():
            return self._solver.model.compute_positions(self.frame, self.compute_linear_displacement())

    @synchronized
    def commit(self) -> DragResult:
        """Let go: all other held vertices land again, and the whole drag is one step of undo."""
        self._require_active()
        if self._is_approximate and self._result is not None and not self._result.reached:
            self.move(np.stack([hold.target for hold in self._solver.constraints]))
        self.is_active = False
        error_history = self._result.error_history if self._result is not None else ()
        self._result = DragResult(
            self._editor.commit_drag([hold.key for hold in self._solver.constraints], self._result), error_history
        )
        return self._result

    @synchronized
    def cancel(self) -> None:
        """Let go, with everything as it was before the grab."""
        self._require_active()
        self.is_active = False
        self._editor.cancel_drag()

    def __enter__(self) -> DragSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_active and kind is None:
            self.commit()
        elif self.is_active:
            self.cancel()

    def _move_constraint(self, constraint: VertexConstraint, target: Array) -> VertexConstraint:
        model = self._solver.model
        requested_displacement = constraint.directions @ compute_requested_displacement(
            model, replace(constraint, target=target)
        )
        distance = np.abs(requested_displacement).max()
        if distance > MAX_DRAG_DISTANCE * model.size:
            raise InputError(
                f"position is {distance:.3g} m from where the vertex is, more than {MAX_DRAG_DISTANCE:g} times "
                f"the size of the body; "
                "check its units"
            )
        return constraint.moved_to(target, float(np.linalg.norm(requested_displacement)))

    def _require_active(self) -> None:
        if not self.is_active:
            raise InputError("the hand is empty: it was dropped or cancelled; grab again")


# Frames whose linear changes are made together: enough for BLAS-3, little memory.
FRAMES_PER_BLOCK = 16


class Editor:
    """A finished animation under edit; see `edit`.

    Several threads may use it. Changes take turns, and every result is the one of a moment between two of them. While
    one thread has a hand on vertices, changes by others raise InputError.
    """

    def __init__(
        self, model: EditModel, settings: EditSettings, options: EditOptions, clustered_contacts: Contacts | None = None
    ):
        self.model, self.options, self._clustered_contacts = model, options, clustered_contacts
        self._state, self._undo_stack, self._redo_stack = EditState({}, settings), list[EditState](), list[EditState]()
        self._active_drag: DragSession | None = None
        # what is worth knowing about how it was opened
        self.notes: tuple[str, ...] = ()
        # a hand and the editor call each other
        self.lock = threading.RLock()
        # the largest displacement, in body sizes, of the state it was measured for
        self._max_displacement_cache: tuple[EditState, float] | None = None
        with limit_blas_threads():
            self._constraint_system = ConstraintSystem(model, settings, clustered_contacts)

    def __repr__(self) -> str:
        (first, last), modes = self.editable_frames, len(self.model.eigenvalues)
        return (
            f"Editor({self.input.name!r}, {len(self._state.constraints)} held, frames {first}..{last}, {modes} modes)"
        )

    # --- what is held

    @property
    def input(self) -> Animation:
        """The animation as it was before the edit."""
        return self.model.animation

    @property
    def constraints(self) -> dict[ConstraintKey, Array]:
        """(vertex, frame) -> position (3,) [m], (vertex, frame, other) -> offset, in the order they were added."""
        return {key: held.constraint.target.copy() for key, held in self._state.constraints.items()}

    @property
    def settings(self) -> EditSettings:
        """h, damping, ends, energy, smoothness and window as they are now."""
        return self._state.settings

    @property
    def state(self) -> EditState:
        """All that was asked so far; `restore` brings it back."""
        return self._state

    @property
    @synchronized
    def editable_frames(self) -> tuple[int, int]:
        """The first and the last frame that can be edited."""
        return self._constraint_system.spacetime.first_frame, self._constraint_system.spacetime.last_frame

    @synchronized
    def drag(
        self, vertex: int | Sequence[int], frame: int, position: ArrayLike, *, directions: str | ArrayLike | None = None
    ) -> DragResult:
        """Put a vertex at `position` (3,) [m] in `frame`, or several (k, 3) at once; again to move them.

        directions: which coordinates are held, some of "xyz" or (k, 3) vectors; the rest is left to the motion.
        Raises InputError for what cannot be moved: a held vertex, a frame that stays, indices out of range.
        """
        with self.grab(vertex, frame, directions=directions) as hand:
            hand.move(position)
        return hand.result

    @synchronized
    def tie(
        self,
        vertex: int,
        other: int,
        frame: int,
        offset: ArrayLike | None = None,
        *,
        directions: str | ArrayLike | None = None,
    ) -> DragResult:
        """Hold a vertex at an `offset` (3,) [m] from another in `frame`, as far apart as they are now when None."""
        with self.grab(vertex, frame, directions=directions, other=other) as hand:
            if offset is not None:
                hand.move(offset)
        return hand.result

    @synchronized
    def pin(self, vertex: int | Sequence[int], frame: int, *, directions: str | ArrayLike | None = None) -> DragResult:
        """Hold vertices where they are now, whatever else is dragged."""
        with self.grab(vertex, frame, directions=directions) as hand:
            pass
        return hand.result

    @synchronized
    def grab(
        self,
        vertex: int | Sequence[int],
        frame: int,
        *,
        directions: str | ArrayLike | None = None,
        other: int | None = None,
    ) -> DragSession:
        """A hand on one or more vertices of a frame, for many small moves that are one step of undo.

        Nothing moves by being grabbed. `hand.move(position)` brings the vertices there, `hand.commit()`, or the end of
        a with-block, makes all other held vertices land again. other: the vertex that they are held relative to.
        """
        self._require_no_drag()
        keys = self._check_keys(vertex, frame, other)
        orthonormal_directions = orthonormalise_directions(directions)
        before = self._state
        try:
            with limit_blas_threads():
                linearised = [self._constrain_in_place(key, orthonormal_directions) for key in keys]
                self._state = before.with_constraints_last(*linearised)
                self._constraint_system.synchronise(self._state)
                row_indices = np.concatenate([self._constraint_system.get_row_indices(key) for key in keys])
                solver = FrameConstraintSolver(
                    self.model,
                    self._constraint_system.linear_constraints,
                    [each.constraint for each in linearised],
                    row_indices,
                )
        except BaseException:
            self.restore(before)
            raise
        self._undo_stack.append(before)
        self._active_drag = DragSession(self, solver)
        return self._active_drag

    @synchronized
    def release(self, vertex: int, frame: int, other: int | None = None) -> None:
        """Let go of a vertex that was dragged, or tied to another. Raises InputError when it was not."""
        self._require_no_drag()
        parts = (vertex, frame) if other is None else (vertex, frame, other)
        key: ConstraintKey = tuple(checks.require_integer(part, "vertex, frame or other", minimum=0) for part in parts)
        if key not in self._state.constraints:
            raise InputError(f"vertex {vertex} at frame {frame} was not dragged, so it cannot be released")
        self._commit_state(self._state.without_constraint(key))

    @synchronized
    def tune(self, /, **settings: Any) -> None:
        """Change h, damping, ends, energy, smoothness or window, as `edit` takes them; held vertices stay in place.

        Raises InputError for settings that are none, and for those that would keep a frame with a dragged vertex.
        """
        self._require_no_drag()
        for name in settings:
            checks.require_choice(name, "a setting", tuple(field.name for field in fields(EditSettings)))
        wanted = replace(self._state.settings, **settings)
        first, last = find_editable_frames(wanted, self.input.frames)
        for held in self._state.constraints.values():
            if not first <= held.constraint.frame <= last:
                raise InputError(
                    f"{held.constraint} is held, but these settings keep that frame as it is; release it first"
                )
        self._commit_state(replace(self._state, settings=wanted))

    @synchronized
    def undo(self) -> bool:
        """Take back the last change; False when there is none."""
        return self._move_in_history(self._undo_stack, self._redo_stack)

    @synchronized
    def redo(self) -> bool:
        """Do again what was undone last; False when there is none."""
        return self._move_in_history(self._redo_stack, self._undo_stack)

    @synchronized
    def restore(self, state: EditState) -> None:
        """Have everything as it was when `state` was read; not a step of undo."""
        self._state = state
        self._constraint_system.synchronise(state)

    @synchronized
    def replace_constraints(self, constraints: Sequence[VertexConstraint], linear_targets: Sequence[Array]) -> None:
        """Hold all this instead, as another editor of the same input did, with the linear targets that it found."""
        self._require_no_drag()
        for hold in constraints:
            self._check_keys(hold.vertex, hold.frame, hold.other_vertex if hold.other_vertex >= 0 else None)
        with limit_blas_threads():
            linearised = [
                LinearisedConstraint(hold, self._build_constraint_rows(hold), np.array(x))
                for hold, x in zip(constraints, linear_targets)
            ]
        self._commit_state(EditState({each.constraint.key: each for each in linearised}, self._state.settings))

    # --- what comes of it

    def baked(self, *, progress: ProgressCallback | None = None) -> Editor:
        """An editor of the edited motion: what was dragged is input now, and rotations start from it."""
        with self.lock:
            state, z = self._state, self._compute_reduced_coordinates()
        animation = self._build_animation(state, z, progress)
        return Editor(self.model.with_animation(animation), state.settings, self.options, self._clustered_contacts)

    def positions(self, frame: int) -> Array:
        """Where all vertices are in `frame` (n, 3) [m]; of a frame that does not change, the input bit for bit."""
        frame = checks.require_integer(frame, "frame", minimum=0, maximum=self.input.frames - 1)
        with limit_blas_threads():
            with self.lock:
                first, last = self.editable_frames
                linear_displacement = (
                    self._compute_linear_displacement(frame)
                    if self._state.constraints and first <= frame <= last
                    else None
                )
            return (
                self.model.get_input_positions(frame).copy()
                if linear_displacement is None
                else self.model.compute_positions(frame, linear_displacement)
            )

    def animation(self, *, progress: ProgressCallback | None = None) -> Animation:
        """The edited motion, with the skin and the contacts of the input."""
        with self.lock:
            state, z = self._state, self._compute_reduced_coordinates()
        return self._build_animation(state, z, progress)

    @synchronized
    def compute_reduced_coordinates(self) -> Array:
        """z (T, r), the linear change of all frames in modes."""
        return self._constraint_system.linear_constraints.solve_all_frames(
            self._constraint_system.linear_constraints.solve_multipliers()
        )

    @synchronized
    def gentleness(self) -> Array:
        """(frames,) what the change adds to the forces, as a share of the body's weight, |w| / (√m g)."""
        if not self._state.constraints:
            return np.zeros(self.input.frames)
        with limit_blas_threads():
            w = self._constraint_system.spacetime.compute_added_forces(self.compute_reduced_coordinates())
        return np.linalg.norm(w, axis=1) / self.model.modal_body_weight

    @synchronized
    def compute_temporal_influence(self, vertex: int, frame: int) -> Array:
        """(frames,) how far a vertex follows in every frame when it is dragged in one, as a share of the drag.

        Of the linear change of that one drag alone, averaged over directions: how wide an edit is in time.
        """
        ((vertex, frame, *_),) = self._check_keys(vertex, frame, None)
        squares = (self.model.compute_constraint_rows(vertex) ** 2).sum(axis=0)
        follows = self._constraint_system.spacetime.compute_response(frame) @ squares
        return np.asarray(follows / follows[frame])

    @synchronized
    def measure_target_errors(self) -> dict[ConstraintKey, TargetError]:
        """Error of every constraint; fast, unlike `report`, which also computes all frames."""
        constraints = [held.constraint for held in self._state.constraints.values()]
        if not constraints:
            return {}
        linear_constraints = self._constraint_system.linear_constraints
        with limit_blas_threads():
            residuals = compute_residuals(
                self.model, linear_constraints, linear_constraints.solve_multipliers(), constraints
            )
        errors = measure_target_errors(residuals, compute_drag_distances(self.model, constraints), self.model.size)
        return {hold.key: error for hold, error in zip(constraints, errors)}

    @property
    def contact_count(self) -> int:
        """Number of contacts that the edit keeps."""
        return 0 if self.model.contacts is None else len(self.model.contacts)

    @property
    def report(self) -> EditReport:
        """How well everything held is where it belongs, after all that acts on it.

        The first time after a change every frame is computed, as `animation` does, to measure how far vertices move.
        """
        with self.lock:
            state, z, target_errors, force = (
                self._state,
                self._compute_reduced_coordinates(),
                self.measure_target_errors(),
                self.gentleness(),
            )
            modes, redundant = self._constraint_system.spacetime.mode_count, self._constraint_system.find_redundant()
        ways = (
            max(
                held.constraint.peak_distance,
                float(
                    np.linalg.norm(
                        held.constraint.directions @ compute_requested_displacement(self.model, held.constraint)
                    )
                ),
            )
            for held in state.constraints.values()
        )
        farthest = max(ways, default=0.0) / self.model.size
        max_displacement = self._measure_max_displacement(state, z)
        return EditReport(
            target_errors, max_displacement, modes, redundant, self.contact_count, force, farthest, self.notes
        )

    # --- for the hand

    @synchronized
    def apply_drag(self, constraints: Sequence[VertexConstraint], linear_targets: Array) -> None:
        """The hand moved its holds, by these linear targets of their rows."""
        start, moved = 0, list[LinearisedConstraint]()
        for hold in constraints:
            was = self._state.constraints[hold.key]
            moved.append(
                LinearisedConstraint(hold, was.rows, linear_targets[start : start + len(was.linear_targets)].copy())
            )
            start += len(was.linear_targets)
        self._state = self._state.with_constraints(*moved)
        self._constraint_system.synchronise(self._state)

    @synchronized
    def commit_drag(self, keys: Sequence[ConstraintKey], result: DragResult | None) -> float:
        """The hand lets go of its holds; the largest miss of all as a share of what its hold asked for."""
        self._active_drag = None
        self._redo_stack.clear()
        # what cannot be reached must not drag along what can
        return self._solve_constraints(keys if result is not None and not result.reached else ())

    @synchronized
    def cancel_drag(self) -> None:
        """The hand lets go, and everything is as it was before."""
        self._active_drag = None
        self.restore(self._undo_stack.pop())

    # --- inner workings

    def _compute_reduced_coordinates(self) -> Array | None:
        """z (T, r) of all frames, None when nothing is held and so nothing changes."""
        return self.compute_reduced_coordinates() if self._state.constraints else None

    def _build_animation(self, state: EditState, z: Array | None, progress: ProgressCallback | None) -> Animation:
        """The edited motion of a state; what is computed here needs no lock."""
        out, farthest = np.array(self.input.positions), 0.0
        for frame, positions in self._iterate_edited_frames(state, z, progress):
            farthest = max(farthest, self._measure_frame_displacement(frame, positions))
            out[frame] = positions
        self._max_displacement_cache = state, farthest / self.model.size
        return replace(self.input, positions=out, velocities=None)

    def _measure_max_displacement(self, state: EditState, z: Array | None) -> float:
        """The largest displacement of any vertex in any frame by the edit, in body sizes; measured once for a state."""
        known = self._max_displacement_cache
        if known is None or known[0] is not state:
            moves = (
                self._measure_frame_displacement(frame, positions)
                for frame, positions in self._iterate_edited_frames(state, z, None)
            )
            known = self._max_displacement_cache = state, max(moves, default=0.0) / self.model.size
        return known[1]

    def _measure_frame_displacement(self, frame: int, positions: Array) -> float:
        """[m] how far the farthest vertex of a frame is from where the input has it."""
        return float(np.linalg.norm(positions - self.model.get_input_positions(frame), axis=1).max(initial=0.0))

    def _iterate_edited_frames(
        self, state: EditState, z: Array | None, progress: ProgressCallback | None
    ) -> Iterator[tuple[int, Array]]:
        """The frames that may change, and where all vertices (n, 3) [m] are in them with linear changes z (T, r)."""
        if z is None:
            return
        first, last = find_editable_frames(state.settings, self.input.frames)
        for start in range(first, last + 1, FRAMES_PER_BLOCK):
            block = range(start, min(start + FRAMES_PER_BLOCK, last + 1))
            with limit_blas_threads():
                changes = self.model.compute_linear_displacements(np.ascontiguousarray(z[block].T))
            for frame, change in zip(block, changes):
                with limit_blas_threads():
                    positions = self.model.compute_positions(frame, change)
                yield frame, positions
                report_progress(progress, (frame + 1 - first) / (last + 1 - first), f"frame {frame} of {last}")

    def _check_keys(self, vertex: int | Sequence[int], frame: int, other: int | None) -> list[ConstraintKey]:
        listed = [vertex] if checks.count_axes(vertex) == 0 else vertex
        skin = self.input.skin
        name = "vertex" if skin is None or skin.embedding is None else f"vertex (of {self.input.n} under the skin)"
        vertices = checks.require_index_array(listed, name, (None,), self.input.n).tolist()
        if not vertices or len(set(vertices)) < len(vertices):
            raise InputError("vertex names none, or one of them twice; name each vertex to drag once")
        frame = checks.require_integer(frame, "frame", minimum=0, maximum=self.input.frames - 1)
        apart = -1 if other is None else int(checks.require_index_array([other], "other", (1,), self.input.n)[0])
        first, last = self.editable_frames
        if not first <= frame <= last:
            why = "" if self.settings.ends == "free" else " (more with ends='free', or another window)"
            raise InputError(f"frame {frame} stays as it is; frames {first}..{last} can be edited{why}")
        for each in vertices:
            if each == apart:
                raise InputError(f"vertex {each} cannot be tied to itself")
            if not self.model.compute_constraint_rows(each, apart).any():
                raise InputError(f"vertex {each} is held by the body and cannot be dragged; drag another, or free it")
        return [(each, frame) if other is None else (each, frame, apart) for each in vertices]

    def _constrain_in_place(self, key: ConstraintKey, directions: Array) -> LinearisedConstraint:
        """What keeps a vertex where it is now, in its motion and in the linear change."""
        there, other = self.positions(key[1]), key[2] if len(key) == 3 else -1
        constraint = VertexConstraint(
            key[0], key[1], there[key[0]] - (there[other] if other >= 0 else 0.0), directions, other
        )
        previous = self._state.constraints.get(key)
        if previous is not None and np.array_equal(previous.constraint.directions, directions):
            return replace(
                previous, constraint=constraint.moved_to(constraint.target, previous.constraint.peak_distance)
            )
        rows = self._build_constraint_rows(constraint)
        return LinearisedConstraint(
            constraint, rows, rows @ self._constraint_system.compute_reduced_coordinates(constraint.frame)
        )

    def _build_constraint_rows(self, constraint: VertexConstraint) -> Array:
        """Rows (k, r) that move a hold along its directions: linear and warped ones differ by how the frame is bent."""
        rows = self.model.compute_constraint_rows(constraint.vertex, constraint.other_vertex)
        if constraint.has_all_directions:
            return rows
        alone = LinearConstraints(self._constraint_system.spacetime)
        alone.add(constraint.frame, rows, np.zeros(3))
        solver = FrameConstraintSolver(self.model, alone, [replace(constraint, directions=np.eye(3))], np.arange(3))
        moves = (
            constraint.directions
            @ np.linalg.solve(
                alone.get_unwhitening_block(np.arange(3)).T, solver.compute_difference_jacobian(solver.unknowns).T
            ).T
        )
        return np.asarray((moves / np.linalg.norm(moves, axis=1, keepdims=True)) @ rows)

    def _compute_linear_displacement(self, frame: int) -> Array:
        """The linear change (n, 3) of a frame."""
        if self._active_drag is not None and self._active_drag.frame == frame:
            return self._active_drag.compute_linear_displacement()
        return self._constraint_system.compute_linear_displacement(frame)

    def _compute_max_relative_error(self) -> float:
        return max((error.relative for error in self.measure_target_errors().values()), default=0.0)

    def _solve_constraints(self, excluded: Sequence[ConstraintKey] = ()) -> float:
        """Make all held vertices land, but those that stay apart; the largest miss as a share of what was asked for."""
        relative_error, keys = (
            self._compute_max_relative_error(),
            [key for key in self._state.constraints if key not in excluded],
        )
        if DragResult(relative_error, ()).reached or not keys:
            return relative_error
        constraints, row_indices = (
            [self._state.constraints[key].constraint for key in keys],
            [self._constraint_system.get_row_indices(key) for key in keys],
        )
        with limit_blas_threads():
            targets = solve_all_constraints(
                self.model, self._constraint_system.linear_constraints, constraints, row_indices
            )
        all_rows = np.concatenate([self._constraint_system.get_row_indices(key) for key in self._state.constraints])
        self.apply_drag([held.constraint for held in self._state.constraints.values()], targets[all_rows])
        return self._compute_max_relative_error()

    def _commit_state(self, state: EditState) -> None:
        before = self._state
        try:
            self.restore(state)
            self._solve_constraints()
        except BaseException:
            self.restore(before)
            raise
        self._undo_stack.append(before)
        self._redo_stack.clear()

    def _move_in_history(self, source: list[EditState], destination: list[EditState]) -> bool:
        self._require_no_drag()
        if not source:
            return False
        destination.append(self._state)
        self.restore(source.pop())
        return True

    def _require_no_drag(self) -> None:
        if self._active_drag is not None:
            raise InputError("a hand still holds vertices; commit it, or cancel it, first")
