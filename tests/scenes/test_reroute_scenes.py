"""Scenes for `reroute`: every goal is reached within its limit, by every method that claims to."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.scenes.reroute_scenes import (
    RerouteScene,
    get_reroute_scene_descriptions,
    list_reroute_scene_names,
    load_reroute_scene,
)
from cajole.scenes.reroute_scenes.cloth import FORCE_LIMIT, build_cloth_springs, sample_goals


@pytest.fixture(scope="module")
def cloth() -> RerouteScene:
    return load_reroute_scene("cloth")


def test_names_identity() -> None:
    assert "cloth" in list_reroute_scene_names()
    assert tuple(get_reroute_scene_descriptions()) == list_reroute_scene_names()
    with pytest.raises(cj.InputError, match="the name of a reroute scene is 'curtain'"):
        load_reroute_scene("curtain")


def test_cloth_of_the_figures_identity(cloth: RerouteScene) -> None:
    """20 x 20 nodes, four kinds of springs, two goals in windows that overlap."""
    assert cloth.net.vertex_count == 400
    assert len(np.unique(cloth.net.spring_stiffness)) == 4
    starts = [goal.start_frame for goal in cloth.solve().report.goals]
    assert len(starts) == 2
    assert max(starts) < min(goal.frame for goal in cloth.goals)


@pytest.mark.parametrize("method", ["pattern", "least-force"])
def test_cloth_goals_claim(cloth: RerouteScene, method: str) -> None:
    """III.C: goals in D, forces within F_max; the pattern is kept by the one that says so."""
    report = cloth.solve(method).report
    assert report.reached_count == 2
    assert max(goal.error for goal in report.goals) < 1e-5
    assert report.peak_force <= FORCE_LIMIT
    if method == "pattern":
        assert all(goal.similarity.is_similar for goal in report.goals)


def test_random_goals_identity(cloth: RerouteScene) -> None:
    goals = sample_goals(cloth.pilot, 50)
    again = sample_goals(cloth.pilot, 50)
    assert [goal.vertex for goal in goals] == [goal.vertex for goal in again]
    offsets = [np.linalg.norm(goal.position - cloth.pilot.positions[goal.frame, goal.vertex]) for goal in goals]
    assert min(offsets) >= 0.05
    assert max(offsets) <= 0.25
    assert not set(build_cloth_springs().fixed) & {goal.vertex for goal in goals}
