"""`cajole simulate`: a body moves under forces."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.about import about, body_rows, note_rows
from cajole.cli.output import Json, answer, facts, working, written

if TYPE_CHECKING:
    from cajole.animation import Animation
    from cajole.body import BodySolid
    from cajole.scenes import Subject


@options.of_body()
def simulate(
    asked: options.Asked,
    frames: Annotated[
        int | None, typer.Option(help="How many, the start included: 120 unless --duration says it.")
    ] = None,
    dt: options.Dt = None,
    fps: Annotated[float | None, typer.Option(help="Frames per second, instead of --dt.")] = None,
    duration: Annotated[float | None, typer.Option(metavar="SECONDS", help="Instead of --frames.")] = None,
    push: Annotated[
        list[str] | None,
        typer.Option(
            metavar='"WHERE: FX,FY,FZ ..."',
            help='A force on part of the body: "head: 0,300,0 for 0.2" is 300 N along y for 0.2 s, "x>90%: 0,0,-0.5 '
            "weights from 1\" half the body's weight downward from 1 s on. WHERE as for --fixed. May be repeated.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="FILE[#FRAME]", help="A pose to let go from, in any file that --key of keyframe takes."),
    ] = None,
    obstacle: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ground|FILE", help="What it bumps into: the plane z = 0, or a closed mesh. May be repeated."
        ),
    ] = None,
    output: options.Outputs = None,
    integrator: Annotated[
        str, typer.Option(help="newmark (keeps energy), bdf2 (one solve a step) or euler (damped).")
    ] = "newmark",
    substeps: Annotated[int, typer.Option(help="Steps per frame.")] = 1,
    gravity: options.Gravity = None,
    as_json: Json = False,
) -> None:
    """Simulate a scene or a mesh file, and write the motion.

    [green]cajole simulate dinosaur --push "head: 0,0.03,0 weights for 0.3" -o wag.glb[/]

    [green]cajole simulate beam.veg --fixed "x<1%" --gravity 9.81 -o sag.usdc -o sag.webp[/]

    [green]cajole simulate jelly.obj --fixed none --gravity 9.81 --obstacle ground --obstacle step.obj -o fall.html[/]

    [green]cajole simulate bunny.obj --fixed "z<5%" --young 5e4 --push "z>90%: 40,0,0 for 0.3" -o bunny.npz[/]
    """
    from cajole.cli.obstacles import obstacles_of, require_obstacles, start_of
    from cajole.cli.saving import require_writable, save

    outputs = output or []
    require_writable(outputs)
    step = _step(dt, fps)
    count = _count(frames, duration, step)
    require_obstacles(obstacle or [])
    with working(asked.source) as progress:
        subject = asked.subject(progress)
        body, started = subject.body(), time.perf_counter()
        around = {"start": start_of(start, subject, body), "obstacles": obstacles_of(obstacle or []) or None}
        how = {"integrator": integrator, "substeps": substeps, "progress": progress}
        moved = _moved(subject, body, count, step, push or [], gravity, **around, **how)
        seconds = time.perf_counter() - started
        for path in outputs:
            save(moved, path, camera=subject.camera, progress=progress)
    document = _document(subject, body, moved, seconds) | {"outputs": [str(path) for path in outputs]}
    answer(document, facts(f"Simulated {subject.name}", _rows(document)), as_json=as_json)


def _moved(
    subject: Subject, body: BodySolid, frames: int, step: float, pushes: list[str], gravity: str | None, **options: Any
) -> Animation:
    from cajole.cli import pushes as parsed
    from cajole.dynamics import simulate as simulated

    forces = parsed.forces([parsed.push(text, subject, body) for text in pushes], body.count)
    pull = parsed.gravity(gravity)
    return subject.dressed(simulated(body, frames, step, force=forces, gravity=pull, **options))


def _step(dt: str | None, fps: float | None) -> float:
    """Seconds between frames."""
    from cajole.checks import positive
    from cajole.cli.numbers import seconds
    from cajole.errors import InputError

    if dt is not None and fps is not None:
        raise InputError("--dt and --fps say the same thing; give one of them")
    return 1 / positive(fps, "--fps") if fps is not None else seconds(dt or "1/60", "--dt")


def _count(frames: int | None, duration: float | None, step: float) -> int:
    """How many frames, the start included."""
    from cajole.checks import positive
    from cajole.errors import InputError

    if duration is None:
        return 120 if frames is None else frames
    if frames is not None:
        raise InputError("--frames and --duration say the same thing; give one of them")
    return 1 + round(positive(duration, "--duration (s)") / positive(step, "--dt (s)"))


def _document(subject: Subject, body: BodySolid, moved: Animation, seconds: float) -> dict[str, Any]:
    return about(subject, body) | {
        "frames": moved.frames,
        "fps": moved.fps,
        "duration_s": moved.duration,
        "largest_displacement_m": moved.largest_displacement,
        "largest_displacement_sizes": moved.largest_displacement / body.size,
        "largest_energy_J": max(body.energy(u) for u in moved.displacements),
        "seconds": seconds,
        "notes": [*subject.notes, *moved.notes],
    }


def _rows(document: dict[str, Any]) -> dict[str, str]:
    d = document
    return {
        **body_rows(d),
        "motion": f"{d['frames']} frames at {d['fps']:.4g} frames/s, {d['duration_s']:.3g} s",
        "moves up to": f"{d['largest_displacement_m']:.3g} m, {d['largest_displacement_sizes']:.1%} of its size",
        "energy": f"at most {d['largest_energy_J']:.3g} J of strain",
        "took": f"{d['seconds']:.2f} s",
        "written": written(d["outputs"]),
        **note_rows(d["notes"]),
    }
