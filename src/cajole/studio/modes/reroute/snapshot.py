"""What is kept of Reroute when the server is gone, and how it goes on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from cajole import checks
from cajole.animation import Animation
from cajole.errors import InputError
from cajole.studio import message_values
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.modes.reroute.goals import GoalMarker
from cajole.studio.modes.reroute.run import SUMMARY_KEYS, RerouteRun
from cajole.studio.modes.reroute.settings import PILOT_FPS, build_net, update_settings
from cajole.studio.modes.timeline_markers import sort_items

if TYPE_CHECKING:
    from cajole.studio.modes.reroute.mode import RerouteMode


def create_snapshot(mode: RerouteMode) -> ModeSnapshot:
    """All that the mode needs to go on."""
    document: dict[str, Any] = {
        "dials": asdict(mode.settings) | {"held": list(mode.settings.held)},
        "goals": [asdict(goal) | {"position": list(goal.position)} for goal in mode.goals],
        "selected": list(mode.selected),
        "run": None,
    }
    arrays: dict[str, NDArray[Any]] = {}
    if mode.pilot is not None and mode.content.animation is None:
        arrays["pilot"] = mode.pilot.positions
        if mode.pilot.velocities is not None:
            arrays["pilot_velocities"] = mode.pilot.velocities
    if mode.rerouted_run is not None:
        document["run"] = {"about": dict(mode.rerouted_run.summary), "stale": mode.is_stale()}
        arrays |= {"positions": mode.rerouted_run.animation.positions, "curve": mode.rerouted_run.added_force}
    return ModeSnapshot(document, arrays)


def restore_snapshot(mode: RerouteMode, snapshot: ModeSnapshot) -> None:
    """Go on where `saved` was. Raises InputError for what does not fit the net."""
    document = snapshot.document
    try:
        mode.settings = update_settings(mode.settings, document["dials"], float(mode.content.mesh.size))
        if mode.has_own_net:
            held = message_values.read_vertices(document["dials"], "held", mode.net.vertex_count, min_count=0)
            mode.settings = replace(mode.settings, held=tuple(held))
            mode.net = build_net(mode.content, mode.settings)
        mode.pilot = mode.pilot or _read_pilot(mode, snapshot.arrays)
        mode.goals = sort_items(_parse_goal(each, mode) for each in document["goals"])
        mode.selected = message_values.read_vertices(document, "selected", mode.net.vertex_count, min_count=0)
        if document["run"] is not None and mode.pilot is not None:
            mode.rerouted_run = _read_run(mode, mode.pilot, document["run"], snapshot.arrays)
            mode.shown_method = mode.rerouted_run.method
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as reason:
        raise InputError(f"what was kept of the goals cannot be read ({reason}); open the scene anew") from None


def _read_pilot(mode: RerouteMode, arrays: Mapping[str, NDArray[Any]]) -> Animation | None:
    if "pilot" not in arrays:
        return None
    positions = checks.require_real_array(
        arrays["pilot"], "the kept pilot", (mode.settings.frames, mode.net.vertex_count, 3)
    )
    speeds = arrays.get("pilot_velocities")
    if speeds is not None:
        speeds = checks.require_real_array(speeds, "the kept pilot's velocities", positions.shape)
    return Animation(mode.content.mesh, positions, PILOT_FPS, velocities=speeds, name=mode.content.name)


def _parse_goal(document: Mapping[str, Any], mode: RerouteMode) -> GoalMarker:
    where = message_values.read_vector(document, "position")
    window, name = document["window"], document["name"]
    return GoalMarker(
        message_values.read_integer(document, "number", 1),
        message_values.read_integer(document, "frame", 1, mode.frames - 1),
        message_values.read_integer(document, "node", 0, mode.net.vertex_count - 1),
        (float(where[0]), float(where[1]), float(where[2])),
        None if window is None else message_values.read_integer(document, "window", 1),
        None if name is None else str(name),
    )


def _read_run(
    mode: RerouteMode, pilot: Animation, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> RerouteRun:
    positions = checks.require_real_array(arrays["positions"], "the kept second run", pilot.positions.shape)
    curve = checks.require_real_array(arrays["curve"], "the kept curve of force", (pilot.frames,))
    motion = replace(pilot, positions=positions, velocities=None)
    # what is missing is told now, not when it is looked at
    about = {name: document["about"][name] for name in (*SUMMARY_KEYS, "goals")}
    return RerouteRun(motion, curve, about, None if document["stale"] else mode.get_run_inputs())
