"""The modes of the studio. `BUILT_IN_MODES` lists those of this package, entry points those of other packages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType

from cajole.checks import require_choice
from cajole.errors import InputError
from cajole.progress import ProgressCallback
from cajole.studio import messages
from cajole.studio.content import ProjectContent
from cajole.studio.messages import ModeAvailability
from cajole.studio.modes import edit, enrich, keyframe, reroute, steer
from cajole.studio.modes.base import ModeHost, ModeSnapshot, StudioMode
from cajole.studio.modes.definition import ModeDefinition, SceneCard
from cajole.studio.protocol import AnyStruct, Command, CommandDecoder

BUILT_IN_MODES = (
    edit.MODE,
    keyframe.MODE,
    steer.MODE,
    enrich.MODE,
    reroute.MODE,
)
ENTRY_POINT_GROUP = "cajole.studio_modes"


@cache
def get_modes() -> Mapping[str, ModeDefinition]:
    """All modes by name, in the order of the page's menu. Raises InputError if two have one name."""
    found: dict[str, ModeDefinition] = {}
    for mode in (*BUILT_IN_MODES, *(each.load() for each in entry_points(group=ENTRY_POINT_GROUP))):
        if found.setdefault(mode.name, mode) is not mode:
            raise InputError(f"two modes of the studio have the name {mode.name!r}; uninstall one of their packages")
    return found


def require_mode_name(name: str, label: str) -> str:
    """`name` if a mode has it. Raises InputError."""
    return require_choice(name, label, tuple(get_modes()))


# --- messages


def list_message_modules() -> list[ModuleType]:
    """The modules with message classes: the shared one, then that of each mode."""
    return [messages, *(import_module(mode.messages) for mode in get_modes().values())]


def list_classes(module: ModuleType, kind: type[AnyStruct]) -> list[type[AnyStruct]]:
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


# --- contents and scenes


def find_available_modes(content: ProjectContent) -> dict[str, ModeAvailability]:
    """The modes that can be entered with a content, and why the others cannot."""
    only_flows = ModeAvailability(False, "A flow can be steered; the other verbs are for bodies")
    return {
        name: mode.find_availability(content) if content.flow_setup is None or mode.accepts_flow else only_flows
        for name, mode in get_modes().items()
    }


def find_modes_for_mesh() -> dict[str, ModeAvailability]:
    """The modes that can be entered with a mesh that does not move."""
    still = ModeAvailability(False, "Nothing moves yet: make a motion with Keyframe, or open an animation")
    return {name: ModeAvailability(True) if mode.accepts_mesh else still for name, mode in get_modes().items()}


def choose_mode(content: ProjectContent, preferred: str | None = None) -> str:
    """`preferred` if it can be entered, else the first mode that can, else the one that only shows the content."""
    possible = [name for name, availability in find_available_modes(content).items() if availability.possible]
    if preferred in possible:
        return str(preferred)
    return next(iter(possible), next(name for name, mode in get_modes().items() if mode.is_fallback))


def require_available(content: ProjectContent, name: str) -> None:
    """Raise InputError, with the reason, for a mode that cannot be entered with a content."""
    known, mode = find_available_modes(content), get_modes()[name]
    is_needed = mode.is_fallback and not any(each.possible for each in known.values())
    if not known[name].possible and not is_needed:
        raise InputError(f"{content.name} cannot go to {mode.title}; {known[name].why}")


def create_mode(name: str, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None) -> StudioMode:
    """A mode for a prepared content, as it was when `snapshot` was taken. Raises InputError if it is not available."""
    require_available(content, name)
    return get_modes()[name].create(host, content, snapshot)


def open_scene(name: str, mode_name: str, progress: ProgressCallback | None = None) -> ProjectContent:
    """A built-in scene for a mode. Raises InputError for a name that the mode does not know, Cancelled."""
    mode = get_modes()[require_mode_name(mode_name, "the mode of a scene")]
    if mode.open_scene is None:
        raise InputError(f"{mode.title} has no scene {name!r}; open a file")
    return mode.open_scene(name, progress)


def list_scene_cards() -> list[SceneCard]:
    """The scenes of all modes on the start page."""
    return [card for mode in get_modes().values() for card in mode.scene_cards]


def list_mode_exports() -> dict[str, tuple[str, ...]]:
    """Formats of the files that modes write beside their motion, by kind of export."""
    return {kind: formats for mode in get_modes().values() for kind, formats in mode.exports.items()}
