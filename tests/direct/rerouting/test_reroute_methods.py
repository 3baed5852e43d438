"""The parts of `reroute`: derivatives, the cone, limits, measures of likeness, and goals solved together."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from reroute_cases import EDGE, MIDDLE, cloth, goal, missed, pilot, two_goals
from scipy.optimize import minimize

import cajole as cj
from bodies import Array
from cajole.direct.rerouting import ConeSearchOptions, least_force, pilot_simulation
from cajole.direct.rerouting.cone_search import find_best_step_in_cone, search_best_step_in_cone
from cajole.direct.rerouting.force_distribution import ForceDistribution
from cajole.direct.rerouting.goals import build_goal_set
from cajole.direct.rerouting.least_force import ControlWindow, LeastForceOptions, solve_limited_least_squares
from cajole.direct.rerouting.path_similarity import compute_path_similarity, compute_procrustes_distance
from cajole.direct.rerouting.pattern import make_similarity_rule, solve_pattern
from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.direct.rerouting.tracking import ControlledMotion, track_targets
from cajole.mesh.rotations import compute_minimal_rotation
from derivatives import check_derivative

CUT_OFF = LeastForceOptions(max_iterations=1, max_corrections=0)


def window_of(goals: list[cj.Goal], reach: float = 0.4, within: float = 0.01) -> ControlWindow:
    acting = PilotSimulation(cloth(), pilot())
    aims = build_goal_set(goals, cloth(), acting.positions, 150.0)
    spread = ForceDistribution.for_goals(cloth(), aims, reach)
    acting.reset_factor_cache(aims.last_frame - aims.first_frame)
    return ControlWindow(acting, aims, spread, acting.get_state(aims.first_frame), within=within)


@pytest.mark.parametrize("kept", [True, False])
def test_goals_by_all_forces_derivative(
    kept: bool, random: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact over the whole window, two goals at two frames, whether factors are kept or made again."""
    monkeypatch.setattr(pilot_simulation, "MAX_CACHED_FACTOR_SIZE", 10**9 if kept else 0)
    window = window_of(two_goals())
    shape = len(window.steps), 3
    y, way = 0.02 * random.normal(size=shape), 0.05 * random.normal(size=shape)
    J = window.compute_jacobian(window.rollout(y))

    def places(controls: Array) -> Array:
        return -window.rollout(controls).compute_goal_residuals().ravel()

    check_derivative(places, J @ way.ravel(), y, way)


def test_slopes_of_an_older_run_identity(random: np.random.Generator) -> None:
    """Factors that a later run has overwritten are made again, not mistaken for its own."""
    window = window_of(two_goals())
    y = 0.05 * random.normal(size=(len(window.steps), 3))
    first = window.rollout(np.zeros_like(y))
    J = window.compute_jacobian(first)
    second = window.rollout(y)
    assert abs(window.compute_jacobian(second) - J).max() > 1e-3 * abs(J).max()
    np.testing.assert_allclose(window.compute_jacobian(first), J, rtol=0, atol=1e-12 * abs(J).max())


def test_least_force_is_stationary_identity() -> None:
    """At what is found, forces are Jᵀλ: no change that keeps the goals saves any to first order."""
    window = window_of([goal(EDGE, 30, (0.06, 0.03, 0.05), 14)], within=1e-3)
    found = least_force.minimise_effort(window, np.zeros((len(window.steps), 3)))
    assert found.error < 1e-6
    J, y = window.compute_jacobian(found.motion), found.controls.ravel()
    lam = np.linalg.lstsq(J.T, y)[0]
    assert np.linalg.norm(y - J.T @ lam) < 0.15 * np.linalg.norm(y)
    assert found.motion.effort < solve_pattern(dataclasses.replace(window, within=0.01)).effort


def test_search_keeps_goals_once_met_identity() -> None:
    """A search from the pattern's forces that is cut off where it has lost the goal ends with a point that meets it."""
    window, options = (
        window_of([goal(EDGE, 30, (0.15, 0.1, 0.15), 10)], within=1e-4),
        CUT_OFF,
    )
    pattern = solve_pattern(window)
    found = least_force.minimise_effort(window, window.gather(pattern.forces), options=options)
    assert found.error <= 1e-4
    lost = least_force.minimise_effort(window, np.zeros((len(window.steps), 3)), options=options)
    assert lost.error > 1e-4


def cut_off(goals: list[cj.Goal]) -> tuple[ControlWindow, ControlledMotion]:
    """A search that is stopped far from its goals."""
    window, options = window_of(goals, within=1e-4), CUT_OFF
    led = least_force.minimise_effort(window, np.zeros((len(window.steps), 3)), options=options).motion
    assert led.compute_goal_errors().max() > 1e-3
    return window, led


def test_what_a_search_misses_is_tracked_identity() -> None:
    """The rest of the way is made up for step by step, from the forces found, and those make the motion again."""
    window, led = cut_off(two_goals())
    there = least_force.correct_by_tracking(window, led)
    assert there.compute_goal_errors().max() < 1e-8
    again = window.simulation.get_state(window.goal_set.first_frame)
    for k, force in enumerate(there.forces):
        again = window.simulation.step(again, window.goal_set.first_frame + 1 + k, force)
    np.testing.assert_allclose(again.displacement, there.states[-1].displacement, rtol=0, atol=1e-11)
    nothing = least_force.correct_by_tracking(window, there)
    np.testing.assert_allclose(nothing.forces, there.forces, rtol=0, atol=1e-6 * abs(there.forces).max())


def test_tracking_on_top_of_forces_keeps_the_limit_identity() -> None:
    window, led = cut_off(two_goals())
    most = float(np.linalg.norm(led.forces, axis=2).max())
    there = least_force.correct_by_tracking(dataclasses.replace(window, limit=most), led)
    sizes = np.linalg.norm(there.forces, axis=2)
    assert most * (1 - 1e-9) <= sizes.max() <= most * (1 + 1e-12)
    again = window.initial_state
    for k, force in enumerate(there.forces):
        again = window.simulation.step(again, window.goal_set.first_frame + 1 + k, force)
    np.testing.assert_allclose(again.displacement, there.states[-1].displacement, rtol=0, atol=1e-11)


def test_a_search_that_misses_is_landed_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """`reroute` ends on its goals also where the search is cut off, with less effort than the pattern's."""
    short = functools.partial(LeastForceOptions, max_iterations=2, max_corrections=0)
    monkeypatch.setattr(least_force, "LeastForceOptions", short)
    asked = [goal(EDGE, 30, (0.15, 0.1, 0.15), 20)]
    found = cj.reroute(cloth(), pilot(), asked, "least-force", 1e-4)
    assert missed(found, asked).max() <= 1e-4
    assert found.report.effort < cj.reroute(cloth(), pilot(), asked).report.effort


@pytest.mark.parametrize(("limit", "at_limit"), [(0.7, 5), (1.3, 4), (1.5, 1)])
def test_limited_step_reference(limit: float, at_limit: int, random: np.random.Generator) -> None:
    """The dual's answer is that of scipy's SLSQP on the same problem; some nodes are at the limit."""
    J, c = random.normal(size=(3, 15)) * np.repeat((0.05, 1, 1, 1, 1), 3), 0.1 * random.normal(size=(5, 3))
    b, sigma, kappa = J @ random.normal(size=15), 2.0, 50.0
    y, _ = solve_limited_least_squares(J, b, c, sigma, kappa, limit)

    def cost(x: Array) -> float:
        return 0.5 * sigma * float(((x - c.ravel()) ** 2).sum()) + 0.5 * kappa * float(((J @ x - b) ** 2).sum())

    bounds = {"type": "ineq", "fun": lambda x: limit**2 - (x.reshape(-1, 3) ** 2).sum(axis=1)}
    best = minimize(cost, np.zeros(15), method="SLSQP", constraints=bounds, options={"ftol": 1e-14, "maxiter": 500})
    sizes = np.linalg.norm(y, axis=1)
    assert sizes.max() <= limit * (1 + 1e-12)
    assert (sizes > limit * (1 - 1e-9)).sum() == at_limit
    assert cost(y.ravel()) == pytest.approx(best.fun, rel=1e-6)
    np.testing.assert_allclose(y.ravel(), best.x, atol=1e-3)


def test_unlimited_step_identity(random: np.random.Generator) -> None:
    """A limit that does not bite changes nothing."""
    J, c, b = random.normal(size=(3, 15)), random.normal(size=(5, 3)), random.normal(size=3)
    free, lam = solve_limited_least_squares(J, b, c, 3.0, 1e3, None)
    same, also = solve_limited_least_squares(J, b, c, 3.0, 1e3, 1e6)
    np.testing.assert_allclose(same, free, atol=1e-9)
    np.testing.assert_allclose(also, lam, atol=1e-6)


@pytest.mark.parametrize("cone", [0.0, 0.4, 1.5, np.pi])
def test_cone_agreement(cone: float, random: np.random.Generator) -> None:
    """The closed form is as good as a search over the cone, which comes near it as it is refined."""
    for R, w in random.normal(size=(20, 2, 3)):
        best = find_best_step_in_cone(R, w, cone)
        assert np.linalg.norm(best) == pytest.approx(np.linalg.norm(R))
        angle = np.arccos(np.clip(best @ R / (R @ R), -1, 1))
        assert angle <= cone + 1e-6
        gaps = [best @ w - search_best_step_in_cone(R, w, cone, angles) @ w for angles in (8, 64)]
        size = np.linalg.norm(R) * np.linalg.norm(w)
        assert -1e-12 * size <= gaps[1] <= gaps[0] + 1e-12 * size
        assert gaps[1] < 2e-3 * size


def test_discrete_search_agreement() -> None:
    """The paper's scheme with its own search leads as with the closed form."""
    asked = goal(EDGE, 30, (0.06, 0.03, 0.05), 14)
    closed = ConeSearchOptions(step_scales=(1.0,))
    paths = []
    for seeking in (closed, dataclasses.replace(closed, search="discrete", polar_angle_count=150)):
        paths.append(cj.reroute(cloth(), pilot(), asked, "paper", cone_search=seeking).paths[0].positions)
    assert abs(paths[0] - paths[1]).max() < 0.02 * np.linalg.norm(paths[0][-1] - paths[0][0])


def test_paper_steps_are_proportional_identity() -> None:
    """Eq. (14): every step of the paper's path is L times the pilot's; wider cones come nearer to the goal."""
    asked = goal(EDGE, 30, (0.06, 0.03, 0.05), 14)
    wide = cj.reroute(cloth(), pilot(), asked, "paper").report.goals[0]
    assert wide.similarity.step_length_variation < 1e-9
    narrow = cj.reroute(
        cloth(), pilot(), asked, "paper", cone_search=ConeSearchOptions(max_cone_angle=0.02)
    ).report.goals[0]
    assert narrow.error > wide.error


def test_paper_weight_of_force_identity() -> None:
    """γ of (17): the more a force costs, the less of it, and the farther from the goal."""
    asked = goal(EDGE, 30, (0.06, 0.03, 0.05), 14)
    reports = [
        cj.reroute(
            cloth(), pilot(), asked, "paper", cone_search=ConeSearchOptions(force_weight=gamma, step_scales=(1.0,))
        ).report
        for gamma in (0.0, 1e3)
    ]
    assert reports[1].effort < reports[0].effort
    assert reports[1].goals[0].error > reports[0].goals[0].error


def test_similar_path_identity() -> None:
    """Carried out, the receding step is the pilot's path turned and scaled: its shape is the pilot's."""
    window = window_of([goal(EDGE, 30, (0.06, 0.03, 0.05), 14)])
    led = track_targets(window, make_similarity_rule(window))
    alike = compute_path_similarity(led.extract_path(EDGE), pilot().positions[16:31, EDGE])
    assert alike.shape_distance < 0.02
    assert alike.step_length_variation < 0.02
    assert alike.is_similar
    assert led.compute_goal_errors().max() < 1e-8


def test_still_pilot_is_led_smoothly_identity() -> None:
    """Where the pilot does not move there is nothing to scale: the node goes gently, and not in one last jump."""
    still = pilot().moved(np.repeat(pilot().positions[-1:], 30, axis=0))
    asked = cj.Goal(EDGE, 25, still.positions[0, EDGE] + (0.05, 0.0, 0.05))
    path = cj.reroute(cloth(), still, asked).paths[0].positions
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert steps.max() < 3 * steps.mean()
    np.testing.assert_allclose(path[-1], asked.position, atol=1e-8)


def test_likeness_reference(random: np.random.Generator) -> None:
    """Turned, scaled and moved is the same; mirrored, or along other steps, is not."""
    path = np.cumsum(random.normal(size=(12, 3)), axis=0)
    turn = compute_minimal_rotation(np.array([1.0, 0, 0]), random.normal(size=3))
    same = compute_path_similarity(2.5 * path @ turn.T + (1, 2, 3), path)
    assert same.shape_distance < 1e-6
    assert same.step_length_variation < 1e-12
    assert same.turning_correlation == pytest.approx(1)
    assert same.max_turning_difference < 1e-6
    assert compute_procrustes_distance(path * (1, 1, -1), path) > 0.1
    other = compute_path_similarity(np.cumsum(random.normal(size=(12, 3)), axis=0), path)
    assert not other.is_similar
    assert other.step_length_variation > 0.2
    assert compute_path_similarity(path, np.linspace(0, 1, 12)[:, None] * (1.0, 0, 0)).turning_correlation is None
    # equals scipy's spatial.procrustes disparity, which allows mirrors, on a path that needs none
    from scipy.spatial import procrustes as reference

    near = path + 0.1 * random.normal(size=path.shape)
    assert compute_procrustes_distance(near, path) ** 2 == pytest.approx(reference(path, near)[2], rel=1e-9)


def test_groups_are_windows_that_overlap_identity() -> None:
    frames = {EDGE: (40, 10), MIDDLE: (34, 8), 50: (20, 10), 51: (26, 6)}
    goals = [goal(vertex, frame, (0.01, 0, 0), window) for vertex, (frame, window) in frames.items()]
    aims = build_goal_set(goals, cloth(), np.asarray(pilot().positions), 150.0)
    # 10..20, 20..26, then 26..34 and 30..40 together
    assert [group.goal_indices.tolist() for group in aims.split_by_overlap()] == [[2], [3], [1, 0]]
    assert aims.find_active(30).tolist() == [1]
    assert aims.find_active(31).tolist() == [0, 1]


@pytest.mark.parametrize("method", ["pattern", "least-force"])
def test_later_windows_start_from_the_led_motion_identity(method: str) -> None:
    """Windows apart are led one after the other, from where the first left the cloth, and both goals are met."""
    goals = [goal(EDGE, 20, (0.05, 0, 0.05), 12), goal(MIDDLE, 40, (0, 0.05, 0.04), 12)]
    result = cj.reroute(cloth(), pilot(), goals, method)
    assert missed(result, goals).max() < 1e-5
    assert not result.forces[21:29].any()
    free = result.animation.positions[21:29]
    assert abs(free - pilot().positions[21:29]).max() > 0.01


@pytest.mark.parametrize("method", ["pattern", "least-force"])
def test_several_goals_of_one_node_identity(method: str) -> None:
    goals = [goal(EDGE, 24, (0.03, 0, 0.03)), goal(EDGE, 30, (0.0, 0.03, 0.03)), goal(EDGE, 38, (0, 0, 0))]
    result = cj.reroute(cloth(), pilot(), goals, method)
    assert missed(result, goals).max() < 1e-4
