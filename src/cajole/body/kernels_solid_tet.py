"""One St. Venant-Kirchhoff tet, for compiled loops: strain, stress, and what it adds to forces and matrices.

Vectors and matrices of one tet are tuples: they live in registers, where small arrays would be memory that every store
into the result might alias. 3x3 matrices are stored by rows, symmetric ones as (00, 01, 02, 11, 12, 22).
Symbols as in `kernels_solid`.
"""

from __future__ import annotations

from cajole.compiled import njit

# Sums may be reordered and products fused, but infinities and NaN keep their meaning.
FAST = {"contract", "reassoc", "nsz"}


@njit(cache=True, fastmath=FAST)
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, fastmath=FAST)
def times(F, g):
    return dot(F[0:3], g), dot(F[3:6], g), dot(F[6:9], g)


@njit(cache=True, fastmath=FAST)
def symmetric_times(S, g):
    return (
        S[0] * g[0] + S[1] * g[1] + S[2] * g[2],
        S[1] * g[0] + S[3] * g[1] + S[4] * g[2],
        S[2] * g[0] + S[4] * g[1] + S[5] * g[2],
    )


@njit(cache=True, fastmath=FAST)
def added(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@njit(cache=True, fastmath=FAST)
def shape_gradients(grads, e):
    return (
        (grads[e, 0, 0], grads[e, 0, 1], grads[e, 0, 2]),
        (grads[e, 1, 0], grads[e, 1, 1], grads[e, 1, 2]),
        (grads[e, 2, 0], grads[e, 2, 1], grads[e, 2, 2]),
        (grads[e, 3, 0], grads[e, 3, 1], grads[e, 3, 2]),
    )


@njit(cache=True, fastmath=FAST)
def displacement_gradient(u, tets, e, g):
    """Σ u_a g_aᵀ, the displacement gradient."""
    i, j, k, l = tets[e, 0], tets[e, 1], tets[e, 2], tets[e, 3]
    g0, g1, g2, g3 = g
    x0, x1, x2, x3 = u[i, 0], u[j, 0], u[k, 0], u[l, 0]
    y0, y1, y2, y3 = u[i, 1], u[j, 1], u[k, 1], u[l, 1]
    z0, z1, z2, z3 = u[i, 2], u[j, 2], u[k, 2], u[l, 2]
    return (
        x0 * g0[0] + x1 * g1[0] + x2 * g2[0] + x3 * g3[0],
        x0 * g0[1] + x1 * g1[1] + x2 * g2[1] + x3 * g3[1],
        x0 * g0[2] + x1 * g1[2] + x2 * g2[2] + x3 * g3[2],
        y0 * g0[0] + y1 * g1[0] + y2 * g2[0] + y3 * g3[0],
        y0 * g0[1] + y1 * g1[1] + y2 * g2[1] + y3 * g3[1],
        y0 * g0[2] + y1 * g1[2] + y2 * g2[2] + y3 * g3[2],
        z0 * g0[0] + z1 * g1[0] + z2 * g2[0] + z3 * g3[0],
        z0 * g0[1] + z1 * g1[1] + z2 * g2[1] + z3 * g3[1],
        z0 * g0[2] + z1 * g1[2] + z2 * g2[2] + z3 * g3[2],
    )


@njit(cache=True, fastmath=FAST)
def strain(H):
    """E = (H + Hᵀ + HᵀH)/2 from the displacement gradient alone, so that small strains keep their digits."""
    x, y, z = (H[0], H[3], H[6]), (H[1], H[4], H[7]), (H[2], H[5], H[8])
    return (
        H[0] + 0.5 * dot(x, x),
        0.5 * (H[1] + H[3] + dot(x, y)),
        0.5 * (H[2] + H[6] + dot(x, z)),
        H[4] + 0.5 * dot(y, y),
        0.5 * (H[5] + H[7] + dot(y, z)),
        H[8] + 0.5 * dot(z, z),
    )


@njit(cache=True, fastmath=FAST)
def strain_change(F, G):
    """dE = (FᵀG + GᵀF)/2 for dF = G."""
    x, y, z = (F[0], F[3], F[6]), (F[1], F[4], F[7]), (F[2], F[5], F[8])
    a, b, c = (G[0], G[3], G[6]), (G[1], G[4], G[7]), (G[2], G[5], G[8])
    return (
        dot(x, a),
        0.5 * (dot(x, b) + dot(a, y)),
        0.5 * (dot(x, c) + dot(a, z)),
        dot(y, b),
        0.5 * (dot(y, c) + dot(b, z)),
        dot(z, c),
    )


@njit(cache=True, fastmath=FAST)
def stress(E, lam, mu):
    """S = λ tr(E) I + 2μE."""
    t = lam * (E[0] + E[3] + E[5])
    m = 2.0 * mu
    return m * E[0] + t, m * E[1], m * E[2], m * E[3] + t, m * E[4], m * E[5] + t


@njit(cache=True, fastmath=FAST)
def with_identity(H):
    return H[0] + 1.0, H[1], H[2], H[3], H[4] + 1.0, H[5], H[6], H[7], H[8] + 1.0


@njit(cache=True, fastmath=FAST)
def products(F, G):
    """Symmetric part of F Gᵀ, doubled when F and G differ: F Gᵀ + G Fᵀ, halved by the caller where they are one."""
    x, y, z = F[0:3], F[3:6], F[6:9]
    a, b, c = G[0:3], G[3:6], G[6:9]
    return (
        2.0 * dot(x, a),
        dot(x, b) + dot(a, y),
        dot(x, c) + dot(a, z),
        2.0 * dot(y, b),
        dot(y, c) + dot(b, z),
        2.0 * dot(z, c),
    )


@njit(cache=True, fastmath=FAST)
def add_forces(out, tets, e, weight, f1, f2, f3):
    """Forces on the last three corners; the first gets minus their sum: each tet's forces add up to zero."""
    i, j, k, l = tets[e, 0], tets[e, 1], tets[e, 2], tets[e, 3]
    x1, y1, z1 = weight * f1[0], weight * f1[1], weight * f1[2]
    x2, y2, z2 = weight * f2[0], weight * f2[1], weight * f2[2]
    x3, y3, z3 = weight * f3[0], weight * f3[1], weight * f3[2]
    out[j, 0] += x1
    out[j, 1] += y1
    out[j, 2] += z1
    out[k, 0] += x2
    out[k, 1] += y2
    out[k, 2] += z2
    out[l, 0] += x3
    out[l, 1] += y3
    out[l, 2] += z3
    out[i, 0] -= x1 + x2 + x3
    out[i, 1] -= y1 + y2 + y3
    out[i, 2] -= z1 + z2 + z3


@njit(cache=True, fastmath=FAST)
def outer(l, m, a, b):
    """l a bᵀ + m b aᵀ."""
    la, ma = (l * a[0], l * a[1], l * a[2]), (m * a[0], m * a[1], m * a[2])
    return (
        la[0] * b[0] + b[0] * ma[0],
        la[0] * b[1] + b[0] * ma[1],
        la[0] * b[2] + b[0] * ma[2],
        la[1] * b[0] + b[1] * ma[0],
        la[1] * b[1] + b[1] * ma[1],
        la[1] * b[2] + b[1] * ma[2],
        la[2] * b[0] + b[2] * ma[0],
        la[2] * b[1] + b[2] * ma[1],
        la[2] * b[2] + b[2] * ma[2],
    )


@njit(cache=True, fastmath=FAST)
def add_block(data, here, step, there, back, X, s, B, t):
    """Add X + s B + t I (B symmetric) at `here`, and its transpose at `there` unless that is negative."""
    x00, x01, x02 = X[0] + s * B[0] + t, X[1] + s * B[1], X[2] + s * B[2]
    x10, x11, x12 = X[3] + s * B[1], X[4] + s * B[3] + t, X[5] + s * B[4]
    x20, x21, x22 = X[6] + s * B[2], X[7] + s * B[4], X[8] + s * B[5] + t
    data[here] += x00
    data[here + 1] += x01
    data[here + 2] += x02
    here += step
    data[here] += x10
    data[here + 1] += x11
    data[here + 2] += x12
    here += step
    data[here] += x20
    data[here + 1] += x21
    data[here + 2] += x22
    if there >= 0:
        data[there] += x00
        data[there + 1] += x10
        data[there + 2] += x20
        there += back
        data[there] += x01
        data[there + 1] += x11
        data[there + 2] += x21
        there += back
        data[there] += x02
        data[there + 1] += x12
        data[there + 2] += x22


@njit(cache=True, fastmath=FAST)
def block(data, slots, stride, tets, e, p, q, l, m, v, ga, gb, a, b, Tb, B):
    """K_pq of one tet: v, l, m are V, Vλ, Vμ; B = FFᵀ."""
    there = slots[e, q, p] if p != q else -1
    X = outer(l, m, a, b)
    add_block(
        data, slots[e, p, q], stride[tets[e, p]], there, stride[tets[e, q]],
        X, m * dot(ga, gb), B, v * dot(ga, Tb),
    )  # fmt: skip


@njit(cache=True, fastmath=FAST)
def block_change(data, slots, stride, tets, e, p, q, l, m, v, ga, gb, a, b, da, db, dTb, dB):
    """The derivative of `block`."""
    there = slots[e, q, p] if p != q else -1
    X, Y = outer(l, m, da, b), outer(l, m, a, db)
    Z = (
        X[0] + Y[0],
        X[1] + Y[1],
        X[2] + Y[2],
        X[3] + Y[3],
        X[4] + Y[4],
        X[5] + Y[5],
        X[6] + Y[6],
        X[7] + Y[7],
        X[8] + Y[8],
    )
    add_block(
        data, slots[e, p, q], stride[tets[e, p]], there, stride[tets[e, q]],
        Z, m * dot(ga, gb), dB, v * dot(ga, dTb),
    )  # fmt: skip
