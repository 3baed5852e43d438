"""`cajole simulate`: simulate a body under forces."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodySolid
from cajole.checks import require_positive
from cajole.cli import bodies
from cajole.cli.command_options import SimulateCommandOptions
from cajole.cli.files import require_writable, write_results
from cajole.cli.output import format_note_rows, format_written_files, print_summary, show_progress
from cajole.cli.parsers import parse_gravity, parse_seconds
from cajole.dynamics import Ground, Obstacle, ObstacleMesh
from cajole.dynamics import simulate as simulate_body
from cajole.errors import InputError
from cajole.mesh import read_mesh
from cajole.mesh.files import READERS
from cajole.mesh.line import require_surface
from cajole.scenes import SceneBody


def simulate(options: SimulateCommandOptions) -> None:
    """Simulate a scene or mesh file and write the motion."""
    outputs = options.output or []
    require_writable(outputs)
    frames, dt = _compute_timing(options)
    for text in options.obstacle or []:
        if text != "ground" and Path(text).suffix.lower() not in READERS:
            raise InputError(f'--obstacle {text!r} must be "ground" or a mesh file ({" ".join(READERS)})')
    with show_progress(options.source) as progress:
        subject = bodies.load_scene_body(options, options.source, progress)
        body, started = subject.body(), time.perf_counter()
        start = None if options.start is None else _load_start_pose(options.start, subject, body)
        obstacles = [_load_obstacle(text) for text in options.obstacle or []]
        pushes = [bodies.parse_push(text, subject, body) for text in options.push or []]
        motion = simulate_body(
            body,
            frames,
            dt,
            force=bodies.build_force_function(pushes, body.vertex_count),
            gravity=parse_gravity(options.gravity),
            start=start,
            obstacles=obstacles or None,
            integrator=options.integrator,
            substeps=options.substeps,
            progress=progress,
        )
        animation = subject.attach_skin(motion)
        seconds = time.perf_counter() - started
        write_results(animation, outputs, camera=subject.camera, progress=progress)
    document = _describe_motion(subject, body, animation, seconds) | {"outputs": [str(path) for path in outputs]}
    print_summary(f"Simulated {subject.name}", document, _format_rows(document))


def _compute_timing(options: SimulateCommandOptions) -> tuple[int, float]:
    """Number of frames, the start included, and the time between them [s]."""
    if options.dt is not None and options.fps is not None:
        raise InputError("--dt and --fps say the same thing; give one of them")
    if options.fps is not None:
        dt = 1 / require_positive(options.fps, "--fps")
    else:
        dt = parse_seconds(options.dt or "1/60", "--dt")
    if options.duration is None:
        return 120 if options.frames is None else options.frames, dt
    if options.frames is not None:
        raise InputError("--frames and --duration say the same thing; give one of them")
    return 1 + round(require_positive(options.duration, "--duration (s)") / require_positive(dt, "--dt (s)")), dt


def _load_start_pose(text: str, scene_body: SceneBody, body: BodySolid) -> Array:
    """The displacement (n, 3) [m] of "FILE" or "FILE#FRAME"."""
    file, mark, frame = text.rpartition("#")
    if mark and frame.isdecimal():
        return bodies.load_pose(Path(file), int(frame), scene_body, body)
    return bodies.load_pose(Path(text), None, scene_body, body)


def _load_obstacle(text: str) -> Obstacle:
    return Ground() if text == "ground" else ObstacleMesh(require_surface(read_mesh(text), f"the obstacle {text}"))


def _describe_motion(scene_body: SceneBody, body: BodySolid, animation: Animation, seconds: float) -> dict[str, Any]:
    return bodies.describe_body(scene_body, body) | {
        "frames": animation.frames,
        "fps": animation.fps,
        "duration_s": animation.duration,
        "largest_displacement_m": animation.largest_displacement,
        "largest_displacement_sizes": animation.largest_displacement / body.size,
        "largest_energy_J": max(body.energy(u) for u in animation.displacements),
        "seconds": seconds,
        "notes": [*scene_body.notes, *animation.notes],
    }


def _format_rows(document: dict[str, Any]) -> dict[str, str]:
    d = document
    return {
        **bodies.format_body_rows(d),
        "motion": f"{d['frames']} frames at {d['fps']:.4g} frames/s, {d['duration_s']:.3g} s",
        "moves up to": f"{d['largest_displacement_m']:.3g} m, {d['largest_displacement_sizes']:.1%} of its size",
        "energy": f"at most {d['largest_energy_J']:.3g} J of strain",
        "took": f"{d['seconds']:.2f} s",
        "written": format_written_files(d["outputs"]),
        **format_note_rows(d["notes"]),
    }
