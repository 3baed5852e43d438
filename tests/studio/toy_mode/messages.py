"""Messages of the toy mode."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from cajole.studio.messages import StateMessage
from cajole.studio.protocol import Answer, Command


class StretchAnswer(Answer, frozen=True, kw_only=True, tag="done"):
    """Answer with the factor before."""

    before: float


class SetStretch(Command, frozen=True, kw_only=True, tag="stretch"):
    """Set the factor."""

    answer: ClassVar[type[Answer]] = StretchAnswer
    factor: Annotated[float, Meta(ge=0.1, le=10.0)]


class StretchState(Struct, frozen=True):
    """State of the toy mode."""

    factor: float


class StretchStateMessage(StateMessage, frozen=True, kw_only=True, tag="state"):
    """State message while the toy mode is active."""

    stretch: StretchState
