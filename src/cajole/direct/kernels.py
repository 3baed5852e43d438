"""The Riccati sweep over implicit steps, compiled: one backward pass gives gains, moves and the value function.

Variables of step n are the deviations dP, dV of the predictor state and da of the acceleration. The control follows,
dw = Gq dP + Gv dV + Ga da, and the dynamics are a double integrator: dP' = dP + hp dV + c1 da, dV' = dV + c2 da.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from cajole.reduction.kernels_motion import curvature, workspace


@njit(cache=True)
def _cholesky(A, L):
    """A = L Lᵀ (lower); false when A is not positive definite."""
    r = len(A)
    for j in range(r):
        total = A[j, j]
        for k in range(j):
            total -= L[j, k] * L[j, k]
        if not total > 0.0:
            return False
        root = np.sqrt(total)
        L[j, j] = root
        for i in range(j + 1, r):
            part = A[i, j]
            for k in range(j):
                part -= L[i, k] * L[j, k]
            L[i, j] = part / root
        for i in range(j):
            L[i, j] = 0.0
    return True


@njit(cache=True)
def _cholesky_solve(L, B):
    """L Lᵀ X = B in place, B (r, k)."""
    r, k = B.shape
    for i in range(r):
        for j in range(i):
            c = L[i, j]
            for m in range(k):
                B[i, m] -= c * B[j, m]
        inverse = 1.0 / L[i, i]
        for m in range(k):
            B[i, m] *= inverse
    for i in range(r - 1, -1, -1):
        for j in range(i + 1, r):
            c = L[j, i]
            for m in range(k):
                B[i, m] -= c * B[j, m]
        inverse = 1.0 / L[i, i]
        for m in range(k):
            B[i, m] *= inverse


@njit(cache=True)
def sweep(system, plan, Q, Vq, W, Gq, Gv, s, effort, key, Hk, Eq, theta, mu, PT, pT, gains, moves, inverse, P0, p0):
    """Backward pass on ½ Σ effort_n |w_n|² + key costs.

    key (T,) is the row of Hk (K, r, r) that weighs step n, or -1; Eq (T, r) the gradient of the key costs; theta the
    share of second-order terms (1 Newton, 0 Gauss-Newton), with λ = -s; mu a Levenberg term on dw; (PT, pT) the value
    after the last step. Fills gains (T, r, 2r), moves (T, r), inverse = Q_aa⁻¹ (T, r, r), P0, p0.
    Returns (ok, slope): slope = Σ q_aᵀ k, the change of cost to first order for a full step; ok is false when some Q_aa
    is not positive definite.
    """
    T, r = W.shape
    work = workspace(system)
    J = np.empty((r, 3 * r))
    Mqq, Mqv = np.zeros((r, r)), np.zeros((r, r))
    L = np.empty((r, r))
    right = np.empty((r, 3 * r + 1))
    P, p = PT.copy(), pT.copy()
    slope = 0.0
    for n in range(T - 1, -1, -1):
        bh, gh, hp, c1, c2 = plan[n, 0], plan[n, 1], plan[n, 2], plan[n, 3], plan[n, 4]
        J[:, :r] = Gq[n]
        J[:, r : 2 * r] = Gv[n]
        J[:, 2 * r :] = gh * Gv[n] + bh * Gq[n]
        for i in range(r):
            J[i, 2 * r + i] += 1.0
        rho = effort[n]
        H = np.dot(J.T, J)
        H *= rho * (1.0 + mu)
        g = rho * np.dot(J.T, W[n])
        xx, xa, aa = H[: 2 * r, : 2 * r], H[: 2 * r, 2 * r :], H[2 * r :, 2 * r :]
        gx, ga = g[: 2 * r], g[2 * r :]
        if key[n] >= 0:
            D = Hk[key[n]]
            xx[:r, :r] += D
            xa[:r] += bh * D
            aa += bh * bh * D
            gx[:r] += Eq[n]
            ga += bh * Eq[n]
        if theta > 0.0:
            curvature(system, Q[n], Vq[n], -s[n], work, Mqq, Mqv)
            xx[:r, :r] += theta * Mqq
            xx[:r, r:] += theta * Mqv
            xx[r:, :r] += theta * Mqv.T
            xa[:r] += theta * (bh * Mqq + gh * Mqv)
            xa[r:] += theta * bh * Mqv.T
            aa += theta * (bh * bh * Mqq + bh * gh * (Mqv + Mqv.T))
        P11, P12, P22 = P[:r, :r], P[:r, r:], P[r:, r:]
        first = c1 * P11 + c2 * P12
        second = c1 * P12.T + c2 * P22
        xx[:r, :r] += P11
        xx[:r, r:] += hp * P11 + P12
        xx[r:, :r] += hp * P11 + P12.T
        xx[r:, r:] += hp * hp * P11 + hp * (P12 + P12.T) + P22
        xa[:r] += first
        xa[r:] += hp * first + second
        aa += c1 * first + c2 * second.T
        gx[:r] += p[:r]
        gx[r:] += hp * p[:r] + p[r:]
        ga += c1 * p[:r] + c2 * p[r:]
        if not _cholesky(0.5 * (aa + aa.T), L):
            return False, 0.0
        right[:, : 2 * r] = -xa.T
        right[:, 2 * r] = -ga
        right[:, 2 * r + 1 :] = np.eye(r)
        _cholesky_solve(L, right)
        gains[n] = right[:, : 2 * r]
        moves[n] = right[:, 2 * r]
        inverse[n] = right[:, 2 * r + 1 :]
        P = xx + np.dot(np.ascontiguousarray(xa), gains[n])
        P = 0.5 * (P + P.T)
        p = gx + np.dot(np.ascontiguousarray(xa), moves[n])
        slope += np.dot(np.ascontiguousarray(ga), moves[n])
    P0[:] = P
    p0[:] = p
    return True, slope


@njit(cache=True)
def columns(plan, gains, moves, inverse, rows, row_step, start, kc, S11, S10, G):
    """Sensitivities to multipliers of M linear constraints, from the gains of `sweep` alone.

    rows (M, r): S_j acting on q at step row_step[j] (or -1); start (2r, M): their action on the state after the last
    step. Fills kc (T, r, M) (moves per unit multiplier), S11 (M, M) = -J H⁻¹ Jᵀ, S10 (M,) and G (M, 2r).
    """
    T, r = moves.shape
    M = rows.shape[0]
    p1, p2 = start[:r].copy(), start[r:].copy()
    S11[:] = 0.0
    S10[:] = 0.0
    for n in range(T - 1, -1, -1):
        bh, hp, c1, c2 = plan[n, 0], plan[n, 2], plan[n, 3], plan[n, 4]
        ga = c1 * p1 + c2 * p2
        p2 = p2 + hp * p1
        for j in range(M):
            if row_step[j] == n:
                ga[:, j] += bh * rows[j]
                p1[:, j] += rows[j]
        k = -np.dot(inverse[n], ga)
        kc[n] = k
        S11 += np.dot(ga.T, k)
        S10 += np.dot(ga.T, moves[n])
        p1 = p1 + np.dot(np.ascontiguousarray(gains[n][:, :r].T), ga)
        p2 = p2 + np.dot(np.ascontiguousarray(gains[n][:, r:].T), ga)
    G[:, :r] = p1.T
    G[:, r:] = p2.T
