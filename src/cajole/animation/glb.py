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

from cajole.animation.animation import Animation
from cajole.animation.shown import Shown, linear_from_srgb, shown, single
from cajole.checks import count
from cajole.errors import InputError
from cajole.mesh import MeshTri, vertex_normals
from cajole.mesh.skin import PLAIN
from cajole.parsers.glb import CHUNK, HEADER
from cajole.progress import Progress, report
from cajole.storage import atomic_path

FLOAT, UINT32, UINT16 = 5126, 5125, 5123
_ARRAY_BUFFER, _ELEMENT_BUFFER = 34962, 34963
# glTF's numbers of primitives by the corners of their elements: LINES, TRIANGLES
MODES = {2: 1, 3: 4}
# files beyond this load slowly in browsers
_SLOW_BYTES = 100_000_000
# lengths inside the file are 32-bit numbers
_MOST_BYTES = 2**32 - 1
# matte enough that the highlight does not hide the shape
_ROUGHNESS = 0.6
# of a vertex without triangles; glTF wants every normal to have length one
_ANY_NORMAL = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True)
class _Part:
    """One accessor: its JSON, its size in bytes, and how to get the bytes when their turn comes."""

    accessor: dict[str, Any]
    size: int
    data: Callable[[], bytes]
    target: int | None = None


@dataclass(frozen=True)
class _Parts:
    """The accessors in the order of the file."""

    parts: list[_Part] = field(default_factory=list)

    def add(self, part: _Part) -> int:
        """Append one; its index is how the JSON refers to it."""
        self.parts.append(part)
        return len(self.parts) - 1

    @property
    def size(self) -> int:
        """All bytes together; every part is a multiple of four, as alignment asks."""
        return sum(part.size for part in self.parts)


@dataclass(frozen=True)
class _Keys:
    """The keyframes, as single precision y-up arrays."""

    what: Shown
    frames: list[int]
    normals: bool

    @functools.cached_property
    def base(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Positions and normals of the first frame; no normals where none are written."""
        first = self._look(self.frames[0], 0)
        return first, self._look(self.frames[0], 1) if self.normals else first[:0]

    def change(self, frame: int, which: int) -> NDArray[Any]:
        """What to add to the first frame's positions (0) or normals (1), rounded once."""
        return (self._look(frame, which).astype(np.float64) - self.base[which]).astype("<f4")

    def _look(self, frame: int, which: int) -> NDArray[Any]:
        positions = y_up(self.what.at(frame))
        if which == 0:
            return single(positions, frame)
        normals = vertex_normals(positions, self.what.elements)
        normals[~normals.any(axis=1)] = _ANY_NORMAL
        return single(normals, frame)


def y_up(points: NDArray[np.float64]) -> NDArray[np.float64]:
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
    progress: Progress | None = None,
) -> None:
    """Write a GLB file of the skin where there is one, else of the surface (`vertices` as for OBJ).

    every: keep one frame in so many (and the last), with linear motion between; max_targets: no more morph targets than
    this, by a larger `every`; normals: let the shading follow, at twice the size. Warns where the file is large.
    """
    step = count(every, "every")
    if max_targets is not None:
        step = max(step, -(-(animation.frames - 1) // count(max_targets, "max_targets")))
    frames = sorted({*range(0, animation.frames, step), animation.frames - 1})
    what = shown(animation, vertices)
    keys = _Keys(what, frames, normals and isinstance(what.mesh, MeshTri))
    _require_size(keys, path)
    parts = _Parts()
    document = json.dumps(_document(animation, keys, parts, progress), separators=(",", ":")).encode()
    document += b" " * (-len(document) % 4)
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        total = HEADER.size + 2 * CHUNK.size + len(document) + parts.size
        stream.write(HEADER.pack(b"glTF", 2, total))
        stream.write(CHUNK.pack(len(document), b"JSON") + document)
        stream.write(CHUNK.pack(parts.size, b"BIN\0"))
        for index, part in enumerate(parts.parts):
            report(progress, 0.5 + 0.5 * index / len(parts.parts), f"writing {path.name}")
            stream.write(part.data())
        report(progress, 1.0, f"writing {path.name}")


def _require_size(keys: _Keys, path: Path) -> None:
    size = len(keys.frames) * len(keys.what.mesh.vertices) * (24 if keys.normals else 12) + 4 * len(keys.frames) ** 2
    remedy = "use every=, max_targets= or normals=False, or write .usdc instead"
    # a hundredth is left for faces, colours and the JSON
    if size > 0.99 * _MOST_BYTES:
        raise InputError(f"{path} would take {size / 1e9:.1f} GB, and a GLB file can hold 4.2; {remedy}")
    if size > _SLOW_BYTES:
        warnings.warn(f"{path} will take {size / 1e6:.0f} MB, which viewers load slowly; {remedy}", stacklevel=5)


def _document(animation: Animation, keys: _Keys, parts: _Parts, progress: Progress | None) -> dict[str, Any]:
    """The JSON of the file; adds to `parts` what it refers to."""
    primitive = _primitive(keys, parts)
    targets = []
    for index, frame in enumerate(keys.frames[1:]):
        report(progress, 0.5 * index / len(keys.frames), "measuring frames")
        targets.append(_target(keys, parts, frame))
    mesh: dict[str, Any] = {"name": animation.name, "primitives": [primitive]}
    document: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "Cajole"},
        "extras": {"cajole": {"fps": animation.fps, "start_frame": animation.start_frame, "frames": animation.frames}},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"name": animation.name, "mesh": 0}],
        "meshes": [mesh],
        "materials": [_material(keys.what)],
    }
    if targets:
        primitive["targets"] = targets
        mesh["weights"] = [0.0] * len(targets)
        mesh["extras"] = {"targetNames": [f"frame {frame}" for frame in keys.frames[1:]]}
        document["animations"] = [_weights(animation, keys, parts)]
    return document | _buffers(parts)


def _primitive(keys: _Keys, parts: _Parts) -> dict[str, Any]:
    what = keys.what
    wide = len(what.mesh.vertices) >= 2**16 - 1
    indices = what.elements.astype("<u4" if wide else "<u2").tobytes()
    faces = {"componentType": UINT32 if wide else UINT16, "count": what.elements.size, "type": "SCALAR"}
    padded = indices + bytes(-len(indices) % 4)
    attributes = {"POSITION": parts.add(_vectors(keys.base[0], lambda: keys.base[0], bounds=True))}
    if keys.normals:
        attributes["NORMAL"] = parts.add(_vectors(keys.base[1], lambda: keys.base[1]))
    if what.colors is not None:
        colors = single(linear_from_srgb(what.colors), 0)
        attributes["COLOR_0"] = parts.add(_vectors(colors, lambda: colors))
    index = parts.add(_Part(faces, len(padded), lambda: padded, _ELEMENT_BUFFER))
    return {"attributes": attributes, "indices": index, "material": 0, "mode": MODES[what.elements.shape[1]]}


def _target(keys: _Keys, parts: _Parts, frame: int) -> dict[str, int]:
    move = keys.change(frame, 0)
    target = {"POSITION": parts.add(_vectors(move, lambda: keys.change(frame, 0), bounds=True))}
    if keys.normals:
        target["NORMAL"] = parts.add(_vectors(move, lambda: keys.change(frame, 1)))
    return target


def _vectors(like: NDArray[Any], data: Callable[[], NDArray[Any]], *, bounds: bool = False) -> _Part:
    accessor: dict[str, Any] = {"componentType": FLOAT, "count": len(like), "type": "VEC3"}
    if bounds:
        accessor |= {"min": like.min(axis=0).tolist(), "max": like.max(axis=0).tolist()}
    return _Part(accessor, like.nbytes, lambda: data().tobytes(), _ARRAY_BUFFER)


def _weights(animation: Animation, keys: _Keys, parts: _Parts) -> dict[str, Any]:
    """The animation in which key k shows target k - 1 alone, and the first key none."""
    times = (np.array(keys.frames) / animation.fps).astype("<f4")
    clock = {"componentType": FLOAT, "count": len(times), "type": "SCALAR"}
    clock |= {"min": [float(times[0])], "max": [float(times[-1])]}
    k = len(keys.frames)
    shares = {"componentType": FLOAT, "count": k * (k - 1), "type": "SCALAR"}
    sampler = {
        "input": parts.add(_Part(clock, times.nbytes, times.tobytes)),
        "output": parts.add(_Part(shares, 4 * k * (k - 1), lambda: np.eye(k, k - 1, -1, dtype="<f4").tobytes())),
        "interpolation": "LINEAR",
    }
    channel = {"sampler": 0, "target": {"node": 0, "path": "weights"}}
    return {"name": animation.name, "samplers": [sampler], "channels": [channel]}


def _material(what: Shown) -> dict[str, Any]:
    # it multiplies the colours of the vertices, where there are any
    color = linear_from_srgb(np.array(PLAIN)) if what.colors is None else np.ones(3)
    surface = {"baseColorFactor": [*color.tolist(), 1.0], "metallicFactor": 0.0, "roughnessFactor": _ROUGHNESS}
    return {"name": "skin", "pbrMetallicRoughness": surface, "doubleSided": True}


def _buffers(parts: _Parts) -> dict[str, Any]:
    views, offset = [], 0
    for part in parts.parts:
        view = {"buffer": 0, "byteOffset": offset, "byteLength": part.size}
        views.append(view if part.target is None else view | {"target": part.target})
        offset += part.size
    accessors = [part.accessor | {"bufferView": index} for index, part in enumerate(parts.parts)]
    return {"accessors": accessors, "bufferViews": views, "buffers": [{"byteLength": offset}]}
