"""`cajole picture`: render a scene or a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from cajole.animation import read_animation
from cajole.animation.obj_sequence import is_single_obj
from cajole.cli.command_options import PictureCommandOptions
from cajole.cli.output import print_summary, show_progress
from cajole.errors import InputError
from cajole.mesh import read_mesh
from cajole.mesh.files import READERS
from cajole.pictures import picture as render_picture
from cajole.pictures.render import require_render_packages
from cajole.progress import ProgressCallback
from cajole.scenes import scene, scene_names
from cajole.storage import require_writable_path


def picture(options: PictureCommandOptions) -> None:
    """Render a still or a loop."""
    output = options.output
    require_render_packages(output, options.renderer)
    require_writable_path(output)
    size = None if options.size is None else _parse_image_size(options.size)
    with show_progress("picture") as progress:
        subject, started = _load_renderable(options.source, options.mesh, progress), time.perf_counter()
        pixels = render_picture(
            subject,
            output,
            frame=options.frame,
            frames=options.frames,
            samples=options.samples,
            renderer=options.renderer,
            wireframe=options.wireframe,
            size=size,
            azimuth=options.azimuth,
            elevation=options.elevation,
            progress=progress,
        )
    frames, seconds = len(pixels) if pixels.ndim == 4 else 1, time.perf_counter() - started
    height, width = pixels.shape[-3:-1]
    document = {
        "written": str(output),
        "width": width,
        "height": height,
        "frames": frames,
        "seconds": seconds,
        "outputs": [str(output)],
    }
    rows = {"size": f"{width} x {height} pixels", "frames": f"{frames}", "drawn in": f"{seconds:.1f} s"}
    print_summary(f"Wrote {output}", document, rows)


def _load_renderable(source: str, mesh: Path | None, progress: ProgressCallback) -> Any:
    path = Path(source)
    if source in scene_names():
        return scene(source, progress=progress)
    if not path.suffix and not path.exists():
        raise InputError(f"{source!r} is neither a scene ({', '.join(scene_names())}) nor a file")
    if path.suffix.lower() in READERS and (path.suffix.lower() != ".obj" or is_single_obj(path)):
        return read_mesh(path)
    return read_animation(path, mesh=mesh, progress=progress)


def _parse_image_size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.strip().isdecimal() and height.strip().isdecimal()):
        raise InputError(f"--size is {text!r}, but must be width x height in pixels, as in 960x640")
    return int(width), int(height)
