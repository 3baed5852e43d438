"""Compiled penalty contact: gaps between points of a body and an obstacle, contact forces and their derivatives.

A body has k contact points: rest (k, 3) [m], and carriers corners, weights (k, c): a point moves by the weighted sum of
the displacements of its corners. gap (k,) [m] from the obstacle, infinite if known to be far; normal (k, 3), its
gradient; curvature (k,) [1/m] and axis (k, 3): the second derivative of the gap is curvature (I - n nᵀ - axis axisᵀ),
zero above a face. lagged force (k,) [N] and normal (k, 3): those of the start of the step, for friction and damping.
Arguments that belong together are tuples: Interpolation, Penalty and Lagged below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.jit import njit
from cajole.mesh.kernels_closest_point import compute_side_sign, find_nearest_triangle

# rest, corners, weights of the points
Interpolation = tuple[Array, IndexArray, Array]
# stiffness [Pa/m] and margin [m]
Penalty = tuple[float, float]
# normal forces and normals at the start of the step, damping [s/m], friction, slip speed [m/s]
Lagged = tuple[Array, Array, float, float, float]
# nearer to an edge, in units of its length, rounding decides the direction away from it
EDGE_TOLERANCE = 1e-9


@njit(cache=True)
def _interpolate(k: int, field: Array, corners: IndexArray, weights: Array) -> tuple[float, float, float]:
    """Interpolate a field (n, 3) on the vertices at point k."""
    x, y, z = 0.0, 0.0, 0.0
    for c in range(corners.shape[1]):
        i, w = corners[k, c], weights[k, c]
        x, y, z = x + w * field[i, 0], y + w * field[i, 1], z + w * field[i, 2]
    return x, y, z


@njit(cache=True)
def measure_plane(
    u: Array, points: Interpolation, origin: Array, plane_normal: Array, gap: Array, normal: Array
) -> None:
    """Fill gap and normal of the points above the plane, for displacements u (n, 3)."""
    rest, corners, weights = points
    for k in range(len(rest)):
        x, y, z = _interpolate(k, u, corners, weights)
        x, y, z = rest[k, 0] + x - origin[0], rest[k, 1] + y - origin[1], rest[k, 2] + z - origin[2]
        gap[k] = x * plane_normal[0] + y * plane_normal[1] + z * plane_normal[2]
        normal[k] = plane_normal


@njit(cache=True)
def measure_mesh(
    u: Array,
    points: Interpolation,
    bvh: tuple[Array, Array, IndexArray],
    normals: Array,
    margin: float,
    memory: tuple[Array, Array, IndexArray],
    out: tuple[Array, Array, Array, Array],
) -> None:
    """Fill out = gap, normal, axis, curvature of the points outside a closed mesh (gap < 0 inside).

    bvh: triangles, boxes and links of its tree; normals: pseudonormals. memory: positions (k, 3) of the last
    measurement, clearance (k,), the distance from there within which the gap stays above `margin`, and nearest
    triangles (k,).
    """
    (rest, corners, weights), (triangles, boxes, tree_links) = points, bvh
    (last_positions, clearance, last_triangles), (gap, normal, axis, curvature) = memory, out
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
def compute_energy(gap: Array, areas: Array, penalty: Penalty) -> float:
    """Σ stiffness area depth² / 2 [J]."""
    stiffness, margin = penalty
    total = 0.0
    for k in range(len(gap)):
        total += 0.5 * stiffness * areas[k] * max(margin - gap[k], 0.0) ** 2
    return total


@njit(cache=True)
def store_lagged_contact(
    gap: Array, normal: Array, areas: Array, penalty: Penalty, lagged_force: Array, lagged_normal: Array
) -> None:
    """Store the present normal forces and normals."""
    stiffness, margin = penalty
    for k in range(len(gap)):
        lagged_force[k] = stiffness * areas[k] * max(margin - gap[k], 0.0)
        lagged_normal[k] = normal[k]


@njit(cache=True)
def add_force(
    v: Array,
    carriers: tuple[IndexArray, Array, Array],
    contact: tuple[Array, Array],
    penalty: Penalty,
    lagged: Lagged,
    out: Array,
) -> None:
    """Subtract the contact forces from the internal forces `out` (n, 3): normal force, damping of approach, friction.

    carriers: corners, weights, areas of the points; contact: gap and normal.
    """
    (corners, weights, areas), (gap, normal), (stiffness, margin) = carriers, contact, penalty
    lagged_force, lagged_normal, damping, friction, slip_speed = lagged
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
    carriers: tuple[IndexArray, Array, Array],
    contact: tuple[Array, Array, Array, Array],
    penalty: Penalty,
    lagged: Lagged,
    damping_factor: float,
    exact: bool,
    assembly: tuple[IndexArray, NDArray[np.int32]],
    out: Array,
) -> None:
    """Add the derivative of `add_force` by u + damping_factor times that by v, symmetric blocks between the corners.

    contact: gap, normal, axis, curvature; assembly: offsets (k, c, c) of the blocks in `out`, and row strides. Unless
    `exact`, the indefinite part, by which a point slips off a rounded edge, is left out.
    """
    (corners, weights, areas), (gap, normal, axis, curvature), (stiffness, margin) = carriers, contact, penalty
    (lagged_force, lagged_normal, damping, friction, slip_speed), (block_offsets, row_strides) = lagged, assembly
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
