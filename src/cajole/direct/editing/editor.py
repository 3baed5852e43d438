"""`Editor`: drag any vertex of any frame of a finished animation; the whole motion follows.

The path of a change: constraints → `ConstraintSystem` (linear rows and targets) → `FrameConstraintSolver` or
`solve_all_constraints` (linear targets whose warped positions meet the constraints) → `EditModel` (warp) → positions.
"""

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
from cajole.body.body_weights import compute_modal_body_weights
from cajole.direct.editing.constraint_solver import (
    FrameConstraintSolver,
    compute_drag_distances,
    compute_residuals,
    solve_all_constraints,
)
from cajole.direct.editing.constraint_system import ConstraintSystem, EditState, LinearisedConstraint
from cajole.direct.editing.constraints import (
    ConstraintKey,
    OffsetKey,
    PointKey,
    VertexConstraint,
    build_constraint,
    orthonormalise_directions,
)
from cajole.direct.editing.edit_model import EditModel
from cajole.direct.editing.linear_constraints import LinearConstraints
from cajole.direct.editing.reach import DragResult, TargetError, is_target_reached, measure_target_errors
from cajole.direct.editing.report import EditOptions, EditReport
from cajole.direct.editing.spacetime import EditSettings, find_editable_frames
from cajole.errors import InputError
from cajole.linalg.threads import limit_blas_threads
from cajole.locking import synchronized
from cajole.progress import ProgressCallback, report_progress

# Longer drags [body sizes] are rejected as mistakes of units.
MAX_DRAG_DISTANCE = 10.0
# Frames whose linear displacements are computed together: enough for BLAS-3, little memory.
FRAMES_PER_BLOCK = 16


class Editor:
    """A finished animation under edit; see `edit`.

    Several threads may use it. Changes take turns, and every result belongs to one state between two of them. While a
    drag session is active, other changes raise InputError.
    """

    def __init__(
        self, model: EditModel, settings: EditSettings, options: EditOptions, clustered_contacts: Contacts | None = None
    ):
        self.model, self.options, self._clustered_contacts = model, options, clustered_contacts
        self._state, self._undo_stack, self._redo_stack = EditState({}, settings), list[EditState](), list[EditState]()
        # solver of the active drag session
        self._drag_solver: FrameConstraintSolver | None = None
        # remarks on how the editor was opened
        self.notes: tuple[str, ...] = ()
        # shared with the drag session, which calls the editor
        self.lock = threading.RLock()
        # the largest displacement, in body sizes, and the state it was measured for
        self._max_displacement_cache: tuple[EditState, float] | None = None
        with limit_blas_threads():
            self._constraint_system = ConstraintSystem(model, settings, clustered_contacts)

    def __repr__(self) -> str:
        (first, last), modes = self.editable_frames, len(self.model.eigenvalues)
        constraints = len(self._state.constraints)
        return f"Editor({self.input.name!r}, {constraints} constraints, frames {first}..{last}, {modes} modes)"

    @property
    def input(self) -> Animation:
        """The animation as it was before the edit."""
        return self.model.animation

    @property
    def constraints(self) -> dict[ConstraintKey, Array]:
        """(vertex, frame) -> position (3,) [m], (vertex, frame, other) -> offset, in the order they were added."""
        return {key: each.constraint.target.copy() for key, each in self._state.constraints.items()}

    @property
    def settings(self) -> EditSettings:
        """Current h, damping, ends, energy, smoothness and window."""
        return self._state.settings

    @property
    def state(self) -> EditState:
        """Constraints and settings; `restore` returns to them."""
        return self._state

    @property
    @synchronized
    def editable_frames(self) -> tuple[int, int]:
        """The first and the last frame that can be edited."""
        return self._constraint_system.spacetime.first_frame, self._constraint_system.spacetime.last_frame

    # --- constraints

    @synchronized
    def drag(
        self, vertex: int | Sequence[int], frame: int, position: ArrayLike, *, directions: str | ArrayLike | None = None
    ) -> DragResult:
        """Put a vertex at `position` (3,) [m] in `frame`, or several (k, 3) at once; call again to move them.

        directions: the constrained coordinates, some of "xyz" or (k, 3) vectors; the others are free.
        Raises InputError for a fixed vertex, a frame that cannot change, and indices out of range.
        """
        with self.grab(vertex, frame, directions=directions) as session:
            session.move(position)
        return session.result

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
        """Hold a vertex at an `offset` (3,) [m] from another in `frame`; at the present offset when None."""
        with self.grab(vertex, frame, directions=directions, other=other) as session:
            if offset is not None:
                session.move(offset)
        return session.result

    @synchronized
    def pin(self, vertex: int | Sequence[int], frame: int, *, directions: str | ArrayLike | None = None) -> DragResult:
        """Hold vertices at their present positions."""
        with self.grab(vertex, frame, directions=directions) as session:
            pass
        return session.result

    @synchronized
    def grab(
        self,
        vertex: int | Sequence[int],
        frame: int,
        *,
        directions: str | ArrayLike | None = None,
        other: int | None = None,
    ) -> DragSession:
        """Start a drag of one or more vertices of a frame: many small moves that are one step of undo.

        Nothing moves yet. `session.move(position)` moves the vertices; `session.commit()`, or the end of a with-block,
        makes all other constraints hold again. other: the vertex that their targets are relative to.
        """
        self._require_no_drag()
        keys = self._check_keys(vertex, frame, other)
        orthonormal_directions = orthonormalise_directions(directions)
        before = self._state
        try:
            with limit_blas_threads():
                linearised = [self._constrain_in_place(key, orthonormal_directions) for key in keys]
                self._state = before.with_constraints(linearised, last=True)
                self._constraint_system.synchronise(self._state)
                self._drag_solver = FrameConstraintSolver(
                    self.model,
                    self._constraint_system.linear_constraints,
                    [each.constraint for each in linearised],
                    np.concatenate([self._constraint_system.get_row_indices(key) for key in keys]),
                )
        except BaseException:
            self.restore(before)
            raise
        self._undo_stack.append(before)
        return DragSession(self, self._drag_solver)

    @synchronized
    def release(self, vertex: int, frame: int, other: int | None = None) -> None:
        """Remove the constraint of a vertex, or the one that ties it to another. Raises InputError if there is none."""
        self._require_no_drag()
        parts = (vertex, frame) if other is None else (vertex, frame, other)
        given = tuple(checks.require_integer(part, "vertex, frame or other", minimum=0) for part in parts)
        key = PointKey(*given) if other is None else OffsetKey(*given)
        if key not in self._state.constraints:
            raise InputError(f"vertex {vertex} at frame {frame} was not dragged, so it cannot be released")
        self._commit_state(self._state.without_constraint(key))

    @synchronized
    def tune(self, /, **settings: Any) -> None:
        """Change h, damping, ends, energy, smoothness or window, as in `edit`; constraints keep their targets.

        Raises InputError for unknown settings, and for settings that leave a frame with a constraint unchanged.
        """
        self._require_no_drag()
        for name in settings:
            checks.require_choice(name, "a setting", tuple(field.name for field in fields(EditSettings)))
        wanted = replace(self._state.settings, **settings)
        first, last = find_editable_frames(wanted, self.input.frames)
        for each in self._state.constraints.values():
            if not first <= each.constraint.frame <= last:
                raise InputError(
                    f"{each.constraint} is constrained, but these settings keep that frame unchanged; release it first"
                )
        self._commit_state(replace(self._state, settings=wanted))

    @synchronized
    def undo(self) -> bool:
        """Take back the last change; False when there is none."""
        return self._move_in_history(self._undo_stack, self._redo_stack)

    @synchronized
    def redo(self) -> bool:
        """Repeat the change that was undone last; False when there is none."""
        return self._move_in_history(self._redo_stack, self._undo_stack)

    @synchronized
    def restore(self, state: EditState) -> None:
        """Return to a state; not a step of undo."""
        self._state = state
        self._constraint_system.synchronise(state)

    @synchronized
    def replace_constraints(self, constraints: Sequence[VertexConstraint], linear_targets: Sequence[Array]) -> None:
        """Replace all constraints by those of another editor of the same input, with the linear targets it found."""
        self._require_no_drag()
        for constraint in constraints:
            self._check_keys(*constraint.key)
        with limit_blas_threads():
            linearised = [
                LinearisedConstraint(constraint, self._build_constraint_rows(constraint), np.array(targets))
                for constraint, targets in zip(constraints, linear_targets)
            ]
        self._commit_state(EditState({each.constraint.key: each for each in linearised}, self._state.settings))

    # --- results

    def baked(self, *, progress: ProgressCallback | None = None) -> Editor:
        """An editor of the edited motion: its constraints become input, and rotations are relative to it."""
        with self.lock:
            state, z = self._state, self._compute_reduced_coordinates()
        animation = self._build_animation(state, z, progress)
        return Editor(self.model.with_animation(animation), state.settings, self.options, self._clustered_contacts)

    def positions(self, frame: int) -> Array:
        """Positions (n, 3) [m] of all vertices in `frame`; the bits of the input where the frame does not change."""
        frame = checks.require_integer(frame, "frame", minimum=0, maximum=self.input.frames - 1)
        with limit_blas_threads():
            with self.lock:
                first, last = self.editable_frames
                if not self._state.constraints or not first <= frame <= last:
                    return self.model.get_input_positions(frame).copy()
                if self._drag_solver is not None and self._drag_solver.frame == frame:
                    displacement = self._drag_solver.compute_linear_displacement()
                else:
                    z = self._constraint_system.compute_reduced_coordinates(frame)
                    displacement = self.model.compute_linear_displacements(z[:, None])[0]
            return self.model.compute_positions(frame, displacement)

    def animation(self, *, progress: ProgressCallback | None = None) -> Animation:
        """The edited motion, with the skin and the contacts of the input."""
        with self.lock:
            state, z = self._state, self._compute_reduced_coordinates()
        return self._build_animation(state, z, progress)

    @synchronized
    def compute_reduced_coordinates(self) -> Array:
        """z (T, r), modal coordinates of the linear displacement of all frames."""
        linear_constraints = self._constraint_system.linear_constraints
        return linear_constraints.solve_all_frames(linear_constraints.solve_multipliers())

    @synchronized
    def gentleness(self) -> Array:
        """(frames,) added force in body weights."""
        if not self._state.constraints:
            return np.zeros(self.input.frames)
        with limit_blas_threads():
            forces = self._constraint_system.spacetime.compute_added_forces(self.compute_reduced_coordinates())
        return compute_modal_body_weights(forces, self.model.mass)

    @synchronized
    def compute_temporal_influence(self, vertex: int, frame: int) -> Array:
        """(frames,) displacement of a vertex in every frame as a fraction of a drag of it in one frame.

        Mean over directions of the linear response to that drag alone: the width of an edit in time.
        """
        (key,) = self._check_keys(vertex, frame)
        squares = (self.model.compute_constraint_rows(key.vertex) ** 2).sum(axis=0)
        response = self._constraint_system.spacetime.compute_response(key.frame) @ squares
        return np.asarray(response / response[key.frame])

    @synchronized
    def measure_target_errors(self) -> dict[ConstraintKey, TargetError]:
        """Error of every constraint; fast, unlike `report`, which also computes all frames."""
        constraints = self._list_constraints()
        if not constraints:
            return {}
        linear_constraints = self._constraint_system.linear_constraints
        with limit_blas_threads():
            residuals = compute_residuals(
                self.model, linear_constraints, linear_constraints.solve_multipliers(), constraints
            )
        errors = measure_target_errors(residuals, compute_drag_distances(self.model, constraints), self.model.size)
        return {constraint.key: error for constraint, error in zip(constraints, errors)}

    @property
    def contact_count(self) -> int:
        """Number of contacts that the edit preserves."""
        return 0 if self.model.contacts is None else len(self.model.contacts)

    @property
    def report(self) -> EditReport:
        """Errors of all targets, size of the edit and added force.

        The first call after a change computes every frame, as `animation` does, to measure the largest displacement.
        """
        with self.lock:
            state, z, errors = self._state, self._compute_reduced_coordinates(), self.measure_target_errors()
            gentleness, redundant = self.gentleness(), self._constraint_system.find_redundant()
            drags = [self._measure_drag(each.constraint) for each in state.constraints.values()]
        measured = self._max_displacement_cache
        if measured is None or measured[0] is not state:
            frames = self._iterate_edited_frames(state, z, None)
            largest = max((self._measure_frame_displacement(*frame) for frame in frames), default=0.0)
            measured = self._max_displacement_cache = state, largest / self.model.size
        return EditReport(
            targets=errors,
            max_displacement=measured[1],
            modes=len(self.model.eigenvalues),
            redundant=redundant,
            contacts=self.contact_count,
            gentleness=gentleness,
            requested_displacement=max(drags, default=0.0) / self.model.size,
            notes=self.notes,
        )

    # --- called by the drag session

    def _move_drag(self, targets: Array, *, approximate: bool) -> DragResult:
        """Move the dragged vertices to targets (k, 3) [m]."""
        solver = self._require_drag()
        moved = [self._move_constraint(each, target) for each, target in zip(solver.constraints, targets)]
        with limit_blas_threads():
            result = solver.solve(moved, approximate=approximate)
            distances = compute_drag_distances(self.model, moved)
        self._set_linear_targets(moved, solver.linear_targets)
        ends = np.cumsum([len(constraint.directions) for constraint in moved])
        errors = measure_target_errors(np.split(result.residual, ends[:-1]), distances, self.model.size)
        longest = float(distances.max())
        return DragResult(
            max(error.relative for error in errors), tuple(largest / longest for largest in result.residual_history)
        )

    def _commit_drag(self, *, include_dragged: bool) -> float:
        """End the drag and solve for all constraints; returns the largest error as a fraction of its drag.

        include_dragged: False if the dragged vertices cannot reach their targets, so that they do not pull the others
        away from theirs.
        """
        dragged = () if include_dragged else tuple(each.key for each in self._require_drag().constraints)
        self._drag_solver = None
        self._redo_stack.clear()
        return self._solve_constraints(dragged)

    def _cancel_drag(self) -> None:
        self._drag_solver = None
        self.restore(self._undo_stack.pop())

    # --- inner workings

    def _list_constraints(self) -> list[VertexConstraint]:
        return [each.constraint for each in self._state.constraints.values()]

    def _compute_reduced_coordinates(self) -> Array | None:
        """z (T, r) of all frames; None without constraints."""
        return self.compute_reduced_coordinates() if self._state.constraints else None

    def _build_animation(self, state: EditState, z: Array | None, progress: ProgressCallback | None) -> Animation:
        """The edited motion of a state, which needs no lock."""
        out, largest = np.array(self.input.positions), 0.0
        for frame, positions in self._iterate_edited_frames(state, z, progress):
            largest = max(largest, self._measure_frame_displacement(frame, positions))
            out[frame] = positions
        self._max_displacement_cache = state, largest / self.model.size
        return replace(self.input, positions=out, velocities=None)

    def _measure_drag(self, constraint: VertexConstraint) -> float:
        """[m] largest distance from the input that the constraint asked for."""
        requested = constraint.directions @ self.model.compute_requested_displacement(constraint)
        return max(constraint.drag_distance, float(np.linalg.norm(requested)))

    def _measure_frame_displacement(self, frame: int, positions: Array) -> float:
        """[m] largest displacement of a vertex of a frame from the input."""
        return float(np.linalg.norm(positions - self.model.get_input_positions(frame), axis=1).max(initial=0.0))

    def _iterate_edited_frames(
        self, state: EditState, z: Array | None, progress: ProgressCallback | None
    ) -> Iterator[tuple[int, Array]]:
        """Frames that may change, with the positions (n, 3) [m] that modal coordinates z (T, r) give them."""
        if z is None:
            return
        first, last = find_editable_frames(state.settings, self.input.frames)
        for start in range(first, last + 1, FRAMES_PER_BLOCK):
            block = range(start, min(start + FRAMES_PER_BLOCK, last + 1))
            with limit_blas_threads():
                displacements = self.model.compute_linear_displacements(np.ascontiguousarray(z[block].T))
            for frame, displacement in zip(block, displacements):
                with limit_blas_threads():
                    positions = self.model.compute_positions(frame, displacement)
                yield frame, positions
                report_progress(progress, (frame + 1 - first) / (last + 1 - first), f"frame {frame} of {last}")

    def _check_keys(self, vertex: int | Sequence[int], frame: int, other: int | None = None) -> list[ConstraintKey]:
        listed = [vertex] if checks.count_axes(vertex) == 0 else vertex
        skin = self.input.skin
        name = "vertex" if skin is None or skin.embedding is None else f"vertex (of {self.input.n} under the skin)"
        vertices = checks.require_index_array(listed, name, (None,), self.input.n).tolist()
        if not vertices or len(set(vertices)) < len(vertices):
            raise InputError("vertex is empty or contains duplicates; name each vertex to drag once")
        frame = checks.require_integer(frame, "frame", minimum=0, maximum=self.input.frames - 1)
        apart = -1 if other is None else int(checks.require_index_array([other], "other", (1,), self.input.n)[0])
        first, last = self.editable_frames
        if not first <= frame <= last:
            remedy = "" if self.settings.ends == "free" else " (more with ends='free', or another window)"
            raise InputError(f"frame {frame} stays as it is; frames {first}..{last} can be edited{remedy}")
        for each in vertices:
            if each == apart:
                raise InputError(f"vertex {each} cannot be tied to itself")
            if not self.model.compute_constraint_rows(each, apart).any():
                raise InputError(f"vertex {each} is fixed by the body and cannot be dragged; drag another, or free it")
        return [PointKey(each, frame) if other is None else OffsetKey(each, frame, apart) for each in vertices]

    def _constrain_in_place(self, key: ConstraintKey, directions: Array) -> LinearisedConstraint:
        """A constraint that keeps the present position and the present linear displacement of its vertex."""
        positions = self.positions(key.frame)
        constraint = build_constraint(key, np.zeros(3), directions)
        target = constraint.combine(positions[list(constraint.vertices)])
        previous = self._state.constraints.get(key)
        if previous is not None and np.array_equal(previous.constraint.directions, directions):
            return replace(previous, constraint=replace(previous.constraint, target=target))
        constraint = replace(constraint, target=target)
        rows = self._build_constraint_rows(constraint)
        return LinearisedConstraint(
            constraint, rows, rows @ self._constraint_system.compute_reduced_coordinates(key.frame)
        )

    def _build_constraint_rows(self, constraint: VertexConstraint) -> Array:
        """Rows (k, r) that move x along the directions of the constraint.

        Those of a partial constraint follow from the Jacobian of the warp: where the frame is bent, linear and warped
        directions differ.
        """
        rows = self.model.compute_constraint_rows(*constraint.vertices)
        if not constraint.is_partial:
            return rows
        alone = LinearConstraints(self._constraint_system.spacetime)
        alone.add(constraint.frame, rows, np.zeros(3))
        in_all_directions = replace(constraint, directions=np.eye(3))
        solver = FrameConstraintSolver(self.model, alone, [in_all_directions], np.arange(3))
        gradients = constraint.directions @ solver.compute_row_jacobian()
        return np.asarray((gradients / np.linalg.norm(gradients, axis=1, keepdims=True)) @ rows)

    def _move_constraint(self, constraint: VertexConstraint, target: Array) -> VertexConstraint:
        moved = replace(constraint, target=target)
        requested = moved.directions @ self.model.compute_requested_displacement(moved)
        distance = np.abs(requested).max()
        if distance > MAX_DRAG_DISTANCE * self.model.size:
            raise InputError(
                f"position is {distance:.3g} m from where the vertex is, more than {MAX_DRAG_DISTANCE:g} times the "
                "size of the body; check its units"
            )
        return constraint.moved_to(target, float(np.linalg.norm(requested)))

    def _set_linear_targets(self, constraints: Sequence[VertexConstraint], linear_targets: Array) -> None:
        """Give constraints, in this order, new targets and linear targets (rows of all of them,)."""
        start, moved = 0, list[LinearisedConstraint]()
        for constraint in constraints:
            previous = self._state.constraints[constraint.key]
            stop = start + len(previous.linear_targets)
            moved.append(LinearisedConstraint(constraint, previous.rows, linear_targets[start:stop].copy()))
            start = stop
        self.restore(self._state.with_constraints(moved))

    def _compute_max_relative_error(self) -> float:
        return max((error.relative for error in self.measure_target_errors().values()), default=0.0)

    def _solve_constraints(self, excluded: Sequence[ConstraintKey] = ()) -> float:
        """Solve for all constraints but the excluded ones; returns the largest error as a fraction of its drag."""
        relative_error = self._compute_max_relative_error()
        keys = [key for key in self._state.constraints if key not in excluded]
        if is_target_reached(relative_error) or not keys:
            return relative_error
        system = self._constraint_system
        with limit_blas_threads():
            targets = solve_all_constraints(
                self.model,
                system.linear_constraints,
                [self._state.constraints[key].constraint for key in keys],
                [system.get_row_indices(key) for key in keys],
            )
        all_rows = np.concatenate([system.get_row_indices(key) for key in self._state.constraints])
        self._set_linear_targets(self._list_constraints(), targets[all_rows])
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
        if self._drag_solver is not None:
            raise InputError("a drag is still active; commit it, or cancel it, first")

    def _require_drag(self) -> FrameConstraintSolver:
        if self._drag_solver is None:
            raise InputError("no drag is active; grab a vertex first")
        return self._drag_solver


class DragSession:
    """An active drag, from `Editor.grab`: `move` any number of times, then `commit`, or `cancel`.

    As a context manager it commits at the end of the block, or cancels after an exception. Threads may share it: its
    methods take turns with each other and with those of the editor.
    """

    def __init__(self, editor: Editor, solver: FrameConstraintSolver):
        self.lock = editor.lock
        self._editor, self._solver = editor, solver
        self._result: DragResult | None = None
        self._is_approximate = False
        self.is_active = True

    @property
    def frame(self) -> int:
        return self._solver.frame

    @property
    def result(self) -> DragResult:
        """Result of the last move, or of the commit."""
        if self._result is None:
            raise InputError("nothing was moved yet; move or commit first")
        return self._result

    @synchronized
    def move(self, position: ArrayLike, *, approximate: bool = False) -> DragResult:
        """Move the vertices to `position` (3,) [m], or (k, 3) for k of them; for a tie it is the offset.

        approximate: take bounded time, as mouse input needs: later moves or the commit reduce the error that is left.
        """
        self._require_active()
        count = len(self._solver.constraints)
        shape = (3,) if count == 1 and checks.count_axes(position) < 2 else (count, 3)
        targets = checks.require_real_array(position, "position (m)", shape).reshape(-1, 3)
        self._result = self._editor._move_drag(targets, approximate=approximate)
        self._is_approximate = approximate
        return self._result

    @synchronized
    def positions(self) -> Array:
        """(n, 3) [m] present positions of all vertices of the frame."""
        return self._editor.positions(self.frame)

    @synchronized
    def commit(self) -> DragResult:
        """End the drag: make all other constraints hold again, and record one step of undo."""
        self._require_active()
        if self._is_approximate and self._result is not None and not self._result.reached:
            self.move(np.stack([constraint.target for constraint in self._solver.constraints]))
        self.is_active = False
        before = DragResult(0.0, ()) if self._result is None else self._result
        self._result = DragResult(self._editor._commit_drag(include_dragged=before.reached), before.error_history)
        return self._result

    @synchronized
    def cancel(self) -> None:
        """End the drag and return to the state before it."""
        self._require_active()
        self.is_active = False
        self._editor._cancel_drag()

    def __enter__(self) -> DragSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_active and kind is None:
            self.commit()
        elif self.is_active:
            self.cancel()

    def _require_active(self) -> None:
        if not self.is_active:
            raise InputError("the drag has ended; grab again")
