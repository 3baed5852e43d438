"""The linear side of an edit: its rows, those of contacts first, in step with what is held."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cajole.animation import Contacts
from cajole.arrays import Array, IndexArray
from cajole.direct.editing.constraints import STILL, Rows
from cajole.direct.editing.holds import Hold, Key
from cajole.direct.editing.spacetime import Settings, Spacetime
from cajole.direct.editing.subject import Subject


@dataclass(frozen=True, eq=False)
class Held:
    """A hold, the weights (k, r) of its rows, and the linear targets (k,) that bring it where it belongs."""

    hold: Hold
    weights: Array
    linear: Array


@dataclass(frozen=True, eq=False)
class State:
    """Everything that undo brings back."""

    held: dict[Key, Held]
    settings: Settings

    def with_held(self, *more: Held) -> State:
        """With more held, or the same elsewhere."""
        return replace(self, held={**self.held, **{each.hold.key: each for each in more}})

    def with_last(self, *more: Held) -> State:
        """With more held, after everything else: a hand moves the last rows."""
        mine = {each.hold.key: each for each in more}
        return replace(self, held={**{k: each for k, each in self.held.items() if k not in mine}, **mine})

    def without(self, key: Key) -> State:
        """With one hold less."""
        return replace(self, held={k: each for k, each in self.held.items() if k != key})


class Ledger:
    """Rows of the contacts that stand for all, and after them of what is held, in the order it was added."""

    def __init__(self, subject: Subject, settings: Settings, represented: Contacts | None):
        self.subject, self._represented = subject, represented
        self._order = list[Held]()
        self._settings = settings
        self.rows, self._contacts = self._begun(settings)

    @property
    def spacetime(self) -> Spacetime:
        return self.rows.spacetime

    def follow(self, state: State) -> None:
        """Have the rows of exactly what `state` holds, under its energy, with its linear targets."""
        if state.settings != self._settings:
            rows, contacts = self._begun(state.settings)
            self._settings, self.rows, self._contacts, self._order = state.settings, rows, contacts, []
        wanted = list(state.held.values())
        keep = _kept(self._order, wanted)
        if not all(keep):
            marks = [np.full(len(held.linear), mark) for held, mark in zip(self._order, keep)]
            self.rows.remove(np.concatenate([np.ones(self._contacts, dtype=bool), *marks]))
        for held in wanted[sum(keep) :]:
            self.rows.add(held.hold.frame, held.weights, held.linear)
        self._order = wanted
        if self._order:
            self.rows.targets[self._contacts :] = np.concatenate([held.linear for held in self._order])

    def mine(self, key: Key) -> IndexArray:
        """Indices of the rows of a hold."""
        start = self._contacts
        for held in self._order:
            if held.hold.key == key:
                return np.arange(start, start + len(held.linear))
            start += len(held.linear)
        raise KeyError(key)

    def redundant(self) -> tuple[Key, ...]:
        """Holds of which some direction follows from the rows before it."""
        late = set(self.rows.dependent.tolist())
        return tuple(held.hold.key for held in self._order if late & set(self.mine(held.hold.key).tolist()))

    def coordinates(self, frame: int) -> Array:
        """z (r,) of a frame."""
        if not len(self.rows):
            return np.zeros(self.spacetime.size)
        return self.rows.change(frame, self.rows.multipliers())

    def change(self, frame: int) -> Array:
        """The linear change (n, 3) of a frame."""
        return self.subject.fields(self.coordinates(frame)[:, None])[0]

    def _begun(self, settings: Settings) -> tuple[Rows, int]:
        """Rows of the contacts alone; those that follow from others, or that no mode moves, are left to the warp."""
        spacetime = Spacetime(self.subject.eigenvalues, self.subject.animation.frames, settings)
        rows, contacts = Rows(spacetime), self._represented
        if contacts is None:
            return rows, 0
        for frame in np.unique(contacts.frame):
            if not spacetime.first <= frame <= spacetime.last:
                continue
            directions, vertices, others = self.subject.contact_rows(contacts, int(frame))
            weights = np.empty((len(vertices), spacetime.size))
            for k, (n, vertex, other) in enumerate(zip(directions, vertices, others)):
                weights[k] = n @ self.subject.weights(int(vertex), int(other))
            moved = np.abs(weights).max(axis=1) > STILL * np.abs(self.subject.shapes).max()
            if moved.any():
                rows.add(int(frame), weights[moved], np.zeros(int(moved.sum())))
        keep = np.ones(len(rows), dtype=bool)
        keep[rows.dependent] = False
        if not keep.all():
            rows.remove(keep)
        return rows, len(rows)


def _kept(there: list[Held], wanted: list[Held]) -> list[bool]:
    """Which of the rows that are there begin those that are wanted, in their order; the others must be added anew."""
    keep, found = list[bool](), 0
    for held in there:
        keep.append(found < len(wanted) and held.weights is wanted[found].weights)
        found += keep[-1]
    return keep
