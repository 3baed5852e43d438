"""`cajole reroute`: nodes of a mass-spring simulation are led along new paths."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cajole.cli import options
from cajole.cli.output import JsonOption, build_summary_table, print_result, show_progress

SPRINGS_PANEL, PILOT_PANEL, IMAGES_PANEL = "Springs of a file", "The pilot of a mesh", "Goals from sectional images"


def reroute(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SCENE|FILE",
            help="A scene to reroute (cloth, skirt, heart, heart_dragged); an animation, whose edges are taken as "
            "springs; or a mesh, which falls.",
        ),
    ],
    goal: Annotated[
        list[str] | None,
        typer.Option(
            metavar='"WHERE:FRAME:X,Y,Z"',
            help='Where vertices shall be at a frame: "7:60:0.1,0,0.4", or "7:60:+0,0,0.1" from where they are in the '
            "pilot. May be repeated. A scene has goals of its own.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(help="pattern (moves like the pilot), least-force (whatever it looks like) or paper (of 2007)."),
    ] = "pattern",
    within: Annotated[
        float | None, typer.Option(help="How near is near enough, in metres; 0.01, or what a scene asks for.")
    ] = None,
    limit: Annotated[float | None, typer.Option(help="The most force on any vertex, in newtons.")] = None,
    reach: Annotated[
        float | None,
        typer.Option(help="How far along springs neighbours are led too, in metres; 0 is the vertex alone."),
    ] = None,
    window: Annotated[
        int | None, typer.Option(help="Frames before a goal in which it is led; as far goals need when left out.")
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Also lead by the other methods, and tell.")] = False,
    stiffness: Annotated[
        float | None, typer.Option(help="Of every spring, N/m; 100.", rich_help_panel=SPRINGS_PANEL)
    ] = None,
    mass: Annotated[float | None, typer.Option(help="Of the whole net, kg; 1.", rich_help_panel=SPRINGS_PANEL)] = None,
    damping: Annotated[
        float | None, typer.Option(help="Of every spring, N s/m; 0.05.", rich_help_panel=SPRINGS_PANEL)
    ] = None,
    clamp: Annotated[
        float | None, typer.Option(help="How softly springs fold; 0.02.", rich_help_panel=SPRINGS_PANEL)
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHERE", help='Vertices held: "0,19", "x<5%". May be repeated.', rich_help_panel=SPRINGS_PANEL
        ),
    ] = None,
    frames: Annotated[int | None, typer.Option(help="How many; 120.", rich_help_panel=PILOT_PANEL)] = None,
    dt: options.DtOption = None,
    gravity: options.GravityOption = None,
    images: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER|PATTERN",
            help="Grey .png or .npy files of one stream: the body's section shall look as they do.",
            rich_help_panel=IMAGES_PANEL,
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="FRAME,FRAME,...", help="The frame of each image.", rich_help_panel=IMAGES_PANEL),
    ] = None,
    section: Annotated[
        str | None,
        typer.Option(
            metavar="ORIGIN:RIGHT:UP:PIXEL",
            help="Where they lie: the upper left pixel, the ways of rows and against columns, a pixel in metres: "
            '"-0.06,0,0.06:1,0,0:0,0,1:0.001".',
            rich_help_panel=IMAGES_PANEL,
        ),
    ] = None,
    align: Annotated[
        str | None,
        typer.Option(
            help="Lay contours over the body first: rigid, shift or none; rigid when left out.",
            rich_help_panel=IMAGES_PANEL,
        ),
    ] = None,
    level: Annotated[float | None, typer.Option(help="The grey of the contour.", rich_help_panel=IMAGES_PANEL)] = None,
    every: Annotated[
        int | None,
        typer.Option(
            help="Which of the vertices around the section are led; every second.", rich_help_panel=IMAGES_PANEL
        ),
    ] = None,
    pilot: Annotated[Path | None, typer.Option(help="Where to write the first run as well.", readable=False)] = None,
    output: options.OutputOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a mass-spring simulation again, with vertices led to where they should be.

    The forces that made an animation are found with it: give its springs as they were, and no gravity.

    [green]cajole reroute cloth --compare -o cloth.webp[/]

    [green]cajole reroute cloth --goal "399:50:+-0.1,0,0.1" --method least-force --limit 0.1 -o corner.npz[/]

    [green]cajole reroute heart --images "scan/*.png" --at 16,28 --section "-0.06,0,0.06:1,0,0:0,0,1:0.001" -o a.glb[/]

    [green]cajole reroute towel.obj --fixed "y>99%" --mass 0.2 --goal "@0,0,0:60:+0.1,0,0.1" -o towel.glb[/]
    """
    from cajole.cli.error_translation import translate_errors
    from cajole.cli.output_files import require_writable, write_result
    from cajole.cli.reroute_io import (
        RerouteSourceOptions,
        SectionImageOptions,
        collect_goals,
        describe_reroute,
        format_reroute_rows,
    )
    from cajole.direct.rerouting import reroute as rerouted
    from cajole.scenes.reroute_scenes import require_scene_packages

    outputs = output or []
    require_writable([*outputs, *([pilot] if pilot else [])])
    springs = {"stiffness": stiffness, "mass": mass, "damping": damping, "clamp": clamp}
    asked = RerouteSourceOptions(source, springs, tuple(fixed or ()), frames, dt, gravity)
    stream = SectionImageOptions(images, at, section, align, level, every)
    stream.require_packages()
    require_scene_packages(source)
    with translate_errors(), show_progress(source) as progress:
        stage = asked.load_scene(progress)
        seen = stream.compute_goals(stage.pilot, window)
        goals = collect_goals(goal or [], stage.pilot, stage.goals, window, seen)
        said = {"within": within, "limit": limit, "reach": reach}
        chosen = {name: value for name, value in said.items() if value is not None}
        result = rerouted(
            stage.net, stage.pilot, goals, method, compare=compare, progress=progress,
            **{**stage.reroute_options, **chosen},
        )  # fmt: skip
        for path in outputs:
            write_result(result.animation, path, camera=stage.camera, progress=progress)
        if pilot is not None:
            write_result(stage.pilot, pilot, camera=stage.camera, progress=progress)
    document = describe_reroute(source, stage.net, result)
    document["notes"] = [*stage.pilot.mesh.notes, *document["notes"]]
    document["outputs"] = [str(path) for path in (*outputs, pilot) if path is not None]
    print_result(document, build_summary_table(f"Rerouted {source}", format_reroute_rows(document)), as_json=as_json)
