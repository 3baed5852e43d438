"""Whole reduced trajectories, compiled: implicit Newmark in predictor form, and its exact linearisation.

State x_n = (P_n, V_n). In each step a solves G = a + d(q, v) + f(q) - w = 0 with q = P + bh a, v = V + gh a; then
P' = P + hp V + c1 a, V' = V + c2 a. With Gq = ∂(d+f)/∂q, Gv = ∂d/∂v and Ga = I + gh Gv + bh Gq:
    da = Ga⁻¹ (dw - Gq dP - Gv dV).
A system is a tuple (K0, C1, C3, alpha, beta, X, U, spring, edges): a polynomial (solids) when U is empty, else springs
between rest positions X (n, 3) with basis rows U (3n, r): rows (k, rest length, c) in `spring`, ends in `edges` (m, 2).
"""

from __future__ import annotations

import numpy as np

from cajole.jit import njit
from cajole.reduction.kernels_solid import compute_contracted_hessian_solid, evaluate_solid
from cajole.reduction.kernels_springs import compute_contracted_hessian_springs, evaluate_springs

# Loops instead of array expressions, and one rollout for all: an expression is a function to compile, and what calls
# `step` compiles its own copy of it.
FASTMATH = {"contract", "reassoc", "nsz"}
CONVERGED, FAILED = 0, 1
# Where no shorter step lowers the residual any more, a relative one of this size is taken for rounding.
STALLED_TOLERANCE = 1e-8
# The shortest part of a Newton step that is tried before its direction is given up.
MIN_STEP_LENGTH = 0.5**13


@njit(cache=True)
def allocate_workspace(system):
    """Arrays that a step writes to, made once for a trajectory: of pairs, triples, vectors, a matrix; of springs."""
    pairs, triples, rows = system[1].shape[1], system[2].shape[1], system[6].shape[0]
    r = max(system[0].shape[1], system[6].shape[1])
    return (
        (np.empty(pairs), np.empty(pairs), np.empty(triples)),
        (np.empty(r), np.empty(r), np.empty(r), np.empty((r, r)), np.empty(r), np.zeros(r)),
        (np.empty(rows), np.empty(rows), np.empty(rows), np.empty((rows, r)), np.empty((rows, r))),
    )


@njit(cache=True, fastmath=FASTMATH)
def evaluate(system, q, v, work, F, Gq, Gv):
    """F = f(q) + d(q, v), Gq = ∂F/∂q, Gv = ∂F/∂v."""
    if system[6].shape[0] == 0:
        k1, k2, T = work[0]
        evaluate_solid(system[0], system[1], system[2], system[3], system[4], q, v, k1, k2, T, F, Gq, Gv)
    else:
        X, U, spring, edges = system[5], system[6], system[7], system[8]
        x, rate, load, Y, Z = work[2]
        evaluate_springs(X, U, spring, edges, q, v, x, rate, load, Y, Z, F, Gq, Gv)


@njit(cache=True, fastmath=FASTMATH)
def compute_contracted_hessian(system, q, v, lam, work, Mqq, Mqv):
    """Second derivatives of λ·(f + d): Mqq = ∂²/∂q², Mqv = ∂²/∂q∂v (rows q)."""
    if system[6].shape[0] == 0:
        k1, k2, T = work[0]
        compute_contracted_hessian_solid(system[1], system[2], system[4], q, v, lam, work[1][0], k1, k2, T, Mqq, Mqv)
    else:
        X, U, spring, edges = system[5], system[6], system[7], system[8]
        x, rate, tilt, Y, Z = work[2]
        compute_contracted_hessian_springs(X, U, spring, edges, q, v, lam, x, rate, tilt, Y, Z, Mqq, Mqv)


@njit(cache=True)
def _assemble_step_matrix(Gq, Gv, bh, gh, Ga):
    for i in range(len(Ga)):
        for j in range(len(Ga)):
            Ga[i, j] = gh * Gv[i, j] + bh * Gq[i, j]
        Ga[i, i] += 1.0


@njit(cache=True, fastmath=FASTMATH)
def _solve(A, x):
    """A x = b in place of b, by elimination with row pivots; A is written over. False when A is singular."""
    r = len(x)
    for k in range(r):
        best = k
        for i in range(k + 1, r):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if not abs(A[best, k]) > 0.0:
            return False
        if best != k:
            x[k], x[best] = x[best], x[k]
            for j in range(k, r):
                A[k, j], A[best, j] = A[best, j], A[k, j]
        inverse = 1.0 / A[k, k]
        for i in range(k + 1, r):
            c = A[i, k] * inverse
            x[i] -= c * x[k]
            for j in range(k + 1, r):
                A[i, j] -= c * A[k, j]
    for i in range(r - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, r):
            total -= A[i, j] * x[j]
        x[i] = total / A[i, i]
    return True


@njit(cache=True, fastmath=FASTMATH)
def _compute_norm(x):
    total = 0.0
    for value in x:
        total += value * value
    return np.sqrt(total)


@njit(cache=True, fastmath=FASTMATH)
def _compute_residual_norm(a, F, w):
    total = 0.0
    for i in range(len(a)):
        total += (a[i] + F[i] - w[i]) ** 2
    return np.sqrt(total)


@njit(cache=True, fastmath=FASTMATH)
def _axpy(x, scale, y, out):
    """out = x + scale y; out may be x."""
    for i in range(len(x)):
        out[i] = x[i] + scale * y[i]


@njit(cache=True, fastmath=FASTMATH)
def _add_product(A, x, out):
    """out += A x."""
    for i in range(len(out)):
        total = 0.0
        for j in range(len(x)):
            total += A[i, j] * x[j]
        out[i] += total


@njit(cache=True)
def solve_step(system, P, V, w, bh, gh, a, work, Gq, Gv, q, v, tolerance, max_iterations):
    """Solve a + F(P + bh a, V + gh a) = w by Newton with backtracking, from `a` and into it; q, v, Gq, Gv go along.

    Returns CONVERGED, or FAILED when the residual no longer falls and is not down to rounding.
    """
    F, trial, move, Ga = work[1][:4]
    _axpy(a, 0.0, a, trial)
    error, scale, length, taken = np.inf, 0.0, 1.0, 0
    while True:
        _axpy(P, bh, trial, q)
        _axpy(V, gh, trial, v)
        evaluate(system, q, v, work, F, Gq, Gv)
        if length == 0.0:
            return CONVERGED if error <= STALLED_TOLERANCE * scale else FAILED
        now = _compute_residual_norm(trial, F, w)
        if now < error:
            error, length = now, 1.0
            _axpy(trial, 0.0, a, a)
            scale = _compute_norm(F) + _compute_norm(w) + _compute_norm(a)
            if error <= tolerance * scale:
                return CONVERGED
            if taken == max_iterations:
                return CONVERGED if error <= STALLED_TOLERANCE * scale else FAILED
            taken += 1
            for i in range(len(a)):
                move[i] = a[i] + F[i] - w[i]
            _assemble_step_matrix(Gq, Gv, bh, gh, Ga)
            if not (_solve(Ga, move) and np.isfinite(_compute_norm(move))):
                return FAILED
        elif not np.isfinite(error):
            return FAILED
        else:
            # at rounding nothing smaller can be had: go back, so that the derivatives are those at `a`
            length = 0.5 * length if length > MIN_STEP_LENGTH and error > STALLED_TOLERANCE * scale else 0.0
        _axpy(a, -length, move, trial)


@njit(cache=True)
def _predict_acceleration(coefficients, path, n, work):
    """Step n > 0 linearised about the one before, into work; false when that cannot be solved.

    Ga a = w - (w₋ - a₋) - Gq (P - q₋) - Gv (V - v₋): an error of second order, without an evaluation.
    """
    W, P, V, A, Q, Vq, Gq, Gv = path
    gap, Ga, linear = work[1][1], work[1][3], work[1][4]
    for i in range(len(gap)):
        linear[i] = W[n, i] - W[n - 1, i] + A[n - 1, i]
    _axpy(Q[n - 1], -1.0, P[n], gap)
    _add_product(Gq[n - 1], gap, linear)
    _axpy(Vq[n - 1], -1.0, V[n], gap)
    _add_product(Gv[n - 1], gap, linear)
    _assemble_step_matrix(Gq[n - 1], Gv[n - 1], coefficients[0], coefficients[1], Ga)
    return _solve(Ga, linear) and np.isfinite(_compute_norm(linear))


@njit(cache=True)
def _copy_previous_acceleration(A, n):
    """Start step n from the acceleration of the one before."""
    for i in range(A.shape[1]):
        A[n, i] = A[n - 1, i] if n > 0 else 0.0


@njit(cache=True)
def advance_step(system, coefficients, n, path, has_guess, work, tolerance, max_iterations):
    """Step n of a path (W, P, V, A, Q, Vq, Gq, Gv) whose W[n], P[n], V[n] are there; from A[n] when `guessed`.

    A prediction from which it does not converge gives way to the acceleration before; CONVERGED or FAILED.
    """
    W, P, V, A, Q, Vq, Gq, Gv = path
    linear, missed, row = work[1][4], work[1][5], coefficients[n]
    predicted = not has_guess and n > 0 and _predict_acceleration(row, path, n, work)
    if predicted:
        # of a smooth motion each prediction misses what the last one did
        _axpy(linear, 1.0, missed, A[n])
    elif not has_guess:
        _copy_previous_acceleration(A, n)
    for _ in range(2):
        found = solve_step(
            system, P[n], V[n], W[n], row[0], row[1], A[n], work, Gq[n], Gv[n], Q[n], Vq[n], tolerance, max_iterations
        )
        if found == CONVERGED or not predicted:
            break
        predicted = False
        _copy_previous_acceleration(A, n)
    for i in range(len(missed)):
        missed[i] = A[n, i] - linear[i] if predicted else 0.0
        P[n + 1, i] = P[n, i] + row[2] * V[n, i] + row[3] * A[n, i]
        V[n + 1, i] = V[n, i] + row[4] * A[n, i]
    return found


@njit(cache=True)
def _add_feedback(coefficients, feedback, n, path, da, dP, dV, Ga):
    """W[n] += Ga da + Gq dP + Gv dV with da = alpha k + K dx, dx from the trajectory of `law`."""
    P0, V0, Gq, Gv, gains, moves, alpha = feedback
    r = len(da)
    _axpy(path[1][n], -1.0, P0[n], dP)
    _axpy(path[2][n], -1.0, V0[n], dV)
    for i in range(r):
        total = alpha * moves[n, i]
        for j in range(r):
            total += gains[n, i, j] * dP[j] + gains[n, i, r + j] * dV[j]
        da[i] = total
    _assemble_step_matrix(Gq[n], Gv[n], coefficients[0], coefficients[1], Ga)
    _add_product(Ga, da, path[0][n])
    _add_product(Gq[n], dP, path[0][n])
    _add_product(Gv[n], dV, path[0][n])


@njit(cache=True)
def rollout(system, coefficients, path, guess, feedback, tolerance, max_iterations):
    """All T steps from P[0], V[0] under W, plan rows (bh, gh, hp, c1, c2). Returns the failed step, or -1.

    path: (W, P, V, A, Q, Vq, Gq, Gv), W (T, r) and the first rows of P, V (T+1, r) given, the rest filled: A, Q, Vq
    (T, r), Gq, Gv (T, r, r). guess: (T, r) accelerations to start Newton from, or none (0, r).
    law: a trajectory to stay near and the plan to return to it, (P, V, Gq, Gv, gains, moves, alpha), gains (T, r, 2r)
    and moves (T, r); without gains there is none. W then gains Ga da + Gq dP + Gv dV with da = alpha k + K dx.
    """
    W, A = path[0], path[3]
    T, r = W.shape
    work = allocate_workspace(system)
    da, dP, dV = np.zeros(r), np.empty(r), np.empty(r)
    guessed = guess.shape[0] == T
    for n in range(T):
        if feedback[4].shape[0] == T:
            _add_feedback(coefficients[n], feedback, n, path, da, dP, dV, work[1][3])
        if guessed:
            _axpy(guess[n], 1.0, da, A[n])
        if advance_step(system, coefficients, n, path, guessed, work, tolerance, max_iterations) == FAILED:
            return n
    return -1


@njit(cache=True)
def solve_adjoint(coefficients, Gq, Gv, Eq, EP, EV, s, lP, lV):
    """Exact gradient through the steps: s_n = dE/dw_n (without the effort itself) for E with ∂E/∂q_n = Eq (T, r).

    EP, EV: ∂E/∂x_T of the state after the last step. lP, lV receive ∂E/∂x_0.
    """
    T, r = Eq.shape
    Ga, minus = np.empty((r, r)), np.empty(r)
    _axpy(EP, 0.0, EP, lP)
    _axpy(EV, 0.0, EV, lV)
    for n in range(T - 1, -1, -1):
        bh, gh, hp, c1, c2 = (
            coefficients[n, 0],
            coefficients[n, 1],
            coefficients[n, 2],
            coefficients[n, 3],
            coefficients[n, 4],
        )
        for i in range(r):
            s[n, i] = bh * Eq[n, i] + c1 * lP[i] + c2 * lV[i]
        _assemble_step_matrix(Gq[n].T, Gv[n].T, bh, gh, Ga)
        _solve(Ga, s[n])
        _axpy(lV, hp, lP, lV)
        _axpy(lP, 1.0, Eq[n], lP)
        for i in range(r):
            minus[i] = -s[n, i]
        _add_product(Gv[n].T, minus, lV)
        _add_product(Gq[n].T, minus, lP)
