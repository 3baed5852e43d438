"""Splitting of cubes into tets that conform across shared faces."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from cajole.arrays import IndexArray

# corner c of a cube is at (c & 1, c >> 1 & 1, c >> 2 & 1)
CUBE_CORNERS = np.array([(c & 1, c >> 1 & 1, c >> 2 & 1) for c in range(8)])


def _build_kuhn_tets() -> IndexArray:
    """(6, 4) the monotone paths from corner 0 to corner 7, one tet each, with positive volume."""
    tets = []
    for order in permutations((1, 2, 4)):
        path = [0, order[0], order[0] + order[1], 7]
        odd = np.linalg.det(CUBE_CORNERS[path[1:]]) < 0
        tets.append([path[0], path[1], path[3], path[2]] if odd else path)
    return np.array(tets, dtype=np.int64)


CUBE_TETS = _build_kuhn_tets()


def split_cubes_into_tets(corners: IndexArray) -> IndexArray:
    """(6m, 4) Kuhn's six tets of each cube, from (m, 8) corners in binary order; tets 6i..6i+5 fill cube i.

    All share the diagonal from corner 0 to corner 7: opposite faces are cut alike, so neighbours conform.
    """
    return corners[:, CUBE_TETS].reshape(-1, 4)


def compute_cell_corners(cells: IndexArray, lattice_shape: tuple[int, int, int]) -> IndexArray:
    """(m, 8) corner numbers of cells (m, 3) in a lattice of `lattice_shape` points."""
    points = cells[:, None, :] + CUBE_CORNERS[None, :, :]
    return np.asarray((points[..., 0] * lattice_shape[1] + points[..., 1]) * lattice_shape[2] + points[..., 2])
