"""What the page is told of a live flow beside what it is told of all that is steered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cajole.arrays import Array
from cajole.reduction import FlowShot
from cajole.studio.flowing import upright
from cajole.studio.modes.arrows import listed, strongest
from cajole.studio.modes.steering_telling import pulsed
from cajole.studio.modes.telling import MOST_TRAILS, place, rounded

if TYPE_CHECKING:
    from cajole.studio.modes.flow import FlowMode


# Places of arrows along each side; those of a force below this share of the fastest motion's (U²/L) are rounding.
GRID, FAINTEST = 9, 1e-6


class Currents:
    """What the controller does to the flow, as arrows at places spread over the box."""

    def __init__(self, shot: FlowShot):
        flow = shot.model.flow
        x, y = ((np.arange(GRID) + 0.5) / GRID * side for side in flow.size)
        points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=2).reshape(-1, 2)
        still = np.zeros(shot.model.size)
        self._places = upright(points)
        self._modes = np.array([shot.model.around(point, still)[0] for point in points])
        self._least = FAINTEST * shot.speed**2 / float(np.hypot(*flow.size))

    def told(self, feedback: Array) -> list[list[float]]:
        """[x, y, z [m], ax, ay, az [m/s²]] of the strongest, of a reduced force (r,)."""
        forces = upright(self._modes @ feedback)
        order = strongest(forces, self._least)
        return listed(self._places[order], forces[order])


def pulse_told(mode: FlowMode) -> dict[str, Any]:
    """How things are at this moment."""
    live, acting = mode.drive.live, mode.pushes.acting()
    return pulsed(
        mode,
        error=float(live.cells.max(initial=0.0)),
        astray=bool(live.astray),
        at=None if acting is None else rounded(upright(np.array(acting.where))),
        arrows=mode.currents.told(live.feedback),
    )


def outcome_told(mode: FlowMode) -> dict[str, Any]:
    """Whether every particle is where it should be, in plain words; good: None while that is open."""
    lost = mode.drive.live.astray
    if lost:
        names = " and ".join(mode.content.named(k) for k in lost)
        return {
            "text": f"Lost: {names} {'is' if len(lost) == 1 else 'are'} too far off to be brought back",
            "good": False,
        }
    if mode.good:
        return {"text": "Holds: every particle is within a cell of its place", "good": True}
    way = "and is led back" if mode.settings.control else "and nothing leads it back"
    return {"text": f"Off its path by more than a cell, {way}", "good": None}


def selected_told(mode: FlowMode, particle: int) -> dict[str, Any]:
    """A particle, and where it should be."""
    state, _ = mode.drive.seen()
    where = [upright(each.reshape(-1, 2)[particle]) for each in (state, mode.reference_now(state))]
    return {
        "node": particle,
        "name": mode.content.named(particle),
        "position": place(where[0]),
        "given": place(where[1]),
        "fixed": False,
    }


def trails_told(mode: FlowMode) -> list[dict[str, Any]]:
    """The paths of steered particles; what became of them is seen in the smoke, and would hide these."""
    given = upright(mode.plan.shot.particles)
    shown = range(min(mode.steered, MOST_TRAILS))
    return [{"node": k, "given": rounded(given[:, k]), "result": [], "rev": 0} for k in shown]


def facts_told(mode: FlowMode) -> dict[str, Any]:
    """What the panel says of the flow."""
    model, plan = mode.plan.shot.model, mode.plan
    kicks = [
        {"name": f"F{number}", "text": f"{np.hypot(*way):.2g} m/s² on {mode.content.named(particle)}"}
        for number, (particle, way) in enumerate(plan.kicks, 1)
    ]
    return {
        "model": f"{model.size} modes",
        "flow": {"kicks": kicks, "smoke": mode.settings.smoke, "seed": mode.settings.seed},
    }
