"""Compiled loops over springs.

Per spring x = q_i - q_j, l = |x|, n = x/l, g = 1 - r/l, P = I - nnᵀ:
    W = k/2 (l - r)²,  f_i = k (l - r) n = k g x,  K = k (g P + nnᵀ),  damping d_i = c (n·w) n with w = v_i - v_j.
Blocks are assembled like a graph Laplacian: + on (i,i) and (j,j), - on (i,j) and (j,i).
"""

from __future__ import annotations

import numpy as np

from cajole.jit import njit

STIFFNESS, CLAMPED_STIFFNESS, STIFFNESS_DERIVATIVE, DAMPING, DAMPING_JACOBIAN, DAMPING_JACOBIAN_SYMMETRIC = range(6)


@njit(cache=True, inline="always")
def _compute_spring_direction(q, edges, s, n):
    """Direction n and length of spring s."""
    i, j = edges[s, 0], edges[s, 1]
    x, y, z = q[i, 0] - q[j, 0], q[i, 1] - q[j, 1], q[i, 2] - q[j, 2]
    length = np.sqrt(x * x + y * y + z * z)
    if length > 0.0:
        n[0], n[1], n[2] = x / length, y / length, z / length
    else:
        n[0], n[1], n[2] = 0.0, 0.0, 0.0
    return length


@njit(cache=True)
def find_shortest_spring(q, edges):
    """Index and length of the shortest spring."""
    n = np.empty(3)
    where, least = 0, np.inf
    for s in range(len(edges)):
        length = _compute_spring_direction(q, edges, s, n)
        if length < least:
            where, least = s, length
    return where, least


@njit(cache=True)
def compute_energy(q, edges, k, rest):
    """Σ k/2 (l - r)²."""
    n = np.empty(3)
    total = 0.0
    for s in range(len(edges)):
        stretch = _compute_spring_direction(q, edges, s, n) - rest[s]
        total += 0.5 * k[s] * stretch * stretch
    return total


@njit(cache=True)
def add_force(q, v, edges, k, rest, c, elastic_factor, damping_factor, out):
    """out += elastic_factor Σ k (l - r) n + damping_factor Σ c (n·w) n."""
    n = np.empty(3)
    for s in range(len(edges)):
        i, j = edges[s, 0], edges[s, 1]
        length = _compute_spring_direction(q, edges, s, n)
        size = elastic_factor * k[s] * (length - rest[s])
        if damping_factor != 0.0:
            rate = n[0] * (v[i, 0] - v[j, 0]) + n[1] * (v[i, 1] - v[j, 1]) + n[2] * (v[i, 2] - v[j, 2])
            size += damping_factor * c[s] * rate
        for a in range(3):
            out[i, a] += size * n[a]
            out[j, a] -= size * n[a]


@njit(cache=True)
def smooth_clamp(g, clamp):
    """g̃, a smooth approximation of max(g, 0): no negative stiffness in compression."""
    return 0.5 * (g + np.sqrt(g * g + clamp * clamp))


@njit(cache=True)
def add_matrix(kind, q, v, edges, k, rest, c, clamp, block_offsets, row_strides, scale, data):
    """data += scale times the matrix of `kind`; v: direction (STIFFNESS_DERIVATIVE) or velocity (DAMPING_JACOBIAN)."""
    n = np.empty(3)
    block = np.empty((3, 3))
    for s in range(len(edges)):
        i, j = edges[s, 0], edges[s, 1]
        length = _compute_spring_direction(q, edges, s, n)
        g = 1.0 - rest[s] / length
        w0, w1, w2 = v[i, 0] - v[j, 0], v[i, 1] - v[j, 1], v[i, 2] - v[j, 2]
        along = n[0] * w0 + n[1] * w1 + n[2] * w2
        across = (w0 - along * n[0], w1 - along * n[1], w2 - along * n[2])
        if kind == CLAMPED_STIFFNESS:
            g = smooth_clamp(g, clamp)
        for a in range(3):
            for b in range(3):
                normal = n[a] * n[b]
                plane = (1.0 if a == b else 0.0) - normal
                if kind in (STIFFNESS, CLAMPED_STIFFNESS):
                    value = k[s] * (g * plane + normal)
                elif kind == STIFFNESS_DERIVATIVE:
                    # dg = r (n·w)/l², dn = Pw/l
                    dg = rest[s] * along / (length * length)
                    dnormal = (across[a] * n[b] + n[a] * across[b]) / length
                    value = k[s] * (dg * plane + (1.0 - g) * dnormal)
                elif kind == DAMPING:
                    value = c[s] * normal
                elif kind == DAMPING_JACOBIAN:
                    # ∂/∂x of c (n·w) n = c/l [n (Pw)ᵀ + (n·w) P]
                    value = c[s] / length * (n[a] * across[b] + along * plane)
                else:
                    value = c[s] / length * (0.5 * (n[a] * across[b] + across[a] * n[b]) + along * plane)
                block[a, b] = scale * value
        for p in range(2):
            for r in range(2):
                sign = 1.0 if p == r else -1.0
                here = block_offsets[s, p, r]
                step = row_strides[edges[s, p]]
                for a in range(3):
                    for b in range(3):
                        data[here + a * step + b] += sign * block[a, b]


@njit(cache=True)
def assemble_linear_step(
    q, predicted, v, edges, k, rest, c, clamp, block_offsets, row_strides, damping_factor, forces, data
):
    """data += K̃(q) + damping_factor D(predicted) and forces += f(q) + d(predicted, v), in one pass over the springs.

    Returns a spring of length zero at q or `predicted`, or -1.
    """
    n, m = np.empty(3), np.empty(3)
    block = np.empty((3, 3))
    for s in range(len(edges)):
        i, j = edges[s, 0], edges[s, 1]
        length = _compute_spring_direction(q, edges, s, n)
        if length == 0.0 or _compute_spring_direction(predicted, edges, s, m) == 0.0:
            return s
        g = smooth_clamp(1.0 - rest[s] / length, clamp)
        stretch = k[s] * (length - rest[s])
        rate = c[s] * (m[0] * (v[i, 0] - v[j, 0]) + m[1] * (v[i, 1] - v[j, 1]) + m[2] * (v[i, 2] - v[j, 2]))
        plane, along, thick = k[s] * g, k[s] * (1.0 - g), damping_factor * c[s]
        for a in range(3):
            value = stretch * n[a] + rate * m[a]
            forces[i, a] += value
            forces[j, a] -= value
            for b in range(3):
                block[a, b] = along * n[a] * n[b] + thick * m[a] * m[b]
            block[a, a] += plane
        ii, ij, ji, jj = block_offsets[s, 0, 0], block_offsets[s, 0, 1], block_offsets[s, 1, 0], block_offsets[s, 1, 1]
        for a in range(3):
            near, far = a * row_strides[i], a * row_strides[j]
            for b in range(3):
                data[ii + near + b] += block[a, b]
                data[ij + near + b] -= block[a, b]
                data[ji + far + b] -= block[a, b]
                data[jj + far + b] += block[a, b]
    return -1


@njit(cache=True)
def add_linear_step_force(q, predicted, v, step, edges, k, rest, c, clamp, out):
    """out += f(q) + K̃(q) step + d(predicted, v), without the matrix.

    Returns a spring of length zero at q or `predicted`, or -1.
    """
    n, m = np.empty(3), np.empty(3)
    for s in range(len(edges)):
        i, j = edges[s, 0], edges[s, 1]
        length = _compute_spring_direction(q, edges, s, n)
        if length == 0.0 or _compute_spring_direction(predicted, edges, s, m) == 0.0:
            return s
        g = smooth_clamp(1.0 - rest[s] / length, clamp)
        along, rate = 0.0, 0.0
        for a in range(3):
            along += n[a] * (step[i, a] - step[j, a])
            rate += m[a] * (v[i, a] - v[j, a])
        for a in range(3):
            pull = (length - rest[s] + (1.0 - g) * along) * n[a] + g * (step[i, a] - step[j, a])
            value = k[s] * pull + c[s] * rate * m[a]
            out[i, a] += value
            out[j, a] -= value
    return -1


@njit(cache=True)
def add_linear_step_vjp(
    q, predicted, step, v, edges, k, rest, c, clamp, adjoints, by_displacement, by_predicted, damped_adjoints
):
    """Add Tᵀ λ, Sᵀ λ and D λ for adjoints λ (m, n, 3) to by_displacement, by_predicted and damped_adjoints.

    T is the derivative of k (l - r) n + k (g̃ P + nnᵀ) z by x at q, S that of c (n·w) n at `predicted`, D the damping
    matrix there; z and w are the step and the velocity of a spring.

    With s = n·λ: Tᵀλ = a (λ - s n) + n (k s + along·λ) + s across, along = k g̃' r/l² Pz, across = k (1 - g̃)/l Pz and
    a = k g + k (1 - g̃)/l (n·z); Sᵀλ = b (λ - s n) + s aside, b = c/l (n·w) and aside = c/l Pw.
    """
    count = len(edges)
    n, m = np.empty((count, 3)), np.empty((count, 3))
    along, across, aside = np.empty((count, 3)), np.empty((count, 3)), np.empty((count, 3))
    a, b = np.empty(count), np.empty(count)
    for e in range(count):
        i, j = edges[e, 0], edges[e, 1]
        length = _compute_spring_direction(q, edges, e, n[e])
        later = _compute_spring_direction(predicted, edges, e, m[e])
        g = 1.0 - rest[e] / length
        root = np.sqrt(g * g + clamp * clamp)
        rise = 0.5 * (1.0 + g / root) if root > 0.0 else 0.5
        soft = k[e] * (1.0 - 0.5 * (g + root)) / length
        stiff, thick = k[e] * rise * rest[e] / (length * length), c[e] / later if c[e] > 0.0 else 0.0
        nz, mw = 0.0, 0.0
        for x in range(3):
            nz += n[e, x] * (step[i, x] - step[j, x])
            mw += m[e, x] * (v[i, x] - v[j, x])
        a[e], b[e] = k[e] * g + soft * nz, thick * mw
        for x in range(3):
            z = step[i, x] - step[j, x] - nz * n[e, x]
            along[e, x], across[e, x] = stiff * z, soft * z
            aside[e, x] = thick * (v[i, x] - v[j, x] - mw * m[e, x])
    for row in range(len(adjoints)):
        for e in range(count):
            i, j = edges[e, 0], edges[e, 1]
            s, t, r = 0.0, 0.0, 0.0
            for x in range(3):
                lam = adjoints[row, i, x] - adjoints[row, j, x]
                s += n[e, x] * lam
                t += along[e, x] * lam
                r += m[e, x] * lam
            for x in range(3):
                lam = adjoints[row, i, x] - adjoints[row, j, x]
                slope = a[e] * (lam - s * n[e, x]) + (k[e] * s + t) * n[e, x] + s * across[e, x]
                turn = b[e] * (lam - r * m[e, x]) + r * aside[e, x]
                drag = c[e] * r * m[e, x]
                by_displacement[row, i, x] += slope
                by_displacement[row, j, x] -= slope
                by_predicted[row, i, x] += turn
                by_predicted[row, j, x] -= turn
                damped_adjoints[row, i, x] += drag
                damped_adjoints[row, j, x] -= drag
