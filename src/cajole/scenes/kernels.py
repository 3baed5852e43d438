"""Compiled evaluation of a table of signed distances: one interpreter for every scene.

A row of the table is `codes[i]` (whole numbers) and `numbers[i]` (reals); outlines and sampled grids lie in `pool`.
Rows of one group are united by a hard minimum and then join what came before by one smooth union or subtraction.
"""

from __future__ import annotations

import math

from cajole.compiled import njit
from cajole.scenes.kernels_rows import FAR as FAR
from cajole.scenes.kernels_rows import box, cone, ellipsoid, grid, polygon, sheet

# columns of codes
KIND, OP, MIRROR, GROUP, POOL, LENGTH, LABEL, PLACE = range(8)
# columns of numbers: the blend radius, a bounding sphere to skip costly rows early, then the parameters of the kind
BLEND, BOUND, PARAMS = 0, 1, 5
CONE, ELLIPSOID, BOX, REVOLVE, SHEET, GRID = range(6)
UNION, SUBTRACT = 0, 1
MIRROR_X, MIRROR_Y = 1, 2

ARRIVED = 1e-4  # on the surface, as a share of the step of differences: 1e-9 of the size
FAINT = 12.0  # a weight below exp(-12) cannot be seen in a colour of 8 bits


@njit(cache=True, error_model="numpy")
def row_distance(code, n, pool, x, y, z, limit):
    """Distance to one row, at a point already folded by the row's mirrors; beyond `limit` a lower bound will do."""
    kind = code[KIND]
    p = n[PARAMS:]
    if kind == CONE:
        return cone(p, x, y, z)
    if kind == ELLIPSOID:
        return ellipsoid(p, x, y, z)
    if kind == BOX:
        return box(p, x, y, z)
    if kind == REVOLVE:
        r = math.sqrt((x - p[0]) ** 2 + (y - p[1]) ** 2)
        return polygon(pool, code[POOL], code[LENGTH], r, z - p[2]) - p[3]
    if kind == SHEET:
        return sheet(p, pool, code[POOL], code[LENGTH], x, y, z, limit)
    return grid(p, pool, code[POOL], x, y, z)


@njit(cache=True, error_model="numpy")
def joined(d, g, op, k):
    """Smooth union min(d,g) - h²k/4 or subtraction -(min(-d,g) - h²k/4), h = max(k-|d-g|,0)/k."""
    if op == SUBTRACT:
        d = -d
    low = min(d, g)
    if k > 0.0:
        h = max(k - abs(d - g), 0.0) / k
        low -= 0.25 * h * h * k
    return -low if op == SUBTRACT else low


@njit(cache=True, error_model="numpy")
def beyond(numbers, i, x, y, z, limit):
    """Whether the bounding sphere of row i proves its distance to be at least `limit`."""
    if numbers[i, BOUND + 3] >= FAR:
        return False
    reach = numbers[i, BOUND + 3] + limit
    bx, by, bz = x - numbers[i, BOUND], y - numbers[i, BOUND + 1], z - numbers[i, BOUND + 2]
    return reach <= 0.0 or bx * bx + by * by + bz * bz >= reach * reach


@njit(cache=True, error_model="numpy")
def evaluate(codes, numbers, pool, x, y, z):
    """Signed distance of the whole table at one point: negative inside."""
    d = FAR
    g = FAR
    first = 0
    for i in range(codes.shape[0]):
        if codes[i, GROUP] != codes[first, GROUP]:
            d = joined(d, g, codes[first, OP], numbers[first, BLEND])
            g = FAR
            first = i
        px = abs(x) if codes[i, MIRROR] & MIRROR_X else x
        py = abs(y) if codes[i, MIRROR] & MIRROR_Y else y
        limit = min(g, (d if codes[i, OP] == UNION else -d) + numbers[i, BLEND])
        if beyond(numbers, i, px, py, z, limit):
            continue
        g = min(g, row_distance(codes[i], numbers[i], pool, px, py, z, limit))
    return joined(d, g, codes[first, OP], numbers[first, BLEND])


@njit(cache=True, error_model="numpy")
def distances(codes, numbers, pool, points, out):
    """Fill out (n,) with the signed distances at points (n, 3)."""
    for i in range(points.shape[0]):
        out[i] = evaluate(codes, numbers, pool, points[i, 0], points[i, 1], points[i, 2])


@njit(cache=True, error_model="numpy")
def gradient(codes, numbers, pool, x, y, z, eps):
    """Central differences of the distance at one point."""
    s = 0.5 / eps
    gx = evaluate(codes, numbers, pool, x + eps, y, z) - evaluate(codes, numbers, pool, x - eps, y, z)
    gy = evaluate(codes, numbers, pool, x, y + eps, z) - evaluate(codes, numbers, pool, x, y - eps, z)
    gz = evaluate(codes, numbers, pool, x, y, z + eps) - evaluate(codes, numbers, pool, x, y, z - eps)
    return gx * s, gy * s, gz * s


@njit(cache=True, error_model="numpy")
def newton(codes, numbers, pool, x, y, z, eps, limit, steps):
    """Walk p <- p - f grad f / |grad f|², each step at most `limit` long; ends on the surface."""
    for _ in range(steps):
        f = evaluate(codes, numbers, pool, x, y, z)
        if abs(f) < ARRIVED * eps:
            break
        gx, gy, gz = gradient(codes, numbers, pool, x, y, z, eps)
        g2 = gx * gx + gy * gy + gz * gz
        if g2 < 1e-12:  # a medial point: no direction leads to the surface
            break
        s = f / g2
        length = abs(s) * math.sqrt(g2)
        if length > limit:
            s *= limit / length
        x, y, z = x - s * gx, y - s * gy, z - s * gz
    return x, y, z


@njit(cache=True, error_model="numpy")
def project(codes, numbers, pool, points, eps, limit, steps):
    """Move points (n, 3) onto the surface in place."""
    for i in range(points.shape[0]):
        x, y, z = newton(codes, numbers, pool, points[i, 0], points[i, 1], points[i, 2], eps, limit, steps)
        points[i, 0], points[i, 1], points[i, 2] = x, y, z


@njit(cache=True, error_model="numpy")
def normals(codes, numbers, pool, points, eps, out):
    """Fill out (n, 3) with the unit gradients at points (n, 3)."""
    for i in range(points.shape[0]):
        gx, gy, gz = gradient(codes, numbers, pool, points[i, 0], points[i, 1], points[i, 2], eps)
        length = max(math.sqrt(gx * gx + gy * gy + gz * gz), 1e-30)
        out[i, 0], out[i, 1], out[i, 2] = gx / length, gy / length, gz / length


@njit(cache=True, error_model="numpy")
def shade(codes, numbers, pool, colors, sigma, points, out_colors, out_labels, scratch):
    """Colour by weights exp(-(d_i - d_min)/sigma) of the united rows, and the label of the nearest row."""
    rows = codes.shape[0]
    for p in range(points.shape[0]):
        x, y, z = points[p, 0], points[p, 1], points[p, 2]
        best = 0
        for i in range(rows):
            px = abs(x) if codes[i, MIRROR] & MIRROR_X else x
            py = abs(y) if codes[i, MIRROR] & MIRROR_Y else y
            scratch[i] = FAR
            limit = scratch[best] + FAINT * sigma if i else FAR
            if codes[i, OP] == UNION and not beyond(numbers, i, px, py, z, limit):
                scratch[i] = row_distance(codes[i], numbers[i], pool, px, py, z, limit)
            if scratch[i] < scratch[best]:
                best = i
        out_labels[p] = codes[best, LABEL]
        total = 0.0
        out_colors[p] = 0.0
        for i in range(rows):
            far = (scratch[i] - scratch[best]) / sigma
            if far < FAINT:
                w = math.exp(-far)
                total += w
                for c in range(3):
                    out_colors[p, c] += w * colors[i, c]
        for c in range(3):
            out_colors[p, c] /= total


@njit(cache=True, error_model="numpy")
def cuts(codes, numbers, pool, low, high, f_low, f_high, out):
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
            f = evaluate(codes, numbers, pool, x, y, z)
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
