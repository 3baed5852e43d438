"""The controlled fluid, compiled: feedback, force, step and particles."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.jit import njit
from cajole.reduction.kernels_flow import advect_points, solve_midpoint


@njit(cache=True)
def compute_flow_feedback(
    gain: Array, particles: Array, z: Array, reference_particles: Array, reference_state: Array, w: Array
) -> None:
    """w (r,) = K (Δp, Δz), the deviation of particles (N, 2) and modes (r,) from the reference's frame."""
    N, r = len(reference_particles), len(z)
    off = np.empty(2 * N + r)
    for k in range(N):
        off[2 * k] = particles[k, 0] - reference_particles[k, 0]
        off[2 * k + 1] = particles[k, 1] - reference_particles[k, 1]
    for i in range(r):
        off[2 * N + i] = z[i] - reference_state[i]
    np.dot(gain, off, w)


@njit(cache=True)
def rollout_flow_with_feedback(
    skew: Array,
    damping: Array,
    basis: Array,
    shape: tuple,
    cell: float,
    h: float,
    gains: Array,
    reference_particles: Array,
    reference_states: Array,
    feed_forward: Array,
    external: Array,
    first_step: int,
    particles: Array,
    z: Array,
    out_states: Array,
    out_particles: Array,
    out_feedback: Array,
) -> int:
    """As many steps from reference step `first` on as `external` (m, r) has rows; points and z become the last ones.

    gains (T, r, 2N+r), none for a run without control; paths (T+1, N, 2) and states (T+1, r): the reference; fed (T, r)
    its feed-forward; points may hold more particles than are steered. Returns how many steps gave numbers.
    """
    r = len(z)
    G, w, total = np.empty((r, r)), np.zeros(r), np.empty(r)
    for n in range(len(external)):
        if len(gains):
            compute_flow_feedback(
                gains[first_step + n],
                particles,
                z,
                reference_particles[first_step + n],
                reference_states[first_step + n],
                w,
            )
        for i in range(r):
            total[i] = w[i] + feed_forward[first_step + n, i] + external[n, i]
        zm = solve_midpoint(skew, damping, z, total, h, G)
        if not np.isfinite(zm).all():
            return n
        advect_points(basis, shape[0], shape[1], cell, z, zm, h, particles)
        for i in range(r):
            z[i] = 2.0 * zm[i] - z[i]
        out_states[n], out_particles[n], out_feedback[n] = z, particles, w
    return len(external)
