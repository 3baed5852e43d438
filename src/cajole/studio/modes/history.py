"""What can be undone: moments, each with what led away from it, and the modes that go back and forth between them."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from cajole.errors import InputError
from cajole.studio import take
from cajole.studio.content import Content
from cajole.studio.modes.base import Desk, Handler, Message, Mode

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


class ModeUndo(Mode, Generic[Moment]):
    """A mode in which vertices are selected, and what was done is undone."""

    desk: Desk
    content: Content
    history: History[Moment]
    selected: list[int]

    @abstractmethod
    def moment(self) -> Moment:
        """All that undo brings back, as it is now."""

    @abstractmethod
    def return_to(self, moment: Moment) -> None:
        """Be as in that moment, and tell the tabs."""

    def attempt(
        self, label: str, work: Callable[[], object], become: Callable[[Moment], None], *, join: bool = False
    ) -> Moment:
        """One step of undo, or more of the last one; the moment before it, to which `become` leads where it fails."""
        before = self.moment()
        try:
            work()
        except BaseException:
            become(before)
            raise
        self.history.add(label, before, join=join)
        return before

    def settle(self) -> None:
        """End what is in the hand before a step of undo, or raise InputError where the author must."""

    @property
    def common(self) -> dict[str, Handler]:
        """The handlers that all such modes have."""
        return {
            "select": self._select,
            "undo": lambda _: self._travel(self.history.back),
            "redo": lambda _: self._travel(self.history.forth),
        }

    def _select(self, message: Message) -> None:
        self.selected = take.nodes(message, "nodes", len(self.content.mesh.vertices), least=0)
        self.desk.changed(motion=False)

    def _travel(self, way: Callable[[Moment], Moment | None]) -> None:
        self.settle()
        there = way(self.moment())
        if there is None:
            raise InputError("there is nothing to take back, or to do again")
        self.return_to(there)
