"""What `keyframe` holds exactly: hard keys, the seam of a loop; and starts that it finds itself."""

from __future__ import annotations

import numpy as np
import pytest
from keyframe_cases import beam, poses, shot, tip

import cajole as cj
from cajole.reduction.trajectory import build_newmark_coefficients, rollout


def test_hard_keys_are_met_identity() -> None:
    a, b = poses()
    report = shot(keys={10: cj.Key(a, hard=True), 20: cj.Key(b, hard=True)}).report
    assert report.converged
    assert max(report.errors) <= 1e-6


def test_exactness_and_its_price_are_reported_identity() -> None:
    a, b = poses()
    soft = shot().report
    report = shot(keys={10: cj.Key(a, hard=True), 20: b}).report
    assert report.soft_effort == pytest.approx(soft.effort, rel=1e-6)
    assert report.soft_effort is not None
    assert report.effort > report.soft_effort
    assert "exact keys cost effort" in str(report)
    assert report.errors[0] <= 1e-6 < report.errors[1]


def test_hard_keys_are_the_limit_of_large_weights_agreement() -> None:
    a, b = poses()
    exact = shot(keys={10: cj.Key(a, hard=True), 20: cj.Key(b, hard=True)}).report
    heavy = shot(keys={10: cj.Key(a, weight=1e6), 20: cj.Key(b, weight=1e6)}).report
    assert heavy.effort == pytest.approx(exact.effort, rel=1e-2)
    assert heavy.effort < exact.effort


def test_hard_partial_key_with_dependent_rows_identity() -> None:
    a, b = poses()
    vertices = np.concatenate([tip(beam()), tip(beam())[:2]])
    report = shot(keys={10: cj.Key(a, vertices=vertices, hard=True), 20: b}).report
    assert report.converged
    assert report.errors[0] <= 1e-5


def test_smaller_rank_meets_more_and_costs_more_identity() -> None:
    a, b = poses()
    key = cj.Key(a, vertices=tip(beam()), hard=True)
    loose, strict = (shot(keys={10: key, 20: b}, rank=rank).report for rank in (0.1, 1e-4))
    assert strict.errors[0] <= loose.errors[0]
    assert strict.effort >= loose.effort


def test_what_the_basis_cannot_reach_is_reported_identity() -> None:
    a, _ = poses()
    basis = cj.modes(beam(), 4).shapes
    report = shot(keys={10: cj.Key(a, hard=True)}, basis=basis).report
    assert report.projection_errors[0] > 1e-3
    assert report.errors[0] == pytest.approx(report.projection_errors[0], rel=1e-5)


def test_loop_played_three_times_has_no_seam_identity() -> None:
    a, b = poses()
    made = shot(keys={5: a, 15: b}, loop=True, frames=24)
    assert made.states.shape[0] == made.controls.shape[0] == 24
    assert made.loop
    assert made.start is not None
    model, laps = made.model, 3
    path = rollout(
        model.kernel_data,
        build_newmark_coefficients(np.full(24 * laps + 1, made.dt)),
        made.start,
        np.tile(made.controls, (3, 1)),
    )
    reach = np.sqrt(model.body.total_mass) * model.body.size
    for lap in range(1, laps):
        at = 24 * lap
        assert np.abs(path.coordinates[at] - made.states[0]).max() <= 1e-10 * reach
        assert np.abs(path.velocities[at] - made.velocities[0]).max() <= 1e-10 * reach * model.first_angular_frequency
    jump = np.linalg.norm(made.controls[0] - made.controls[-1])
    assert jump <= 1.5 * np.linalg.norm(np.diff(made.controls, axis=0), axis=1).max()


def test_loop_with_hard_keys_identity() -> None:
    a, b = poses()
    report = shot(keys={5: cj.Key(a, hard=True), 15: b}, loop=True, frames=24).report
    assert report.converged
    assert report.errors[0] <= 1e-6
    assert report.loop_gap is not None
    assert report.loop_gap <= 1e-10


def test_loop_counts_frames_modulo_and_shifts_with_its_keys_identity() -> None:
    a, b = poses()
    one = shot(keys={5: a, 15: b}, loop=True, frames=20)
    other = shot(keys={25: a, 35: b}, loop=True, frames=20)
    np.testing.assert_allclose(other.animation.positions, one.animation.positions, atol=1e-9)
    shifted = shot(keys={8: a, 18: b}, loop=True, frames=20)
    np.testing.assert_allclose(np.roll(shifted.animation.positions, -3, axis=0), one.animation.positions, atol=1e-6)


def test_free_start_costs_less_than_rest_identity() -> None:
    free, rest = shot(start="free"), shot()
    assert free.report.converged
    assert free.report.cost < rest.report.cost
    assert free.report.effort < 0.8 * rest.report.effort
    assert free.states.shape[0] == 25


def test_free_start_meets_hard_keys_identity() -> None:
    a, b = poses()
    report = shot(start="free", keys={10: cj.Key(a, hard=True), 20: b}).report
    assert report.errors[0] <= 1e-6
