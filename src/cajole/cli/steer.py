"""`cajole steer`: a motion is disturbed, and a controller leads back to it with gentle forces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from cajole.cli import options
from cajole.cli.output import Json, answer, facts, working
from cajole.cli.steer_flow import flow_rows, is_flow, refuse_for_flows, require_flow_targets, steer_scene
from cajole.cli.steered import described, described_runs, rows
from cajole.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cajole.animation import Animation
    from cajole.body import BodySolid
    from cajole.cli.steer_file import Loaded
    from cajole.direct import Controller, Run
    from cajole.direct.steering.disturbances import Disturbance
    from cajole.progress import Progress
    from cajole.scenes import Subject

# Of the rest shape, held when no motion is given.
FRAMES, DT = 121, "1/60"
# Of a body, when nothing is said.
EFFORT = 1e-2


@options.of_body()
def steer(
    asked: options.Asked,
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
    frames: Annotated[int | None, typer.Option(help=f"Without --motion: how many; {FRAMES}.")] = None,
    dt: Annotated[
        str | None, typer.Option(metavar="SECONDS", help=f'Without --motion: time between frames; "{DT}".')
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
    output: options.Outputs = None,
    as_json: Json = False,
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
    from cajole.cli.saving import require_apart
    from cajole.cli.steer_file import is_controller
    from cajole.cluster.mapping import require_cluster

    outputs = output or []
    require_apart([*outputs, save, plot])
    made: dict[str, object] = {
        "motion": motion, "samples": samples, "cluster": cluster, "frames": frames, "dt": dt,
        "modes": modes is not None, "components": components is not None, "substeps": substeps is not None,
    }  # fmt: skip
    if is_flow(asked.source):
        refuse_for_flows(made | {"loops": loops != 1} | dict.fromkeys(asked.given, True))
        require_flow_targets(outputs)
        _require_targets([], save, plot)
        chosen = {"final": final, "effort": effort}
        own = {"tracking": tracking} | {name: value for name, value in chosen.items() if value is not None}
        with working(asked.source) as progress:
            told = steer_scene(asked.source, own, push or [], wind, seed, uncontrolled, outputs, progress, save, plot)
        answer(told, facts(f"Steered {asked.source}", flow_rows(told)), as_json=as_json)
        return
    _require_targets(outputs, save, plot)
    require_cluster(cluster)
    dials = (tracking, final, effort)
    with working(asked.source) as progress:
        if is_controller(asked.source):
            file = _from_file(asked, made | {"save": save}, dials)
            subject, body, controller = cast("Subject", file), cast("BodySolid", file), file.controller
        else:
            subject = asked.subject(progress)
            body = subject.body()
            course = _course(subject, body, motion, frames, dt, progress)
            beside = _beside(body, course, modes, (samples, seed, cluster), progress)
            controller = _controller(body, course, (beside, components), substeps, loops, dials, progress)
        runs = _runs(controller, _disturbances(subject, body, push or [], wind, seed), loops, uncontrolled, progress)
        taken = runs["without control" if uncontrolled else "with control"]
        _write(subject, controller, runs, taken, outputs, save, plot, progress)
    if is_controller(asked.source):
        document = file.about() | described_runs(controller, runs, loops)
    else:
        document = described(subject, body, controller, runs, loops)
    document["outputs"] = [str(path) for path in (*outputs, save, plot) if path is not None]
    answer(document, facts(f"Steered {subject.name}", rows(document)), as_json=as_json)


def _from_file(
    asked: options.Asked, made: Mapping[str, object], dials: tuple[float, float | None, float | None]
) -> Loaded:
    """A controller from its file; dials as they are when left out are the file's own."""
    from cajole.cli.steer_file import loaded

    tracking, final, effort = dials
    other = {"tracking": tracking if tracking != 1.0 else None, "final": final, "effort": effort}
    return loaded(asked, made, {name: value for name, value in other.items() if value is not None})


def _require_targets(outputs: list[Path], save: Path | None, plot: Path | None) -> None:
    """Raise FileError or MissingExtra for what cannot be written: before the work, not after it."""
    from cajole.cli.saving import require_writable
    from cajole.direct.steering.plots import require_plot
    from cajole.errors import FileError
    from cajole.storage import require_place

    require_writable(outputs)
    if plot is not None:
        require_place(require_plot(plot))
    if save is not None:
        if save.suffix.lower() != ".npz":
            raise FileError(f"--save {save}: a controller is an .npz file")
        require_place(save)


def _course(
    subject: Subject, body: BodySolid, motion: Path | None, frames: int | None, dt: str | None, progress: Progress
) -> Animation:
    """The motion in the file, or the body at rest."""
    import numpy as np

    from cajole import checks
    from cajole.animation import Animation, read_animation
    from cajole.cli.numbers import seconds
    from cajole.direct.steering.bases import held_still

    if motion is None:
        count = checks.count(FRAMES if frames is None else frames, "--frames", least=3)
        step = checks.positive(seconds(DT if dt is None else dt, "--dt"), "--dt")
        return Animation(subject.mesh, np.tile(body.vertices, (count, 1, 1)), fps=1.0 / step)
    if frames is not None or dt is not None:
        raise InputError(f"--frames and --dt are for the rest shape; {motion} has its own")
    found = read_animation(motion, progress=progress)
    if found.positions.shape[1] != body.count:
        raise InputError(
            f"{motion} has {found.positions.shape[1]} vertices, but {subject.name} has {body.count}: give the same "
            "body and --tets as for the motion, and keep motions as .npz, which holds more than the surface"
        )
    return held_still(body, found)


def _controller(
    body: BodySolid, course: Animation, basis: tuple[int | NDArray[np.float64] | None, int | None],
    substeps: int | None, loops: int, dials: tuple[float, float | None, float | None], progress: Progress,
) -> Controller:  # fmt: skip
    from cajole.direct import reference
    from cajole.direct import steer as steered

    progress(0.0, "reducing the body")
    modes, components = basis
    made = reference(body, course, modes=modes, components=components, loop=loops > 1, substeps=substeps)
    progress(0.0, "finding the gains")
    tracking, final, effort = dials
    return steered(made, tracking=tracking, final=final or 0.0, effort=EFFORT if effort is None else effort)


def _beside(
    body: BodySolid, course: Animation, modes: int | None, sampled: tuple[int, int, str | None], progress: Progress
) -> int | NDArray[np.float64] | None:
    """What stands beside the motion's own directions: so many modes, or directions that disturbed runs need."""
    from cajole import checks
    from cajole.direct.steering.bases import MODES

    if modes is not None:
        checks.count(modes, "--modes")
    samples, seed, cluster = sampled
    if checks.count(samples, "--samples", least=0):
        return _sampled(body, course, MODES if modes is None else modes, samples, seed, cluster, progress)
    if cluster is not None:
        raise InputError("--cluster says who simulates samples; say how many with --samples")
    return modes


def _sampled(
    body: BodySolid, course: Animation, modes: int, samples: int, seed: int, cluster: str | None, progress: Progress
) -> NDArray[np.float64]:
    from cajole.direct.steering.sampling import sampled_basis

    found = sampled_basis(body, course, runs=samples, size=modes, seed=seed, cluster=cluster, progress=progress)
    return found.basis


def _disturbances(
    subject: Subject, body: BodySolid, pushes: list[str], wind: float | None, seed: int
) -> list[Disturbance]:
    from cajole import checks
    from cajole.cli.pushes import push
    from cajole.direct import Wind

    made: list[Disturbance] = [push(text, subject, body) for text in pushes]
    if wind is not None:
        made.append(Wind(checks.positive(wind, "--wind", zero=True), seed=checks.count(seed, "--seed", least=0)))
    return made


def _runs(
    controller: Controller, force: list[Disturbance], loops: int, uncontrolled: bool, progress: Progress
) -> dict[str, Run]:
    """With and without control; the one that is not written may be missing when the body breaks in it."""
    from cajole.errors import NotConverged

    runs: dict[str, Run] = {}
    for name, controlled in (("without control", False), ("with control", True)):
        try:
            runs[name] = controller.run(force=force, controlled=controlled, loops=loops, progress=progress)
        except NotConverged:
            if controlled is not uncontrolled:
                raise
    return runs


def _write(
    subject: Subject, controller: Controller, runs: dict[str, Run], taken: Run, outputs: list[Path],
    save: Path | None, plot: Path | None, progress: Progress,
) -> None:  # fmt: skip
    from cajole.cli.saving import save as saved
    from cajole.direct.steering.plots import plot_runs

    for path in outputs:
        saved(subject.dressed(taken.animation), path, camera=subject.camera, progress=progress)
    if plot is not None:
        plot_runs(runs, plot, title=subject.name)
    if save is not None:
        controller.save(save, skin=subject.skin)
