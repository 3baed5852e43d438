"""GLB: one binary glTF 2.0 file that plays in any viewer and on the web.

The first frame is the mesh; every further keyframe is a morph target, and an animation of the targets' weights goes
from one to the next, linearly. glTF is y up: (x, y, z) is stored as (x, z, -y). Colours are linear RGB.
"""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
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
from cajole.mesh import MeshLine, MeshTri, Skin, compute_vertex_normals, drop_degenerate_triangles
from cajole.mesh.skin import DEFAULT_COLOR
from cajole.parsers.child_process import run_in_child
from cajole.parsers.glb import CHUNK_HEADER, GLB_HEADER, parse_glb
from cajole.progress import ProgressCallback, report_progress
from cajole.storage import replace_atomically

GL_FLOAT, GL_UNSIGNED_INT, GL_UNSIGNED_SHORT = 5126, 5125, 5123
_GL_ARRAY_BUFFER, _GL_ELEMENT_ARRAY_BUFFER = 34962, 34963
# glTF's numbers of primitives by the corners of their elements: LINES, TRIANGLES
PRIMITIVE_MODES = {2: 1, 3: 4}
# files beyond this load slowly in browsers
_LARGE_FILE_BYTES = 100_000_000
# lengths inside the file are 32-bit numbers
_MAX_FILE_BYTES = 2**32 - 1
# matte enough that the highlight does not hide the shape
_ROUGHNESS = 0.6
# of a vertex without triangles; glTF wants every normal to have length one
_FALLBACK_NORMAL = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True)
class _Accessor:
    """One accessor: its JSON, its size in bytes, and how to get the bytes when their turn comes."""

    properties: dict[str, Any]
    byte_length: int
    load_bytes: Callable[[], bytes]
    buffer_target: int | None = None


@dataclass(frozen=True)
class _AccessorList:
    """The accessors in the order of the file."""

    accessors: list[_Accessor] = field(default_factory=list)

    def add(self, accessor: _Accessor) -> int:
        """Append one; its index is how the JSON refers to it."""
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    @property
    def byte_length(self) -> int:
        """All bytes together; every part is a multiple of four, as alignment asks."""
        return sum(part.byte_length for part in self.accessors)


@dataclass(frozen=True)
class _MorphKeyframes:
    """The keyframes, as single precision y-up arrays."""

    geometry: ExportGeometry
    frames: list[int]
    has_normals: bool

    @functools.cached_property
    def base_arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Positions and normals of the first frame; no normals where none are written."""
        first = self._compute_attribute(self.frames[0], 0)
        return first, self._compute_attribute(self.frames[0], 1) if self.has_normals else first[:0]

    def compute_delta(self, frame: int, attribute: int) -> NDArray[Any]:
        """What to add to the first frame's positions (0) or normals (1), rounded once."""
        return (self._compute_attribute(frame, attribute).astype(np.float64) - self.base_arrays[attribute]).astype(
            "<f4"
        )

    def _compute_attribute(self, frame: int, attribute: int) -> NDArray[Any]:
        positions = convert_to_y_up(self.geometry.positions_at(frame))
        if attribute == 0:
            return convert_to_float32(positions, frame)
        normals = compute_vertex_normals(positions, self.geometry.elements)
        normals[~normals.any(axis=1)] = _FALLBACK_NORMAL
        return convert_to_float32(normals, frame)


def convert_to_y_up(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """(x, y, z) -> (x, z, -y)."""
    return np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)


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
    """Write a GLB file of the skin where there is one, else of the surface (`vertices` as for OBJ).

    every: keep one frame in so many (and the last), with linear motion between; max_targets: no more morph targets than
    this, by a larger `every`; normals: let the shading follow, at twice the size. Warns where the file is large.
    """
    step = require_integer(every, "every")
    if max_targets is not None:
        step = max(step, -(-(animation.frames - 1) // require_integer(max_targets, "max_targets")))
    frames = sorted({*range(0, animation.frames, step), animation.frames - 1})
    geometry = select_export_geometry(animation, vertices)
    keyframes = _MorphKeyframes(geometry, frames, normals and isinstance(geometry.mesh, MeshTri))
    _check_file_size(keyframes, path)
    accessor_list = _AccessorList()
    document = json.dumps(
        _build_document(animation, keyframes, accessor_list, progress), separators=(",", ":")
    ).encode()
    document += b" " * (-len(document) % 4)
    with replace_atomically(path) as temporary, temporary.open("wb") as stream:
        total = GLB_HEADER.size + 2 * CHUNK_HEADER.size + len(document) + accessor_list.byte_length
        stream.write(GLB_HEADER.pack(b"glTF", 2, total))
        stream.write(CHUNK_HEADER.pack(len(document), b"JSON") + document)
        stream.write(CHUNK_HEADER.pack(accessor_list.byte_length, b"BIN\0"))
        for index, part in enumerate(accessor_list.accessors):
            report_progress(progress, 0.5 + 0.5 * index / len(accessor_list.accessors), f"writing {path.name}")
            stream.write(part.load_bytes())
        report_progress(progress, 1.0, f"writing {path.name}")


def _check_file_size(keyframes: _MorphKeyframes, path: Path) -> None:
    size = (
        len(keyframes.frames) * len(keyframes.geometry.mesh.vertices) * (24 if keyframes.has_normals else 12)
        + 4 * len(keyframes.frames) ** 2
    )
    remedy = "use every=, max_targets= or normals=False, or write .usdc instead"
    # a hundredth is left for faces, colours and the JSON
    if size > 0.99 * _MAX_FILE_BYTES:
        raise InputError(f"{path} would take {size / 1e9:.1f} GB, and a GLB file can hold 4.2; {remedy}")
    if size > _LARGE_FILE_BYTES:
        warnings.warn(f"{path} will take {size / 1e6:.0f} MB, which viewers load slowly; {remedy}", stacklevel=5)


def _build_document(
    animation: Animation, keyframes: _MorphKeyframes, accessor_list: _AccessorList, progress: ProgressCallback | None
) -> dict[str, Any]:
    """The JSON of the file; adds to `parts` what it refers to."""
    primitive = _build_primitive(keyframes, accessor_list)
    targets = []
    for index, frame in enumerate(keyframes.frames[1:]):
        report_progress(progress, 0.5 * index / len(keyframes.frames), "measuring frames")
        targets.append(_build_morph_target(keyframes, accessor_list, frame))
    mesh: dict[str, Any] = {"name": animation.name, "primitives": [primitive]}
    document: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "Cajole"},
        "extras": {"cajole": {"fps": animation.fps, "start_frame": animation.start_frame, "frames": animation.frames}},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"name": animation.name, "mesh": 0}],
        "meshes": [mesh],
        "materials": [_build_material(keyframes.geometry)],
    }
    if targets:
        primitive["targets"] = targets
        mesh["weights"] = [0.0] * len(targets)
        mesh["extras"] = {"targetNames": [f"frame {frame}" for frame in keyframes.frames[1:]]}
        document["animations"] = [_build_weight_animation(animation, keyframes, accessor_list)]
    return document | _build_buffers(accessor_list)


def _build_primitive(keyframes: _MorphKeyframes, accessor_list: _AccessorList) -> dict[str, Any]:
    geometry = keyframes.geometry
    wide = len(geometry.mesh.vertices) >= 2**16 - 1
    indices = geometry.elements.astype("<u4" if wide else "<u2").tobytes()
    faces = {
        "componentType": GL_UNSIGNED_INT if wide else GL_UNSIGNED_SHORT,
        "count": geometry.elements.size,
        "type": "SCALAR",
    }
    padded = indices + bytes(-len(indices) % 4)
    attributes = {
        "POSITION": accessor_list.add(
            _build_vec3_accessor(keyframes.base_arrays[0], lambda: keyframes.base_arrays[0], bounds=True)
        )
    }
    if keyframes.has_normals:
        attributes["NORMAL"] = accessor_list.add(
            _build_vec3_accessor(keyframes.base_arrays[1], lambda: keyframes.base_arrays[1])
        )
    if geometry.colors is not None:
        colors = convert_to_float32(srgb_to_linear(geometry.colors), 0)
        attributes["COLOR_0"] = accessor_list.add(_build_vec3_accessor(colors, lambda: colors))
    index = accessor_list.add(_Accessor(faces, len(padded), lambda: padded, _GL_ELEMENT_ARRAY_BUFFER))
    return {
        "attributes": attributes,
        "indices": index,
        "material": 0,
        "mode": PRIMITIVE_MODES[geometry.elements.shape[1]],
    }


def _build_morph_target(keyframes: _MorphKeyframes, accessor_list: _AccessorList, frame: int) -> dict[str, int]:
    move = keyframes.compute_delta(frame, 0)
    target = {
        "POSITION": accessor_list.add(
            _build_vec3_accessor(move, lambda: keyframes.compute_delta(frame, 0), bounds=True)
        )
    }
    if keyframes.has_normals:
        target["NORMAL"] = accessor_list.add(_build_vec3_accessor(move, lambda: keyframes.compute_delta(frame, 1)))
    return target


def _build_vec3_accessor(
    sample: NDArray[Any], load_array: Callable[[], NDArray[Any]], *, bounds: bool = False
) -> _Accessor:
    accessor: dict[str, Any] = {"componentType": GL_FLOAT, "count": len(sample), "type": "VEC3"}
    if bounds:
        accessor |= {"min": sample.min(axis=0).tolist(), "max": sample.max(axis=0).tolist()}
    return _Accessor(accessor, sample.nbytes, lambda: load_array().tobytes(), _GL_ARRAY_BUFFER)


def _build_weight_animation(
    animation: Animation, keyframes: _MorphKeyframes, accessor_list: _AccessorList
) -> dict[str, Any]:
    """The animation in which key k shows target k - 1 alone, and the first key none."""
    times = (np.array(keyframes.frames) / animation.fps).astype("<f4")
    clock = {"componentType": GL_FLOAT, "count": len(times), "type": "SCALAR"}
    clock |= {"min": [float(times[0])], "max": [float(times[-1])]}
    k = len(keyframes.frames)
    shares = {"componentType": GL_FLOAT, "count": k * (k - 1), "type": "SCALAR"}
    sampler = {
        "input": accessor_list.add(_Accessor(clock, times.nbytes, times.tobytes)),
        "output": accessor_list.add(
            _Accessor(shares, 4 * k * (k - 1), lambda: np.eye(k, k - 1, -1, dtype="<f4").tobytes())
        ),
        "interpolation": "LINEAR",
    }
    channel = {"sampler": 0, "target": {"node": 0, "path": "weights"}}
    return {"name": animation.name, "samplers": [sampler], "channels": [channel]}


def _build_material(geometry: ExportGeometry) -> dict[str, Any]:
    # it multiplies the colours of the vertices, where there are any
    color = srgb_to_linear(np.array(DEFAULT_COLOR)) if geometry.colors is None else np.ones(3)
    surface = {"baseColorFactor": [*color.tolist(), 1.0], "metallicFactor": 0.0, "roughnessFactor": _ROUGHNESS}
    return {"name": "skin", "pbrMetallicRoughness": surface, "doubleSided": True}


def _build_buffers(accessor_list: _AccessorList) -> dict[str, Any]:
    views, offset = [], 0
    for part in accessor_list.accessors:
        view = {"buffer": 0, "byteOffset": offset, "byteLength": part.byte_length}
        views.append(view if part.buffer_target is None else view | {"target": part.buffer_target})
        offset += part.byte_length
    accessors = [part.properties | {"bufferView": index} for index, part in enumerate(accessor_list.accessors)]
    return {"accessors": accessors, "bufferViews": views, "buffers": [{"byteLength": offset}]}


# of the size: vertices that were one in the file that was exported from are rounded alike, but are moved in blocks
_WELD_TOLERANCE = 1e-6


def weld_vertices(
    rest_positions: NDArray[Any], positions: FrameArray, triangles: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Vertices that are one: at exactly one place as `stored` (n, 3), and together in all frames of `positions`.

    Returns which vertices to keep (k,), the first of each, and the triangles in their numbering.
    """
    _, first, group = np.unique(rest_positions + 0.0, axis=0, return_index=True, return_inverse=True)
    owner = first[group.reshape(-1)]
    if len(first) < len(rest_positions):
        near = _WELD_TOLERANCE * float(np.ptp(positions[0], axis=0).max())
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

    The first frame is the rest shape unless `mesh` is given. Transforms of nodes are applied where they stand still;
    bones and moving nodes are refused, for their motion would be lost. Vertices that other programs doubled at hard
    edges and seams are one again. The file is parsed in a child process. Raises FileError.
    """
    with wrap_read_errors(path):
        require_regular_file(path)
        parsed = run_in_child(parse_glb, path, prim, mesh is None, progress=progress)
        positions, skin = parsed["positions"], None
        if mesh is None:
            mesh, positions, skin = _build_surface(parsed)
        report_progress(progress, 1.0, f"reading {path.name}")
        return Animation(
            mesh,
            positions,
            parsed["fps"] if fps is None else fps,
            skin=skin,
            start_frame=int(parsed["start_frame"]),
            name=str(parsed["name"]),
        )


def _build_surface(parsed: dict[str, Any]) -> tuple[MeshTri | MeshLine, Any, Skin | None]:
    """The mesh of what was found, positions of its vertices, and its skin where it has colours."""
    positions = parsed["positions"]
    if "lines" in parsed:
        return MeshLine(positions[0], parsed["lines"]), positions, None
    triangles = parsed["triangles"]
    kept = np.arange(positions.shape[1])
    if not parsed["own"]:
        kept, triangles = weld_vertices(parsed["stored"], positions, triangles)
        positions = positions[:, kept]
    mesh = drop_degenerate_triangles(positions[0], triangles)
    colors = parsed.get("colors")
    return mesh, positions, None if colors is None else build_colored_skin(mesh, linear_to_srgb(colors[kept]))


# a GLB file is for looking at, and viewers open this many bytes without a pause
MAX_PREVIEW_BYTES = 30_000_000
# with fewer keys, straight lines between them begin to show; then normals are given up instead
MIN_KEYFRAMES_WITH_NORMALS = 24


def choose_glb_options(animation: Animation, max_bytes: int) -> dict[str, Any]:
    """As many keys as about `largest` bytes allow, with normals where there is room for them."""
    n = animation.n if animation.skin is None else len(animation.skin.mesh.vertices)
    with_normals, without = (max(max_bytes // (n * size) - 2, 1) for size in (24, 12))
    normals = with_normals >= min(MIN_KEYFRAMES_WITH_NORMALS, animation.frames)
    return {"normals": normals, "max_targets": int(with_normals if normals else without)}
