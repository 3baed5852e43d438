"""A controller in live use: the same as a run, for as long as one likes, whatever happens to it."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray
from steer_cases import DT, beam, circling, model, shot, sway, swaying

import cajole as cj
from cajole.direct.steering import controller as controllers
from cajole.direct.steering.controller import Controller
from cajole.errors import InputError, NotConverged
from waiting import PATIENCE

Array = NDArray[np.float64]

TIP = int(np.argmax(beam().vertices @ [10.0, 1.0, 1.0]))
# Forces [N] on the tip of a beam of 40 kg: one that a step must be cut for, and one no step can follow.
HARD, HOPELESS = 1e9, 1e13


def steered(frames: int = 13, **dials: float) -> Controller:
    return cj.steer(cj.build_reference(model(), swaying(frames), force=sway, resimulate=True), **dials)


@pytest.mark.parametrize("controlled", [True, False])
@pytest.mark.parametrize("motion", ["open", "loop"])
def test_live_repeats_a_run_identity(motion: str, controlled: bool) -> None:
    controller = steered(25) if motion == "open" else cj.steer(shot(loop=True))
    tip = int(np.argmax(controller.model.body.vertices[:, 0]))
    dt, T = controller.reference.dt, controller.reference.step_count
    pushes = [
        cj.Push(tip, (0.0, 30.0, 60.0), time=4 * dt, duration=3 * dt),
        cj.Push(tip, (1.0, 0.0, -20.0), time=5 * dt),
    ]
    run = controller.run(force=pushes, controlled=controlled, loops=2)
    live = controller.start(controlled=controlled)
    for n in range(2 * T):
        for push in pushes:
            if n == round(push.time / dt):
                live.push(push.vertex, push.force, push.duration)
        live.step()
        np.testing.assert_array_equal(np.array(live.state), [run.states[n + 1], run.velocities[n + 1]])
        # sums over one state and over all of them may round in another order
        assert live.error == pytest.approx(run.error[n + 1], rel=1e-12, abs=1e-15)
        assert live.gentleness == pytest.approx(run.gentleness[n + 1], rel=1e-12, abs=1e-15)
        assert live.frame == (n + 1) % T
        assert live.time == (n + 1) * dt
    assert run.error.max() > 1e-3
    assert (run.gentleness.max() > 0) == controlled


def test_steps_together_and_one_by_one_identity() -> None:
    together, single = steered().start(), steered().start()
    for live in (together, single):
        live.push(TIP, (0.0, 50.0, 20.0), 0.2)
    together.step(100)
    for _ in range(100):
        single.step()
    np.testing.assert_array_equal(together.state, single.state)


def test_live_wind_is_that_of_a_run_agreement() -> None:
    wind, controller = cj.Wind(3.0, seed=5), cj.steer(shot(loop=True))
    run = controller.run(force=wind, loops=8)
    live = controller.start()
    live.set_disturbances(wind)
    live.step(136)
    np.testing.assert_allclose(live.state[0], run.states[136], rtol=0, atol=1e-10 * np.abs(run.states).max())
    live.set_disturbances()
    assert live.error > 1e-4
    calm = live.error
    live.step(60)
    assert live.error < 0.01 * calm


def test_control_can_be_switched_at_any_time_identity() -> None:
    live, controller = steered(61).start(), steered(61)
    live.push(TIP, (0.0, 0.0, 100.0), 0.1)
    live.step(10)
    live.controlled = False
    live.step(10)
    assert live.gentleness == 0.0
    loose = live.error
    live.controlled = True
    live.step(30)
    assert live.gentleness > 0.0
    assert live.error < 0.1 * loose
    held = controller.run(force=cj.Push(TIP, (0.0, 0.0, 100.0), duration=0.1))
    assert held.error[20] < loose


def test_positions_are_the_lifted_state_identity() -> None:
    live = steered().start()
    live.push(TIP, (0.0, 0.0, 100.0))
    live.step(7)
    np.testing.assert_array_equal(live.compute_positions(), beam().vertices + model().lift(live.state[0]))
    surface = cj.MeshTri(beam().mesh.surface.vertices * [1.0, 0.9, 0.8] + 0.01, beam().mesh.surface.triangles)
    count = len(surface.vertices)
    colors, labels, gloss = np.full((count, 3), 0.5), np.zeros(count, dtype=np.int64), np.zeros(count)
    skin = cj.Skin(surface, colors, ("all",), labels, gloss, cj.mesh.embed(surface, beam().mesh))
    for _ in range(2):
        np.testing.assert_allclose(
            live.compute_positions(skin), skin.deform(live.compute_positions()), atol=1e-6
        )  # single precision
        live.step()


def test_retune_goes_on_and_then_acts_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gains are made in the background; the old ones steer until the first step after they are ready."""
    controller, wanted = steered(61, effort=10.0), steered(61, effort=1e-4, tracking=2.0)
    begun, may_end, made = threading.Event(), threading.Event(), controllers.compute_gains

    def slow(*given: object) -> object:
        begun.set()
        assert may_end.wait(PATIENCE)
        return made(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(controllers, "compute_gains", slow)
    push = cj.Push(TIP, (0.0, 0.0, 100.0), duration=0.1)
    run = controller.run(force=push)
    with controller.start() as live:
        live.push(push.vertex, push.force, push.duration)
        first = live.retune(effort=1e-4)
        assert begun.wait(PATIENCE)
        second = live.retune(tracking=2.0)  # what is still being worked on counts as well
        live.step(10)
        np.testing.assert_array_equal(live.state[0], run.states[10])
        assert live.controller is controller
        may_end.set()
        np.testing.assert_array_equal(second.result(PATIENCE).gains, wanted.gains)
        assert first.result(PATIENCE).cost_weights.effort == 1e-4
        assert live.controller is controller
        live.step()
        assert live.controller is second.result()
        assert live.gentleness != run.gentleness[11]
        live.step(20)
        assert live.error < 0.1 * run.error[31]


def test_retune_that_is_refused_bad_input() -> None:
    controller = steered()
    with controller.start() as live:
        with pytest.raises(InputError, match=r"effort is -1\.0, but must be positive"):
            live.retune(effort=-1.0)
        with pytest.raises(InputError, match="a dial"):
            live.retune(gentle=2.0)
        with pytest.raises(InputError, match="strength"):
            live.set_disturbances(cj.Wind(strength=float("nan")))
        live.step(3)
        assert live.controller is controller
        assert live.retune(effort=0.5).result(PATIENCE).cost_weights.effort == 0.5


@pytest.mark.parametrize("frame", [0, 1, 7, 11])
def test_jump_finds_the_frame_the_body_is_on_identity(frame: int) -> None:
    controller = cj.steer(shot())
    live = controller.start(controlled=False)
    if frame:
        live.step(frame)
    assert live.error == 0.0
    live.seek(3 if frame != 3 else 4)
    assert live.seek() == frame == live.frame
    assert live.error == 0.0
    live.controlled = True
    live.step()
    assert live.gentleness == 0.0
    assert live.error < 1e-12
    assert live.time == (frame + 1) * controller.reference.dt


def test_jump_after_a_push_is_the_closest_frame_reference() -> None:
    """Against a plain search over all frames, position in metres and velocity over the first frequency."""
    controller = steered(61)
    live = controller.start(controlled=False)
    live.push(TIP, (0.0, 0.0, 100.0), 0.1)
    live.step(33)
    q, v = live.state
    reference = controller.reference
    off = ((reference.states - q) ** 2).sum(axis=1) + ((reference.velocities - v) ** 2).sum(axis=1) / (
        model().first_angular_frequency ** 2
    )
    assert live.seek() == int(np.argmin(off[:-1])) != 33
    np.testing.assert_array_equal(live.state, [q, v])


def test_jump_asked_for_is_followed_claim() -> None:
    controller = cj.steer(circling(model()))
    live = controller.start()
    live.step(2)
    assert live.seek(8) == 8
    started = live.error
    assert started > 0.01
    live.step(36)
    assert live.frame == 8
    assert live.error < 0.1 * started


def test_restart_stands_at_the_start_identity() -> None:
    live, fresh = steered().start(), steered().start()
    live.push(TIP, (0.0, 0.0, 100.0), 10.0)
    live.step(5)
    live.restart()
    assert live.time == 5 * DT
    assert live.frame == 0
    assert live.error == 0.0
    live.step(9)
    fresh.step(9)
    np.testing.assert_array_equal(live.state, fresh.state)


def test_hard_push_is_cut_and_counted_claim() -> None:
    live = steered().start()
    live.push(TIP, (0.0, HARD, HARD), 3 * DT)
    live.step(40)
    assert live.subdivided_step_count > 0
    assert live.time == 40 * DT
    assert np.isfinite(live.state).all()
    run = steered(41).run(force=cj.Push(TIP, (0.0, HARD, HARD), duration=3 * DT))
    assert run.report.subdivided_step_count > 0
    assert f"{run.report.subdivided_step_count} steps were cut" in str(run.report)
    assert np.isfinite(run.states).all()


def test_cut_step_is_the_same_motion_agreement() -> None:
    """A step in parts, forced here, ends where the whole step does, to the order of the steps."""
    controller = steered(61)
    whole, cut = controller.start(), controller.start()
    for live in (whole, cut):
        live.push(TIP, (0.0, 0.0, 30.0), 0.2)
        live.step(5)
    gap = whole.state[0] - controller.reference.states[5]
    cut._stepper._subdivide_step(np.zeros(4), np.empty((3, 4)))
    whole._active_forces.clear()
    whole.step()
    assert cut.subdivided_step_count == 1
    assert np.linalg.norm(cut.state[0] - whole.state[0]) < 0.2 * np.linalg.norm(gap)
    cut._active_forces.clear()
    for live in (whole, cut):
        live.step(50)
    assert cut.error < 1e-3 * np.abs(gap).max()


def test_hopeless_push_is_refused_and_life_goes_on_bad_input() -> None:
    live, calm = steered().start(), steered().start()
    live.step(5)
    calm.step(5)
    before = live.state
    live.push(TIP, (0.0, 0.0, HOPELESS), 1.0)
    with pytest.raises(NotConverged, match=r"step 6 does not converge, even in 32 parts.*push less"):
        live.step(3)
    np.testing.assert_array_equal(live.state, before)
    assert live.time == 5 * DT
    live.step(20)
    calm.step(20)
    np.testing.assert_array_equal(live.state, calm.state)
    with pytest.raises(NotConverged, match="step 1 does not converge"):
        steered().run(force=cj.Push(TIP, (0.0, 0.0, HOPELESS)))


def test_a_million_steps_stay_finite_and_small_claim() -> None:
    controller = cj.steer(circling(model()))
    live, random = controller.start(), np.random.default_rng(0)
    worst, steps, chunk = 0.0, 1_000_000, 2_000

    def go_on(count: int) -> None:
        nonlocal worst
        for _ in range(count // chunk):
            for _ in range(3):
                live.push(
                    int(random.integers(beam().vertex_count)), random.normal(0.0, 300.0, 3), random.uniform(0.0, 10.0)
                )
            live.step(chunk)
            assert np.isfinite(live.state).all()
            worst = max(worst, live.error)

    go_on(steps - 50_000)
    tracemalloc.start()
    go_on(10_000)
    begin = tracemalloc.get_traced_memory()[0]
    go_on(40_000)
    grown = tracemalloc.get_traced_memory()[0] - begin
    tracemalloc.stop()
    assert live.time == steps * controller.reference.dt
    assert grown < 20_000  # half a byte a step
    assert 1e-4 < worst < 1.0
    for push in live._active_forces:
        push.remaining_steps = 0
    live.restart()
    live.step(600)
    assert live.error < 1e-3


def test_held_force_is_a_push_of_as_many_steps_agreement() -> None:
    held, pushed = steered().start(), steered().start()
    pushed.push(TIP, (0.0, 0.0, 100.0), 4 * DT)
    held.set_sustained_force(TIP, (0.0, 0.0, 50.0))
    held.set_sustained_force(TIP, (0.0, 0.0, 100.0))
    held.step(4)
    held.set_sustained_force(None)
    held.step(3)
    pushed.step(7)
    np.testing.assert_array_equal(held.state, pushed.state)
    assert np.linalg.norm(held.feedback) > 0
    held.set_sustained_force(TIP, (0.0, 0.0, HOPELESS))
    with pytest.raises(NotConverged):
        held.step()
    held.step()  # what failed is over
    with pytest.raises(InputError, match="the pushed vertex"):
        held.set_sustained_force(10**6, (0.0, 0.0, 1.0))


def test_twin_goes_on_from_the_same_moment_identity() -> None:
    live = steered(25).start()
    live.push(TIP, (0.0, 0.0, 100.0), 6 * DT)
    live.set_disturbances(cj.Wind(strength=0.5))
    live.step(4)
    same, free = live.copy(controlled=True), live.copy(controlled=False)
    for one in (live, same, free):
        one.step(5)
    np.testing.assert_array_equal(same.state, live.state)
    assert same.time == live.time
    assert np.abs(np.array(free.state) - live.state).max() > 0
