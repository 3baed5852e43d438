"""Compiled loops of surface nets: sparse sampling of a distance and the dual surface of its sign changes."""

from __future__ import annotations

import math

from cajole.jit import njit
from cajole.scenes.kernels_sdf import evaluate_point

BLOCK_CELLS = 8  # cells along the edge of a block that is sampled or skipped as a whole
# a block is skipped when its centre is further from the surface than this many block edges: half a diagonal is 0.87,
# the rest covers distances that overestimate (bent sheets, flat ellipsoids)
BLOCK_SKIP_FACTOR = 1.3


@njit(cache=True, error_model="numpy")
def sample_grid(codes, parameters, data, ox, oy, oz, spacing, values):
    """Fill values (nx, ny, nz) on the grid origin + spacing (i, j, k); distant blocks get the value at their centre."""
    nx, ny, nz = values.shape
    for bi in range(0, nx, BLOCK_CELLS):
        for bj in range(0, ny, BLOCK_CELLS):
            for bk in range(0, nz, BLOCK_CELLS):
                half = 0.5 * (BLOCK_CELLS - 1) * spacing
                centre = evaluate_point(
                    codes,
                    parameters,
                    data,
                    ox + bi * spacing + half,
                    oy + bj * spacing + half,
                    oz + bk * spacing + half,
                )
                near = abs(centre) < BLOCK_SKIP_FACTOR * BLOCK_CELLS * spacing
                for i in range(bi, min(bi + BLOCK_CELLS, nx)):
                    for j in range(bj, min(bj + BLOCK_CELLS, ny)):
                        for k in range(bk, min(bk + BLOCK_CELLS, nz)):
                            if near:
                                centre = evaluate_point(
                                    codes, parameters, data, ox + i * spacing, oy + j * spacing, oz + k * spacing
                                )
                            values[i, j, k] = centre


@njit(cache=True, error_model="numpy")
def place_cell_vertices(values, index, points):
    """Place one vertex in every cell with a sign change: the mean of the zeros on its edges, in cell units. Returns the
    count.

    index (nx-1, ny-1, nz-1) receives the vertex of each cell, or -1; with an empty `points` vertices are only counted.
    """
    filled = 0
    for i in range(index.shape[0]):
        for j in range(index.shape[1]):
            for k in range(index.shape[2]):
                index[i, j, k] = -1
                inside = 0
                for c in range(8):
                    inside += values[i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)] < 0.0
                if inside == 0 or inside == 8:
                    continue
                if filled < len(points):
                    average_edge_crossings(values, i, j, k, points[filled])
                index[i, j, k] = filled
                filled += 1
    return filled


@njit(cache=True, error_model="numpy")
def average_edge_crossings(values, i, j, k, out):
    """Mean of the linear zeros on the twelve edges of one cell."""
    count = 0
    out[:] = 0.0
    for c in range(8):
        for axis in range(3):
            if c >> axis & 1:
                continue
            e = c | (1 << axis)
            a = values[i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)]
            b = values[i + (e & 1), j + (e >> 1 & 1), k + (e >> 2)]
            if (a < 0.0) != (b < 0.0):
                t = a / (a - b)
                for d in range(3):
                    out[d] += (c >> d & 1) + (t if d == axis else 0.0)
                count += 1
    out[0], out[1], out[2] = i + out[0] / count, j + out[1] / count, k + out[2] / count


@njit(cache=True)
def connect_quads(values, index, quads):
    """Connect the four cells around every grid edge with a sign change, counter-clockwise from outside. Returns the
    count.
    """
    nx, ny, nz = values.shape
    filled = 0
    for i in range(1, nx - 1):
        for j in range(1, ny - 1):
            for k in range(1, nz - 1):
                a = values[i, j, k] < 0.0
                for axis in range(3):
                    b = values[i + (axis == 0), j + (axis == 1), k + (axis == 2)] < 0.0
                    if a == b:
                        continue
                    if filled < len(quads):
                        for corner in range(4):
                            turn = corner if a else 3 - corner
                            # (0,0) (1,0) (1,1) (0,1) backwards along the two other axes
                            u = 1 if turn == 1 or turn == 2 else 0
                            v = turn >> 1
                            ci = i - (u if axis == 2 else (v if axis == 1 else 0))
                            cj = j - (u if axis == 0 else (v if axis == 2 else 0))
                            ck = k - (u if axis == 1 else (v if axis == 0 else 0))
                            quads[filled, corner] = index[ci, cj, ck]
                    filled += 1
    return filled


@njit(cache=True)
def _write_triangle(triangles, row, a, b, c):
    """Write a row of triangles (m, 3); an array assigned to it would take numba 2 s more to compile."""
    triangles[row, 0], triangles[row, 1], triangles[row, 2] = a, b, c


@njit(cache=True, error_model="numpy")
def split_quads(points, quads, triangles):
    """Split each quad along its shorter diagonal into two rows of triangles."""
    for q in range(len(quads)):
        a, b, c, d = quads[q, 0], quads[q, 1], quads[q, 2], quads[q, 3]
        one = 0.0
        two = 0.0
        for i in range(3):
            one += (points[a, i] - points[c, i]) ** 2
            two += (points[b, i] - points[d, i]) ** 2
        if math.sqrt(one) <= math.sqrt(two):
            _write_triangle(triangles, 2 * q, a, b, c)
            _write_triangle(triangles, 2 * q + 1, a, c, d)
        else:
            _write_triangle(triangles, 2 * q, a, b, d)
            _write_triangle(triangles, 2 * q + 1, b, c, d)
