"""Sheets that the tests of shells share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cajole.body import BodyShell, MaterialShell, Plasticity, ShellDamping
from cajole.mesh import MeshTri, grid_triangles

STUFF = MaterialShell(young=1e3, poisson=0.3, thickness=0.1, density=200.0)


def rough_sheet() -> MeshTri:
    """A crumpled grid, so that no two triangles are alike and no rest angle is zero."""
    mesh = grid_triangles(3, 3)
    return MeshTri(mesh.vertices + np.random.default_rng(2).uniform(-0.08, 0.08, mesh.vertices.shape), mesh.triangles)


def finned_sheet() -> MeshTri:
    """With three triangles at one edge and four at another."""
    mesh = rough_sheet()
    fins = [[5, 6, 16], [9, 10, 17], [9, 10, 18]]
    points = [[0.3, 0.5, 0.5], [0.6, 0.4, 0.6], [0.7, 0.5, -0.5]]
    return MeshTri(np.vstack([mesh.vertices, points]), np.vstack([mesh.triangles, fins]))


def moebius_strip(count: int = 9) -> MeshTri:
    """A band with one side only."""
    turn = 2 * np.pi * np.arange(count) / count
    arms = np.stack([np.cos(turn / 2) * np.cos(turn), np.cos(turn / 2) * np.sin(turn), np.sin(turn / 2)], axis=1)
    rim = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    i, j = np.arange(count), (np.arange(count) + 1) % count
    low, high = np.where(j == 0, count + j, j), np.where(j == 0, j, count + j)
    triangles = np.concatenate([np.stack([i, low, count + i], 1), np.stack([low, high, count + i], 1)])
    return MeshTri(np.concatenate([rim - 0.4 * arms, rim + 0.4 * arms]), triangles)


def lattice(nx: int, ny: int, size: tuple[float, float], origin: tuple[float, float, float] = (0, 0, 0)) -> MeshTri:
    """A grid whose diagonals all run alike."""
    i, j = np.indices((nx, ny)).reshape(2, -1)
    a = i * (ny + 1) + j
    b, c, d = a + ny + 1, a + ny + 2, a + 1
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return MeshTri(grid_triangles(nx, ny, size=size, origin=origin).vertices, triangles)


def rich_shell(mesh: MeshTri, random: np.random.Generator) -> BodyShell:
    """Everything a shell may have, different everywhere."""
    stuff = [
        MaterialShell(young, poisson, thickness, density)
        for young, poisson, thickness, density in zip(
            random.uniform(5e2, 2e3, len(mesh.triangles)),
            random.uniform(0.0, 0.45, len(mesh.triangles)),
            random.uniform(0.05, 0.2, len(mesh.triangles)),
            random.uniform(50, 300, len(mesh.triangles)),
        )
    ]
    count = len(BodyShell(mesh, STUFF).hinges.vertices)
    return BodyShell(
        mesh,
        stuff,
        fixed=[0, 4],
        damping=ShellDamping(mass=0.7, membrane=0.02, bending=0.05),
        undeformed=mesh.vertices + random.uniform(-0.05, 0.05, mesh.vertices.shape),
        bending_scale=random.uniform(0.2, 3.0, count),
        plasticity=Plasticity(random.uniform(0.1, 0.3, count), random.uniform(-0.2, 0.4, count)),
    )


SHEETS: dict[str, Callable[[], MeshTri]] = {"rough": rough_sheet, "finned": finned_sheet, "moebius": moebius_strip}
