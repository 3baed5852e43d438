"""The compiled loop that membrane and hinges of a shell share: adding to its matrices."""

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
