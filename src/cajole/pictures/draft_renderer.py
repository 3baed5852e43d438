"""The draft renderer: a rasteriser with soft shadows of area lights and sky, fast enough for loops.

Every light is sampled by points, each with a shadow map. A surface point computes its visible share of each light from
all maps, and an edge-stopping blur removes the steps between the samples.
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

# samples along each side of a pixel, and stride of the samples at which the visibility of lights is computed
SUPERSAMPLING, VISIBILITY_STEP = 2, 4
# texels along each side of a shadow map
SHADOW_MAP_SIZE = 224
# of matt and of wet surfaces: blur of the mirror direction, and reflectance at normal incidence
SPECULAR_PARAMETERS = np.array([[0.55, 0.028], [0.06, 0.06]])


@dataclass(frozen=True, eq=False)
class VisibilityBuffer:
    """Visible triangle and inverse depth per sample, and the mesh with its vertices on the screen."""

    triangle_ids: NDArray[np.int32]
    inverse_depth: Float32Array
    screen_positions: Array
    vertex_inverse_depth: Array
    mesh: RenderMesh


def render_draft(environment: RenderEnvironment, meshes: Sequence[RenderMesh]) -> NDArray[np.uint8]:
    """Render meshes in the studio, both in units of the scene's radius: (height, width, 3)."""
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
    """Noise-free albedo and normal (height, width, 3), the auxiliary inputs of a denoiser."""
    visibility_buffer = _rasterise_mesh(environment, merge_meshes(list(meshes)))
    gbuffer, normals = _build_gbuffer(environment, visibility_buffer, 1)
    return _average_samples(gbuffer[..., 1:4]), _average_samples(normals)


def compute_coverage(environment: RenderEnvironment, meshes: Sequence[RenderMesh]) -> Float32Array:
    """Share of each pixel (height, width) that meshes cover."""
    return _average_samples(
        (_rasterise_mesh(environment, merge_meshes(list(meshes))).triangle_ids >= 0).astype(np.float32)[..., None]
    )[..., 0]


def merge_meshes(meshes: Sequence[RenderMesh]) -> RenderMesh:
    """All meshes as one."""
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
    """Depth, linear colour and gloss (rows, columns, 5), and unit normal towards the camera, at every sample."""
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
    """(4, 3): the ray of sample (0, 0) at depth one, its change per column and per row, and the camera position."""
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
            60.0,  # longest ray
        ]
    )


def _compute_backdrop_colors(environment: RenderEnvironment) -> Array:
    return srgb_to_linear(np.stack([environment.floor_color, environment.wall_color]))


def _compute_light_visibility(
    environment: RenderEnvironment, solid: RenderMesh, coarse_gbuffer: Float32Array, coarse_normals: Float32Array
) -> Float32Array:
    """Visible shares (rows, columns, 4) of key, rim, sky and ground light at each coarse sample."""
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
    # an offset against self-shadowing; the backdrop casts no shadow and needs none, so that contact shadows stay
    normal_offset = np.where(coarse_gbuffer[..., 4] < 0, np.float32(0), np.float32(0.018))
    kernels_shading.compute_light_visibility(
        points, coarse_normals, shadow_maps, light_frames, light_group, normal_offset, visible_share
    )
    for step in (1, 2, 4):  # of coarse samples at 960 pixels
        kernels_shading.blur_visibility(
            visible_share, points, coarse_normals, max(round(step * columns / 480), 1), 0.04, other
        )
        visible_share, other = other, visible_share
    return visible_share


def _sample_lights(environment: RenderEnvironment) -> tuple[Array, NDArray[np.int64]]:
    """Points (k, 3) on the lights, and their light: 0 key, 1 rim, 2 sky, 3 ground."""
    key, rim = environment.lights
    sets = [
        _sample_area_light(key, 5),
        _sample_area_light(rim, 2),
        _sample_hemisphere(20),
        _sample_hemisphere(8) * [1, 1, -1],
    ]
    return np.concatenate(sets), np.repeat(np.arange(4), [len(s) for s in sets])


def _sample_area_light(light: AreaLight, grid: int) -> Array:
    steps = (np.arange(grid) + 0.5) / grid * 2 - 1
    u, v = (a.reshape(-1, 1) for a in np.meshgrid(steps, steps))
    return np.asarray(light.centre + light.half_size * (u * light.axes[0] + v * light.axes[1]))


def _sample_hemisphere(count: int) -> Array:
    """Points (count, 3) on the upper half of a sphere of radius 12, on a golden-angle spiral."""
    z = (np.arange(count) + 0.5) / count
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5))
    radius = np.sqrt(1 - z**2)
    return 12.0 * np.column_stack([radius * np.cos(turn), radius * np.sin(turn), z])


def _build_light_frame(position: Array) -> Array:
    """(5, 3): position, right, up and forward of a light that faces the centre, and the tangent of its half angle."""
    distance = np.linalg.norm(position)
    forward = -position / distance
    helper = np.array([0.0, 0.0, 1.0]) if abs(forward[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    right = np.cross(forward, helper)
    right /= np.linalg.norm(right)
    tangent = 1 / np.sqrt(distance**2 - 1)  # the cone around the unit sphere that contains all meshes
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
    """Radiance (4, 3) of key, rim, sky and ground."""
    key, rim = environment.lights
    floor, wall = _compute_backdrop_colors(environment)
    return np.stack(
        # weights fitted to the mean of path-traced pictures, and by eye
        [key.radiance, rim.radiance, 0.75 * FILL_RADIANCE + 0.25 * wall, 1.25 * floor]
    )


def _blend_transparent_mesh(
    radiance: Float32Array, environment: RenderEnvironment, solid: VisibilityBuffer, ghost: RenderMesh
) -> None:
    """Blend a transparent mesh over the radiance where no opaque mesh hides it; it casts no shadow."""
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
    # a ray passes a closed surface twice, each time with its opacity
    hidden = 1 - (1 - ghost.opacity) ** 2
    radiance[before] += np.float32(hidden) * (shaded[before] - radiance[before])


def _tonemap_and_downsample(radiance: Float32Array) -> NDArray[np.uint8]:
    """Average the samples after the tone curve, which keeps bright edges smooth."""
    brightest = 4.0  # everything beyond is white
    curve = tonemap(np.linspace(0.0, brightest, 4096)).astype(np.float32)
    pixels = np.empty((radiance.shape[0] // SUPERSAMPLING, radiance.shape[1] // SUPERSAMPLING, 3), dtype=np.uint8)
    kernels_raster.tonemap_and_downsample(radiance, SUPERSAMPLING, curve, brightest, pixels)
    return pixels


def _average_samples(samples: Float32Array) -> Float32Array:
    rows, columns = samples.shape[:2]
    blocks = samples.reshape(rows // SUPERSAMPLING, SUPERSAMPLING, columns // SUPERSAMPLING, SUPERSAMPLING, -1)
    return np.asarray(blocks.mean(axis=(1, 3)))
