"""Compiled loops of the draft renderer: visibility of lights, and shading of samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.pictures.kernels_raster import njit_inline, njit_kernel

# below this sum of weights the blur keeps the sample
_MIN_BLUR_WEIGHT = 1e-6
# floor and wall light each other less than the floor lights the subject
_BACKDROP_BOUNCE = 0.5
# the subject shades the floor below it: share of bounced light at the floor, and height of the full share
_FLOOR_CONTACT_BOUNCE = 0.3
_FULL_BOUNCE_HEIGHT = 0.4
# relative difference of depth at which samples belong to different surfaces
_DEPTH_TOLERANCE = 0.03
# weight of surfaces with other normals, and the sum of weights below which the search widens
_MIN_NORMAL_WEIGHT = 1e-3
_MIN_TOTAL_WEIGHT = 0.15


@njit_kernel
def compute_light_visibility(
    points: NDArray[np.float32],
    normals: NDArray[np.float32],
    shadow_maps: NDArray[np.float32],
    light_frames: Array,
    light_group: IndexArray,
    normal_offset: NDArray[np.float32],
    visible_share: NDArray[np.float32],
) -> None:
    """Visible share of each group of lights at each point, weighted by the cosine at the surface.

    points, normals: (rows, columns, 3); shadow_maps: (lights, side, side) inverse depths; light_frames: (lights, 5, 3)
    position, right, up, forward, and (tangent of the half angle, -, -); light_group: (lights,); normal_offset: (rows,
    columns), an offset along the normal against self-shadowing; visible_share: (rows, columns, groups), written.
    """
    side = shadow_maps.shape[1]
    total = np.zeros(visible_share.shape[2])
    open_ = np.zeros(visible_share.shape[2])
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            total[:] = 0.0
            open_[:] = 0.0
            bias = normal_offset[i, j]
            nx, ny, nz = normals[i, j, 0], normals[i, j, 1], normals[i, j, 2]
            px, py, pz = points[i, j, 0] + bias * nx, points[i, j, 1] + bias * ny, points[i, j, 2] + bias * nz
            for l in range(shadow_maps.shape[0]):
                dx, dy, dz = px - light_frames[l, 0, 0], py - light_frames[l, 0, 1], pz - light_frames[l, 0, 2]
                depth = dx * light_frames[l, 3, 0] + dy * light_frames[l, 3, 1] + dz * light_frames[l, 3, 2]
                cosine = -(dx * nx + dy * ny + dz * nz)
                if cosine <= 0.0 or depth <= 0.0:
                    continue
                cosine /= np.sqrt(dx * dx + dy * dy + dz * dz)
                total[light_group[l]] += cosine
                scale = 0.5 * side / (depth * light_frames[l, 4, 0])
                x = (
                    0.5 * side
                    + scale * (dx * light_frames[l, 1, 0] + dy * light_frames[l, 1, 1] + dz * light_frames[l, 1, 2])
                    - 0.5
                )
                y = (
                    0.5 * side
                    - scale * (dx * light_frames[l, 2, 0] + dy * light_frames[l, 2, 1] + dz * light_frames[l, 2, 2])
                    - 0.5
                )
                open_[light_group[l]] += cosine * _sample_shadow_map(shadow_maps[l], x, y, 1.0 / (depth - bias))
            for g in range(visible_share.shape[2]):
                visible_share[i, j, g] = open_[g] / total[g] if total[g] > 0.0 else 1.0


@njit_inline
def _sample_shadow_map(shadow_map: NDArray[np.float32], x: float, y: float, inverse_depth: float) -> float:
    """Bilinear share of the four texels around (x, y) that do not occlude the point."""
    side = shadow_map.shape[0]
    if x < 0.0 or y < 0.0 or x >= side - 1 or y >= side - 1:
        return 1.0
    j, i = int(x), int(y)
    u, v = x - j, y - i
    lit = 0.0
    if shadow_map[i, j] <= inverse_depth:
        lit += (1 - u) * (1 - v)
    if shadow_map[i, j + 1] <= inverse_depth:
        lit += u * (1 - v)
    if shadow_map[i + 1, j] <= inverse_depth:
        lit += (1 - u) * v
    if shadow_map[i + 1, j + 1] <= inverse_depth:
        lit += u * v
    return lit


@njit_kernel
def blur_visibility(
    visible_share: NDArray[np.float32],
    points: NDArray[np.float32],
    normals: NDArray[np.float32],
    step: int,
    max_plane_distance: float,
    out: NDArray[np.float32],
) -> None:
    """One pass of an à-trous blur (5 x 5 taps, `step` pixels apart) that stops at edges of depth and direction.

    max_plane_distance: distance from the tangent plane beyond which a neighbour has no weight.
    """
    rows, columns, groups = visible_share.shape
    taps = np.array([0.0625, 0.25, 0.375, 0.25, 0.0625])
    total = np.zeros(groups)
    for i in range(rows):
        for j in range(columns):
            total[:] = 0.0
            weights = 0.0
            for di in range(-2, 3):
                y = i + di * step
                if y < 0 or y >= rows:
                    continue
                for dj in range(-2, 3):
                    x = j + dj * step
                    if x < 0 or x >= columns:
                        continue
                    w = (
                        taps[di + 2]
                        * taps[dj + 2]
                        * _compute_similarity(points, normals, i, j, y, x, max_plane_distance)
                    )
                    if w > 0.0:
                        weights += w
                        for g in range(groups):
                            total[g] += w * visible_share[y, x, g]
            for g in range(groups):
                out[i, j, g] = total[g] / weights if weights > _MIN_BLUR_WEIGHT else visible_share[i, j, g]


@njit_inline
def _compute_similarity(
    points: NDArray[np.float32], normals: NDArray[np.float32], i: int, j: int, y: int, x: int, max_plane_distance: float
) -> float:
    """Similarity of two samples, 0 to 1: 1 on one smooth surface."""
    off, same = 0.0, 0.0
    for k in range(3):
        off += (points[y, x, k] - points[i, j, k]) * normals[i, j, k]
        same += normals[y, x, k] * normals[i, j, k]
    if same <= 0.0:
        return 0.0
    return same**4 * max(1.0 - (off / max_plane_distance) ** 2, 0.0)


@njit_inline
def _compute_form_factor(p: Array, n: Array, area_light: Array) -> float:
    """The form factor of a square light, π E / (L A'), with E = L A cosθ cosθ' / (d² + A/π): exact on a disc's axis."""
    square, out, cosine = 0.0, 0.0, 0.0
    for k in range(3):
        d = area_light[0, k] - p[k]
        square += d * d
        cosine += d * n[k]
        out -= d * area_light[3, k]
    area = 4.0 * area_light[4, 0] * area_light[4, 0]
    distance = np.sqrt(square)
    cosine /= distance
    # a light of angular radius s sets gradually
    s = np.sqrt(area / np.pi / (square + area / np.pi))
    if out <= 0.0 or cosine <= -s:
        return 0.0
    if cosine < s:
        cosine = (cosine + s) ** 2 / (4.0 * s)
    return out / distance * cosine * area / (square + area / np.pi) / np.pi


@njit_inline
def _compute_reflected_share(p: Array, r: Array, area_light: Array, blur: float) -> float:
    """Share of a square light that a blurred mirror ray from p along r hits."""
    ahead, down = 0.0, 0.0
    for k in range(3):
        ahead += (area_light[0, k] - p[k]) * area_light[3, k]
        down += r[k] * area_light[3, k]
    if ahead * down <= 0.0 or down >= 0.0:
        return 0.0
    t = ahead / down
    u, v = 0.0, 0.0
    for k in range(3):
        off = p[k] + t * r[k] - area_light[0, k]
        u += off * area_light[1, k]
        v += off * area_light[2, k]
    half = area_light[4, 0]
    width = blur * t
    share = half * half / ((half + width) * (half + width))
    return share * _compute_edge_falloff(abs(u), half, width) * _compute_edge_falloff(abs(v), half, width)


@njit_inline
def _compute_edge_falloff(x: float, half: float, width: float) -> float:
    """Smooth step from 1 at half - width to 0 at half + width."""
    s = min(max((half + width - x) / (2.0 * width), 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


@njit_kernel
def shade_samples(
    gbuffer: NDArray[np.float32],
    normals: NDArray[np.float32],
    visible_share: NDArray[np.float32],
    coarse_gbuffer: NDArray[np.float32],
    coarse_normals: NDArray[np.float32],
    step: int,
    camera_rays: Array,
    area_lights: Array,
    radiances: Array,
    specular: Array,
    floor: float,
    out: NDArray[np.float32],
) -> None:
    """Radiance of every sample towards the camera, linear RGB.

    gbuffer: (rows, columns, 5) depth, colour, gloss; visible_share: (rows / step, columns / step, 4) of key, rim, sky
    and ground light; coarse_gbuffer, coarse_normals: every `step`-th sample; area_lights: (2, 5, 3) centre, axes,
    direction, (half size, -, -); radiances: (4, 3) of key, rim, sky and ground; specular: (2, 2) blur and reflectance
    of matt and of wet surfaces; floor: its height.
    """
    p, n, r, share = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(4)
    for i in range(gbuffer.shape[0]):
        for j in range(gbuffer.shape[1]):
            depth, gloss = gbuffer[i, j, 0], gbuffer[i, j, 4]
            length, toward = 0.0, 0.0
            for k in range(3):
                d = camera_rays[0, k] + j * camera_rays[1, k] + i * camera_rays[2, k]
                n[k] = normals[i, j, k]
                r[k] = d
                p[k] = camera_rays[3, k] + depth * d
                length += d * d
                toward += d * n[k]
            _upsample_visibility(
                visible_share,
                coarse_gbuffer,
                coarse_normals,
                (i + 0.5) / step - 0.5,
                (j + 0.5) / step - 0.5,
                depth,
                n,
                share,
            )
            key, rim = (
                _compute_form_factor(p, n, area_lights[0]) * share[0],
                _compute_form_factor(p, n, area_lights[1]) * share[1],
            )
            sky, ground = (0.5 + 0.5 * n[2]) * share[2], (0.5 - 0.5 * n[2]) * share[3]
            if gloss < 0.0:
                ground *= _BACKDROP_BOUNCE
            else:
                ground *= min(
                    _FLOOR_CONTACT_BOUNCE + (1.0 - _FLOOR_CONTACT_BOUNCE) * (p[2] - floor) / _FULL_BOUNCE_HEIGHT, 1.0
                )
            for k in range(3):
                diffuse = (
                    key * radiances[0, k] + rim * radiances[1, k] + sky * radiances[2, k] + ground * radiances[3, k]
                )
                out[i, j, k] = gbuffer[i, j, 1 + k] * diffuse
            if gloss >= 0.0:
                _add_specular(
                    p, n, r, toward / np.sqrt(length), gloss, share, area_lights, radiances, specular, out[i, j]
                )


@njit_kernel
def _add_specular(
    p: Array,
    n: Array,
    r: Array,
    cosine: float,
    gloss: float,
    visible_share: Array,
    area_lights: Array,
    radiances: Array,
    specular: Array,
    out: NDArray[np.float32],
) -> None:
    """Add the specular reflection; r: the ray, replaced by the mirrored one; cosine: of the ray at the surface."""
    length = np.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    for k in range(3):
        r[k] = r[k] / length - 2.0 * cosine * n[k]
    blur = specular[0, 0] + gloss * (specular[1, 0] - specular[0, 0])
    base = specular[0, 1] + gloss * (specular[1, 1] - specular[0, 1])
    grazing = (1.0 - min(max(-cosine, 0.0), 1.0)) ** 5
    fresnel = base + (1.0 - base) * grazing * (1.0 - blur) ** 2
    key, rim = (
        _compute_reflected_share(p, r, area_lights[0], blur) * visible_share[0],
        _compute_reflected_share(p, r, area_lights[1], blur) * visible_share[1],
    )
    sky, ground = (0.5 + 0.5 * r[2]) * visible_share[2], (0.5 - 0.5 * r[2]) * visible_share[3]
    for k in range(3):
        out[k] += fresnel * (
            key * radiances[0, k] + rim * radiances[1, k] + sky * radiances[2, k] + ground * radiances[3, k]
        )


@njit_inline
def _upsample_visibility(
    visible_share: NDArray[np.float32],
    coarse_gbuffer: NDArray[np.float32],
    coarse_normals: NDArray[np.float32],
    y: float,
    x: float,
    depth: float,
    n: Array,
    out: Array,
) -> None:
    """Visible shares at (y, x), interpolated from coarse samples by distance and by similarity of depth and normal.

    If the four nearest samples belong to other surfaces, twelve more are used.
    """
    rows, columns, groups = visible_share.shape
    i, j = int(np.floor(y)), int(np.floor(x))
    for ring in range(2):
        out[:] = 0.0
        total = 0.0
        for a in range(max(i - ring, 0), min(i + 2 + ring, rows)):
            for b in range(max(j - ring, 0), min(j + 2 + ring, columns)):
                off = (coarse_gbuffer[a, b, 0] - depth) / (_DEPTH_TOLERANCE * depth)
                same = n[0] * coarse_normals[a, b, 0] + n[1] * coarse_normals[a, b, 1] + n[2] * coarse_normals[a, b, 2]
                w = (1.001 + ring - abs(a - y)) * (1.001 + ring - abs(b - x)) / (1.0 + off * off * off * off)
                w *= max(same, 0.0) ** 4 + _MIN_NORMAL_WEIGHT
                total += w
                for g in range(groups):
                    out[g] += w * visible_share[a, b, g]
        for g in range(groups):
            out[g] /= total
        if total > _MIN_TOTAL_WEIGHT:
            return
