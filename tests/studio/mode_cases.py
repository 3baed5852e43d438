"""What tests of modes do with any of them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np

from cajole.studio.mode_registry import get_command_decoder
from cajole.studio.modes.base import StudioMode
from cajole.studio.protocol import Command, ServerMessage, encode_message


def command(name: str, /, **values: object) -> Command:
    """A message from the page, decoded as the server decodes it."""
    plain = json.dumps({"v": 1, "do": name, **values}, default=lambda value: np.asarray(value).tolist())
    return get_command_decoder().decode(plain)


def do(mode: StudioMode, name: str, /, **values: object) -> dict[str, Any]:
    """The answer to a message from the page."""
    wanted = command(name, **values)
    answer = mode.commands[type(wanted)](wanted)
    told = {} if answer is None else msgspec.json.decode(msgspec.json.encode(answer))
    return {key: value for key, value in told.items() if key not in ("is", "id")}


def plain_message(message: ServerMessage) -> dict[str, Any]:
    """A message, as it would go over the wire."""
    found: dict[str, Any] = json.loads(encode_message(message))
    return found


def plain(mode: StudioMode) -> dict[str, Any]:
    """The state, as it would go over the wire."""
    return plain_message(mode.build_state())
