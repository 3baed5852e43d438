"""The paper's regulator (appendix A): the linearised motion in continuous time, control constant over each step.

With x = (q, v) and F = [[A, B], [0, 0]] acting on (x, w), e^{Fτ} carries a state and its constant control through time
τ, and the sampled costs are ∫ e^{Fτ}ᵀ Qc e^{Fτ} dτ, Qc = diag(Q, 0): eq. (16)-(18) without their misprints. Both come
by doubling,
    X(2τ) = X(τ) + e^{Fτ}ᵀ X(τ) e^{Fτ},
which stays semidefinite on stiff models where Van Loan's block exponential loses all digits.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from cajole.arrays import Array
from cajole.direct.steering.costs import Costs
from cajole.direct.steering.laps import Laps
from cajole.direct.steering.motion import Reference
from cajole.errors import NotConverged
from cajole.reduction import kernels_motion as motion_kernels

# Terms of the Taylor series at a norm of one half: the first left out is below rounding.
TERMS = 14
NOT_FINITE = "the regulator has no finite gains; lower tracking and final, or raise effort"


def continuous_gains(reference: Reference, costs: Costs) -> tuple[Array, Array]:
    """Gains (T, r, 2r) on the deviation of the frame before each step, and the value (2r, 2r) at the start.

    Weights are taken as rates over a step: what step n weighs at its end in the discrete form is spread over it here.
    Those of a loop are periodic.
    """
    T, r, h = reference.steps, reference.model.size, reference.dt
    gains, value = np.zeros((T, r, 2 * r)), np.zeros((2 * r, 2 * r))
    running = [costs.Q[costs.which_q[n]] - (costs.final if n == T - 1 else 0.0) for n in range(T)]
    made = [sampled(_rates(reference, n), Q / h, h) for n, Q in enumerate(running)]
    laps = Laps.of(reference)
    for _ in range(laps.most):
        before, value = gains.copy(), value + costs.final
        for n in range(T - 1, -1, -1):
            R = costs.R[costs.which_r[n]]
            gains[n], value = step_back(*made[n], R[0, 0] * np.eye(r) if R.shape == (1, 1) else R, value)
        if laps.settled(before, gains):
            break
    return gains, value


def step_back(E: Array, X: Array, R: Array, value: Array) -> tuple[Array, Array]:
    """The gain of a step and the value before it: eq. (19)-(20).

    E (m, m+r), or with more rows below: the step of (x, w); X (m+r, m+r): what it costs; value (m, m): the cost to go
    after it.
    """
    m = len(value)
    Phi, Gamma = E[:m, :m], E[:m, m:]
    cross = X[:m, m:] + Phi.T @ value @ Gamma
    pivot = X[m:, m:] + R + Gamma.T @ value @ Gamma
    try:
        gain = -scipy.linalg.cho_solve(scipy.linalg.cho_factor(pivot), cross.T)
    except (np.linalg.LinAlgError, ValueError):
        raise NotConverged(NOT_FINITE) from None
    value = X[:m, :m] + Phi.T @ value @ Phi + cross @ gain
    return gain, 0.5 * (value + value.T)


def _rates(reference: Reference, n: int) -> Array:
    """F (3r, 3r) of eq. (22) and (10) at the frame before step n."""
    r = reference.model.size
    if n > 0:
        Gq, Gv = reference.Gq[n - 1], reference.Gv[n - 1]
    else:
        Gq, Gv = np.empty((r, r)), np.empty((r, r))
        system = reference.model.system
        q, v = reference.course[1, 0].copy()
        motion_kernels.evaluate(system, q, v, motion_kernels.workspace(system), np.empty(r), Gq, Gv)
    F = np.zeros((3 * r, 3 * r))
    F[:r, r : 2 * r] = np.eye(r)
    F[r : 2 * r, :r], F[r : 2 * r, r : 2 * r], F[r : 2 * r, 2 * r :] = -Gq, -Gv, np.eye(r)
    return F


def sampled(F: Array, Q: Array, h: float) -> tuple[Array, Array]:
    """e^{Fh} and ∫₀ʰ e^{Fτ}ᵀ diag(Q, 0) e^{Fτ} dτ, by doubling."""
    n = len(Q)
    # positions in the unit of the fastest frequency, so that the norm is that frequency and not its square
    scale = np.ones(len(F))
    fastest = np.sqrt(max(np.abs(F[n // 2 : n, : n // 2]).sum(axis=0).max(initial=0.0), 1.0))
    scale[: n // 2] = 1.0 / fastest
    balanced = F * scale / scale[:, None]
    halvings = max(0, int(np.ceil(np.log2(max(2.0 * h * np.abs(balanced).sum(axis=0).max(), 1e-300)))))
    d = h / 2**halvings
    cost = np.zeros_like(F)
    cost[:n, :n] = scale[:n, None] * Q * scale[:n]
    E, X = _short(balanced * d, cost * d)
    for _ in range(halvings):
        X = X + E.T @ X @ E
        E = E @ E
    return E / scale * scale[:, None], X / scale / scale[:, None]


def _short(Fd: Array, X0: Array) -> tuple[Array, Array]:
    """The two Taylor series over a short time: X_k = (Fdᵀ X_{k-1} + X_{k-1} Fd) / (k + 1)."""
    E, power, X, term = np.eye(len(Fd)), np.eye(len(Fd)), X0.copy(), X0
    for k in range(1, TERMS + 1):
        power = power @ Fd / k
        E = E + power
        half = term @ Fd
        term = (half + half.T) / (k + 1)
        X = X + term
    return E, X
