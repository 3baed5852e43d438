"""`cajole modes`: how a body vibrates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.output import Json, answer, table, titled, working

if TYPE_CHECKING:
    from rich.table import Table

    from cajole.animation import Animation
    from cajole.dynamics import Modes
    from cajole.scenes import Subject

# one period of a mode: enough frames to look smooth at any speed, and the share of the body's size it moves
FRAMES, AMPLITUDE = 48, 0.08
SECONDS = 2.0
# [Hz] what swings more slowly was likely drawn in millimetres
SLOW = 0.01


@options.of_body(damped=False)
def modes(
    asked: options.Asked,
    count: Annotated[
        int | None, typer.Option(help="How many, from the lowest; 30, or all of a small body, when left out.")
    ] = None,
    mode: Annotated[int, typer.Option(help="Which one to write, from 1.")] = 1,
    output: options.Outputs = None,
    as_json: Json = False,
) -> None:
    """List the lowest vibration modes, and write one of them as a looping animation.

    [green]cajole modes dinosaur --count 10[/]

    [green]cajole modes beam.veg --fixed "x<1%" --mode 3 -o mode3.glb -o mode3.webp[/]
    """
    from rich.console import Group

    from cajole.checks import count as whole
    from cajole.cli.saving import require_writable, save
    from cajole.dynamics import modes as computed

    outputs = output or []
    require_writable(outputs)
    whole(mode, "--mode", most=None if count is None else whole(count, "--count"))
    with working(asked.source) as progress:
        subject = asked.subject(progress)
        found = computed(subject.body(), count, progress=progress)
        whole(mode, "--mode", most=found.count)
        for path in outputs:
            save(swinging(subject, found, mode - 1), path, camera=subject.camera, progress=progress)
    document: dict[str, Any] = {
        "subject": subject.name,
        "vertices": len(subject.mesh.vertices),
        "tets": len(subject.mesh.tets),
        "frequencies_Hz": found.frequencies,
        "notes": [*subject.notes, *_slow_notes(found)],
        "outputs": [str(path) for path in outputs],
    }
    shown = Group(titled(f"Modes of {subject.name}", _listed(found)), *document["notes"])
    answer(document, shown, as_json=as_json)


def _slow_notes(found: Modes) -> list[str]:
    if found.count == 0 or found.frequencies[0] >= SLOW:
        return []
    return [f"the first frequency is {found.frequencies[0]:.2g} Hz; is the mesh in millimetres (--scale 0.001)?"]


def swinging(subject: Subject, found: Modes, index: int) -> Animation:
    """One period of a mode, u(t) = A φ sin(2πt), slowed to two seconds; φ scaled so that A is a share of the size."""
    import numpy as np

    from cajole.animation import Animation

    shape = found.shape(index)
    scale = AMPLITUDE * subject.mesh.size / np.linalg.norm(shape, axis=1).max()
    phase = np.sin(2 * np.pi * np.arange(FRAMES) / FRAMES)
    positions = subject.mesh.vertices + scale * phase[:, None, None] * shape
    return subject.dressed(Animation(subject.mesh, positions, FRAMES / SECONDS))


def _listed(found: Modes) -> Table:
    rows = table("#mode", "#frequency", "#period")
    for index, frequency in enumerate(found.frequencies, start=1):
        rows.add_row(str(index), f"{frequency:.4g} Hz", f"{1 / frequency:.3g} s" if frequency > 0 else "rigid")
    return rows
