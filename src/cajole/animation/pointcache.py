"""PC2 and MDD: point caches, positions without a mesh, as Blender, Maya, Houdini and 3ds Max exchange them.

PC2, little endian: "POINTCACHE2\\0", int32 version = 1, int32 points, float32 first frame, float32 frames per sample,
int32 samples, then float32 x y z of every point of every sample.
MDD, big endian: int32 frames, int32 points, float32 seconds of every frame, then float32 x y z likewise.
Coordinates are stored as they are, in metres and with z up.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation, Frames
from cajole.animation.blocks import LARGE_BYTES, frames_dtype, reported_blocks
from cajole.animation.reading import DEFAULT_FPS, AnyMesh, guarded, rate_of, stood_up
from cajole.animation.shown import Shown, shown, single
from cajole.errors import FileError
from cajole.mesh import MeshTet, read_mesh, write_mesh
from cajole.progress import Progress, report
from cajole.storage import atomic_path, open_regular, refuse_overwrite

_PC2 = struct.Struct("<12siiffi")
_MDD = struct.Struct(">ii")
# where a mesh of the same stem is looked for: tets first, since they hold the inner vertices as well
MESH_SUFFIXES = (".veg", ".msh", ".mesh", ".vtu", ".vtk", ".node", ".obj", ".ply")


@dataclass(frozen=True)
class Header:
    """What a cache says of itself; fps is None where it does not say or the times are uneven."""

    frames: int
    points: int
    offset: int
    dtype: str
    fps: float | None
    start_frame: int


def write_pc2(
    animation: Animation,
    path: Path,
    *,
    vertices: str = "all",
    companion: bool | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a PC2 cache; it holds no frames per second.

    vertices: "all" in the mesh's numbering, "surface" or "skin"; companion: whether to write the mesh that it belongs
    to beside it, under the same stem (.veg for tets, .obj for triangles); None: where no mesh of that stem is there.
    """
    what = shown(animation, vertices)
    mesh = _companion(animation, path, vertices, companion)
    header = _PC2.pack(b"POINTCACHE2\0", 1, len(what.mesh.vertices), animation.start_frame, 1.0, what.frames)
    _write(path, header, what, "<f4", progress)
    if mesh is not None:
        write_mesh(animation.mesh if mesh.suffix == ".veg" else what.mesh, mesh)


def write_mdd(
    animation: Animation,
    path: Path,
    *,
    vertices: str = "all",
    companion: bool | None = None,
    progress: Progress | None = None,
) -> None:
    """Write an MDD cache; options as for PC2. Its times carry the frames per second."""
    what = shown(animation, vertices)
    mesh = _companion(animation, path, vertices, companion)
    times = (animation.start_frame + np.arange(what.frames)) / animation.fps
    header = _MDD.pack(what.frames, len(what.mesh.vertices)) + times.astype(">f4").tobytes()
    _write(path, header, what, ">f4", progress)
    if mesh is not None:
        write_mesh(animation.mesh if mesh.suffix == ".veg" else what.mesh, mesh)


def read_pc2(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    scale: float = 1.0,
    up: str = "z",
    mmap: bool | None = None,
    progress: Progress | None = None,
) -> Animation:
    """Read a PC2 cache onto `mesh`, or onto the mesh file of the same stem beside it.

    fps: 60 unless given, for the format does not say; scale, up: the unit [m] and the upward axis ("z", "y") of cache
    and mesh; mmap: leave the positions on disk (None: when they are large).
    """
    with guarded(path):
        header = pc2_header(path)
        large = 12 * header.frames * header.points > LARGE_BYTES
        positions: Frames
        if large if mmap is None else mmap:
            shape = (header.frames, header.points, 3)
            with open_regular(path) as stream:
                positions = np.memmap(stream, dtype="<f4", mode="r", offset=header.offset, shape=shape)
        else:
            positions = read_points(path, header, progress)
        return stood_up(_animation(path, header, positions, mesh, fps), scale, up)


def read_mdd(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    scale: float = 1.0,
    up: str = "z",
    progress: Progress | None = None,
) -> Animation:
    """Read an MDD cache onto `mesh`, or onto the mesh file of the same stem beside it.

    fps: as its times say, unless given; times that are uneven need it; scale, up: as for PC2.
    """
    with guarded(path):
        header = mdd_header(path, fps=fps)
        return stood_up(_animation(path, header, read_points(path, header, progress), mesh, fps), scale, up)


def pc2_header(path: Path) -> Header:
    """The header of a PC2 file, which agrees with the file's size."""
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        magic, version, points, start, step, frames = _PC2.unpack(_exactly(stream, _PC2.size, path))
    if magic != b"POINTCACHE2\0" or version != 1:
        raise FileError(f"{path} is not a PC2 cache of version 1: it starts with {magic!r}, version {version}")
    _require_size(path, frames, points, size, _PC2.size)
    known = np.isfinite([start, step]).all() and abs(start) < 2**31 and step > 0
    if not known:
        raise FileError(f"{path}: first frame {start} and {step} frames per sample make no sense; export it again")
    return Header(frames, points, _PC2.size, "<f4", DEFAULT_FPS / step, round(start))


def mdd_header(path: Path, *, fps: float | None = None) -> Header:
    """The header of an MDD file, which agrees with the file's size; `fps` replaces the rate of its times."""
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        frames, points = _MDD.unpack(_exactly(stream, _MDD.size, path))
        _require_size(path, frames, points, size, _MDD.size + 4 * frames)
        times = np.frombuffer(_exactly(stream, 4 * frames, path), dtype=">f4").astype(np.float64)
    rate = rate_of(times, path) if fps is None else fps
    if rate is None and frames > 1:
        raise FileError(f"{path}: its frames are not evenly spaced in time; pass fps= to read them as if they were")
    start = times[0] * (rate or DEFAULT_FPS)
    return Header(frames, points, _MDD.size + 4 * frames, ">f4", rate, round(start) if abs(start) < 2**31 else 0)


def read_points(path: Path, header: Header, progress: Progress | None = None) -> Frames:
    """(frames, points, 3) the positions of a cache, in native byte order."""
    shape = (header.frames, header.points, 3)
    result = np.empty(shape, dtype=frames_dtype(header.frames, header.points))
    with open_regular(path) as stream:
        stream.seek(header.offset)
        for block in reported_blocks(header.frames, header.points, progress, f"reading {path.name}"):
            data = _exactly(stream, 12 * header.points * (block.stop - block.start), path)
            result[block] = np.frombuffer(data, dtype=header.dtype).reshape(-1, *shape[1:])
    return result


def _animation(path: Path, header: Header, positions: Frames, mesh: AnyMesh | None, fps: float | None) -> Animation:
    rate = (header.fps or DEFAULT_FPS) if fps is None else fps
    home = _sibling(path, header.points) if mesh is None else mesh
    return Animation(home, positions, rate, start_frame=header.start_frame, name=path.stem)


def meshes_beside(path: Path) -> list[Path]:
    """The mesh files of the same stem as a cache."""
    return [path.with_suffix(suffix) for suffix in MESH_SUFFIXES if path.with_suffix(suffix).is_file()]


def _sibling(path: Path, points: int) -> AnyMesh:
    """The mesh beside a cache that has the same stem and as many vertices."""
    found = meshes_beside(path)
    meshes = [read_mesh(candidate) for candidate in found]
    for mesh in meshes:
        if len(mesh.vertices) == points:
            return mesh
    seen = ", ".join(f"{file.name} has {len(mesh.vertices)}" for file, mesh in zip(found, meshes))
    raise FileError(
        f"{path} moves {points} points but holds no mesh: pass mesh=, or put the mesh beside it as {path.stem}.obj "
        f"(or {' '.join(MESH_SUFFIXES)})" + (f"; {seen}, which does not fit" if seen else "")
    )


def _require_size(path: Path, frames: int, points: int, size: int, header: int) -> None:
    if frames < 1 or points < 1:
        raise FileError(f"{path} announces {frames} frames of {points} points; there must be at least one of each")
    needed = header + 12 * frames * points
    if size != needed:
        state = "is cut short" if size < needed else "is longer than it says"
        raise FileError(
            f"{path} {state}: {frames} frames of {points} points take {needed} bytes, it has {size}; export it again"
        )


def _exactly(stream: BinaryIO, count: int, path: Path) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise FileError(f"{path} is cut short: {count} more bytes were expected and {len(data)} came; export it again")
    return data


def _write(path: Path, header: bytes, what: Shown, dtype: str, progress: Progress | None) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        stream.write(header)
        for frame in range(what.frames):
            report(progress, frame / what.frames, f"writing {path.name}")
            data: NDArray[Any] = single(what.at(frame), frame, dtype)
            stream.write(data.data)
        report(progress, 1.0, f"writing {path.name}")


def _companion(animation: Animation, path: Path, vertices: str, wanted: bool | None) -> Path | None:
    """Where to write the mesh that a cache belongs to; wanted is None: where no mesh of its stem is there.

    Raises FileError where a file that was read would be replaced, before the cache is written.
    """
    if wanted is False or (wanted is None and meshes_beside(path)):
        return None
    file = path.with_suffix(".veg" if vertices == "all" and isinstance(animation.mesh, MeshTet) else ".obj")
    refuse_overwrite(file)
    return file
