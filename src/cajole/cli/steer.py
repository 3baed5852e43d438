"""`cajole steer`: disturb a motion, and return to it with gentle forces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, read_animation
from cajole.arrays import Array, IndexArray
from cajole.body import Body, BodySolid
from cajole.body.base import EARTH_GRAVITY
from cajole.cli import bodies
from cajole.cli.command_options import SteerCommandOptions
from cajole.cli.files import require_distinct, require_writable, write_results
from cajole.cli.output import format_note_rows, format_written_files, print_summary, show_progress
from cajole.cli.parsers import parse_number, parse_pair, parse_seconds
from cajole.cluster import require_cluster
from cajole.direct import Controller, ControllerRun, Wind, build_reference, load_controller
from cajole.direct import steer as create_controller
from cajole.direct.steering.controller import FlowController, load_flow_controller
from cajole.direct.steering.plots import check_plot_path, plot_runs
from cajole.direct.steering.reference import DEFAULT_MODES, diagnose_divergence, snap_fixed_vertices
from cajole.direct.steering.report import SteerReport
from cajole.direct.steering.sampling import sample_basis
from cajole.direct.steering.serialization import is_flow_controller_file
from cajole.errors import FileError, InputError, NotConverged
from cajole.flow import FlowForce, Gust
from cajole.pictures.image_files import LOOP_SUFFIXES, STILL_SUFFIXES, require_image_writer
from cajole.progress import ProgressCallback
from cajole.reduction import Disturbance
from cajole.scenes import SceneBody, flow_scenes, select_vertices
from cajole.scenes.flow_scenes.flow_scene import FlowScene
from cajole.scenes.flow_scenes.pictures import write_flow_run
from cajole.storage import require_writable_path


def steer(options: SteerCommandOptions) -> None:
    """Steer a body, the controller of a file, or a flow."""
    outputs = options.output or []
    require_distinct([*outputs, options.save, options.plot])
    if options.plot is not None:
        require_writable_path(check_plot_path(options.plot))
    if options.save is not None:
        if options.save.suffix.lower() != ".npz":
            raise FileError(f"--save {options.save}: a controller is an .npz file")
        require_writable_path(options.save)
    is_file = Path(options.source).suffix.lower() == ".npz"
    is_flow = options.source in flow_scenes.FLOW_SCENE_DESCRIPTIONS
    if is_flow or (is_file and is_flow_controller_file(options.source)):
        _steer_flow(options, outputs)
        return
    require_writable(outputs)
    require_cluster(options.cluster)
    with show_progress(options.source) as progress:
        if is_file:
            loaded = _load_controller(options)
            subject, body, controller = cast(SceneBody, loaded), cast(BodySolid, loaded), loaded.controller
        else:
            subject = bodies.load_scene_body(options, options.source, progress)
            body = subject.body()
            controller = _build_controller(options, subject, body, progress)
        runs = _run_controller(options, controller, _parse_disturbances(options, subject, body), progress)
        animation = runs["without control" if options.uncontrolled else "with control"].animation
        write_results(subject.attach_skin(animation), outputs, camera=subject.camera, progress=progress)
        if options.plot is not None:
            plot_runs(runs, options.plot, title=subject.name)
        if options.save is not None:
            controller.save(options.save, skin=subject.skin)
    about = loaded.describe() if is_file else bodies.describe_body(subject, body)
    document = about | _describe_runs(controller, runs, options.loops, () if is_file else subject.notes)
    document["outputs"] = [str(path) for path in (*outputs, options.save, options.plot) if path is not None]
    print_summary(f"Steered {subject.name}", document, _format_rows(document))


@dataclass(frozen=True, eq=False)
class LoadedController:
    """A controller from a file, with the parts of SceneBody and Body that pushes and reports need."""

    name: str
    controller: Controller
    notes: tuple[str, ...] = ()
    skin: None = None

    @property
    def camera(self) -> dict[str, Any]:
        """Empty: files store no camera."""
        return {}

    @property
    def vertex_count(self) -> int:
        """Number of vertices."""
        return self.controller.model.body.vertex_count

    @cached_property
    def vertex_masses(self) -> Array:
        """(n,) [kg]"""
        return self.controller.model.body.vertex_masses

    @property
    def weight(self) -> float:
        """[N] on Earth."""
        return EARTH_GRAVITY * self.controller.model.body.total_mass

    def select(self, expression: str) -> IndexArray:
        """The selected vertices; files store no parts."""
        return select_vertices(expression, self.controller.model.body.get_display_mesh(), {})

    def distribute_force(self, vertices: ArrayLike, force: ArrayLike) -> Array:
        """As `Body.distribute_force`."""
        return Body.distribute_force(cast(Body, self), vertices, force)

    def attach_skin(self, animation: Animation) -> Animation:
        """The animation with the name of the file."""
        return replace(animation, name=self.name)

    def describe(self) -> dict[str, Any]:
        """The body as numbers."""
        body = self.controller.model.body
        return {"subject": self.name, "vertices": body.vertex_count, "mass_kg": body.total_mass}


def _load_controller(options: SteerCommandOptions) -> LoadedController:
    """The controller of a file, with the weights that are given. Raises InputError for options that build one."""
    building = ("fixed", "tets", "cells", "young", "poisson", "density", "damping", "scale", "up")
    refused = [name for name in (*building, *_MOTION_OPTIONS, "save") if name in options.given]
    if refused:
        raise InputError(f"--{refused[0]}: the controller in {options.source} is made already; leave it out")
    controller = load_controller(options.source)
    weights = {name: getattr(options, name) for name in ("tracking", "final", "effort") if name in options.given}
    return LoadedController(Path(options.source).stem, controller.retuned(**weights) if weights else controller)


# options of the motion and of the reduced basis, which neither flows nor controller files take
_MOTION_OPTIONS = ("motion", "samples", "cluster", "frames", "dt", "modes", "components", "substeps")


def _build_controller(
    options: SteerCommandOptions, scene_body: SceneBody, body: BodySolid, progress: ProgressCallback
) -> Controller:
    motion = _load_motion(options, scene_body, body, progress)
    modes: int | Array | None = None if options.modes is None else checks.require_integer(options.modes, "--modes")
    if checks.require_integer(options.samples, "--samples", minimum=0):
        modes = sample_basis(
            body,
            motion,
            runs=options.samples,
            size=DEFAULT_MODES if options.modes is None else options.modes,
            seed=options.seed,
            cluster=options.cluster,
            progress=progress,
        ).basis
    elif options.cluster is not None:
        raise InputError("--cluster says who simulates samples; say how many with --samples")
    progress(0.0, "reducing the body")
    reference = build_reference(
        body, motion, modes=modes, components=options.components, loop=options.loops > 1, substeps=options.substeps
    )
    progress(0.0, "computing the gains")
    effort = 1e-2 if options.effort is None else options.effort
    return create_controller(reference, tracking=options.tracking, final=options.final or 0.0, effort=effort)


def _load_motion(
    options: SteerCommandOptions, scene_body: SceneBody, body: BodySolid, progress: ProgressCallback
) -> Animation:
    """The motion of the file, or the body at rest."""
    if options.motion is None:
        frames = checks.require_integer(121 if options.frames is None else options.frames, "--frames", minimum=3)
        dt = checks.require_positive(parse_seconds(options.dt or "1/60", "--dt"), "--dt")
        return Animation(scene_body.mesh, np.tile(body.vertices, (frames, 1, 1)), fps=1.0 / dt)
    if options.frames is not None or options.dt is not None:
        raise InputError(f"--frames and --dt are for the rest shape; {options.motion} has its own")
    motion = read_animation(options.motion, progress=progress)
    if motion.positions.shape[1] != body.vertex_count:
        raise InputError(
            f"{options.motion} has {motion.positions.shape[1]} vertices, but {scene_body.name} has {body.vertex_count}"
            ": give the same body and --tets as for the motion, and keep motions as .npz, which holds more than the "
            "surface"
        )
    return snap_fixed_vertices(body, motion)


def _parse_disturbances(options: SteerCommandOptions, scene_body: SceneBody, body: BodySolid) -> list[Disturbance]:
    disturbances: list[Disturbance] = [bodies.parse_push(text, scene_body, body) for text in options.push or []]
    if options.wind is not None:
        strength = checks.require_positive(options.wind, "--wind", allow_zero=True)
        disturbances.append(Wind(strength, seed=checks.require_integer(options.seed, "--seed", minimum=0)))
    return disturbances


def _run_controller(
    options: SteerCommandOptions, controller: Controller, disturbances: list[Disturbance], progress: ProgressCallback
) -> dict[str, ControllerRun]:
    """Runs with and without control; the one that is not written may be missing if its simulation fails."""
    runs: dict[str, ControllerRun] = {}
    for name, controlled in (("without control", False), ("with control", True)):
        try:
            runs[name] = controller.run(
                force=disturbances, controlled=controlled, loops=options.loops, progress=progress
            )
        except NotConverged:
            if controlled is not options.uncontrolled:
                raise
    return runs


def _describe_runs(
    controller: Controller, runs: Mapping[str, ControllerRun], loops: int, notes: tuple[str, ...]
) -> dict[str, Any]:
    """Controller and runs as numbers; notes: remarks on the body."""
    reference, weights = controller.reference, controller.cost_weights
    controlled, uncontrolled = runs.get("with control"), runs.get("without control")
    outside = reference.projection_error
    own_notes = [] if controlled is None else list(controlled.report.notes)
    if (
        controlled is not None
        and uncontrolled is not None
        and 0 < uncontrolled.report.mean_error <= controlled.report.mean_error
    ):
        reason = "" if own_notes else f": {diagnose_divergence(reference)}"
        own_notes.append(f"control does no better than none{reason}")
    own_notes += [note for note in reference.notes if not any(note in other for other in own_notes)]
    return {
        "basis": controller.model.size,
        "frames": reference.step_count // reference.substeps + 1,
        "dt_s": reference.dt * reference.substeps,
        "substeps": reference.substeps,
        "loops": loops,
        "tracking": weights.tracking,
        "final": weights.final,
        "effort": weights.effort,
        "outside_basis_sizes": 0.0 if outside is None else float(outside.max()),
        "seam_sizes": reference.loop_gap if loops > 1 else None,
        "gain_seconds": controller.gain_seconds,
        "controlled": _describe_run(controlled),
        "uncontrolled": _describe_run(uncontrolled),
        "notes": [*notes, *own_notes],
    }


def _describe_run(run: ControllerRun | None) -> dict[str, Any] | None:
    if run is None:
        return None
    report = run.report
    return {
        "error_rms_sizes": report.mean_error,
        "error_largest_sizes": report.worst_error,
        "error_final_sizes": report.final_error,
        "force_rms_weights": report.mean_gentleness,
        "force_largest_weights": float(report.gentleness.max()),
        "effort": report.effort,
        "cut_steps": report.subdivided_step_count,
        "step_seconds": report.step_seconds,
        "notes": list(report.notes),
    }


def _format_rows(document: dict[str, Any]) -> dict[str, str]:
    d = document
    finer = f", {d['substeps']} steps to each" if d["substeps"] > 1 else ""
    rows = {
        **(
            bodies.format_body_rows(d)
            if "tets" in d
            else {"body": f"{d['vertices']} vertices in {d['basis']} coordinates"}
        ),
        "motion": f"{d['frames']} frames, {d['dt_s']:.4g} s apart{finer}; the basis misses it by "
        f"{_format_percent(d['outside_basis_sizes'])}",
        "without control": _format_error(d["uncontrolled"]),
        "with control": _format_error(d["controlled"]),
    }
    if d["controlled"]:
        c = d["controlled"]
        rows["added force"] = f"{c['force_rms_weights']:.3g} weights (rms), {c['force_largest_weights']:.3g} at most"
        rows["took"] = f"gains {d['gain_seconds']:.2f} s, a step {1e6 * c['step_seconds']:.0f} µs"
        if c["cut_steps"]:
            reason = "" if c["notes"] else ": pushed beyond small deviations"
            rows["cut"] = f"{c['cut_steps']} steps were cut into parts to converge{reason}"
    rows |= format_note_rows(d["notes"])
    if d["seam_sizes"] is not None:
        rows["seam"] = f"{_format_percent(d['seam_sizes'])} from the last frame to the first"
    return rows | {"written": format_written_files(d["outputs"])}


def _format_error(run_document: dict[str, Any] | None) -> str:
    if run_document is None:
        return "simulation fails before the end: beyond the range of its model"
    mean, most, end = (run_document[f"error_{name}_sizes"] for name in ("rms", "largest", "final"))
    return f"off by {_format_percent(mean)} (rms), {100 * most:.3g} % at worst, {100 * end:.3g} % at the end"


def _format_percent(share: float) -> str:
    return f"{100 * share:.3g} % of the size"


def _steer_flow(options: SteerCommandOptions, outputs: Sequence[Path]) -> None:
    """Disturb the particles of a flow scene, or of the flow controller in a file, and return them to their paths."""
    body_options = ("fixed", "tets", "cells", "young", "poisson", "density", "damping", "scale", "up")
    refused = [name for name in (*_MOTION_OPTIONS, "loops", *body_options) if name in options.given]
    if refused:
        names = ", ".join(f"--{name}" for name in refused)
        raise InputError(f"{names}: for bodies, not for flows; leave {'it' if len(refused) == 1 else 'them'} out")
    for path in outputs:
        if path.suffix.lower() not in (".npz", *STILL_SUFFIXES, *LOOP_SUFFIXES):
            known = " ".join((".npz", *LOOP_SUFFIXES, *STILL_SUFFIXES))
            raise FileError(f"{path}: a flow is not written as {path.suffix}; choose one of {known}")
        if path.suffix.lower() != ".npz":
            require_image_writer(path)
        require_writable_path(path)
    with show_progress(options.source) as progress:
        scene, controller = _load_flow_controller(options, progress)
        forces = [_parse_flow_push(text, controller) for text in options.push or []]
        forces += _build_flow_noise(options, scene)
        controlled, uncontrolled = controller.run(forces), controller.run(forces, controlled=False)
        for path in outputs:
            write_flow_run(scene, uncontrolled if options.uncontrolled else controlled, path)
        if options.plot is not None:
            runs = {"without control": uncontrolled, "with control": controlled}
            plot_runs(runs, options.plot, title=Path(options.source).stem)
        if options.save is not None:
            controller.save(options.save)
    lost = [f"particle {p} from frame {frame} on" for p, frame in controlled.report.lost_particle_frames.items()]
    document = {
        "scene": options.source,
        "modes": controller.model.size,
        "frames": controller.reference.step_count + 1,
        "particles": controller.reference.particles.shape[1],
        "effort": controller.cost_weights.effort,
        "gain_seconds": controller.gain_seconds,
        "controlled": _describe_flow_run(controlled.report),
        "uncontrolled": _describe_flow_run(uncontrolled.report),
        "outputs": [str(path) for path in (*outputs, options.save, options.plot) if path is not None],
        "notes": [f"lost in spite of control: {', '.join(lost)}; push less, or lower --effort"] if lost else [],
    }
    print_summary(f"Steered {options.source}", document, _format_flow_rows(document))


def _load_flow_controller(options: SteerCommandOptions, progress: ProgressCallback) -> tuple[FlowScene, FlowController]:
    """A scene with its controller; the controller of a file keeps the weights that are not given."""
    weights = {name: getattr(options, name) for name in ("tracking", "final", "effort") if name in options.given}
    if options.source in flow_scenes.FLOW_SCENE_DESCRIPTIONS:
        scene: FlowScene = getattr(flow_scenes, f"build_{options.source}_scene")(progress=progress)
        return scene, scene.create_controller(**{"tracking": options.tracking, **weights})
    controller = load_flow_controller(options.source)
    scene = FlowScene(controller.model.flow, controller.reference)
    return scene, controller.retuned(**weights) if weights else controller


def _build_flow_noise(options: SteerCommandOptions, scene: FlowScene) -> list[FlowForce]:
    """Noise of strength --wind; the scene's own disturbance if there are neither wind nor pushes."""
    checks.require_integer(options.seed, "--seed", minimum=0)
    if options.wind is not None:
        strength = checks.require_positive(options.wind, "--wind", allow_zero=True)
        return [scene.build_noise(options.seed, strength=strength)]
    return [] if options.push else scene.build_disturbance(options.seed)


def _parse_flow_push(text: str, controller: FlowController) -> FlowForce:
    """Parse a gust on a particle, at its reference position when the gust starts; the default radius is 20 m."""
    match = re.fullmatch(
        r"(?P<which>\d+):\s*(?P<force>[^:]+?)(?:\s+for\s+(?P<length>\S+))?(?:\s+from\s+(?P<start>\S+))?"
        r"(?:\s+within\s+(?P<radius>\S+))?",
        text.strip(),
    )
    if match is None:
        syntax = 'PARTICLE: AX,AY [for SECONDS] [from SECONDS] [within METRES], as in "0: 0.3,0 for 2 from 12"'
        raise InputError(f"push {text!r} is not understood; of a flow write {syntax}")
    reference = controller.reference
    start = parse_seconds(match["start"], "from") if match["start"] else 0.0
    length = parse_seconds(match["length"], "for") if match["length"] else 0.0
    last, last_step = reference.particles.shape[1] - 1, reference.step_count - 1
    particle = checks.require_integer(int(match["which"]), "the particle", minimum=0, maximum=last)
    frame = checks.require_integer(round(start / reference.dt), "the frame of the push", minimum=0, maximum=last_step)
    x, y = reference.particles[frame, particle].tolist()
    radius = parse_number(match["radius"], "within") if match["radius"] else 20.0
    return Gust((x, y), parse_pair(match["force"], f"push {text!r}"), radius, start, length)


def _describe_flow_run(report: SteerReport) -> dict[str, Any]:
    return {
        "error_rms_cells": report.rms_error_cells,
        "error_largest_cells": report.max_error_cells,
        "error_final_cells": report.final_error_cells,
        "force_rms_share": report.mean_gentleness,
        "force_largest_share": float(report.gentleness.max()),
        "lost": {str(particle): frame for particle, frame in report.lost_particle_frames.items()},
        "step_seconds": report.step_seconds,
    }


def _format_flow_rows(document: dict[str, Any]) -> dict[str, str]:
    d, controlled = document, document["controlled"]
    errors = {
        name: f"off by {run['error_rms_cells']:.3g} cells (rms), {run['error_largest_cells']:.3g} at worst, "
        f"{run['error_final_cells']:.3g} at the end"
        for name, run in (("without control", d["uncontrolled"]), ("with control", controlled))
    }
    return {
        "flow": f"{d['frames']} frames in {d['modes']} modes, {d['particles']} particle"
        f"{'' if d['particles'] == 1 else 's'}",
        **errors,
        "added force": f"{100 * controlled['force_rms_share']:.3g} % of the flow's momentum a step (rms), "
        f"{100 * controlled['force_largest_share']:.3g} % at most",
        "took": f"gains {d['gain_seconds']:.2f} s, a step {1e6 * controlled['step_seconds']:.0f} µs",
        **format_note_rows(d["notes"]),
        "written": format_written_files(d["outputs"]),
    }
