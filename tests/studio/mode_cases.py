"""What tests of modes do with any of them."""

from __future__ import annotations

import json
from typing import Any

from cajole.studio.modes.base import StudioMode


def do(mode: StudioMode, command: str, /, **values: object) -> dict[str, Any]:
    """The answer to a message from the page."""
    return dict(mode.commands[command]({"v": 1, "do": command, **values}) or {})


def plain(mode: StudioMode) -> dict[str, Any]:
    """The state, as it would go over the wire."""
    state: dict[str, Any] = json.loads(json.dumps(mode.build_state(), allow_nan=False))
    return state
