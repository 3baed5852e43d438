"""The linear side of an edit: its rows, those of contacts first, in step with what is held."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Contacts
from cajole.direct.editing.constraints import STILL, Rows
from cajole.direct.editing.holds import Hold, Key
from cajole.direct.editing.spacetime import Settings, Spacetime
from cajole.direct.editing.subject import Subject

Array = NDArray[np.float64]
Index = NDArray[np.int64]


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
        return replace(self, held={**self.held, **{each.hold.key: each for each in more}})

    def without(self, key: Key) -> State:
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
        wanted = {id(held.weights) for held in state.held.values()}
        keep = [id(held.weights) in wanted for held in self._order]
        if not all(keep):
            marks = [np.full(len(held.linear), mark) for held, mark in zip(self._order, keep)]
            self.rows.remove(np.concatenate([np.ones(self._contacts, dtype=bool), *marks]))
        there = {id(held.weights) for held, mark in zip(self._order, keep) if mark}
        by_weights = {id(held.weights): held for held in state.held.values()}
        self._order = [by_weights[id(held.weights)] for held, mark in zip(self._order, keep) if mark]
        for held in state.held.values():
            if id(held.weights) not in there:
                self.rows.add(held.hold.frame, held.weights, held.linear)
                self._order.append(held)
        if self._order:
            self.rows.targets[self._contacts :] = np.concatenate([held.linear for held in self._order])

    def mine(self, key: Key) -> Index:
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
