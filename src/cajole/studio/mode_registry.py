"""Which mode is at work under which name; each is loaded when it is first entered."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from cajole.checks import require_choice
from cajole.errors import InputError
from cajole.studio import messages
from cajole.studio.content import ProjectContent
from cajole.studio.content_loading import find_available_modes
from cajole.studio.modes.base import ModeHost, ModeSnapshot, StudioMode
from cajole.studio.protocol import Answer, Command, CommandDecoder, ErrorMessage, ServerMessage, get_tag

MODE_NAMES = ("edit", "keyframe", "steer", "enrich", "reroute")
AnyMessage = TypeVar("AnyMessage", bound=ServerMessage)


def list_message_modules() -> list[ModuleType]:
    """The modules with message classes: the shared one, then that of each mode."""
    return [messages, *(import_module(f"cajole.studio.modes.{mode}.messages") for mode in MODE_NAMES)]


def list_classes(module: ModuleType, kind: type[Any]) -> list[type[Any]]:
    """Subclasses of a class that a module defines, in their order."""
    return [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, kind) and each.__module__ == module.__name__
    ]


@cache
def get_command_decoder() -> CommandDecoder:
    """The decoder of the commands of all modes."""
    return CommandDecoder(each for module in list_message_modules() for each in list_classes(module, Command))


@cache
def _get_event_types() -> dict[str, type[ServerMessage]]:
    found: list[type[ServerMessage]] = [
        each for module in list_message_modules() for each in list_classes(module, ServerMessage)
    ]
    events: list[type[ServerMessage]] = [ErrorMessage]
    events += [each for each in found if not issubclass(each, Answer | messages.StateMessage)]
    return {get_tag(each): each for each in events}


def to_typed(message: ServerMessage | Mapping[str, Any], kind: type[Any] | None = None) -> Any:
    """A message as an instance of its class, where it is still a mapping."""
    if isinstance(message, ServerMessage):
        return message
    if kind is None:
        return msgspec.convert(dict(message), _get_event_types()[message["is"]])
    return msgspec.convert({"is": "state", **message}, kind)


def require_mode_name(name: str, label: str) -> str:
    """`name` if a mode has it. Raises InputError."""
    return require_choice(name, label, MODE_NAMES)


def choose_mode(content: ProjectContent, preferred: str | None = None) -> str:
    """The mode that is wanted, if it can be entered, else the first that can; "edit" to look only, if none can."""
    can = [mode for mode, chance in find_available_modes(content).items() if chance.possible]
    return preferred if preferred in can else can[0] if can else "edit"


def require_available(content: ProjectContent, mode: str) -> None:
    """Raise InputError, with the reason, for a mode that cannot be entered with what is open."""
    known = find_available_modes(content)
    if not known[mode].possible and (mode != "edit" or any(chance.possible for chance in known.values())):
        raise InputError(f"{content.name} cannot go to {mode.capitalize()}; {known[mode].why}")


def create_mode(name: str, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None) -> StudioMode:
    """A mode at work on `content`, going on where it was `saved`. Raises InputError where it cannot be entered."""
    require_available(content, name)
    if name == "edit" and not find_available_modes(content)["edit"].possible:
        from cajole.studio.modes.playback import PlaybackMode

        return PlaybackMode(host, content, snapshot)
    if name == "edit":
        from cajole.studio.modes.edit.mode import EditMode

        return EditMode(host, content, snapshot)
    if name == "keyframe":
        from cajole.studio.modes.keyframe.mode import KeyframeMode

        return KeyframeMode(host, content, snapshot)
    if name == "enrich":
        from cajole.studio.modes.enrich.mode import EnrichMode

        return EnrichMode(host, content, snapshot)
    if name == "reroute":
        from cajole.studio.modes.reroute.mode import RerouteMode

        return RerouteMode(host, content, snapshot)
    if content.flow_setup is not None:
        from cajole.studio.modes.steer.flow_mode import FlowSteerMode

        return FlowSteerMode(host, content, snapshot)
    from cajole.studio.modes.steer.body_mode import BodySteerMode

    return BodySteerMode(host, content, snapshot)
