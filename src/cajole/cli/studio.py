"""`cajole studio`: direct in the browser, with the hand."""

from __future__ import annotations

import contextvars
import sys
from pathlib import Path
from typing import Annotated

import typer

from cajole.cli.output import JsonOption, print_result, show_compilation


def studio(
    source: Annotated[
        str | None, typer.Argument(metavar="SCENE|FILE", help="What to begin with: a scene, a mesh, an animation.")
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help="The verb to begin with: edit, keyframe, steer, enrich or reroute.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    port: Annotated[int | None, typer.Option(help="Where to listen; a free one when left out.")] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen at; other machines reach what is not of this one.")
    ] = "127.0.0.1",
    folder: Annotated[
        Path | None, typer.Option(help="Where projects are kept, in place of the user's own folder.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Open the studio: drag, pose and push bodies in the browser.

    Prints the address to open; Ctrl-C ends it. What is done there is kept at every step.

    [green]cajole studio[/]

    [green]cajole studio twist --no-browser --port 8000[/]
    """
    from cajole.studio import require_packages

    require_packages()
    from cajole.studio.server import serve

    here = contextvars.copy_context()  # the address is told from a thread, which does not know which command runs

    def announce(address: str) -> None:
        here.run(print_result, {"address": address}, "", as_json=True)
        sys.stdout.flush()

    told = announce if as_json else None
    with show_compilation():
        serve(source, mode=mode, host=host, port=port, browser=browser, folder=folder, announce=told)
