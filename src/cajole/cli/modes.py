"""`cajole modes`: how a body vibrates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.output import JsonOption, add_title, build_table, print_result, show_progress

if TYPE_CHECKING:
    from rich.table import Table

    from cajole.animation import Animation
    from cajole.dynamics import Modes
    from cajole.scenes import SceneBody

# one period of a mode: enough frames to look smooth at any speed, and the share of the body's size it moves
LOOP_FRAMES, LOOP_AMPLITUDE = 48, 0.08
LOOP_SECONDS = 2.0
# [Hz] what swings more slowly was likely drawn in millimetres
MIN_PLAUSIBLE_FREQUENCY = 0.01


@options.with_body_options(include_damping=False)
def modes(
    body_options: options.BodyOptions,
    count: Annotated[
        int | None, typer.Option(help="How many, from the lowest; 30, or all of a small body, when left out.")
    ] = None,
    mode: Annotated[int, typer.Option(help="Which one to write, from 1.")] = 1,
    output: options.OutputOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the lowest vibration modes, and write one of them as a looping animation.

    [green]cajole modes dinosaur --count 10[/]

    [green]cajole modes beam.veg --fixed "x<1%" --mode 3 -o mode3.glb -o mode3.webp[/]
    """
    from rich.console import Group

    from cajole.checks import require_integer as whole
    from cajole.cli.output_files import require_writable, write_result
    from cajole.dynamics import modes as computed

    outputs = output or []
    require_writable(outputs)
    whole(mode, "--mode", maximum=None if count is None else whole(count, "--count"))
    with show_progress(body_options.source) as progress:
        subject = body_options.load_scene_body(progress)
        found = computed(subject.body(), count, progress=progress)
        whole(mode, "--mode", maximum=found.count)
        for path in outputs:
            write_result(build_mode_animation(subject, found, mode - 1), path, camera=subject.camera, progress=progress)
    document: dict[str, Any] = {
        "subject": subject.name,
        "vertices": len(subject.mesh.vertices),
        "tets": len(subject.mesh.tets),
        "frequencies_Hz": found.frequencies,
        "notes": [*subject.notes, *_build_unit_notes(found)],
        "outputs": [str(path) for path in outputs],
    }
    shown = Group(add_title(f"Modes of {subject.name}", _build_mode_table(found)), *document["notes"])
    print_result(document, shown, as_json=as_json)


def _build_unit_notes(modes: Modes) -> list[str]:
    if modes.count == 0 or modes.frequencies[0] >= MIN_PLAUSIBLE_FREQUENCY:
        return []
    return [f"the first frequency is {modes.frequencies[0]:.2g} Hz; is the mesh in millimetres (--scale 0.001)?"]


def build_mode_animation(scene_body: SceneBody, modes: Modes, index: int) -> Animation:
    """One period of a mode, u(t) = A φ sin(2πt), slowed to two seconds; φ scaled so that A is a share of the size."""
    import numpy as np

    from cajole.animation import Animation

    shape = modes.shape(index)
    scale = LOOP_AMPLITUDE * scene_body.mesh.size / np.linalg.norm(shape, axis=1).max()
    phase = np.sin(2 * np.pi * np.arange(LOOP_FRAMES) / LOOP_FRAMES)
    positions = scene_body.mesh.vertices + scale * phase[:, None, None] * shape
    return scene_body.attach_skin(Animation(scene_body.mesh, positions, LOOP_FRAMES / LOOP_SECONDS))


def _build_mode_table(modes: Modes) -> Table:
    rows = build_table("#mode", "#frequency", "#period")
    for index, frequency in enumerate(modes.frequencies, start=1):
        rows.add_row(str(index), f"{frequency:.4g} Hz", f"{1 / frequency:.3g} s" if frequency > 0 else "rigid")
    return rows
