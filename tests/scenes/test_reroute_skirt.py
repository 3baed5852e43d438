"""The skirt of Figure 5: legs that walk, a skirt that swings around them and not through, and a hem that curls."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.scenes.reroute_scenes import RerouteScene, load_reroute_scene
from cajole.scenes.reroute_scenes.legs import SHIN_LENGTH, THIGH_LENGTH, compute_leg_pose
from cajole.scenes.reroute_scenes.skirt import (
    COLUMNS,
    CONTACT_MARGIN,
    CURL_FRAME,
    FORCE_LIMIT,
    ROWS,
    build_skirt_colliders,
    compute_leg_poses,
    curl_hem,
)


@pytest.fixture(scope="module")
def skirt() -> RerouteScene:
    return load_reroute_scene("skirt")


def deepest(scene: RerouteScene, positions: np.ndarray) -> float:
    """[m] in the limbs that are seen, over all frames; the waistband is part of the hips."""
    limbs = scene.reroute_options["capsules"]
    return max(
        float(around.compute_penetration_depths(frame[COLUMNS:]).max()) for around, frame in zip(limbs, positions)
    )


def test_legs_walk_identity() -> None:
    """Bones keep their lengths, and a ball that stands does not slide."""
    walk = np.array([compute_leg_pose(t).joints for t in np.arange(0.0, 3.0, 1 / 60)])
    assert np.linalg.norm(walk[:, :, 1] - walk[:, :, 0], axis=2) == pytest.approx(THIGH_LENGTH, abs=1e-9)
    assert np.linalg.norm(walk[:, :, 2] - walk[:, :, 1], axis=2) == pytest.approx(SHIN_LENGTH, abs=1e-9)
    ways = np.linalg.norm(np.diff(walk[:, :, 3], axis=0), axis=2)
    assert ways.min(axis=1).max() < 1e-9
    assert walk[-1, :, 0, 0].mean() > 1.5


def test_skirt_of_the_figure_identity(skirt: RerouteScene) -> None:
    assert skirt.net.vertex_count == 1980
    assert len(skirt.net.fixed) == COLUMNS
    stage = PilotSimulation(skirt.net, skirt.pilot, capsules=skirt.reroute_options["capsules"])
    again = stage.step(stage.get_state(39), 40)
    assert np.abs(skirt.net.vertices + again.displacement - skirt.pilot.positions[40]).max() < 1e-9


def test_skirt_hangs_and_swings_claim(skirt: RerouteScene) -> None:
    """Its hem moves by more than a centimetre against the hips, and stays out of the legs."""
    grid = skirt.pilot.positions.reshape(skirt.pilot.frames, ROWS, COLUMNS, 3)
    against = grid[:, -1].mean(axis=1) - grid[:, 0].mean(axis=1)
    assert (against[:, 2] < -0.25).all()
    assert np.ptp(against[:, 0]) > 0.01
    assert deepest(skirt, skirt.pilot.positions) < 0.0


def test_curl_claim(skirt: RerouteScene) -> None:
    """Figure 5: the whole target pose is met where it is asked for, within F_max, and the legs are not entered."""
    result = skirt.solve()
    report = result.report
    assert report.reached_count == len(skirt.goals) == 40
    assert max(goal.error for goal in report.goals) < 1e-6
    assert report.peak_force <= FORCE_LIMIT
    assert deepest(skirt, result.animation.positions) < 0.0
    before = report.goals[0].start_frame
    assert np.array_equal(result.animation.positions[: before + 1], skirt.pilot.positions[: before + 1])
    # the neighbours follow: all columns of the hem have come up, on the way to the pose
    target = curl_hem(skirt.pilot.positions[CURL_FRAME], compute_leg_poses()[-len(skirt.pilot) :][CURL_FRAME])
    rows = slice((ROWS - 1) * COLUMNS, None)
    far, near = (
        np.linalg.norm(at.positions[CURL_FRAME][rows] - target[rows], axis=1) for at in (skirt.pilot, result.animation)
    )
    assert near.mean() < 0.35 * far.mean()


def test_limbs_push_before_they_are_met_identity() -> None:
    limbs = build_skirt_colliders(compute_leg_poses()[:1])[0]
    assert limbs.margin == CONTACT_MARGIN
    assert len(limbs.starts) == 7
