"""Letters are answered: once each, with what came of them or with what went wrong; the project lives on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from cajole.errors import CajoleError, Cancelled
from cajole.studio.jobs import Jobs
from cajole.studio.protocol import PROTO, failure, id_of
from cajole.studio.solver import Letter, Reply

LOG = logging.getLogger("cajole.studio")
# what puts back what is in the hand
GESTURES = {"drag": "drag.cancel", "pull": "pull.cancel", "push": "push.end"}


class Clerk:
    """Has letters done by `do`, what was done kept by `keep`, which says why that failed, and then answers them."""

    def __init__(
        self, do: Callable[[Mapping[str, Any]], Mapping[str, Any] | None], keep: Callable[[], str | None], jobs: Jobs
    ):
        self._do, self._keep, self._jobs = do, keep, jobs
        self._letter: Letter | None = None
        self._reply: Reply = lambda answer: None
        self._mistaken: object = None
        self._gesture: dict[str, Any] | None = None

    def handle(self, letter: Letter) -> None:
        """Do what a message says; what was done is kept before it is answered, or the answer says that it is not."""
        self._letter, self._reply = letter, letter.reply
        try:
            answer = dict(self._do(letter.message) or {})
            self._hold(letter.message)
            self._jobs.end("done")
        except Cancelled as error:
            self._jobs.end_with(error)
            answer = {"cancelled": True}
        except Exception as error:
            self._jobs.end_with(error)
            if not isinstance(error, CajoleError):
                LOG.exception("%s failed", letter.message.get("do"))
            answer = failure(error, id_of(letter.message))
        unsaved = self._keep()
        if unsaved is not None and answer.get("is") != "error":
            answer |= {"unsaved": unsaved}
        self._answer(answer)

    def answer_early(self) -> None:
        """What the letter in hand asks for takes long: its sender hears of the job from now on."""
        job = self._jobs.present
        self._answer({} if job is None else {"job": job["job"]})

    def tell(self, message: Mapping[str, Any]) -> None:
        """A message beside the answer, to whoever sent the letter in hand and to nobody else."""
        self._reply(message)

    def held(self) -> Mapping[str, Any] | None:
        """The message that puts back what is in the hand, for when its tab is gone; None when the hand is empty."""
        held, self._gesture = self._gesture, None
        return held

    def _answer(self, answer: Mapping[str, Any]) -> None:
        letter, self._letter = self._letter, None
        if letter is None:
            return
        is_error = answer.get("is") == "error"
        # of a stream that goes wrong only the first mistake is told
        if not (is_error and letter.key is not None and letter.key == self._mistaken):
            letter.reply(answer)
        self._mistaken = letter.key if is_error else None

    def _hold(self, message: Mapping[str, Any]) -> None:
        verb, _, step = str(message["do"]).partition(".")
        if verb in GESTURES and step == "begin":
            self._gesture = {"v": PROTO, "do": GESTURES[verb], "gesture": message["gesture"]}
        elif verb in GESTURES and step in ("commit", "cancel", "end"):
            self._gesture = None
