"""Keyframe mode without a server: pulls, loads and pins, keys in time, the search, undo, and what is kept."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from fake_desk import FakeDesk
from mode_cases import do, plain

import cajole as cj
from bodies import beam_body
from cajole.direct.keyframing.baselines import interpolate_keys
from cajole.errors import Cancelled, InputError
from cajole.studio.content import KeyframeSetup, ProjectContent
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.modes.keyframe.mode import KeyframeMode

Array = np.ndarray
BEAM = beam_body((6, 2, 2), young=2e5, damping=(0.2, 0.01))
TIP = int(np.argmax(BEAM.vertices @ [10.0, 1.0, 1.0]))
WEIGHT = 9.81 * BEAM.total_mass
FORCE = [0.0, 0.02 * WEIGHT, -0.04 * WEIGHT]


def content(**more: Any) -> ProjectContent:
    return ProjectContent("beam", BEAM.mesh, BEAM, parts={"tip": np.array([TIP])}, **more)


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk()


@pytest.fixture
def mode(desk: FakeDesk) -> KeyframeMode:
    return KeyframeMode(desk, content())


def pull(mode: KeyframeMode, force: list[float] = FORCE, *, add: bool = False, gesture: int = 1) -> None:
    do(mode, "pull.begin", gesture=gesture, node=TIP, add=add)
    for k in range(1, 4):
        do(mode, "pull.move", gesture=gesture, seq=k, force=[x * k / 3 for x in force])
    do(mode, "pull.commit", gesture=gesture)


def keyed(mode: KeyframeMode, frames: int = 31) -> None:
    """Two poses as keys of a short shot."""
    do(mode, "dials", frames=frames, detail=4, dt=1 / 30)
    pull(mode)
    do(mode, "key.capture", frame=12)
    pull(mode, [-x for x in FORCE])
    do(mode, "key.capture", frame=frames - 1, name="down")


def test_pull_is_one_step_of_undo_identity(mode: KeyframeMode, desk: FakeDesk) -> None:
    pull(mode)
    moved = desk.of("moved")
    assert [message["seq"] for message in moved] == [1, 2, 3]
    there = (BEAM.vertices + mode.pose_session.displacement)[TIP]
    np.testing.assert_allclose(moved[-1]["position"], there, atol=0.05 * BEAM.size)
    state = plain(mode)
    (load,) = state["keyframe"]["loads"]
    np.testing.assert_allclose(load["force"], FORCE)
    assert load["name"] == "Pull tip"
    assert state["undo"] == "pull tip"
    assert state["keyframe"]["moved"] > 0.01 * BEAM.size
    do(mode, "undo")
    assert not mode.pose_session.displacement.any()
    assert plain(mode)["undo"] is None
    do(mode, "redo")
    np.testing.assert_allclose(mode.pose_session.displacement[TIP], there - BEAM.vertices[TIP])


def test_body_follows_the_hand_that_rests_identity(mode: KeyframeMode, desk: FakeDesk) -> None:
    do(mode, "pull.begin", gesture=1, node=TIP, add=False)
    assert mode.get_tick_delay() is None
    do(mode, "pull.move", gesture=1, seq=5, force=FORCE)
    for _ in range(30):
        if mode.get_tick_delay() is None:
            break
        mode.tick()
    assert mode.get_tick_delay() is None
    assert {message["seq"] for message in desk.of("moved")} == {5}
    near = mode.pose_session.displacement.copy()
    do(mode, "pull.commit", gesture=1)
    np.testing.assert_allclose(near, mode.pose_session.displacement, atol=2e-3 * BEAM.size)


def test_cancelled_pull_leaves_no_trace_identity(mode: KeyframeMode) -> None:
    pull(mode)
    before = plain(mode)["keyframe"]
    do(mode, "pull.begin", gesture=2, node=TIP, add=True)
    do(mode, "pull.move", gesture=2, seq=1, force=FORCE)
    do(mode, "pull.cancel", gesture=2)
    assert plain(mode)["keyframe"] == before
    assert plain(mode)["undo"] == "pull tip"


def test_loads_are_stacked_muted_retuned_and_removed_identity(mode: KeyframeMode) -> None:
    pull(mode)
    once = mode.pose_session.displacement.copy()
    pull(mode, add=True, gesture=2)
    first, second = plain(mode)["keyframe"]["loads"]
    assert first["id"] != second["id"]
    do(mode, "load", load=second["id"], muted=True)
    assert plain(mode)["keyframe"]["loads"][1]["muted"]
    np.testing.assert_allclose(mode.pose_session.displacement, once, atol=1e-7)
    do(mode, "load", load=second["id"], muted=False)
    do(mode, "load", load=first["id"], strength=0.0)
    np.testing.assert_allclose(mode.pose_session.displacement, once, atol=1e-7)
    do(mode, "load", load=first["id"], remove=True)
    assert [load["id"] for load in plain(mode)["keyframe"]["loads"]] == [second["id"]]
    do(mode, "freeze")
    pull(mode, [0.0, 0.0, 0.0], gesture=3)
    assert [load["frozen"] for load in plain(mode)["keyframe"]["loads"]] == [True, False]
    with pytest.raises(InputError, match="frozen"):
        do(mode, "load", load=second["id"], muted=True)
    do(mode, "pose.reset")
    assert plain(mode)["keyframe"]["loads"] == []
    assert np.abs(mode.pose_session.displacement).max() < 1e-9


def test_slider_is_one_step_of_undo_identity(mode: KeyframeMode) -> None:
    pull(mode)
    posed = mode.pose_session.snapshot
    for strength in (0.01, 0.02, 0.03):
        do(mode, "load", load=0, strength=strength * WEIGHT)
    assert plain(mode)["keyframe"]["loads"][0]["strength"] == pytest.approx(0.03 * WEIGHT)
    do(mode, "undo")
    assert mode.pose_session.snapshot is posed


def test_pull_too_strong_keeps_the_last_pose_and_says_so_once_bad_input(mode: KeyframeMode, desk: FakeDesk) -> None:
    do(mode, "pull.begin", gesture=1, node=TIP, add=False)
    do(mode, "pull.move", gesture=1, seq=1, force=FORCE)
    good = mode.pose_session.displacement.copy()
    for seq in (2, 3):
        do(mode, "pull.move", gesture=1, seq=seq, force=[0.0, 0.0, -1e12])
    np.testing.assert_array_equal(mode.pose_session.displacement, good)
    (notice,) = desk.of("notice")
    assert "too strong" in notice["title"]
    assert "pull less" in notice["text"]
    do(mode, "pull.commit", gesture=1)
    np.testing.assert_allclose(plain(mode)["keyframe"]["loads"][0]["force"], FORCE)


def test_pins_and_gravity_agreement(mode: KeyframeMode) -> None:
    do(mode, "gravity", on=True)
    np.testing.assert_allclose(mode.pose_session.displacement, cj.pose(BEAM, gravity=9.81), atol=1e-4)
    assert plain(mode)["keyframe"]["loads"][0]["kind"] == "gravity"
    do(mode, "pose.pin", nodes=[TIP])
    place = (BEAM.vertices + mode.pose_session.displacement)[TIP]
    do(mode, "gravity", on=False)
    (pin,) = plain(mode)["keyframe"]["pins"]
    assert pin["nodes"] == [TIP]
    np.testing.assert_allclose((BEAM.vertices + mode.pose_session.displacement)[TIP], place)
    do(mode, "pose.unpin", nodes=[TIP])
    assert np.abs(mode.pose_session.displacement).max() < 1e-9


def test_keys_are_captured_changed_moved_copied_and_deleted_identity(mode: KeyframeMode) -> None:
    keyed(mode)
    lane = plain(mode)["lanes"][0]
    assert [(m["frame"], m["text"], m["hollow"]) for m in lane["markers"]] == [(12, "pose 1", True), (30, "down", True)]
    one, two = (m["id"] for m in lane["markers"])
    do(mode, "key.set", key=one, hard=True, weight=2.0, name="up")
    do(mode, "marker.move", lane="keys", ids=[one], frames=[20], final=False)
    do(mode, "marker.move", lane="keys", ids=[one], frames=[22], final=True)
    keys = plain(mode)["keyframe"]["keys"]
    assert [(k["frame"], k["name"], k["hard"], k["weight"]) for k in keys] == [
        (22, "up", True, 2.0),
        (30, "down", False, 1.0),
    ]
    do(mode, "undo")
    assert plain(mode)["keyframe"]["keys"][0]["frame"] == 12
    do(mode, "marker.copy", lane="keys", ids=[one], frames=[3])
    with pytest.raises(InputError, match="both stand at frame 30"):
        do(mode, "marker.move", lane="keys", ids=[one], frames=[30], final=True)
    assert [k["frame"] for k in plain(mode)["keyframe"]["keys"]] == [3, 12, 30]
    do(mode, "marker.rename", lane="keys", ids=[two], name="low")
    do(mode, "marker.delete", lane="keys", ids=[one])
    assert [(k["frame"], k["name"]) for k in plain(mode)["keyframe"]["keys"]] == [(3, "up"), (30, "low")]
    with pytest.raises(InputError, match="beyond 20 frames; move or delete"):
        do(mode, "dials", frames=20)


def test_key_brings_its_pose_and_loads_back_identity(mode: KeyframeMode) -> None:
    keyed(mode)
    first = plain(mode)["keyframe"]["keys"][0]
    assert not first["current"]
    do(mode, "key.load", key=first["id"])
    assert plain(mode)["keyframe"]["keys"][0]["current"]
    np.testing.assert_allclose(plain(mode)["keyframe"]["loads"][0]["force"], FORCE)


def test_pose_inside_out_is_no_key_bad_input(mode: KeyframeMode) -> None:
    mode.pose_session.set_pose(BEAM.vertices * [-2.0, 0.0, 0.0])
    with pytest.raises(InputError, match=r"this pose turns 144 of 144 tets inside out: the shape is mirrored"):
        do(mode, "key.capture", frame=3)


def test_a_pose_with_few_tets_inside_out_is_told_and_is_a_key(mode: KeyframeMode, desk: FakeDesk) -> None:
    do(mode, "dials", frames=13, detail=2, dt=1 / 30)
    squeezed = np.zeros_like(BEAM.vertices)
    squeezed[TIP, 0] = -0.25 * BEAM.size
    with mode.undo_step("squeeze"):
        mode.pose_session.set_pose(squeezed)
    wrong = mode.body.inverted(mode.pose_session.displacement)
    assert 0 < len(wrong) < 0.05 * len(BEAM.mesh.tets)
    (notice,) = (said for said in desk.of("notice") if said["title"] == "Elements are inside out")
    assert notice["tone"] == "warn"
    assert f"{len(wrong)} of {len(BEAM.mesh.tets)} tets are inside out; the worst is tet" in notice["text"]
    do(mode, "freeze")
    assert sum(said["title"] == "Elements are inside out" for said in desk.of("notice")) == 1, "told once"
    do(mode, "key.capture", frame=12)
    assert [key.frame for key in mode.keys] == [12]


def test_storyboard_is_preloaded_and_its_poses_can_be_pulled_on_identity(desk: FakeDesk) -> None:
    pose = cj.pose(BEAM, {TIP: FORCE})
    mode = KeyframeMode(
        desk, content(keyframe_setup=KeyframeSetup({10: pose, 20: np.zeros_like(pose)}, frames=21, modes=5, dt=0.05))
    )
    assert [(k["frame"], k["name"]) for k in plain(mode)["keyframe"]["keys"]] == [(10, "pose 1"), (20, "rest")]
    assert mode.frames == 21
    assert mode.fps == pytest.approx(20.0)
    do(mode, "key.load", key="key-1")
    np.testing.assert_allclose(mode.pose_session.displacement, pose, atol=1e-12)
    pull(mode, [0.0, 0.0, 0.0], add=True)
    np.testing.assert_allclose(mode.pose_session.displacement, pose, atol=1e-6)


def test_optimise_agreement(mode: KeyframeMode, desk: FakeDesk) -> None:
    """The motion is that of `keyframe`; its frames, its force and what it missed are told."""
    keyed(mode)
    do(mode, "optimise")
    keys = {key.frame: key.pose.displacement for key in mode.keys}
    shot = cj.keyframe(BEAM, keys, 31, 1 / 30, modes=4)
    assert plain(mode)["keyframe"]["result"]["cost"] == pytest.approx(shot.report.cost, rel=1e-6)
    for frame in (0, 12, 30):
        np.testing.assert_allclose(
            mode.compute_stream_vertices("result", frame), shot.animation.positions[frame], atol=1e-5
        )
    state = plain(mode)
    told, lane = state["keyframe"]["result"], state["lanes"][1]
    assert told["worst"] == pytest.approx(max(shot.report.errors), rel=1e-4)
    assert not told["stale"]
    assert lane["id"] == "force"
    assert len(lane["curve"]) == 31
    np.testing.assert_allclose(lane["curve"][1:], shot.report.gentleness, atol=1e-5)
    assert state["meter"]["peak"] == pytest.approx(shot.report.gentleness.max(), rel=1e-4)
    assert f"at frame {state['meter']['frame']}" in state["meter"]["cure"]
    assert [key["missed"] for key in state["keyframe"]["keys"]] == pytest.approx(list(shot.report.errors), rel=1e-3)
    said = desk.of("iterate")
    assert len(said) >= shot.report.iterations > 0
    assert all(message["job"] for message in said)
    assert state["keyframe"]["optimising"] is None
    do(mode, "dials", effort=1e-2)
    assert plain(mode)["keyframe"]["result"]["stale"]
    made = mode.export_content()
    assert made.shot is not None
    assert made.animation is not None
    np.testing.assert_allclose(made.animation.positions, shot.animation.positions, atol=1e-5)
    do(mode, "undo")
    do(mode, "undo")
    assert plain(mode)["keyframe"]["result"] is None
    assert mode.compute_stream_vertices("result", 0) is None


def test_trails_and_labels_identity(mode: KeyframeMode) -> None:
    keyed(mode)
    do(mode, "select", nodes=[TIP, 0])
    assert plain(mode)["trails"] == []
    do(mode, "optimise")
    state = plain(mode)
    path = np.array(state["trails"][0]["result"]).reshape(-1, 3)
    np.testing.assert_allclose(path[12], mode.compute_stream_vertices("result", 12)[TIP], atol=1e-5)
    assert [one["fixed"] for one in state["selection"]] == [False, True]
    mode.compute_live_vertices(12)
    assert plain(mode)["labels"]["now"] == "Posing · key at frame 12"


def test_stop_keeps_and_cancel_drops_identity(mode: KeyframeMode, desk: FakeDesk) -> None:
    keyed(mode)
    stop_after(desk, 2)
    desk.go_on = True
    do(mode, "optimise")
    stopped = mode.solution
    assert stopped is not None
    assert not stopped.summary.converged
    assert "best so far" in desk.of("notice")[-1]["text"]
    desk.has_stop_request = False
    desk.go_on = False
    told = len(desk.labels)
    with pytest.raises(Cancelled):
        do(mode, "optimise")
    assert len(desk.labels) >= told + 2  # that it began, and that it is over
    assert mode.solution is stopped
    assert mode.running_job is None
    assert mode.compute_stream_vertices("result", 3) is not None


def stop_after(desk: FakeDesk, iterations: int) -> None:
    """Have the author stop the work at that iterate."""
    say = desk.broadcast

    def listening(message: Any) -> None:
        say(message)
        told = desk.said[-1]
        if told["is"] == "iterate" and told["iteration"] == iterations:
            desk.has_stop_request = True

    desk.broadcast = listening  # type: ignore[method-assign]


def test_ghost_is_rest_or_spline_agreement(mode: KeyframeMode) -> None:
    keyed(mode)
    np.testing.assert_array_equal(mode.compute_stream_vertices("given", 12), BEAM.vertices)
    do(mode, "compare", **{"with": "spline"})
    path = interpolate_keys(BEAM, {key.frame: key.pose.displacement for key in mode.keys}, 31)
    for frame in (0, 7, 12, 30):
        np.testing.assert_allclose(
            mode.compute_stream_vertices("given", frame), BEAM.vertices + path[frame], atol=1e-12
        )


def test_pictures_come_when_the_hand_is_calm_identity(mode: KeyframeMode) -> None:
    pytest.importorskip("PIL")
    assert mode.get_tick_delay() is None
    pull(mode)
    do(mode, "key.capture", frame=12)
    assert mode.get_tick_delay() is not None
    do(mode, "pull.begin", gesture=9, node=TIP, add=True)
    assert mode.get_tick_delay() is None
    do(mode, "pull.cancel", gesture=9)
    mode.tick()
    picture = plain(mode)["keyframe"]["keys"][0]["picture"]
    assert picture.startswith("data:image/webp;base64,")
    assert len(picture) < 14_000
    assert mode.get_tick_delay() is None


def test_saved_identity(mode: KeyframeMode, desk: FakeDesk) -> None:
    """All comes back: pose, loads, pins, keys, dials, the motion; and it can be handed over."""
    keyed(mode)
    do(mode, "pose.pin", nodes=[TIP])
    do(mode, "gravity", on=True)
    do(mode, "optimise")
    kept = mode.create_snapshot()
    document = json.loads(json.dumps(kept.document, allow_nan=False))
    again = KeyframeMode(FakeDesk(), content(), ModeSnapshot(document, kept.arrays))
    one, two = plain(mode), plain(again)
    for name in ("undo", "redo"):
        one.pop(name), two.pop(name)
    one["keyframe"].pop("natural_dt"), two["keyframe"].pop("natural_dt")
    assert one == two
    for frame in (0, 20):
        np.testing.assert_array_equal(
            mode.compute_stream_vertices("result", frame), again.compute_stream_vertices("result", frame)
        )
    shot, other = mode.export_content().shot, again.export_content().shot
    assert shot is not None
    assert other is not None
    assert cj.steer(other).run().error.max() < 1e-6
    np.testing.assert_allclose(other.animation.positions, shot.animation.positions, atol=1e-12)
    do(again, "key.load", key="key-1")
    np.testing.assert_allclose(plain(again)["keyframe"]["loads"][0]["force"], FORCE)
    broken = ModeSnapshot({**document, "moments": document["moments"][:1]}, kept.arrays)
    with pytest.raises(InputError, match="cannot be read"):
        KeyframeMode(FakeDesk(), content(), broken)


@pytest.mark.parametrize(
    ("command", "values", "match"),
    [
        ("pull.begin", {"gesture": 1, "node": 10**6, "add": False}, "node of pull.begin"),
        ("pull.begin", {"gesture": 1, "node": 0, "add": False}, "vertex 0 is fixed"),
        ("pull.begin", {"gesture": 1, "node": TIP}, "needs add"),
        ("pull.move", {"gesture": 7, "seq": 1, "force": [0, 0, 1]}, "no pull 7 is under way"),
        ("load", {"load": 3, "muted": True}, "no load 3"),
        ("load", {"load": 3, "strength": 5.0}, "no load 3"),
        ("load", {"load": 3}, "needs strength, muted or remove"),
        ("pose.unpin", {"nodes": [TIP]}, "not pinned"),
        ("pose.pin", {"nodes": []}, "1 to"),
        ("gravity", {"on": 1}, "true or false"),
        ("key.capture", {"frame": 10**4}, "frame of key.capture"),
        ("key.set", {"key": "key-7", "hard": True}, "no key 'key-7'"),
        ("marker.move", {"lane": "drags", "ids": ["a"], "frames": [1], "final": True}, "lane of marker.move"),
        ("dials", {"effort": 0.0}, "effort of dials"),
        ("dials", {"tracking": 1.0}, "a dial of Steer"),
        ("dials", {"dt": -1.0}, "dt of dials"),
        ("optimise", {}, "no keys"),
        ("compare", {"with": "nothing"}, "with of compare"),
        ("undo", {}, "nothing to take back"),
    ],
)
def test_wrong_values_bad_input(mode: KeyframeMode, command: str, values: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        do(mode, command, **values)
    plain(mode)


def test_body_is_needed_bad_input(desk: FakeDesk) -> None:
    motion = cj.Animation(BEAM.mesh, np.stack([BEAM.vertices] * 3), fps=10.0)
    with pytest.raises(InputError, match="no body of its own to pose"):
        KeyframeMode(desk, ProjectContent("film", BEAM.mesh, None, motion))
    made = KeyframeMode(desk, content())
    with pytest.raises(InputError, match="no motion yet"):
        made.export_content()
