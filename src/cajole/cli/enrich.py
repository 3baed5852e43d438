"""`cajole enrich`: a rough animation becomes a thin shell that follows it on average, and folds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.output import JsonOption, build_summary_table, print_result, show_progress

if TYPE_CHECKING:
    from cajole.animation import Animation
    from cajole.body import BodyShell
    from cajole.direct.enriching import EnrichResult

REGIONS_PANEL, FORCES_PANEL = "What follows the guide", "What acts on it"


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
            rich_help_panel=options.MATERIAL_PANEL,
        ),
    ] = None,
    subdivide: Annotated[
        int | None,
        typer.Option(
            metavar="LEVELS",
            help="The shell is the guide's mesh with every edge halved so often: 3, say. Around each guide vertex the "
            "mean is the guide's.",
            rich_help_panel=REGIONS_PANEL,
        ),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            help="The means of so many patches of the mesh, found from the motion, are the guide's. With --subdivide "
            "of the finer mesh.",
            rich_help_panel=REGIONS_PANEL,
        ),
    ] = None,
    mu: Annotated[
        float | None,
        typer.Option(help="1 for round patches, 0 for flat ones; 0.5 when left out.", rich_help_panel=REGIONS_PANEL),
    ] = None,
    fine: Annotated[
        Path | None,
        typer.Option(
            metavar="MESH",
            help="The shell is a mesh of its own, joined to the guide by paint.",
            rich_help_panel=REGIONS_PANEL,
        ),
    ] = None,
    paint_guide: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labels of the guide's vertices or triangles: an .npy, or a .txt with one on each line; whole numbers "
            "or words, -1 for none. What has the same label on both has the same mean.",
            rich_help_panel=REGIONS_PANEL,
        ),
    ] = None,
    paint_fine: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Those of the --fine mesh.", rich_help_panel=REGIONS_PANEL)
    ] = None,
    paint_on: Annotated[
        str | None,
        typer.Option(
            metavar="vertices|triangles",
            help="What labels are of, where a mesh has as many of both; vertices,triangles for those of the guide and "
            "those of --fine.",
            rich_help_panel=REGIONS_PANEL,
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
    output: options.OutputOption = None,
    fixed: options.FixedOption = None,
    undeformed: Annotated[
        str | None,
        typer.Option(
            metavar="KIND:SIZES",
            help='The shape free of stress, in metres: "accordion:AMPLITUDE,WAVELENGTH", '
            '"ridges:HEIGHT,SPACING,WIDTH", both with " along X,Y,Z" behind; "crinkle:AMPLITUDE,SCALE". The mesh '
            "when left out.",
            rich_help_panel=options.BODY_PANEL,
        ),
    ] = None,
    young: options.YoungOption = None,
    poisson: options.PoissonOption = None,
    thickness: options.ThicknessOption = None,
    density: options.DensityOption = None,
    damping: options.DampingOption = None,
    plastic: Annotated[
        str | None,
        typer.Option(
            metavar="CURVATURE[,HARDENING]",
            help="Folds sharper than this stay, 1/m; there the shell hardens, or softens below zero, m.",
            rich_help_panel=options.MATERIAL_PANEL,
        ),
    ] = None,
    gravity: options.GravityOption = None,
    wind: Annotated[
        str | None, typer.Option(metavar="X,Y,Z", help="Velocity of the air, m/s.", rich_help_panel=FORCES_PANEL)
    ] = None,
    gusts: Annotated[
        str | None,
        typer.Option(
            metavar="STRENGTH[,SCALE]", help="Of the air, m/s (root mean square) and m.", rich_help_panel=FORCES_PANEL
        ),
    ] = None,
    pressure: Annotated[
        float | None,
        typer.Option(
            metavar="PASCAL", help="Along the shell's normals; below zero it sucks.", rich_help_panel=FORCES_PANEL
        ),
    ] = None,
    collisions: Annotated[
        str | None,
        typer.Option(
            metavar="fast|exact",
            help="Nothing passes through anything: fast, with means as near as contacts let them be, or exact, some "
            "ten times slower.",
            rich_help_panel=FORCES_PANEL,
        ),
    ] = None,
    collider: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ground|FILE",
            help="What the shell bumps into besides itself: the plane z = 0, or at ground:HEIGHT in metres, a mesh, an "
            "animation. May be repeated.",
            rich_help_panel=FORCES_PANEL,
        ),
    ] = None,
    friction: Annotated[
        float | None, typer.Option(help="Of collisions, also between folds; 0.3.", rich_help_panel=FORCES_PANEL)
    ] = None,
    distance: Annotated[
        float | None,
        typer.Option(
            metavar="METRES",
            help="How near surfaces come before they push; a tenth of an edge, or the thickness where that is more.",
            rich_help_panel=FORCES_PANEL,
        ),
    ] = None,
    mesh: options.MeshOption = None,
    fps: options.FpsOption = None,
    prim: options.PrimOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a thin shell follow a rough animation on average; its material makes the folds.

    Begin with the guide's own mesh, subdivided. A stiffer or thicker shell has fewer and wider folds, fewer regions
    leave more to it. What is left out is cloth: --young 2e4 --thickness 2e-3 --density 300 --damping 0.5,1e-3.

    [green]cajole enrich rough.usdc --subdivide 3 --gravity 9.81 -o folds.usdc -o folds.webp[/]

    [green]cajole enrich bag --material silk --collisions fast -o silk.webp[/]

    [green]cajole enrich flag.glb --subdivide 3 --clusters 20 --wind 6,0,0 --gusts 2 --plastic 40 -o flag.npz[/]
    """
    from cajole.animation import read_animation
    from cajole.cli.enrich_io import (
        EnrichCollisionOptions,
        EnrichRegionOptions,
        build_air_loads,
        check_scene_options,
        is_enrich_scene,
        parse_gusts,
        parse_shell_options,
        run_enrich_scene,
    )
    from cajole.cli.error_translation import translate_errors
    from cajole.cli.number_parsers import parse_vector
    from cajole.cli.output_files import require_writable, write_result
    from cajole.direct import enrich as enriched
    from cajole.direct.enriching.guide import extract_guide

    outputs = output or []
    require_writable(outputs)
    check_scene_options(source, _find_given_options(context))
    contacts = EnrichCollisionOptions(collisions, tuple(collider or ()), friction, distance)
    stepping = _parse_step_options(dt, newton, frames, gravity) | ({"tracked": False} if left_alone else {})
    if is_enrich_scene(source):
        with translate_errors(), show_progress(source) as progress:
            met = {
                name: value for name, value in contacts.load_keyword_arguments(progress).items() if name != "colliders"
            }
            guide, cloth, result, view = run_enrich_scene(source, material, {**stepping, **met}, progress)
            for path in outputs:
                write_result(result.animation, path, camera=view, progress=progress)
        _print_enrich_result(source, guide, cloth, result, outputs, as_json)
        return
    regions_asked = EnrichRegionOptions(subdivide, fine, paint_guide, paint_fine, paint_on, clusters, mu, seed)
    made_of = {"young": young, "poisson": poisson, "thickness": thickness, "density": density}
    with translate_errors():
        asked = parse_shell_options(made_of, damping, plastic, undeformed, fixed, seed)
    air, puffs = None if wind is None else parse_vector(wind, "--wind"), parse_gusts(gusts)
    with translate_errors(), show_progress(Path(source).name) as progress:
        chosen = {} if prim is None else {"prim": prim}
        guide = extract_guide(read_animation(source, mesh=mesh, fps=fps, progress=progress, **chosen))
        followed, regions = regions_asked.build_regions(guide, progress)
        cloth = asked.build_shell(regions.fine_mesh)
        forces = build_air_loads(cloth.mesh, air, puffs, pressure, seed)
        met = contacts.load_keyword_arguments(progress)
        result = enriched(followed, cloth, regions, forces=forces, progress=progress, **stepping, **met)
        for path in outputs:
            write_result(result.animation, path, camera={}, progress=progress)
    _print_enrich_result(source, guide, cloth, result, outputs, as_json)


def _find_given_options(context: typer.Context) -> list[str]:
    """Options that were given, by their names in Python."""
    found = ((name, context.get_parameter_source(name)) for name in context.params)
    return [name for name, where in found if where is not None and where.name != "DEFAULT"]


def _parse_step_options(dt: str | None, newton: int | None, frames: int | None, gravity: str | None) -> dict[str, Any]:
    """The keywords of `enrich` that are said."""
    from cajole import checks
    from cajole.cli import force_parsers
    from cajole.cli.number_parsers import parse_seconds

    asked: dict[str, Any] = {}
    if dt is not None:
        asked["dt"] = checks.require_positive(parse_seconds(dt, "--dt"), "--dt")
    if newton is not None:
        asked["newton"] = checks.require_integer(newton, "--newton")
    if frames is not None:
        asked["frames"] = checks.require_integer(frames, "--frames")
    if gravity is not None:  # "none" is said, too
        asked["gravity"] = force_parsers.parse_gravity(gravity)
    return asked


def _print_enrich_result(
    source: str, guide: Animation, cloth: BodyShell, result: EnrichResult, outputs: list[Path], as_json: bool
) -> None:
    from cajole.cli.enrich_io import describe_enrich, format_enrich_rows

    document = describe_enrich(source, guide, cloth, result) | {"outputs": [str(path) for path in outputs]}
    print_result(
        document, build_summary_table(f"Enriched {Path(source).name}", format_enrich_rows(document)), as_json=as_json
    )
