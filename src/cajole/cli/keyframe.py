"""`cajole keyframe`: a few poses become a physical motion through them."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.body_summary import describe_body, format_body_rows, format_note_rows
from cajole.cli.output import JsonOption, build_summary_table, format_written_files, print_result, show_progress

if TYPE_CHECKING:
    from cajole.body import BodySolid
    from cajole.cli.key_parser import KeySpecification
    from cajole.direct import Shot
    from cajole.progress import ProgressCallback
    from cajole.scenes import SceneBody

# of the gradient, at which the optimisation ends
GRADIENT_TOLERANCE = 1e-8


@options.with_body_options()
def keyframe(
    body_options: options.BodyOptions,
    key: Annotated[
        list[str],
        typer.Option(
            metavar='"FRAME=FILE ..."',
            help="A pose at a frame: an animation (its last frame, or FILE#3 for frame 3), an .npz with an array "
            '"displacement" (n, 3) in metres, or a mesh file with the vertices of the body or of its skin, to which '
            "the body is then fitted. Frame 0 is where the motion begins. Behind it may stand: on WHERE (only these "
            "vertices count), weight 5 (against other keys), hard (met exactly). May be repeated.",
        ),
    ],
    frames: Annotated[
        int | None, typer.Option(help="How many, the start included; up to the last key when left out.")
    ] = None,
    dt: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS",
            help='Between frames, "1/60"; what suits the keys when left out, which is seldom a round frame rate.',
        ),
    ] = None,
    effort: Annotated[
        float,
        typer.Option(
            help="What added force costs against missing a key: 0.1 loose (keys are hints), 1e-2 soft, 1e-4 normal "
            "(met to a fraction of a percent).",
        ),
    ] = 1e-4,
    modes: Annotated[
        int | None,
        typer.Option(help="Linear modes beside the keys, 10 or all of a small body; more of them, livelier motion."),
    ] = None,
    loop: Annotated[
        bool, typer.Option("--loop", help="The motion comes back to where it began; say after how many --frames.")
    ] = False,
    output: options.OutputOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the motion through poses that needs the least added force.

    Ctrl-C ends the search and keeps the best motion so far; a second one leaves without it.

    [green]cajole pose dinosaur --pin "head: 0,0.5,0" -o left.npz[/]

    [green]cajole keyframe dinosaur --key 60=left.npz --frames 121 -o look.glb -o look.webp[/]

    [green]cajole keyframe dinosaur --key "60=left.npz on head hard" --frames 121 -o look.html[/]
    """
    from cajole.cli.key_parser import parse_key
    from cajole.cli.output_files import require_writable, write_result

    outputs = output or []
    require_writable(outputs)
    wanted = [parse_key(text) for text in key]
    with show_progress(body_options.source) as progress, catch_interrupt() as stopped:
        subject = body_options.load_scene_body(progress)
        body = subject.body()
        shot = _solve_shot(subject, body, wanted, frames, dt, progress, stopped, effort=effort, modes=modes, loop=loop)
        for path in outputs:
            write_result(subject.attach_skin(shot.animation), path, camera=subject.camera, progress=progress)
    document = _describe_shot(subject, body, shot) | {"outputs": [str(path) for path in outputs]}
    print_result(document, build_summary_table(f"Keyframed {subject.name}", _format_rows(document)), as_json=as_json)


def _solve_shot(
    scene_body: SceneBody,
    body: BodySolid,
    specifications: list[KeySpecification],
    frames: int | None,
    dt: str | None,
    progress: ProgressCallback,
    is_stopped: Callable[[], bool],
    **options: Any,
) -> Shot:
    from cajole.cli.key_parser import load_keys
    from cajole.cli.number_parsers import parse_seconds
    from cajole.direct import keyframe as keyframed

    step = None if dt is None else parse_seconds(dt, "--dt")
    largest = 0.0

    def watch(iterate: Any) -> bool:
        nonlocal largest
        largest = max(largest, iterate.gradient)
        share = math.log(max(iterate.gradient, 1e-300) / largest) / math.log(GRADIENT_TOLERANCE) if largest else 1.0
        progress(min(share, 1.0), f"iteration {iterate.iteration}, cost {iterate.cost:.4g}")
        return not is_stopped()

    keys = load_keys(specifications, scene_body, body)
    return keyframed(body, keys, frames, step, **options, tolerance=GRADIENT_TOLERANCE, watch=watch)


@contextlib.contextmanager
def catch_interrupt() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed; the first is only noted, a second one interrupts as usual."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set  # signals reach the main thread only
        return
    before = signal.getsignal(signal.SIGINT)

    def note(*_: Any) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def _describe_shot(scene_body: SceneBody, body: BodySolid, shot: Shot) -> dict[str, Any]:
    report = shot.report
    return describe_body(scene_body, body) | {
        "basis": shot.model.size,
        "frames": len(shot.states),
        "dt_s": shot.dt,
        "keys": [{"frame": f, "error_sizes": e} for f, e in zip(report.keys, report.errors)],
        "force_rms_weights": report.mean_gentleness,
        "force_largest_weights": float(report.gentleness.max(initial=0.0)),
        "cost": report.cost,
        "iterations": report.iterations,
        "converged": report.converged,
        "message": report.message,
        "notes": [*scene_body.notes, *report.notes],
        "seconds": report.seconds,
    }


def _format_rows(document: dict[str, Any]) -> dict[str, str]:
    d = document
    end = "converged" if d["converged"] else f"not converged: {d['message']}"
    return {
        **format_body_rows(d),
        "motion": f"{d['frames']} frames, {d['dt_s']:.4g} s apart ({1 / d['dt_s']:.4g} frames/s)",
        **{f"key at {k['frame']}": f"off by {k['error_sizes']:.3%} of the size" for k in d["keys"]},
        "added force": f"{d['force_rms_weights']:.3g} weights (rms), {d['force_largest_weights']:.3g} at most",
        **format_note_rows(d["notes"]),
        "took": f"{d['iterations']} iterations, {d['seconds']:.2f} s, {end}",
        "written": format_written_files(d["outputs"]),
    }
