"""Voxelisation: the grid cells that a surface intersects or encloses, cut into tets."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, BoolArray
from cajole.checks import require_choice, require_integer
from cajole.errors import InputError
from cajole.mesh.base import MeshTri
from cajole.mesh.cubes import CUBE_CORNERS, compute_cell_corners, split_cubes_into_tets
from cajole.mesh.tet import MeshTet


def voxelise(mesh: MeshTri, *, resolution: int = 32, keep: str = "all") -> MeshTet:
    """The cells of a regular grid that triangles intersect or enclose, as tets; every vertex of `mesh` lies inside.

    resolution: cells along the longest side. The triangles may be open, intersecting or disconnected: a surface with
    holes gives its shell and what it still encloses. Cells that meet only at an edge or a corner, a hinge without
    stiffness, are joined by additional cells, so that the surface of the result is a manifold.
    keep: "all" components, or only the "largest" (the vertices of the others then lie outside).
    Raises InputError for other types, and for a resolution outside 1..256.
    """
    if not isinstance(mesh, MeshTri):
        raise InputError(f"voxelise needs a MeshTri, not {type(mesh).__name__}")
    resolution = require_integer(resolution, "resolution", maximum=256)  # the grid alone would need gigabytes
    require_choice(keep, "keep", ("all", "largest"))
    # a grid centred on the bounds, with a margin, so that flat sides lie inside the outermost cells, not between two;
    # the margin of the shorter sides is above the tolerance of the intersection test
    extent = mesh.bounds[1] - mesh.bounds[0]
    step = float(extent.max()) / (resolution - 2 * 1e-3)
    nx, ny, nz = (int(n) for n in np.maximum(1, np.ceil(extent / step + 2 * 1e-6)))
    origin = mesh.bounds.mean(axis=0) - np.array([nx, ny, nz]) * step / 2
    touched = find_intersected_cells((mesh.vertices[mesh.triangles] - origin) / step, (nx, ny, nz))
    filled = fill_until_manifold(fill_interior(touched))
    if keep == "largest":
        labels, pieces = _label_cell_components(filled)
        sizes = np.bincount(labels.reshape(-1), minlength=pieces + 1)
        sizes[0] = 0
        filled = np.asarray(labels == sizes.argmax())
    return _build_tet_mesh(filled, origin, step)


def find_intersected_cells(corners: Array, shape: tuple[int, int, int]) -> BoolArray:
    """The unit cells that triangles (m, 3, 3), in grid coordinates, intersect."""
    from cajole.mesh.kernels_voxels import mark_intersected_cells  # compiled code loads slowly

    touched = np.zeros(shape, dtype=bool)
    mark_intersected_cells(np.ascontiguousarray(corners), touched)
    return touched


def fill_interior(touched: BoolArray) -> BoolArray:
    """Touched cells, and free cells that are not connected through faces to the outside of the grid."""
    labels, _ = _label_cell_components(np.pad(~touched, 1, constant_values=True))
    return np.asarray(labels != labels[0, 0, 0])[1:-1, 1:-1, 1:-1]


def fill_until_manifold(cells: BoolArray) -> BoolArray:
    """Fill cells until neither filled nor free cells meet only at an edge or a corner: a manifold surface."""
    grid = np.pad(cells, 1)
    while True:
        blocks = [grid[tuple(slice(o, n - 1 + o) for o, n in zip(corner, grid.shape))] for corner in CUBE_CORNERS]
        code = sum(block.astype(np.uint8) << bit for bit, block in enumerate(blocks))
        repaired = _build_repair_table()[code]
        if (repaired == code).all():
            return grid[1:-1, 1:-1, 1:-1].copy()
        for bit, block in enumerate(blocks):
            block |= (repaired >> bit & 1).astype(bool)


@cache
def _build_repair_table() -> NDArray[np.uint8]:
    """For each of the 256 patterns of a 2 x 2 x 2 block: itself if manifold, else its filled bounding box."""
    table = np.arange(256, dtype=np.uint8)
    for code in range(256):
        block = np.zeros((2, 2, 2), dtype=bool)
        block[tuple(CUBE_CORNERS.T)] = [code >> bit & 1 for bit in range(8)]
        if max(_label_cell_components(block)[1], _label_cell_components(~block)[1]) > 1:
            filled = CUBE_CORNERS[block[tuple(CUBE_CORNERS.T)]]
            inside = ((filled.min(axis=0) <= CUBE_CORNERS) & (filled.max(axis=0) >= CUBE_CORNERS)).all(axis=1)
            table[code] = int((inside << np.arange(8)).sum())
    return table


def _label_cell_components(cells: BoolArray) -> tuple[NDArray[np.int64], int]:
    """Components of face-connected cells, numbered from 1, and their count."""
    from scipy import ndimage  # loads slowly

    labels, pieces = ndimage.label(cells)
    return labels, int(pieces)


def _build_tet_mesh(filled: BoolArray, origin: Array, step: float) -> MeshTet:
    points = (filled.shape[0] + 1, filled.shape[1] + 1, filled.shape[2] + 1)
    corners = compute_cell_corners(np.argwhere(filled), points)
    used, numbers = np.unique(corners, return_inverse=True)
    lattice = np.stack(np.unravel_index(used, points), axis=1)
    return MeshTet(origin + lattice * step, split_cubes_into_tets(numbers.reshape(corners.shape)))
