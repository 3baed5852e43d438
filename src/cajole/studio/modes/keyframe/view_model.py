"""What the page is told of posing and keys: lanes, meter, selection, trails, and the panel's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cajole.studio.modes.keyframe.keys import PoseKey
from cajole.studio.modes.keyframe.pose_loads import describe_gravity, describe_load, describe_pins, describe_pose
from cajole.studio.modes.keyframe.solution import KeyframeSolution
from cajole.studio.modes.payloads import (
    MAX_TRAILS,
    build_force_lane,
    build_force_meter,
    build_marker,
    format_percent,
    to_list,
    to_rounded_list,
)

if TYPE_CHECKING:
    from cajole.studio.modes.keyframe.mode import KeyframeMode

# A key that is missed by more than this share of the body's size wears a warning.
WARNING_DISTANCE = 0.02


def build_keyframe_state(mode: KeyframeMode) -> dict[str, Any]:
    """The state of the mode."""
    take = mode.solution
    lanes = [_build_key_lane(mode)]
    if take is not None and take.added_force.any():
        lanes.append(build_force_lane(take.added_force))
    return {
        "lanes": lanes,
        "meter": build_force_meter(None)
        if take is None
        else build_force_meter(take.added_force, _describe_force_peak(mode, take)),
        "selection": [_describe_selected_vertex(mode, node) for node in mode.selected],
        "trails": _build_trails(mode),
        "labels": {"now": _format_pose_label(mode), "result": _format_preview_label(mode)},
        "undo": mode.history.undo_label,
        "redo": mode.history.redo_label,
        "keyframe": _build_panel(mode),
    }


def _format_pose_label(mode: KeyframeMode) -> str:
    there = next((key for key in mode.keys if key.frame == mode.current_frame), None)
    return f"Posing · {'at frame' if there is None else 'key at frame'} {mode.current_frame}"


def _format_preview_label(mode: KeyframeMode) -> str:
    if mode.running_job is not None:
        return "Preview · optimising"
    if mode.preview is None:
        return "Preview · no motion yet"
    return "Preview · older keys" if mode.is_stale() else "Preview"


def _build_key_lane(mode: KeyframeMode) -> dict[str, Any]:
    markers = [_build_key_marker(mode, key) for key in mode.keys]
    return {"id": "keys", "name": "Keys", "shape": "diamond", "tone": "asked", "markers": markers, "add": "capture key"}


def _build_key_marker(mode: KeyframeMode, key: PoseKey) -> dict[str, Any]:
    made_of = describe_pose(key.pose)
    more: dict[str, Any] = {
        "hollow": not key.hard,
        "selected": key.frame == mode.current_frame,
        "detail": f"{key.frame / mode.fps:.2f} s" + (f" · {made_of}" if made_of else ""),
    }
    missed = _get_key_error(mode, key)
    if missed is not None and missed > WARNING_DISTANCE:
        more["warn"] = f"missed by {format_percent(missed)} of body size: turn effort to exact, or give it more time"
    return build_marker(key.id, key.frame, key.title, **more)


def _get_key_error(mode: KeyframeMode, key: PoseKey) -> float | None:
    """In body sizes; None while nothing is known of the key as it is."""
    return None if mode.solution is None or mode.is_stale() else mode.solution.key_errors.get(key.id)


def _build_panel(mode: KeyframeMode) -> dict[str, Any]:
    session, dials = mode.pose_session, mode.settings
    loads = [describe_load(mode.content, session, load, mode.pull_stiffnesses) for load in session.loads]
    return {
        "loads": loads + ([describe_gravity(session)] if session.has_gravity else []),
        "pins": describe_pins(mode.content, session),
        "gravity": session.has_gravity,
        "moved": float(np.linalg.norm(session.displacement, axis=1).max(initial=0.0)),
        "keys": [_describe_key(mode, key) for key in mode.keys],
        "effort": dials.effort,
        "detail": dials.detail,
        "frames": dials.frames,
        "dt": dials.dt,
        "loop": dials.loop,
        "natural_dt": mode.solver.get_natural_dt(mode.keys, dials),
        "optimising": mode.running_job,
        "result": None if mode.solution is None else _describe_result(mode, mode.solution),
        "ghost": mode.ghost,
    }


def _describe_key(mode: KeyframeMode, key: PoseKey) -> dict[str, Any]:
    picture = mode.thumbnails.get(id(key.pose.displacement))
    return {
        "id": key.id,
        "frame": key.frame,
        "name": key.title,
        "hard": key.hard,
        "weight": key.weight,
        "missed": _get_key_error(mode, key),
        "picture": None if picture is None else picture[1],
        "current": bool(np.array_equal(key.pose.displacement, mode.pose_session.displacement)),
    }


def _describe_result(mode: KeyframeMode, solution: KeyframeSolution) -> dict[str, Any]:
    named = ("cost", "worst", "iterations", "seconds", "text")
    return {name: solution.summary[name] for name in named} | {"stale": mode.is_stale()}


def _describe_selected_vertex(mode: KeyframeMode, node: int) -> dict[str, Any]:
    return {
        "node": node,
        "name": mode.content.describe_vertex(node),
        "position": to_list(mode.compute_position(node)),
        "given": to_list(mode.body.vertices[node]),
        "fixed": bool(np.isin(node, mode.body.fixed)),
    }


def _build_trails(mode: KeyframeMode) -> list[dict[str, Any]]:
    if mode.preview is None:
        return []
    drawing, states = mode.preview
    return [
        {"node": node, "given": None, "result": to_rounded_list(drawing.compute_vertex_path(node, states)), "rev": 0}
        for node in mode.selected[:MAX_TRAILS]
    ]


def _describe_force_peak(mode: KeyframeMode, solution: KeyframeSolution) -> str:
    """One sentence: the peak, and the cheapest way to lower it."""
    peak = int(np.argmax(solution.added_force))
    said = f"Peak {format_percent(solution.added_force[peak])} at frame {peak}."
    before = [key.frame for key in mode.keys if key.frame <= peak]
    after = [key.frame for key in mode.keys if key.frame > peak]
    exact = [key for key in mode.keys if key.hard and key.frame in (*before[-1:], *after[:1])]
    if exact:
        return f"{said} Make {exact[0].title} soft to ease it."
    if after:
        return f"{said} Move the keys at {(before or [0])[-1]} and {after[0]} apart, or turn effort to gentle."
    return f"{said} Turn effort to gentle to ease it."
