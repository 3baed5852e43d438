"""Bodies from files that hold a material as well as a mesh."""

from __future__ import annotations

import os

from numpy.typing import ArrayLike

from cajole.body.material import MaterialStVK
from cajole.body.solid import BodySolid
from cajole.mesh import read_veg
from cajole.mesh.files import placed


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
    mesh = placed(file.mesh, scale=scale, up=up)
    if file.young is None or file.poisson is None or file.density is None:
        return BodySolid(mesh, fixed=fixed, damping=damping)
    rows = list(zip(file.young.tolist(), file.poisson.tolist(), file.density.tolist()))
    made = {row: MaterialStVK(*row) for row in set(rows)}
    return BodySolid(mesh, [made[row] for row in rows], fixed=fixed, damping=damping)
