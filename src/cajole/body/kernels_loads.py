"""Compiled air loads on triangles, equal forces on the three corners, with (x₁-x₀)×(x₂-x₀) = 2A n; gradient noise."""

from __future__ import annotations

import math

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.body.kernels_assembly import Int32Array, compute_edge_vector, cross, dot
from cajole.jit import njit

NOISE_PERIOD = 256


@njit(cache=True)
def compute_centroids(x: Array, triangles: Int32Array, out: Array) -> None:
    """Fill out (m, 3) with the centroid of every triangle."""
    for e in range(len(triangles)):
        i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
        for r in range(3):
            out[e, r] = (x[i, r] + x[j, r] + x[k, r]) / 3.0


@njit(cache=True)
def add_wind_force(
    x: Array, v: Array, air: Array, triangles: Int32Array, normal_factor: float, tangential_factor: float, out: Array
) -> None:
    """out += A |w| (a (w·n) n + b (w - (w·n) n)) of every triangle, w = air - its mean velocity; a, b: the factors."""
    for e in range(len(triangles)):
        i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
        n = cross(compute_edge_vector(x, i, j), compute_edge_vector(x, i, k))
        square = dot(n, n)
        if square == 0.0:
            continue
        w = (
            air[e, 0] - (v[i, 0] + v[j, 0] + v[k, 0]) / 3.0,
            air[e, 1] - (v[i, 1] + v[j, 1] + v[k, 1]) / 3.0,
            air[e, 2] - (v[i, 2] + v[j, 2] + v[k, 2]) / 3.0,
        )
        weight = math.sqrt(square * dot(w, w)) / 6.0
        through = (normal_factor - tangential_factor) * dot(w, n) / square
        for r in range(3):
            f = weight * (through * n[r] + tangential_factor * w[r])
            out[i, r] += f
            out[j, r] += f
            out[k, r] += f


@njit(cache=True)
def add_pressure_force(x: Array, triangles: Int32Array, pressure: float, out: Array) -> None:
    """out += pressure A n / 3 at the corners of every triangle."""
    for e in range(len(triangles)):
        i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
        n = cross(compute_edge_vector(x, i, j), compute_edge_vector(x, i, k))
        for r in range(3):
            f = pressure * n[r] / 6.0
            out[i, r] += f
            out[j, r] += f
            out[k, r] += f


@njit(cache=True)
def compute_enclosed_volume(x: Array, triangles: Int32Array) -> float:
    """Σ x₀·(x₁×x₂)/6, relative to a vertex of the surface, which avoids cancellation far from the origin."""
    total, o = 0.0, triangles[0, 0]
    for e in range(len(triangles)):
        i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
        total += dot(compute_edge_vector(x, o, i), cross(compute_edge_vector(x, o, j), compute_edge_vector(x, o, k)))
    return total / 6.0


@njit(cache=True)
def sample_perlin(points: Array, table: IndexArray, gradients: Array, out: Array) -> None:
    """Fill out (k, 3): Σ over the corners of a point's cell of fade times gradient·(point - corner), per component.

    table (256,): permutation that hashes corners; gradients (3, 256, 3): unit vectors of each component.
    """
    corner, inside, fade = np.empty(3, dtype=np.int64), np.empty(3), np.empty(3)
    for k in range(len(points)):
        for r in range(3):
            # large coordinates would lose their fractions
            x = points[k, r] % float(NOISE_PERIOD)
            corner[r] = math.floor(x)
            t = x - corner[r]
            inside[r] = t
            fade[r] = t**3 * (t * (6.0 * t - 15.0) + 10.0)
            out[k, r] = 0.0
        for c in range(8):
            a, b, d = c >> 2, (c >> 1) & 1, c & 1
            i, j, l = (corner[0] + a) % NOISE_PERIOD, (corner[1] + b) % NOISE_PERIOD, (corner[2] + d) % NOISE_PERIOD
            h = table[(table[(table[i] + j) % NOISE_PERIOD] + l) % NOISE_PERIOD]
            share = fade[0] if a else 1.0 - fade[0]
            share *= fade[1] if b else 1.0 - fade[1]
            share *= fade[2] if d else 1.0 - fade[2]
            x, y, z = inside[0] - a, inside[1] - b, inside[2] - d
            for r in range(3):
                out[k, r] += share * (gradients[r, h, 0] * x + gradients[r, h, 1] * y + gradients[r, h, 2] * z)
