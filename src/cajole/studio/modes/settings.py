"""Changes to the settings of a mode, and checks of command values whose limits depend on what is open."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, get_args

import msgspec
from msgspec import Struct
from msgspec import inspect as types

from cajole import checks
from cajole.errors import InputError
from cajole.studio.protocol import Command, describe_type

AnySettings = TypeVar("AnySettings", bound=Struct)


def change_settings(settings: AnySettings, command: Command, **changes: Any) -> AnySettings:
    """The settings with the changes that a command asks for, which must fit the annotations of the fields.

    Raises InputError for a value that does not fit.
    """
    for each in msgspec.structs.fields(settings):
        if each.name not in changes:
            continue
        try:
            changes[each.name] = msgspec.convert(changes[each.name], each.type)
        except msgspec.ValidationError:
            value, wanted = changes[each.name], describe_type(types.type_info(each.type))
            raise InputError(f"{each.name} of {command.name} is {value}, but must be {wanted}") from None
    return msgspec.structs.replace(settings, **changes)


def require_member(choices: Any, value: str, label: str) -> Any:
    """A text that is one of a `Literal`. Raises InputError."""
    return checks.require_choice(value, label, get_args(choices))


def require_index(command: Command, name: str, count: int, *, first: int = 0) -> int:
    """A field of a command as an index in [first, count). Raises InputError."""
    label = f"{name} of {command.name}"
    return checks.require_integer(getattr(command, name), label, minimum=first, maximum=count - 1)


def require_frames(command: Any, count: int) -> list[int]:
    """`frames` of a command, each below `count`. Raises InputError."""
    found = checks.require_index_array(list(command.frames), f"frames of {command.name}", (None,), count)
    return [int(frame) for frame in found]


def require_vertices(command: Any, count: int) -> list[int]:
    """`nodes` of a command without duplicates, each below `count`, in the given order. Raises InputError."""
    found = checks.require_index_array(list(command.nodes), f"nodes of {command.name}", (None,), count)
    return list(dict.fromkeys(int(node) for node in found))


def require_range(command: Command, name: str, minimum: float, maximum: float) -> None:
    """Raise InputError if a field of a command is a number outside [minimum, maximum]."""
    value = getattr(command, name)
    if isinstance(value, int | float) and not minimum <= value <= maximum:
        raise InputError(f"{name} of {command.name} is {value:g}, but must be between {minimum:g} and {maximum:g}")


class HasNumber(Protocol):
    """A gesture, by the number that the page gave it."""

    number: int


AnyGesture = TypeVar("AnyGesture", bound=HasNumber)


def require_active_gesture(command: Any, active: AnyGesture | None) -> AnyGesture:
    """The active gesture, if the command is of it. Raises InputError."""
    if active is None or active.number != command.gesture:
        raise InputError(f"gesture {command.gesture} of {command.name} has ended or never began; begin it again")
    return active
