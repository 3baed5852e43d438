"""`Editor`: drag any vertex of any frame of a finished animation; the whole motion follows."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, Contacts
from cajole.arrays import Array
from cajole.direct.editing.constraints import Rows
from cajole.direct.editing.hand import Hand
from cajole.direct.editing.holds import Hold, Key, orthonormal
from cajole.direct.editing.landing import REACHED, Grip, Landing, asked, meet_all, missed, scales
from cajole.direct.editing.ledger import Held, Ledger, State
from cajole.direct.editing.report import EditReport, Options
from cajole.direct.editing.spacetime import Settings, changing
from cajole.direct.editing.subject import Subject
from cajole.errors import InputError
from cajole.linalg.threads import blas_threads
from cajole.locking import synchronized
from cajole.progress import Progress, report

# Frames whose linear changes are made together: enough for BLAS-3, little memory.
TOGETHER = 16


class Editor:
    """A finished animation under edit; see `edit`.

    Several threads may use it. Changes take turns, and every result is the one of a moment between two of them. While
    one thread has a hand on vertices, changes by others raise InputError.
    """

    def __init__(self, subject: Subject, settings: Settings, options: Options, represented: Contacts | None = None):
        self.subject, self.options, self._represented = subject, options, represented
        self._now, self._past, self._future = State({}, settings), list[State](), list[State]()
        self._hand: Hand | None = None
        # what is worth knowing about how it was opened
        self.notes: tuple[str, ...] = ()
        # a hand and the editor call each other
        self.lock = threading.RLock()
        # the largest displacement, in body sizes, of the state it was measured for
        self._measured: tuple[State, float] | None = None
        with blas_threads():
            self._ledger = Ledger(subject, settings, represented)

    def __repr__(self) -> str:
        (first, last), modes = self.frames, len(self.subject.eigenvalues)
        return f"Editor({self.input.name!r}, {len(self._now.held)} held, frames {first}..{last}, {modes} modes)"

    # --- what is held

    @property
    def input(self) -> Animation:
        """The animation as it was before the edit."""
        return self.subject.animation

    @property
    def constraints(self) -> dict[Key, Array]:
        """(vertex, frame) -> position (3,) [m], (vertex, frame, other) -> offset, in the order they were added."""
        return {key: held.hold.target.copy() for key, held in self._now.held.items()}

    @property
    def settings(self) -> Settings:
        """h, damping, ends, energy, smoothness and window as they are now."""
        return self._now.settings

    @property
    def state(self) -> State:
        """All that was asked so far; `restore` brings it back."""
        return self._now

    @property
    @synchronized
    def frames(self) -> tuple[int, int]:
        """The first and the last frame that can be edited."""
        return self._ledger.spacetime.first, self._ledger.spacetime.last

    @synchronized
    def drag(
        self, vertex: int | Sequence[int], frame: int, position: ArrayLike, *, directions: str | ArrayLike | None = None
    ) -> Landing:
        """Put a vertex at `position` (3,) [m] in `frame`, or several (k, 3) at once; again to move them.

        directions: which coordinates are held, some of "xyz" or (k, 3) vectors; the rest is left to the motion.
        Raises InputError for what cannot be moved: a held vertex, a frame that stays, indices out of range.
        """
        with self.grab(vertex, frame, directions=directions) as hand:
            hand.move(position)
        return hand.landing

    @synchronized
    def tie(
        self,
        vertex: int,
        other: int,
        frame: int,
        offset: ArrayLike | None = None,
        *,
        directions: str | ArrayLike | None = None,
    ) -> Landing:
        """Hold a vertex at an `offset` (3,) [m] from another in `frame`, as far apart as they are now when None."""
        with self.grab(vertex, frame, directions=directions, other=other) as hand:
            if offset is not None:
                hand.move(offset)
        return hand.landing

    @synchronized
    def pin(self, vertex: int | Sequence[int], frame: int, *, directions: str | ArrayLike | None = None) -> Landing:
        """Hold vertices where they are now, whatever else is dragged."""
        with self.grab(vertex, frame, directions=directions) as hand:
            pass
        return hand.landing

    @synchronized
    def grab(
        self,
        vertex: int | Sequence[int],
        frame: int,
        *,
        directions: str | ArrayLike | None = None,
        other: int | None = None,
    ) -> Hand:
        """A hand on one or more vertices of a frame, for many small moves that are one step of undo.

        Nothing moves by being grabbed. `hand.move(position)` brings the vertices there, `hand.drop()`, or the end of a
        with-block, makes all other held vertices land again. other: the vertex that they are held relative to.
        """
        self._require_empty_hand()
        keys = self._checked(vertex, frame, other)
        across = orthonormal(directions)
        before = self._now
        try:
            with blas_threads():
                held = [self._gripped(key, across) for key in keys]
                self._now = before.with_last(*held)
                self._ledger.follow(self._now)
                mine = np.concatenate([self._ledger.mine(key) for key in keys])
                grip = Grip(self.subject, self._ledger.rows, [each.hold for each in held], mine)
        except BaseException:
            self.restore(before)
            raise
        self._past.append(before)
        self._hand = Hand(self, grip)
        return self._hand

    @synchronized
    def release(self, vertex: int, frame: int, other: int | None = None) -> None:
        """Let go of a vertex that was dragged, or tied to another. Raises InputError when it was not."""
        self._require_empty_hand()
        parts = (vertex, frame) if other is None else (vertex, frame, other)
        key: Key = tuple(checks.count(part, "vertex, frame or other", least=0) for part in parts)
        if key not in self._now.held:
            raise InputError(f"vertex {vertex} at frame {frame} was not dragged, so it cannot be released")
        self._become(self._now.without(key))

    @synchronized
    def tune(self, /, **settings: Any) -> None:
        """Change h, damping, ends, energy, smoothness or window, as `edit` takes them; held vertices stay in place.

        Raises InputError for settings that are none, and for those that would keep a frame with a dragged vertex.
        """
        self._require_empty_hand()
        for name in settings:
            checks.one_of(name, "a setting", tuple(field.name for field in fields(Settings)))
        wanted = replace(self._now.settings, **settings)
        first, last = changing(wanted, self.input.frames)
        for held in self._now.held.values():
            if not first <= held.hold.frame <= last:
                raise InputError(f"{held.hold} is held, but these settings keep that frame as it is; release it first")
        self._become(replace(self._now, settings=wanted))

    @synchronized
    def undo(self) -> bool:
        """Take back the last change; False when there is none."""
        return self._travel(self._past, self._future)

    @synchronized
    def redo(self) -> bool:
        """Do again what was undone last; False when there is none."""
        return self._travel(self._future, self._past)

    @synchronized
    def restore(self, state: State) -> None:
        """Have everything as it was when `state` was read; not a step of undo."""
        self._now = state
        self._ledger.follow(state)

    @synchronized
    def adopt(self, holds: Sequence[Hold], linear: Sequence[Array]) -> None:
        """Hold all this instead, as another editor of the same input did, with the linear targets that it found."""
        self._require_empty_hand()
        for hold in holds:
            self._checked(hold.vertex, hold.frame, hold.other if hold.other >= 0 else None)
        with blas_threads():
            held = [Held(hold, self._weights(hold), np.array(x)) for hold, x in zip(holds, linear)]
        self._become(State({each.hold.key: each for each in held}, self._now.settings))

    # --- what comes of it

    def baked(self, *, progress: Progress | None = None) -> Editor:
        """An editor of the edited motion: what was dragged is input now, and rotations start from it."""
        with self.lock:
            now, z = self._now, self._linear()
        animation = self._moved(now, z, progress)
        return Editor(self.subject.with_animation(animation), now.settings, self.options, self._represented)

    def positions(self, frame: int) -> Array:
        """Where all vertices are in `frame` (n, 3) [m]; of a frame that does not change, the input bit for bit."""
        frame = checks.count(frame, "frame", least=0, most=self.input.frames - 1)
        with blas_threads():
            with self.lock:
                first, last = self.frames
                change = self._change(frame) if self._now.held and first <= frame <= last else None
            return self.subject.given(frame).copy() if change is None else self.subject.edited(frame, change)

    def animation(self, *, progress: Progress | None = None) -> Animation:
        """The edited motion, with the skin and the contacts of the input."""
        with self.lock:
            now, z = self._now, self._linear()
        return self._moved(now, z, progress)

    @synchronized
    def coordinates(self) -> Array:
        """z (T, r), the linear change of all frames in modes."""
        return self._ledger.rows.changes(self._ledger.rows.multipliers())

    @synchronized
    def gentleness(self) -> Array:
        """(frames,) what the change adds to the forces, as a share of the body's weight, |w| / (√m g)."""
        if not self._now.held:
            return np.zeros(self.input.frames)
        with blas_threads():
            w = self._ledger.spacetime.forces(self.coordinates())
        return np.linalg.norm(w, axis=1) / self.subject.weight

    @synchronized
    def reach(self, vertex: int, frame: int) -> Array:
        """(frames,) how far a vertex follows in every frame when it is dragged in one, as a share of the drag.

        Of the linear change of that one drag alone, averaged over directions: how wide an edit is in time.
        """
        ((vertex, frame, *_),) = self._checked(vertex, frame, None)
        squares = (self.subject.weights(vertex) ** 2).sum(axis=0)
        follows = self._ledger.spacetime.response(frame) @ squares
        return np.asarray(follows / follows[frame])

    @synchronized
    def misses(self) -> dict[Key, float]:
        """Distance of every held (vertex, frame) from its target, in body sizes; the quick part of `report`."""
        return {key: far / self.subject.size for key, far in self._off().items()}

    @property
    def contacts_kept(self) -> int:
        """Number of contacts that the edit keeps."""
        return 0 if self.subject.touching is None else len(self.subject.touching)

    @property
    def report(self) -> EditReport:
        """How well everything held is where it belongs, after all that acts on it.

        The first time after a change every frame is computed, as `animation` does, to measure how far vertices move.
        """
        with self.lock:
            now, z, missed, force = self._now, self._linear(), self.misses(), self.gentleness()
            modes, redundant = self._ledger.spacetime.size, self._ledger.redundant()
        ways = (held.hold.directions @ asked(self.subject, held.hold) for held in now.held.values())
        farthest = max((float(np.linalg.norm(way)) for way in ways), default=0.0) / self.subject.size
        moved = self._largest_move(now, z)
        return EditReport(missed, moved, modes, redundant, self.contacts_kept, force, farthest, self.notes)

    # --- for the hand

    @synchronized
    def carry(self, holds: Sequence[Hold], linear: Array) -> None:
        """The hand moved its holds, by these linear targets of their rows."""
        start, moved = 0, list[Held]()
        for hold in holds:
            was = self._now.held[hold.key]
            moved.append(Held(hold, was.weights, linear[start : start + len(was.linear)].copy()))
            start += len(was.linear)
        self._now = self._now.with_held(*moved)
        self._ledger.follow(self._now)

    @synchronized
    def dropped(self, keys: Sequence[Key], landing: Landing | None) -> float:
        """The hand lets go of its holds; the largest miss of all as a share of what its hold asked for."""
        self._hand = None
        self._future.clear()
        # what cannot be reached must not drag along what can
        return self._settle(keys if landing is not None and not landing.reached else ())

    @synchronized
    def cancelled(self) -> None:
        """The hand lets go, and everything is as it was before."""
        self._hand = None
        self.restore(self._past.pop())

    # --- inner workings

    def _linear(self) -> Array | None:
        """z (T, r) of all frames, None when nothing is held and so nothing changes."""
        return self.coordinates() if self._now.held else None

    def _moved(self, now: State, z: Array | None, progress: Progress | None) -> Animation:
        """The edited motion of a state; what is computed here needs no lock."""
        out, farthest = np.array(self.input.positions), 0.0
        for frame, positions in self._edited(now, z, progress):
            farthest = max(farthest, self._distance(frame, positions))
            out[frame] = positions
        self._measured = now, farthest / self.subject.size
        return replace(self.input, positions=out, velocities=None)

    def _largest_move(self, now: State, z: Array | None) -> float:
        """The largest displacement of any vertex in any frame by the edit, in body sizes; measured once for a state."""
        known = self._measured
        if known is None or known[0] is not now:
            moves = (self._distance(frame, positions) for frame, positions in self._edited(now, z, None))
            known = self._measured = now, max(moves, default=0.0) / self.subject.size
        return known[1]

    def _distance(self, frame: int, positions: Array) -> float:
        """[m] how far the farthest vertex of a frame is from where the input has it."""
        return float(np.linalg.norm(positions - self.subject.given(frame), axis=1).max(initial=0.0))

    def _edited(self, now: State, z: Array | None, progress: Progress | None) -> Iterator[tuple[int, Array]]:
        """The frames that may change, and where all vertices (n, 3) [m] are in them with linear changes z (T, r)."""
        if z is None:
            return
        first, last = changing(now.settings, self.input.frames)
        for start in range(first, last + 1, TOGETHER):
            block = range(start, min(start + TOGETHER, last + 1))
            with blas_threads():
                changes = self.subject.fields(np.ascontiguousarray(z[block].T))
            for frame, change in zip(block, changes):
                with blas_threads():
                    positions = self.subject.edited(frame, change)
                yield frame, positions
                report(progress, (frame + 1 - first) / (last + 1 - first), f"frame {frame} of {last}")

    def _checked(self, vertex: int | Sequence[int], frame: int, other: int | None) -> list[Key]:
        listed = [vertex] if checks.depth(vertex) == 0 else vertex
        skin = self.input.skin
        name = "vertex" if skin is None or skin.embedding is None else f"vertex (of {self.input.n} under the skin)"
        vertices = checks.index_array(listed, name, (None,), self.input.n).tolist()
        if not vertices or len(set(vertices)) < len(vertices):
            raise InputError("vertex names none, or one of them twice; name each vertex to drag once")
        frame = checks.count(frame, "frame", least=0, most=self.input.frames - 1)
        apart = -1 if other is None else int(checks.index_array([other], "other", (1,), self.input.n)[0])
        first, last = self.frames
        if not first <= frame <= last:
            why = "" if self.settings.ends == "free" else " (more with ends='free', or another window)"
            raise InputError(f"frame {frame} stays as it is; frames {first}..{last} can be edited{why}")
        for each in vertices:
            if each == apart:
                raise InputError(f"vertex {each} cannot be tied to itself")
            if not self.subject.weights(each, apart).any():
                raise InputError(f"vertex {each} is held by the body and cannot be dragged; drag another, or free it")
        return [(each, frame) if other is None else (each, frame, apart) for each in vertices]

    def _gripped(self, key: Key, directions: Array) -> Held:
        """What keeps a vertex where it is now, in its motion and in the linear change."""
        there, other = self.positions(key[1]), key[2] if len(key) == 3 else -1
        hold = Hold(key[0], key[1], there[key[0]] - (there[other] if other >= 0 else 0.0), directions, other)
        was = self._now.held.get(key)
        if was is not None and np.array_equal(was.hold.directions, directions):
            return replace(was, hold=hold.at(hold.target, was.hold.way))
        weights = self._weights(hold)
        return Held(hold, weights, weights @ self._ledger.coordinates(hold.frame))

    def _weights(self, hold: Hold) -> Array:
        """Rows (k, r) that move a hold along its directions: linear and warped ones differ by how the frame is bent."""
        weights = self.subject.weights(hold.vertex, hold.other)
        if hold.whole:
            return weights
        alone = Rows(self._ledger.spacetime)
        alone.add(hold.frame, weights, np.zeros(3))
        grip = Grip(self.subject, alone, [replace(hold, directions=np.eye(3))], np.arange(3))
        moves = hold.directions @ np.linalg.solve(alone.factor(np.arange(3)).T, grip.slopes(grip.y).T).T
        return np.asarray((moves / np.linalg.norm(moves, axis=1, keepdims=True)) @ weights)

    def _change(self, frame: int) -> Array:
        """The linear change (n, 3) of a frame."""
        if self._hand is not None and self._hand.frame == frame:
            return self._hand.change()
        return self._ledger.change(frame)

    def _off(self) -> dict[Key, float]:
        """[m] how far everything held is from its place."""
        holds, rows = [held.hold for held in self._now.held.values()], self._ledger.rows
        if not holds:
            return {}
        with blas_threads():
            found = missed(self.subject, rows, rows.multipliers(), holds)
        return {hold.key: float(np.linalg.norm(miss)) for hold, miss in zip(holds, found)}

    def _missed(self) -> float:
        far = scales(self.subject, [held.hold for held in self._now.held.values()])
        return max((off / float(unit) for off, unit in zip(self._off().values(), far)), default=0.0)

    def _settle(self, apart: Sequence[Key] = ()) -> float:
        """Make all held vertices land, but those that stay apart; the largest miss as a share of what was asked for."""
        left, keys = self._missed(), [key for key in self._now.held if key not in apart]
        if left <= REACHED or not keys:
            return left
        holds, mine = [self._now.held[key].hold for key in keys], [self._ledger.mine(key) for key in keys]
        with blas_threads():
            targets = meet_all(self.subject, self._ledger.rows, holds, mine)
        every = np.concatenate([self._ledger.mine(key) for key in self._now.held])
        self.carry([held.hold for held in self._now.held.values()], targets[every])
        return self._missed()

    def _become(self, state: State) -> None:
        before = self._now
        try:
            self.restore(state)
            self._settle()
        except BaseException:
            self.restore(before)
            raise
        self._past.append(before)
        self._future.clear()

    def _travel(self, back: list[State], forth: list[State]) -> bool:
        self._require_empty_hand()
        if not back:
            return False
        forth.append(self._now)
        self.restore(back.pop())
        return True

    def _require_empty_hand(self) -> None:
        if self._hand is not None:
            raise InputError("a hand still holds vertices; drop it, or cancel it, first")
