"""Better shapes for the tets of a cage: descent of the mean ratio, then a hunt for the worst angles."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh.tet import signed_volumes
from cajole.scenes import kernels_improve, kernels_tets
from cajole.scenes.lattice import TET_EDGES
from cajole.scenes.repair import TET_FACES
from cajole.scenes.sdf import STEP, Shape

SWEEPS = 12
# exponents of the inverse mean ratio: the first rounds the whole, the second minds the worst
POWERS = (4.0, 12.0)
# the hunt aims this far inside the wanted angles [degrees], so that rounding cannot leave them
AIM = 2.0
HUNTS = 12
# share of the spacing that a surface vertex may leave the surface, raised only while bad angles remain
SLACKS = (0.0, 0.05, 0.12)


def improved(shape: Shape, vertices: Array, tets: IndexArray, spacing: Array, angles: tuple[float, float]) -> Array:
    """Vertices (n, 3) with fatter tets; those on the surface of `shape` slide on it.

    spacing: (n,) [m] local cell size, the yardstick of steps; angles: dihedral limits in degrees to be kept.
    """
    x = np.ascontiguousarray(vertices).copy()
    starts, members = kernels_tets.stars(tets, len(x))
    surface = on_surface(tets, len(x))
    table = (*shape.table, STEP * shape.size)
    for power in POWERS:
        kernels_improve.improve(x, tets, starts, members, surface, spacing, *table, SWEEPS, power)
    low, high = np.cos(np.deg2rad([angles[0] + AIM, angles[1] - AIM]))
    for slack in SLACKS:
        for hunt in range(HUNTS):
            picked = np.unique(tets[margins(x, tets, low, high) < 0])
            if len(picked) == 0:
                return x
            picked = picked[::-1].copy() if hunt % 2 else picked
            kernels_improve.relax_worst(x, tets, starts, members, picked, surface, spacing, *table, low, high, slack)
    return x


def on_surface(tets: IndexArray, n: int) -> np.ndarray:
    """Mask (n,) of the vertices of faces that belong to one tet only."""
    faces = np.sort(tets[:, TET_FACES].reshape(-1, 3), axis=1)
    unique, times = np.unique(faces, axis=0, return_counts=True)
    mask = np.zeros(n, dtype=bool)
    mask[unique[times == 1]] = True
    return mask


def margins(x: Array, tets: IndexArray, low: float, high: float) -> Array:
    """Cosine margin (m,) of every tet's worst dihedral angle; negative when it leaves the limits."""
    out = np.empty(len(tets))
    kernels_improve.all_margins(x, tets, low, high, out)
    return out


def mean_ratios(vertices: Array, tets: IndexArray) -> Array:
    """Shape (m,) of each tet, 12 (3V)^(2/3) / sum l²: 1 for the regular one, 0 for a flat one."""
    edges = vertices[tets[:, TET_EDGES[:, 0]]] - vertices[tets[:, TET_EDGES[:, 1]]]
    return 12 * np.cbrt(3 * signed_volumes(vertices, tets)) ** 2 / (edges**2).sum(axis=(1, 2))
