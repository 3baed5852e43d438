"""Undo history of a mode, and the base class of all modes with selection, undo and jobs."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from cajole.errors import InputError
from cajole.progress import ProgressCallback
from cajole.studio.content import ProjectContent
from cajole.studio.messages import NoticeMessage, Redo, Select, Undo
from cajole.studio.modes.base import Handlers, ModeHost, StudioMode
from cajole.studio.modes.settings import require_vertices

AnyUndoState = TypeVar("AnyUndoState")


class UndoHistory(Generic[AnyUndoState]):
    """States before each step and after each undone step, with the label of the step."""

    max_steps = 200
    # A slider sends many values: steps of the same label that follow each other within this time [s] are one step.
    join_interval = 1.5

    def __init__(self) -> None:
        self._past, self._future = list[tuple[str, AnyUndoState]](), list[tuple[str, AnyUndoState]]()
        self._last_join = -self.join_interval

    @property
    def undo_label(self) -> str | None:
        return self._past[-1][0] if self._past else None

    @property
    def redo_label(self) -> str | None:
        return self._future[-1][0] if self._future else None

    def record(self, label: str, before: AnyUndoState, *, join: bool = False) -> None:
        """Record a step that changed the state `before`; join: a step of the same label just before is continued."""
        now = time.monotonic()
        is_joined = join and not self._future and self.undo_label == label
        is_joined = is_joined and now - self._last_join < self.join_interval
        self._last_join = now if join else -self.join_interval
        if not is_joined:
            self._past = [*self._past, (label, before)][-self.max_steps :]
            self._future.clear()

    def step(self, current: AnyUndoState, *, is_redo: bool) -> AnyUndoState:
        """The state before the last step, or after the step that was undone last. Raises InputError without one."""
        source, target = (self._future, self._past) if is_redo else (self._past, self._future)
        if not source:
            raise InputError("there is nothing to take back, or to do again")
        label, state = source.pop()
        target.append((label, current))
        return state


class UndoableMode(StudioMode, Generic[AnyUndoState]):
    """A mode with selected vertices, undo, and at most one job.

    running_job: id of the job under way, None without one; current_frame: the frame that the first view shows.
    """

    def __init__(self, host: ModeHost, content: ProjectContent):
        self.host, self.content = host, content
        self.history: UndoHistory[AnyUndoState] = UndoHistory()
        self.selected: list[int] = []
        self.current_frame = 0
        self.running_job: str | None = None

    @abstractmethod
    def capture_state(self) -> AnyUndoState:
        """The present state, as far as undo restores it."""

    @abstractmethod
    def restore_fields(self, state: AnyUndoState) -> None:
        """Assign a state, without sending anything."""

    @abstractmethod
    def send_changes(self, before: AnyUndoState, label: str | None) -> None:
        """Send the difference between `before` and the present state; label: of the undo step, None without one."""

    def finish_interaction(self) -> None:
        """End the active drag before an undo step, or raise InputError if the user must end it."""

    @contextmanager
    def undo_step(self, label: str, *, join: bool = False) -> Iterator[None]:
        """Run the block as one undo step, or as part of the last one; its changes are reverted if it fails."""
        self.finish_interaction()
        before = self.capture_state()
        try:
            yield
        except BaseException:
            self.restore_fields(before)
            raise
        self.history.record(label, before, join=join)
        self.send_changes(before, label)

    @contextmanager
    def job(self, title: str, *, stoppable: bool = False, frames_changed: bool = True) -> Iterator[ProgressCallback]:
        """Run the block as a job; frames_changed: if streams show partial results while it runs."""
        progress = self.host.begin_job(title, stoppable=stoppable)
        self.running_job = self.host.job_id
        self.host.record_change(frames_changed=frames_changed)
        try:
            yield progress
        finally:
            self.running_job = None
            self.host.record_change()
        self.host.end_job()

    def describe_vertices(self, nodes: list[int]) -> str:
        """Name of one vertex, or the number of several."""
        return self.content.describe_vertex(nodes[0]) if len(nodes) == 1 else f"{len(nodes)} points"

    def warn(self, title: str, text: str) -> None:
        """Show a warning in every tab."""
        self.host.broadcast(NoticeMessage(tone="warn", title=title, text=text))

    @property
    def common_commands(self) -> Handlers:
        """Handlers of selection and undo."""
        return {
            Select: self._select,
            Undo: lambda _: self._step_history(is_redo=False),
            Redo: lambda _: self._step_history(is_redo=True),
        }

    def _select(self, command: Select) -> None:
        self.selected = require_vertices(command, len(self.content.mesh.vertices))
        self.host.record_change(frames_changed=False)

    def _step_history(self, *, is_redo: bool) -> None:
        self.finish_interaction()
        before = self.capture_state()
        self.restore_fields(self.history.step(before, is_redo=is_redo))
        self.send_changes(before, None)
