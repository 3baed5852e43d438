"""Springs in a basis, compiled.

At p = X + U q each spring (i, j) has x = p_i - p_j, l = |x|, n = x/l; with w the difference of velocities, its pull is
[k (l - rest) + c n·w] n. Every derivative is Σ bᵀ S b over springs, b = U_i - U_j and S a 3 x 3 block: the products
S b are gathered at the vertices in Y, so that one dense product UᵀY is left, shared by all springs of a vertex.
"""

from __future__ import annotations

import numpy as np

from cajole.jit import njit

FASTMATH = {"contract", "reassoc", "nsz"}


@njit(cache=True, fastmath=FASTMATH)
def _compute_edge_vector(x, i, j):
    return x[3 * i] - x[3 * j], x[3 * i + 1] - x[3 * j + 1], x[3 * i + 2] - x[3 * j + 2]


@njit(cache=True, fastmath=FASTMATH)
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, fastmath=FASTMATH)
def _axpy(a, b, scale):
    """a + scale b."""
    return a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2]


@njit(cache=True, fastmath=FASTMATH)
def _scale(a, scale):
    return a[0] * scale, a[1] * scale, a[2] * scale


@njit(cache=True, fastmath=FASTMATH)
def _compute_spring_direction(x, i, j):
    """n, l and 1/l of the spring between i and j; a spring of length zero has no direction and gives zeros."""
    d = _compute_edge_vector(x, i, j)
    length = np.sqrt(_dot(d, d))
    inverse = 1.0 / length if length > 0.0 else 0.0
    return _scale(d, inverse), length, inverse


@njit(cache=True, fastmath=FASTMATH)
def _build_rank_two_block(scale, a, p, b, q):
    """scale I + a pᵀ + b qᵀ, row by row."""
    return (
        scale + a[0] * p[0] + b[0] * q[0], a[0] * p[1] + b[0] * q[1], a[0] * p[2] + b[0] * q[2],
        a[1] * p[0] + b[1] * q[0], scale + a[1] * p[1] + b[1] * q[1], a[1] * p[2] + b[1] * q[2],
        a[2] * p[0] + b[2] * q[0], a[2] * p[1] + b[2] * q[1], scale + a[2] * p[2] + b[2] * q[2],
    )  # fmt: skip


@njit(cache=True, fastmath=FASTMATH)
def _add_block_times_basis(U, Y, i, j, S):
    """Y_i += S b, Y_j -= S b with b = U_i - U_j."""
    for c in range(U.shape[1]):
        b0, b1, b2 = U[3 * i, c] - U[3 * j, c], U[3 * i + 1, c] - U[3 * j + 1, c], U[3 * i + 2, c] - U[3 * j + 2, c]
        y0 = S[0] * b0 + S[1] * b1 + S[2] * b2
        y1 = S[3] * b0 + S[4] * b1 + S[5] * b2
        y2 = S[6] * b0 + S[7] * b1 + S[8] * b2
        Y[3 * i, c] += y0
        Y[3 * i + 1, c] += y1
        Y[3 * i + 2, c] += y2
        Y[3 * j, c] -= y0
        Y[3 * j + 1, c] -= y1
        Y[3 * j + 2, c] -= y2


@njit(cache=True, fastmath=FASTMATH)
def _compute_positions(X, U, q, x):
    """x = X + U q."""
    np.dot(U, q, x)
    for i in range(X.shape[0]):
        for p in range(3):
            x[3 * i + p] += X[i, p]


@njit(cache=True)
def _has_damping(spring):
    return np.any(spring[:, 2])


@njit(cache=True, fastmath=FASTMATH)
def compute_energy_springs(X, U, spring, edges, q, x):
    """Σ k/2 (l - rest)²."""
    _compute_positions(X, U, q, x)
    total = 0.0
    for s in range(len(edges)):
        stretch = _compute_spring_direction(x, edges[s, 0], edges[s, 1])[1] - spring[s, 1]
        total += 0.5 * spring[s, 0] * stretch * stretch
    return total


@njit(cache=True, fastmath=FASTMATH)
def evaluate_springs(X, U, spring, edges, q, v, x, rate, load, Y, Z, F, Gq, Gv):
    """F = f(q) + d(q, v), Gq = ∂F/∂q, Gv = ∂F/∂v; x, rate, load (3n,), Y, Z (3n, r) are written over."""
    damped = _has_damping(spring)
    none = (0.0, 0.0, 0.0)
    _compute_positions(X, U, q, x)
    np.dot(U, v, rate)
    load[:] = 0.0
    Y[:] = 0.0
    if damped:
        Z[:] = 0.0
    for s in range(len(edges)):
        i, j = edges[s, 0], edges[s, 1]
        k, rest, c = spring[s, 0], spring[s, 1], spring[s, 2]
        n, length, inverse = _compute_spring_direction(x, i, j)
        w = _compute_edge_vector(rate, i, j)
        along = _dot(n, w)
        pull = k * (length - rest) + c * along
        for p in range(3):
            load[3 * i + p] += pull * n[p]
            load[3 * j + p] -= pull * n[p]
        # K = k (g P + nnᵀ), ∂d/∂x = c/l [n (Pw)ᵀ + (n·w) P]
        turn = c * along * inverse
        across = _axpy(w, n, -along)
        normal = _axpy(_scale(n, k * rest * inverse - turn), across, c * inverse)
        _add_block_times_basis(
            U, Y, i, j, _build_rank_two_block(k * (1.0 - rest * inverse) + turn, n, normal, none, none)
        )
        if c != 0.0:
            _add_block_times_basis(U, Z, i, j, _build_rank_two_block(0.0, n, _scale(n, c), none, none))
    np.dot(U.T, load, F)
    np.dot(U.T, Y, Gq)
    if damped:
        np.dot(U.T, Z, Gv)
    else:
        Gv[:] = 0.0


@njit(cache=True, fastmath=FASTMATH)
def compute_contracted_hessian_springs(X, U, spring, edges, q, v, lam, x, rate, tilt, Y, Z, Mqq, Mqv):
    """Second derivatives of λ·(f + d): Mqq = ∂²/∂q², Mqv = ∂²/∂q∂v (rows q).

    With a = n·w, b = n·μ, A = Pw, B = Pμ for the differences w of velocities and μ of Uλ:
    H:μ = k rest/l² [b P + B nᵀ + n Bᵀ]; of c a b, ∂²/∂x∂w = c/l [B nᵀ + b P], and
    ∂²/∂x² = c/l² [A Bᵀ + B Aᵀ - b (n Aᵀ + A nᵀ + a P) - a (n Bᵀ + B nᵀ + b P)].
    """
    damped = _has_damping(spring)
    none = (0.0, 0.0, 0.0)
    _compute_positions(X, U, q, x)
    np.dot(U, lam, tilt)
    np.dot(U, v, rate)
    Y[:] = 0.0
    if damped:
        Z[:] = 0.0
    for s in range(len(edges)):
        i, j = edges[s, 0], edges[s, 1]
        n, _, inverse = _compute_spring_direction(x, i, j)
        mu = _compute_edge_vector(tilt, i, j)
        b = _dot(n, mu)
        B = _axpy(mu, n, -b)
        bend = spring[s, 0] * spring[s, 1] * inverse * inverse
        c = spring[s, 2] * inverse
        _add_block_times_basis(
            U, Y, i, j, _build_rank_two_block(bend * b, n, _scale(_axpy(B, n, -b), bend), B, _scale(n, bend))
        )
        if c != 0.0:
            w = _compute_edge_vector(rate, i, j)
            a = _dot(n, w)
            A = _axpy(w, n, -a)
            e = c * inverse
            inner = _axpy(_axpy(_scale(n, 2.0 * a * b), A, -b), B, -a)
            _add_block_times_basis(
                U, Y, i, j, _build_rank_two_block(-2.0 * a * b * e, n, _scale(inner, e), A, _scale(_axpy(B, n, -b), e))
            )
            _add_block_times_basis(U, Y, i, j, _build_rank_two_block(0.0, B, _scale(_axpy(A, n, -a), e), none, none))
            _add_block_times_basis(U, Z, i, j, _build_rank_two_block(b * c, n, _scale(n, -b * c), B, _scale(n, c)))
    np.dot(U.T, Y, Mqq)
    if damped:
        np.dot(U.T, Z, Mqv)
    else:
        Mqv[:] = 0.0
