"""Compiled loops that improve tet quality: descent of star energies, and a search that removes bad dihedral angles."""

from __future__ import annotations

import math

import numpy as np

from cajole.jit import njit
from cajole.scenes.kernels_sdf import evaluate_gradient, project_point

INVERTED_ENERGY = 1e100  # energy of a star that holds an inverted tet
MIN_RELATIVE_DECREASE = 1e-3  # a vertex that gains less than this share of its energy lets its neighbours sleep


@njit(cache=True, error_model="numpy")
def compute_star_energy(x, tets, members, v, px, py, pz, power, energy_gradient):
    """Sum of eta^-power over the star of v at position p, eta = 12 (3V)^(2/3) / sum l²; its gradient goes to
    energy_gradient.
    """
    energy = 0.0
    energy_gradient[:] = 0.0
    for t in members:
        i = 0
        while tets[t, i] != v:
            i += 1
        # even permutations keep the orientation while bringing v to the front
        if i == 0:
            b, c, d = tets[t, 1], tets[t, 2], tets[t, 3]
        elif i == 1:
            b, c, d = tets[t, 0], tets[t, 3], tets[t, 2]
        elif i == 2:
            b, c, d = tets[t, 0], tets[t, 1], tets[t, 3]
        else:
            b, c, d = tets[t, 0], tets[t, 2], tets[t, 1]
        bx, by, bz = x[b, 0] - px, x[b, 1] - py, x[b, 2] - pz
        cx, cy, cz = x[c, 0] - px, x[c, 1] - py, x[c, 2] - pz
        dx, dy, dz = x[d, 0] - px, x[d, 1] - py, x[d, 2] - pz
        ex, ey, ez = cx - bx, cy - by, cz - bz
        fx, fy, fz = dx - bx, dy - by, dz - bz
        nx, ny, nz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
        six = bx * nx + by * ny + bz * nz
        if six <= 0.0:
            return INVERTED_ENERGY
        gx, gy, gz = dx - cx, dy - cy, dz - cz
        s = bx * bx + by * by + bz * bz + cx * cx + cy * cy + cz * cz + dx * dx + dy * dy + dz * dz
        s += ex * ex + ey * ey + ez * ez + fx * fx + fy * fy + fz * fz + gx * gx + gy * gy + gz * gz
        eta = 12.0 * (0.5 * six) ** (2.0 / 3.0) / s
        e = eta ** (-power)
        energy += e
        # d e = power e (ds/s - 2/3 dV/V); dV/dp = -n/6, ds/dp = -2 (b + c + d)
        a1 = -2.0 * power * e / s
        a2 = power * e * 2.0 / (3.0 * six)
        energy_gradient[0] += a1 * (bx + cx + dx) + a2 * nx
        energy_gradient[1] += a1 * (by + cy + dy) + a2 * ny
        energy_gradient[2] += a1 * (bz + cz + dz) + a2 * nz
    return energy


@njit(cache=True, error_model="numpy")
def minimise_star_energies(x, tets, starts, members, on_surface, spacing, codes, parameters, data, eps, sweeps, power):
    """Gauss-Seidel descent of the star energies, in place; surface vertices slide on the zero set of the distance.

    A step is accepted only if the energy decreases and every tet of the star keeps a positive volume. Steps start at
    0.15 of the local spacing and shrink by 0.4; a projection that moves a vertex further than 0.35 of it has reached
    another sheet and is rejected.
    """
    slope = np.empty(3)
    other = np.empty(3)
    awake = np.ones(len(x), np.bool_)
    moved = 0
    for _ in range(sweeps):
        for v in range(len(x)):
            if not awake[v]:
                continue
            awake[v] = False
            star = members[starts[v] : starts[v + 1]]
            px, py, pz = x[v, 0], x[v, 1], x[v, 2]
            before = compute_star_energy(x, tets, star, v, px, py, pz, power, slope)
            sx, sy, sz = slope[0], slope[1], slope[2]
            if on_surface[v]:
                gx, gy, gz = evaluate_gradient(codes, parameters, data, px, py, pz, eps)
                g2 = max(gx * gx + gy * gy + gz * gz, 1e-12)
                along = (sx * gx + sy * gy + sz * gz) / g2
                sx, sy, sz = sx - along * gx, sy - along * gy, sz - along * gz
            size = math.sqrt(sx * sx + sy * sy + sz * sz)
            if size == 0.0:
                continue
            step = 0.15 * spacing[v]
            for _try in range(6):
                qx, qy, qz = px - step * sx / size, py - step * sy / size, pz - step * sz / size
                if on_surface[v]:
                    qx, qy, qz = project_point(codes, parameters, data, qx, qy, qz, eps, 0.35 * spacing[v], 2)
                far = (qx - px) ** 2 + (qy - py) ** 2 + (qz - pz) ** 2
                if far < (0.35 * spacing[v]) ** 2:
                    after = compute_star_energy(x, tets, star, v, qx, qy, qz, power, other)
                    if after < before:
                        x[v, 0], x[v, 1], x[v, 2] = qx, qy, qz
                        moved += 1
                        if after < before * (1.0 - MIN_RELATIVE_DECREASE):
                            for t in star:
                                for i in range(4):
                                    awake[tets[t, i]] = True
                        break
                step *= 0.4
    return moved


@njit(cache=True, error_model="numpy")
def compute_angle_margin(x, tet, low, high, normals):
    """Margin of the dihedral angles to their limits (cosines low > high); -10 when inverted.

    In cosines: min over edges of min(cos low - cos theta, cos theta - cos high). normals (4, 3) is scratch.
    """
    for i in range(4):
        b, c, d = tet[(i + 1) & 3], tet[(i + 2) & 3], tet[(i + 3) & 3]
        ux, uy, uz = x[c, 0] - x[b, 0], x[c, 1] - x[b, 1], x[c, 2] - x[b, 2]
        vx, vy, vz = x[d, 0] - x[b, 0], x[d, 1] - x[b, 1], x[d, 2] - x[b, 2]
        a0, a1, a2 = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        wx, wy, wz = x[tet[i], 0] - x[b, 0], x[tet[i], 1] - x[b, 1], x[tet[i], 2] - x[b, 2]
        side = a0 * wx + a1 * wy + a2 * wz
        if (side if i & 1 else -side) <= 0.0:
            return -10.0
        length = math.sqrt(a0 * a0 + a1 * a1 + a2 * a2)
        sign = -1.0 / length if side > 0.0 else 1.0 / length
        normals[i, 0], normals[i, 1], normals[i, 2] = a0 * sign, a1 * sign, a2 * sign
    margin = 10.0
    for i in range(3):
        for j in range(i + 1, 4):
            cosine = -(normals[i, 0] * normals[j, 0] + normals[i, 1] * normals[j, 1] + normals[i, 2] * normals[j, 2])
            margin = min(margin, low - cosine, cosine - high)
    return margin


@njit(cache=True, error_model="numpy")
def compute_star_margin(x, tets, members, low, high, scratch):
    """Least angle margin of a star."""
    margin = 10.0
    for t in members:
        margin = min(margin, compute_angle_margin(x, tets[t], low, high, scratch))
    return margin


@njit(cache=True, error_model="numpy")
def maximise_angle_margins(
    x, tets, starts, members, vertices, on_surface, spacing, codes, parameters, data, eps, low, high, surface_tolerance
):
    """Pattern search that raises the least angle margin around each given vertex, in place; returns the number of
    moves.

    Surface vertices are projected back, up to surface_tolerance times the spacing, which lets a coarse mesh keep its
    angles.
    """
    moved = 0
    scratch = np.empty((4, 3))
    for v in vertices:
        star = members[starts[v] : starts[v + 1]]
        best = compute_star_margin(x, tets, star, low, high, scratch)
        step = 0.12 * spacing[v]
        for _ in range(5):
            improved = False
            for direction in range(27):
                if direction == 13:
                    continue
                ox, oy, oz = x[v, 0], x[v, 1], x[v, 2]
                qx = ox + step * (direction // 9 - 1)
                qy = oy + step * (direction // 3 % 3 - 1)
                qz = oz + step * (direction % 3 - 1)
                if on_surface[v]:
                    fx, fy, fz = project_point(codes, parameters, data, qx, qy, qz, eps, 0.35 * spacing[v], 2)
                    off = math.sqrt((qx - fx) ** 2 + (qy - fy) ** 2 + (qz - fz) ** 2)
                    keep = min(1.0, surface_tolerance * spacing[v] / max(off, 1e-300))
                    qx, qy, qz = fx + keep * (qx - fx), fy + keep * (qy - fy), fz + keep * (qz - fz)
                x[v, 0], x[v, 1], x[v, 2] = qx, qy, qz
                found = compute_star_margin(x, tets, star, low, high, scratch)
                if found > best + 1e-9:
                    best = found
                    improved = True
                    moved += 1
                else:
                    x[v, 0], x[v, 1], x[v, 2] = ox, oy, oz
            if not improved:
                step *= 0.5
    return moved


@njit(cache=True, error_model="numpy")
def compute_angle_margins(x, tets, low, high, out):
    """Fill out (m,) with the angle margin of every tet."""
    scratch = np.empty((4, 3))
    for t in range(len(tets)):
        out[t] = compute_angle_margin(x, tets[t], low, high, scratch)
