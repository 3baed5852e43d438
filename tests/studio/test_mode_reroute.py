"""Reroute mode without a server: the pilot as it comes, goals by hand and on the time line, the second run, undo."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_desk import FakeDesk
from mode_cases import do, plain, plain_message

import cajole as cj
from cajole.body import BodySprings
from cajole.direct.rerouting import Goal
from cajole.dynamics.prescribed_motion import simulate_with_prescribed_motion
from cajole.errors import Cancelled, InputError
from cajole.mesh import grid_triangles
from cajole.scenes.reroute_scenes import ReroutePlan
from cajole.studio.content import ProjectContent
from cajole.studio.mode_registry import create_mode, find_available_modes, get_modes, open_scene
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.modes.reroute.mode import RerouteMode
from cajole.studio.project_saver import replace_motion, write_motion
from cajole.studio.view_model import build_project_message

FRAMES, CORNER, FRAME = 31, 35, 24
NET = BodySprings.cloth(5, 5, mass=2e-3, damping=0.05, clamp=0.02, fixed=[0, 5])


def content() -> ProjectContent:
    """A cloth of 36 nodes, held at two corners, whose pilot was not run."""

    def run(progress: Any, watch: Any) -> cj.Animation:
        return simulate_with_prescribed_motion(NET, FRAMES, gravity=9.81, on_frame=watch, progress=progress)

    def aims(pilot: cj.Animation) -> list[Goal]:
        return [Goal(30, 20, pilot.positions[20, 30] + (0.0, 0.0, 0.05), window=12)]

    plan = ReroutePlan("small", "Small cloth", "A cloth.", NET, FRAMES, run, aims, reroute_options={"limit": 2.0})
    return ProjectContent(plan.title, NET.get_display_mesh(), reroute_setup=plan)


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk()


@pytest.fixture
def mode(desk: FakeDesk) -> RerouteMode:
    made = RerouteMode(desk, content())
    do(made, "pilot")
    return made


def drag(
    mode: RerouteMode, node: int = CORNER, frame: int = FRAME, delta: tuple[float, ...] = (0.03, 0.0, 0.06)
) -> None:
    do(mode, "drag.begin", gesture=1, nodes=[node], frame=frame)
    do(mode, "drag.move", gesture=1, seq=1, delta=[0.5 * x for x in delta])
    do(mode, "drag.move", gesture=1, seq=2, delta=list(delta))
    do(mode, "drag.commit", gesture=1)


def test_the_pilot_runs_as_a_job_and_comes_frame_by_frame(desk: FakeDesk) -> None:
    mode = RerouteMode(desk, content())
    state = plain(mode)
    assert (state["ready"], state["reroute"]["pilot_frames"], mode.frames) == (1, None, FRAMES)
    np.testing.assert_array_equal(mode.compute_live_vertices(0), NET.vertices)
    ready: list[int] = []
    changed = desk.record_change

    def watch(label: str | None = None, *, frames_changed: bool = True) -> None:
        changed(label, frames_changed=frames_changed)
        if mode.running_stage == "pilot":
            ready.append(plain(mode)["ready"])

    desk.record_change = watch  # type: ignore[method-assign]
    do(mode, "pilot")
    assert plain(mode)["reroute"]["pilot_frames"] == FRAMES
    assert ready == list(range(FRAMES + 1))
    assert "Running the pilot" in desk.titles
    assert desk.redrawn == 1
    # gravity is all that acts: as `simulate` makes it
    reference = cj.simulate(NET, FRAMES, gravity=9.81, integrator="bdf2")
    assert mode.pilot is not None
    np.testing.assert_allclose(mode.pilot.positions, reference.positions, atol=1e-12)
    state = plain(mode)
    assert (state["ready"], state["undo"], state["labels"]["result"]) == (None, None, "Pilot")
    told = plain_message(build_project_message("id", "cloth", mode.content, mode.drawn_content))
    np.testing.assert_allclose(told["bounds"], reference.bounds, atol=1e-9)


def test_cancelling_leaves_no_half_pilot(desk: FakeDesk) -> None:
    mode = RerouteMode(desk, content())
    desk.go_on = False
    with pytest.raises(Cancelled):
        do(mode, "pilot")
    assert (mode.pilot, mode.running_job, mode.running_stage, mode.partial_frames) == (None, None, None, [])
    assert plain(mode)["ready"] == 1


def test_a_dragged_vertex_is_a_goal_and_the_second_run_reaches_it_claim(mode: RerouteMode, desk: FakeDesk) -> None:
    drag(mode)
    assert desk.of("moved")[-1]["position"] == pytest.approx(mode.goals[0].position)
    state = plain(mode)
    (goal,) = state["reroute"]["goals"]
    pilot = mode.require_pilot().positions
    np.testing.assert_allclose(goal["position"], pilot[FRAME, CORNER] + (0.03, 0.0, 0.06), atol=1e-12)
    assert goal["moved"] == pytest.approx(np.hypot(0.03, 0.06))
    # it is marked with its window, and the pilot's path over that is told
    (marker,) = state["lanes"][0]["markers"]
    assert (marker["frame"], marker["reach"]) == (FRAME, [goal["start"], FRAME])
    np.testing.assert_allclose(np.reshape(goal["pilot"], (-1, 3)), pilot[goal["start"] : FRAME + 1, CORNER], atol=1e-6)
    assert goal["led"] is None
    do(mode, "reroute")
    assert plain(mode)["reroute"]["result"]["reached"] == 1
    assert desk.of("notice")[-1]["tone"] == "ok"
    there = mode.compute_stream_vertices("result", FRAME)
    assert there is not None
    assert np.linalg.norm(there[CORNER] - goal["position"]) < mode.dials.within
    np.testing.assert_array_equal(mode.compute_stream_vertices("given", FRAME), pilot[FRAME])
    # what runs is `reroute` with what the dials say
    reference = cj.reroute(NET, mode.require_pilot(), mode.goals[0].to_goal(), limit=2.0, reach=mode.default_reach)
    np.testing.assert_array_equal(mode.export_animation().positions, reference.animation.positions)
    state = plain(mode)
    assert [lane["id"] for lane in state["lanes"]] == ["goals", "force"]
    report = state["reroute"]["goals"][0]["report"]
    assert (report["reached"], report["why"]) == (True, "")
    assert report["shape"] == pytest.approx(reference.report.goals[0].similarity.shape_distance)
    assert state["reroute"]["result"]["effort"] == pytest.approx(reference.report.effort)
    assert state["meter"]["peak"] == pytest.approx(reference.report.gentleness.max())


def test_every_step_is_undone_and_done_again_identity(mode: RerouteMode) -> None:
    drag(mode)
    do(mode, "reroute")
    first = mode.rerouted_run
    drag(mode, delta=(0.0, 0.02, 0.0))
    assert len(mode.goals) == 1
    assert plain(mode)["reroute"]["result"]["stale"] is True
    do(mode, "undo")
    assert plain(mode)["reroute"]["result"]["stale"] is False
    do(mode, "undo")
    assert mode.rerouted_run is None
    assert len(mode.goals) == 1
    do(mode, "undo")
    assert mode.goals == ()
    with pytest.raises(InputError, match="nothing to take back"):
        do(mode, "undo")
    do(mode, "redo")
    do(mode, "redo")
    assert mode.rerouted_run is first
    assert plain(mode)["reroute"]["goals"][0]["led"] is not None


def test_goals_move_in_time_are_copied_named_and_deleted(mode: RerouteMode, desk: FakeDesk) -> None:
    drag(mode)
    name = mode.goals[0].id
    place = mode.goals[0].position
    do(mode, "marker.move", lane="goals", ids=[name], frames=[20], final=False)
    assert mode.goals[0].frame == 20
    assert plain(mode)["undo"] == f"move vertex {CORNER}"
    do(mode, "marker.move", lane="goals", ids=[name], frames=[22], final=True)
    assert (mode.goals[0].frame, mode.goals[0].position) == (22, place)
    assert plain(mode)["undo"] == "move a goal"
    do(mode, "marker.copy", lane="goals", ids=[name], frames=[28])
    do(mode, "marker.rename", lane="goals", ids=[name], name="the corner")
    assert [goal.frame for goal in mode.goals] == [22, 28]
    assert plain(mode)["reroute"]["goals"][0]["name"] == "the corner"
    do(mode, "goal.set", goal=name, window=9)
    assert plain(mode)["reroute"]["goals"][0]["start"] == 22 - 9
    with pytest.raises(InputError, match="two goals at frame 28"):
        do(mode, "marker.move", lane="goals", ids=[name], frames=[28], final=True)
    with pytest.raises(InputError, match="would be at frame 0"):
        do(mode, "marker.move", lane="goals", ids=[name], frames=[0], final=True)
    assert [goal.frame for goal in mode.goals] == [22, 28]
    do(mode, "marker.delete", lane="goals", ids=[name])
    assert [goal.frame for goal in mode.goals] == [28]


def test_two_methods_are_compared_in_one_click(mode: RerouteMode, desk: FakeDesk) -> None:
    drag(mode)
    do(mode, "compare", **{"with": "least-force"})
    part = plain(mode)["reroute"]
    assert [run["method"] for run in part["compared"]] == ["pattern", "least-force"]
    assert part["sight"] == "least-force"
    pattern, least = part["compared"]
    assert least["reached"] == pattern["reached"] == 1
    assert least["effort"] < pattern["effort"] / 3
    shown = mode.compute_stream_vertices("result", FRAME)
    many = len(desk.titles)
    do(mode, "compare", **{"with": "pattern"})
    do(mode, "compare", **{"with": "least-force"})
    assert len(desk.titles) == many
    np.testing.assert_array_equal(mode.compute_stream_vertices("result", FRAME), shown)
    drag(mode, delta=(0.0, 0.01, 0.0))
    do(mode, "reroute")
    assert [run["method"] for run in plain(mode)["reroute"]["compared"]] == ["pattern"]


def test_a_goal_out_of_reach_is_told_with_the_reason(mode: RerouteMode, desk: FakeDesk) -> None:
    do(mode, "route", limit=1e-4)
    drag(mode, delta=(0.2, 0.0, 0.3))
    do(mode, "reroute")
    assert plain(mode)["reroute"]["result"]["reached"] == 0
    (goal,) = plain(mode)["reroute"]["goals"]
    assert "the limit of 0.0001 N" in goal["warn"]
    assert goal["report"]["closest"] <= goal["report"]["error"]
    assert plain(mode)["lanes"][0]["markers"][0]["warn"] == goal["warn"]
    notice = desk.of("notice")[-1]
    assert (notice["tone"], "limit" in notice["text"]) == ("warn", True)


def test_the_scenes_goals_are_one_step(mode: RerouteMode) -> None:
    assert plain(mode)["reroute"]["suggested"] is True
    do(mode, "moves")
    assert [(goal.node, goal.frame, goal.window) for goal in mode.goals] == [(30, 20, 12)]
    do(mode, "undo")
    assert mode.goals == ()


def test_what_was_kept_goes_on_identity(mode: RerouteMode, desk: FakeDesk) -> None:
    drag(mode)
    do(mode, "route", method="least-force", within=0.005)
    do(mode, "reroute")
    do(mode, "select", nodes=[CORNER])
    before = plain(mode)
    kept = mode.create_snapshot()
    document = json.loads(json.dumps(kept.document, allow_nan=False))
    again = RerouteMode(FakeDesk(), content(), ModeSnapshot(document, kept.arrays))
    again.current_frame = mode.current_frame
    after = plain(again)
    assert {**after, "undo": None} == {**before, "undo": None}
    np.testing.assert_array_equal(again.compute_stream_vertices("result", 9), mode.compute_stream_vertices("result", 9))
    # the second run is the same to the last digit: velocities of the pilot were kept, too
    do(again, "reroute")
    np.testing.assert_array_equal(again.export_animation().positions, mode.export_animation().positions)
    do(mode, "route", within=0.004)
    old = RerouteMode(FakeDesk(), content(), mode.create_snapshot())
    assert plain(old)["reroute"]["result"]["stale"] is True


@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document.pop("goals"),
        lambda document: document["goals"][0].update(node=10_000),
        lambda document: document["goals"][0].update(frame=0),
        lambda document: document["goals"][0].update(position=[0.0, "x", 0.0]),
        lambda document: document["dials"].update(method="magic"),
        lambda document: document["run"].update(about={}),
    ],
)
def test_spoilt_projects_bad_input(mode: RerouteMode, spoil: Any) -> None:
    drag(mode)
    do(mode, "reroute")
    kept = mode.create_snapshot()
    document = json.loads(json.dumps(kept.document))
    spoil(document)
    with pytest.raises(InputError):
        RerouteMode(FakeDesk(), content(), ModeSnapshot(document, kept.arrays))


def test_the_result_goes_on_to_other_modes(mode: RerouteMode, tmp_path: Path) -> None:
    drag(mode)
    do(mode, "reroute")
    handed = mode.export_content()
    assert handed.animation is not None
    np.testing.assert_array_equal(handed.animation.positions, mode.export_animation().positions)
    for name in ("edit", "enrich", "reroute"):
        assert find_available_modes(handed)[name].possible, name
    assert not find_available_modes(handed)["keyframe"].possible
    again = replace_motion(mode.content, write_motion(tmp_path, handed))
    np.testing.assert_allclose(again.animation.positions, handed.animation.positions, atol=1e-6)
    assert create_mode("edit", FakeDesk(), get_modes()["edit"].prepare_content(again)).frames == FRAMES
    # back again: the second run is the pilot now, of the same net
    back = RerouteMode(FakeDesk(), handed)
    assert back.net is NET
    with pytest.raises(InputError, match="is the pilot"):
        do(back, "pilot")
    drag(back, delta=(0.0, 0.02, 0.0))
    do(back, "reroute")
    assert plain(back)["reroute"]["result"]["reached"] == 1


def test_a_mesh_of_ones_own_falls_held_where_it_is_pinned(desk: FakeDesk) -> None:
    sheet = grid_triangles(4, 4)
    mode = RerouteMode(desk, ProjectContent("sheet", sheet, cj.BodyShell(sheet)))
    assert mode.has_own_net
    do(mode, "pose.pin", nodes=[0, 4])
    do(mode, "route", frames=25, mass=0.2, stiffness=50.0)
    do(mode, "pilot")
    assert plain(mode)["reroute"]["pilot_frames"] == 25
    pilot = mode.require_pilot()
    np.testing.assert_array_equal(pilot.positions[-1, [0, 4]], sheet.vertices[[0, 4]])
    assert pilot.positions[-1, 24, 2] < -0.05
    drag(mode, node=24, frame=20, delta=(0.05, 0.0, 0.02))
    do(mode, "reroute")
    assert plain(mode)["reroute"]["result"]["reached"] == 1
    with pytest.raises(InputError, match="has a goal"):
        do(mode, "pose.pin", nodes=[24])
    with pytest.raises(InputError, match="beyond 10 frames"):
        do(mode, "route", frames=10)
    do(mode, "route", stiffness=80.0)
    assert (mode.pilot, mode.rerouted_run) == (None, None)
    do(mode, "undo")
    assert mode.pilot is pilot
    kept = mode.create_snapshot()
    again = RerouteMode(FakeDesk(), mode.content, ModeSnapshot(json.loads(json.dumps(kept.document)), kept.arrays))
    assert again.dials == mode.dials
    assert again.net.fixed.tolist() == [0, 4]


def test_an_animation_is_its_own_pilot(desk: FakeDesk, mode: RerouteMode) -> None:
    motion = replace(mode.require_pilot(), name="fell")
    opened = ProjectContent("fell", motion.mesh, None, motion)
    assert find_available_modes(opened)["reroute"].possible
    other = RerouteMode(desk, opened)
    assert other.net.fixed.tolist() == [0, 5]
    drag(other)
    do(other, "reroute")
    assert plain(other)["reroute"]["result"]["reached"] == 1
    with pytest.raises(InputError, match="mass is as the pilot had it"):
        do(other, "route", mass=2.0)


def test_what_cannot_be_rerouted_says_why_bad_input(mode: RerouteMode) -> None:
    still = replace(mode.require_pilot().trimmed(FRAMES - 1))
    assert "one frame" in str(find_available_modes(ProjectContent("still", still.mesh, None, still))["reroute"].why)
    large = grid_triangles(90, 90)
    assert "8,281 vertices" in str(
        find_available_modes(ProjectContent("large", large, cj.BodyShell(large)))["reroute"].why
    )
    loose = cj.MeshTri(np.vstack([NET.vertices, (5.0, 5.0, 5.0)]), NET.get_display_mesh().triangles)
    motion = cj.Animation(loose, np.repeat(loose.vertices[None], 3, axis=0), fps=30)
    assert "no edge" in str(find_available_modes(ProjectContent("loose", loose, None, motion))["reroute"].why)


@pytest.mark.parametrize(
    ("command", "values", "words"),
    [
        ("drag.begin", {"gesture": 1, "nodes": [0], "frame": 9}, "is held"),
        ("drag.begin", {"gesture": 1, "nodes": [CORNER], "frame": 0}, "at frame 0"),
        ("drag.begin", {"gesture": 1, "nodes": [CORNER], "frame": FRAMES}, "frame of drag.begin"),
        ("drag.begin", {"gesture": 1, "nodes": [99], "frame": 9}, "nodes of drag.begin"),
        ("drag.begin", {"gesture": 1, "nodes": [CORNER], "frame": 9, "directions": "x"}, "whole place"),
        ("drag.move", {"gesture": 7, "seq": 1, "delta": [0, 0, 0]}, "gesture 7"),
        ("drag.commit", {"gesture": 7}, "gesture 7"),
        ("place", {"node": CORNER, "frame": 9, "position": [0, 0, True]}, "three numbers"),
        ("route", {"method": "magic"}, "must be one of"),
        ("route", {"alpha": 0.0}, "between"),
        ("route", {"limit": -1.0}, "between"),
        ("route", {"within": 1e9}, "between"),
        ("route", {"frames": 50}, "as the pilot had it"),
        ("goal.set", {"goal": "goal-9", "window": 3}, "no goal 'goal-9'"),
        ("marker.delete", {"lane": "keys", "ids": ["goal-1"]}, "must be one of"),
        ("marker.delete", {"lane": "goals", "ids": ["goal-1"]}, "no goal 'goal-1'"),
        ("reroute", {}, "nothing is asked for"),
        ("compare", {"with": "led"}, "must be one of"),
        ("pose.pin", {"nodes": [3]}, "as the pilot had it"),
    ],
)
def test_wrong_messages_bad_input(mode: RerouteMode, command: str, values: dict[str, object], words: str) -> None:
    before = mode.capture_state()
    with pytest.raises(InputError, match=words):
        do(mode, command, **values)
    after = mode.capture_state()
    assert (after.goals, after.dials, after.pilot, after.run) == (
        before.goals,
        before.dials,
        before.pilot,
        before.run,
    )


def test_nothing_is_led_before_there_is_a_pilot_bad_input(desk: FakeDesk) -> None:
    mode = RerouteMode(desk, content())
    for command, values in (
        ("drag.begin", {"gesture": 1, "nodes": [CORNER], "frame": 9}),
        ("moves", {}),
        ("reroute", {}),
    ):
        with pytest.raises(InputError, match="no pilot yet"):
            do(mode, command, **values)


def test_the_scenes_open_with_their_nets() -> None:
    for name, count in (("cloth", 400), ("skirt", 1980), ("heart", 3372)):
        opened = open_scene(name, "reroute")
        assert len(opened.mesh.vertices) == count
        assert find_available_modes(opened)["reroute"].possible
        assert not find_available_modes(opened)["edit"].possible
