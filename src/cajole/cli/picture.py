"""`cajole picture`: a scene or a file in the studio."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli.output import JsonOption, build_summary_table, print_result, show_progress

if TYPE_CHECKING:
    from cajole.progress import ProgressCallback


def picture(
    source: Annotated[str, typer.Argument(metavar="SCENE|FILE", help="A built-in scene, a mesh file or an animation.")],
    output: Annotated[
        Path, typer.Argument(help="A still (.png .jpg) or, of an animation, a loop (.webp .gif .mp4).", readable=False)
    ],
    frame: Annotated[
        int | None, typer.Option(help="Which frame of an animation; the most telling one if not given.")
    ] = None,
    frames: Annotated[int | None, typer.Option(help="How many frames a loop shall have.")] = None,
    size: Annotated[
        str | None, typer.Option(metavar="WxH", help="In pixels; 960x640, of a loop 480x320, if nothing else is said.")
    ] = None,
    samples: Annotated[int, typer.Option(help="Light paths per pixel that is traced.")] = 16,
    azimuth: Annotated[
        float | None,
        typer.Option(help="Where the camera stands, in degrees around the body; before its longer side if not given."),
    ] = None,
    elevation: Annotated[float | None, typer.Option(help="How high it stands, in degrees.")] = None,
    renderer: Annotated[
        str,
        typer.Option(help="draft (rasterised, about a second a picture), mitsuba (traced, half a minute) or auto."),
    ] = "draft",
    wireframe: Annotated[bool, typer.Option(help="Draw the edges of the mesh.")] = False,
    mesh: Annotated[Path | None, typer.Option(help="The mesh that a .pc2 or .mdd belongs to.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Picture a scene, a mesh or an animation.

    [green]cajole picture flower flower.png[/]

    [green]cajole picture wag.npz wag.webp --frames 36 --size 480x320[/]

    [green]cajole picture fish fish.jpg --renderer mitsuba[/]
    """
    from cajole.pictures import picture as drawn
    from cajole.pictures.render import require_render_packages
    from cajole.storage import require_writable_path

    require_render_packages(output, renderer)
    require_writable_path(output)
    wanted: dict[str, Any] = {
        "size": None if size is None else _parse_image_size(size),
        "azimuth": azimuth,
        "elevation": elevation,
    }
    with show_progress("picture") as progress:
        subject, started = _load_renderable(source, mesh, progress), time.perf_counter()
        pixels = drawn(
            subject, output, frame=frame, frames=frames, samples=samples, renderer=renderer, wireframe=wireframe,
            progress=progress, **wanted,
        )  # fmt: skip
    count = len(pixels) if pixels.ndim == 4 else 1
    seconds = time.perf_counter() - started
    height, width = pixels.shape[-3:-1]
    sizes = {"width": width, "height": height, "frames": count, "seconds": seconds}
    document = {"written": str(output), **sizes, "outputs": [str(output)]}
    rows = {"size": f"{width} x {height} pixels", "frames": f"{count}", "drawn in": f"{seconds:.1f} s"}
    print_result(document, build_summary_table(f"Wrote {output}", rows), as_json=as_json)


def _load_renderable(source: str, mesh: Path | None, progress: ProgressCallback) -> Any:
    from cajole.animation import read_animation
    from cajole.animation.obj_sequence import is_single_obj
    from cajole.errors import InputError
    from cajole.mesh import read_mesh
    from cajole.mesh.files import READERS
    from cajole.scenes import scene, scene_names

    path = Path(source)
    if source in scene_names():
        return scene(source, progress=progress)
    if not path.suffix and not path.exists():
        raise InputError(f"{source!r} is neither a scene ({', '.join(scene_names())}) nor a file")
    if path.suffix.lower() in READERS and (path.suffix.lower() != ".obj" or is_single_obj(path)):
        return read_mesh(path)
    return read_animation(path, mesh=mesh, progress=progress)


def _parse_image_size(text: str) -> tuple[int, int]:
    from cajole.errors import InputError

    width, _, height = text.lower().partition("x")
    if not (width.strip().isdecimal() and height.strip().isdecimal()):
        raise InputError(f"--size is {text!r}, but must be width x height in pixels, as in 960x640")
    return int(width), int(height)
