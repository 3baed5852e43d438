"""Compiled closest point search on triangles with a bounding volume hierarchy (BVH).

A BVH is five arrays, with its triangles in leaf order: corners (m, 3, 3); boxes (k, 6) of least and greatest
coordinates; bvh_nodes (k, 3): index of the right child (the left one follows the node; -1: leaf), first and last + 1
triangle; triangle_order (m,): indices in the mesh; pseudonormals (m, 7, 3) of the face, its edges 01, 12, 20 and its
corners. These are also the features 0 to 6 that can contain a closest point.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.jit import njit

# with fewer triangles boxes cost more than they save
MAX_LEAF_TRIANGLES = 4
# depth of a binary tree of 2^64 triangles
MAX_TREE_DEPTH = 64


@njit(cache=True)
def build_bvh(corners: Array) -> tuple[IndexArray, Array, IndexArray]:
    """Order, unset boxes and nodes of a BVH of `corners` (m, 3, 3): median splits along the longest side."""
    m = len(corners)
    middles = np.empty((m, 3))
    for t in range(m):
        for a in range(3):
            middles[t, a] = (corners[t, 0, a] + corners[t, 1, a] + corners[t, 2, a]) / 3.0
    order = np.arange(m)
    links = np.empty((2 * m, 3), np.int64)
    pending = np.empty((MAX_TREE_DEPTH + 2, 3), np.int64)  # first, last + 1, and the parent whose right child this is
    pending[0] = (0, m, -1)
    waiting, count = 1, 0
    while waiting > 0:
        waiting -= 1
        first, last, parent = pending[waiting]
        if parent >= 0:
            links[parent, 0] = count
        links[count] = (-1, first, last)
        if last - first > MAX_LEAF_TRIANGLES:
            axis, widest = 0, -1.0
            for a in range(3):
                span = middles[order[first:last], a]
                if span.max() - span.min() > widest:
                    axis, widest = a, span.max() - span.min()
            part = order[first:last]
            order[first:last] = part[np.argsort(middles[part, axis])]
            half = (first + last) // 2
            pending[waiting] = (half, last, count)
            pending[waiting + 1] = (first, half, -1)
            waiting += 2
        count += 1
    return order, np.empty((count, 6)), links[:count].copy()


@njit(cache=True)
def refit_bvh(corners: Array, bvh_nodes: IndexArray, boxes: Array) -> None:
    """Fill the boxes of a BVH for the current `corners` in leaf order, children before parents."""
    for node in range(len(bvh_nodes) - 1, -1, -1):
        right, first, last = bvh_nodes[node]
        for a in range(3):
            if right >= 0:
                boxes[node, a] = min(boxes[node + 1, a], boxes[right, a])
                boxes[node, 3 + a] = max(boxes[node + 1, 3 + a], boxes[right, 3 + a])
            else:
                low, high = np.inf, -np.inf
                for t in range(first, last):
                    for c in range(3):
                        low, high = min(low, corners[t, c, a]), max(high, corners[t, c, a])
                boxes[node, a], boxes[node, 3 + a] = low, high


@njit(cache=True)
def find_closest_on_triangle(x: float, y: float, z: float, t: Array) -> tuple[float, float, float, int]:
    """The point of triangle t (3, 3) closest to (x, y, z), and its feature (Ericson 2005, 5.1.5)."""
    abx, aby, abz = t[1, 0] - t[0, 0], t[1, 1] - t[0, 1], t[1, 2] - t[0, 2]
    acx, acy, acz = t[2, 0] - t[0, 0], t[2, 1] - t[0, 1], t[2, 2] - t[0, 2]
    px, py, pz = x - t[0, 0], y - t[0, 1], z - t[0, 2]
    d1, d2 = abx * px + aby * py + abz * pz, acx * px + acy * py + acz * pz
    if d1 <= 0.0 and d2 <= 0.0:
        return t[0, 0], t[0, 1], t[0, 2], 4
    px, py, pz = x - t[1, 0], y - t[1, 1], z - t[1, 2]
    d3, d4 = abx * px + aby * py + abz * pz, acx * px + acy * py + acz * pz
    if d3 >= 0.0 and d4 <= d3:
        return t[1, 0], t[1, 1], t[1, 2], 5
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        s = d1 / (d1 - d3)
        return t[0, 0] + s * abx, t[0, 1] + s * aby, t[0, 2] + s * abz, 1
    px, py, pz = x - t[2, 0], y - t[2, 1], z - t[2, 2]
    d5, d6 = abx * px + aby * py + abz * pz, acx * px + acy * py + acz * pz
    if d6 >= 0.0 and d5 <= d6:
        return t[2, 0], t[2, 1], t[2, 2], 6
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        s = d2 / (d2 - d6)
        return t[0, 0] + s * acx, t[0, 1] + s * acy, t[0, 2] + s * acz, 3
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 >= d3 and d5 >= d6:
        s = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return t[1, 0] + s * (acx - abx), t[1, 1] + s * (acy - aby), t[1, 2] + s * (acz - abz), 2
    v, w = vb / (va + vb + vc), vc / (va + vb + vc)
    return t[0, 0] + v * abx + w * acx, t[0, 1] + v * aby + w * acy, t[0, 2] + v * abz + w * acz, 0


@njit(cache=True)
def compute_squared_box_distance(x: float, y: float, z: float, box: Array) -> float:
    """Squared distance of (x, y, z) to a box (6,), zero inside."""
    dx = max(box[0] - x, 0.0, x - box[3])
    dy = max(box[1] - y, 0.0, y - box[4])
    dz = max(box[2] - z, 0.0, z - box[5])
    return dx * dx + dy * dy + dz * dz


@njit(cache=True)
def find_nearest_triangle(
    x: float,
    y: float,
    z: float,
    corners: Array,
    boxes: Array,
    bvh_nodes: IndexArray,
    max_squared_distance: float,
    hint: int,
) -> tuple[int, float, float, float, float, int]:
    """Slot, squared distance, point and feature of the closest triangle within √max_squared_distance; slot -1: none.

    hint: a triangle that is probably near and is tested first, or -1.
    """
    best, slot, region = max_squared_distance, -1, 0
    bx, by, bz = 0.0, 0.0, 0.0
    if hint >= 0:
        cx, cy, cz, where = find_closest_on_triangle(x, y, z, corners[hint])
        square = (x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2
        if square < best:
            best, slot, bx, by, bz, region = square, hint, cx, cy, cz, where
    nodes, squares = np.empty(MAX_TREE_DEPTH + 2, np.int64), np.empty(MAX_TREE_DEPTH + 2)
    nodes[0], squares[0] = 0, compute_squared_box_distance(x, y, z, boxes[0])
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = nodes[waiting]
        if squares[waiting] >= best:
            continue
        right, first, last = bvh_nodes[node]
        if right < 0:
            for t in range(first, last):
                cx, cy, cz, where = find_closest_on_triangle(x, y, z, corners[t])
                square = (x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2
                if square < best:
                    best, slot, bx, by, bz, region = square, t, cx, cy, cz, where
            continue
        one, two = (
            compute_squared_box_distance(x, y, z, boxes[node + 1]),
            compute_squared_box_distance(x, y, z, boxes[right]),
        )
        # the nearer child is visited first, so it goes on top
        if one <= two:
            nodes[waiting], squares[waiting], nodes[waiting + 1], squares[waiting + 1] = right, two, node + 1, one
        else:
            nodes[waiting], squares[waiting], nodes[waiting + 1], squares[waiting + 1] = node + 1, one, right, two
        waiting += 2
    return slot, best, bx, by, bz, region


@njit(cache=True)
def compute_side_sign(x: float, y: float, z: float, cx: float, cy: float, cz: float, normal: Array) -> float:
    """1 if (x, y, z) is on the side of the pseudonormal at its closest point c, else -1."""
    return 1.0 if (x - cx) * normal[0] + (y - cy) * normal[1] + (z - cz) * normal[2] >= 0.0 else -1.0


@njit(cache=True)
def find_closest_points(
    points: Array,
    corners: Array,
    boxes: Array,
    bvh_nodes: IndexArray,
    triangle_order: IndexArray,
    pseudonormals: Array,
    max_distance: float,
    distance: Array,
    sign: Array,
    triangle: IndexArray,
    point: Array,
    normal: Array,
    feature: IndexArray,
) -> None:
    """Fill the result arrays for `points` (k, 3); points without a triangle within `max_distance` are not changed."""
    hint = -1
    for i in range(len(points)):
        x, y, z = points[i]
        slot, square, cx, cy, cz, where = find_nearest_triangle(
            x, y, z, corners, boxes, bvh_nodes, max_distance * max_distance, hint
        )
        if slot < 0:
            continue
        hint = slot
        distance[i], triangle[i], feature[i] = np.sqrt(square), triangle_order[slot], where
        point[i] = (cx, cy, cz)
        sign[i] = compute_side_sign(x, y, z, cx, cy, cz, pseudonormals[slot, where])
        normal[i] = pseudonormals[slot, where]
