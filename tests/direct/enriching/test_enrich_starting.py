"""Where a shell begins that lies elsewhere than its guide: turned to it, also by two means; other units are told."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from enrich_cases import CLOTH, rotation, still

from cajole import Animation, BodyShell, MeshTri
from cajole.direct.enriching import EnrichResult, enrich, regions_painted, regions_subdivided
from cajole.direct.enriching.initial_state import align_rigidly
from cajole.mesh import grid_triangles


def tall_halves(turned: np.ndarray, scale: float = 1.0) -> tuple[BodyShell, EnrichResult]:
    """A strip along y led by its two halves, its shell of another mesh and turned away from it."""
    coarse, sheet = grid_triangles(2, 4, size=(0.5, 2.0)), grid_triangles(5, 11, size=(0.5, 2.0))
    halves = [(mesh.vertices[:, 1] > 1.0).astype(int) for mesh in (coarse, sheet)]
    fine = MeshTri(scale * sheet.vertices @ turned.T, sheet.triangles)
    cloth = BodyShell(fine, CLOTH, damping=(0.5, 1e-3))
    guide = still(coarse, 3)
    return cloth, enrich(guide, cloth, regions_painted(coarse, halves[0], fine, halves[1]), dt=1 / 60)


@pytest.mark.parametrize("turned", ["lying", "upside down", "anyhow"])
def test_two_means_turn_a_shell_claim(turned: str, random: np.random.Generator) -> None:
    """A shell that stands along another axis than its guide is turned, not wrung: it begins nearly free of stress."""
    ways = {
        "lying": np.array([(1.0, 0, 0), (0, 0, 1), (0, -1, 0)]),
        "upside down": np.diag([1.0, -1.0, -1.0]),
        "anyhow": rotation(random),
    }
    cloth, result = tall_halves(ways[turned])
    plain, best = tall_halves(np.eye(3))
    energy, least = (
        body.energy(each.animation.frame(0) - body.vertices) for body, each in ((cloth, result), (plain, best))
    )
    assert energy < 2.0 * least + 1e-6
    assert result.residual.max() < 1e-12


def test_one_mean_turns_nothing_identity(random: np.random.Generator) -> None:
    points = random.normal(size=(20, 3))
    moved = align_rigidly(points[:1], points[:1] + (1.0, 2.0, 3.0), np.ones(1), points)
    np.testing.assert_allclose(moved, points + (1.0, 2.0, 3.0), atol=1e-14)


def test_means_that_nearly_meet_turn_nothing_identity(random: np.random.Generator) -> None:
    """Rounding would decide where their line points."""
    points = random.normal(size=(20, 3))
    own, wanted = 1e-9 * random.normal(size=(2, 2, 3))
    moved = align_rigidly(own, wanted, np.ones(2), points)
    np.testing.assert_allclose(moved, points, atol=1e-8)


def test_a_shell_that_is_forced_is_told_claim() -> None:
    """A guide that stretches a shell which does not: its weights are said, with what to do."""
    coarse = grid_triangles(2, 2)
    fine, regions = regions_subdivided(coarse, 1)
    stretched = coarse.vertices * (1.0 + 0.02 * np.arange(4)[:, None, None] * (1.0, 0.0, 0.0))
    soft, hard = (
        enrich(Animation(coarse, stretched, 30.0), BodyShell(fine, replace(CLOTH, young=young)), regions, dt=1 / 60)
        for young in (2e2, 2e8)
    )
    assert soft.report.notes == ()
    (note,) = hard.report.notes
    assert re.match(r"it is led with \S+ weights \(rms\), hardest into frame 3; fewer or larger regions", note)


def test_other_units_are_told_claim() -> None:
    told = tall_halves(np.eye(3), scale=1000.0)[1].report.notes
    assert any("the shell is 2.06e+03 m large, but its guide 2.06 m; if one is not in metres" in note for note in told)
    assert not any("metres" in note for note in tall_halves(np.eye(3), scale=1.5)[1].report.notes)
