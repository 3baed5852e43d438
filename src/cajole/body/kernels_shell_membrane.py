"""Compiled loops over the membrane of a shell: constant-strain St. Venant-Kirchhoff triangles in plane stress.

With D (3, 2) the undeformed triangle mapped to where it stands at u = 0, E̅ the strain there, gradients g_a (2,) of the
hat functions, H = Σ u_a g_aᵀ (3, 2), F = D + H, E = E̅ + (DᵀH + HᵀD + HᵀH)/2, S = λ tr(E) I + 2μE, a_a = F g_a; λ and μ
of plane stress times thickness and undeformed area [N m]:
    W = λ/2 tr(E)² + μ E:E,   f_a = F S g_a,
    K_ab = (g_a·S g_b) I + λ a_a a_bᵀ + μ a_b a_aᵀ + μ (g_a·g_b) F Fᵀ.
Matrices go to the first three places of the shell's elements.
"""

from __future__ import annotations

import math

import numpy as np

from cajole.body.kernels_shell import added, dot, scatter
from cajole.compiled import njit

CORNERS = (0, 1, 2)


@njit(cache=True)
def gradient(u, triangles, g, e):
    """Σ u_a g_aᵀ as its two columns."""
    i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
    a, b, c, d = g[e, 1, 0], g[e, 1, 1], g[e, 2, 0], g[e, 2, 1]
    x1, y1, z1 = u[j, 0] - u[i, 0], u[j, 1] - u[i, 1], u[j, 2] - u[i, 2]
    x2, y2, z2 = u[k, 0] - u[i, 0], u[k, 1] - u[i, 1], u[k, 2] - u[i, 2]
    return (a * x1 + c * x2, a * y1 + c * y2, a * z1 + c * z2), (b * x1 + d * x2, b * y1 + d * y2, b * z1 + d * z2)


@njit(cache=True)
def _frame(frames, e):
    return (frames[e, 0, 0], frames[e, 0, 1], frames[e, 0, 2]), (frames[e, 1, 0], frames[e, 1, 1], frames[e, 1, 2])


@njit(cache=True)
def strain(D, H):
    """(DᵀH + HᵀD + HᵀH)/2 as (00, 01, 11), from displacements alone so that small strains keep their digits."""
    (d, c), (x, y) = D, H
    return (
        dot(d, x) + 0.5 * dot(x, x),
        0.5 * (dot(d, y) + dot(x, c) + dot(x, y)),
        dot(c, y) + 0.5 * dot(y, y),
    )


@njit(cache=True)
def _whole_strain(D, H, rest, e):
    """E, with the strain that the shape of u = 0 has."""
    return added((rest[e, 0], rest[e, 1], rest[e, 2]), strain(D, H))


@njit(cache=True)
def _strain_change(F, G):
    """dE = (FᵀG + GᵀF)/2 for dF = G."""
    (x, y), (a, b) = F, G
    return dot(x, a), 0.5 * (dot(x, b) + dot(a, y)), dot(y, b)


@njit(cache=True)
def _stress(E, lam, mu):
    trace = lam * (E[0] + E[2])
    return 2.0 * mu * E[0] + trace, 2.0 * mu * E[1], 2.0 * mu * E[2] + trace


@njit(cache=True)
def _tension(S):
    """The nearest positive semidefinite stress: pressure, which makes stiffnesses indefinite, is left out."""
    middle, half = 0.5 * (S[0] + S[2]), 0.5 * (S[0] - S[2])
    radius = math.sqrt(half * half + S[1] * S[1])
    if middle >= radius:
        return S
    if middle <= -radius:
        return 0.0, 0.0, 0.0
    share = 0.5 * (middle + radius) / radius
    return share * (radius + half), share * S[1], share * (radius - half)


@njit(cache=True)
def _push(out, triangles, g, e, weight, x, y, S):
    """out_a += weight (x, y) S g_a; the first corner gets minus the sum of the others."""
    total = (0.0, 0.0, 0.0)
    for a in range(1, 3):
        s, t = S[0] * g[e, a, 0] + S[1] * g[e, a, 1], S[1] * g[e, a, 0] + S[2] * g[e, a, 1]
        f = weight * (s * x[0] + t * y[0]), weight * (s * x[1] + t * y[1]), weight * (s * x[2] + t * y[2])
        for r in range(3):
            out[triangles[e, a], r] += f[r]
        total = added(total, f)
    for r in range(3):
        out[triangles[e, 0], r] -= total[r]


@njit(cache=True)
def energy(u, triangles, g, frames, rest, lam, mu):
    total = 0.0
    for e in range(len(triangles)):
        E = _whole_strain(_frame(frames, e), gradient(u, triangles, g, e), rest, e)
        trace = E[0] + E[2]
        square = E[0] * E[0] + 2.0 * E[1] * E[1] + E[2] * E[2]
        total += 0.5 * lam[e] * trace * trace + mu[e] * square
    return total


@njit(cache=True)
def force(u, triangles, g, frames, rest, lam, mu, out):
    """out += Σ F S g_a."""
    for e in range(len(triangles)):
        D, H = _frame(frames, e), gradient(u, triangles, g, e)
        S = _stress(_whole_strain(D, H, rest, e), lam[e], mu[e])
        _push(out, triangles, g, e, 1.0, added(D[0], H[0]), added(D[1], H[1]), S)


@njit(cache=True)
def force_change(u, v, triangles, g, frames, rest, lam, mu, scale, out):
    """out += scale K v of the membrane: d(F S) = G S + F dS with G the gradient of v."""
    for e in range(len(triangles)):
        D, H, G = _frame(frames, e), gradient(u, triangles, g, e), gradient(v, triangles, g, e)
        x, y = added(D[0], H[0]), added(D[1], H[1])
        _push(out, triangles, g, e, scale, G[0], G[1], _stress(_whole_strain(D, H, rest, e), lam[e], mu[e]))
        _push(out, triangles, g, e, scale, x, y, _stress(_strain_change((x, y), G), lam[e], mu[e]))


@njit(cache=True)
def stiffness(u, triangles, g, frames, rest, lam, mu, elements, slots, stride, scale, clamped, data):
    """data += scale K; clamped: with tensions only in the geometric part, which makes K positive semidefinite."""
    block = np.empty((9, 9))
    for e in range(len(triangles)):
        D, H = _frame(frames, e), gradient(u, triangles, g, e)
        S = _stress(_whole_strain(D, H, rest, e), lam[e], mu[e])
        if clamped:
            S = _tension(S)
        _membrane_block(block, e, g, added(D[0], H[0]), added(D[1], H[1]), S, lam[e], mu[e])
        scatter(data, block, 3, CORNERS, e, elements, slots, stride, scale)


@njit(cache=True)
def _carried(F, g, e, a):
    """F g_a."""
    p, q, x, y = g[e, a, 0], g[e, a, 1], F[0], F[1]
    return p * x[0] + q * y[0], p * x[1] + q * y[1], p * x[2] + q * y[2]


@njit(cache=True)
def _membrane_block(block, e, g, x, y, S, lam, mu):
    """K (9, 9) of one triangle: the blocks of the last two corners, the rest by zero sums."""
    for a in range(1, 3):
        p, q, fa = g[e, a, 0], g[e, a, 1], _carried((x, y), g, e, a)
        for b in range(a, 3):
            s, t, fb = g[e, b, 0], g[e, b, 1], _carried((x, y), g, e, b)
            inner = mu * (p * s + q * t)
            along = p * (S[0] * s + S[1] * t) + q * (S[1] * s + S[2] * t)
            for r in range(3):
                for c in range(3):
                    value = lam * fa[r] * fb[c] + mu * fb[r] * fa[c] + inner * (x[r] * x[c] + y[r] * y[c])
                    block[3 * a + r, 3 * b + c] = value
                block[3 * a + r, 3 * b + r] += along
    for r in range(3):
        for c in range(3):
            block[6 + c, 3 + r] = block[3 + r, 6 + c]
    for r in range(3, 9):
        for c in range(3):
            block[r, c] = block[c, r] = -block[r, 3 + c] - block[r, 6 + c]
    for r in range(3):
        for c in range(r + 1):
            block[r, c] = block[c, r] = -0.5 * (block[3 + r, c] + block[6 + r, c] + block[3 + c, r] + block[6 + c, r])


@njit(cache=True)
def _outer(H, a, b, l, m, p, q):
    """Add l p qᵀ + m q pᵀ to block (a, b) of H."""
    for r in range(3):
        for c in range(3):
            H[3 * a + r, 3 * b + c] += l * p[r] * q[c] + m * q[r] * p[c]


@njit(cache=True)
def stiffness_change(u, v, triangles, g, frames, rest, lam, mu, elements, slots, stride, scale, data):
    """data += scale dK along v; `rest` strains do not enter it, and are taken so that all loops take the same."""
    block = np.empty((9, 9))
    for e in range(len(triangles)):
        D, H, G = _frame(frames, e), gradient(u, triangles, g, e), gradient(v, triangles, g, e)
        F = (added(D[0], H[0]), added(D[1], H[1]))
        _change_block(block, e, g, F, G, _stress(_strain_change(F, G), lam[e], mu[e]), lam[e], mu[e])
        scatter(data, block, 3, CORNERS, e, elements, slots, stride, scale)


@njit(cache=True)
def _change_block(block, e, g, F, G, S, lam, mu):
    """dK (9, 9) of one triangle for dF = G and dS = S: K is quadratic in F, so both orders of F and G add up."""
    block[:] = 0.0
    for a in range(3):
        p, q, fa, da = g[e, a, 0], g[e, a, 1], _carried(F, g, e, a), _carried(G, g, e, a)
        for b in range(3):
            s, t, fb, db = g[e, b, 0], g[e, b, 1], _carried(F, g, e, b), _carried(G, g, e, b)
            inner = mu * (p * s + q * t)
            _outer(block, a, b, lam, mu, da, fb)
            _outer(block, a, b, lam, mu, fa, db)
            _outer(block, a, b, inner, inner, F[0], G[0])
            _outer(block, a, b, inner, inner, F[1], G[1])
            along = p * (S[0] * s + S[1] * t) + q * (S[1] * s + S[2] * t)
            for r in range(3):
                block[3 * a + r, 3 * b + r] += along
