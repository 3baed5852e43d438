"""Pushes in a flow: gusts at a point, by the hand or by the scene."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cajole.errors import InputError
from cajole.flow import Flow
from cajole.scenes.flowing.swirl import KICK_RADIUS, KICK_SECONDS
from cajole.studio import take
from cajole.studio.flowing import RATE
from cajole.studio.modes.base import Handler, Message
from cajole.studio.modes.pushing import Force, PushHandlers

if TYPE_CHECKING:
    from cajole.studio.modes.flow import FlowMode

# in the plane of the flow [m]
Point = tuple[float, float]
# The room's x and z are the flow's x and y.
PLANE = slice(0, 3, 2)


class Kicks(PushHandlers[Point]):
    """Gusts [m/s²] at points of the flow [m]; what they have across its plane does nothing."""

    mode: FlowMode

    @property
    def commands(self) -> dict[str, Handler]:
        return {**super().commands, "kick": self._kick}

    def where(self, message: Message) -> Point:
        if "node" in message:
            raise InputError("node is a vertex of a body; a flow is pushed at a point, so send at")
        place = take.vector(message, "at")[PLANE].tolist()
        return inside(self.mode.plan.shot.model.flow, place, f"at of {message['do']} (m)")

    def push(self, where: Point, force: Force, duration: float) -> None:
        for live in self.mode.bodies():
            live.kick(where, force[PLANE], KICK_RADIUS, duration * RATE * self.mode.plan.shot.dt)

    def hold(self, where: Point, force: Force | None) -> None:
        for live in self.mode.bodies():
            live.hold(None if force is None else where, (0.0, 0.0) if force is None else force[PLANE], KICK_RADIUS)

    def _kick(self, message: Message) -> Mapping[str, Any]:
        """One of the scene's own, where its particle is now."""
        kicks = self.mode.plan.kicks
        if not kicks:
            raise InputError("this scene has no kicks of its own; press on the flow and drag")
        particle, (ax, ay) = kicks[take.integer(message, "number", 1, len(kicks)) - 1]
        x, y = self.mode.drive.live.particles[particle].tolist()
        return self.pushed((x, y), (ax, 0.0, ay), KICK_SECONDS / RATE)


def inside(flow: Flow, place: Any, name: str) -> Point:
    """A point (2,) [m], checked to lie in the box."""
    x, y = flow.points([place], name)[0].tolist()
    return x, y
