"""What can be set where a flow is steered."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cajole.errors import InputError
from cajole.flow import Flow
from cajole.studio import take
from cajole.studio.content import FlowPlan
from cajole.studio.modes.base import Message, Saved
from cajole.studio.modes.flow_kicks import Point, inside
from cajole.studio.modes.pushing import Made, unpacked
from cajole.studio.modes.steer_settings import DIALS, GHOSTS, Settings, read_settings, readable

# of the wind [m/s²], and how many different ones there are
STRONGEST, SEEDS = 1.0, 9999


@dataclass(frozen=True)
class FlowSettings(Settings):
    """What undo brings back; wind [m/s²], and which one of many; smoke: whether there is some."""

    seed: int = 0
    smoke: bool = True

    @property
    def weather(self) -> tuple[float, ...]:
        """What another wind differs in."""
        return self.wind, self.seed


def first_settings(plan: FlowPlan) -> FlowSettings:
    """As a scene begins."""
    return FlowSettings(wind=plan.wind, **{name: plan.dials[name] for name in DIALS if name in plan.dials})


def blown(old: FlowSettings, message: Message) -> FlowSettings:
    """`old` with the wind that a message asks for. Raises InputError for what only the wind on bodies has."""
    if "pace" in message:
        raise InputError("pace of wind is for bodies; a flow's wind has a strength and a seed")
    seed = take.integer(message, "seed", 0, SEEDS) if "seed" in message else old.seed
    return replace(old, wind=take.number(message, "strength", 0.0, STRONGEST), seed=seed)


def restored(kept: Saved, flow: Flow, particles: int) -> tuple[FlowSettings, str, list[int], tuple[Made[Point], ...]]:
    """Settings, ghost, selection and pushes that were saved. Raises InputError for those of another flow."""
    document = kept.document
    with readable():
        wanted = document["settings"]
        seed, smoke = take.integer(wanted, "seed", 0, SEEDS), take.flag(wanted, "smoke")
        settings = FlowSettings(**read_settings(wanted), seed=seed, smoke=smoke)
        selected = take.nodes(document, "selected", particles, least=0)
        made = unpacked(document["pushes"], lambda push: inside(flow, push["at"], "the place of a push (m)"))
        return settings, take.one_of(document, "ghost", GHOSTS), selected, made
