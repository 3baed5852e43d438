"""The loops of the fluid, compiled. Lengths are in cells here, velocities in cells a step.

u (nx+1, ny) stands on vertical edges at (i, j + ½), v (nx, ny+1) on horizontal ones at (i + ½, j). Beyond the outermost
edges a component goes on unchanged, which is how it slips along a wall.
"""

from __future__ import annotations

import math

import numpy as np

from cajole.jit import njit


@njit(cache=True)
def locate_node(x, count):
    """The lower of the two neighbours of x among 0 ... count - 1, and how far x is from it; held at both ends."""
    x = min(max(x, 0.0), count - 1.0)
    # the integer of NaN is any: it must not become an index outside of the array
    i = max(0, min(int(x), count - 2))
    return i, x - i


@njit(cache=True)
def interpolate_bilinear(f, x, y):
    """f at (x, y) in units of its own nodes, bilinear."""
    i, s = locate_node(x, f.shape[0])
    j, t = locate_node(y, f.shape[1])
    low = (1.0 - t) * f[i, j] + t * f[i, j + 1]
    return (1.0 - s) * low + s * ((1.0 - t) * f[i + 1, j] + t * f[i + 1, j + 1])


@njit(cache=True)
def trace_back(u, v, x, y, a, b):
    """Where what is at (x, y) after a step was before it: the midpoint rule backwards; (a, b) the velocity there."""
    xm, ym = x - 0.5 * a, y - 0.5 * b
    return x - interpolate_bilinear(u, xm, ym - 0.5), y - interpolate_bilinear(v, xm - 0.5, ym)


@njit(cache=True)
def measure_distance_outside(x, y, nx, ny):
    """How far (x, y) is outside the box."""
    return max(max(-x, x - nx), max(-y, y - ny))


@njit(cache=True)
def advect_velocity(u, v, ua, va):
    """(ua, va) = (u, v) where each edge off the walls was a step before.

    Returns how far beyond the walls the farthest trace begins.
    """
    nx, ny = v.shape[0], u.shape[1]
    worst = 0.0
    for i in range(nx):
        for j in range(ny):
            if i > 0:
                across = 0.25 * (v[i - 1, j] + v[i, j] + v[i - 1, j + 1] + v[i, j + 1])
                x, y = trace_back(u, v, float(i), j + 0.5, u[i, j], across)
                worst = max(worst, measure_distance_outside(x, y, nx, ny))
                ua[i, j] = interpolate_bilinear(u, x, y - 0.5)
            if j > 0:
                across = 0.25 * (u[i, j - 1] + u[i, j] + u[i + 1, j - 1] + u[i + 1, j])
                x, y = trace_back(u, v, i + 0.5, float(j), across, v[i, j])
                worst = max(worst, measure_distance_outside(x, y, nx, ny))
                va[i, j] = interpolate_bilinear(v, x - 0.5, y)
    return worst


@njit(cache=True)
def advect_smoke(u, v, f, out):
    """out (nx, ny) = f where each cell was a step before; returns as `advect`."""
    nx, ny = f.shape
    worst = 0.0
    for i in range(nx):
        for j in range(ny):
            a, b = 0.5 * (u[i, j] + u[i + 1, j]), 0.5 * (v[i, j] + v[i, j + 1])
            x, y = trace_back(u, v, i + 0.5, j + 0.5, a, b)
            worst = max(worst, measure_distance_outside(x, y, nx, ny))
            out[i, j] = interpolate_bilinear(f, x - 0.5, y - 0.5)
    return worst


@njit(cache=True)
def compute_divergence(u, v, out):
    """out (nx, ny): what flows out of each cell."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = u[i + 1, j] - u[i, j] + v[i, j + 1] - v[i, j]


@njit(cache=True)
def subtract_gradient(p, u, v):
    """(u, v) less the gradient of p (nx, ny), and nothing through the walls."""
    nx, ny = p.shape
    for i in range(nx + 1):
        for j in range(ny):
            if i == 0 or i == nx:
                u[i, j] = 0.0
            else:
                u[i, j] -= p[i, j] - p[i - 1, j]
    for i in range(nx):
        for j in range(ny + 1):
            if j == 0 or j == ny:
                v[i, j] = 0.0
            else:
                v[i, j] -= p[i, j] - p[i, j - 1]


@njit(cache=True)
def advect_points(u, v, um, vm, points):
    """Carry points (k, 2) through a step by the midpoint rule: (u, v) at its start, (um, vm) in its middle.

    Returns the first point that leaves the box, or -1.
    """
    nx, ny = v.shape[0], u.shape[1]
    for k in range(len(points)):
        x, y = points[k]
        xm = x + 0.5 * interpolate_bilinear(u, x, y - 0.5)
        ym = y + 0.5 * interpolate_bilinear(v, x - 0.5, y)
        x += interpolate_bilinear(um, xm, ym - 0.5)
        y += interpolate_bilinear(vm, xm - 0.5, ym)
        if not (0.0 <= x <= nx and 0.0 <= y <= ny):
            return k
        points[k, 0], points[k, 1] = x, y
    return -1


@njit(cache=True)
def add_bump(f, ox, oy, x, y, radius, strength):
    """f += strength (1 - d²/radius²)² within `radius` of (x, y), d the distance of the node at (i + ox, j + oy)."""
    for i in range(max(0, math.ceil(x - radius - ox)), min(f.shape[0], math.floor(x + radius - ox) + 1)):
        for j in range(max(0, math.ceil(y - radius - oy)), min(f.shape[1], math.floor(y + radius - oy) + 1)):
            d = ((i + ox - x) ** 2 + (j + oy - y) ** 2) / radius**2
            if d < 1.0:
                f[i, j] += strength * (1.0 - d) ** 2


@njit(cache=True)
def compute_laplacian(u, v, lu, lv):
    """Second differences of both components: nothing on the walls, free slip along them."""
    _compute_second_differences(u, True, lu)
    _compute_second_differences(v, False, lv)


@njit(cache=True)
def _compute_second_differences(f, along_x, out):
    """out = second differences; the ends of the first direction (the second unless along_x) are walls at zero."""
    rows, columns = f.shape
    for i in range(rows):
        for j in range(columns):
            wall = i in (0, rows - 1) if along_x else j in (0, columns - 1)
            if wall:
                out[i, j] = 0.0
                continue
            total = 0.0
            if i > 0:
                total += f[i - 1, j] - f[i, j]
            if i < rows - 1:
                total += f[i + 1, j] - f[i, j]
            if j > 0:
                total += f[i, j - 1] - f[i, j]
            if j < columns - 1:
                total += f[i, j + 1] - f[i, j]
            out[i, j] = total


@njit(cache=True)
def find_max_component(u, v):
    """The largest component of a velocity, in absolute value."""
    return max(np.abs(u).max(), np.abs(v).max())
