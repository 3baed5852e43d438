"""The loops of the reduced fluid, compiled: fluxes between modes, steps, particles.

basis (n, r) has a row for each edge, u first; skew (r, r(r-1)/2) holds the entries i > k of
each A[j], row after row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.flow.kernels import locate_node
from cajole.jit import njit

# Into how many parts a particle's step is cut at most, so that it stays in the box.
MAX_SUBSTEPS = 64


@njit(cache=True)
def compute_advection_flux(uj: Array, vj: Array, uk: Array, vk: Array, cu: Array, cv: Array) -> None:
    """(cu, cv) = ∇·(u_j ⊗ u_k) off the walls, in cells: central fluxes of u_k through the cells around each edge.

    Harlow and Welch's form: with a divergence-free u_j it is skew in (u_i, u_k) for any u_i.
    """
    nx, ny = len(vj), uj.shape[1]
    for i in range(1, nx):
        for j in range(ny):
            right = 0.25 * (uj[i, j] + uj[i + 1, j]) * (uk[i, j] + uk[i + 1, j])
            left = 0.25 * (uj[i - 1, j] + uj[i, j]) * (uk[i - 1, j] + uk[i, j])
            up = down = 0.0
            if j < ny - 1:
                up = 0.25 * (vj[i - 1, j + 1] + vj[i, j + 1]) * (uk[i, j] + uk[i, j + 1])
            if j > 0:
                down = 0.25 * (vj[i - 1, j] + vj[i, j]) * (uk[i, j - 1] + uk[i, j])
            cu[i, j] = right - left + up - down
    for i in range(nx):
        for j in range(1, ny):
            up = 0.25 * (vj[i, j] + vj[i, j + 1]) * (vk[i, j] + vk[i, j + 1])
            down = 0.25 * (vj[i, j - 1] + vj[i, j]) * (vk[i, j - 1] + vk[i, j])
            right = left = 0.0
            if i < nx - 1:
                right = 0.25 * (uj[i + 1, j - 1] + uj[i + 1, j]) * (vk[i, j] + vk[i + 1, j])
            if i > 0:
                left = 0.25 * (uj[i, j - 1] + uj[i, j]) * (vk[i - 1, j] + vk[i, j])
            cv[i, j] = right - left + up - down


@njit(cache=True)
def assemble_rate_matrix(packed_advection: Array, damping: Array, z: Array, G: Array) -> None:
    """G (r, r) = A(z) + νD."""
    # loops, for BLAS would wake its threads for a product of this size
    r = len(z)
    total = np.zeros(packed_advection.shape[1])
    for j in range(r):
        c, row = z[j], packed_advection[j]
        for m in range(len(total)):
            total[m] += c * row[m]
    m = 0
    for i in range(r):
        G[i, i] = damping[i, i]
        for k in range(i):
            G[i, k] = damping[i, k] + total[m]
            G[k, i] = damping[k, i] - total[m]
            m += 1


@njit(cache=True)
def solve_without_pivoting(M: Array, b: Array) -> None:
    """M x = b in place of both, by elimination without pivots: M's symmetric part is positive definite, so none is
    small."""
    r = len(b)
    for k in range(r):
        inverse = 1.0 / M[k, k]
        top = M[k]
        for i in range(k + 1, r):
            row = M[i]
            c = row[k] * inverse
            for j in range(k + 1, r):
                row[j] -= c * top[j]
            b[i] -= c * b[k]
    for k in range(r - 1, -1, -1):
        row = M[k]
        for j in range(k + 1, r):
            b[k] -= row[j] * b[j]
        b[k] /= row[k]


@njit(cache=True)
def solve_midpoint(packed_advection: Array, damping: Array, z: Array, w: Array, h: float, G: Array) -> Array:
    """The state (r,) half way through a step of h under the force w; the step ends at twice it less z.

    (1 - h/2 G(z*)) z_m = z + h/2 w with the explicit predictor z* = z + h/2 (G(z) z + w): Cayley's transform of G(z*),
    which turns z and keeps its length when G is skew. G is left at z*.
    """
    r = len(z)
    half, M = np.empty(r), np.empty((r, r))
    assemble_rate_matrix(packed_advection, damping, z, G)
    for i in range(r):
        total = 0.0
        for k in range(r):
            total += G[i, k] * z[k]
        half[i] = z[i] + 0.5 * h * (total + w[i])
    assemble_rate_matrix(packed_advection, damping, half, G)
    for i in range(r):
        for k in range(r):
            M[i, k] = -0.5 * h * G[i, k]
        M[i, i] += 1.0
        half[i] = z[i] + 0.5 * h * w[i]
    solve_without_pivoting(M, half)
    return half


@njit(cache=True)
def compute_bilinear_weights(x: float, y: float, nx: int, ny: int, rows: NDArray[np.int64], weights: Array) -> None:
    """The four edges around (x, y) [cells] of u, then of v: rows (8,) of the basis; weights (8, 3): shares and their
    slopes along x and y, per cell.
    """
    for part in range(2):
        width, height = (nx + 1, ny) if part == 0 else (nx, ny + 1)
        first = 0 if part == 0 else (nx + 1) * ny
        ax, ay = (x, y - 0.5) if part == 0 else (x - 0.5, y)
        i, s = locate_node(ax, width)
        j, t = locate_node(ay, height)
        # held at the outermost edges, where nothing changes any more
        ds = 1.0 if 0.0 <= ax <= width - 1.0 else 0.0
        dt = 1.0 if 0.0 <= ay <= height - 1.0 else 0.0
        for a in range(2):
            for b in range(2):
                c = 4 * part + 2 * a + b
                rows[c] = first + (i + a) * height + j + b
                sx, sy = (s if a else 1.0 - s), (t if b else 1.0 - t)
                weights[c, 0] = sx * sy
                weights[c, 1] = (ds if a else -ds) * sy
                weights[c, 2] = sx * (dt if b else -dt)


@njit(cache=True)
def interpolate_velocity(
    basis: Array, nx: int, ny: int, x: float, y: float, z: Array, rows: NDArray[np.int64], weights: Array, at: Array
) -> None:
    """at (2, 3): the velocity Ψ(x, y) z and its slopes along x and y, per cell."""
    compute_bilinear_weights(x, y, nx, ny, rows, weights)
    at[:] = 0.0
    for c in range(8):
        row = basis[rows[c]]
        total = 0.0
        for k in range(len(z)):
            total += row[k] * z[k]
        for d in range(3):
            at[c // 4, d] += weights[c, d] * total


@njit(cache=True)
def interpolate_modes(basis: Array, nx: int, ny: int, x: float, y: float, psi: Array) -> None:
    """psi (2, r) = Ψ(x, y): the modes at (x, y) [cells], eq. (12)."""
    rows, weights = np.empty(8, dtype=np.int64), np.empty((8, 3))
    compute_bilinear_weights(x, y, nx, ny, rows, weights)
    psi[:] = 0.0
    for c in range(8):
        for k in range(psi.shape[1]):
            psi[c // 4, k] += weights[c, 0] * basis[rows[c], k]


@njit(cache=True)
def advect_points(basis: Array, nx: int, ny: int, cell: float, z: Array, zm: Array, h: float, points: Array) -> None:
    """Particles (k, 2) [m] a step later, in place: the midpoint rule with z at its start, z_m in its middle.

    One that would leave the box is carried in more parts: the flow itself never crosses a wall.
    """
    rows, weights, at = np.empty(8, dtype=np.int64), np.empty((8, 3)), np.empty((2, 3))
    for k in range(len(points)):
        parts = 1
        while True:
            inside = True
            x, y, step = points[k, 0] / cell, points[k, 1] / cell, h / (cell * parts)
            for part in range(parts):
                interpolate_velocity(basis, nx, ny, x, y, z if part == 0 else zm, rows, weights, at)
                interpolate_velocity(
                    basis, nx, ny, x + 0.5 * step * at[0, 0], y + 0.5 * step * at[1, 0], zm, rows, weights, at
                )
                x += step * at[0, 0]
                y += step * at[1, 0]
                inside = inside and 0.0 <= x <= nx and 0.0 <= y <= ny
            if inside or parts >= MAX_SUBSTEPS:
                break
            parts *= 2
        # only a speed of many boxes a step comes here
        points[k, 0], points[k, 1] = cell * min(max(x, 0.0), float(nx)), cell * min(max(y, 0.0), float(ny))
