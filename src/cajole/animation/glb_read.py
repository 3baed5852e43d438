"""Reading GLB: meshes with morph targets, whoever wrote them, and static meshes as one frame."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation, Frames
from cajole.animation.blocks import frames_dtype
from cajole.animation.glb_document import Document, open_glb
from cajole.animation.reading import DEFAULT_FPS, AnyMesh, even_times, guarded, rate_of, tidy_rate
from cajole.animation.seams import joined
from cajole.animation.shown import painted, srgb_from_linear
from cajole.errors import FileError
from cajole.memory import require_memory
from cajole.mesh import MeshTri, Skin, repaired
from cajole.progress import Progress, report

_TRIANGLES = 4
# a frame this close to a key, in keys, is that key: times are in single precision
_AT_KEY = 1e-3


@dataclass(frozen=True)
class Motion:
    """Weights (keys, targets) of the morph targets at times (keys,) [s], stepwise or linear."""

    times: NDArray[np.float64]
    weights: NDArray[np.float64]
    stepped: bool = False

    def at(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """(frames, targets) the weights at other times."""
        place = np.interp(times, self.times, np.arange(len(self.times)))
        place = np.where(np.abs(place - np.rint(place)) < _AT_KEY, np.rint(place), place)
        low = np.floor(place).astype(np.int64)
        share = 0.0 if self.stepped else (place - low)[:, None]
        return (1 - share) * self.weights[low] + share * self.weights[np.minimum(low + 1, len(self.times) - 1)]


def read_glb(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    prim: str | None = None,
    progress: Progress | None = None,
) -> Animation:
    """Read the mesh of the node called `prim` (None: the only one, or the only one with morph targets) and its motion.

    The first frame is the rest shape unless `mesh` is given. Transforms of nodes are applied where they stand still;
    bones and moving nodes are refused, for their motion would be lost. Vertices that other programs doubled at hard
    edges and seams are one again. Raises FileError.
    """
    with guarded(path):
        document = open_glb(path)
        node = _chosen(document, prim)
        world = _world(document, node)
        primitives = [dict(p) for p in document.part("meshes", document.part("nodes", node)["mesh"])["primitives"]]
        base = [_positions(document, p["attributes"]["POSITION"]) for p in primitives]
        motion = _motion(document, node, primitives)
        times, rate = _frames(document, motion)
        positions = _moved(document, primitives, base, motion.at(times), world, progress)
        own, skin = _own(document), None
        if mesh is None:
            triangles, kept = _triangles(document, primitives, base), np.arange(positions.shape[1])
            if not own:
                kept, triangles = joined(np.concatenate(base), positions, triangles)
                positions = positions[:, kept]
            mesh = repaired(positions[0], triangles)
            skin = _skin(document, primitives, mesh, kept)
        return Animation(
            mesh,
            positions,
            rate if fps is None else fps,
            skin=skin,
            start_frame=int(own.get("start_frame", round(times[0] * rate))),
            name=str(document.part("nodes", node).get("name") or path.stem),
        )


def _own(document: Document) -> dict[str, Any]:
    """What our writer notes beside the standard: rate and first frame."""
    return dict(document.json.get("extras", {}).get("cajole", {}))


def _chosen(document: Document, wanted: str | None) -> int:
    nodes = {index: dict(node) for index, node in enumerate(document.json.get("nodes", [])) if "mesh" in node}
    names = {i: str(n.get("name") or document.part("meshes", n["mesh"]).get("name", i)) for i, n in nodes.items()}
    found = [i for i in nodes if wanted in (None, names[i])]
    if wanted is None and len(found) > 1:
        found = [i for i in found if document.part("meshes", nodes[i]["mesh"])["primitives"][0].get("targets")] or found
    if len(found) != 1:
        asked = "prim= must name one" if wanted is None else f"prim={wanted!r} names {len(found)}"
        raise FileError(f"{document.path} has these meshes: {', '.join(names.values()) or 'none'}; {asked} of them")
    if "skin" in nodes[found[0]]:
        raise FileError(
            f"{document.path}: {names[found[0]]} is moved by bones, which are not read; bake it to .usd first"
        )
    return found[0]


def _world(document: Document, node: int) -> NDArray[np.float64]:
    """(4, 4) from the node's coordinates to the scene's; columns are the images of the axes."""
    parents = {child: i for i, n in enumerate(document.json["nodes"]) for child in n.get("children", [])}
    chain = [node]
    while chain[-1] in parents:
        chain.append(parents[chain[-1]])
        if chain[-1] in chain[:-1]:
            raise FileError(f"{document.path}: node {chain[-1]} is its own ancestor; export it again")
    channels = [c["target"] for a in document.json.get("animations", []) for c in a["channels"]]
    if any(target.get("node") in chain and target["path"] != "weights" for target in channels):
        raise FileError(f"{document.path} moves the mesh's node as a whole, which is not read; bake it to .usd first")
    matrix = np.eye(4)
    for index in chain:
        matrix = _local(document.part("nodes", index)) @ matrix
    return matrix


def _local(node: dict[str, Any]) -> NDArray[np.float64]:
    if "matrix" in node:
        return np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    x, y, z, w = (float(c) for c in node.get("rotation", (0, 0, 0, 1)))
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    matrix = np.eye(4)
    matrix[:3, :3] = turn * np.array(node.get("scale", (1, 1, 1)), dtype=np.float64)
    matrix[:3, 3] = node.get("translation", (0, 0, 0))
    return matrix


def _positions(document: Document, accessor: Any) -> NDArray[Any]:
    values = document.array(accessor)
    if values.shape[1] != 3:
        raise document.damaged(f"positions have {values.shape[1]} coordinates, not three")
    return values


def _motion(document: Document, node: int, primitives: list[dict[str, Any]]) -> Motion:
    targets = len(primitives[0].get("targets", []))
    for animation in document.json.get("animations", []):
        for channel in animation["channels"]:
            if channel["target"].get("node") == node and channel["target"]["path"] == "weights":
                return _sampled(document, dict(animation["samplers"][channel["sampler"]]), targets)
    at_rest = document.part("meshes", document.part("nodes", node)["mesh"]).get("weights") or [0.0] * targets
    return Motion(np.zeros(1), np.array([at_rest], dtype=np.float64).reshape(1, targets))


def _sampled(document: Document, sampler: dict[str, Any], targets: int) -> Motion:
    way = sampler.get("interpolation", "LINEAR")
    if way not in ("LINEAR", "STEP"):
        raise FileError(f"{document.path}: {way} animation is not read; export it with linear keys")
    times = document.array(sampler["input"])[:, 0].astype(np.float64)
    weights = document.array(sampler["output"]).astype(np.float64).reshape(len(times), targets)
    return Motion(times, weights, way == "STEP")


def _frames(document: Document, motion: Motion) -> tuple[NDArray[np.float64], float]:
    """The times to read at, evenly spaced, and their frames per second."""
    noted = _own(document).get("fps")
    rate = rate_of(motion.times, document.path)
    if len(motion.times) == 1:
        return motion.times, DEFAULT_FPS if noted is None else float(noted)
    fps = float(noted) if noted is not None else rate or tidy_rate(1 / float(np.diff(motion.times).min()))
    return even_times(motion.times, fps, document.path), fps


def _moved(
    document: Document,
    primitives: list[dict[str, Any]],
    base: list[NDArray[Any]],
    weights: NDArray[np.float64],
    world: NDArray[np.float64],
    progress: Progress | None,
) -> Frames:
    n = sum(len(points) for points in base)
    if n > len(document.data):
        raise document.damaged(f"its pieces have {n} vertices in {len(document.data)} bytes")
    require_memory(24 * len(weights) * n, f"{len(weights)} frames of {n} vertices", "export fewer of them")
    result = np.empty((len(weights), n, 3), dtype=frames_dtype(len(weights), n))
    for frame, shares in enumerate(weights):
        report(progress, frame / len(weights), f"reading {document.path.name}")
        pieces = [_morphed(document, p, points, shares) for p, points in zip(primitives, base)]
        placed = np.concatenate(pieces) @ world[:3, :3].T + world[:3, 3]
        result[frame] = np.stack([placed[:, 0], -placed[:, 2], placed[:, 1]], axis=1)
    report(progress, 1.0, f"reading {document.path.name}")
    return result


def _morphed(
    document: Document, primitive: dict[str, Any], base: NDArray[Any], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """x = x₀ + Σᵢ wᵢ dᵢ"""
    points = base.astype(np.float64)
    for index in np.flatnonzero(shares):
        target = primitive["targets"][index]
        if "POSITION" in target:
            points += shares[index] * _positions(document, target["POSITION"])
    return points


def _triangles(document: Document, primitives: list[dict[str, Any]], base: list[NDArray[Any]]) -> NDArray[np.int64]:
    pieces, first = [], 0
    for primitive, points in zip(primitives, base):
        if primitive.get("mode", _TRIANGLES) != _TRIANGLES:
            raise FileError(f"{document.path}: only triangles are read, not strips, lines or points; triangulate it")
        own = document.array(primitive["indices"]) if "indices" in primitive else np.arange(len(points))
        pieces.append(own.reshape(-1, 3).astype(np.int64) + first)
        first += len(points)
    return np.concatenate(pieces)


def _skin(document: Document, primitives: list[dict[str, Any]], rest: MeshTri, kept: NDArray[np.int64]) -> Skin | None:
    """The colours of the vertices that were kept, where every piece has them."""
    if not all("COLOR_0" in p["attributes"] for p in primitives):
        return None
    colors = [document.array(p["attributes"]["COLOR_0"])[:, :3].astype(np.float64) for p in primitives]
    return painted(rest, srgb_from_linear(np.concatenate(colors)[kept]))
