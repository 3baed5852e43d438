"""What can be undone: moments, each with what led away from it, and the modes that go back and forth between them."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from cajole.errors import InputError
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import Handler, Message, ModeHost, StudioMode

AnyUndoState = TypeVar("AnyUndoState")

# Steps that are kept; beyond them the oldest go.
MAX_STEPS = 200
# A slider under the hand sends many values: steps of one name that follow each other within so long [s] are one.
JOIN_INTERVAL = 1.5


class UndoHistory(Generic[AnyUndoState]):
    """Moments to go back and forth between."""

    def __init__(self) -> None:
        self._past, self._future = list[tuple[str, AnyUndoState]](), list[tuple[str, AnyUndoState]]()
        self._last_join = -JOIN_INTERVAL

    @property
    def undo_label(self) -> str | None:
        """What going back would take back."""
        return self._past[-1][0] if self._past else None

    @property
    def redo_label(self) -> str | None:
        """What going forth would do again."""
        return self._future[-1][0] if self._future else None

    def record(self, label: str, before: AnyUndoState, *, join: bool = False) -> None:
        """Something was done that led away from `before`; join: it goes on what was just done under the same name."""
        now = time.monotonic()
        goes_on = join and not self._future and self.undo_label == label and now - self._last_join < JOIN_INTERVAL
        self._last_join = now if join else -JOIN_INTERVAL
        if not goes_on:
            self._past = [*self._past, (label, before)][-MAX_STEPS:]
            self._future.clear()

    def undo(self, current: AnyUndoState) -> AnyUndoState | None:
        """The moment before the last step; None when there is none."""
        return self._swap(self._past, self._future, current)

    def redo(self, current: AnyUndoState) -> AnyUndoState | None:
        """The moment after the step that was undone last; None when there is none."""
        return self._swap(self._future, self._past, current)

    @staticmethod
    def _swap(
        source: list[tuple[str, AnyUndoState]], target: list[tuple[str, AnyUndoState]], current: AnyUndoState
    ) -> AnyUndoState | None:
        if not source:
            return None
        label, moment = source.pop()
        target.append((label, current))
        return moment


class UndoableMode(StudioMode, Generic[AnyUndoState]):
    """A mode in which vertices are selected, and what was done is undone."""

    host: ModeHost
    content: ProjectContent
    history: UndoHistory[AnyUndoState]
    selected: list[int]

    @abstractmethod
    def capture_state(self) -> AnyUndoState:
        """All that undo brings back, as it is now."""

    @abstractmethod
    def restore_state(self, state: AnyUndoState) -> None:
        """Be as in that moment, and tell the tabs."""

    def run_undoable(
        self, label: str, action: Callable[[], object], restore: Callable[[AnyUndoState], None], *, join: bool = False
    ) -> AnyUndoState:
        """One step of undo, or more of the last one; the moment before it, to which `become` leads where it fails."""
        before = self.capture_state()
        try:
            action()
        except BaseException:
            restore(before)
            raise
        self.history.record(label, before, join=join)
        return before

    def finish_interaction(self) -> None:
        """End what is in the hand before a step of undo, or raise InputError where the author must."""

    @property
    def common_commands(self) -> dict[str, Handler]:
        """The handlers that all such modes have."""
        return {
            "select": self._select,
            "undo": lambda _: self._step_history(self.history.undo),
            "redo": lambda _: self._step_history(self.history.redo),
        }

    def _select(self, message: Message) -> None:
        self.selected = message_values.read_vertices(message, "nodes", len(self.content.mesh.vertices), min_count=0)
        self.host.record_change(frames_changed=False)

    def _step_history(self, step: Callable[[AnyUndoState], AnyUndoState | None]) -> None:
        self.finish_interaction()
        there = step(self.capture_state())
        if there is None:
            raise InputError("there is nothing to take back, or to do again")
        self.restore_state(there)
