"""Compiled loops that order parts of a graph by least fill: next is whoever joins the fewest pairs of its neighbours.

Neighbours are bits of words, so that pairs are counted 64 at a time. Local numbers: first the nodes to be ordered, then
those around them, which are eliminated later but counted.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic

from cajole.jit import njit

_ONE_BIT = np.uint64(1)
# shares that are waited for are whole numbers but for this
DELAY_TOLERANCE = 1e-9


@intrinsic
def _count_bits(context, word):
    """How many bits of a word are set."""

    def code(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@njit(cache=True)
def order_by_minimum_fill(indptr, indices, order, parents, max_leaf_size, delay_weights, delays, fill_scale):
    """`order` (n,), in postorder, where every subtree of at most `leaf` nodes is ordered anew, by least fill.

    parent: its elimination tree; share (n,), wait (n,): of the shares of its neighbours, how much has to be eliminated
    before a node; blur (n,): what the fill of each is taken times.
    """
    n = len(order)
    sizes, local, out = np.ones(n, np.int64), np.full(n, -1, np.int64), order.copy()
    for j in range(n):
        if parents[j] != -1:
            sizes[parents[j]] += sizes[j]
    for root in range(n):
        if sizes[root] <= max_leaf_size and (parents[root] == -1 or sizes[parents[root]] > max_leaf_size):
            inside = order[root + 1 - sizes[root] : root + 1]
            nodes = _collect_neighbourhood(indptr, indices, inside, local)
            bits = _build_adjacency_bits(indptr, indices, nodes, local)
            out[root + 1 - sizes[root] : root + 1] = inside[
                _order_nodes(bits, len(inside), delay_weights[inside], delays[inside], fill_scale[inside])
            ]
            local[nodes] = -1
    return out


@njit(cache=True)
def _collect_neighbourhood(indptr, indices, inside, local):
    """The nodes `inside` and then those that touch them; their places are written into `local`."""
    nodes, count = np.empty(len(local), np.int64), len(inside)
    nodes[:count] = inside
    for i in range(count):
        local[inside[i]] = i
    for i in range(len(inside)):
        for p in range(indptr[inside[i]], indptr[inside[i] + 1]):
            if local[indices[p]] == -1:
                local[indices[p]] = count
                nodes[count] = indices[p]
                count += 1
    return nodes[:count]


@njit(cache=True)
def _build_adjacency_bits(indptr, indices, nodes, local):
    """(k, words) the neighbours of each of `nodes` among them."""
    bits = np.zeros((len(nodes), (len(nodes) + 63) // 64), np.uint64)
    for i in range(len(nodes)):
        for p in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            j = local[indices[p]]
            if j != -1:
                bits[i, j >> 6] |= _ONE_BIT << np.uint64(j & 63)
    return bits


@njit(cache=True)
def _order_nodes(bits, inside, delay_weights, delays, fill_scale):
    """The numbers (inside,) in order; `bits` becomes the graph of what is left."""
    joined, out, done = np.empty(inside, np.int64), np.empty(inside, np.int64), np.zeros(inside, np.bool_)
    near = np.empty(len(bits), np.int64)
    starts = bits[:inside].copy()
    for i in range(inside):
        joined[i] = _compute_deficiency(bits, i, near, _list_set_bits(bits[i], near))
    for step in range(inside):
        v = _select_pivot(joined, done, delays, fill_scale)
        out[step], done[v] = v, True
        for i in range(inside):
            if delays[i] > DELAY_TOLERANCE and _has_bit(starts[v], i):
                delays[i] -= delay_weights[v]
        _eliminate(bits, v, inside, joined, near)
    return out


@njit(cache=True)
def _select_pivot(deficiency, done, delays, fill_scale):
    """Who joins the fewest; those that wait come when there is nobody else."""
    best, least = -1, (True, np.inf)
    for i in range(len(deficiency)):
        here = (delays[i] > DELAY_TOLERANCE, deficiency[i] * fill_scale[i])
        if not done[i] and (best == -1 or here < least):
            best, least = i, here
    return best


@njit(cache=True)
def _eliminate(bits, v, inside, deficiency, near):
    """Join the neighbours of v with each other, and forget it; what they would join in turn is counted anew."""
    gone = bits[v].copy()
    count = _list_set_bits(gone, near)
    around = near[:count].copy()
    for w in around:
        if deficiency[v] == 0 and w < inside:
            # nothing is added: its pairs with v alone are gone
            for k in range(len(gone)):
                deficiency[w] -= _count_bits(bits[w, k] & ~gone[k])
            deficiency[w] += 1
        for k in range(len(gone)):
            bits[w, k] |= gone[k]
        bits[w, w >> 6] &= ~(_ONE_BIT << np.uint64(w & 63))
        bits[w, v >> 6] &= ~(_ONE_BIT << np.uint64(v & 63))
    if deficiency[v] > 0:
        for w in around:
            if w < inside:
                deficiency[w] = _compute_deficiency(bits, w, near, _list_set_bits(bits[w], near))


@njit(cache=True)
def _compute_deficiency(bits, i, near, count):
    """How many pairs of the neighbours of i, the first `count` of `near`, are not neighbours of each other."""
    missing = np.int64(0)
    for j in near[:count]:
        for k in range(bits.shape[1]):
            missing += np.int64(_count_bits(bits[i, k] & ~bits[j, k]))
    # each misses itself
    return (missing - count) // 2


@njit(cache=True)
def _list_set_bits(row, near):
    """Write the numbers whose bits are set into `near`; how many there are."""
    count = 0
    for k in range(len(row)):
        word = row[k]
        while word != np.uint64(0):
            lowest = word & (~word + _ONE_BIT)
            near[count] = 64 * k + np.int64(_count_bits(lowest - _ONE_BIT))
            count += 1
            word ^= lowest
    return count


@njit(cache=True)
def _has_bit(row, j):
    return (row[j >> 6] >> np.uint64(j & 63)) & _ONE_BIT == _ONE_BIT
