"""Values of a message, each checked: `take.integer(message, "frame", 0, last)`.

All raise InputError with which value, of which message, and what is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.errors import InputError

Message = Mapping[str, Any]
# what JSON numbers may be: beyond, forces and positions overflow on the way
MAX_MAGNITUDE = 1e12
MAX_NODES, MAX_NAME_LENGTH = 100_000, 120


class HasGestureNumber(Protocol):
    """A gesture, by the number that the page gave it."""

    number: int


AnyGesture = TypeVar("AnyGesture", bound=HasGestureNumber)


def read_integer(message: Message, name: str, minimum: int = 0, maximum: int = 2**31 - 1) -> int:
    """A whole number in [least, most]."""
    return checks.require_integer(
        _require_value(message, name), _format_name(message, name), minimum=minimum, maximum=maximum
    )


def read_number(message: Message, name: str, minimum: float = -MAX_MAGNITUDE, maximum: float = MAX_MAGNITUDE) -> float:
    """A finite number in [least, most]."""
    given = _require_value(message, name)
    if isinstance(given, list | dict):
        raise InputError(f"{_format_name(message, name)} must be one number")
    value = checks.require_real_number(given, _format_name(message, name))
    if not minimum <= value <= maximum:
        raise InputError(f"{_format_name(message, name)} is {value:g}, but must be between {minimum:g} and {maximum:g}")
    return value


def read_vector(message: Message, name: str) -> NDArray[np.float64]:
    """Three finite numbers (3,)."""
    value = _require_value(message, name)
    if not isinstance(value, list) or any(isinstance(x, bool) or not isinstance(x, int | float) for x in value):
        raise InputError(f"{_format_name(message, name)} must be a list of three numbers")
    found = checks.require_real_array(value, _format_name(message, name), (3,))
    if np.abs(found).max() > MAX_MAGNITUDE:
        raise InputError(
            f"{_format_name(message, name)} reaches {np.abs(found).max():g}, beyond {MAX_MAGNITUDE:g}; send less"
        )
    return found


def read_flag(message: Message, name: str, default: bool | None = None) -> bool:
    """True or false; `default` where it is left out, when there is one."""
    if default is not None and name not in message:
        return default
    value = _require_value(message, name)
    if not isinstance(value, bool):
        raise InputError(f"{_format_name(message, name)} is {value!r}, but must be true or false")
    return value


def read_text(message: Message, name: str, max_length: int = MAX_NAME_LENGTH) -> str:
    """Text of at least one letter, without control characters."""
    value = _require_value(message, name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{_format_name(message, name)} must be text of at least one letter")
    if len(value) > max_length or not value.isprintable():
        raise InputError(f"{_format_name(message, name)} must be at most {max_length} printable characters")
    return value.strip()


def read_choice(message: Message, name: str, choices: tuple[str, ...]) -> str:
    """One of some words."""
    value = _require_value(message, name)
    return checks.require_choice(value if isinstance(value, str) else repr(value), _format_name(message, name), choices)


def read_integers(
    message: Message, name: str, limit: int, *, min_count: int = 1, max_count: int = MAX_NODES
) -> list[int]:
    """`least` to `most` whole numbers from 0 below `limit`: nodes or frames."""
    value = _read_list(message, name, min_count, max_count)
    return [int(i) for i in checks.require_index_array(value, _format_name(message, name), (None,), limit)]


def read_vertices(message: Message, name: str, limit: int, *, min_count: int = 1) -> list[int]:
    """Different vertices of the body below `limit`, in the order given."""
    return list(dict.fromkeys(read_integers(message, name, limit, min_count=min_count)))


def read_texts(message: Message, name: str, *, min_count: int = 1, max_count: int = 10_000) -> list[str]:
    """Words, ids for example."""
    value = _read_list(message, name, min_count, max_count)
    for each in value:
        if not isinstance(each, str) or not 0 < len(each) <= MAX_NAME_LENGTH:
            raise InputError(f"{_format_name(message, name)} holds {each!r}, but must be ids, as the state has them")
    return value


def require_active_gesture(message: Message, active: AnyGesture | None) -> AnyGesture:
    """The gesture in the hand, if it is the one that the message is of."""
    wanted = read_integer(message, "gesture")
    if active is None or active.number != wanted:
        raise InputError(f"gesture {wanted} of {message.get('do')} has ended or never began; begin it again")
    return active


def _read_list(message: Message, name: str, min_count: int, max_count: int) -> list[Any]:
    value = _require_value(message, name)
    if not isinstance(value, list) or not min_count <= len(value) <= max_count:
        raise InputError(f"{_format_name(message, name)} must be a list of {min_count} to {max_count} entries")
    return value


def _require_value(message: Message, name: str) -> Any:
    if name not in message:
        raise InputError(f"{message.get('do', 'the message')} needs {name}, which is missing")
    return message[name]


def _format_name(message: Message, name: str) -> str:
    return f"{name} of {message['do']}" if "do" in message else name
