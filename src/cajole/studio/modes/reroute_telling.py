"""What the page is told of a pilot and its second run: lanes, meter, goals with their paths, and the panel's values."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from cajole.arrays import Array
from cajole.direct.rerouting.goals import aims_of
from cajole.studio.modes.reroute_goals import RouteGoal
from cajole.studio.modes.reroute_running import FACTS, Run
from cajole.studio.modes.telling import force_lane, marker, meter, percent, place, rounded

if TYPE_CHECKING:
    from cajole.studio.modes.reroute import RerouteMode


# goals whose paths are drawn; more are a thicket
MOST_PATHS = 160


def told(mode: RerouteMode) -> dict[str, Any]:
    """The state of the mode."""
    shown = mode.shown
    curve = None if shown is None else shown.curve
    goals = _goals(mode)
    lanes = [_goal_lane(mode, goals)]
    if curve is not None and curve.any():
        lanes.append(force_lane(curve))
    return {
        "lanes": lanes,
        "meter": meter(None) if curve is None else meter(curve, _cure(mode, curve)),
        "selection": [_selected(mode, node) for node in mode.selected],
        "trails": [],
        "labels": {"now": "Pilot" if shown is None else "Second run", "result": _label(mode)},
        "ready": _ready(mode),
        "undo": mode.history.undo_label,
        "redo": mode.history.redo_label,
        "reroute": {"goals": goals, **_panel(mode)},
    }


def _ready(mode: RerouteMode) -> int | None:
    """Frames that there are; None for all."""
    if mode.making == "pilot":
        return len(mode.coming)
    return 1 if mode.pilot is None else None


def _label(mode: RerouteMode) -> str:
    shown = mode.shown
    if mode.making == "pilot":
        return "Pilot · running"
    if shown is None:
        return "At rest" if mode.pilot is None else "Pilot"
    return f"Second run · {'of older goals' if mode.is_stale() else shown.method.replace('-', ' ')}"


def _goals(mode: RerouteMode) -> list[dict[str, Any]]:
    pilot = mode.pilot
    if pilot is None or not mode.goals:
        return [_goal(mode, goal, goal.frame, 0) for goal in mode.goals]
    places = np.asarray(pilot.positions, dtype=np.float64)
    aims = aims_of([goal.wanted() for goal in mode.goals], mode.net, places, mode.dials.alpha)
    return [
        _goal(mode, goal, int(start), int(asked)) | (_paths(mode, goal, int(start)) if k < MOST_PATHS else {})
        for k, (goal, start, asked) in enumerate(zip(mode.goals, aims.starts, aims.asked))
    ]


def _goal(mode: RerouteMode, goal: RouteGoal, start: int, asked: int) -> dict[str, Any]:
    shown, pilot = mode.shown, mode.pilot
    given = np.array(goal.position) if pilot is None else pilot.positions[goal.frame, goal.node]
    reports = () if shown is None or mode.is_stale() else shown.about["goals"]
    found = next((each for each in reports if each["id"] == goal.id), None)
    return {
        "id": goal.id,
        "node": goal.node,
        "frame": goal.frame,
        "name": goal.name or mode.content.named(goal.node),
        "position": place(goal.position),
        "given": place(given),
        "moved": float(np.linalg.norm(np.array(goal.position) - given)),
        "window": goal.window,
        "start": start,
        "asked": asked,
        "report": found,
        "warn": None if found is None or found["reached"] else found["why"],
        "pilot": [],
        "led": None,
    }


def _paths(mode: RerouteMode, goal: RouteGoal, start: int) -> dict[str, Any]:
    """The way of a goal's vertex over its window, in the pilot and in the second run."""
    frames, shown = slice(start, goal.frame + 1), mode.shown
    assert mode.pilot is not None
    led = None if shown is None else rounded(shown.motion.positions[frames, goal.node])
    return {"pilot": rounded(mode.pilot.positions[frames, goal.node]), "led": led}


def _goal_lane(mode: RerouteMode, goals: list[dict[str, Any]]) -> dict[str, Any]:
    markers = []
    for goal in goals:
        detail = f"{goal['frame'] / mode.fps:.2f} s · {goal['moved']:.3g} m, led from frame {goal['start']}"
        more: dict[str, Any] = {"detail": detail, "selected": goal["node"] in mode.selected}
        more["reach"] = [goal["start"], goal["frame"]]
        if goal["warn"]:
            more["warn"] = goal["warn"]
        markers.append(marker(goal["id"], goal["frame"], goal["name"], **more))
    return {"id": "goals", "name": "Goals", "shape": "disc", "tone": "asked", "markers": markers}


def _selected(mode: RerouteMode, node: int) -> dict[str, Any]:
    pilot = mode.pilot
    given = mode.net.vertices[node] if pilot is None else pilot.positions[mode.at, node]
    return {
        "node": node,
        "name": mode.content.named(node),
        "position": place(mode.where(node, mode.at)),
        "given": place(given),
        "fixed": bool(node in mode.net.fixed),
    }


def _panel(mode: RerouteMode) -> dict[str, Any]:
    dials = asdict(mode.dials)
    plan = mode.content.reroute
    return {
        "pilot_frames": None if mode.pilot is None else mode.pilot.frames,
        "dials": {name: value for name, value in dials.items() if name != "held"},
        "net": {
            "vertices": mode.net.count, "springs": len(mode.net.edges), "weight": float(mode.net.weight),
            "own": mode.is_own, "usual_reach": mode.usual_reach,
        },
        "held": list(mode.dials.held) if mode.is_own else [],
        "suggested": plan is not None and mode.pilot is not None,
        "running": mode.running,
        "making": mode.making,
        "result": None if mode.run is None else _result(mode.run, stale=mode.is_stale()),
        "compared": [_result(each, stale=False) for each in (mode.run, mode.other) if each is not None],
        "sight": mode.sight if mode.shown is None else mode.shown.method,
    }  # fmt: skip


def _result(run: Run, *, stale: bool) -> dict[str, Any]:
    return {name: run.about[name] for name in FACTS} | {"stale": stale}


def _cure(mode: RerouteMode, curve: Array) -> str | None:
    """One sentence: the peak, and the cheapest way to lower it."""
    if not curve.any():
        return None
    peak = int(np.argmax(curve))
    method = mode.dials.method if mode.shown is None else mode.shown.method
    hint = "A wider window or reach is gentler." if method == "least-force" else "Least force is gentler."
    return f"Peak {percent(curve[peak])} at frame {peak}. {hint}"
