"""Bodies from files that hold a material as well as a mesh."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import ArrayLike

from cajole.body.material import MaterialStVK
from cajole.body.solid import BodySolid
from cajole.mesh import VegFile, read_veg
from cajole.mesh.files import convert_mesh_to_z_up_metres


def read_body(
    path: str | os.PathLike[str],
    *,
    fixed: ArrayLike | None = None,
    damping: tuple[float, float] = (0.0, 0.0),
    scale: float = 1.0,
    up: str = "z",
) -> BodySolid:
    """The solid of a .veg file, each tet of the material that the file gives it; the usual one where it gives none.

    fixed, damping: as for BodySolid; scale, up: as for `read_mesh`. Raises FileError with the line where it is wrong.
    """
    file = read_veg(path)
    mesh = convert_mesh_to_z_up_metres(file.mesh, scale=scale, up=up)
    return BodySolid(mesh, parse_material(file), fixed=fixed, damping=damping)


def parse_material(file: VegFile) -> MaterialStVK | tuple[MaterialStVK, ...]:
    """What the tets of a .veg file are made of: one material, or one of each tet; the usual one where it names none."""
    if file.young is None or file.poisson is None or file.density is None:
        return MaterialStVK()
    rows, which = np.unique(np.column_stack([file.young, file.poisson, file.density]), axis=0, return_inverse=True)
    made = [MaterialStVK(*row) for row in rows.tolist()]
    return made[0] if len(made) == 1 else tuple(made[k] for k in which.reshape(-1).tolist())
