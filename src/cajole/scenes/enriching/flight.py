"""A cloth that flies along and shall be caught by a branch: a preview of 35 vertices says how."""

from __future__ import annotations

from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodyShell, MaterialShell
from cajole.direct.enriching import enrich, regions_painted
from cajole.dynamics import State
from cajole.mesh import MeshTri, grid_triangles
from cajole.progress import Progress
from cajole.scenes.enriching.tree import tree_mesh

# goes up when collisions answer otherwise: previews kept before are made anew
VERSION = 2
# cells along and across: 35 vertices for the preview, 1625 for the cloth, as in §5.1 of Bergou 2007
COARSE, FINE = (6, 4), (64, 24)
LENGTH, WIDTH = 1.5, 0.75
FPS, FRAMES = 30.0, 76
COTTON = MaterialShell(young=1.2e5, poisson=0.25, thickness=1e-3, density=220.0)
DAMPING = (0.6, 0.01)
# where the middle of the cloth begins [m], its velocity [m/s] and how fast it turns about y [rad/s]
BEGIN, SPEED, SPIN = (-1.75, -0.03, 1.89), (4.1, 0.0, 2.7), -1.4
# how the cloth billows at first: depth [m] and how many waves along it and across it
BILLOW, WAVES = 0.10, (0.9, 0.6)
# what preview and cloth have in common, whatever their meshes: steps [s], friction, how near surfaces come [m]
SETTINGS: dict[str, Any] = {"dt": 1 / 120, "gravity": EARTH_GRAVITY, "friction": 0.22, "distance": 0.004}


def cloth_mesh(cells: tuple[int, int]) -> MeshTri:
    """Hanging upright in the plane of y and z, its middle at the origin, facing +x."""
    flat = grid_triangles(*cells, size=(LENGTH, WIDTH))
    along, across = flat.vertices[:, 0] - LENGTH / 2, flat.vertices[:, 1] - WIDTH / 2
    return MeshTri(np.column_stack([np.zeros(len(along)), across, -along]), flat.triangles)


def quarters(cells: tuple[int, int]) -> IndexArray:
    """(triangles,) four regions: upper left, upper right, lower left, lower right."""
    i, j = np.indices(cells).reshape(2, -1)
    return np.repeat(2 * (2 * i >= cells[0]) + (2 * j >= cells[1]), 2)


def begun(mesh: MeshTri) -> State:
    """How the cloth flies at first: billowed, on its way to the branch."""
    bulge = _bulge(mesh)
    displacement = np.column_stack([bulge, np.zeros((len(bulge), 2))]) + BEGIN
    turning = np.column_stack([SPIN * mesh.vertices[:, 2], np.zeros_like(bulge), -SPIN * bulge])
    return State(displacement, turning + SPEED)


def _bulge(mesh: MeshTri) -> Array:
    """(n,) [m] how far the cloth is out of its plane."""
    _, y, z = mesh.vertices.T
    return np.asarray(BILLOW * np.sin(2 * np.pi * (WAVES[0] * z / LENGTH + WAVES[1] * y / WIDTH) + 0.4))


def cotton(mesh: MeshTri) -> BodyShell:
    """The cloth of preview and result."""
    return BodyShell(mesh, COTTON, damping=DAMPING)


def previewed(mesh: MeshTri, progress: Progress | None = None) -> Array:
    """Positions (frames, n, 3) [m] of a cloth of few vertices that flies into the tree, led by nothing."""
    start, labels = begun(mesh), quarters(COARSE)
    still = Animation(mesh, (mesh.vertices + np.asarray(start.displacement, dtype=float))[None], FPS)
    own = regions_painted(mesh, labels, mesh, labels)
    film = enrich(
        still, cotton(mesh), own, start=start, frames=FRAMES, tracked=False, progress=progress, collisions="fast",
        colliders=(tree_mesh(),), **SETTINGS,
    ).animation  # fmt: skip
    return np.asarray(film.positions)
