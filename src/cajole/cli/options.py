"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

BODY, MATERIAL = "The body", "Its material"

Source = Annotated[
    str, typer.Argument(metavar="SCENE|FILE", help="A built-in scene, or a mesh file (a surface is filled with tets).")
]
Fixed = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHERE",
        help='Vertices to hold instead of the scene\'s own: a part ("feet"), numbers ("0,4,7"), a region ("x<10%" of '
        'the length, "z>0.2 & x<1" in metres), a .bou file, or "none". May be repeated.',
        rich_help_panel=BODY,
    ),
]
Tets = Annotated[int | None, typer.Option(help="About how many tets a scene shall have.", rich_help_panel=BODY)]
Cells = Annotated[
    int, typer.Option(help="Cells along the longest side when a surface is filled with tets.", rich_help_panel=BODY)
]
Gravity = Annotated[
    str | None,
    typer.Option(metavar="G|X,Y,Z", help='Acceleration: "9.81" is down (-z), or a vector, m/s².', rich_help_panel=BODY),
]
Young = Annotated[float | None, typer.Option(help="Young's modulus in Pa.", rich_help_panel=MATERIAL)]
Poisson = Annotated[float | None, typer.Option(help="Poisson's ratio, below 0.5.", rich_help_panel=MATERIAL)]
Density = Annotated[float | None, typer.Option(help="Density in kg/m³.", rich_help_panel=MATERIAL)]
Damping = Annotated[
    str | None,
    typer.Option(
        metavar="ALPHA,BETA", help="Damping: alpha of mass in 1/s, beta of stiffness in s.", rich_help_panel=MATERIAL
    ),
]
Outputs = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        help="What to write, by suffix: an animation (.npz .glb .usdc .pc2 .mdd .obj), a loop (.webp .gif .mp4) or a "
        "still (.png .jpg). May be repeated.",
    ),
]
