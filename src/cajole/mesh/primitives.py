"""Regular meshes: boxes of tets and grids of triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.checks import require_integer, require_real_array
from cajole.errors import InputError
from cajole.mesh.base import MeshTri
from cajole.mesh.cubes import compute_cell_corners, split_cubes_into_tets
from cajole.mesh.tet import MeshTet


def box_tets(
    nx: int, ny: int, nz: int, *, size: ArrayLike = (1.0, 1.0, 1.0), origin: ArrayLike = (0.0, 0.0, 0.0)
) -> MeshTet:
    """A box of nx x ny x nz cells, six tets each (dihedral angles 45, 60 and 90 degrees in cubic cells).

    size, origin: (3,) [m]. Vertex (i, j, k) has index (i (ny+1) + j) (nz+1) + k; cell c holds tets 6c..6c+5.
    Raises InputError for counts below one or sizes that are not positive.
    """
    cells = _require_cell_counts((nx, ny, nz), ("nx", "ny", "nz"))
    lengths = _require_lengths(size, 3)
    grid = np.indices(cells).reshape(3, -1).T
    corners = compute_cell_corners(grid, (cells[0] + 1, cells[1] + 1, cells[2] + 1))
    points = np.indices([n + 1 for n in cells]).reshape(3, -1).T / np.array(cells)
    return MeshTet(require_real_array(origin, "origin", (3,)) + points * lengths, split_cubes_into_tets(corners))


def grid_triangles(nx: int, ny: int, *, size: ArrayLike = (1.0, 1.0), origin: ArrayLike = (0.0, 0.0, 0.0)) -> MeshTri:
    """A flat grid of nx x ny cells in the plane of x and y, facing +z, its diagonals alternating.

    size: (2,) [m]; origin: (3,) [m]. Vertex (i, j) has index i (ny+1) + j; cell c holds triangles 2c and 2c+1.
    Raises InputError for counts below one or sizes that are not positive.
    """
    cells = _require_cell_counts((nx, ny), ("nx", "ny"))
    lengths = _require_lengths(size, 2)
    i, j = np.indices(cells).reshape(2, -1)
    a = i * (ny + 1) + j
    b, c, d = a + ny + 1, a + ny + 2, a + 1
    even = ((i + j) % 2 == 0)[:, None, None]
    pairs = np.where(
        even,
        np.stack([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)], axis=1),
        np.stack([np.stack([a, b, d], axis=1), np.stack([b, c, d], axis=1)], axis=1),
    )
    flat = np.indices([n + 1 for n in cells]).reshape(2, -1).T / np.array(cells) * lengths
    points = np.column_stack([flat, np.zeros(len(flat))])
    return MeshTri(require_real_array(origin, "origin", (3,)) + points, pairs.reshape(-1, 3))


def _require_cell_counts(values: tuple[int, ...], names: tuple[str, ...]) -> tuple[int, ...]:
    cells = tuple(require_integer(value, name) for value, name in zip(values, names))
    if np.prod([float(n) for n in cells]) > 20_000_000:  # refuse before memory runs out
        raise InputError(f"{' x '.join(map(str, cells))} cells are more than 20000000; ask for fewer")
    return cells


def _require_lengths(size: ArrayLike, axes: int) -> NDArray[np.float64]:
    lengths = require_real_array(size, "size", (axes,))
    if (lengths <= 0).any():
        raise InputError(f"size is {lengths.tolist()}, but every length must be positive")
    return lengths
