"""`cajole keyframe`: find a physical motion through a few poses."""

from __future__ import annotations

import contextlib
import math
import re
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cajole.body import BodySolid
from cajole.checks import require_positive
from cajole.cli import bodies
from cajole.cli.command_options import KeyframeCommandOptions
from cajole.cli.files import require_writable, write_results
from cajole.cli.output import format_note_rows, format_written_files, print_summary, show_progress
from cajole.cli.parsers import parse_number, parse_seconds
from cajole.direct import Key, Shot
from cajole.direct import keyframe as solve_keyframes
from cajole.errors import InputError
from cajole.progress import ProgressCallback
from cajole.scenes import SceneBody


def keyframe(options: KeyframeCommandOptions) -> None:
    """Optimise the motion through keys and write it."""
    outputs = options.output or []
    require_writable(outputs)
    specifications = [parse_key(text) for text in options.key]
    with show_progress(options.source) as progress, catch_interrupt() as is_stopped:
        subject = bodies.load_scene_body(options, options.source, progress)
        body = subject.body()
        tolerance = 1e-8  # of the gradient, relative to the largest one
        shot = solve_keyframes(
            body,
            load_keys(specifications, subject, body),
            options.frames,
            None if options.dt is None else parse_seconds(options.dt, "--dt"),
            effort=options.effort,
            modes=options.modes,
            loop=options.loop,
            tolerance=tolerance,
            watch=_build_watcher(tolerance, progress, is_stopped),
        )
        write_results(subject.attach_skin(shot.animation), outputs, camera=subject.camera, progress=progress)
    document = _describe_shot(subject, body, shot) | {"outputs": [str(path) for path in outputs]}
    print_summary(f"Keyframed {subject.name}", document, _format_rows(document))


@dataclass(frozen=True)
class KeySpecification:
    """A key in terms of files: at `frame`, frame `source_frame` of `file`; selection: the vertices that count."""

    frame: int
    file: Path
    source_frame: int | None
    selection: str | None
    weight: float
    hard: bool


def parse_key(text: str) -> KeySpecification:
    """Parse "FRAME=FILE[#FRAME] [on WHERE] [weight NUMBER] [hard]"; InputError states the syntax."""
    found = re.fullmatch(
        r"\s*(?P<frame>\d+)=(?P<file>.+?)(?:#(?P<place>\d+))?"
        r"(?:\s+on\s+(?P<where>.+?))?(?:\s+weight\s+(?P<weight>\S+))?(?P<hard>\s+hard)?\s*",
        text,
    )
    if found is None:
        syntax = "a frame and a file, as in 60=pose.npz or 60=walk.glb#12; behind it: on WHERE, weight NUMBER, hard"
        raise InputError(f"--key {text!r} must be {syntax}")
    source_frame = None if found["place"] is None else int(found["place"])
    name = f"the weight of --key {text!r}"
    weight = 1.0 if found["weight"] is None else require_positive(parse_number(found["weight"], name), name)
    return KeySpecification(
        int(found["frame"]), Path(found["file"]), source_frame, found["where"], weight, bool(found["hard"])
    )


def load_keys(specifications: list[KeySpecification], scene_body: SceneBody, body: BodySolid) -> dict[int, Key]:
    """Keys by frame. Raises InputError for a frame with two keys, FileError for bad files."""
    keys: dict[int, Key] = {}
    for key in specifications:
        if key.frame in keys:
            raise InputError(f"--key {key.frame}={key.file}: frame {key.frame} has a key already")
        pose = bodies.load_pose(key.file, key.source_frame, scene_body, body)
        vertices = None if key.selection is None else scene_body.select(key.selection)
        if vertices is not None and len(vertices) == 0:
            raise InputError(f"the key at frame {key.frame}: {key.selection!r} selects no vertex")
        keys[key.frame] = Key(pose, vertices, key.weight, key.hard)
    return keys


def _build_watcher(
    tolerance: float, progress: ProgressCallback, is_stopped: Callable[[], bool]
) -> Callable[[Any], bool]:
    """Report progress as the share of the gradient's orders of magnitude; stop when `is_stopped`."""
    largest = 0.0

    def watch(iterate: Any) -> bool:
        nonlocal largest
        largest = max(largest, iterate.gradient_norm)
        share = math.log(max(iterate.gradient_norm, 1e-300) / largest) / math.log(tolerance) if largest else 1.0
        progress(min(share, 1.0), f"iteration {iterate.iteration}, cost {iterate.cost:.4g}")
        return not is_stopped()

    return watch


@contextlib.contextmanager
def catch_interrupt() -> Iterator[Callable[[], bool]]:
    """A function that is true after Ctrl-C; the first Ctrl-C does nothing else, a second one interrupts as usual."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set  # only the main thread receives signals
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
    return bodies.describe_body(scene_body, body) | {
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
        **bodies.format_body_rows(d),
        "motion": f"{d['frames']} frames, {d['dt_s']:.4g} s apart ({1 / d['dt_s']:.4g} frames/s)",
        **{f"key at {k['frame']}": f"off by {k['error_sizes']:.3%} of the size" for k in d["keys"]},
        "added force": f"{d['force_rms_weights']:.3g} weights (rms), {d['force_largest_weights']:.3g} at most",
        **format_note_rows(d["notes"]),
        "took": f"{d['iterations']} iterations, {d['seconds']:.2f} s, {end}",
        "written": format_written_files(d["outputs"]),
    }
