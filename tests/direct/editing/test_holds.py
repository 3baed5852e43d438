"""Chosen directions, offsets, windows, parts, flying bodies and hands: what an edit may be restricted to."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from bodies import beam_body
from cajole.animation import Animation
from cajole.body import BodySolid
from cajole.direct.editing import Editor, edit
from cajole.direct.editing.constraints import orthonormalise_directions
from cajole.dynamics import simulate
from cajole.errors import InputError

FRAMES = 40


@cache
def case() -> tuple[BodySolid, Animation]:
    body = beam_body((10, 2, 2), length=2.0, damping=(0.1, 0.002))
    return body, simulate(body, frames=FRAMES, dt=1 / 30, gravity=(0, 0, -15.0))


@cache
def flying() -> tuple[BodySolid, Animation]:
    """A free beam that tumbles as it flies, waving a little."""
    held, motion = case()
    body = BodySolid(held.mesh, damping=(0.1, 0.002))
    positions = np.empty_like(np.asarray(motion.positions))
    for frame, shape in enumerate(np.asarray(motion.positions)):
        positions[frame] = (shape - [1.0, 0.0, 0.0]) @ turn(0.15 * frame).T + [0.1 * frame, 0.0, 2.0]
    return body, Animation(body.mesh, positions, fps=30)


def turn(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


def tip(body: BodySolid) -> int:
    return int(np.argmax(body.vertices[:, 0]))


def opened(**options: object) -> Editor:
    body, motion = case()
    return edit(motion, body, 40, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("directions", ["z", "yz", [[0.0, 1.0, 1.0]], [[1.0, 0.0, -1.0], [0.0, 2.0, 0.0]]])
def test_directions_claim(directions: str | list[list[float]]) -> None:
    """Only what is named is held: the vertex lands along it, and moves freely across it."""
    body, motion = case()
    made, there = opened(), motion.positions[20][tip(body)]
    landing = made.drag(tip(body), 20, there + [0.0, 0.1, 0.2], directions=directions)
    left = made.positions(20)[tip(body)] - there - [0.0, 0.1, 0.2]
    along = orthonormalise_directions(directions)
    assert landing.reached
    assert np.abs(along @ left).max() < 1e-4 * 0.25
    assert np.linalg.norm(left - along.T @ (along @ left)) > 1e-3
    whole = opened()
    whole.drag(tip(body), 20, there + [0.0, 0.1, 0.2])
    assert cost(made) < cost(whole)


def cost(editor: Editor) -> float:
    """½ zᵀHz of the linear change."""
    rows = editor._constraint_system.linear_constraints
    mu = rows.solve_multipliers()
    return 0.5 * float(mu @ rows.schur_complement @ mu)


def test_tie_claim() -> None:
    """Two vertices keep their offset while one is dragged, and take another when asked."""
    body, motion = case()
    made, a = opened(), tip(body)
    b = int(body.mesh.nearest((1.0, 0.0, 0.0)))
    apart = motion.positions[20][a] - motion.positions[20][b]
    assert made.tie(a, b, 20).reached
    np.testing.assert_array_equal(made.positions(20), motion.positions[20])
    assert made.drag(b, 20, motion.positions[20][b] + [0.0, 0.15, 0.05]).reached
    now = made.positions(20)
    np.testing.assert_allclose(now[a] - now[b], apart, atol=2e-5)
    assert made.tie(a, b, 20, apart + [0.0, 0.0, 0.1]).reached
    now = made.positions(20)
    np.testing.assert_allclose(now[a] - now[b], apart + [0.0, 0.0, 0.1], atol=2e-5)
    made.release(a, 20, b)
    assert list(made.constraints) == [(b, 20)]


def test_pin_claim() -> None:
    """What is pinned stays to a small share of what is dragged elsewhere."""
    body, motion = case()
    made, mid = opened(), int(body.mesh.nearest((1.0, 0.0, 0.0)))
    assert made.pin(mid, 20).reached
    assert made.drag(tip(body), 20, motion.positions[20][tip(body)] + [0.0, 0.2, 0.0]).reached
    np.testing.assert_allclose(made.positions(20)[mid], motion.positions[20][mid], atol=2e-5)


def test_window_identity() -> None:
    body, motion = case()
    made = opened(window=(10, 30))
    made.drag(tip(body), 20, motion.positions[20][tip(body)] + [0.0, 0.2, 0.0])
    out = np.asarray(made.animation().positions)
    outside = [*range(12), *range(29, FRAMES)]
    assert out[outside].tobytes() == np.asarray(motion.positions)[outside].tobytes()
    assert made.editable_frames == (12, 28)
    assert (out[12:29] != np.asarray(motion.positions)[12:29]).any(axis=(1, 2)).all()
    with pytest.raises(InputError, match=r"frame 10 stays as it is; frames 12\.\.28"):
        made.drag(tip(body), 10, [0.0, 0.0, 0.0])


@pytest.mark.parametrize("free", [False, True])
def test_region_identity(free: bool) -> None:
    """Outside of the part every byte stays, also the sign of a zero."""
    body, motion = flying() if free else case()
    positions = np.array(motion.positions)
    inside = np.flatnonzero(body.vertices[:, 0] > 0.9)
    rest = np.setdiff1d(np.arange(body.vertex_count), inside)
    positions[:, rest[0], 1] = -0.0
    motion = replace(motion, positions=positions)
    made = edit(motion, body, 30, region=inside)
    landing = made.drag(tip(body), 20, positions[20][tip(body)] + [0.0, 0.1, 0.1])
    out = np.asarray(made.animation().positions)
    assert landing.reached
    assert out[:, rest].tobytes() == positions[:, rest].tobytes()
    with pytest.raises(InputError, match=f"vertex {rest[0]} is fixed"):
        made.drag(int(rest[0]), 20, [0.0, 0.0, 0.0])


def test_flying_agreement() -> None:
    """A body that flies and turns is edited as it would be standing still: the change turns with it."""
    body, motion = flying()
    _, still = case()
    rest = edit(Animation(body.mesh, np.asarray(still.positions) - [1.0, 0.0, 0.0], fps=30), body, 40)
    made, v = edit(motion, body, 40), tip(body)
    shift = np.array([0.0, 0.1, 0.15])
    assert made.drag(v, 20, motion.positions[20][v] + turn(0.15 * 20) @ shift).reached
    assert rest.drag(v, 20, rest.input.positions[20][v] + shift).reached
    for frame in (5, 20, 33):
        ours = made.positions(frame) - motion.positions[frame]
        theirs = rest.positions(frame) - rest.input.positions[frame]
        np.testing.assert_allclose(ours, theirs @ turn(0.15 * frame).T, atol=2e-5)
    mass = body.vertex_masses / body.total_mass
    np.testing.assert_allclose(mass @ (made.positions(20) - motion.positions[20]), 0.0, atol=1e-9)


def test_whole_claim() -> None:
    """Allowed to, a flying body goes along as a whole, which costs less than bending it."""
    body, motion = flying()
    made, moved = edit(motion, body, 40), edit(motion, body, 46, whole=True)
    goal = motion.positions[20][tip(body)] + [0.0, 0.0, 0.3]
    for editor in (made, moved):
        assert editor.drag(tip(body), 20, goal).reached
    mass = body.vertex_masses / body.total_mass
    assert np.linalg.norm(mass @ (moved.positions(20) - motion.positions[20])) > 0.05
    assert cost(moved) < 0.5 * cost(made)


@pytest.mark.parametrize("rough", [False, True])
def test_a_hand_sees_what_the_editor_has_identity(rough: bool) -> None:
    """While it moves, with other vertices held in this and in other frames, and after it has let go."""
    body, motion = case()
    made, v, other = opened(), tip(body), int(body.free_vertices[len(body.free_vertices) // 2])
    made.pin(other, 20)
    made.drag(v, 12, motion.positions[12][v] + [0.0, 0.05, 0.0])
    hand = made.grab(v, 20)
    for share in (0.3, 0.6, 1.0):
        hand.move(motion.positions[20][v] + share * np.array([0.0, 0.2, 0.1]), approximate=rough)
        np.testing.assert_allclose(hand.positions(), made.positions(20), atol=1e-9)
    hand.commit()
    np.testing.assert_allclose(hand.positions(), made.positions(20), atol=1e-12)


def test_hand_identity() -> None:
    """Many moves of one hand are one step of undo, and end where one drag ends; a cancelled hand changed nothing."""
    body, motion = case()
    made, v = opened(), tip(body)
    there = motion.positions[20][v]
    with made.grab(v, 20) as hand:
        np.testing.assert_allclose(hand.positions(), motion.positions[20], atol=1e-12)
        for share in np.linspace(0.1, 1.0, 10):
            hand.move(there + share * np.array([0.0, 0.2, 0.1]))
    once = opened()
    once.drag(v, 20, there + [0.0, 0.2, 0.1])
    np.testing.assert_allclose(made.positions(12), once.positions(12), atol=1e-4)
    before = made.positions(20)
    hand = made.grab(v, 20)
    hand.move(there)
    with pytest.raises(InputError, match="a drag is still active"):
        made.undo()
    hand.cancel()
    np.testing.assert_array_equal(made.positions(20), before)
    assert made.undo()
    assert not made.undo()
    np.testing.assert_array_equal(made.positions(20), motion.positions[20])
    with pytest.raises(InputError, match="the drag has ended"):
        hand.move(there)


def test_grabbing_moves_nothing_identity() -> None:
    body, motion = case()
    made, mid = opened(), int(body.mesh.nearest((1.2, 0.0, 0.0)))
    made.drag(tip(body), 20, motion.positions[20][tip(body)] + [0.0, 0.2, 0.0])
    before = [made.positions(frame) for frame in range(FRAMES)]
    made.pin(mid, 15)
    for frame in range(FRAMES):
        np.testing.assert_allclose(made.positions(frame), before[frame], atol=1e-9)


def test_several_at_once_claim() -> None:
    body, motion = case()
    ends = np.flatnonzero(body.vertices[:, 0] > 1.999)[:4]
    made = edit(motion, body, 100)
    goals = motion.positions[20][ends] + [0.0, 0.15, 0.1]
    assert made.drag(ends.tolist(), 20, goals).reached
    np.testing.assert_allclose(made.positions(20)[ends], goals, atol=5e-5)
    assert len(made.constraints) == 4
    made.undo()
    assert not made.constraints


def test_redundant_claim() -> None:
    """An offset that follows from two dragged vertices is found, and what was asked first wins."""
    body, motion = case()
    made, a = opened(), tip(body)
    b = int(body.mesh.nearest((1.0, 0.0, 0.0)))
    for vertex in (a, b):
        made.drag(vertex, 20, motion.positions[20][vertex] + [0.0, 0.1, 0.0])
    made.tie(a, b, 20)
    assert made.report.redundant == ((a, 20, b),)
    assert "follows from other constraints" in str(made.report)
    assert not made.tie(a, b, 20, [0.0, 0.0, 0.0]).reached
    assert np.isfinite(made.positions(20)).all()
