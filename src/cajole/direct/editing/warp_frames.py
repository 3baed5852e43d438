"""Input frames for the warp, compiled: rotation and stretch of every element, in the blocks of `kernels_warp`."""

from __future__ import annotations

import numpy as np

from cajole.compiled import njit
from cajole.direct.editing import kernels_warp
from cajole.direct.editing.polar import rotation_vector, split

# taken from the module, so that compiled code is renewed with it
LANES = kernels_warp.LANES


@njit(cache=True)
def _normal(x, o, v, w, n):
    """The unit normal (3,) of a triangle at x[o], x[v], x[w], to n; left as it was where there is none."""
    a0, a1, a2 = x[v, 0] - x[o, 0], x[v, 1] - x[o, 1], x[v, 2] - x[o, 2]
    b0, b1, b2 = x[w, 0] - x[o, 0], x[w, 1] - x[o, 1], x[w, 2] - x[o, 2]
    c0, c1, c2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    length = np.sqrt(c0 * c0 + c1 * c1 + c2 * c2)
    if 0.0 < length < np.inf:
        n[0], n[1], n[2] = c0 / length, c1 / length, c2 / length


@njit(cache=True)
def split_frame(shapes, corners, rest, additive, x, frames):
    """Rotation and stretch of F = I + Σ (x - rest)_a g_aᵀ in every element; the unit normals of triangles go along."""
    edges = corners.shape[1] // LANES - 1
    F, Q, K, V, n = np.empty(9), np.empty(9), np.empty((4, 4)), np.empty((4, 4)), np.zeros(3)
    for b in range(len(shapes)):
        shape, corner, frame = shapes[b], corners[b], frames[b]
        for i in range(LANES):
            o = corner[i]
            if edges == 2:
                n[0], n[1], n[2] = shape[7 * LANES + i], shape[8 * LANES + i], shape[9 * LANES + i]
                _normal(x, o, corner[LANES + i], corner[2 * LANES + i], n)
            for r in range(3):
                F[3 * r] = F[3 * r + 1] = F[3 * r + 2] = 0.0
                F[4 * r] = 1.0
                for a in range(edges):
                    v = corner[(a + 1) * LANES + i]
                    edge = (x[v, r] - rest[v, r]) - (x[o, r] - rest[o, r])
                    for c in range(3):
                        F[3 * r + c] += edge * shape[(3 * a + c) * LANES + i]
                if edges == 2:
                    for c in range(3):
                        F[3 * r + c] += (n[r] - shape[(7 + r) * LANES + i]) * shape[(7 + c) * LANES + i]
            split(F, Q, K, V)
            first = 9
            if additive:
                first = 3
                frame[i], frame[LANES + i], frame[2 * LANES + i] = rotation_vector(Q)
            else:
                for c in range(9):
                    frame[c * LANES + i] = Q[c]
            for r in range(3):
                for c in range(r, 3):
                    left = Q[r] * F[c] + Q[3 + r] * F[3 + c] + Q[6 + r] * F[6 + c]
                    right = Q[c] * F[r] + Q[3 + c] * F[3 + r] + Q[6 + c] * F[6 + r]
                    frame[(first + c + (2 * r if r < 2 else 3)) * LANES + i] = 0.5 * (left + right)
