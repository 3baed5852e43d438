"""`cajole pose`: the shape in which a body rests under loads."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.about import about, body_rows, note_rows
from cajole.cli.output import Json, answer, facts, working

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cajole.body import BodySolid
    from cajole.progress import Progress
    from cajole.scenes import Subject


@options.of_body(damped=False)
def pose(
    asked: options.Asked,
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
    output: options.Outputs = None,
    gravity: options.Gravity = None,
    as_json: Json = False,
) -> None:
    """Find static equilibrium under loads, pins and gravity.

    The output is a still picture (.png), an animation of one frame (.npz .glb .usdc), or the bent surface (.obj).

    [green]cajole pose beam --load "x>99%: 0,0,-200" -o bent.png[/]

    [green]cajole pose dinosaur --pin "head: 0,0.5,0" -o look.glb[/]
    """
    from cajole.cli.saving import require_writable

    outputs = output or []
    require_writable(outputs, sequences=False)
    with working(asked.source) as progress:
        subject = asked.subject(progress)
        body, started = subject.body(), time.perf_counter()
        found = _found(subject, body, load or [], pin or [], gravity, progress)
        seconds = time.perf_counter() - started
        for path in outputs:
            _save(subject, found, path, progress)
    document = _document(subject, body, found, seconds) | {"outputs": [str(path) for path in outputs]}
    answer(document, facts(f"Posed {subject.name}", _rows(document)), as_json=as_json)


def _found(
    subject: Subject, body: BodySolid, loads: list[str], pins: list[str], gravity: str | None, progress: Progress
) -> NDArray[np.float64]:
    from cajole.cli import pushes as parsed
    from cajole.dynamics import pose as posed
    from cajole.errors import InversionWarning

    force = sum((parsed.push(text, subject, body).force for text in loads), 0.0 * body.vertices)
    held = dict(pair for text in pins for pair in parsed.pinned(text, subject).items())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InversionWarning)  # the answer has a note of it
        return posed(body, force, held, gravity=parsed.gravity(gravity), progress=progress)


def _save(subject: Subject, displacement: NDArray[np.float64], path: Path, progress: Progress) -> None:
    from cajole.animation import Animation
    from cajole.cli.saving import save
    from cajole.mesh import write_mesh

    positions = subject.mesh.vertices + displacement
    if path.suffix.lower() == ".obj":
        shown = subject.mesh.surface if subject.skin is None else subject.skin.mesh
        write_mesh(shown.moved(positions if subject.skin is None else subject.skin.follow(positions)), path)
        return
    save(subject.dressed(Animation(subject.mesh, positions[None])), path, camera=subject.camera, progress=progress)


def _document(subject: Subject, body: BodySolid, found: NDArray[np.float64], seconds: float) -> dict[str, Any]:
    from cajole.body.inversion import find_inversion

    inversion = find_inversion(body, found)
    lengths = (found**2).sum(axis=1) ** 0.5
    farthest = int(lengths.argmax())
    return about(subject, body) | {
        "farthest_vertex": farthest,
        "largest_displacement_m": float(lengths[farthest]),
        "displacement_m": found[farthest].tolist(),
        "energy_J": body.energy(found),
        "seconds": seconds,
        "notes": [*subject.notes, *([] if inversion is None else [str(inversion)])],
    }


def _rows(document: dict[str, Any]) -> dict[str, str]:
    d = document
    moved = ", ".join(f"{value:.3g}" for value in d["displacement_m"])
    return {
        **body_rows(d),
        "moves up to": f"{d['largest_displacement_m']:.4g} m at vertex {d['farthest_vertex']}: ({moved})",
        "energy": f"{d['energy_J']:.4g} J",
        "took": f"{d['seconds']:.2f} s",
        "written": ", ".join(d["outputs"]) or "nothing (say where with --output)",
        **note_rows(d["notes"]),
    }
