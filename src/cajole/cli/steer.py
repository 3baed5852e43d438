"""`cajole steer`: a motion is disturbed, and a controller leads back to it with gentle forces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.output import Json, answer, facts, working, written
from cajole.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cajole.animation import Animation
    from cajole.body import BodySolid
    from cajole.cli.subject import Subject
    from cajole.direct import Controller, Run
    from cajole.direct.steering.disturbances import Disturbance
    from cajole.progress import Progress
    from cajole.reduction import ReducedModel

# Directions of the motion itself in the basis: this share of its energy, but no more than so many of them.
ENERGY, MOST_COMPONENTS = 0.999999, 16
# What held vertices may move in a file that rounds to single precision, in body sizes.
HELD = 1e-5
# Of the rest shape, held when no motion is given.
FRAMES, DT = 121, "1/60"


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
    final: Annotated[float, typer.Option(help="What being off at the last frame costs.")] = 0.0,
    effort: Annotated[
        float, typer.Option(help="What added force costs: 1e-4 stiff, 1e-2 normal, 1 gentle and slow to come back.")
    ] = 1e-2,
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
    modes: Annotated[int, typer.Option(help="Linear modes beside what the motion needs.")] = 20,
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
    save: Annotated[Path | None, typer.Option(help="Where to keep the controller, an .npz that needs no body.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="A plot of error and added force over time, with and without control (.png).")
    ] = None,
    output: options.Outputs = None,
    as_json: Json = False,
) -> None:
    """Disturb a motion, and lead back to it with the least added force.

    [green]cajole steer dinosaur --push "head: 0,0.1,0 weights for 0.2 from 0.5" --plot back.png -o back.glb[/]

    [green]cajole simulate dinosaur --push "head: 0,0.1,0 weights for 0.3" -o wag.npz[/]

    [green]cajole steer dinosaur --motion wag.npz --wind 2 --seed 7 --effort 1e-3 -o windy.webp[/]
    """
    outputs = output or []
    _require_targets(outputs, save, plot)
    with working(asked.source) as progress:
        subject = asked.subject(progress)
        body = subject.body()
        course = _course(subject, body, motion, frames, dt, progress)
        model = _model(body, course, modes, (samples, seed, cluster), progress)
        controller = _controller(model, course, loops, (tracking, final, effort), progress)
        runs = _runs(controller, _disturbances(subject, body, push or [], wind, seed), loops, uncontrolled, progress)
        taken = runs["without control" if uncontrolled else "with control"]
        _write(subject, controller, runs, taken, outputs, save, plot, progress)
    document = _document(subject, controller, runs, loops)
    document["outputs"] = [str(path) for path in (*outputs, save, plot) if path is not None]
    answer(document, facts(f"Steered {subject.name}", _rows(document)), as_json=as_json)


def _require_targets(outputs: list[Path], save: Path | None, plot: Path | None) -> None:
    """Raise FileError for suffixes that cannot be written: before the work, not after it."""
    from cajole.cli.saving import require_writable
    from cajole.direct.steering.plots import require_plot
    from cajole.errors import FileError

    require_writable(outputs)
    if plot is not None:
        require_plot(plot)
    if save is not None and save.suffix.lower() != ".npz":
        raise FileError(f"--save {save}: a controller is an .npz file")


def _course(
    subject: Subject, body: BodySolid, motion: Path | None, frames: int | None, dt: str | None, progress: Progress
) -> Animation:
    """The motion in the file, or the body at rest."""
    import numpy as np

    from cajole import checks
    from cajole.animation import Animation, read_animation
    from cajole.cli.numbers import seconds

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
    return _held(found, body, motion)


def _held(found: Animation, body: BodySolid, path: Path) -> Animation:
    """The same with held vertices exactly where they are held. Raises InputError when the motion moves them."""
    from dataclasses import replace

    import numpy as np

    positions = np.array(found.positions, dtype=np.float64)
    off = np.linalg.norm(positions[:, body.fixed] - body.vertices[body.fixed], axis=2).max(axis=0, initial=0.0)
    if off.max(initial=0.0) > HELD * body.size:
        vertex, far = body.fixed[int(off.argmax())], off.max()
        raise InputError(f"{path} moves vertex {vertex} by {far:.3g} m, but it is held; say what is held with --fixed")
    positions[:, body.fixed] = body.vertices[body.fixed]
    speeds = None if found.velocities is None else np.array(found.velocities, dtype=np.float64)
    if speeds is not None:
        speeds[:, body.fixed] = 0.0
    return replace(found, positions=positions, velocities=speeds)


def _controller(
    model: ReducedModel, course: Animation, loops: int, dials: tuple[float, float, float], progress: Progress
) -> Controller:
    from cajole.direct import reference
    from cajole.direct import steer as steered

    progress(0.0, "finding the gains")
    tracking, final, effort = dials
    return steered(reference(model, course, loop=loops > 1), tracking=tracking, final=final, effort=effort)


def _model(
    body: BodySolid, course: Animation, modes: int, sampled: tuple[int, int, str | None], progress: Progress
) -> ReducedModel:
    """The body in the main directions of its motion, and its lowest modes or what disturbed runs need."""
    from cajole import checks
    from cajole.reduction import enriched, principal, reduce
    from cajole.reduction.bases import mode_shapes

    progress(0.0, "reducing the body")
    checks.count(modes, "--modes")
    samples, seed, cluster = sampled
    if checks.count(samples, "--samples", least=0):
        shapes = _sampled(body, course, modes, samples, seed, cluster, progress)
    elif cluster is not None:
        raise InputError("--cluster says who simulates samples; say how many with --samples")
    else:
        shapes = mode_shapes(body, modes)
    moved = (course.positions - body.vertices).reshape(course.frames, -1).T
    if not moved.any():
        return reduce(body, shapes)
    basis = principal(body, moved, energy=ENERGY)[:, :MOST_COMPONENTS]
    return reduce(body, enriched(body, basis, shapes, size=modes))


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


def _document(subject: Subject, controller: Controller, runs: dict[str, Run], loops: int) -> dict[str, Any]:
    reference, dials = controller.reference, controller.dials
    outside = reference.motion_error
    return {
        "subject": subject.name,
        "vertices": len(subject.mesh.vertices),
        "tets": len(subject.mesh.tets),
        "basis": controller.model.size,
        "frames": reference.steps + 1,
        "dt_s": reference.dt,
        "loops": loops,
        "tracking": dials.tracking,
        "final": dials.final,
        "effort": dials.effort,
        "outside_basis_sizes": 0.0 if outside is None else float(outside.max()),
        "seam_sizes": reference.seam if loops > 1 else None,
        "gain_seconds": controller.seconds,
        "controlled": _told(runs.get("with control")),
        "uncontrolled": _told(runs.get("without control")),
    }


def _told(run: Run | None) -> dict[str, Any] | None:
    if run is None:
        return None
    report = run.report
    return {
        "error_rms_sizes": report.mean_error,
        "error_largest_sizes": report.worst_error,
        "error_final_sizes": report.final_error,
        "force_rms_weights": float((report.gentleness**2).mean() ** 0.5),
        "force_largest_weights": float(report.gentleness.max()),
        "effort": report.effort,
        "cut_steps": report.cuts,
        "step_seconds": report.step_seconds,
    }


def _rows(document: dict[str, Any]) -> dict[str, str]:
    d = document
    missed = _percent(d["outside_basis_sizes"])
    rows = {
        "body": f"{d['vertices']} vertices, {d['tets']} tets, in {d['basis']} coordinates",
        "motion": f"{d['frames']} frames, {d['dt_s']:.4g} s apart; the basis misses it by {missed}",
        "without control": _off(d["uncontrolled"]),
        "with control": _off(d["controlled"]),
    }
    if d["controlled"]:
        c = d["controlled"]
        rows["added force"] = f"{c['force_rms_weights']:.3g} weights (rms), {c['force_largest_weights']:.3g} at most"
        rows["took"] = f"gains {d['gain_seconds']:.2f} s, a step {1e6 * c['step_seconds']:.0f} µs"
        if c["cut_steps"]:
            rows["note"] = f"{c['cut_steps']} steps were cut into parts to converge: pushed beyond small deviations"
    if d["seam_sizes"] is not None:
        rows["seam"] = f"{_percent(d['seam_sizes'])} from the last frame to the first"
    rows["written"] = written(d["outputs"])
    return rows


def _off(told: dict[str, Any] | None) -> str:
    if told is None:
        return "pushed beyond what its model can do"
    mean, most, end = (told[f"error_{name}_sizes"] for name in ("rms", "largest", "final"))
    return f"off by {_percent(mean)} (rms), {100 * most:.3g} % at worst, {100 * end:.3g} % at the end"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} % of the size"
