"""`cajole convert`: from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli.output import JsonOption, build_summary_table, format_written_files, print_result, show_progress

if TYPE_CHECKING:
    from cajole.progress import ProgressCallback


def convert(
    source: Annotated[Path, typer.Argument(help="What to read: an animation or a mesh.")],
    target: Annotated[Path, typer.Argument(help="What to write; its suffix names the format.", readable=False)],
    mesh: Annotated[Path | None, typer.Option(help="The mesh that a .pc2 or .mdd belongs to.")] = None,
    fps: Annotated[float | None, typer.Option(help="Frames per second, instead of what the file says.")] = None,
    prim: Annotated[str | None, typer.Option(help="Which mesh of a USD or GLB file that has several.")] = None,
    scale: Annotated[
        float | None,
        typer.Option(metavar="METRES", help="Metres in the unit of a mesh, .pc2, .mdd or .obj, which do not say it."),
    ] = None,
    up: Annotated[
        str | None, typer.Option(metavar="z|y", help="The axis that points up in such a file: y is turned to z.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Convert an animation, or a mesh, to the format that the target's suffix names.

    Animations: .npz .usd .usda .usdc .glb .pc2 .mdd .html, and sequences of .obj.
    Meshes: .veg .node .ele .obj .ply .stl .msh .vtk .vtu .mesh.

    [green]cajole convert wag.npz wag.usdc[/]

    [green]cajole convert cache.pc2 cache.glb --mesh body.obj[/]

    [green]cajole convert maya.mdd body.usdc --mesh maya.obj --up y --scale 0.01[/]

    [green]cajole convert body.veg body.vtu[/]
    """
    from cajole.animation.files import require_format_package
    from cajole.mesh.files import list_written_files
    from cajole.storage import require_writable_path

    require_format_package(target)
    for file in list_written_files(target):
        require_writable_path(file)
    with show_progress("convert") as progress:
        options = {"mesh": mesh, "fps": fps, "prim": prim, "scale": scale, "up": up}
        document = _convert_file(source, target, options, progress)
    rows = {name: str(value) for name, value in document.items()}
    if "fps" in document:
        rows["written"] = format_written_files([str(target)])
    document["outputs"] = [str(target)]
    print_result(document, build_summary_table(f"{source} → {target}", rows), as_json=as_json)


def _convert_file(source: Path, target: Path, options: dict[str, Any], progress: ProgressCallback) -> dict[str, Any]:
    from cajole.animation import convert as convert_animation
    from cajole.animation.obj_sequence import is_single_obj
    from cajole.mesh.files import READERS

    # an .obj alone is a mesh; a numbered one is the start of a sequence
    if source.suffix.lower() in READERS and (source.suffix.lower() != ".obj" or is_single_obj(source)):
        return _convert_mesh(
            source, target, {name: options[name] for name in ("scale", "up") if options[name] is not None}
        )
    moved = convert_animation(source, target, **options, progress=progress)
    return {"written": str(target), "frames": moved.frames, "vertices": moved.n, "fps": moved.fps}


def _convert_mesh(source: Path, target: Path, read_options: dict[str, Any]) -> dict[str, Any]:
    from cajole.animation import Animation
    from cajole.animation.files import FORMATS
    from cajole.mesh import MeshTet, read_mesh, write_mesh
    from cajole.mesh.files import TET_WRITERS, TRI_WRITERS

    mesh, suffix = read_mesh(source, **read_options), target.suffix.lower()
    if suffix in FORMATS and suffix != ".obj":
        Animation(mesh, mesh.vertices[None], name=source.stem).write(target)
        return {"written": str(target), "vertices": len(mesh.vertices), "frames": 1}
    if isinstance(mesh, MeshTet) and suffix in TRI_WRITERS and suffix not in TET_WRITERS:
        mesh = mesh.surface
    write_mesh(mesh, target)
    kind = {4: "tets", 3: "triangles", 2: "lines"}[mesh.elements.shape[1]]
    return {"written": str(target), "vertices": len(mesh.vertices), kind: len(mesh.elements)}
