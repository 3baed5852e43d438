"""Compiled distances of stencils of four vertices, and their change during linear motions.

A stencil is a vertex and a triangle, or two edges. Its weights w (4,) sum to zero, and Σ w x is the shortest vector
from the second primitive to the first.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.jit import njit

# iterations after which a slow approach counts as an impact
MAX_ADVANCEMENTS = 100
NO_IMPACT = 2.0


@njit(cache=True)
def dot_differences(a: Array, b: Array, c: Array, d: Array) -> float:
    """(a - b)·(c - d) of points (3,)."""
    return (a[0] - b[0]) * (c[0] - d[0]) + (a[1] - b[1]) * (c[1] - d[1]) + (a[2] - b[2]) * (c[2] - d[2])


@njit(cache=True)
def compute_closest_edge_parameter(p: Array, a: Array, b: Array) -> float:
    """Parameter in [0, 1] of the point nearest to p on the edge from a to b."""
    square = dot_differences(b, a, b, a)
    return min(max(dot_differences(p, a, b, a) / square, 0.0), 1.0) if square > 0.0 else 0.0


@njit(cache=True)
def compute_point_triangle_weights(x: Array, w: Array) -> None:
    """Weights of the vertex x[0] and the nearest point of the triangle x[1:] (Ericson 2005, 5.1.5)."""
    p, a, b, c = x[0], x[1], x[2], x[3]
    w[0], w[1], w[2], w[3] = 1.0, 0.0, 0.0, 0.0
    d1, d2 = dot_differences(b, a, p, a), dot_differences(c, a, p, a)
    d3, d4 = dot_differences(b, a, p, b), dot_differences(c, a, p, b)
    d5, d6 = dot_differences(b, a, p, c), dot_differences(c, a, p, c)
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    if va > 0.0 and vb > 0.0 and vc > 0.0:
        whole = va + vb + vc
        w[1], w[2], w[3] = -va / whole, -vb / whole, -vc / whole
        return
    # outside, and on triangles without area: the nearest of the three edges
    best = np.inf
    for e in range(3):
        i, j = 1 + e, 1 + (e + 1) % 3
        s = compute_closest_edge_parameter(p, x[i], x[j])
        square = 0.0
        for k in range(3):
            square += (p[k] - (1.0 - s) * x[i, k] - s * x[j, k]) ** 2
        if square < best:
            best = square
            w[1], w[2], w[3] = 0.0, 0.0, 0.0
            w[i], w[j] = s - 1.0, -s


@njit(cache=True)
def compute_edge_edge_weights(x: Array, w: Array) -> None:
    """Weights of the nearest points of the edges x[:2] and x[2:] (Ericson 2005, 5.1.9)."""
    p, q, r, s = x[0], x[1], x[2], x[3]
    a, e, b = dot_differences(q, p, q, p), dot_differences(s, r, s, r), dot_differences(q, p, s, r)
    c, f = dot_differences(q, p, p, r), dot_differences(s, r, p, r)
    denominator = a * e - b * b
    u = min(max((b * f - c * e) / denominator, 0.0), 1.0) if denominator > 1e-14 * a * e else 0.0
    v = (b * u + f) / e if e > 0.0 else 0.0
    if v < 0.0:
        v, u = 0.0, compute_closest_edge_parameter(r, p, q)
    elif v > 1.0:
        v, u = 1.0, compute_closest_edge_parameter(s, p, q)
    w[0], w[1], w[2], w[3] = 1.0 - u, u, v - 1.0, -v


@njit(cache=True)
def compute_stencil_distance(x: Array, is_edge_edge: bool, w: Array, separation: Array) -> float:
    """Distance of the two primitives of a stencil at x (4, 3); fills the weights w (4,) and the separation (3,)."""
    if is_edge_edge:
        compute_edge_edge_weights(x, w)
    else:
        compute_point_triangle_weights(x, w)
    for a in range(3):
        separation[a] = w[0] * x[0, a] + w[1] * x[1, a] + w[2] * x[2, a] + w[3] * x[3, a]
    return np.sqrt(separation[0] ** 2 + separation[1] ** 2 + separation[2] ** 2)


@njit(cache=True)
def compute_stencil_distances(x: Array, stencils: IndexArray, is_edge_edge: bool) -> Array:
    """Distances (k,) of the primitives of each stencil."""
    out, at, w, way = np.empty(len(stencils)), np.empty((4, 3)), np.empty(4), np.empty(3)
    for k in range(len(stencils)):
        for c in range(4):
            at[c] = x[stencils[k, c]]
        out[k] = compute_stencil_distance(at, is_edge_edge, w, way)
    return out


@njit(cache=True)
def gather_stencil(before: Array, after: Array, stencil: IndexArray, x: Array, p: Array) -> None:
    """Fill x (4, 3) with the positions of the four vertices, and p (4, 3) with their motions."""
    for c in range(4):
        v = stencil[c]
        for a in range(3):
            x[c, a] = before[v, a]
            p[c, a] = after[v, a] - before[v, a]


@njit(cache=True)
def compute_max_approach(p: Array, is_edge_edge: bool) -> float:
    """Upper bound of the approach of the two primitives during the motions p (4, 3)."""
    # arrays would cost more than the sums
    mx = 0.25 * (p[0, 0] + p[1, 0] + p[2, 0] + p[3, 0])
    my = 0.25 * (p[0, 1] + p[1, 1] + p[2, 1] + p[3, 1])
    mz = 0.25 * (p[0, 2] + p[1, 2] + p[2, 2] + p[3, 2])
    split = 2 if is_edge_edge else 1
    one, two = 0.0, 0.0
    for c in range(4):
        square = (p[c, 0] - mx) ** 2 + (p[c, 1] - my) ** 2 + (p[c, 2] - mz) ** 2
        if c < split:
            one = max(one, square)
        else:
            two = max(two, square)
    return np.sqrt(one) + np.sqrt(two)


@njit(cache=True)
def estimate_min_distance(x: Array, is_edge_edge: bool) -> float:
    """Lower bound of the distance of a stencil at x (4, 3), along the line between the centres of its primitives."""
    split = 2 if is_edge_edge else 1
    # six times the centres of one vertex, of edges, of a triangle
    one, two = (3.0, 3.0) if is_edge_edge else (6.0, 2.0)
    dx, dy, dz = 0.0, 0.0, 0.0
    for c in range(4):
        weight = -one if c < split else two
        dx, dy, dz = dx + weight * x[c, 0], dy + weight * x[c, 1], dz + weight * x[c, 2]
    nearest, farthest = np.inf, -np.inf
    for c in range(4):
        along = x[c, 0] * dx + x[c, 1] * dy + x[c, 2] * dz
        if c < split:
            farthest = max(farthest, along)
        else:
            nearest = min(nearest, along)
    return (nearest - farthest) / np.sqrt(dx**2 + dy**2 + dz**2) if nearest > farthest else 0.0


@njit(cache=True)
def compute_time_of_impact(
    x: Array,
    p: Array,
    is_edge_edge: bool,
    start_distance: float,
    min_distance: float,
    max_approach: float,
    positions: Array,
    w: Array,
    separation: Array,
) -> float:
    """Share of the motion p (4, 3) from x (4, 3) after which the distance is at most min_distance, or NO_IMPACT.

    Additive advancement (Li et al. 2021): no step is longer than the distance allows. Fills positions (4, 3), w (4,)
    and separation (3,) at the end.
    """
    t, distance = 0.0, start_distance
    for _ in range(MAX_ADVANCEMENTS):
        t += (distance - 0.5 * min_distance) / max_approach
        if t >= 1.0:
            return NO_IMPACT
        for c in range(4):
            for a in range(3):
                positions[c, a] = x[c, a] + t * p[c, a]
        distance = compute_stencil_distance(positions, is_edge_edge, w, separation)
        if distance <= min_distance:
            return t
    return t
