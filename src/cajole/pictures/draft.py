"""The draft renderer: a rasteriser with area shadows and sky light, quick enough for loops and for looking.

Light comes from many small maps, each the depths seen from one point of a softbox or of the sky; a point on a surface
asks them all what share of each light it sees, and a blur that stops at edges removes the steps between the maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cajole.animation.shown import linear_from_srgb
from cajole.arrays import Array
from cajole.pictures import kernels, kernels_light
from cajole.pictures.actors import Actor
from cajole.pictures.stage import FILL, FILLET, FLOOR_BEHIND, Light, Stage, toned

Singles = NDArray[np.float32]

# samples along each side of a pixel, and from one sample whose share of each light is asked to the next
FINE = 2
COARSE = 4
# texels along each side of a light's map, and how far a point is lifted off its surface to not shade itself
MAP_SIDE = 224
BIAS = 0.018
# points of the lights: a grid on each softbox, and directions of the sky above and of the lit ground below
KEY_GRID, RIM_GRID = 5, 2
ABOVE, BELOW = 20, 8
SKY_DISTANCE = 12.0
# widths [coarse samples at 960 pixels] of the blur's passes, and how far from the tangent plane it reaches
BLUR_STEPS = (1, 2, 4)
BLUR_REACH = 0.04
# blur of the mirror direction and reflectance at normal incidence: matt and wet
LOOK = np.array([[0.55, 0.028], [0.06, 0.06]])
# what the walls add to the sky's light and what the floor throws back, fitted by eye and mean to traced pictures
SKY_SHARE, WALL_SHARE, GROUND_SHARE = 0.75, 0.25, 1.25
FAR = 60.0
# the tone curve as a table: beyond the brightest everything is white
BRIGHTEST, CURVE_STEPS = 4.0, 4096


@dataclass(frozen=True, eq=False)
class Sheet:
    """Triangles as the camera sees them: what `kernels.rasterise` left, and what it was made from."""

    winner: NDArray[np.int32]
    nearest: Singles
    xy: Array
    inverse: Array
    actor: Actor


def draft(stage: Stage, actors: Sequence[Actor]) -> NDArray[np.uint8]:
    """A picture (height, width, 3) of actors on a stage, both in units of the subject's radius."""
    solid = merged([a for a in actors if a.opacity >= 1])
    sheet = _sheet(stage, solid)
    found, facing = _surfaces(stage, sheet, 1)
    near, turned = (np.ascontiguousarray(a[::COARSE, ::COARSE]) for a in (found, facing))
    seen = _seen(stage, solid, near, turned)
    light = _shade(stage, found, facing, seen, near, turned)
    for ghost in (a for a in actors if a.opacity < 1):
        _lay_over(light, stage, sheet, ghost)
    return _pixels(light)


def features(stage: Stage, actors: Sequence[Actor]) -> tuple[Singles, Singles]:
    """Albedo and normal (height, width, 3) without noise, which a denoiser takes as its guide."""
    sheet = _sheet(stage, merged(list(actors)))
    found, facing = _surfaces(stage, sheet, 1)
    return _pooled(found[..., 1:4]), _pooled(facing)


def coverage(stage: Stage, actors: Sequence[Actor]) -> Singles:
    """(height, width) the share of each pixel that actors cover."""
    return _pooled((_sheet(stage, merged(list(actors))).winner >= 0).astype(np.float32)[..., None])[..., 0]


def merged(actors: Sequence[Actor]) -> Actor:
    """All actors as one."""
    starts = np.cumsum([0, *(len(a.vertices) for a in actors[:-1])])
    return Actor(
        np.concatenate([a.vertices for a in actors]),
        np.concatenate([a.triangles + start for a, start in zip(actors, starts)]),
        np.concatenate([a.normals for a in actors]),
        np.concatenate([a.colors for a in actors]),
        np.concatenate([a.gloss for a in actors]),
    )


def _sheet(stage: Stage, actor: Actor) -> Sheet:
    width, height = stage.camera.view.size
    xy, depth = stage.camera.project(actor.vertices)
    winner = np.full((FINE * height, FINE * width), -1, dtype=np.int32)
    nearest = np.zeros(winner.shape, dtype=np.float32)
    kernels.rasterise(FINE * xy, 1 / depth, actor.triangles, winner, nearest)
    return Sheet(winner, nearest, FINE * xy, 1 / depth, actor)


def _surfaces(stage: Stage, sheet: Sheet, step: int) -> tuple[Singles, Singles]:
    """Depth, linear colour and gloss (rows, columns, 5), and the unit normal towards the eye, at every sample."""
    rows, columns = sheet.winner.shape
    found = np.zeros((rows // step, columns // step, 5), dtype=np.float32)
    facing = np.zeros((rows // step, columns // step, 3), dtype=np.float32)
    actor, ray = sheet.actor, _rays(stage)
    values = np.column_stack([1 / sheet.inverse, linear_from_srgb(actor.colors), actor.gloss])
    kernels.resolve(
        sheet.winner, sheet.xy, sheet.inverse, actor.triangles, values, actor.normals, step, found, facing, ray
    )
    kernels.backdrop(sheet.winner, step, ray, _room(stage), _backdrop_colors(stage), found, facing)
    return found, facing


def _rays(stage: Stage) -> Array:
    """(4, 3) the ray of sample (0, 0), of depth one; its change per column and per row; the eye."""
    view = stage.camera.view
    right, up, forward = view.axes
    across, along = view.tangents
    width, height = FINE * view.size[0], FINE * view.size[1]
    column, row = 2 * across / width * right, -2 * along / height * up
    return np.stack([forward - across * right + along * up + (column + row) / 2, column, row, stage.camera.position])


def _room(stage: Stage) -> Array:
    return np.array([*stage.camera.position, *stage.back[:2], stage.ground, FLOOR_BEHIND, FILLET, FAR])


def _backdrop_colors(stage: Stage) -> Array:
    return linear_from_srgb(np.stack([stage.floor_color, stage.wall_color]))


def _seen(stage: Stage, solid: Actor, near: Singles, facing: Singles) -> Singles:
    """(height, width, 4) the shares of key, rim, sky and ground light that reach each coarse sample."""
    ray = _rays(stage).astype(np.float32)
    rows, columns = near.shape[:2]
    i, j = np.mgrid[0:rows, 0:columns].astype(np.float32) * COARSE
    points = ray[3] + near[..., :1] * (ray[0] + j[..., None] * ray[1] + i[..., None] * ray[2])
    positions, group = _lanterns(stage)
    frames = np.stack([_looking(position) for position in positions])
    maps = np.stack([_depth_map(solid, frame) for frame in frames])
    seen, other = (np.empty((rows, columns, 4), dtype=np.float32) for _ in range(2))
    # the set itself casts no shadow, so that its points need no lift, and shadows begin where feet touch the floor
    lift = np.where(near[..., 4] < 0, np.float32(0), np.float32(BIAS))
    kernels_light.visibility(points, facing, maps, frames, group, lift, seen)
    for step in BLUR_STEPS:
        kernels_light.smooth(seen, points, facing, max(round(step * columns / 480), 1), BLUR_REACH, other)
        seen, other = other, seen
    return seen


def _lanterns(stage: Stage) -> tuple[Array, NDArray[np.int64]]:
    """(k, 3) points that light comes from, and which light each belongs to: key, rim, sky, ground."""
    key, rim = stage.lights
    sets = [_on_box(key, KEY_GRID), _on_box(rim, RIM_GRID), _dome(ABOVE), _dome(BELOW) * [1, 1, -1]]
    return np.concatenate(sets), np.repeat(np.arange(4), [len(s) for s in sets])


def _on_box(light: Light, grid: int) -> Array:
    steps = (np.arange(grid) + 0.5) / grid * 2 - 1
    u, v = (a.reshape(-1, 1) for a in np.meshgrid(steps, steps))
    return light.centre + light.half * (u * light.axes[0] + v * light.axes[1])


def _dome(count: int) -> Array:
    """Directions spread evenly over the upper half sphere, on a spiral by the golden angle."""
    z = (np.arange(count) + 0.5) / count
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5))
    radius = np.sqrt(1 - z**2)
    return SKY_DISTANCE * np.column_stack([radius * np.cos(turn), radius * np.sin(turn), z])


def _looking(position: Array) -> Array:
    """(5, 3) a light's frame towards the centre: position, right, up, forward, the half angle's tangent."""
    distance = np.linalg.norm(position)
    forward = -position / distance
    helper = np.array([0.0, 0.0, 1.0]) if abs(forward[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    right = np.cross(forward, helper)
    right /= np.linalg.norm(right)
    tangent = 1 / np.sqrt(distance**2 - 1)  # the cone around the unit sphere that holds all actors
    return np.stack([position, right, np.cross(right, forward), forward, [tangent, 0, 0]])


def _depth_map(solid: Actor, frame: Array) -> Singles:
    local = (solid.vertices - frame[0]) @ frame[1:4].T
    xy = (local[:, :2] / (local[:, 2:] * frame[4, 0]) * [1, -1] + 1) * (MAP_SIDE / 2)
    nearest = np.zeros((MAP_SIDE, MAP_SIDE), dtype=np.float32)
    kernels.rasterise(xy, 1 / local[:, 2], solid.triangles, np.empty(nearest.shape, dtype=np.int32), nearest)
    return nearest


def _shade(stage: Stage, found: Singles, facing: Singles, seen: Singles, near: Singles, turned: Singles) -> Singles:
    boxes = np.stack([[l.centre, *l.axes, l.direction, [l.half, 0, 0]] for l in stage.lights])
    light = np.empty((*found.shape[:2], 3), dtype=np.float32)
    kernels_light.shade(
        found, facing, seen, near, turned, COARSE, _rays(stage), boxes, _glow(stage), LOOK, stage.ground, light
    )
    return light


def _glow(stage: Stage) -> Array:
    """(4, 3) radiance of key, rim, sky and ground."""
    key, rim = stage.lights
    floor, wall = _backdrop_colors(stage)
    return np.stack([key.radiance, rim.radiance, SKY_SHARE * FILL + WALL_SHARE * wall, GROUND_SHARE * floor])


def _lay_over(light: Singles, stage: Stage, solid: Sheet, ghost: Actor) -> None:
    """Blend a ghost over the light where nothing solid stands before it; it casts no shadow."""
    sheet = _sheet(stage, ghost)
    before = (sheet.winner >= 0) & (sheet.nearest > solid.nearest)
    found, facing = _surfaces(stage, sheet, 1)
    near, turned = (np.ascontiguousarray(a[::COARSE, ::COARSE]) for a in (found, facing))
    shaded = _shade(stage, found, facing, np.ones((*near.shape[:2], 4), dtype=np.float32), near, turned)
    # a ray passes a closed surface twice, and each pass hides its share
    hidden = 1 - (1 - ghost.opacity) ** 2
    light[before] += np.float32(hidden) * (shaded[before] - light[before])


def _pixels(light: Singles) -> NDArray[np.uint8]:
    """Toned samples, averaged: mixing after the tone curve keeps bright edges smooth."""
    curve = toned(np.linspace(0.0, BRIGHTEST, CURVE_STEPS)).astype(np.float32)
    pixels = np.empty((light.shape[0] // FINE, light.shape[1] // FINE, 3), dtype=np.uint8)
    kernels.pool(light, FINE, curve, BRIGHTEST, pixels)
    return pixels


def _pooled(samples: Singles) -> Singles:
    rows, columns = samples.shape[:2]
    return samples.reshape(rows // FINE, FINE, columns // FINE, FINE, -1).mean(axis=(1, 3))
