"""`cajole edit`: vertices of a finished animation are dragged, and the whole motion follows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cajole.cli import options
from cajole.cli.output import Json, answer, facts, working
from cajole.errors import FileError, InputError

if TYPE_CHECKING:
    from cajole.animation import Animation
    from cajole.cli.edited import Cast
    from cajole.cli.moves import Move
    from cajole.direct import Editor
    from cajole.progress import Progress

ENERGY = "The energy of the change"


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
    opened: Annotated[
        Path | None, typer.Option("--edit", metavar="FILE", help="Go on with an edit that was saved (.json).")
    ] = None,
    saved: Annotated[
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
        str | None, typer.Option(help='"fixed" keeps the last two frames, "free" lets them go.', rich_help_panel=ENERGY)
    ] = None,
    energy: Annotated[
        str | None,
        typer.Option(help='"forces": the change swings as the body does; "smooth": it fades.', rich_help_panel=ENERGY),
    ] = None,
    smoothness: Annotated[
        float | None, typer.Option(help="Of the smooth energy: more reaches farther in time.", rich_help_panel=ENERGY)
    ] = None,
    h: Annotated[
        str | None,
        typer.Option(metavar="SECONDS", help="Its timestep: smaller, and changes last longer.", rich_help_panel=ENERGY),
    ] = None,
    damping: Annotated[
        str | None,
        typer.Option(metavar="ALPHA,BETA", help="Of the change, not of the motion: 1/s, s.", rich_help_panel=ENERGY),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(metavar="FIRST:LAST", help="Frames outside stay as they are.", rich_help_panel=ENERGY),
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(metavar="WHERE", help="Vertices outside stay as they are.", rich_help_panel=ENERGY),
    ] = None,
    warp: Annotated[
        str | None,
        typer.Option(help='"composition", "additive" as in the paper, "none".', rich_help_panel=ENERGY),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Let a body that is not held move as a whole.", rich_help_panel=ENERGY)
    ] = False,
    body: Annotated[
        str | None,
        typer.Option(
            metavar="solid|shell|around|SCENE|FILE",
            help="What moves: the animation's tets, its triangles as a shell, cells around them; or the scene or mesh "
            "file that was simulated. What suits the motion when left out.",
            rich_help_panel=options.BODY,
        ),
    ] = None,
    fixed: options.Fixed = None,
    tets: options.Tets = None,
    cells: options.Cells = 24,
    young: options.Young = None,
    poisson: options.Poisson = None,
    density: options.Density = None,
    thickness: options.Thickness = None,
    mesh: options.MeshOf = None,
    fps: options.Fps = None,
    prim: options.Prim = None,
    output: options.Outputs = None,
    as_json: Json = False,
) -> None:
    """Drag vertices of a finished animation; all frames follow with the least forces.

    [green]cajole simulate dinosaur --push "head: 0,0.1,0 weights for 0.3" -o wag.npz[/]

    [green]cajole edit wag.npz --body dinosaur --drag "@head:40:+0,0,0.3" -o nod.glb --save-edit nod.json[/]

    [green]cajole edit twist -o twisted.html[/]

    [green]cajole edit walk.usdc --drag "@0.1,0,1.6:24:z=1.5" --contacts ground -o walk2.usdc[/]
    """
    from cajole.cli.edit_scenes import require_sayable, staged
    from cajole.cli.edit_telling import described, rows
    from cajole.cli.edited import cast, chosen

    outputs = output or []
    _require_targets(outputs, saved)
    asked = options.Asked(body or "", fixed, tets, cells, young, poisson, density)
    scene = require_sayable(source, asked, {"thickness": thickness, "mesh": mesh, "fps": fps, "prim": prim})
    if not (drag or pin or tie or script or opened or scene):
        raise InputError(
            "nothing is edited: say what to --drag, as in 7:20:+0,0,0.1, or to --pin or --tie, or --script"
        )
    given = {"ends": ends, "energy": energy, "smoothness": smoothness}
    with working(Path(source).name) as progress:
        stage = staged(source, progress) if scene else None
        animation = _read(Path(source), mesh, fps, prim, progress) if stage is None else stage.animation
        played = cast(animation, asked, thickness, progress) if stage is None else stage.cast
        moves = _moves(animation, played, pin or [], tie or [], script, drag or [])
        moves = moves if moves or stage is None or opened else stage.moves
        settings = _kept(given | _numbers(h, damping, window))
        part = chosen(animation, region or [], played.parts)
        made = _kept({"modes": modes, "warp": warp, "region": part, "whole": whole or None})
        own = {} if stage is None or opened is not None else stage.settings
        editor = _opened(animation, played, contacts or [], opened, own, settings, made, progress)
        for k, move in enumerate(moves):
            progress(k / len(moves), "dragging")
            move(editor)
        _write(editor, played, outputs, saved, progress)
    document = described(source, editor) | {"outputs": [str(p) for p in (*outputs, saved) if p is not None]}
    answer(document, facts(f"Edited {Path(source).name}", rows(document)), as_json=as_json)


def _require_targets(outputs: list[Path], saved: Path | None) -> None:
    from cajole.cli.saving import require_writable
    from cajole.storage import require_place

    require_writable(outputs)
    if saved is None:
        return
    if saved.suffix.lower() != ".json":
        raise FileError(f"--save-edit {saved}: an edit is a .json file")
    require_place(saved)


def _read(source: Path, mesh: Path | None, fps: float | None, prim: str | None, progress: Progress) -> Animation:
    from cajole.animation import read_animation

    return read_animation(source, mesh=mesh, fps=fps, progress=progress, **_kept({"prim": prim}))


def _kept(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _moves(
    animation: Animation, cast: Cast, pins: list[str], ties: list[str], script: Path | None, drags: list[str]
) -> list[Move]:
    from cajole.cli.moves import Reader

    reader = Reader(animation, cast.parts)
    first = [("pin", text) for text in pins] + [("tie", text) for text in ties]
    return [
        *(reader.move(verb, [text]) for verb, text in first),
        *(reader.script(script) if script is not None else []),
        *(reader.move("drag", [text]) for text in drags),
    ]


def _numbers(h: str | None, damping: str | None, window: str | None) -> dict[str, Any]:
    from cajole.cli.edited import frames_of
    from cajole.cli.numbers import pair, seconds

    return {
        "h": None if h is None else seconds(h, "--h"),
        "damping": None if damping is None else pair(damping, "--damping"),
        "window": None if window is None else frames_of(window, "--window"),
    }


def _opened(
    animation: Animation, cast: Cast, contacts: list[str], file: Path | None, own: Mapping[str, Any],
    settings: dict[str, Any], made: dict[str, Any], progress: Progress,
) -> Editor:  # fmt: skip
    """An editor as asked, else with a scene's own settings; or the one of a file with the settings that are given."""
    from cajole.cli.edited import touched
    from cajole.direct import edit as editing
    from cajole.direct import load_edit

    given: dict[str, Any] = {"contacts": touched(animation, contacts, progress), "fixed": cast.fixed}
    if file is None:
        return editing(animation, cast.body, progress=progress, **{**own, **_kept(given), **settings, **made})
    if made:
        raise InputError(f"--{next(iter(made))} is in {file} already; leave it out, or begin a new edit without --edit")
    editor = load_edit(file, animation, cast.body, **given, progress=progress)
    if settings:
        editor.tune(**settings)
    return editor


def _write(editor: Editor, cast: Cast, outputs: list[Path], saved: Path | None, progress: Progress) -> None:
    from cajole.cli.saving import save
    from cajole.direct import save_edit
    from cajole.progress import portion

    if outputs:
        animation = editor.animation(progress=portion(progress, 0.0, 0.5))
        for path in outputs:
            save(animation, path, camera=cast.camera, progress=portion(progress, 0.5, 1.0))
    if saved is not None:
        save_edit(editor, saved)
