"""A `PoseSession` in the studio: pulls at patches, loads and pins as the page shows them, moments as they are saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.direct import PoseSession
from cajole.direct.keyframing.pose_session import Load, PoseSnapshot
from cajole.errors import SolveError
from cajole.studio.content import ProjectContent
from cajole.studio.modes.payloads import to_list

# What a finger takes hold of: vertices this near to the one that is pulled, in body sizes, and so many at most. A
# force on one vertex alone would draw a spike out of a fine mesh.
PATCH_RADIUS, MAX_PATCH_VERTICES = 0.03, 24
# A hand is as strong as the body answers: what it holds follows it, but within this reach [body sizes] no edge shall be
# stretched or pressed by more than this share, or a pull beside what is held would turn tets inside out.
PULL_REACH, MAX_STRAIN = 0.25, 0.3
# The weakest hand, as a share of one that strains the body that much: what turns freely would be moved by no force.
MIN_STIFFNESS_FRACTION = 1e-3
# [body weights at that reach] where the body's answer is not known, as of a push
DEFAULT_WEIGHTS_AT_REACH = 0.5


def select_patch(body: Body, node: int) -> IndexArray:
    """Vertices that are pulled together with `node`, which comes first; none of them fixed, unless it is itself."""
    distance = np.linalg.norm(body.vertices - body.vertices[node], axis=1)
    distance[node] = -1.0
    near = np.argsort(distance, kind="stable")[:MAX_PATCH_VERTICES]
    near = near[distance[near] <= PATCH_RADIUS * body.size]
    return near[(near == node) | ~np.isin(near, body.fixed)]


def compute_pull_stiffness(session: PoseSession, edges: IndexArray, vertices: IndexArray) -> float:
    """[N/m] of force for each metre that the hand is away from vertices (k,), so that they go about as far with it.

    C f is how far they move together under a small force f; a hand of 1/λ, λ the greatest eigenvalue of C, takes them
    along where they are softest, and less far elsewhere. edges: (m, 2) that bound how much (see MOST_STRAIN).
    """
    body = session.body
    reach = PULL_REACH * body.size
    usual = DEFAULT_WEIGHTS_AT_REACH * body.weight / reach
    if len(body.fixed) == 0 and not session.pins:
        return usual
    try:
        moved = session.compute_compliance(vertices)
    except SolveError:  # nothing resists
        return usual
    C = moved[:, vertices].mean(axis=1)
    softness, ways = np.linalg.eigh(0.5 * (C + C.T))
    strain = _compute_max_strain(body.vertices, edges, np.tensordot(ways[:, -1], moved, axes=1))
    if not strain > 0.0:  # it is pinned itself
        return usual
    straining = MAX_STRAIN / (strain * reach)
    return min(straining, max(1.0 / max(float(softness[-1]), 1e-300), MIN_STIFFNESS_FRACTION * straining))


def _compute_max_strain(rest: Array, edges: IndexArray, displacements: Array) -> float:
    """The greatest change of length of an edge, as a share of it, to first order."""
    along, apart = (x[edges[:, 1]] - x[edges[:, 0]] for x in (rest, displacements))
    return float(np.abs((along * apart).sum(axis=1) / (along**2).sum(axis=1)).max(initial=0.0))


def is_pose_load(load: Load) -> bool:
    """Whether a load is not the hand's, but what keeps the body in a pose that was taken over."""
    return len(load.vertices) > MAX_PATCH_VERTICES


class PullStiffnesses:
    """How stiff the hands were [N/m] that drew loads: their arrows stay as long as they were drawn."""

    def __init__(self) -> None:
        self._stiffnesses: dict[tuple[int, int], float] = {}

    def record(self, load: Load, stiffness: float) -> None:
        """The hand that drew a load."""
        self._stiffnesses[_get_load_key(load)] = stiffness

    def get(self, load: Load) -> float | None:
        """That of a load, None where it is not known."""
        return self._stiffnesses.get(_get_load_key(load))

    def to_json(self, poses: Sequence[PoseSnapshot]) -> list[list[float]]:
        """Those of the loads of `moments`, as plain JSON."""
        wanted = sorted({_get_load_key(load) for moment in poses for load in moment.loads} & self._stiffnesses.keys())
        return [[*drawn, self._stiffnesses[drawn]] for drawn in wanted]

    def load_json(self, documents: Sequence[Sequence[Any]]) -> None:
        """Those that were saved. Raises InputError, or what plain lookups raise, for what they are not."""
        for number, node, stiffness in documents:
            self._stiffnesses[int(number), int(node)] = checks.require_positive(stiffness, "a saved hand (N/m)")


def _get_load_key(load: Load) -> tuple[int, int]:
    """What a load is known by while its force changes: numbers alone begin anew when a project is opened again."""
    return load.load_id, int(load.vertices[0])


def describe_load(
    content: ProjectContent, session: PoseSession, load: Load, stiffnesses: PullStiffnesses
) -> dict[str, Any]:
    """A load as the page lists and draws it."""
    force = load.forces.sum(axis=0)
    held = is_pose_load(load)
    node = int(load.vertices[0])
    vertices = load.vertices if held else load.vertices[:1]
    return {
        "id": load.load_id,
        "kind": "pull",
        "name": "Pose taken over" if held else f"Pull {content.describe_vertex(node)}",
        "nodes": [] if held else [node],
        "force": [0.0, 0.0, 0.0] if held else to_list(force),
        "strength": float(np.linalg.norm(load.forces, axis=1).sum() if held else np.linalg.norm(force)),
        "at": to_list((session.body.vertices + session.displacement)[vertices].mean(axis=0)),
        "muted": load.muted,
        "frozen": load.frozen,
        "stiffness": stiffnesses.get(load),
    }


def describe_gravity(session: PoseSession) -> dict[str, Any]:
    """Gravity among the loads."""
    body = session.body
    centre = np.average(body.vertices + session.displacement, axis=0, weights=body.vertex_masses)
    return {
        "id": -1,
        "kind": "gravity",
        "name": "Gravity",
        "nodes": [],
        "force": [0.0, 0.0, -body.weight],
        "strength": body.weight,
        "at": to_list(centre),
        "muted": False,
        "frozen": False,
        "stiffness": None,
    }


def describe_pins(content: ProjectContent, session: PoseSession) -> list[dict[str, Any]]:
    """Pins, those of one part together."""
    groups: dict[str, list[int]] = {}
    for node in session.pins:
        groups.setdefault(content.describe_vertex(node), []).append(node)
    places = session.pins
    return [
        {"name": f"Pin {name}", "nodes": nodes, "places": [to_list(places[node]) for node in nodes]}
        for name, nodes in groups.items()
    ]


def describe_pose(pose: PoseSnapshot) -> str:
    """What a pose is made of, in words: "2 loads, 1 pin"."""
    loads = sum(not load.muted for load in pose.loads) + (pose.gravity_force is not None)
    parts = [_format_count(loads, "load")] if loads else []
    parts += [_format_count(len(pose.pins), "pin")] if pose.pins else []
    return ", ".join(parts)


def _format_count(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


# --- saving


@dataclass
class PackedPoses:
    """Moments as plain JSON beside a few arrays: all loads one after another, and a pose (n, 3) of each moment."""

    documents: list[dict[str, Any]]
    arrays: dict[str, NDArray[Any]]


def pack_poses(pose_snapshots: Sequence[PoseSnapshot]) -> PackedPoses:
    """Moments to be saved."""
    documents, vertices, forces, at = [], [np.empty(0, dtype=np.int64)], [np.empty((0, 3))], 0
    for moment in pose_snapshots:
        loads = []
        for load in moment.loads:
            loads.append({"id": load.load_id, "frozen": load.frozen, "muted": load.muted, "count": len(load.vertices)})
            vertices.append(load.vertices)
            forces.append(load.forces)
        pins = [[int(node), *to_list(where)] for node, where in moment.pins.items()]
        documents.append({"loads": loads, "first": at, "pins": pins, "weighs": moment.gravity_force is not None})
        at = sum(len(each) for each in vertices)
    poses = np.stack([moment.displacement for moment in pose_snapshots])
    arrays = {"load_vertices": np.concatenate(vertices), "load_forces": np.concatenate(forces), "poses": poses}
    return PackedPoses(documents, arrays)


def unpack_poses(
    body: Body, documents: Sequence[Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]]
) -> list[PoseSnapshot]:
    """Moments that were saved. Raises InputError, or what plain lookups raise, for those of another body."""
    vertices = checks.require_index_array(arrays["load_vertices"], "saved loads", (None,), body.vertex_count)
    forces = checks.require_real_array(arrays["load_forces"], "saved forces", (len(vertices), 3))
    poses = checks.require_real_array(arrays["poses"], "saved poses", (len(documents), body.vertex_count, 3))
    found = []
    for document, pose in zip(documents, poses):
        at, loads = int(document["first"]), []
        for each in document["loads"]:
            stop = at + checks.require_integer(each["count"], "vertices of a saved load", maximum=len(vertices) - at)
            loads.append(
                Load(int(each["id"]), vertices[at:stop], forces[at:stop], bool(each["frozen"]), bool(each["muted"]))
            )
            at = stop
        pins = {
            checks.require_integer(
                node, "a saved pin", minimum=0, maximum=body.vertex_count - 1
            ): checks.require_real_array(where, "a pin", (3,))
            for node, *where in document["pins"]
        }
        found.append(PoseSnapshot(tuple(loads), pins, pose.copy(), body.gravity() if document["weighs"] else None))
    return found
