"""The draft renderer: a rasteriser with area shadows and sky light, quick enough for loops and for looking.

Light comes from many small maps, each the depths seen from one point of a softbox or of the sky; a point on a surface
asks them all what share of each light it sees, and a blur that stops at edges removes the steps between the maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cajole.animation.export_geometry import srgb_to_linear
from cajole.arrays import Array
from cajole.pictures import kernels_raster, kernels_shading
from cajole.pictures.environment import FILL_RADIANCE, FILLET_RADIUS, FLOOR_DEPTH, AreaLight, RenderEnvironment, tonemap
from cajole.pictures.render_mesh import RenderMesh

Float32Array = NDArray[np.float32]

# samples along each side of a pixel, and from one sample whose share of each light is asked to the next
SUPERSAMPLING = 2
VISIBILITY_STEP = 4
# texels along each side of a light's map, and how far a point is lifted off its surface to not shade itself
SHADOW_MAP_SIZE = 224
SHADOW_BIAS = 0.018
# points of the lights: a grid on each softbox, and directions of the sky above and of the lit ground below
KEY_LIGHT_GRID, RIM_LIGHT_GRID = 5, 2
SKY_SAMPLES, GROUND_SAMPLES = 20, 8
SKY_DISTANCE = 12.0
# widths [coarse samples at 960 pixels] of the blur's passes, and how far from the tangent plane it reaches
VISIBILITY_BLUR_STEPS = (1, 2, 4)
VISIBILITY_BLUR_DISTANCE = 0.04
# blur of the mirror direction and reflectance at normal incidence: matt and wet
SPECULAR_PARAMETERS = np.array([[0.55, 0.028], [0.06, 0.06]])
# what the walls add to the sky's light and what the floor throws back, fitted by eye and mean to traced pictures
SKY_WEIGHT, WALL_WEIGHT, GROUND_WEIGHT = 0.75, 0.25, 1.25
MAX_RAY_LENGTH = 60.0
# the tone curve as a table: beyond the brightest everything is white
TONE_CURVE_MAX, TONE_CURVE_SAMPLES = 4.0, 4096


@dataclass(frozen=True, eq=False)
class VisibilityBuffer:
    """Triangles as the camera sees them: what `kernels.rasterise` left, and what it was made from."""

    triangle_ids: NDArray[np.int32]
    inverse_depth: Float32Array
    screen_positions: Array
    vertex_inverse_depth: Array
    mesh: RenderMesh


def render_draft(environment: RenderEnvironment, meshes: Sequence[RenderMesh]) -> NDArray[np.uint8]:
    """A picture (height, width, 3) of actors on a stage, both in units of the subject's radius."""
    solid = merge_meshes([a for a in meshes if a.opacity >= 1])
    visibility_buffer = _rasterise_mesh(environment, solid)
    gbuffer, normals = _build_gbuffer(environment, visibility_buffer, 1)
    coarse_gbuffer, coarse_normals = (
        np.ascontiguousarray(a[::VISIBILITY_STEP, ::VISIBILITY_STEP]) for a in (gbuffer, normals)
    )
    visibility = _compute_light_visibility(environment, solid, coarse_gbuffer, coarse_normals)
    radiance = _shade_samples(environment, gbuffer, normals, visibility, coarse_gbuffer, coarse_normals)
    for ghost in (a for a in meshes if a.opacity < 1):
        _blend_transparent_mesh(radiance, environment, visibility_buffer, ghost)
    return _tonemap_and_downsample(radiance)


def render_denoiser_guides(
    environment: RenderEnvironment, meshes: Sequence[RenderMesh]
) -> tuple[Float32Array, Float32Array]:
    """Albedo and normal (height, width, 3) without noise, which a denoiser takes as its guide."""
    visibility_buffer = _rasterise_mesh(environment, merge_meshes(list(meshes)))
    gbuffer, normals = _build_gbuffer(environment, visibility_buffer, 1)
    return _average_samples(gbuffer[..., 1:4]), _average_samples(normals)


def compute_coverage(environment: RenderEnvironment, meshes: Sequence[RenderMesh]) -> Float32Array:
    """(height, width) the share of each pixel that actors cover."""
    return _average_samples(
        (_rasterise_mesh(environment, merge_meshes(list(meshes))).triangle_ids >= 0).astype(np.float32)[..., None]
    )[..., 0]


def merge_meshes(meshes: Sequence[RenderMesh]) -> RenderMesh:
    """All actors as one."""
    starts = np.cumsum([0, *(len(a.vertices) for a in meshes[:-1])])
    return RenderMesh(
        np.concatenate([a.vertices for a in meshes]),
        np.concatenate([a.triangles + start for a, start in zip(meshes, starts)]),
        np.concatenate([a.normals for a in meshes]),
        np.concatenate([a.colors for a in meshes]),
        np.concatenate([a.gloss for a in meshes]),
    )


def _rasterise_mesh(environment: RenderEnvironment, mesh: RenderMesh) -> VisibilityBuffer:
    width, height = environment.camera.view.size
    screen_positions, depth = environment.camera.project(mesh.vertices)
    triangle_ids = np.full((SUPERSAMPLING * height, SUPERSAMPLING * width), -1, dtype=np.int32)
    inverse_depth = np.zeros(triangle_ids.shape, dtype=np.float32)
    kernels_raster.rasterise(SUPERSAMPLING * screen_positions, 1 / depth, mesh.triangles, triangle_ids, inverse_depth)
    return VisibilityBuffer(triangle_ids, inverse_depth, SUPERSAMPLING * screen_positions, 1 / depth, mesh)


def _build_gbuffer(
    environment: RenderEnvironment, visibility_buffer: VisibilityBuffer, step: int
) -> tuple[Float32Array, Float32Array]:
    """Depth, linear colour and gloss (rows, columns, 5), and the unit normal towards the eye, at every sample."""
    rows, columns = visibility_buffer.triangle_ids.shape
    gbuffer = np.zeros((rows // step, columns // step, 5), dtype=np.float32)
    sample_normals = np.zeros((rows // step, columns // step, 3), dtype=np.float32)
    actor, ray = visibility_buffer.mesh, _compute_camera_rays(environment)
    values = np.column_stack([1 / visibility_buffer.vertex_inverse_depth, srgb_to_linear(actor.colors), actor.gloss])
    kernels_raster.interpolate_attributes(
        visibility_buffer.triangle_ids,
        visibility_buffer.screen_positions,
        visibility_buffer.vertex_inverse_depth,
        actor.triangles,
        values,
        actor.normals,
        step,
        gbuffer,
        sample_normals,
        ray,
    )
    kernels_raster.fill_backdrop(
        visibility_buffer.triangle_ids,
        step,
        ray,
        _pack_backdrop(environment),
        _compute_backdrop_colors(environment),
        gbuffer,
        sample_normals,
    )
    return gbuffer, sample_normals


def _compute_camera_rays(environment: RenderEnvironment) -> Array:
    """(4, 3) the ray of sample (0, 0), of depth one; its change per column and per row; the eye."""
    view = environment.camera.view
    right, up, forward = view.axes
    across, along = view.half_fov_tangents
    width, height = SUPERSAMPLING * view.size[0], SUPERSAMPLING * view.size[1]
    column, row = 2 * across / width * right, -2 * along / height * up
    return np.stack(
        [forward - across * right + along * up + (column + row) / 2, column, row, environment.camera.position]
    )


def _pack_backdrop(environment: RenderEnvironment) -> Array:
    return np.array(
        [
            *environment.camera.position,
            *environment.back_direction[:2],
            environment.drawn_floor_height,
            FLOOR_DEPTH,
            FILLET_RADIUS,
            MAX_RAY_LENGTH,
        ]
    )


def _compute_backdrop_colors(environment: RenderEnvironment) -> Array:
    return srgb_to_linear(np.stack([environment.floor_color, environment.wall_color]))


def _compute_light_visibility(
    environment: RenderEnvironment, solid: RenderMesh, coarse_gbuffer: Float32Array, coarse_normals: Float32Array
) -> Float32Array:
    """(height, width, 4) the shares of key, rim, sky and ground light that reach each coarse sample."""
    camera_rays = _compute_camera_rays(environment).astype(np.float32)
    rows, columns = coarse_gbuffer.shape[:2]
    i, j = np.mgrid[0:rows, 0:columns].astype(np.float32) * VISIBILITY_STEP
    points = camera_rays[3] + coarse_gbuffer[..., :1] * (
        camera_rays[0] + j[..., None] * camera_rays[1] + i[..., None] * camera_rays[2]
    )
    positions, light_group = _sample_lights(environment)
    light_frames = np.stack([_build_light_frame(position) for position in positions])
    shadow_maps = np.stack([_render_shadow_map(solid, frame) for frame in light_frames])
    visible_share, other = (np.empty((rows, columns, 4), dtype=np.float32) for _ in range(2))
    # the set itself casts no shadow, so that its points need no lift, and shadows begin where feet touch the floor
    normal_offset = np.where(coarse_gbuffer[..., 4] < 0, np.float32(0), np.float32(SHADOW_BIAS))
    kernels_shading.compute_light_visibility(
        points, coarse_normals, shadow_maps, light_frames, light_group, normal_offset, visible_share
    )
    for step in VISIBILITY_BLUR_STEPS:
        kernels_shading.blur_visibility(
            visible_share, points, coarse_normals, max(round(step * columns / 480), 1), VISIBILITY_BLUR_DISTANCE, other
        )
        visible_share, other = other, visible_share
    return visible_share


def _sample_lights(environment: RenderEnvironment) -> tuple[Array, NDArray[np.int64]]:
    """(k, 3) points that light comes from, and which light each belongs to: key, rim, sky, ground."""
    key, rim = environment.lights
    sets = [
        _sample_area_light(key, KEY_LIGHT_GRID),
        _sample_area_light(rim, RIM_LIGHT_GRID),
        _sample_hemisphere(SKY_SAMPLES),
        _sample_hemisphere(GROUND_SAMPLES) * [1, 1, -1],
    ]
    return np.concatenate(sets), np.repeat(np.arange(4), [len(s) for s in sets])


def _sample_area_light(light: AreaLight, grid: int) -> Array:
    steps = (np.arange(grid) + 0.5) / grid * 2 - 1
    u, v = (a.reshape(-1, 1) for a in np.meshgrid(steps, steps))
    return light.centre + light.half_size * (u * light.axes[0] + v * light.axes[1])


def _sample_hemisphere(count: int) -> Array:
    """Directions spread evenly over the upper half sphere, on a spiral by the golden angle."""
    z = (np.arange(count) + 0.5) / count
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5))
    radius = np.sqrt(1 - z**2)
    return SKY_DISTANCE * np.column_stack([radius * np.cos(turn), radius * np.sin(turn), z])


def _build_light_frame(position: Array) -> Array:
    """(5, 3) a light's frame towards the centre: position, right, up, forward, the half angle's tangent."""
    distance = np.linalg.norm(position)
    forward = -position / distance
    helper = np.array([0.0, 0.0, 1.0]) if abs(forward[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    right = np.cross(forward, helper)
    right /= np.linalg.norm(right)
    tangent = 1 / np.sqrt(distance**2 - 1)  # the cone around the unit sphere that holds all actors
    return np.stack([position, right, np.cross(right, forward), forward, [tangent, 0, 0]])


def _render_shadow_map(solid: RenderMesh, light_frame: Array) -> Float32Array:
    local = (solid.vertices - light_frame[0]) @ light_frame[1:4].T
    xy = (local[:, :2] / (local[:, 2:] * light_frame[4, 0]) * [1, -1] + 1) * (SHADOW_MAP_SIZE / 2)
    inverse_depth = np.zeros((SHADOW_MAP_SIZE, SHADOW_MAP_SIZE), dtype=np.float32)
    kernels_raster.rasterise(
        xy, 1 / local[:, 2], solid.triangles, np.empty(inverse_depth.shape, dtype=np.int32), inverse_depth
    )
    return inverse_depth


def _shade_samples(
    environment: RenderEnvironment,
    gbuffer: Float32Array,
    normals: Float32Array,
    visibility: Float32Array,
    coarse_gbuffer: Float32Array,
    coarse_normals: Float32Array,
) -> Float32Array:
    area_lights = np.stack([[l.centre, *l.axes, l.direction, [l.half_size, 0, 0]] for l in environment.lights])
    radiance = np.empty((*gbuffer.shape[:2], 3), dtype=np.float32)
    kernels_shading.shade_samples(
        gbuffer,
        normals,
        visibility,
        coarse_gbuffer,
        coarse_normals,
        VISIBILITY_STEP,
        _compute_camera_rays(environment),
        area_lights,
        _compute_radiances(environment),
        SPECULAR_PARAMETERS,
        environment.drawn_floor_height,
        radiance,
    )
    return radiance


def _compute_radiances(environment: RenderEnvironment) -> Array:
    """(4, 3) radiance of key, rim, sky and ground."""
    key, rim = environment.lights
    floor, wall = _compute_backdrop_colors(environment)
    return np.stack(
        [key.radiance, rim.radiance, SKY_WEIGHT * FILL_RADIANCE + WALL_WEIGHT * wall, GROUND_WEIGHT * floor]
    )


def _blend_transparent_mesh(
    radiance: Float32Array, environment: RenderEnvironment, solid: VisibilityBuffer, ghost: RenderMesh
) -> None:
    """Blend a ghost over the light where nothing solid stands before it; it casts no shadow."""
    visibility_buffer = _rasterise_mesh(environment, ghost)
    before = (visibility_buffer.triangle_ids >= 0) & (visibility_buffer.inverse_depth > solid.inverse_depth)
    gbuffer, normals = _build_gbuffer(environment, visibility_buffer, 1)
    coarse_gbuffer, coarse_normals = (
        np.ascontiguousarray(a[::VISIBILITY_STEP, ::VISIBILITY_STEP]) for a in (gbuffer, normals)
    )
    shaded = _shade_samples(
        environment,
        gbuffer,
        normals,
        np.ones((*coarse_gbuffer.shape[:2], 4), dtype=np.float32),
        coarse_gbuffer,
        coarse_normals,
    )
    # a ray passes a closed surface twice, and each pass hides its share
    hidden = 1 - (1 - ghost.opacity) ** 2
    radiance[before] += np.float32(hidden) * (shaded[before] - radiance[before])


def _tonemap_and_downsample(radiance: Float32Array) -> NDArray[np.uint8]:
    """Toned samples, averaged: mixing after the tone curve keeps bright edges smooth."""
    curve = tonemap(np.linspace(0.0, TONE_CURVE_MAX, TONE_CURVE_SAMPLES)).astype(np.float32)
    pixels = np.empty((radiance.shape[0] // SUPERSAMPLING, radiance.shape[1] // SUPERSAMPLING, 3), dtype=np.uint8)
    kernels_raster.tonemap_and_downsample(radiance, SUPERSAMPLING, curve, TONE_CURVE_MAX, pixels)
    return pixels


def _average_samples(samples: Float32Array) -> Float32Array:
    rows, columns = samples.shape[:2]
    return samples.reshape(rows // SUPERSAMPLING, SUPERSAMPLING, columns // SUPERSAMPLING, SUPERSAMPLING, -1).mean(
        axis=(1, 3)
    )
