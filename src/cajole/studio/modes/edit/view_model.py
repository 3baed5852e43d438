"""State of Edit for the page: drags, lanes, trails, and the values of the panel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct import Editor
from cajole.direct.editing.constraints import AXES, ConstraintKey, OffsetConstraint, OffsetKey
from cajole.studio.content import ProjectContent
from cajole.studio.messages import Lane, Marker, Trail
from cajole.studio.modes.edit.messages import ContactPoint, DragInfo
from cajole.studio.modes.payloads import MAX_TRAILS, build_trail, to_vec3


def format_marker_id(key: ConstraintKey) -> str:
    """Id of a vertex constraint on the time line: vertex@frame."""
    return f"{key.vertex}@{key.frame}" + (f"-{key.other}" if isinstance(key, OffsetKey) else "")


def describe_drags(editor: Editor, content: ProjectContent, names: Mapping[str, str]) -> list[DragInfo]:
    """The drags and pins of an editor; names: given by the user, by marker id."""
    target_errors, drags = editor.measure_target_errors(), list[DragInfo]()
    for key, held in editor.state.constraints.items():
        constraint, marker_id, error = held.constraint, format_marker_id(key), target_errors[key]
        given, moved = editor.model.get_input_position(constraint.frame, constraint.vertex), 0.0
        if not isinstance(constraint, OffsetConstraint):
            moved = float(np.linalg.norm(constraint.directions @ (constraint.target - given)))
        axes = [name for name, axis in AXES.items() if (np.abs(constraint.directions @ axis) > 1 - 1e-9).any()]
        warn = None
        if not error.is_reached:
            warn = f"{100 * error.relative:.2g} % of the drag is left: the body does not reach that far"
        drags.append(
            DragInfo(
                id=marker_id,
                node=constraint.vertex,
                frame=constraint.frame,
                name=names.get(marker_id, content.describe_vertex(constraint.vertex)),
                position=to_vec3(constraint.target),
                given=to_vec3(given),
                moved=moved,
                missed=error.in_body_sizes,
                pin=moved == 0.0,
                # "xyz" stands for directions that are no axes, too
                directions="".join(axes) if len(axes) == len(constraint.directions) else "xyz",
                warn=warn,
            )
        )
    return drags


def build_drag_lane(
    editor: Editor, drags: list[DragInfo], selected: list[int], fps: float, *, max_reach_bars: int = 24
) -> Lane:
    """The lane of drags; each with its reach in time, unless more than `max_reach_bars` would cover one another."""
    markers = []
    for drag in drags:
        marker = Marker(
            id=drag.id, frame=drag.frame, text=drag.name, detail=f"{drag.frame / fps:.2f} s · {drag.moved:.3g} m",
            selected=drag.node in selected, warn=drag.warn or UNSET,
        )  # fmt: skip
        if len(drags) <= max_reach_bars:
            # the reach ends where the vertex follows by less than a tenth of its drag
            frames = np.flatnonzero(np.abs(editor.compute_temporal_influence(drag.node, drag.frame)) > 0.1)
            marker = replace(marker, reach=(int(frames[0]), int(frames[-1])))
        markers.append(marker)
    return Lane(id="drags", name="Drags", shape="disc", tone="asked", markers=markers, add="pin")


def build_contact_lanes(motion: Animation) -> list[Lane]:
    """The lane of frames with contacts in the input; none without contacts."""
    if motion.contacts is None or not len(motion.contacts):
        return []
    frames, bars = np.unique(motion.contacts.frame), []
    for run in np.split(frames, np.flatnonzero(np.diff(frames) > 1) + 1):
        a, b = int(run[0]), int(run[-1])
        detail = f"touching in frames {a} to {b}"
        bars.append(Marker(id=f"contact {a}", frame=a, end=b, text="", movable=False, detail=detail))
    return [Lane(id="contacts", name="Contacts", shape="bar", tone="quiet", markers=bars)]


def build_trails(
    editor: Editor, motion: Animation, selected: list[int], known_positions: Mapping[tuple[int, int], Array]
) -> list[Trail]:
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


def build_contact_points(editor: Editor, motion: Animation, frame: int, *, max_points: int = 400) -> list[ContactPoint]:
    """Points and normals of at most about `max_points` contacts of a frame."""
    contacts = motion.contacts
    if contacts is None or not (contacts.frame == frame).any():
        return []
    here, positions = contacts.at(frame), editor.positions(frame)
    every = max(1, -(-len(here) // max_points))
    return [
        ContactPoint(to_vec3(positions[vertex]), to_vec3(normal))
        for vertex, normal in zip(here.vertex[::every], here.normal[::every])
    ]
