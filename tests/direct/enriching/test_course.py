"""Guides between their frames and beyond them."""

from __future__ import annotations

import numpy as np
from enrich_cases import flat

from cajole import Animation
from cajole.direct.enriching import regions_subdivided
from cajole.direct.enriching.collisions.world import ColliderSet
from cajole.direct.enriching.guide import CatmullRomTrajectory


def test_course_identity(random: np.random.Generator) -> None:
    """Between frames: exact on frames, exact for lines and parabolas, without a jump of velocity, still where still."""
    mesh = flat(1)
    path = random.normal(size=(6, 1, 3))
    path[3:] = path[3]
    guide = Animation(mesh, mesh.vertices + path, 24.0)
    _, regions = regions_subdivided(mesh, 0)
    course = CatmullRomTrajectory(guide, regions.guide_weights, 8)
    for frame in range(6):
        np.testing.assert_array_equal(course.evaluate(frame / 24), regions.guide_weights @ guide.frame(frame))
    np.testing.assert_array_equal(course.evaluate(4.4 / 24), regions.guide_weights @ guide.frame(4))
    np.testing.assert_array_equal(course.evaluate(6.7 / 24), regions.guide_weights @ guide.frame(5))
    e = 1e-6 / 24
    for frame in (1, 2, 3):
        before = (course.evaluate(frame / 24) - course.evaluate(frame / 24 - e)) / e
        after = (course.evaluate(frame / 24 + e) - course.evaluate(frame / 24)) / e
        np.testing.assert_allclose(before, after, atol=1e-4 * np.abs(before).max() + 1e-4)
        np.testing.assert_allclose(after, course.compute_frame_velocity(frame), atol=1e-3)
    times = np.arange(6) / 24
    parabola = Animation(mesh, mesh.vertices + (times**2)[:, None, None], 24.0)
    want = regions.guide_weights @ (mesh.vertices + (2.5 / 24) ** 2)
    np.testing.assert_allclose(
        CatmullRomTrajectory(parabola, regions.guide_weights, 6).evaluate(2.5 / 24), want, atol=1e-14
    )


def test_course_stands_after_its_last_frame_identity() -> None:
    """A guide that ends in full motion stops there: no half of a slope is left, and nothing runs ahead of it."""
    mesh = flat(1)
    moving = Animation(mesh, mesh.vertices + 0.1 * np.arange(5)[:, None, None], 24.0)
    _, regions = regions_subdivided(mesh, 0)
    course = CatmullRomTrajectory(moving, regions.guide_weights, 9)
    last = regions.guide_weights @ moving.frame(4)
    for frame in (4.0, 4.25, 5.0, 7.3, 8.0):
        np.testing.assert_array_equal(course.evaluate(frame / 24), last)
    np.testing.assert_allclose(
        course.evaluate(3.5 / 24),
        regions.guide_weights @ (mesh.vertices + 0.35),
        atol=1e-15,
        err_msg="the last piece is a line",
    )
    # a collider that moves as the guide does is where the guide is
    collider = ColliderSet(moving, moving.bounds)
    for frame in (0.3, 3.5, 4.25, 6.0):
        np.testing.assert_allclose(
            regions.guide_weights @ collider.compute_positions(frame / 24), course.evaluate(frame / 24), atol=1e-15
        )


def test_fewer_frames_are_the_beginning_of_all_identity(random: np.random.Generator) -> None:
    mesh = flat(1)
    guide = Animation(mesh, mesh.vertices + random.normal(size=(7, 1, 3)), 24.0)
    _, regions = regions_subdivided(mesh, 0)
    whole = CatmullRomTrajectory(guide, regions.guide_weights, 7)
    for frames in (1, 2, 4, 7):
        part = CatmullRomTrajectory(guide, regions.guide_weights, frames)
        for frame in np.linspace(0, frames - 1, 9):
            np.testing.assert_array_equal(part.evaluate(frame / 24), whole.evaluate(frame / 24))
