"""Animations in and out of files: the path's suffix names the format."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cajole.animation.animation import Animation
from cajole.animation.glb import read_glb, write_glb
from cajole.animation.html import read_html, write_html
from cajole.animation.npz import read_npz, write_npz
from cajole.animation.obj_sequence import read_obj_sequence, write_obj_sequence
from cajole.animation.point_cache import read_mdd, read_pc2, write_mdd, write_pc2
from cajole.animation.reader_utils import AnyMesh, resolve_mesh
from cajole.animation.usd import read_usd, write_usd
from cajole.checks import OptionalPackage
from cajole.errors import FileError, InputError
from cajole.parsers.usd import USD_PACKAGE
from cajole.progress import ProgressCallback, build_subprogress
from cajole.storage import as_path, protect_inputs

MeshLike = AnyMesh | str | os.PathLike[str]


@dataclass(frozen=True)
class AnimationFormat:
    """A name to show, a reader and a writer; their keyword arguments are the format's options.

    package: the optional package that reads and writes it.
    """

    name: str
    read: Callable[..., Animation]
    write: Callable[..., None]
    package: OptionalPackage | None = None


_USD_FORMAT = AnimationFormat("USD", read_usd, write_usd, USD_PACKAGE)
_OBJ_FORMAT = AnimationFormat("OBJ sequence", read_obj_sequence, write_obj_sequence)
FORMATS = {
    ".npz": AnimationFormat("NPZ", read_npz, write_npz),
    ".usd": _USD_FORMAT,
    ".usda": _USD_FORMAT,
    ".usdc": _USD_FORMAT,
    ".glb": AnimationFormat("GLB", read_glb, write_glb),
    ".pc2": AnimationFormat("PC2", read_pc2, write_pc2),
    ".mdd": AnimationFormat("MDD", read_mdd, write_mdd),
    ".obj": _OBJ_FORMAT,
    ".html": AnimationFormat("HTML", read_html, write_html),
}


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
    mesh: the mesh (or its file) to read onto; .pc2 and .mdd need one, and look for it beside them under the same stem.
    fps: instead of what the file says; where it says nothing, 60. Options: `scale` [m] and `up` ("z" or "y") for .obj,
    .pc2 and .mdd, which do not say their unit and axes, `mmap` for .npz and .pc2 (leave positions on disk; None: when
    they are large), `prim` for USD and .glb (which mesh, when there are several), `trusted`
    for USD (parse in this process, where a damaged file can crash it, and not in a child process).
    Raises FileError for whatever is wrong with the file, InputError for the arguments, Cancelled.
    """
    place = as_path(path)
    kind = find_input_format(place)
    _require_known_options(kind.read, options, f"reading {kind.name}")
    return kind.read(place, mesh=resolve_mesh(mesh), fps=fps, progress=progress, **options)


def write_animation(
    animation: Animation, path: str | os.PathLike[str], *, progress: ProgressCallback | None = None, **options: Any
) -> None:
    """Write an animation; whatever stood at `path` is replaced at the very end, or stays whole.

    The suffix names the format. An .obj is a sequence: jump.obj becomes jump_0000.obj, jump_0001.obj, ...; jump_###.obj
    says how many digits. An older sequence of that name goes, and files that Cajole did not write are never replaced.
    .npz keeps everything (`single=True` halves it). USD keeps all but contacts, positions in single precision.
    .pc2 and .mdd keep positions of all vertices (`vertices="all" | "surface" | "skin"`); the mesh goes beside them,
    under the same stem, where there is none (`companion=True`: in place of one, `False`: never). .glb and .obj are to
    be looked at: they keep the skin, or else the surface (`vertices=`); .glb also takes `every`, `max_targets` and
    `normals`. So is .html, a page that plays in any browser; it takes `every`, `max_bytes` and `camera`.
    Raises FileError for a path without a known suffix, and where it cannot be written; Cancelled.
    """
    place = as_path(path)
    kind = find_output_format(place)
    _require_known_options(kind.write, options, f"writing {kind.name}")
    kind.write(animation, place, progress=progress, **options)


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
    """Read an animation, write it in another format, and return it; `options` go to the writer.

    Raises FileError where a file that is read would be overwritten.
    """
    kind = find_output_format(as_path(target))
    _require_known_options(kind.write, options, f"writing {kind.name}")
    asked = {"prim": prim, "scale": scale, "up": up}
    choice = {name: value for name, value in asked.items() if value is not None}
    with protect_inputs():
        animation = read_animation(source, mesh=mesh, fps=fps, progress=build_subprogress(progress, 0.0, 0.5), **choice)
        write_animation(animation, target, progress=build_subprogress(progress, 0.5, 1.0), **options)
    return animation


def find_output_format(path: Path) -> AnimationFormat:
    """The format to write. Raises FileError for a path whose suffix names none, a folder's for example."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS and (not suffix or path.is_dir()):
        raise FileError(
            f"{path} has no suffix that names a format: write {path.name}.npz, or another of {' '.join(FORMATS)}; "
            f"or {path.name}/name_####.obj for a sequence in a folder"
        )
    return find_input_format(path)


def find_input_format(path: Path) -> AnimationFormat:
    """The format to read, which the suffix names; a folder is a sequence of .obj files."""
    suffix = path.suffix.lower()
    if suffix in FORMATS:
        return FORMATS[suffix]
    if not suffix or path.is_dir():
        return _OBJ_FORMAT
    raise FileError(f"{path}: {suffix} is not an animation format; known are {' '.join(FORMATS)}")


def _require_known_options(function: Callable[..., Any], options: dict[str, Any], action: str) -> None:
    known = [name for name, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY]
    own = [name for name in known if name not in ("mesh", "fps", "progress")]
    for name in options:
        if name not in own:
            raise InputError(f"{action} has no option {name!r}; it takes {', '.join(own) or 'none'}")
