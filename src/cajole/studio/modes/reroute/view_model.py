"""What the page is told of a pilot and its second run: lanes, meter, goals with their paths, and the panel's values."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from cajole.arrays import Array
from cajole.direct.rerouting.goals import build_goal_set
from cajole.studio.modes.payloads import (
    build_force_lane,
    build_force_meter,
    build_marker,
    format_percent,
    to_list,
    to_rounded_list,
)
from cajole.studio.modes.reroute.goals import GoalMarker
from cajole.studio.modes.reroute.run import SUMMARY_KEYS, RerouteRun

if TYPE_CHECKING:
    from cajole.studio.modes.reroute.mode import RerouteMode


# goals whose paths are drawn; more are a thicket
MAX_GOAL_PATHS = 160


def build_reroute_state(mode: RerouteMode) -> dict[str, Any]:
    """The state of the mode."""
    shown = mode.shown_run
    curve = None if shown is None else shown.added_force
    goals = _describe_goals(mode)
    lanes = [_build_goal_lane(mode, goals)]
    if curve is not None and curve.any():
        lanes.append(build_force_lane(curve))
    return {
        "lanes": lanes,
        "meter": build_force_meter(None)
        if curve is None
        else build_force_meter(curve, _describe_force_peak(mode, curve)),
        "selection": [_describe_selected_vertex(mode, node) for node in mode.selected],
        "trails": [],
        "labels": {"now": "Pilot" if shown is None else "Second run", "result": _format_result_label(mode)},
        "ready": _count_ready_frames(mode),
        "undo": mode.history.undo_label,
        "redo": mode.history.redo_label,
        "reroute": {"goals": goals, **_build_panel(mode)},
    }


def _count_ready_frames(mode: RerouteMode) -> int | None:
    """Frames that there are; None for all."""
    if mode.running_stage == "pilot":
        return len(mode.partial_frames)
    return 1 if mode.pilot is None else None


def _format_result_label(mode: RerouteMode) -> str:
    shown = mode.shown_run
    if mode.running_stage == "pilot":
        return "Pilot · running"
    if shown is None:
        return "At rest" if mode.pilot is None else "Pilot"
    return f"Second run · {'of older goals' if mode.is_stale() else shown.method.replace('-', ' ')}"


def _describe_goals(mode: RerouteMode) -> list[dict[str, Any]]:
    pilot = mode.pilot
    if pilot is None or not mode.goals:
        return [_describe_goal(mode, goal, goal.frame, 0) for goal in mode.goals]
    places = np.asarray(pilot.positions, dtype=np.float64)
    aims = build_goal_set([goal.to_goal() for goal in mode.goals], mode.net, places, mode.settings.alpha)
    return [
        _describe_goal(mode, goal, int(start), int(asked))
        | (_build_goal_paths(mode, goal, int(start)) if k < MAX_GOAL_PATHS else {})
        for k, (goal, start, asked) in enumerate(zip(mode.goals, aims.start_frames, aims.requested_window_lengths))
    ]


def _describe_goal(mode: RerouteMode, goal: GoalMarker, start: int, window: int) -> dict[str, Any]:
    shown, pilot = mode.shown_run, mode.pilot
    given = np.array(goal.position) if pilot is None else pilot.positions[goal.frame, goal.node]
    reports = () if shown is None or mode.is_stale() else shown.summary["goals"]
    found = next((each for each in reports if each["id"] == goal.id), None)
    return {
        "id": goal.id,
        "node": goal.node,
        "frame": goal.frame,
        "name": goal.name or mode.content.describe_vertex(goal.node),
        "position": to_list(goal.position),
        "given": to_list(given),
        "moved": float(np.linalg.norm(np.array(goal.position) - given)),
        "window": goal.window,
        "start": start,
        "asked": window,
        "report": found,
        "warn": None if found is None or found["reached"] else found["why"],
        "pilot": [],
        "led": None,
    }


def _build_goal_paths(mode: RerouteMode, goal: GoalMarker, start: int) -> dict[str, Any]:
    """The way of a goal's vertex over its window, in the pilot and in the second run."""
    frames, shown = slice(start, goal.frame + 1), mode.shown_run
    assert mode.pilot is not None
    led = None if shown is None else to_rounded_list(shown.animation.positions[frames, goal.node])
    return {"pilot": to_rounded_list(mode.pilot.positions[frames, goal.node]), "led": led}


def _build_goal_lane(mode: RerouteMode, goals: list[dict[str, Any]]) -> dict[str, Any]:
    markers = []
    for goal in goals:
        detail = f"{goal['frame'] / mode.fps:.2f} s · {goal['moved']:.3g} m, led from frame {goal['start']}"
        more: dict[str, Any] = {"detail": detail, "selected": goal["node"] in mode.selected}
        more["reach"] = [goal["start"], goal["frame"]]
        if goal["warn"]:
            more["warn"] = goal["warn"]
        markers.append(build_marker(goal["id"], goal["frame"], goal["name"], **more))
    return {"id": "goals", "name": "Goals", "shape": "disc", "tone": "asked", "markers": markers}


def _describe_selected_vertex(mode: RerouteMode, node: int) -> dict[str, Any]:
    pilot = mode.pilot
    given = mode.net.vertices[node] if pilot is None else pilot.positions[mode.current_frame, node]
    return {
        "node": node,
        "name": mode.content.describe_vertex(node),
        "position": to_list(mode.compute_target(node, mode.current_frame)),
        "given": to_list(given),
        "fixed": bool(node in mode.net.fixed),
    }


def _build_panel(mode: RerouteMode) -> dict[str, Any]:
    dials = asdict(mode.settings)
    plan = mode.content.reroute_setup
    return {
        "pilot_frames": None if mode.pilot is None else mode.pilot.frames,
        "dials": {name: value for name, value in dials.items() if name != "held"},
        "net": {
            "vertices": mode.net.vertex_count,
            "springs": len(mode.net.edges),
            "weight": float(mode.net.weight),
            "own": mode.has_own_net,
            "usual_reach": mode.default_reach,
        },
        "held": list(mode.settings.held) if mode.has_own_net else [],
        "suggested": plan is not None and mode.pilot is not None,
        "running": mode.running_job,
        "making": mode.running_stage,
        "result": None if mode.rerouted_run is None else _describe_result(mode.rerouted_run, stale=mode.is_stale()),
        "compared": [
            _describe_result(each, stale=False) for each in (mode.rerouted_run, mode.comparison_run) if each is not None
        ],
        "sight": mode.shown_method if mode.shown_run is None else mode.shown_run.method,
    }


def _describe_result(run: RerouteRun, *, stale: bool) -> dict[str, Any]:
    return {name: run.summary[name] for name in SUMMARY_KEYS} | {"stale": stale}


def _describe_force_peak(mode: RerouteMode, curve: Array) -> str | None:
    """One sentence: the peak, and the cheapest way to lower it."""
    if not curve.any():
        return None
    peak = int(np.argmax(curve))
    method = mode.settings.method if mode.shown_run is None else mode.shown_run.method
    hint = "A wider window or reach is gentler." if method == "least-force" else "Least force is gentler."
    return f"Peak {format_percent(curve[peak])} at frame {peak}. {hint}"
