"""Dragged vertices are where they were put: the linear rows to rounding, and through the warp to a thousandth."""

from __future__ import annotations

import numpy as np
import pytest
from edit_claims_cases import LONG, bending, drawn, flying, long_beam, swinging, tip, turned

import cajole as cj

MODES = 60
BENDS = [0, 45, 90, 150, 200]
SIX = [*np.eye(3), *-np.eye(3)]


def linear_miss(editor: cj.Editor) -> float:
    """The largest |U_v z_i - target| of the rows, before warping, over the largest target."""
    z, held = editor.compute_reduced_coordinates(), editor.state.constraints
    off = [editor.model.compute_constraint_rows(v) @ z[i] - held[v, i].linear_targets for v, i in held]
    return float(np.abs(off).max() / max(np.abs(h.linear_targets).max() for h in held.values()))


def test_linear_rows_one_claim() -> None:
    motion = bending(90)
    editor = cj.edit(motion, long_beam(), MODES)
    editor.drag(tip(motion), 14, motion.positions[14][tip(motion)] + [0.0, 0.3, 0.2])
    assert linear_miss(editor) <= 1e-12


def test_linear_rows_several_in_one_frame_claim() -> None:
    """Four vertices that follow one smooth shape: rows close to dependent, met to 1e-9."""
    motion, body = bending(45), long_beam()
    editor = cj.edit(motion, body, MODES)
    chosen = [int(np.argmin(np.linalg.norm(body.vertices - [x, 0.1, 0.1], axis=1))) for x in (0.8, 1.5, 2.2, 3.0)]
    shift = np.outer(body.vertices[chosen, 0] ** 2, [0.0, 0.03, 0.01])
    editor.drag(chosen, 14, motion.positions[14][chosen] + shift)
    assert linear_miss(editor) <= 1e-9


def test_linear_rows_twenty_spread_claim() -> None:
    body, motion = swinging()
    editor = cj.edit(motion, body, MODES)
    draw = np.random.default_rng(4)
    free = np.setdiff1d(np.arange(body.vertex_count), body.fixed)
    for k, vertex in enumerate(draw.choice(free, 20, replace=False).tolist()):
        frame = 3 + k
        editor.drag(vertex, frame, editor.positions(frame)[vertex] + draw.normal(size=3) * 1e-3)
    assert len(editor.constraints) == 20
    assert linear_miss(editor) <= 1e-9
    assert max(editor.report.target_errors.values()) <= 1e-4


@pytest.mark.parametrize("warp", ["composition", "additive"])
@pytest.mark.parametrize("degrees", BENDS)
def test_small_drag_lands_in_four_looks_claim(degrees: int, warp: str) -> None:
    """0.05 of the length in six directions, on inputs bent by up to 200°: at most four corrections."""
    motion = bending(degrees)
    editor = cj.edit(motion, long_beam(), MODES, warp=warp)
    vertex, here = tip(motion), motion.positions[14][tip(motion)]
    for direction in SIX:
        goal = here + 0.05 * LONG * direction
        landing = editor.drag(vertex, 14, goal)
        assert landing.reached
        assert min(landing.error_history[:5]) <= 1e-3
        assert np.abs(editor.positions(14)[vertex] - goal).max() <= 1e-3 * 0.05 * LONG
        assert editor.undo()


@pytest.mark.parametrize("warp", ["composition", "additive"])
@pytest.mark.parametrize("degrees", BENDS)
def test_far_drag_lands_claim(degrees: int, warp: str) -> None:
    """0.15 of the length in one leap: four corrections as well; along a straight beam a corner does not reach."""
    motion = bending(degrees)
    editor = cj.edit(motion, long_beam(), MODES, warp=warp)
    vertex, here = tip(motion), motion.positions[14][tip(motion)]
    for direction in SIX:
        if degrees == 0 and direction[0] == 1.0:
            continue
        goal = here + 0.15 * LONG * direction
        landing = editor.drag(vertex, 14, goal)
        assert landing.reached
        assert min(landing.error_history[:5]) <= 1e-3
        assert np.abs(editor.positions(14)[vertex] - goal).max() <= 1e-3 * 0.15 * LONG
        assert editor.undo()


@pytest.mark.parametrize("degrees", BENDS)
def test_hand_lands_in_four_looks_claim(degrees: int) -> None:
    """The same way in ten moves of a hand: every move lands with at most four corrections, most with fewer."""
    motion = bending(degrees)
    editor = cj.edit(motion, long_beam(), MODES)
    vertex, here = tip(motion), motion.positions[14][tip(motion)]
    for direction in ([0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]):
        looks = []
        with editor.grab(vertex, 14) as hand:
            for share in np.linspace(0.015, 0.15, 10):
                landing = hand.move(here + share * LONG * np.asarray(direction))
                assert min(landing.error_history[:5]) <= 1e-3
                looks.append(len(landing.error_history) - 1)
        assert np.mean(looks) <= 3.0
        assert hand.result.reached
        assert editor.undo()
        assert not editor.undo()


def test_four_at_three_frames_claim() -> None:
    """Four vertices at three frames, dragged one after another by 0.1 of the length: all in place after the last."""
    body, motion = long_beam(), bending(60)
    editor = cj.edit(motion, body, MODES)
    middle = int(np.argmin(np.linalg.norm(body.vertices - [1.5, 0.1, 0.1], axis=1)))
    asked = {}
    for vertex, frame, direction in (
        (tip(motion), 7, (0.0, 1.0, 0.0)),
        (tip(motion), 12, (0.0, -0.6, 0.8)),
        (middle, 12, (0.0, -0.4, 0.3)),
        (tip(motion), 18, (0.0, 0.6, -0.8)),
    ):
        asked[vertex, frame] = motion.positions[frame][vertex] + 0.1 * LONG * np.asarray(direction)
        landing = editor.drag(vertex, frame, asked[vertex, frame])
    assert landing.reached
    assert max(editor.report.target_errors.values()) <= 1e-3 * 0.05
    out = editor.animation().positions
    for (vertex, frame), goal in asked.items():
        assert np.linalg.norm(out[frame, vertex] - goal) <= 1e-3 * 0.05 * LONG


def test_flying_lands_where_the_motion_is_claim() -> None:
    """Targets are in the world, however far the body has turned by then."""
    body, motion = flying()
    for frame in (4, 13, 22):
        editor = cj.edit(motion, body, MODES, ends="free")
        vertex = tip(motion)
        goal = motion.positions[frame][vertex] + [0.05, -0.05, 0.05]
        assert editor.drag(vertex, frame, goal).reached
        np.testing.assert_allclose(editor.positions(frame)[vertex], goal, atol=1e-3 * 0.09)


def test_turned_world_agreement() -> None:
    """A free body in a world turned by any rotation is edited the same, turned."""
    body, motion = flying()
    R = turned((0.3, -1.0, 0.5), 2.0)
    other = cj.Animation(motion.mesh, motion.positions @ R.T, fps=motion.fps)
    vertex, shift = tip(motion), np.array([0.05, 0.1, -0.05])
    one, two = cj.edit(motion, body, MODES), cj.edit(other, body, MODES)
    one.drag(vertex, 13, motion.positions[13][vertex] + shift)
    two.drag(vertex, 13, other.positions[13][vertex] + R @ shift)
    np.testing.assert_allclose(two.animation().positions, one.animation().positions @ R.T, atol=1e-6)


@pytest.mark.parametrize("made", [True, False])
def test_drawn_surface_lands_claim(made: bool) -> None:
    """Triangles from anywhere, in a solid put around them, by hand or by `edit`, are edited as a body is."""
    around, motion = drawn()
    editor = cj.edit(motion, None if made else around, 30)
    goal = motion.positions[14][tip(motion)] + [0.0, 0.1, 0.1]
    assert editor.drag(tip(motion), 14, goal).reached
    np.testing.assert_allclose(editor.animation().positions[14, tip(motion)], goal, atol=1e-3 * 0.14)


def test_body_made_for_the_motion_claim() -> None:
    """Without a body, tets get one that swings a few times while the motion plays."""
    _, motion = swinging()
    editor = cj.edit(motion, None, 30)
    swings = np.sqrt(editor.model.eigenvalues[0]) / (2 * np.pi) * motion.duration
    assert 1.0 < swings < 10.0
    goal = motion.positions[14][tip(motion)] + [0.0, 0.1, 0.1]
    assert editor.drag(tip(motion), 14, goal).reached
    np.testing.assert_allclose(editor.animation().positions[14, tip(motion)], goal, atol=1e-3 * 0.14)
