"""Compiled search for the pairs of moving vertices, edges and triangles that could meet: boxes swept along an axis.

They are sorted into strips along a second axis first, so that a sweep reads neighbours only.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, BoolArray, IndexArray
from cajole.jit import njit

# strips are this many mean boxes wide: most boxes lie in one or two
STRIP_WIDTH = 2.0
MAX_STRIPS = 4096


@njit(cache=True)
def compute_swept_boxes(before: Array, after: Array, primitives: IndexArray, pad: float) -> Array:
    """(m, 6) least and greatest coordinates of parts (m, k) of vertices on their way, made larger by `pad`."""
    out = np.empty((len(primitives), 6))
    for m in range(len(primitives)):
        for a in range(3):
            low, high = np.inf, -np.inf
            for c in range(primitives.shape[1]):
                x, y = before[primitives[m, c], a], after[primitives[m, c], a]
                low, high = min(low, x, y), max(high, x, y)
            out[m, a], out[m, 3 + a] = low - pad, high + pad
    return out


@njit(cache=True)
def assign_strips(low: Array, high: Array) -> tuple[IndexArray, IndexArray, int]:
    """The first and the last strip (m,) of each extent along an axis, and how many strips there are."""
    least, size = low.min(), STRIP_WIDTH * (high - low).mean()
    count = 1
    if size > 0.0:
        count = int(min((high.max() - least) / size, MAX_STRIPS - 1.0)) + 1
    first, last = np.zeros(len(low), np.int64), np.zeros(len(low), np.int64)
    if count > 1:
        for m in range(len(low)):
            first[m] = min(int((low[m] - least) / size), count - 1)
            last[m] = min(int((high[m] - least) / size), count - 1)
    return first, last, count


@njit(cache=True)
def list_strip_members(
    first: IndexArray, last: IndexArray, count: int, order: IndexArray
) -> tuple[IndexArray, IndexArray]:
    """Where each of `count` strips begins in the list of what lies in them, and that list, each strip in `order`."""
    begins = np.zeros(count + 1, np.int64)
    for m in range(len(order)):
        for strip in range(first[m], last[m] + 1):
            begins[strip + 1] += 1
    for strip in range(count):
        begins[strip + 1] += begins[strip]
    ends, listed = begins[:-1].copy(), np.empty(begins[-1], np.int64)
    for m in order:
        for strip in range(first[m], last[m] + 1):
            listed[ends[strip]] = m
            ends[strip] += 1
    return begins, listed


@njit(cache=True)
def double_capacity(pairs: IndexArray) -> IndexArray:
    """Pairs (k, 2) with as much room again behind them."""
    larger = np.empty((2 * len(pairs), 2), np.int64)
    larger[: len(pairs)] = pairs
    return larger


@njit(cache=True)
def find_overlaps(boxes: Array, order: IndexArray, split: int, axis: int, strip_axis: int) -> IndexArray:
    """Pairs (k, 2) of boxes that overlap: one below and one from `split` on, or any two where `split` is zero."""
    third = 3 - axis - strip_axis
    found, count = np.empty((1024, 2), np.int64), 0
    if len(boxes) == 0:
        return found[:0]
    first, last, strips = assign_strips(boxes[:, strip_axis], boxes[:, 3 + strip_axis])
    begins, listed = list_strip_members(first, last, strips, order)
    # in the order of the sweeps, so that neighbours are read one after the other
    inline = np.empty((len(listed), 6))
    for place in range(len(listed)):
        box = boxes[listed[place]]
        inline[place, 0], inline[place, 1] = box[axis], box[3 + axis]
        inline[place, 2], inline[place, 3] = box[strip_axis], box[3 + strip_axis]
        inline[place, 4], inline[place, 5] = box[third], box[3 + third]
    for strip in range(strips):
        for place in range(begins[strip], begins[strip + 1]):
            i, end = listed[place], inline[place, 1]
            low, high, near, far = inline[place, 2], inline[place, 3], inline[place, 4], inline[place, 5]
            for later in range(place + 1, begins[strip + 1]):
                if inline[later, 0] > end:
                    break
                if inline[later, 4] > far or inline[later, 5] < near:
                    continue
                if inline[later, 2] > high or inline[later, 3] < low:
                    continue
                j = listed[later]
                # two that share several strips count in the first of these
                if (split > 0 and (i < split) == (j < split)) or max(first[i], first[j]) != strip:
                    continue
                if count == len(found):
                    found = double_capacity(found)
                found[count, 0], found[count, 1] = min(i, j), max(i, j)
                count += 1
    return found[:count].copy()


@njit(cache=True)
def find_overlaps_of(
    selected: IndexArray,
    boxes: Array,
    others: Array,
    order: IndexArray,
    lower_bounds: Array,
    max_extent: float,
    is_updated: BoolArray,
    updated: IndexArray,
    axis: int,
    is_self_query: bool,
) -> IndexArray:
    """Pairs (k, 2) of `some` of the boxes (m, 6) and of all `others` (n, 6) that overlap.

    order (n,): the others by where they began along `axis`, `begins` (n,), none longer than `longest` there; anew:
    those that were made anew since, `moved` (n,). same: boxes and others are the same, and pairs of some are told once.
    """
    found, count = np.empty((1024, 2), np.int64), 0
    chosen = np.zeros(len(others) if is_self_query else 0, np.bool_)
    if is_self_query:
        chosen[selected] = True
    for i in selected:
        box = boxes[i]
        place = np.searchsorted(lower_bounds, box[axis] - max_extent)
        end = place + np.searchsorted(lower_bounds[place:], box[3 + axis], side="right")
        for k in range(place, end + len(updated)):
            j = order[k] if k < end else updated[k - end]
            if k < end and is_updated[j]:
                continue
            other = others[j]
            if other[0] > box[3] or other[3] < box[0] or other[1] > box[4] or other[4] < box[1]:
                continue
            if other[2] > box[5] or other[5] < box[2] or (is_self_query and chosen[j] and j <= i):
                continue
            if count == len(found):
                found = double_capacity(found)
            found[count, 0], found[count, 1] = i, j
            count += 1
    return found[:count].copy()


@njit(cache=True)
def find_incident_primitives(vertices: IndexArray, starts: IndexArray, incident: IndexArray) -> IndexArray:
    """The parts that hold some vertices, one after the other; those of v are owned[starts[v] : starts[v + 1]]."""
    count = 0
    for v in vertices:
        count += starts[v + 1] - starts[v]
    out, at = np.empty(count, np.int64), 0
    for v in vertices:
        for k in range(starts[v], starts[v + 1]):
            out[at] = incident[k]
            at += 1
    return out


@njit(cache=True)
def build_stencils(first: IndexArray, second: IndexArray, pairs: IndexArray, shell_vertex_count: int) -> IndexArray:
    """Vertices (k, 4) of pairs (j, 2) of rows of `first` and `second` that share none and hold one below `shell`."""
    a, b = first.shape[1], second.shape[1]
    out, count = np.empty((len(pairs), a + b), np.int64), 0
    for k in range(len(pairs)):
        m, n = pairs[k, 0], pairs[k, 1]
        # a part is of the shell or of a collider, never of both
        if first[m, 0] >= shell_vertex_count and second[n, 0] >= shell_vertex_count:
            continue
        shared = False
        for i in range(a):
            out[count, i] = first[m, i]
            for j in range(b):
                shared = shared or first[m, i] == second[n, j]
        if shared:
            continue
        for j in range(b):
            out[count, a + j] = second[n, j]
        count += 1
    return out[:count].copy()
