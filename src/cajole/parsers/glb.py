"""Parse GLB files: container, accessors, and a mesh with morph targets.

Runs in a child process (`cajole.parsers.child_process`): a short JSON can ask for many frames of many targets.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.errors import FileError
from cajole.parsers.frame_rates import (
    DEFAULT_FPS,
    build_uniform_times,
    choose_frame_dtype,
    estimate_frame_rate,
    round_frame_rate,
)

GLB_HEADER = struct.Struct("<4sII")
CHUNK_HEADER = struct.Struct("<I4s")
_COMPONENT_DTYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
# extensions that do not change vertex positions, or that the accessors below support
_SUPPORTED_EXTENSIONS = {"KHR_mesh_quantization", "KHR_texture_transform", "KHR_materials_unlit", "EXT_texture_webp"}


@dataclass(frozen=True)
class GlbDocument:
    """The JSON document and the binary chunk of a GLB file."""

    path: Path
    json: dict[str, Any]
    data: NDArray[np.uint8]

    def build_damage_error(self, what: str) -> FileError:
        """A FileError for contradictions in the file."""
        return FileError(f"{self.path}: {what}; the file is damaged: export it again")

    def get_entry(self, kind: str, index: Any) -> dict[str, Any]:
        """An entry of a top-level list of the JSON, such as nodes."""
        entries = self.json.get(kind, [])
        if not isinstance(index, int) or not 0 <= index < len(entries):
            raise self.build_damage_error(f"it refers to {kind}[{index}], and has {len(entries)} of them")
        return dict(entries[index])

    def read_accessor(self, index: Any) -> NDArray[Any]:
        """(count, width) the values of an accessor; normalised integers as floats."""
        accessor = self.get_entry("accessors", index)
        count, width = int(accessor["count"]), {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        dtype = np.dtype(_COMPONENT_DTYPES[accessor["componentType"]])
        if not 0 < count <= len(self.data):
            raise self.build_damage_error(f"accessor {index} claims {count} values in {len(self.data)} bytes")
        values = np.zeros((count, width), dtype=dtype)
        if "bufferView" in accessor:
            values = self._read_buffer_view(
                accessor["bufferView"], int(accessor.get("byteOffset", 0)), dtype, (count, width)
            )
        if "sparse" in accessor:
            values, sparse = values.copy(), accessor["sparse"]
            changed, at, what = int(sparse["count"]), sparse["indices"], sparse["values"]
            if not 0 < changed <= len(values):
                raise self.build_damage_error(f"an accessor of {len(values)} values has {changed} sparse ones")
            kind = np.dtype(_COMPONENT_DTYPES[at["componentType"]])
            rows = self._read_buffer_view(at["bufferView"], int(at.get("byteOffset", 0)), kind, (changed, 1))[:, 0]
            start = int(what.get("byteOffset", 0))
            values[rows] = self._read_buffer_view(what["bufferView"], start, dtype, (changed, width))
        if accessor.get("normalized") and dtype.kind in "iu":
            values = np.maximum(values / np.iinfo(dtype).max, -1.0)
        return values

    def _read_buffer_view(self, index: Any, offset: int, dtype: np.dtype[Any], shape: tuple[int, int]) -> NDArray[Any]:
        view = self.get_entry("bufferViews", index)
        if view.get("buffer", 0) != 0:
            raise FileError(f"{self.path} keeps data in another file; export it as one .glb")
        start, length = int(view.get("byteOffset", 0)), int(view["byteLength"])
        row = dtype.itemsize * shape[1]
        stride = int(view.get("byteStride", row))
        end = offset + stride * (shape[0] - 1) + row
        if min(start, offset) < 0 or stride < row or end > length or start + length > len(self.data):
            raise self.build_damage_error(f"buffer view {index} is smaller than what is read from it")
        place = self.data[start + offset : start + end]
        return np.ndarray(shape, dtype=dtype, buffer=place.data, strides=(stride, dtype.itemsize))


def open_glb(path: Path) -> GlbDocument:
    """Open a file. Raises FileError if it is truncated, of another kind, or needs an unsupported extension."""
    size = path.stat().st_size
    if size < GLB_HEADER.size + CHUNK_HEADER.size:
        raise FileError(f"{path} is cut short: it has {size} bytes; export it again")
    data: NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r")
    magic, version, length = GLB_HEADER.unpack(data[: GLB_HEADER.size].tobytes())
    if magic != b"glTF" or version != 2:
        raise FileError(f"{path} is not a binary glTF 2.0 file; it starts with {magic!r}, version {version}")
    if length > size:
        raise FileError(f"{path} is cut short: it says {length} bytes, and has {size}; export it again")
    text, rest = _read_chunk(path, data[GLB_HEADER.size : length], b"JSON")
    document = json.loads(text.tobytes())
    unknown = sorted(set(document.get("extensionsRequired", [])) - _SUPPORTED_EXTENSIONS)
    if unknown:
        raise FileError(f"{path} needs {', '.join(unknown)}, which are not read; export it without compression")
    return GlbDocument(path, document, _read_chunk(path, rest, b"BIN\0")[0] if len(rest) else rest)


def _read_chunk(path: Path, data: NDArray[np.uint8], kind: bytes) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The content of the first chunk in `data`, and the data after it."""
    length, found = CHUNK_HEADER.unpack(data[: CHUNK_HEADER.size].tobytes())
    if found != kind or CHUNK_HEADER.size + length > len(data):
        raise FileError(f"{path}: a chunk {kind!r} was expected, and {found!r} of {length} bytes came; export it again")
    return data[CHUNK_HEADER.size : CHUNK_HEADER.size + length], data[CHUNK_HEADER.size + length :]


@dataclass(frozen=True)
class MorphAnimation:
    """Weights (keys, targets) of the morph targets at times (keys,) [s], with stepped or linear interpolation."""

    times: NDArray[np.float64]
    weights: NDArray[np.float64]
    is_stepped: bool = False

    def interpolate_weights(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """(frames, targets) the weights at other times."""
        place = np.interp(times, self.times, np.arange(len(self.times)))
        # times are in single precision: a frame this close to a key is that key
        place = np.where(np.abs(place - np.rint(place)) < 1e-3, np.rint(place), place)
        low = np.floor(place).astype(np.int64)
        share = 0.0 if self.is_stepped else (place - low)[:, None]
        return (1 - share) * self.weights[low] + share * self.weights[np.minimum(low + 1, len(self.times) - 1)]


def parse_glb(
    path: Path, prim: str | None, include_surface: bool, *, report: Callable[[float], None]
) -> dict[str, Any]:
    """Read the mesh of the node called `prim` (None: the only one, or the only one with morph targets) and its motion.

    Returns positions (frames, n, 3) [m], z up; fps, start_frame, name. With `include_surface` also stored: (n, 3) the
    base shape of the file; triangles (m, 3) or lines (m, 2); colors (n, 3), linear, if all primitives have them; own:
    True if Cajole wrote the file.
    """
    with np.errstate(all="ignore"):
        document = open_glb(path)
        node = _select_node(document, prim)
        world = _compute_world_matrix(document, node)
        primitives = [
            dict(p) for p in document.get_entry("meshes", document.get_entry("nodes", node)["mesh"])["primitives"]
        ]
        base = [_read_positions(document, p["attributes"]["POSITION"]) for p in primitives]
        motion = _read_morph_animation(document, node, primitives)
        times, rate = _choose_frame_times(document, motion)
        own = _read_cajole_extras(document)
        return {
            "positions": _evaluate_positions(
                document, primitives, base, motion.interpolate_weights(times), world, report
            ),
            **(_read_surface(document, primitives, base) if include_surface else {}),
            "fps": float(rate),
            "start_frame": int(own.get("start_frame", round(times[0] * rate))),
            "name": str(document.get_entry("nodes", node).get("name") or path.stem),
        }


def _read_cajole_extras(document: GlbDocument) -> dict[str, Any]:
    """The frame rate and first frame that Cajole writes beside the standard data."""
    return dict(document.json.get("extras", {}).get("cajole", {}))


def _select_node(document: GlbDocument, wanted: str | None) -> int:
    """The index of the node with the wanted mesh."""
    nodes = {index: dict(node) for index, node in enumerate(document.json.get("nodes", [])) if "mesh" in node}
    names = {i: str(n.get("name") or document.get_entry("meshes", n["mesh"]).get("name", i)) for i, n in nodes.items()}
    found = [i for i in nodes if wanted in (None, names[i])]
    if wanted is None and len(found) > 1:
        found = [
            i for i in found if document.get_entry("meshes", nodes[i]["mesh"])["primitives"][0].get("targets")
        ] or found
    if len(found) != 1:
        asked = "prim= must name one" if wanted is None else f"prim={wanted!r} names {len(found)}"
        raise FileError(f"{document.path} has these meshes: {', '.join(names.values()) or 'none'}; {asked} of them")
    if "skin" in nodes[found[0]]:
        raise FileError(
            f"{document.path}: {names[found[0]]} is moved by bones, which are not read; bake it to .usd first"
        )
    return found[0]


def _compute_world_matrix(document: GlbDocument, node: int) -> NDArray[np.float64]:
    """(4, 4) transform from node to scene coordinates."""
    parents = {child: i for i, n in enumerate(document.json["nodes"]) for child in n.get("children", [])}
    # a dict keeps the order and is searched in constant time: chains may be long
    chain, last = {node: None}, node
    while last in parents:
        last = parents[last]
        if last in chain:
            raise FileError(f"{document.path}: node {last} is its own ancestor; export it again")
        chain[last] = None
    channels = [c["target"] for a in document.json.get("animations", []) for c in a["channels"]]
    if any(target.get("node") in chain and target["path"] != "weights" for target in channels):
        raise FileError(f"{document.path} moves the mesh's node as a whole, which is not read; bake it to .usd first")
    matrix = np.eye(4)
    for index in chain:
        part = document.get_entry("nodes", index)
        if not {"matrix", "translation", "rotation", "scale"}.isdisjoint(part):
            matrix = _compute_local_matrix(part) @ matrix
    return matrix


def _compute_local_matrix(node: dict[str, Any]) -> NDArray[np.float64]:
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


def _read_positions(document: GlbDocument, accessor: Any) -> NDArray[Any]:
    values = document.read_accessor(accessor)
    if values.shape[1] != 3:
        raise document.build_damage_error(f"positions have {values.shape[1]} coordinates, not three")
    return values


def _read_morph_animation(document: GlbDocument, node: int, primitives: list[dict[str, Any]]) -> MorphAnimation:
    targets = len(primitives[0].get("targets", []))
    for animation in document.json.get("animations", []):
        for channel in animation["channels"]:
            if channel["target"].get("node") == node and channel["target"]["path"] == "weights":
                sampler = dict(animation["samplers"][channel["sampler"]])
                way = sampler.get("interpolation", "LINEAR")
                if way not in ("LINEAR", "STEP"):
                    raise FileError(f"{document.path}: {way} animation is not read; export it with linear keys")
                times = document.read_accessor(sampler["input"])[:, 0].astype(np.float64)
                weights = document.read_accessor(sampler["output"]).astype(np.float64).reshape(len(times), targets)
                return MorphAnimation(times, weights, way == "STEP")
    at_rest = document.get_entry("meshes", document.get_entry("nodes", node)["mesh"]).get("weights") or [0.0] * targets
    return MorphAnimation(np.zeros(1), np.array([at_rest], dtype=np.float64).reshape(1, targets))


def _choose_frame_times(document: GlbDocument, animation: MorphAnimation) -> tuple[NDArray[np.float64], float]:
    """Evenly spaced times to evaluate, and their frames per second."""
    noted = _read_cajole_extras(document).get("fps")
    rate = estimate_frame_rate(animation.times, document.path)
    if len(animation.times) == 1:
        return animation.times, DEFAULT_FPS if noted is None else float(noted)
    fps = float(noted) if noted is not None else rate or round_frame_rate(1 / float(np.diff(animation.times).min()))
    return build_uniform_times(animation.times, fps, document.path), fps


def _evaluate_positions(
    document: GlbDocument,
    primitives: list[dict[str, Any]],
    base: list[NDArray[Any]],
    weights: NDArray[np.float64],
    world: NDArray[np.float64],
    report: Callable[[float], None],
) -> NDArray[np.floating[Any]]:
    n = sum(len(points) for points in base)
    if n > len(document.data):
        raise document.build_damage_error(f"its pieces have {n} vertices in {len(document.data)} bytes")
    result = np.empty((len(weights), n, 3), dtype=choose_frame_dtype(len(weights), n))
    for frame, shares in enumerate(weights):
        report(frame / len(weights))
        pieces = []
        for primitive, rest in zip(primitives, base):
            points = rest.astype(np.float64)  # x = x₀ + Σᵢ wᵢ dᵢ
            for index in np.flatnonzero(shares):
                target = primitive["targets"][index]
                if "POSITION" in target:
                    points += shares[index] * _read_positions(document, target["POSITION"])
            pieces.append(points)
        placed = np.concatenate(pieces) @ world[:3, :3].T + world[:3, 3]
        result[frame] = np.stack([placed[:, 0], -placed[:, 2], placed[:, 1]], axis=1)
    return result


def _read_surface(document: GlbDocument, primitives: list[dict[str, Any]], base: list[NDArray[Any]]) -> dict[str, Any]:
    """The base shape, triangles (m, 3) or lines (m, 2), and linear colours if all primitives have them."""
    modes = {primitive.get("mode", 4) for primitive in primitives}
    if modes not in ({1}, {4}):  # LINES, TRIANGLES
        raise FileError(
            f"{document.path}: only triangles, or lines alone, are read, not strips, points or a mixture; "
            "triangulate it"
        )
    corners, name = (2, "lines") if modes == {1} else (3, "triangles")
    pieces, first = [], 0
    for primitive, points in zip(primitives, base):
        own = document.read_accessor(primitive["indices"]) if "indices" in primitive else np.arange(len(points))
        pieces.append(own.reshape(-1, corners).astype(np.int64) + first)
        first += len(points)
    found: dict[str, Any] = {"stored": np.concatenate(base), "own": bool(_read_cajole_extras(document))}
    found[name] = np.concatenate(pieces)
    if all("COLOR_0" in p["attributes"] for p in primitives):
        colors = [document.read_accessor(p["attributes"]["COLOR_0"])[:, :3].astype(np.float64) for p in primitives]
        found["colors"] = np.concatenate(colors)
    return found
