"""What a run with collisions tells: how far it is, where contacts hold it off its guide, how it begins."""

from __future__ import annotations

import numpy as np
import pytest
from enrich_cases import CLOTH, box, enriched_box, still, twisted_box
from enrich_collision_cases import fall, sheet

from cajole import Animation, BodyShell, Cancelled, Ground, InputError
from cajole.direct.enriching import EnrichResult, enrich, regions_subdivided
from cajole.mesh import grid_triangles

pytest.importorskip("ipctk")

KINDS = ("fast", "exact")


def led_down(depth: float, **settings: object) -> EnrichResult:
    """A sheet that its guide leads from 0.1 m above the ground to `depth` [m] below it."""
    coarse = grid_triangles(2, 2, origin=(0.0, 0.0, 0.1))
    fine, regions = regions_subdivided(coarse, 2)
    path = coarse.vertices - np.linspace(0.0, 0.1 + depth, 6)[:, None, None] * (0.0, 0.0, 1.0)
    guide = Animation(coarse, path, 30.0)
    return enrich(guide, BodyShell(fine, CLOTH), regions, dt=1 / 60, colliders=Ground(0.0), **settings)  # type: ignore[arg-type]


def test_a_guide_that_leads_through_the_ground_is_told_claim() -> None:
    through = led_down(0.3, collisions="fast").report
    assert through.residual > 0.1
    assert any("contacts keep it off its guide, by 2" in note and "into frame 5" in note for note in through.notes)
    assert led_down(-0.05, collisions="fast").report.notes == ()


def test_no_contacts_are_blamed_where_nothing_leads_claim() -> None:
    told = led_down(-0.05, collisions="fast", tracked=False).report
    assert told.residual > 0.0
    assert not any("contacts" in note for note in told.notes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_shell_that_slides_far_stays_on_the_ground_claim(kind: str) -> None:
    """A plane has no end: thrown along it a sheet comes to many times its size from where it began."""
    body = BodyShell(sheet(3, 0.3, height=0.02), CLOTH, damping=(0.0, 1e-3))
    ended = fall(body, kind, Ground(0.0), 40, friction=0.0, thrown=(6.0, 0.0, 0.0))
    assert ended.positions[-1, :, 0].min() > 3.0
    assert ended.positions[..., 2].min() > 0.0
    # and the plane that goes along does not rub
    np.testing.assert_allclose(ended.velocities[-1, :, 0].mean(), 6.0, rtol=2e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_step_can_be_cancelled_claim(kind: str) -> None:
    """The listener is asked within a step, too, once surfaces are near each other."""
    cloth, regions = enriched_box(2)
    guide, said = twisted_box(8, turn=1.2, squash=0.85, fps=60.0), list[float]()

    def listen(share: float, text: str) -> bool:
        said.append(share)
        # said again without a step in between
        return len(said) < 2 or said[-1] != said[-2] or share < 0.5

    with pytest.raises(Cancelled, match="of 7"):
        enrich(guide, cloth, regions, dt=1 / 60, collisions=kind, progress=listen)
    assert said == sorted(said)
    assert 0.5 <= said[-1] < 1.0


def test_a_crowded_start_is_told_claim() -> None:
    """The barrier of "exact" throws apart what starts well within its width."""
    coarse = grid_triangles(2, 2, origin=(0.0, 0.0, 0.002))
    fine, regions = regions_subdivided(coarse, 2)
    guide, cloth = still(coarse, 2), BodyShell(fine, CLOTH)
    near, far = (
        enrich(guide, cloth, regions, dt=1 / 60, collisions="exact", colliders=Ground(height)).report.notes
        for height in (0.0, -0.1)
    )
    assert any("the shell starts 0.002 m from what it may touch" in note for note in near)
    assert far == ()


def test_one_frame_is_told_claim() -> None:
    fine, regions = regions_subdivided(box(), 1)
    told = enrich(still(box(), 1), BodyShell(fine, CLOTH), regions).report
    assert told.steps == 0
    assert "there is one frame only" in told.notes[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"friction": 0.2}, "friction=0.2 is for collisions; say collisions='fast'"),
        ({"distance": 0.01}, "distance=0.01 is for collisions"),
        ({"friction": -1.0}, "friction is -1.0, but must be at least zero"),
        ({"friction": 0.2, "collisions": lambda before, after, h: after}, "friction=0.2 is for collisions"),
    ],
)
def test_settings_without_collisions_bad_input(settings: dict[str, object], message: str) -> None:
    cloth, regions = enriched_box(1)
    with pytest.raises(InputError, match=message):
        enrich(twisted_box(2), cloth, regions, **settings)  # type: ignore[arg-type]
