"""Compiled limits of edges: what contacts move may neither tear nor crush the triangles beside it."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.jit import njit

# an edge may end at these shares of its length at rest, and farther only where it was
MAX_STRETCH, MIN_STRETCH = 1.05, 0.95
# edges this share of their length beyond a limit are left there: corrected, they would push many others over theirs
STRETCH_TOLERANCE = 1e-3


@njit(cache=True)
def compute_length(x: Array, i: int, j: int) -> float:
    """The distance of two of the points x (n, 3)."""
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
    """Fill how long and how short edges (k, 2) may end that are `rest` (k,) long at rest; whether any ends beyond.

    before, after: (n, 3), where a step begins and would end without contacts; change: the share of its length by which
    an edge may follow there, beyond what rest and start allow.
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
    """Move `after` (n, 3) so that edges (k, 2) end within their limits (k,), to and fro over all of them.

    Each impulse acts along an edge on its two ends by their `inverse` masses (n,), so that momentum is kept, and takes
    no more than the speed at which the ends part or near each other: none adds kinetic energy.
    """
    count, least, most = len(edges), (1.0 - STRETCH_TOLERANCE) ** 2, (1.0 + STRETCH_TOLERANCE) ** 2
    # 1 + the last sweep in which a vertex moved: edges between others are as they were
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
            # what has turned since the start is not pushed farther than it came
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
