"""What the animation tests share: a wave and a skin."""

from __future__ import annotations

import numpy as np

from cajole.mesh import MeshTet, MeshTri, Skin, embed

FRAMES = 7
FPS = 24.0


def waved(vertices: np.ndarray, frames: int = FRAMES) -> np.ndarray:
    """(frames, n, 3) a travelling wave through the vertices, none of the frames at rest."""
    phase = np.linspace(0.3, 2.0, frames)[:, None, None]
    return vertices + 0.1 * np.sin(5 * phase + 3 * vertices[None, :, ::-1])


def painted_skin(mesh: MeshTet) -> Skin:
    """A coloured surface a little inside the mesh, hanging in it."""
    kept = mesh.surface_vertices
    center = mesh.vertices.mean(axis=0)
    surface = MeshTri(center + 0.9 * (mesh.vertices[kept] - center), np.searchsorted(kept, mesh.surface.triangles))
    k = len(kept)
    colors = np.random.default_rng(5).random((k, 3))
    return Skin(surface, colors, ("back", "belly"), np.arange(k) % 2, np.linspace(0, 1, k), embed(surface, mesh))
