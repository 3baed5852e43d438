"""`cajole pose`: compute the static equilibrium of a body under loads."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodySolid
from cajole.body.solid import find_inverted_tets
from cajole.cli import bodies
from cajole.cli.command_options import PoseCommandOptions
from cajole.cli.files import require_writable, write_results
from cajole.cli.output import format_note_rows, print_summary, show_progress
from cajole.cli.parsers import parse_gravity
from cajole.dynamics import pose as solve_pose
from cajole.errors import InversionWarning
from cajole.mesh import write_mesh
from cajole.progress import ProgressCallback
from cajole.scenes import SceneBody


def pose(options: PoseCommandOptions) -> None:
    """Find static equilibrium and write the pose."""
    outputs = options.output or []
    require_writable(outputs, sequences=False)
    with show_progress(options.source) as progress:
        subject = bodies.load_scene_body(options, options.source, progress)
        body, started = subject.body(), time.perf_counter()
        loads = (bodies.parse_push(text, subject, body).force for text in options.load or [])
        pins = {vertex: u for text in options.pin or [] for vertex, u in bodies.parse_pin(text, subject).items()}
        force, gravity = sum(loads, 0.0 * body.vertices), parse_gravity(options.gravity)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InversionWarning)  # the document has a note of it
            found = solve_pose(body, force, pins, gravity=gravity, progress=progress)
        seconds = time.perf_counter() - started
        for path in outputs:
            _write_pose(subject, found, path, progress)
    document = _describe_pose(subject, body, found, seconds) | {"outputs": [str(path) for path in outputs]}
    print_summary(f"Posed {subject.name}", document, _format_rows(document))


def _write_pose(scene_body: SceneBody, displacement: Array, path: Path, progress: ProgressCallback) -> None:
    positions = scene_body.mesh.vertices + displacement
    if path.suffix.lower() != ".obj":
        animation = scene_body.attach_skin(Animation(scene_body.mesh, positions[None]))
        write_results(animation, [path], camera=scene_body.camera, progress=progress)
    elif scene_body.skin is None:
        write_mesh(scene_body.mesh.surface.moved(positions), path)
    else:
        write_mesh(scene_body.skin.mesh.moved(scene_body.skin.deform(positions)), path)


def _describe_pose(scene_body: SceneBody, body: BodySolid, displacement: Array, seconds: float) -> dict[str, Any]:
    inversion = find_inverted_tets(body, displacement)
    lengths = (displacement**2).sum(axis=1) ** 0.5
    farthest = int(lengths.argmax())
    return bodies.describe_body(scene_body, body) | {
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
        **bodies.format_body_rows(d),
        "moves up to": f"{d['largest_displacement_m']:.4g} m at vertex {d['farthest_vertex']}: ({moved})",
        "energy": f"{d['energy_J']:.4g} J",
        "took": f"{d['seconds']:.2f} s",
        "written": ", ".join(d["outputs"]) or "nothing (select a file with --output)",
        **format_note_rows(d["notes"]),
    }
