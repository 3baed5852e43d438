"""Compiled search for the vertices that touch a surface, or their own one, frame after frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.compiled import njit
from cajole.mesh.kernels_closest import DEPTH, box_square, nearest, on_triangle, refit, side


@njit(cache=True)
def touch_surface(
    frames: Array,
    vertices: IndexArray,
    corners: Array,
    boxes: Array,
    links: IndexArray,
    normals: Array,
    closed: bool,
    reach: float,
    seen: Array,
    clear: Array,
    hint: IndexArray,
    hit: NDArray[np.bool_],
    normal: Array,
) -> None:
    """Set hit (b, k) and normal (b, k, 3) where vertex k of frame b is nearer than `reach`, or inside if `closed`.

    seen (k, 3): where each vertex was when it was last measured; clear (k,): how far it may have moved since and still
    not touch, a distance changes no faster than the point moves; hint (k,): the triangle that was nearest then.
    """
    for b in range(len(frames)):
        for k in range(len(vertices)):
            x, y, z = frames[b, vertices[k]]
            moved = (x - seen[k, 0]) ** 2 + (y - seen[k, 1]) ** 2 + (z - seen[k, 2]) ** 2
            if clear[k] > 0.0 and moved < clear[k] * clear[k]:
                continue
            slot, square, cx, cy, cz, region = nearest(x, y, z, corners, boxes, links, np.inf, hint[k])
            away = side(x, y, z, cx, cy, cz, normals[slot, region])
            distance = np.sqrt(square)
            seen[k] = (x, y, z)
            hint[k] = slot
            clear[k] = (away if closed else 1.0) * distance - reach
            if clear[k] <= 0.0:
                hit[b, k] = True
                turn = 1.0 if closed else away
                for a in range(3):
                    normal[b, k, a] = turn * normals[slot, region, a]


@njit(cache=True)
def touch_self(
    x: Array,
    rest: Array,
    vertices: IndexArray,
    triangles: IndexArray,
    corners: Array,
    boxes: Array,
    links: IndexArray,
    closed: bool,
    reach: float,
    apart: float,
    other: IndexArray,
    normal: Array,
) -> None:
    """Set other (k,) and normal (k, 3) where a vertex of the frame x (n, 3) is nearer than `reach` to a triangle.

    Triangles at most `apart` from the vertex in the `rest` shape (n, 3) are its neighbours and do not count. The
    tree is refitted to the frame; `triangles` (m, 3) stand in the order of its leaves.
    """
    for t in range(len(triangles)):
        for c in range(3):
            corners[t, c] = x[triangles[t, c]]
    refit(corners, links, boxes)
    for k in range(len(vertices)):
        slot = _nearest_stranger(vertices[k], x, rest, triangles, corners, boxes, links, reach * reach, apart * apart)
        if slot < 0:
            continue
        v, t = vertices[k], corners[slot]
        other[k] = triangles[slot, _nearest_corner(x[v], t)]
        n = np.cross(t[1] - t[0], t[2] - t[0])
        length = np.sqrt(n[0] ** 2 + n[1] ** 2 + n[2] ** 2)
        if length == 0.0:  # a triangle that the motion has flattened has no side
            other[k] = -1
            continue
        turn = 1.0 if closed else side(x[v, 0], x[v, 1], x[v, 2], t[0, 0], t[0, 1], t[0, 2], n)
        for a in range(3):
            normal[k, a] = turn * n[a] / length


@njit(cache=True)
def _nearest_stranger(
    v: int,
    x: Array,
    rest: Array,
    triangles: IndexArray,
    corners: Array,
    boxes: Array,
    links: IndexArray,
    within: float,
    apart: float,
) -> int:
    """The slot of the nearest triangle closer than √within to vertex v and farther than √apart at rest; -1: none."""
    px, py, pz = x[v]
    rx, ry, rz = rest[v]
    best, slot = within, -1
    at_rest = np.empty((3, 3))
    nodes = np.empty(DEPTH + 2, np.int64)
    nodes[0] = 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = nodes[waiting]
        if box_square(px, py, pz, boxes[node]) > best:
            continue
        right, first, last = links[node]
        if right >= 0:
            nodes[waiting], nodes[waiting + 1] = right, node + 1
            waiting += 2
            continue
        for t in range(first, last):
            cx, cy, cz, _ = on_triangle(px, py, pz, corners[t])
            square = (px - cx) ** 2 + (py - cy) ** 2 + (pz - cz) ** 2
            if square > best:
                continue
            for c in range(3):
                at_rest[c] = rest[triangles[t, c]]
            cx, cy, cz, _ = on_triangle(rx, ry, rz, at_rest)
            if (rx - cx) ** 2 + (ry - cy) ** 2 + (rz - cz) ** 2 > apart:
                best, slot = square, t
    return slot


@njit(cache=True)
def _nearest_corner(p: Array, t: Array) -> int:
    """Which corner of triangle t (3, 3) is nearest to p (3,)."""
    best, corner = np.inf, 0
    for c in range(3):
        square = (p[0] - t[c, 0]) ** 2 + (p[1] - t[c, 1]) ** 2 + (p[2] - t[c, 2]) ** 2
        if square < best:
            best, corner = square, c
    return corner
