"""The heart of Figures 6 and 7: it beats, follows a patient's images, and nodes of it can be dragged."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.direct.rerouting.registration import nearest
from cajole.direct.rerouting.sections import outline
from cajole.mesh.tet import signed_volumes
from cajole.scenes.rerouting import RerouteScene, reroute_scene
from cajole.scenes.rerouting.heart import LIMIT, image_goals
from cajole.scenes.rerouting.heart_beat import contraction
from cajole.scenes.rerouting.heart_dragged import LIMIT as DRAGGED_LIMIT
from cajole.scenes.rerouting.heart_images import (
    PIXEL,
    SHIFTED,
    TIMES,
    TURNED,
    heart_images,
    heart_section,
    patient_outlines,
)
from cajole.scenes.rerouting.heart_shape import heart_mesh, vessels


@pytest.fixture(scope="module")
def heart() -> RerouteScene:
    return reroute_scene("heart")


def test_heart_of_the_figures_identity(heart: RerouteScene) -> None:
    assert heart.net.count == 3372
    assert heart_mesh().notes == ()
    assert [prop.name for prop in vessels()] == ["aorta", "pulmonary trunk", "vena cava"]


def test_it_beats_claim(heart: RerouteScene) -> None:
    """Its wall encloses a fifth less at the height of the beat, no tet of the wall turns over, and it fills again."""
    mesh, frames = heart.pilot.mesh, heart.pilot.positions
    outer = mesh.surface.triangles[(mesh.surface.triangles < heart.net.count // 3).all(axis=1)]
    a, b, c = frames[:, outer].transpose(2, 0, 1, 3)
    volumes = np.einsum("fta,fta->f", a, np.cross(b, c)) / 6
    assert volumes.min() < 0.82 * volumes[0]
    assert volumes[-1] > 0.97 * volumes[0]
    assert all((signed_volumes(frame, mesh.tets) > 0).all() for frame in frames)
    assert contraction(np.array([-0.1, 0.0, 0.21])) == pytest.approx([0.0, 0.0, 1.0])


def test_images_are_registered_claim(heart: RerouteScene) -> None:
    """As the patient lay, although his heart has another shape: contours are where he is to half a pixel."""
    found = image_goals(heart.pilot)
    assert found.alignment.angle == pytest.approx(TURNED, abs=1.0)
    section = heart_section()
    for line, truth in zip(found.contours, patient_outlines(heart.pilot)):
        places = section.flat(line)
        off = np.linalg.norm(places - nearest(places, truth)[0], axis=1)
        assert off.mean() < 0.4 * PIXEL
        assert off.max() < PIXEL
    assert np.linalg.norm(found.alignment.shift - SHIFTED) < 1.5e-3
    assert heart_images(heart.pilot).shape == (len(TIMES), 128, 128)
    assert np.array_equal(heart_images(heart.pilot), heart_images(heart.pilot))


def test_section_follows_the_patient_claim(heart: RerouteScene) -> None:
    """Figure 6: goals in D, forces within F_max; led, the section is like the patient's, with springs between."""
    result = heart.result()
    report = result.report
    assert report.reached == len(heart.goals)
    assert max(goal.error for goal in report.goals) < 1e-7
    assert report.peak <= LIMIT
    section, surface = heart_section(), heart.pilot.mesh.surface
    for frame, truth in zip(TIMES, patient_outlines(heart.pilot)):
        before, after = (
            outline(surface, motion.frame(frame), section, "it").points for motion in (heart.pilot, result.animation)
        )
        off = [np.linalg.norm(line - nearest(line, truth)[0], axis=1) for line in (before, after)]
        assert off[1].mean() < 0.6 * off[0].mean()
        assert off[1].max() < 0.6 * off[0].max()


def test_dragged_by_hand_claim() -> None:
    """Figure 7: nine nodes, 10 mm, within F_max; before the window nothing has changed."""
    scene = reroute_scene("heart_dragged")
    result = scene.result()
    report = result.report
    assert report.reached == len(scene.goals) == 9
    assert max(goal.error for goal in report.goals) < 1e-7
    assert all(goal.likeness.is_kept for goal in report.goals)
    assert report.peak <= DRAGGED_LIMIT
    start = report.goals[0].start
    assert np.array_equal(result.animation.positions[: start + 1], scene.pilot.positions[: start + 1])
