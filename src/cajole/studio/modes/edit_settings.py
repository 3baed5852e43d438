"""How an edit weighs and reaches: settings that act at once, and those for which its editor is made anew."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cajole.direct import Editor
from cajole.direct.editing.report import WARPS
from cajole.progress import Progress, report
from cajole.studio import take
from cajole.studio.modes.base import Message

if TYPE_CHECKING:
    from cajole.studio.modes.edit import EditMode


def tune(mode: EditMode, message: Message) -> None:
    """Change what `Editor.tune` changes; a slider under the hand is one step of undo."""
    wanted: dict[str, Any] = {name: take.number(message, name) for name in ("h", "smoothness") if name in message} | {
        name: take.text(message, name) for name in ("ends", "energy") if name in message
    }
    if "alpha" in message or "beta" in message:
        alpha, beta = mode.editor.settings.damping
        wanted["damping"] = (
            take.number(message, "alpha", 0.0) if "alpha" in message else alpha,
            take.number(message, "beta", 0.0) if "beta" in message else beta,
        )
    if "window" in message:
        asked = message["window"]
        wanted["window"] = None if asked is None else tuple(take.integers(message, "window", mode.frames, most=2))
    mode.do(f"set {', '.join(sorted(wanted)) or 'nothing'}", lambda: mode.editor.tune(**wanted), join=True)


def reopen(mode: EditMode, message: Message) -> None:
    """Another number of modes, another warp, with or without contacts: the drags are laid over a new editor."""
    options = mode.editor.options
    modes = take.integer(message, "modes", 1) if "modes" in message else options.modes
    warp = take.one_of(message, "warp", WARPS) if "warp" in message else options.warp
    contacts = take.flag(message, "contacts", mode.keeps_contacts)
    before = mode.moment()
    progress = mode.desk.working("Preparing the motion")
    was, mode.keeps_contacts = mode.keeps_contacts, contacts
    try:
        fresh = mode.opened(progress, modes=modes, warp=warp, **asdict(mode.editor.settings))
        _lay_over(fresh, mode.editor, progress)
    except BaseException:
        mode.keeps_contacts = was
        raise
    mode.editor = fresh
    mode.history.add("set detail, warp or contacts", before)
    mode.desk.worked()
    mode.changed("settings")


def _lay_over(fresh: Editor, old: Editor, progress: Progress) -> None:
    """Make the drags of an editor in another."""
    holds = [held.hold for held in old.state.held.values()]
    for k, hold in enumerate(holds):
        report(progress, 1.0, f"drag {k + 1} of {len(holds)}")
        if hold.other >= 0:
            fresh.tie(hold.vertex, hold.other, hold.frame, hold.target, directions=hold.directions)
        else:
            fresh.drag(hold.vertex, hold.frame, hold.target, directions=hold.directions)
