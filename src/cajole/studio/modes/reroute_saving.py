"""What is kept of Reroute when the server is gone, and how it goes on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from cajole import checks
from cajole.animation import Animation
from cajole.errors import InputError
from cajole.studio import take
from cajole.studio.modes.base import Saved
from cajole.studio.modes.marked import ordered
from cajole.studio.modes.reroute_dials import FPS, dialled, net_of
from cajole.studio.modes.reroute_goals import RouteGoal
from cajole.studio.modes.reroute_running import FACTS, Run

if TYPE_CHECKING:
    from cajole.studio.modes.reroute import RerouteMode


def saved(mode: RerouteMode) -> Saved:
    """All that the mode needs to go on."""
    document: dict[str, Any] = {
        "dials": asdict(mode.dials) | {"held": list(mode.dials.held)},
        "goals": [asdict(goal) | {"position": list(goal.position)} for goal in mode.goals],
        "selected": list(mode.selected),
        "run": None,
    }
    arrays: dict[str, NDArray[Any]] = {}
    if mode.pilot is not None and mode.content.animation is None:
        arrays["pilot"] = mode.pilot.positions
        if mode.pilot.velocities is not None:
            arrays["pilot_velocities"] = mode.pilot.velocities
    if mode.run is not None:
        document["run"] = {"about": dict(mode.run.about), "stale": mode.is_stale()}
        arrays |= {"positions": mode.run.motion.positions, "curve": mode.run.curve}
    return Saved(document, arrays)


def restore(mode: RerouteMode, kept: Saved) -> None:
    """Go on where `saved` was. Raises InputError for what does not fit the net."""
    document = kept.document
    try:
        mode.dials = dialled(mode.dials, document["dials"], float(mode.content.mesh.size))
        if mode.is_own:
            held = take.nodes(document["dials"], "held", mode.net.count, least=0)
            mode.dials = replace(mode.dials, held=tuple(held))
            mode.net = net_of(mode.content, mode.dials)
        mode.pilot = mode.pilot or _pilot(mode, kept.arrays)
        mode.goals = ordered(_goal(each, mode) for each in document["goals"])
        mode.selected = take.nodes(document, "selected", mode.net.count, least=0)
        if document["run"] is not None and mode.pilot is not None:
            mode.run = _run(mode, mode.pilot, document["run"], kept.arrays)
            mode.sight = mode.run.method
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as reason:
        raise InputError(f"what was kept of the goals cannot be read ({reason}); open the scene anew") from None


def _pilot(mode: RerouteMode, arrays: Mapping[str, NDArray[Any]]) -> Animation | None:
    if "pilot" not in arrays:
        return None
    positions = checks.real_array(arrays["pilot"], "the kept pilot", (mode.dials.frames, mode.net.count, 3))
    speeds = arrays.get("pilot_velocities")
    if speeds is not None:
        speeds = checks.real_array(speeds, "the kept pilot's velocities", positions.shape)
    return Animation(mode.content.mesh, positions, FPS, velocities=speeds, name=mode.content.name)


def _goal(document: Mapping[str, Any], mode: RerouteMode) -> RouteGoal:
    where = take.vector(document, "position")
    window, name = document["window"], document["name"]
    return RouteGoal(
        take.integer(document, "number", 1), take.integer(document, "frame", 1, mode.frames - 1),
        take.integer(document, "node", 0, mode.net.count - 1), (float(where[0]), float(where[1]), float(where[2])),
        None if window is None else take.integer(document, "window", 1), None if name is None else str(name),
    )  # fmt: skip


def _run(mode: RerouteMode, pilot: Animation, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Run:
    positions = checks.real_array(arrays["positions"], "the kept second run", pilot.positions.shape)
    curve = checks.real_array(arrays["curve"], "the kept curve of force", (pilot.frames,))
    motion = replace(pilot, positions=positions, velocities=None)
    # what is missing is told now, not when it is looked at
    about = {name: document["about"][name] for name in (*FACTS, "goals")}
    return Run(motion, curve, about, None if document["stale"] else mode.asked())
