"""Compiled corrections of positions after contacts: limits of edge lengths, and projection onto region averages.

As products of SciPy the projection took three times as long.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.jit import njit

Int32Array = NDArray[np.int32]
# limits of an edge relative to its rest length; an edge that was beyond them may stay there
MAX_STRETCH, MIN_STRETCH = 1.05, 0.95
# an edge this close to a limit is not corrected, since that would push many others beyond theirs
STRETCH_TOLERANCE = 1e-3


@njit(cache=True)
def compute_length(x: Array, i: int, j: int) -> float:
    """Distance of two of the points x (n, 3)."""
    return np.sqrt((x[j, 0] - x[i, 0]) ** 2 + (x[j, 1] - x[i, 1]) ** 2 + (x[j, 2] - x[i, 2]) ** 2)


@njit(cache=True)
def compute_edge_limits(
    before: Array,
    after: Array,
    edges: IndexArray,
    rest_lengths: Array,
    max_change: float,
    max_lengths: Array,
    min_lengths: Array,
) -> bool:
    """Fill max_lengths and min_lengths (k,) of edges (k, 2) with rest lengths (k,); True if any exceeds them.

    before, after: positions (n, 3) at the start of a step and at its end without contacts. max_change: relative change
    by which an edge may follow the step beyond the limits from its rest and start lengths.
    """
    beyond = False
    for k in range(len(edges)):
        i, j = edges[k, 0], edges[k, 1]
        one, two = compute_length(before, i, j), compute_length(after, i, j)
        max_lengths[k] = max(MAX_STRETCH * rest_lengths[k], one, min(two, (1.0 + max_change) * one))
        min_lengths[k] = min(MIN_STRETCH * rest_lengths[k], one, max(two, (1.0 - max_change) * one))
        beyond = beyond or two > max_lengths[k] or two < min_lengths[k]
    return beyond


@njit(cache=True)
def limit_edges(
    before: Array,
    after: Array,
    edges: IndexArray,
    max_lengths: Array,
    min_lengths: Array,
    inverse_masses: Array,
    sweeps: int,
) -> None:
    """Move `after` (n, 3) so that edges (k, 2) are within their limits (k,), in sweeps in alternating order.

    Each impulse acts along an edge on its ends by their inverse masses (n,), which conserves momentum, and removes at
    most their relative speed: none adds kinetic energy.
    """
    count, least, most = len(edges), (1.0 - STRETCH_TOLERANCE) ** 2, (1.0 + STRETCH_TOLERANCE) ** 2
    # 1 + the last sweep in which a vertex moved: edges between other vertices are unchanged
    moved = np.zeros(len(after), np.int16)
    for sweep in range(sweeps):
        settled = True
        for place in range(count):
            k = place if sweep % 2 == 0 else count - 1 - place
            i, j = edges[k, 0], edges[k, 1]
            if moved[i] < sweep and moved[j] < sweep:
                continue
            mobility = inverse_masses[i] + inverse_masses[j]
            dx, dy, dz = after[j, 0] - after[i, 0], after[j, 1] - after[i, 1], after[j, 2] - after[i, 2]
            square = dx * dx + dy * dy + dz * dz
            low, high = min_lengths[k], max_lengths[k]
            within = least * low * low <= square <= most * high * high
            if within or mobility == 0.0 or square == 0.0:
                continue
            length = np.sqrt(square)
            dx, dy, dz = dx / length, dy / length, dz / length
            began = (
                dx * (before[j, 0] - before[i, 0]) + dy * (before[j, 1] - before[i, 1])
                + dz * (before[j, 2] - before[i, 2])
            )  # fmt: skip
            # an edge that has rotated since the start is not pushed farther than it moved
            missing = high - length if length > high else min(low, began) - length
            if length < low and missing <= 0.0:
                continue
            settled = False
            moved[i] = moved[j] = sweep + 1
            one, two = missing * inverse_masses[i] / mobility, missing * inverse_masses[j] / mobility
            after[i, 0] -= one * dx
            after[i, 1] -= one * dy
            after[i, 2] -= one * dz
            after[j, 0] += two * dx
            after[j, 1] += two * dy
            after[j, 2] += two * dz
        if settled:
            return


@njit(cache=True, fastmath={"reassoc", "contract"})
def project_means(
    x: Array,
    target: Array,
    row_starts: Int32Array,
    row_vertices: Int32Array,
    row_weights: Array,
    tolerances: Array,
    coupling: Array,
    column_starts: Int32Array,
    column_vertices: Int32Array,
    column_weights: Array,
    work: Array,
) -> None:
    """Move x (n, 3) so that averages are at `target` (m, 3) within tolerances (m,); work (3, m): scratch.

    row_*: the averages, a CSR matrix (m, n). coupling (m, m): row i is the motion of all regions that corrects an error
    of region i. column_*: a CSC matrix (n, m), the motion of the vertices due to each region. Contacts are local, so
    most regions have no error.
    """
    regions = len(target)
    work[:] = 0.0
    for i in range(regions):
        b, c, d = target[i, 0], target[i, 1], target[i, 2]
        for p in range(row_starts[i], row_starts[i + 1]):
            v, w = row_vertices[p], row_weights[p]
            b, c, d = b - w * x[v, 0], c - w * x[v, 1], d - w * x[v, 2]
        if max(abs(b), abs(c), abs(d)) <= tolerances[i]:
            continue
        for j in range(regions):
            work[0, j] += coupling[i, j] * b
            work[1, j] += coupling[i, j] * c
            work[2, j] += coupling[i, j] * d
    for j in range(regions):
        b, c, d = work[0, j], work[1, j], work[2, j]
        if max(abs(b), abs(c), abs(d)) <= tolerances[j]:
            continue
        for p in range(column_starts[j], column_starts[j + 1]):
            v, w = column_vertices[p], column_weights[p]
            x[v, 0] += w * b
            x[v, 1] += w * c
            x[v, 2] += w * d
