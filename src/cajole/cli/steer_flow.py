"""`cajole steer` of a flowing scene: particles keep to their paths in the wind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cajole.errors import FileError, InputError

if TYPE_CHECKING:
    from cajole.direct.steering.flow import FlowController
    from cajole.direct.steering.flow_runs import FlowReport, FlowRun
    from cajole.flow import FlowForce
    from cajole.progress import Progress
    from cajole.scenes.flowing.building import FlowScene

_KICK = re.compile(
    r"(?P<which>\d+):\s*(?P<force>[^:]+?)(?:\s+for\s+(?P<length>\S+))?(?:\s+from\s+(?P<start>\S+))?(?:\s+within\s+(?P<radius>\S+))?"
)
FORM = 'PARTICLE: AX,AY [for SECONDS] [from SECONDS] [within METRES], as in "0: 0.3,0 for 2 from 12"'
# Of a kick, when nothing is said [m].
RADIUS = 20.0


def is_flow(source: str) -> bool:
    """Whether a source names a flowing scene, or is a file with the controller of a flow."""
    from cajole.direct.steering.flow_files import holds_flow_controller
    from cajole.scenes.flowing import PURPOSES

    return source in PURPOSES or (Path(source).suffix.lower() == ".npz" and holds_flow_controller(source))


def refuse_for_flows(given: Mapping[str, object]) -> None:
    """Raise InputError for options, by name, that are given and that a flow has nothing to do with."""
    if unused := [name for name, value in given.items() if value]:
        names = ", ".join(f"--{name}" for name in unused)
        raise InputError(f"{names}: for bodies, not for flows; leave {'it' if len(unused) == 1 else 'them'} out")


def require_flow_targets(outputs: list[Path]) -> None:
    """Raise FileError or MissingExtra for what cannot be written: before the work, not after it."""
    from cajole.pictures.loops import LOOPS, STILLS, require_writer
    from cajole.storage import require_place

    for path in outputs:
        if path.suffix.lower() not in (".npz", *STILLS, *LOOPS):
            known = " ".join((".npz", *LOOPS, *STILLS))
            raise FileError(f"{path}: a flow is not written as {path.suffix}; choose one of {known}")
        if path.suffix.lower() != ".npz":
            require_writer(path)
        require_place(path)


def steer_scene(
    source: str, dials: dict[str, float], pushes: list[str], wind: float | None, seed: int, uncontrolled: bool,
    outputs: list[Path], progress: Progress, save: Path | None = None, plot: Path | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Disturb a flowing scene or the flow of a file, write what was asked for, and say what it came to."""
    from cajole.direct.steering.plots import plot_runs

    scene, controller = _opened(source, dials, progress)
    force = [_kick(text, controller) for text in pushes] + _noise(scene, wind, seed, bool(pushes))
    runs = {name: controller.run(force, controlled=name == "controlled") for name in ("controlled", "uncontrolled")}
    for path in outputs:
        _write(scene, runs["uncontrolled" if uncontrolled else "controlled"], path)
    if plot is not None:
        plot_runs(
            {"without control": runs["uncontrolled"], "with control": runs["controlled"]}, plot, title=Path(source).stem
        )
    if save is not None:
        controller.save(save)
    return {
        "scene": source,
        "modes": controller.model.size,
        "frames": controller.reference.steps + 1,
        "particles": controller.reference.particles.shape[1],
        "effort": controller.dials.effort,
        "gain_seconds": controller.seconds,
        **{name: _told(run.report) for name, run in runs.items()},
        "outputs": [str(path) for path in (*outputs, save, plot) if path is not None],
        "notes": _lost(runs["controlled"].report),
    }


def _opened(source: str, dials: dict[str, float], progress: Progress) -> tuple[FlowScene, FlowController]:
    """A scene with its controller; what a file holds keeps the dials that are as they are when left out."""
    from cajole.direct.steering.flow_files import load_flow_controller
    from cajole.scenes import flowing
    from cajole.scenes.flowing.building import FlowScene

    if source in flowing.PURPOSES:
        scene: FlowScene = getattr(flowing, source)(progress=progress)
        return scene, scene.controller(**dials)
    kept = load_flow_controller(source)
    other = {name: value for name, value in dials.items() if (name, value) != ("tracking", 1.0)}
    return FlowScene(kept.model.flow, kept.reference), kept.retuned(**other) if other else kept


def _noise(scene: FlowScene, wind: float | None, seed: int, kicked: bool) -> list[FlowForce]:
    """Noise of the asked strength; the scene's own disturbance when nothing is asked for."""
    from cajole import checks

    checks.count(seed, "--seed", least=0)
    if wind is not None:
        return [scene.noise(seed, strength=checks.positive(wind, "--wind", zero=True))]
    return [] if kicked else scene.disturbance(seed)


def _kick(text: str, controller: FlowController) -> FlowForce:
    """A gust on a particle of the reference, where it is at that time."""
    from cajole import checks
    from cajole.cli.numbers import number, pair, seconds
    from cajole.flow import Gust

    match = _KICK.fullmatch(text.strip())
    if match is None:
        raise InputError(f"push {text!r} is not understood; of a flow write {FORM}")
    shot = controller.reference
    start = seconds(match["start"], "from") if match["start"] else 0.0
    length = seconds(match["length"], "for") if match["length"] else 0.0
    particle = checks.count(int(match["which"]), "the particle", least=0, most=shot.particles.shape[1] - 1)
    frame = checks.count(round(start / shot.dt), "the frame of the push", least=0, most=shot.steps - 1)
    x, y = shot.particles[frame, particle].tolist()
    radius = number(match["radius"], "within") if match["radius"] else RADIUS
    return Gust((x, y), pair(match["force"], f"push {text!r}"), radius, start, length)


def _told(report: FlowReport) -> dict[str, Any]:
    return {
        "error_rms_cells": report.mean_cells,
        "error_largest_cells": report.worst_cells,
        "error_final_cells": report.final_cells,
        "force_rms_share": report.mean_gentleness,
        "force_largest_share": float(report.gentleness.max()),
        "lost": {str(particle): frame for particle, frame in report.lost.items()},
        "step_seconds": report.step_seconds,
    }


def flow_rows(document: dict[str, Any]) -> dict[str, str]:
    """The same for people."""
    from cajole.cli.about import note_rows
    from cajole.cli.output import written

    d, led = document, document["controlled"]
    count = f"{d['particles']} particle{'' if d['particles'] == 1 else 's'}"
    shown = {
        "flow": f"{d['frames']} frames in {d['modes']} modes, {count}",
        "without control": _off(d["uncontrolled"]),
        "with control": _off(led),
        "added force": f"{100 * led['force_rms_share']:.3g} % of the flow's momentum a step (rms), "
        f"{100 * led['force_largest_share']:.3g} % at most",
        "took": f"gains {d['gain_seconds']:.2f} s, a step {1e6 * led['step_seconds']:.0f} µs",
    }
    return shown | note_rows(d["notes"]) | {"written": written(d["outputs"])}


def _lost(report: FlowReport) -> list[str]:
    if not report.lost:
        return []
    which = ", ".join(f"particle {particle} from frame {frame} on" for particle, frame in report.lost.items())
    return [f"lost in spite of control: {which}; push less, or lower --effort"]


def _off(told: dict[str, Any]) -> str:
    mean, most, end = (told[f"error_{name}_cells"] for name in ("rms", "largest", "final"))
    return f"off by {mean:.3g} cells (rms), {most:.3g} at worst, {end:.3g} at the end"


def _write(scene: FlowScene, run: FlowRun, path: Path) -> None:
    from cajole.scenes.flowing.pictures import write_take

    write_take(scene, run, path)
