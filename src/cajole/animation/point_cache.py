"""PC2 and MDD point caches: positions without a mesh, for Blender, Maya, Houdini and 3ds Max.

PC2, little endian: "POINTCACHE2\\0", int32 version = 1, int32 points, float32 first frame, float32 frames per sample,
int32 samples, then float32 x y z of every point of every sample.
MDD, big endian: int32 frames, int32 points, float32 seconds of every frame, then float32 x y z likewise.
Coordinates are written without conversion, in metres with z up.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from cajole.animation.animation import Animation, FrameArray
from cajole.animation.export_geometry import ExportGeometry, convert_to_float32, select_export_geometry
from cajole.animation.frame_blocks import (
    MAX_DOUBLE_PRECISION_BYTES,
    choose_frame_dtype,
    iter_frame_blocks_with_progress,
)
from cajole.animation.reader_utils import (
    DEFAULT_FPS,
    AnyMesh,
    apply_scale_and_up_axis,
    estimate_frame_rate,
    wrap_read_errors,
)
from cajole.errors import FileError
from cajole.mesh import MeshTet, read_mesh, write_mesh
from cajole.progress import ProgressCallback, report_progress
from cajole.storage import open_regular_file, replace_atomically, require_not_input

_PC2_HEADER = struct.Struct("<12siiffi")
_MDD_HEADER = struct.Struct(">ii")
# suffixes of companion meshes of the same stem, in search order: tets first, since they have the inner vertices
COMPANION_MESH_SUFFIXES = (".veg", ".msh", ".mesh", ".vtu", ".vtk", ".node", ".obj", ".ply")


@dataclass(frozen=True)
class PointCacheHeader:
    """Header of a point cache. fps is None if it is not stored or the times are uneven; data_offset [bytes]."""

    frames: int
    point_count: int
    data_offset: int
    dtype: str
    fps: float | None
    start_frame: int


def write_pc2(
    animation: Animation,
    path: Path,
    *,
    vertices: str = "all",
    companion: bool | None = None,
    progress: ProgressCallback | None = None,
) -> None:
    """Write a PC2 cache. The format stores no frames per second.

    vertices: "all" with the numbering of the mesh, "surface" or "skin"; companion: whether to write the mesh beside the
    cache, under the same stem (.veg for tets, .obj for triangles); None: if no mesh of that stem is there.
    """
    geometry = select_export_geometry(animation, vertices)
    points = len(geometry.mesh.vertices)
    header = _PC2_HEADER.pack(b"POINTCACHE2\0", 1, points, animation.start_frame, 1.0, geometry.frames)
    _write_cache(animation, path, header, geometry, "<f4", vertices, companion, progress)


def write_mdd(
    animation: Animation,
    path: Path,
    *,
    vertices: str = "all",
    companion: bool | None = None,
    progress: ProgressCallback | None = None,
) -> None:
    """Write an MDD cache; options as for PC2. Its times contain the frames per second."""
    geometry = select_export_geometry(animation, vertices)
    times = (animation.start_frame + np.arange(geometry.frames)) / animation.fps
    header = _MDD_HEADER.pack(geometry.frames, len(geometry.mesh.vertices)) + times.astype(">f4").tobytes()
    _write_cache(animation, path, header, geometry, ">f4", vertices, companion, progress)


def _write_cache(
    animation: Animation,
    path: Path,
    header: bytes,
    geometry: ExportGeometry,
    dtype: str,
    vertices: str,
    companion: bool | None,
    progress: ProgressCallback | None,
) -> None:
    """Write a cache and its companion mesh. Raises FileError, before it writes, if a file that was read is replaced."""
    mesh_file = None
    if companion is not False and (companion or not find_companion_meshes(path)):
        mesh_file = path.with_suffix(".veg" if vertices == "all" and isinstance(animation.mesh, MeshTet) else ".obj")
        require_not_input(mesh_file)
    with replace_atomically(path) as temporary, temporary.open("wb") as stream:
        stream.write(header)
        for frame in range(geometry.frames):
            report_progress(progress, frame / geometry.frames, f"writing {path.name}")
            stream.write(convert_to_float32(geometry.positions_at(frame), frame, dtype).data)
        report_progress(progress, 1.0, f"writing {path.name}")
    if mesh_file is not None:
        write_mesh(animation.mesh if mesh_file.suffix == ".veg" else geometry.mesh, mesh_file)


def read_pc2(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    scale: float = 1.0,
    up: str = "z",
    mmap: bool | None = None,
    progress: ProgressCallback | None = None,
) -> Animation:
    """Read a PC2 cache onto `mesh`, or onto the mesh file of the same stem beside it.

    fps: default 60, since the format stores none; scale, up: the unit [m] and the upward axis ("z", "y") of cache and
    mesh; mmap: leave the positions on disk (None: if they are large).
    """
    with wrap_read_errors(path):
        header = read_pc2_header(path)
        large = 12 * header.frames * header.point_count > MAX_DOUBLE_PRECISION_BYTES
        positions: FrameArray
        if large if mmap is None else mmap:
            shape = (header.frames, header.point_count, 3)
            with open_regular_file(path) as stream:
                positions = np.memmap(stream, dtype="<f4", mode="r", offset=header.data_offset, shape=shape)
        else:
            positions = read_point_positions(path, header, progress)
        return apply_scale_and_up_axis(_build_animation(path, header, positions, mesh, fps), scale, up)


def read_mdd(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    scale: float = 1.0,
    up: str = "z",
    progress: ProgressCallback | None = None,
) -> Animation:
    """Read an MDD cache onto `mesh`, or onto the mesh file of the same stem beside it.

    fps: default that of its times, required if these are uneven; scale, up: as for PC2.
    """
    with wrap_read_errors(path):
        header = read_mdd_header(path, fps=fps)
        return apply_scale_and_up_axis(
            _build_animation(path, header, read_point_positions(path, header, progress), mesh, fps), scale, up
        )


def read_pc2_header(path: Path) -> PointCacheHeader:
    """The header of a PC2 file, checked against the size of the file."""
    with open_regular_file(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        magic, version, points, start, step, frames = _PC2_HEADER.unpack(_read_exactly(stream, _PC2_HEADER.size, path))
    if magic != b"POINTCACHE2\0" or version != 1:
        raise FileError(f"{path} is not a PC2 cache of version 1: it starts with {magic!r}, version {version}")
    _require_consistent_size(path, frames, points, size, _PC2_HEADER.size)
    known = np.isfinite([start, step]).all() and abs(start) < 2**31 and step > 0
    if not known:
        raise FileError(f"{path}: first frame {start} and {step} frames per sample make no sense; export it again")
    return PointCacheHeader(frames, points, _PC2_HEADER.size, "<f4", DEFAULT_FPS / step, round(start))


def read_mdd_header(path: Path, *, fps: float | None = None) -> PointCacheHeader:
    """The header of an MDD file, checked against the size of the file; `fps` replaces the rate of its times."""
    with open_regular_file(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        frames, points = _MDD_HEADER.unpack(_read_exactly(stream, _MDD_HEADER.size, path))
        _require_consistent_size(path, frames, points, size, _MDD_HEADER.size + 4 * frames)
        times = np.frombuffer(_read_exactly(stream, 4 * frames, path), dtype=">f4").astype(np.float64)
    rate = estimate_frame_rate(times, path) if fps is None else fps
    if rate is None and frames > 1:
        raise FileError(f"{path}: its frames are not evenly spaced in time; pass fps= to read them as if they were")
    start = times[0] * (rate or DEFAULT_FPS)
    return PointCacheHeader(
        frames, points, _MDD_HEADER.size + 4 * frames, ">f4", rate, round(start) if abs(start) < 2**31 else 0
    )


def read_point_positions(path: Path, header: PointCacheHeader, progress: ProgressCallback | None = None) -> FrameArray:
    """(frames, points, 3) the positions of a cache, in native byte order."""
    shape = (header.frames, header.point_count, 3)
    result = np.empty(shape, dtype=choose_frame_dtype(header.frames, header.point_count))
    with open_regular_file(path) as stream:
        stream.seek(header.data_offset)
        for block in iter_frame_blocks_with_progress(
            header.frames, header.point_count, progress, f"reading {path.name}"
        ):
            data = _read_exactly(stream, 12 * header.point_count * (block.stop - block.start), path)
            result[block] = np.frombuffer(data, dtype=header.dtype).reshape(-1, *shape[1:])
    return result


def _build_animation(
    path: Path, header: PointCacheHeader, positions: FrameArray, mesh: AnyMesh | None, fps: float | None
) -> Animation:
    """An animation on `mesh`, or on the mesh beside the cache that has as many vertices."""
    rate = (header.fps or DEFAULT_FPS) if fps is None else fps
    if mesh is None:
        found = {file: read_mesh(file) for file in find_companion_meshes(path)}
        mesh = next((each for each in found.values() if len(each.vertices) == header.point_count), None)
    if mesh is None:
        seen = ", ".join(f"{file.name} has {len(each.vertices)}" for file, each in found.items())
        misfits = f"; {seen}, which does not fit" if seen else ""
        raise FileError(
            f"{path} moves {header.point_count} points but holds no mesh: pass mesh=, or put the mesh beside it as "
            f"{path.stem}.obj (or {' '.join(COMPANION_MESH_SUFFIXES)}){misfits}"
        )
    return Animation(mesh, positions, rate, start_frame=header.start_frame, name=path.stem)


def find_companion_meshes(path: Path) -> list[Path]:
    """The mesh files of the same stem as a cache."""
    return [path.with_suffix(suffix) for suffix in COMPANION_MESH_SUFFIXES if path.with_suffix(suffix).is_file()]


def _require_consistent_size(path: Path, frames: int, point_count: int, size: int, header_bytes: int) -> None:
    if frames < 1 or point_count < 1:
        raise FileError(f"{path} announces {frames} frames of {point_count} points; there must be at least one of each")
    needed = header_bytes + 12 * frames * point_count
    if size != needed:
        state = "is cut short" if size < needed else "is longer than it says"
        raise FileError(
            f"{path} {state}: {frames} frames of {point_count} points take {needed} bytes, it has {size}; "
            f"export it again"
        )


def _read_exactly(stream: BinaryIO, count: int, path: Path) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise FileError(f"{path} is cut short: {count} more bytes were expected and {len(data)} came; export it again")
    return data
