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
LARGEST = 1e12
MOST_NODES, LONGEST_NAME = 100_000, 120


class Numbered(Protocol):
    """A gesture, by the number that the page gave it."""

    number: int


Gesture = TypeVar("Gesture", bound=Numbered)


def integer(message: Message, name: str, least: int = 0, most: int = 2**31 - 1) -> int:
    """A whole number in [least, most]."""
    return checks.count(_given(message, name), _called(message, name), least=least, most=most)


def number(message: Message, name: str, least: float = -LARGEST, most: float = LARGEST) -> float:
    """A finite number in [least, most]."""
    given = _given(message, name)
    if isinstance(given, list | dict):
        raise InputError(f"{_called(message, name)} must be one number")
    value = checks.real_number(given, _called(message, name))
    if not least <= value <= most:
        raise InputError(f"{_called(message, name)} is {value:g}, but must be between {least:g} and {most:g}")
    return value


def vector(message: Message, name: str) -> NDArray[np.float64]:
    """Three finite numbers (3,)."""
    value = _given(message, name)
    if not isinstance(value, list) or any(isinstance(x, bool) or not isinstance(x, int | float) for x in value):
        raise InputError(f"{_called(message, name)} must be a list of three numbers")
    found = checks.real_array(value, _called(message, name), (3,))
    if np.abs(found).max() > LARGEST:
        raise InputError(f"{_called(message, name)} reaches {np.abs(found).max():g}, beyond {LARGEST:g}; send less")
    return found


def flag(message: Message, name: str, default: bool | None = None) -> bool:
    """True or false; `default` where it is left out, when there is one."""
    if default is not None and name not in message:
        return default
    value = _given(message, name)
    if not isinstance(value, bool):
        raise InputError(f"{_called(message, name)} is {value!r}, but must be true or false")
    return value


def text(message: Message, name: str, longest: int = LONGEST_NAME) -> str:
    """Text of at least one letter, without control characters."""
    value = _given(message, name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{_called(message, name)} must be text of at least one letter")
    if len(value) > longest or not value.isprintable():
        raise InputError(f"{_called(message, name)} must be at most {longest} printable characters")
    return value.strip()


def one_of(message: Message, name: str, choices: tuple[str, ...]) -> str:
    """One of some words."""
    value = _given(message, name)
    return checks.one_of(value if isinstance(value, str) else repr(value), _called(message, name), choices)


def integers(message: Message, name: str, limit: int, *, least: int = 1, most: int = MOST_NODES) -> list[int]:
    """`least` to `most` whole numbers from 0 below `limit`: nodes or frames."""
    value = _listed(message, name, least, most)
    return [int(i) for i in checks.index_array(value, _called(message, name), (None,), limit)]


def nodes(message: Message, name: str, limit: int, *, least: int = 1) -> list[int]:
    """Different vertices of the body below `limit`, in the order given."""
    return list(dict.fromkeys(integers(message, name, limit, least=least)))


def texts(message: Message, name: str, *, least: int = 1, most: int = 10_000) -> list[str]:
    """Words, ids for example."""
    value = _listed(message, name, least, most)
    for each in value:
        if not isinstance(each, str) or not 0 < len(each) <= LONGEST_NAME:
            raise InputError(f"{_called(message, name)} holds {each!r}, but must be ids, as the state has them")
    return value


def gesture(message: Message, present: Gesture | None) -> Gesture:
    """The gesture in the hand, if it is the one that the message is of."""
    wanted = integer(message, "gesture")
    if present is None or present.number != wanted:
        raise InputError(f"gesture {wanted} of {message.get('do')} has ended or never began; begin it again")
    return present


def _listed(message: Message, name: str, least: int, most: int) -> list[Any]:
    value = _given(message, name)
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise InputError(f"{_called(message, name)} must be a list of {least} to {most} entries")
    return value


def _given(message: Message, name: str) -> Any:
    if name not in message:
        raise InputError(f"{message.get('do', 'the message')} needs {name}, which is missing")
    return message[name]


def _called(message: Message, name: str) -> str:
    return f"{name} of {message['do']}" if "do" in message else name
