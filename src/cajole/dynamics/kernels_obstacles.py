"""Compiled penalty contact: how near vertices are to an obstacle, the forces on them and their derivatives.

Arrays of k vertices that can touch: gap (k,) [m] from the obstacle, infinite where it is known to be far; normal (k, 3)
its gradient; bend (k,) [1/m] and axis (k, 3): the gap's second derivative is bend (I - n nᵀ - axis axisᵀ), zero above a
face; load (k,) [N] and along (k, 3): the normal force and normal that friction and damping go by.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.compiled import njit
from cajole.mesh.kernels_closest import nearest, side

F = NDArray[np.float64]
I = NDArray[np.int64]

# nearer than this to an edge, in units of the edge, rounding decides the direction away from it
ON_EDGE = 1e-9


@njit(cache=True)
def measure_plane(u: F, rest: F, vertices: I, point: F, up: F, gap: F, normal: F) -> None:
    """Fill gap and normal of vertices at rest + u above the plane."""
    for k in range(len(vertices)):
        i = vertices[k]
        gap[k] = 0.0
        for a in range(3):
            gap[k] += (rest[i, a] + u[i, a] - point[a]) * up[a]
            normal[k, a] = up[a]


@njit(cache=True)
def measure_mesh(
    u: F, rest: F, vertices: I, corners: F, boxes: F, links: I, normals: F, margin: float,
    seen: F, clear: F, hint: I, gap: F, normal: F, axis: F, bend: F,
) -> None:  # fmt: skip
    """Fill gap, normal, axis and bend of vertices at rest + u outside (inside: negative) a closed mesh.

    seen (k, 3), clear (k,), hint (k,): where a vertex was last measured, how far from there it surely is farther than
    `margin` from the mesh, and which triangle was nearest.
    """
    for k in range(len(vertices)):
        i = vertices[k]
        x, y, z = rest[i, 0] + u[i, 0], rest[i, 1] + u[i, 1], rest[i, 2] + u[i, 2]
        moved = (x - seen[k, 0]) ** 2 + (y - seen[k, 1]) ** 2 + (z - seen[k, 2]) ** 2
        gap[k], bend[k] = np.inf, 0.0
        if clear[k] > 0.0 and moved < clear[k] * clear[k]:
            continue
        slot, square, cx, cy, cz, region = nearest(x, y, z, corners, boxes, links, np.inf, hint[k])
        sign = side(x, y, z, cx, cy, cz, normals[slot, region])
        distance = np.sqrt(square)
        seen[k] = (x, y, z)
        hint[k], clear[k], gap[k] = slot, sign * distance - margin, sign * distance
        t = corners[slot]
        edge = max(region - 1, 0) % 3
        length = np.sqrt(((t[(edge + 1) % 3] - t[edge]) ** 2).sum())
        if region == 0 or distance <= ON_EDGE * length:
            normal[k] = normals[slot, region]
            continue
        normal[k, 0], normal[k, 1], normal[k, 2] = (x - cx), (y - cy), (z - cz)
        normal[k] *= sign / distance
        bend[k] = sign / distance
        axis[k] = 0.0
        if region < 4:
            axis[k] = (t[(edge + 1) % 3] - t[edge]) / length


@njit(cache=True)
def energy(gap: F, areas: F, stiffness: float, margin: float) -> float:
    """Σ stiffness area depth² / 2 [J]."""
    total = 0.0
    for k in range(len(gap)):
        total += 0.5 * stiffness * areas[k] * max(margin - gap[k], 0.0) ** 2
    return total


@njit(cache=True)
def remember(gap: F, normal: F, areas: F, stiffness: float, margin: float, load: F, along: F) -> None:
    """Fill load and along with the present normal forces and normals."""
    for k in range(len(gap)):
        load[k] = stiffness * areas[k] * max(margin - gap[k], 0.0)
        along[k] = normal[k]


@njit(cache=True)
def add_force(
    v: F, vertices: I, areas: F, gap: F, normal: F, stiffness: float, margin: float,
    load: F, along: F, damping: float, friction: float, slow: float, out: F,
) -> None:  # fmt: skip
    """Subtract the obstacle's push from the internal forces `out` (n, 3): normal, damping of approach, and friction."""
    for k in range(len(vertices)):
        i = vertices[k]
        depth = margin - gap[k]
        if depth > 0.0:
            for a in range(3):
                out[i, a] -= stiffness * areas[k] * depth * normal[k, a]
        if load[k] > 0.0:
            m = along[k]
            away = v[i, 0] * m[0] + v[i, 1] * m[1] + v[i, 2] * m[2]
            wx, wy, wz = v[i, 0] - away * m[0], v[i, 1] - away * m[1], v[i, 2] - away * m[2]
            grip = friction * load[k] / np.sqrt(wx * wx + wy * wy + wz * wz + slow * slow)
            brake = load[k] * damping * min(away, 0.0)
            out[i, 0] += grip * wx + brake * m[0]
            out[i, 1] += grip * wy + brake * m[1]
            out[i, 2] += grip * wz + brake * m[2]


@njit(cache=True)
def add_tangent(
    v: F, vertices: I, areas: F, gap: F, normal: F, axis: F, bend: F, stiffness: float, margin: float,
    load: F, along: F, damping: float, friction: float, slow: float,
    drag: float, exact: bool, slots: I, stride: NDArray[np.int32], out: F,
) -> None:  # fmt: skip
    """Add what `add_force` changes by with u and, times `drag`, with v: a symmetric 3x3 block for each vertex.

    Not `exact`, the part by which a rounded edge lets a vertex slip off is left out: it is not positive.
    """
    w, block = np.empty(3), np.empty((3, 3))
    for k in range(len(vertices)):
        i = vertices[k]
        depth = margin - gap[k]
        if depth <= 0.0 and load[k] <= 0.0:
            continue
        block[:] = 0.0
        if depth > 0.0:
            n, t = normal[k], axis[k]
            curved = bend[k] if exact or bend[k] < 0.0 else 0.0
            for a in range(3):
                for b in range(3):
                    block[a, b] += stiffness * areas[k] * n[a] * n[b]
                    if curved != 0.0:
                        flat = (1.0 if a == b else 0.0) - n[a] * n[b] - t[a] * t[b]
                        block[a, b] -= stiffness * areas[k] * depth * curved * flat
        if load[k] > 0.0:
            m = along[k]
            away = v[i, 0] * m[0] + v[i, 1] * m[1] + v[i, 2] * m[2]
            brake = load[k] * damping if away < 0.0 else 0.0
            square = slow * slow
            for a in range(3):
                w[a] = v[i, a] - away * m[a]
                square += w[a] * w[a]
            grip = friction * load[k] / np.sqrt(square)
            for a in range(3):
                for b in range(3):
                    flat = (1.0 if a == b else 0.0) - m[a] * m[b]
                    block[a, b] += drag * (grip * (flat - w[a] * w[b] / square) + brake * m[a] * m[b])
        for a in range(3):
            for b in range(3):
                out[slots[k] + a * stride[i] + b] += block[a, b]
