"""Isosurface stuffing: a body-centred cubic lattice, snapped to a surface and cut along it.

After Labelle and Shewchuk 2007, with snapping distances of 0.35 (long edges) and 0.45 (short edges), so that the
pieces that remain are fat enough for the improvement that follows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh.tet import compute_signed_volumes
from cajole.scenes import kernels_sdf, kernels_tets
from cajole.scenes.sdf import ImplicitShape, LatticeGrading

Vector = tuple[float, float, float]
TET_EDGES = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])


@dataclass(frozen=True, eq=False)
class BccLattice:
    """Nodes (n, 3) and tets (m, 4) of a BCC lattice; nodes before `corners` are cube corners, the rest centres."""

    nodes: Array
    tets: IndexArray
    corner_count: int


def build_lattice(bounds: Array, cell_size: float, shift: Vector, grading: LatticeGrading | None) -> BccLattice:
    """Build a BCC lattice of cube edge `cell_size` [m] (scaled by the grading) over bounds (2, 3) [m], shifted from the
    centre.
    """
    box = bounds if grading is None else _compute_lattice_bounds(bounds, grading)
    counts = np.ceil((box[1] - box[0]) / cell_size).astype(int) + 3
    origin = 0.5 * (box[0] + box[1]) - cell_size * (0.5 * counts - np.asarray(shift))
    corners, centres = _build_grid_points(counts + 1), _build_grid_points(counts) + 0.5
    nodes = origin + cell_size * np.vstack([corners, centres])
    return BccLattice(
        nodes if grading is None else _apply_grading(nodes, bounds, grading), _build_lattice_tets(counts), len(corners)
    )


def stuff_isosurface(
    shape: ImplicitShape,
    cell_size: float,
    shift: Vector,
    snap_fractions: tuple[float, float],
    grading: LatticeGrading | None,
) -> tuple[Array, IndexArray]:
    """Vertices and tets of the inside of `shape`; cuts nearer than the (long, short) snap fractions of an edge are
    snapped.

    The vertex order of a tet is that of the undeformed lattice, so that a negative volume reveals a fold.
    """
    grid = build_lattice(shape.bounds, cell_size, shift, grading)
    f = np.empty(len(grid.nodes))
    kernels_sdf.evaluate_points(*shape.kernel_arguments, grid.nodes, f)
    tets = grid.tets[(f[grid.tets] < 0).any(axis=1)]
    state = -np.sign(f).astype(np.int64)
    ends = _find_cut_edges(tets, state)
    fractions = np.empty(len(ends))
    low, high = grid.nodes[ends[:, 0]], grid.nodes[ends[:, 1]]
    kernels_sdf.find_cut_fractions(*shape.kernel_arguments, low, high, f[ends[:, 0]], f[ends[:, 1]], fractions)
    points = low + fractions[:, None] * (high - low)

    # cuts at every node, in compressed rows
    n = len(state)
    order = np.argsort(ends.ravel(), kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(ends.ravel(), minlength=n))])
    starts, members = starts, order // 2
    short = (ends < grid.corner_count).sum(axis=1) == 1
    chosen = np.full(len(state), -1)
    kernels_tets.snap_nodes(
        starts, members, ends, fractions, np.where(short, snap_fractions[1], snap_fractions[0]), state, chosen
    )
    unmoved = np.vstack([grid.nodes, 0.5 * (low + high)])
    moved = np.vstack([grid.nodes, points])
    moved[: len(state)][chosen >= 0] = points[chosen[chosen >= 0]]

    pieces = np.empty((3 * len(tets), 4), dtype=np.int64)
    filled = kernels_tets.emit_stencil_tets(tets, state, starts, members, ends, moved, pieces)
    return remove_unused_vertices(moved, orient_tets(unmoved, pieces[:filled]))


def remove_unused_vertices(vertices: Array, tets: IndexArray) -> tuple[Array, IndexArray]:
    """Remove unreferenced vertices, and renumber the tets."""
    used, inverse = np.unique(tets, return_inverse=True)
    return vertices[used], inverse.reshape(tets.shape)


def orient_tets(vertices: Array, tets: IndexArray) -> IndexArray:
    """Swap the last two vertices of tets with negative volume."""
    flip = compute_signed_volumes(vertices, tets) < 0
    out = tets.copy()
    out[flip] = out[flip][:, [0, 1, 3, 2]]
    return out


def _build_grid_points(counts: IndexArray) -> Array:
    axes = [np.arange(n, dtype=float) for n in counts]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _build_lattice_tets(counts: IndexArray) -> IndexArray:
    """Tets of the lattice: for every inner cube face, its two cube centres with each of its four edges."""
    corner = np.arange(np.prod(counts + 1)).reshape(counts + 1)
    centre = np.arange(np.prod(counts)).reshape(counts) + corner.size
    found = []
    for axis in range(3):
        first = np.moveaxis(centre, axis, 0)
        face = np.moveaxis(corner, axis, 0)[1:-1]
        ring = [face[:, :-1, :-1], face[:, 1:, :-1], face[:, 1:, 1:], face[:, :-1, 1:]]
        for a, b in zip(ring, ring[1:] + ring[:1]):
            found.append(np.stack([first[:-1], first[1:], a, b], axis=-1).reshape(-1, 4))
    return np.concatenate(found)


def _find_cut_edges(tets: IndexArray, signs: IndexArray) -> IndexArray:
    """Unique edges (k, 2) from a node inside to a node outside."""
    edges = tets[:, TET_EDGES].reshape(-1, 2)
    sign = signs[edges]
    edges = edges[sign[:, 0] * sign[:, 1] < 0]
    inside = np.where(signs[edges[:, 0]] > 0, edges[:, 0], edges[:, 1])
    outside = edges.sum(axis=1) - inside
    n = len(signs)
    keys = np.unique(inside * n + outside)
    return np.stack([keys // n, keys % n], axis=1)


def _tabulate_height_map(bounds: Array, grading: LatticeGrading) -> tuple[Array, Array]:
    """Samples of z and of the lattice height Z(z), dz = s dZ, over a range wide enough for interpolation."""
    reach = bounds[1, 2] - bounds[0, 2] + 4 * grading.width
    z = np.linspace(bounds[0, 2] - reach, bounds[1, 2] + reach, 4001)
    step = np.diff(z) * 0.5 * (1 / grading.compute_cell_scale(z[:-1]) + 1 / grading.compute_cell_scale(z[1:]))
    return z, z[0] + np.concatenate([[0], np.cumsum(step)])


def _compute_lattice_bounds(bounds: Array, grading: LatticeGrading) -> Array:
    """Box in lattice coordinates whose image covers the bounds."""
    z, below = _tabulate_height_map(bounds, grading)
    # x = s(z) X with s >= 1 near the top, so the widest lattice is needed where s is least
    least = float(np.min(grading.compute_cell_scale(np.linspace(bounds[0, 2], bounds[1, 2], 64))))
    flat = bounds[:, :2] / least
    return np.column_stack([flat, np.interp(bounds[:, 2], z, below)])


def _apply_grading(nodes: Array, bounds: Array, grading: LatticeGrading) -> Array:
    z, below = _tabulate_height_map(bounds, grading)
    height = np.interp(nodes[:, 2], below, z)
    return np.column_stack([nodes[:, :2] * grading.compute_cell_scale(height)[:, None], height])
