"""The angle of a hinge and its first three derivatives, for compiled loops.

A hinge is an edge ab with a wing on either side: e = b - a, p = c - a, q = d - a. With n = e × x and N = n/|n|² of a
wing x, t = x·e/|e| and w = +1 for x = p, -1 for x = q,
    θ = atan2(ê·(n_q × n_p), n_p·n_q) with n_p = e × p, n_q = q × e: positive when the wings rise along the normals,
    ∂θ/∂x = w |e| N,   ∂θ/∂e = -Σ w t N,   ∂θ/∂a by the zero sum.
Each wing adds its own term, a function of e and x alone, so that second and third derivatives are those of
(-t N, |e| N). Vectors are tuples.
Triangles without area give infinities and NaN, as arrays would, which the callers of the loops notice.
"""

from __future__ import annotations

import math

from cajole.body.kernels_shell import cross, dot, mixed
from cajole.compiled import njit


@njit(cache=True, error_model="numpy")
def angle(e, p, q):
    """θ in (-π, π]."""
    n, m = cross(e, p), cross(q, e)
    return math.atan2(dot(e, cross(m, n)) / math.sqrt(dot(e, e)), dot(n, m))


@njit(cache=True, error_model="numpy")
def _frame(e, x):
    """|e|, ê, N and t of a wing."""
    l = math.sqrt(dot(e, e))
    u = mixed(1.0 / l, e, 0.0, e)
    n = cross(e, x)
    return l, u, mixed(1.0 / dot(n, n), n, 0.0, n), dot(x, u)


@njit(cache=True, error_model="numpy")
def wing(e, x):
    """(-t N, |e| N): what a wing adds to ∂θ/∂e, and ∂θ/∂x."""
    l, _, N, t = _frame(e, x)
    return mixed(-t, N, 0.0, N), mixed(l, N, 0.0, N)


@njit(cache=True, error_model="numpy")
def _frame_change(e, x, de, dx, l, u, N):
    """The derivatives of |e|, ê, N and t along (de, dx): dN = |N|² dn - 2 (N·dn) N, as |N|² = 1/|n|²."""
    dn = mixed(1.0, cross(de, x), 1.0, cross(e, dx))
    dl = dot(u, de)
    du = mixed(1.0 / l, de, -dl / l, u)
    return dl, du, mixed(dot(N, N), dn, -2.0 * dot(N, dn), N), dot(dx, u) + dot(x, du)


@njit(cache=True, error_model="numpy")
def wing_change(e, x, de, dx):
    """The derivative of `wing` along (de, dx)."""
    l, u, N, t = _frame(e, x)
    dl, _, dN, dt = _frame_change(e, x, de, dx, l, u, N)
    return mixed(-dt, N, -t, dN), mixed(dl, N, l, dN)


@njit(cache=True, error_model="numpy")
def _outer(H, row, column, scale, a, b):
    """Add scale a bᵀ at (row, column) of H."""
    for r in range(3):
        for c in range(3):
            H[row + r, column + c] += scale * a[r] * b[c]


@njit(cache=True, error_model="numpy")
def _outer_both(H, row, column, scale, a, b):
    """Add scale (a bᵀ + b aᵀ) at (row, column) of H."""
    for r in range(3):
        for c in range(3):
            H[row + r, column + c] += scale * (a[r] * b[c] + b[r] * a[c])


@njit(cache=True, error_model="numpy")
def wing_curvature(e, x, H):
    """H (9, 9): second derivatives of a wing's part of θ by the vertices a, b, c, where e = b - a and x = c - a.

    With k = N × x, m = N × e, w = (x - t ê)/|e| and {a, b} = a bᵀ + b aᵀ:
        ee: -{N, w/2 + t k},   xx: -|e| {N, m},   xe: N êᵀ + |e| {N, k}.
    Of N wᵀ only the symmetric half counts: the rest is the same for both wings, which have opposite signs.
    """
    l, u, N, t = _frame(e, x)
    k, w = cross(N, x), mixed(1.0 / l, x, -t / l, u)
    H[:] = 0.0
    _outer_both(H, 3, 3, -1.0, N, mixed(0.5, w, t, k))
    _outer_both(H, 6, 6, -l, N, cross(N, e))
    _outer(H, 6, 3, 1.0, N, u)
    _outer_both(H, 6, 3, l, N, k)
    _complete(H)


@njit(cache=True, error_model="numpy")
def wing_curvature_change(e, x, de, dx, H):
    """The derivative of `wing_curvature` along (de, dx), term by term."""
    l, u, N, t = _frame(e, x)
    dl, du, dN, dt = _frame_change(e, x, de, dx, l, u, N)
    k, dk = cross(N, x), mixed(1.0, cross(dN, x), 1.0, cross(N, dx))
    m, dm = cross(N, e), mixed(1.0, cross(dN, e), 1.0, cross(N, de))
    w = mixed(1.0 / l, x, -t / l, u)
    dw = mixed(1.0 / l, mixed(1.0, dx, -dt, u), -1.0 / l, mixed(t, du, dl, w))
    H[:] = 0.0
    _outer_both(H, 3, 3, -1.0, dN, mixed(0.5, w, t, k))
    _outer_both(H, 3, 3, -1.0, N, mixed(0.5, dw, 1.0, mixed(dt, k, t, dk)))
    _outer_both(H, 6, 6, -1.0, dN, mixed(l, m, 0.0, m))
    _outer_both(H, 6, 6, -1.0, N, mixed(dl, m, l, dm))
    _outer(H, 6, 3, 1.0, dN, u)
    _outer(H, 6, 3, 1.0, N, du)
    _outer_both(H, 6, 3, l, dN, k)
    _outer_both(H, 6, 3, 1.0, N, mixed(dl, k, l, dk))
    _complete(H)


@njit(cache=True, error_model="numpy")
def _complete(H):
    """H from its blocks of b and c at and below the diagonal: symmetric, and with a so that every row adds up to 0."""
    for r in range(3):
        for c in range(3):
            H[3 + c, 6 + r] = H[6 + r, 3 + c]
    for r in range(3, 9):
        for c in range(3):
            H[r, c] = H[c, r] = -H[r, 3 + c] - H[r, 6 + c]
    for r in range(3):
        for c in range(r + 1):
            H[r, c] = H[c, r] = -0.5 * (H[3 + r, c] + H[6 + r, c] + H[3 + c, r] + H[6 + c, r])
