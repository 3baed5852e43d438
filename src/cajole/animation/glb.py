"""GLB: one binary glTF 2.0 file that plays in any viewer and on the web.

The first frame is the mesh; every further keyframe is a morph target, and an animation of the weights interpolates
linearly between them. glTF has y up: (x, y, z) is stored as (x, z, -y). Colours are linear RGB.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation, FrameArray
from cajole.animation.export_geometry import (
    ExportGeometry,
    build_colored_skin,
    convert_to_float32,
    linear_to_srgb,
    select_export_geometry,
    srgb_to_linear,
)
from cajole.animation.reader_utils import AnyMesh, require_regular_file, wrap_read_errors
from cajole.checks import require_integer
from cajole.errors import InputError
from cajole.mesh import MeshLine, MeshTri, compute_vertex_normals, drop_degenerate_triangles
from cajole.mesh.skin import DEFAULT_COLOR
from cajole.parsers.child_process import run_in_child
from cajole.parsers.glb import CHUNK_HEADER, GLB_HEADER, parse_glb
from cajole.progress import ProgressCallback, report_progress
from cajole.storage import replace_atomically

_GL_FLOAT, _GL_UNSIGNED_INT, _GL_UNSIGNED_SHORT = 5126, 5125, 5123
_GL_ARRAY_BUFFER, _GL_ELEMENT_ARRAY_BUFFER = 34962, 34963
# files beyond this size load slowly in browsers
_LARGE_FILE_BYTES = 100_000_000
# lengths inside the file are 32-bit numbers
_MAX_FILE_BYTES = 2**32 - 1


@dataclass(frozen=True)
class _Accessor:
    """An accessor: its JSON, its size in bytes, and a function that loads the bytes when they are written."""

    properties: dict[str, Any]
    byte_length: int
    load_bytes: Callable[[], bytes]
    buffer_target: int | None = None


class _AccessorList(list[_Accessor]):
    """The accessors in the order of the file. Every part is a multiple of four bytes, as the alignment requires."""

    def add(self, accessor: _Accessor) -> int:
        """Append an accessor; return the index that refers to it in the JSON."""
        self.append(accessor)
        return len(self) - 1

    def add_vec3(self, sample: NDArray[Any], load: Callable[[], NDArray[Any]], *, bounds: bool = False) -> int:
        """Append an accessor of (n, 3) float32 vectors. sample: an array of the same shape, with the same bounds."""
        properties: dict[str, Any] = {"componentType": _GL_FLOAT, "count": len(sample), "type": "VEC3"}
        if bounds:
            properties |= {"min": sample.min(axis=0).tolist(), "max": sample.max(axis=0).tolist()}
        return self.add(_Accessor(properties, sample.nbytes, lambda: load().tobytes(), _GL_ARRAY_BUFFER))


@dataclass(frozen=True)
class _MorphKeyframes:
    """The keyframes as y-up arrays in single precision."""

    geometry: ExportGeometry
    frames: list[int]
    has_normals: bool

    @cached_property
    def base_arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Positions and normals of the first frame; empty normals if none are written."""
        first = self._compute_attribute(self.frames[0], 0)
        return first, self._compute_attribute(self.frames[0], 1) if self.has_normals else first[:0]

    def compute_delta(self, frame: int, attribute: int) -> NDArray[Any]:
        """The difference to positions (attribute 0) or normals (1) of the first frame, rounded once."""
        here = self._compute_attribute(frame, attribute).astype(np.float64)
        return np.asarray((here - self.base_arrays[attribute]).astype("<f4"))

    def _compute_attribute(self, frame: int, attribute: int) -> NDArray[Any]:
        x, y, z = self.geometry.positions_at(frame).T
        positions = np.stack([x, z, -y], axis=1)
        if attribute == 0:
            return convert_to_float32(positions, frame)
        normals = compute_vertex_normals(positions, self.geometry.elements)
        normals[~normals.any(axis=1)] = (0.0, 1.0, 0.0)  # glTF requires unit normals also without triangles
        return convert_to_float32(normals, frame)


def write_glb(
    animation: Animation,
    path: Path,
    *,
    vertices: str | None = None,
    every: int = 1,
    max_targets: int | None = None,
    normals: bool = True,
    progress: ProgressCallback | None = None,
) -> None:
    """Write a GLB file of the skin if there is one, else of the surface (`vertices` as for OBJ).

    every: write every n-th frame and the last, with linear motion between; max_targets: limit of morph targets, by a
    larger `every`; normals: write animated normals, at twice the size. Warns if the file is large.
    """
    step = require_integer(every, "every")
    if max_targets is not None:
        step = max(step, -(-(animation.frames - 1) // require_integer(max_targets, "max_targets")))
    frames = sorted({*range(0, animation.frames, step), animation.frames - 1})
    geometry = select_export_geometry(animation, vertices)
    keyframes = _MorphKeyframes(geometry, frames, normals and isinstance(geometry.mesh, MeshTri))
    size = len(frames) * (len(geometry.mesh.vertices) * (24 if keyframes.has_normals else 12) + 4 * len(frames))
    remedy = "use every=, max_targets= or normals=False, or write .usdc instead"
    # a hundredth is left for faces, colours and the JSON
    if size > 0.99 * _MAX_FILE_BYTES:
        raise InputError(f"{path} would take {size / 1e9:.1f} GB, and a GLB file can hold 4.2; {remedy}")
    if size > _LARGE_FILE_BYTES:
        warnings.warn(f"{path} will take {size / 1e6:.0f} MB, which viewers load slowly; {remedy}", stacklevel=3)
    accessors = _AccessorList()
    document = json.dumps(_build_document(animation, keyframes, accessors, progress), separators=(",", ":")).encode()
    document += b" " * (-len(document) % 4)
    length = sum(part.byte_length for part in accessors)
    with replace_atomically(path) as temporary, temporary.open("wb") as stream:
        stream.write(GLB_HEADER.pack(b"glTF", 2, GLB_HEADER.size + 2 * CHUNK_HEADER.size + len(document) + length))
        stream.write(CHUNK_HEADER.pack(len(document), b"JSON") + document)
        stream.write(CHUNK_HEADER.pack(length, b"BIN\0"))
        for index, part in enumerate(accessors):
            report_progress(progress, 0.5 + 0.5 * index / len(accessors), f"writing {path.name}")
            stream.write(part.load_bytes())
        report_progress(progress, 1.0, f"writing {path.name}")


def _build_document(
    animation: Animation, keyframes: _MorphKeyframes, accessors: _AccessorList, progress: ProgressCallback | None
) -> dict[str, Any]:
    """The JSON of the file; appends the accessors that it refers to."""
    primitive = _build_primitive(keyframes, accessors)
    targets = []
    for index, frame in enumerate(keyframes.frames[1:]):
        report_progress(progress, 0.5 * index / len(keyframes.frames), "measuring frames")
        move = keyframes.compute_delta(frame, 0)
        target = {"POSITION": accessors.add_vec3(move, partial(keyframes.compute_delta, frame, 0), bounds=True)}
        if keyframes.has_normals:
            target["NORMAL"] = accessors.add_vec3(move, partial(keyframes.compute_delta, frame, 1))
        targets.append(target)
    # it multiplies the colours of the vertices, if there are any
    plain = keyframes.geometry.colors is None
    color = srgb_to_linear(np.array(DEFAULT_COLOR)) if plain else np.ones(3)
    # matte enough that the highlight does not hide the shape
    look = {"baseColorFactor": [*color.tolist(), 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.6}
    mesh: dict[str, Any] = {"name": animation.name, "primitives": [primitive]}
    document: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "Cajole"},
        "extras": {"cajole": {"fps": animation.fps, "start_frame": animation.start_frame, "frames": animation.frames}},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"name": animation.name, "mesh": 0}],
        "meshes": [mesh],
        "materials": [{"name": "skin", "pbrMetallicRoughness": look, "doubleSided": True}],
    }
    if targets:
        primitive["targets"] = targets
        mesh["weights"] = [0.0] * len(targets)
        mesh["extras"] = {"targetNames": [f"frame {frame}" for frame in keyframes.frames[1:]]}
        document["animations"] = [_build_weight_animation(animation, keyframes, accessors)]
    views, offset = [], 0
    for part in accessors:
        view = {"buffer": 0, "byteOffset": offset, "byteLength": part.byte_length}
        views.append(view if part.buffer_target is None else view | {"target": part.buffer_target})
        offset += part.byte_length
    document["accessors"] = [part.properties | {"bufferView": index} for index, part in enumerate(accessors)]
    return document | {"bufferViews": views, "buffers": [{"byteLength": offset}]}


def _build_primitive(keyframes: _MorphKeyframes, accessors: _AccessorList) -> dict[str, Any]:
    """The mesh at the first frame: attributes and indices."""
    geometry = keyframes.geometry
    positions, normals = keyframes.base_arrays
    attributes = {"POSITION": accessors.add_vec3(positions, lambda: positions, bounds=True)}
    if keyframes.has_normals:
        attributes["NORMAL"] = accessors.add_vec3(normals, lambda: normals)
    if geometry.colors is not None:
        colors = convert_to_float32(srgb_to_linear(geometry.colors), 0)
        attributes["COLOR_0"] = accessors.add_vec3(colors, lambda: colors)
    wide = len(geometry.mesh.vertices) >= 2**16 - 1
    indices = geometry.elements.astype("<u4" if wide else "<u2").tobytes()
    padded = indices + bytes(-len(indices) % 4)
    kind = _GL_UNSIGNED_INT if wide else _GL_UNSIGNED_SHORT
    faces = {"componentType": kind, "count": geometry.elements.size, "type": "SCALAR"}
    index = accessors.add(_Accessor(faces, len(padded), lambda: padded, _GL_ELEMENT_ARRAY_BUFFER))
    # glTF's numbers of LINES and TRIANGLES
    mode = {2: 1, 3: 4}[geometry.elements.shape[1]]
    return {"attributes": attributes, "indices": index, "material": 0, "mode": mode}


def _build_weight_animation(
    animation: Animation, keyframes: _MorphKeyframes, accessors: _AccessorList
) -> dict[str, Any]:
    """An animation in which key k has weight 1 for target k - 1 only, and the first key has none."""
    times = (np.array(keyframes.frames) / animation.fps).astype("<f4")
    clock = {"componentType": _GL_FLOAT, "count": len(times), "type": "SCALAR"}
    clock |= {"min": [float(times[0])], "max": [float(times[-1])]}
    k = len(keyframes.frames)
    shares = {"componentType": _GL_FLOAT, "count": k * (k - 1), "type": "SCALAR"}
    weights = _Accessor(shares, 4 * k * (k - 1), lambda: np.eye(k, k - 1, -1, dtype="<f4").tobytes())
    sampler = {
        "input": accessors.add(_Accessor(clock, times.nbytes, times.tobytes)),
        "output": accessors.add(weights),
        "interpolation": "LINEAR",
    }
    channel = {"sampler": 0, "target": {"node": 0, "path": "weights"}}
    return {"name": animation.name, "samplers": [sampler], "channels": [channel]}


def weld_vertices(
    rest_positions: NDArray[Any], positions: FrameArray, triangles: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find duplicate vertices: at equal `rest_positions` (n, 3), and together in all frames of `positions`.

    Returns the vertices to keep (k,), the first of each, and the triangles in their numbering.
    """
    _, first, group = np.unique(rest_positions + 0.0, axis=0, return_index=True, return_inverse=True)
    owner = first[group.reshape(-1)]
    if len(first) < len(rest_positions):
        # equal in the exporting program, but its blocks of vertices are rounded differently
        near = 1e-6 * float(np.ptp(positions[0], axis=0).max())
        together = np.ones(len(rest_positions), dtype=bool)
        for frame in positions:
            together &= np.abs(frame - frame[owner]).max(axis=1) <= near
        owner = np.where(together, owner, np.arange(len(rest_positions)))
    kept = np.unique(owner)
    return kept, np.searchsorted(kept, owner)[triangles]


def read_glb(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    prim: str | None = None,
    progress: ProgressCallback | None = None,
) -> Animation:
    """Read the mesh of the node called `prim` (None: the only one, or the only one with morph targets) and its motion.

    The first frame is the rest shape unless `mesh` is given. Static node transforms are applied; bones and moving nodes
    are rejected, since their motion would be lost. Vertices that other programs duplicate at hard edges and seams are
    merged. The file is parsed in a child process. Raises FileError.
    """
    with wrap_read_errors(path):
        require_regular_file(path)
        parsed = run_in_child(parse_glb, path, prim, mesh is None, progress=progress)
        positions, skin = parsed["positions"], None
        if mesh is None and "lines" in parsed:
            mesh = MeshLine(positions[0], parsed["lines"])
        elif mesh is None:
            kept, triangles = np.arange(positions.shape[1]), parsed["triangles"]
            if not parsed["own"]:
                kept, triangles = weld_vertices(parsed["stored"], positions, triangles)
                positions = positions[:, kept]
            mesh = surface = drop_degenerate_triangles(positions[0], triangles)
            if "colors" in parsed:
                skin = build_colored_skin(surface, linear_to_srgb(parsed["colors"][kept]))
        report_progress(progress, 1.0, f"reading {path.name}")
        return Animation(
            mesh,
            positions,
            parsed["fps"] if fps is None else fps,
            skin=skin,
            start_frame=int(parsed["start_frame"]),
            name=str(parsed["name"]),
        )


# viewers open this many bytes without a pause
MAX_PREVIEW_BYTES = 30_000_000


def choose_glb_options(animation: Animation, max_bytes: int) -> dict[str, Any]:
    """Options of `write_glb` for as many keyframes as about `max_bytes` allow, with normals if they fit."""
    n = animation.n if animation.skin is None else len(animation.skin.mesh.vertices)
    with_normals, without = (max(max_bytes // (n * size) - 2, 1) for size in (24, 12))
    # with fewer keyframes linear motion between them becomes visible; normals matter less
    normals = with_normals >= min(24, animation.frames)
    return {"normals": normals, "max_targets": int(with_normals if normals else without)}
