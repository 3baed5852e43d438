"""What keyframing is compared with: a spline of the shapes, their volume, and a PD pull along it."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.direct.keyframing.baselines import compute_volume_ratios, interpolate_keys, simulate_pd_baselines
from cajole.mesh import box_tets


@pytest.fixture(scope="module")
def beam():
    mesh = box_tets(12, 2, 2, size=(1.2, 0.2, 0.2))
    fixed = np.flatnonzero(mesh.vertices[:, 0] == 0)
    return cj.BodySolid(mesh, cj.MaterialStVK(young=2e5, poisson=0.4), fixed=fixed, damping=(0.1, 0.003))


@pytest.fixture(scope="module")
def poses(beam):
    """The tip pulled up and pulled down, far enough to turn."""
    tip = np.flatnonzero(beam.vertices[:, 0] > 1.19)
    share = beam.vertex_masses[tip] / beam.vertex_masses[tip].sum()
    up = np.zeros((beam.vertex_count, 3))
    up[tip, 2] = 30.0 * share
    return cj.pose(beam, np.stack([0.5 * up, up]))[1], cj.pose(beam, np.stack([-0.5 * up, -up]))[1]


def test_spline_meets_its_keys_identity(beam, poses):
    path = interpolate_keys(beam, {10: poses[0], 30: poses[1]}, frames=36)
    assert path.shape == (36, beam.vertex_count, 3)
    assert not path[0].any()
    assert path[10] == pytest.approx(poses[0])
    assert path[30:] == pytest.approx(np.repeat(poses[1][None], 6, axis=0))


def test_spline_of_parabola_reference(beam):
    # central differences are exact for parabolas at equal distances, and so is the Hermite cubic between them
    shape = np.zeros((beam.vertex_count, 3))
    shape[beam.free_vertices, 1] = 1e-3 * np.arange(len(beam.free_vertices)) / beam.vertex_count
    path = interpolate_keys(beam, {k: (k / 10) ** 2 * shape for k in (0, 10, 20, 30)})
    for frame in (13, 15, 18):
        assert path[frame] == pytest.approx((frame / 10) ** 2 * shape)


def test_volume_of_a_stretch_identity(beam):
    stretched = np.zeros((2, beam.vertex_count, 3))
    stretched[1, :, 0] = 0.25 * beam.vertices[:, 0]
    assert compute_volume_ratios(beam, stretched) == pytest.approx([1.0, 1.25])


def test_spline_loses_volume_and_the_shot_does_not_claim(beam, poses):
    """Figure 9: shapes blended across a large turn shrink; motion in the basis of keys and tangents does so less."""
    keys = {20: poses[0], 40: poses[1]}
    shot = cj.keyframe(beam, keys, frames=41, modes=6, starts="pd")
    blended = np.abs(compute_volume_ratios(beam, interpolate_keys(beam, keys, 41)) - 1).max()
    ours = np.abs(compute_volume_ratios(beam, shot.animation.displacements) - 1).max()
    assert ours < 0.5 * blended


def test_stiffer_pulls_follow_closer_and_push_harder_claim(beam, poses):
    keys = {20: poses[0], 40: poses[1]}
    shot = cj.keyframe(beam, keys, frames=41, modes=6, starts="pd")
    path = interpolate_keys(beam, keys, 41)
    target = shot.model.project(path)[1:]
    runs = simulate_pd_baselines(shot.model, path, shot.dt, gains=(1.0, 4.0, 16.0))
    misses = [np.linalg.norm(run.states - target) for run in runs]
    assert misses == sorted(misses, reverse=True)
    # with less force than the pull that comes as near to the keys, the shot meets them
    at_keys = [np.linalg.norm(run.states[[19, 39]] - target[[19, 39]]) for run in runs]
    own = np.linalg.norm(shot.states[[20, 40]] - target[[19, 39]])
    assert own < min(at_keys)
    assert np.linalg.norm(shot.controls) < np.linalg.norm(runs[-1].controls)


def test_few_coordinates_find_the_motion_of_all_agreement():
    """Eleven coordinates against all 48 of a coarse beam: the same optimum to a few percent, the same motion."""
    mesh = box_tets(4, 1, 1, size=(0.8, 0.2, 0.2))
    held, tip = (np.flatnonzero(mesh.vertices[:, 0] == x) for x in (0.0, 0.8))
    body = cj.BodySolid(mesh, cj.MaterialStVK(young=2e5, poisson=0.4), fixed=held, damping=(0.1, 0.003))
    up, down = (cj.pose(body, {int(v): (0, 0, force) for v in tip}) for force in (8.0, -8.0))
    keys = {20: up, 40: down}
    few = cj.keyframe(body, keys, frames=41, modes=6, starts="zero")
    everything = np.eye(3 * body.vertex_count)[:, body.free_dofs]
    full = cj.keyframe(body, keys, frames=41, basis=everything, dt=few.dt, starts="zero")
    assert (few.model.size, full.model.size) == (11, 48)
    assert few.report.cost == pytest.approx(full.report.cost, rel=0.05)
    apart = few.animation.displacements - full.animation.displacements
    assert np.sqrt((apart**2).sum(axis=2).mean(axis=1)).max() < 1e-3 * body.size


def test_comparators_bad_input(beam, poses):
    with pytest.raises(cj.InputError, match="frame"):
        interpolate_keys(beam, {50: poses[0]}, frames=20)
    with pytest.raises(cj.InputError, match="displacements"):
        compute_volume_ratios(beam, np.zeros((2, 5, 3)))
    model = cj.reduce(beam, cj.modes(beam, 3))
    with pytest.raises(cj.InputError, match="gains"):
        simulate_pd_baselines(model, np.zeros((5, beam.vertex_count, 3)), 0.01, gains=(-1.0,))
