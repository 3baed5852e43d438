"""Edit mode without a server: drags by hand, markers in time, settings, undo, and what is kept."""

from __future__ import annotations

import json

import numpy as np
import pytest
from fake_desk import FakeDesk
from mode_cases import do, plain

import cajole as cj
from cajole.errors import CajoleError, Cancelled, InputError
from cajole.mesh import box_tets
from cajole.scenes.edit_scenes import VertexDrag
from cajole.studio.content import EditSetup, ProjectContent
from cajole.studio.modes.edit.mode import EditMode

FRAME = 12


@pytest.fixture(scope="module")
def content() -> ProjectContent:
    mesh = box_tets(6, 2, 2, size=(1.2, 0.3, 0.3))
    body = cj.BodySolid(mesh, cj.MaterialStVK(young=2e5), fixed=np.flatnonzero(mesh.vertices[:, 0] < 1e-9))
    motion = cj.simulate(body, frames=40, dt=1 / 30, force=lambda t: body.gravity((0, 0, -3.0)))
    tip = int(np.argmax(mesh.vertices @ [1.0, 0.1, 0.1]))
    goal = motion.positions[FRAME, tip] + [0, 0.1, 0.1]
    plan = EditSetup(modes=30, suggested_drags=(VertexDrag(np.array([tip]), FRAME, goal[None]),))
    return ProjectContent("beam", mesh, body, motion, parts={"tip": np.array([tip])}, edit_setup=plan)


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk()


@pytest.fixture
def mode(content: ProjectContent, desk: FakeDesk) -> EditMode:
    return EditMode(desk, content)


def tip_of(content: ProjectContent) -> int:
    return int(content.parts["tip"][0])


def drag(mode: EditMode, by: tuple[float, float, float], frame: int = FRAME, gesture: int = 1) -> None:
    do(mode, "drag.begin", gesture=gesture, nodes=[tip_of(mode.content)], frame=frame)
    for k in range(1, 4):
        do(mode, "drag.move", gesture=gesture, seq=k, delta=[x * k / 3 for x in by])
    do(mode, "drag.commit", gesture=gesture)


def test_drag_lands_and_the_motion_follows(mode: EditMode, desk: FakeDesk) -> None:
    tip, given = tip_of(mode.content), mode.input_animation.positions
    drag(mode, (0.0, 0.1, 0.05))
    assert desk.of("moved")[-1]["position"] == pytest.approx(given[FRAME, tip] + [0, 0.1, 0.05], abs=1e-4)
    assert desk.of("moved")[-1]["seq"] == 3
    assert desk.touches == 3
    frame, shown = desk.shown[-1]
    assert frame == FRAME
    np.testing.assert_allclose(shown[tip], given[FRAME, tip] + [0, 0.1, 0.05], atol=1e-4)
    follows = mode.compute_stream_vertices("result", FRAME + 4)
    assert np.abs(follows - given[FRAME + 4]).max() > 0.01
    assert desk.labels[-1] == "move tip"


def test_given_stream_is_the_input_identity(mode: EditMode) -> None:
    drag(mode, (0.0, 0.1, 0.0))
    np.testing.assert_array_equal(mode.compute_stream_vertices("given", FRAME), mode.input_animation.positions[FRAME])


def test_gesture_is_one_step_of_undo(mode: EditMode) -> None:
    before = mode.compute_stream_vertices("result", FRAME).copy()
    drag(mode, (0.0, 0.1, 0.0))
    after = mode.compute_stream_vertices("result", FRAME).copy()
    assert plain(mode)["undo"] == "move tip"
    do(mode, "undo")
    np.testing.assert_array_equal(mode.compute_stream_vertices("result", FRAME), before)
    with pytest.raises(InputError, match="nothing to take back"):
        do(mode, "undo")
    do(mode, "redo")
    np.testing.assert_allclose(mode.compute_stream_vertices("result", FRAME), after, atol=1e-12)


def test_cancelled_drag_leaves_no_trace(mode: EditMode) -> None:
    before = mode.compute_stream_vertices("result", FRAME).copy()
    do(mode, "drag.begin", gesture=7, nodes=[tip_of(mode.content)], frame=FRAME)
    do(mode, "drag.move", gesture=7, seq=1, delta=[0, 0.2, 0])
    do(mode, "drag.cancel", gesture=7)
    np.testing.assert_array_equal(mode.compute_stream_vertices("result", FRAME), before)
    assert plain(mode)["undo"] is None


def test_new_begin_ends_a_lost_gesture(mode: EditMode) -> None:
    """A tab that died in the middle of a drag does not lock the project."""
    do(mode, "drag.begin", gesture=1, nodes=[tip_of(mode.content)], frame=FRAME)
    do(mode, "drag.move", gesture=1, seq=1, delta=[0, 0.2, 0])
    drag(mode, (0.0, 0.0, 0.05), gesture=2)
    assert len(plain(mode)["edit"]["drags"]) == 1


def test_selection_may_change_during_a_drag(mode: EditMode, desk: FakeDesk) -> None:
    tip = tip_of(mode.content)
    do(mode, "drag.begin", gesture=1, nodes=[tip], frame=FRAME)
    do(mode, "select", nodes=[])
    do(mode, "drag.move", gesture=1, seq=1, delta=[0.0, 0.05, 0.0])
    assert desk.of("moved")[-1]["position"] == pytest.approx(
        mode.input_animation.positions[FRAME, tip] + [0, 0.05, 0], abs=1e-3
    )
    do(mode, "drag.commit", gesture=1)
    assert mode.selected == []
    assert np.abs(mode.editor.positions(FRAME)[tip] - mode.input_animation.positions[FRAME, tip]).max() > 0.04


def test_state_tells_drags_force_and_reach(mode: EditMode) -> None:
    drag(mode, (0.0, 0.1, 0.0))
    state = plain(mode)
    (told,) = state["edit"]["drags"]
    assert told["name"] == "tip"
    assert told["moved"] == pytest.approx(0.1, abs=1e-6)
    assert told["missed"] < 1e-4
    lanes = {lane["id"]: lane for lane in state["lanes"]}
    (mark,) = lanes["drags"]["markers"]
    assert mark["reach"][0] < FRAME < mark["reach"][1]
    assert lanes["force"]["peak"] == pytest.approx(state["meter"]["peak"])
    assert state["meter"]["peak"] > state["meter"]["share"] > 0
    (trail,) = state["trails"]
    np.testing.assert_allclose(trail["result"][3 * FRAME : 3 * FRAME + 3], told["position"], atol=1e-4)


def test_marker_moves_in_time(mode: EditMode) -> None:
    tip, given = tip_of(mode.content), mode.input_animation.positions
    drag(mode, (0.0, 0.1, 0.0))
    name = plain(mode)["edit"]["drags"][0]["id"]
    for frame, final in ((14, False), (18, False), (20, True)):
        do(mode, "marker.move", lane="drags", ids=[name], frames=[frame], final=final)
    (told,) = plain(mode)["edit"]["drags"]
    assert told["frame"] == 20
    np.testing.assert_allclose(mode.compute_stream_vertices("result", 20)[tip], given[20, tip] + [0, 0.1, 0], atol=1e-4)
    do(mode, "undo")
    assert plain(mode)["edit"]["drags"][0]["frame"] == FRAME


def test_copy_rename_release(mode: EditMode) -> None:
    drag(mode, (0.0, 0.1, 0.0))
    name = plain(mode)["edit"]["drags"][0]["id"]
    do(mode, "marker.rename", lane="drags", ids=[name], name="nose")
    do(mode, "marker.copy", lane="drags", ids=[name], frames=[25])
    assert [told["frame"] for told in plain(mode)["edit"]["drags"]] == [FRAME, 25]
    assert plain(mode)["edit"]["drags"][0]["name"] == "nose"
    do(mode, "marker.delete", lane="drags", ids=[name])
    assert [told["frame"] for told in plain(mode)["edit"]["drags"]] == [25]


def test_settings_act_and_come_back(mode: EditMode) -> None:
    drag(mode, (0.0, 0.1, 0.0))
    first = mode.compute_stream_vertices("result", 20).copy()
    do(mode, "tune", energy="smooth", smoothness=2.0, window=[4, 30])
    panel = plain(mode)["edit"]
    assert (panel["energy"], panel["window"], panel["editable"]) == ("smooth", [4, 30], [6, 28])
    assert np.abs(mode.compute_stream_vertices("result", 20) - first).max() > 1e-4
    do(mode, "tune", window=None, energy="forces", alpha=0.5)
    assert plain(mode)["edit"]["alpha"] == 0.5
    do(mode, "undo")
    do(mode, "undo")
    np.testing.assert_allclose(mode.compute_stream_vertices("result", 20), first, atol=1e-9)


def test_slider_is_one_step_of_undo(mode: EditMode) -> None:
    """Values that follow each other under one name go back together; another name is another step."""
    first = mode.editor.settings.h
    for h in (0.01, 0.02, 0.03):
        do(mode, "tune", h=h)
    do(mode, "tune", alpha=0.5)
    do(mode, "undo")
    assert mode.editor.settings.h == 0.03
    do(mode, "undo")
    assert mode.editor.settings.h == first
    assert plain(mode)["undo"] is None


def test_reopened_with_more_detail_keeps_drags(mode: EditMode, desk: FakeDesk) -> None:
    tip, given = tip_of(mode.content), mode.input_animation.positions
    drag(mode, (0.0, 0.1, 0.0))
    do(mode, "reopen", modes=60, warp="none")
    panel = plain(mode)["edit"]
    assert (panel["modes"], panel["warp"]) == (60, "none")
    np.testing.assert_allclose(
        mode.compute_stream_vertices("result", FRAME)[tip], given[FRAME, tip] + [0, 0.1, 0], atol=1e-6
    )
    do(mode, "undo")
    assert plain(mode)["edit"]["modes"] == 30


def test_cancelled_reopening_changes_nothing(mode: EditMode, desk: FakeDesk) -> None:
    drag(mode, (0.0, 0.1, 0.0))
    before = mode.compute_stream_vertices("result", FRAME).copy()
    desk.go_on = False
    with pytest.raises(Cancelled):
        do(mode, "reopen", modes=61)
    desk.go_on = True
    np.testing.assert_array_equal(mode.compute_stream_vertices("result", FRAME), before)
    assert plain(mode)["edit"]["modes"] == 30


def test_suggested_drags(mode: EditMode) -> None:
    assert plain(mode)["edit"]["suggested"] == 1
    do(mode, "moves")
    assert plain(mode)["edit"]["suggested"] == 0
    assert len(plain(mode)["edit"]["drags"]) == 1


def test_saved_comes_back(mode: EditMode, content: ProjectContent) -> None:
    drag(mode, (0.0, 0.1, 0.03))
    name = plain(mode)["edit"]["drags"][0]["id"]
    do(mode, "marker.rename", lane="drags", ids=[name], name="nose")
    kept = mode.create_snapshot()
    kept = type(kept)(json.loads(json.dumps(kept.document, allow_nan=False)), kept.arrays)
    again = EditMode(FakeDesk(), content, kept)
    for frame in (FRAME, 20):
        np.testing.assert_allclose(
            again.compute_stream_vertices("result", frame), mode.compute_stream_vertices("result", frame), atol=1e-9
        )
    assert plain(again)["edit"]["drags"][0]["name"] == "nose"


def test_result_for_another_mode(mode: EditMode) -> None:
    drag(mode, (0.0, 0.1, 0.0))
    moved = mode.export_content().animation
    np.testing.assert_allclose(moved.positions[20], mode.compute_stream_vertices("result", 20), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("drag.begin", {"gesture": 1, "nodes": [], "frame": 3}, "nodes of drag.begin"),
        ("drag.begin", {"gesture": 1, "nodes": [10**6], "frame": 3}, "nodes of drag.begin"),
        ("drag.begin", {"gesture": 1, "nodes": [0], "frame": 12}, "fixed by the body"),
        ("drag.begin", {"gesture": "one", "nodes": [20], "frame": 12}, "gesture of drag.begin"),
        ("drag.begin", {"gesture": 1, "nodes": [20], "frame": 12, "directions": "xx"}, "directions"),
        ("drag.begin", {"gesture": 1, "nodes": [5], "frame": 0}, "stays as it is"),
        ("drag.move", {"gesture": 99, "seq": 1, "delta": [0, 0, 0]}, "has ended or never began"),
        ("place", {"node": 5, "frame": 12, "position": [1, 2]}, "position of place"),
        ("place", {"node": 20, "frame": 12, "position": [1e9, 2, 3]}, "check its units"),
        ("tune", {"h": -1}, "h"),
        ("tune", {"ends": "open"}, "ends"),
        ("tune", {"window": [3]}, "window"),
        ("reopen", {"warp": "melt"}, "warp"),
        ("marker.delete", {"lane": "drags", "ids": ["7@7"]}, "no drag"),
        ("select", {"nodes": "all"}, "nodes of select"),
    ],
)
def test_wrong_values_bad_input(mode: EditMode, name: str, values: dict, words: str) -> None:
    before = mode.compute_stream_vertices("result", FRAME).copy()
    with pytest.raises(CajoleError, match=words):
        do(mode, name, **values)
    np.testing.assert_array_equal(mode.compute_stream_vertices("result", FRAME), before)
    drag(mode, (0.0, 0.05, 0.0), gesture=5)


def test_no_motion_bad_input(content: ProjectContent, desk: FakeDesk) -> None:
    from dataclasses import replace

    with pytest.raises(InputError, match="no motion to edit"):
        EditMode(desk, replace(content, animation=None))
