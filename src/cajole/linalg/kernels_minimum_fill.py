"""Compiled minimum fill ordering of parts of a graph: the node with the smallest deficiency is eliminated next.

The deficiency of a node is the number of pairs of its neighbours that are not adjacent. Neighbours are bits of words,
so that pairs are counted 64 at a time. Local numbers: first the nodes to be ordered, then their neighbours outside,
which are eliminated later but counted.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic

from cajole.jit import njit

_ONE_BIT = np.uint64(1)
# delays are sums of shares; this much of one is rounding
DELAY_TOLERANCE = 1e-9


@intrinsic
def _count_bits(context, word):
    """The number of set bits of a word."""

    def code(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@njit(cache=True)
def order_by_minimum_fill(indptr, indices, order, parents, max_leaf_size, delay_weights, delays):
    """`order` (n,), a postorder, with every subtree of at most `max_leaf_size` nodes ordered again by minimum fill.

    parents (n,): elimination tree of `order`. delays (n,): the sum of `delay_weights` of its neighbours that must be
    eliminated before a node.
    """
    n = len(order)
    sizes, local, out = np.ones(n, np.int64), np.full(n, -1, np.int64), order.copy()
    nodes = np.empty(n, np.int64)
    for j in range(n):
        if parents[j] != -1:
            sizes[parents[j]] += sizes[j]
    for root in range(n):
        if sizes[root] > max_leaf_size or (parents[root] != -1 and sizes[parents[root]] <= max_leaf_size):
            continue
        # the nodes of the subtree, then their neighbours outside
        inside = order[root + 1 - sizes[root] : root + 1]
        count = len(inside)
        nodes[:count] = inside
        for i in range(count):
            local[inside[i]] = i
        for i in range(len(inside)):
            for p in range(indptr[inside[i]], indptr[inside[i] + 1]):
                if local[indices[p]] == -1:
                    local[indices[p]] = count
                    nodes[count] = indices[p]
                    count += 1
        bits = np.zeros((count, (count + 63) // 64), np.uint64)
        for i in range(count):
            for p in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
                j = local[indices[p]]
                if j != -1:
                    bits[i, j >> 6] |= _ONE_BIT << np.uint64(j & 63)
        out[root + 1 - sizes[root] : root + 1] = inside[
            _order_nodes(bits, len(inside), delay_weights[inside], delays[inside])
        ]
        local[nodes[:count]] = -1
    return out


@njit(cache=True)
def _order_nodes(bits, inside, delay_weights, delays):
    """The local numbers (inside,) in elimination order; `bits` becomes the graph of the remaining nodes."""
    deficiency, out, done = np.empty(inside, np.int64), np.empty(inside, np.int64), np.zeros(inside, np.bool_)
    near = np.empty(len(bits), np.int64)
    starts = bits[:inside].copy()
    for i in range(inside):
        deficiency[i] = _compute_deficiency(bits, i, near, _list_set_bits(bits[i], near))
    for step in range(inside):
        # the vertex of minimum deficiency; delayed vertices come when no other is left
        v, least = -1, (True, np.int64(0))
        for i in range(inside):
            here = (delays[i] > DELAY_TOLERANCE, deficiency[i])
            if not done[i] and (v == -1 or here < least):
                v, least = i, here
        out[step], done[v] = v, True
        for i in range(inside):
            if delays[i] > DELAY_TOLERANCE and (starts[v, i >> 6] >> np.uint64(i & 63)) & _ONE_BIT == _ONE_BIT:
                delays[i] -= delay_weights[v]
        _eliminate(bits, v, inside, deficiency, near)
    return out


@njit(cache=True)
def _eliminate(bits, v, inside, deficiency, near):
    """Join the neighbours of v with each other, remove v, and update the deficiency of its neighbours."""
    gone = bits[v].copy()
    count = _list_set_bits(gone, near)
    around = near[:count].copy()
    for w in around:
        if deficiency[v] == 0 and w < inside:
            # no edge is added: only the pairs of v with others disappear
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
    """The number of pairs of neighbours of i, the first `count` of `near`, that are not adjacent."""
    missing = np.int64(0)
    for j in near[:count]:
        for k in range(bits.shape[1]):
            missing += np.int64(_count_bits(bits[i, k] & ~bits[j, k]))
    # no neighbour is adjacent to itself
    return (missing - count) // 2


@njit(cache=True)
def _list_set_bits(row, near):
    """Write the positions of the set bits into `near`; return their number."""
    count = 0
    for k in range(len(row)):
        word = row[k]
        while word != np.uint64(0):
            lowest = word & (~word + _ONE_BIT)
            near[count] = 64 * k + np.int64(_count_bits(lowest - _ONE_BIT))
            count += 1
            word ^= lowest
    return count
