"""What an edit must leave alone keeps its bytes: everything without a drag, and all outside a window or region."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from edit_claims_cases import Array, drawn, flying, inverted, swinging, tip, waving

import cajole as cj

Case = tuple[cj.BodySolid | cj.BodyShell | cj.EmbeddedMesh, cj.Animation]
CASES: dict[str, Callable[[], Case]] = {"held": swinging, "flying": flying, "sheet": waving, "drawn": drawn}
CASES["inverted"] = lambda: (swinging()[0], inverted(swinging()[1]))
CASES["inverted-flying"] = lambda: (flying()[0], inverted(flying()[1]))


def same_bytes(one: Array, other: Array) -> bool:
    """Whether every bit agrees, so that -0.0 is not 0.0."""
    return np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()


def with_negative_zeros(case: Case) -> Case:
    """The same motion with a coordinate of -0.0 at every vertex of every frame."""
    body, motion = case
    x = np.array(motion.positions)
    x[:, :, 1] = -0.0
    return body, cj.Animation(motion.mesh, x, fps=motion.fps)


@pytest.mark.parametrize("energy", ["forces", "smooth"])
@pytest.mark.parametrize("ends", ["fixed", "free"])
@pytest.mark.parametrize("warp", ["composition", "additive"])
@pytest.mark.parametrize("name", CASES)
def test_zero_edit_identity(name: str, warp: str, ends: str, energy: str) -> None:
    """Nothing dragged, a drag undone, released, or cancelled: the input, byte for byte, inverted tets too."""
    body, motion = CASES[name]()
    editor = cj.edit(motion, body, 20, warp=warp, ends=ends, energy=energy)
    vertex = tip(motion)
    goal = motion.positions[13][vertex] + [0.0, 0.0, 0.05]

    def undone() -> None:
        editor.drag(vertex, 13, goal)
        assert not same_bytes(editor.animation().positions, motion.positions)
        assert editor.undo()

    def released() -> None:
        editor.drag(vertex, 13, goal)
        editor.release(vertex, 13)

    def cancelled() -> None:
        hand = editor.grab(vertex, 13)
        hand.move(goal)
        hand.cancel()

    for step in (lambda: None, undone, released, cancelled):
        step()
        assert same_bytes(editor.animation().positions, motion.positions)
        assert all(same_bytes(editor.positions(i), motion.positions[i]) for i in range(motion.frames))


@pytest.mark.parametrize("warp", ["composition", "additive"])
@pytest.mark.parametrize("name", CASES)
def test_pinned_where_it_is_identity(name: str, warp: str) -> None:
    """A vertex held where the input has it changes nothing: exactly no change is exactly the input."""
    body, motion = CASES[name]()
    editor = cj.edit(motion, body, 20, warp=warp)
    editor.pin(tip(motion), 13)
    np.testing.assert_array_equal(editor.animation().positions, motion.positions)


@pytest.mark.parametrize("name", ["held", "flying", "sheet", "drawn"])
def test_window_identity(name: str) -> None:
    body, motion = with_negative_zeros(CASES[name]())
    editor = cj.edit(motion, body, 20, window=(8, 20))
    editor.drag(tip(motion), 14, motion.positions[14][tip(motion)] + [0.0, 0.0, 0.05])
    out = editor.animation().positions
    outside = np.r_[0:10, 19:30]
    assert same_bytes(out[outside], motion.positions[outside])
    assert all((out[i] != motion.positions[i]).any() for i in range(10, 19))
    assert all(same_bytes(editor.positions(i), motion.positions[i]) for i in outside)


@pytest.mark.parametrize("name", ["held", "flying", "sheet", "drawn"])
def test_region_identity(name: str) -> None:
    """Vertices outside of the region keep their bytes, those inside move, and the drag lands."""
    body, motion = with_negative_zeros(CASES[name]())
    x = motion.mesh.vertices[:, 0]
    inside = np.flatnonzero(x > 0.45 * x.max())
    editor = cj.edit(motion, body, 20, region=inside)
    vertex = tip(motion)
    editor.drag(vertex, 14, motion.positions[14][vertex] + [0.0, 0.0, 0.03])
    out = editor.animation().positions
    outside = np.setdiff1d(np.arange(motion.n), inside)
    assert same_bytes(out[:, outside], motion.positions[:, outside])
    assert same_bytes(editor.positions(14)[outside], motion.positions[14][outside])
    assert (out[14] != motion.positions[14]).any(axis=1)[inside].all()


def test_held_vertices_identity() -> None:
    """What the body holds keeps its bytes while all else moves."""
    body, motion = with_negative_zeros(swinging())
    editor = cj.edit(motion, body, 20)
    editor.drag(tip(motion), 14, motion.positions[14][tip(motion)] + [0.0, 0.2, 0.0])
    assert same_bytes(editor.animation().positions[:, body.fixed], motion.positions[:, body.fixed])
