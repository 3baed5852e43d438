"""A solid in a basis, compiled: the reduced St. Venant-Kirchhoff polynomial in the order that motion reads it.

Derivatives of the energy are symmetric in all their indices: pairs (i >= j) are numbered row by row, triples
(i >= j >= k) pair by pair. With C1 (r, P) and C3 (r, N) the third and fourth derivatives, T = Σ_l z_l C3[l] is the one
thing that takes time, and it serves every direction: with T·v = Σ_k T_ijk v_k,
    K(z) = K0 + C1·z + ½ T·z,    H(z):v = C1·v + T·v,    f(z) = (K0 + ½ C1·z + ⅙ T·z) z.
"""

from __future__ import annotations

from cajole.jit import njit

FASTMATH = {"contract", "reassoc", "nsz"}


@njit(cache=True, fastmath=FASTMATH)
def combine_rows(rows, z, out):
    """out = Σ_l z_l rows[l], rows (r, n); four rows in one pass, since reading them is what takes time."""
    r, n = rows.shape
    out[:] = 0.0
    whole = r - r % 4
    for l in range(0, whole, 4):
        a, b, c, d = z[l], z[l + 1], z[l + 2], z[l + 3]
        A, B, C, D = rows[l], rows[l + 1], rows[l + 2], rows[l + 3]
        for t in range(n):
            out[t] += a * A[t] + b * B[t] + c * C[t] + d * D[t]
    for l in range(whole, r):
        a, A = z[l], rows[l]
        for t in range(n):
            out[t] += a * A[t]


@njit(cache=True, fastmath=FASTMATH)
def contract_triples(T, z, out):
    """out_ij = Σ_k T_ijk z_k; T (N,) over triples, out (P,) over pairs.

    A triple (i, j, k) adds to the pairs that are left when each of its different indices is taken away.
    """
    out[:] = 0.0
    pair, triple = 0, 0
    for i in range(len(z)):
        block, row = T[triple : triple + pair + i + 1], out[pair : pair + i + 1]
        zi = z[i]
        for t in range(len(block)):
            out[t] += zi * block[t]
        start = 0
        for j in range(i + 1):
            line, zj, total = block[start : start + j + 1], z[j] if j < i else 0.0, 0.0
            for k in range(j):
                total += line[k] * z[k]
            for k in range(j + 1):
                row[k] += line[k] * zj
            row[j] += total
            start += j + 1
        pair += i + 1
        triple += len(block)


@njit(cache=True, fastmath=FASTMATH)
def compute_force_and_stiffness(z, K0, C1, C3, k1, k2, T, f, K):
    """f(z) and K(z); k1, k2 (P,) are work space, T (N,) is left for `tangent_change`. Returns W(z)."""
    combine_rows(C1, z, k1)
    combine_rows(C3, z, T)
    contract_triples(T, z, k2)
    energy = 0.0
    t = 0
    for i in range(len(z)):
        total = 0.0
        for j in range(i + 1):
            linear, cubic, fourth = K0[i, j], k1[t], k2[t]
            K[i, j] = linear + cubic + 0.5 * fourth
            K[j, i] = K[i, j]
            share = linear + 0.5 * cubic + fourth / 6.0
            part = (0.5 * linear + cubic / 6.0 + fourth / 24.0) * z[i] * z[j]
            total += share * z[j]
            energy += part
            if j < i:
                f[j] += share * z[i]
                energy += part
            t += 1
        f[i] = total
    return energy


@njit(cache=True, fastmath=FASTMATH)
def add_stiffness_derivative(v, C1, T, k1, k2, scale, H):
    """H += scale H(z):v, where T is what `tangent` or `combine` left for z; k1, k2 (P,) are work space."""
    combine_rows(C1, v, k1)
    contract_triples(T, v, k2)
    t = 0
    for i in range(len(v)):
        for j in range(i):
            change = scale * (k1[t] + k2[t])
            H[i, j] += change
            H[j, i] += change
            t += 1
        H[i, i] += scale * (k1[t] + k2[t])
        t += 1


@njit(cache=True, fastmath=FASTMATH)
def evaluate_solid(K0, C1, C3, alpha, beta, q, v, k1, k2, T, F, Gq, Gv):
    """F = f(q) + d(q, v), Gq = ∂F/∂q, Gv = ∂F/∂v with d = (αI + βK) v; k1, k2 (P,), T (N,) are written over."""
    compute_force_and_stiffness(q, K0, C1, C3, k1, k2, T, F, Gq)
    for i in range(len(q)):
        total = alpha * v[i]
        for j in range(len(q)):
            Gv[i, j] = beta * Gq[i, j]
            total += Gv[i, j] * v[j]
        Gv[i, i] += alpha
        F[i] += total
    if beta != 0.0:
        add_stiffness_derivative(v, C1, T, k1, k2, beta, Gq)


@njit(cache=True, fastmath=FASTMATH)
def compute_contracted_hessian_solid(C1, C3, beta, q, v, lam, ahead, k1, k2, T, Mqq, Mqv):
    """Second derivatives of λ·(f + d): Mqq = ∂²/∂q², Mqv = ∂²/∂q∂v (rows q).

    H is affine in its place, so that H(q):λ and what damping adds, β (H(v):λ - H(0):λ), are one H(q + βv):λ.
    """
    for i in range(len(q)):
        ahead[i] = q[i] + beta * v[i]
        for j in range(len(q)):
            Mqq[i, j] = 0.0
            Mqv[i, j] = 0.0
    combine_rows(C3, ahead, T)
    add_stiffness_derivative(lam, C1, T, k1, k2, 1.0, Mqq)
    if beta != 0.0:
        combine_rows(C3, q, T)
        add_stiffness_derivative(lam, C1, T, k1, k2, beta, Mqv)
