"""Compiled loops of the tetrahedraliser: snapping, stencils, vertex stars and the improvement of shapes."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from cajole.scenes.kernels import gradient, newton

BAD = 1e100  # energy of a star that holds an inverted tet
SETTLED = 1e-3  # a vertex that gains less than this share of its energy lets its neighbours sleep


@njit(cache=True)
def snap(starts, members, ends, fractions, lengths_ok, state, chosen):
    """Move nodes onto cuts that are too close: state (n,) becomes 0, chosen (n,) the cut; the node's other cuts die.

    Node i sees cuts members[starts[i]:starts[i+1]]; cut c joins ends[c, 0] (inside) and ends[c, 1] at fractions[c]
    from the inside end, and violates when nearer than lengths_ok[c] (a share of its edge).
    """
    for node in range(len(state)):
        best = 2.0
        for at in range(starts[node], starts[node + 1]):
            cut = members[at]
            other = ends[cut, 1] if ends[cut, 0] == node else ends[cut, 0]
            if state[other] == 0:
                continue
            near = fractions[cut] if ends[cut, 0] == node else 1.0 - fractions[cut]
            if near < lengths_ok[cut] and near < best:
                best = near
                chosen[node] = cut
        if best < 2.0:
            state[node] = 0


@njit(cache=True)
def find_cut(starts, members, ends, inside, outside):
    """Index of the cut on the edge inside-outside."""
    for at in range(starts[inside], starts[inside + 1]):
        if ends[members[at], 1] == outside:
            return members[at]
    return -1


@njit(cache=True)
def stencils(tets, state, starts, members, ends, positions, out):
    """Fill out with the tets of the inside; cut c is numbered len(state) + c. Returns how many.

    The number of nodes inside (+), on (0) and outside (-) selects the piece: whole, corner, wedge or prism. Diagonals
    of cut faces leave the node of lower index, so that neighbours agree.
    """
    n = len(state)
    filled = 0
    plus = np.empty(4, np.int64)
    zero = np.empty(4, np.int64)
    minus = np.empty(4, np.int64)
    p = np.empty(3, np.int64)
    q = np.empty(3, np.int64)
    for t in range(len(tets)):
        a, b, c = 0, 0, 0
        for i in range(4):
            v = tets[t, i]
            if state[v] > 0:
                plus[a] = v
                a += 1
            elif state[v] == 0:
                zero[b] = v
                b += 1
            else:
                minus[c] = v
                c += 1
        if a == 0:
            continue
        plus[:a].sort()
        if c == 0:
            out[filled] = tets[t]
            filled += 1
        elif a == 1:
            out[filled, 0] = plus[0]
            out[filled, 1 : 1 + b] = zero[:b]
            for i in range(c):
                out[filled, 1 + b + i] = n + find_cut(starts, members, ends, plus[0], minus[i])
            filled += 1
        elif a == 2 and b == 1:
            ca = n + find_cut(starts, members, ends, plus[0], minus[0])
            cb = n + find_cut(starts, members, ends, plus[1], minus[0])
            out[filled] = np.array([plus[0], plus[1], cb, zero[0]])
            out[filled + 1] = np.array([plus[0], cb, ca, zero[0]])
            filled += 2
        else:
            if a == 3:
                for i in range(3):
                    p[i] = plus[i]
                    q[i] = n + find_cut(starts, members, ends, plus[i], minus[0])
            else:
                p[0], q[0] = plus[0], plus[1]
                for i in range(2):
                    p[1 + i] = n + find_cut(starts, members, ends, plus[0], minus[i])
                    q[1 + i] = n + find_cut(starts, members, ends, plus[1], minus[i])
                # this diagonal lies on the surface and is free: the shorter one
                if squared(positions, p[2], q[1]) < squared(positions, p[1], q[2]):
                    p[1], p[2] = p[2], p[1]
                    q[1], q[2] = q[2], q[1]
            out[filled] = np.array([p[0], q[0], q[1], q[2]])
            out[filled + 1] = np.array([p[0], p[1], q[1], q[2]])
            out[filled + 2] = np.array([p[0], p[1], p[2], q[2]])
            filled += 3
    return filled


@njit(cache=True)
def squared(x, i, j):
    """Squared distance of two rows."""
    return (x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2 + (x[i, 2] - x[j, 2]) ** 2


@njit(cache=True)
def stars(tets, n):
    """Tets around every vertex: vertex v has members[starts[v]:starts[v+1]]."""
    starts = np.zeros(n + 1, np.int64)
    for t in range(len(tets)):
        for i in range(4):
            starts[tets[t, i] + 1] += 1
    for v in range(n):
        starts[v + 1] += starts[v]
    fill = starts[:-1].copy()
    members = np.empty(4 * len(tets), np.int64)
    for t in range(len(tets)):
        for i in range(4):
            members[fill[tets[t, i]]] = t
            fill[tets[t, i]] += 1
    return starts, members


@njit(cache=True, error_model="numpy")
def star_energy(x, tets, members, v, px, py, pz, power, slope):
    """Sum of eta^-power over the star of v moved to p, eta = 12 (3V)^(2/3) / sum l²; its derivative goes to slope."""
    energy = 0.0
    slope[:] = 0.0
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
            return BAD
        gx, gy, gz = dx - cx, dy - cy, dz - cz
        s = bx * bx + by * by + bz * bz + cx * cx + cy * cy + cz * cz + dx * dx + dy * dy + dz * dz
        s += ex * ex + ey * ey + ez * ez + fx * fx + fy * fy + fz * fz + gx * gx + gy * gy + gz * gz
        eta = 12.0 * (0.5 * six) ** (2.0 / 3.0) / s
        e = eta ** (-power)
        energy += e
        # d e = power e (ds/s - 2/3 dV/V); dV/dp = -n/6, ds/dp = -2 (b + c + d)
        a1 = -2.0 * power * e / s
        a2 = power * e * 2.0 / (3.0 * six)
        slope[0] += a1 * (bx + cx + dx) + a2 * nx
        slope[1] += a1 * (by + cy + dy) + a2 * ny
        slope[2] += a1 * (bz + cz + dz) + a2 * nz
    return energy


@njit(cache=True, error_model="numpy")
def improve(x, tets, starts, members, surface, spacing, codes, numbers, pool, eps, sweeps, power):
    """Gauss-Seidel descent of the star energies, in place; surface vertices slide on the distance's zero set.

    A step is taken only if the energy falls and every tet of the star keeps a positive volume, so nothing inverts.
    Steps start at 0.15 of the local spacing and shrink by 0.4; a projection that carries a vertex further than 0.35
    of it has jumped to another sheet and is refused.
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
            before = star_energy(x, tets, star, v, px, py, pz, power, slope)
            sx, sy, sz = slope[0], slope[1], slope[2]
            if surface[v]:
                gx, gy, gz = gradient(codes, numbers, pool, px, py, pz, eps)
                g2 = max(gx * gx + gy * gy + gz * gz, 1e-12)
                along = (sx * gx + sy * gy + sz * gz) / g2
                sx, sy, sz = sx - along * gx, sy - along * gy, sz - along * gz
            size = math.sqrt(sx * sx + sy * sy + sz * sz)
            if size == 0.0:
                continue
            step = 0.15 * spacing[v]
            for _try in range(6):
                qx, qy, qz = px - step * sx / size, py - step * sy / size, pz - step * sz / size
                if surface[v]:
                    qx, qy, qz = newton(codes, numbers, pool, qx, qy, qz, eps, 0.35 * spacing[v], 2)
                far = (qx - px) ** 2 + (qy - py) ** 2 + (qz - pz) ** 2
                if far < (0.35 * spacing[v]) ** 2:
                    after = star_energy(x, tets, star, v, qx, qy, qz, power, other)
                    if after < before:
                        x[v, 0], x[v, 1], x[v, 2] = qx, qy, qz
                        moved += 1
                        if after < before * (1.0 - SETTLED):
                            for t in star:
                                for i in range(4):
                                    awake[tets[t, i]] = True
                        break
                step *= 0.4
    return moved


@njit(cache=True, error_model="numpy")
def angle_margin(x, tet, low, high, nx):
    """How far the dihedral angles (cosines low > high of the limits) stay inside their limits; -10 when inverted.

    In cosines: min over edges of min(cos low - cos theta, cos theta - cos high). nx (4, 3) is scratch.
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
        nx[i, 0], nx[i, 1], nx[i, 2] = a0 * sign, a1 * sign, a2 * sign
    margin = 10.0
    for i in range(3):
        for j in range(i + 1, 4):
            cosine = -(nx[i, 0] * nx[j, 0] + nx[i, 1] * nx[j, 1] + nx[i, 2] * nx[j, 2])
            margin = min(margin, low - cosine, cosine - high)
    return margin


@njit(cache=True, error_model="numpy")
def star_margin(x, tets, members, low, high, scratch):
    """The least angle margin of a star."""
    margin = 10.0
    for t in members:
        margin = min(margin, angle_margin(x, tets[t], low, high, scratch))
    return margin


@njit(cache=True, error_model="numpy")
def relax_worst(x, tets, starts, members, picked, surface, spacing, codes, numbers, pool, eps, low, high, slack):
    """Pattern search that raises the least angle margin around each picked vertex, in place.

    Surface vertices are projected back, up to `slack` of the spacing: a coarse cage may leave the surface a little to
    keep its angles. Returns the number of moves.
    """
    moved = 0
    scratch = np.empty((4, 3))
    for v in picked:
        star = members[starts[v] : starts[v + 1]]
        best = star_margin(x, tets, star, low, high, scratch)
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
                if surface[v]:
                    fx, fy, fz = newton(codes, numbers, pool, qx, qy, qz, eps, 0.35 * spacing[v], 2)
                    off = math.sqrt((qx - fx) ** 2 + (qy - fy) ** 2 + (qz - fz) ** 2)
                    keep = min(1.0, slack * spacing[v] / max(off, 1e-300))
                    qx, qy, qz = fx + keep * (qx - fx), fy + keep * (qy - fy), fz + keep * (qz - fz)
                x[v, 0], x[v, 1], x[v, 2] = qx, qy, qz
                found = star_margin(x, tets, star, low, high, scratch)
                if found > best + 1e-9:
                    best = found
                    improved = True
                    moved += 1
                else:
                    x[v, 0], x[v, 1], x[v, 2] = ox, oy, oz
            if not improved:
                step *= 0.5
    return moved


@njit(cache=True)
def pinched(tets, starts, members):
    """Vertices where the surface is no 2-manifold: 1 = the star falls apart, 2 = its link has more than one rim."""
    n = len(starts) - 1
    kind = np.zeros(n, np.int64)
    for v in range(n):
        star = members[starts[v] : starts[v + 1]]
        m = len(star)
        edges = np.empty((3 * m, 3), np.int64)
        for i in range(m):
            link = tets[star[i]][tets[star[i]] != v]
            for j in range(3):
                a, b = link[j], link[(j + 1) % 3]
                edges[3 * i + j, 0] = min(a, b)
                edges[3 * i + j, 1] = max(a, b)
                edges[3 * i + j, 2] = i
        kind[v] = link_kind(edges, m)
    return kind


@njit(cache=True)
def root(parent, i):
    """Representative of i in a union-find forest."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True)
def link_kind(edges, m):
    """Classify one link of m triangles with 3m edges (low, high, triangle): 0 good, 1 apart, 2 pinched."""
    parent = np.arange(m)
    count = len(edges)
    rim = np.zeros(count, np.bool_)
    for i in range(count):
        rim[i] = True
        for j in range(count):
            if i != j and edges[i, 0] == edges[j, 0] and edges[i, 1] == edges[j, 1]:
                rim[i] = False
                parent[root(parent, edges[i, 2])] = root(parent, edges[j, 2])
    for i in range(1, m):
        if root(parent, i) != root(parent, 0):
            return 1
    border = edges[rim]
    if len(border) == 0:
        return 0
    # one closed rim: walking it from any edge meets each border edge once and each vertex has exactly two of them
    at, came, walked = border[0, 1], 0, 1
    while at != border[0, 0]:
        following = -1
        for j in range(len(border)):
            if j != came and (border[j, 0] == at or border[j, 1] == at):
                if following >= 0:
                    return 2
                following = j
        if following < 0:
            return 2
        at = border[following, 0] + border[following, 1] - at
        came = following
        walked += 1
    return 0 if walked == len(border) else 2


@njit(cache=True, error_model="numpy")
def all_margins(x, tets, low, high, out):
    """Fill out (m,) with the angle margin of every tet."""
    scratch = np.empty((4, 3))
    for t in range(len(tets)):
        out[t] = angle_margin(x, tets[t], low, high, scratch)
