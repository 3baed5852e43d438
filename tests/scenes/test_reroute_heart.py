"""The heart of Figures 6 and 7: it beats, follows a patient's images, and nodes of it can be dragged."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.direct.rerouting.registration import find_closest_on_loop
from cajole.direct.rerouting.sections import cut_outline
from cajole.mesh.tet import compute_signed_volumes
from cajole.scenes.reroute_scenes import RerouteScene, load_reroute_scene
from cajole.scenes.reroute_scenes.heart import FORCE_LIMIT, build_heart_image_goals
from cajole.scenes.reroute_scenes.heart_dragged import DRAG_FORCE_LIMIT as DRAGGED_LIMIT
from cajole.scenes.reroute_scenes.heart_images import (
    IMAGE_FRAMES,
    PIXEL_SIZE,
    SCAN_ROTATION,
    SCAN_SHIFT,
    build_heart_section,
    compute_patient_outlines,
    render_heart_images,
)
from cajole.scenes.reroute_scenes.heart_model import build_heart_mesh, build_vessels, compute_contraction


@pytest.fixture(scope="module")
def heart() -> RerouteScene:
    return load_reroute_scene("heart")


def test_heart_of_the_figures_identity(heart: RerouteScene) -> None:
    assert heart.net.vertex_count == 3372
    assert build_heart_mesh().notes == ()
    assert [prop.name for prop in build_vessels()] == ["aorta", "pulmonary trunk", "vena cava"]


def test_it_beats_claim(heart: RerouteScene) -> None:
    """Its wall encloses a fifth less at the height of the beat, no tet of the wall turns over, and it fills again."""
    mesh, frames = heart.pilot.mesh, heart.pilot.positions
    outer = mesh.surface.triangles[(mesh.surface.triangles < heart.net.vertex_count // 3).all(axis=1)]
    a, b, c = frames[:, outer].transpose(2, 0, 1, 3)
    volumes = np.einsum("fta,fta->f", a, np.cross(b, c)) / 6
    assert volumes.min() < 0.82 * volumes[0]
    assert volumes[-1] > 0.97 * volumes[0]
    assert all((compute_signed_volumes(frame, mesh.tets) > 0).all() for frame in frames)
    assert compute_contraction(np.array([-0.1, 0.0, 0.21])) == pytest.approx([0.0, 0.0, 1.0])


def test_images_are_registered_claim(heart: RerouteScene) -> None:
    """As the patient lay, although his heart has another shape: contours are where he is to half a pixel."""
    found = build_heart_image_goals(heart.pilot)
    assert found.alignment.angle == pytest.approx(SCAN_ROTATION, abs=1.0)
    section = build_heart_section()
    for line, truth in zip(found.contours, compute_patient_outlines(heart.pilot)):
        places = section.project_points(line)
        off = np.linalg.norm(places - find_closest_on_loop(places, truth)[0], axis=1)
        assert off.mean() < 0.4 * PIXEL_SIZE
        assert off.max() < PIXEL_SIZE
    assert np.linalg.norm(found.alignment.translation - SCAN_SHIFT) < 1.5e-3
    assert render_heart_images(heart.pilot).shape == (len(IMAGE_FRAMES), 128, 128)
    assert np.array_equal(render_heart_images(heart.pilot), render_heart_images(heart.pilot))


def test_section_follows_the_patient_claim(heart: RerouteScene) -> None:
    """Figure 6: goals in D, forces within F_max; led, the section is like the patient's, with springs between."""
    result = heart.solve()
    report = result.report
    assert report.reached_count == len(heart.goals)
    assert max(goal.error for goal in report.goals) < 1e-7
    assert report.peak_force <= FORCE_LIMIT
    section, surface = build_heart_section(), heart.pilot.mesh.surface
    for frame, truth in zip(IMAGE_FRAMES, compute_patient_outlines(heart.pilot)):
        before, after = (
            cut_outline(surface, motion.frame(frame), section, "it").points
            for motion in (heart.pilot, result.animation)
        )
        off = [np.linalg.norm(line - find_closest_on_loop(line, truth)[0], axis=1) for line in (before, after)]
        assert off[1].mean() < 0.6 * off[0].mean()
        assert off[1].max() < 0.6 * off[0].max()


def test_dragged_by_hand_claim() -> None:
    """Figure 7: nine nodes, 10 mm, within F_max; before the window nothing has changed."""
    scene = load_reroute_scene("heart_dragged")
    result = scene.solve()
    report = result.report
    assert report.reached_count == len(scene.goals) == 9
    assert max(goal.error for goal in report.goals) < 1e-7
    assert all(goal.similarity.is_similar for goal in report.goals)
    assert report.peak_force <= DRAGGED_LIMIT
    start = report.goals[0].start_frame
    assert np.array_equal(result.animation.positions[: start + 1], scene.pilot.positions[: start + 1])
