"""Compiled broad phase: sweep and prune of the boxes of moving vertices, edges and triangles.

Boxes are divided into strips along a second axis, so that a sweep along the first reads close boxes only.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, BoolArray, IndexArray
from cajole.jit import njit

# width of a strip in mean boxes: most boxes lie in one or two strips
STRIP_WIDTH = 2.0
MAX_STRIPS = 4096


@njit(cache=True)
def compute_swept_boxes(before: Array, after: Array, primitives: IndexArray, pad: float) -> Array:
    """Lower and upper corners (m, 6) of the boxes of moving primitives (m, k), enlarged by `pad`."""
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
    """First and last strip (m,) of each interval along an axis, and the number of strips."""
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
    """Start of each of `count` strips in the list of their members, and that list, each strip in `order`."""
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
    """Copy pairs (k, 2) to an array of twice the length."""
    larger = np.empty((2 * len(pairs), 2), np.int64)
    larger[: len(pairs)] = pairs
    return larger


@njit(cache=True)
def find_overlaps(boxes: Array, order: IndexArray, split: int, axis: int, strip_axis: int) -> IndexArray:
    """Pairs (k, 2) of overlapping boxes, one below and one from `split` on; any two if `split` is zero."""
    third = 3 - axis - strip_axis
    found, count = np.empty((1024, 2), np.int64), 0
    if len(boxes) == 0:
        return found[:0]
    first, last, strips = assign_strips(boxes[:, strip_axis], boxes[:, 3 + strip_axis])
    begins, listed = list_strip_members(first, last, strips, order)
    # stored in the order of the sweeps, for sequential access
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
                # a pair that shares several strips counts in the first of them
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
    """Overlapping pairs (k, 2) of the `selected` boxes (m, 6) and all `others` (n, 6).

    order (n,): the others by their lower_bounds (n,) along `axis` before the update, none longer than max_extent;
    updated: indices of the others updated since, is_updated (n,) their mask. is_self_query: boxes and others are the
    same, and pairs of two selected boxes are returned once.
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
    """Concatenated indices of the primitives of `vertices`; those of v are incident[starts[v] : starts[v + 1]]."""
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
    """Stencils (k, 4) of pairs (j, 2) of rows of `first` and `second` without common vertices, one of the shell."""
    a, b = first.shape[1], second.shape[1]
    out, count = np.empty((len(pairs), a + b), np.int64), 0
    for k in range(len(pairs)):
        m, n = pairs[k, 0], pairs[k, 1]
        # a primitive belongs to the shell or to a collider, never to both
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
