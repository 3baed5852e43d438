"""State of Edit for the page: drags, lanes, trails, and the values of the panel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct import Editor
from cajole.direct.editing.constraints import AXES, ConstraintKey, OffsetConstraint, OffsetKey
from cajole.studio.content import ProjectContent
from cajole.studio.modes.payloads import (
    MAX_TRAILS,
    build_lane,
    build_marker,
    build_trail,
    to_list,
)


def format_marker_id(key: ConstraintKey) -> str:
    """Id of a vertex constraint on the time line: vertex@frame."""
    return f"{key.vertex}@{key.frame}" + (f"-{key.other}" if isinstance(key, OffsetKey) else "")


def describe_drags(editor: Editor, content: ProjectContent, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The drags and pins of an editor; names: given by the user, by marker id."""
    target_errors, drags = editor.measure_target_errors(), []
    for key, held in editor.state.constraints.items():
        constraint, marker_id, error = held.constraint, format_marker_id(key), target_errors[key]
        given, moved = editor.model.get_input_position(constraint.frame, constraint.vertex), 0.0
        if not isinstance(constraint, OffsetConstraint):
            moved = float(np.linalg.norm(constraint.directions @ (constraint.target - given)))
        axes = [name for name, axis in AXES.items() if (np.abs(constraint.directions @ axis) > 1 - 1e-9).any()]
        drags.append(
            {
                "id": marker_id,
                "node": constraint.vertex,
                "frame": constraint.frame,
                "name": names.get(marker_id, content.describe_vertex(constraint.vertex)),
                "position": to_list(constraint.target),
                "given": to_list(given),
                "moved": moved,
                "missed": error.in_body_sizes,
                "pin": moved == 0.0,
                # "xyz" stands for directions that are no axes, too
                "directions": "".join(axes) if len(axes) == len(constraint.directions) else "xyz",
                "warn": None
                if error.is_reached
                else f"{100 * error.relative:.2g} % of the drag is left: the body does not reach that far",
            }
        )
    return drags


def build_drag_lane(
    editor: Editor, drags: list[dict[str, Any]], selected: list[int], fps: float, *, max_reach_bars: int = 24
) -> dict[str, Any]:
    """The lane of drags; each with its reach in time, unless more than `max_reach_bars` would cover one another."""
    markers = []
    for drag in drags:
        reach = None
        if len(drags) <= max_reach_bars:
            # the reach ends where the vertex follows by less than a tenth of its drag
            influence = np.abs(editor.compute_temporal_influence(drag["node"], drag["frame"]))
            frames = np.flatnonzero(influence > 0.1)
            reach = [int(frames[0]), int(frames[-1])]
        markers.append(build_marker(
            drag["id"], drag["frame"], drag["name"], detail=f"{drag['frame'] / fps:.2f} s · {drag['moved']:.3g} m",
            selected=drag["node"] in selected, reach=reach, warn=drag["warn"],
        ))  # fmt: skip
    return build_lane("drags", "Drags", "disc", "asked", markers, add="pin")


def build_contact_lanes(motion: Animation) -> list[dict[str, Any]]:
    """The lane of frames with contacts in the input; none without contacts."""
    if motion.contacts is None or not len(motion.contacts):
        return []
    frames = np.unique(motion.contacts.frame)
    runs = np.split(frames, np.flatnonzero(np.diff(frames) > 1) + 1)
    ranges = [(int(run[0]), int(run[-1])) for run in runs]
    bars = [
        {**build_marker(f"contact {a}", a, "", end=b, detail=f"touching in frames {a} to {b}"), "movable": False}
        for a, b in ranges
    ]
    return [build_lane("contacts", "Contacts", "bar", "quiet", bars)]


def build_trails(
    editor: Editor, motion: Animation, selected: list[int], known_positions: Mapping[tuple[int, int], Array]
) -> list[dict[str, Any]]:
    """Trails of selected vertices: exact at frames that were computed, by the linear change elsewhere."""
    if not selected:
        return []
    z = editor.compute_reduced_coordinates() if editor.state.constraints else None
    trails = []
    for node in selected[:MAX_TRAILS]:
        given = np.asarray(motion.positions[:, node], dtype=np.float64)
        path = given.copy()
        if z is not None:
            moved = z @ editor.model.compute_constraint_rows(node).T
            if editor.model.is_floating:
                moved = np.stack([editor.model.compute_rigid_rotation(t) @ row for t, row in enumerate(moved)])
            path += moved
        for (which, frame), position in known_positions.items():
            if which == node:
                path[frame] = position
        trails.append(build_trail(node, given, path))
    return trails


def build_panel(editor: Editor, content: ProjectContent, motion: Animation) -> dict[str, Any]:
    """Settings of the editor and their defaults."""
    settings, setup = editor.settings, content.edit_setup
    alpha, beta = setup.options.get("damping") or [
        float(getattr(content.body, name, 0.0)) for name in ("alpha", "beta")
    ]
    return {
        "h": settings.h,
        "alpha": settings.damping[0],
        "beta": settings.damping[1],
        "defaults": {
            "h": setup.options.get("h") or 1.0 / motion.fps,
            "alpha": alpha,
            "beta": beta,
            "modes": setup.modes or editor.options.modes,
        },
        "ends": settings.ends,
        "energy": settings.energy,
        "smoothness": settings.smoothness,
        "window": None if settings.window is None else list(settings.window),
        "editable": list(editor.editable_frames),
        "modes": editor.options.modes,
        "most_modes": max(editor.options.modes, min(1000, 3 * motion.n - 6)),
        "warp": editor.options.warp,
        "contacts_found": 0 if motion.contacts is None else len(motion.contacts),
        "contacts_kept": editor.contact_count,
    }


def build_contact_points(
    editor: Editor, motion: Animation, frame: int, *, max_points: int = 400
) -> list[dict[str, Any]]:
    """Points and normals of at most about `max_points` contacts of a frame."""
    contacts = motion.contacts
    if contacts is None or not (contacts.frame == frame).any():
        return []
    here, positions = contacts.at(frame), editor.positions(frame)
    every = max(1, -(-len(here) // max_points))
    return [
        {"point": to_list(positions[vertex]), "normal": to_list(normal)}
        for vertex, normal in zip(here.vertex[::every], here.normal[::every])
    ]
