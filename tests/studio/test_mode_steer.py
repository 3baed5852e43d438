"""Steer mode without a server: real time, control, dials, laps and their outcome, and what is kept."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from fake_desk import FakeDesk
from mode_cases import do, plain
from steer_mode_cases import BEAM, DT, PUSH, TIP, Clock, looped, made, run, shot

from cajole.direct.steering.reference import build_shot_reference
from cajole.errors import InputError
from cajole.studio.content import ProjectContent, SteerSetup
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.modes.steer.body_mode import BodySteerMode
from waiting import wait_until


def waited(mode: BodySteerMode) -> None:
    """Until gains are ready."""
    wait_until(lambda: not mode.realtime.controller.is_retuning, "retuning")


def test_undisturbed_body_keeps_to_its_motion_in_real_time_identity() -> None:
    mode, desk, clock = made()
    assert mode.frames == 30
    assert mode.fps == pytest.approx(50.0)
    run(mode, clock, 1.0)
    assert mode.realtime.controller.time == pytest.approx(1.0, abs=2 * DT)
    pulses = desk.of("pulse")
    assert len(pulses) >= 60
    assert max(pulse["error"] for pulse in pulses) < 1e-9
    assert pulses[-1]["lap"] == 2
    assert pulses[-1]["arrows"] == []
    assert plain(mode)["meter"]["share"] < 1e-9
    positions, ghost = desk.shown[-1][1], desk.ghosts[-1]
    assert positions.shape == BEAM.vertices.shape
    np.testing.assert_allclose(ghost, mode.compute_stream_vertices("given", mode.realtime.frame), atol=1e-6)
    assert np.abs(mode.compute_stream_vertices("given", 5) - looped()[5]).max() < 1e-5


def test_control_off_and_on_identity() -> None:
    mode, desk, clock = made()
    do(mode, "control", on=False)
    do(mode, "impulse", node=TIP, force=PUSH)
    run(mode, clock, 0.5)
    assert max(pulse["effort"] for pulse in desk.of("pulse")) == 0.0
    assert "Control is off" in plain(mode)["meter"]["cure"]
    do(mode, "undo")
    assert plain(mode)["steer"]["control"]
    run(mode, clock, 0.2)
    assert mode.realtime.controller.gentleness > 0
    do(mode, "redo")
    assert not plain(mode)["steer"]["control"]


def test_dials_are_retuned_in_the_background_identity() -> None:
    mode, _, clock = made()
    before = mode.realtime.controller.controller
    do(mode, "dials", tracking=3.0)
    do(mode, "dials", tracking=7.0, effort=0.5)
    assert plain(mode)["steer"]["tracking"] == 7.0
    waited(mode)
    run(mode, clock, 0.1)
    assert mode.realtime.controller.controller is not before
    assert (
        mode.realtime.controller.controller.cost_weights.tracking,
        mode.realtime.controller.controller.cost_weights.effort,
    ) == (7.0, 0.5)
    assert not plain(mode)["steer"]["retuning"]
    with pytest.raises(InputError, match="nothing to come back to"):
        do(mode, "dials", tracking=0.0, final=0.0)
    assert plain(mode)["steer"]["tracking"] == 7.0


def test_slider_is_one_step_of_undo_while_it_is_held_identity(undo_clock: Clock) -> None:
    mode, _, _ = made()
    for strength in (0.01, 0.02, 0.03):
        do(mode, "wind", strength=strength)
    undo_clock.now += 60.0
    do(mode, "wind", strength=0.05)
    do(mode, "undo")
    assert mode.settings.wind == 0.03
    do(mode, "undo")
    assert mode.settings.wind == 0.0
    assert plain(mode)["undo"] is None
    mode.close()


@pytest.mark.parametrize("speed", [0.25, 0.5, 2.0])
def test_speed_and_pause_identity(speed: float) -> None:
    mode, desk, clock = made()
    do(mode, "run", play=True, speed=speed)
    run(mode, clock, 1.0)
    assert mode.realtime.controller.time == pytest.approx(speed, abs=2 * DT)
    shown = [positions[TIP] for _, positions in desk.shown[5:]]
    # slow motion is blended: no two pictures in a row are the same
    assert np.abs(np.diff(shown, axis=0)).max(axis=1).min() > 0
    do(mode, "run", play=False, speed=speed)
    assert mode.get_tick_delay() is None
    then = mode.realtime.controller.time
    clock.now += 5.0
    do(mode, "run", play=True, speed=speed)
    run(mode, clock, 1 / 60)
    assert mode.realtime.controller.time == then


def test_late_ticks_drop_time_and_never_catch_up_identity() -> None:
    mode, _, clock = made()
    clock.now += 10.0
    mode.tick()
    assert mode.realtime.controller.time <= 0.1 + 1e-9


def test_open_motion_ends_rests_and_begins_anew_identity() -> None:
    mode, desk, clock = made(loop=False)
    assert mode.frames == 30
    run(mode, clock, 29 * DT + 0.3)
    assert mode.realtime.step == 29
    assert desk.of("pulse")[-1]["frame"] == 29
    still = mode.realtime.controller.time
    run(mode, clock, 0.2)
    assert mode.realtime.controller.time == still
    run(mode, clock, 0.6)
    assert mode.realtime.lap == 2
    assert 0 < mode.realtime.step < 29


def test_outcome_is_judged_every_step_and_anew_every_lap_identity() -> None:
    seen: list[int] = []
    resets: list[int] = []

    def judge(step: int, positions: np.ndarray) -> bool | None:
        assert positions.shape == BEAM.vertices.shape
        seen.append(step)
        return None if step < 10 else True

    reference = build_shot_reference(shot(True))
    plan = SteerSetup(lambda progress: reference, {"effort": 0.1}, judge, "it sways", lambda: resets.append(1))
    mode, desk, clock = made(steer_setup=plan)
    assert plain(mode)["steer"]["effort"] == 0.1
    assert plain(mode)["steer"]["outcome"] == {"text": "it sways", "good": None}
    run(mode, clock, 0.9)
    assert seen[:31] == [*range(1, 31), 1]
    assert len(resets) == 2
    assert {"text": "it sways", "good": True} in [pulse["outcome"] for pulse in desk.of("pulse")]


def test_result_is_the_last_whole_lap_identity() -> None:
    mode, _, clock = made()
    first = mode.export_content().animation
    assert first is not None
    np.testing.assert_allclose(first.positions, looped(), atol=1e-6)
    do(mode, "impulse", node=TIP, force=PUSH, duration=0.2)
    run(mode, clock, 30 * DT + 0.1)
    lap = mode.export_content().animation
    assert lap is not None
    assert lap.frames == 30
    assert np.abs(lap.positions - first.positions).max() > 1e-3
    assert mode.export_content().steer_setup is None


def test_selection_and_trails_identity() -> None:
    mode, _, clock = made()
    do(mode, "select", nodes=[TIP, 0])
    run(mode, clock, 0.3)
    state = plain(mode)
    assert [one["fixed"] for one in state["selection"]] == [False, True]
    path = np.array(state["trails"][0]["given"]).reshape(-1, 3)
    np.testing.assert_allclose(path, looped()[:, TIP], atol=1e-5)
    np.testing.assert_allclose(state["selection"][0]["position"], state["selection"][0]["given"], atol=1e-9)


def test_motion_of_a_file_is_followed_claim() -> None:
    motion = shot(False).animation
    desk = FakeDesk()
    mode = BodySteerMode(desk, ProjectContent("film", BEAM.mesh, BEAM, motion))
    assert mode.frames == motion.frames
    np.testing.assert_allclose(mode.compute_stream_vertices("given", 10), motion.positions[10], atol=1e-3)
    mode.close()
    with pytest.raises(InputError, match="does not move yet"):
        BodySteerMode(desk, ProjectContent("still", BEAM.mesh, BEAM))
    with pytest.raises(InputError, match="no body of its own to steer"):
        BodySteerMode(desk, ProjectContent("film", BEAM.mesh, None, motion))


def test_saved_identity() -> None:
    mode, _, clock = made()
    do(mode, "dials", tracking=2.0)
    do(mode, "wind", strength=0.1)
    do(mode, "control", on=False)
    do(mode, "ghost", of="uncontrolled")
    do(mode, "select", nodes=[TIP])
    do(mode, "impulse", node=TIP, force=PUSH)
    waited(mode)
    run(mode, clock, 0.1)
    document = json.loads(json.dumps(mode.create_snapshot().document, allow_nan=False))
    again, _, _ = made(kept=ModeSnapshot(document))
    for name in ("control", "tracking", "final", "effort", "wind", "pushes", "ghost"):
        assert plain(again)["steer"][name] == plain(mode)["steer"][name]
    assert again.realtime.controller.controller.cost_weights.tracking == 2.0
    assert not again.realtime.controller.controlled
    assert again.realtime.uncontrolled is not None
    with pytest.raises(InputError, match="cannot be read"):
        made(kept=ModeSnapshot({**document, "settings": {}}))


@pytest.mark.parametrize(
    ("command", "values", "match"),
    [
        ("push.begin", {"gesture": 1, "node": 10**6}, "node of push.begin"),
        ("push.move", {"gesture": 7, "seq": 1, "force": [0, 0, 1]}, "no push 7 is under way"),
        ("impulse", {"node": TIP, "force": [0, 1]}, "force of impulse"),
        ("impulse", {"node": TIP, "force": [0, 0, 1], "duration": -1.0}, "duration of impulse"),
        ("control", {"on": "yes"}, "true or false"),
        ("wind", {"strength": -1.0}, "strength of wind"),
        ("run", {"play": True, "speed": 0.3}, "must be one of 0.25"),
        ("ghost", {"of": "nobody"}, "of of ghost"),
        ("dials", {"effort": 0.0}, "effort of dials"),
        ("dials", {"frames": 3}, "a dial of Keyframe"),
        ("marker.delete", {"lane": "pushes", "ids": ["push-9"]}, "no push 'push-9'"),
        ("undo", {}, "nothing to take back"),
    ],
)
def test_wrong_values_bad_input(command: str, values: dict[str, Any], match: str) -> None:
    mode, _, _ = made()
    with pytest.raises(InputError, match=match):
        do(mode, command, **values)
    plain(mode)
