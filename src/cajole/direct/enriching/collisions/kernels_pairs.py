"""Compiled search for the pairs of moving vertices, edges and triangles that could meet: boxes swept along an axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.compiled import njit

F = NDArray[np.float64]
I = NDArray[np.int64]


@njit(cache=True)
def swept_boxes(before: F, after: F, parts: I, pad: float) -> F:
    """(m, 6) least and greatest coordinates of parts (m, k) of vertices on their way, made larger by `pad`."""
    out = np.empty((len(parts), 6))
    for m in range(len(parts)):
        for a in range(3):
            low, high = np.inf, -np.inf
            for c in range(parts.shape[1]):
                x, y = before[parts[m, c], a], after[parts[m, c], a]
                low, high = min(low, x, y), max(high, x, y)
            out[m, a], out[m, 3 + a] = low - pad, high + pad
    return out


@njit(cache=True)
def overlapping(boxes: F, split: int, axis: int) -> I:
    """Pairs (k, 2) of boxes that overlap: one below and one from `split` on, or any two where `split` is zero."""
    order = np.argsort(boxes[:, axis])
    second, third = (axis + 1) % 3, (axis + 2) % 3
    # in the order of the sweep, so that neighbours are read one after the other
    inline = np.empty((len(order), 6))
    for place in range(len(order)):
        box = boxes[order[place]]
        inline[place, 0], inline[place, 1] = box[axis], box[3 + axis]
        inline[place, 2], inline[place, 3] = box[second], box[3 + second]
        inline[place, 4], inline[place, 5] = box[third], box[3 + third]
    found, count = np.empty((1024, 2), np.int64), 0
    for place in range(len(order)):
        i, end = order[place], inline[place, 1]
        low, high, near, far = inline[place, 2], inline[place, 3], inline[place, 4], inline[place, 5]
        for later in range(place + 1, len(order)):
            if inline[later, 0] > end:
                break
            if inline[later, 2] > high or inline[later, 3] < low or inline[later, 4] > far or inline[later, 5] < near:
                continue
            j = order[later]
            if split > 0 and (i < split) == (j < split):
                continue
            if count == len(found):
                larger = np.empty((2 * count, 2), np.int64)
                larger[:count] = found
                found = larger
            found[count, 0], found[count, 1] = min(i, j), max(i, j)
            count += 1
    return found[:count].copy()


@njit(cache=True)
def joined(first: I, second: I, pairs: I, shell: int) -> I:
    """Vertices (k, 4) of pairs (j, 2) of rows of `first` and `second` that share none and hold one below `shell`."""
    a, b = first.shape[1], second.shape[1]
    out, count = np.empty((len(pairs), a + b), np.int64), 0
    for k in range(len(pairs)):
        one, two = first[pairs[k, 0]], second[pairs[k, 1]]
        # a part is of the shell or of a collider, never of both
        if one[0] >= shell and two[0] >= shell:
            continue
        shared = False
        for i in range(a):
            for j in range(b):
                shared = shared or one[i] == two[j]
        if shared:
            continue
        out[count, :a], out[count, a:] = one, two
        count += 1
    return out[:count].copy()
