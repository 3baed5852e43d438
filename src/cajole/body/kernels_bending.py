"""The angle of a hinge and its first three derivatives, for compiled loops.

A hinge is an edge ab with a wing (triangle) on either side: e = b - a, p = c - a, q = d - a. With n = e × x and
N = n/|n|² of a wing x, t = x·e/|e| and w = +1 for x = p, -1 for x = q,
    θ = atan2(ê·(n_q × n_p), n_p·n_q) with n_p = e × p, n_q = q × e: positive when the wings rise along the normals,
    ∂θ/∂x = w |e| N,   ∂θ/∂e = -Σ w t N,   ∂θ/∂a such that the sum is zero.
Each wing adds a term that depends on e and x only, so second and third derivatives are those of (-t N, |e| N).
Vectors are tuples. Triangles without area give infinities and NaN, which the callers detect.
"""

from __future__ import annotations

import math

import numpy as np

from cajole.body.kernels_assembly import add_block, combine_linearly, compute_edge_vector, cross, dot
from cajole.jit import njit


@njit(cache=True, error_model="numpy")
def compute_dihedral_angle(e, p, q):
    """θ in (-π, π]."""
    n, m = cross(e, p), cross(q, e)
    return math.atan2(dot(e, cross(m, n)) / math.sqrt(dot(e, e)), dot(n, m))


@njit(cache=True, error_model="numpy")
def _compute_wing_frame(e, x):
    """|e|, ê, N and t of a wing."""
    l = math.sqrt(dot(e, e))
    u = combine_linearly(1.0 / l, e, 0.0, e)
    n = cross(e, x)
    return l, u, combine_linearly(1.0 / dot(n, n), n, 0.0, n), dot(x, u)


@njit(cache=True, error_model="numpy")
def compute_wing_gradient(e, x):
    """(-t N, |e| N): contributions of a wing to ∂θ/∂e and ∂θ/∂x."""
    l, _, N, t = _compute_wing_frame(e, x)
    return combine_linearly(-t, N, 0.0, N), combine_linearly(l, N, 0.0, N)


@njit(cache=True, error_model="numpy")
def _differentiate_wing_frame(e, x, de, dx, l, u, N):
    """Derivatives of |e|, ê, N and t along (de, dx): dN = |N|² dn - 2 (N·dn) N, as |N|² = 1/|n|²."""
    dn = combine_linearly(1.0, cross(de, x), 1.0, cross(e, dx))
    dl = dot(u, de)
    du = combine_linearly(1.0 / l, de, -dl / l, u)
    return dl, du, combine_linearly(dot(N, N), dn, -2.0 * dot(N, dn), N), dot(dx, u) + dot(x, du)


@njit(cache=True, error_model="numpy")
def differentiate_wing_gradient(e, x, de, dx):
    """Derivative of `compute_wing_gradient` along (de, dx)."""
    l, u, N, t = _compute_wing_frame(e, x)
    dl, _, dN, dt = _differentiate_wing_frame(e, x, de, dx, l, u, N)
    return combine_linearly(-dt, N, -t, dN), combine_linearly(dl, N, l, dN)


@njit(cache=True, error_model="numpy")
def _add_outer(H, row, column, scale, a, b):
    """Add scale a bᵀ at (row, column) of H."""
    for r in range(3):
        for c in range(3):
            H[row + r, column + c] += scale * a[r] * b[c]


@njit(cache=True, error_model="numpy")
def _add_symmetric_outer(H, row, column, scale, a, b):
    """Add scale (a bᵀ + b aᵀ) at (row, column) of H."""
    for r in range(3):
        for c in range(3):
            H[row + r, column + c] += scale * (a[r] * b[c] + b[r] * a[c])


@njit(cache=True, error_model="numpy")
def compute_wing_hessian(e, x, H):
    """Fill H (9, 9): second derivatives of the part of a wing of θ by the vertices a, b, c, e = b - a and x = c - a.

    With k = N × x, m = N × e, w = (x - t ê)/|e| and {a, b} = a bᵀ + b aᵀ:
        ee: -{N, w/2 + t k},   xx: -|e| {N, m},   xe: N êᵀ + |e| {N, k}.
    Only the symmetric half of N wᵀ counts: the other half is equal for both wings, which have opposite signs.
    """
    l, u, N, t = _compute_wing_frame(e, x)
    k, w = cross(N, x), combine_linearly(1.0 / l, x, -t / l, u)
    H[:] = 0.0
    _add_symmetric_outer(H, 3, 3, -1.0, N, combine_linearly(0.5, w, t, k))
    _add_symmetric_outer(H, 6, 6, -l, N, cross(N, e))
    _add_outer(H, 6, 3, 1.0, N, u)
    _add_symmetric_outer(H, 6, 3, l, N, k)
    _complete_by_symmetry(H)


@njit(cache=True, error_model="numpy")
def differentiate_wing_hessian(e, x, de, dx, H):
    """Fill H with the derivative of `compute_wing_hessian` along (de, dx), term by term."""
    l, u, N, t = _compute_wing_frame(e, x)
    dl, du, dN, dt = _differentiate_wing_frame(e, x, de, dx, l, u, N)
    k, dk = cross(N, x), combine_linearly(1.0, cross(dN, x), 1.0, cross(N, dx))
    m, dm = cross(N, e), combine_linearly(1.0, cross(dN, e), 1.0, cross(N, de))
    w = combine_linearly(1.0 / l, x, -t / l, u)
    dw = combine_linearly(1.0 / l, combine_linearly(1.0, dx, -dt, u), -1.0 / l, combine_linearly(t, du, dl, w))
    H[:] = 0.0
    _add_symmetric_outer(H, 3, 3, -1.0, dN, combine_linearly(0.5, w, t, k))
    _add_symmetric_outer(H, 3, 3, -1.0, N, combine_linearly(0.5, dw, 1.0, combine_linearly(dt, k, t, dk)))
    _add_symmetric_outer(H, 6, 6, -1.0, dN, combine_linearly(l, m, 0.0, m))
    _add_symmetric_outer(H, 6, 6, -1.0, N, combine_linearly(dl, m, l, dm))
    _add_outer(H, 6, 3, 1.0, dN, u)
    _add_outer(H, 6, 3, 1.0, N, du)
    _add_symmetric_outer(H, 6, 3, l, dN, k)
    _add_symmetric_outer(H, 6, 3, 1.0, N, combine_linearly(dl, k, l, dk))
    _complete_by_symmetry(H)


@njit(cache=True, error_model="numpy")
def _complete_by_symmetry(H):
    """Complete H from its blocks of b and c at and below the diagonal: symmetric, with rows that sum to zero."""
    for r in range(3):
        for c in range(3):
            H[3 + c, 6 + r] = H[6 + r, 3 + c]
    for r in range(3, 9):
        for c in range(3):
            H[r, c] = H[c, r] = -H[r, 3 + c] - H[r, 6 + c]
    for r in range(3):
        for c in range(r + 1):
            H[r, c] = H[c, r] = -0.5 * (H[3 + r, c] + H[6 + r, c] + H[3 + c, r] + H[6 + c, r])


ALL_LOCAL_VERTICES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)


@njit(cache=True)
def wrap_angle(phi):
    """Reduce an angle in (-3π, 3π] to (-π, π]."""
    if phi > math.pi:
        return phi - 2.0 * math.pi
    return phi + 2.0 * math.pi if phi <= -math.pi else phi


@njit(cache=True)
def compute_elastic_angles(x, hinges, rest_angles, out):
    """Fill out with φ = θ - θ̄ in (-π, π] of every hinge at positions x, without jumps for rest angles near π."""
    for h in range(len(hinges)):
        a, b, c, d = hinges[h, 0], hinges[h, 1], hinges[h, 2], hinges[h, 3]
        out[h] = wrap_angle(
            compute_dihedral_angle(
                compute_edge_vector(x, a, b), compute_edge_vector(x, a, c), compute_edge_vector(x, a, d)
            )
            - rest_angles[h]
        )


@njit(cache=True)
def compute_moments(groups, B, phi, out):
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
def compute_angles_and_gradients(x, hinges, rest_angles, phi, grads):
    """Fill phi with the elastic angle of every hinge, and grads with ∇θ (hinges, 4, 3) by the vertices a, b, c, d."""
    for h in range(len(hinges)):
        a, b, c, d = hinges[h, 0], hinges[h, 1], hinges[h, 2], hinges[h, 3]
        e, p, q = compute_edge_vector(x, a, b), compute_edge_vector(x, a, c), compute_edge_vector(x, a, d)
        phi[h] = wrap_angle(compute_dihedral_angle(e, p, q) - rest_angles[h])
        _combine_wings(compute_wing_gradient(e, p), compute_wing_gradient(e, q), grads[h])


@njit(cache=True)
def _combine_wings(one, two, out):
    """Fill out (4, 3), derivatives by the vertices of a hinge, from both wings; they sum to zero."""
    for r in range(3):
        out[1, r] = one[0][r] - two[0][r]
        out[2, r] = one[1][r]
        out[3, r] = -two[1][r]
        out[0, r] = -(out[1, r] + out[2, r] + out[3, r])


@njit(cache=True)
def add_moment_forces(hinges, grads, m, out):
    """out += Σ m ∇θ."""
    for h in range(len(hinges)):
        for k in range(4):
            for r in range(3):
                out[hinges[h, k], r] += m[h] * grads[h, k, r]


@njit(cache=True)
def compute_angle_rates(v, hinges, grads, out):
    """out = ∇θ·v of every hinge."""
    for h in range(len(hinges)):
        total = 0.0
        for k in range(4):
            for r in range(3):
                total += grads[h, k, r] * v[hinges[h, k], r]
        out[h] = total


@njit(cache=True)
def compute_gradient_derivatives(x, v, hinges, out):
    """∇²θ v (hinges, 4, 3)."""
    for h in range(len(hinges)):
        a, b, c, d = hinges[h, 0], hinges[h, 1], hinges[h, 2], hinges[h, 3]
        e, de = compute_edge_vector(x, a, b), compute_edge_vector(v, a, b)
        one = differentiate_wing_gradient(e, compute_edge_vector(x, a, c), de, compute_edge_vector(v, a, c))
        _combine_wings(
            one, differentiate_wing_gradient(e, compute_edge_vector(x, a, d), de, compute_edge_vector(v, a, d)), out[h]
        )


@njit(cache=True)
def add_gram_blocks(
    groups, B, vertex_counts, local_vertices, vectors, elements, block_offsets, row_strides, scale, data
):
    """data += scale Σ (B vectors)ᵀ(B vectors): `add_product_blocks` with equal sides, at half the cost."""
    P = np.empty((3 * elements.shape[1], 3))
    for g in range(len(groups)):
        _gather_weighted_vectors(P, groups, B, local_vertices, g, vectors, 3 * vertex_counts[g])
        for i in range(vertex_counts[g]):
            step = row_strides[elements[g, i]]
            for j in range(i, vertex_counts[g]):
                here, there, turned = block_offsets[g, i, j], block_offsets[g, j, i], row_strides[elements[g, j]]
                for r in range(3):
                    x, y, z = scale * P[3 * i + r, 0], scale * P[3 * i + r, 1], scale * P[3 * i + r, 2]
                    for c in range(3):
                        value = x * P[3 * j + c, 0] + y * P[3 * j + c, 1] + z * P[3 * j + c, 2]
                        data[here + r * step + c] += value
                        if j > i:
                            data[there + c * turned + r] += value


@njit(cache=True)
def add_product_blocks(
    groups, B, vertex_counts, local_vertices, left, right, elements, block_offsets, row_strides, scale, data
):
    """data += scale/2 Σ (B left)ᵀ(B right) + its transpose, vectors (hinges, 4, 3) on the hinges' vertices.

    vertex_counts (groups,): number of vertices of each group; local_vertices (groups, k, 4): index of each vertex of a
    hinge in the element of the group.
    """
    width = 3 * elements.shape[1]
    L, R, block = np.empty((width, 3)), np.empty((width, 3)), np.empty((width, width))
    for g in range(len(groups)):
        n = 3 * vertex_counts[g]
        _gather_weighted_vectors(L, groups, B, local_vertices, g, left, n)
        _gather_weighted_vectors(R, groups, B, local_vertices, g, right, n)
        for r in range(n):
            l0, l1, l2, r0, r1, r2 = L[r, 0], L[r, 1], L[r, 2], R[r, 0], R[r, 1], R[r, 2]
            for c in range(n):
                ahead = l0 * R[c, 0] + l1 * R[c, 1] + l2 * R[c, 2]
                block[r, c] = ahead + (r0 * L[c, 0] + r1 * L[c, 1] + r2 * L[c, 2])
        add_block(
            data, block, vertex_counts[g], ALL_LOCAL_VERTICES, g, elements, block_offsets, row_strides, 0.5 * scale
        )


@njit(cache=True)
def _gather_weighted_vectors(out, groups, B, local_vertices, g, vectors, size):
    """Fill out (size, 3) with B times the vectors of the hinges of a group, by the coordinates of its vertices."""
    out[:size] = 0.0
    for i in range(groups.shape[1]):
        h = groups[g, i]
        if h < 0:
            continue
        b0, b1, b2 = B[g, 0, i], B[g, 1, i], B[g, 2, i]
        for v in range(4):
            at = 3 * local_vertices[g, i, v]
            for r in range(3):
                value = vectors[h, v, r]
                out[at + r, 0] += b0 * value
                out[at + r, 1] += b1 * value
                out[at + r, 2] += b2 * value


@njit(cache=True)
def _add_wing_block(block, side, local_vertices, g, elements, block_offsets, row_strides, scale, data):
    """Add scale times the block (9, 9) of a wing to the matrix; the second wing has a negative sign."""
    spots = local_vertices[0], local_vertices[1], local_vertices[2 + side]
    add_block(data, block, 3, spots, g, elements, block_offsets, row_strides, scale if side == 0 else -scale)


@njit(cache=True)
def add_angle_hessians(x, hinges, group_of_hinge, m, local_vertices, elements, block_offsets, row_strides, scale, data):
    """data += scale Σ m ∇²θ; group_of_hinge (hinges, 2): a group of each hinge, and its index there."""
    block = np.empty((9, 9))
    for h in range(len(hinges)):
        if m[h] == 0.0:
            continue
        a, g = hinges[h, 0], group_of_hinge[h, 0]
        e = compute_edge_vector(x, a, hinges[h, 1])
        for side in range(2):
            compute_wing_hessian(e, compute_edge_vector(x, a, hinges[h, 2 + side]), block)
            _add_wing_block(
                block,
                side,
                local_vertices[g, group_of_hinge[h, 1]],
                g,
                elements,
                block_offsets,
                row_strides,
                scale * m[h],
                data,
            )


@njit(cache=True)
def add_angle_hessian_derivatives(
    x, v, hinges, group_of_hinge, m, local_vertices, elements, block_offsets, row_strides, scale, data
):
    """data += scale Σ m d(∇²θ) along v."""
    block = np.empty((9, 9))
    for h in range(len(hinges)):
        if m[h] == 0.0:
            continue
        a, g = hinges[h, 0], group_of_hinge[h, 0]
        e, de = compute_edge_vector(x, a, hinges[h, 1]), compute_edge_vector(v, a, hinges[h, 1])
        for side in range(2):
            c = hinges[h, 2 + side]
            differentiate_wing_hessian(e, compute_edge_vector(x, a, c), de, compute_edge_vector(v, a, c), block)
            _add_wing_block(
                block,
                side,
                local_vertices[g, group_of_hinge[h, 1]],
                g,
                elements,
                block_offsets,
                row_strides,
                scale * m[h],
                data,
            )
