"""`cajole keyframe`: a few poses become a physical motion through them."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.about import about, body_rows, note_rows
from cajole.cli.output import Json, answer, facts, working, written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cajole.body import BodySolid
    from cajole.direct import Shot
    from cajole.progress import Progress
    from cajole.scenes import Subject

    Array = NDArray[np.float64]

# of the gradient, at which the optimisation ends
TOLERANCE = 1e-8
# how an .npz names a pose
ARRAY = "displacement"


@options.of_body()
def keyframe(
    asked: options.Asked,
    key: Annotated[
        list[str],
        typer.Option(
            metavar="FRAME=FILE",
            help="A pose at a frame: an animation (its last frame, or FILE#3 for frame 3), an .npz with an array "
            '"displacement" (n, 3) in metres, or a mesh file with the vertices of the body or of its skin, to which '
            "the body is then fitted. Frame 0 is where the motion begins. May be repeated.",
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
    modes: Annotated[int, typer.Option(help="Linear modes beside the keys: more of them, livelier motion.")] = 10,
    output: options.Outputs = None,
    as_json: Json = False,
) -> None:
    """Find the motion through poses that needs the least added force.

    Ctrl-C ends the search and keeps the best motion so far; a second one leaves without it.

    [green]cajole pose dinosaur --pin "head: 0,0.5,0" -o left.npz[/]

    [green]cajole keyframe dinosaur --key 60=left.npz --frames 121 -o look.glb -o look.webp[/]
    """
    from cajole.cli.saving import require_writable, save

    outputs = output or []
    require_writable(outputs)
    with working(asked.source) as progress, interruptible() as stopped:
        subject = asked.subject(progress)
        body = subject.body()
        shot = _shot(subject, body, key, frames, dt, effort, modes, progress, stopped)
        for path in outputs:
            save(subject.dressed(shot.animation), path, camera=subject.camera, progress=progress)
    document = _document(subject, body, shot) | {"outputs": [str(path) for path in outputs]}
    answer(document, facts(f"Keyframed {subject.name}", _rows(document)), as_json=as_json)


def _shot(
    subject: Subject, body: BodySolid, keys: list[str], frames: int | None, dt: str | None, effort: float, modes: int,
    progress: Progress, stopped: Callable[[], bool],
) -> Shot:  # fmt: skip
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

    return keyframed(body, posed(keys, subject, body), frames, step, effort, modes, tolerance=TOLERANCE, watch=watch)


def posed(texts: list[str], subject: Subject, body: BodySolid) -> dict[int, Array]:
    """{frame: displacement (n, 3)} of all keys. Raises InputError for a frame given twice, FileError for bad files."""
    from cajole.errors import InputError

    keys: dict[int, Array] = {}
    for text in texts:
        frame, file, place = _parted(text)
        if frame in keys:
            raise InputError(f"--key {text}: frame {frame} has a key already")
        keys[frame] = _displacement(Path(file), place, subject, body)
    return keys


def _parted(text: str) -> tuple[int, str, int | None]:
    """Frame, file and the frame wanted of the file."""
    from cajole.errors import InputError

    frame, equals, rest = text.partition("=")
    file, mark, place = rest.rpartition("#")
    if not (mark and place.isdecimal()):
        file, place = rest, ""
    if not equals or not frame.strip().isdecimal() or not file:
        raise InputError(f"--key {text!r} must be a frame and a file, as in 60=pose.npz or 60=walk.glb#12")
    return int(frame), file, int(place) if place else None


def _displacement(path: Path, place: int | None, subject: Subject, body: BodySolid) -> Array:
    from cajole.errors import InputError

    stored = _array(path) if path.suffix.lower() == ".npz" else None
    if stored is not None:
        return stored
    points = _points(path, place)
    if len(points) == body.count:
        return points - body.vertices
    if subject.skin is not None and len(points) == len(subject.skin.mesh.vertices):
        from cajole.direct import fit_pose

        return fit_pose(body, subject.skin, points).displacement
    skin = "" if subject.skin is None else f" nor the {len(subject.skin.mesh.vertices)} of its skin"
    raise InputError(f"{path} has {len(points)} vertices, which are not the {body.count} of the body{skin}")


def _array(path: Path) -> Array | None:
    """The array of displacements in an .npz, or None when it is an animation."""
    import zipfile

    import numpy as np

    from cajole.errors import FileError

    try:
        with np.load(path, allow_pickle=False) as stored:
            return np.asarray(stored[ARRAY], dtype=np.float64) if ARRAY in stored.files else None
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as reason:
        raise FileError(f"cannot read a pose from {path}: {reason}") from None


def _points(path: Path, place: int | None) -> Array:
    """Positions (k, 3) of a frame of an animation, or of a mesh."""
    from cajole.animation import read_animation
    from cajole.animation.files import FORMATS
    from cajole.errors import FileError, InputError
    from cajole.mesh import read_mesh
    from cajole.mesh.files import READERS

    if path.suffix.lower() in READERS and place is None:
        return read_mesh(path).vertices
    if path.suffix.lower() not in FORMATS:
        raise FileError(f"{path}: a key is an animation ({' '.join(FORMATS)}) or a mesh file ({' '.join(READERS)})")
    animation = read_animation(path)
    frame = animation.frames - 1 if place is None else place
    if frame >= animation.frames:
        raise InputError(f"{path} has frames 0..{animation.frames - 1}, so there is no frame {frame}")
    return animation.positions[frame]


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
