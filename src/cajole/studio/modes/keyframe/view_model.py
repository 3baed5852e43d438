"""State of Keyframe for the page: loads, pins, keys and their lane."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import UNSET, UnsetType

from cajole.arrays import Array
from cajole.direct import PoseSession
from cajole.studio.content import ProjectContent
from cajole.studio.messages import Lane, Marker
from cajole.studio.modes.keyframe.messages import KeyInfo, LoadInfo, PinInfo
from cajole.studio.modes.keyframe.pose_loads import get_load_key, is_pose_load
from cajole.studio.modes.keyframe.solution import KeyframeSolution, Keys
from cajole.studio.modes.payloads import format_percent, to_vec3


def describe_loads(
    content: ProjectContent, session: PoseSession, stiffnesses: Mapping[tuple[int, int], float]
) -> list[LoadInfo]:
    """Loads, the last one gravity where it is on; stiffnesses [N/m] of the hands that drew them, by load key."""
    body, positions, loads = session.body, session.body.vertices + session.displacement, list[LoadInfo]()
    for load in session.loads:
        is_pull, node, force = not is_pose_load(load), int(load.vertices[0]), load.forces.sum(axis=0)
        strength = np.linalg.norm(force) if is_pull else np.linalg.norm(load.forces, axis=1).sum()
        loads.append(
            LoadInfo(
                id=load.load_id,
                kind="pull",
                name=f"Pull {content.describe_vertex(node)}" if is_pull else "Pose taken over",
                nodes=[node] if is_pull else [],
                force=to_vec3(force) if is_pull else (0.0, 0.0, 0.0),
                strength=float(strength),
                at=to_vec3(positions[load.vertices[:1] if is_pull else load.vertices].mean(axis=0)),
                muted=load.muted,
                frozen=load.frozen,
                stiffness=stiffnesses.get(get_load_key(load)),
            )
        )
    if session.has_gravity:
        loads.append(
            LoadInfo(
                id=-1,
                kind="gravity",
                name="Gravity",
                nodes=[],
                force=(0.0, 0.0, -body.weight),
                strength=body.weight,
                at=to_vec3(np.average(positions, axis=0, weights=body.vertex_masses)),
                muted=False,
                frozen=False,
                stiffness=None,
            )
        )
    return loads


def describe_pins(content: ProjectContent, session: PoseSession) -> list[PinInfo]:
    """Pins, grouped by the part of the body that they are in."""
    groups: dict[str, list[int]] = {}
    for node in session.pins:
        groups.setdefault(content.describe_vertex(node), []).append(node)
    return [
        PinInfo(name=f"Pin {name}", nodes=nodes, places=[to_vec3(session.pins[node]) for node in nodes])
        for name, nodes in groups.items()
    ]


def describe_keys(
    keys: Keys, errors: Mapping[str, float], pictures: Mapping[int, tuple[Array, str | None]], displacement: Array
) -> list[KeyInfo]:
    """Keys; errors: by key id, in body sizes; pictures: by id of the key's displacement; displacement: present pose."""
    return [
        KeyInfo(
            id=key.id,
            frame=key.frame,
            name=key.title,
            hard=key.hard,
            weight=key.weight,
            missed=errors.get(key.id),
            picture=pictures.get(id(key.pose.displacement), (None, None))[1],
            current=bool(np.array_equal(key.pose.displacement, displacement)),
        )
        for key in keys
    ]


def build_key_lane(keys: Keys, errors: Mapping[str, float], frame: int, fps: float) -> Lane:
    """The lane of keys; a key missed by more than 2 % of the body's size has a warning."""
    markers = []
    for key in keys:
        loads = sum(not load.muted for load in key.pose.loads) + (key.pose.gravity_force is not None)
        counts = ((loads, "load"), (len(key.pose.pins), "pin"))
        parts = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count)
        error = errors.get(key.id, 0.0)
        warn: str | UnsetType = UNSET
        if error > 0.02:
            warn = f"missed by {format_percent(error)} of body size: turn effort to exact, or give it more time"
        markers.append(Marker(
            id=key.id, frame=key.frame, text=key.title, hollow=not key.hard, selected=key.frame == frame, warn=warn,
            detail=f"{key.frame / fps:.2f} s" + (f" · {parts}" if parts else ""),
        ))  # fmt: skip
    return Lane(id="keys", name="Keys", shape="diamond", tone="asked", markers=markers, add="capture key")


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
