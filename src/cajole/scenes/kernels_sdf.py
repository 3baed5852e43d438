"""Compiled evaluation of signed distances: one interpreter of the primitive table for every scene.

A row of the table is `codes[i]` (integers) and `parameters[i]` (reals); outlines and sampled grids are in `data`. Rows
of one group are joined by a hard minimum, and the group to the previous rows by one smooth union or subtraction.
"""

from __future__ import annotations

import math

from cajole.jit import njit

NO_SURFACE_DISTANCE = 1e30  # "no surface yet": large, finite, and its differences stay finite


@njit(cache=True, error_model="numpy")
def evaluate_round_cone(parameters, x, y, z):
    """Exact distance to the hull of two spheres: a (3), b (3), radius at a, radius at b."""
    ax, ay, az = x - parameters[0], y - parameters[1], z - parameters[2]
    bx, by, bz = parameters[3] - parameters[0], parameters[4] - parameters[1], parameters[5] - parameters[2]
    r1, r2 = parameters[6], parameters[7]
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
def evaluate_ellipsoid(parameters, x, y, z):
    """First-order distance k0 (k0 - 1) / k1: centre (3), radii (3), axes (3x3)."""
    dx, dy, dz = x - parameters[0], y - parameters[1], z - parameters[2]
    k0 = 0.0
    k1 = 0.0
    for i in range(3):
        s = (parameters[6 + 3 * i] * dx + parameters[7 + 3 * i] * dy + parameters[8 + 3 * i] * dz) / parameters[3 + i]
        k0 += s * s
        k1 += (s / parameters[3 + i]) ** 2
    if k1 == 0.0:
        return -min(parameters[3], parameters[4], parameters[5])
    k0 = math.sqrt(k0)
    return k0 * (k0 - 1.0) / math.sqrt(k1)


@njit(cache=True, error_model="numpy")
def evaluate_box(parameters, x, y, z):
    """Exact distance to a rounded box: centre (3), half sizes (3), axes (3x3), rounding."""
    dx, dy, dz = x - parameters[0], y - parameters[1], z - parameters[2]
    outside = 0.0
    inside = -NO_SURFACE_DISTANCE
    for i in range(3):
        q = (
            abs(parameters[6 + 3 * i] * dx + parameters[7 + 3 * i] * dy + parameters[8 + 3 * i] * dz)
            - parameters[3 + i]
            + parameters[15]
        )
        outside += max(q, 0.0) ** 2
        inside = max(inside, q)
    return math.sqrt(outside) + min(inside, 0.0) - parameters[15]


@njit(cache=True, error_model="numpy")
def evaluate_polygon(data, start, length, u, v):
    """Exact signed distance to a closed polygon stored as u, v pairs."""
    best = NO_SURFACE_DISTANCE
    inside = False
    last = start + 2 * (length - 1)
    bu, bv = data[last], data[last + 1]
    for i in range(length):
        au, av = data[start + 2 * i], data[start + 2 * i + 1]
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
def evaluate_sheet(parameters, data, start, length, x, y, z, cutoff):
    """A bent outline of half thickness t0..t1 with a round rim: origin (3), axes u v w (3x3), t0 t1 length kb kc kt.

    Beyond `cutoff` a lower bound is returned without evaluating the outline.
    """
    dx, dy, dz = x - parameters[0], y - parameters[1], z - parameters[2]
    u = parameters[3] * dx + parameters[4] * dy + parameters[5] * dz
    v = parameters[6] * dx + parameters[7] * dy + parameters[8] * dz
    w = parameters[9] * dx + parameters[10] * dy + parameters[11] * dz
    kb = parameters[15] if u > 0.0 else 0.0
    w0 = kb * u * u + parameters[16] * v * v + parameters[17] * u * v
    wu = 2.0 * kb * u + parameters[17] * v
    wv = 2.0 * parameters[16] * v + parameters[17] * u
    h = (w - w0) / math.sqrt(1.0 + wu * wu + wv * wv)
    t = parameters[12] + (parameters[13] - parameters[12]) * min(max(u / parameters[14], 0.0), 1.0)
    if abs(h) - t >= cutoff:
        return abs(h) - t
    d = max(evaluate_polygon(data, start, length, u, v), 0.0)
    return math.sqrt(d * d + h * h) - t


@njit(cache=True, error_model="numpy")
def evaluate_grid(parameters, data, start, x, y, z):
    """Trilinear samples: origin (3), spacing, counts (3); outside the grid the distance to it is added."""
    base = start
    away = 0.0
    c = (x, y, z)
    weights = (0.0, 0.0, 0.0)
    strides = (int(parameters[5] * parameters[6]), int(parameters[6]), 1)
    for i in range(3):
        s = (c[i] - parameters[i]) / parameters[3]
        inside = min(max(s, 0.0), parameters[4 + i] - 1.0)
        away += ((s - inside) * parameters[3]) ** 2
        cell = min(int(inside), int(parameters[4 + i]) - 2)
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
        value += w * data[at]
    return value + math.sqrt(away)


# columns of codes
KIND, OP, MIRROR, GROUP, DATA_START, DATA_LENGTH, LABEL, USAGE = range(8)
# columns of numbers: the blend radius, a bounding sphere to skip costly rows early, then the parameters of the kind
BLEND, BOUNDING_SPHERE, FIRST_PARAMETER = 0, 1, 5
ROUND_CONE, ELLIPSOID, BOX, REVOLVE, SHEET, GRID = range(6)
UNION, SUBTRACT = 0, 1
MIRROR_X, MIRROR_Y = 1, 2

SURFACE_TOLERANCE = 1e-4  # on the surface, as a share of the step of differences: 1e-9 of the size
MAX_BLEND_EXPONENT = 12.0  # a weight below exp(-12) cannot be seen in a colour of 8 bits


@njit(cache=True, error_model="numpy")
def evaluate_row(code, parameters, data, x, y, z, cutoff):
    """Distance to one row at a point already mirrored; beyond `cutoff` a lower bound suffices."""
    kind = code[KIND]
    p = parameters[FIRST_PARAMETER:]
    if kind == ROUND_CONE:
        return evaluate_round_cone(p, x, y, z)
    if kind == ELLIPSOID:
        return evaluate_ellipsoid(p, x, y, z)
    if kind == BOX:
        return evaluate_box(p, x, y, z)
    if kind == REVOLVE:
        r = math.sqrt((x - p[0]) ** 2 + (y - p[1]) ** 2)
        return evaluate_polygon(data, code[DATA_START], code[DATA_LENGTH], r, z - p[2]) - p[3]
    if kind == SHEET:
        return evaluate_sheet(p, data, code[DATA_START], code[DATA_LENGTH], x, y, z, cutoff)
    return evaluate_grid(p, data, code[DATA_START], x, y, z)


@njit(cache=True, error_model="numpy")
def combine_distances(d, g, op, k):
    """Smooth union min(d,g) - h²k/4 or subtraction -(min(-d,g) - h²k/4), h = max(k-|d-g|,0)/k."""
    if op == SUBTRACT:
        d = -d
    low = min(d, g)
    if k > 0.0:
        h = max(k - abs(d - g), 0.0) / k
        low -= 0.25 * h * h * k
    return -low if op == SUBTRACT else low


@njit(cache=True, error_model="numpy")
def is_outside_bounding_sphere(parameters, i, x, y, z, cutoff):
    """True if the bounding sphere of row i proves its distance to be at least `cutoff`."""
    if parameters[i, BOUNDING_SPHERE + 3] >= NO_SURFACE_DISTANCE:
        return False
    reach = parameters[i, BOUNDING_SPHERE + 3] + cutoff
    bx, by, bz = (
        x - parameters[i, BOUNDING_SPHERE],
        y - parameters[i, BOUNDING_SPHERE + 1],
        z - parameters[i, BOUNDING_SPHERE + 2],
    )
    return reach <= 0.0 or bx * bx + by * by + bz * bz >= reach * reach


@njit(cache=True, error_model="numpy")
def evaluate_point(codes, parameters, data, x, y, z):
    """Signed distance of the whole table at one point: negative inside."""
    d = NO_SURFACE_DISTANCE
    g = NO_SURFACE_DISTANCE
    first = 0
    for i in range(codes.shape[0]):
        if codes[i, GROUP] != codes[first, GROUP]:
            d = combine_distances(d, g, codes[first, OP], parameters[first, BLEND])
            g = NO_SURFACE_DISTANCE
            first = i
        px = abs(x) if codes[i, MIRROR] & MIRROR_X else x
        py = abs(y) if codes[i, MIRROR] & MIRROR_Y else y
        limit = min(g, (d if codes[i, OP] == UNION else -d) + parameters[i, BLEND])
        if is_outside_bounding_sphere(parameters, i, px, py, z, limit):
            continue
        g = min(g, evaluate_row(codes[i], parameters[i], data, px, py, z, limit))
    return combine_distances(d, g, codes[first, OP], parameters[first, BLEND])


@njit(cache=True, error_model="numpy")
def evaluate_points(codes, parameters, data, points, out):
    """Fill out (n,) with the signed distances at points (n, 3)."""
    for i in range(points.shape[0]):
        out[i] = evaluate_point(codes, parameters, data, points[i, 0], points[i, 1], points[i, 2])


@njit(cache=True, error_model="numpy")
def evaluate_gradient(codes, parameters, data, x, y, z, eps):
    """Central differences of the distance at one point."""
    s = 0.5 / eps
    gx = evaluate_point(codes, parameters, data, x + eps, y, z) - evaluate_point(codes, parameters, data, x - eps, y, z)
    gy = evaluate_point(codes, parameters, data, x, y + eps, z) - evaluate_point(codes, parameters, data, x, y - eps, z)
    gz = evaluate_point(codes, parameters, data, x, y, z + eps) - evaluate_point(codes, parameters, data, x, y, z - eps)
    return gx * s, gy * s, gz * s


@njit(cache=True, error_model="numpy")
def project_point(codes, parameters, data, x, y, z, eps, max_step, steps):
    """Iterate p <- p - f grad f / |grad f|² with steps of at most `max_step`; ends on the surface."""
    for _ in range(steps):
        f = evaluate_point(codes, parameters, data, x, y, z)
        if abs(f) < SURFACE_TOLERANCE * eps:
            break
        gx, gy, gz = evaluate_gradient(codes, parameters, data, x, y, z, eps)
        g2 = gx * gx + gy * gy + gz * gz
        if g2 < 1e-12:  # a medial point: no direction leads to the surface
            break
        s = f / g2
        length = abs(s) * math.sqrt(g2)
        if length > max_step:
            s *= max_step / length
        x, y, z = x - s * gx, y - s * gy, z - s * gz
    return x, y, z


@njit(cache=True, error_model="numpy")
def project_points(codes, parameters, data, points, eps, max_step, steps):
    """Move points (n, 3) onto the surface in place."""
    for i in range(points.shape[0]):
        x, y, z = project_point(codes, parameters, data, points[i, 0], points[i, 1], points[i, 2], eps, max_step, steps)
        points[i, 0], points[i, 1], points[i, 2] = x, y, z


@njit(cache=True, error_model="numpy")
def compute_normals(codes, parameters, data, points, eps, out):
    """Fill out (n, 3) with the unit gradients at points (n, 3)."""
    for i in range(points.shape[0]):
        gx, gy, gz = evaluate_gradient(codes, parameters, data, points[i, 0], points[i, 1], points[i, 2], eps)
        length = max(math.sqrt(gx * gx + gy * gy + gz * gz), 1e-30)
        out[i, 0], out[i, 1], out[i, 2] = gx / length, gy / length, gz / length


@njit(cache=True, error_model="numpy")
def compute_colors_and_labels(codes, parameters, data, colors, blend_width, points, out_colors, out_labels, scratch):
    """Colour by weights exp(-(d_i - d_min)/sigma) of the united rows, and the label of the nearest row."""
    rows = codes.shape[0]
    for p in range(points.shape[0]):
        x, y, z = points[p, 0], points[p, 1], points[p, 2]
        best = 0
        for i in range(rows):
            px = abs(x) if codes[i, MIRROR] & MIRROR_X else x
            py = abs(y) if codes[i, MIRROR] & MIRROR_Y else y
            scratch[i] = NO_SURFACE_DISTANCE
            limit = scratch[best] + MAX_BLEND_EXPONENT * blend_width if i else NO_SURFACE_DISTANCE
            if codes[i, OP] == UNION and not is_outside_bounding_sphere(parameters, i, px, py, z, limit):
                scratch[i] = evaluate_row(codes[i], parameters[i], data, px, py, z, limit)
            if scratch[i] < scratch[best]:
                best = i
        out_labels[p] = codes[best, LABEL]
        total = 0.0
        out_colors[p] = 0.0
        for i in range(rows):
            far = (scratch[i] - scratch[best]) / blend_width
            if far < MAX_BLEND_EXPONENT:
                w = math.exp(-far)
                total += w
                for c in range(3):
                    out_colors[p, c] += w * colors[i, c]
        for c in range(3):
            out_colors[p, c] /= total


@njit(cache=True, error_model="numpy")
def find_cut_fractions(codes, parameters, data, low, high, f_low, f_high, out):
    """Fraction t of each segment low -> high at which the distance vanishes (f_low < 0 < f_high), regula falsi."""
    for i in range(low.shape[0]):
        a, b, fa, fb = 0.0, 1.0, f_low[i], f_high[i]
        side = 0
        t = 0.5
        for _ in range(24):
            t = (a * fb - b * fa) / (fb - fa)
            x = low[i, 0] + t * (high[i, 0] - low[i, 0])
            y = low[i, 1] + t * (high[i, 1] - low[i, 1])
            z = low[i, 2] + t * (high[i, 2] - low[i, 2])
            f = evaluate_point(codes, parameters, data, x, y, z)
            if abs(f) < 1e-10 or b - a < 1e-10:
                break
            if f < 0.0:
                a, fa = t, f
                if side == -1:  # Illinois: halve the stale end so that both ends move
                    fb *= 0.5
                side = -1
            else:
                b, fb = t, f
                if side == 1:
                    fa *= 0.5
                side = 1
        out[i] = min(max(t, 0.0), 1.0)
