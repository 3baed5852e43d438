"""Scenes for `steer`: what must happen happens under random pushes, and does not without control."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.direct.steering.pd import PDGrid, tune_pd
from cajole.scenes.steer_scenes import (
    BeeLandingScene,
    RootedDinosaurScene,
    StrikeScene,
    build_bee_landing_scene,
    build_rooted_scene,
    build_strike_scene,
)
from cajole.scenes.steer_scenes.bee import BEE_RADIUS
from cajole.scenes.steer_scenes.steer_scene import KeyframedForce
from cajole.scenes.steer_scenes.strike import BALL_RADIUS, DT, STRING_LENGTH

PUSHES = 100
# fewer tets than the scenes have, so that they are made in seconds
FLOWER, CREATURE = 7000, 5000


@pytest.fixture(scope="module")
def hitting() -> StrikeScene:
    return build_strike_scene()


@pytest.fixture(scope="module")
def landing() -> BeeLandingScene:
    return build_bee_landing_scene(tets=FLOWER)


@pytest.fixture(scope="module")
def creature() -> RootedDinosaurScene:
    return build_rooted_scene(tets=CREATURE)


def outcomes(scene: StrikeScene | BeeLandingScene) -> tuple[int, int, float]:
    """How often it succeeds without and with control, and the median of the added force in body weights (rms)."""
    controller, without, with_control, added = scene.create_controller(), 0, 0, []
    for seed in range(PUSHES):
        push = scene.sample_push(seed)
        without += scene.has_reached_target(controller.run(force=push, controlled=False))
        run = controller.run(force=push)
        with_control += scene.has_reached_target(run)
        added.append(float(np.sqrt((run.gentleness**2).mean())))
    return without, with_control, float(np.median(added))


def test_t_hits_both_balls_claim(hitting):
    without, with_control, added = outcomes(hitting)
    assert without <= 0.2 * PUSHES
    assert with_control >= 0.95 * PUSHES
    assert added < 0.5


def test_t_hits_undisturbed_identity(hitting):
    """The reference strikes both balls, its end as deep in them as they were placed, and the basis is of Table 2."""
    run = hitting.create_controller().run()
    assert hitting.has_reached_target(run)
    assert hitting.reference.step_count == 501
    assert hitting.reference.model.size == 24
    assert abs(3 * hitting.body.vertex_count / 1032 - 1) < 0.1


def test_ball_is_struck_and_swings_claim(hitting):
    """Struck, a ball leaves its place on its string and never enters the end; missed, it hangs still."""
    controller = hitting.create_controller()
    balls = hitting.compute_ball_paths(controller.run())
    for index, ball in enumerate(hitting.balls):
        path = balls[:, index]
        hook = ball.centre + [0, 0, STRING_LENGTH]
        assert np.linalg.norm(path - hook, axis=1) == pytest.approx(STRING_LENGTH)
        assert np.linalg.norm(path[: ball.strike_frame - 15] - ball.centre, axis=1).max() < 1e-12
        assert np.linalg.norm(path[-1] - ball.centre) > 0.05
    far = np.full((50, 1, 3), 100.0)
    assert hitting.balls[0].simulate(far, 0 * far) == pytest.approx(np.tile(hitting.balls[0].centre, (50, 1)))


def test_pendulum_reference(hitting):
    """A ball knocked lightly swings with the period of a pendulum, 2π √(l/g)."""
    ball = hitting.balls[0]
    frames = 400
    hand = np.full((frames, 1, 3), 100.0)
    hand[0, 0] = ball.centre - [0, 0.99 * BALL_RADIUS, 0]
    speed = np.zeros_like(hand)
    speed[0, 0, 1] = 0.2
    y = ball.simulate(hand, speed)[:, 1] - ball.centre[1]
    crossings = np.flatnonzero(np.diff(np.sign(y[5:])))
    period = 2 * DT * float(np.diff(crossings).mean())
    assert period == pytest.approx(2 * np.pi * np.sqrt(STRING_LENGTH / 9.81), rel=0.02)


def test_bee_lands_claim(landing):
    without, with_control, added = outcomes(landing)
    assert without <= 0.2 * PUSHES
    assert with_control >= 0.95 * PUSHES
    assert added < 0.5


def test_bee_lands_undisturbed_in_every_lap_claim(landing):
    """The seam does not meet, yet laps go on: control bridges it, and the second lap is as good as the first."""
    reference, controller = landing.reference, landing.create_controller()
    assert reference.loop
    assert reference.step_count == 1281
    assert reference.model.size == 24
    assert reference.loop_gap > 1e-5
    run = controller.run(loops=2)
    assert landing.has_reached_target(run)
    assert run.error[-300:].max() < 0.5 * controller.run(loops=2, controlled=False).error[-300:].max()


def test_flower_swings_both_ways_claim(landing):
    path = landing.compute_landing_path(landing.create_controller().run())
    aside = path[:, 0] - path[0, 0]
    assert aside.min() < -0.5
    assert aside.max() > 0.2
    sitting = np.linalg.norm(path - landing.bee_path, axis=1)
    assert (sitting <= BEE_RADIUS).sum() < 0.2 * len(path)


def test_creature_ends_where_it_should_claim(creature):
    """With final cost alone it is brought home by less than a twentieth of what it misses by itself."""
    controller = creature.create_controller()
    assert controller.reference.step_count == 181
    assert controller.reference.model.size == 30
    for seed in range(10):
        push = creature.sample_push(seed)
        free, led = controller.run(force=push, controlled=False), controller.run(force=push)
        assert creature.compute_miss_distance(led) < 0.05 * creature.compute_miss_distance(free)


def test_creature_pd_spends_more_claim(creature):
    """The best of many PD controllers, tuned on the very push, spends more to end as near."""
    grid = PDGrid(kp_count=12, decades=6.0, damping_ratios=(0.4, 1.0, 2.0), refinements=1)
    compared = tune_pd(creature.create_controller(), creature.sample_push(0), grid=grid)
    assert compared.ratio > 1.2


def test_creature_effort_dial_claim(creature):
    """Dearer control spends less and ends further away."""
    push = creature.sample_push(1)
    runs = [creature.create_controller(effort=effort).run(force=push) for effort in (0.1, 10.0, 1000.0)]
    spent, missed = [run.report.effort for run in runs], [creature.compute_miss_distance(run) for run in runs]
    assert spent == sorted(spent, reverse=True)
    assert missed == sorted(missed)


def test_push_is_the_same_for_a_seed_identity(hitting):
    assert hitting.sample_push(3) == hitting.sample_push(3)
    assert hitting.sample_push(3) != hitting.sample_push(4)


def test_script_keeps_its_ends_identity():
    patterns = np.arange(12.0).reshape(2, 2, 3)
    script = KeyframedForce(patterns, np.array([0.0, 1.0, 2.0]), np.array([[0.0, 1.0], [1.0, 0.0], [2.0, -1.0]]))
    assert script(-1.0) == pytest.approx(patterns[1])
    assert script(1.0) == pytest.approx(patterns[0])
    assert script(9.0) == pytest.approx(2 * patterns[0] - patterns[1])


@pytest.mark.parametrize("seed", [-1, 1.5, None])
def test_push_seed_bad_input(hitting, seed):
    with pytest.raises(cj.InputError, match="seed"):
        hitting.sample_push(seed)
