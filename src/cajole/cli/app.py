"""The application: its commands, and what happens when one of them fails."""

from __future__ import annotations

from typing import Annotated

import typer

from cajole.cli.bench import bench
from cajole.cli.convert import convert
from cajole.cli.edit import edit
from cajole.cli.enrich import enrich
from cajole.cli.gallery.command import demo
from cajole.cli.info import info
from cajole.cli.inputs import Command
from cajole.cli.keyframe import keyframe
from cajole.cli.modes import modes
from cajole.cli.output import Guarded
from cajole.cli.picture import picture
from cajole.cli.pose import pose
from cajole.cli.reroute import reroute
from cajole.cli.run import run
from cajole.cli.scenes import scenes
from cajole.cli.simulate import simulate
from cajole.cli.steer import steer
from cajole.cli.studio import studio

app = typer.Typer(cls=Guarded, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False)

MOVE, LOOK, FILES, PROJECT = "Move a body", "See it", "Files", "The project"
app.command(rich_help_panel=MOVE, cls=Command)(simulate)
app.command(rich_help_panel=MOVE, cls=Command)(pose)
app.command(rich_help_panel=MOVE, cls=Command)(modes)
app.command(rich_help_panel=MOVE, cls=Command)(keyframe)
app.command(rich_help_panel=MOVE, cls=Command)(edit)
app.command(rich_help_panel=MOVE, cls=Command)(steer)
app.command(rich_help_panel=MOVE, cls=Command)(enrich)
app.command(rich_help_panel=MOVE, cls=Command)(reroute)
# the studio reads and writes its own projects again and again
app.command(rich_help_panel=LOOK)(studio)
app.command(rich_help_panel=LOOK, cls=Command)(picture)
app.command(rich_help_panel=LOOK, cls=Command)(scenes)
app.command(rich_help_panel=LOOK, cls=Command)(demo)
app.command(rich_help_panel=FILES, cls=Command)(run)
app.command(rich_help_panel=FILES, cls=Command)(info)
app.command(rich_help_panel=FILES, cls=Command)(convert)
app.command(rich_help_panel=PROJECT, cls=Command)(bench)


def _show_version(value: bool) -> None:
    if value:
        import cajole

        typer.echo(f"cajole {cajole.__version__}")
        raise typer.Exit


@app.callback()
def cajole(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and leave.")
    ] = False,
) -> None:
    """Direct deformable simulations with gentle forces.

    A body is a built-in scene ([cyan]cajole scenes[/] lists them) or a mesh file of your own. Start here:

    [green]cajole simulate dinosaur --push "head: 0,0.03,0 weights for 0.3" --output wag.glb[/]

    Every command takes [cyan]--json[/] and explains itself with [cyan]--help[/].
    """
