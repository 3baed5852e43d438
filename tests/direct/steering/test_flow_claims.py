"""What the 2008 paper shows of fluids, on both scenes at a quarter of the grid; metres are cells of the fine one."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.direct.steering.pd import tune_flow_pd
from cajole.scenes.flow_scenes import (
    FLOW_SCENE_DESCRIPTIONS,
    LeavesScene,
    SwirlScene,
    build_leaves_scene,
    build_swirl_scene,
)
from cajole.scenes.flow_scenes.leaves import compute_letter_path

TAKES = 50


@pytest.fixture(scope="module")
def swirling() -> SwirlScene:
    return build_swirl_scene(64, runs=24)


@pytest.fixture(scope="module")
def written() -> LeavesScene:
    return build_leaves_scene(64, runs=24)


def test_cheaper_control_keeps_closer_claim(swirling):
    """Figure 5: from 100 and 100,000 times cheaper control, with and without kicks, paths closer and closer."""
    kicks = swirling.build_kicks()
    for force in (None, kicks):
        free = swirling.create_controller().run(force, controlled=False).distances.max()
        costs = [swirling.create_controller(effort=effort).run(force) for effort in (1e-1, 1e-3, 1e-6)]
        worst = [run.distances.max() for run in costs]
        assert free > worst[0] > worst[1] > worst[2]
        assert worst[2] < 0.6
        efforts = [run.report.effort for run in costs]
        assert efforts[0] < efforts[1] < efforts[2]


def test_reduced_flow_keeps_energy_that_the_full_one_loses_claim(swirling):
    """§5.3: why the two need a controller between them."""
    free = swirling.create_controller().run(controlled=False)
    energies, full = (0.5 * (z**2).sum(axis=1) for z in (free.states, swirling.shot.states))
    assert energies[-1] == pytest.approx(energies[0], rel=1e-12)
    assert full[-1] < 0.9 * full[0]


def test_the_regulator_is_closer_than_any_pd_claim(swirling):
    """Figure 7: at equal effort over the whole run, and nearer at its end."""
    found = tune_flow_pd(swirling.create_controller(effort=1e-3), swirling.build_kicks(), ratios=3)
    assert found.best.effort > 0.8 * found.regulator.effort
    assert found.regulator.error < found.best.error
    assert found.regulator.final_error < found.best.final_error
    assert found.regulator.error < 0.5 * found.uncontrolled.error


def test_no_wind_keeps_the_leaf_from_its_letter_claim(written):
    """Figure 2: 50 takes, in which an uncontrolled leaf strays more than 20 and a controlled one less than 3."""
    controller, ways = written.create_controller(), []
    for seed in range(TAKES):
        noise = written.build_noise(seed)
        assert controller.run(noise, controlled=False).distances.max() > 20.0
        run = controller.run(noise)
        assert run.distances.max() < 3.0
        ways.append(run.advect(written.passive_particles)[-1])
    apart = np.linalg.norm(np.array(ways)[:, None] - ways, axis=3).max(axis=2)
    assert (apart + np.diag(np.full(TAKES, np.inf))).min() > 5.0


def test_the_full_leaf_writes_the_letter_claim(written):
    assert np.linalg.norm(written.shot.particles[:, 0] - compute_letter_path(), axis=1).max() < 2.0


def test_too_strong_a_kick_is_told_claim(swirling):
    """§7: particles do not come back from any kick; the run says so."""
    weak, strong = (swirling.create_controller().run(swirling.build_kicks(strength)) for strength in (0.3, 6.0))
    assert weak.lost_particles == ()
    assert strong.lost_particles
    assert "lost: particle" in str(strong.report)


def test_every_scene_has_its_purpose_identity():
    assert set(FLOW_SCENE_DESCRIPTIONS) == {"leaves", "swirl"}
