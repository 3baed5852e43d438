"""Compiled loops of the draft renderer: what light reaches a point, and what leaves it towards the eye."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.pictures.kernels_raster import njit_inline, njit_kernel

# the least share of a pixel's neighbours' weight below which the blur keeps the pixel as it is
_MIN_BLUR_WEIGHT = 1e-6
# the floor and the wall throw less light at each other than the floor at what stands in the middle
_BACKDROP_BOUNCE = 0.5
# what stands on the floor shades the floor it stands on: the share of bounced light there, and where it is whole
_FLOOR_CONTACT_BOUNCE = 0.3
_FULL_BOUNCE_HEIGHT = 0.4
# samples whose depths differ by more than this share are strangers: light is not carried over
_DEPTH_TOLERANCE = 0.03
# the weight of a surface that faces elsewhere, and the sum of weights that is enough to not look further
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
    """The share of each group of lights that a point sees, weighted by the cosine at the surface.

    points, facing: (rows, columns, 3); maps: (lights, side, side) inverse depths as drawn from each light; frames:
    (lights, 5, 3) position, right, up, forward, and (tangent of the half angle, -, -); group: (lights,); lift: how far
    each point is raised off its surface, or it would shade itself;
    seen: (rows, columns, groups).
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
    """How much of the four texels around (x, y) lies behind the point, mixed bilinearly."""
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

    reach: the distance off the tangent plane at which a neighbour counts no more.
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
    """How far two samples belong to one smooth surface, 0 to 1."""
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
    # a light of angular radius s sinks below the horizon gradually
    s = np.sqrt(area / np.pi / (square + area / np.pi))
    if out <= 0.0 or cosine <= -s:
        return 0.0
    if cosine < s:
        cosine = (cosine + s) ** 2 / (4.0 * s)
    return out / distance * cosine * area / (square + area / np.pi) / np.pi


@njit_inline
def _compute_reflected_share(p: Array, r: Array, area_light: Array, blur: float) -> float:
    """How much of a square light a blurred mirror ray from p along r sees."""
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
    """1 well inside `half`, 0 well outside, smooth over twice `width`."""
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
    """Light leaving every sample towards the eye, linear RGB.

    found: (rows, columns, 5) depth, colour, gloss; seen: (rows / step, columns / step, 4) shares of key, rim, sky and
    ground light; near: (same, 5) and turned: (same, 3) what was found there; boxes: (2, 5, 3) the lights;
    glow: (4, 3) radiances of key, rim, sky and ground; look: (2, 2) blur and reflectance of matt and of wet surfaces;
    floor: its height.
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
    """Add what a surface mirrors; r: the ray, turned into the mirrored one; toward: its cosine at the surface."""
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
    """What the coarse samples around (y, x) see, mixed by nearness on the sheet and, above all, by kinship of surface.

    Where the four nearest are all strangers, as floor is to the foot on it, twelve more are asked.
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
