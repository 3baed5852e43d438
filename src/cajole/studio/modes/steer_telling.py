"""What the page is told of a live body: pulses, lanes, meter, selection, and the panel's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cajole.studio.modes.arrows import ROUNDING
from cajole.studio.modes.pushing import Made
from cajole.studio.modes.telling import MOST_TRAILS, force_lane, marker, percent, place, rounded

if TYPE_CHECKING:
    from cajole.studio.modes.steer import SteerMode

Array = NDArray[np.float64]

# Pushes that are drawn on the lap.
MOST_MARKERS = 24


def told(mode: SteerMode) -> dict[str, Any]:
    """The state of the mode."""
    return {
        "lanes": _lanes(mode),
        "meter": _meter(mode),
        "selection": [_selected(mode, node) for node in mode.selected],
        "trails": _trails(mode),
        "labels": {"now": "Live" if mode.drive.running else "Paused", "result": "Last lap"},
        "undo": mode.history.undo_label,
        "redo": mode.history.redo_label,
        "steer": _panel(mode),
    }


def pulse(mode: SteerMode, state: Array) -> dict[str, Any]:
    """Where the body is at this moment, drawn in a reduced state (r,)."""
    live, acting = mode.drive.live, mode.pushes.acting()
    said = {
        "is": "pulse",
        "time": live.time,
        "lap": mode.drive.lap,
        "frame": mode.drive.frame,
        "error": live.error,
        "effort": live.gentleness,
        "astray": live.astray,
        "ms": mode.ms,
        "push": None if acting is None else list(acting.force),
        "at": None if acting is None else rounded(mode.drawing.path(acting.node, state[None])[0]),
        "arrows": mode.arrows.told(state, live.feedback),
    }
    outcome = _outcome(mode)
    return said if outcome is None else said | {"outcome": outcome}


def _lanes(mode: SteerMode) -> list[dict[str, Any]]:
    recent = [push for push in mode.pushes.made if push.frame < mode.frames][-MOST_MARKERS:]
    pushes = [
        marker(push.id, push.frame, _called(mode, push), movable=False, detail=f"{push.duration:.2f} s")
        for push in recent
    ]
    on = mode.settings.control
    control = marker("control", 0, "on" if on else "off", end=mode.frames - 1, movable=False, hollow=not on)
    lanes: list[dict[str, Any]] = [
        {"id": "pushes", "name": "Pushes", "shape": "triangle", "tone": "world", "markers": pushes},
        {"id": "control", "name": "Control", "shape": "bar", "tone": "asked" if on else "quiet", "markers": [control]},
    ]
    return [*lanes, force_lane(mode.drive.efforts)] if _is_felt(mode) else lanes


def _is_felt(mode: SteerMode) -> bool:
    """Whether the controller did anything in this lap."""
    return bool((mode.drive.efforts > ROUNDING).any())


def _called(mode: SteerMode, push: Made) -> str:
    strong = push.strength >= 999.5  # what three digits of newtons would tell with a power of ten
    force = f"{push.strength / 1000:.3g} kN" if strong else f"{push.strength:.3g} N"
    return f"{force} on {mode.content.named(push.node)}"


def _meter(mode: SteerMode) -> dict[str, Any]:
    """The effort now, and the peak of the last seconds."""
    live = mode.drive.live
    when, peak = max(mode.efforts, key=lambda each: each[1], default=(0.0, 0.0))
    return {
        "share": live.gentleness,
        "peak": peak,
        "frame": None,
        "curve": rounded(mode.drive.efforts) if _is_felt(mode) else None,
        "cure": _sentence(mode, when, peak),
    }


def _sentence(mode: SteerMode, when: float, peak: float) -> str | None:
    if not mode.settings.control:
        return "Control is off: nothing brings the body back."
    if peak <= ROUNDING:
        return None
    said = f"Peak {percent(peak)}"
    blame = next((push for push in reversed(mode.pushes.made) if push.time <= when), None)
    if blame is not None:
        said += f" while recovering from the push at {blame.time:.1f} s"
    return f"{said}. Raise effort to recover more gently."


def _selected(mode: SteerMode, node: int) -> dict[str, Any]:
    drive, path = mode.drive, mode.drawing.path
    reference = drive.reference.states[min(drive.step, drive.reference.steps)]
    return {
        "node": node,
        "name": mode.content.named(node),
        "position": place(path(node, drive.live.state[0][None])[0]),
        "given": place(path(node, reference[None])[0]),
        "fixed": bool(np.isin(node, mode.body.fixed)),
    }


def _trails(mode: SteerMode) -> list[dict[str, Any]]:
    """One lap of selected vertices: of the reference, and the last of the body."""
    drive, path = mode.drive, mode.drawing.path
    given = drive.reference.states[:: drive.reference.substeps][: drive.frames]
    return [
        {"node": node, "given": rounded(path(node, given)), "result": rounded(path(node, drive.path)), "rev": 0}
        for node in mode.selected[:MOST_TRAILS]
    ]


def _panel(mode: SteerMode) -> dict[str, Any]:
    settings, drive = mode.settings, mode.drive
    return {
        "control": settings.control,
        "tracking": settings.tracking,
        "final": settings.final,
        "effort": settings.effort,
        "retuning": drive.live.retuning,
        "wind": {"strength": settings.wind, "pace": settings.pace},
        "running": drive.running,
        "speed": drive.speed,
        "dt": drive.reference.dt,
        "steps": drive.reference.steps,
        "loop": drive.reference.loop,
        "pushes": [_push(mode, push) for push in mode.pushes.made],
        "ghost": mode.ghost,
        "outcome": _outcome(mode),
        "model": f"{drive.reference.model.size} coordinates",
        "notes": _notes(mode),
    }


def _push(mode: SteerMode, push: Made) -> dict[str, Any]:
    return {
        "id": push.id,
        "time": push.time,
        "frame": push.frame,
        "node": push.node,
        "name": mode.content.named(push.node),
        "force": list(push.force),
        "strength": push.strength,
        "duration": push.duration,
    }


def _outcome(mode: SteerMode) -> dict[str, Any] | None:
    plan = mode.content.steer
    return None if plan is None or plan.judge is None else {"text": plan.happens, "good": mode.good}


def _notes(mode: SteerMode) -> list[str]:
    notes = [f"{note[0].upper()}{note[1:]}." for note in mode.drive.reference.notes]
    if mode.drive.slow is not None:
        notes.append(f"This machine follows at {100 * mode.drive.slow:.0f} % of real time: choose a slower speed.")
    return notes
