"""Compiled loops over triangles that air pushes: (x₁-x₀)×(x₂-x₀) = 2A n of each, forces to its three corners alike."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.body.kernels_vector import compute_edge_vector, cross, dot
from cajole.jit import njit

Int32Array = NDArray[np.int32]


@njit(cache=True)
def compute_centroids(x: Array, triangles: Int32Array, out: Array) -> None:
    """out (m, 3): the middle of every triangle."""
    for e in range(len(triangles)):
        i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
        for r in range(3):
            out[e, r] = (x[i, r] + x[j, r] + x[k, r]) / 3.0


@njit(cache=True)
def add_wind_force(
    x: Array, v: Array, air: Array, triangles: Int32Array, normal_factor: float, tangential_factor: float, out: Array
) -> None:
    """out += A |w| (across (w·n) n + along (w - (w·n) n)) of every triangle, w = air - the mean of its velocities."""
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
    """out += value A n / 3 at the corners of every triangle."""
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
    """Σ x₀·(x₁×x₂)/6, seen from a vertex of the surface so that far away no digits are lost."""
    total, o = 0.0, triangles[0, 0]
    for e in range(len(triangles)):
        i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
        total += dot(compute_edge_vector(x, o, i), cross(compute_edge_vector(x, o, j), compute_edge_vector(x, o, k)))
    return total / 6.0
