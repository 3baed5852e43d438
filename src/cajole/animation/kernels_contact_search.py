"""Compiled search for vertices in contact with a surface, or with their own, frame by frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.jit import njit
from cajole.mesh.kernels_closest_point import (
    MAX_TREE_DEPTH,
    compute_side_sign,
    compute_squared_box_distance,
    find_closest_on_triangle,
    find_nearest_triangle,
    refit_bvh,
)


@njit(cache=True)
def find_surface_contacts(
    frames: Array,
    vertices: IndexArray,
    corners: Array,
    boxes: Array,
    links: IndexArray,
    pseudonormals: Array,
    is_closed: bool,
    max_distance: float,
    last_positions: Array,
    clearance: Array,
    last_triangle: IndexArray,
    is_contact: NDArray[np.bool_],
    normal: Array,
) -> None:
    """Set is_contact (b, k) and normal (b, k, 3) where vertex k of frame b is nearer than `max_distance`.

    Vertices inside count as well if `is_closed`. last_positions (k, 3): position at the last distance query; clearance
    (k,): how far a vertex may move from there without contact, since a distance changes no faster than the point moves;
    last_triangle (k,): the nearest triangle then.
    """
    for b in range(len(frames)):
        for k in range(len(vertices)):
            x, y, z = frames[b, vertices[k]]
            moved = (x - last_positions[k, 0]) ** 2 + (y - last_positions[k, 1]) ** 2 + (z - last_positions[k, 2]) ** 2
            if clearance[k] > 0.0 and moved < clearance[k] * clearance[k]:
                continue
            slot, square, cx, cy, cz, region = find_nearest_triangle(
                x, y, z, corners, boxes, links, np.inf, last_triangle[k]
            )
            away = compute_side_sign(x, y, z, cx, cy, cz, pseudonormals[slot, region])
            distance = np.sqrt(square)
            last_positions[k] = (x, y, z)
            last_triangle[k] = slot
            clearance[k] = (away if is_closed else 1.0) * distance - max_distance
            if clearance[k] <= 0.0:
                is_contact[b, k] = True
                turn = 1.0 if is_closed else away
                for a in range(3):
                    normal[b, k, a] = turn * pseudonormals[slot, region, a]


@njit(cache=True)
def find_self_contacts(
    x: Array,
    rest: Array,
    vertices: IndexArray,
    triangles: IndexArray,
    corners: Array,
    boxes: Array,
    links: IndexArray,
    is_closed: bool,
    max_distance: float,
    min_rest_distance: float,
    other: IndexArray,
    normal: Array,
) -> None:
    """Set other (k,) and normal (k, 3) where a vertex of frame x (n, 3) is nearer than `max_distance` to a triangle.

    Triangles within `min_rest_distance` of the vertex in the `rest` shape (n, 3) are neighbours and ignored. The tree
    is refitted to the frame; `triangles` (m, 3) are in the order of its leaves.
    """
    for t in range(len(triangles)):
        for c in range(3):
            corners[t, c] = x[triangles[t, c]]
    refit_bvh(corners, links, boxes)
    for k in range(len(vertices)):
        slot = _find_nearest_non_neighbour(
            vertices[k],
            x,
            rest,
            triangles,
            corners,
            boxes,
            links,
            max_distance * max_distance,
            min_rest_distance * min_rest_distance,
        )
        if slot < 0:
            continue
        v, t = vertices[k], corners[slot]
        other[k] = triangles[slot, _find_nearest_corner(x[v], t)]
        n = np.cross(t[1] - t[0], t[2] - t[0])
        length = np.sqrt(n[0] ** 2 + n[1] ** 2 + n[2] ** 2)
        if length == 0.0:  # a flattened triangle has no side
            other[k] = -1
            continue
        turn = 1.0 if is_closed else compute_side_sign(x[v, 0], x[v, 1], x[v, 2], t[0, 0], t[0, 1], t[0, 2], n)
        for a in range(3):
            normal[k, a] = turn * n[a] / length


@njit(cache=True)
def _find_nearest_non_neighbour(
    v: int,
    x: Array,
    rest: Array,
    triangles: IndexArray,
    corners: Array,
    boxes: Array,
    links: IndexArray,
    max_square: float,
    min_rest_square: float,
) -> int:
    """Slot of the nearest triangle closer than √max_square to v and farther than √min_rest_square at rest; -1: none."""
    px, py, pz = x[v]
    rx, ry, rz = rest[v]
    best, slot = max_square, -1
    at_rest = np.empty((3, 3))
    nodes = np.empty(MAX_TREE_DEPTH + 2, np.int64)
    nodes[0] = 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = nodes[waiting]
        if compute_squared_box_distance(px, py, pz, boxes[node]) > best:
            continue
        right, first, last = links[node]
        if right >= 0:
            nodes[waiting], nodes[waiting + 1] = right, node + 1
            waiting += 2
            continue
        for t in range(first, last):
            cx, cy, cz, _ = find_closest_on_triangle(px, py, pz, corners[t])
            square = (px - cx) ** 2 + (py - cy) ** 2 + (pz - cz) ** 2
            if square > best:
                continue
            for c in range(3):
                at_rest[c] = rest[triangles[t, c]]
            cx, cy, cz, _ = find_closest_on_triangle(rx, ry, rz, at_rest)
            if (rx - cx) ** 2 + (ry - cy) ** 2 + (rz - cz) ** 2 > min_rest_square:
                best, slot = square, t
    return slot


@njit(cache=True)
def _find_nearest_corner(p: Array, t: Array) -> int:
    """The corner of triangle t (3, 3) that is nearest to p (3,)."""
    best, corner = np.inf, 0
    for c in range(3):
        square = (p[0] - t[c, 0]) ** 2 + (p[1] - t[c, 1]) ** 2 + (p[2] - t[c, 2]) ** 2
        if square < best:
            best, corner = square, c
    return corner
