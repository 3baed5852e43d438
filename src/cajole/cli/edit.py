"""`cajole edit`: vertices of a finished animation are dragged, and the whole motion follows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.output import JsonOption, build_summary_table, print_result, show_progress
from cajole.errors import FileError, InputError

if TYPE_CHECKING:
    from cajole.animation import Animation
    from cajole.cli.edit_io import EditBodySetup
    from cajole.cli.edit_parser import EditOperation
    from cajole.direct import Editor
    from cajole.progress import ProgressCallback

ENERGY_PANEL = "The energy of the change"


def edit(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SCENE|FILE",
            help="A finished animation, in any format; or a scene to edit (twist, stairs, bird, bridge, bridge-pulled, "
            "curtain), which has drags of its own.",
        ),
    ],
    drag: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHERE:FRAME:X,Y,Z",
            help='Put a vertex somewhere in a frame, metres: "7:20:0,0.1,0.4"; "7:20:+0,0,0.1" from where it is; '
            '"7:20:z=0.4" in z alone. WHERE: as for --fixed, or one vertex: "@head", in the middle of it, "@x,y,z", '
            "nearest to a point at rest. May be repeated.",
        ),
    ] = None,
    pin: Annotated[
        list[str] | None,
        typer.Option(metavar="WHERE:FRAME", help="Keep vertices where they are in a frame. May be repeated."),
    ] = None,
    tie: Annotated[
        list[str] | None,
        typer.Option(
            metavar="V:W:FRAME[:X,Y,Z]",
            help="Keep a vertex at an offset from another, the one they have unless given. May be repeated.",
        ),
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Drags in order, one on a line: "drag 7:20:0,0,1 8:20:0,0,1" (together); also pin, tie, release; # is '
            "a comment. --pin and --tie come before it, --drag after it.",
        ),
    ] = None,
    edit_file: Annotated[
        Path | None, typer.Option("--edit", metavar="FILE", help="Go on with an edit that was saved (.json).")
    ] = None,
    save_file: Annotated[
        Path | None,
        typer.Option(
            "--save-edit", metavar="FILE", help="Keep the edit, to go on another time (.json).", readable=False
        ),
    ] = None,
    contacts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ground|self|FILE",
            help="Keep what touches in touch: with the plane z = 0, with itself, or with a mesh. May be repeated.",
        ),
    ] = None,
    modes: Annotated[
        int | None, typer.Option(help="Vibrations that the change is made of: 500, or all there are.")
    ] = None,
    ends: Annotated[
        str | None,
        typer.Option(help='"fixed" keeps the last two frames, "free" lets them go.', rich_help_panel=ENERGY_PANEL),
    ] = None,
    energy: Annotated[
        str | None,
        typer.Option(
            help='"forces": the change swings as the body does; "smooth": it fades.', rich_help_panel=ENERGY_PANEL
        ),
    ] = None,
    smoothness: Annotated[
        float | None,
        typer.Option(help="Of the smooth energy: more reaches farther in time.", rich_help_panel=ENERGY_PANEL),
    ] = None,
    h: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS", help="Its timestep: smaller, and changes last longer.", rich_help_panel=ENERGY_PANEL
        ),
    ] = None,
    damping: Annotated[
        str | None,
        typer.Option(
            metavar="ALPHA,BETA", help="Of the change, not of the motion: 1/s, s.", rich_help_panel=ENERGY_PANEL
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(metavar="FIRST:LAST", help="Frames outside stay as they are.", rich_help_panel=ENERGY_PANEL),
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(metavar="WHERE", help="Vertices outside stay as they are.", rich_help_panel=ENERGY_PANEL),
    ] = None,
    warp: Annotated[
        str | None,
        typer.Option(help='"composition", "additive" as in the paper, "none".', rich_help_panel=ENERGY_PANEL),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Let a body that is not held move as a whole.", rich_help_panel=ENERGY_PANEL)
    ] = False,
    body: Annotated[
        str | None,
        typer.Option(
            metavar="solid|shell|around|SCENE|FILE",
            help="What moves: the animation's tets, its triangles as a shell, cells around them; or the scene or mesh "
            "file that was simulated. What suits the motion when left out.",
            rich_help_panel=options.BODY_PANEL,
        ),
    ] = None,
    fixed: options.FixedOption = None,
    tets: options.TetsOption = None,
    cells: options.CellsOption = 24,
    young: options.YoungOption = None,
    poisson: options.PoissonOption = None,
    density: options.DensityOption = None,
    thickness: options.ThicknessOption = None,
    mesh: options.MeshOption = None,
    fps: options.FpsOption = None,
    prim: options.PrimOption = None,
    output: options.OutputOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drag vertices of a finished animation; all frames follow with the least forces.

    [green]cajole simulate dinosaur --push "head: 0,0.1,0 weights for 0.3" -o wag.npz[/]

    [green]cajole edit wag.npz --body dinosaur --drag "@head:40:+0,0,0.3" -o nod.glb --save-edit nod.json[/]

    [green]cajole edit twist -o twisted.html[/]

    [green]cajole edit walk.usdc --drag "@0.1,0,1.6:24:z=1.5" --contacts ground -o walk2.usdc[/]
    """
    from cajole.cli.edit_io import (
        build_edit_body,
        check_scene_options,
        describe_edit,
        format_edit_rows,
        prepare_edit_scene,
        select_vertex_union,
    )

    outputs = output or []
    _require_output_files(outputs, save_file)
    asked = options.BodyOptions(body or "", fixed, tets, cells, young, poisson, density)
    scene = check_scene_options(source, asked, {"thickness": thickness, "mesh": mesh, "fps": fps, "prim": prim})
    if not (drag or pin or tie or script or edit_file or scene):
        raise InputError(
            "nothing is edited: say what to --drag, as in 7:20:+0,0,0.1, or to --pin or --tie, or --script"
        )
    given = {"ends": ends, "energy": energy, "smoothness": smoothness}
    with show_progress(Path(source).name) as progress:
        stage = prepare_edit_scene(source, progress) if scene else None
        animation = (
            _read_source_animation(Path(source), mesh, fps, prim, progress) if stage is None else stage.animation
        )
        played = build_edit_body(animation, asked, thickness, progress) if stage is None else stage.edit_body
        moves = _parse_operations(animation, played, pin or [], tie or [], script, drag or [])
        moves = moves if moves or stage is None or edit_file else stage.operations
        settings = _drop_none(given | _parse_energy_options(h, damping, window))
        part = select_vertex_union(animation, region or [], played.parts)
        made = _drop_none({"modes": modes, "warp": warp, "region": part, "whole": whole or None})
        own = {} if stage is None or edit_file is not None else stage.settings
        editor = _create_editor(animation, played, contacts or [], edit_file, own, settings, made, progress)
        for k, move in enumerate(moves):
            progress(k / len(moves), "dragging")
            move(editor)
        _write_results(editor, played, outputs, save_file, progress)
    document = describe_edit(source, editor) | {"outputs": [str(p) for p in (*outputs, save_file) if p is not None]}
    print_result(
        document, build_summary_table(f"Edited {Path(source).name}", format_edit_rows(document)), as_json=as_json
    )


def _require_output_files(outputs: list[Path], save_file: Path | None) -> None:
    from cajole.cli.output_files import require_writable
    from cajole.storage import require_writable_path

    require_writable(outputs)
    if save_file is None:
        return
    if save_file.suffix.lower() != ".json":
        raise FileError(f"--save-edit {save_file}: an edit is a .json file")
    require_writable_path(save_file)


def _read_source_animation(
    source: Path, mesh: Path | None, fps: float | None, prim: str | None, progress: ProgressCallback
) -> Animation:
    from cajole.animation import read_animation

    return read_animation(source, mesh=mesh, fps=fps, progress=progress, **_drop_none({"prim": prim}))


def _drop_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _parse_operations(
    animation: Animation,
    edit_body: EditBodySetup,
    pins: list[str],
    ties: list[str],
    script: Path | None,
    drags: list[str],
) -> list[EditOperation]:
    from cajole.cli.edit_parser import EditOperationParser

    reader = EditOperationParser(animation, edit_body.parts)
    first = [("pin", text) for text in pins] + [("tie", text) for text in ties]
    return [
        *(reader.parse_operation(verb, [text]) for verb, text in first),
        *(reader.read_script(script) if script is not None else []),
        *(reader.parse_operation("drag", [text]) for text in drags),
    ]


def _parse_energy_options(h: str | None, damping: str | None, window: str | None) -> dict[str, Any]:
    from cajole.cli.edit_io import parse_frame_range
    from cajole.cli.number_parsers import parse_pair, parse_seconds

    return {
        "h": None if h is None else parse_seconds(h, "--h"),
        "damping": None if damping is None else parse_pair(damping, "--damping"),
        "window": None if window is None else parse_frame_range(window, "--window"),
    }


def _create_editor(
    animation: Animation,
    edit_body: EditBodySetup,
    contacts: list[str],
    edit_file: Path | None,
    scene_settings: Mapping[str, Any],
    settings: dict[str, Any],
    build_options: dict[str, Any],
    progress: ProgressCallback,
) -> Editor:
    """An editor as asked, else with a scene's own settings; or the one of a file with the settings that are given."""
    from cajole.cli.edit_io import collect_contacts
    from cajole.direct import edit as editing
    from cajole.direct import load_edit

    given: dict[str, Any] = {"contacts": collect_contacts(animation, contacts, progress), "fixed": edit_body.fixed}
    if edit_file is None:
        return editing(
            animation,
            edit_body.body,
            progress=progress,
            **{**scene_settings, **_drop_none(given), **settings, **build_options},
        )
    if build_options:
        raise InputError(
            f"--{next(iter(build_options))} is in {edit_file} already; leave it out, or begin a new edit without --edit"
        )
    editor = load_edit(edit_file, animation, edit_body.body, **given, progress=progress)
    if settings:
        editor.tune(**settings)
    return editor


def _write_results(
    editor: Editor, edit_body: EditBodySetup, outputs: list[Path], save_file: Path | None, progress: ProgressCallback
) -> None:
    from cajole.cli.output_files import write_result
    from cajole.direct import save_edit
    from cajole.progress import build_subprogress

    if outputs:
        animation = editor.animation(progress=build_subprogress(progress, 0.0, 0.5))
        for path in outputs:
            write_result(animation, path, camera=edit_body.camera, progress=build_subprogress(progress, 0.5, 1.0))
    if save_file is not None:
        save_edit(editor, save_file)
