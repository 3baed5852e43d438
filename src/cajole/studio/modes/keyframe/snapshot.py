"""Poses and solutions of Keyframe as JSON documents and arrays of a saved project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.body import Body
from cajole.direct.keyframing.pose_session import Load, PoseSnapshot
from cajole.studio.modes.keyframe.messages import KeyframeModeSettings
from cajole.studio.modes.keyframe.solution import (
    KeyframeSolution,
    Keys,
    PoseKey,
    SolutionSummary,
    build_solution_key,
)
from cajole.studio.modes.payloads import to_vec3
from cajole.studio.protocol import JsonObject

Arrays = Mapping[str, NDArray[Any]]


def pack_poses(poses: Sequence[PoseSnapshot]) -> tuple[list[JsonObject], dict[str, NDArray[Any]]]:
    """A document of each pose, and arrays: all loads one after another, and displacements (n, 3) of each pose."""
    documents, vertices, forces, first = [], [np.empty(0, dtype=np.int64)], [np.empty((0, 3))], 0
    for pose in poses:
        loads = []
        for load in pose.loads:
            loads.append({"id": load.load_id, "frozen": load.frozen, "muted": load.muted, "count": len(load.vertices)})
            vertices.append(load.vertices)
            forces.append(load.forces)
        pins = [[int(node), *to_vec3(where)] for node, where in pose.pins.items()]
        documents.append({"loads": loads, "first": first, "pins": pins, "weighs": pose.gravity_force is not None})
        first = sum(len(each) for each in vertices)
    return documents, {
        "load_vertices": np.concatenate(vertices),
        "load_forces": np.concatenate(forces),
        "poses": np.stack([pose.displacement for pose in poses]),
    }


def unpack_poses(body: Body, documents: Sequence[Mapping[str, Any]], arrays: Arrays) -> list[PoseSnapshot]:
    """Inverse of `pack_poses`. Raises InputError, or the errors of plain lookups, for poses of another body."""
    vertices = checks.require_index_array(arrays["load_vertices"], "saved loads", (None,), body.vertex_count)
    forces = checks.require_real_array(arrays["load_forces"], "saved forces", (len(vertices), 3))
    displacements = checks.require_real_array(arrays["poses"], "saved poses", (len(documents), body.vertex_count, 3))
    poses = []
    for document, displacement in zip(documents, displacements):
        at, loads, pins = int(document["first"]), [], {}
        for each in document["loads"]:
            stop = at + checks.require_integer(each["count"], "vertices of a saved load", maximum=len(vertices) - at)
            flags = bool(each["frozen"]), bool(each["muted"])
            loads.append(Load(int(each["id"]), vertices[at:stop], forces[at:stop], *flags))
            at = stop
        for node, *where in document["pins"]:
            node = checks.require_integer(node, "a saved pin", minimum=0, maximum=body.vertex_count - 1)
            pins[node] = checks.require_real_array(where, "a pin", (3,))
        gravity = body.gravity() if document["weighs"] else None
        poses.append(PoseSnapshot(tuple(loads), pins, displacement.copy(), gravity))
    return poses


def pack_key(key: PoseKey) -> JsonObject:
    """A key without its pose."""
    return {"number": key.number, "frame": key.frame, "name": key.name, "hard": key.hard, "weight": key.weight}


def unpack_key(document: Mapping[str, Any], pose: PoseSnapshot) -> PoseKey:
    return PoseKey(
        checks.require_integer(document["number"], "the number of a key"),
        checks.require_integer(document["frame"], "the frame of a key", minimum=0),
        pose,
        None if document["name"] is None else str(document["name"]),
        bool(document["hard"]),
        checks.require_real_number(document["weight"], "the weight of a key"),
    )


def pack_solution(solution: KeyframeSolution, *, is_stale: bool) -> tuple[JsonObject, dict[str, NDArray[Any]]]:
    """A document and arrays; is_stale: keys or settings have changed since."""
    names = ("basis", "states", "velocities", "controls")
    arrays: dict[str, NDArray[Any]] = {f"take_{name}": getattr(solution, name) for name in names}
    arrays |= {"take_curve": solution.added_force, "take_held": solution.fixed_vertices}
    if solution.start is not None:
        arrays["take_start"] = np.stack(solution.start)
    return {
        "dt": solution.dt,
        "loop": solution.loop,
        "missed": dict(solution.key_errors),
        "about": asdict(solution.summary),
        "stale": is_stale,
    }, arrays


def unpack_solution(
    body: Body, document: Mapping[str, Any], arrays: Arrays, keys: Keys, settings: KeyframeModeSettings
) -> KeyframeSolution:
    """Inverse of `pack_solution`. Raises InputError, or the errors of plain lookups, for one of another body."""
    basis = checks.require_real_array(arrays["take_basis"], "saved basis", (3 * body.vertex_count, None))
    r = basis.shape[1]
    states = checks.require_real_array(arrays["take_states"], "saved states", (None, r))
    start = checks.require_real_array(arrays["take_start"], "saved start", (2, r)) if "take_start" in arrays else None
    # projects of earlier versions have no pins in the motion
    fixed = arrays.get("take_held", np.empty(0, dtype=np.int64))
    return KeyframeSolution(
        basis, states, checks.require_real_array(arrays["take_velocities"], "saved velocities", (len(states), r)),
        checks.require_real_array(arrays["take_controls"], "saved controls", (None, r)),
        None if start is None else (start[0], start[1]),
        checks.require_real_array(arrays["take_curve"], "saved forces", (len(states),)),
        checks.require_positive(document["dt"], "saved dt (s)"), bool(document["loop"]), dict(document["missed"]),
        SolutionSummary(**document["about"]), () if document["stale"] else build_solution_key(keys, settings),
        tuple(key.pose for key in keys),
        checks.require_index_array(fixed, "saved pins", (None,), body.vertex_count),
    )  # fmt: skip
