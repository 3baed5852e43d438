"""What is in a file: the summary that `cajole info` prints."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cajole.animation.animation import Animation
from cajole.animation.blocks import frame_bounds, largest_distance
from cajole.animation.files import FORMATS, MeshLike, format_of, read_animation
from cajole.animation.objs import is_single, sequence_at
from cajole.animation.pointcache import Header, mdd_header, pc2_header, read_points
from cajole.animation.reading import AnyMesh, guarded
from cajole.errors import FileError
from cajole.mesh import MeshLine, MeshTet, read_mesh
from cajole.storage import as_path

_HEADERS = {".pc2": pc2_header, ".mdd": mdd_header}


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
            "size": _bytes(self.bytes),
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


def info(path: str | os.PathLike[str], *, mesh: MeshLike | None = None) -> AnimationInfo:
    """Summarise an animation, or a mesh, in a file; point caches without a mesh are summarised without one.

    Raises FileError for whatever `read_animation` or `read_mesh` cannot read.
    """
    place = as_path(path)
    suffix = place.suffix.lower()
    if is_single(place) or (suffix and suffix not in FORMATS and not place.is_dir()):
        return _of_mesh(place, read_mesh(place))
    if mesh is None and suffix in _HEADERS:
        try:
            return _of_animation(place, read_animation(place))
        except FileError:
            with guarded(place):
                return _of_points(place, _HEADERS[suffix](place))
    return _of_animation(place, read_animation(place, mesh=mesh))


def _of_animation(path: Path, animation: Animation) -> AnimationInfo:
    mesh = animation.mesh
    return AnimationInfo(
        path=str(path),
        format=format_of(path).name,
        bytes=_size(path),
        frames=animation.frames,
        fps=animation.fps,
        vertices=animation.n,
        faces=_faces(mesh),
        tets=len(mesh.tets) if isinstance(mesh, MeshTet) else None,
        lines=_lines(mesh),
        bounds=_pair(animation.bounds),
        largest_displacement=animation.largest_displacement,
        skin=animation.skin is not None,
        notes=mesh.notes,
    )


def _of_mesh(path: Path, mesh: AnyMesh) -> AnimationInfo:
    return AnimationInfo(
        path=str(path),
        format=f"{path.suffix[1:].upper()} mesh",
        bytes=_size(path),
        frames=1,
        fps=None,
        vertices=len(mesh.vertices),
        faces=_faces(mesh),
        tets=len(mesh.tets) if isinstance(mesh, MeshTet) else None,
        lines=_lines(mesh),
        bounds=_pair(mesh.bounds),
        largest_displacement=0.0,
        notes=mesh.notes,
    )


def _faces(mesh: AnyMesh) -> int:
    return 0 if isinstance(mesh, MeshLine) else len(mesh.surface.triangles)


def _lines(mesh: AnyMesh) -> int | None:
    return len(mesh.lines) if isinstance(mesh, MeshLine) else None


def _of_points(path: Path, header: Header) -> AnimationInfo:
    points = read_points(path, header)
    if not np.isfinite(frame_bounds(points)).all():
        raise FileError(f"{path} holds positions that are not finite; export it again")
    return AnimationInfo(
        path=str(path),
        format=format_of(path).name,
        bytes=_size(path),
        frames=header.frames,
        fps=header.fps if path.suffix.lower() == ".mdd" else None,
        vertices=header.points,
        faces=None,
        tets=None,
        bounds=_pair(frame_bounds(points)),
        largest_displacement=largest_distance(points, points[0]),
        notes=("no mesh was found beside the cache; pass mesh= for more",),
    )


def _size(path: Path) -> int:
    files = [path] if path.is_file() and not sequence_like(path) else list(sequence_at(path).files().values())
    return sum(file.stat().st_size for file in files)


def sequence_like(path: Path) -> bool:
    """Whether a file stands for a whole sequence."""
    return path.suffix.lower() == ".obj" and not is_single(path)


def _pair(bounds: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    low, high = np.asarray(bounds, dtype=np.float64).tolist()
    return tuple(low), tuple(high)


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} GB"
