"""What Barbič, da Silva and Popović 2009 state of tangents, on the flower of their figure 6 with wide gaps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import cajole as cj
from cajole.direct import Shot
from cajole.scenes.keyframe_scenes import KeyframeScene, build_flower_figure_eight_scene


@pytest.fixture(scope="module")
def wide() -> KeyframeScene:
    """The eight with keys far apart: blooms go up to 1.4 m aside, on a flower of 2.8 m."""
    return build_flower_figure_eight_scene(load_scale=5.0)


def far(board: KeyframeScene) -> NDArray[np.float64]:
    """The key that is farthest from rest."""
    return max(board.keys.values(), key=lambda u: reach(board, u[None]))


def reach(board: KeyframeScene, u: NDArray[np.float64]) -> float:
    """How far [m] the heart of the main bloom gets in displacements (frames, n, 3)."""
    return float(np.linalg.norm(u[:, board.scene.parts["bloom disc"]].mean(axis=1), axis=1).max())


def to_far(board: KeyframeScene, *, effort: float = 1e-2, **options: object) -> Shot:
    return cj.keyframe(board.body, {60: far(board)}, 61, effort=effort, **options)


def test_keys_alone_cannot_leave_rest_claim(wide: KeyframeScene) -> None:
    """§6: without tangents a large gap is not bridged and the motion appears stiff; with them it is met."""
    tangents, keys = (to_far(wide, modes=0, tangents=own) for own in (True, False))
    assert tangents.report.errors[0] < 0.01
    assert reach(wide, tangents.animation.displacements) > 1.3
    assert keys.report.errors[0] > 0.15
    assert reach(wide, keys.animation.displacements) < 0.01


def test_keys_alone_do_not_yield_to_force_claim(wide: KeyframeScene) -> None:
    """With a hundredth of the price on force, three times as much of it is added, and the key is missed as before."""
    tangents, keys = (to_far(wide, modes=0, effort=1e-4, tangents=own).report for own in (True, False))
    assert tangents.errors[0] < 0.003
    assert keys.errors[0] > 0.15
    assert keys.mean_gentleness > 2 * tangents.mean_gentleness


def test_tangents_serve_better_than_as_many_modes_claim(wide: KeyframeScene) -> None:
    """Two linear modes in place of the two tangents: three directions either way."""
    for effort, missed, force in ((1e-2, 5.0, 0.0), (1e-4, 0.0, 1.5)):
        tangents = to_far(wide, effort=effort, modes=0)
        modes = to_far(wide, effort=effort, modes=2, tangents=False)
        assert tangents.model.size == modes.model.size == 3
        assert modes.report.errors[0] > missed * tangents.report.errors[0]
        assert modes.report.mean_gentleness > force * tangents.report.mean_gentleness


def test_eight_needs_tangents_claim(wide: KeyframeScene) -> None:
    """Figure 6: seen from above, the bloom's way without tangents stays small, although more force is added."""
    options = {"modes": 0, "effort": 0.1, "dt": 0.007, "starts": "zero"}
    tangents, keys = (wide.solve(tangents=own, **options) for own in (True, False))
    assert max(tangents.report.errors) < 0.05
    assert reach(wide, tangents.animation.displacements) > 1.1
    assert max(keys.report.errors) > 0.12
    assert reach(wide, keys.animation.displacements) < 1.0
    assert keys.report.mean_gentleness > tangents.report.mean_gentleness


def test_small_gaps_do_not_need_tangents_claim() -> None:
    """§6: where the gap is small the keys alone do; so the tests above are about the gap, not about the flower."""
    near = build_flower_figure_eight_scene()
    tangents, keys = (near.solve(modes=0, tangents=own, starts="zero").report for own in (True, False))
    assert max(tangents.errors) < 1e-3
    assert max(keys.errors) < 1e-3
    assert keys.mean_gentleness < 1.5 * tangents.mean_gentleness
