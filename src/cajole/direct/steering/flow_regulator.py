"""The regulator of a fluid with particles: over the exact steps of its reference, or the paper's continuous ones."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.direct.steering.continuous import sampled, step_back
from cajole.direct.steering.flow_costs import FlowCosts
from cajole.linalg.threads import blas_threads
from cajole.reduction import FlowShot


def flow_gains(shot: FlowShot, costs: FlowCosts, formulation: str = "discrete") -> tuple[Array, Array]:
    """Gains (T, r, 2N+r): feedback w = K (Δp, Δz); and the value (2N+r, 2N+r) of a deviation at the start."""
    r = shot.model.size
    made = _exact if formulation == "discrete" else _sampled
    gains, value, R = np.empty((shot.steps, r, costs.Q.shape[1])), np.diag(costs.final), costs.R * np.eye(r)
    with blas_threads():
        for n in range(shot.steps - 1, -1, -1):
            gains[n], value = step_back(*made(shot, n, costs.Q[n]), R, value)
    return gains, value


def _exact(shot: FlowShot, n: int, Q: Array) -> tuple[Array, Array]:
    """Step n of the simulator itself, E (m, m+r), and what its end costs, Eᵀ Q E."""
    step = shot.model.linearize(shot.states[n], shot.particles[n], shot.feed_forward[n], shot.dt)
    E = np.hstack([step.state, step.control])
    return E, E.T @ (Q[:, None] * E)


def _sampled(shot: FlowShot, n: int, Q: Array) -> tuple[Array, Array]:
    """Eq. (13) held over step n: its exponential, and its costs integrated exactly, eq. (16)-(18)."""
    E, X = sampled(flow_rates(shot, n), np.diag(Q / shot.dt), shot.dt)
    return E[: len(Q)], X


def flow_rates(shot: FlowShot, n: int) -> Array:
    """F (m+r, m+r) of eq. (13) and (23)-(26) at frame n, acting on (Δp, Δz, w)."""
    model, z, points = shot.model, shot.states[n], shot.particles[n]
    r, m = model.size, 2 * len(points) + model.size
    F = np.zeros((m + r, m + r))
    F[m - r : m, m - r : m], F[m - r : m, m:] = model.rates(z) + model.bent(z), np.eye(r)
    for k, point in enumerate(points):
        rows = slice(2 * k, 2 * k + 2)
        F[rows, m - r : m], F[rows, rows] = model.around(point, z)
    return F
