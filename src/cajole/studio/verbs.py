"""Which mode is at work under which name; each is loaded when it is first entered."""

from __future__ import annotations

from cajole.errors import InputError
from cajole.studio.content import Content
from cajole.studio.modes.base import Desk, Mode, Saved
from cajole.studio.opening import chances


def first_possible(content: Content, wanted: str | None = None) -> str:
    """The mode that is wanted, if it can be entered, else the first that can; "edit" to look only, if none can."""
    can = [mode for mode, chance in chances(content).items() if chance.possible]
    return wanted if wanted in can else can[0] if can else "edit"


def require_possible(content: Content, mode: str) -> None:
    """Raise InputError, with the reason, for a mode that cannot be entered with what is open."""
    known = chances(content)
    if not known[mode].possible and (mode != "edit" or any(chance.possible for chance in known.values())):
        raise InputError(f"{content.name} cannot go to {mode.capitalize()}; {known[mode].why}")


def make_mode(name: str, desk: Desk, content: Content, saved: Saved | None = None) -> Mode:
    """A mode at work on `content`, going on where it was `saved`. Raises InputError where it cannot be entered."""
    require_possible(content, name)
    if name == "edit" and not chances(content)["edit"].possible:
        from cajole.studio.modes.playing import PlayingMode

        return PlayingMode(desk, content, saved)
    if name == "edit":
        from cajole.studio.modes.edit import EditMode

        return EditMode(desk, content, saved)
    if name == "keyframe":
        from cajole.studio.modes.keyframe import KeyframeMode

        return KeyframeMode(desk, content, saved)
    if name == "enrich":
        from cajole.studio.modes.enrich import EnrichMode

        return EnrichMode(desk, content, saved)
    if name == "reroute":
        from cajole.studio.modes.reroute import RerouteMode

        return RerouteMode(desk, content, saved)
    if content.flow is not None:
        from cajole.studio.modes.flow import FlowMode

        return FlowMode(desk, content, saved)
    from cajole.studio.modes.steer import SteerMode

    return SteerMode(desk, content, saved)
