"""Rotation-strain warping, element by element, compiled (§6).

The input frame has F = Q S in every element. A change p has the linear gradient A = Σ p_a g_aᵀ, its strain ε = sym A
and its turn ω, the axis of skew A. The warped element is Q exp(ω) (S + ε) in composition form, and in the additive form
of the paper exp(ω̄ + ω) (S + ε) with Q = exp(ω̄). Only the difference to F is summed up: no change gives exactly nothing.

Elements come in blocks of LANES, each number of a block's elements side by side (entry c of lane i at LANES c + i), so
that the loops over lanes become vector instructions. Blocks of shape: three edge gradients and the volume of tets, two
and the area and the unit normal of triangles. Blocks of a frame: Q (9), or ω̄ (3) in additive form, then S (6) as
00 01 02 11 12 22.
"""

from __future__ import annotations

import numpy as np

from cajole.direct.editing.polar import (
    SERIES_LIMIT,
    compute_rodrigues_coefficients,
    compute_rodrigues_coefficients_series,
    compute_rotation_vector,
    extract_rotation,
)
from cajole.jit import njit

LANES = 32
# Rows of one block that work needs: edges or D, A, then two turns with their factors.
WORK_ROWS = 28
GRADIENT_OFFSET, ROTATION_OFFSET, INPUT_ROTATION_OFFSET = 9 * LANES, 18 * LANES, 23 * LANES

FASTMATH = {"contract", "nsz"}
FASTMATH_SUM = {"contract", "nsz", "reassoc"}


@njit(cache=True, fastmath=FASTMATH)
def _compute_gradients(shape, corners, displacement, work):
    """A (rows 9..17) of a block: Σ (p_a - p_0) g_aᵀ; of triangles completed by how the unit normal n turns, -Aᵀn nᵀ."""
    edges = len(corners) // LANES - 1
    for a in range(edges):
        for i in range(LANES):
            o, v = corners[i], corners[LANES * (a + 1) + i]
            work[LANES * 3 * a + i] = displacement[v, 0] - displacement[o, 0]
            work[LANES * (3 * a + 1) + i] = displacement[v, 1] - displacement[o, 1]
            work[LANES * (3 * a + 2) + i] = displacement[v, 2] - displacement[o, 2]
    if edges == 3:
        for r in range(3):
            to = GRADIENT_OFFSET + 3 * r * LANES
            for i in range(LANES):
                x, y, z = work[LANES * r + i], work[LANES * (3 + r) + i], work[LANES * (6 + r) + i]
                work[to + i] = x * shape[i] + y * shape[3 * LANES + i] + z * shape[6 * LANES + i]
                work[to + LANES + i] = x * shape[LANES + i] + y * shape[4 * LANES + i] + z * shape[7 * LANES + i]
                work[to + 2 * LANES + i] = (
                    x * shape[2 * LANES + i] + y * shape[5 * LANES + i] + z * shape[8 * LANES + i]
                )
    else:
        _compute_triangle_gradients(shape, work)


@njit(cache=True, fastmath=FASTMATH)
def _compute_triangle_gradients(shape, work):
    for i in range(LANES):
        n0, n1, n2 = shape[7 * LANES + i], shape[8 * LANES + i], shape[9 * LANES + i]
        # how far the edges leave the plane; the normal turns by as much the other way
        x, y = 0.0, 0.0
        for r in range(3):
            x += shape[(7 + r) * LANES + i] * work[LANES * r + i]
            y += shape[(7 + r) * LANES + i] * work[LANES * (3 + r) + i]
        for r in range(3):
            d = x * shape[LANES * r + i] + y * shape[LANES * (3 + r) + i]
            e, f = work[LANES * r + i], work[LANES * (3 + r) + i]
            to = GRADIENT_OFFSET + 3 * r * LANES + i
            work[to] = e * shape[i] + f * shape[3 * LANES + i] - d * n0
            work[to + LANES] = e * shape[LANES + i] + f * shape[4 * LANES + i] - d * n1
            work[to + 2 * LANES] = e * shape[2 * LANES + i] + f * shape[5 * LANES + i] - d * n2


@njit(cache=True)
def _store_rodrigues_coefficients(work, at):
    """sin θ / θ and (1 - cos θ) / θ² of the turns in rows at, at + 1, at + 2, to the two rows that follow."""
    largest = 0.0
    for i in range(LANES):
        x, y, z = work[at + i], work[at + LANES + i], work[at + 2 * LANES + i]
        square = x * x + y * y + z * z
        work[at + 3 * LANES + i] = square
        largest = max(largest, square)
    if largest <= SERIES_LIMIT:
        for i in range(LANES):
            work[at + 3 * LANES + i], work[at + 4 * LANES + i] = compute_rodrigues_coefficients_series(
                work[at + 3 * LANES + i]
            )
    else:
        for i in range(LANES):
            square = work[at + 3 * LANES + i]
            factors = (
                compute_rodrigues_coefficients_series(square)
                if square <= SERIES_LIMIT
                else compute_rodrigues_coefficients(square)
            )
            work[at + 3 * LANES + i], work[at + 4 * LANES + i] = factors


@njit(cache=True)
def _compute_rotation_minus_identity(work, at):
    """exp(ω) - I, exactly nothing for no turn; ω and its factors in the rows from `at` on."""
    x, y, z = work[at], work[at + LANES], work[at + 2 * LANES]
    s, c = work[at + 3 * LANES], work[at + 4 * LANES]
    xx, yy, zz, xy, xz, yz = c * x * x, c * y * y, c * z * z, c * x * y, c * x * z, c * y * z
    return -yy - zz, xy - s * z, xz + s * y, xy + s * z, -xx - zz, yz - s * x, xz - s * y, yz + s * x, -xx - yy


@njit(cache=True, fastmath=FASTMATH)
def _compute_strain(work, i):
    """ε = sym A of lane i, as 00 01 02 11 12 22."""
    at = GRADIENT_OFFSET + i
    return (
        work[at], 0.5 * (work[at + LANES] + work[at + 3 * LANES]), 0.5 * (work[at + 2 * LANES] + work[at + 6 * LANES]),
        work[at + 4 * LANES], 0.5 * (work[at + 5 * LANES] + work[at + 7 * LANES]), work[at + 8 * LANES],
    )  # fmt: skip


@njit(cache=True, fastmath=FASTMATH)
def _dot(a, b, c, x, y, z):
    return a * x + b * y + c * z


@njit(cache=True, fastmath=FASTMATH)
def _warp_by_composition(frame, work):
    """D = Q ((exp(ω) - I)(S + ε) + ε), rows 0..8."""
    for i in range(LANES):
        work[ROTATION_OFFSET + i] = 0.5 * (
            work[GRADIENT_OFFSET + 7 * LANES + i] - work[GRADIENT_OFFSET + 5 * LANES + i]
        )
        work[ROTATION_OFFSET + LANES + i] = 0.5 * (
            work[GRADIENT_OFFSET + 2 * LANES + i] - work[GRADIENT_OFFSET + 6 * LANES + i]
        )
        work[ROTATION_OFFSET + 2 * LANES + i] = 0.5 * (
            work[GRADIENT_OFFSET + 3 * LANES + i] - work[GRADIENT_OFFSET + LANES + i]
        )
    _store_rodrigues_coefficients(work, ROTATION_OFFSET)
    for i in range(LANES):
        e00, e01, e02, e11, e12, e22 = _compute_strain(work, i)
        t00, t01, t02 = frame[9 * LANES + i] + e00, frame[10 * LANES + i] + e01, frame[11 * LANES + i] + e02
        t11, t12, t22 = frame[12 * LANES + i] + e11, frame[13 * LANES + i] + e12, frame[14 * LANES + i] + e22
        r0, r1, r2, r3, r4, r5, r6, r7, r8 = _compute_rotation_minus_identity(work, ROTATION_OFFSET + i)
        m00, m01, m02 = (
            _dot(r0, r1, r2, t00, t01, t02) + e00, _dot(r0, r1, r2, t01, t11, t12) + e01,
            _dot(r0, r1, r2, t02, t12, t22) + e02,
        )  # fmt: skip
        m10, m11, m12 = (
            _dot(r3, r4, r5, t00, t01, t02) + e01, _dot(r3, r4, r5, t01, t11, t12) + e11,
            _dot(r3, r4, r5, t02, t12, t22) + e12,
        )  # fmt: skip
        m20, m21, m22 = (
            _dot(r6, r7, r8, t00, t01, t02) + e02, _dot(r6, r7, r8, t01, t11, t12) + e12,
            _dot(r6, r7, r8, t02, t12, t22) + e22,
        )  # fmt: skip
        for r in range(3):
            a, b, c = frame[3 * r * LANES + i], frame[(3 * r + 1) * LANES + i], frame[(3 * r + 2) * LANES + i]
            work[3 * r * LANES + i] = _dot(a, b, c, m00, m10, m20)
            work[(3 * r + 1) * LANES + i] = _dot(a, b, c, m01, m11, m21)
            work[(3 * r + 2) * LANES + i] = _dot(a, b, c, m02, m12, m22)


@njit(cache=True, fastmath=FASTMATH)
def _warp_by_addition(frame, work):
    """D = (exp(ω̄ + ω) - exp(ω̄)) (S + ε) + exp(ω̄) ε, rows 0..8; both turns by the same arithmetic."""
    for i in range(LANES):
        x, y, z = frame[i], frame[LANES + i], frame[2 * LANES + i]
        (
            work[INPUT_ROTATION_OFFSET + i],
            work[INPUT_ROTATION_OFFSET + LANES + i],
            work[INPUT_ROTATION_OFFSET + 2 * LANES + i],
        ) = x, y, z
        work[ROTATION_OFFSET + i] = x + 0.5 * (
            work[GRADIENT_OFFSET + 7 * LANES + i] - work[GRADIENT_OFFSET + 5 * LANES + i]
        )
        work[ROTATION_OFFSET + LANES + i] = y + 0.5 * (
            work[GRADIENT_OFFSET + 2 * LANES + i] - work[GRADIENT_OFFSET + 6 * LANES + i]
        )
        work[ROTATION_OFFSET + 2 * LANES + i] = z + 0.5 * (
            work[GRADIENT_OFFSET + 3 * LANES + i] - work[GRADIENT_OFFSET + LANES + i]
        )
    _store_rodrigues_coefficients(work, INPUT_ROTATION_OFFSET)
    _store_rodrigues_coefficients(work, ROTATION_OFFSET)
    for i in range(LANES):
        e00, e01, e02, e11, e12, e22 = _compute_strain(work, i)
        t00, t01, t02 = frame[3 * LANES + i] + e00, frame[4 * LANES + i] + e01, frame[5 * LANES + i] + e02
        t11, t12, t22 = frame[6 * LANES + i] + e11, frame[7 * LANES + i] + e12, frame[8 * LANES + i] + e22
        q0, q1, q2, q3, q4, q5, q6, q7, q8 = _compute_rotation_minus_identity(work, INPUT_ROTATION_OFFSET + i)
        r0, r1, r2, r3, r4, r5, r6, r7, r8 = _compute_rotation_minus_identity(work, ROTATION_OFFSET + i)
        r0, r1, r2, r3, r4, r5, r6, r7, r8 = (
            r0 - q0, r1 - q1, r2 - q2, r3 - q3, r4 - q4, r5 - q5, r6 - q6, r7 - q7, r8 - q8
        )  # fmt: skip
        q0, q4, q8 = 1.0 + q0, 1.0 + q4, 1.0 + q8
        work[i] = _dot(r0, r1, r2, t00, t01, t02) + _dot(q0, q1, q2, e00, e01, e02)
        work[LANES + i] = _dot(r0, r1, r2, t01, t11, t12) + _dot(q0, q1, q2, e01, e11, e12)
        work[2 * LANES + i] = _dot(r0, r1, r2, t02, t12, t22) + _dot(q0, q1, q2, e02, e12, e22)
        work[3 * LANES + i] = _dot(r3, r4, r5, t00, t01, t02) + _dot(q3, q4, q5, e00, e01, e02)
        work[4 * LANES + i] = _dot(r3, r4, r5, t01, t11, t12) + _dot(q3, q4, q5, e01, e11, e12)
        work[5 * LANES + i] = _dot(r3, r4, r5, t02, t12, t22) + _dot(q3, q4, q5, e02, e12, e22)
        work[6 * LANES + i] = _dot(r6, r7, r8, t00, t01, t02) + _dot(q6, q7, q8, e00, e01, e02)
        work[7 * LANES + i] = _dot(r6, r7, r8, t01, t11, t12) + _dot(q6, q7, q8, e01, e11, e12)
        work[8 * LANES + i] = _dot(r6, r7, r8, t02, t12, t22) + _dot(q6, q7, q8, e02, e12, e22)


@njit(cache=True)
def _compute_gradient_change(shape, corners, frame, additive, displacement, work):
    """D (rows 0..8) = (the warped element) - Q S of a block."""
    _compute_gradients(shape, corners, displacement, work)
    if additive:
        _warp_by_addition(frame, work)
    else:
        _warp_by_composition(frame, work)


@njit(cache=True, fastmath=FASTMATH)
def assemble_rhs(shapes, corners, frames, additive, displacement, work, rhs):
    """rhs (n, 3) = Σ_j V_j (warped - input)_j g_a, to be solved for the change of the displacement."""
    edges = corners.shape[1] // LANES - 1
    rhs[:] = 0.0
    for b in range(len(shapes)):
        shape, corner = shapes[b], corners[b]
        _compute_gradient_change(shape, corner, frames[b], additive, displacement, work)
        for a in range(edges):
            at = 3 * a * LANES
            for i in range(LANES):
                V = shape[3 * edges * LANES + i]
                g0, g1, g2 = V * shape[at + i], V * shape[at + LANES + i], V * shape[at + 2 * LANES + i]
                work[GRADIENT_OFFSET + at + i] = work[i] * g0 + work[LANES + i] * g1 + work[2 * LANES + i] * g2
                work[GRADIENT_OFFSET + at + LANES + i] = (
                    work[3 * LANES + i] * g0 + work[4 * LANES + i] * g1 + work[5 * LANES + i] * g2
                )
                work[GRADIENT_OFFSET + at + 2 * LANES + i] = (
                    work[6 * LANES + i] * g0 + work[7 * LANES + i] * g1 + work[8 * LANES + i] * g2
                )
        for i in range(LANES):
            o = corner[i]
            x, y, z = rhs[o, 0], rhs[o, 1], rhs[o, 2]
            for a in range(edges):
                v, at = corner[(a + 1) * LANES + i], GRADIENT_OFFSET + 3 * a * LANES + i
                f0, f1, f2 = work[at], work[at + LANES], work[at + 2 * LANES]
                rhs[v, 0] += f0
                rhs[v, 1] += f1
                rhs[v, 2] += f2
                x -= f0
                y -= f1
                z -= f2
            rhs[o, 0], rhs[o, 1], rhs[o, 2] = x, y, z


@njit(cache=True)
def compute_gradient_changes(shapes, corners, frames, additive, displacement, work, D):
    """D (blocks, 9 LANES): what the warp changes in the elements, for probes to weigh."""
    for b in range(len(shapes)):
        _compute_gradient_change(shapes[b], corners[b], frames[b], additive, displacement, work)
        for i in range(9 * LANES):
            D[b, i] = work[i]


@njit(cache=True, fastmath=FASTMATH_SUM)
def compute_weighted_sum(D, weights, out):
    """out (3,) = Σ_j D_j c_j with c (blocks, 3 LANES)."""
    for r in range(3):
        total = 0.0
        for b in range(len(D)):
            row, c = D[b, 3 * r * LANES : 3 * (r + 1) * LANES], weights[b]
            for i in range(3 * LANES):
                total += row[i] * c[i]
        out[r] = total


@njit(cache=True)
def compute_element_weights(shapes, corners, field, out):
    """out (blocks, 9 LANES) = V Σ_a W_a g_aᵀ of a field W (n, 3): with it D : out sums up to Σ_a W_a · rhs_a."""
    edges = corners.shape[1] // LANES - 1
    for b in range(len(shapes)):
        shape, corner = shapes[b], corners[b]
        for i in range(LANES):
            for r in range(3):
                for c in range(3):
                    total = 0.0
                    for a in range(edges):
                        edge = field[corner[(a + 1) * LANES + i], r] - field[corner[i], r]
                        total += edge * shape[(3 * a + c) * LANES + i]
                    out[b, (3 * r + c) * LANES + i] = shape[3 * edges * LANES + i] * total


# taken from the module, so that compiled code is renewed with it


@njit(cache=True)
def _compute_normal(x, o, v, w, n):
    """The unit normal (3,) of a triangle at x[o], x[v], x[w], to n; left as it was where there is none."""
    a0, a1, a2 = x[v, 0] - x[o, 0], x[v, 1] - x[o, 1], x[v, 2] - x[o, 2]
    b0, b1, b2 = x[w, 0] - x[o, 0], x[w, 1] - x[o, 1], x[w, 2] - x[o, 2]
    c0, c1, c2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    length = np.sqrt(c0 * c0 + c1 * c1 + c2 * c2)
    if 0.0 < length < np.inf:
        n[0], n[1], n[2] = c0 / length, c1 / length, c2 / length


@njit(cache=True)
def decompose_frame(shapes, corners, rest, additive, positions, frames):
    """Rotation and stretch of F = I + Σ (x - rest)_a g_aᵀ in every element; the unit normals of triangles go along."""
    edges = corners.shape[1] // LANES - 1
    F, Q, K, V, n = np.empty(9), np.empty(9), np.empty((4, 4)), np.empty((4, 4)), np.zeros(3)
    for b in range(len(shapes)):
        shape, corner, frame = shapes[b], corners[b], frames[b]
        for i in range(LANES):
            o = corner[i]
            if edges == 2:
                n[0], n[1], n[2] = shape[7 * LANES + i], shape[8 * LANES + i], shape[9 * LANES + i]
                _compute_normal(positions, o, corner[LANES + i], corner[2 * LANES + i], n)
            for r in range(3):
                F[3 * r] = F[3 * r + 1] = F[3 * r + 2] = 0.0
                F[4 * r] = 1.0
                for a in range(edges):
                    v = corner[(a + 1) * LANES + i]
                    edge = (positions[v, r] - rest[v, r]) - (positions[o, r] - rest[o, r])
                    for c in range(3):
                        F[3 * r + c] += edge * shape[(3 * a + c) * LANES + i]
                if edges == 2:
                    for c in range(3):
                        F[3 * r + c] += (n[r] - shape[(7 + r) * LANES + i]) * shape[(7 + c) * LANES + i]
            extract_rotation(F, Q, K, V)
            first = 9
            if additive:
                first = 3
                frame[i], frame[LANES + i], frame[2 * LANES + i] = compute_rotation_vector(Q)
            else:
                for c in range(9):
                    frame[c * LANES + i] = Q[c]
            for r in range(3):
                for c in range(r, 3):
                    left = Q[r] * F[c] + Q[3 + r] * F[3 + c] + Q[6 + r] * F[6 + c]
                    right = Q[c] * F[r] + Q[3 + c] * F[3 + r] + Q[6 + c] * F[6 + r]
                    frame[(first + c + (2 * r if r < 2 else 3)) * LANES + i] = 0.5 * (left + right)
