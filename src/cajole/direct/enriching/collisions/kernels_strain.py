"""Compiled limits of edges: what contacts move may neither tear nor crush the triangles beside it."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.compiled import njit

# an edge may end at these shares of its length at rest, and farther only where it was
LONGEST, SHORTEST = 1.05, 0.95
# edges this share of their length beyond a limit are left there: corrected, they would push many others over theirs
SETTLED = 1e-3


@njit(cache=True)
def length_of(x: Array, i: int, j: int) -> float:
    """The distance of two of the points x (n, 3)."""
    return np.sqrt((x[j, 0] - x[i, 0]) ** 2 + (x[j, 1] - x[i, 1]) ** 2 + (x[j, 2] - x[i, 2]) ** 2)


@njit(cache=True)
def edge_limits(
    before: Array, after: Array, edges: IndexArray, rest: Array, change: float, longest: Array, shortest: Array
) -> bool:
    """Fill how long and how short edges (k, 2) may end that are `rest` (k,) long at rest; whether any ends beyond.

    before, after: (n, 3), where a step begins and would end without contacts; change: the share of its length by which
    an edge may follow there, beyond what rest and start allow.
    """
    beyond = False
    for k in range(len(edges)):
        i, j = edges[k, 0], edges[k, 1]
        one, two = length_of(before, i, j), length_of(after, i, j)
        longest[k] = max(LONGEST * rest[k], one, min(two, (1.0 + change) * one))
        shortest[k] = min(SHORTEST * rest[k], one, max(two, (1.0 - change) * one))
        beyond = beyond or two > longest[k] or two < shortest[k]
    return beyond


@njit(cache=True)
def limit_edges(
    before: Array, after: Array, edges: IndexArray, longest: Array, shortest: Array, inverse: Array, sweeps: int
) -> None:
    """Move `after` (n, 3) so that edges (k, 2) end within their limits (k,), to and fro over all of them.

    Each impulse acts along an edge on its two ends by their `inverse` masses (n,), so that momentum is kept, and takes
    no more than the speed at which the ends part or near each other: none adds kinetic energy.
    """
    count, least, most = len(edges), (1.0 - SETTLED) ** 2, (1.0 + SETTLED) ** 2
    # 1 + the last sweep in which a vertex moved: edges between others are as they were
    moved = np.zeros(len(after), np.int16)
    for sweep in range(sweeps):
        settled = True
        for place in range(count):
            k = place if sweep % 2 == 0 else count - 1 - place
            i, j = edges[k, 0], edges[k, 1]
            if moved[i] < sweep and moved[j] < sweep:
                continue
            mobility = inverse[i] + inverse[j]
            dx, dy, dz = after[j, 0] - after[i, 0], after[j, 1] - after[i, 1], after[j, 2] - after[i, 2]
            square = dx * dx + dy * dy + dz * dz
            low, high = shortest[k], longest[k]
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
            one, two = missing * inverse[i] / mobility, missing * inverse[j] / mobility
            after[i, 0] -= one * dx
            after[i, 1] -= one * dy
            after[i, 2] -= one * dz
            after[j, 0] += two * dx
            after[j, 1] += two * dy
            after[j, 2] += two * dz
        if settled:
            return
