"""Compiled loops over the hinges of a shell.

Per group of up to three hinges with φ = θ - θ̄ and a matrix C:
    W = φᵀC φ/2,   m = C φ,   f = Σ m ∇θ,   K = Σ C_ij ∇θ_i ∇θ_jᵀ + Σ m ∇²θ.
"""

from __future__ import annotations

import math

import numpy as np

from cajole.body.kernels_shell import scatter
from cajole.body.kernels_shell_angle import (
    angle,
    between,
    wing,
    wing_change,
    wing_curvature,
    wing_curvature_change,
)
from cajole.compiled import njit

PLACES = (0, 1, 2, 3, 4, 5)
WINGS = ((0, 1, 2), (0, 1, 3))


@njit(cache=True)
def angles(x, hinges, rest, out):
    """φ = θ - θ̄ of every hinge at positions x, turned into (-π, π]: no jump where a rest angle is near π."""
    for h in range(len(hinges)):
        a, b, c, d = hinges[h, 0], hinges[h, 1], hinges[h, 2], hinges[h, 3]
        phi = angle(between(x, a, b), between(x, a, c), between(x, a, d)) - rest[h]
        if phi > math.pi:
            phi -= 2.0 * math.pi
        elif phi <= -math.pi:
            phi += 2.0 * math.pi
        out[h] = phi


@njit(cache=True)
def moments(groups, C, phi, out):
    """out = m = Σ C φ [N m], per hinge; returns the energy φᵀCφ/2."""
    out[:] = 0.0
    total = 0.0
    for g in range(len(groups)):
        for i in range(3):
            if groups[g, i] < 0:
                continue
            moment = 0.0
            for j in range(3):
                if groups[g, j] >= 0:
                    moment += C[g, i, j] * phi[groups[g, j]]
            out[groups[g, i]] += moment
            total += 0.5 * moment * phi[groups[g, i]]
    return total


@njit(cache=True)
def gradients(x, hinges, out):
    """∇θ (hinges, 4, 3) by the vertices a, b, c, d."""
    for h in range(len(hinges)):
        a, b, c, d = hinges[h, 0], hinges[h, 1], hinges[h, 2], hinges[h, 3]
        e = between(x, a, b)
        (be, on_c), (bf, on_d) = wing(e, between(x, a, c)), wing(e, between(x, a, d))
        for r in range(3):
            out[h, 1, r] = be[r] - bf[r]
            out[h, 2, r] = on_c[r]
            out[h, 3, r] = -on_d[r]
            out[h, 0, r] = -(out[h, 1, r] + out[h, 2, r] + out[h, 3, r])


@njit(cache=True)
def spread(hinges, grads, m, out):
    """out += Σ m ∇θ."""
    for h in range(len(hinges)):
        for k in range(4):
            for r in range(3):
                out[hinges[h, k], r] += m[h] * grads[h, k, r]


@njit(cache=True)
def rates(v, hinges, grads, out):
    """out = ∇θ·v of every hinge."""
    for h in range(len(hinges)):
        total = 0.0
        for k in range(4):
            for r in range(3):
                total += grads[h, k, r] * v[hinges[h, k], r]
        out[h] = total


@njit(cache=True)
def gradient_changes(x, v, hinges, out):
    """∇²θ v (hinges, 4, 3)."""
    for h in range(len(hinges)):
        a, b, c, d = hinges[h, 0], hinges[h, 1], hinges[h, 2], hinges[h, 3]
        e, de = between(x, a, b), between(v, a, b)
        be, on_c = wing_change(e, between(x, a, c), de, between(v, a, c))
        bf, on_d = wing_change(e, between(x, a, d), de, between(v, a, d))
        for r in range(3):
            out[h, 1, r] = be[r] - bf[r]
            out[h, 2, r] = on_c[r]
            out[h, 3, r] = -on_d[r]
            out[h, 0, r] = -(out[h, 1, r] + out[h, 2, r] + out[h, 3, r])


@njit(cache=True)
def products(groups, C, places, left, right, elements, slots, stride, scale, data):
    """data += scale/2 Σ C_ij (left_i right_jᵀ + right_i left_jᵀ), vectors (hinges, 4, 3) on the hinges' vertices.

    places (groups, 3, 4): where in its element each vertex of a hinge stands.
    """
    L, R, T = np.empty((3, 18)), np.empty((3, 18)), np.empty((3, 18))
    block = np.empty((18, 18))
    for g in range(len(groups)):
        _placed(L, groups, places, g, left)
        _placed(R, groups, places, g, right)
        for i in range(3):
            for k in range(18):
                T[i, k] = C[g, i, 0] * R[0, k] + C[g, i, 1] * R[1, k] + C[g, i, 2] * R[2, k]
        for r in range(18):
            for k in range(r + 1):
                value = 0.0
                for i in range(3):
                    value += L[i, r] * T[i, k] + L[i, k] * T[i, r]
                block[r, k] = block[k, r] = value
        scatter(data, block, 6, PLACES, g, elements, slots, stride, 0.5 * scale)


@njit(cache=True)
def _placed(out, groups, places, g, vectors):
    out[:] = 0.0
    for i in range(3):
        h = groups[g, i]
        if h < 0:
            continue
        for k in range(4):
            for r in range(3):
                out[i, 3 * places[g, i, k] + r] += vectors[h, k, r]


@njit(cache=True)
def curvatures(x, hinges, homes, m, places, elements, slots, stride, scale, data):
    """data += scale Σ m ∇²θ; homes (hinges, 2): a group that holds each hinge, and its number there."""
    block = np.empty((9, 9))
    for h in range(len(hinges)):
        if m[h] == 0.0:
            continue
        a, g, i = hinges[h, 0], homes[h, 0], homes[h, 1]
        e = between(x, a, hinges[h, 1])
        for side in range(2):
            where = WINGS[side]
            wing_curvature(e, between(x, a, hinges[h, 2 + side]), block)
            spots = places[g, i, where[0]], places[g, i, where[1]], places[g, i, where[2]]
            scatter(data, block, 3, spots, g, elements, slots, stride, (scale if side == 0 else -scale) * m[h])


@njit(cache=True)
def curvature_changes(x, v, hinges, homes, m, places, elements, slots, stride, scale, data):
    """data += scale Σ m d(∇²θ) along v."""
    block = np.empty((9, 9))
    for h in range(len(hinges)):
        if m[h] == 0.0:
            continue
        a, g, i = hinges[h, 0], homes[h, 0], homes[h, 1]
        e, fe = between(x, a, hinges[h, 1]), between(v, a, hinges[h, 1])
        for side in range(2):
            where, c = WINGS[side], hinges[h, 2 + side]
            wing_curvature_change(e, between(x, a, c), fe, between(v, a, c), block)
            spots = places[g, i, where[0]], places[g, i, where[1]], places[g, i, where[2]]
            scatter(data, block, 3, spots, g, elements, slots, stride, (scale if side == 0 else -scale) * m[h])
