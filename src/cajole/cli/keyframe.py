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
from cajole.cli.about import about, body_rows, note_rows
from cajole.cli.output import Json, answer, facts, working, written

if TYPE_CHECKING:
    from cajole.body import BodySolid
    from cajole.cli.keyed import KeyText
    from cajole.direct import Shot
    from cajole.progress import Progress
    from cajole.scenes import Subject

# of the gradient, at which the optimisation ends
TOLERANCE = 1e-8


@options.of_body()
def keyframe(
    asked: options.Asked,
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
    output: options.Outputs = None,
    as_json: Json = False,
) -> None:
    """Find the motion through poses that needs the least added force.

    Ctrl-C ends the search and keeps the best motion so far; a second one leaves without it.

    [green]cajole pose dinosaur --pin "head: 0,0.5,0" -o left.npz[/]

    [green]cajole keyframe dinosaur --key 60=left.npz --frames 121 -o look.glb -o look.webp[/]

    [green]cajole keyframe dinosaur --key "60=left.npz on head hard" --frames 121 -o look.html[/]
    """
    from cajole.cli.keyed import parsed
    from cajole.cli.saving import require_writable, save

    outputs = output or []
    require_writable(outputs)
    wanted = [parsed(text) for text in key]
    with working(asked.source) as progress, interruptible() as stopped:
        subject = asked.subject(progress)
        body = subject.body()
        shot = _shot(subject, body, wanted, frames, dt, progress, stopped, effort=effort, modes=modes, loop=loop)
        for path in outputs:
            save(subject.dressed(shot.animation), path, camera=subject.camera, progress=progress)
    document = _document(subject, body, shot) | {"outputs": [str(path) for path in outputs]}
    answer(document, facts(f"Keyframed {subject.name}", _rows(document)), as_json=as_json)


def _shot(
    subject: Subject, body: BodySolid, asked: list[KeyText], frames: int | None, dt: str | None, progress: Progress,
    stopped: Callable[[], bool], **dials: Any,
) -> Shot:  # fmt: skip
    from cajole.cli.keyed import keys_from
    from cajole.cli.numbers import seconds
    from cajole.direct import keyframe as keyframed

    step = None if dt is None else seconds(dt, "--dt")
    largest = 0.0

    def watch(iterate: Any) -> bool:
        nonlocal largest
        largest = max(largest, iterate.gradient)
        share = math.log(max(iterate.gradient, 1e-300) / largest) / math.log(TOLERANCE) if largest else 1.0
        progress(min(share, 1.0), f"iteration {iterate.iteration}, cost {iterate.cost:.4g}")
        return not stopped()

    keys = keys_from(asked, subject, body)
    return keyframed(body, keys, frames, step, **dials, tolerance=TOLERANCE, watch=watch)


@contextlib.contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
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


def _document(subject: Subject, body: BodySolid, shot: Shot) -> dict[str, Any]:
    report = shot.report
    return about(subject, body) | {
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
        "notes": [*subject.notes, *report.notes],
        "seconds": report.seconds,
    }


def _rows(document: dict[str, Any]) -> dict[str, str]:
    d = document
    end = "converged" if d["converged"] else f"not converged: {d['message']}"
    return {
        **body_rows(d),
        "motion": f"{d['frames']} frames, {d['dt_s']:.4g} s apart ({1 / d['dt_s']:.4g} frames/s)",
        **{f"key at {k['frame']}": f"off by {k['error_sizes']:.3%} of the size" for k in d["keys"]},
        "added force": f"{d['force_rms_weights']:.3g} weights (rms), {d['force_largest_weights']:.3g} at most",
        **note_rows(d["notes"]),
        "took": f"{d['iterations']} iterations, {d['seconds']:.2f} s, {end}",
        "written": written(d["outputs"]),
    }
