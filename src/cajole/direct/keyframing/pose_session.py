"""`PoseSession`: shape a key by pulling at the body, one load or pin at a time (§4.1, Barbič 2009)."""

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
    """Forces (k, 3) [N] on vertices (k,), known to its session by `number`; a frozen one can no longer be changed.

    A muted one does not pull.
    """

    load_id: int
    vertices: IndexArray
    forces: Array
    frozen: bool = False
    muted: bool = False


@dataclass(frozen=True, eq=False)
class PoseSnapshot:
    """All that an operation can change: loads, pins {vertex: position (3,)}, the pose (n, 3) [m] that balances them,
    and what the vertices weigh (n, 3) [N], None for nothing."""

    loads: tuple[Load, ...]
    pins: dict[int, Array]
    displacement: Array
    gravity_force: Array | None = None


class LoadDrag:
    """What `PoseSession.grab` gives: `move` as often as wanted, then `commit`, or `cancel`.

    While it moves, the pose is solved for only as well as there is time for, and follows the hand; `commit` ends in
    full equilibrium. Threads may share it: its methods take turns with each other and with those of the session.
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
        """Pull with force (3,) [N], shared equally, or (k, 3), one for each vertex.

        Raises LoadError or NotConverged when that is too much; the pose and the force then stay as they were.
        """
        self._require_active()
        load = replace(self.load, forces=distribute_force(force, len(self.load.vertices)))
        self._solve_load(load, approximate=True)
        self._has_moved = True

    @synchronized
    def refine(self) -> float:
        """Go on towards the equilibrium of the last move, which stops where it would take long; how far that led, in
        body sizes: less and less, until nothing is left to do."""
        self._require_active()
        before = self._session.snapshot.displacement
        if self._has_moved:
            self._solve_load(self.load, approximate=True)
        away = self._session.snapshot.displacement - before
        return float(np.sqrt((away**2).sum(axis=1).max())) / self._session.body.size

    @synchronized
    def commit(self) -> None:
        """Let go in full equilibrium: the whole pull is one step of undo, and none when it never moved."""
        self._require_active()
        if self._has_moved:
            self._solve_load(self.load, approximate=False)
        self.is_active = False
        self._session.finish_drag(self._before, commit=self._has_moved)

    @synchronized
    def cancel(self) -> None:
        """Let go, with everything as it was before the grab."""
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
            raise InputError("the hand is empty: the pull was dropped or cancelled; grab again")


def distribute_force(force: ArrayLike, count: int) -> Array:
    """Forces (count, 3): one (3,) shared equally, or as they are."""
    if checks.count_axes(force) == 2:
        return checks.require_real_array(force, "force", (count, 3)).copy()
    return np.tile(checks.require_real_array(force, "force", (3,)) / count, (count, 1))


# Steps that can be undone; each keeps one displacement.
MAX_UNDO_STEPS = 200
# Body sizes: a hand that pulls farther pulls too hard, whatever equilibrium there may be.
MAX_DISPLACEMENT = 5.0


class PoseSession:
    """A body held in static equilibrium while loads and pins are added, changed, taken back and done again.

    Every operation solves f(u) = loads from the pose before it, and `displacement` is converged whenever it returns: no
    more than 1e-10 of the forces are left. An operation that fails raises (LoadError, NotConverged, InputError) and
    leaves the session as it was. gravity: (3,) [m/s²]. progress: asked in every iteration; returning False ends the
    operation with Cancelled, as if it had failed.
    On a body that nothing holds, pin a vertex first, or add loads that balance in one call.
    Several threads may use it: operations take turns. While one thread has a pull in the hand, operations of others
    raise InputError.
    """

    def __init__(self, body: Body, *, gravity: ArrayLike | None = None, progress: ProgressCallback | None = None):
        checks.require_instance(body, Body, "body")
        self.body, self._progress = body, progress
        # a pull and the session call each other
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
        """Every load, frozen ones among them, in the order they were added."""
        return self._snapshot.loads

    @property
    def pins(self) -> dict[int, Array]:
        """{vertex: position (3,) [m]} of every pin."""
        return {vertex: place.copy() for vertex, place in self._snapshot.pins.items()}

    @property
    def has_gravity(self) -> bool:
        """Whether gravity acts."""
        return self._snapshot.gravity_force is not None

    @property
    def snapshot(self) -> PoseSnapshot:
        """Everything as it is now, for `return_to`."""
        return self._snapshot

    @synchronized
    def restore(self, snapshot: PoseSnapshot) -> None:
        """Be again as the session was when `moment` was asked for; one step of undo."""
        checks.require_instance(snapshot, PoseSnapshot, "snapshot")
        self._next_load_id = max(self._next_load_id, 1 + max((load.load_id for load in snapshot.loads), default=-1))
        self._commit(snapshot)

    @synchronized
    def add(self, vertices: int | ArrayLike, force: ArrayLike) -> Load:
        """Pull at a vertex or several, on top of the loads there are.

        force: (3,) [N], shared equally, or (k, 3), one for each vertex.
        """
        places, forces = self._check_load(vertices, force)
        load = Load(self._next_load_id, places, forces)
        self._solve_and_commit(replace(self._snapshot, loads=(*self._snapshot.loads, load)))
        self._next_load_id += 1
        return load

    @synchronized
    def change(self, load: Load | int, force: ArrayLike) -> Load:
        """Give a load another force, as a drag does with every move of the hand; returns the load as it is now."""
        old = self._find_editable_load(load)
        _, forces = self._check_load(old.vertices, force)
        new = replace(old, forces=forces)
        self._solve_and_commit(
            replace(self._snapshot, loads=tuple(new if one is old else one for one in self._snapshot.loads))
        )
        return new

    @synchronized
    def mute(self, load: Load | int, muted: bool = True) -> Load:
        """Have a load not pull any more, or pull again; returns it as it is now."""
        old = self._find_editable_load(load)
        new = replace(old, muted=checks.require_bool(muted, "muted"))
        self._solve_and_commit(
            replace(self._snapshot, loads=tuple(new if one is old else one for one in self._snapshot.loads))
        )
        return new

    @synchronized
    def grab(self, vertices: int | ArrayLike, *, replace_loads: bool = False) -> LoadDrag:
        """A new load for many small changes that are one step of undo: `pull.move(force)`, then `commit` or `cancel`.

        replace_loads: it takes the place of all loads that are not frozen. Nothing moves by being grabbed.
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
        """How far 1 N along x, y and z, shared equally by vertices, would move the present pose, (3, n, 3) [m/N].

        To first order, K⁻¹ f. Raises NotConverged where nothing resists.
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
        """Let gravity (3,) [m/s²], or a number, which is down (-z), act from now on; None: nothing weighs."""
        self._solve_and_commit(
            replace(self._snapshot, gravity_force=None if gravity is None else self.body.gravity(gravity))
        )

    @synchronized
    def set_pose(self, displacement: ArrayLike) -> None:
        """Stand in another pose (n, 3) [m], held there by one frozen load: the forces that it takes.

        Other loads and pins are over.
        """
        pose = self.body.check_vertex_vectors(displacement, "displacement").copy()
        self.body.require_zero_at_fixed_vertices(pose, "displacement")
        held = self.body.force(pose) - (0.0 if self._snapshot.gravity_force is None else self._snapshot.gravity_force)
        load = Load(self._next_load_id, self.body.free_vertices, held[self.body.free_vertices], frozen=True)
        self._commit(replace(self._snapshot, loads=(load,), pins={}, displacement=pose))
        self._next_load_id += 1

    @synchronized
    def reset(self) -> None:
        """No loads, frozen or not, and no pins; gravity stays."""
        self._solve_and_commit(
            replace(self._snapshot, loads=(), pins={}, displacement=np.zeros((self.body.vertex_count, 3)))
        )

    @synchronized
    def remove(self, load: Load | int) -> None:
        """Take a load away."""
        old = self._find_editable_load(load)
        self._solve_and_commit(
            replace(self._snapshot, loads=tuple(one for one in self._snapshot.loads if one is not old))
        )

    @synchronized
    def freeze(self) -> None:
        """Make the present loads permanent: only `undo` takes them back, and further loads add on top."""
        self._commit(replace(self._snapshot, loads=tuple(replace(load, frozen=True) for load in self._snapshot.loads)))

    @synchronized
    def pin(self, vertices: int | ArrayLike, position: ArrayLike | None = None) -> None:
        """Hold vertices at `position` [m], (3,) for one or (k, 3), where they are now when None; again to move them."""
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
        """Let pinned vertices go."""
        gone = {int(vertex) for vertex in self._check_vertices(vertices)}
        loose = sorted(gone - set(self._snapshot.pins))
        if loose:
            raise InputError(f"vertex {loose[0]} is not pinned; the pins are {_format_numbers(self._snapshot.pins)}")
        pins = {vertex: place for vertex, place in self._snapshot.pins.items() if vertex not in gone}
        self._solve_and_commit(replace(self._snapshot, pins=pins))

    @synchronized
    def undo(self) -> None:
        """Go back before the last operation, whichever it was. Raises InputError when there is none."""
        self._require_no_drag()
        if not self._undo_stack:
            raise InputError("there is nothing to undo")
        self._redo_stack.append(self._snapshot)
        self._snapshot = self._undo_stack.pop()

    @synchronized
    def redo(self) -> None:
        """Do again what was undone last. Raises InputError when nothing was, or something was done since."""
        self._require_no_drag()
        if not self._redo_stack:
            raise InputError("there is nothing to redo")
        self._undo_stack.append(self._snapshot)
        self._snapshot = self._redo_stack.pop()

    def capture(self) -> Array:
        """The present pose as a key: a copy (n, 3) [m]. Warns with InversionWarning where tets are inside out."""
        warn_about_inversion(self.body, self._snapshot.displacement)
        return self._snapshot.displacement.copy()

    @synchronized
    def solve_drag(self, requested: PoseSnapshot, *, approximate: bool) -> None:
        """For a `Pull`: the pose under its load, without a step of undo; LoadError for one far beyond the body."""
        found = self._solve_equilibrium(requested, approximate=approximate)
        far = float(np.sqrt((found.displacement**2).sum(axis=1).max(initial=0.0))) / self.body.size
        if far > MAX_DISPLACEMENT:
            raise LoadError(f"the pull draws the body out to {far:.2g} times its size; pull less, or pin more of it")
        self._snapshot = found

    @synchronized
    def finish_drag(self, before: PoseSnapshot, *, commit: bool) -> None:
        """For a `Pull`: one step of undo from `before`, or `before` again."""
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
            raise InputError("a pull is still in the hand; commit or cancel it first")

    def _solve_equilibrium(self, requested: PoseSnapshot, *, approximate: bool = False) -> PoseSnapshot:
        vertices = tuple(sorted(requested.pins))
        goal = np.array([requested.pins[vertex] - self.body.vertices[vertex] for vertex in vertices]).reshape(-1, 3)
        u = self._get_solver(vertices).solve(
            requested.displacement, self._sum_forces(requested), goal, reuse_tangent=True, preview=approximate
        )
        return replace(requested, displacement=u)

    def _get_solver(self, pinned: tuple[int, ...]) -> StaticSolver:
        """The solver for these pins; its symbolic factorisation lasts while they stay the same vertices."""
        if self._solver_cache is None or self._solver_cache[0] != pinned:
            held = np.array(pinned, dtype=np.int64)
            none = np.zeros((self.body.vertex_count, 3))
            self._solver_cache = (pinned, StaticSolver(self.body, held, none, progress=self._progress))
        return self._solver_cache[1]

    def _sum_forces(self, snapshot: PoseSnapshot) -> Array:
        total = (
            np.zeros((self.body.vertex_count, 3)) if snapshot.gravity_force is None else snapshot.gravity_force.copy()
        )
        for load in (one for one in snapshot.loads if not one.muted):
            np.add.at(total, load.vertices, load.forces)
        return total

    def _check_load(self, vertices: int | ArrayLike, force: ArrayLike) -> tuple[IndexArray, Array]:
        indices = self._check_vertices(vertices)
        return indices, distribute_force(force, len(indices))

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
