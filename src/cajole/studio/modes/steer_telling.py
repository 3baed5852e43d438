"""What the page is told of a live body beside what it is told of all that is steered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cajole.arrays import Array
from cajole.studio.modes.pushing import Made
from cajole.studio.modes.steering_telling import pulsed
from cajole.studio.modes.telling import MOST_TRAILS, place, rounded

if TYPE_CHECKING:
    from cajole.studio.modes.steer import SteerMode


def pulse_told(mode: SteerMode, state: Array) -> dict[str, Any]:
    """Where the body is at this moment, drawn in a reduced state (r,)."""
    live, acting = mode.drive.live, mode.pushes.acting()
    return pulsed(
        mode,
        error=live.error,
        astray=live.astray,
        at=None if acting is None else rounded(mode.drawing.path(acting.where, state[None])[0]),
        arrows=mode.arrows.told(state, live.feedback),
    )


def called(mode: SteerMode, push: Made[int]) -> str:
    """How hard and where."""
    strong = push.strength >= 999.5  # what three digits of newtons would tell with a power of ten
    force = f"{push.strength / 1000:.3g} kN" if strong else f"{push.strength:.3g} N"
    return f"{force} on {mode.content.named(push.where)}"


def selected_told(mode: SteerMode, node: int) -> dict[str, Any]:
    """A selected vertex, and where it should be."""
    drive, path = mode.drive, mode.drawing.path
    reference = mode.reference.states[min(drive.step, mode.reference.steps)]
    return {
        "node": node,
        "name": mode.content.named(node),
        "position": place(path(node, drive.live.state[0][None])[0]),
        "given": place(path(node, reference[None])[0]),
        "fixed": bool(np.isin(node, mode.body.fixed)),
    }


def trails_told(mode: SteerMode) -> list[dict[str, Any]]:
    """One lap of selected vertices: of the reference, and the last of the body."""
    drive, path = mode.drive, mode.drawing.path
    given = drive.course.states
    return [
        {"node": node, "given": rounded(path(node, given)), "result": rounded(path(node, drive.path)), "rev": 0}
        for node in mode.selected[:MOST_TRAILS]
    ]
