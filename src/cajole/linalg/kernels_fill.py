"""Compiled loops that order parts of a graph by least fill: next is whoever joins the fewest pairs of its neighbours.

Neighbours are bits of words, so that pairs are counted 64 at a time. Local numbers: first the nodes to be ordered, then
those around them, which are eliminated later but counted.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic

from cajole.compiled import njit

_ONE = np.uint64(1)
# shares that are waited for are whole numbers but for this
ROUNDING = 1e-9


@intrinsic
def _ones(context, word):
    """How many bits of a word are set."""

    def code(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@njit(cache=True)
def least_fill(indptr, indices, order, parent, leaf, share, wait, blur):
    """`order` (n,), in postorder, where every subtree of at most `leaf` nodes is ordered anew, by least fill.

    parent: its elimination tree; share (n,), wait (n,): of the shares of its neighbours, how much has to be eliminated
    before a node; blur (n,): what the fill of each is taken times.
    """
    n = len(order)
    sizes, local, out = np.ones(n, np.int64), np.full(n, -1, np.int64), order.copy()
    for j in range(n):
        if parent[j] != -1:
            sizes[parent[j]] += sizes[j]
    for root in range(n):
        if sizes[root] <= leaf and (parent[root] == -1 or sizes[parent[root]] > leaf):
            inside = order[root + 1 - sizes[root] : root + 1]
            nodes = _with_neighbours(indptr, indices, inside, local)
            bits = _bits(indptr, indices, nodes, local)
            out[root + 1 - sizes[root] : root + 1] = inside[
                _ordered(bits, len(inside), share[inside], wait[inside], blur[inside])
            ]
            local[nodes] = -1
    return out


@njit(cache=True)
def _with_neighbours(indptr, indices, inside, local):
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
def _bits(indptr, indices, nodes, local):
    """(k, words) the neighbours of each of `nodes` among them."""
    bits = np.zeros((len(nodes), (len(nodes) + 63) // 64), np.uint64)
    for i in range(len(nodes)):
        for p in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            j = local[indices[p]]
            if j != -1:
                bits[i, j >> 6] |= _ONE << np.uint64(j & 63)
    return bits


@njit(cache=True)
def _ordered(bits, inside, share, wait, blur):
    """The numbers (inside,) in order; `bits` becomes the graph of what is left."""
    joined, out, done = np.empty(inside, np.int64), np.empty(inside, np.int64), np.zeros(inside, np.bool_)
    near = np.empty(len(bits), np.int64)
    starts = bits[:inside].copy()
    for i in range(inside):
        joined[i] = _joined(bits, i, near, _members(bits[i], near))
    for step in range(inside):
        v = _next(joined, done, wait, blur)
        out[step], done[v] = v, True
        for i in range(inside):
            if wait[i] > ROUNDING and _has(starts[v], i):
                wait[i] -= share[v]
        _eliminated(bits, v, inside, joined, near)
    return out


@njit(cache=True)
def _next(joined, done, wait, blur):
    """Who joins the fewest; those that wait come when there is nobody else."""
    best, least = -1, (True, np.inf)
    for i in range(len(joined)):
        here = (wait[i] > ROUNDING, joined[i] * blur[i])
        if not done[i] and (best == -1 or here < least):
            best, least = i, here
    return best


@njit(cache=True)
def _eliminated(bits, v, inside, joined, near):
    """Join the neighbours of v with each other, and forget it; what they would join in turn is counted anew."""
    gone = bits[v].copy()
    count = _members(gone, near)
    around = near[:count].copy()
    for w in around:
        if joined[v] == 0 and w < inside:
            # nothing is added: its pairs with v alone are gone
            for k in range(len(gone)):
                joined[w] -= _ones(bits[w, k] & ~gone[k])
            joined[w] += 1
        for k in range(len(gone)):
            bits[w, k] |= gone[k]
        bits[w, w >> 6] &= ~(_ONE << np.uint64(w & 63))
        bits[w, v >> 6] &= ~(_ONE << np.uint64(v & 63))
    if joined[v] > 0:
        for w in around:
            if w < inside:
                joined[w] = _joined(bits, w, near, _members(bits[w], near))


@njit(cache=True)
def _joined(bits, i, near, count):
    """How many pairs of the neighbours of i, the first `count` of `near`, are not neighbours of each other."""
    missing = np.int64(0)
    for j in near[:count]:
        for k in range(bits.shape[1]):
            missing += np.int64(_ones(bits[i, k] & ~bits[j, k]))
    # each misses itself
    return (missing - count) // 2


@njit(cache=True)
def _members(row, near):
    """Write the numbers whose bits are set into `near`; how many there are."""
    count = 0
    for k in range(len(row)):
        word = row[k]
        while word != np.uint64(0):
            lowest = word & (~word + _ONE)
            near[count] = 64 * k + np.int64(_ones(lowest - _ONE))
            count += 1
            word ^= lowest
    return count


@njit(cache=True)
def _has(row, j):
    return (row[j >> 6] >> np.uint64(j & 63)) & _ONE == _ONE
