"""`cajole enrich`: a rough animation becomes a thin shell that follows it on average, and folds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.about import note_rows
from cajole.cli.output import Json, answer, facts, working, written

if TYPE_CHECKING:
    from cajole.animation import Animation
    from cajole.body import BodyShell
    from cajole.direct.enriching import EnrichResult

REGIONS, AROUND = "What follows the guide", "What acts on it"


def enrich(
    source: Annotated[Path, typer.Argument(metavar="GUIDE", help="A rough animation, in any format.")],
    subdivide: Annotated[
        int | None,
        typer.Option(
            metavar="LEVELS",
            help="The shell is the guide's mesh with every edge halved so often: 3, say. Around each guide vertex the "
            "mean is the guide's.",
            rich_help_panel=REGIONS,
        ),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            help="The means of so many patches of the mesh, found from the motion, are the guide's. With --subdivide "
            "of the finer mesh.",
            rich_help_panel=REGIONS,
        ),
    ] = None,
    mu: Annotated[
        float | None,
        typer.Option(help="1 for round patches, 0 for flat ones; 0.5 when left out.", rich_help_panel=REGIONS),
    ] = None,
    fine: Annotated[
        Path | None,
        typer.Option(
            metavar="MESH",
            help="The shell is a mesh of its own, joined to the guide by paint.",
            rich_help_panel=REGIONS,
        ),
    ] = None,
    paint_guide: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labels of the guide's vertices or triangles: an .npy, or a .txt with one on each line; whole numbers "
            "or words, -1 for none. What has the same label on both has the same mean.",
            rich_help_panel=REGIONS,
        ),
    ] = None,
    paint_fine: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Those of the --fine mesh.", rich_help_panel=REGIONS)
    ] = None,
    paint_on: Annotated[
        str | None,
        typer.Option(
            metavar="vertices|triangles",
            help="What labels are of, where a mesh has as many of both.",
            rich_help_panel=REGIONS,
        ),
    ] = None,
    dt: Annotated[str, typer.Option(metavar="SECONDS", help="The longest step: longer damps folds.")] = "1/240",
    newton: Annotated[int, typer.Option(help="Linear solves a step: 1, or up to 30 until it converges.")] = 1,
    frames: Annotated[
        int | None, typer.Option(help="How many; beyond the guide's end it stands, and the shell swings on.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of patches, gusts and crinkles: another number, another take.")] = 0,
    output: options.Outputs = None,
    fixed: options.Fixed = None,
    undeformed: Annotated[
        str | None,
        typer.Option(
            metavar="KIND:SIZES",
            help='The shape free of stress, in metres: "accordion:AMPLITUDE,WAVELENGTH", '
            '"ridges:HEIGHT,SPACING,WIDTH", both with " along X,Y,Z" behind; "crinkle:AMPLITUDE,SCALE". The mesh '
            "when left out.",
            rich_help_panel=options.BODY,
        ),
    ] = None,
    young: options.Young = None,
    poisson: options.Poisson = None,
    thickness: options.Thickness = None,
    density: options.Density = None,
    damping: options.Damping = None,
    plastic: Annotated[
        str | None,
        typer.Option(
            metavar="CURVATURE[,HARDENING]",
            help="Folds sharper than this stay, 1/m; there the shell hardens, or softens below zero, m.",
            rich_help_panel=options.MATERIAL,
        ),
    ] = None,
    gravity: options.Gravity = None,
    wind: Annotated[
        str | None, typer.Option(metavar="X,Y,Z", help="Velocity of the air, m/s.", rich_help_panel=AROUND)
    ] = None,
    gusts: Annotated[
        str | None,
        typer.Option(
            metavar="STRENGTH[,SCALE]", help="Of the air, m/s (root mean square) and m.", rich_help_panel=AROUND
        ),
    ] = None,
    collisions: Annotated[
        str | None,
        typer.Option(
            metavar="fast|exact",
            help="Nothing passes through anything: fast, with means as near as contacts let them be, or exact, some "
            "ten times slower.",
            rich_help_panel=AROUND,
        ),
    ] = None,
    collider: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ground|FILE",
            help="What the shell bumps into besides itself: the plane z = 0, a mesh, an animation. May be repeated.",
            rich_help_panel=AROUND,
        ),
    ] = None,
    friction: Annotated[
        float | None, typer.Option(help="Of collisions, also between folds; 0.3.", rich_help_panel=AROUND)
    ] = None,
    distance: Annotated[
        float | None,
        typer.Option(
            metavar="METRES",
            help="How near surfaces come before they push; a tenth of an edge.",
            rich_help_panel=AROUND,
        ),
    ] = None,
    mesh: options.MeshOf = None,
    fps: options.Fps = None,
    prim: options.Prim = None,
    as_json: Json = False,
) -> None:
    """Let a thin shell follow a rough animation on average; its material makes the folds.

    Begin with the guide's own mesh, subdivided. A stiffer or thicker shell has fewer and wider folds, fewer regions
    leave more to it. What is left out is cloth: --young 2e4 --thickness 2e-3 --density 300 --damping 0.5,1e-3.

    [green]cajole enrich rough.usdc --subdivide 3 --gravity 9.81 -o folds.usdc -o folds.webp[/]

    [green]cajole enrich flag.glb --subdivide 3 --clusters 20 --wind 6,0,0 --gusts 2 --plastic 40 -o flag.npz[/]
    """
    from cajole.animation import read_animation
    from cajole.cli.enriched import CollisionsAsked, RegionsAsked, cloth_asked, gusts_of, wind_on
    from cajole.cli.numbers import vector
    from cajole.cli.option_words import in_options
    from cajole.cli.saving import require_writable, save
    from cajole.direct import enrich as enriched
    from cajole.direct.enriching.guides import guide_of

    outputs = output or []
    require_writable(outputs)
    regions_asked = RegionsAsked(subdivide, fine, paint_guide, paint_fine, paint_on, clusters, mu, seed)
    material = {"young": young, "poisson": poisson, "thickness": thickness, "density": density}
    with in_options():
        asked = cloth_asked(material, damping, plastic, undeformed, fixed, seed)
    air, puffs = None if wind is None else vector(wind, "--wind"), gusts_of(gusts)
    contacts = CollisionsAsked(collisions, tuple(collider or ()), friction, distance)
    stepping = _stepping(dt, newton, frames, gravity)
    with in_options(), working(source.name) as progress:
        chosen = {} if prim is None else {"prim": prim}
        guide = guide_of(read_animation(source, mesh=mesh, fps=fps, progress=progress, **chosen))
        followed, regions = regions_asked.made(guide, progress)
        cloth = asked.made(regions.fine_mesh)
        forces = wind_on(cloth.mesh, air, puffs, seed)
        met = contacts.made(progress)
        result = enriched(followed, cloth, regions, forces=forces, progress=progress, **stepping, **met)
        for path in outputs:
            save(result.animation, path, camera={}, progress=progress)
    document = _document(source, guide, cloth, result) | {"outputs": [str(path) for path in outputs]}
    answer(document, facts(f"Enriched {source.name}", _rows(document)), as_json=as_json)


def _stepping(dt: str, newton: int, frames: int | None, gravity: str | None) -> dict[str, Any]:
    from cajole import checks
    from cajole.cli import pushes
    from cajole.cli.numbers import seconds

    return {
        "dt": checks.positive(seconds(dt, "--dt"), "--dt"),
        "newton": checks.count(newton, "--newton"),
        "frames": None if frames is None else checks.count(frames, "--frames"),
        "gravity": pushes.gravity(gravity),
    }


def _document(source: Path, guide: Animation, cloth: BodyShell, result: EnrichResult) -> dict[str, Any]:
    from dataclasses import asdict

    report, motion = result.report, result.animation
    return {
        "source": str(source),
        "guide_vertices": guide.n,
        "guide_frames": guide.frames,
        "vertices": motion.n,
        "triangles": len(cloth.mesh.triangles),
        "fixed": len(cloth.fixed),
        "mass_kg": cloth.total_mass,
        "regions": report.regions,
        "frames": motion.frames,
        "fps": motion.fps,
        "steps": report.steps,
        "newton_iterations": report.newton,
        "residual_sizes": report.residual,
        "gentleness_rms_weights": report.mean_gentleness,
        "gentleness_largest_weights": float(report.gentleness.max()),
        "gentleness_worst_frame": report.worst_frame,
        "yielded_edges": int((abs(result.cloth.plastic_angles) > 0).sum()),
        "edges": len(result.cloth.plastic_angles),
        "plastic": cloth.plasticity is not None,
        "collisions": None if report.collisions is None else asdict(report.collisions),
        "seconds": report.seconds,
        "notes": list(report.notes),
    }


def _rows(document: dict[str, Any]) -> dict[str, str]:
    d = document
    rms, most = d["gentleness_rms_weights"], d["gentleness_largest_weights"]
    rows = {
        "guide": f"{d['guide_vertices']} vertices, {d['guide_frames']} frames",
        "shell": f"{d['vertices']} vertices, {d['triangles']} triangles, {d['mass_kg']:.4g} kg, "
        f"{d['fixed'] or 'no'} vertices held",
        "follows": f"in the means of {d['regions']} regions, |g| at most {d['residual_sizes']:.2g} of its size",
        "gentleness": f"led with {rms:.3g} weights (rms), {most:.3g} at most (frame {d['gentleness_worst_frame']})",
        "motion": f"{d['frames']} frames at {d['fps']:.4g} frames/s, {d['steps']} steps, {d['newton_iterations']} "
        "linear solves",
    }
    if d["plastic"]:
        rows["folds"] = f"{d['yielded_edges']} of {d['edges']} edges stay bent"
    if d["collisions"]:
        c = d["collisions"]
        rows["collisions"] = (
            f"{c['kind']}, {c['contacts']} contacts at most, {c['truncations']} steps cut short, {c['intersections']} "
            "frames with intersections"
        )
    rows["took"] = f"{d['seconds']:.2f} s"
    rows["written"] = written(d["outputs"])
    return rows | note_rows(d["notes"])
