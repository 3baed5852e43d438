"""Compiled distances to the primitives of a shape table, each from its own slice of parameters."""

from __future__ import annotations

import math

from cajole.compiled import njit

FAR = 1e30  # "no surface yet": large, finite, and its differences stay finite


@njit(cache=True, error_model="numpy")
def cone(n, x, y, z):
    """Exact distance to the hull of two spheres: a (3), b (3), radius at a, radius at b."""
    ax, ay, az = x - n[0], y - n[1], z - n[2]
    bx, by, bz = n[3] - n[0], n[4] - n[1], n[5] - n[2]
    r1, r2 = n[6], n[7]
    l2 = bx * bx + by * by + bz * bz
    rr = r1 - r2
    a2 = l2 - rr * rr
    if a2 <= 0.0:  # one sphere swallows the other
        far = math.sqrt((ax - bx) ** 2 + (ay - by) ** 2 + (az - bz) ** 2)
        return min(math.sqrt(ax * ax + ay * ay + az * az) - r1, far - r2)
    along = ax * bx + ay * by + az * bz
    px, py, pz = ax * l2 - bx * along, ay * l2 - by * along, az * l2 - bz * along
    x2 = px * px + py * py + pz * pz
    y2 = along * along * l2
    back = along - l2
    z2 = back * back * l2
    k = math.copysign(1.0, rr) * rr * rr * x2
    if rr == 0.0:
        k = 0.0
    if math.copysign(1.0, back) * a2 * z2 > k:
        return math.sqrt(x2 + z2) / l2 - r2
    if math.copysign(1.0, along) * a2 * y2 < k:
        return math.sqrt(x2 + y2) / l2 - r1
    return (math.sqrt(x2 * a2 / l2) + along * rr) / l2 - r1


@njit(cache=True, error_model="numpy")
def ellipsoid(n, x, y, z):
    """First-order distance k0 (k0 - 1) / k1: centre (3), radii (3), axes (3x3)."""
    dx, dy, dz = x - n[0], y - n[1], z - n[2]
    k0 = 0.0
    k1 = 0.0
    for i in range(3):
        s = (n[6 + 3 * i] * dx + n[7 + 3 * i] * dy + n[8 + 3 * i] * dz) / n[3 + i]
        k0 += s * s
        k1 += (s / n[3 + i]) ** 2
    if k1 == 0.0:
        return -min(n[3], n[4], n[5])
    k0 = math.sqrt(k0)
    return k0 * (k0 - 1.0) / math.sqrt(k1)


@njit(cache=True, error_model="numpy")
def box(n, x, y, z):
    """Exact distance to a rounded box: centre (3), half sizes (3), axes (3x3), rounding."""
    dx, dy, dz = x - n[0], y - n[1], z - n[2]
    outside = 0.0
    inside = -FAR
    for i in range(3):
        q = abs(n[6 + 3 * i] * dx + n[7 + 3 * i] * dy + n[8 + 3 * i] * dz) - n[3 + i] + n[15]
        outside += max(q, 0.0) ** 2
        inside = max(inside, q)
    return math.sqrt(outside) + min(inside, 0.0) - n[15]


@njit(cache=True, error_model="numpy")
def polygon(pool, start, length, u, v):
    """Exact signed distance to a closed polygon stored as u, v pairs."""
    best = FAR
    inside = False
    last = start + 2 * (length - 1)
    bu, bv = pool[last], pool[last + 1]
    for i in range(length):
        au, av = pool[start + 2 * i], pool[start + 2 * i + 1]
        eu, ev = bu - au, bv - av
        wu, wv = u - au, v - av
        t = (wu * eu + wv * ev) / (eu * eu + ev * ev)
        t = min(max(t, 0.0), 1.0)
        du, dv = wu - eu * t, wv - ev * t
        best = min(best, du * du + dv * dv)
        if (av > v) != (bv > v) and wu < eu * wv / ev:
            inside = not inside
        bu, bv = au, av
    return -math.sqrt(best) if inside else math.sqrt(best)


@njit(cache=True, error_model="numpy")
def sheet(n, pool, start, length, x, y, z, limit):
    """A bent outline of half thickness t0..t1 with a round rim: origin (3), axes u v w (3x3), t0 t1 length kb kc kt.

    Distances from `limit` on matter to nobody: the costly outline is then spared and a lower bound returned.
    """
    dx, dy, dz = x - n[0], y - n[1], z - n[2]
    u = n[3] * dx + n[4] * dy + n[5] * dz
    v = n[6] * dx + n[7] * dy + n[8] * dz
    w = n[9] * dx + n[10] * dy + n[11] * dz
    kb = n[15] if u > 0.0 else 0.0
    w0 = kb * u * u + n[16] * v * v + n[17] * u * v
    wu = 2.0 * kb * u + n[17] * v
    wv = 2.0 * n[16] * v + n[17] * u
    h = (w - w0) / math.sqrt(1.0 + wu * wu + wv * wv)
    t = n[12] + (n[13] - n[12]) * min(max(u / n[14], 0.0), 1.0)
    if abs(h) - t >= limit:
        return abs(h) - t
    d = max(polygon(pool, start, length, u, v), 0.0)
    return math.sqrt(d * d + h * h) - t


@njit(cache=True, error_model="numpy")
def grid(n, pool, start, x, y, z):
    """Trilinear samples: origin (3), spacing, counts (3); outside the grid the distance to it is added."""
    base = start
    away = 0.0
    c = (x, y, z)
    weights = (0.0, 0.0, 0.0)
    strides = (int(n[5] * n[6]), int(n[6]), 1)
    for i in range(3):
        s = (c[i] - n[i]) / n[3]
        inside = min(max(s, 0.0), n[4 + i] - 1.0)
        away += ((s - inside) * n[3]) ** 2
        cell = min(int(inside), int(n[4 + i]) - 2)
        base += cell * strides[i]
        if i == 0:
            weights = (inside - cell, 0.0, 0.0)
        elif i == 1:
            weights = (weights[0], inside - cell, 0.0)
        else:
            weights = (weights[0], weights[1], inside - cell)
    value = 0.0
    for corner in range(8):
        w = 1.0
        at = base
        for i in range(3):
            if (corner >> i) & 1:
                w *= weights[i]
                at += strides[i]
            else:
                w *= 1.0 - weights[i]
        value += w * pool[at]
    return value + math.sqrt(away)
