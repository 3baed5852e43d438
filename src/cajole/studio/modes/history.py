"""What can be undone: moments, each with what led away from it."""

from __future__ import annotations

import time
from typing import Generic, TypeVar

Moment = TypeVar("Moment")

# Steps that are kept; beyond them the oldest go.
MOST = 200
# A slider under the hand sends many values: steps of one name that follow each other within so long [s] are one.
TOGETHER = 1.5


class History(Generic[Moment]):
    """Moments to go back and forth between."""

    def __init__(self) -> None:
        self._past, self._future = list[tuple[str, Moment]](), list[tuple[str, Moment]]()
        self._joined = -TOGETHER

    @property
    def undo_label(self) -> str | None:
        """What going back would take back."""
        return self._past[-1][0] if self._past else None

    @property
    def redo_label(self) -> str | None:
        """What going forth would do again."""
        return self._future[-1][0] if self._future else None

    def add(self, label: str, before: Moment, *, join: bool = False) -> None:
        """Something was done that led away from `before`; join: it goes on what was just done under the same name."""
        now = time.monotonic()
        goes_on = join and not self._future and self.undo_label == label and now - self._joined < TOGETHER
        self._joined = now if join else -TOGETHER
        if not goes_on:
            self._past = [*self._past, (label, before)][-MOST:]
            self._future.clear()

    def back(self, now: Moment) -> Moment | None:
        """The moment before the last step; None when there is none."""
        return self._travel(self._past, self._future, now)

    def forth(self, now: Moment) -> Moment | None:
        """The moment after the step that was undone last; None when there is none."""
        return self._travel(self._future, self._past, now)

    @staticmethod
    def _travel(source: list[tuple[str, Moment]], target: list[tuple[str, Moment]], now: Moment) -> Moment | None:
        if not source:
            return None
        label, moment = source.pop()
        target.append((label, now))
        return moment
