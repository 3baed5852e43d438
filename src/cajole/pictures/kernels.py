"""Compiled loops of the draft renderer: triangles to samples, the studio behind them, and samples to pixels.

A "sheet" is what one raster of triangles leaves behind: (rows, columns) of the winning triangle (-1: none) and of the
inverse depth at the sample's centre. The studio's geometry comes as `room`, 9 numbers: the camera's position (3), the
back direction (2, horizontal), the ground, where the floor ends, the fillet's radius, and how far a ray goes at most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.compiled import njit

# samples on an edge belong to both of its triangles, or rounding would leave some to neither
_SLACK = 1e-9
# no flag here that would let NaN or infinity pass unnoticed
_FAST = {"contract", "reassoc", "nsz", "arcp"}
compiled = njit(cache=True, error_model="numpy", fastmath=_FAST)
inlined = njit(cache=True, error_model="numpy", fastmath=_FAST, inline="always")


@inlined
def _area(a: int, b: int, c: int, xy: Array) -> float:
    """Twice a triangle's signed area on the sheet."""
    return (xy[b, 0] - xy[a, 0]) * (xy[c, 1] - xy[a, 1]) - (xy[b, 1] - xy[a, 1]) * (xy[c, 0] - xy[a, 0])


@compiled
def rasterise(
    xy: Array, inverse: Array, triangles: IndexArray, winner: NDArray[np.int32], nearest: NDArray[np.float32]
) -> None:
    """Draw triangles into a sheet; xy: (n, 2) in samples; inverse: (n,) inverse depths, linear on the sheet."""
    rows, columns = winner.shape
    for t in range(triangles.shape[0]):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        ax, ay, bx, by, cx, cy = xy[a, 0], xy[a, 1], xy[b, 0], xy[b, 1], xy[c, 0], xy[c, 1]
        area = _area(a, b, c, xy)
        if area == 0.0:
            continue
        first = max(int(np.ceil(min(ay, by, cy) - 0.5)), 0)
        last = min(int(np.floor(max(ay, by, cy) - 0.5)), rows - 1)
        left = max(int(np.ceil(min(ax, bx, cx) - 0.5)), 0)
        right = min(int(np.floor(max(ax, bx, cx) - 0.5)), columns - 1)
        scale = 1.0 / area
        for i in range(first, last + 1):
            y = i + 0.5
            for j in range(left, right + 1):
                x = j + 0.5
                u = ((bx - x) * (cy - y) - (by - y) * (cx - x)) * scale
                v = ((cx - x) * (ay - y) - (cy - y) * (ax - x)) * scale
                w = 1.0 - u - v
                if u >= -_SLACK and v >= -_SLACK and w >= -_SLACK:
                    depth = u * inverse[a] + v * inverse[b] + w * inverse[c]
                    if depth > nearest[i, j]:
                        nearest[i, j] = depth
                        winner[i, j] = t


@inlined
def _weights(x: float, y: float, a: int, b: int, c: int, xy: Array, inverse: Array) -> tuple[float, float, float]:
    """Perspective-correct weights of a triangle's corners at a place on the sheet."""
    ax, ay, bx, by, cx, cy = xy[a, 0] - x, xy[a, 1] - y, xy[b, 0] - x, xy[b, 1] - y, xy[c, 0] - x, xy[c, 1] - y
    u = (bx * cy - by * cx) * inverse[a]
    v = (cx * ay - cy * ax) * inverse[b]
    w = (ax * by - ay * bx) * inverse[c]
    total = u + v + w
    return u / total, v / total, w / total


@compiled
def resolve(
    winner: NDArray[np.int32],
    xy: Array,
    inverse: Array,
    triangles: IndexArray,
    values: Array,
    normals: Array,
    step: int,
    found: NDArray[np.float32],
    facing: NDArray[np.float32],
    ray: Array,
) -> None:
    """Interpolate `values` (n, k) and `normals` (n, 3) at every `step`-th sample of a sheet.

    found: (rows / step, columns / step, k) and facing: (…, 3), unit normals turned to the eye; ray: (4, 3) of the
    sample at (0, 0) and its change per column and per row, and the eye's position. Samples without triangle stay.
    """
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            t = winner[i * step, j * step]
            if t < 0:
                continue
            a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            u, v, w = _weights(j * step + 0.5, i * step + 0.5, a, b, c, xy, inverse)
            for k in range(values.shape[1]):
                found[i, j, k] = u * values[a, k] + v * values[b, k] + w * values[c, k]
            front = _area(a, b, c, xy) < 0.0  # rows run downward, so that what turns left in space turns right here
            length, toward, sight = 0.0, 0.0, 0.0
            for k in range(3):
                n = u * normals[a, k] + v * normals[b, k] + w * normals[c, k]
                d = ray[0, k] + j * step * ray[1, k] + i * step * ray[2, k]
                facing[i, j, k] = n if front else -n
                toward += facing[i, j, k] * d
                sight += d * d
            # at a silhouette the mixed normal may point away from the eye; it is bent back to the horizon
            bend = max(toward, 0.0) / sight
            for k in range(3):
                facing[i, j, k] -= bend * (ray[0, k] + j * step * ray[1, k] + i * step * ray[2, k])
                length += facing[i, j, k] ** 2
            if length > 0.0:
                for k in range(3):
                    facing[i, j, k] /= np.sqrt(length)


@compiled
def backdrop(
    winner: NDArray[np.int32],
    step: int,
    ray: Array,
    room: Array,
    colors: Array,
    found: NDArray[np.float32],
    facing: NDArray[np.float32],
) -> None:
    """Fill the samples that no triangle covers with the cyclorama: depth, colour, gloss -1 (no mirror at all), normal.

    colors: (2, 3) linear, floor and wall; found: (rows, columns, 5) depth, colour, gloss.
    """
    bx, by, ground, end, radius, far = room[3], room[4], room[5], room[6], room[7], room[8]
    start = room[0] * bx + room[1] * by
    height = room[2] - ground
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            if winner[i * step, j * step] >= 0:
                continue
            dx = ray[0, 0] + j * step * ray[1, 0] + i * step * ray[2, 0]
            dy = ray[0, 1] + j * step * ray[1, 1] + i * step * ray[2, 1]
            dz = ray[0, 2] + j * step * ray[1, 2] + i * step * ray[2, 2]
            along = dx * bx + dy * by
            t, angle = _cyclorama(start, height, along, dz, end, radius, far)
            share = angle / (np.pi / 2)
            found[i, j, 0] = t
            for k in range(3):
                found[i, j, 1 + k] = colors[0, k] + share * (colors[1, k] - colors[0, k])
            found[i, j, 4] = -1.0
            facing[i, j, 0] = -np.sin(angle) * bx
            facing[i, j, 1] = -np.sin(angle) * by
            facing[i, j, 2] = np.cos(angle)


@inlined
def _cyclorama(
    start: float, height: float, along: float, up: float, end: float, radius: float, far: float
) -> tuple[float, float]:
    """Where a ray in the profile plane meets floor, fillet or wall: its parameter, and the surface's tilt."""
    if up < 0.0:
        t = -height / up
        if start + t * along <= end:
            return min(t, far), 0.0
    if along <= 0.0:
        return far, np.pi / 2
    x, z = start - end, height - radius
    square, cross = along * along + up * up, x * along + z * up
    root = cross * cross - square * (x * x + z * z - radius * radius)
    if root >= 0.0:
        t = (-cross + np.sqrt(root)) / square
        if t > 0.0 and x + t * along > 0.0 and z + t * up < 0.0:
            return min(t, far), np.arctan2(x + t * along, -(z + t * up))
    return min((radius - x) / along, far), np.pi / 2


@compiled
def pool(light: NDArray[np.float32], fine: int, curve: NDArray[np.float32], top: float, out: NDArray[np.uint8]) -> None:
    """Average fine x fine samples after the tone curve, a table over light from 0 to `top`, to 8 bits."""
    last = curve.shape[0] - 1
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            for k in range(3):
                total = 0.0
                for a in range(fine):
                    for b in range(fine):
                        at = min(light[i * fine + a, j * fine + b, k] / top, 1.0) * last
                        low = min(int(at), last - 1)
                        total += curve[low] + (at - low) * (curve[low + 1] - curve[low])
                out[i, j, k] = int(255.0 * total / (fine * fine) + 0.5)
