"""The regulator's backward pass and the controlled steps, compiled.

Deviations from the reference are dx = (dP, dV) in predictor form. The feedback of step n is dw = K_n dx, found from the
plan da = k_n dx of the sweep through the linearised step, dw = Ga da + Gq dP + Gv dV.
"""

from __future__ import annotations

import numpy as np

from cajole.direct.kernels_riccati import add_hessian_terms, build_control_jacobian, eliminate_acceleration
from cajole.jit import njit
from cajole.reduction.kernels_trajectory import FAILED, solve_step

# What the gains act on: the predictor state of the step, or the position and velocity of the frame before it.
PREDICTOR_STATE, FRAME_STATE = 0, 1


@njit(cache=True)
def solve_riccati(
    newmark_coefficients, Gq, Gv, Q, q_index, R, r_index, cost_to_go, gains, previous_cost_to_go, tolerance
):
    """Minimise ½ Σ (q, v)ᵀ Q (q, v) + dwᵀ R dw backwards from the value P (2r, 2r), which becomes that of the start.

    Q (., 2r, 2r) and R (., r, r): the weights of step n are rows which_q[n] and which_r[n]; R a multiple of the
    identity may be given as (., 1, 1). Fills gains (T, r, 2r).
    stop (T, ., .): values of another lap, or empty; once P equals one of them to `tolerance` the rest would be the
    same. Returns the first step that was computed; -1 when R is not positive definite.
    """
    T, r = len(newmark_coefficients), Gq.shape[1]
    J, RJ, H = np.empty((r, 3 * r)), np.empty((r, 3 * r)), np.empty((3 * r, 3 * r))
    L, right, k = np.empty((r, r)), np.empty((r, 3 * r + 1)), np.empty((r, 2 * r))
    zero, move, inverse, p = np.zeros(3 * r), np.empty(r), np.empty((r, r)), np.empty(2 * r)
    for n in range(T - 1, -1, -1):
        bh, gh, row = (
            newmark_coefficients[n, 0],
            newmark_coefficients[n, 1],
            (newmark_coefficients[n, 2], newmark_coefficients[n, 3], newmark_coefficients[n, 4]),
        )
        build_control_jacobian(Gq[n], Gv[n], bh, gh, J)
        weight, cost = R[r_index[n]], Q[q_index[n]]
        if weight.shape[0] == 1:
            RJ[:] = weight[0, 0] * J
        else:
            np.dot(weight, J, RJ)
        np.dot(J.T, RJ, H)
        add_hessian_terms(H, row, bh, gh, cost[:r, :r], cost[:r, r:], cost[r:, r:], cost_to_go)
        ok, _ = eliminate_acceleration(H, zero, L, right, k, move, inverse, cost_to_go, p)
        if not ok:
            return -1
        np.dot(np.ascontiguousarray(J[:, 2 * r :]), k, gains[n])
        gains[n] += J[:, : 2 * r]
        if len(previous_cost_to_go) > 0:
            if _is_close(cost_to_go, previous_cost_to_go[n], tolerance):
                return n
            previous_cost_to_go[n] = cost_to_go
    return 0


@njit(cache=True)
def _is_close(A, B, tolerance):
    off, size = 0.0, 0.0
    for i in range(len(A)):
        off = max(off, abs(A[i, i] - B[i, i]))
        size = max(size, abs(A[i, i]))
    return off <= tolerance * size


@njit(cache=True)
def add_feedback(gain, state, reference_state, w):
    """w += K (at - course) for states in two halves of r values each."""
    r = len(w)
    for i in range(r):
        total = 0.0
        for j in range(r):
            total += gain[i, j] * (state[0, j] - reference_state[0, j]) + gain[i, r + j] * (
                state[1, j] - reference_state[1, j]
            )
        w[i] += total


@njit(cache=True)
def rollout_with_feedback(
    system,
    newmark_coefficients,
    trajectory,
    accelerations,
    feed_forward,
    gains,
    state_kind,
    state,
    first_step,
    external,
    tolerance,
    max_iterations,
    work,
    Gq,
    Gv,
    out,
):
    """Steps under feed-forward, feedback and external forces, from the state `now` at step `index` of the reference.

    row: (bh, gh, hp, c1, c2); course (2, T + 1, 2, r): the predictor states and the frames of the reference; A, W
    (T, r); gains (T, r, 2r), empty for no control; now (5, r): P, V, a, q, v, advanced in place; external (m, r) [w];
    out (m, 3, r): q, v and feedback of every step. After step T - 1 comes step 0.
    Newton starts from the reference's acceleration plus what the last one was off by, so that an undisturbed run
    repeats the reference to the last bit. Returns how many steps were done; fewer than m when one did not converge,
    and then `now` stands before it. Gq, Gv (m or 1, r, r) receive the derivatives.
    """
    T, r = feed_forward.shape
    bh, gh, hp, c1, c2 = newmark_coefficients
    w, a, q, v = np.empty(r), np.empty(r), np.empty(r), np.empty(r)
    for m in range(len(external)):
        n = (first_step + m) % T
        w[:] = 0.0
        if len(gains) > 0:
            add_feedback(
                gains[n], state[0:2] if state_kind == PREDICTOR_STATE else state[3:5], trajectory[state_kind, n], w
            )
        for i in range(r):
            out[m, 2, i] = w[i]
            w[i] += feed_forward[n, i] + external[m, i]
            a[i] = accelerations[n, i] + (state[2, i] - accelerations[n - 1, i] if first_step + m > 0 else 0.0)
        at = m if len(Gq) == len(external) else 0
        if (
            solve_step(system, state[0], state[1], w, bh, gh, a, work, Gq[at], Gv[at], q, v, tolerance, max_iterations)
            == FAILED
        ):
            return m
        for i in range(r):
            state[0, i] += hp * state[1, i] + c1 * a[i]
            state[1, i] += c2 * a[i]
            state[2, i], state[3, i], state[4, i] = a[i], q[i], v[i]
            out[m, 0, i], out[m, 1, i] = q[i], v[i]
    return len(external)
