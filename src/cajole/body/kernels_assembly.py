"""Vectors as tuples, and assembly of blocks into matrices, for compiled loops over triangles, tets and hinges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.jit import njit

Int32Array = NDArray[np.int32]


@njit(cache=True)
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True)
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit(cache=True)
def add(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@njit(cache=True)
def combine_linearly(a, x, b, y):
    """a x + b y."""
    return a * x[0] + b * y[0], a * x[1] + b * y[1], a * x[2] + b * y[2]


@njit(cache=True)
def compute_edge_vector(x, i, j):
    """x_j - x_i."""
    return x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]


@njit(cache=True)
def add_block(data, block, size, local_vertices, e, elements, block_offsets, row_strides, scale):
    """Add scale times `block` of `size` vertices, which are `local_vertices` of element e."""
    for i in range(size):
        step = row_strides[elements[e, local_vertices[i]]]
        for j in range(size):
            here = block_offsets[e, local_vertices[i], local_vertices[j]]
            for r in range(3):
                for c in range(3):
                    data[here + r * step + c] += scale * block[3 * i + r, 3 * j + c]


@njit(cache=True)
def add_consistent_mass(
    elements: Int32Array, masses: Array, block_offsets: Int32Array, row_strides: Int32Array, data: Array
) -> None:
    """data += w (1 + δ_ab) / k(k + 1) I₃, the consistent mass of elements (m, k) with the masses w (m,) [kg]."""
    k = elements.shape[1]
    for e in range(len(elements)):
        for a in range(k):
            for b in range(k):
                value = masses[e] * (2.0 if a == b else 1.0) / (k * (k + 1))
                here, step = block_offsets[e, a, b], row_strides[elements[e, a]]
                for i in range(3):
                    data[here + i * (step + 1)] += value
