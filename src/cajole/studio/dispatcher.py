"""Executes commands on the solver thread and answers each of them once."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec
from msgspec import UNSET

from cajole.errors import CajoleError, Cancelled
from cajole.studio.jobs import JobTracker
from cajole.studio.protocol import PROTOCOL_VERSION, Answer, Command, ErrorMessage, ServerMessage, build_error
from cajole.studio.solver_thread import QueuedCommand

LOG = logging.getLogger("cajole.studio")


class CommandDispatcher:
    """Executes commands by `run_command`, saves by `save` (which returns why that failed), and then answers."""

    def __init__(
        self, run_command: Callable[[Command], Answer | None], save: Callable[[], str | None], jobs: JobTracker
    ):
        self._run_command, self._save, self._jobs = run_command, save, jobs
        self._unanswered: QueuedCommand | None = None
        self._current: QueuedCommand | None = None
        self._failed_key: object = None
        self._pending_cancel: Command | None = None

    def handle(self, queued: QueuedCommand) -> None:
        """Execute a command and save what changed before it is answered; the answer tells if saving failed."""
        self._current = self._unanswered = queued
        command = queued.command
        answer: Answer | ErrorMessage
        try:
            answer = self._run_command(command) or Answer()
            self._track_gesture(command)
            self._jobs.end("done")
        except Cancelled as error:
            self._jobs.end_with_error(error)
            answer = Answer(cancelled=True)
        except Exception as error:
            self._jobs.end_with_error(error)
            if not isinstance(error, CajoleError):
                LOG.exception("%s failed", command.name)
            answer = build_error(error, command.id)
        unsaved = self._save()
        if unsaved is not None and isinstance(answer, Answer):
            answer = msgspec.structs.replace(answer, unsaved=unsaved)
        self._answer_once(answer)

    def reply_with_job(self) -> None:
        """Answer the current command now: it became the current job."""
        job = self._jobs.current
        self._answer_once(Answer(job=UNSET if job is None else job.job))

    def send_to_sender(self, message: ServerMessage) -> None:
        """Send a message beside the answer, to the sender of the current command alone."""
        if self._current is not None:
            self._current.reply(message)

    def pop_pending_cancel(self) -> Command | None:
        """The command that cancels the active gesture, for when its page disconnects; None without a gesture."""
        cancel, self._pending_cancel = self._pending_cancel, None
        return cancel

    def _answer_once(self, answer: Answer | ErrorMessage) -> None:
        queued, self._unanswered = self._unanswered, None
        if queued is None:
            return
        key = queued.command.coalescing_key
        is_error = isinstance(answer, ErrorMessage)
        # of consecutive errors in one stream only the first is sent
        if not (is_error and key is not None and key == self._failed_key):
            queued.reply(answer if is_error else msgspec.structs.replace(answer, id=queued.command.id))
        self._failed_key = key if is_error else None

    def _track_gesture(self, command: Command) -> None:
        if command.cancel_command is not None:
            self._pending_cancel = command.cancel_command(v=PROTOCOL_VERSION, gesture=command.gesture)  # type: ignore
        elif command.ends_gesture:
            self._pending_cancel = None
