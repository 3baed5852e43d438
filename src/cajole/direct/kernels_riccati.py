"""The Riccati recursion, compiled: `eliminate_control` is its one elimination step, for every system and cost.

The sweep over implicit Newmark steps uses as variables of step n the deviations dP, dV of the predictor state and, as
control, da of the acceleration. The force follows, dw = Gq dP + Gv dV + Ga da, and the dynamics are a double
integrator: dP' = dP + hp dV + c1 da, dV' = dV + c2 da.
"""

from __future__ import annotations

import numpy as np

from cajole.jit import njit
from cajole.reduction.kernels_trajectory import allocate_workspace, compute_contracted_hessian


@njit(cache=True)
def factorise_cholesky(A, L):
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
def solve_cholesky(L, B):
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
def _build_effort_terms(J, w, effort, damping, H, g):
    """H = effort (1 + damping) JᵀJ and g = effort Jᵀw: the effort of the force dw = J (dP, dV, da)."""
    np.dot(J.T, J, H)
    np.dot(J.T, w, g)
    for i in range(len(g)):
        g[i] *= effort
        for j in range(len(g)):
            H[i, j] *= effort * (1.0 + damping)


@njit(cache=True)
def build_control_jacobian(Gq, Gv, bh, gh, J):
    """J = [Gq, Gv, Ga]."""
    r = len(Gq)
    for i in range(r):
        for j in range(r):
            J[i, j] = Gq[i, j]
            J[i, r + j] = Gv[i, j]
            J[i, 2 * r + j] = gh * Gv[i, j] + bh * Gq[i, j]
        J[i, 2 * r + i] += 1.0


@njit(cache=True)
def add_hessian_terms(H, integrator, bh, gh, Sqq, Sqv, Svv, P):
    """Add to H (3r, 3r) the second derivatives S of the cost of (q, v), and the value P (2r, 2r) of the next state.

    The former act through q = P + bh a, v = V + gh a, the latter through the double integrator (hp, c1, c2).
    """
    r = len(Sqq)
    hp, c1, c2 = integrator
    for i in range(r):
        for j in range(r):
            q, m, mt, v = Sqq[i, j], Sqv[i, j], Sqv[j, i], Svv[i, j]
            p11, p12, p21, p22 = P[i, j], P[i, r + j], P[j, r + i], P[r + i, r + j]
            first, second = c1 * p11 + c2 * p12, c1 * p21 + c2 * p22
            H[i, j] += q + p11
            H[i, r + j] += m + hp * p11 + p12
            H[r + i, j] += mt + hp * p11 + p21
            H[r + i, r + j] += v + hp * hp * p11 + hp * (p12 + p21) + p22
            H[i, 2 * r + j] += bh * q + gh * m + first
            H[r + i, 2 * r + j] += bh * mt + gh * v + hp * first + second
            H[2 * r + i, 2 * r + j] += (
                bh * bh * q + bh * gh * (m + mt) + gh * gh * v + c1 * first + c2 * (c1 * p12 + c2 * P[r + j, r + i])
            )


@njit(cache=True)
def _add_gradient_terms(g, integrator, bh, Eq, p):
    """Add to g (3r,) the gradients that belong to `add_hessian_terms`."""
    r = len(Eq)
    hp, c1, c2 = integrator
    for i in range(r):
        g[i] += Eq[i] + p[i]
        g[r + i] += hp * p[i] + p[r + i]
        g[2 * r + i] += bh * Eq[i] + c1 * p[i] + c2 * p[r + i]


@njit(cache=True)
def eliminate_control(H, g, L, rhs, gains, feedforward, inverse_hessian, P, p):
    """Minimise ½ yᵀHy + gᵀy, y = (x, u), over the control u: u = feedforward + gains x; false if H_uu is indefinite.

    H (m + r, m + r), g (m + r,); fills gains (r, m), feedforward (r,), inverse_hessian = H_uu⁻¹ (r, r), and the value
    ½ xᵀPx + pᵀx, P (m, m). L (r, r) and rhs (r, m + 1 + r) are scratch. With inverse_hessian (0, 0) and rhs (r, m + 1)
    the inverse is left out.
    Returns also g_uᵀ feedforward, the change of cost to first order.
    """
    r, m = gains.shape
    for i in range(r):
        for j in range(r):
            L[i, j] = 0.5 * (H[m + i, m + j] + H[m + j, m + i])
    if not factorise_cholesky(L.copy(), L):
        return False, 0.0
    slope = 0.0
    for i in range(r):
        for j in range(m):
            rhs[i, j] = -H[j, m + i]
        rhs[i, m] = -g[m + i]
        for j in range(len(inverse_hessian)):
            rhs[i, m + 1 + j] = 1.0 if i == j else 0.0
    solve_cholesky(L, rhs)
    for i in range(r):
        for j in range(m):
            gains[i, j] = rhs[i, j]
        feedforward[i] = rhs[i, m]
        slope += g[m + i] * feedforward[i]
        for j in range(len(inverse_hessian)):
            inverse_hessian[i, j] = rhs[i, m + 1 + j]
    for i in range(m):
        p[i] = g[i]
        for k in range(r):
            p[i] += H[i, m + k] * feedforward[k]
        for j in range(i, m):
            total = H[i, j] + H[j, i]
            for k in range(r):
                total += H[i, m + k] * gains[k, j] + H[j, m + k] * gains[k, i]
            P[i, j] = 0.5 * total
            P[j, i] = P[i, j]
    return True, slope


@njit(cache=True)
def sweep_backward(
    system,
    coefficients,
    Q,
    Vq,
    W,
    Gq,
    Gv,
    adjoint,
    effort,
    key_index,
    key_hessians,
    key_gradients,
    second_order_share,
    damping,
    final_value_hessian,
    final_value_gradient,
    gains,
    feedforward,
    inverse_hessians,
    value_hessian,
    value_gradient,
):
    """Backward pass on ½ Σ effort_n |w_n|² + key costs.

    key_index (T,): the row of key_hessians (K, r, r) that weighs step n, or -1; key_gradients (T, r): gradient of the
    key costs; second_order_share: 1 for Newton, 0 for Gauss-Newton; adjoint (T, r): λ; damping: Levenberg term on dw;
    final_value_hessian, final_value_gradient: the value after the last step. Fills gains (T, r, 2r), feedforward
    (T, r), inverse_hessians (T, r, r), value_hessian (2r, 2r) and value_gradient (2r,) of the start.
    Returns (ok, slope): slope is the change of cost to first order for a full step; ok is false when some Hessian of da
    is not positive definite.
    """
    # loops instead of array expressions: each of those is a function to compile, and there would be forty
    T, r = W.shape
    work = allocate_workspace(system)
    J, H, g = np.empty((r, 3 * r)), np.empty((3 * r, 3 * r)), np.empty(3 * r)
    Mqq, Mqv, none = np.zeros((r, r)), np.zeros((r, r)), np.zeros((r, r))
    Sqq, Sqv = np.empty((r, r)), np.empty((r, r))
    L, right, still = np.empty((r, r)), np.empty((r, 3 * r + 1)), np.zeros(r)
    value_hessian[:] = final_value_hessian
    value_gradient[:] = final_value_gradient
    slope = 0.0
    for n in range(T - 1, -1, -1):
        bh, gh, row = (
            coefficients[n, 0],
            coefficients[n, 1],
            (coefficients[n, 2], coefficients[n, 3], coefficients[n, 4]),
        )
        build_control_jacobian(Gq[n], Gv[n], bh, gh, J)
        _build_effort_terms(J, W[n], effort[n], damping, H, g)
        if second_order_share > 0.0:
            compute_contracted_hessian(system, Q[n], Vq[n], adjoint[n], work, Mqq, Mqv)
        weight = key_hessians[key_index[n]] if key_index[n] >= 0 else none
        for i in range(r):
            for j in range(r):
                Sqq[i, j] = weight[i, j] - second_order_share * Mqq[i, j]
                Sqv[i, j] = -second_order_share * Mqv[i, j]
        add_hessian_terms(H, row, bh, gh, Sqq, Sqv, none, value_hessian)
        _add_gradient_terms(g, row, bh, key_gradients[n] if key_index[n] >= 0 else still, value_gradient)
        ok, change = eliminate_control(
            H, g, L, right, gains[n], feedforward[n], inverse_hessians[n], value_hessian, value_gradient
        )
        if not ok:
            return False, 0.0
        slope += change
    return True, slope


@njit(cache=True)
def compute_multiplier_sensitivities(
    coefficients, gains, feedforward, inverse_hessians, rows, row_step, final_columns, kc, S11, S10, G
):
    """Sensitivities to the multipliers of M linear constraints, from the gains of `sweep_backward` alone.

    rows (M, r): constraint j acts on q at step row_step[j] (or -1); final_columns (2r, M): their action on the state
    after the last step. Fills kc (T, r, M), the feedforward per unit multiplier, S11 (M, M) = -J H⁻¹ Jᵀ, S10 (M,) and
    G (M, 2r).
    """
    T, r = feedforward.shape
    M = rows.shape[0]
    p1, p2 = final_columns[:r].copy(), final_columns[r:].copy()
    S11[:] = 0.0
    S10[:] = 0.0
    for n in range(T - 1, -1, -1):
        bh, hp, c1, c2 = coefficients[n, 0], coefficients[n, 2], coefficients[n, 3], coefficients[n, 4]
        ga = c1 * p1 + c2 * p2
        p2 = p2 + hp * p1
        for j in range(M):
            if row_step[j] == n:
                ga[:, j] += bh * rows[j]
                p1[:, j] += rows[j]
        k = -np.dot(inverse_hessians[n], ga)
        kc[n] = k
        S11 += np.dot(ga.T, k)
        S10 += np.dot(ga.T, feedforward[n])
        p1 = p1 + np.dot(np.ascontiguousarray(gains[n][:, :r].T), ga)
        p2 = p2 + np.dot(np.ascontiguousarray(gains[n][:, r:].T), ga)
    G[:, :r] = p1.T
    G[:, r:] = p2.T
