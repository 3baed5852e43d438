"""Compiled loops that membrane and hinges of a shell share: adding to its matrices, and its mass."""

from __future__ import annotations

from cajole.compiled import njit


@njit(cache=True)
def scatter(data, block, size, where, e, elements, slots, stride, scale):
    """Add scale times `block` of `size` vertices, which stand at places `where` of element e."""
    for i in range(size):
        step = stride[elements[e, where[i]]]
        for j in range(size):
            here = slots[e, where[i], where[j]]
            for r in range(3):
                for c in range(3):
                    data[here + r * step + c] += scale * block[3 * i + r, 3 * j + c]


@njit(cache=True)
def mass(triangles, weights, slots, stride, data):
    """data += ρtA/12 (1 + δ_ab) I₃, the consistent mass; weights = ρtA."""
    for e in range(len(triangles)):
        for a in range(3):
            for b in range(3):
                value = weights[e] / (6.0 if a == b else 12.0)
                here, step = slots[e, a, b], stride[triangles[e, a]]
                for i in range(3):
                    data[here + i * (step + 1)] += value
