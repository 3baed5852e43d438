"""`cajole info`: what a file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cajole.cli.output import Json, answer


def info(
    file: Annotated[Path, typer.Argument(help="A mesh or an animation; a folder is a sequence of .obj files.")],
    mesh: Annotated[Path | None, typer.Option(help="The mesh that a .pc2 or .mdd belongs to.")] = None,
    as_json: Json = False,
) -> None:
    """Say what a file holds: format, frames, vertices, size, how far it moves.

    [green]cajole info wag.glb[/]

    [green]cajole info cache.pc2 --mesh body.obj --json[/]
    """
    from cajole.animation import info as summary

    found = summary(file, mesh=mesh)
    answer(found.as_dict(), str(found), as_json=as_json)
