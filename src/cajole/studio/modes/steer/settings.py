"""What Steer begins with, and what can be set in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from cajole import checks
from cajole.direct import Reference
from cajole.direct import build_reference as referred
from cajole.direct.steering.reference import build_shot_reference
from cajole.errors import InputError
from cajole.progress import ProgressCallback
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.modes.base import Message, ModeSnapshot
from cajole.studio.modes.reduced_drawing import require_body
from cajole.studio.modes.steer.pushes import PushRecord, unpack_pushes

GHOST_KINDS = ("reference", "uncontrolled")
CONTROLLER_OPTIONS = ("tracking", "final", "effort")
VALUE_RANGES = {
    "tracking": (0.0, 1e9),
    "final": (0.0, 1e9),
    "effort": (1e-12, 1e9),
    "wind": (0.0, 100.0),
    "pace": (0.0, 100.0),
}


@dataclass(frozen=True)
class SteerModeSettings:
    """What undo brings back; wind in body weights, pace in gusts a second."""

    control: bool = True
    tracking: float = 1.0
    final: float = 0.0
    effort: float = 1e-2
    wind: float = 0.0
    pace: float = 1.0

    @property
    def controller_options(self) -> dict[str, Any]:
        """As `steer` takes them."""
        return {name: getattr(self, name) for name in CONTROLLER_OPTIONS}

    @property
    def wind_key(self) -> tuple[float, ...]:
        """What another wind differs in."""
        return self.wind, self.pace


AnySettings = TypeVar("AnySettings", bound=SteerModeSettings)


def update_settings(settings: AnySettings, message: Message) -> AnySettings:
    """`old` with the dials that a message turns. Raises InputError for those of another mode."""
    if unknown := {"detail", "frames", "dt", "loop"} & message.keys():
        raise InputError(f"{min(unknown)} is a dial of Keyframe; Steer has tracking, final and effort")
    wanted: dict[str, Any] = {
        name: message_values.read_number(message, name, *VALUE_RANGES[name])
        for name in CONTROLLER_OPTIONS
        if name in message
    }
    return replace(settings, **wanted)


def update_wind(settings: SteerModeSettings, message: Message) -> SteerModeSettings:
    """`old` with the wind that a message asks for. Raises InputError for winds that only flows have."""
    if "seed" in message:
        raise InputError("seed of wind is for flows; a body's wind has a strength and a pace")
    pace = (
        settings.pace
        if message.get("pace") is None
        else message_values.read_number(message, "pace", *VALUE_RANGES["pace"])
    )
    return replace(settings, wind=message_values.read_number(message, "strength", *VALUE_RANGES["wind"]), pace=pace)


def restore_steer_state(
    snapshot: ModeSnapshot, vertex_count: int
) -> tuple[SteerModeSettings, str, list[int], tuple[PushRecord[int], ...]]:
    """Settings, ghost, selection and pushes that were saved. Raises InputError for those of another body."""
    document = snapshot.document
    with convert_read_errors():
        settings = SteerModeSettings(**read_settings(document["settings"]))
        selected = message_values.read_vertices(document, "selected", vertex_count, min_count=0)
        made = unpack_pushes(
            document["pushes"],
            lambda push: checks.require_integer(push["node"], "a node", minimum=0, maximum=vertex_count - 1),
        )
        return settings, message_values.read_choice(document, "ghost", GHOST_KINDS), selected, made


def read_settings(document: Message) -> dict[str, Any]:
    """What every kind of settings has, each value checked."""
    numbers: dict[str, Any] = {
        name: message_values.read_number(document, name, *limits) for name, limits in VALUE_RANGES.items()
    }
    return {"control": message_values.read_flag(document, "control"), **numbers}


@contextmanager
def convert_read_errors() -> Iterator[None]:
    """Raises InputError for a document that lacks something or has it in another shape."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as reason:
        raise InputError(f"what was saved of the steering cannot be read ({reason}); open the scene anew") from None


def build_reference(content: ProjectContent, progress: ProgressCallback) -> Reference:
    """What the body shall keep to: the scene's own, that of a shot, or any motion of the body."""
    if content.steer_setup is not None:
        return content.steer_setup.build_reference(progress)
    if content.shot is not None:
        return build_shot_reference(content.shot)
    if content.animation is None:
        raise InputError(f"{content.name} does not move yet; make a motion with Keyframe, or open an animation")
    return referred(require_body(content, "steer"), content.animation)
