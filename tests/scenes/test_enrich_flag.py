"""The flag of Figure 2, Bergou 2007, with few vertices: a free cloth departs from its preview, a led one does not."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.animation import Animation
from cajole.body import EARTH_GRAVITY
from cajole.scenes.enriching import EnrichScene
from cajole.scenes.enriching.flag import flag_of
from cajole.scenes.enriching.tree import tree_mesh

CELLS, FRAMES = (12, 8), 31


@pytest.fixture(scope="module")
def small() -> EnrichScene:
    """The scene with a cloth of 117 vertices instead of 1625."""
    pytest.importorskip("ipctk")
    return flag_of(CELLS)


def energy(scene: EnrichScene, motion: Animation, frame: int) -> float:
    """[J] of motion, height and deformation."""
    cloth, x, v = scene.cloth, motion.positions[frame], motion.velocities[frame]
    moving = 0.5 * (cloth.vertex_masses * (v**2).sum(axis=1)).sum()
    return float(moving + EARTH_GRAVITY * cloth.vertex_masses @ x[:, 2] + cloth.energy(x - cloth.vertices))


def test_a_led_cloth_keeps_to_its_preview_and_a_free_one_does_not_claim(small):
    """Up to the branch both fly as the preview does; then the quarters of the free one are elsewhere."""
    led, free = (small.enriched(collisions="fast", frames=FRAMES, tracked=tracked) for tracked in (True, False))
    off = {}
    for name, result in (("led", led), ("free", free)):
        x = result.animation.positions
        off[name] = np.array([small.regions.distances(small.guide.positions[k], x[k]).max() for k in range(FRAMES)])
        assert result.report.collisions is not None
        assert result.report.collisions.intersections == 0
        # contacts and damping take energy, and bring none
        energies = [energy(small, result.animation, frame) for frame in range(0, FRAMES, 5)]
        assert max(np.diff(energies)) < 0.02 * energies[0]
    assert off["free"][:8].max() < 0.03
    assert off["free"][-1] > 0.1
    assert off["led"].max() < 0.1 * off["free"].max()


def test_tree_is_closed_identity():
    """Few triangles, closed and outward, so that what is outside stays there."""
    tree = tree_mesh()
    assert tree.is_closed()
    assert 0.1 < tree.volume < 0.4
    assert len(tree.triangles) < 1000
