"""Which mode is at work under which name; each is loaded when it is first entered."""

from __future__ import annotations

from cajole.errors import InputError
from cajole.studio.content import ProjectContent
from cajole.studio.content_loading import find_available_modes
from cajole.studio.modes.base import ModeHost, ModeSnapshot, StudioMode


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
    from cajole.studio.modes.steer.body_mode import SteerMode

    return SteerMode(host, content, snapshot)
