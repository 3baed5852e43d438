"""What the tests of pictures share: a sphere, a wagging box, and small sizes."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.animation import Animation
from cajole.mesh import MeshTri, Skin, box_tets, subdivide
from cajole.mesh.tet import MeshTet

RED = (0.8, 0.1, 0.1)


def _sphere(levels: int = 3) -> MeshTri:
    corners = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
    faces = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]
    fine = subdivide(MeshTri(corners, faces), levels=levels)
    mesh = fine[0] if isinstance(fine, tuple) else fine
    return MeshTri(mesh.vertices / np.linalg.norm(mesh.vertices, axis=1, keepdims=True), mesh.triangles)


@pytest.fixture(scope="session")
def sphere() -> MeshTri:
    """A unit sphere of 512 triangles."""
    return _sphere()


@pytest.fixture(scope="session")
def red_skin(sphere: MeshTri) -> Skin:
    """The sphere as a red skin with one wet patch on top."""
    n = len(sphere.vertices)
    gloss = (sphere.vertices[:, 2] > 0.9).astype(float)
    return Skin(sphere, np.tile(RED, (n, 1)), ("ball",), np.zeros(n, dtype=int), gloss)


@pytest.fixture(scope="session")
def box() -> MeshTet:
    """A box of tets, 2 x 0.5 x 0.5 m."""
    return box_tets(4, 1, 1, size=(2.0, 0.5, 0.5))


@pytest.fixture(scope="session")
def wag(box: MeshTet) -> Animation:
    """Ten frames in which the box's end rises and falls; frame 3 is the highest."""
    lift = np.sin(np.pi * np.array([0, 1, 2, 3, 2.5, 2, 1.5, 1, 0.5, 0]) / 6)
    positions = box.vertices + lift[:, None, None] * box.vertices[None, :, :1] * [0.0, 0.0, 0.6]
    return Animation(box, positions, 20.0)
