"""Guides and shells that the tests of `enrich` share: small, and hard enough to fold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import Animation, BodyShell, MaterialShell, MeshTri
from cajole.direct.enriching import Regions, regions_subdivided
from cajole.mesh import grid_triangles

Array = NDArray[np.float64]

CORNERS = np.array([[x, y, z] for z in (0.0, 1.0) for y in (0.0, 1.0) for x in (0.0, 1.0)])
SIDES = [
    (0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4), (2, 6, 3), (3, 6, 7), (0, 4, 2), (2, 4, 6),
    (1, 3, 5), (3, 7, 5),
]  # fmt: skip
CLOTH = MaterialShell(young=2e4, poisson=0.3, thickness=2e-3, density=300.0)


def box() -> MeshTri:
    """The box of §5.2: eight vertices."""
    return MeshTri(CORNERS, SIDES)


def twisted_box(frames: int = 7, *, turn: float = 1.0, squash: float = 0.25, fps: float = 30.0) -> Animation:
    """The lid turns by `turn` [rad] and sinks by the share `squash`, gently at both ends."""
    mesh = box()
    q = np.repeat(mesh.vertices[None], frames, axis=0)
    for frame in range(frames):
        s = frame / max(frames - 1, 1)
        s = s * s * (3 - 2 * s)
        c, d = np.cos(turn * s), np.sin(turn * s)
        lid = CORNERS[4:] - (0.5, 0.5, 0.0)
        q[frame, 4:] = lid @ np.array([[c, d, 0], [-d, c, 0], [0, 0, 1 - squash * s]]) + (0.5, 0.5, 0.0)
    return Animation(mesh, q, fps)


def enriched_box(levels: int = 2, **shell: Any) -> tuple[BodyShell, Regions]:
    """A shell of the subdivided box and its hats."""
    fine, regions = regions_subdivided(box(), levels)
    return BodyShell(fine, CLOTH, **({"damping": (0.5, 1e-3)} | shell)), regions


def flat(cells: int = 2) -> MeshTri:
    """A flat square guide of `cells` by `cells`."""
    return grid_triangles(cells, cells)


def still(mesh: MeshTri, frames: int = 5, fps: float = 30.0) -> Animation:
    """A guide that stands at its rest shape."""
    return Animation(mesh, np.repeat(mesh.vertices[None], frames, axis=0), fps)


def rotation(random: np.random.Generator) -> Array:
    """A random rotation (3, 3)."""
    Q, R = np.linalg.qr(random.normal(size=(3, 3)))
    Q *= np.sign(np.diag(R))
    return Q if np.linalg.det(Q) > 0 else -Q


def shaken(mesh: MeshTri, frames: int = 7) -> Animation:
    """A guide that is thrown up and down and sideways, without any deformation."""
    times = np.arange(frames)
    path = np.stack([0.05 * np.cos(2.0 * times), 0.02 * times, 0.2 * np.sin(1.9 * times)], axis=1)
    return Animation(mesh, mesh.vertices + path[:, None, :] - path[0], 30.0)
