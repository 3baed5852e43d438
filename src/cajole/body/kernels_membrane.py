"""Compiled loops over the membrane of a shell: constant-strain St. Venant-Kirchhoff triangles in plane stress.

With D (3, 2) the map from the undeformed triangle to u = 0, E̅ the strain at u = 0, gradients g_a (2,) of the
hat functions, H = Σ u_a g_aᵀ (3, 2), F = D + H, E = E̅ + (DᵀH + HᵀD + HᵀH)/2, S = λ tr(E) I + 2μE, a_a = F g_a; λ and μ
of plane stress times thickness and undeformed area [N m]:
    W = λ/2 tr(E)² + μ E:E,   f_a = F S g_a,
    K_ab = (g_a·S g_b) I + λ a_a a_bᵀ + μ a_b a_aᵀ + μ (g_a·g_b) F Fᵀ.
Matrices are added at the first three vertices of the elements of the shell.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.body.kernels_assembly import add, add_block, combine_linearly, compute_edge_vector, cross, dot
from cajole.jit import njit

CORNERS = (0, 1, 2)


@njit(cache=True)
def compute_displacement_gradient(u, triangles, g, e):
    """Σ u_a g_aᵀ as its two columns."""
    i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
    a, b, c, d = g[e, 1, 0], g[e, 1, 1], g[e, 2, 0], g[e, 2, 1]
    x1, y1, z1 = u[j, 0] - u[i, 0], u[j, 1] - u[i, 1], u[j, 2] - u[i, 2]
    x2, y2, z2 = u[k, 0] - u[i, 0], u[k, 1] - u[i, 1], u[k, 2] - u[i, 2]
    return (a * x1 + c * x2, a * y1 + c * y2, a * z1 + c * z2), (b * x1 + d * x2, b * y1 + d * y2, b * z1 + d * z2)


@njit(cache=True)
def _load_frame(frames, e):
    return (frames[e, 0, 0], frames[e, 0, 1], frames[e, 0, 2]), (frames[e, 1, 0], frames[e, 1, 1], frames[e, 1, 2])


@njit(cache=True)
def compute_strain_increment(D, H):
    """(DᵀH + HᵀD + HᵀH)/2 as (00, 01, 11), from displacements alone so that small strains keep their digits."""
    (d, c), (x, y) = D, H
    return (dot(d, x) + 0.5 * dot(x, x), 0.5 * (dot(d, y) + dot(x, c) + dot(x, y)), dot(c, y) + 0.5 * dot(y, y))


@njit(cache=True)
def _compute_total_strain(D, H, initial_strains, e):
    """E, including the strain at u = 0."""
    return add((initial_strains[e, 0], initial_strains[e, 1], initial_strains[e, 2]), compute_strain_increment(D, H))


@njit(cache=True)
def _compute_strain_differential(F, G):
    """dE = (FᵀG + GᵀF)/2 for dF = G."""
    (x, y), (a, b) = F, G
    return dot(x, a), 0.5 * (dot(x, b) + dot(a, y)), dot(y, b)


@njit(cache=True)
def _compute_stress(E, lam, mu):
    trace = lam * (E[0] + E[2])
    return 2.0 * mu * E[0] + trace, 2.0 * mu * E[1], 2.0 * mu * E[2] + trace


@njit(cache=True)
def _clamp_to_tension(S):
    """Nearest positive semidefinite stress: without compression, which makes the stiffness indefinite."""
    middle, half = 0.5 * (S[0] + S[2]), 0.5 * (S[0] - S[2])
    radius = math.sqrt(half * half + S[1] * S[1])
    if middle >= radius:
        return S
    if middle <= -radius:
        return 0.0, 0.0, 0.0
    share = 0.5 * (middle + radius) / radius
    return share * (radius + half), share * S[1], share * (radius - half)


@njit(cache=True)
def _add_corner_forces(out, triangles, g, e, weight, x, y, S):
    """out_a += weight (x, y) S g_a; the first corner gets minus the sum of the others."""
    total = (0.0, 0.0, 0.0)
    for a in range(1, 3):
        s, t = S[0] * g[e, a, 0] + S[1] * g[e, a, 1], S[1] * g[e, a, 0] + S[2] * g[e, a, 1]
        f = weight * (s * x[0] + t * y[0]), weight * (s * x[1] + t * y[1]), weight * (s * x[2] + t * y[2])
        for r in range(3):
            out[triangles[e, a], r] += f[r]
        total = add(total, f)
    for r in range(3):
        out[triangles[e, 0], r] -= total[r]


@njit(cache=True)
def compute_energy(u, triangles, g, frames, initial_strains, lam, mu):
    total = 0.0
    for e in range(len(triangles)):
        E = _compute_total_strain(
            _load_frame(frames, e), compute_displacement_gradient(u, triangles, g, e), initial_strains, e
        )
        trace = E[0] + E[2]
        square = E[0] * E[0] + 2.0 * E[1] * E[1] + E[2] * E[2]
        total += 0.5 * lam[e] * trace * trace + mu[e] * square
    return total


@njit(cache=True)
def add_force(u, triangles, g, frames, initial_strains, lam, mu, out):
    """out += Σ F S g_a."""
    for e in range(len(triangles)):
        D, H = _load_frame(frames, e), compute_displacement_gradient(u, triangles, g, e)
        S = _compute_stress(_compute_total_strain(D, H, initial_strains, e), lam[e], mu[e])
        _add_corner_forces(out, triangles, g, e, 1.0, add(D[0], H[0]), add(D[1], H[1]), S)


@njit(cache=True)
def add_force_differential(u, v, triangles, g, frames, initial_strains, lam, mu, scale, out):
    """out += scale K v of the membrane: d(F S) = G S + F dS with G the gradient of v."""
    for e in range(len(triangles)):
        D = _load_frame(frames, e)
        H = compute_displacement_gradient(u, triangles, g, e)
        G = compute_displacement_gradient(v, triangles, g, e)
        x, y = add(D[0], H[0]), add(D[1], H[1])
        _add_corner_forces(
            out,
            triangles,
            g,
            e,
            scale,
            G[0],
            G[1],
            _compute_stress(_compute_total_strain(D, H, initial_strains, e), lam[e], mu[e]),
        )
        _add_corner_forces(
            out, triangles, g, e, scale, x, y, _compute_stress(_compute_strain_differential((x, y), G), lam[e], mu[e])
        )


@njit(cache=True)
def add_stiffness(
    u, triangles, g, frames, initial_strains, lam, mu, elements, block_offsets, row_strides, scale, clamped, data
):
    """data += scale K; clamped: without compression in the geometric part, which is positive semidefinite."""
    block = np.empty((9, 9))
    for e in range(len(triangles)):
        D, H = _load_frame(frames, e), compute_displacement_gradient(u, triangles, g, e)
        S = _compute_stress(_compute_total_strain(D, H, initial_strains, e), lam[e], mu[e])
        if clamped:
            S = _clamp_to_tension(S)
        _compute_stiffness_block(block, e, g, add(D[0], H[0]), add(D[1], H[1]), S, lam[e], mu[e])
        add_block(data, block, 3, CORNERS, e, elements, block_offsets, row_strides, scale)


@njit(cache=True)
def _apply_to_shape_gradient(F, g, e, a):
    """F g_a."""
    p, q, x, y = g[e, a, 0], g[e, a, 1], F[0], F[1]
    return p * x[0] + q * y[0], p * x[1] + q * y[1], p * x[2] + q * y[2]


@njit(cache=True)
def _compute_stiffness_block(block, e, g, x, y, S, lam, mu):
    """Fill K (9, 9) of one triangle: the blocks of the last two corners, and the rest by zero sums."""
    for a in range(1, 3):
        p, q, fa = g[e, a, 0], g[e, a, 1], _apply_to_shape_gradient((x, y), g, e, a)
        for b in range(a, 3):
            s, t, fb = g[e, b, 0], g[e, b, 1], _apply_to_shape_gradient((x, y), g, e, b)
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
def _add_outer_pair(H, a, b, l, m, p, q):
    """Add l p qᵀ + m q pᵀ to block (a, b) of H."""
    for r in range(3):
        for c in range(3):
            H[3 * a + r, 3 * b + c] += l * p[r] * q[c] + m * q[r] * p[c]


@njit(cache=True)
def add_stiffness_derivative(
    u, v, triangles, g, frames, initial_strains, lam, mu, elements, block_offsets, row_strides, scale, data
):
    """data += scale dK along v; initial_strains has no effect, but all loops take the same arguments."""
    block = np.empty((9, 9))
    for e in range(len(triangles)):
        D = _load_frame(frames, e)
        H = compute_displacement_gradient(u, triangles, g, e)
        G = compute_displacement_gradient(v, triangles, g, e)
        F = (add(D[0], H[0]), add(D[1], H[1]))
        _compute_derivative_block(
            block, e, g, F, G, _compute_stress(_compute_strain_differential(F, G), lam[e], mu[e]), lam[e], mu[e]
        )
        add_block(data, block, 3, CORNERS, e, elements, block_offsets, row_strides, scale)


@njit(cache=True)
def _compute_derivative_block(block, e, g, F, G, S, lam, mu):
    """Fill dK (9, 9) of one triangle for dF = G and dS = S: K is quadratic in F, so both orders of F and G add."""
    block[:] = 0.0
    for a in range(3):
        p = g[e, a, 0]
        q = g[e, a, 1]
        fa = _apply_to_shape_gradient(F, g, e, a)
        da = _apply_to_shape_gradient(G, g, e, a)
        for b in range(3):
            s = g[e, b, 0]
            t = g[e, b, 1]
            fb = _apply_to_shape_gradient(F, g, e, b)
            db = _apply_to_shape_gradient(G, g, e, b)
            inner = mu * (p * s + q * t)
            _add_outer_pair(block, a, b, lam, mu, da, fb)
            _add_outer_pair(block, a, b, lam, mu, fa, db)
            _add_outer_pair(block, a, b, inner, inner, F[0], G[0])
            _add_outer_pair(block, a, b, inner, inner, F[1], G[1])
            along = p * (S[0] * s + S[1] * t) + q * (S[1] * s + S[2] * t)
            for r in range(3):
                block[3 * a + r, 3 * b + r] += along


Int32Array = NDArray[np.int32]


@njit(cache=True, error_model="numpy")
def compute_rest_frames(
    undeformed: Array,
    displacement: Array,
    triangles: Int32Array,
    min_quality: float,
    g: Array,
    D: Array,
    strains: Array,
    areas: Array,
) -> int:
    """Fill g (m, 3, 2), D (m, 2, 3), strains (m, 3) and areas (m,) of undeformed triangles at distance `displacement`.

    displacement (n, 3) leads from the undeformed shape to u = 0; where it is zero, strains are exactly zero. Returns
    the first triangle with an area of at most min_quality times its longest edge squared, or -1.
    """
    for e in range(len(triangles)):
        i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
        one = compute_edge_vector(undeformed, i, j)
        two = compute_edge_vector(undeformed, i, k)
        three = compute_edge_vector(undeformed, j, k)
        n = cross(one, two)
        double, l = math.sqrt(dot(n, n)), math.sqrt(dot(one, one))
        # true for NaN, too
        if not 0.5 * double > min_quality * max(dot(one, one), dot(two, two), dot(three, three)):
            return e
        along = combine_linearly(1.0 / l, one, 0.0, one)
        across = combine_linearly(1.0 / double, cross(n, along), 0.0, n)
        g[e, 1, 0], g[e, 1, 1] = 1.0 / l, -dot(along, two) / double
        g[e, 2, 0], g[e, 2, 1] = 0.0, l / double
        g[e, 0, 0], g[e, 0, 1] = -g[e, 1, 0], -g[e, 1, 1] - g[e, 2, 1]
        areas[e] = 0.5 * double
        H = compute_displacement_gradient(displacement, triangles, g, e)
        at = add(along, H[0]), add(across, H[1])
        strains[e, 0], strains[e, 1], strains[e, 2] = compute_strain_increment((along, across), H)
        for r in range(3):
            D[e, 0, r], D[e, 1, r] = at[0][r], at[1][r]
    return -1


@njit(cache=True, error_model="numpy")
def compute_hinge_widths(x: Array, hinges: IndexArray, out: Array) -> None:
    """Fill out with 2A/l [m] of every hinge, l the length of its edge, A the area of both triangles."""
    for h in range(len(hinges)):
        a = hinges[h, 0]
        e = compute_edge_vector(x, a, hinges[h, 1])
        p, q = cross(e, compute_edge_vector(x, a, hinges[h, 2])), cross(e, compute_edge_vector(x, a, hinges[h, 3]))
        out[h] = (math.sqrt(dot(p, p)) + math.sqrt(dot(q, q))) / math.sqrt(dot(e, e))


@njit(cache=True)
def compute_plastic_slip(
    phi: Array,
    limit: Array,
    tolerance: float,
    starts: IndexArray,
    groups_by_hinge: IndexArray,
    B: Array,
    group_strains: Array,
    slip: Array,
) -> None:
    """Fill slip (hinges,) [rad], the plastic flow of every hinge with |φ| above its limit and `tolerance`.

    group_strains (groups, 3): B φ of every group, updated with the slip. A hinge flows until its elastic angle is at
    its limit, or until its moment vanishes if neighbours keep it bent: one after the other, so that the energy never
    increases. groups_by_hinge (k, 2): groups of a hinge and its index there, from starts[h] on.
    """
    for h in range(len(phi)):
        excess = abs(phi[h]) - limit[h]
        slip[h] = 0.0
        if not excess > tolerance:
            continue
        moment, stiffness = 0.0, 0.0
        for o in range(starts[h], starts[h + 1]):
            g, i = groups_by_hinge[o, 0], groups_by_hinge[o, 1]
            for k in range(3):
                moment += B[g, k, i] * group_strains[g, k]
                stiffness += B[g, k, i] * B[g, k, i]
        side = 1.0 if phi[h] > 0.0 else -1.0
        # without stiffness there is no resistance and no energy
        far = excess if stiffness == 0.0 else min(excess, max(0.0, side * moment / stiffness))
        slip[h] = side * far
        for o in range(starts[h], starts[h + 1]):
            g, i = groups_by_hinge[o, 0], groups_by_hinge[o, 1]
            for k in range(3):
                group_strains[g, k] -= B[g, k, i] * slip[h]
