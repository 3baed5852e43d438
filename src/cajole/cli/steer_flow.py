"""`cajole steer` of a flowing scene: particles keep to their paths in the wind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cajole.errors import FileError, InputError

if TYPE_CHECKING:
    from cajole.direct.steering.controller import FlowController, FlowControllerRun
    from cajole.direct.steering.report import SteerReport
    from cajole.flow import FlowForce
    from cajole.progress import ProgressCallback
    from cajole.scenes.flow_scenes.flow_scene import FlowScene

_FLOW_PUSH_PATTERN = re.compile(
    r"(?P<which>\d+):\s*(?P<force>[^:]+?)(?:\s+for\s+(?P<length>\S+))?(?:\s+from\s+(?P<start>\S+))?(?:\s+within\s+(?P<radius>\S+))?"
)
FLOW_PUSH_SYNTAX = 'PARTICLE: AX,AY [for SECONDS] [from SECONDS] [within METRES], as in "0: 0.3,0 for 2 from 12"'
# Of a kick, when nothing is said [m].
DEFAULT_PUSH_RADIUS = 20.0


def is_flow_source(source: str) -> bool:
    """Whether a source names a flowing scene, or is a file with the controller of a flow."""
    from cajole.direct.steering.serialization import is_flow_controller_file
    from cajole.scenes.flow_scenes import FLOW_SCENE_DESCRIPTIONS

    return source in FLOW_SCENE_DESCRIPTIONS or (
        Path(source).suffix.lower() == ".npz" and is_flow_controller_file(source)
    )


def require_no_body_options(given: Mapping[str, object]) -> None:
    """Raise InputError for options, by name, that are given and that a flow has nothing to do with."""
    if unused := [name for name, value in given.items() if value]:
        names = ", ".join(f"--{name}" for name in unused)
        raise InputError(f"{names}: for bodies, not for flows; leave {'it' if len(unused) == 1 else 'them'} out")


def require_flow_output_files(outputs: list[Path]) -> None:
    """Raise FileError or MissingExtra for what cannot be written: before the work, not after it."""
    from cajole.pictures.image_files import LOOP_SUFFIXES, STILL_SUFFIXES, require_image_writer
    from cajole.storage import require_writable_path

    for path in outputs:
        if path.suffix.lower() not in (".npz", *STILL_SUFFIXES, *LOOP_SUFFIXES):
            known = " ".join((".npz", *LOOP_SUFFIXES, *STILL_SUFFIXES))
            raise FileError(f"{path}: a flow is not written as {path.suffix}; choose one of {known}")
        if path.suffix.lower() != ".npz":
            require_image_writer(path)
        require_writable_path(path)


def run_flow_steer(
    source: str, cost_weights: dict[str, float], pushes: list[str], wind: float | None, seed: int, uncontrolled: bool,
    outputs: list[Path], progress: ProgressCallback, save: Path | None = None, plot: Path | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Disturb a flowing scene or the flow of a file, write what was asked for, and say what it came to."""
    from cajole.direct.steering.plots import plot_runs

    scene, controller = _load_flow_controller(source, cost_weights, progress)
    force = [_parse_flow_push(text, controller) for text in pushes] + _build_noise(scene, wind, seed, bool(pushes))
    runs = {name: controller.run(force, controlled=name == "controlled") for name in ("controlled", "uncontrolled")}
    for path in outputs:
        _write_run(scene, runs["uncontrolled" if uncontrolled else "controlled"], path)
    if plot is not None:
        plot_runs(
            {"without control": runs["uncontrolled"], "with control": runs["controlled"]}, plot, title=Path(source).stem
        )
    if save is not None:
        controller.save(save)
    return {
        "scene": source,
        "modes": controller.model.size,
        "frames": controller.reference.step_count + 1,
        "particles": controller.reference.particles.shape[1],
        "effort": controller.cost_weights.effort,
        "gain_seconds": controller.gain_seconds,
        **{name: _describe_run(run.report) for name, run in runs.items()},
        "outputs": [str(path) for path in (*outputs, save, plot) if path is not None],
        "notes": _build_lost_notes(runs["controlled"].report),
    }


def _load_flow_controller(
    source: str, cost_weights: dict[str, float], progress: ProgressCallback
) -> tuple[FlowScene, FlowController]:
    """A scene with its controller; what a file holds keeps the dials that are as they are when left out."""
    from cajole.direct.steering.controller import load_flow_controller
    from cajole.scenes import flow_scenes
    from cajole.scenes.flow_scenes.flow_scene import FlowScene

    if source in flow_scenes.FLOW_SCENE_DESCRIPTIONS:
        scene: FlowScene = getattr(flow_scenes, f"build_{source}_scene")(progress=progress)
        return scene, scene.create_controller(**cost_weights)
    kept = load_flow_controller(source)
    other = {name: value for name, value in cost_weights.items() if (name, value) != ("tracking", 1.0)}
    return FlowScene(kept.model.flow, kept.reference), kept.retuned(**other) if other else kept


def _build_noise(scene: FlowScene, wind: float | None, seed: int, has_pushes: bool) -> list[FlowForce]:
    """Noise of the asked strength; the scene's own disturbance when nothing is asked for."""
    from cajole import checks

    checks.require_integer(seed, "--seed", minimum=0)
    if wind is not None:
        return [scene.build_noise(seed, strength=checks.require_positive(wind, "--wind", allow_zero=True))]
    return [] if has_pushes else scene.build_disturbance(seed)


def _parse_flow_push(text: str, controller: FlowController) -> FlowForce:
    """A gust on a particle of the reference, where it is at that time."""
    from cajole import checks
    from cajole.cli.number_parsers import parse_number, parse_pair, parse_seconds
    from cajole.flow import Gust

    match = _FLOW_PUSH_PATTERN.fullmatch(text.strip())
    if match is None:
        raise InputError(f"push {text!r} is not understood; of a flow write {FLOW_PUSH_SYNTAX}")
    shot = controller.reference
    start = parse_seconds(match["start"], "from") if match["start"] else 0.0
    length = parse_seconds(match["length"], "for") if match["length"] else 0.0
    particle = checks.require_integer(
        int(match["which"]), "the particle", minimum=0, maximum=shot.particles.shape[1] - 1
    )
    frame = checks.require_integer(
        round(start / shot.dt), "the frame of the push", minimum=0, maximum=shot.step_count - 1
    )
    x, y = shot.particles[frame, particle].tolist()
    radius = parse_number(match["radius"], "within") if match["radius"] else DEFAULT_PUSH_RADIUS
    return Gust((x, y), parse_pair(match["force"], f"push {text!r}"), radius, start, length)


def _describe_run(report: SteerReport) -> dict[str, Any]:
    return {
        "error_rms_cells": report.rms_error_cells,
        "error_largest_cells": report.max_error_cells,
        "error_final_cells": report.final_error_cells,
        "force_rms_share": report.mean_gentleness,
        "force_largest_share": float(report.gentleness.max()),
        "lost": {str(particle): frame for particle, frame in report.lost_particle_frames.items()},
        "step_seconds": report.step_seconds,
    }


def format_flow_rows(document: dict[str, Any]) -> dict[str, str]:
    """The same for people."""
    from cajole.cli.body_summary import format_note_rows
    from cajole.cli.output import format_written_files

    d, led = document, document["controlled"]
    count = f"{d['particles']} particle{'' if d['particles'] == 1 else 's'}"
    shown = {
        "flow": f"{d['frames']} frames in {d['modes']} modes, {count}",
        "without control": _format_error(d["uncontrolled"]),
        "with control": _format_error(led),
        "added force": f"{100 * led['force_rms_share']:.3g} % of the flow's momentum a step (rms), "
        f"{100 * led['force_largest_share']:.3g} % at most",
        "took": f"gains {d['gain_seconds']:.2f} s, a step {1e6 * led['step_seconds']:.0f} µs",
    }
    return shown | format_note_rows(d["notes"]) | {"written": format_written_files(d["outputs"])}


def _build_lost_notes(report: SteerReport) -> list[str]:
    if not report.lost_particle_frames:
        return []
    which = ", ".join(
        f"particle {particle} from frame {frame} on" for particle, frame in report.lost_particle_frames.items()
    )
    return [f"lost in spite of control: {which}; push less, or lower --effort"]


def _format_error(run_document: dict[str, Any]) -> str:
    mean, most, end = (run_document[f"error_{name}_cells"] for name in ("rms", "largest", "final"))
    return f"off by {mean:.3g} cells (rms), {most:.3g} at worst, {end:.3g} at the end"


def _write_run(scene: FlowScene, run: FlowControllerRun, path: Path) -> None:
    from cajole.scenes.flow_scenes.pictures import write_flow_run

    write_flow_run(scene, run, path)
