"""What the page is told of what is steered, be it a body or a flow: lanes, meter, and the panel's values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic

from cajole.arrays import Array
from cajole.studio.modes.arrows import ROUNDING
from cajole.studio.modes.pushing import Made, Where
from cajole.studio.modes.telling import force_lane, marker, percent, rounded

if TYPE_CHECKING:
    from cajole.studio.modes.steering import Steering


# Pushes that are drawn on the lap.
MOST_MARKERS = 24


class Told(ABC, Generic[Where]):
    """What is told of a body and of a flow each in its own way."""

    @abstractmethod
    def pulse(self, state: Array) -> dict[str, Any]:
        """What tabs are told of this moment."""

    @abstractmethod
    def named(self, push: Made[Where]) -> str:
        """How hard and where, in words."""

    @abstractmethod
    def push_told(self, push: Made[Where]) -> dict[str, Any]:
        """Where it was, as the page wants it."""

    @abstractmethod
    def outcome(self) -> dict[str, Any] | None:
        """What must happen and whether it does, None where nothing must."""

    @abstractmethod
    def selection(self) -> list[dict[str, Any]]:
        """What is selected."""

    @abstractmethod
    def trails(self) -> list[dict[str, Any]]:
        """Paths over a lap."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What the panel is told of the model."""

    def notes(self) -> list[str]:
        """Sentences about the motion."""
        return []


def told(mode: Steering[Any, Any, Any]) -> dict[str, Any]:
    """The state of the mode."""
    return {
        "lanes": _lanes(mode),
        "meter": _meter(mode),
        "selection": mode.selection(),
        "trails": mode.trails(),
        "labels": {"now": "Live" if mode.drive.running else "Paused", "result": "Last lap"},
        "undo": mode.history.undo_label,
        "redo": mode.history.redo_label,
        "steer": _panel(mode),
    }


def pulsed(mode: Steering[Any, Any, Any], **more: Any) -> dict[str, Any]:
    """A pulse; more: what a body and a flow tell each in its own way."""
    acting, outcome = mode.pushes.acting(), mode.outcome()
    said = {
        "is": "pulse",
        "time": mode.time,
        "lap": mode.drive.lap,
        "frame": mode.drive.frame,
        "effort": mode.drive.live.gentleness,
        "ms": mode.ms,
        "push": None if acting is None else list(acting.force),
        **more,
    }
    return said if outcome is None else said | {"outcome": outcome}


def _lanes(mode: Steering[Any, Any, Any]) -> list[dict[str, Any]]:
    recent = [push for push in mode.pushes.made if push.frame < mode.frames][-MOST_MARKERS:]
    pushes = [
        marker(push.id, push.frame, mode.named(push), movable=False, detail=f"{push.duration:.2f} s") for push in recent
    ]
    on = mode.settings.control
    control = marker("control", 0, "on" if on else "off", end=mode.frames - 1, movable=False, hollow=not on)
    lanes: list[dict[str, Any]] = [
        {"id": "pushes", "name": "Pushes", "shape": "triangle", "tone": "world", "markers": pushes},
        {"id": "control", "name": "Control", "shape": "bar", "tone": "asked" if on else "quiet", "markers": [control]},
    ]
    return [*lanes, force_lane(mode.drive.efforts)] if _is_felt(mode) else lanes


def _is_felt(mode: Steering[Any, Any, Any]) -> bool:
    """Whether the controller did anything in this lap."""
    return bool((mode.drive.efforts > ROUNDING).any())


def _meter(mode: Steering[Any, Any, Any]) -> dict[str, Any]:
    """The effort now, and the peak of the last seconds."""
    when, peak = max(mode.efforts, key=lambda each: each[1], default=(0.0, 0.0))
    said = {
        "share": mode.drive.live.gentleness,
        "peak": peak,
        "frame": None,
        "curve": rounded(mode.drive.efforts) if _is_felt(mode) else None,
        "cure": _sentence(mode, when, peak),
    }
    return said if mode.share is None else said | {"of": mode.share}


def _sentence(mode: Steering[Any, Any, Any], when: float, peak: float) -> str | None:
    if not mode.settings.control:
        return f"Control is off: nothing brings {mode.whom} back."
    if peak <= ROUNDING:
        return None
    said = f"Peak {percent(peak)}"
    blame: Made[Any] | None = next((push for push in reversed(mode.pushes.made) if push.time <= when), None)
    if blame is not None:
        said += f" while recovering from the push at {blame.time:.1f} s"
    return f"{said}. Raise effort to recover more gently."


def _panel(mode: Steering[Any, Any, Any]) -> dict[str, Any]:
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
        "dt": drive.course.tick,
        "steps": drive.course.steps,
        "loop": drive.course.loop,
        "pushes": [_push(mode, push) for push in mode.pushes.made],
        "ghost": mode.ghost,
        "outcome": mode.outcome(),
        **mode.facts(),
        "notes": [*mode.notes(), *_slow(drive.slow)],
    }


def _push(mode: Steering[Any, Any, Any], push: Made[Any]) -> dict[str, Any]:
    return {
        "id": push.id,
        "time": push.time,
        "frame": push.frame,
        "force": list(push.force),
        "strength": push.strength,
        "duration": push.duration,
        **mode.push_told(push),
    }


def _slow(pace: float | None) -> list[str]:
    if pace is None:
        return []
    return [f"This machine follows at {100 * pace:.0f} % of real time: choose a slower speed."]
