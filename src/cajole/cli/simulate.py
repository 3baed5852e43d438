"""`cajole simulate`: a body moves under forces."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.body_summary import describe_body, format_body_rows, format_note_rows
from cajole.cli.output import JsonOption, build_summary_table, format_written_files, print_result, show_progress

if TYPE_CHECKING:
    from cajole.animation import Animation
    from cajole.body import BodySolid
    from cajole.scenes import SceneBody


@options.with_body_options()
def simulate(
    body_options: options.BodyOptions,
    frames: Annotated[
        int | None, typer.Option(help="How many, the start included: 120 unless --duration says it.")
    ] = None,
    dt: options.DtOption = None,
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
    output: options.OutputOption = None,
    integrator: Annotated[
        str, typer.Option(help="newmark (keeps energy), bdf2 (one solve a step) or euler (damped).")
    ] = "newmark",
    substeps: Annotated[int, typer.Option(help="Steps per frame.")] = 1,
    gravity: options.GravityOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a scene or a mesh file, and write the motion.

    [green]cajole simulate dinosaur --push "head: 0,0.03,0 weights for 0.3" -o wag.glb[/]

    [green]cajole simulate beam.veg --fixed "x<1%" --gravity 9.81 -o sag.usdc -o sag.webp[/]

    [green]cajole simulate jelly.obj --fixed none --gravity 9.81 --obstacle ground --obstacle step.obj -o fall.html[/]

    [green]cajole simulate bunny.obj --fixed "z<5%" --young 5e4 --push "z>90%: 40,0,0 for 0.3" -o bunny.npz[/]
    """
    from cajole.cli.obstacles import load_obstacles, load_start_pose, require_obstacles
    from cajole.cli.output_files import require_writable, write_result

    outputs = output or []
    require_writable(outputs)
    step = _parse_frame_time(dt, fps)
    count = _compute_frame_count(frames, duration, step)
    require_obstacles(obstacle or [])
    with show_progress(body_options.source) as progress:
        subject = body_options.load_scene_body(progress)
        body, started = subject.body(), time.perf_counter()
        around = {"start": load_start_pose(start, subject, body), "obstacles": load_obstacles(obstacle or []) or None}
        how = {"integrator": integrator, "substeps": substeps, "progress": progress}
        moved = _simulate_body(subject, body, count, step, push or [], gravity, **around, **how)
        seconds = time.perf_counter() - started
        for path in outputs:
            write_result(moved, path, camera=subject.camera, progress=progress)
    document = _describe_motion(subject, body, moved, seconds) | {"outputs": [str(path) for path in outputs]}
    print_result(document, build_summary_table(f"Simulated {subject.name}", _format_rows(document)), as_json=as_json)


def _simulate_body(
    scene_body: SceneBody,
    body: BodySolid,
    frames: int,
    dt: float,
    pushes: list[str],
    gravity: str | None,
    **options: Any,
) -> Animation:
    from cajole.cli import force_parsers as parsed
    from cajole.dynamics import simulate as simulated

    forces = parsed.build_force_function(
        [parsed.parse_push(text, scene_body, body) for text in pushes], body.vertex_count
    )
    pull = parsed.parse_gravity(gravity)
    return scene_body.attach_skin(simulated(body, frames, dt, force=forces, gravity=pull, **options))


def _parse_frame_time(dt: str | None, fps: float | None) -> float:
    """Seconds between frames."""
    from cajole.checks import require_positive
    from cajole.cli.number_parsers import parse_seconds
    from cajole.errors import InputError

    if dt is not None and fps is not None:
        raise InputError("--dt and --fps say the same thing; give one of them")
    return 1 / require_positive(fps, "--fps") if fps is not None else parse_seconds(dt or "1/60", "--dt")


def _compute_frame_count(frames: int | None, duration: float | None, dt: float) -> int:
    """How many frames, the start included."""
    from cajole.checks import require_positive
    from cajole.errors import InputError

    if duration is None:
        return 120 if frames is None else frames
    if frames is not None:
        raise InputError("--frames and --duration say the same thing; give one of them")
    return 1 + round(require_positive(duration, "--duration (s)") / require_positive(dt, "--dt (s)"))


def _describe_motion(scene_body: SceneBody, body: BodySolid, animation: Animation, seconds: float) -> dict[str, Any]:
    return describe_body(scene_body, body) | {
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
        **format_body_rows(d),
        "motion": f"{d['frames']} frames at {d['fps']:.4g} frames/s, {d['duration_s']:.3g} s",
        "moves up to": f"{d['largest_displacement_m']:.3g} m, {d['largest_displacement_sizes']:.1%} of its size",
        "energy": f"at most {d['largest_energy_J']:.3g} J of strain",
        "took": f"{d['seconds']:.2f} s",
        "written": format_written_files(d["outputs"]),
        **format_note_rows(d["notes"]),
    }
