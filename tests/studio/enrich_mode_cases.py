"""A cube whose lid turns and a sheet with a shell of its own, opened to be enriched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import cajole as cj
from cajole.mesh import MeshTri, grid_triangles
from cajole.scenes.enrich_scenes import EnrichScene, ShellVariant
from cajole.studio.content import ProjectContent

FRAMES = 7


def cube() -> cj.Animation:
    """Eight vertices: the lid turns and sinks."""
    corners = np.array([(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
    sides = [(0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4), (2, 6, 3), (3, 6, 7), (0, 4, 2),
             (2, 4, 6), (1, 3, 5), (3, 7, 5)]  # fmt: skip
    positions = np.repeat(corners[None], FRAMES, axis=0)
    for frame, s in enumerate(np.linspace(0, 1, FRAMES)):
        c, d = np.cos(0.6 * s), np.sin(0.6 * s)
        turn = np.array([(c, d, 0), (-d, c, 0), (0, 0, 1 - 0.1 * s)])
        positions[frame, 4:] = (corners[4:] - (0.5, 0.5, 0)) @ turn + (0.5, 0.5, 0)
    return cj.Animation(cj.MeshTri(corners, sides), positions, fps=30, name="cube")


def content(animation: cj.Animation | None = None) -> ProjectContent:
    made = cube() if animation is None else animation
    return ProjectContent(made.name, made.mesh, None, made)


def paired() -> ProjectContent:
    """A sheet of nine vertices and one of 81 that is not its subdivision, joined by four painted quarters."""
    coarse, fine = grid_triangles(2, 2), grid_triangles(8, 8)
    meshes = [MeshTri(mesh.vertices, mesh.triangles[::-1]) for mesh in (coarse, fine)]
    quarters = [2 * (mesh.vertices[:, 0] > 0.4) + (mesh.vertices[:, 1] > 0.4) for mesh in meshes]
    guide = cj.Animation(meshes[0], np.repeat(coarse.vertices[None], 4, axis=0), fps=30, name="sheet")
    regions = cj.regions_painted(meshes[0], quarters[0], meshes[1], quarters[1])
    cloth = ShellVariant("cotton", (0.7, 0.1, 0.2), lambda: cj.BodyShell(meshes[1]))
    post = cj.MeshTri([[3, 0, 0], [4, 0, 0], [3, 1, 0]], [[0, 1, 2]])
    scene = EnrichScene("sheet", "Sheet", "A sheet.", guide, regions, {"cotton": cloth}, colliders=(post,))
    return replace(content(guide), enrich_scene=scene)
