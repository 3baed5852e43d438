"""Steer mode without a server: pushes and wind, what they do to the body and to its twin, and how they end."""

from __future__ import annotations

import numpy as np
import pytest
from mode_cases import do, plain
from steer_mode_cases import BEAM, DT, PUSH, TIP, made, run, shot

import cajole as cj
from cajole.errors import InputError


def test_push_is_felt_recorded_and_recovered_from_identity() -> None:
    mode, desk, clock = made()
    run(mode, clock, 0.2)
    do(mode, "push.begin", gesture=4, node=TIP)
    do(mode, "push.move", gesture=4, seq=1, force=PUSH)
    run(mode, clock, 0.2)
    pulse = desk.of("pulse")[-1]
    assert pulse["push"] == PUSH
    assert pulse["error"] > 1e-3
    assert pulse["effort"] > 0
    assert 0 < len(pulse["arrows"]) <= 24
    sizes = np.linalg.norm(np.array(pulse["arrows"])[:, 3:], axis=1)
    assert (np.diff(sizes) <= 1e-4).all()
    do(mode, "push.end", gesture=4)
    (push,) = plain(mode)["steer"]["pushes"]
    assert push["force"] == PUSH
    assert push["duration"] == pytest.approx(0.2, abs=2 * DT)
    assert push["name"] == "tip"
    (mark,) = plain(mode)["lanes"][0]["markers"]
    assert mark["text"].endswith("N on tip")
    peak = mode.realtime.controller.error
    run(mode, clock, 3.0)
    assert mode.realtime.controller.error < 0.1 * peak
    meter = plain(mode)["meter"]
    assert meter["peak"] > 10 * meter["share"]
    assert f"push at {push['time']:.1f} s" in meter["cure"]


def test_held_push_is_that_of_a_run_agreement() -> None:
    """Held for some steps, a push does what `Controller.run` says that it does."""
    mode, _, clock = made()
    do(mode, "push.begin", gesture=1, node=TIP)
    do(mode, "push.move", gesture=1, seq=1, force=PUSH)
    while mode.realtime.step < 4:
        run(mode, clock, 1 / 60)
    do(mode, "push.end", gesture=1)
    steps = mode.realtime.step
    while mode.realtime.step < 20:
        run(mode, clock, 1 / 60)
    push = cj.Push(TIP, tuple(PUSH), duration=steps * DT)
    expected = cj.steer(shot(True)).run(force=push).states[mode.realtime.step]
    np.testing.assert_allclose(mode.realtime.controller.state[0], expected, atol=1e-12)


def test_arrows_add_up_to_the_force_identity() -> None:
    """Node forces M U w do along the basis what w does; their sums over patches add up to the whole."""
    mode, _, clock = made()
    do(mode, "impulse", node=TIP, force=PUSH)
    run(mode, clock, 0.1)
    w, model = mode.realtime.controller.feedback, mode.reference.model
    nodal = (model.mass_basis @ w).reshape(-1, 3)
    np.testing.assert_allclose(model.project_force(nodal), w, atol=1e-9 * np.linalg.norm(w))
    np.testing.assert_allclose(
        mode.force_arrows.compute_forces(w).sum(axis=0), nodal.sum(axis=0), atol=1e-9 * BEAM.weight
    )


def test_twin_is_pushed_too_and_does_not_come_back_identity() -> None:
    mode, desk, clock = made()
    do(mode, "ghost", of="uncontrolled")
    run(mode, clock, 0.3)
    np.testing.assert_allclose(desk.ghosts[-1], desk.shown[-1][1], atol=1e-5)
    do(mode, "impulse", node=TIP, force=[5 * x for x in PUSH], duration=0.1)
    run(mode, clock, 0.5)
    twin = mode.realtime.uncontrolled
    assert twin is not None
    assert twin.gentleness == 0.0
    assert twin.error > 3 * mode.realtime.controller.error
    np.testing.assert_allclose(
        mode.compute_stream_vertices("other", mode.realtime.frame), desk.ghosts[-1], atol=0.1 * BEAM.size
    )
    do(mode, "ghost", of="reference")
    assert mode.realtime.uncontrolled is None


def test_wind_blows_on_both_agreement() -> None:
    mode, _, clock = made()
    do(mode, "ghost", of="uncontrolled")
    do(mode, "wind", strength=0.05, pace=2.0)
    run(mode, clock, 0.5)
    assert mode.realtime.controller.error > 0
    assert mode.realtime.uncontrolled is not None
    assert mode.realtime.uncontrolled.error > 0
    assert plain(mode)["steer"]["wind"] == {"strength": 0.05, "pace": 2.0}
    do(mode, "wind", strength=0.0)
    do(mode, "restart")
    run(mode, clock, 0.3)
    assert mode.realtime.controller.error < 1e-9


def test_hopeless_push_is_told_and_life_goes_on_bad_input() -> None:
    mode, desk, clock = made()
    run(mode, clock, 0.2)
    do(mode, "push.begin", gesture=1, node=TIP)
    do(mode, "push.move", gesture=1, seq=1, force=[0.0, 0.0, 1e11])
    run(mode, clock, 0.2)
    notices = desk.of("notice")
    assert notices[0]["title"] == "Pushed too hard"
    assert "push less" in notices[0]["text"]
    assert mode.active_push is None
    then = mode.realtime.controller.time
    run(mode, clock, 0.3)
    assert mode.realtime.controller.time > then
    plain(mode)


def test_push_of_a_lost_tab_ends_by_itself_claim() -> None:
    mode, _, clock = made()
    do(mode, "push.begin", gesture=1, node=TIP)
    do(mode, "push.move", gesture=1, seq=1, force=[0.0, 0.0, 0.01 * BEAM.weight])
    run(mode, clock, 21.0)
    assert mode.active_push is None
    assert len(mode.pushes) == 1


def test_repeat_and_delete_identity() -> None:
    mode, desk, clock = made()
    with pytest.raises(InputError, match="no push to repeat"):
        do(mode, "push.repeat")
    do(mode, "impulse", node=TIP, force=PUSH, duration=0.1)
    run(mode, clock, 0.5)
    again = do(mode, "push.repeat")
    run(mode, clock, 0.05)
    assert desk.of("pulse")[-1]["push"] == PUSH
    one, two = plain(mode)["steer"]["pushes"]
    assert two["id"] == again["push"]
    assert (one["force"], one["duration"]) == (two["force"], two["duration"])
    do(mode, "marker.delete", lane="pushes", ids=[one["id"]])
    assert [push["id"] for push in plain(mode)["steer"]["pushes"]] == [two["id"]]
