"""Steer of flows without a server: particles in real time, kicks, wind, smoke, what is said of them, what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flow_mode_cases import CELLS, content, made
from mode_cases import do, plain, plain_message
from steer_mode_cases import run

from cajole.animation import read_animation
from cajole.errors import InputError
from cajole.studio.mode_registry import find_available_modes
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.modes.steer.flow_mode import FlowSteerMode
from cajole.studio.modes.steer.scenes import STEPS_PER_SECOND, embed_in_3d
from cajole.studio.protocol import HEADER, BinaryKind, pack_binary
from cajole.studio.view_model import build_project_message, collect_live_frame_arrays
from waiting import wait_until

MIDDLE = [128.0, 0.0, 128.0]
HARD = [0.4, 0.0, 0.1]


def centres(positions: np.ndarray, count: int) -> np.ndarray:
    """Where balls are (count, 3), of their vertices."""
    return positions.reshape(count, -1, 3).mean(axis=1)


def worst(desk: Any) -> float:
    return max(pulse["error"] for pulse in desk.of("pulse"))


def test_particles_follow_their_paths_in_real_time_identity() -> None:
    mode, desk, clock = made()
    assert (mode.frames, mode.fps) == (91, pytest.approx(STEPS_PER_SECOND))
    run(mode, clock, 2.0)
    assert mode.realtime.step == pytest.approx(2.0 * STEPS_PER_SECOND, abs=2)
    assert mode.time == pytest.approx(2.0, abs=2 / STEPS_PER_SECOND)
    assert len(desk.of("pulse")) >= 120
    shot = mode.setup.shot
    seen, ghost = (centres(each, 3) for each in (desk.shown[-1][1], desk.ghosts[-1]))
    # between two frames of the reference, as far as the clock is
    before, after = (embed_in_3d(shot.particles[mode.realtime.step - back]) for back in (1, 0))
    np.testing.assert_allclose(ghost, before + mode.realtime.blend_fraction * (after - before), atol=1e-2)
    off = np.linalg.norm(seen - ghost, axis=1).max() / shot.model.flow.cell_size
    assert off < 1.0
    assert off == pytest.approx(mode.realtime.controller.distances_in_cells.max(), abs=0.2)
    assert plain(mode)["steer"]["outcome"] == {
        "text": "Holds: every particle is within a cell of its place",
        "good": True,
    }


def test_control_leads_back_what_strays_without_it_claim() -> None:
    errors = {}
    for on in (True, False):
        mode, desk, clock = made()
        do(mode, "control", on=on)
        run(mode, clock, 0.5)
        do(mode, "kick", number=1)
        run(mode, clock, 3.5)
        errors[on] = worst(desk), desk.of("pulse")[-1]["error"]
        assert (max(pulse["effort"] for pulse in desk.of("pulse")) > 0) is on
        assert (desk.of("pulse")[-1]["arrows"] != []) is on
    assert errors[False][1] > 3 * errors[True][1]
    assert errors[False][0] > errors[True][0]


def test_hand_pushes_as_long_as_it_holds_identity() -> None:
    mode, desk, clock = made()
    do(mode, "push.begin", gesture=4, at=MIDDLE)
    do(mode, "push.move", gesture=4, seq=1, force=HARD)
    run(mode, clock, 0.5)
    pulse = desk.of("pulse")[-1]
    assert pulse["push"] == HARD
    assert pulse["at"] == MIDDLE
    assert do(mode, "push.end", gesture=4) == {"push": "push-1"}
    told = plain(mode)["steer"]["pushes"][0]
    assert told["at"] == MIDDLE
    assert told["duration"] == pytest.approx(0.5, abs=0.1)
    assert told["strength"] == pytest.approx(np.hypot(0.4, 0.1))
    run(mode, clock, 0.2)
    assert desk.of("pulse")[-1]["push"] is None
    strayed = worst(desk)
    quiet, other, clock = made()
    run(quiet, clock, 0.7)
    assert strayed > 2 * worst(other)


def test_what_pushes_across_the_plane_does_nothing_identity() -> None:
    ends = []
    for force in ([0.0, 0.0, 0.0], [0.0, 5.0, 0.0]):
        mode, _, clock = made()
        do(mode, "impulse", at=MIDDLE, force=force, duration=0.3)
        run(mode, clock, 1.0)
        ends.append(mode.realtime.controller.particles)
    assert np.array_equal(*ends)


def test_twin_gets_the_same_kicks_and_no_control_identity() -> None:
    mode, desk, clock = made()
    do(mode, "ghost", of="uncontrolled")
    do(mode, "kick", number=2)
    run(mode, clock, 2.0)
    twin = mode.realtime.uncontrolled
    assert twin is not None
    alone, _, other = made()
    do(alone, "control", on=False)
    do(alone, "kick", number=2)
    run(alone, other, 2.0)
    np.testing.assert_allclose(twin.particles, alone.realtime.controller.particles)
    assert not np.allclose(desk.ghosts[-1], desk.shown[-1][1])


def test_smoke_is_carried_and_begins_anew_identity() -> None:
    mode, _, clock = made()
    first = mode.smoke_image
    assert first is not None
    assert (first.shape, first.dtype) == ((CELLS, CELLS), np.uint8)
    # rows from the lowest on, each from left to right
    assert first[round(134 / 256 * CELLS), round(112 / 256 * CELLS)] > 200
    assert first[0, 0] == 0
    run(mode, clock, 2.0)
    assert np.abs(mode.smoke_image.astype(int) - first).max() > 50
    do(mode, "smoke", on=False)
    assert mode.smoke_image is None
    assert mode.realtime.controller.smoke is None
    do(mode, "undo")
    assert np.array_equal(mode.smoke_image, first)
    run(mode, clock, 1.0)
    do(mode, "restart")
    assert np.array_equal(mode.smoke_image, first)


def test_lap_ends_rests_and_begins_anew_with_fresh_smoke_identity() -> None:
    mode, desk, clock = made()
    first = mode.smoke_image
    run(mode, clock, 90 / STEPS_PER_SECOND + 0.3)
    assert mode.realtime.step == 90
    assert not np.array_equal(mode.smoke_image, first)
    run(mode, clock, 0.55)
    assert mode.realtime.lap == 2
    assert mode.realtime.step <= 2
    assert np.abs(mode.smoke_image.astype(int) - first).max() < 80
    lap = mode.export_animation()
    assert lap.frames == 91
    paths = lap.positions.reshape(91, 3, -1, 3).mean(axis=2)
    assert np.linalg.norm(paths - embed_in_3d(mode.setup.shot.particles), axis=2).max() < 16.0
    assert {pulse["lap"] for pulse in desk.of("pulse")} == {1, 2}


def test_balls_of_the_last_lap_are_written_identity(tmp_path: Path) -> None:
    mode, _, _ = made("leaves")
    motion = mode.export_animation()
    for suffix in (".npz", ".glb"):
        motion.write(tmp_path / f"lap{suffix}")
        again = read_animation(tmp_path / f"lap{suffix}")
        assert (again.frames, again.n) == (201, motion.n)
    with pytest.raises(InputError, match="nothing to hand over"):
        mode.export_content()


def test_wind_of_a_seed_identity() -> None:
    ends = []
    for seed in (3, 3, 4):
        mode, _, clock = made("leaves")
        assert plain(mode)["steer"]["wind"]["strength"] == 0.01
        do(mode, "wind", strength=0.02, seed=seed)
        assert plain(mode)["steer"]["flow"]["seed"] == seed
        run(mode, clock, 1.0)
        ends.append(mode.realtime.controller.passive_particles)
    assert np.array_equal(ends[0], ends[1])
    assert not np.allclose(ends[0], ends[2])
    do(mode, "undo")
    assert plain(mode)["steer"]["flow"]["seed"] == 0


def test_dials_are_retuned_in_the_background_identity() -> None:
    mode, _, clock = made()
    do(mode, "dials", effort=1e-2, tracking=2.0)
    wait_until(lambda: not mode.realtime.controller.is_retuning, "retuning")
    run(mode, clock, 0.1)
    dials = mode.realtime.controller.controller.cost_weights
    assert (dials.effort, dials.tracking) == (1e-2, 2.0)
    assert not plain(mode)["steer"]["retuning"]


def test_lost_particles_are_named_claim() -> None:
    mode, desk, clock = made()
    do(mode, "control", on=False)
    do(
        mode,
        "impulse",
        at=embed_in_3d(mode.realtime.controller.particles[0]).tolist(),
        force=[1.0, 0.0, 0.0],
        duration=0.5,
    )
    run(mode, clock, 3.0)
    lost = [pulse for pulse in desk.of("pulse") if pulse["astray"]]
    assert lost
    assert lost[-1]["outcome"]["good"] is False
    assert "particle 1" in lost[-1]["outcome"]["text"]
    assert "nothing brings the particles back" in plain(mode)["meter"]["cure"]


def test_too_hard_a_push_begins_anew_and_says_so_identity() -> None:
    mode, desk, clock = made()
    run(mode, clock, 0.5)
    do(mode, "impulse", at=MIDDLE, force=[1e9, 0.0, 0.0], duration=0.5)
    run(mode, clock, 0.5)
    assert desk.of("notice")[0]["title"] == "Pushed too hard"
    assert "begins anew" in desk.of("notice")[0]["text"]
    assert np.isfinite(desk.shown[-1][1]).all()
    assert mode.realtime.lap >= 2
    run(mode, clock, 0.5)
    assert mode.realtime.controller.frame == mode.realtime.step


@pytest.mark.parametrize(
    ("command", "values", "said"),
    [
        ("push.begin", {"gesture": 1, "node": 0}, "a flow is pushed at a point"),
        ("push.begin", {"gesture": 1}, "at, which is missing"),
        ("push.begin", {"gesture": 1, "at": [-3.0, 0.0, 5.0]}, "outside the box"),
        ("impulse", {"at": [1.0, 2.0], "force": HARD}, "at of impulse"),
        ("push.move", {"gesture": 9, "seq": 1, "force": HARD}, "no push 9 is under way"),
        ("kick", {"number": 4}, "number of kick is 4"),
        ("wind", {"strength": 0.1, "pace": 1.0}, "pace of wind is for bodies"),
        ("wind", {"strength": -1.0}, "strength of wind is -1"),
        ("wind", {"strength": 0.1, "seed": -2}, "seed of wind is -2"),
        ("smoke", {"on": "yes"}, "must be true or false"),
        ("select", {"nodes": [3]}, "nodes of select"),
        ("dials", {"effort": 0.0}, "effort of dials is 0"),
    ],
)
def test_messages_bad_input(command: str, values: dict[str, Any], said: str) -> None:
    mode, _, _ = made()
    with pytest.raises(InputError, match=said):
        do(mode, command, **values)


def test_leaves_have_no_kicks_bad_input() -> None:
    mode, _, _ = made("leaves")
    with pytest.raises(InputError, match="no kicks of its own"):
        do(mode, "kick", number=1)


def test_saved_identity() -> None:
    mode, _, clock = made()
    do(mode, "wind", strength=0.03, seed=7)
    do(mode, "control", on=False)
    do(mode, "smoke", on=False)
    do(mode, "ghost", of="uncontrolled")
    do(mode, "select", nodes=[1])
    do(mode, "impulse", at=MIDDLE, force=HARD)
    run(mode, clock, 0.2)
    document = json.loads(json.dumps(mode.create_snapshot().document, allow_nan=False))
    again, _, _ = made(kept=ModeSnapshot(document))
    for name in ("control", "wind", "pushes", "ghost", "flow"):
        assert plain(again)["steer"][name] == plain(mode)["steer"][name]
    assert [one["name"] for one in plain(again)["selection"]] == ["particle 2"]
    for broken in ({}, {**document, "pushes": [{**document["pushes"][0], "at": [999.0, 0.0]}]}):
        with pytest.raises(InputError, match="cannot be read"):
            FlowSteerMode(made()[1], content(), ModeSnapshot(broken))


def test_what_is_told_of_a_flow_identity() -> None:
    opened = content("leaves")
    told = plain_message(build_project_message("id", "leaves", opened))
    assert told["field"] == {"size": [256.0, 256.0], "cells": [CELLS, CELLS]}
    assert told["bounds"] == [[0.0, 0.0, 0.0], [256.0, 0.0, 256.0]]
    assert told["size"] == pytest.approx(256 * np.sqrt(2))
    assert told["parts"]["particle 1"] == [0]
    assert told["parts"]["leaf 7"] == [7]
    can = find_available_modes(opened)
    assert [mode for mode, chance in can.items() if chance.possible] == ["steer"]
    assert "can be steered" in str(can["edit"].why)
    mode, _, _ = made("leaves")
    state = plain(mode)
    assert len(state["trails"]) == 1
    np.testing.assert_allclose(
        np.array(state["trails"][0]["given"]).reshape(-1, 3), embed_in_3d(mode.setup.shot.particles[:, 0]), atol=1e-5
    )
    assert state["steer"]["flow"]["kicks"] == []
    assert [kick["name"] for kick in plain(made()[0])["steer"]["flow"]["kicks"]] == ["F1", "F2", "F3"]


@pytest.mark.parametrize(
    ("ghostly", "smoky", "extra"), [(False, False, 0), (True, False, 1), (False, True, 2), (True, True, 3)]
)
def test_smoke_goes_with_the_vertices_of_its_moment_identity(ghostly: bool, smoky: bool, extra: int) -> None:
    mode, desk, clock = made()
    run(mode, clock, 0.3)
    positions, haze = desk.shown[-1][1], mode.smoke_image
    parts, told = collect_live_frame_arrays(positions, desk.ghosts[-1] if ghostly else None, haze if smoky else None)
    assert told == extra
    data = pack_binary(BinaryKind.LIVE_FRAME, *parts, extra=told)
    size = 12 * len(positions) * (2 if ghostly else 1)
    assert len(data) == HEADER.size + size + (CELLS**2 if smoky else 0)
    if smoky:
        assert data[HEADER.size + size :] == haze.tobytes()
