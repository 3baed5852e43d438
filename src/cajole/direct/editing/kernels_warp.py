"""Rotation-strain warping, element by element, compiled (§6).

The input frame has F = Q S in every element. A change p has the linear gradient A = Σ p_a g_aᵀ, its strain ε = sym A
and its turn ω, the axis of skew A. The warped element is Q exp(ω) (S + ε) in composition form, and in the additive form
of the paper exp(ω̄ + ω) (S + ε) with Q = exp(ω̄). Only the difference to F is summed up: no change gives exactly nothing.
"""

from __future__ import annotations

import numpy as np

from cajole.compiled import njit

# Below this angle [rad] sin x / x and (1 - cos x) / x² are their Taylor series to rounding.
SMALL = 1e-4


@njit(cache=True)
def _rotation(x, y, z, E):
    """E = exp of the cross product with (x, y, z); exactly the identity at zero."""
    square = x * x + y * y + z * z
    if square < SMALL * SMALL:
        s, c = 1.0 - square / 6.0, 0.5 - square / 24.0
    else:
        angle = np.sqrt(square)
        half = np.sin(0.5 * angle) / angle
        s, c = np.sin(angle) / angle, 2.0 * half * half
    E[0, 0] = 1.0 - c * (y * y + z * z)
    E[1, 1] = 1.0 - c * (x * x + z * z)
    E[2, 2] = 1.0 - c * (x * x + y * y)
    E[0, 1], E[1, 0] = c * x * y - s * z, c * x * y + s * z
    E[0, 2], E[2, 0] = c * x * z + s * y, c * x * z - s * y
    E[1, 2], E[2, 1] = c * y * z - s * x, c * y * z + s * x


@njit(cache=True)
def gradient(element, grads, normal, p, A):
    """A = Σ p_a g_aᵀ (3, 3); of a triangle completed by how its unit normal n turns, dn = -Aᵀn (n is zero for tets)."""
    for i in range(3):
        for j in range(3):
            total = 0.0
            for a in range(len(element)):
                total += p[element[a], i] * grads[a, j]
            A[i, j] = total
    if normal[0] != 0.0 or normal[1] != 0.0 or normal[2] != 0.0:
        d0 = A[0, 0] * normal[0] + A[1, 0] * normal[1] + A[2, 0] * normal[2]
        d1 = A[0, 1] * normal[0] + A[1, 1] * normal[1] + A[2, 1] * normal[2]
        d2 = A[0, 2] * normal[0] + A[1, 2] * normal[1] + A[2, 2] * normal[2]
        for j in range(3):
            A[0, j] -= d0 * normal[j]
            A[1, j] -= d1 * normal[j]
            A[2, j] -= d2 * normal[j]


@njit(cache=True)
def _warped(A, Q, S, turn, additive, E, B, out):
    """out = (the warped element) - Q S."""
    x, y, z = 0.5 * (A[2, 1] - A[1, 2]), 0.5 * (A[0, 2] - A[2, 0]), 0.5 * (A[1, 0] - A[0, 1])
    if additive:
        # exp(ω̄ + ω) = Q (Qᵀ exp(ω̄ + ω)): the same difference form serves both
        _rotation(turn[0] + x, turn[1] + y, turn[2] + z, B)
        for i in range(3):
            for j in range(3):
                E[i, j] = Q[0, i] * B[0, j] + Q[1, i] * B[1, j] + Q[2, i] * B[2, j]
    else:
        _rotation(x, y, z, E)
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += E[i, k] * (S[k, j] + 0.5 * (A[k, j] + A[j, k]))
            B[i, j] = total - S[i, j]
    for i in range(3):
        for j in range(3):
            out[i, j] = Q[i, 0] * B[0, j] + Q[i, 1] * B[1, j] + Q[i, 2] * B[2, j]


@njit(cache=True)
def right_side(elements, grads, volumes, normals, Q, S, turns, additive, p, rhs):
    """rhs (n, 3) = Σ_j V_j (warped - input)_j g_a, to be solved for the change of the displacement."""
    A, E, B, D = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    rhs[:] = 0.0
    for e in range(len(elements)):
        gradient(elements[e], grads[e], normals[e], p, A)
        _warped(A, Q[e], S[e], turns[e], additive, E, B, D)
        for a in range(elements.shape[1]):
            g0, g1, g2 = volumes[e] * grads[e, a, 0], volumes[e] * grads[e, a, 1], volumes[e] * grads[e, a, 2]
            v = elements[e, a]
            for i in range(3):
                rhs[v, i] += D[i, 0] * g0 + D[i, 1] * g1 + D[i, 2] * g2


@njit(cache=True)
def at_points(elements, grads, normals, Q, S, turns, additive, p, weights, out):
    """out (k, 3): Σ_j (warped - input)_j c_j, the warped places of k points without a solve; weights c (k, m, 3)."""
    A, E, B, D = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    out[:] = 0.0
    for e in range(len(elements)):
        gradient(elements[e], grads[e], normals[e], p, A)
        _warped(A, Q[e], S[e], turns[e], additive, E, B, D)
        for k in range(len(weights)):
            c0, c1, c2 = weights[k, e, 0], weights[k, e, 1], weights[k, e, 2]
            for i in range(3):
                out[k, i] += D[i, 0] * c0 + D[i, 1] * c1 + D[i, 2] * c2


@njit(cache=True)
def deformed(elements, grads, normals, turned, u, F):
    """F = I + Σ u_a g_aᵀ of every element; of a triangle its unit normal n goes to `turned`."""
    for e in range(len(elements)):
        for i in range(3):
            for j in range(3):
                total = 1.0 if i == j else 0.0
                for a in range(elements.shape[1]):
                    total += u[elements[e, a], i] * grads[e, a, j]
                F[e, i, j] = total + (turned[e, i] - normals[e, i]) * normals[e, j]


@njit(cache=True)
def solve_lower(indptr, indices, data, diagonal, x):
    """L D Lᵀ y = x in place of x (n, 3), L unit lower in CSC with its diagonal first in each column."""
    n = len(indptr) - 1
    for j in range(n):
        x0, x1, x2 = x[j, 0], x[j, 1], x[j, 2]
        for t in range(indptr[j] + 1, indptr[j + 1]):
            i, c = indices[t], data[t]
            x[i, 0] -= c * x0
            x[i, 1] -= c * x1
            x[i, 2] -= c * x2
    for j in range(n - 1, -1, -1):
        inverse = 1.0 / diagonal[j]
        x0, x1, x2 = x[j, 0] * inverse, x[j, 1] * inverse, x[j, 2] * inverse
        for t in range(indptr[j] + 1, indptr[j + 1]):
            i, c = indices[t], data[t]
            x0 -= c * x[i, 0]
            x1 -= c * x[i, 1]
            x2 -= c * x[i, 2]
        x[j, 0], x[j, 1], x[j, 2] = x0, x1, x2
