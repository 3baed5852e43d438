"""The application: its commands, and what happens when one of them fails."""

from __future__ import annotations

from typing import Annotated

import typer

from cajole.cli.bench import bench
from cajole.cli.command import CajoleCommand
from cajole.cli.convert import convert
from cajole.cli.demo import demo
from cajole.cli.edit import edit
from cajole.cli.enrich import enrich
from cajole.cli.info import info
from cajole.cli.keyframe import keyframe
from cajole.cli.modes import modes
from cajole.cli.output import CajoleGroup
from cajole.cli.picture import picture
from cajole.cli.pose import pose
from cajole.cli.reroute import reroute
from cajole.cli.run import run
from cajole.cli.scenes import scenes
from cajole.cli.simulate import simulate
from cajole.cli.steer import steer
from cajole.cli.studio import studio

app = typer.Typer(cls=CajoleGroup, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False)

# commands by the heading under which the help lists them, in its order
_HELP_PANELS = {
    "Move a body": (simulate, pose, modes, keyframe, edit, steer, enrich, reroute),
    "See it": (studio, picture, scenes, demo),
    "Files": (run, info, convert),
    "The project": (bench,),
}
for _panel, _commands in _HELP_PANELS.items():
    for _command in _commands:
        # the studio reads and writes its own projects again and again
        app.command(rich_help_panel=_panel, cls=None if _command is studio else CajoleCommand)(_command)


def _print_version(value: bool) -> None:
    if value:
        import cajole

        typer.echo(f"cajole {cajole.__version__}")
        raise typer.Exit


@app.callback()
def cajole(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and leave.")
    ] = False,
) -> None:
    """Direct deformable simulations with gentle forces.

    A body is a built-in scene ([cyan]cajole scenes[/] lists them) or a mesh file of your own. Start here:

    [green]cajole simulate dinosaur --push "head: 0,0.03,0 weights for 0.3" --output wag.glb[/]

    Every command takes [cyan]--json[/] and explains itself with [cyan]--help[/].
    """
