"""Rotations and stretches of many small matrices: F = Q S with Q a rotation whatever F is, and rotations as vectors.

Newton's iteration on Q (Higham) where F keeps its orientation. Where it is flat or turned inside out, the rotation with
the largest tr(QᵀF) is the first eigenvector of a symmetric 4 x 4 matrix, as a quaternion (Davenport, Horn): the same as
an SVD whose smallest singular direction is flipped. Matrices are rows of nine numbers.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.jit import njit

# det F below this share of |F|³ (at most 0.19) goes to the eigenvector: Newton inverts F, and loses digits to that.
MIN_RELATIVE_DETERMINANT = 1e-5
# A step of Newton's iteration this small (squared) leaves an error of its square: below rounding.
NEWTON_TOLERANCE = 1e-17
# Steps shorter than this (squared) converge without scaling.
SCALING_THRESHOLD = 1e-3
# Six plane rotations make a sweep; 4 x 4 matrices are diagonal to rounding after four or five.
MAX_JACOBI_SWEEPS = 12
# Squared angle [rad²] to which sin x / x and (1 - cos x) / x² are polynomials, exact to rounding.
SERIES_LIMIT = 4.0


def decompose_polar(F: Array) -> tuple[Array, Array]:
    """F = Q S (m, 3, 3) with Q a rotation; S is indefinite where F turns space inside out. Never fails."""
    Q, S = np.empty_like(F, dtype=np.float64), np.empty_like(F, dtype=np.float64)
    _decompose_all(np.ascontiguousarray(F, dtype=np.float64).reshape(-1, 9), Q.reshape(-1, 9), S.reshape(-1, 9))
    return Q, S


def compute_rotation_vectors(Q: Array) -> Array:
    """The axis times the angle in [0, π] of rotations (m, 3, 3)."""
    out = np.empty((len(Q), 3))
    _compute_all_rotation_vectors(np.ascontiguousarray(Q, dtype=np.float64).reshape(-1, 9), out)
    return out


@njit(cache=True)
def _decompose_all(F, Q, S):
    K, V = np.empty((4, 4)), np.empty((4, 4))
    for e in range(len(F)):
        extract_rotation(F[e], Q[e], K, V)
        q, f = Q[e], F[e]
        for i in range(3):
            for j in range(3):
                left = q[i] * f[j] + q[3 + i] * f[3 + j] + q[6 + i] * f[6 + j]
                right = q[j] * f[i] + q[3 + j] * f[3 + i] + q[6 + j] * f[6 + i]
                S[e, 3 * i + j] = 0.5 * left + 0.5 * right


@njit(cache=True)
def _compute_all_rotation_vectors(Q, out):
    for e in range(len(Q)):
        out[e, 0], out[e, 1], out[e, 2] = compute_rotation_vector(Q[e])


@njit(cache=True)
def extract_rotation(F, Q, K, V):
    """The rotation Q (9,) of F (9,); K, V (4, 4) are scratch."""
    largest = 0.0
    for i in range(9):
        largest = max(largest, abs(F[i]))
    # F of any size: dividing by the largest entry keeps cubes finite
    scale = 1.0 / largest if largest > 1e-300 else 0.0
    a, b, c, d, e, f = F[0] * scale, F[1] * scale, F[2] * scale, F[3] * scale, F[4] * scale, F[5] * scale
    g, h, k = F[6] * scale, F[7] * scale, F[8] * scale
    square = a * a + b * b + c * c + d * d + e * e + f * f + g * g + h * h + k * k
    det = a * (e * k - f * h) + b * (f * g - d * k) + c * (d * h - e * g)
    if det <= MIN_RELATIVE_DETERMINANT * square * np.sqrt(square):
        _extract_nearest_rotation(a, b, c, d, e, f, g, h, k, Q, K, V)
        return
    step = 1.0
    for _ in range(30):
        A, B, C = e * k - f * h, f * g - d * k, d * h - e * g
        D, E, G = c * h - b * k, a * k - c * g, b * g - a * h
        H, J, L = b * f - c * e, c * d - a * f, a * e - b * d
        inverse = 1.0 / (a * A + b * B + c * C)
        mine, other = 0.5, 0.5 * inverse
        if step > SCALING_THRESHOLD:
            # γ = (|X⁻¹| / |X|)^½ brings the singular values around one
            square = a * a + b * b + c * c + d * d + e * e + f * f + g * g + h * h + k * k
            cofactors = A * A + B * B + C * C + D * D + E * E + G * G + H * H + J * J + L * L
            gamma = np.sqrt(np.sqrt(cofactors / square) * inverse)
            mine, other = mine * gamma, other / gamma
        less = mine - 1.0
        a1, b1, c1 = less * a + other * A, less * b + other * B, less * c + other * C
        d1, e1, f1 = less * d + other * D, less * e + other * E, less * f + other * G
        g1, h1, k1 = less * g + other * H, less * h + other * J, less * k + other * L
        a, b, c, d, e, f, g, h, k = a + a1, b + b1, c + c1, d + d1, e + e1, f + f1, g + g1, h + h1, k + k1
        step = a1 * a1 + b1 * b1 + c1 * c1 + d1 * d1 + e1 * e1 + f1 * f1 + g1 * g1 + h1 * h1 + k1 * k1
        if step < NEWTON_TOLERANCE:
            break
    Q[0], Q[1], Q[2], Q[3], Q[4], Q[5], Q[6], Q[7], Q[8] = a, b, c, d, e, f, g, h, k


@njit(cache=True)
def _extract_nearest_rotation(a, b, c, d, e, f, g, h, k, Q, K, V):
    """Q with the largest tr(QᵀF): its quaternion is the eigenvector of the largest eigenvalue of K."""
    K[0, 0], K[1, 1], K[2, 2], K[3, 3] = a + e + k, a - e - k, e - a - k, k - a - e
    K[0, 1], K[0, 2], K[0, 3] = h - f, c - g, d - b
    K[1, 2], K[1, 3], K[2, 3] = b + d, c + g, f + h
    for i in range(4):
        for j in range(4):
            V[i, j] = 1.0 if i == j else 0.0
            if j < i:
                K[i, j] = K[j, i]
    for _ in range(MAX_JACOBI_SWEEPS):
        rest = 0.0
        for i in range(3):
            for j in range(i + 1, 4):
                if K[i, j] != 0.0:
                    rest += K[i, j] * K[i, j]
                    _apply_jacobi_rotation(K, V, i, j)
        if rest < 1e-34:
            break
    best = 0
    for i in range(1, 4):
        if K[i, i] > K[best, best]:
            best = i
    w, x, y, z = V[0, best], V[1, best], V[2, best], V[3, best]
    s = 2.0 / (w * w + x * x + y * y + z * z)
    Q[0], Q[4], Q[8] = 1.0 - s * (y * y + z * z), 1.0 - s * (x * x + z * z), 1.0 - s * (x * x + y * y)
    Q[1], Q[3] = s * (x * y - w * z), s * (x * y + w * z)
    Q[2], Q[6] = s * (x * z + w * y), s * (x * z - w * y)
    Q[5], Q[7] = s * (y * z - w * x), s * (y * z + w * x)


@njit(cache=True)
def _apply_jacobi_rotation(K, V, i, j):
    """One Jacobi rotation: K ← JᵀKJ with K_ij = 0, V ← VJ."""
    tau = (K[j, j] - K[i, i]) / (2.0 * K[i, j])
    # beyond 1e150 its square overflows, and 1 / 2τ is exact
    t = 0.5 / tau if abs(tau) > 1e150 else np.copysign(1.0, tau) / (abs(tau) + np.sqrt(1.0 + tau * tau))
    c = 1.0 / np.sqrt(1.0 + t * t)
    s = t * c
    for n in range(4):
        K[n, i], K[n, j] = c * K[n, i] - s * K[n, j], s * K[n, i] + c * K[n, j]
        V[n, i], V[n, j] = c * V[n, i] - s * V[n, j], s * V[n, i] + c * V[n, j]
    for n in range(4):
        K[i, n], K[j, n] = c * K[i, n] - s * K[j, n], s * K[i, n] + c * K[j, n]
    K[i, j] = K[j, i] = 0.0


@njit(cache=True)
def compute_rotation_vector(Q):
    """The axis times the angle in [0, π] of a rotation (9,), by the largest part of its quaternion (Shepperd)."""
    trace = Q[0] + Q[4] + Q[8]
    if trace >= Q[0] and trace >= Q[4] and trace >= Q[8]:
        w, x, y, z = 1.0 + trace, Q[7] - Q[5], Q[2] - Q[6], Q[3] - Q[1]
    elif Q[0] >= Q[4] and Q[0] >= Q[8]:
        w, x, y, z = Q[7] - Q[5], 1.0 + 2.0 * Q[0] - trace, Q[1] + Q[3], Q[2] + Q[6]
    elif Q[4] >= Q[8]:
        w, x, y, z = Q[2] - Q[6], Q[1] + Q[3], 1.0 + 2.0 * Q[4] - trace, Q[5] + Q[7]
    else:
        w, x, y, z = Q[3] - Q[1], Q[2] + Q[6], Q[5] + Q[7], 1.0 + 2.0 * Q[8] - trace
    sine = np.sqrt(x * x + y * y + z * z)
    if sine < 1e-150:
        return 0.0, 0.0, 0.0
    angle = 2.0 * np.arctan2(sine, abs(w))
    factor = angle / sine if w >= 0.0 else -angle / sine
    return factor * x, factor * y, factor * z


@njit(cache=True)
def compute_rodrigues_coefficients(squared_angle):
    """sin θ / θ and (1 - cos θ) / θ² of a squared angle beyond SHORT."""
    angle = np.sqrt(squared_angle)
    half = np.sin(0.5 * angle) / angle
    return 2.0 * half * np.cos(0.5 * angle), 2.0 * half * half


@njit(cache=True)
def compute_rodrigues_coefficients_series(squared_angle):
    """The same up to SHORT, by their series in θ²: no branch, so that loops over it become vectors."""
    s = 3.8681701706306841e-23
    s = 1.9572941063391263e-20 - squared_angle * s
    s = 8.2206352466243297e-18 - squared_angle * s
    s = 2.8114572543455206e-15 - squared_angle * s
    s = 7.6471637318198164e-13 - squared_angle * s
    s = 1.6059043836821615e-10 - squared_angle * s
    s = 2.5052108385441720e-08 - squared_angle * s
    s = 2.7557319223985893e-06 - squared_angle * s
    s = 1.9841269841269841e-04 - squared_angle * s
    s = 8.3333333333333333e-03 - squared_angle * s
    s = 1.6666666666666667e-01 - squared_angle * s
    s = 1.0 - squared_angle * s
    c = 1.6117375710961184e-24
    c = 8.8967913924505741e-22 - squared_angle * c
    c = 4.1103176233121648e-19 - squared_angle * c
    c = 1.5619206968586226e-16 - squared_angle * c
    c = 4.7794773323873853e-14 - squared_angle * c
    c = 1.1470745597729725e-11 - squared_angle * c
    c = 2.0876756987868099e-09 - squared_angle * c
    c = 2.7557319223985893e-07 - squared_angle * c
    c = 2.4801587301587302e-05 - squared_angle * c
    c = 1.3888888888888889e-03 - squared_angle * c
    c = 4.1666666666666667e-02 - squared_angle * c
    return s, 0.5 - squared_angle * c
