"""What is in a file: the summary that `cajole info` prints."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cajole.animation.animation import Animation
from cajole.animation.files import FORMATS, MeshLike, find_input_format, read_animation
from cajole.animation.frame_blocks import compute_bounds_over_frames, compute_max_displacement
from cajole.animation.obj_sequence import find_obj_sequence, is_single_obj
from cajole.animation.point_cache import PointCacheHeader, read_mdd_header, read_pc2_header, read_point_positions
from cajole.animation.reader_utils import AnyMesh, wrap_read_errors
from cajole.errors import FileError
from cajole.mesh import MeshLine, MeshTet, read_mesh
from cajole.storage import as_path

_HEADER_READERS = {".pc2": read_pc2_header, ".mdd": read_mdd_header}


@dataclass(frozen=True)
class AnimationInfo:
    """What a file of an animation or a mesh holds; prints as a table.

    bounds: least and greatest coordinates over all frames [m]; largest_displacement: how far a vertex is from the rest
    shape at most [m] (from the first frame where the file has no mesh). fps, faces and tets are None where unknown.
    lines: of a mesh of lines, None of others.
    """

    path: str
    format: str
    bytes: int
    frames: int
    fps: float | None
    vertices: int
    faces: int | None
    tets: int | None
    bounds: tuple[tuple[float, ...], tuple[float, ...]]
    largest_displacement: float
    skin: bool = False
    notes: tuple[str, ...] = ()
    lines: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        rows = {
            "file": self.path,
            "format": self.format,
            "size": _format_bytes(self.bytes),
            "frames": f"{self.frames}"
            + ("" if self.fps is None else f" at {self.fps:g} frames/s")
            + ("" if self.fps is None or self.frames < 2 else f", {(self.frames - 1) / self.fps:.3g} s"),
            "vertices": f"{self.vertices}",
            "faces": "unknown" if self.faces is None else f"{self.faces}",
            "tets": "none" if self.tets is None else f"{self.tets}",
            **({} if self.lines is None else {"lines": f"{self.lines}"}),
            "skin": "yes" if self.skin else "no",
            "from": " ".join(f"{x:.4g}" for x in self.bounds[0]) + " m",
            "to": " ".join(f"{x:.4g}" for x in self.bounds[1]) + " m",
            "moves up to": f"{self.largest_displacement:.4g} m",
        }
        lines = [f"{name:<12} {value}" for name, value in rows.items()]
        return "\n".join(lines + [f"{'note':<12} {note}" for note in self.notes])


def describe_file(path: str | os.PathLike[str], *, mesh: MeshLike | None = None) -> AnimationInfo:
    """Summarise an animation, or a mesh, in a file; point caches without a mesh are summarised without one.

    Raises FileError for whatever `read_animation` or `read_mesh` cannot read.
    """
    place = as_path(path)
    suffix = place.suffix.lower()
    if is_single_obj(place) or (suffix and suffix not in FORMATS and not place.is_dir()):
        return _describe_mesh(place, read_mesh(place))
    if mesh is None and suffix in _HEADER_READERS:
        try:
            return _describe_animation(place, read_animation(place))
        except FileError:
            with wrap_read_errors(place):
                return _describe_point_cache(place, _HEADER_READERS[suffix](place))
    return _describe_animation(place, read_animation(place, mesh=mesh))


def _describe_animation(path: Path, animation: Animation) -> AnimationInfo:
    mesh = animation.mesh
    return AnimationInfo(
        path=str(path),
        format=find_input_format(path).name,
        bytes=_sum_file_sizes(path),
        frames=animation.frames,
        fps=animation.fps,
        vertices=animation.n,
        faces=_count_faces(mesh),
        tets=len(mesh.tets) if isinstance(mesh, MeshTet) else None,
        lines=_count_lines(mesh),
        bounds=_convert_bounds(animation.bounds),
        largest_displacement=animation.largest_displacement,
        skin=animation.skin is not None,
        notes=mesh.notes,
    )


def _describe_mesh(path: Path, mesh: AnyMesh) -> AnimationInfo:
    return AnimationInfo(
        path=str(path),
        format=f"{path.suffix[1:].upper()} mesh",
        bytes=_sum_file_sizes(path),
        frames=1,
        fps=None,
        vertices=len(mesh.vertices),
        faces=_count_faces(mesh),
        tets=len(mesh.tets) if isinstance(mesh, MeshTet) else None,
        lines=_count_lines(mesh),
        bounds=_convert_bounds(mesh.bounds),
        largest_displacement=0.0,
        notes=mesh.notes,
    )


def _count_faces(mesh: AnyMesh) -> int:
    return 0 if isinstance(mesh, MeshLine) else len(mesh.surface.triangles)


def _count_lines(mesh: AnyMesh) -> int | None:
    return len(mesh.lines) if isinstance(mesh, MeshLine) else None


def _describe_point_cache(path: Path, header: PointCacheHeader) -> AnimationInfo:
    points = read_point_positions(path, header)
    if not np.isfinite(compute_bounds_over_frames(points)).all():
        raise FileError(f"{path} holds positions that are not finite; export it again")
    return AnimationInfo(
        path=str(path),
        format=find_input_format(path).name,
        bytes=_sum_file_sizes(path),
        frames=header.frames,
        fps=header.fps if path.suffix.lower() == ".mdd" else None,
        vertices=header.point_count,
        faces=None,
        tets=None,
        bounds=_convert_bounds(compute_bounds_over_frames(points)),
        largest_displacement=compute_max_displacement(points, points[0]),
        notes=("no mesh was found beside the cache; pass mesh= for more",),
    )


def _sum_file_sizes(path: Path) -> int:
    files = (
        [path] if path.is_file() and not is_obj_sequence(path) else list(find_obj_sequence(path).find_files().values())
    )
    return sum(file.stat().st_size for file in files)


def is_obj_sequence(path: Path) -> bool:
    """Whether a file stands for a whole sequence."""
    return path.suffix.lower() == ".obj" and not is_single_obj(path)


def _convert_bounds(bounds: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    low, high = np.asarray(bounds, dtype=np.float64).tolist()
    return tuple(low), tuple(high)


def _format_bytes(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} GB"
