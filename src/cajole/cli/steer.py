"""`cajole steer`: a motion is disturbed, and a controller leads back to it with gentle forces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from cajole.cli import options
from cajole.cli.output import JsonOption, build_summary_table, print_result, show_progress
from cajole.cli.steer_documents import describe_runs, describe_steer, format_steer_rows
from cajole.cli.steer_flow import (
    format_flow_rows,
    is_flow_source,
    require_flow_output_files,
    require_no_body_options,
    run_flow_steer,
)
from cajole.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cajole.animation import Animation
    from cajole.body import BodySolid
    from cajole.cli.controller_files import LoadedController
    from cajole.direct import Controller, ControllerRun
    from cajole.progress import ProgressCallback
    from cajole.reduction import Disturbance
    from cajole.scenes import SceneBody

# Of the rest shape, held when no motion is given.
DEFAULT_FRAMES, DEFAULT_DT = 121, "1/60"
# Of a body, when nothing is said.
DEFAULT_EFFORT = 1e-2


@options.with_body_options()
def steer(
    body_options: options.BodyOptions,
    motion: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The motion to keep to: an animation of the body's vertices, as simulate and keyframe write to .npz. "
            "The rest shape when left out.",
        ),
    ] = None,
    tracking: Annotated[float, typer.Option(help="What being off costs all the time.")] = 1.0,
    final: Annotated[
        float | None,
        typer.Option(help="What being off at the last frame costs. When left out, 0, of a flow what suits it."),
    ] = None,
    effort: Annotated[
        float | None,
        typer.Option(
            help="What added force costs: 1e-4 stiff, 1e-2 normal, 1 gentle and slow to come back. When left out, "
            "1e-2, of a flow what suits it."
        ),
    ] = None,
    push: Annotated[
        list[str] | None,
        typer.Option(
            metavar='"WHERE: FX,FY,FZ ..."',
            help='A push that the motion knows nothing of: "head: 0,0.1,0 weights for 0.2 from 1". May be repeated.',
        ),
    ] = None,
    wind: Annotated[float | None, typer.Option(help="Gusts of this strength, m/s² (root mean square).")] = None,
    seed: Annotated[int, typer.Option(help="Of wind and samples: another number, another take.")] = 0,
    loops: Annotated[int, typer.Option(help="Go through the motion this often, the first frame after the last.")] = 1,
    uncontrolled: Annotated[bool, typer.Option("--uncontrolled", help="Write the take without control.")] = False,
    modes: Annotated[
        int | None, typer.Option(help="Linear modes beside what the motion needs; 20, or all of a small body.")
    ] = None,
    components: Annotated[
        int | None, typer.Option(help="Directions of the motion itself; those it needs, 16 at most, when left out.")
    ] = None,
    substeps: Annotated[
        int | None, typer.Option(help="Steps to a frame of the motion; when left out one, or as many as it needs.")
    ] = None,
    samples: Annotated[
        int,
        typer.Option(help="Disturbed runs to take --modes directions from, instead of linear modes; 50, say."),
    ] = 0,
    cluster: Annotated[
        str | None,
        typer.Option(help='Who simulates them: "processes", "processes:4", "dask", or a scheduler "tcp://host:port".'),
    ] = None,
    frames: Annotated[int | None, typer.Option(help=f"Without --motion: how many; {DEFAULT_FRAMES}.")] = None,
    dt: Annotated[
        str | None, typer.Option(metavar="SECONDS", help=f'Without --motion: time between frames; "{DEFAULT_DT}".')
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Where to keep the controller, an .npz that needs no body.", readable=False)
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="A plot of error and added force over time, with and without control (.png).", readable=False
        ),
    ] = None,
    output: options.OutputOption = None,
    as_json: JsonOption = False,
) -> None:
    """Disturb a motion, and lead back to it with the least added force.

    Give the body as it was when the motion was made: the same --fixed, --young, --density and --damping. There is no
    --gravity: the forces that made the motion, gravity among them, are found with it.

    [green]cajole steer dinosaur --push "head: 0,0.1,0 weights for 0.2 from 0.5" --plot back.png -o back.glb[/]

    [green]cajole simulate dinosaur --push "head: 0,0.1,0 weights for 0.3" -o wag.npz[/]

    [green]cajole steer dinosaur --motion wag.npz --wind 2 --seed 7 --effort 1e-3 -o windy.webp[/]

    What --save kept runs again from its file, against other pushes, with other dials where they are given:

    [green]cajole steer controller.npz --push "x>90%: 0,0,0.1 weights for 0.1" -o again.glb[/]

    Flows are scenes of their own, swirl and leaves, whose particles keep to their paths in gusts and noise:

    [green]cajole steer leaves --seed 3 -o letter.webp[/]
    """
    from cajole.cli.controller_files import is_controller_file
    from cajole.cli.output_files import require_distinct
    from cajole.cluster import require_cluster

    outputs = output or []
    require_distinct([*outputs, save, plot])
    made: dict[str, object] = {
        "motion": motion, "samples": samples, "cluster": cluster, "frames": frames, "dt": dt,
        "modes": modes is not None, "components": components is not None, "substeps": substeps is not None,
    }  # fmt: skip
    if is_flow_source(body_options.source):
        require_no_body_options(made | {"loops": loops != 1} | dict.fromkeys(body_options.given_names, True))
        require_flow_output_files(outputs)
        _require_output_files([], save, plot)
        chosen = {"final": final, "effort": effort}
        own = {"tracking": tracking} | {name: value for name, value in chosen.items() if value is not None}
        with show_progress(body_options.source) as progress:
            told = run_flow_steer(
                body_options.source, own, push or [], wind, seed, uncontrolled, outputs, progress, save, plot
            )
        print_result(
            told, build_summary_table(f"Steered {body_options.source}", format_flow_rows(told)), as_json=as_json
        )
        return
    _require_output_files(outputs, save, plot)
    require_cluster(cluster)
    dials = (tracking, final, effort)
    with show_progress(body_options.source) as progress:
        if is_controller_file(body_options.source):
            file = _load_controller(body_options, made | {"save": save}, dials)
            subject, body, controller = cast("SceneBody", file), cast("BodySolid", file), file.controller
        else:
            subject = body_options.load_scene_body(progress)
            body = subject.body()
            course = _load_motion(subject, body, motion, frames, dt, progress)
            beside = _choose_added_modes(body, course, modes, (samples, seed, cluster), progress)
            controller = _build_controller(body, course, (beside, components), substeps, loops, dials, progress)
        runs = _run_controller(
            controller, _parse_disturbances(subject, body, push or [], wind, seed), loops, uncontrolled, progress
        )
        taken = runs["without control" if uncontrolled else "with control"]
        _write_results(subject, controller, runs, taken, outputs, save, plot, progress)
    if is_controller_file(body_options.source):
        document = file.describe() | describe_runs(controller, runs, loops)
    else:
        document = describe_steer(subject, body, controller, runs, loops)
    document["outputs"] = [str(path) for path in (*outputs, save, plot) if path is not None]
    print_result(document, build_summary_table(f"Steered {subject.name}", format_steer_rows(document)), as_json=as_json)


def _load_controller(
    body_options: options.BodyOptions,
    build_options: Mapping[str, object],
    cost_weights: tuple[float, float | None, float | None],
) -> LoadedController:
    """A controller from its file; dials as they are when left out are the file's own."""
    from cajole.cli.controller_files import load_controller_file

    tracking, final, effort = cost_weights
    other = {"tracking": tracking if tracking != 1.0 else None, "final": final, "effort": effort}
    return load_controller_file(
        body_options, build_options, {name: value for name, value in other.items() if value is not None}
    )


def _require_output_files(outputs: list[Path], save: Path | None, plot: Path | None) -> None:
    """Raise FileError or MissingExtra for what cannot be written: before the work, not after it."""
    from cajole.cli.output_files import require_writable
    from cajole.direct.steering.plots import check_plot_path
    from cajole.errors import FileError
    from cajole.storage import require_writable_path

    require_writable(outputs)
    if plot is not None:
        require_writable_path(check_plot_path(plot))
    if save is not None:
        if save.suffix.lower() != ".npz":
            raise FileError(f"--save {save}: a controller is an .npz file")
        require_writable_path(save)


def _load_motion(
    scene_body: SceneBody,
    body: BodySolid,
    motion: Path | None,
    frames: int | None,
    dt: str | None,
    progress: ProgressCallback,
) -> Animation:
    """The motion in the file, or the body at rest."""
    import numpy as np

    from cajole import checks
    from cajole.animation import Animation, read_animation
    from cajole.cli.number_parsers import parse_seconds
    from cajole.direct.steering.reference import snap_fixed_vertices

    if motion is None:
        count = checks.require_integer(DEFAULT_FRAMES if frames is None else frames, "--frames", minimum=3)
        step = checks.require_positive(parse_seconds(DEFAULT_DT if dt is None else dt, "--dt"), "--dt")
        return Animation(scene_body.mesh, np.tile(body.vertices, (count, 1, 1)), fps=1.0 / step)
    if frames is not None or dt is not None:
        raise InputError(f"--frames and --dt are for the rest shape; {motion} has its own")
    found = read_animation(motion, progress=progress)
    if found.positions.shape[1] != body.vertex_count:
        raise InputError(
            f"{motion} has {found.positions.shape[1]} vertices, but {scene_body.name} has {body.vertex_count}: "
            f"give the same "
            "body and --tets as for the motion, and keep motions as .npz, which holds more than the surface"
        )
    return snap_fixed_vertices(body, found)


def _build_controller(
    body: BodySolid,
    motion: Animation,
    basis: tuple[int | NDArray[np.float64] | None, int | None],
    substeps: int | None,
    loops: int,
    cost_weights: tuple[float, float | None, float | None],
    progress: ProgressCallback,
) -> Controller:
    from cajole.direct import build_reference
    from cajole.direct import steer as steered

    progress(0.0, "reducing the body")
    modes, components = basis
    made = build_reference(body, motion, modes=modes, components=components, loop=loops > 1, substeps=substeps)
    progress(0.0, "finding the gains")
    tracking, final, effort = cost_weights
    return steered(made, tracking=tracking, final=final or 0.0, effort=DEFAULT_EFFORT if effort is None else effort)


def _choose_added_modes(
    body: BodySolid,
    motion: Animation,
    modes: int | None,
    sampling: tuple[int, int, str | None],
    progress: ProgressCallback,
) -> int | NDArray[np.float64] | None:
    """What stands beside the motion's own directions: so many modes, or directions that disturbed runs need."""
    from cajole import checks
    from cajole.direct.steering.reference import DEFAULT_MODES

    if modes is not None:
        checks.require_integer(modes, "--modes")
    samples, seed, cluster = sampling
    if checks.require_integer(samples, "--samples", minimum=0):
        return _compute_sampled_basis(
            body, motion, DEFAULT_MODES if modes is None else modes, samples, seed, cluster, progress
        )
    if cluster is not None:
        raise InputError("--cluster says who simulates samples; say how many with --samples")
    return modes


def _compute_sampled_basis(
    body: BodySolid,
    motion: Animation,
    modes: int,
    samples: int,
    seed: int,
    cluster: str | None,
    progress: ProgressCallback,
) -> NDArray[np.float64]:
    from cajole.direct.steering.sampling import sample_basis

    found = sample_basis(body, motion, runs=samples, size=modes, seed=seed, cluster=cluster, progress=progress)
    return found.basis


def _parse_disturbances(
    scene_body: SceneBody, body: BodySolid, pushes: list[str], wind: float | None, seed: int
) -> list[Disturbance]:
    from cajole import checks
    from cajole.cli.force_parsers import parse_push
    from cajole.direct import Wind

    made: list[Disturbance] = [parse_push(text, scene_body, body) for text in pushes]
    if wind is not None:
        made.append(
            Wind(
                checks.require_positive(wind, "--wind", allow_zero=True),
                seed=checks.require_integer(seed, "--seed", minimum=0),
            )
        )
    return made


def _run_controller(
    controller: Controller, disturbances: list[Disturbance], loops: int, uncontrolled: bool, progress: ProgressCallback
) -> dict[str, ControllerRun]:
    """With and without control; the one that is not written may be missing when the body breaks in it."""
    from cajole.errors import NotConverged

    runs: dict[str, ControllerRun] = {}
    for name, controlled in (("without control", False), ("with control", True)):
        try:
            runs[name] = controller.run(force=disturbances, controlled=controlled, loops=loops, progress=progress)
        except NotConverged:
            if controlled is not uncontrolled:
                raise
    return runs


def _write_results(
    scene_body: SceneBody,
    controller: Controller,
    runs: dict[str, ControllerRun],
    output_run: ControllerRun,
    outputs: list[Path],
    save: Path | None,
    plot: Path | None,
    progress: ProgressCallback,
) -> None:
    from cajole.cli.output_files import write_result as saved
    from cajole.direct.steering.plots import plot_runs

    for path in outputs:
        saved(scene_body.attach_skin(output_run.animation), path, camera=scene_body.camera, progress=progress)
    if plot is not None:
        plot_runs(runs, plot, title=scene_body.name)
    if save is not None:
        controller.save(save, skin=scene_body.skin)
