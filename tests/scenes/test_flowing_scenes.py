"""The flowing scenes as they are shipped: what must hold to rounding holds on the whole grid, too."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.scenes.flow_scenes import SwirlScene, build_swirl_scene

STEPS = 1000


@pytest.fixture(scope="module")
def whole() -> SwirlScene:
    """256 × 256 cells, 64 modes: made once in a run of the tests, then in their cache."""
    return build_swirl_scene()


def test_modes_of_the_whole_scene_are_free_of_divergence_identity(whole: SwirlScene) -> None:
    model = whole.shot.model
    assert (model.flow.columns, model.flow.rows, model.size) == (256, 256, 64)
    # those of a unit mode, whose fastest edge is near a hundredth
    out = [np.abs(model.flow.compute_divergence(mode)).max() for mode in model.basis.T.copy()]
    assert max(out) <= 1e-12
    gram = model.flow.cell_size**2 * model.basis.T @ model.basis
    assert np.abs(gram - np.eye(64)).max() <= 1e-12


def test_energy_of_the_whole_scene_is_kept_identity(whole: SwirlScene) -> None:
    """Over 1,000 steps in the modes, every one of them."""
    model, shot = whole.shot.model, whole.shot
    made = model.rollout(np.zeros((STEPS, model.size)), shot.dt, shot.states[0])
    energies = 0.5 * (made.states**2).sum(axis=1)
    assert np.abs(energies / energies[0] - 1.0).max() <= 1e-12
    # and it is no standstill: the flow goes on changing
    assert np.linalg.norm(made.states[-1] - made.states[0]) > 0.1 * np.linalg.norm(made.states[0])


def test_the_regulator_is_almost_exact_at_the_end_claim(whole: SwirlScene) -> None:
    """Figure 7: kicked or not, with the scene's own dials; without the end among them it is not."""
    for force in (None, whole.build_kicks()):
        assert whole.create_controller().run(force).report.final_error_cells < 0.1
        assert whole.create_controller(final=0.0).run(force).report.final_error_cells > 0.1
    led, free = whole.create_controller(), whole.create_controller(final=0.0)
    assert led.run(whole.build_kicks()).report.effort < 1.1 * free.run(whole.build_kicks()).report.effort
