"""Letters are answered: once each, with what came of them or with what went wrong; the project lives on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from cajole.errors import CajoleError, Cancelled
from cajole.studio.jobs import JobTracker
from cajole.studio.protocol import PROTOCOL_VERSION, build_error, read_id
from cajole.studio.solver_thread import QueuedCommand, Reply

LOG = logging.getLogger("cajole.studio")
# what puts back what is in the hand
CANCEL_COMMANDS = {"drag": "drag.cancel", "pull": "pull.cancel", "push": "push.end"}


class CommandDispatcher:
    """Has letters done by `do`, what was done kept by `keep`, which says why that failed, and then answers them."""

    def __init__(
        self,
        run_command: Callable[[Mapping[str, Any]], Mapping[str, Any] | None],
        save: Callable[[], str | None],
        jobs: JobTracker,
    ):
        self._run_command, self._save, self._jobs = run_command, save, jobs
        self._current: QueuedCommand | None = None
        self._reply: Reply = lambda answer: None
        self._failed_key: object = None
        self._pending_cancel: dict[str, Any] | None = None

    def handle(self, command: QueuedCommand) -> None:
        """Do what a message says; what was done is kept before it is answered, or the answer says that it is not."""
        self._current, self._reply = command, command.reply
        try:
            answer = dict(self._run_command(command.message) or {})
            self._track_drag(command.message)
            self._jobs.end("done")
        except Cancelled as error:
            self._jobs.end_with_error(error)
            answer = {"cancelled": True}
        except Exception as error:
            self._jobs.end_with_error(error)
            if not isinstance(error, CajoleError):
                LOG.exception("%s failed", command.message.get("do"))
            answer = build_error(error, read_id(command.message))
        unsaved = self._save()
        if unsaved is not None and answer.get("is") != "error":
            answer |= {"unsaved": unsaved}
        self._reply_once(answer)

    def reply_with_job(self) -> None:
        """What the letter in hand asks for takes long: its sender hears of the job from now on."""
        job = self._jobs.current
        self._reply_once({} if job is None else {"job": job["job"]})

    def send_to_sender(self, message: Mapping[str, Any]) -> None:
        """A message beside the answer, to whoever sent the letter in hand and to nobody else."""
        self._reply(message)

    def pop_pending_cancel(self) -> Mapping[str, Any] | None:
        """The message that puts back what is in the hand, for when its tab is gone; None when the hand is empty."""
        held, self._pending_cancel = self._pending_cancel, None
        return held

    def _reply_once(self, answer: Mapping[str, Any]) -> None:
        letter, self._current = self._current, None
        if letter is None:
            return
        is_error = answer.get("is") == "error"
        # of a stream that goes wrong only the first mistake is told
        if not (is_error and letter.coalescing_key is not None and letter.coalescing_key == self._failed_key):
            letter.reply(answer)
        self._failed_key = letter.coalescing_key if is_error else None

    def _track_drag(self, message: Mapping[str, Any]) -> None:
        verb, _, step = str(message["do"]).partition(".")
        if verb in CANCEL_COMMANDS and step == "begin":
            self._pending_cancel = {"v": PROTOCOL_VERSION, "do": CANCEL_COMMANDS[verb], "gesture": message["gesture"]}
        elif verb in CANCEL_COMMANDS and step in ("commit", "cancel", "end"):
            self._pending_cancel = None
