"""Arguments and options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cajole.progress import ProgressCallback
    from cajole.scenes import SceneBody

BODY_PANEL, MATERIAL_PANEL, READING_PANEL = "The body", "Its material", "Reading the animation"

SourceArgument = Annotated[
    str, typer.Argument(metavar="SCENE|FILE", help="A built-in scene, or a mesh file (a surface is filled with tets).")
]
FixedOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHERE",
        help='Vertices to hold instead of the scene\'s own: a part ("feet"), numbers ("0,4,7"), a region ("x<10%" of '
        'the length, "z>0.2 & x<1" in metres), a .bou file, or "none". May be repeated.',
        rich_help_panel=BODY_PANEL,
    ),
]
TetsOption = Annotated[
    int | None, typer.Option(help="About how many tets a scene shall have.", rich_help_panel=BODY_PANEL)
]
CellsOption = Annotated[
    int,
    typer.Option(help="Cells along the longest side when a surface is filled with tets.", rich_help_panel=BODY_PANEL),
]
ScaleOption = Annotated[
    float,
    typer.Option(
        metavar="METRES", help="Metres in the unit of a file: 0.001 for millimetres.", rich_help_panel=BODY_PANEL
    ),
]
UpOption = Annotated[
    str, typer.Option(help="The axis that points up in a file: z, or y, turned to z.", rich_help_panel=BODY_PANEL)
]
GravityOption = Annotated[
    str | None,
    typer.Option(
        metavar="G|X,Y,Z", help='Acceleration: "9.81" is down (-z), or a vector, m/s².', rich_help_panel=BODY_PANEL
    ),
]
DtOption = Annotated[
    str | None, typer.Option(metavar="SECONDS", help='Time between frames, "0.02" or "1/60", which is usual.')
]
YoungOption = Annotated[float | None, typer.Option(help="Young's modulus in Pa.", rich_help_panel=MATERIAL_PANEL)]
PoissonOption = Annotated[
    float | None, typer.Option(help="Poisson's ratio, below 0.5.", rich_help_panel=MATERIAL_PANEL)
]
DensityOption = Annotated[float | None, typer.Option(help="Density in kg/m³.", rich_help_panel=MATERIAL_PANEL)]
ThicknessOption = Annotated[float | None, typer.Option(help="Of a shell, in metres.", rich_help_panel=MATERIAL_PANEL)]
DampingOption = Annotated[
    str | None,
    typer.Option(
        metavar="ALPHA,BETA",
        help="Damping: alpha of mass in 1/s, beta of stiffness in s.",
        rich_help_panel=MATERIAL_PANEL,
    ),
]
MeshOption = Annotated[
    Path | None, typer.Option(help="The mesh that a .pc2 or .mdd belongs to.", rich_help_panel=READING_PANEL)
]
FpsOption = Annotated[
    float | None, typer.Option(help="Frames per second, instead of what it says.", rich_help_panel=READING_PANEL)
]
PrimOption = Annotated[
    str | None, typer.Option(help="Which mesh of a USD or GLB file with several.", rich_help_panel=READING_PANEL)
]
OutputOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        help="What to write, by suffix: an animation (.npz .glb .usdc .pc2 .mdd .obj), a page that plays it (.html), a "
        "loop (.webp .gif .mp4) or a still (.png .jpg). May be repeated.",
        readable=False,  # written, never read: that is how recipes know
    ),
]


# the options of a body, in the order in which help shows them, and what they are when left out
BODY_OPTIONS: dict[str, tuple[Any, Any]] = {
    "fixed": (FixedOption, None),
    "tets": (TetsOption, None),
    "cells": (CellsOption, 24),
    "young": (YoungOption, None),
    "poisson": (PoissonOption, None),
    "density": (DensityOption, None),
    "damping": (DampingOption, None),
    "scale": (ScaleOption, 1.0),
    "up": (UpOption, "z"),
}


@dataclass(frozen=True)
class BodyOptions:
    """The body that a command line asks for: its source, and the options of ABOUT_BODY."""

    source: str
    fixed: list[str] | None
    tets: int | None
    cells: int
    young: float | None
    poisson: float | None
    density: float | None
    damping: str | None = None
    scale: float = 1.0
    up: str = "z"

    @property
    def given_names(self) -> list[str]:
        """The options of the body that say something."""
        return [name for name, (_, usual) in BODY_OPTIONS.items() if getattr(self, name) not in (usual, None)]

    def load_scene_body(self, progress: ProgressCallback) -> SceneBody:
        """The scene or file, held and made as asked."""
        from cajole.cli.number_parsers import parse_pair
        from cajole.scenes import load_scene_body

        damping = None if self.damping is None else parse_pair(self.damping, "--damping")
        found = load_scene_body(
            self.source, tets=self.tets, cells=self.cells, scale=self.scale, up=self.up, progress=progress
        )
        return (
            found.with_fixed_vertices(self.fixed or [])
            .with_material(self.young, self.poisson, self.density)
            .with_damping(damping)
        )


def with_body_options(*, include_damping: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command whose first parameter is an Asked, as one that takes the source and the options of a body instead.

    damped: whether damping is among them.
    """
    about = {name: option for name, option in BODY_OPTIONS.items() if include_damping or name != "damping"}

    def expand(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(source: str, **given: Any) -> None:
            command(BodyOptions(source, **{name: given.pop(name) for name in about}), **given)

        signature = inspect.signature(command, eval_str=True)
        keyword = inspect.Parameter.KEYWORD_ONLY
        own = [parameter.replace(kind=keyword) for parameter in list(signature.parameters.values())[1:]]
        shared = [inspect.Parameter(name, keyword, annotation=a, default=d) for name, (a, d) in about.items()]
        # --json stands last in every command
        parameters = [inspect.Parameter("source", keyword, annotation=SourceArgument), *own[:-1], *shared, own[-1]]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return expand
