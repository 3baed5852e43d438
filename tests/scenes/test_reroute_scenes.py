"""Scenes for `reroute`: every goal is reached within its limit, by every method that claims to."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.scenes.rerouting import RerouteScene, reroute_scene, reroute_scene_names, reroute_scene_purposes
from cajole.scenes.rerouting.cloth import LIMIT, cloth_net, random_goals


@pytest.fixture(scope="module")
def cloth() -> RerouteScene:
    return reroute_scene("cloth")


def test_names_identity() -> None:
    assert "cloth" in reroute_scene_names()
    assert tuple(reroute_scene_purposes()) == reroute_scene_names()
    with pytest.raises(cj.InputError, match="the name of a reroute scene is 'curtain'"):
        reroute_scene("curtain")


def test_cloth_of_the_figures_identity(cloth: RerouteScene) -> None:
    """20 x 20 nodes, four kinds of springs, two goals in windows that overlap."""
    assert cloth.net.count == 400
    assert len(np.unique(cloth.net.spring_stiffness)) == 4
    starts = [goal.start for goal in cloth.result().report.goals]
    assert len(starts) == 2
    assert max(starts) < min(goal.frame for goal in cloth.goals)


@pytest.mark.parametrize("method", ["pattern", "least-force"])
def test_cloth_goals_claim(cloth: RerouteScene, method: str) -> None:
    """III.C: goals in D, forces within F_max; the pattern is kept by the one that says so."""
    report = cloth.result(method).report
    assert report.reached == 2
    assert max(goal.error for goal in report.goals) < 1e-5
    assert report.peak <= LIMIT
    if method == "pattern":
        assert all(goal.likeness.is_kept for goal in report.goals)


def test_random_goals_identity(cloth: RerouteScene) -> None:
    goals = random_goals(cloth.pilot, 50)
    again = random_goals(cloth.pilot, 50)
    assert [goal.vertex for goal in goals] == [goal.vertex for goal in again]
    offsets = [np.linalg.norm(goal.position - cloth.pilot.positions[goal.frame, goal.vertex]) for goal in goals]
    assert min(offsets) >= 0.05
    assert max(offsets) <= 0.25
    assert not set(cloth_net().fixed) & {goal.vertex for goal in goals}
