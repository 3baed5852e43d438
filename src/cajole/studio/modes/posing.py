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
from cajole.direct.keyframing.pulling import Load, Moment
from cajole.errors import SolveError
from cajole.studio.content import Content
from cajole.studio.modes.telling import place

# What a finger takes hold of: vertices this near to the one that is pulled, in body sizes, and so many at most. A
# force on one vertex alone would draw a spike out of a fine mesh.
PATCH, MOST_PATCH = 0.03, 24
# A hand is as strong as the body answers: what it holds follows it, but within this reach [body sizes] no edge shall be
# stretched or pressed by more than this share, or a pull beside what is held would turn tets inside out.
REACH, MOST_STRAIN = 0.25, 0.3
# The weakest hand, as a share of one that strains the body that much: what turns freely would be moved by no force.
FEEBLE = 1e-3
# [body weights at that reach] where the body's answer is not known, as of a push
USUAL = 0.5


def patch(body: Body, node: int) -> IndexArray:
    """Vertices that are pulled together with `node`, which comes first; none of them fixed, unless it is itself."""
    distance = np.linalg.norm(body.vertices - body.vertices[node], axis=1)
    distance[node] = -1.0
    near = np.argsort(distance, kind="stable")[:MOST_PATCH]
    near = near[distance[near] <= PATCH * body.size]
    return near[(near == node) | ~np.isin(near, body.fixed)]


def hand_stiffness(session: PoseSession, edges: IndexArray, vertices: IndexArray) -> float:
    """[N/m] of force for each metre that the hand is away from vertices (k,), so that they go about as far with it.

    C f is how far they move together under a small force f; a hand of 1/λ, λ the greatest eigenvalue of C, takes them
    along where they are softest, and less far elsewhere. edges: (m, 2) that bound how much (see MOST_STRAIN).
    """
    body = session.body
    reach = REACH * body.size
    usual = USUAL * body.weight / reach
    if len(body.fixed) == 0 and not session.pins:
        return usual
    try:
        moved = session.compliance(vertices)
    except SolveError:  # nothing resists
        return usual
    C = moved[:, vertices].mean(axis=1)
    softness, ways = np.linalg.eigh(0.5 * (C + C.T))
    strain = _strain(body.vertices, edges, np.tensordot(ways[:, -1], moved, axes=1))
    if not strain > 0.0:  # it is pinned itself
        return usual
    straining = MOST_STRAIN / (strain * reach)
    return min(straining, max(1.0 / max(float(softness[-1]), 1e-300), FEEBLE * straining))


def _strain(rest: Array, edges: IndexArray, moved: Array) -> float:
    """The greatest change of length of an edge, as a share of it, to first order."""
    along, apart = (x[edges[:, 1]] - x[edges[:, 0]] for x in (rest, moved))
    return float(np.abs((along * apart).sum(axis=1) / (along**2).sum(axis=1)).max(initial=0.0))


def holds_pose(load: Load) -> bool:
    """Whether a load is not the hand's, but what keeps the body in a pose that was taken over."""
    return len(load.vertices) > MOST_PATCH


class Hands:
    """How stiff the hands were [N/m] that drew loads: their arrows stay as long as they were drawn."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], float] = {}

    def remember(self, load: Load, stiffness: float) -> None:
        """The hand that drew a load."""
        self._known[_drawn(load)] = stiffness

    def of(self, load: Load) -> float | None:
        """That of a load, None where it is not known."""
        return self._known.get(_drawn(load))

    def packed(self, moments: Sequence[Moment]) -> list[list[float]]:
        """Those of the loads of `moments`, as plain JSON."""
        wanted = sorted({_drawn(load) for moment in moments for load in moment.loads} & self._known.keys())
        return [[*drawn, self._known[drawn]] for drawn in wanted]

    def restore(self, documents: Sequence[Sequence[Any]]) -> None:
        """Those that were saved. Raises InputError, or what plain lookups raise, for what they are not."""
        for number, node, stiffness in documents:
            self._known[int(number), int(node)] = checks.positive(stiffness, "a saved hand (N/m)")


def _drawn(load: Load) -> tuple[int, int]:
    """What a load is known by while its force changes: numbers alone begin anew when a project is opened again."""
    return load.number, int(load.vertices[0])


def load_info(content: Content, session: PoseSession, load: Load, hands: Hands) -> dict[str, Any]:
    """A load as the page lists and draws it."""
    force = load.forces.sum(axis=0)
    held = holds_pose(load)
    node = int(load.vertices[0])
    vertices = load.vertices if held else load.vertices[:1]
    return {
        "id": load.number,
        "kind": "pull",
        "name": "Pose taken over" if held else f"Pull {content.named(node)}",
        "nodes": [] if held else [node],
        "force": [0.0, 0.0, 0.0] if held else place(force),
        "strength": float(np.linalg.norm(load.forces, axis=1).sum() if held else np.linalg.norm(force)),
        "at": place((session.body.vertices + session.displacement)[vertices].mean(axis=0)),
        "muted": load.muted,
        "frozen": load.frozen,
        "stiffness": hands.of(load),
    }


def gravity_info(session: PoseSession) -> dict[str, Any]:
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
        "at": place(centre),
        "muted": False,
        "frozen": False,
        "stiffness": None,
    }


def pin_infos(content: Content, session: PoseSession) -> list[dict[str, Any]]:
    """Pins, those of one part together."""
    groups: dict[str, list[int]] = {}
    for node in session.pins:
        groups.setdefault(content.named(node), []).append(node)
    places = session.pins
    return [
        {"name": f"Pin {name}", "nodes": nodes, "places": [place(places[node]) for node in nodes]}
        for name, nodes in groups.items()
    ]


def described(moment: Moment) -> str:
    """What a pose is made of, in words: "2 loads, 1 pin"."""
    loads = sum(not load.muted for load in moment.loads) + (moment.weight is not None)
    parts = [_many(loads, "load")] if loads else []
    parts += [_many(len(moment.pins), "pin")] if moment.pins else []
    return ", ".join(parts)


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


# --- saving


@dataclass
class Packed:
    """Moments as plain JSON beside a few arrays: all loads one after another, and a pose (n, 3) of each moment."""

    documents: list[dict[str, Any]]
    arrays: dict[str, NDArray[Any]]


def packed(moments: Sequence[Moment]) -> Packed:
    """Moments to be saved."""
    documents, vertices, forces, at = [], [np.empty(0, dtype=np.int64)], [np.empty((0, 3))], 0
    for moment in moments:
        loads = []
        for load in moment.loads:
            loads.append({"id": load.number, "frozen": load.frozen, "muted": load.muted, "count": len(load.vertices)})
            vertices.append(load.vertices)
            forces.append(load.forces)
        pins = [[int(node), *place(where)] for node, where in moment.pins.items()]
        documents.append({"loads": loads, "first": at, "pins": pins, "weighs": moment.weight is not None})
        at = sum(len(each) for each in vertices)
    poses = np.stack([moment.displacement for moment in moments])
    arrays = {"load_vertices": np.concatenate(vertices), "load_forces": np.concatenate(forces), "poses": poses}
    return Packed(documents, arrays)


def unpacked(body: Body, documents: Sequence[Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]]) -> list[Moment]:
    """Moments that were saved. Raises InputError, or what plain lookups raise, for those of another body."""
    vertices = checks.index_array(arrays["load_vertices"], "saved loads", (None,), body.count)
    forces = checks.real_array(arrays["load_forces"], "saved forces", (len(vertices), 3))
    poses = checks.real_array(arrays["poses"], "saved poses", (len(documents), body.count, 3))
    found = []
    for document, pose in zip(documents, poses):
        at, loads = int(document["first"]), []
        for each in document["loads"]:
            stop = at + checks.count(each["count"], "vertices of a saved load", most=len(vertices) - at)
            loads.append(
                Load(int(each["id"]), vertices[at:stop], forces[at:stop], bool(each["frozen"]), bool(each["muted"]))
            )
            at = stop
        pins = {
            checks.count(node, "a saved pin", least=0, most=body.count - 1): checks.real_array(where, "a pin", (3,))
            for node, *where in document["pins"]
        }
        found.append(Moment(tuple(loads), pins, pose.copy(), body.gravity() if document["weighs"] else None))
    return found
