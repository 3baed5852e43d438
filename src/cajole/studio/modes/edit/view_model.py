"""What the page is told of an edit: lanes, meter, selection, trails, and the panel's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cajole.arrays import Array
from cajole.direct.editing.constraints import AXES, ConstraintKey, OffsetConstraint, OffsetKey, VertexConstraint
from cajole.direct.editing.reach import TargetError
from cajole.studio.modes.payloads import (
    MAX_TRAILS,
    build_force_lane,
    build_force_meter,
    build_marker,
    find_consecutive_ranges,
    format_percent,
    to_list,
    to_rounded_list,
)

if TYPE_CHECKING:
    from cajole.studio.modes.edit.mode import EditMode


# A drag's reach ends where its vertex follows by less than this share of the drag.
REACH_THRESHOLD = 0.1
# Contacts of one frame that are drawn.
MAX_CONTACT_POINTS = 400
# Drags whose reach is worked out; of more, the bars would cover one another.
MAX_REACH_BARS = 24


def format_marker_id(key: ConstraintKey) -> str:
    """What a hold is called on the time line: vertex@frame."""
    return f"{key.vertex}@{key.frame}" + (f"-{key.other}" if isinstance(key, OffsetKey) else "")


def format_directions(constraint: VertexConstraint) -> str:
    """Which of x, y and z a hold keeps; "xyz" for directions that are none of them."""
    found = [letter for letter, axis in AXES.items() if (np.abs(constraint.directions @ axis) > 1 - 1e-9).any()]
    return "".join(found) if len(found) == len(constraint.directions) else "xyz"


def build_edit_state(mode: EditMode) -> dict[str, Any]:
    """The state of the mode."""
    curve = mode.editor.gentleness()
    errors = mode.editor.measure_target_errors()
    drags = [_describe_drag(mode, key, errors[key]) for key in mode.editor.state.constraints]
    lanes = [_build_drag_lane(mode, drags)]
    if curve.any():
        lanes.append(build_force_lane(curve))
    lanes += _build_contact_lane(mode)
    return {
        "lanes": lanes,
        "meter": build_force_meter(curve, _describe_force_peak(mode, curve)),
        "selection": [_describe_selected_vertex(mode, node) for node in mode.selected],
        "trails": _build_trails(mode),
        "labels": {"now": "Editing", "result": "Result"},
        "undo": mode.history.undo_label,
        "redo": mode.history.redo_label,
        "edit": {"drags": drags, **_build_panel(mode, mode.editor.contact_count)},
    }


def _describe_drag(mode: EditMode, key: ConstraintKey, target_error: TargetError) -> dict[str, Any]:
    hold, name = mode.editor.state.constraints[key].constraint, format_marker_id(key)
    given = mode.editor.model.get_input_position(hold.frame, hold.vertex)
    moved = (
        float(np.linalg.norm(hold.directions @ (hold.target - given)))
        if not isinstance(hold, OffsetConstraint)
        else 0.0
    )
    warn = None
    if not target_error.is_reached:
        warn = f"{100 * target_error.relative:.2g} % of the drag is left: the body does not reach that far"
    return {
        "id": name,
        "node": hold.vertex,
        "frame": hold.frame,
        "name": mode.marker_names.get(name, mode.content.describe_vertex(hold.vertex)),
        "position": to_list(hold.target),
        "given": to_list(given),
        "moved": moved,
        "missed": target_error.in_body_sizes,
        "pin": moved == 0.0,
        "directions": format_directions(hold),
        "warn": warn,
    }


def _build_drag_lane(mode: EditMode, drags: list[dict[str, Any]]) -> dict[str, Any]:
    markers = []
    for drag in drags:
        detail = f"{drag['frame'] / mode.fps:.2f} s · {drag['moved']:.3g} m"
        more: dict[str, Any] = {"detail": detail, "selected": drag["node"] in mode.selected}
        if len(drags) <= MAX_REACH_BARS:
            more["reach"] = _compute_reach(mode, drag["node"], drag["frame"])
        if drag["warn"]:
            more["warn"] = drag["warn"]
        markers.append(build_marker(drag["id"], drag["frame"], drag["name"], **more))
    lane: dict[str, Any] = {"id": "drags", "name": "Drags", "shape": "disc", "tone": "asked", "markers": markers}
    return {**lane, "add": "pin"}


def _compute_reach(mode: EditMode, node: int, frame: int) -> list[int]:
    follows = np.abs(mode.editor.compute_temporal_influence(node, frame))
    far = np.flatnonzero(follows > REACH_THRESHOLD)
    return [int(far[0]), int(far[-1])]


def _build_contact_lane(mode: EditMode) -> list[dict[str, Any]]:
    contacts = mode.input_animation.contacts
    if contacts is None or not len(contacts):
        return []
    bars = [
        build_marker(f"contact {a}", a, "", end=b, movable=False, detail=f"touching in frames {a} to {b}")
        for a, b in find_consecutive_ranges(contacts.frame)
    ]
    return [{"id": "contacts", "name": "Contacts", "shape": "bar", "tone": "quiet", "markers": bars}]


def _describe_selected_vertex(mode: EditMode, node: int) -> dict[str, Any]:
    now = mode.computed_positions.get((node, mode.current_frame))
    position = mode.editor.positions(mode.current_frame)[node] if now is None else now
    return {
        "node": node,
        "name": mode.content.describe_vertex(node),
        "position": to_list(position),
        "given": to_list(mode.input_animation.positions[mode.current_frame, node]),
        "fixed": not mode.editor.model.compute_constraint_rows(node).any(),
    }


def _build_trails(mode: EditMode) -> list[dict[str, Any]]:
    """Paths of selected vertices: where frames were looked at exact, elsewhere by the linear change."""
    if not mode.selected:
        return []
    subject, z = mode.editor.model, mode.editor.compute_reduced_coordinates() if mode.editor.state.constraints else None
    out = []
    for node in mode.selected[:MAX_TRAILS]:
        given = np.asarray(mode.input_animation.positions[:, node], dtype=np.float64)
        path = given.copy()
        if z is not None:
            moved = z @ subject.compute_constraint_rows(node).T
            path += (
                np.stack([subject.compute_rigid_rotation(t) @ row for t, row in enumerate(moved)])
                if subject.is_floating
                else moved
            )
        for (which, frame), position in mode.computed_positions.items():
            if which == node:
                path[frame] = position
        out.append({"node": node, "given": to_rounded_list(given), "result": to_rounded_list(path), "rev": 0})
    return out


def _build_panel(mode: EditMode, kept_contacts: int) -> dict[str, Any]:
    settings, editor, own = mode.editor.settings, mode.editor, mode.content.edit_setup
    first, last = editor.editable_frames
    body, plan = mode.content.body, own.options
    alpha, beta = plan.get("damping") or [float(getattr(body, name, 0.0)) for name in ("alpha", "beta")]
    return {
        "h": settings.h,
        "alpha": settings.damping[0],
        "beta": settings.damping[1],
        "defaults": {
            "h": plan.get("h") or 1.0 / mode.fps,
            "alpha": alpha,
            "beta": beta,
            "modes": own.modes or editor.options.modes,
        },
        "ends": settings.ends,
        "energy": settings.energy,
        "smoothness": settings.smoothness,
        "window": None if settings.window is None else list(settings.window),
        "editable": [first, last],
        "modes": editor.options.modes,
        "most_modes": max(editor.options.modes, min(1000, 3 * mode.input_animation.n - 6)),
        "warp": editor.options.warp,
        "contacts": mode.uses_contacts,
        "contacts_found": 0 if mode.input_animation.contacts is None else len(mode.input_animation.contacts),
        "contacts_kept": kept_contacts,
        "contact_points": _build_contact_points(mode),
        "suggested": mode.count_suggested_drags(),
    }


def _build_contact_points(mode: EditMode) -> list[dict[str, Any]]:
    contacts = mode.input_animation.contacts
    if contacts is None or not (contacts.frame == mode.current_frame).any():
        return []
    here = contacts.at(mode.current_frame)
    positions = mode.editor.positions(mode.current_frame)
    every = max(1, -(-len(here) // MAX_CONTACT_POINTS))
    return [
        {"point": to_list(positions[vertex]), "normal": to_list(normal)}
        for vertex, normal in zip(here.vertex[::every], here.normal[::every])
    ]


def _describe_force_peak(mode: EditMode, curve: Array) -> str | None:
    """One sentence: the peak, and the cheapest way to lower it."""
    if not curve.any():
        return None
    peak = int(np.argmax(curve))
    hint = "" if mode.editor.settings.window is None else " Widen the window to make it gentler."
    return f"Peak {format_percent(curve[peak])} at frame {peak}.{hint}"
