"""Compiled penalty contact: how near points of a body are to an obstacle, the forces on them and their derivatives.

Arrays of k points that can touch: rest (k, 3) [m], and carriers corners, weights (k, c): a point moves by the weighted
sum of the displacements of its corners. gap (k,) [m] from the obstacle, infinite where it is known to be far; normal
(k, 3) its gradient; bend (k,) [1/m] and axis (k, 3): the gap's second derivative is bend (I - n nᵀ - axis axisᵀ), zero
above a face; load (k,) [N] and along (k, 3): the normal force and normal that friction and damping go by.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.jit import njit
from cajole.mesh.kernels_closest_point import compute_side_sign, find_nearest_triangle

# nearer than this to an edge, in units of the edge, rounding decides the direction away from it
EDGE_TOLERANCE = 1e-9


@njit(cache=True)
def _interpolate(k: int, field: Array, corners: IndexArray, weights: Array) -> tuple[float, float, float]:
    """The value at point k of a field (n, 3) on the vertices."""
    x, y, z = 0.0, 0.0, 0.0
    for c in range(corners.shape[1]):
        i, w = corners[k, c], weights[k, c]
        x, y, z = x + w * field[i, 0], y + w * field[i, 1], z + w * field[i, 2]
    return x, y, z


@njit(cache=True)
def measure_plane(
    u: Array,
    rest: Array,
    corners: IndexArray,
    weights: Array,
    origin: Array,
    plane_normal: Array,
    gap: Array,
    normal: Array,
) -> None:
    """Fill gap and normal of the points above the plane, when vertices have moved by u (n, 3)."""
    for k in range(len(rest)):
        x, y, z = _interpolate(k, u, corners, weights)
        x, y, z = rest[k, 0] + x - origin[0], rest[k, 1] + y - origin[1], rest[k, 2] + z - origin[2]
        gap[k] = x * plane_normal[0] + y * plane_normal[1] + z * plane_normal[2]
        normal[k] = plane_normal


@njit(cache=True)
def measure_mesh(
    u: Array,
    rest: Array,
    corners: IndexArray,
    weights: Array,
    triangles: Array,
    boxes: Array,
    tree_links: IndexArray,
    normals: Array,
    margin: float,
    last_positions: Array,
    clearance: Array,
    last_triangles: IndexArray,
    gap: Array,
    normal: Array,
    axis: Array,
    curvature: Array,
) -> None:
    """Fill gap, normal, axis and bend of the points outside (inside: negative) a closed mesh.

    seen (k, 3), clear (k,), hint (k,): where a point was last measured, how far from there it surely is farther than
    `margin` from the mesh, and which triangle was nearest.
    """
    for k in range(len(rest)):
        x, y, z = _interpolate(k, u, corners, weights)
        x, y, z = rest[k, 0] + x, rest[k, 1] + y, rest[k, 2] + z
        moved = (x - last_positions[k, 0]) ** 2 + (y - last_positions[k, 1]) ** 2 + (z - last_positions[k, 2]) ** 2
        gap[k], curvature[k] = np.inf, 0.0
        if clearance[k] > 0.0 and moved < clearance[k] * clearance[k]:
            continue
        slot, square, cx, cy, cz, region = find_nearest_triangle(
            x, y, z, triangles, boxes, tree_links, np.inf, last_triangles[k]
        )
        sign = compute_side_sign(x, y, z, cx, cy, cz, normals[slot, region])
        distance = np.sqrt(square)
        last_positions[k] = (x, y, z)
        last_triangles[k], clearance[k], gap[k] = slot, sign * distance - margin, sign * distance
        t = triangles[slot]
        edge = max(region - 1, 0) % 3
        length = np.sqrt(((t[(edge + 1) % 3] - t[edge]) ** 2).sum())
        if region == 0 or distance <= EDGE_TOLERANCE * length:
            normal[k] = normals[slot, region]
            continue
        normal[k, 0], normal[k, 1], normal[k, 2] = (x - cx), (y - cy), (z - cz)
        normal[k] *= sign / distance
        curvature[k] = sign / distance
        axis[k] = 0.0
        if region < 4:
            axis[k] = (t[(edge + 1) % 3] - t[edge]) / length


@njit(cache=True)
def compute_energy(gap: Array, areas: Array, stiffness: float, margin: float) -> float:
    """Σ stiffness area depth² / 2 [J]."""
    total = 0.0
    for k in range(len(gap)):
        total += 0.5 * stiffness * areas[k] * max(margin - gap[k], 0.0) ** 2
    return total


@njit(cache=True)
def store_lagged_contact(
    gap: Array, normal: Array, areas: Array, stiffness: float, margin: float, lagged_force: Array, lagged_normal: Array
) -> None:
    """Fill load and along with the present normal forces and normals."""
    for k in range(len(gap)):
        lagged_force[k] = stiffness * areas[k] * max(margin - gap[k], 0.0)
        lagged_normal[k] = normal[k]


@njit(cache=True)
def add_force(
    v: Array,
    corners: IndexArray,
    weights: Array,
    areas: Array,
    gap: Array,
    normal: Array,
    stiffness: float,
    margin: float,
    lagged_force: Array,
    lagged_normal: Array,
    damping: float,
    friction: float,
    slip_speed: float,
    out: Array,
) -> None:
    """Subtract the obstacle's push from the internal forces `out` (n, 3): normal, damping of approach, and friction."""
    for k in range(len(gap)):
        depth = margin - gap[k]
        if depth <= 0.0 and lagged_force[k] <= 0.0:
            continue
        push = stiffness * areas[k] * max(depth, 0.0)
        fx, fy, fz = push * normal[k, 0], push * normal[k, 1], push * normal[k, 2]
        if lagged_force[k] > 0.0:
            m = lagged_normal[k]
            x, y, z = _interpolate(k, v, corners, weights)
            away = x * m[0] + y * m[1] + z * m[2]
            x, y, z = x - away * m[0], y - away * m[1], z - away * m[2]
            grip = friction * lagged_force[k] / np.sqrt(x * x + y * y + z * z + slip_speed * slip_speed)
            brake = lagged_force[k] * damping * min(away, 0.0)
            fx, fy, fz = fx - grip * x - brake * m[0], fy - grip * y - brake * m[1], fz - grip * z - brake * m[2]
        for c in range(corners.shape[1]):
            i, w = corners[k, c], weights[k, c]
            out[i, 0] -= w * fx
            out[i, 1] -= w * fy
            out[i, 2] -= w * fz


@njit(cache=True)
def add_stiffness(
    v: Array,
    corners: IndexArray,
    weights: Array,
    areas: Array,
    gap: Array,
    normal: Array,
    axis: Array,
    curvature: Array,
    stiffness: float,
    margin: float,
    lagged_force: Array,
    lagged_normal: Array,
    damping: float,
    friction: float,
    slip_speed: float,
    damping_factor: float,
    exact: bool,
    block_offsets: IndexArray,
    row_strides: NDArray[np.int32],
    out: Array,
) -> None:
    """Add what `add_force` changes by with u and, times `drag`, with v: symmetric 3x3 blocks between a point's corners.

    slots (k, c, c): where these begin in `out`. Not `exact`, the part by which a rounded edge lets a point slip off is
    left out: it is not positive.
    """
    w, block = np.empty(3), np.empty((3, 3))
    for k in range(len(gap)):
        depth = margin - gap[k]
        if depth <= 0.0 and lagged_force[k] <= 0.0:
            continue
        block[:] = 0.0
        if depth > 0.0:
            n, t = normal[k], axis[k]
            curved = curvature[k] if exact or curvature[k] < 0.0 else 0.0
            for a in range(3):
                for b in range(3):
                    block[a, b] += stiffness * areas[k] * n[a] * n[b]
                    if curved != 0.0:
                        flat = (1.0 if a == b else 0.0) - n[a] * n[b] - t[a] * t[b]
                        block[a, b] -= stiffness * areas[k] * depth * curved * flat
        if lagged_force[k] > 0.0:
            m = lagged_normal[k]
            w[0], w[1], w[2] = _interpolate(k, v, corners, weights)
            away = w[0] * m[0] + w[1] * m[1] + w[2] * m[2]
            brake = lagged_force[k] * damping if away < 0.0 else 0.0
            square = slip_speed * slip_speed
            for a in range(3):
                w[a] -= away * m[a]
                square += w[a] * w[a]
            grip = friction * lagged_force[k] / np.sqrt(square)
            for a in range(3):
                for b in range(3):
                    flat = (1.0 if a == b else 0.0) - m[a] * m[b]
                    block[a, b] += damping_factor * (grip * (flat - w[a] * w[b] / square) + brake * m[a] * m[b])
        for c in range(corners.shape[1]):
            for d in range(corners.shape[1]):
                share, first, step = weights[k, c] * weights[k, d], block_offsets[k, c, d], row_strides[corners[k, c]]
                for a in range(3):
                    for b in range(3):
                        out[first + a * step + b] += share * block[a, b]
