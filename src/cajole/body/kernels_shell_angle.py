"""The angle of a hinge and its first three derivatives, for compiled loops.

A hinge is an edge ab with a wing on either side: e = b - a, p = c - a, q = d - a. With n = e × x and N = n/|n|² of a
wing x, t = x·e/|e| and w = +1 for x = p, -1 for x = q,
    θ = atan2(ê·(n_q × n_p), n_p·n_q) with n_p = e × p, n_q = q × e: positive when the wings rise along the normals,
    ∂θ/∂x = w |e| N,   ∂θ/∂e = -Σ w t N,   ∂θ/∂a by the zero sum.
Each wing adds its own term, a function of e and x alone, so that the second and third derivatives are those of
(-t N, |e| N): found here along directions, and as columns along unit vectors. Vectors are tuples.
Triangles without area give infinities and NaN, as arrays would, which the callers of the loops notice.
"""

from __future__ import annotations

import math

from cajole.compiled import njit

UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0))


@njit(cache=True, error_model="numpy")
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, error_model="numpy")
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit(cache=True, error_model="numpy")
def _sum(a, x, b, y):
    return a * x[0] + b * y[0], a * x[1] + b * y[1], a * x[2] + b * y[2]


@njit(cache=True, error_model="numpy")
def between(x, i, j):
    """x_j - x_i."""
    return x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]


@njit(cache=True, error_model="numpy")
def angle(e, p, q):
    """θ in (-π, π]."""
    n, m = _cross(e, p), _cross(q, e)
    return math.atan2(_dot(e, _cross(m, n)) / math.sqrt(_dot(e, e)), _dot(n, m))


@njit(cache=True, error_model="numpy")
def wing(e, x):
    """(-t N, |e| N): what a wing adds to ∂θ/∂e, and ∂θ/∂x."""
    l = math.sqrt(_dot(e, e))
    n = _cross(e, x)
    s = _dot(n, n)
    t = _dot(x, e) / l
    return (-t * n[0] / s, -t * n[1] / s, -t * n[2] / s), (l * n[0] / s, l * n[1] / s, l * n[2] / s)


@njit(cache=True, error_model="numpy")
def _normal_change(n, s, N, dn):
    """ds and dN for dn: d(n/s) = (dn - N ds)/s with s = n·n."""
    ds = 2.0 * _dot(n, dn)
    return ds, _sum(1.0 / s, dn, -ds / s, N)


@njit(cache=True, error_model="numpy")
def _edge_change(u, l, de):
    """d|e| and dê of the unit edge u."""
    dl = _dot(u, de)
    return dl, _sum(1.0 / l, de, -dl / l, u)


@njit(cache=True, error_model="numpy")
def wing_change(e, x, de, dx):
    """The derivative of `wing` along (de, dx)."""
    l = math.sqrt(_dot(e, e))
    u = _sum(1.0 / l, e, 0.0, e)
    n = _cross(e, x)
    s = _dot(n, n)
    N = _sum(1.0 / s, n, 0.0, n)
    _, dN = _normal_change(n, s, N, _sum(1.0, _cross(de, x), 1.0, _cross(e, dx)))
    dl, du = _edge_change(u, l, de)
    dt = _dot(dx, u) + _dot(x, du)
    return _sum(-dt, N, -_dot(x, u), dN), _sum(dl, N, l, dN)


@njit(cache=True, error_model="numpy")
def wing_change_change(e, x, de, dx, fe, fx):
    """The derivative of `wing_change` along (fe, fx), with (de, dx) held."""
    l = math.sqrt(_dot(e, e))
    u = _sum(1.0 / l, e, 0.0, e)
    n = _cross(e, x)
    s = _dot(n, n)
    N = _sum(1.0 / s, n, 0.0, n)
    dn, fn = _sum(1.0, _cross(de, x), 1.0, _cross(e, dx)), _sum(1.0, _cross(fe, x), 1.0, _cross(e, fx))
    both = _sum(1.0, _cross(de, fx), 1.0, _cross(fe, dx))
    ds, dN = _normal_change(n, s, N, dn)
    fs, fN = _normal_change(n, s, N, fn)
    dfs = 2.0 * (_dot(dn, fn) + _dot(n, both))
    dfN = _sum(1.0, _sum(1.0 / s, both, -dfs / s, N), 1.0, _sum(-ds / s, fN, -fs / s, dN))
    dl, du = _edge_change(u, l, de)
    fl, fu = _edge_change(u, l, fe)
    dfl = _dot(fu, de)
    dfu = _sum(1.0, _sum(-dl / l, fu, -dfl / l, u), -fl / l, du)
    t, dt, ft = _dot(x, u), _dot(dx, u) + _dot(x, du), _dot(fx, u) + _dot(x, fu)
    dft = _dot(dx, fu) + _dot(fx, du) + _dot(x, dfu)
    on_edge = _sum(1.0, _sum(-dft, N, -dt, fN), 1.0, _sum(-ft, dN, -t, dfN))
    on_wing = _sum(1.0, _sum(dfl, N, dl, fN), 1.0, _sum(fl, dN, l, dfN))
    return on_edge, on_wing


@njit(cache=True, error_model="numpy")
def wing_curvature(e, x, H):
    """H (9, 9): second derivatives of a wing's part of θ by the vertices a, b, c, where e = b - a and x = c - a."""
    for k in range(6):
        de, dx = UNITS[min(k, 3)], UNITS[k - 3 if k > 2 else 3]
        _column(H, k, wing_change(e, x, de, dx))
    _with_first_vertex(H)


@njit(cache=True, error_model="numpy")
def wing_curvature_change(e, x, fe, fx, H):
    """The derivative of `wing_curvature` along (fe, fx)."""
    for k in range(6):
        de, dx = UNITS[min(k, 3)], UNITS[k - 3 if k > 2 else 3]
        _column(H, k, wing_change_change(e, x, de, dx, fe, fx))
    _with_first_vertex(H)


@njit(cache=True, error_model="numpy")
def _column(H, k, parts):
    """Column k of the part of H that belongs to b and c."""
    for r in range(3):
        H[3 + r, 3 + k] = parts[0][r]
        H[6 + r, 3 + k] = parts[1][r]


@njit(cache=True, error_model="numpy")
def _with_first_vertex(H):
    """Make the part of b and c exactly symmetric, and complete H by the sums over vertices, which are zero."""
    for r in range(3, 9):
        for k in range(r):
            if k > 2:
                H[r, k] = H[k, r] = 0.5 * (H[r, k] + H[k, r])
    for r in range(3, 9):
        for k in range(3):
            H[r, k] = H[k, r] = -H[r, 3 + k] - H[r, 6 + k]
    for r in range(3):
        for k in range(r + 1):
            H[r, k] = H[k, r] = -0.5 * (H[3 + r, k] + H[6 + r, k] + H[3 + k, r] + H[6 + k, r])
