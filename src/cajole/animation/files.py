"""Read, write and convert animation files; the suffix of the path selects the format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cajole.animation.animation import Animation
from cajole.animation.format_registry import FORMATS as FORMATS
from cajole.animation.format_registry import (
    AnimationFormat,
    find_input_format,
    find_output_format,
    require_known_options,
)
from cajole.animation.glb import read_glb, write_glb
from cajole.animation.html import build_notebook_html, read_html, write_html
from cajole.animation.npz import read_npz, write_npz
from cajole.animation.obj_sequence import read_obj_sequence, write_obj_sequence
from cajole.animation.point_cache import read_mdd, read_pc2, write_mdd, write_pc2
from cajole.animation.reader_utils import AnyMesh, resolve_mesh
from cajole.animation.usd import read_usd, write_usd
from cajole.parsers.usd import USD_PACKAGE
from cajole.progress import ProgressCallback, build_subprogress
from cajole.storage import as_path, protect_inputs

MeshLike = AnyMesh | str | os.PathLike[str]

FORMATS[".npz"] = AnimationFormat("NPZ", read_npz, write_npz)
FORMATS.update(dict.fromkeys((".usd", ".usda", ".usdc"), AnimationFormat("USD", read_usd, write_usd, USD_PACKAGE)))
FORMATS[".glb"] = AnimationFormat("GLB", read_glb, write_glb)
FORMATS[".pc2"] = AnimationFormat("PC2", read_pc2, write_pc2)
FORMATS[".mdd"] = AnimationFormat("MDD", read_mdd, write_mdd)
FORMATS[".obj"] = AnimationFormat("OBJ sequence", read_obj_sequence, write_obj_sequence)
FORMATS[".html"] = AnimationFormat("HTML", read_html, write_html, render_notebook=build_notebook_html)


def require_format_package(path: str | os.PathLike[str]) -> None:
    """Raise MissingExtra if the package that reads and writes the format of `path` is not installed."""
    known = FORMATS.get(Path(path).suffix.lower())
    if known is not None and known.package is not None:
        known.package.require()


def read_animation(
    path: str | os.PathLike[str],
    *,
    mesh: MeshLike | None = None,
    fps: float | None = None,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> Animation:
    """Read an animation from .npz, .usd/.usda/.usdc, .glb, .pc2, .mdd, .html, or a sequence of .obj files.

    A sequence is named by its folder, by a pattern (jump_####.obj, jump_%04d.obj) or by its first file.
    mesh: the mesh, or its file, to read onto. .pc2 and .mdd need one; by default a mesh file of the same stem.
    fps: frames per second instead of those of the file; 60 if the file has none.
    Options: `scale` [m] and `up` ("z" or "y") for .obj, .pc2 and .mdd, which store no unit and axes; `mmap` for .npz
    and .pc2 (leave positions on disk; None: if they are large); `prim` for USD and .glb (the mesh to read, if there are
    several); `trusted` for USD (parse in this process, which a damaged file can crash, instead of a child process).
    Raises FileError for errors in the file, InputError for errors in the arguments, Cancelled.
    """
    place = as_path(path)
    kind = find_input_format(place)
    require_known_options(kind.read, options, f"reading {kind.name}")
    animation: Animation = kind.read(place, mesh=resolve_mesh(mesh), fps=fps, progress=progress, **options)
    return animation


def write_animation(
    animation: Animation, path: str | os.PathLike[str], *, progress: ProgressCallback | None = None, **options: Any
) -> None:
    """Write an animation; see `Animation.write`."""
    animation.write(path, progress=progress, **options)


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    mesh: MeshLike | None = None,
    fps: float | None = None,
    prim: str | None = None,
    scale: float | None = None,
    up: str | None = None,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> Animation:
    """Read an animation, write it in another format, and return it; `options` are those of the writer.

    Raises FileError if a file that is read would be overwritten.
    """
    kind = find_output_format(as_path(target))
    require_known_options(kind.write, options, f"writing {kind.name}")
    choice = {k: value for k, value in {"prim": prim, "scale": scale, "up": up}.items() if value is not None}
    with protect_inputs():
        animation = read_animation(source, mesh=mesh, fps=fps, progress=build_subprogress(progress, 0.0, 0.5), **choice)
        animation.write(target, progress=build_subprogress(progress, 0.5, 1.0), **options)
    return animation
