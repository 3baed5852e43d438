"""A cloth that flies along and shall be caught by a branch: a preview of 35 vertices says how."""

from __future__ import annotations

import numpy as np

from cajole.body import EARTH_GRAVITY, BodyShell, MaterialShell
from cajole.dynamics import ObstacleMesh, State, simulate
from cajole.mesh import MeshTri, grid_triangles
from cajole.progress import Progress
from cajole.scenes.enriching.tree import tree_mesh
from cajole.scenes.sdf import Floats, Ints

# cells along and across: 35 vertices for the preview, 1625 for the cloth, as in §5.1 of Bergou 2007
COARSE, FINE = (6, 4), (64, 24)
LENGTH, WIDTH = 1.5, 0.75
FPS, FRAMES, SUBSTEPS = 30.0, 91, 8
COTTON = MaterialShell(young=1.2e5, poisson=0.25, thickness=1e-3, density=220.0)
DAMPING = (0.6, 0.01)
# where the middle of the cloth begins [m], its velocity [m/s] and how fast it turns about y [rad/s]
BEGIN, SPEED, SPIN = (-1.75, -0.1, 1.6), (4.0, 0.0, 2.6), 0.3
# how the cloth billows at first: depth [m] and how many waves along it and across it
BILLOW, WAVES = 0.10, (0.9, 0.6)
# what few vertices feel of the tree: how far outside it begins to push [m], its friction, how it gives way [Pa/m]
MARGIN, GRIP, GIVES = 0.075, 0.9, 6.0e3


def cloth_mesh(cells: tuple[int, int]) -> MeshTri:
    """Hanging upright in the plane of y and z, its middle at the origin, facing +x."""
    flat = grid_triangles(*cells, size=(LENGTH, WIDTH))
    along, across = flat.vertices[:, 0] - LENGTH / 2, flat.vertices[:, 1] - WIDTH / 2
    return MeshTri(np.column_stack([np.zeros(len(along)), across, -along]), flat.triangles)


def quarters(cells: tuple[int, int]) -> Ints:
    """(triangles,) four regions: upper left, upper right, lower left, lower right."""
    i, j = np.indices(cells).reshape(2, -1)
    return np.repeat(2 * (2 * i >= cells[0]) + (2 * j >= cells[1]), 2)


def begun(mesh: MeshTri) -> State:
    """How the cloth flies at first: billowed, on its way to the branch."""
    _, y, z = mesh.vertices.T
    bulge = BILLOW * np.sin(2 * np.pi * (WAVES[0] * z / LENGTH + WAVES[1] * y / WIDTH) + 0.4)
    displacement = np.column_stack([bulge, np.zeros_like(y), np.zeros_like(z)]) + BEGIN
    turning = np.column_stack([SPIN * z, np.zeros_like(y), -SPIN * bulge])
    return State(displacement, turning + SPEED)


def previewed(mesh: MeshTri, progress: Progress | None = None) -> Floats:
    """Positions (frames, n, 3) [m] of a cloth of few vertices that flies into the tree."""
    film = simulate(
        BodyShell(mesh, COTTON, damping=DAMPING), FRAMES, 1 / FPS, gravity=EARTH_GRAVITY, start=begun(mesh),
        obstacles=ObstacleMesh(tree_mesh(), friction=GRIP, damping=1.0, margin=MARGIN, stiffness=GIVES),
        integrator="euler", substeps=SUBSTEPS, progress=progress,
    )  # fmt: skip
    return np.asarray(film.positions)
