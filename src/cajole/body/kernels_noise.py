"""The compiled loop of gradient noise."""

from __future__ import annotations

import math

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.jit import njit

PERIOD = 256


@njit(cache=True)
def sample_perlin(points: Array, table: IndexArray, gradients: Array, out: Array) -> None:
    """out (k, 3) = Σ over the corners of a point's cell: fade times gradient·(point - corner), thrice.

    table (256,): a permutation that hashes corners; gradients (3, 256, 3): unit vectors of each component.
    """
    corner, inside, fade = np.empty(3, dtype=np.int64), np.empty(3), np.empty(3)
    for k in range(len(points)):
        for r in range(3):
            # beyond its period a float has no whole numbers to spare
            x = points[k, r] % float(PERIOD)
            corner[r] = math.floor(x)
            t = x - corner[r]
            inside[r] = t
            fade[r] = t**3 * (t * (6.0 * t - 15.0) + 10.0)
            out[k, r] = 0.0
        for c in range(8):
            a, b, d = c >> 2, (c >> 1) & 1, c & 1
            i, j, l = (corner[0] + a) % PERIOD, (corner[1] + b) % PERIOD, (corner[2] + d) % PERIOD
            h = table[(table[(table[i] + j) % PERIOD] + l) % PERIOD]
            share = fade[0] if a else 1.0 - fade[0]
            share *= fade[1] if b else 1.0 - fade[1]
            share *= fade[2] if d else 1.0 - fade[2]
            x, y, z = inside[0] - a, inside[1] - b, inside[2] - d
            for r in range(3):
                out[k, r] += share * (gradients[r, h, 0] * x + gradients[r, h, 1] * y + gradients[r, h, 2] * z)
