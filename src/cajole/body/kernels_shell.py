"""What the compiled loops over membrane and hinges of a shell share: vectors as tuples, and adding to matrices."""

from __future__ import annotations

from cajole.compiled import njit


@njit(cache=True)
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True)
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit(cache=True)
def added(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@njit(cache=True)
def mixed(a, x, b, y):
    """a x + b y."""
    return a * x[0] + b * y[0], a * x[1] + b * y[1], a * x[2] + b * y[2]


@njit(cache=True)
def between(x, i, j):
    """x_j - x_i."""
    return x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]


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
