"""What the paper states of averages: they do not tug, more of them follow closer and fold finer, inertia stays."""

from __future__ import annotations

import numpy as np
from enrich_cases import CLOTH, enriched_box, flat, shaken, twisted_box

from cajole import Animation, BodyShell, MaterialShell, MeshTri
from cajole.body import LoadWind
from cajole.direct.enriching import (
    enrich,
    regions_clustered,
    regions_interpolating,
    regions_subdivided,
)
from cajole.mesh import grid_triangles


def test_averages_do_not_tug_claim() -> None:
    """Figures 3 and 4: under sharp acceleration held points tug at the sheet between them, held averages do not.

    Averages with hat functions can pull evenly, as inertia does, so that the sheet stays exactly as it was.
    """
    coarse = flat(2)
    fine, hats = regions_subdivided(coarse, 2)
    cloth = BodyShell(fine, CLOTH, damping=(0.5, 1e-3))
    guide = shaken(coarse)
    bumps = {}
    for name, regions in (("averages", hats), ("points", regions_interpolating(coarse, fine))):
        result = enrich(guide, cloth, regions, dt=1 / 120)
        assert result.residual.max() < 1e-12
        off = result.animation.positions - np.einsum("ij,fjk->fik", hats.interpolation.toarray(), guide.positions)
        bumps[name] = np.abs(off).max() / cloth.size
    assert bumps["averages"] < 1e-8
    assert bumps["points"] > 0.02


def test_averages_stay_smooth_where_a_guide_stretches_claim() -> None:
    """Figure 4: while the guide expands and contracts, held points leave several times the high frequencies."""
    coarse = flat(3)
    fine, hats = regions_subdivided(coarse, 2)
    cloth = BodyShell(fine, MaterialShell(young=1e3, thickness=2e-3, density=300.0), damping=(0.5, 1e-3))
    times = np.arange(10) / 30
    middle = np.array([0.5, 0.5, 0.0])
    q = middle + (1 + 0.15 * np.sin(8 * np.pi * times))[:, None, None] * (coarse.vertices - middle)
    q[:, :, 2] += 0.1 * np.sin(6 * np.pi * times)[:, None]
    guide = Animation(coarse, q, 30.0)
    around = fine.adjacency
    degree = np.asarray(around.sum(axis=1)).ravel()[:, None]
    rough = []
    for regions in (hats, regions_interpolating(coarse, fine)):
        x = enrich(guide, cloth, regions, dt=1 / 120).animation.positions
        off = [x[frame] - hats.interpolation @ q[frame] for frame in range(10)]
        rough.append(np.mean([np.linalg.norm(around @ d / degree - d) for d in off]))
    assert rough[1] > 3 * rough[0]


def deforming(mesh: MeshTri, *, squeeze: float = 0.0, wave: float = 0.0, frames: int = 9) -> Animation:
    """A sheet that is squeezed along x by a share, and waves [m]."""
    x, y = mesh.vertices[:, 0], mesh.vertices[:, 1]
    q = np.repeat(mesh.vertices[None], frames, axis=0)
    for frame in range(frames):
        s = frame / (frames - 1)
        s = s * s * (3 - 2 * s)
        q[frame, :, 0] = 0.5 + (x - 0.5) * (1 - squeeze * s)
        q[frame, :, 2] = wave * s * np.sin(2 * np.pi * x) * np.cos(np.pi * y)
    return Animation(mesh, q, 30.0)


def test_more_regions_follow_closer_claim() -> None:
    """Figure 6: 4, 16 and 64 clusters; the more of them, the closer the shell is to the guide."""
    mesh = grid_triangles(10, 10)
    guide = deforming(mesh, wave=0.3)
    cloth = BodyShell(mesh, CLOTH, damping=(2.0, 1e-3))
    off = []
    for count in (4, 16, 64):
        result = enrich(guide, cloth, regions_clustered(guide, count, seed=2), dt=1 / 120, gravity=9.81)
        assert result.residual.max() < 1e-12
        off.append(float(np.linalg.norm(result.animation.positions[-1] - guide.positions[-1], axis=1).mean()))
    assert off[0] > 1.5 * off[1] > 2.25 * off[2]


def test_more_regions_fold_finer_claim() -> None:
    """Figures 5 and 6: a squeezed sheet folds between its regions; where these are small, so are the folds.

    Measured by how far folds are from the mean of their neighbours, of a sheet that is stiff enough not to crumple.
    """
    mesh = grid_triangles(14, 14)
    guide = deforming(mesh, squeeze=0.35, wave=0.02)
    cloth = BodyShell(mesh, MaterialShell(young=2e4, thickness=0.01, density=30.0), damping=(5.0, 1e-3))
    around = mesh.adjacency
    degree = np.asarray(around.sum(axis=1)).ravel()
    fineness = []
    for count in (4, 16, 64):
        x = enrich(guide, cloth, regions_clustered(guide, count, mu=1.0, seed=1), dt=1 / 60).animation.positions[-1]
        fold = (x - guide.positions[-1])[:, 2]
        assert np.abs(fold).max() > 0.03
        fineness.append(np.linalg.norm(around @ fold / degree - fold) / np.linalg.norm(fold))
    assert 1.3 * 1.1 * fineness[0] < 1.3 * fineness[1] < fineness[2]


def test_swings_on_when_the_guide_stops_claim() -> None:
    """§5.2: the coarse mesh stops, yet the shell moves on under inertia; damping calms it."""
    guide = twisted_box(5, turn=0.8)
    speeds = []
    for alpha in (0.0, 20.0):
        cloth, regions = enriched_box(2, damping=(alpha, 0.0))
        result = enrich(guide, cloth, regions, dt=1 / 120, frames=9)
        assert len(result.animation) == len(result.residual) == 9
        assert result.residual.max() < 1e-12
        np.testing.assert_allclose(
            regions.fine_weights @ result.animation.frame(8), regions.guide_weights @ guide.frame(4), atol=1e-12
        )
        speeds.append(np.abs(result.animation.velocities[-1]).max())
    assert speeds[0] > 0.05
    assert speeds[1] < 0.5 * speeds[0]


def test_wind_excites_the_shell_alone_claim() -> None:
    """§5.3: a strong wind makes the material flutter and leaves the gross motion as it was."""
    cloth, regions = enriched_box(2)
    guide = twisted_box(6)
    wind = LoadWind(cloth.mesh, (8.0, 0.0, 0.0), gust_speed=3.0, gust_size=0.3, seed=4)
    calm = enrich(guide, cloth, regions, dt=1 / 120)
    blown = enrich(guide, cloth, regions, dt=1 / 120, forces=wind)
    assert blown.residual.max() < 1e-12
    assert np.abs(blown.animation.positions[-1] - calm.animation.positions[-1]).max() > 0.02
    for result in (calm, blown):
        np.testing.assert_allclose(
            regions.fine_weights @ result.animation.frame(5), regions.guide_weights @ guide.frame(5), atol=1e-12
        )
