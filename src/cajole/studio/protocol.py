"""What the page and the server say to each other, as bytes: docs/studio-protocol.md is the contract."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from difflib import get_close_matches
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.checks import require_finite_result
from cajole.errors import CajoleError, Cancelled, InputError, MissingExtra, SolveError
from cajole.studio.locks import FolderLocked

PROTOCOL_VERSION = 1
MAGIC = 0x314C4A43
HEADER = struct.Struct("<8I")
# inbound: the page sends small JSON only
MAX_TEXT_LENGTH, MAX_NESTING, MAX_REQUESTED_FRAMES = 1_000_000, 8, 32
STREAMS = ("result", "given", "other")
MODE_NAMES = ("edit", "keyframe", "steer", "enrich", "reroute")
# JavaScript counts exactly up to here
MAX_SAFE_INTEGER = 2**53 - 1

# name -> its values; those with a question mark may be left out
_COMMAND_SPECS = {
    "hello": "proto token?", "catalogue": "", "open": "scene? upload? project? mode? copy?", "close": "",
    "takeover": "", "mode": "mode hand?", "frame": "frame", "frames": "stream list", "ack": "seq", "got": "",
    "select": "nodes", "undo": "", "redo": "", "cancel": "job", "stop": "job", "rename": "name", "forget": "project",
    "export": "format what", "marker.move": "lane ids frames final", "marker.delete": "lane ids",
    "marker.copy": "lane ids frames", "marker.rename": "lane ids name",
    "drag.begin": "gesture nodes frame directions?", "drag.move": "gesture seq delta", "drag.commit": "gesture",
    "drag.cancel": "gesture", "place": "node frame position", "pin": "nodes frame",
    "tune": "h? alpha? beta? ends? energy? smoothness? window?", "reopen": "modes? warp? contacts?", "moves": "",
    "pull.begin": "gesture node add", "pull.move": "gesture seq force", "pull.commit": "gesture",
    "pull.cancel": "gesture", "load": "load strength? muted? remove?", "freeze": "", "pose.reset": "",
    "pose.pin": "nodes", "pose.unpin": "nodes", "gravity": "on", "key.capture": "frame name?",
    "key.set": "key hard? weight? name?", "key.load": "key",
    "dials": "effort? detail? frames? dt? loop? tracking? final?", "optimise": "", "compare": "with",
    "push.begin": "gesture node? at?", "push.move": "gesture seq force", "push.end": "gesture",
    "impulse": "node? at? force duration?", "push.repeat": "", "restart": "", "control": "on",
    "wind": "strength pace? seed?", "run": "play speed", "ghost": "of", "kick": "number", "smoke": "on",
    "shell": "levels", "regions": "kind? count? seed?", "paint": "on region nodes both?", "region.remove": "region",
    "cloth": "material? young? poisson? thickness? density? bending? mass? membrane? ripple? curvature? hardening? "
    "shape? amplitude? wavelength? along? gravity? wind? heading? rise? gusts? lumps? pressure? own? hold? "
    "collisions? friction? substeps? frames? seed?",
    "enrich": "",
    "pilot": "", "reroute": "", "goal.set": "goal window",
    "route": "method? alpha? reach? limit? within? stiffness? mass? damping? frames?",
}  # fmt: skip
COMMAND_FIELDS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    name: (
        frozenset(word for word in words.split() if not word.endswith("?")),
        frozenset(word.removesuffix("?") for word in words.split()),
    )
    for name, words in _COMMAND_SPECS.items()
}


class BinaryKind(IntEnum):
    """What a binary message holds."""

    TRIANGLES = 1
    VERTEX_COLORS = 2
    VERTEX_NODES = 3
    PROP = 4
    REGION_LABELS = 5
    LIVE_FRAME = 10
    RESULT_FRAME = 11
    INPUT_FRAME = 12
    COMPARISON_FRAME = 13


STREAM_KINDS = {
    "result": BinaryKind.RESULT_FRAME,
    "given": BinaryKind.INPUT_FRAME,
    "other": BinaryKind.COMPARISON_FRAME,
}


def decode_message(text: str | bytes) -> dict[str, Any]:
    """One text message as an object of finite numbers, text, truth values, lists and objects.

    Raises InputError for anything else: too long, too deep, not JSON, not an object, NaN or infinite.
    """
    if len(text) > MAX_TEXT_LENGTH:
        raise InputError(f"a message of {len(text)} characters is too long; {MAX_TEXT_LENGTH} are the most")
    try:
        message = json.loads(text, parse_constant=_reject_constant, parse_float=_parse_finite)
    except RecursionError:
        raise InputError(f"a message is nested too deeply; {MAX_NESTING} levels are the most") from None
    except ValueError as reason:
        raise InputError(f"a message is not JSON: {reason}; send one object a message") from None
    if not isinstance(message, dict):
        raise InputError(f"a message must be a JSON object, not {type(message).__name__}")
    _require_depth(message, MAX_NESTING)
    return message


def check_command(message: Mapping[str, Any]) -> str:
    """The name of a command whose version and names of values are right. Raises InputError where they are not."""
    if message.get("v") != PROTOCOL_VERSION or isinstance(message["v"], bool):
        raise InputError(
            f"v is {message.get('v')!r}, but this studio speaks version {PROTOCOL_VERSION}; reload the page"
        )
    name = message.get("do")
    if not isinstance(name, str) or name not in COMMAND_FIELDS:
        raise InputError(f"do is {_abbreviate(name)}, which is no command{_suggest(str(name), COMMAND_FIELDS)}")
    required, known = COMMAND_FIELDS[name]
    given = message.keys() - {"v", "do", "id"}
    for word in sorted(given - known):
        raise InputError(f"{name} takes no {_abbreviate(word)}{_suggest(word, known)}")
    for word in sorted(required - given):
        raise InputError(f"{name} needs {word}, which is missing")
    return name


def read_id(message: Mapping[str, Any]) -> int | None:
    """The number to answer under, None when the message has none or not a whole one."""
    number = message.get("id")
    whole = isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MAX_SAFE_INTEGER
    return number if whole else None


def encode_message(message: Mapping[str, Any]) -> str:
    """A message as JSON; NumPy's numbers and arrays become plain ones. Raises SolveError for NaN and infinity."""
    try:
        return json.dumps(message, allow_nan=False, separators=(",", ":"), default=_to_plain)
    except ValueError as reason:
        raise SolveError(f"a message would hold a number that is not finite ({reason}); undo the last step") from None


def build_error(error: BaseException, request_id: int | None = None, code: str | None = None) -> dict[str, Any]:
    """The answer that tells what went wrong and what to do; errors of Cajole say both, others are a surprise."""
    message: dict[str, Any] = {"is": "error", "code": code or _get_error_code(error)}
    if isinstance(error, CajoleError):
        text, _, remedy = str(error).partition("; ")
        message |= {"text": text, "remedy": remedy} if remedy else {"text": text}
    elif isinstance(error, MemoryError):
        message |= {"text": "there is not enough memory for this", "remedy": "use fewer modes, frames or vertices"}
    else:
        message |= {"text": "something unexpected went wrong", "remedy": "undo, or reopen the project; nothing is lost"}
    return message if request_id is None else message | {"id": request_id}


def pack_binary(
    kind: BinaryKind,
    data: NDArray[Any],
    *more: NDArray[Any],
    seq: int = 0,
    frame: int = 0,
    flags: int = 0,
    revision: int = 0,
    extra: int = 0,
) -> bytes:
    """A binary message: the header, then the arrays as they lie in memory; count is the first one's length."""
    header = HEADER.pack(MAGIC, kind, seq & 0xFFFFFFFF, frame, len(data), flags, revision & 0xFFFFFFFF, extra)
    return b"".join([header, *(np.ascontiguousarray(array).tobytes() for array in (data, *more))])


def to_float32(positions: NDArray[np.float64]) -> NDArray[np.float32]:
    """Positions (k, 3) [m] in single precision. Raises SolveError where they do not fit."""
    with np.errstate(over="ignore"):
        rounded = np.asarray(positions, dtype="<f4")
    require_finite_result(rounded, "the shape")
    return rounded


def _reject_constant(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _parse_finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"{word[:20]} is too large a number")
    return number


def _require_depth(value: Any, levels: int) -> None:
    if not isinstance(value, dict | list):
        return
    if levels == 0:
        raise InputError(f"a message is nested too deeply; {MAX_NESTING} levels are the most")
    for part in value.values() if isinstance(value, dict) else value:
        _require_depth(part, levels - 1)


def _abbreviate(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _suggest(word: str, known: Any) -> str:
    near = get_close_matches(word[:40], list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _to_plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _get_error_code(error: BaseException) -> str:
    for kind, code in (
        (Cancelled, "cancelled"),
        (MissingExtra, "missing"),
        (FolderLocked, "locked"),
        (InputError, "input"),
        (SolveError, "solve"),
    ):
        if isinstance(error, kind):
            return code
    return "internal"
