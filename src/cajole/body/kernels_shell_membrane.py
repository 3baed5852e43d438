"""Compiled loops over the membrane of a shell: constant-strain St. Venant-Kirchhoff triangles in plane stress.

With rest frame D (3, 2), gradients g_a (2,) of the hat functions, F = D + Σ u_a g_aᵀ (3, 2), E = (FᵀF - I)/2,
S = λ tr(E) I + 2μE, a_a = F g_a; λ and μ of plane stress times the thickness [N/m], A the area:
    W = A (λ/2 tr(E)² + μ E:E),   f_a = A F S g_a,
    K_ab = A [(g_a·S g_b) I + λ a_a a_bᵀ + μ a_b a_aᵀ + μ (g_a·g_b) F Fᵀ].
Matrices go to the first three places of the shell's elements.
"""

from __future__ import annotations

import math

import numpy as np

from cajole.body.kernels_shell import scatter
from cajole.compiled import njit

CORNERS = (0, 1, 2)


@njit(cache=True)
def _gradient(u, triangles, g, e):
    """Σ u_a g_aᵀ as its two columns."""
    i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
    a, b, c, d = g[e, 1, 0], g[e, 1, 1], g[e, 2, 0], g[e, 2, 1]
    x1, y1, z1 = u[j, 0] - u[i, 0], u[j, 1] - u[i, 1], u[j, 2] - u[i, 2]
    x2, y2, z2 = u[k, 0] - u[i, 0], u[k, 1] - u[i, 1], u[k, 2] - u[i, 2]
    return (a * x1 + c * x2, a * y1 + c * y2, a * z1 + c * z2), (b * x1 + d * x2, b * y1 + d * y2, b * z1 + d * z2)


@njit(cache=True)
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True)
def _added(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@njit(cache=True)
def _frame(frames, e):
    return (frames[e, 0, 0], frames[e, 0, 1], frames[e, 0, 2]), (frames[e, 1, 0], frames[e, 1, 1], frames[e, 1, 2])


@njit(cache=True)
def _strain(D, H):
    """E = (DᵀH + HᵀD + HᵀH)/2 as (00, 01, 11), from displacements alone so that small strains keep their digits."""
    (d, c), (x, y) = D, H
    return (
        _dot(d, x) + 0.5 * _dot(x, x),
        0.5 * (_dot(d, y) + _dot(x, c) + _dot(x, y)),
        _dot(c, y) + 0.5 * _dot(y, y),
    )


@njit(cache=True)
def _strain_change(F, G):
    """dE = (FᵀG + GᵀF)/2 for dF = G."""
    (x, y), (a, b) = F, G
    return _dot(x, a), 0.5 * (_dot(x, b) + _dot(a, y)), _dot(y, b)


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
        total = _added(total, f)
    for r in range(3):
        out[triangles[e, 0], r] -= total[r]


@njit(cache=True)
def energy(u, triangles, g, frames, areas, lam, mu):
    total = 0.0
    for e in range(len(triangles)):
        E = _strain(_frame(frames, e), _gradient(u, triangles, g, e))
        trace = E[0] + E[2]
        square = E[0] * E[0] + 2.0 * E[1] * E[1] + E[2] * E[2]
        total += areas[e] * (0.5 * lam * trace * trace + mu * square)
    return total


@njit(cache=True)
def force(u, triangles, g, frames, areas, lam, mu, out):
    """out += Σ A F S g_a."""
    for e in range(len(triangles)):
        D, H = _frame(frames, e), _gradient(u, triangles, g, e)
        S = _stress(_strain(D, H), lam, mu)
        _push(out, triangles, g, e, areas[e], _added(D[0], H[0]), _added(D[1], H[1]), S)


@njit(cache=True)
def force_change(u, v, triangles, g, frames, areas, lam, mu, scale, out):
    """out += scale K v of the membrane: d(F S) = G S + F dS with G the gradient of v."""
    for e in range(len(triangles)):
        D, H, G = _frame(frames, e), _gradient(u, triangles, g, e), _gradient(v, triangles, g, e)
        x, y = _added(D[0], H[0]), _added(D[1], H[1])
        _push(out, triangles, g, e, scale * areas[e], G[0], G[1], _stress(_strain(D, H), lam, mu))
        _push(out, triangles, g, e, scale * areas[e], x, y, _stress(_strain_change((x, y), G), lam, mu))


@njit(cache=True)
def _outer(H, a, b, l, m, p, q):
    """Add l p qᵀ + m q pᵀ to block (a, b) of H."""
    for r in range(3):
        for c in range(3):
            H[3 * a + r, 3 * b + c] += l * p[r] * q[c] + m * q[r] * p[c]


@njit(cache=True)
def stiffness(u, triangles, g, frames, areas, lam, mu, elements, slots, stride, scale, clamped, data):
    """data += scale K; clamped: with tensions only in the geometric part, which makes K positive semidefinite."""
    block = np.empty((9, 9))
    for e in range(len(triangles)):
        D, H = _frame(frames, e), _gradient(u, triangles, g, e)
        x, y = _added(D[0], H[0]), _added(D[1], H[1])
        S = _stress(_strain(D, H), lam, mu)
        _membrane_block(block, e, g, x, y, x, y, _tension(S) if clamped else S, lam, mu, 0.5)
        scatter(data, block, 3, CORNERS, e, elements, slots, stride, scale * areas[e])


@njit(cache=True)
def stiffness_change(u, v, triangles, g, frames, areas, lam, mu, elements, slots, stride, scale, data):
    """data += scale dK along v."""
    block = np.empty((9, 9))
    for e in range(len(triangles)):
        D, H, G = _frame(frames, e), _gradient(u, triangles, g, e), _gradient(v, triangles, g, e)
        x, y = _added(D[0], H[0]), _added(D[1], H[1])
        dS = _stress(_strain_change((x, y), G), lam, mu)
        _membrane_block(block, e, g, x, y, G[0], G[1], dS, lam, mu, 1.0)
        scatter(data, block, 3, CORNERS, e, elements, slots, stride, scale * areas[e])


@njit(cache=True)
def _membrane_block(block, e, g, x, y, dx, dy, S, lam, mu, share):
    """(9, 9) of (g·S g) I and the sum over both orders of F = (x, y) and dF = (dx, dy), times `share`.

    With dF = F and a share of one half it is K/A; with dF = G, the whole and dS it is dK/A.
    """
    block[:] = 0.0
    for a in range(3):
        p, q = g[e, a, 0], g[e, a, 1]
        fa = p * x[0] + q * y[0], p * x[1] + q * y[1], p * x[2] + q * y[2]
        da = p * dx[0] + q * dy[0], p * dx[1] + q * dy[1], p * dx[2] + q * dy[2]
        for b in range(3):
            s, t = g[e, b, 0], g[e, b, 1]
            fb = s * x[0] + t * y[0], s * x[1] + t * y[1], s * x[2] + t * y[2]
            db = s * dx[0] + t * dy[0], s * dx[1] + t * dy[1], s * dx[2] + t * dy[2]
            _outer(block, a, b, share * lam, share * mu, da, fb)
            _outer(block, a, b, share * lam, share * mu, fa, db)
            inner = share * mu * (p * s + q * t)
            _outer(block, a, b, inner, inner, x, dx)
            _outer(block, a, b, inner, inner, y, dy)
            along = p * (S[0] * s + S[1] * t) + q * (S[1] * s + S[2] * t)
            for r in range(3):
                block[3 * a + r, 3 * b + r] += along
