"""State of Keyframe for the page: loads, pins, keys and their lane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cajole.arrays import Array
from cajole.direct import PoseSession
from cajole.studio.content import ProjectContent
from cajole.studio.modes.keyframe.pose_loads import get_load_key, is_pose_load
from cajole.studio.modes.keyframe.solution import KeyframeSolution, Keys
from cajole.studio.modes.payloads import build_lane, build_marker, format_percent, to_list


def describe_loads(
    content: ProjectContent, session: PoseSession, stiffnesses: Mapping[tuple[int, int], float]
) -> list[dict[str, Any]]:
    """Loads, the last one gravity where it is on; stiffnesses [N/m] of the hands that drew them, by load key."""
    body, positions, loads = session.body, session.body.vertices + session.displacement, []
    for load in session.loads:
        is_pull, node, force = not is_pose_load(load), int(load.vertices[0]), load.forces.sum(axis=0)
        strength = np.linalg.norm(force) if is_pull else np.linalg.norm(load.forces, axis=1).sum()
        loads.append(
            {
                "id": load.load_id,
                "kind": "pull",
                "name": f"Pull {content.describe_vertex(node)}" if is_pull else "Pose taken over",
                "nodes": [node] if is_pull else [],
                "force": to_list(force) if is_pull else [0.0, 0.0, 0.0],
                "strength": float(strength),
                "at": to_list(positions[load.vertices[:1] if is_pull else load.vertices].mean(axis=0)),
                "muted": load.muted,
                "frozen": load.frozen,
                "stiffness": stiffnesses.get(get_load_key(load)),
            }
        )
    if session.has_gravity:
        loads.append(
            {
                "id": -1,
                "kind": "gravity",
                "name": "Gravity",
                "nodes": [],
                "force": [0.0, 0.0, -body.weight],
                "strength": body.weight,
                "at": to_list(np.average(positions, axis=0, weights=body.vertex_masses)),
                "muted": False,
                "frozen": False,
                "stiffness": None,
            }
        )
    return loads


def describe_pins(content: ProjectContent, session: PoseSession) -> list[dict[str, Any]]:
    """Pins, grouped by the part of the body that they are in."""
    groups: dict[str, list[int]] = {}
    for node in session.pins:
        groups.setdefault(content.describe_vertex(node), []).append(node)
    return [
        {"name": f"Pin {name}", "nodes": nodes, "places": [to_list(session.pins[node]) for node in nodes]}
        for name, nodes in groups.items()
    ]


def describe_keys(
    keys: Keys, errors: Mapping[str, float], pictures: Mapping[int, tuple[Array, str | None]], displacement: Array
) -> list[dict[str, Any]]:
    """Keys; errors: by key id, in body sizes; pictures: by id of the key's displacement; displacement: present pose."""
    return [
        {
            "id": key.id,
            "frame": key.frame,
            "name": key.title,
            "hard": key.hard,
            "weight": key.weight,
            "missed": errors.get(key.id),
            "picture": pictures.get(id(key.pose.displacement), (None, None))[1],
            "current": bool(np.array_equal(key.pose.displacement, displacement)),
        }
        for key in keys
    ]


def build_key_lane(keys: Keys, errors: Mapping[str, float], frame: int, fps: float) -> dict[str, Any]:
    """The lane of keys; a key missed by more than 2 % of the body's size has a warning."""
    markers = []
    for key in keys:
        loads = sum(not load.muted for load in key.pose.loads) + (key.pose.gravity_force is not None)
        counts = ((loads, "load"), (len(key.pose.pins), "pin"))
        parts = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count)
        error, warn = errors.get(key.id, 0.0), None
        if error > 0.02:
            warn = f"missed by {format_percent(error)} of body size: turn effort to exact, or give it more time"
        markers.append(build_marker(
            key.id, key.frame, key.title, detail=f"{key.frame / fps:.2f} s" + (f" · {parts}" if parts else ""),
            hollow=not key.hard, selected=key.frame == frame, warn=warn,
        ))  # fmt: skip
    return build_lane("keys", "Keys", "diamond", "asked", markers, add="capture key")


def describe_peak_remedy(keys: Keys, solution: KeyframeSolution) -> str:
    """How to lower the peak of the added force."""
    peak = int(np.argmax(solution.added_force))
    before = [key for key in keys if key.frame <= peak][-1:]
    after = [key for key in keys if key.frame > peak][:1]
    for key in (*before, *after):
        if key.hard:
            return f"Make {key.title} soft to ease it."
    if after:
        first = before[0].frame if before else 0
        return f"Move the keys at {first} and {after[0].frame} apart, or turn effort to gentle."
    return "Turn effort to gentle to ease it."
