"""What the page is told of what is steered, be it a body or a flow: lanes, meter, and the panel's values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic

from cajole.arrays import Array
from cajole.studio.modes.payloads import build_force_lane, build_marker, format_percent, to_rounded_list
from cajole.studio.modes.steer.force_arrows import NEGLIGIBLE_FORCE
from cajole.studio.modes.steer.pushes import AnyLocation, PushRecord

if TYPE_CHECKING:
    from cajole.studio.modes.steer.live_mode import LiveSteerMode


# Pushes that are drawn on the lap.
MAX_PUSH_MARKERS = 24


class SteerViewModel(ABC, Generic[AnyLocation]):
    """What is told of a body and of a flow each in its own way."""

    @abstractmethod
    def build_pulse(self, state: Array) -> dict[str, Any]:
        """What tabs are told of this moment."""

    @abstractmethod
    def describe_push(self, push: PushRecord[AnyLocation]) -> str:
        """How hard and where, in words."""

    @abstractmethod
    def locate_push(self, push: PushRecord[AnyLocation]) -> dict[str, Any]:
        """Where it was, as the page wants it."""

    @abstractmethod
    def describe_outcome(self) -> dict[str, Any] | None:
        """What must happen and whether it does, None where nothing must."""

    @abstractmethod
    def describe_selection(self) -> list[dict[str, Any]]:
        """What is selected."""

    @abstractmethod
    def build_trails(self) -> list[dict[str, Any]]:
        """Paths over a lap."""

    @abstractmethod
    def describe_model(self) -> dict[str, Any]:
        """What the panel is told of the model."""

    def list_notes(self) -> list[str]:
        """Sentences about the motion."""
        return []


def build_steer_state(mode: LiveSteerMode[Any, Any, Any]) -> dict[str, Any]:
    """The state of the mode."""
    return {
        "lanes": _build_lanes(mode),
        "meter": _build_meter(mode),
        "selection": mode.describe_selection(),
        "trails": mode.build_trails(),
        "labels": {"now": "Live" if mode.realtime.is_running else "Paused", "result": "Last lap"},
        "undo": mode.history.undo_label,
        "redo": mode.history.redo_label,
        "steer": _build_panel(mode),
    }


def build_pulse_message(mode: LiveSteerMode[Any, Any, Any], **more: Any) -> dict[str, Any]:
    """A pulse; more: what a body and a flow tell each in its own way."""
    acting, outcome = mode.push_handlers.find_acting_push(), mode.describe_outcome()
    said = {
        "is": "pulse",
        "time": mode.time,
        "lap": mode.realtime.lap,
        "frame": mode.realtime.frame,
        "effort": mode.realtime.controller.gentleness,
        "ms": mode.tick_ms,
        "push": None if acting is None else list(acting.force),
        **more,
    }
    return said if outcome is None else said | {"outcome": outcome}


def _build_lanes(mode: LiveSteerMode[Any, Any, Any]) -> list[dict[str, Any]]:
    recent = [push for push in mode.push_handlers.records if push.frame < mode.frames][-MAX_PUSH_MARKERS:]
    pushes = [
        build_marker(push.id, push.frame, mode.describe_push(push), movable=False, detail=f"{push.duration:.2f} s")
        for push in recent
    ]
    on = mode.settings.control
    control = build_marker("control", 0, "on" if on else "off", end=mode.frames - 1, movable=False, hollow=not on)
    lanes: list[dict[str, Any]] = [
        {"id": "pushes", "name": "Pushes", "shape": "triangle", "tone": "world", "markers": pushes},
        {"id": "control", "name": "Control", "shape": "bar", "tone": "asked" if on else "quiet", "markers": [control]},
    ]
    return [*lanes, build_force_lane(mode.realtime.lap_efforts)] if _has_effort(mode) else lanes


def _has_effort(mode: LiveSteerMode[Any, Any, Any]) -> bool:
    """Whether the controller did anything in this lap."""
    return bool((mode.realtime.lap_efforts > NEGLIGIBLE_FORCE).any())


def _build_meter(mode: LiveSteerMode[Any, Any, Any]) -> dict[str, Any]:
    """The effort now, and the peak of the last seconds."""
    when, peak = max(mode.recent_efforts, key=lambda each: each[1], default=(0.0, 0.0))
    said = {
        "share": mode.realtime.controller.gentleness,
        "peak": peak,
        "frame": None,
        "curve": to_rounded_list(mode.realtime.lap_efforts) if _has_effort(mode) else None,
        "cure": _describe_force_peak(mode, when, peak),
    }
    return said if mode.effort_unit is None else said | {"of": mode.effort_unit}


def _describe_force_peak(mode: LiveSteerMode[Any, Any, Any], peak_time: float, peak: float) -> str | None:
    if not mode.settings.control:
        return f"Control is off: nothing brings {mode.target_name} back."
    if peak <= NEGLIGIBLE_FORCE:
        return None
    said = f"Peak {format_percent(peak)}"
    blame: PushRecord[Any] | None = next(
        (push for push in reversed(mode.push_handlers.records) if push.time <= peak_time), None
    )
    if blame is not None:
        said += f" while recovering from the push at {blame.time:.1f} s"
    return f"{said}. Raise effort to recover more gently."


def _build_panel(mode: LiveSteerMode[Any, Any, Any]) -> dict[str, Any]:
    settings, drive = mode.settings, mode.realtime
    return {
        "control": settings.control,
        "tracking": settings.tracking,
        "final": settings.final,
        "effort": settings.effort,
        "retuning": drive.controller.is_retuning,
        "wind": {"strength": settings.wind, "pace": settings.pace},
        "running": drive.is_running,
        "speed": drive.speed,
        "dt": drive.setup.step_seconds,
        "steps": drive.setup.steps,
        "loop": drive.setup.loop,
        "pushes": [_describe_push(mode, push) for push in mode.push_handlers.records],
        "ghost": mode.ghost,
        "outcome": mode.describe_outcome(),
        **mode.describe_model(),
        "notes": [*mode.list_notes(), *_describe_slowdown(drive.realtime_fraction)],
    }


def _describe_push(mode: LiveSteerMode[Any, Any, Any], push: PushRecord[Any]) -> dict[str, Any]:
    return {
        "id": push.id,
        "time": push.time,
        "frame": push.frame,
        "force": list(push.force),
        "strength": push.strength,
        "duration": push.duration,
        **mode.locate_push(push),
    }


def _describe_slowdown(pace: float | None) -> list[str]:
    if pace is None:
        return []
    return [f"This machine follows at {100 * pace:.0f} % of real time: choose a slower speed."]
