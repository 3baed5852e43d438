"""Compiled loops over the hinges of a shell.

Per group of hinges with φ = θ - θ̄ and a factor B (3, k):
    W = |B φ|²/2,   m = Bᵀ B φ,   f = Σ m ∇θ,   K = (B ∇θ)ᵀ (B ∇θ) + Σ m ∇²θ.
"""

from __future__ import annotations

import math

import numpy as np

from cajole.body.kernels_shell import between, scatter
from cajole.body.kernels_shell_angle import (
    angle,
    wing,
    wing_change,
    wing_curvature,
    wing_curvature_change,
)
from cajole.compiled import njit

PLACES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)


@njit(cache=True)
def half_turn(phi):
    """An angle within a turn of (-π, π], there."""
    if phi > math.pi:
        return phi - 2.0 * math.pi
    return phi + 2.0 * math.pi if phi <= -math.pi else phi


@njit(cache=True)
def angles(x, hinges, rest, out):
    """φ = θ - θ̄ of every hinge at positions x, turned into (-π, π]: no jump where a rest angle is near π."""
    for h in range(len(hinges)):
        a, b, c, d = hinges[h, 0], hinges[h, 1], hinges[h, 2], hinges[h, 3]
        out[h] = half_turn(angle(between(x, a, b), between(x, a, c), between(x, a, d)) - rest[h])


@njit(cache=True)
def moments(groups, B, phi, out):
    """out = m = Σ BᵀB φ [N m], per hinge; returns the energy Σ |B φ|²/2."""
    out[:] = 0.0
    total = 0.0
    for g in range(len(groups)):
        for k in range(3):
            part = 0.0
            for i in range(groups.shape[1]):
                if groups[g, i] >= 0:
                    part += B[g, k, i] * phi[groups[g, i]]
            total += 0.5 * part * part
            for i in range(groups.shape[1]):
                if groups[g, i] >= 0:
                    out[groups[g, i]] += B[g, k, i] * part
    return total


@njit(cache=True)
def bent(x, hinges, rest, phi, grads):
    """φ of every hinge as `angles` gives it, and ∇θ (hinges, 4, 3) by the vertices a, b, c, d."""
    for h in range(len(hinges)):
        a, b, c, d = hinges[h, 0], hinges[h, 1], hinges[h, 2], hinges[h, 3]
        e, p, q = between(x, a, b), between(x, a, c), between(x, a, d)
        phi[h] = half_turn(angle(e, p, q) - rest[h])
        _both_wings(wing(e, p), wing(e, q), grads[h])


@njit(cache=True)
def _both_wings(one, two, out):
    """(4, 3) by the vertices of a hinge from what each wing adds by e and by its own vertex; all four add up to 0."""
    for r in range(3):
        out[1, r] = one[0][r] - two[0][r]
        out[2, r] = one[1][r]
        out[3, r] = -two[1][r]
        out[0, r] = -(out[1, r] + out[2, r] + out[3, r])


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
        one = wing_change(e, between(x, a, c), de, between(v, a, c))
        _both_wings(one, wing_change(e, between(x, a, d), de, between(v, a, d)), out[h])


@njit(cache=True)
def squares(groups, B, sizes, places, vectors, elements, slots, stride, scale, data):
    """data += scale Σ (B vectors)ᵀ(B vectors), as `products` of the same on either side does, at half the work."""
    P = np.empty((3 * elements.shape[1], 3))
    for g in range(len(groups)):
        _placed(P, groups, B, places, g, vectors, 3 * sizes[g])
        for i in range(sizes[g]):
            step = stride[elements[g, i]]
            for j in range(i, sizes[g]):
                here, there, turned = slots[g, i, j], slots[g, j, i], stride[elements[g, j]]
                for r in range(3):
                    x, y, z = scale * P[3 * i + r, 0], scale * P[3 * i + r, 1], scale * P[3 * i + r, 2]
                    for c in range(3):
                        value = x * P[3 * j + c, 0] + y * P[3 * j + c, 1] + z * P[3 * j + c, 2]
                        data[here + r * step + c] += value
                        if j > i:
                            data[there + c * turned + r] += value


@njit(cache=True)
def products(groups, B, sizes, places, left, right, elements, slots, stride, scale, data):
    """data += scale/2 Σ (B left)ᵀ(B right) + its transpose, vectors (hinges, 4, 3) on the hinges' vertices.

    sizes (groups,): how many vertices of its element a group has; places (groups, k, 4): where in its element each
    vertex of a hinge stands.
    """
    width = 3 * elements.shape[1]
    L, R, block = np.empty((width, 3)), np.empty((width, 3)), np.empty((width, width))
    for g in range(len(groups)):
        n = 3 * sizes[g]
        _placed(L, groups, B, places, g, left, n)
        _placed(R, groups, B, places, g, right, n)
        for r in range(n):
            l0, l1, l2, r0, r1, r2 = L[r, 0], L[r, 1], L[r, 2], R[r, 0], R[r, 1], R[r, 2]
            for c in range(n):
                ahead = l0 * R[c, 0] + l1 * R[c, 1] + l2 * R[c, 2]
                block[r, c] = ahead + (r0 * L[c, 0] + r1 * L[c, 1] + r2 * L[c, 2])
        scatter(data, block, sizes[g], PLACES, g, elements, slots, stride, 0.5 * scale)


@njit(cache=True)
def _placed(out, groups, B, places, g, vectors, size):
    """B times the vectors of a group's hinges, (size, 3) by the coordinates of its vertices."""
    out[:size] = 0.0
    for i in range(groups.shape[1]):
        h = groups[g, i]
        if h < 0:
            continue
        b0, b1, b2 = B[g, 0, i], B[g, 1, i], B[g, 2, i]
        for v in range(4):
            at = 3 * places[g, i, v]
            for r in range(3):
                value = vectors[h, v, r]
                out[at + r, 0] += b0 * value
                out[at + r, 1] += b1 * value
                out[at + r, 2] += b2 * value


@njit(cache=True)
def _scatter_wing(block, side, place, g, elements, slots, stride, scale, data):
    """Add scale times a wing's block (9, 9) where its vertices stand in group g; the second wing counts negative."""
    spots = place[0], place[1], place[2 + side]
    scatter(data, block, 3, spots, g, elements, slots, stride, scale if side == 0 else -scale)


@njit(cache=True)
def curvatures(x, hinges, homes, m, places, elements, slots, stride, scale, data):
    """data += scale Σ m ∇²θ; homes (hinges, 2): a group that holds each hinge, and its number there."""
    block = np.empty((9, 9))
    for h in range(len(hinges)):
        if m[h] == 0.0:
            continue
        a, g = hinges[h, 0], homes[h, 0]
        e = between(x, a, hinges[h, 1])
        for side in range(2):
            wing_curvature(e, between(x, a, hinges[h, 2 + side]), block)
            _scatter_wing(block, side, places[g, homes[h, 1]], g, elements, slots, stride, scale * m[h], data)


@njit(cache=True)
def curvature_changes(x, v, hinges, homes, m, places, elements, slots, stride, scale, data):
    """data += scale Σ m d(∇²θ) along v."""
    block = np.empty((9, 9))
    for h in range(len(hinges)):
        if m[h] == 0.0:
            continue
        a, g = hinges[h, 0], homes[h, 0]
        e, de = between(x, a, hinges[h, 1]), between(v, a, hinges[h, 1])
        for side in range(2):
            c = hinges[h, 2 + side]
            wing_curvature_change(e, between(x, a, c), de, between(v, a, c), block)
            _scatter_wing(block, side, places[g, homes[h, 1]], g, elements, slots, stride, scale * m[h], data)
