"""`cajole convert`: convert animations and meshes between formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cajole.animation import Animation
from cajole.animation import convert as convert_animation
from cajole.animation.files import FORMATS, require_format_package
from cajole.animation.obj_sequence import is_single_obj
from cajole.cli.command_options import ConvertCommandOptions
from cajole.cli.output import format_written_files, print_summary, show_progress
from cajole.mesh import MeshTet, read_mesh, write_mesh
from cajole.mesh.files import READERS, TET_WRITERS, TRI_WRITERS, list_written_files
from cajole.storage import require_writable_path


def convert(options: ConvertCommandOptions) -> None:
    """Convert a file to the format of the target's suffix."""
    source, target = options.source, options.target
    require_format_package(target)
    for file in list_written_files(target):
        require_writable_path(file)
    # an .obj alone is a mesh; a numbered one is the start of a sequence
    is_mesh = source.suffix.lower() in READERS and (source.suffix.lower() != ".obj" or is_single_obj(source))
    with show_progress("convert") as progress:
        if is_mesh:
            keywords = {name: getattr(options, name) for name in ("scale", "up") if getattr(options, name) is not None}
            document = _convert_mesh(source, target, keywords)
            rows = {name: str(value) for name, value in document.items()}
        else:
            keywords = {name: getattr(options, name) for name in ("mesh", "fps", "prim", "scale", "up")}
            moved = convert_animation(source, target, **keywords, progress=progress)
            document = {"written": str(target), "frames": moved.frames, "vertices": moved.n, "fps": moved.fps}
            rows = {name: str(value) for name, value in document.items()}
            rows["written"] = format_written_files([str(target)])
    print_summary(f"{source} → {target}", document | {"outputs": [str(target)]}, rows)


def _convert_mesh(source: Path, target: Path, read_keywords: dict[str, Any]) -> dict[str, Any]:
    mesh, suffix = read_mesh(source, **read_keywords), target.suffix.lower()
    if suffix in FORMATS and suffix != ".obj":
        Animation(mesh, mesh.vertices[None], name=source.stem).write(target)
        return {"written": str(target), "vertices": len(mesh.vertices), "frames": 1}
    if isinstance(mesh, MeshTet) and suffix in TRI_WRITERS and suffix not in TET_WRITERS:
        mesh = mesh.surface
    write_mesh(mesh, target)
    kind = {4: "tets", 3: "triangles", 2: "lines"}[mesh.elements.shape[1]]
    return {"written": str(target), "vertices": len(mesh.vertices), kind: len(mesh.elements)}
