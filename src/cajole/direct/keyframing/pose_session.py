"""`PoseSession`: pose a body for a key, one load or pin at a time (§4.1, Barbič 2009)."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.dynamics.statics import StaticSolver, warn_about_inversion
from cajole.errors import InputError, LoadError
from cajole.locking import synchronized
from cajole.progress import ProgressCallback


@dataclass(frozen=True, eq=False)
class Load:
    """Forces (k, 3) [N] on vertices (k,), identified by load_id in its session.

    A frozen load can no longer be changed; a muted one has no effect.
    """

    load_id: int
    vertices: IndexArray
    forces: Array
    frozen: bool = False
    muted: bool = False


@dataclass(frozen=True, eq=False)
class PoseSnapshot:
    """Everything that an operation can change: loads, pins {vertex: position (3,)}, the pose (n, 3) [m] in equilibrium
    with them, and the weight of the vertices (n, 3) [N], None without gravity."""

    loads: tuple[Load, ...]
    pins: dict[int, Array]
    displacement: Array
    gravity_force: Array | None = None


class LoadDrag:
    """An active drag of a load, from `PoseSession.grab`: `move` any number of times, then `commit`, or `cancel`.

    Moves solve for the pose approximately, in bounded time; `commit` ends in full equilibrium. Threads may share it:
    its methods take turns with each other and with those of the session.
    """

    def __init__(self, session: PoseSession, requested: PoseSnapshot, before: PoseSnapshot):
        self.lock = session.lock
        self._session, self._requested, self._before = session, requested, before
        self._has_moved = False
        self.is_active = True

    @property
    def load(self) -> Load:
        """The load as it was moved last."""
        return self._requested.loads[-1]

    @synchronized
    def move(self, force: ArrayLike) -> None:
        """Set the force (3,) [N], shared equally, or (k, 3), one for each vertex.

        Raises LoadError or NotConverged if it is too large; pose and force then stay as they were.
        """
        self._require_active()
        self._solve_load(replace(self.load, forces=distribute_force(force, len(self.load.vertices))), approximate=True)
        self._has_moved = True

    @synchronized
    def refine(self) -> float:
        """Continue towards the equilibrium of the last move.

        Returns the largest displacement of this call, in body sizes, which falls to zero.
        """
        self._require_active()
        before = self._session.snapshot.displacement
        if self._has_moved:
            self._solve_load(self.load, approximate=True)
        away = self._session.snapshot.displacement - before
        return float(np.sqrt((away**2).sum(axis=1).max())) / self._session.body.size

    @synchronized
    def commit(self) -> None:
        """End the drag in full equilibrium: one step of undo, or none if it never moved."""
        self._require_active()
        if self._has_moved:
            self._solve_load(self.load, approximate=False)
        self.is_active = False
        self._session.finish_drag(self._before, commit=self._has_moved)

    @synchronized
    def cancel(self) -> None:
        """End the drag and return to the state before it."""
        self._require_active()
        self.is_active = False
        self._session.finish_drag(self._before, commit=False)

    def _solve_load(self, load: Load, *, approximate: bool) -> None:
        wanted = replace(
            self._requested, loads=(*self._requested.loads[:-1], load), displacement=self._session.snapshot.displacement
        )
        self._session.solve_drag(wanted, approximate=approximate)
        self._requested = wanted

    def _require_active(self) -> None:
        if not self.is_active:
            raise InputError("the drag has ended; grab again")


def distribute_force(force: ArrayLike, count: int) -> Array:
    """Forces (count, 3) [N]: a force (3,) shared equally, or forces (count, 3) as they are."""
    if checks.count_axes(force) == 2:
        return checks.require_real_array(force, "force", (count, 3)).copy()
    return np.tile(checks.require_real_array(force, "force", (3,)) / count, (count, 1))


# Steps that can be undone; each keeps one displacement.
MAX_UNDO_STEPS = 200
# Largest displacement of a drag [body sizes]: a load that needs more is too large, even if there is an equilibrium.
MAX_DISPLACEMENT = 5.0


class PoseSession:
    """A body in static equilibrium with loads and pins that are added, changed and removed, with undo.

    Every operation solves f(u) = loads from the previous pose, to a residual of 1e-10 of the forces. An operation that
    fails raises (LoadError, NotConverged, InputError) and leaves the session as it was. gravity: (3,) [m/s²].
    progress: called in every iteration; if it returns False, the operation ends with Cancelled.
    On a body without fixed vertices, pin a vertex first, or add loads that balance in one call.
    Several threads may use it: operations take turns. While a drag is active, other operations raise InputError.
    """

    def __init__(self, body: Body, *, gravity: ArrayLike | None = None, progress: ProgressCallback | None = None):
        checks.require_instance(body, Body, "body")
        self.body, self._progress = body, progress
        # shared with the drag, which calls the session
        self.lock = threading.RLock()
        self._solver_cache: tuple[tuple[int, ...], StaticSolver] | None = None
        self._next_load_id = 0
        self._snapshot = PoseSnapshot((), {}, np.zeros((body.vertex_count, 3)))
        self._undo_stack: list[PoseSnapshot] = []
        self._redo_stack: list[PoseSnapshot] = []
        self._active_drag: LoadDrag | None = None
        if gravity is not None:
            self._snapshot = self._solve_equilibrium(replace(self._snapshot, gravity_force=body.gravity(gravity)))

    def __repr__(self) -> str:
        farthest = float(np.sqrt((self._snapshot.displacement**2).sum(axis=1).max(initial=0.0)))
        held = f"{len(self._snapshot.loads)} loads, {len(self._snapshot.pins)} pins"
        return f"PoseSession({self.body.vertex_count} vertices, {held}, moved by {farthest:.3g} m at most)"

    @property
    def displacement(self) -> Array:
        """The present pose (n, 3) [m], read-only."""
        view = self._snapshot.displacement.view()
        view.setflags(write=False)
        return view

    @property
    def loads(self) -> tuple[Load, ...]:
        """All loads, including frozen ones, in the order they were added."""
        return self._snapshot.loads

    @property
    def pins(self) -> dict[int, Array]:
        """{vertex: position (3,) [m]} of every pin."""
        return {vertex: place.copy() for vertex, place in self._snapshot.pins.items()}

    @property
    def has_gravity(self) -> bool:
        """True if gravity acts."""
        return self._snapshot.gravity_force is not None

    @property
    def snapshot(self) -> PoseSnapshot:
        """The present state, for `restore`."""
        return self._snapshot

    @synchronized
    def restore(self, snapshot: PoseSnapshot) -> None:
        """Return to a snapshot; one step of undo."""
        checks.require_instance(snapshot, PoseSnapshot, "snapshot")
        self._next_load_id = max(self._next_load_id, 1 + max((load.load_id for load in snapshot.loads), default=-1))
        self._commit(snapshot)

    @synchronized
    def add(self, vertices: int | ArrayLike, force: ArrayLike) -> Load:
        """Add a load on a vertex or several.

        force: (3,) [N], shared equally, or (k, 3), one for each vertex.
        """
        indices = self._check_vertices(vertices)
        load = Load(self._next_load_id, indices, distribute_force(force, len(indices)))
        self._solve_and_commit(replace(self._snapshot, loads=(*self._snapshot.loads, load)))
        self._next_load_id += 1
        return load

    @synchronized
    def change(self, load: Load | int, force: ArrayLike) -> Load:
        """Change the force of a load; returns the changed load."""
        old = self._find_editable_load(load)
        return self._replace_load(old, replace(old, forces=distribute_force(force, len(old.vertices))))

    @synchronized
    def mute(self, load: Load | int, muted: bool = True) -> Load:
        """Switch a load off, or on again; returns the changed load."""
        old = self._find_editable_load(load)
        return self._replace_load(old, replace(old, muted=checks.require_bool(muted, "muted")))

    @synchronized
    def grab(self, vertices: int | ArrayLike, *, replace_loads: bool = False) -> LoadDrag:
        """Start a drag of a new load: many small changes that are one step of undo. Nothing moves yet.

        replace_loads: it replaces all loads that are not frozen.
        """
        indices = self._check_vertices(vertices)
        kept = tuple(load for load in self._snapshot.loads if load.frozen or not replace_loads)
        load = Load(self._next_load_id, indices, np.zeros((len(indices), 3)))
        self._require_no_drag()
        self._active_drag = LoadDrag(self, replace(self._snapshot, loads=(*kept, load)), self._snapshot)
        self._next_load_id += 1
        return self._active_drag

    @synchronized
    def compute_compliance(self, vertices: int | ArrayLike) -> Array:
        """(3, n, 3) [m/N] displacements K⁻¹ f of the present pose by 1 N along x, y and z, shared equally by vertices.

        Raises NotConverged where the tangent stiffness is singular.
        """
        indices = self._check_vertices(vertices)
        loads = np.zeros((3, self.body.vertex_count, 3))
        for axis in range(3):
            loads[axis, indices, axis] = 1.0 / len(indices)
        return self._get_solver(tuple(sorted(self._snapshot.pins))).solve_linear_response(
            self._snapshot.displacement, loads
        )

    @synchronized
    def set_gravity(self, gravity: ArrayLike | None) -> None:
        """Set gravity (3,) [m/s²], or a number for the direction -z; None: no gravity."""
        self._solve_and_commit(
            replace(self._snapshot, gravity_force=None if gravity is None else self.body.gravity(gravity))
        )

    @synchronized
    def set_pose(self, displacement: ArrayLike) -> None:
        """Set the pose (n, 3) [m], with one frozen load that holds it; removes other loads and pins."""
        pose = self.body.check_vertex_vectors(displacement, "displacement").copy()
        self.body.require_zero_at_fixed_vertices(pose, "displacement")
        held = self.body.force(pose) - (0.0 if self._snapshot.gravity_force is None else self._snapshot.gravity_force)
        load = Load(self._next_load_id, self.body.free_vertices, held[self.body.free_vertices], frozen=True)
        self._commit(replace(self._snapshot, loads=(load,), pins={}, displacement=pose))
        self._next_load_id += 1

    @synchronized
    def reset(self) -> None:
        """Remove all loads and pins, frozen loads too; gravity stays."""
        self._solve_and_commit(
            replace(self._snapshot, loads=(), pins={}, displacement=np.zeros((self.body.vertex_count, 3)))
        )

    @synchronized
    def remove(self, load: Load | int) -> None:
        """Remove a load."""
        old = self._find_editable_load(load)
        self._solve_and_commit(
            replace(self._snapshot, loads=tuple(one for one in self._snapshot.loads if one is not old))
        )

    @synchronized
    def freeze(self) -> None:
        """Freeze the present loads: only `undo` changes them, and further loads are added to them."""
        self._commit(replace(self._snapshot, loads=tuple(replace(load, frozen=True) for load in self._snapshot.loads)))

    @synchronized
    def pin(self, vertices: int | ArrayLike, position: ArrayLike | None = None) -> None:
        """Hold vertices at `position` [m], (3,) for one or (k, 3), at their present positions when None."""
        indices = self._check_vertices(vertices)
        here = self.body.vertices[indices] + self._snapshot.displacement[indices]
        shape = (
            (3,)
            if position is not None and len(indices) == 1 and checks.count_axes(position) == 1
            else (len(indices), 3)
        )
        wanted = here if position is None else checks.require_real_array(position, "position", shape).reshape(-1, 3)
        pins = {int(vertex): place.copy() for vertex, place in zip(indices, wanted)}
        self._solve_and_commit(replace(self._snapshot, pins=self._snapshot.pins | pins))

    @synchronized
    def unpin(self, vertices: int | ArrayLike) -> None:
        """Remove pins."""
        gone = {int(vertex) for vertex in self._check_vertices(vertices)}
        loose = sorted(gone - set(self._snapshot.pins))
        if loose:
            raise InputError(f"vertex {loose[0]} is not pinned; the pins are {_format_numbers(self._snapshot.pins)}")
        pins = {vertex: place for vertex, place in self._snapshot.pins.items() if vertex not in gone}
        self._solve_and_commit(replace(self._snapshot, pins=pins))

    @synchronized
    def undo(self) -> None:
        """Undo the last operation. Raises InputError when there is none."""
        self._require_no_drag()
        if not self._undo_stack:
            raise InputError("there is nothing to undo")
        self._redo_stack.append(self._snapshot)
        self._snapshot = self._undo_stack.pop()

    @synchronized
    def redo(self) -> None:
        """Redo the operation that was undone last. Raises InputError when there is none."""
        self._require_no_drag()
        if not self._redo_stack:
            raise InputError("there is nothing to redo")
        self._undo_stack.append(self._snapshot)
        self._snapshot = self._redo_stack.pop()

    def capture(self) -> Array:
        """Copy of the present pose (n, 3) [m], for a key. Warns with InversionWarning if tets are inverted."""
        warn_about_inversion(self.body, self._snapshot.displacement)
        return self._snapshot.displacement.copy()

    @synchronized
    def solve_drag(self, requested: PoseSnapshot, *, approximate: bool) -> None:
        """Solve for the pose of an active drag, without a step of undo. Raises LoadError for an excessive load."""
        found = self._solve_equilibrium(requested, approximate=approximate)
        far = float(np.sqrt((found.displacement**2).sum(axis=1).max(initial=0.0))) / self.body.size
        if far > MAX_DISPLACEMENT:
            raise LoadError(f"the pull draws the body out to {far:.2g} times its size; pull less, or pin more of it")
        self._snapshot = found

    @synchronized
    def finish_drag(self, before: PoseSnapshot, *, commit: bool) -> None:
        """End a drag: record one step of undo from `before`, or return to it."""
        self._active_drag = None
        after, self._snapshot = self._snapshot, before
        if commit:
            self._commit(after)

    def _solve_and_commit(self, requested: PoseSnapshot) -> None:
        self._commit(self._solve_equilibrium(requested))

    def _commit(self, snapshot: PoseSnapshot) -> None:
        self._require_no_drag()
        self._undo_stack = [*self._undo_stack, self._snapshot][-MAX_UNDO_STEPS:]
        self._redo_stack = []
        self._snapshot = snapshot

    def _require_no_drag(self) -> None:
        if self._active_drag is not None:
            raise InputError("a drag is still active; commit or cancel it first")

    def _solve_equilibrium(self, requested: PoseSnapshot, *, approximate: bool = False) -> PoseSnapshot:
        vertices = tuple(sorted(requested.pins))
        goal = np.array([requested.pins[vertex] - self.body.vertices[vertex] for vertex in vertices]).reshape(-1, 3)
        gravity = requested.gravity_force
        total = np.zeros((self.body.vertex_count, 3)) if gravity is None else gravity.copy()
        for load in requested.loads:
            if not load.muted:
                np.add.at(total, load.vertices, load.forces)
        solver = self._get_solver(vertices)
        u = solver.solve(requested.displacement, total, goal, reuse_tangent=True, preview=approximate)
        return replace(requested, displacement=u)

    def _get_solver(self, pinned: tuple[int, ...]) -> StaticSolver:
        """The solver for these pins; its symbolic factorisation is reused while the pinned vertices stay the same."""
        if self._solver_cache is None or self._solver_cache[0] != pinned:
            held = np.array(pinned, dtype=np.int64)
            none = np.zeros((self.body.vertex_count, 3))
            self._solver_cache = (pinned, StaticSolver(self.body, held, none, progress=self._progress))
        return self._solver_cache[1]

    def _replace_load(self, old: Load, new: Load) -> Load:
        loads = tuple(new if load is old else load for load in self._snapshot.loads)
        self._solve_and_commit(replace(self._snapshot, loads=loads))
        return new

    def _check_vertices(self, vertices: int | ArrayLike) -> IndexArray:
        indices = checks.require_index_array(checks.wrap_scalar(vertices), "vertices", (None,), self.body.vertex_count)
        if len(indices) == 0:
            raise InputError("vertices is empty: name at least one vertex")
        values, times = np.unique(indices, return_counts=True)
        if (times > 1).any():
            raise InputError(f"vertices names vertex {values[times > 1][0]} twice; name each vertex once")
        held = np.intersect1d(indices, self.body.fixed)
        if len(held):
            raise InputError(f"vertex {held[0]} is fixed in the body and cannot be pulled or pinned; take another")
        return indices

    def _find_editable_load(self, load: Load | int) -> Load:
        number = load.load_id if isinstance(load, Load) else checks.require_integer(load, "load", minimum=0)
        for one in self._snapshot.loads:
            if one.load_id == number:
                if one.frozen:
                    raise InputError(f"load {number} is frozen; undo the freeze, or add a load that opposes it")
                return one
        raise InputError(
            f"the session has no load {number}; its loads are {_format_numbers(o.load_id for o in self.loads)}"
        )


def _format_numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
