"""`reroute`: the second run does as told, with forces where and as large as they may be, and is the pilot otherwise."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest
from reroute_cases import DT, EDGE, FRAMES, MIDDLE, cloth, goal, missed, pilot, two_goals

import cajole as cj
from cajole.direct.rerouting import METHODS, ConeSearchOptions, build_pose_goals
from cajole.direct.rerouting.force_distribution import (
    ForceDistribution,
    compute_default_reach,
    compute_gaussian_weights,
    compute_graph_distances,
)
from cajole.direct.rerouting.goals import build_goal_set
from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.dynamics.integrators import StepHistory
from cajole.dynamics.linear_bdf2 import LinearBDF2Stepper
from cajole.dynamics.restricted_system import RestrictedSystem


def rerun(stage: PilotSimulation, frames: int) -> float:
    """How far a second run without control is from the pilot [m]."""
    state, worst = stage.get_state(0), 0.0
    for frame in range(1, frames):
        state = stage.step(state, frame)
        worst = max(worst, float(abs(stage.body.vertices + state.displacement - stage.positions[frame]).max()))
    return worst


def test_pilot_runs_again_identity() -> None:
    """Without control the second run is the pilot, and the forces found in it are those that made it."""
    stage = PilotSimulation(cloth(), pilot())
    assert rerun(stage, FRAMES) < 1e-12
    weight = cloth().gravity()[cloth().free_vertices]
    for frame in range(1, FRAMES):
        np.testing.assert_allclose(
            stage.compute_external_force(frame)[cloth().free_vertices], weight, rtol=0, atol=1e-10
        )


@pytest.mark.parametrize("kind", ["newmark", "no velocities", "single precision", "by hand"])
def test_any_motion_is_a_pilot_identity(kind: str) -> None:
    """Whatever made the motion, the run without control is it; what is held may move."""
    if kind == "newmark":
        motion = cj.simulate(cloth(), 12, DT, gravity=9.81, integrator="newmark")
    elif kind == "no velocities":
        motion = dataclasses.replace(pilot().trimmed(0, 12), velocities=None)
    elif kind == "single precision":
        motion = dataclasses.replace(pilot().trimmed(0, 12), positions=pilot().positions[:12].astype(np.float32))
    else:
        t = np.arange(12)[:, None, None] / 12
        motion = pilot().moved(cloth().vertices + np.sin(3 * t + cloth().vertices[:, [1, 2, 0]]) * (0.3, 0.1, 0.2))
        assert np.ptp(motion.positions[:, cloth().fixed], axis=0).max() > 0.05
    assert rerun(PilotSimulation(cloth(), motion), 12) < 1e-11


@pytest.mark.parametrize("method", METHODS)
def test_order_of_elimination_agreement(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pymetis goals are met on the same way."""
    asked = [goal(EDGE, 30, (0.06, 0.03, 0.05), 14)]
    first = cj.reroute(cloth(), pilot(), asked, method, within=0.02)
    monkeypatch.setitem(sys.modules, "pymetis", None)
    second = cj.reroute(cloth(), pilot(), asked, method, within=0.02)
    np.testing.assert_allclose(second.animation.positions, first.animation.positions, rtol=0, atol=1e-6)


def test_contracting_springs_identity() -> None:
    """A pilot whose rest lengths change over time is its own second run when they are given."""
    body = cloth()
    lengths = body.rest_lengths * (1 - 0.1 * np.sin(np.arange(10) / 2)[:, None])
    stepper = LinearBDF2Stepper(body, DT, RestrictedSystem(body, body.free_dofs))
    zero = np.zeros((body.vertex_count, 3))
    states = [StepHistory(zero, zero, zero, zero, zero)]
    for row in lengths[1:]:
        stepper.body = body.with_rest_lengths(row)
        states.append(stepper.step(states[-1], body.gravity()))
    motion = cj.Animation(body.get_display_mesh(), body.vertices + np.array([s.displacement for s in states]), 1 / DT,
                          velocities=np.array([s.velocity for s in states]))  # fmt: skip
    stage = PilotSimulation(body, motion, lengths)
    np.testing.assert_allclose(
        stage.compute_external_force(7)[body.free_vertices], body.gravity()[body.free_vertices], rtol=0, atol=1e-9
    )
    assert (
        abs(
            PilotSimulation(body, motion).compute_external_force(7)[body.free_vertices]
            - body.gravity()[body.free_vertices]
        ).max()
        > 0.1
    )
    asked = [cj.Goal(EDGE, 9, motion.positions[9, EDGE] + (0.02, 0.0, 0.01))]
    found = cj.reroute(body, motion, asked, "least-force", rest_lengths=lengths)
    assert missed(found, asked).max() < 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_goals_reached_with_local_forces_identity(method: str) -> None:
    """Goals are met, the pilot stays bit by bit before the window, forces stay in window and reach."""
    asked = [goal(EDGE, 30, (0.06, 0.03, 0.05), 14)]
    reach = 0.3
    result = cj.reroute(cloth(), pilot(), asked, method, within=0.02, reach=reach)
    report = result.report.goals[0]
    error = missed(result, asked).max()
    assert error <= (0.02 if method == "paper" else 1e-6)
    assert report.error == pytest.approx(error)
    assert report.is_successful
    assert report.start_frame == 16
    np.testing.assert_array_equal(result.animation.positions[:17], pilot().positions[:17])
    assert abs(result.animation.positions[17] - pilot().positions[17]).max() > 1e-9
    assert not result.forces[:17].any()
    assert not result.forces[31:].any()
    outside = np.isinf(compute_graph_distances(cloth(), np.array([EDGE]), reach)[0])
    assert 0 < outside.sum() < cloth().vertex_count
    assert not result.forces[:, outside].any()
    np.testing.assert_array_equal(result.paths[0].positions, result.animation.positions[16:31, EDGE])
    np.testing.assert_array_equal(result.paths[0].pilot_positions, pilot().positions[16:31, EDGE])


@pytest.mark.parametrize("method", METHODS)
def test_forces_make_the_second_run_agreement(method: str) -> None:
    """Two routes: `simulate` with the forces of the result is the result."""
    result = cj.reroute(cloth(), pilot(), two_goals(), method)
    again = cj.simulate(cloth(), FRAMES, DT, gravity=9.81, force=result.forces, integrator="bdf2")
    np.testing.assert_allclose(again.positions, result.animation.positions, rtol=0, atol=1e-9)
    np.testing.assert_allclose(again.velocities, result.animation.velocities, rtol=0, atol=1e-7)
    assert result.report.effort == pytest.approx(DT * (result.forces**2).sum())
    assert result.report.peak_force == pytest.approx(np.linalg.norm(result.forces, axis=2).max())


def test_no_offset_no_force_identity() -> None:
    """A goal where the pilot is anyway takes no force."""
    for method in ("pattern", "least-force"):
        result = cj.reroute(cloth(), pilot(), goal(EDGE, 30, (0.0, 0.0, 0.0)), method)
        assert result.report.peak_force < 1e-9
        np.testing.assert_allclose(result.animation.positions, pilot().positions, rtol=0, atol=1e-9)


def test_weight_in_report_reference() -> None:
    """Gentleness of a force that is the net's own weight is 1; checked through a node that must hover."""
    from cajole.body.body_weights import compute_body_weights

    forces = np.stack([cloth().gravity(), 2 * cloth().gravity()])
    np.testing.assert_allclose(compute_body_weights(forces, cloth().vertex_masses), [1.0, 2.0])


@pytest.mark.parametrize("method", METHODS)
def test_limit_is_never_exceeded_identity(method: str) -> None:
    asked = goal(EDGE, 30, (0.06, 0.03, 0.05), 14)
    free = cj.reroute(cloth(), pilot(), asked, method).report.peak_force
    result = cj.reroute(cloth(), pilot(), asked, method, limit=0.6 * free)
    assert result.report.peak_force <= 0.6 * free * (1 + 1e-12)
    assert result.report.peak_force > 0.5 * free


@pytest.mark.parametrize("method", METHODS)
def test_unreachable_goal_is_reported_identity(method: str) -> None:
    """Too small a limit: no error, but how near it comes, and what is in the way."""
    asked = goal(EDGE, 30, (0.2, 0.1, 0.2), 10)
    result = cj.reroute(cloth(), pilot(), asked, method, limit=2e-3)
    report = result.report.goals[0]
    assert not report.is_successful
    assert result.report.reached_count == 0
    assert "the limit of 0.002 N holds in 100% of the steps; raise it" in report.failure_reason
    distances = np.linalg.norm(result.animation.positions[20:31, EDGE] - asked.position, axis=1)
    assert report.closest_distance == pytest.approx(distances.min())
    assert report.closest_frame == 20 + distances.argmin()
    assert f"the nearest that it comes is {report.closest_distance:.3g} m" in str(result.report)
    assert report.error < report.pilot_distance


def test_goal_beyond_the_springs_is_noted_identity() -> None:
    far = cloth().vertices[0] + 1.3 * (cloth().vertices[EDGE] - cloth().vertices[0])
    report = cj.reroute(cloth(), pilot(), cj.Goal(EDGE, 40, far)).report.goals[0]
    said = " ".join((report.failure_reason, *report.notes))
    assert "times as far from fixed vertex 0 as the springs between are long" in said


def test_short_beginning_is_noted_identity() -> None:
    report = cj.reroute(cloth(), pilot(), goal(EDGE, 5, (0.03, 0.0, 0.0))).report.goals[0]
    assert report.start_frame == 0
    assert "is cut from 16 to 5 frames" in report.notes[0]
    assert report.error < 1e-6


def test_windows_grow_with_distance_identity() -> None:
    """Eq. (11): as many frames as the goal is far, a least number apart."""
    goals = [goal(EDGE, 47, (0.0, 0.0, z)) for z in (0.02, 0.3, 0.4)]
    spans = []
    for each in goals:
        aims = build_goal_set(each, cloth(), np.asarray(pilot().positions), 100.0)
        spans.append(int(aims.end_frames[0] - aims.start_frames[0]))
    assert spans == [16, int(np.ceil(100 * 0.3 / cloth().size)), int(np.ceil(100 * 0.4 / cloth().size))]


def test_reach_along_springs_reference() -> None:
    """Weights fall as a Gaussian of three deviations, measured along rows of springs; the held corner has none."""
    body = cloth()
    far = compute_graph_distances(body, np.array([EDGE]), 3.01 / CELLS_LONG)
    weights = compute_gaussian_weights(far, np.array([3.0 / CELLS_LONG * (1 + 1e-9)]))[0]
    row = weights[EDGE - 3 : EDGE + 1][::-1]
    np.testing.assert_allclose(row, np.exp(-0.5 * np.arange(4.0) ** 2), rtol=1e-6)
    assert weights[EDGE - 4] == 0
    one = build_goal_set(goal(1, 30, (0, 0, 0)), body, np.asarray(pilot().positions), 150.0)
    assert np.count_nonzero(ForceDistribution.for_goals(body, one, 0.0).weights) == 1
    held = ForceDistribution.for_goals(body, one, 1.0)
    assert not held.weights[0, body.fixed].any()
    assert not held.is_within_reach[0, body.fixed].any()
    assert held.is_within_reach.sum() > 20
    assert compute_default_reach(body) == pytest.approx(9 / CELLS_LONG)


CELLS_LONG = 7


def test_bells_end_at_the_next_node_led_identity() -> None:
    """Of two nodes led at the same time neither pulls the other; at other times each has its whole reach."""
    for frames, narrow in (((30, 33), True), ((20, 40), False)):
        goals = [goal(EDGE, frames[0], (0, 0, 0), 10), goal(EDGE - 2, frames[1], (0, 0, 0), 10)]
        spread = ForceDistribution.for_goals(
            cloth(), build_goal_set(goals, cloth(), np.asarray(pilot().positions), 150.0), 0.5
        )
        assert (spread.weights[0, EDGE - 2] == 0) == narrow
        assert spread.weights[0, EDGE - 1] > 0
        assert spread.weights[0, EDGE] == 1
        assert spread.is_within_reach[0, EDGE - 2]


def test_pose_as_goals_identity() -> None:
    """A whole edge is put where a pose has it."""
    target = pilot().positions[30].copy()
    target[56:, 2] += 0.04
    goals = build_pose_goals(target, 30, np.arange(56, 64), window=14)
    assert [each.vertex for each in goals] == list(range(56, 64))
    result = cj.reroute(cloth(), pilot(), goals, "pattern", reach=0.2)
    assert result.report.reached_count == 8
    np.testing.assert_allclose(result.animation.positions[30, 56:], target[56:], atol=1e-4)


def test_comparison_identity() -> None:
    report = cj.reroute(cloth(), pilot(), goal(MIDDLE, 30, (0.05, 0.0, 0.05)), compare=True).report
    assert set(report.comparison) == set(METHODS)
    assert report.comparison["pattern"].effort == report.effort
    alone = cj.reroute(cloth(), pilot(), goal(MIDDLE, 30, (0.05, 0.0, 0.05)), "least-force").report
    assert report.comparison["least-force"].effort == pytest.approx(alone.effort)
    assert "least-force" in str(report)


def test_stopped_by_progress_identity() -> None:
    with pytest.raises(cj.Cancelled):
        cj.reroute(cloth(), pilot(), two_goals(), "least-force", progress=lambda share, text: share < 0.2)
    shares: list[float] = []
    cj.reroute(cloth(), pilot(), two_goals(), "least-force", progress=lambda share, text: shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


BAD = {
    "frame 0": ([goal(EDGE, 0, (0.1, 0, 0))], {}, r"goals\[0\] is at frame 0, where the motion starts"),
    "fixed": ([goal(0, 30, (0.1, 0, 0))], {}, r"goals\[0\] asks for vertex 0, which is fixed; free it"),
    "beyond": ([cj.Goal(EDGE, 999, (0, 0, 0))], {}, r"the frame of goals\[0\] is 999, but must be between 0 and 47"),
    "vertex": ([cj.Goal(64, 30, (0, 0, 0))], {}, r"the vertex of goals\[0\] is 64"),
    "conflict": (
        [goal(EDGE, 30, (0.1, 0, 0)), goal(MIDDLE, 30, (0, 0, 0)), goal(EDGE, 30, (0, 0, 0))], {},
        r"goals\[0\] and goals\[2\] both ask for vertex 60 at frame 30, 0.1 m apart; keep one",
    ),
    "nan": ([cj.Goal(EDGE, 30, (0, float("nan"), 0))], {}, r"the position of goals\[0\]\[1\] is nan"),
    "far": ([cj.Goal(EDGE, 30, (0, 1e200, 0))], {}, r"the position of goals\[0\] is .*1e\+200.*; give metres below"),
    "none": ([], {}, "goals is empty"),
    "no list": (None, {}, "goals must be a Goal, or a list of them, not None"),
    "kind": ([(EDGE, 30)], {}, r"goals\[0\] must be a Goal, not tuple"),
    "window": ([cj.Goal(EDGE, 30, (0, 0, 0), window=0)], {}, r"the window of goals\[0\] is 0"),
    "method": ([goal(EDGE, 30, (0, 0, 0))], {"method": "best"}, "method is 'best', but must be one of 'pattern'"),
    "limit": ([goal(EDGE, 30, (0, 0, 0))], {"limit": 0.0}, r"limit \(N\) is 0.0, but must be positive"),
    "within": ([goal(EDGE, 30, (0, 0, 0))], {"within": -1.0}, r"within \(m\) is -1.0"),
    "reach": ([goal(EDGE, 30, (0, 0, 0))], {"reach": -0.1}, r"reach \(m\) is -0.1"),
    "seeking": ([goal(EDGE, 30, (0, 0, 0))], {"cone_search": 3}, "cone_search must be a ConeSearchOptions, not int"),
    "compare": ([goal(EDGE, 30, (0, 0, 0))], {"compare": "all"}, "compare must be True or False, not 'all'"),
    "lengths": ([goal(EDGE, 30, (0, 0, 0))], {"rest_lengths": np.ones((3, 3))}, r"rest_lengths \(m\) has shape"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_goals_bad_input(case: str) -> None:
    goals, options, message = BAD[case]
    with pytest.raises(cj.InputError, match=message):
        cj.reroute(cloth(), pilot(), goals, **options)


@pytest.mark.parametrize(("window", "options"), [(10**18, {}), (None, {"alpha": 1e300})])
def test_windows_longer_than_any_motion_identity(window: int | None, options: dict[str, float]) -> None:
    """All of them begin at frame 0."""
    place = pilot().positions[30, EDGE] + (0.02, 0, 0)
    whole, longer = (
        cj.reroute(cloth(), pilot(), cj.Goal(EDGE, 30, place, window=w), **o)  # type: ignore[arg-type]
        for w, o in ((30, {}), (window, options))
    )
    np.testing.assert_array_equal(longer.animation.positions, whole.animation.positions)


@pytest.mark.parametrize("deltas", [None, (), 1.0])
def test_scales_to_try_bad_input(deltas: object) -> None:
    with pytest.raises(cj.InputError, match=r"step_scales (must be a list of scales|is empty)"):
        ConeSearchOptions(step_scales=deltas)  # type: ignore[arg-type]


def test_pilot_bad_input() -> None:
    asked = goal(EDGE, 30, (0, 0, 0))
    with pytest.raises(cj.InputError, match="the pilot has 64 vertices, but the net has 36; simulate this net"):
        cj.reroute(cj.BodySprings.cloth(5, 5), pilot(), asked)
    with pytest.raises(cj.InputError, match="the pilot has one frame only"):
        cj.reroute(cloth(), pilot().trimmed(0, 1), asked)
    with pytest.raises(cj.InputError, match="net must be a BodySprings"):
        cj.reroute(pilot(), pilot(), asked)
