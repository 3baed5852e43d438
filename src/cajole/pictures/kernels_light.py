"""Compiled loops of the draft renderer: what light reaches a point, and what leaves it towards the eye."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.pictures.kernels import compiled, inlined

# the least share of a pixel's neighbours' weight below which the blur keeps the pixel as it is
_LEAST_WEIGHT = 1e-6
# the floor and the wall throw less light at each other than the floor at what stands in the middle
_SET_BOUNCE = 0.5
# what stands on the floor shades the floor it stands on: the share of bounced light there, and where it is whole
_CONTACT = 0.3
_LIT_HEIGHT = 0.4
# samples whose depths differ by more than this share are strangers: light is not carried over
_KIN = 0.03
# the weight of a surface that faces elsewhere, and the sum of weights that is enough to not look further
_STRANGER = 1e-3
_ENOUGH = 0.15


@compiled
def visibility(
    points: NDArray[np.float32],
    facing: NDArray[np.float32],
    maps: NDArray[np.float32],
    frames: Array,
    group: IndexArray,
    lift: NDArray[np.float32],
    seen: NDArray[np.float32],
) -> None:
    """The share of each group of lights that a point sees, weighted by the cosine at the surface.

    points, facing: (rows, columns, 3); maps: (lights, side, side) inverse depths as drawn from each light; frames:
    (lights, 5, 3) position, right, up, forward, and (tangent of the half angle, -, -); group: (lights,); lift: how far
    each point is raised off its surface, or it would shade itself;
    seen: (rows, columns, groups).
    """
    side = maps.shape[1]
    total = np.zeros(seen.shape[2])
    open_ = np.zeros(seen.shape[2])
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            total[:] = 0.0
            open_[:] = 0.0
            bias = lift[i, j]
            nx, ny, nz = facing[i, j, 0], facing[i, j, 1], facing[i, j, 2]
            px, py, pz = points[i, j, 0] + bias * nx, points[i, j, 1] + bias * ny, points[i, j, 2] + bias * nz
            for l in range(maps.shape[0]):
                dx, dy, dz = px - frames[l, 0, 0], py - frames[l, 0, 1], pz - frames[l, 0, 2]
                depth = dx * frames[l, 3, 0] + dy * frames[l, 3, 1] + dz * frames[l, 3, 2]
                cosine = -(dx * nx + dy * ny + dz * nz)
                if cosine <= 0.0 or depth <= 0.0:
                    continue
                cosine /= np.sqrt(dx * dx + dy * dy + dz * dz)
                total[group[l]] += cosine
                scale = 0.5 * side / (depth * frames[l, 4, 0])
                x = 0.5 * side + scale * (dx * frames[l, 1, 0] + dy * frames[l, 1, 1] + dz * frames[l, 1, 2]) - 0.5
                y = 0.5 * side - scale * (dx * frames[l, 2, 0] + dy * frames[l, 2, 1] + dz * frames[l, 2, 2]) - 0.5
                open_[group[l]] += cosine * _lit(maps[l], x, y, 1.0 / (depth - bias))
            for g in range(seen.shape[2]):
                seen[i, j, g] = open_[g] / total[g] if total[g] > 0.0 else 1.0


@inlined
def _lit(sheet: NDArray[np.float32], x: float, y: float, inverse: float) -> float:
    """How much of the four texels around (x, y) lies behind the point, mixed bilinearly."""
    side = sheet.shape[0]
    if x < 0.0 or y < 0.0 or x >= side - 1 or y >= side - 1:
        return 1.0
    j, i = int(x), int(y)
    u, v = x - j, y - i
    lit = 0.0
    if sheet[i, j] <= inverse:
        lit += (1 - u) * (1 - v)
    if sheet[i, j + 1] <= inverse:
        lit += u * (1 - v)
    if sheet[i + 1, j] <= inverse:
        lit += (1 - u) * v
    if sheet[i + 1, j + 1] <= inverse:
        lit += u * v
    return lit


@compiled
def smooth(
    seen: NDArray[np.float32],
    points: NDArray[np.float32],
    facing: NDArray[np.float32],
    step: int,
    reach: float,
    out: NDArray[np.float32],
) -> None:
    """One pass of an à-trous blur (5 x 5 taps, `step` pixels apart) that stops at edges of depth and direction.

    reach: the distance off the tangent plane at which a neighbour counts no more.
    """
    rows, columns, groups = seen.shape
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
                    w = taps[di + 2] * taps[dj + 2] * _kinship(points, facing, i, j, y, x, reach)
                    if w > 0.0:
                        weights += w
                        for g in range(groups):
                            total[g] += w * seen[y, x, g]
            for g in range(groups):
                out[i, j, g] = total[g] / weights if weights > _LEAST_WEIGHT else seen[i, j, g]


@inlined
def _kinship(
    points: NDArray[np.float32], facing: NDArray[np.float32], i: int, j: int, y: int, x: int, reach: float
) -> float:
    """How far two samples belong to one smooth surface, 0 to 1."""
    off, same = 0.0, 0.0
    for k in range(3):
        off += (points[y, x, k] - points[i, j, k]) * facing[i, j, k]
        same += facing[y, x, k] * facing[i, j, k]
    if same <= 0.0:
        return 0.0
    return same**4 * max(1.0 - (off / reach) ** 2, 0.0)


@inlined
def _softbox(p: Array, n: Array, box: Array) -> float:
    """The form factor of a square light, π E / (L A'), with E = L A cosθ cosθ' / (d² + A/π): exact on a disc's axis."""
    square, out, cosine = 0.0, 0.0, 0.0
    for k in range(3):
        d = box[0, k] - p[k]
        square += d * d
        cosine += d * n[k]
        out -= d * box[3, k]
    area = 4.0 * box[4, 0] * box[4, 0]
    distance = np.sqrt(square)
    cosine /= distance
    # a light of angular radius s sinks below the horizon gradually
    s = np.sqrt(area / np.pi / (square + area / np.pi))
    if out <= 0.0 or cosine <= -s:
        return 0.0
    if cosine < s:
        cosine = (cosine + s) ** 2 / (4.0 * s)
    return out / distance * cosine * area / (square + area / np.pi) / np.pi


@inlined
def _mirrored(p: Array, r: Array, box: Array, blur: float) -> float:
    """How much of a square light a blurred mirror ray from p along r sees."""
    ahead, down = 0.0, 0.0
    for k in range(3):
        ahead += (box[0, k] - p[k]) * box[3, k]
        down += r[k] * box[3, k]
    if ahead * down <= 0.0 or down >= 0.0:
        return 0.0
    t = ahead / down
    u, v = 0.0, 0.0
    for k in range(3):
        off = p[k] + t * r[k] - box[0, k]
        u += off * box[1, k]
        v += off * box[2, k]
    half = box[4, 0]
    width = blur * t
    share = half * half / ((half + width) * (half + width))
    return share * _fade(abs(u), half, width) * _fade(abs(v), half, width)


@inlined
def _fade(x: float, half: float, width: float) -> float:
    """1 well inside `half`, 0 well outside, smooth over twice `width`."""
    s = min(max((half + width - x) / (2.0 * width), 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


@compiled
def shade(
    found: NDArray[np.float32],
    facing: NDArray[np.float32],
    seen: NDArray[np.float32],
    near: NDArray[np.float32],
    turned: NDArray[np.float32],
    step: int,
    ray: Array,
    boxes: Array,
    glow: Array,
    look: Array,
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
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            depth, gloss = found[i, j, 0], found[i, j, 4]
            length, toward = 0.0, 0.0
            for k in range(3):
                d = ray[0, k] + j * ray[1, k] + i * ray[2, k]
                n[k] = facing[i, j, k]
                r[k] = d
                p[k] = ray[3, k] + depth * d
                length += d * d
                toward += d * n[k]
            _share(seen, near, turned, (i + 0.5) / step - 0.5, (j + 0.5) / step - 0.5, depth, n, share)
            key, rim = _softbox(p, n, boxes[0]) * share[0], _softbox(p, n, boxes[1]) * share[1]
            sky, ground = (0.5 + 0.5 * n[2]) * share[2], (0.5 - 0.5 * n[2]) * share[3]
            if gloss < 0.0:
                ground *= _SET_BOUNCE
            else:
                ground *= min(_CONTACT + (1.0 - _CONTACT) * (p[2] - floor) / _LIT_HEIGHT, 1.0)
            for k in range(3):
                diffuse = key * glow[0, k] + rim * glow[1, k] + sky * glow[2, k] + ground * glow[3, k]
                out[i, j, k] = found[i, j, 1 + k] * diffuse
            if gloss >= 0.0:
                _mirror(p, n, r, toward / np.sqrt(length), gloss, share, boxes, glow, look, out[i, j])


@compiled
def _mirror(
    p: Array,
    n: Array,
    r: Array,
    toward: float,
    gloss: float,
    share: Array,
    boxes: Array,
    glow: Array,
    look: Array,
    out: NDArray[np.float32],
) -> None:
    """Add what a surface mirrors; r: the ray, turned into the mirrored one; toward: its cosine at the surface."""
    length = np.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    for k in range(3):
        r[k] = r[k] / length - 2.0 * toward * n[k]
    blur = look[0, 0] + gloss * (look[1, 0] - look[0, 0])
    base = look[0, 1] + gloss * (look[1, 1] - look[0, 1])
    grazing = (1.0 - min(max(-toward, 0.0), 1.0)) ** 5
    fresnel = base + (1.0 - base) * grazing * (1.0 - blur) ** 2
    key, rim = _mirrored(p, r, boxes[0], blur) * share[0], _mirrored(p, r, boxes[1], blur) * share[1]
    sky, ground = (0.5 + 0.5 * r[2]) * share[2], (0.5 - 0.5 * r[2]) * share[3]
    for k in range(3):
        out[k] += fresnel * (key * glow[0, k] + rim * glow[1, k] + sky * glow[2, k] + ground * glow[3, k])


@inlined
def _share(
    seen: NDArray[np.float32],
    near: NDArray[np.float32],
    turned: NDArray[np.float32],
    y: float,
    x: float,
    depth: float,
    n: Array,
    out: Array,
) -> None:
    """What the coarse samples around (y, x) see, mixed by nearness on the sheet and, above all, by kinship of surface.

    Where the four nearest are all strangers, as floor is to the foot on it, twelve more are asked.
    """
    rows, columns, groups = seen.shape
    i, j = int(np.floor(y)), int(np.floor(x))
    for ring in range(2):
        out[:] = 0.0
        total = 0.0
        for a in range(max(i - ring, 0), min(i + 2 + ring, rows)):
            for b in range(max(j - ring, 0), min(j + 2 + ring, columns)):
                off = (near[a, b, 0] - depth) / (_KIN * depth)
                same = n[0] * turned[a, b, 0] + n[1] * turned[a, b, 1] + n[2] * turned[a, b, 2]
                w = (1.001 + ring - abs(a - y)) * (1.001 + ring - abs(b - x)) / (1.0 + off * off * off * off)
                w *= max(same, 0.0) ** 4 + _STRANGER
                total += w
                for g in range(groups):
                    out[g] += w * seen[a, b, g]
        for g in range(groups):
            out[g] /= total
        if total > _ENOUGH:
            return
