"""Meshes to draw: triangles with normals, colours and gloss; also those of marks, arrows and edges."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import compute_vertex_normals
from cajole.mesh.base import compute_cross_products

# parts of an arrow relative to the length of the longest one
ARROW_SHAFT_RADIUS, ARROW_HEAD_RADIUS, ARROW_HEAD_LENGTH = 0.028, 0.075, 0.24
CIRCLE_SEGMENTS = 20  # of marks and arrows, which look round at their size


@dataclass(frozen=True, eq=False)
class RenderMesh:
    """Triangles to draw. vertices, normals, colors (sRGB): (n, 3); triangles: (m, 3); gloss: (n,) 0 matt, 1 wet."""

    vertices: Array
    triangles: IndexArray
    normals: Array
    colors: Array
    gloss: Array
    opacity: float = 1.0

    def to_scene_units(self, centre: Array, size: float) -> RenderMesh:
        """A copy in units of `size` around `centre`."""
        return replace(self, vertices=(self.vertices - centre) / size)


def build_render_mesh(
    vertices: Array, triangles: IndexArray, colors: Array, gloss: Array, *, smooth: bool = True
) -> RenderMesh:
    """A mesh with vertex normals, or with `smooth` off with one normal and one colour per triangle."""
    if smooth:
        return RenderMesh(vertices, triangles, compute_vertex_normals(vertices, triangles), colors, gloss)
    normals = np.repeat(_normalise_rows(compute_cross_products(vertices, triangles)), 3, axis=0)
    corners = triangles.reshape(-1)
    # one colour per facet: a gradient across it would look curved
    flat = np.repeat(colors[triangles].mean(axis=1), 3, axis=0)
    return RenderMesh(vertices[corners], np.arange(len(corners)).reshape(-1, 3), normals, flat, gloss[corners])


def build_ghost_mesh(mesh: RenderMesh, opacity: float, inset: float) -> RenderMesh:
    """A transparent copy, moved inward by `inset` [m], so that a coinciding opaque surface hides it."""
    return replace(mesh, vertices=mesh.vertices - inset * mesh.normals, opacity=opacity)


def build_marker_mesh(points: Array, radius: float) -> RenderMesh:
    """Bright glossy spheres of `radius` [m] at points (k, 3)."""
    directions, triangles = _build_unit_sphere()
    vertices = (points[:, None] + radius * directions).reshape(-1, 3)
    return _build_uniform_mesh(
        vertices, _repeat_triangles(triangles, len(points), len(directions)), (0.05, 0.72, 0.95), 0.6, smooth=True
    )


def build_arrow_mesh(origins: Array, vectors: Array) -> RenderMesh:
    """Arrows from origins (k, 3) along vectors (k, 3) [m], except those of length zero."""
    lengths = np.linalg.norm(vectors, axis=1)
    kept = lengths > 0
    unit = lengths.max(initial=0.0)
    axis = vectors[kept] / lengths[kept, None]
    # a short arrow is all head
    neck = np.maximum(lengths[kept] - ARROW_HEAD_LENGTH * unit, 0.0)
    along = np.stack([0 * neck, 0 * neck, neck, neck, lengths[kept]], axis=1)
    widths = unit * np.array([0.0, ARROW_SHAFT_RADIUS, ARROW_SHAFT_RADIUS, ARROW_HEAD_RADIUS, 0.0])
    return _build_uniform_mesh(
        *_build_solids_of_revolution(origins[kept], axis, along, np.broadcast_to(widths, along.shape), CIRCLE_SEGMENTS),
        (0.13, 0.17, 0.32),
        0.0,
    )


def build_edge_mesh(vertices: Array, pairs: IndexArray, radius: float) -> RenderMesh:
    """Thin dark rods of `radius` [m] along edges (k, 2)."""
    start, along = vertices[pairs[:, 0]], vertices[pairs[:, 1]] - vertices[pairs[:, 0]]
    lengths = np.linalg.norm(along, axis=1)
    axis = along / np.maximum(lengths, np.finfo(float).tiny)[:, None]
    stations = np.stack([0 * lengths, lengths], axis=1)
    return _build_uniform_mesh(
        *_build_solids_of_revolution(start, axis, stations, np.full(stations.shape, radius), 3), (0.10, 0.10, 0.13), 0.0
    )


def _build_uniform_mesh(
    vertices: Array, triangles: IndexArray, color: tuple[float, ...], gloss: float, *, smooth: bool = False
) -> RenderMesh:
    n = len(vertices)
    return build_render_mesh(vertices, triangles, np.tile(np.array(color), (n, 1)), np.full(n, gloss), smooth=smooth)


def _build_solids_of_revolution(
    origins: Array, axis: Array, distances: Array, radii: Array, sides: int
) -> tuple[Array, IndexArray]:
    """Solids of revolution: circles of `radii` (k, s) at `distances` (k, s) from origins along unit axes (k, 3)."""
    helper = np.where(np.abs(axis[:, 2:]) < 0.9, [0.0, 0.0, 1.0], [1.0, 0.0, 0.0])
    one = _normalise_rows(np.cross(axis, helper))
    two = np.cross(axis, one)
    turn = np.arange(sides) * 2 * np.pi / sides
    circle = np.cos(turn)[:, None] * one[:, None] + np.sin(turn)[:, None] * two[:, None]
    centres = origins[:, None] + distances[..., None] * axis[:, None]
    vertices = centres[:, :, None] + radii[..., None, None] * circle[:, None]
    count, stations = distances.shape
    i, j = (a.reshape(-1) for a in np.meshgrid(np.arange(stations - 1), np.arange(sides), indexing="ij"))
    a, b, step = i * sides + j, i * sides + (j + 1) % sides, sides
    triangles = np.concatenate([np.stack([a, b, b + step], 1), np.stack([a, b + step, a + step], 1)])
    return vertices.reshape(-1, 3), _repeat_triangles(triangles, count, stations * sides)


def _build_unit_sphere() -> tuple[Array, IndexArray]:
    """Unit sphere: vertices on circles of latitude, and triangles."""
    polar = np.linspace(np.pi, 0, CIRCLE_SEGMENTS // 2 + 1)
    zero = np.zeros((1, 3))
    return _build_solids_of_revolution(
        zero, np.array([[0.0, 0.0, 1.0]]), np.cos(polar)[None], np.sin(polar)[None], CIRCLE_SEGMENTS
    )


def _repeat_triangles(triangles: IndexArray, count: int, stride: int) -> IndexArray:
    return (triangles + stride * np.arange(count)[:, None, None]).reshape(-1, 3)


def _normalise_rows(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0))
