"""`cajole pose`: the shape in which a body rests under loads."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.body_summary import describe_body, format_body_rows, format_note_rows
from cajole.cli.output import JsonOption, build_summary_table, print_result, show_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cajole.body import BodySolid
    from cajole.progress import ProgressCallback
    from cajole.scenes import SceneBody


@options.with_body_options(include_damping=False)
def pose(
    body_options: options.BodyOptions,
    load: Annotated[
        list[str] | None,
        typer.Option(
            metavar='"WHERE: FX,FY,FZ"',
            help='A force, "head: 0,0,-300" in newtons or "tail: 0,0.2,0 weights". May be repeated.',
        ),
    ] = None,
    pin: Annotated[
        list[str] | None,
        typer.Option(
            metavar='"WHERE: DX,DY,DZ"', help='A displacement held exactly, "tail: 0,0.4,0" in metres. May be repeated.'
        ),
    ] = None,
    output: options.OutputOption = None,
    gravity: options.GravityOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find static equilibrium under loads, pins and gravity.

    The output is a still picture (.png), an animation of one frame (.npz .glb .usdc), or the bent surface (.obj).

    [green]cajole pose beam --load "x>99%: 0,0,-200" -o bent.png[/]

    [green]cajole pose dinosaur --pin "head: 0,0.5,0" -o look.glb[/]
    """
    from cajole.cli.output_files import require_writable

    outputs = output or []
    require_writable(outputs, sequences=False)
    with show_progress(body_options.source) as progress:
        subject = body_options.load_scene_body(progress)
        body, started = subject.body(), time.perf_counter()
        found = _solve_pose(subject, body, load or [], pin or [], gravity, progress)
        seconds = time.perf_counter() - started
        for path in outputs:
            _write_pose(subject, found, path, progress)
    document = _describe_pose(subject, body, found, seconds) | {"outputs": [str(path) for path in outputs]}
    print_result(document, build_summary_table(f"Posed {subject.name}", _format_rows(document)), as_json=as_json)


def _solve_pose(
    scene_body: SceneBody,
    body: BodySolid,
    loads: list[str],
    pins: list[str],
    gravity: str | None,
    progress: ProgressCallback,
) -> NDArray[np.float64]:
    from cajole.cli import force_parsers as parsed
    from cajole.dynamics import pose as posed
    from cajole.errors import InversionWarning

    force = sum((parsed.parse_push(text, scene_body, body).force for text in loads), 0.0 * body.vertices)
    held = dict(pair for text in pins for pair in parsed.parse_pin(text, scene_body).items())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InversionWarning)  # the answer has a note of it
        return posed(body, force, held, gravity=parsed.parse_gravity(gravity), progress=progress)


def _write_pose(
    scene_body: SceneBody, displacement: NDArray[np.float64], path: Path, progress: ProgressCallback
) -> None:
    from cajole.animation import Animation
    from cajole.cli.output_files import write_result
    from cajole.mesh import write_mesh

    positions = scene_body.mesh.vertices + displacement
    if path.suffix.lower() == ".obj":
        shown = scene_body.mesh.surface if scene_body.skin is None else scene_body.skin.mesh
        write_mesh(shown.moved(positions if scene_body.skin is None else scene_body.skin.deform(positions)), path)
        return
    write_result(
        scene_body.attach_skin(Animation(scene_body.mesh, positions[None])),
        path,
        camera=scene_body.camera,
        progress=progress,
    )


def _describe_pose(
    scene_body: SceneBody, body: BodySolid, displacement: NDArray[np.float64], seconds: float
) -> dict[str, Any]:
    from cajole.body.solid import find_inverted_tets

    inversion = find_inverted_tets(body, displacement)
    lengths = (displacement**2).sum(axis=1) ** 0.5
    farthest = int(lengths.argmax())
    return describe_body(scene_body, body) | {
        "farthest_vertex": farthest,
        "largest_displacement_m": float(lengths[farthest]),
        "displacement_m": displacement[farthest].tolist(),
        "energy_J": body.energy(displacement),
        "seconds": seconds,
        "notes": [*scene_body.notes, *([] if inversion is None else [str(inversion)])],
    }


def _format_rows(document: dict[str, Any]) -> dict[str, str]:
    d = document
    moved = ", ".join(f"{value:.3g}" for value in d["displacement_m"])
    return {
        **format_body_rows(d),
        "moves up to": f"{d['largest_displacement_m']:.4g} m at vertex {d['farthest_vertex']}: ({moved})",
        "energy": f"{d['energy_J']:.4g} J",
        "took": f"{d['seconds']:.2f} s",
        "written": ", ".join(d["outputs"]) or "nothing (say where with --output)",
        **format_note_rows(d["notes"]),
    }
