"""Compiled loops over St. Venant-Kirchhoff tets.

With g_a the gradient of shape function a, F = I + Σ u_a g_aᵀ, E = (FᵀF - I)/2, S = λ tr(E) I + 2μE and a_a = F g_a:
    W = V (λ/2 tr(E)² + μ E:E),   f_a = V F S g_a,
    K_ab = V [(g_a·S g_b) I + λ a_a a_bᵀ + μ a_b a_aᵀ + μ (g_a·g_b) F Fᵀ].
"""

from __future__ import annotations

from cajole.jit import njit

# Sums may be reordered and products fused, but infinities and NaN keep their meaning.
FASTMATH = {"contract", "reassoc", "nsz"}


@njit(cache=True, fastmath=FASTMATH)
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, fastmath=FASTMATH)
def multiply_by_matrix(F, g):
    return dot(F[0:3], g), dot(F[3:6], g), dot(F[6:9], g)


@njit(cache=True, fastmath=FASTMATH)
def multiply_by_symmetric_matrix(S, g):
    return (
        S[0] * g[0] + S[1] * g[1] + S[2] * g[2],
        S[1] * g[0] + S[3] * g[1] + S[4] * g[2],
        S[2] * g[0] + S[4] * g[1] + S[5] * g[2],
    )


@njit(cache=True, fastmath=FASTMATH)
def add(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@njit(cache=True, fastmath=FASTMATH)
def load_shape_gradients(grads, e):
    return (
        (grads[e, 0, 0], grads[e, 0, 1], grads[e, 0, 2]),
        (grads[e, 1, 0], grads[e, 1, 1], grads[e, 1, 2]),
        (grads[e, 2, 0], grads[e, 2, 1], grads[e, 2, 2]),
        (grads[e, 3, 0], grads[e, 3, 1], grads[e, 3, 2]),
    )


@njit(cache=True, fastmath=FASTMATH)
def compute_displacement_gradient(u, tets, e, g):
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


@njit(cache=True, fastmath=FASTMATH)
def compute_strain(H):
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


@njit(cache=True, fastmath=FASTMATH)
def compute_strain_differential(F, G):
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


@njit(cache=True, fastmath=FASTMATH)
def compute_stress(E, lam, mu):
    """S = λ tr(E) I + 2μE."""
    t = lam * (E[0] + E[3] + E[5])
    m = 2.0 * mu
    return m * E[0] + t, m * E[1], m * E[2], m * E[3] + t, m * E[4], m * E[5] + t


@njit(cache=True, fastmath=FASTMATH)
def add_identity(H):
    return H[0] + 1.0, H[1], H[2], H[3], H[4] + 1.0, H[5], H[6], H[7], H[8] + 1.0


@njit(cache=True, fastmath=FASTMATH)
def compute_symmetric_product(F, G):
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


@njit(cache=True, fastmath=FASTMATH)
def add_tet_forces(out, tets, e, weight, f1, f2, f3):
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


@njit(cache=True, fastmath=FASTMATH)
def compute_outer_pair(l, m, a, b):
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


@njit(cache=True, fastmath=FASTMATH)
def add_block_pair(data, offset, stride, transposed_offset, transposed_stride, X, s, B, t):
    """Add X + s B + t I (B symmetric) at `here`, and its transpose at `there` unless that is negative."""
    x00, x01, x02 = X[0] + s * B[0] + t, X[1] + s * B[1], X[2] + s * B[2]
    x10, x11, x12 = X[3] + s * B[1], X[4] + s * B[3] + t, X[5] + s * B[4]
    x20, x21, x22 = X[6] + s * B[2], X[7] + s * B[4], X[8] + s * B[5] + t
    data[offset] += x00
    data[offset + 1] += x01
    data[offset + 2] += x02
    offset += stride
    data[offset] += x10
    data[offset + 1] += x11
    data[offset + 2] += x12
    offset += stride
    data[offset] += x20
    data[offset + 1] += x21
    data[offset + 2] += x22
    if transposed_offset >= 0:
        data[transposed_offset] += x00
        data[transposed_offset + 1] += x10
        data[transposed_offset + 2] += x20
        transposed_offset += transposed_stride
        data[transposed_offset] += x01
        data[transposed_offset + 1] += x11
        data[transposed_offset + 2] += x21
        transposed_offset += transposed_stride
        data[transposed_offset] += x02
        data[transposed_offset + 1] += x12
        data[transposed_offset + 2] += x22


@njit(cache=True, fastmath=FASTMATH)
def add_stiffness_block(data, block_offsets, row_strides, tets, e, p, q, l, m, v, ga, gb, a, b, Tb, B):
    """K_pq of one tet: v, l, m are V, Vλ, Vμ; B = FFᵀ."""
    there = block_offsets[e, q, p] if p != q else -1
    X = compute_outer_pair(l, m, a, b)
    add_block_pair(
        data, block_offsets[e, p, q], row_strides[tets[e, p]], there, row_strides[tets[e, q]],
        X, m * dot(ga, gb), B, v * dot(ga, Tb),
    )  # fmt: skip


@njit(cache=True, fastmath=FASTMATH)
def add_derivative_block(data, block_offsets, row_strides, tets, e, p, q, l, m, v, ga, gb, a, b, da, db, dTb, dB):
    """The derivative of `block`."""
    there = block_offsets[e, q, p] if p != q else -1
    X, Y = compute_outer_pair(l, m, da, b), compute_outer_pair(l, m, a, db)
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
    add_block_pair(
        data, block_offsets[e, p, q], row_strides[tets[e, p]], there, row_strides[tets[e, q]],
        Z, m * dot(ga, gb), dB, v * dot(ga, dTb),
    )  # fmt: skip


@njit(cache=True, fastmath=FASTMATH)
def compute_energy(u, tets, grads, volumes, lam, mu):
    """Σ V (λ/2 tr(E)² + μ E:E)."""
    total = 0.0
    for e in range(len(tets)):
        E = compute_strain(compute_displacement_gradient(u, tets, e, load_shape_gradients(grads, e)))
        trace = E[0] + E[3] + E[5]
        square = E[0] * E[0] + E[3] * E[3] + E[5] * E[5] + 2.0 * (E[1] * E[1] + E[2] * E[2] + E[4] * E[4])
        total += volumes[e] * (0.5 * lam[e] * trace * trace + mu[e] * square)
    return total


@njit(cache=True, fastmath=FASTMATH)
def add_force(u, tets, grads, volumes, lam, mu, out):
    """out += Σ V F S g_a."""
    for e in range(len(tets)):
        g = load_shape_gradients(grads, e)
        H = compute_displacement_gradient(u, tets, e, g)
        S = compute_stress(compute_strain(H), lam[e], mu[e])
        F = add_identity(H)
        f1 = multiply_by_matrix(F, multiply_by_symmetric_matrix(S, g[1]))
        f2 = multiply_by_matrix(F, multiply_by_symmetric_matrix(S, g[2]))
        f3 = multiply_by_matrix(F, multiply_by_symmetric_matrix(S, g[3]))
        add_tet_forces(out, tets, e, volumes[e], f1, f2, f3)


@njit(cache=True, fastmath=FASTMATH)
def add_force_differential(u, v, tets, grads, volumes, lam, mu, scale, out):
    """out += scale K(u) v without forming K: d(F S) = G S + F dS with G the gradient of v."""
    for e in range(len(tets)):
        g = load_shape_gradients(grads, e)
        H, G = compute_displacement_gradient(u, tets, e, g), compute_displacement_gradient(v, tets, e, g)
        F = add_identity(H)
        S = compute_stress(compute_strain(H), lam[e], mu[e])
        dS = compute_stress(compute_strain_differential(F, G), lam[e], mu[e])
        f1 = add(
            multiply_by_matrix(G, multiply_by_symmetric_matrix(S, g[1])),
            multiply_by_matrix(F, multiply_by_symmetric_matrix(dS, g[1])),
        )
        f2 = add(
            multiply_by_matrix(G, multiply_by_symmetric_matrix(S, g[2])),
            multiply_by_matrix(F, multiply_by_symmetric_matrix(dS, g[2])),
        )
        f3 = add(
            multiply_by_matrix(G, multiply_by_symmetric_matrix(S, g[3])),
            multiply_by_matrix(F, multiply_by_symmetric_matrix(dS, g[3])),
        )
        add_tet_forces(out, tets, e, scale * volumes[e], f1, f2, f3)


@njit(cache=True, fastmath=FASTMATH)
def add_force_and_stiffness(u, tets, grads, volumes, lam, mu, block_offsets, row_strides, scale, out, data):
    """out += f(u) and data += scale K(u)."""
    for e in range(len(tets)):
        g0, g1, g2, g3 = g = load_shape_gradients(grads, e)
        H = compute_displacement_gradient(u, tets, e, g)
        S = compute_stress(compute_strain(H), lam[e], mu[e])
        F = add_identity(H)
        T0, T1 = multiply_by_symmetric_matrix(S, g0), multiply_by_symmetric_matrix(S, g1)
        T2, T3 = multiply_by_symmetric_matrix(S, g2), multiply_by_symmetric_matrix(S, g3)
        add_tet_forces(
            out, tets, e, volumes[e], multiply_by_matrix(F, T1), multiply_by_matrix(F, T2), multiply_by_matrix(F, T3)
        )
        v = scale * volumes[e]
        l, m = v * lam[e], v * mu[e]
        a0 = multiply_by_matrix(F, g0)
        a1 = multiply_by_matrix(F, g1)
        a2 = multiply_by_matrix(F, g2)
        a3 = multiply_by_matrix(F, g3)
        P = compute_symmetric_product(F, F)
        B = (0.5 * P[0], 0.5 * P[1], 0.5 * P[2], 0.5 * P[3], 0.5 * P[4], 0.5 * P[5])
        add_stiffness_block(data, block_offsets, row_strides, tets, e, 0, 0, l, m, v, g0, g0, a0, a0, T0, B)
        add_stiffness_block(data, block_offsets, row_strides, tets, e, 0, 1, l, m, v, g0, g1, a0, a1, T1, B)
        add_stiffness_block(data, block_offsets, row_strides, tets, e, 0, 2, l, m, v, g0, g2, a0, a2, T2, B)
        add_stiffness_block(data, block_offsets, row_strides, tets, e, 0, 3, l, m, v, g0, g3, a0, a3, T3, B)
        add_stiffness_block(data, block_offsets, row_strides, tets, e, 1, 1, l, m, v, g1, g1, a1, a1, T1, B)
        add_stiffness_block(data, block_offsets, row_strides, tets, e, 1, 2, l, m, v, g1, g2, a1, a2, T2, B)
        add_stiffness_block(data, block_offsets, row_strides, tets, e, 1, 3, l, m, v, g1, g3, a1, a3, T3, B)
        add_stiffness_block(data, block_offsets, row_strides, tets, e, 2, 2, l, m, v, g2, g2, a2, a2, T2, B)
        add_stiffness_block(data, block_offsets, row_strides, tets, e, 2, 3, l, m, v, g2, g3, a2, a3, T3, B)
        add_stiffness_block(data, block_offsets, row_strides, tets, e, 3, 3, l, m, v, g3, g3, a3, a3, T3, B)


@njit(cache=True, fastmath=FASTMATH)
def add_stiffness_derivative(u, v, tets, grads, volumes, lam, mu, block_offsets, row_strides, scale, data):
    """data += scale H(u):v, the derivative of every term of K along v."""
    for e in range(len(tets)):
        g0, g1, g2, g3 = g = load_shape_gradients(grads, e)
        F, G = add_identity(compute_displacement_gradient(u, tets, e, g)), compute_displacement_gradient(v, tets, e, g)
        dS = compute_stress(compute_strain_differential(F, G), lam[e], mu[e])
        t0, t1 = multiply_by_symmetric_matrix(dS, g0), multiply_by_symmetric_matrix(dS, g1)
        t2, t3 = multiply_by_symmetric_matrix(dS, g2), multiply_by_symmetric_matrix(dS, g3)
        a0 = multiply_by_matrix(F, g0)
        a1 = multiply_by_matrix(F, g1)
        a2 = multiply_by_matrix(F, g2)
        a3 = multiply_by_matrix(F, g3)
        d0 = multiply_by_matrix(G, g0)
        d1 = multiply_by_matrix(G, g1)
        d2 = multiply_by_matrix(G, g2)
        d3 = multiply_by_matrix(G, g3)
        dB = compute_symmetric_product(F, G)
        w = scale * volumes[e]
        l, m = w * lam[e], w * mu[e]
        add_derivative_block(data, block_offsets, row_strides, tets, e, 0, 0, l, m, w, g0, g0, a0, a0, d0, d0, t0, dB)
        add_derivative_block(data, block_offsets, row_strides, tets, e, 0, 1, l, m, w, g0, g1, a0, a1, d0, d1, t1, dB)
        add_derivative_block(data, block_offsets, row_strides, tets, e, 0, 2, l, m, w, g0, g2, a0, a2, d0, d2, t2, dB)
        add_derivative_block(data, block_offsets, row_strides, tets, e, 0, 3, l, m, w, g0, g3, a0, a3, d0, d3, t3, dB)
        add_derivative_block(data, block_offsets, row_strides, tets, e, 1, 1, l, m, w, g1, g1, a1, a1, d1, d1, t1, dB)
        add_derivative_block(data, block_offsets, row_strides, tets, e, 1, 2, l, m, w, g1, g2, a1, a2, d1, d2, t2, dB)
        add_derivative_block(data, block_offsets, row_strides, tets, e, 1, 3, l, m, w, g1, g3, a1, a3, d1, d3, t3, dB)
        add_derivative_block(data, block_offsets, row_strides, tets, e, 2, 2, l, m, w, g2, g2, a2, a2, d2, d2, t2, dB)
        add_derivative_block(data, block_offsets, row_strides, tets, e, 2, 3, l, m, w, g2, g3, a2, a3, d2, d3, t3, dB)
        add_derivative_block(data, block_offsets, row_strides, tets, e, 3, 3, l, m, w, g3, g3, a3, a3, d3, d3, t3, dB)
