"""The compiled loops equal their NumPy twins, and the light's closed form an integral over the softbox."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.pictures import kernels_raster, kernels_shading
from cajole.pictures.draft_renderer import SPECULAR_PARAMETERS, _build_light_frame

RNG = np.random.default_rng(12)


def _cross(a, b):
    """The z of a × b for vectors in the plane."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _soup(count=30, rows=20, columns=30):
    xy = RNG.uniform(-4, 1.2 * columns, size=(3 * count, 2))
    return xy, RNG.uniform(0.2, 2, 3 * count), np.arange(3 * count).reshape(-1, 3), rows, columns


def _barycentric(xy, triangles, points):
    """(m, k, 3) weights of the corners of m triangles at k points."""
    a, b, c = (xy[triangles[:, k]][:, None] - points for k in range(3))
    parts = np.stack([_cross(b, c), _cross(c, a), _cross(a, b)], axis=-1)
    return parts / parts.sum(axis=-1, keepdims=True)


def _raster(xy, inverse, triangles, rows, columns):
    y, x = np.mgrid[0:rows, 0:columns] + 0.5
    points = np.stack([x.ravel(), y.ravel()], axis=1)
    weights = _barycentric(xy, triangles, points)
    depth = np.where((weights >= 0).all(axis=2), (weights * inverse[triangles][:, None]).sum(axis=2), 0.0)
    winner = np.where(depth.max(axis=0) > 0, depth.argmax(axis=0), -1)
    return winner.reshape(rows, columns), depth.max(axis=0).reshape(rows, columns)


def _compiled_raster(xy, inverse, triangles, rows, columns):
    winner, nearest = np.full((rows, columns), -1, dtype=np.int32), np.zeros((rows, columns), dtype=np.float32)
    kernels_raster.rasterise(xy, inverse, triangles, winner, nearest)
    return winner, nearest


def test_rasterise_agreement():
    soup = _soup()
    winner, nearest = _compiled_raster(*soup)
    expected, depth = _raster(*soup)
    assert 0.3 < (expected >= 0).mean() < 1
    assert (winner == expected).all()
    assert np.allclose(nearest, depth, atol=1e-6)


def test_resolve_agreement():
    xy, inverse, triangles, rows, columns = _soup(count=12)
    winner, _ = _compiled_raster(xy, inverse, triangles, rows, columns)
    values, normals = RNG.normal(size=(len(xy), 5)), RNG.normal(size=(len(xy), 3))
    ray = np.array([[0.1, -0.3, 1.0], [0.01, 0.0, 0.002], [0.0, 0.02, 0.0], [0.0, 0.0, 0.0]])
    found, facing = np.zeros((rows, columns, 5), np.float32), np.zeros((rows, columns, 3), np.float32)
    kernels_raster.interpolate_attributes(winner, xy, inverse, triangles, values, normals, 1, found, facing, ray)
    i, j = np.nonzero(winner >= 0)
    corners = triangles[winner[i, j]]
    flat = np.stack(
        [_barycentric(xy, corners[k : k + 1], np.array([[j[k] + 0.5, i[k] + 0.5]]))[0, 0] for k in range(len(i))]
    )
    weights = flat * inverse[corners]
    weights /= weights.sum(axis=1, keepdims=True)
    assert np.allclose(found[i, j], np.einsum("kc,kcv->kv", weights, values[corners]), atol=1e-5)
    n = np.einsum("kc,kcv->kv", weights, normals[corners])
    turn = _cross(xy[corners[:, 1]] - xy[corners[:, 0]], xy[corners[:, 2]] - xy[corners[:, 0]])
    n *= np.where(turn < 0, 1, -1)[:, None]
    d = ray[0] + j[:, None] * ray[1] + i[:, None] * ray[2]
    n -= np.maximum((n * d).sum(axis=1), 0)[:, None] * d / (d**2).sum(axis=1)[:, None]
    assert np.allclose(facing[i, j], n / np.linalg.norm(n, axis=1, keepdims=True), atol=1e-5)
    assert not found[winner < 0].any()


def test_backdrop_agreement():
    """Rays end where marching along them leaves the room: under the floor, outside the fillet, behind the wall."""
    rows, columns, end, radius, far = 24, 16, 3.0, 2.6, 60.0
    eye = np.array([-4.0, 0.0, 1.5])
    ray = np.array([[1.0, 0.3, 0.9], [0.0, -0.04, 0.0], [0.0, 0.0, -0.08], [0.0, 0.0, 0.0]])
    found, facing = np.zeros((rows, columns, 5), np.float32), np.zeros((rows, columns, 3), np.float32)
    room = np.array([*eye, 1.0, 0.0, -0.5, end, radius, far])
    colors = np.array([[0.1, 0.2, 0.3], [0.7, 0.8, 0.9]])
    kernels_raster.fill_backdrop(np.full((rows, columns), -1, np.int32), 1, ray, room, colors, found, facing)
    j, i = np.meshgrid(np.arange(columns), np.arange(rows))
    d = ray[0] + j[..., None] * ray[1] + i[..., None] * ray[2]
    t = np.linspace(0, 12, 24_001)
    x, z = eye[0] + t * d[..., :1], eye[2] + 0.5 + t * d[..., 2:]
    out = (z < 0) | (x > end + radius) | ((x > end) & (z < radius) & (np.hypot(x - end, z - radius) > radius))
    assert np.allclose(found[..., 0], t[out.argmax(axis=2)], atol=1e-3)
    at = eye + found[..., :1] * d
    share = np.where(
        at[..., 0] <= end, 0, np.arctan2(at[..., 0] - end, np.maximum(radius - at[..., 2] - 0.5, 0)) / (np.pi / 2)
    )
    assert np.allclose(found[..., 1:4], colors[0] + share[..., None] * (colors[1] - colors[0]), atol=1e-3)
    assert (found[..., 4] == -1).all()
    assert set(np.sign(share.ravel()).astype(int)) == {0, 1}
    assert np.allclose(np.linalg.norm(facing, axis=2), 1, atol=1e-5)
    assert ((facing * d).sum(axis=2) < 0).all()


def test_visibility_agreement():
    positions = np.array([[0.0, 0, 9], [3, 0, 8], [-2, 5, 6], [0, 0, -9]])
    frames, group, side = np.stack([_build_light_frame(p) for p in positions]), np.array([0, 0, 1, 1]), 16
    maps = RNG.uniform(0.08, 0.13, size=(4, side, side)).astype(np.float32)
    points = RNG.uniform(-0.9, 0.9, size=(5, 6, 3)).astype(np.float32)
    facing = RNG.normal(size=(5, 6, 3)).astype(np.float32)
    facing /= np.linalg.norm(facing, axis=2, keepdims=True)
    lift = RNG.uniform(0, 0.03, size=(5, 6)).astype(np.float32)
    seen = np.empty((5, 6, 2), dtype=np.float32)
    kernels_shading.compute_light_visibility(points, facing, maps, frames, group, lift, seen)
    for at in np.ndindex(5, 6):
        total, lit = np.zeros(2), np.zeros(2)
        for l in range(4):
            p = points[at].astype(float) + lift[at] * facing[at]
            right, up, depth = frames[l, 1:4] @ (p - positions[l])
            cosine = max((positions[l] - p) @ facing[at] / np.linalg.norm(positions[l] - p), 0)
            total[group[l]] += cosine
            x, y = (np.array([right, -up]) / (depth * frames[l, 4, 0]) + 1) * side / 2 - 0.5
            lit[group[l]] += cosine * _mixed(maps[l], x, y, 1 / (depth - lift[at]))
        assert seen[at] == pytest.approx(np.where(total > 0, lit / np.where(total > 0, total, 1), 1), abs=1e-5)
    assert 0.1 < seen.mean() < 0.95


def _mixed(sheet, x, y, inverse):
    side = len(sheet)
    if min(x, y) < 0 or max(x, y) >= side - 1:
        return 1.0
    j, i = int(x), int(y)
    u, v = x - j, y - i
    lit = sheet[i : i + 2, j : j + 2] <= inverse
    return float(np.array([1 - v, v]) @ lit @ np.array([1 - u, u]))


def test_smooth_agreement():
    rows, columns, step, reach = 9, 11, 2, 0.3
    seen = RNG.uniform(size=(rows, columns, 2)).astype(np.float32)
    points = RNG.uniform(size=(rows, columns, 3)).astype(np.float32) * np.float32(0.4)
    facing = np.tile(np.float32([0, 0.6, 0.8]), (rows, columns, 1)) + RNG.normal(
        scale=0.2, size=(rows, columns, 3)
    ).astype(np.float32)
    out = np.empty_like(seen)
    kernels_shading.blur_visibility(seen, points, facing, step, reach, out)
    taps = np.array([1, 4, 6, 4, 1]) / 16
    for i, j in np.ndindex(rows, columns):
        total, weights = np.zeros(2), 0.0
        for a, b in np.ndindex(5, 5):
            y, x = i + (a - 2) * step, j + (b - 2) * step
            if 0 <= y < rows and 0 <= x < columns:
                off = (points[y, x] - points[i, j]) @ facing[i, j]
                w = taps[a] * taps[b] * max(facing[y, x] @ facing[i, j], 0) ** 4 * max(1 - (off / reach) ** 2, 0)
                total, weights = total + w * seen[y, x], weights + w
        assert out[i, j] == pytest.approx(total / weights, abs=1e-5)


def test_smooth_keeps_a_constant_and_stops_at_edges_identity():
    seen = np.zeros((8, 8, 1), dtype=np.float32)
    seen[:, 4:] = 1
    points, facing, out = np.zeros((8, 8, 3), np.float32), np.zeros((8, 8, 3), np.float32), np.empty_like(seen)
    facing[..., 2] = 1
    points[:, 4:, 2] = 1.0  # a step in depth where the light changes
    kernels_shading.blur_visibility(seen, points, facing, 1, 0.1, out)
    assert (out == seen).all()


def test_pool_agreement():
    light = RNG.uniform(0, 5, size=(6, 8, 3)).astype(np.float32)
    curve = np.linspace(0, 1, 65).astype(np.float32) ** 2
    out = np.empty((3, 4, 3), dtype=np.uint8)
    kernels_raster.tonemap_and_downsample(light, 2, curve, 4.0, out)
    values = np.interp(light, np.linspace(0, 4, 65), curve)
    expected = 255 * values.reshape(3, 2, 4, 2, 3).mean(axis=(1, 3))
    assert np.abs(out - expected).max() <= 0.5 + 1e-3


BOX = np.array([[0.5, -1.0, 4.0], [1, 0, 0], [0, 1, 0], [0, 0, -1], [1.2, 0, 0]])
SIDE = np.array([[3.0, 0.0, 0.5], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0.5, 0, 0]])


def _form(p, n, box):
    d = box[0] - p
    square, area = d @ d, 4 * box[4, 0] ** 2
    cosine, out = d @ n / np.sqrt(square), -(d @ box[3]) / np.sqrt(square)
    s = np.sqrt(area / np.pi / (square + area / np.pi))
    cosine = (cosine + s) ** 2 / (4 * s) if abs(cosine) < s else max(cosine, 0)
    return max(out, 0) * cosine * area / (square + area / np.pi) / np.pi


def _mirror(p, r, box, blur):
    ahead, down = (box[0] - p) @ box[3], r @ box[3]
    if down >= 0 or ahead >= 0:
        return 0.0
    t, half = ahead / down, box[4, 0]
    off, width = p + t * r - box[0], blur * ahead / down
    s = np.clip((half + width - np.abs(box[1:3] @ off)) / (2 * width), 0, 1)
    return half**2 / (half + width) ** 2 * np.prod(s * s * (3 - 2 * s))


def test_shade_agreement():
    """One coarse sample, so that every sample has the same shares of light."""
    rows = columns = 6
    found = RNG.uniform(0.1, 0.9, size=(rows, columns, 5)).astype(np.float32)
    found[..., 0] += 2
    found[0, :, 4] = -1
    facing = RNG.normal(size=(rows, columns, 3)).astype(np.float32)
    facing /= np.linalg.norm(facing, axis=2, keepdims=True)
    share, glow, floor = np.array([0.9, 0.5, 0.7, 0.6]), RNG.uniform(0.5, 3, size=(4, 3)), -1.0
    ray = np.array([[-0.2, 1.0, 0.2], [0.1, 0, 0], [0, 0, -0.1], [0.0, -2.5, 0.1]])
    out = np.empty((rows, columns, 3), dtype=np.float32)
    seen, near, turned = np.float32(share)[None, None], found[:1, :1].copy(), facing[:1, :1].copy()
    kernels_shading.shade_samples(
        found, facing, seen, near, turned, rows, ray, np.stack([BOX, SIDE]), glow, SPECULAR_PARAMETERS, floor, out
    )
    for i, j in np.ndindex(rows, columns):
        d = ray[0] + j * ray[1] + i * ray[2]
        n, gloss, color = facing[i, j].astype(float), float(found[i, j, 4]), found[i, j, 1:4]
        p, v = ray[3] + found[i, j, 0] * d, d / np.linalg.norm(d)
        lit = np.array([_form(p, n, BOX), _form(p, n, SIDE), 0.5 + 0.5 * n[2], 0.5 - 0.5 * n[2]]) * share
        lit[3] *= 0.5 if gloss < 0 else min(0.3 + 0.7 * (p[2] - floor) / 0.4, 1)
        expected = color * (lit @ glow)
        if gloss >= 0:
            r = v - 2 * (v @ n) * n
            blur, base = SPECULAR_PARAMETERS[0] + gloss * (SPECULAR_PARAMETERS[1] - SPECULAR_PARAMETERS[0])
            fresnel = base + (1 - base) * (1 - np.clip(-(v @ n), 0, 1)) ** 5 * (1 - blur) ** 2
            shine = [_mirror(p, r, BOX, blur), _mirror(p, r, SIDE, blur), 0.5 + 0.5 * r[2], 0.5 - 0.5 * r[2]]
            expected = expected + fresnel * ((np.array(shine) * share) @ glow)
        assert out[i, j] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_softbox_reference():
    """E / π L of a square light by summing 200 x 200 patches, cosθ cosθ' dA / (π d²); the closed form is within 5 %."""
    steps = (np.arange(200) + 0.5) / 100 - 1
    u, v = np.meshgrid(steps, steps)
    patches = BOX[0] + BOX[4, 0] * (u[..., None] * BOX[1] + v[..., None] * BOX[2])
    for p in RNG.uniform(-0.8, 0.8, size=(6, 3)):
        d = patches - p
        square = (d**2).sum(axis=-1)
        integral = (d[..., 2] ** 2 / square**2).sum() * (BOX[4, 0] / 100) ** 2 / np.pi
        assert _form(p, np.array([0, 0, 1.0]), BOX) == pytest.approx(integral, rel=0.05)
