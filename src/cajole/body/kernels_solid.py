"""Compiled loops over St. Venant-Kirchhoff tets.

With g_a the gradient of shape function a, F = I + Σ u_a g_aᵀ, E = (FᵀF - I)/2, S = λ tr(E) I + 2μE and a_a = F g_a:
    W = V (λ/2 tr(E)² + μ E:E),   f_a = V F S g_a,
    K_ab = V [(g_a·S g_b) I + λ a_a a_bᵀ + μ a_b a_aᵀ + μ (g_a·g_b) F Fᵀ].
"""

from __future__ import annotations

from cajole.body.kernels_solid_tet import (
    FAST,
    add_forces,
    added,
    block,
    block_change,
    displacement_gradient,
    products,
    shape_gradients,
    strain,
    strain_change,
    stress,
    symmetric_times,
    times,
    with_identity,
)
from cajole.compiled import njit


@njit(cache=True, fastmath=FAST)
def energy(u, tets, grads, volumes, lam, mu):
    """Σ V (λ/2 tr(E)² + μ E:E)."""
    total = 0.0
    for e in range(len(tets)):
        E = strain(displacement_gradient(u, tets, e, shape_gradients(grads, e)))
        trace = E[0] + E[3] + E[5]
        square = E[0] * E[0] + E[3] * E[3] + E[5] * E[5] + 2.0 * (E[1] * E[1] + E[2] * E[2] + E[4] * E[4])
        total += volumes[e] * (0.5 * lam[e] * trace * trace + mu[e] * square)
    return total


@njit(cache=True, fastmath=FAST)
def force(u, tets, grads, volumes, lam, mu, out):
    """out += Σ V F S g_a."""
    for e in range(len(tets)):
        g = shape_gradients(grads, e)
        H = displacement_gradient(u, tets, e, g)
        S = stress(strain(H), lam[e], mu[e])
        F = with_identity(H)
        f1 = times(F, symmetric_times(S, g[1]))
        f2 = times(F, symmetric_times(S, g[2]))
        f3 = times(F, symmetric_times(S, g[3]))
        add_forces(out, tets, e, volumes[e], f1, f2, f3)


@njit(cache=True, fastmath=FAST)
def force_change(u, v, tets, grads, volumes, lam, mu, scale, out):
    """out += scale K(u) v without forming K: d(F S) = G S + F dS with G the gradient of v."""
    for e in range(len(tets)):
        g = shape_gradients(grads, e)
        H, G = displacement_gradient(u, tets, e, g), displacement_gradient(v, tets, e, g)
        F = with_identity(H)
        S = stress(strain(H), lam[e], mu[e])
        dS = stress(strain_change(F, G), lam[e], mu[e])
        f1 = added(times(G, symmetric_times(S, g[1])), times(F, symmetric_times(dS, g[1])))
        f2 = added(times(G, symmetric_times(S, g[2])), times(F, symmetric_times(dS, g[2])))
        f3 = added(times(G, symmetric_times(S, g[3])), times(F, symmetric_times(dS, g[3])))
        add_forces(out, tets, e, scale * volumes[e], f1, f2, f3)


@njit(cache=True, fastmath=FAST)
def force_stiffness(u, tets, grads, volumes, lam, mu, slots, stride, scale, out, data):
    """out += f(u) and data += scale K(u)."""
    for e in range(len(tets)):
        g0, g1, g2, g3 = g = shape_gradients(grads, e)
        H = displacement_gradient(u, tets, e, g)
        S = stress(strain(H), lam[e], mu[e])
        F = with_identity(H)
        T0, T1 = symmetric_times(S, g0), symmetric_times(S, g1)
        T2, T3 = symmetric_times(S, g2), symmetric_times(S, g3)
        add_forces(out, tets, e, volumes[e], times(F, T1), times(F, T2), times(F, T3))
        v = scale * volumes[e]
        l, m = v * lam[e], v * mu[e]
        a0, a1, a2, a3 = times(F, g0), times(F, g1), times(F, g2), times(F, g3)
        P = products(F, F)
        B = (0.5 * P[0], 0.5 * P[1], 0.5 * P[2], 0.5 * P[3], 0.5 * P[4], 0.5 * P[5])
        block(data, slots, stride, tets, e, 0, 0, l, m, v, g0, g0, a0, a0, T0, B)
        block(data, slots, stride, tets, e, 0, 1, l, m, v, g0, g1, a0, a1, T1, B)
        block(data, slots, stride, tets, e, 0, 2, l, m, v, g0, g2, a0, a2, T2, B)
        block(data, slots, stride, tets, e, 0, 3, l, m, v, g0, g3, a0, a3, T3, B)
        block(data, slots, stride, tets, e, 1, 1, l, m, v, g1, g1, a1, a1, T1, B)
        block(data, slots, stride, tets, e, 1, 2, l, m, v, g1, g2, a1, a2, T2, B)
        block(data, slots, stride, tets, e, 1, 3, l, m, v, g1, g3, a1, a3, T3, B)
        block(data, slots, stride, tets, e, 2, 2, l, m, v, g2, g2, a2, a2, T2, B)
        block(data, slots, stride, tets, e, 2, 3, l, m, v, g2, g3, a2, a3, T3, B)
        block(data, slots, stride, tets, e, 3, 3, l, m, v, g3, g3, a3, a3, T3, B)


@njit(cache=True, fastmath=FAST)
def stiffness_change(u, v, tets, grads, volumes, lam, mu, slots, stride, scale, data):
    """data += scale H(u):v, the derivative of every term of K along v."""
    for e in range(len(tets)):
        g0, g1, g2, g3 = g = shape_gradients(grads, e)
        F, G = with_identity(displacement_gradient(u, tets, e, g)), displacement_gradient(v, tets, e, g)
        dS = stress(strain_change(F, G), lam[e], mu[e])
        t0, t1 = symmetric_times(dS, g0), symmetric_times(dS, g1)
        t2, t3 = symmetric_times(dS, g2), symmetric_times(dS, g3)
        a0, a1, a2, a3 = times(F, g0), times(F, g1), times(F, g2), times(F, g3)
        d0, d1, d2, d3 = times(G, g0), times(G, g1), times(G, g2), times(G, g3)
        dB = products(F, G)
        w = scale * volumes[e]
        l, m = w * lam[e], w * mu[e]
        block_change(data, slots, stride, tets, e, 0, 0, l, m, w, g0, g0, a0, a0, d0, d0, t0, dB)
        block_change(data, slots, stride, tets, e, 0, 1, l, m, w, g0, g1, a0, a1, d0, d1, t1, dB)
        block_change(data, slots, stride, tets, e, 0, 2, l, m, w, g0, g2, a0, a2, d0, d2, t2, dB)
        block_change(data, slots, stride, tets, e, 0, 3, l, m, w, g0, g3, a0, a3, d0, d3, t3, dB)
        block_change(data, slots, stride, tets, e, 1, 1, l, m, w, g1, g1, a1, a1, d1, d1, t1, dB)
        block_change(data, slots, stride, tets, e, 1, 2, l, m, w, g1, g2, a1, a2, d1, d2, t2, dB)
        block_change(data, slots, stride, tets, e, 1, 3, l, m, w, g1, g3, a1, a3, d1, d3, t3, dB)
        block_change(data, slots, stride, tets, e, 2, 2, l, m, w, g2, g2, a2, a2, d2, d2, t2, dB)
        block_change(data, slots, stride, tets, e, 2, 3, l, m, w, g2, g3, a2, a3, d2, d3, t3, dB)
        block_change(data, slots, stride, tets, e, 3, 3, l, m, w, g3, g3, a3, a3, d3, d3, t3, dB)
