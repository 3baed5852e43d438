"""Summaries of animation and mesh files, as `cajole info` prints them."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cajole.animation.files import FORMATS, MeshLike, read_animation
from cajole.animation.format_registry import find_input_format
from cajole.animation.frame_blocks import compute_bounds_over_frames, compute_max_displacement
from cajole.animation.obj_sequence import find_obj_sequence, is_single_obj
from cajole.animation.point_cache import read_mdd_header, read_pc2_header, read_point_positions
from cajole.animation.reader_utils import AnyMesh, wrap_read_errors
from cajole.errors import FileError
from cajole.mesh import MeshLine, MeshTet, read_mesh
from cajole.storage import as_path


@dataclass(frozen=True)
class AnimationInfo:
    """Summary of an animation or mesh file; prints as a table.

    bounds: least and greatest coordinates over all frames [m]; largest_displacement: of a vertex from the rest shape
    [m] (from the first frame if the file has no mesh). fps, faces and tets are None if unknown; lines is None if the
    mesh has no lines.
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
    """Summarise an animation or mesh file; a point cache may be without a mesh.

    Raises FileError for files that `read_animation` and `read_mesh` cannot read.
    """
    place = as_path(path)
    suffix = place.suffix.lower()
    if is_single_obj(place) or (suffix and suffix not in FORMATS and not place.is_dir()):
        found = read_mesh(place)
        return AnimationInfo(
            format=f"{place.suffix[1:].upper()} mesh",
            frames=1,
            fps=None,
            bounds=_convert_bounds(found.bounds),
            largest_displacement=0.0,
            **_describe_mesh(place, found),
        )
    try:
        animation = read_animation(place, mesh=mesh)
    except FileError:
        if mesh is not None or suffix not in (".pc2", ".mdd"):
            raise
        with wrap_read_errors(place):
            return _describe_point_cache(place)
    return AnimationInfo(
        format=find_input_format(place).name,
        frames=animation.frames,
        fps=animation.fps,
        bounds=_convert_bounds(animation.bounds),
        largest_displacement=animation.largest_displacement,
        skin=animation.skin is not None,
        **_describe_mesh(place, animation.mesh),
    )


def _describe_mesh(path: Path, mesh: AnyMesh) -> dict[str, Any]:
    return {
        "path": str(path),
        "bytes": _sum_file_sizes(path),
        "vertices": len(mesh.vertices),
        "faces": 0 if isinstance(mesh, MeshLine) else len(mesh.surface.triangles),
        "tets": len(mesh.tets) if isinstance(mesh, MeshTet) else None,
        "lines": len(mesh.lines) if isinstance(mesh, MeshLine) else None,
        "notes": mesh.notes,
    }


def _describe_point_cache(path: Path) -> AnimationInfo:
    is_mdd = path.suffix.lower() == ".mdd"
    header = read_mdd_header(path) if is_mdd else read_pc2_header(path)
    points = read_point_positions(path, header)
    bounds = compute_bounds_over_frames(points)
    if not np.isfinite(bounds).all():
        raise FileError(f"{path} holds positions that are not finite; export it again")
    return AnimationInfo(
        path=str(path),
        format=find_input_format(path).name,
        bytes=_sum_file_sizes(path),
        frames=header.frames,
        fps=header.fps if is_mdd else None,
        vertices=header.point_count,
        faces=None,
        tets=None,
        bounds=_convert_bounds(bounds),
        largest_displacement=compute_max_displacement(points, points[0]),
        notes=("no mesh was found beside the cache; pass mesh= for more",),
    )


def _sum_file_sizes(path: Path) -> int:
    single = path.is_file() and (path.suffix.lower() != ".obj" or is_single_obj(path))
    files = [path] if single else find_obj_sequence(path).find_files().values()
    return sum(file.stat().st_size for file in files)


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
