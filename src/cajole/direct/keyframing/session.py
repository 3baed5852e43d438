"""`PoseSession`: shape a key by pulling at the body, one load or pin at a time (§4.1, Barbič 2009)."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.direct.keyframing.pulling import Load, Moment, Pull, shared
from cajole.dynamics.statics import Statics, warn_if_inverted
from cajole.errors import InputError, LoadError
from cajole.locking import synchronized
from cajole.progress import Progress

# Steps that can be undone; each keeps one displacement.
MOST_UNDO = 200
# Body sizes: a hand that pulls farther pulls too hard, whatever equilibrium there may be.
FARTHEST = 5.0


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

    def __init__(self, body: Body, *, gravity: ArrayLike | None = None, progress: Progress | None = None):
        checks.require_instance(body, Body, "body")
        self.body, self._progress = body, progress
        # a pull and the session call each other
        self.lock = threading.RLock()
        self._solver: tuple[tuple[int, ...], Statics] | None = None
        self._next = 0
        self._now = Moment((), {}, np.zeros((body.count, 3)))
        self._past: list[Moment] = []
        self._future: list[Moment] = []
        self._hand: Pull | None = None
        if gravity is not None:
            self._now = self._solved(replace(self._now, weight=body.gravity(gravity)))

    def __repr__(self) -> str:
        farthest = float(np.sqrt((self._now.displacement**2).sum(axis=1).max(initial=0.0)))
        held = f"{len(self._now.loads)} loads, {len(self._now.pins)} pins"
        return f"PoseSession({self.body.count} vertices, {held}, moved by {farthest:.3g} m at most)"

    @property
    def displacement(self) -> Array:
        """The present pose (n, 3) [m], read-only."""
        view = self._now.displacement.view()
        view.setflags(write=False)
        return view

    @property
    def loads(self) -> tuple[Load, ...]:
        """Every load, frozen ones among them, in the order they were added."""
        return self._now.loads

    @property
    def pins(self) -> dict[int, Array]:
        """{vertex: position (3,) [m]} of every pin."""
        return {vertex: place.copy() for vertex, place in self._now.pins.items()}

    @property
    def weighs(self) -> bool:
        """Whether gravity acts."""
        return self._now.weight is not None

    @property
    def moment(self) -> Moment:
        """Everything as it is now, for `return_to`."""
        return self._now

    @synchronized
    def return_to(self, moment: Moment) -> None:
        """Be again as the session was when `moment` was asked for; one step of undo."""
        checks.require_instance(moment, Moment, "moment")
        self._next = max(self._next, 1 + max((load.number for load in moment.loads), default=-1))
        self._keep(moment)

    @synchronized
    def add(self, vertices: int | ArrayLike, force: ArrayLike) -> Load:
        """Pull at a vertex or several, on top of the loads there are.

        force: (3,) [N], shared equally, or (k, 3), one for each vertex.
        """
        places, forces = self._pull(vertices, force)
        load = Load(self._next, places, forces)
        self._become(replace(self._now, loads=(*self._now.loads, load)))
        self._next += 1
        return load

    @synchronized
    def change(self, load: Load | int, force: ArrayLike) -> Load:
        """Give a load another force, as a drag does with every move of the hand; returns the load as it is now."""
        old = self._live(load)
        _, forces = self._pull(old.vertices, force)
        new = replace(old, forces=forces)
        self._become(replace(self._now, loads=tuple(new if one is old else one for one in self._now.loads)))
        return new

    @synchronized
    def mute(self, load: Load | int, muted: bool = True) -> Load:
        """Have a load not pull any more, or pull again; returns it as it is now."""
        old = self._live(load)
        new = replace(old, muted=checks.flag(muted, "muted"))
        self._become(replace(self._now, loads=tuple(new if one is old else one for one in self._now.loads)))
        return new

    @synchronized
    def grab(self, vertices: int | ArrayLike, *, alone: bool = False) -> Pull:
        """A new load for many small changes that are one step of undo: `pull.move(force)`, then `drop` or `cancel`.

        alone: it takes the place of all loads that are not frozen. Nothing moves by being grabbed.
        """
        indices = self._indices(vertices)
        kept = tuple(load for load in self._now.loads if load.frozen or not alone)
        load = Load(self._next, indices, np.zeros((len(indices), 3)))
        self._require_free_hand()
        self._hand = Pull(self, replace(self._now, loads=(*kept, load)), self._now)
        self._next += 1
        return self._hand

    @synchronized
    def compliance(self, vertices: int | ArrayLike) -> Array:
        """How far 1 N along x, y and z, shared equally by vertices, would move the present pose, (3, n, 3) [m/N].

        To first order, K⁻¹ f. Raises NotConverged where nothing resists.
        """
        indices = self._indices(vertices)
        loads = np.zeros((3, self.body.count, 3))
        for axis in range(3):
            loads[axis, indices, axis] = 1.0 / len(indices)
        return self._statics(tuple(sorted(self._now.pins))).response(self._now.displacement, loads)

    @synchronized
    def weigh(self, gravity: ArrayLike | None) -> None:
        """Let gravity (3,) [m/s²], or a number, which is down (-z), act from now on; None: nothing weighs."""
        self._become(replace(self._now, weight=None if gravity is None else self.body.gravity(gravity)))

    @synchronized
    def assume(self, displacement: ArrayLike) -> None:
        """Stand in another pose (n, 3) [m], held there by one frozen load: the forces that it takes.

        Other loads and pins are over.
        """
        pose = self.body.checked(displacement, "displacement").copy()
        self.body.require_still(pose, "displacement")
        held = self.body.force(pose) - (0.0 if self._now.weight is None else self._now.weight)
        load = Load(self._next, self.body.free, held[self.body.free], frozen=True)
        self._keep(replace(self._now, loads=(load,), pins={}, displacement=pose))
        self._next += 1

    @synchronized
    def reset(self) -> None:
        """No loads, frozen or not, and no pins; gravity stays."""
        self._become(replace(self._now, loads=(), pins={}, displacement=np.zeros((self.body.count, 3))))

    @synchronized
    def remove(self, load: Load | int) -> None:
        """Take a load away."""
        old = self._live(load)
        self._become(replace(self._now, loads=tuple(one for one in self._now.loads if one is not old)))

    @synchronized
    def freeze(self) -> None:
        """Make the present loads permanent: only `undo` takes them back, and further loads add on top."""
        self._keep(replace(self._now, loads=tuple(replace(load, frozen=True) for load in self._now.loads)))

    @synchronized
    def pin(self, vertices: int | ArrayLike, position: ArrayLike | None = None) -> None:
        """Hold vertices at `position` [m], (3,) for one or (k, 3), where they are now when None; again to move them."""
        indices = self._indices(vertices)
        here = self.body.vertices[indices] + self._now.displacement[indices]
        shape = (
            (3,) if position is not None and len(indices) == 1 and checks.depth(position) == 1 else (len(indices), 3)
        )
        wanted = here if position is None else checks.real_array(position, "position", shape).reshape(-1, 3)
        pins = {int(vertex): place.copy() for vertex, place in zip(indices, wanted)}
        self._become(replace(self._now, pins=self._now.pins | pins))

    @synchronized
    def unpin(self, vertices: int | ArrayLike) -> None:
        """Let pinned vertices go."""
        gone = {int(vertex) for vertex in self._indices(vertices)}
        loose = sorted(gone - set(self._now.pins))
        if loose:
            raise InputError(f"vertex {loose[0]} is not pinned; the pins are {_listed(self._now.pins)}")
        pins = {vertex: place for vertex, place in self._now.pins.items() if vertex not in gone}
        self._become(replace(self._now, pins=pins))

    @synchronized
    def undo(self) -> None:
        """Go back before the last operation, whichever it was. Raises InputError when there is none."""
        self._require_free_hand()
        if not self._past:
            raise InputError("there is nothing to undo")
        self._future.append(self._now)
        self._now = self._past.pop()

    @synchronized
    def redo(self) -> None:
        """Do again what was undone last. Raises InputError when nothing was, or something was done since."""
        self._require_free_hand()
        if not self._future:
            raise InputError("there is nothing to redo")
        self._past.append(self._now)
        self._now = self._future.pop()

    def capture(self) -> Array:
        """The present pose as a key: a copy (n, 3) [m]. Warns with InversionWarning where tets are inside out."""
        warn_if_inverted(self.body, self._now.displacement)
        return self._now.displacement.copy()

    @synchronized
    def try_out(self, wanted: Moment, *, rough: bool) -> None:
        """For a `Pull`: the pose under its load, without a step of undo; LoadError for one far beyond the body."""
        found = self._solved(wanted, rough=rough)
        far = float(np.sqrt((found.displacement**2).sum(axis=1).max(initial=0.0))) / self.body.size
        if far > FARTHEST:
            raise LoadError(f"the pull draws the body out to {far:.2g} times its size; pull less, or pin more of it")
        self._now = found

    @synchronized
    def let_go(self, before: Moment, *, keep: bool) -> None:
        """For a `Pull`: one step of undo from `before`, or `before` again."""
        self._hand = None
        after, self._now = self._now, before
        if keep:
            self._keep(after)

    def _become(self, wanted: Moment) -> None:
        self._keep(self._solved(wanted))

    def _keep(self, moment: Moment) -> None:
        self._require_free_hand()
        self._past = [*self._past, self._now][-MOST_UNDO:]
        self._future = []
        self._now = moment

    def _require_free_hand(self) -> None:
        if self._hand is not None:
            raise InputError("a pull is still in the hand; drop or cancel it first")

    def _solved(self, wanted: Moment, *, rough: bool = False) -> Moment:
        vertices = tuple(sorted(wanted.pins))
        goal = np.array([wanted.pins[vertex] - self.body.vertices[vertex] for vertex in vertices]).reshape(-1, 3)
        u = self._statics(vertices).solve(wanted.displacement, self._force(wanted), goal, warm=True, rough=rough)
        return replace(wanted, displacement=u)

    def _statics(self, pinned: tuple[int, ...]) -> Statics:
        """The solver for these pins; its symbolic factorisation lasts while they stay the same vertices."""
        if self._solver is None or self._solver[0] != pinned:
            held = np.array(pinned, dtype=np.int64)
            none = np.zeros((self.body.count, 3))
            self._solver = (pinned, Statics(self.body, held, none, progress=self._progress))
        return self._solver[1]

    def _force(self, moment: Moment) -> Array:
        total = np.zeros((self.body.count, 3)) if moment.weight is None else moment.weight.copy()
        for load in (one for one in moment.loads if not one.muted):
            np.add.at(total, load.vertices, load.forces)
        return total

    def _pull(self, vertices: int | ArrayLike, force: ArrayLike) -> tuple[IndexArray, Array]:
        indices = self._indices(vertices)
        return indices, shared(force, len(indices))

    def _indices(self, vertices: int | ArrayLike) -> IndexArray:
        indices = checks.index_array(checks.at_least_one_axis(vertices), "vertices", (None,), self.body.count)
        if len(indices) == 0:
            raise InputError("vertices is empty: name at least one vertex")
        values, times = np.unique(indices, return_counts=True)
        if (times > 1).any():
            raise InputError(f"vertices names vertex {values[times > 1][0]} twice; name each vertex once")
        held = np.intersect1d(indices, self.body.fixed)
        if len(held):
            raise InputError(f"vertex {held[0]} is fixed in the body and cannot be pulled or pinned; take another")
        return indices

    def _live(self, load: Load | int) -> Load:
        number = load.number if isinstance(load, Load) else checks.count(load, "load", least=0)
        for one in self._now.loads:
            if one.number == number:
                if one.frozen:
                    raise InputError(f"load {number} is frozen; undo the freeze, or add a load that opposes it")
                return one
        raise InputError(f"the session has no load {number}; its loads are {_listed(o.number for o in self.loads)}")


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
