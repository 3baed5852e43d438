"""Compiled loops of the draft renderer: rasterisation, the studio backdrop, and samples to pixels.

A raster is two arrays (rows, columns): `triangle_ids` of the visible triangles (-1: none), and `inverse_depth` at the
centres of the samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.jit import njit

# samples on an edge belong to both triangles, so that rounding leaves no holes
_EDGE_TOLERANCE = 1e-9
# without the flags that assume that there is neither NaN nor infinity
_FASTMATH_FLAGS = {"contract", "reassoc", "nsz", "arcp"}
njit_kernel = njit(cache=True, error_model="numpy", fastmath=_FASTMATH_FLAGS)
njit_inline = njit(cache=True, error_model="numpy", fastmath=_FASTMATH_FLAGS, inline="always")


@njit_inline
def _compute_double_area(a: int, b: int, c: int, xy: Array) -> float:
    """Twice the signed area of a triangle on the screen."""
    return (xy[b, 0] - xy[a, 0]) * (xy[c, 1] - xy[a, 1]) - (xy[b, 1] - xy[a, 1]) * (xy[c, 0] - xy[a, 0])


@njit_kernel
def rasterise(
    xy: Array,
    vertex_inverse_depth: Array,
    triangles: IndexArray,
    triangle_ids: NDArray[np.int32],
    inverse_depth: NDArray[np.float32],
) -> None:
    """Rasterise triangles; xy: (n, 2) in samples; vertex_inverse_depth: (n,), linear on the screen."""
    rows, columns = triangle_ids.shape
    for t in range(triangles.shape[0]):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        ax, ay, bx, by, cx, cy = xy[a, 0], xy[a, 1], xy[b, 0], xy[b, 1], xy[c, 0], xy[c, 1]
        area = _compute_double_area(a, b, c, xy)
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
                if u >= -_EDGE_TOLERANCE and v >= -_EDGE_TOLERANCE and w >= -_EDGE_TOLERANCE:
                    depth = u * vertex_inverse_depth[a] + v * vertex_inverse_depth[b] + w * vertex_inverse_depth[c]
                    if depth > inverse_depth[i, j]:
                        inverse_depth[i, j] = depth
                        triangle_ids[i, j] = t


@njit_inline
def _compute_perspective_weights(
    x: float, y: float, a: int, b: int, c: int, xy: Array, vertex_inverse_depth: Array
) -> tuple[float, float, float]:
    """Perspective-correct barycentric weights at a point of the screen."""
    ax, ay, bx, by, cx, cy = xy[a, 0] - x, xy[a, 1] - y, xy[b, 0] - x, xy[b, 1] - y, xy[c, 0] - x, xy[c, 1] - y
    u = (bx * cy - by * cx) * vertex_inverse_depth[a]
    v = (cx * ay - cy * ax) * vertex_inverse_depth[b]
    w = (ax * by - ay * bx) * vertex_inverse_depth[c]
    total = u + v + w
    return u / total, v / total, w / total


@njit_kernel
def interpolate_attributes(
    triangle_ids: NDArray[np.int32],
    xy: Array,
    vertex_inverse_depth: Array,
    triangles: IndexArray,
    vertex_attributes: Array,
    vertex_normals: Array,
    step: int,
    gbuffer: NDArray[np.float32],
    sample_normals: NDArray[np.float32],
    camera_rays: Array,
) -> None:
    """Interpolate vertex_attributes (n, k) and vertex_normals (n, 3) at every `step`-th sample of a raster.

    gbuffer: (rows / step, columns / step, k) and sample_normals: (…, 3), unit normals towards the camera, are written;
    samples without a triangle keep their values. camera_rays: (4, 3) the ray of sample (0, 0), its change per column
    and per row, and the camera position.
    """
    for i in range(gbuffer.shape[0]):
        for j in range(gbuffer.shape[1]):
            t = triangle_ids[i * step, j * step]
            if t < 0:
                continue
            a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            u, v, w = _compute_perspective_weights(j * step + 0.5, i * step + 0.5, a, b, c, xy, vertex_inverse_depth)
            for k in range(vertex_attributes.shape[1]):
                gbuffer[i, j, k] = (
                    u * vertex_attributes[a, k] + v * vertex_attributes[b, k] + w * vertex_attributes[c, k]
                )
            front = _compute_double_area(a, b, c, xy) < 0.0  # rows run downward, which reverses the orientation
            length, toward, sight = 0.0, 0.0, 0.0
            for k in range(3):
                n = u * vertex_normals[a, k] + v * vertex_normals[b, k] + w * vertex_normals[c, k]
                d = camera_rays[0, k] + j * step * camera_rays[1, k] + i * step * camera_rays[2, k]
                sample_normals[i, j, k] = n if front else -n
                toward += sample_normals[i, j, k] * d
                sight += d * d
            # near a silhouette the interpolated normal may point away from the camera: rotate it to the horizon
            bend = max(toward, 0.0) / sight
            for k in range(3):
                sample_normals[i, j, k] -= bend * (
                    camera_rays[0, k] + j * step * camera_rays[1, k] + i * step * camera_rays[2, k]
                )
                length += sample_normals[i, j, k] ** 2
            if length > 0.0:
                for k in range(3):
                    sample_normals[i, j, k] /= np.sqrt(length)


@njit_kernel
def fill_backdrop(
    triangle_ids: NDArray[np.int32],
    step: int,
    camera_rays: Array,
    parameters: Array,
    colors: Array,
    gbuffer: NDArray[np.float32],
    sample_normals: NDArray[np.float32],
) -> None:
    """Fill samples without a triangle with the cyclorama: depth, colour, gloss -1 (no reflection), normal.

    parameters: camera position (3), horizontal back direction (2), floor height, end of the floor, radius of the
    fillet, longest ray. colors: (2, 3) linear, floor and wall; gbuffer: (rows, columns, 5) depth, colour, gloss.
    """
    bx, by, ground, end, radius, far = (
        parameters[3],
        parameters[4],
        parameters[5],
        parameters[6],
        parameters[7],
        parameters[8],
    )
    start = parameters[0] * bx + parameters[1] * by
    height = parameters[2] - ground
    for i in range(gbuffer.shape[0]):
        for j in range(gbuffer.shape[1]):
            if triangle_ids[i * step, j * step] >= 0:
                continue
            dx = camera_rays[0, 0] + j * step * camera_rays[1, 0] + i * step * camera_rays[2, 0]
            dy = camera_rays[0, 1] + j * step * camera_rays[1, 1] + i * step * camera_rays[2, 1]
            dz = camera_rays[0, 2] + j * step * camera_rays[1, 2] + i * step * camera_rays[2, 2]
            along = dx * bx + dy * by
            t, angle = _intersect_cyclorama(start, height, along, dz, end, radius, far)
            share = angle / (np.pi / 2)
            gbuffer[i, j, 0] = t
            for k in range(3):
                gbuffer[i, j, 1 + k] = colors[0, k] + share * (colors[1, k] - colors[0, k])
            gbuffer[i, j, 4] = -1.0
            sample_normals[i, j, 0] = -np.sin(angle) * bx
            sample_normals[i, j, 1] = -np.sin(angle) * by
            sample_normals[i, j, 2] = np.cos(angle)


@njit_inline
def _intersect_cyclorama(
    start: float, height: float, along: float, up: float, floor_end: float, radius: float, max_length: float
) -> tuple[float, float]:
    """Where a ray in the profile plane meets floor, fillet or wall: its parameter, and the surface's tilt."""
    if up < 0.0:
        t = -height / up
        if start + t * along <= floor_end:
            return min(t, max_length), 0.0
    if along <= 0.0:
        return max_length, np.pi / 2
    x, z = start - floor_end, height - radius
    square, cross = along * along + up * up, x * along + z * up
    root = cross * cross - square * (x * x + z * z - radius * radius)
    if root >= 0.0:
        t = (-cross + np.sqrt(root)) / square
        if t > 0.0 and x + t * along > 0.0 and z + t * up < 0.0:
            return min(t, max_length), np.arctan2(x + t * along, -(z + t * up))
    return min((radius - x) / along, max_length), np.pi / 2


@njit_kernel
def tonemap_and_downsample(
    radiance: NDArray[np.float32],
    factor: int,
    tone_curve: NDArray[np.float32],
    max_radiance: float,
    out: NDArray[np.uint8],
) -> None:
    """Average factor x factor samples after the tone curve, a table over 0..max_radiance, to 8 bits."""
    last = tone_curve.shape[0] - 1
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            for k in range(3):
                total = 0.0
                for a in range(factor):
                    for b in range(factor):
                        at = min(radiance[i * factor + a, j * factor + b, k] / max_radiance, 1.0) * last
                        low = min(int(at), last - 1)
                        total += tone_curve[low] + (at - low) * (tone_curve[low + 1] - tone_curve[low])
                out[i, j, k] = int(255.0 * total / (factor * factor) + 0.5)
