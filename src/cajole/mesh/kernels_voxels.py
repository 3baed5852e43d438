"""Compiled voxelisation of triangles: the grid cells that they intersect."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.jit import njit

# in unit cells; triangles this close to a cell intersect it, so that rounding leaves no gap
TOUCH_TOLERANCE = 1e-9


@njit(cache=True)
def _is_separating_axis(
    nx: float, ny: float, nz: float, t: NDArray[np.float64], cx: float, cy: float, cz: float
) -> bool:
    """True if axis n separates triangle t from the unit cube centred at c."""
    p0 = nx * (t[0, 0] - cx) + ny * (t[0, 1] - cy) + nz * (t[0, 2] - cz)
    p1 = nx * (t[1, 0] - cx) + ny * (t[1, 1] - cy) + nz * (t[1, 2] - cz)
    p2 = nx * (t[2, 0] - cx) + ny * (t[2, 1] - cy) + nz * (t[2, 2] - cz)
    reach = (0.5 + TOUCH_TOLERANCE) * (abs(nx) + abs(ny) + abs(nz))
    return min(p0, p1, p2) > reach or max(p0, p1, p2) < -reach


@njit(cache=True)
def _is_intersecting_cell(t: NDArray[np.float64], cx: float, cy: float, cz: float) -> bool:
    """True if triangle t (3, 3) intersects the unit cube centred at c (separating axis test)."""
    if _is_separating_axis(1.0, 0.0, 0.0, t, cx, cy, cz) or _is_separating_axis(0.0, 1.0, 0.0, t, cx, cy, cz):
        return False
    if _is_separating_axis(0.0, 0.0, 1.0, t, cx, cy, cz):
        return False
    ax, ay, az = t[1, 0] - t[0, 0], t[1, 1] - t[0, 1], t[1, 2] - t[0, 2]
    bx, by, bz = t[2, 0] - t[0, 0], t[2, 1] - t[0, 1], t[2, 2] - t[0, 2]
    if _is_separating_axis(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx, t, cx, cy, cz):
        return False
    for i in range(3):
        j = (i + 1) % 3
        ex, ey, ez = t[j, 0] - t[i, 0], t[j, 1] - t[i, 1], t[j, 2] - t[i, 2]
        if _is_separating_axis(0.0, -ez, ey, t, cx, cy, cz) or _is_separating_axis(ez, 0.0, -ex, t, cx, cy, cz):
            return False
        if _is_separating_axis(-ey, ex, 0.0, t, cx, cy, cz):
            return False
    return True


@njit(cache=True)
def mark_intersected_cells(corners: NDArray[np.float64], touched: NDArray[np.bool_]) -> None:
    """Set touched[i, j, k] if a triangle of `corners` (m, 3, 3) intersects the closed unit cell at (i, j, k)."""
    low, high = np.empty(3, np.int64), np.empty(3, np.int64)
    for f in range(len(corners)):
        t = corners[f]
        for a in range(3):
            low[a] = max(0, int(np.floor(min(t[0, a], t[1, a], t[2, a]) - TOUCH_TOLERANCE)))
            high[a] = min(touched.shape[a] - 1, int(np.floor(max(t[0, a], t[1, a], t[2, a]) + TOUCH_TOLERANCE)))
        for i in range(low[0], high[0] + 1):
            for j in range(low[1], high[1] + 1):
                for k in range(low[2], high[2] + 1):
                    if not touched[i, j, k] and _is_intersecting_cell(t, i + 0.5, j + 0.5, k + 0.5):
                        touched[i, j, k] = True
