"""The controlled fluid, compiled: feedback, force, step and particles."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.compiled import njit
from cajole.reduction.kernels_flow import carried, middle


@njit(cache=True)
def feedback(gain: Array, points: Array, z: Array, path: Array, state: Array, w: Array) -> None:
    """w (r,) = K (Δp, Δz), the deviation of particles (N, 2) and modes (r,) from the reference's frame."""
    N, r = len(path), len(z)
    off = np.empty(2 * N + r)
    for k in range(N):
        off[2 * k] = points[k, 0] - path[k, 0]
        off[2 * k + 1] = points[k, 1] - path[k, 1]
    for i in range(r):
        off[2 * N + i] = z[i] - state[i]
    np.dot(gain, off, w)


@njit(cache=True)
def drive(
    skew: Array,
    damping: Array,
    basis: Array,
    shape: tuple,
    cell: float,
    h: float,
    gains: Array,
    paths: Array,
    states: Array,
    fed: Array,
    external: Array,
    first: int,
    points: Array,
    z: Array,
    out_z: Array,
    out_p: Array,
    out_w: Array,
) -> int:
    """As many steps from reference step `first` on as `external` (m, r) has rows; points and z become the last ones.

    gains (T, r, 2N+r), none for a run without control; paths (T+1, N, 2) and states (T+1, r): the reference; fed (T, r)
    its feed-forward; points may hold more particles than are steered. Returns how many steps gave numbers.
    """
    r = len(z)
    G, w, total = np.empty((r, r)), np.zeros(r), np.empty(r)
    for n in range(len(external)):
        if len(gains):
            feedback(gains[first + n], points, z, paths[first + n], states[first + n], w)
        for i in range(r):
            total[i] = w[i] + fed[first + n, i] + external[n, i]
        zm = middle(skew, damping, z, total, h, G)
        if not np.isfinite(zm).all():
            return n
        carried(basis, shape[0], shape[1], cell, z, zm, h, points)
        for i in range(r):
            z[i] = 2.0 * zm[i] - z[i]
        out_z[n], out_p[n], out_w[n] = z, points, w
    return len(external)
