"""What Steer begins with, and what can be set in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from cajole import checks
from cajole.direct import Reference
from cajole.direct import reference as referred
from cajole.direct.steering.motion import of_shot
from cajole.errors import InputError
from cajole.progress import Progress
from cajole.studio import take
from cajole.studio.content import Content
from cajole.studio.modes.base import Message, Saved
from cajole.studio.modes.drawing import body_of
from cajole.studio.modes.pushing import Made, unpacked

GHOSTS = ("reference", "uncontrolled")
DIALS = ("tracking", "final", "effort")
LIMITS = {
    "tracking": (0.0, 1e9),
    "final": (0.0, 1e9),
    "effort": (1e-12, 1e9),
    "wind": (0.0, 100.0),
    "pace": (0.0, 100.0),
}


@dataclass(frozen=True)
class Settings:
    """What undo brings back; wind in body weights, pace in gusts a second."""

    control: bool = True
    tracking: float = 1.0
    final: float = 0.0
    effort: float = 1e-2
    wind: float = 0.0
    pace: float = 1.0

    @property
    def dials(self) -> dict[str, Any]:
        """As `steer` takes them."""
        return {name: getattr(self, name) for name in DIALS}

    @property
    def weather(self) -> tuple[float, ...]:
        """What another wind differs in."""
        return self.wind, self.pace


AnySettings = TypeVar("AnySettings", bound=Settings)


def dialled(old: AnySettings, message: Message) -> AnySettings:
    """`old` with the dials that a message turns. Raises InputError for those of another mode."""
    if unknown := {"detail", "frames", "dt", "loop"} & message.keys():
        raise InputError(f"{min(unknown)} is a dial of Keyframe; Steer has tracking, final and effort")
    wanted: dict[str, Any] = {name: take.number(message, name, *LIMITS[name]) for name in DIALS if name in message}
    return replace(old, **wanted)


def blown(old: Settings, message: Message) -> Settings:
    """`old` with the wind that a message asks for. Raises InputError for winds that only flows have."""
    if "seed" in message:
        raise InputError("seed of wind is for flows; a body's wind has a strength and a pace")
    pace = old.pace if message.get("pace") is None else take.number(message, "pace", *LIMITS["pace"])
    return replace(old, wind=take.number(message, "strength", *LIMITS["wind"]), pace=pace)


def restored(kept: Saved, nodes: int) -> tuple[Settings, str, list[int], tuple[Made[int], ...]]:
    """Settings, ghost, selection and pushes that were saved. Raises InputError for those of another body."""
    document = kept.document
    with readable():
        settings = Settings(**read_settings(document["settings"]))
        selected = take.nodes(document, "selected", nodes, least=0)
        made = unpacked(document["pushes"], lambda push: checks.count(push["node"], "a node", least=0, most=nodes - 1))
        return settings, take.one_of(document, "ghost", GHOSTS), selected, made


def read_settings(wanted: Message) -> dict[str, Any]:
    """What every kind of settings has, each value checked."""
    numbers: dict[str, Any] = {name: take.number(wanted, name, *limits) for name, limits in LIMITS.items()}
    return {"control": take.flag(wanted, "control"), **numbers}


@contextmanager
def readable() -> Iterator[None]:
    """Raises InputError for a document that lacks something or has it in another shape."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as reason:
        raise InputError(f"what was saved of the steering cannot be read ({reason}); open the scene anew") from None


def reference_of(content: Content, progress: Progress) -> Reference:
    """What the body shall keep to: the scene's own, that of a shot, or any motion of the body."""
    if content.steer is not None:
        return content.steer.reference(progress)
    if content.shot is not None:
        return of_shot(content.shot)
    if content.animation is None:
        raise InputError(f"{content.name} does not move yet; make a motion with Keyframe, or open an animation")
    return referred(body_of(content, "steer"), content.animation)
