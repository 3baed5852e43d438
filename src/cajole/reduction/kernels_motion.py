"""Whole reduced trajectories, compiled: implicit Newmark in predictor form, and its exact linearisation.

State x_n = (P_n, V_n). In each step a solves G = a + d(q, v) + f(q) - w = 0 with q = P + bh a, v = V + gh a; then
P' = P + hp V + c1 a, V' = V + c2 a. With Gq = ∂(d+f)/∂q, Gv = ∂d/∂v and Ga = I + gh Gv + bh Gq:
    da = Ga⁻¹ (dw - Gq dP - Gv dV).
A system is a tuple (K0, C1, C2, alpha, beta, X, U, spring, edges): a polynomial (solids) when U is empty, else springs
between rest positions X (n, 3) with basis rows U (3n, r): rows (k, rest length, c) in `spring`, ends in `edges` (m, 2).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from cajole.reduction import kernels
from cajole.reduction.kernels_springs import curvature_springs, evaluate_springs

FAST = {"contract", "reassoc", "nsz"}
force_stiffness, stiffness_change, stiffness_second = (
    kernels.force_stiffness,
    kernels.stiffness_change,
    kernels.stiffness_second,
)
CONVERGED, FAILED = 0, 1


@njit(cache=True)
def workspace(system):
    """Arrays that an evaluation writes to, made once for a trajectory."""
    C1, U = system[1], system[6]
    pairs, rows, r = C1.shape[0], U.shape[0], max(C1.shape[1], U.shape[1])
    return np.empty((3, pairs)), np.empty((r, r)), np.empty((3, rows)), np.empty((rows, r)), np.empty((rows, r))


@njit(cache=True, fastmath=FAST)
def evaluate(system, q, v, work, F, Gq, Gv):
    """F = f(q) + d(q, v), Gq = ∂F/∂q, Gv = ∂F/∂v."""
    if system[6].shape[0] == 0:
        _evaluate_solid(system, q, v, work, F, Gq, Gv)
    else:
        X, U, spring, edges, x = system[5], system[6], system[7], system[8], work[2]
        evaluate_springs(X, U, spring, edges, q, v, x[0], x[1], x[2], work[3], work[4], F, Gq, Gv)


@njit(cache=True, fastmath=FAST)
def _evaluate_solid(system, q, v, work, F, Gq, Gv):
    K0, C1, C2, alpha, beta = system[0], system[1], system[2], system[3], system[4]
    table, H = work[0], work[1]
    r = len(q)
    force_stiffness(q, K0, C1, C2, table[0], table[1], table[2], F, Gq)
    for i in range(r):
        total = alpha * v[i]
        for j in range(r):
            k = beta * Gq[i, j]
            Gv[i, j] = k
            total += k * v[j]
        Gv[i, i] += alpha
        F[i] += total
    if beta != 0.0:
        stiffness_change(q, v, C1, C2, table[0], table[1], table[2], H)
        for i in range(r):
            for j in range(r):
                Gq[i, j] += beta * H[i, j]


@njit(cache=True, fastmath=FAST)
def curvature(system, q, v, lam, work, Mqq, Mqv):
    """Second derivatives of λ·(f + d): Mqq = ∂²/∂q², Mqv = ∂²/∂q∂v (rows q)."""
    if system[6].shape[0] == 0:
        table, beta = work[0], system[4]
        stiffness_change(q, lam, system[1], system[2], table[0], table[1], table[2], Mqq)
        Mqv[:] = beta * Mqq
        if beta != 0.0:
            stiffness_second(v, lam, system[2], table[0], table[2], work[1])
            Mqq += beta * work[1]
        return
    X, U, spring, edges, x = system[5], system[6], system[7], system[8], work[2]
    curvature_springs(X, U, spring, edges, q, v, lam, x[0], x[1], x[2], work[3], work[4], Mqq, Mqv)


@njit(cache=True)
def _effective(Gq, Gv, bh, gh, Ga):
    for i in range(len(Ga)):
        for j in range(len(Ga)):
            Ga[i, j] = gh * Gv[i, j] + bh * Gq[i, j]
        Ga[i, i] += 1.0


@njit(cache=True)
def _norm(x):
    total = 0.0
    for value in x:
        total += value * value
    return np.sqrt(total)


@njit(cache=True)
def step(system, P, V, w, bh, gh, a, work, F, Gq, Gv, Ga, q, v, tolerance, most):
    """Solve a + F(P + bh a, V + gh a) = w by Newton with backtracking, from `a` and into it; q, v, Gq, Gv go along.

    Returns CONVERGED, or FAILED when the residual no longer falls and is not down to rounding.
    """
    q[:] = P + bh * a
    v[:] = V + gh * a
    evaluate(system, q, v, work, F, Gq, Gv)
    residual = a + F - w
    error = _norm(residual)
    for _ in range(most):
        scale = _norm(F) + _norm(w) + _norm(a)
        if not np.isfinite(error):
            return FAILED
        if error <= tolerance * scale:
            return CONVERGED
        _effective(Gq, Gv, bh, gh, Ga)
        move = np.linalg.solve(Ga, residual)
        if not np.isfinite(_norm(move)):
            return FAILED
        length = 1.0
        lower = False
        for _ in range(14):
            trial = a - length * move
            q[:] = P + bh * trial
            v[:] = V + gh * trial
            evaluate(system, q, v, work, F, Gq, Gv)
            new = trial + F - w
            now = _norm(new)
            if now < error:
                lower = True
                break
            length *= 0.5
        if not lower:
            # rounding: nothing smaller can be had, and the last derivatives are at hand
            q[:] = P + bh * a
            v[:] = V + gh * a
            evaluate(system, q, v, work, F, Gq, Gv)
            return CONVERGED if error <= 1e-8 * scale else FAILED
        a[:] = trial
        residual[:] = new
        error = now
    return CONVERGED if error <= 1e-8 * (_norm(F) + _norm(w) + _norm(a)) else FAILED


@njit(cache=True)
def rollout(system, P0, V0, W, plan, guess, tolerance, most, P, V, A, Q, Vq, Gq, Gv):
    """All steps from (P0, V0) under controls W (T, r); plan rows (bh, gh, hp, c1, c2). Returns the failed step, or -1.

    guess: (T, r) accelerations to start Newton from; fills P, V (T+1, r), A, Q, Vq (T, r), Gq, Gv (T, r, r).
    """
    T, r = W.shape
    work = workspace(system)
    F, Ga = np.empty(r), np.empty((r, r))
    P[0] = P0
    V[0] = V0
    for n in range(T):
        bh, gh, hp, c1, c2 = plan[n, 0], plan[n, 1], plan[n, 2], plan[n, 3], plan[n, 4]
        A[n] = guess[n] if guess.shape[0] == T else (A[n - 1] if n > 0 else 0.0 * W[0])
        if (
            step(system, P[n], V[n], W[n], bh, gh, A[n], work, F, Gq[n], Gv[n], Ga, Q[n], Vq[n], tolerance, most)
            == FAILED
        ):
            return n
        P[n + 1] = P[n] + hp * V[n] + c1 * A[n]
        V[n + 1] = V[n] + c2 * A[n]
    return -1


@njit(cache=True)
def rollout_feedback(
    system, P0, V0, W, plan, P, V, A, Gq, Gv, gains, moves, alpha, tolerance, most, W2, P2, V2, A2, Q2, Vq2, Gq2, Gv2
):
    """A rollout near (P, V, A, W) whose control follows the plan da = alpha k + K dx through the linearised step.

    w = w_old + Ga (alpha k + K dx) + Gq dP + Gv dV; gains (T, r, 2r), moves (T, r). Fills W2 and so on, as `rollout`.
    """
    T, r = W.shape
    work = workspace(system)
    F, Ga = np.empty(r), np.empty((r, r))
    P2[0] = P0
    V2[0] = V0
    dx = np.empty(2 * r)
    for n in range(T):
        bh, gh, hp, c1, c2 = plan[n, 0], plan[n, 1], plan[n, 2], plan[n, 3], plan[n, 4]
        dP, dV = P2[n] - P[n], V2[n] - V[n]
        dx[:r] = dP
        dx[r:] = dV
        da = alpha * moves[n] + np.dot(gains[n], dx)
        _effective(Gq[n], Gv[n], bh, gh, Ga)
        W2[n] = W[n] + np.dot(Ga, da) + np.dot(Gq[n], dP) + np.dot(Gv[n], dV)
        A2[n] = A[n] + da
        if (
            step(
                system, P2[n], V2[n], W2[n], bh, gh, A2[n], work, F, Gq2[n], Gv2[n], Ga, Q2[n], Vq2[n], tolerance, most
            )
            == FAILED
        ):
            return n
        P2[n + 1] = P2[n] + hp * V2[n] + c1 * A2[n]
        V2[n + 1] = V2[n] + c2 * A2[n]
    return -1


@njit(cache=True)
def adjoint(plan, Gq, Gv, Eq, EP, EV, s, lP0, lV0):
    """Exact gradient through the steps: s_n = dE/dw_n (without the effort itself) for E with ∂E/∂q_n = Eq (T, r).

    EP, EV: ∂E/∂x_T of the state after the last step. lP0, lV0 receive ∂E/∂x_0.
    """
    T, r = Eq.shape
    Ga = np.empty((r, r))
    lP, lV = EP.copy(), EV.copy()
    for n in range(T - 1, -1, -1):
        bh, gh, hp, c1, c2 = plan[n, 0], plan[n, 1], plan[n, 2], plan[n, 3], plan[n, 4]
        _effective(Gq[n], Gv[n], bh, gh, Ga)
        s[n] = np.linalg.solve(Ga.T, bh * Eq[n] + c1 * lP + c2 * lV)
        lV = lV + hp * lP - np.dot(Gv[n].T, s[n])
        lP = lP + Eq[n] - np.dot(Gq[n].T, s[n])
    lP0[:] = lP
    lV0[:] = lV


@njit(cache=True)
def rollout_pd(system, P0, V0, target, kp, kd, plan, tolerance, most, W, P, V, A, Q, Vq, Gq, Gv):
    """A rollout pulled to `target` (T, r): w = kp (target - P) - kd V. Fills W and the rest; as `rollout`."""
    T, r = target.shape
    work = workspace(system)
    F, Ga = np.empty(r), np.empty((r, r))
    P[0] = P0
    V[0] = V0
    for n in range(T):
        bh, gh, hp, c1, c2 = plan[n, 0], plan[n, 1], plan[n, 2], plan[n, 3], plan[n, 4]
        W[n] = kp * (target[n] - P[n]) - kd * V[n]
        A[n] = A[n - 1] if n > 0 else W[0]
        if (
            step(system, P[n], V[n], W[n], bh, gh, A[n], work, F, Gq[n], Gv[n], Ga, Q[n], Vq[n], tolerance, most)
            == FAILED
        ):
            return n
        P[n + 1] = P[n] + hp * V[n] + c1 * A[n]
        V[n + 1] = V[n] + c2 * A[n]
    return -1
