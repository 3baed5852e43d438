"""Far beyond what can be reached, and at the edges of what is allowed: bounded, finite, and said so."""

from __future__ import annotations

import numpy as np
import pytest
from edit_claims_cases import bending, flying, long_beam, swinging, tip, waving

import cajole as cj

CASES = {
    "held": swinging,
    "flying": flying,
    "sheet": waving,
    "bent": lambda: (long_beam(), bending(90)),
}


@pytest.mark.parametrize("warp", ["composition", "additive"])
@pytest.mark.parametrize("name", CASES)
def test_unreachable_claim(name: str, warp: str) -> None:
    """One to three body sizes away, in six directions: closer than before, not flung away, and told whether it landed.

    All frames stay within five times the distance asked.
    """
    body, motion = CASES[name]()
    vertex, size, left = tip(motion), motion.mesh.size, 0
    editor = cj.edit(motion, body, 40, warp=warp)
    for sizes in (1.0, 3.0):
        for direction in (*np.eye(3), *-np.eye(3)):
            goal = motion.positions[12][vertex] + sizes * size * direction
            landing = editor.drag(vertex, 12, goal)
            out = editor.animation().positions
            off = np.linalg.norm(out[12, vertex] - goal) / (sizes * size)
            assert np.isfinite(out).all()
            assert off < 1.0
            assert np.linalg.norm(out - motion.positions, axis=2).max() <= 5 * sizes * size
            assert landing.reached == (landing.relative_error <= 1e-3)
            assert off <= 1.01 * np.sqrt(3) * landing.relative_error + 1e-9
            if not landing.reached:
                left += 1
                assert "could not be reached" in str(landing)
                assert "Drag less far" in str(landing)
            assert editor.undo()
            np.testing.assert_array_equal(editor.animation().positions, motion.positions)
    assert left > 0


def test_after_unreachable_claim() -> None:
    """A hand that comes back from where nothing can be reached brings the vertex back."""
    motion = bending(90)
    editor = cj.edit(motion, long_beam(), 60)
    here = motion.positions[14][tip(motion)]
    with editor.grab(tip(motion), 14) as hand:
        assert not hand.move(here + [0.0, 9.0, 0.0]).reached
        assert hand.move(here + [0.0, 0.2, 0.0]).reached
    np.testing.assert_allclose(editor.positions(14)[tip(motion)], here + [0.0, 0.2, 0.0], atol=1e-3 * 0.2)


def test_contradiction_claim() -> None:
    """More asked than three modes can give: told which follows from others, nothing NaN, undo as ever."""
    body, motion = swinging()
    editor = cj.edit(motion, body, 3)
    inner = int(np.argmin(np.linalg.norm(body.vertices - [0.8, 0.2, 0.2], axis=1)))
    assert editor.drag(tip(motion), 12, motion.positions[12][tip(motion)] + [0.0, 0.05, 0.02]).relative_error < 1.0
    landing = editor.drag(inner, 12, motion.positions[12][inner] + [0.0, -0.05, 0.0])
    assert not landing.reached
    assert (inner, 12) in editor.report.redundant
    assert "follows from other constraints" in str(editor.report)
    out = editor.animation().positions
    assert np.abs(out - motion.positions).max() < motion.mesh.size
    editor.undo()
    editor.undo()
    np.testing.assert_array_equal(editor.animation().positions, motion.positions)


@pytest.mark.parametrize("ends", ["fixed", "free"])
@pytest.mark.parametrize("energy", ["forces", "smooth"])
@pytest.mark.parametrize("h", [1e-9, 1e-4, 1.0, 1e4])
def test_any_timestep_claim(h: float, energy: str, ends: str) -> None:
    """Thirteen decades of h: the drag lands and the motion stays within a few times of it."""
    body, motion = swinging()
    editor = cj.edit(motion, body, 40, h=h, energy=energy, ends=ends)
    goal = motion.positions[12][tip(motion)] + [0.0, 0.1, 0.0]
    assert editor.drag(tip(motion), 12, goal).reached
    out = editor.animation().positions
    np.testing.assert_allclose(out[12, tip(motion)], goal, atol=1e-4)
    assert np.linalg.norm(out - motion.positions, axis=2).max() <= 6 * 0.1


@pytest.mark.parametrize("ends", ["fixed", "free"])
def test_fewest_frames_claim(ends: str) -> None:
    """Five frames: with both ends fixed a single one can change."""
    body, motion = swinging()
    editor = cj.edit(motion.trimmed(5, 10), body, 20, ends=ends)
    assert editor.editable_frames == ((2, 2) if ends == "fixed" else (2, 4))
    goal = motion.positions[7][tip(motion)] + [0.0, 0.05, 0.0]
    assert editor.drag(tip(motion), 2, goal).reached
    out = editor.animation().positions
    np.testing.assert_array_equal(out[:2], motion.positions[5:7])
    np.testing.assert_allclose(out[2, tip(motion)], goal, atol=1e-3 * 0.05)


def test_one_mode_claim() -> None:
    """One mode gives one direction: that much is met, the rest is told."""
    body = swinging()[0]
    motion = cj.Animation(body.mesh, np.tile(body.vertices, (30, 1, 1)), fps=30)
    editor = cj.edit(motion, body, 1)
    vertex = tip(motion)
    along = editor.model.compute_constraint_rows(vertex)[:, 0]
    goal = motion.positions[12][vertex] + 0.02 * along / np.linalg.norm(along)
    landing = editor.drag(vertex, 12, goal)
    assert landing.relative_error < 0.05
    editor.undo()
    axis = int(np.argmax(np.abs(along)))
    landing = editor.drag(vertex, 12, goal, directions=np.eye(3)[axis])
    assert landing.reached


def test_tiny_drag_claim() -> None:
    """A drag of a billionth of the size is no error, and lands to a hundred-millionth of it."""
    body, motion = swinging()
    editor = cj.edit(motion, body, 40)
    goal = motion.positions[12][tip(motion)] + [0.0, 1e-9 * motion.mesh.size, 0.0]
    assert editor.drag(tip(motion), 12, goal).reached
    assert np.linalg.norm(editor.positions(12)[tip(motion)] - goal) <= 1e-8 * motion.mesh.size


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_agreement(scale: float) -> None:
    """A body a million times as large or small, of a material with the same frequencies, is edited the same."""
    body, motion = swinging()
    mesh = cj.MeshTet(scale * body.mesh.vertices, body.mesh.tets)
    other = cj.BodySolid(
        mesh, cj.MaterialStVK(1e6 * scale**2, 0.3, 1e3), fixed=body.fixed, damping=(body.alpha, body.beta)
    )
    scaled = cj.Animation(mesh, scale * motion.positions, fps=motion.fps)
    shift = np.array([0.0, 0.1, -0.05])
    one, two = cj.edit(motion, body, 40), cj.edit(scaled, other, 40)
    one.drag(tip(motion), 12, motion.positions[12][tip(motion)] + shift)
    two.drag(tip(motion), 12, scaled.positions[12][tip(motion)] + scale * shift)
    np.testing.assert_allclose(two.animation().positions / scale, one.animation().positions, atol=1e-5)
