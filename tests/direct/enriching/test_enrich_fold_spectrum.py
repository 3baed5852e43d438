"""How fine folds are, told by the frequencies of their curvature: Figure 6 of Bergou 2007."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from cajole import Animation, BodyShell, MaterialShell
from cajole.direct.enriching import enrich, regions_clustered
from cajole.mesh import grid_triangles

Array = NDArray[np.float64]

CELLS, SQUEEZE = 20, 0.15


def curvature_spectrum(heights: Array) -> tuple[Array, Array]:
    """Waves across the sheet (k,) and the share of the power of the curvature (k,) that each has.

    heights: (n,) [m] of a grid of CELLS by CELLS; its second derivative along the squeezed direction is taken.
    """
    rows = heights.reshape(CELLS + 1, CELLS + 1)
    bend = np.diff(rows, 2, axis=0)
    power = (np.abs(np.fft.rfft(bend * np.hanning(len(bend))[:, None], axis=0)) ** 2).sum(axis=1)[1:]
    return np.arange(1, len(power) + 1) * (CELLS / len(bend)), power / power.sum()


@pytest.mark.parametrize("seed", range(4))
def test_the_curvature_of_folds_has_shorter_waves_claim(seed: int) -> None:
    """A squeezed sheet with 4, 16 and 64 clusters: the mean wave number of its curvature grows, and 64 lie closest.

    Whether 16 lie closer than 4 depends on where they are: not so with the seeds 0 and 3.
    """
    mesh = grid_triangles(CELLS, CELLS)
    share = np.linspace(0, 1, 13) ** 2 * (3 - 2 * np.linspace(0, 1, 13))
    q = np.repeat(mesh.vertices[None], 13, axis=0)
    q[:, :, 0] = 0.5 + (1 - SQUEEZE * share)[:, None] * (mesh.vertices[:, 0] - 0.5)
    q[:, :, 2] = 0.01 * share[:, None] * np.sin(7.1 * mesh.vertices[:, 0] + 0.3)
    guide = Animation(mesh, q, 30.0)
    cloth = BodyShell(mesh, MaterialShell(young=2e4, thickness=4e-3, density=75.0), damping=(5.0, 1e-3))
    waves, off = [], []
    for count in (4, 16, 64):
        x = enrich(guide, cloth, regions_clustered(guide, count, mu=1.0, seed=seed), dt=1 / 60, frames=20).animation
        numbers, share_of = curvature_spectrum(x.positions[-1, :, 2])
        waves.append(float(numbers @ share_of))
        off.append(float(np.linalg.norm(x.positions[-1] - q[-1], axis=1).mean()))
    assert min(off[:2]) > 1.25 * off[2]
    assert 1.2 * 1.2 * waves[0] < 1.2 * waves[1] < waves[2]
