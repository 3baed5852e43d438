"""`cajole enrich`: a rough animation becomes a thin shell that follows it on average, and folds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.output import Json, answer, facts, working

if TYPE_CHECKING:
    from cajole.animation import Animation
    from cajole.body import BodyShell
    from cajole.direct.enriching import EnrichResult

REGIONS, AROUND = "What follows the guide", "What acts on it"


def enrich(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SCENE|GUIDE",
            help="A scene to enrich (flag, box, bag, walker), or a rough animation, in any format.",
        ),
    ],
    material: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which of its materials a scene becomes: vinyl, silk and so on of the bag; its first when left out.",
            rich_help_panel=options.MATERIAL,
        ),
    ] = None,
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
            help="What labels are of, where a mesh has as many of both; vertices,triangles for those of the guide and "
            "those of --fine.",
            rich_help_panel=REGIONS,
        ),
    ] = None,
    dt: Annotated[
        str | None,
        typer.Option(metavar="SECONDS", help="The longest step: longer damps folds. 1/240, or what a scene asks for."),
    ] = None,
    newton: Annotated[
        int | None, typer.Option(help="Linear solves a step: 1, or up to 30 until it converges. 1 when left out.")
    ] = None,
    frames: Annotated[
        int | None, typer.Option(help="How many; beyond the guide's end it stands, and the shell swings on.")
    ] = None,
    left_alone: Annotated[
        bool, typer.Option("--left-alone", help="From the same start, nothing leads the shell: to compare with.")
    ] = False,
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
    pressure: Annotated[
        float | None,
        typer.Option(metavar="PASCAL", help="Along the shell's normals; below zero it sucks.", rich_help_panel=AROUND),
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
            help="What the shell bumps into besides itself: the plane z = 0, or at ground:HEIGHT in metres, a mesh, an "
            "animation. May be repeated.",
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
            help="How near surfaces come before they push; a tenth of an edge, or the thickness where that is more.",
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

    [green]cajole enrich bag --material silk --collisions fast -o silk.webp[/]

    [green]cajole enrich flag.glb --subdivide 3 --clusters 20 --wind 6,0,0 --gusts 2 --plastic 40 -o flag.npz[/]
    """
    from cajole.animation import read_animation
    from cajole.cli.enrich_scenes import enriched_scene, is_scene, require_sayable
    from cajole.cli.enriched import CollisionsAsked, RegionsAsked, air_on, cloth_asked, gusts_of
    from cajole.cli.numbers import vector
    from cajole.cli.option_words import in_options
    from cajole.cli.saving import require_writable, save
    from cajole.direct import enrich as enriched
    from cajole.direct.enriching.guides import guide_of

    outputs = output or []
    require_writable(outputs)
    require_sayable(source, _said(context))
    contacts = CollisionsAsked(collisions, tuple(collider or ()), friction, distance)
    stepping = _stepping(dt, newton, frames, gravity) | ({"tracked": False} if left_alone else {})
    if is_scene(source):
        with in_options(), working(source) as progress:
            met = {name: value for name, value in contacts.made(progress).items() if name != "colliders"}
            guide, cloth, result, view = enriched_scene(source, material, {**stepping, **met}, progress)
            for path in outputs:
                save(result.animation, path, camera=view, progress=progress)
        _tell(source, guide, cloth, result, outputs, as_json)
        return
    regions_asked = RegionsAsked(subdivide, fine, paint_guide, paint_fine, paint_on, clusters, mu, seed)
    made_of = {"young": young, "poisson": poisson, "thickness": thickness, "density": density}
    with in_options():
        asked = cloth_asked(made_of, damping, plastic, undeformed, fixed, seed)
    air, puffs = None if wind is None else vector(wind, "--wind"), gusts_of(gusts)
    with in_options(), working(Path(source).name) as progress:
        chosen = {} if prim is None else {"prim": prim}
        guide = guide_of(read_animation(source, mesh=mesh, fps=fps, progress=progress, **chosen))
        followed, regions = regions_asked.made(guide, progress)
        cloth = asked.made(regions.fine_mesh)
        forces = air_on(cloth.mesh, air, puffs, pressure, seed)
        met = contacts.made(progress)
        result = enriched(followed, cloth, regions, forces=forces, progress=progress, **stepping, **met)
        for path in outputs:
            save(result.animation, path, camera={}, progress=progress)
    _tell(source, guide, cloth, result, outputs, as_json)


def _said(context: typer.Context) -> list[str]:
    """Options that were given, by their names in Python."""
    found = ((name, context.get_parameter_source(name)) for name in context.params)
    return [name for name, where in found if where is not None and where.name != "DEFAULT"]


def _stepping(dt: str | None, newton: int | None, frames: int | None, gravity: str | None) -> dict[str, Any]:
    """The keywords of `enrich` that are said."""
    from cajole import checks
    from cajole.cli import pushes
    from cajole.cli.numbers import seconds

    asked: dict[str, Any] = {}
    if dt is not None:
        asked["dt"] = checks.positive(seconds(dt, "--dt"), "--dt")
    if newton is not None:
        asked["newton"] = checks.count(newton, "--newton")
    if frames is not None:
        asked["frames"] = checks.count(frames, "--frames")
    if gravity is not None:  # "none" is said, too
        asked["gravity"] = pushes.gravity(gravity)
    return asked


def _tell(
    source: str, guide: Animation, cloth: BodyShell, result: EnrichResult, outputs: list[Path], as_json: bool
) -> None:
    from cajole.cli.enrich_telling import described, rows

    document = described(source, guide, cloth, result) | {"outputs": [str(path) for path in outputs]}
    answer(document, facts(f"Enriched {Path(source).name}", rows(document)), as_json=as_json)
