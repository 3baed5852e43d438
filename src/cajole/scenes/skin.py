"""Coloured surface of a scene definition, embedded in its simulation mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.errors import SolveError
from cajole.mesh import Embedding, MeshTet, MeshTri, Skin, embed
from cajole.scenes import kernels_sdf as k
from cajole.scenes.scene_definition import EyeDefinition, PaintContext, SceneDefinition
from cajole.scenes.sdf import CAGE, SKIN_AND_CAGE, ImplicitShape
from cajole.scenes.surface_nets import extract_surface, refine_by_color

# least barycentric weight of a skin vertex in its tet: beyond this the part has no cage of its own around it
MIN_BARYCENTRIC_WEIGHT = -0.6
SKIN_GLOSS, EYE_GLOSS = 0.25, 1.0


def build_skin(definition: SceneDefinition, mesh: MeshTet, *, fine: bool = False) -> Skin:
    """Build the skin of a definition, embedded in `mesh`. Raises SolveError for a part that it does not cover."""
    points, triangles, colors, labels = build_painted_surface(definition, definition.skin_spacing[1 if fine else 0])
    parts = list(definition.shape.parts)
    gloss = np.full(len(points), SKIN_GLOSS)
    embedding = embed(points, mesh)
    require_skin_inside_cage(definition, labels, embedding)
    pieces = [(points, triangles, colors, labels, gloss, embedding.tets)]
    start = len(points)
    for eye in definition.eyes:
        x, faces = build_eyeball(eye)
        parts.append(eye.part)
        n = len(x)
        tet = np.full(n, embed(np.array([eye.center]), mesh).tets[0])
        pieces.append(
            (x, faces + start, np.tile(eye.color, (n, 1)), np.full(n, len(parts) - 1), np.full(n, EYE_GLOSS), tet)
        )
        start += n
    x, faces, colors, labels, gloss, tets = (np.concatenate(column) for column in zip(*pieces))
    skin = MeshTri(x, faces[_mask_nondegenerate_triangles(x, faces)])
    return Skin(skin, np.clip(colors, 0, 1), tuple(parts), labels, gloss, embed_in_tets(x, tets, mesh))


def build_painted_surface(definition: SceneDefinition, spacing: float) -> tuple[Array, IndexArray, Array, IndexArray]:
    """Points, triangles, colours and labels of the visible surface and its decorations."""
    # decorations are drawn on a grid this much finer: their edges are what makes them readable
    decoration_refinement = 2.4
    shape, decor = definition.shape.select_skin(), definition.shape.select_decorations()
    pieces = [_build_colored_surface(definition, shape, spacing)]
    if decor is not None:
        fine = spacing / decoration_refinement
        points, triangles, colors, labels = _build_colored_surface(definition, decor, fine)
        seen = (shape.distance(points) > -fine)[triangles].any(axis=1)
        used, triangles = np.unique(triangles[seen], return_inverse=True)
        triangles = triangles.reshape(-1, 3) + len(pieces[0][0])
        pieces.append((points[used], triangles, colors[used], labels[used]))
    points, triangles, colors, labels = (np.concatenate(column) for column in zip(*pieces))
    return points, triangles, colors, labels


def _build_colored_surface(
    definition: SceneDefinition, shape: ImplicitShape, spacing: float
) -> tuple[Array, IndexArray, Array, IndexArray]:
    """Extract one surface, colour it, and refine it along colour edges."""
    # edges of the paint are followed down to this share of the spacing
    min_edge_fraction = 0.33

    def color(points: Array) -> Array:
        colors, labels = shape.compute_colors_and_labels(points, blend_width=definition.blend_width)
        if definition.painter is None:
            return colors
        return definition.painter(PaintContext(shape, points, colors, labels))

    def project(points: Array) -> Array:
        return shape.project(points, max_step=spacing, steps=2)

    points, triangles = extract_surface(shape, spacing)
    points, triangles, colors = refine_by_color(
        points, triangles, color, project, min_edge_length=min_edge_fraction * spacing
    )
    return points, triangles, colors, shape.compute_colors_and_labels(points, blend_width=definition.blend_width)[1]


def _mask_nondegenerate_triangles(points: Array, triangles: IndexArray) -> NDArray[np.bool_]:
    """Mask of triangles with positive area: at a crease three vertices can become collinear."""
    # twice the area over the longest edge squared below which a triangle shows nothing
    degenerate_aspect = 1e-8
    a, b, c = (points[triangles[:, i]] for i in range(3))
    twice = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    longest = np.max(
        [np.linalg.norm(b - a, axis=1), np.linalg.norm(c - b, axis=1), np.linalg.norm(a - c, axis=1)], axis=0
    )
    return np.asarray(twice > degenerate_aspect * longest**2)


def require_skin_inside_cage(definition: SceneDefinition, labels: IndexArray, embedding: Embedding) -> None:
    """Raise SolveError unless the mesh covers the skin of every simulated part."""
    caged = {int(code[k.LABEL]) for code in definition.shape.codes if code[k.USAGE] in (SKIN_AND_CAGE, CAGE)}
    for label, part in enumerate(definition.shape.parts):
        mine = embedding.min_weights[labels == label]
        if label in caged and len(mine) and mine.min() < MIN_BARYCENTRIC_WEIGHT:
            raise SolveError(
                f"{definition.name}: the cage lost the part {part!r} (a skin vertex has weight {mine.min():.2f}, below "
                f"{MIN_BARYCENTRIC_WEIGHT}); ask for more tets"
            )


def embed_in_tets(points: Array, tets: IndexArray, mesh: MeshTet) -> Embedding:
    """Embedding of points (n, 3) in given tets (n,)."""
    corners = mesh.tets[tets]
    x = mesh.vertices[corners]
    weights = np.einsum("nij,nj->ni", mesh.shape_gradients[tets][:, 1:], points - x[:, 0])
    weights = np.column_stack([1 - weights.sum(axis=1), weights])
    return Embedding(tets, weights, corners, len(mesh.vertices))


def build_eyeball(eye: EyeDefinition) -> tuple[Array, IndexArray]:
    """Vertices and outward triangles of a UV sphere."""
    # rows of latitude of an eye: round at any size at which an eye is looked at
    eye_rings = 14
    rings, around = eye_rings, 2 * eye_rings
    theta = np.pi * np.arange(1, rings) / rings
    phi = 2 * np.pi * np.arange(around) / around
    ring = np.stack(
        [
            np.outer(np.sin(theta), np.cos(phi)),
            np.outer(np.sin(theta), np.sin(phi)),
            np.outer(np.cos(theta), np.ones(around)),
        ],
        axis=-1,
    ).reshape(-1, 3)
    x = np.vstack([[0, 0, 1], ring, [0, 0, -1]])
    j = np.arange(around)
    ahead, last = (j + 1) % around, len(x) - 1
    faces = [np.stack([0 * j, 1 + j, 1 + ahead], axis=1)]
    for i in range(rings - 2):
        a, b = 1 + i * around + j, 1 + i * around + ahead
        faces += [np.stack([a, a + around, b], axis=1), np.stack([b, a + around, b + around], axis=1)]
    a = 1 + (rings - 2) * around + j
    faces.append(np.stack([a, last + 0 * j, a - j + ahead], axis=1))
    return np.asarray(eye.center) + eye.radius * x, np.concatenate(faces)
