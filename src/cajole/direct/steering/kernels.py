"""The regulator's backward pass and controlled steps of bodies and flows, compiled.

Deviations of a body from its reference are dx = (dP, dV) in predictor form. The feedback of step n is dw = K_n dx,
computed from the acceleration da = k_n dx of the sweep through the linearised step, dw = Ga da + Gq dP + Gv dV.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.direct.kernels_riccati import add_hessian_terms, build_control_jacobian, eliminate_control
from cajole.jit import njit
from cajole.reduction.kernels_flow import advect_points, solve_midpoint
from cajole.reduction.kernels_trajectory import FAILED, solve_step

# State that the gains act on: the predictor state of the step, or the state of the frame before it.
PREDICTOR_STATE, FRAME_STATE = 0, 1
# Gains of a run without control.
NO_GAINS = np.empty((0, 0, 0))


@njit(cache=True)
def solve_riccati(
    newmark_coefficients, Gq, Gv, Q, q_index, R, r_index, cost_to_go, gains, previous_cost_to_go, tolerance
):
    """Minimise ½ Σ (q, v)ᵀ Q (q, v) + dwᵀ R dw backwards from cost_to_go (2r, 2r), which becomes that of the start.

    Q (., 2r, 2r) and R (., r, r): the weights of step n are rows q_index[n] and r_index[n]; R a multiple of the
    identity may be given as (., 1, 1). Fills gains (T, r, 2r).
    previous_cost_to_go (T, ., .): values of another period, or empty; the sweep stops where the value equals one of
    them to `tolerance`. Returns the first step that was computed; -1 when R is not positive definite.
    """
    T, r = len(newmark_coefficients), Gq.shape[1]
    J, RJ, H = np.empty((r, 3 * r)), np.empty((r, 3 * r)), np.empty((3 * r, 3 * r))
    L, rhs, k = np.empty((r, r)), np.empty((r, 2 * r + 1)), np.empty((r, 2 * r))
    zero, feedforward, inverse, p = np.zeros(3 * r), np.empty(r), np.empty((0, 0)), np.empty(2 * r)
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
        ok, _ = eliminate_control(H, zero, L, rhs, k, feedforward, inverse, cost_to_go, p)
        if not ok:
            return -1
        np.dot(np.ascontiguousarray(J[:, 2 * r :]), k, gains[n])
        gains[n] += J[:, : 2 * r]
        if len(previous_cost_to_go) > 0:
            off, size = 0.0, 0.0
            for i in range(2 * r):
                off = max(off, abs(cost_to_go[i, i] - previous_cost_to_go[n, i, i]))
                size = max(size, abs(cost_to_go[i, i]))
            if off <= tolerance * size:
                return n
            previous_cost_to_go[n] = cost_to_go
    return 0


@njit(cache=True)
def add_feedback(gain, state, reference_state, w):
    """w += K (state - reference_state), states (2, r)."""
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
    """Steps of a body under feed-forward, feedback and external forces, from step `first_step` of the reference on.

    newmark_coefficients: (bh, gh, hp, c1, c2); trajectory (2, T + 1, 2, r): predictor states and frames of the
    reference; accelerations, feed_forward (T, r); gains (T, r, 2r), (0, 0, 0) without control; state (5, r): P, V, a,
    q, v, advanced in place; external (m, r); out (m, 3, r): q, v and feedback of every step. Step 0 follows step T - 1.
    Newton starts from the reference's acceleration plus the error of the last step, so that an undisturbed run repeats
    the reference to the last bit. Returns the number of converged steps; if it is less than m, `state` stands before
    the step that failed. Gq, Gv (m or 1, r, r) receive the derivatives.
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


@njit(cache=True)
def compute_flow_feedback(
    gain: Array, particles: Array, z: Array, reference_particles: Array, reference_state: Array, w: Array
) -> None:
    """w (r,) = K (Δp, Δz), from the deviation of particles (N, 2) and modes (r,) from a frame of the reference."""
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
    shape: tuple[int, int],
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
    """Steps of a flow, one per row of `external` (m, r), from step `first_step` on; particles and z are advanced.

    gains (T, r, 2N+r), (0, 0, 0) without control; reference_particles (T+1, N, 2), reference_states (T+1, r),
    feed_forward (T, r): the reference; particles may hold more than the N controlled ones. Returns the number of steps
    with finite results.
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
