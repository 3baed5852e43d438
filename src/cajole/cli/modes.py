"""`cajole modes`: list and show the vibration modes of a body."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table

from cajole.animation import Animation
from cajole.checks import require_integer
from cajole.cli.bodies import load_scene_body
from cajole.cli.command_options import ModesCommandOptions
from cajole.cli.files import require_writable, write_results
from cajole.cli.output import add_title, build_table, print_result, show_progress
from cajole.dynamics import Modes
from cajole.dynamics import modes as compute_modes
from cajole.scenes import SceneBody


def modes(options: ModesCommandOptions) -> None:
    """List the lowest modes and write one of them as a loop."""
    outputs = options.output or []
    require_writable(outputs)
    count = None if options.count is None else require_integer(options.count, "--count")
    require_integer(options.mode, "--mode", maximum=count)
    with show_progress(options.source) as progress:
        subject = load_scene_body(options, options.source, progress)
        found = compute_modes(subject.body(), options.count, progress=progress)
        require_integer(options.mode, "--mode", maximum=found.count)
        if outputs:
            animation = build_mode_animation(subject, found, options.mode - 1)
            write_results(animation, outputs, camera=subject.camera, progress=progress)
    notes = [*subject.notes]
    if found.count and found.frequencies[0] < 0.01:  # [Hz] slower than any body of interest
        notes.append(
            f"the first frequency is {found.frequencies[0]:.2g} Hz; is the mesh in millimetres (--scale 0.001)?"
        )
    document: dict[str, Any] = {
        "subject": subject.name,
        "vertices": len(subject.mesh.vertices),
        "tets": len(subject.mesh.tets),
        "frequencies_Hz": found.frequencies,
        "notes": notes,
        "outputs": [str(path) for path in outputs],
    }
    print_result(document, Group(add_title(f"Modes of {subject.name}", _build_mode_table(found)), *notes))


def build_mode_animation(scene_body: SceneBody, modes: Modes, index: int) -> Animation:
    """One period of a mode as a loop of 48 frames in 2 s: u(t) = A φ sin(2πt).

    A moves the farthest vertex by 8 % of the size of the body.
    """
    shape, frames = modes.shape(index), 48
    scale = 0.08 * scene_body.mesh.size / np.linalg.norm(shape, axis=1).max()
    phase = np.sin(2 * np.pi * np.arange(frames) / frames)
    positions = scene_body.mesh.vertices + scale * phase[:, None, None] * shape
    return scene_body.attach_skin(Animation(scene_body.mesh, positions, frames / 2.0))


def _build_mode_table(modes: Modes) -> Table:
    rows = build_table("#mode", "#frequency", "#period")
    for index, frequency in enumerate(modes.frequencies, start=1):
        rows.add_row(str(index), f"{frequency:.4g} Hz", f"{1 / frequency:.3g} s" if frequency > 0 else "rigid")
    return rows
