"""Bringing held vertices where they belong, through the warp: linear targets are found that make them land.

A hold asks for a place in the warped motion, its rows are linear. Holds of one frame are moved by a `Grip`, which knows
what each of their rows does to that frame and learns how their vertices answer. Holds of several frames at once are met
together, started from the Jacobians that each frame has on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.editing.aim import NEAR, Aim, aim
from cajole.direct.editing.constraints import Rows
from cajole.direct.editing.holds import Hold
from cajole.direct.editing.subject import Subject

# A held vertex has landed when it is this close, as a share of how far the edit takes it.
LANDED = 1e-4
# Shares that still count as reached: what is left then is not seen.
REACHED = 1e-3
# Step of the differences that the Jacobian of a target is made of, and the least that counts as a drag, in body sizes.
NUDGE, LEAST = 1e-5, 3e-3
# What is held in place, or moved little, must stay to LANDED of this share of the largest change.
FAINT = 1e-2
# Parts of the way, where a target that is FAR [body sizes] is not met in one go, and the share of a part that may be
# missed on the way; rows of which differences are taken again and again.
PARTS, ROUGHLY, FAR, FEW = 8, 0.05, 0.02, 12
# Linear changes beyond so many times what is asked for, or than before, run away from what cannot be reached.
BOUND, GROWN = 6.0, 1.5
# Several vertices are moved at first by what moves them by this share of its own length: after a full turn bending does
# nothing to first order, and should not be used to meet the last tenth of a thousandth.
STEADY = 0.03
# Attempts with fresh differences where what was learned misleads, each worth it only if it leaves less than a share.
ATTEMPTS, WORTH = 4, 0.5
# Looks that a rough move may take, and moves from one taking of differences to the next: a hand moves on, and what
# is left is made good by the next moves or the drop. With 5 and 1 a move took twice as long and left as much.
GLANCES, APART = 3, 4


@dataclass(frozen=True)
class Landing:
    """How a drag ended.

    missed: the farthest that a held vertex is from its place, as a share of how far it was taken.
    misses: the same of the dragged vertices before and after each correction.
    """

    missed: float
    misses: tuple[float, ...]

    @property
    def reached(self) -> bool:
        """Whether everything held is where it belongs, to a thousandth of the drag."""
        return self.missed <= REACHED

    def __str__(self) -> str:
        if self.reached:
            return f"landed to {self.missed:.1e} of the drag"
        return (
            f"could not be reached: {100 * self.missed:.2g} % of the drag is left; the body does not reach that far, "
            "or other constraints or contacts hold it back. Drag less far, use more modes, or bake and continue"
        )


def asked(subject: Subject, hold: Hold) -> Array:
    """(3,) [m] the change that would bring a vertex to its target, of which a hold asks for its directions alone."""
    there = subject.place(hold.frame, hold.vertex)
    return hold.target - (there if hold.other < 0 else there - subject.place(hold.frame, hold.other))


def scales(subject: Subject, holds: Sequence[Hold]) -> Array:
    """(k,) [m] how far each hold takes its vertex; at least a share of the farthest, and more than rounding."""
    far = np.array([max(hold.way, np.linalg.norm(hold.directions @ asked(subject, hold))) for hold in holds])
    return np.maximum(far, max(FAINT * far.max(initial=0.0), LEAST * subject.size))


def looked(subject: Subject, holds: Sequence[Hold], change: Array) -> Array:
    """How far the vertices of holds of one frame, then those they are tied to, move under a linear change (n, 3)."""
    vertices = [hold.vertex for hold in holds] + [hold.other for hold in holds if hold.other >= 0]
    return subject.seen(holds[0].frame, change, vertices)


def misses(subject: Subject, holds: Sequence[Hold], seen: Array) -> Array:
    """How far the rows of holds of one frame are from what they ask for, their vertices moved as `looked` says."""
    others = iter(seen[len(holds) :])
    turn, out = subject.turn(holds[0].frame), list[Array]()
    for hold, moved in zip(holds, seen):
        there = moved - next(others) if hold.other >= 0 else moved
        out.append(hold.directions @ (turn @ there - asked(subject, hold)))
    return np.concatenate(out)


def missed(subject: Subject, rows: Rows, multipliers: Array, holds: Sequence[Hold]) -> list[Array]:
    """For each of the holds, of any frames, how far its rows are from what it asks for."""
    frames = sorted({hold.frame for hold in holds})
    out: list[Array] = [np.empty(0)] * len(holds)
    z = np.stack([rows.change(frame, multipliers) for frame in frames], axis=1)
    for frame, change in zip(frames, subject.fields(z)):
        at = [k for k, hold in enumerate(holds) if hold.frame == frame]
        here = [holds[k] for k in at]
        found = misses(subject, here, looked(subject, here, change))
        ends = np.cumsum([len(holds[k].directions) for k in at])
        for k, part in zip(at, np.split(found, ends[:-1])):
            out[k] = part
    return out


class Grip:
    """Holds of one frame with the hand on them.

    rows: all rows of the edit; mine: which of them belong to the holds, in order. Unknowns are the whitened targets y
    of these rows, whose squares are the energy: rows that are nearly alike, as those of neighbouring vertices, then do
    no harm. The linear change of the frame is base + Σ y_k unit_k.
    """

    def __init__(self, subject: Subject, rows: Rows, holds: Sequence[Hold], mine: IndexArray):
        self.subject, self.holds, self.frame = subject, list(holds), holds[0].frame
        self._rows, self._mine, self._w = rows, mine, rows.whitened(rows.targets)
        self.y = self._w[mine]
        w = np.zeros((len(rows), len(mine) + 1))
        w[:, 0] = self._w
        w[mine, 0] = 0.0
        w[mine, np.arange(1, len(mine) + 1)] = 1.0
        made = subject.fields(rows.change(self.frame, rows.multipliers_of(w)))
        self._base, self._units = made[0], np.ascontiguousarray(made[1:].reshape(len(mine), -1))
        self._lengths, self._bound = rows.factor(mine), np.inf
        self._jacobian: Array | None = None
        self._moves = 0
        # targets of the last look, what it saw, and how large the linear change was
        self._seen_y, self._seen, self._largest = np.empty(0), np.empty((0, 3)), 0.0

    @property
    def linear(self) -> Array:
        """The targets of the holds' rows, which are the last ones: others keep theirs."""
        self._w[self._mine] = self.y
        return self._rows.colored(self._w, self._mine)

    def change(self, y: Array) -> Array:
        """(n, 3) the linear change of the frame."""
        return self._base + (y @ self._units).reshape(self._base.shape)

    def miss(self, y: Array) -> Array:
        """How far the rows are from what their holds ask for [m]; endlessly, where the linear change leaves bounds."""
        # a move begins where the last one has looked
        if not np.array_equal(y, self._seen_y):
            self._look_at(y)
        if self._largest > self._bound:
            return np.full(sum(len(hold.directions) for hold in self.holds), np.inf)
        return misses(self.subject, self.holds, self._seen)

    def _look_at(self, y: Array) -> None:
        """Keep how far the vertices move with the targets y, and how large the linear change is."""
        change = self.change(y)
        self._seen_y, self._largest = y.copy(), float(np.abs(change).max())
        self._seen = looked(self.subject, self.holds, change)

    def slopes(self, y: Array) -> Array:
        """∂miss/∂y, by differences that move no vertex by more than a nudge."""
        farthest = np.abs(self._units).max(axis=1, initial=0.0)
        nudges = np.where(farthest > 0.0, NUDGE * self.subject.size / np.maximum(farthest, 1e-300), 1.0)
        changes = [self.change(y + step) for step in (0.0 * y, *np.diag(nudges))]
        looks = [misses(self.subject, self.holds, looked(self.subject, self.holds, change)) for change in changes]
        return np.stack([(look - looks[0]) / nudge for look, nudge in zip(looks[1:], nudges)], axis=1)

    def meet(self, holds: Sequence[Hold], *, rough: bool = False) -> Aim:
        """Bring the same holds to other targets; rough: as near as a few looks lead, for a hand that moves on."""
        self.holds = list(holds)
        asked_for = float(scales(self.subject, holds).max())
        tolerance = LANDED * asked_for
        self._bound = np.inf
        here = self.miss(self.y)
        self._bound = max(BOUND * asked_for, GROWN * self._largest)
        far = float(np.abs(here).max()) > FAR * self.subject.size
        if self._jacobian is None:
            self._jacobian = self.slopes(self.y)
        found = self._roughly(here, tolerance) if rough else self._aimed(here, tolerance, far)
        if not rough and np.abs(found.miss).max() > NEAR * tolerance and far:
            again = self._stepwise(self.y, tolerance)
            again.looks = found.looks + again.looks
            found = min(found, again, key=lambda each: float(np.linalg.norm(each.miss)))
        self.y, self._jacobian = found.x, found.jacobian
        return found

    def _roughly(self, here: Array, tolerance: float) -> Aim:
        """With what was learned alone, unless that misleads."""
        J = self._jacobian if self._jacobian is not None else self.slopes(self.y)
        found = aim(self.miss, self.y, J, tolerance, self._lengths, here=here, most=GLANCES)
        misled = np.linalg.norm(found.miss) > WORTH * np.linalg.norm(here) and len(self.y) <= FEW
        self._moves += 1
        if misled and self._moves >= APART:
            found.jacobian, self._moves = self.slopes(found.x), 0
        return found

    def _aimed(self, here: Array, tolerance: float, far: bool) -> Aim:
        """By strong directions first where there are several vertices, and by all where those do not do."""
        if len(self.y) <= 3:
            return self._tried(here, tolerance, far, 0.0, NEAR * tolerance)
        enough = REACHED / LANDED * tolerance
        found = self._tried(here, tolerance, far, STEADY, enough)
        if np.abs(found.miss).max() <= enough:
            return found
        again = self._tried(here, tolerance, far, 0.0, NEAR * tolerance)
        again.looks = found.looks + again.looks[1:]
        return again

    def _tried(self, here: Array, tolerance: float, far: bool, steady: float, enough: float) -> Aim:
        """With what was learned, and where that misleads with differences taken anew, as long as it is worth it."""
        slopes = self.slopes if far and len(self.y) <= FEW else None
        J = self._jacobian if self._jacobian is not None else self.slopes(self.y)
        found = aim(self.miss, self.y, J, tolerance, self._lengths, slopes, steady=steady, here=here)
        looks = found.looks
        for _ in range(ATTEMPTS):
            left = float(np.linalg.norm(found.miss))
            if np.abs(found.miss).max() <= enough:
                break
            fresh = self.slopes(found.x)
            found = aim(self.miss, found.x, fresh, tolerance, self._lengths, slopes, steady=steady, here=found.miss)
            looks = looks + found.looks[1:]
            if np.linalg.norm(found.miss) > WORTH * left:
                break
        found.looks = looks
        return found

    def _stepwise(self, y: Array, tolerance: float) -> Aim:
        """From y to the target in parts of the way, with differences taken anew: large bends need it."""
        gap, J, looks = self.miss(y), self.slopes(y), list[float]()
        part = ROUGHLY * float(np.abs(gap).max()) / PARTS
        for left in np.linspace(1.0, 0.0, PARTS + 1)[1:]:

            def miss(at: Array, rest: Array = left * gap) -> Array:
                whole = self.miss(at)
                looks.append(float(np.abs(whole).max()))
                return whole - rest

            near = tolerance if left == 0.0 else max(tolerance, part)
            found = aim(miss, y, J, near, self._lengths)
            missed = np.abs(found.miss).max() > near
            y, J = found.x, self.slopes(found.x) if missed and left > 0.0 else found.jacobian
        return Aim(y, self.miss(y), J, looks)


def meet_all(subject: Subject, rows: Rows, holds: Sequence[Hold], mine: Sequence[IndexArray]) -> Array:
    """Targets (c,) of all rows that bring holds of any frames, with rows `mine`, where they belong.

    Rows of others keep their share of the energy, and follow with their targets.
    """
    every, counts = np.concatenate(list(mine)), [len(rows_of) for rows_of in mine]
    # the unknowns are the rows of the holds one after another; those of a hold among them
    parts = np.split(np.arange(len(every)), np.cumsum(counts)[:-1])
    unit, w = np.repeat(scales(subject, holds), counts), rows.whitened(rows.targets)
    J = np.zeros((len(every), len(every)))
    for frame in {hold.frame for hold in holds}:
        at = [k for k, hold in enumerate(holds) if hold.frame == frame]
        here = np.concatenate([parts[k] for k in at])
        grip = Grip(subject, rows, [holds[k] for k in at], every[here])
        # by the targets of a frame's own rows alone; how whitened ones move those of all frames is known
        J[np.ix_(here, here)] = np.linalg.solve(rows.factor(every[here]).T, grip.slopes(grip.y).T).T
    lengths = rows.factor(every) / unit[:, None]
    J = J @ rows.factor(every) / unit[:, None]

    def miss(y: Array) -> Array:
        w[every] = y
        return np.concatenate(missed(subject, rows, rows.multipliers_of(w[:, None])[:, 0], holds)) / unit

    w[every] = aim(miss, w[every].copy(), J, LANDED, lengths).x
    return rows.colored(w, np.arange(len(rows)))
