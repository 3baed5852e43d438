"""Bringing held vertices where they belong, through the warp: linear targets are found that make them land.

A hold asks for a place in the warped motion, its rows are linear. Holds of one frame are moved by a `Grip`, which knows
what each of their rows does to that frame and learns how their vertices answer. Holds of several frames at once are met
together, started from the Jacobians that each frame has on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cajole.direct.editing.aim import Aim, aim
from cajole.direct.editing.constraints import Rows
from cajole.direct.editing.holds import Hold
from cajole.direct.editing.subject import Subject

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# A held vertex has landed when it is this close, as a share of how far the edit takes it.
LANDED = 1e-4
# Step of the differences that start the Jacobian of a target, and the least change that counts as one, in body sizes.
NUDGE = 1e-5
# What is held in place, or moved little, must stay to LANDED of this share of the largest change.
FAINT = 1e-2
# Parts of the way, where a target that is FAR [body sizes] is not met in one go, and the share of a part that may be
# missed on the way.
PARTS, ROUGHLY, FAR = 8, 0.05, 0.02


@dataclass(frozen=True)
class Landing:
    """How a drag ended: missed, the farthest that a held vertex is from its place, as a share of how far it was taken;
    misses: the same after each look at the dragged vertices, the first before any correction.
    """

    missed: float
    misses: tuple[float, ...]

    @property
    def reached(self) -> bool:
        return self.missed <= 10 * LANDED

    def __str__(self) -> str:
        if self.reached:
            return f"landed to {self.missed:.1e} of the drag"
        return (
            f"could not be reached: {100 * self.missed:.2g} % of the drag is left; the body does not reach that far, "
            "or other constraints or contacts hold it back. Drag less far, use more modes, or bake and continue"
        )


def asked(subject: Subject, hold: Hold) -> Array:
    """(3,) [m] the change that a hold asks for, in the own directions of its frame."""
    given = subject.given(hold.frame)
    there = given[hold.vertex] if hold.other < 0 else given[hold.vertex] - given[hold.other]
    return (hold.target - there) @ subject.turn(hold.frame)


def scales(subject: Subject, holds: Sequence[Hold]) -> Array:
    """(k,) [m] how far each hold takes its vertex; at least a share of the farthest, and more than rounding."""
    far = np.array([np.linalg.norm(asked(subject, hold)) for hold in holds])
    return np.maximum(far, max(FAINT * far.max(initial=0.0), NUDGE * subject.size))


def misses(subject: Subject, holds: Sequence[Hold], change: Array) -> Array:
    """How far the rows of holds of one frame are from what they ask for, under a linear change (n, 3) of it."""
    frame = holds[0].frame
    vertices = [hold.vertex for hold in holds] + [hold.other for hold in holds if hold.other >= 0]
    seen = subject.seen(frame, change, vertices)
    others = iter(seen[len(holds) :])
    turn, out = subject.turn(frame), list[Array]()
    for hold, moved in zip(holds, seen):
        there = moved - next(others) if hold.other >= 0 else moved
        out.append(hold.directions @ (turn @ (there - asked(subject, hold))))
    return np.concatenate(out)


class Grip:
    """Holds of one frame with the hand on them.

    rows: all rows of the edit; mine: which of them belong to the holds, in order. The linear change of the frame is
    base + Σ x_k unit_k, x the linear targets of these rows; everything else stays as it is.
    """

    def __init__(self, subject: Subject, rows: Rows, holds: Sequence[Hold], mine: Index):
        self.subject, self.holds, self.frame = subject, list(holds), holds[0].frame
        targets = np.zeros((len(rows), len(mine) + 1))
        targets[:, 0] = rows.targets
        targets[mine, 0] = 0.0
        targets[mine, np.arange(1, len(mine) + 1)] = 1.0
        made = subject.fields(rows.change(self.frame, rows.multipliers(targets)))
        self._base, self._units = made[0], np.ascontiguousarray(made[1:].reshape(len(mine), -1))
        self.x = rows.targets[mine].copy()
        self._jacobian: Array | None = None

    def change(self, x: Array) -> Array:
        """(n, 3) the linear change of the frame."""
        return self._base + (x @ self._units).reshape(self._base.shape)

    def miss(self, x: Array) -> Array:
        return misses(self.subject, self.holds, self.change(x))

    @property
    def jacobian(self) -> Array:
        """∂miss/∂x at x, by differences."""
        if self._jacobian is None:
            self._jacobian = self.slopes(self.x)
        return self._jacobian

    def slopes(self, x: Array) -> Array:
        nudge = NUDGE * self.subject.size
        here = self.miss(x)
        return np.stack([(self.miss(x + step) - here) / nudge for step in nudge * np.eye(len(x))], axis=1)

    def meet(self, holds: Sequence[Hold]) -> Aim:
        """Bring the same holds to other targets."""
        self.holds = list(holds)
        tolerance = LANDED * float(scales(self.subject, holds).max())
        first = self.x
        found = aim(self.miss, first, self.jacobian, tolerance)
        if np.abs(found.miss).max() > tolerance and found.looks[0] > FAR * self.subject.size:
            again = self._stepwise(first, tolerance)
            again.looks = found.looks + again.looks
            found = min(found, again, key=lambda each: float(np.linalg.norm(each.miss)))
        self.x, self._jacobian = found.x, found.jacobian
        return found

    def _stepwise(self, x: Array, tolerance: float) -> Aim:
        """From x to the target in parts of the way, with differences taken anew: large bends need it."""
        gap, J, looks = self.miss(x), self.slopes(x), list[float]()
        part = ROUGHLY * float(np.abs(gap).max()) / PARTS
        for left in np.linspace(1.0, 0.0, PARTS + 1)[1:]:

            def miss(at: Array, rest: Array = left * gap) -> Array:
                whole = self.miss(at)
                looks.append(float(np.abs(whole).max()))
                return whole - rest

            near = tolerance if left == 0.0 else max(tolerance, part)
            found = aim(miss, x, J, near)
            missed = np.abs(found.miss).max() > near
            x, J = found.x, self.slopes(found.x) if missed and left > 0.0 else found.jacobian
        return Aim(x, self.miss(x), J, looks)


def meet_all(subject: Subject, rows: Rows, holds: Sequence[Hold], mine: Sequence[Index]) -> Aim:
    """Bring holds of any frames where they belong, by the linear targets of their rows `mine`."""
    frames = sorted({hold.frame for hold in holds})
    at = {frame: [k for k, hold in enumerate(holds) if hold.frame == frame] for frame in frames}
    every = np.concatenate(list(mine))
    # the unknowns are the rows of the holds one after another; those of a frame among them
    starts = np.concatenate([[0], np.cumsum([len(rows_of) for rows_of in mine])])
    among = {frame: np.concatenate([np.arange(starts[k], starts[k + 1]) for k in at[frame]]) for frame in frames}
    unit = np.repeat(scales(subject, holds), [len(rows_of) for rows_of in mine])
    J = np.zeros((len(every), len(every)))
    for frame in frames:
        grip = Grip(subject, rows, [holds[k] for k in at[frame]], every[among[frame]])
        J[np.ix_(among[frame], among[frame])] = grip.jacobian

    def miss(x: Array) -> Array:
        targets = rows.targets.copy()
        targets[every] = x
        multipliers, out = rows.multipliers(targets), np.empty(len(x))
        z = np.stack([rows.change(frame, multipliers) for frame in frames], axis=1)
        for frame, change in zip(frames, subject.fields(z)):
            out[among[frame]] = misses(subject, [holds[k] for k in at[frame]], change)
        return out / unit

    return aim(miss, rows.targets[every].copy(), J / unit[:, None], LANDED)
