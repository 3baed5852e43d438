"""The editor from outside: dragged vertices land, the rest follows, and nothing else changes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from bodies import beam_body
from cajole.animation import Animation
from cajole.body import BodySolid
from cajole.direct.editing import Editor, edit
from cajole.dynamics import simulate
from cajole.errors import InputError

FRAMES = 40


@cache
def case() -> tuple[BodySolid, Animation]:
    body = beam_body((10, 2, 2), length=2.0, damping=(0.1, 0.002))
    return body, simulate(body, frames=FRAMES, dt=1 / 30, gravity=(0, 0, -15.0))


def tip(body: BodySolid) -> int:
    return int(np.argmax(body.vertices[:, 0]))


def editor(**options: object) -> Editor:
    body, motion = case()
    return edit(motion, body, 40, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("warp", ["composition", "additive"])
@pytest.mark.parametrize("ends", ["fixed", "free"])
def test_untouched_identity(ends: str, warp: str) -> None:
    """Without a drag, and after taking it back, every frame is the input bit for bit."""
    body, motion = case()
    made = editor(ends=ends, warp=warp)
    for _ in range(2):
        for frame in range(FRAMES):
            np.testing.assert_array_equal(made.positions(frame), motion.positions[frame])
        np.testing.assert_array_equal(made.animation().positions, motion.positions)
        made.drag(tip(body), 20, motion.positions[20][tip(body)] + [0.0, 0.1, 0.1])
        assert made.undo()


@pytest.mark.parametrize("warp", ["composition", "additive"])
@pytest.mark.parametrize("shift", [(0.0, 0.3, 0.0), (0.0, 0.1, 0.25), (-0.1, 0.0, 0.2)])
def test_lands_claim(shift: tuple[float, float, float], warp: str) -> None:
    """The dragged vertex is where it was put, through the warp, to 1e-3 of the drag."""
    body, motion = case()
    made = editor(warp=warp)
    goal = motion.positions[20][tip(body)] + shift
    landing = made.drag(tip(body), 20, goal)
    assert np.abs(made.positions(20)[tip(body)] - goal).max() <= 1e-3 * np.linalg.norm(shift)
    assert landing.reached
    assert landing.error_history[4 if len(landing.error_history) > 4 else -1] <= 1e-3


def test_many_land_claim() -> None:
    body, motion = case()
    made = editor()
    middle = int(np.argmin(np.abs(body.vertices - [1.0, 0.0, 0.0]).sum(axis=1)))
    for vertex, frame, shift in ((tip(body), 20, 0.2), (middle, 20, 0.08), (tip(body), 12, -0.15)):
        made.drag(vertex, frame, motion.positions[frame][vertex] + [0.0, shift, 0.0])
    assert max(made.report.target_errors.values()) <= 1e-4
    assert "vertex" in str(made.report)


@pytest.mark.parametrize("ends", ["fixed", "free"])
def test_ends_stay_identity(ends: str) -> None:
    body, motion = case()
    made = editor(ends=ends)
    made.drag(tip(body), 20, motion.positions[20][tip(body)] + [0.0, 0.3, 0.0])
    out = made.animation().positions
    np.testing.assert_array_equal(out[:2], motion.positions[:2])
    assert np.array_equal(out[-2:], motion.positions[-2:]) == (ends == "fixed")
    np.testing.assert_array_equal(out[:, body.fixed], motion.positions[:, body.fixed])
    np.testing.assert_allclose(out[17], made.positions(17), atol=1e-12)


def test_undo_redo_release_identity() -> None:
    body, motion = case()
    made = editor()
    made.drag(tip(body), 20, motion.positions[20][tip(body)] + [0.0, 0.2, 0.0])
    one = made.positions(25)
    made.drag(tip(body), 20, motion.positions[20][tip(body)] + [0.0, 0.3, 0.1])
    two = made.positions(25)
    assert made.undo()
    np.testing.assert_array_equal(made.positions(25), one)
    assert made.redo()
    np.testing.assert_array_equal(made.positions(25), two)
    assert not made.redo()
    made.release(tip(body), 20)
    np.testing.assert_array_equal(made.positions(25), motion.positions[25])
    assert made.constraints == {}


@pytest.mark.parametrize(
    "settings",
    [{"ends": "free"}, {"h": 0.1}, {"damping": (0.5, 0.02)}, {"energy": "smooth"}],
    ids=lambda s: next(iter(s)),
)
def test_tuned_agreement(settings: dict[str, object]) -> None:
    """Settings changed under an edit give what an editor made with them gives; what was dragged stays."""
    body, motion = case()
    made, other = editor(), editor(**settings)
    goal = motion.positions[20][tip(body)] + [0.0, 0.2, 0.1]
    made.drag(tip(body), 20, goal)
    made.tune(**settings)
    other.drag(tip(body), 20, goal)
    np.testing.assert_allclose(made.positions(20)[tip(body)], goal, atol=1e-4)
    np.testing.assert_allclose(made.positions(12), other.positions(12), atol=2e-4)


def test_baked_identity() -> None:
    body, motion = case()
    made = editor()
    made.drag(tip(body), 20, motion.positions[20][tip(body)] + [0.0, 0.2, 0.1])
    again = made.baked()
    np.testing.assert_array_equal(again.positions(20), made.animation().positions[20])
    assert again.constraints == {}
    again.drag(tip(body), 30, again.positions(30)[tip(body)] + [0.0, 0.0, 0.1])
    assert max(again.report.target_errors.values()) < 1e-4


def test_refused_drag_identity() -> None:
    """A drag that fails leaves the edit as it was."""
    body, motion = case()
    made = editor()
    made.drag(tip(body), 20, motion.positions[20][tip(body)] + [0.0, 0.2, 0.0])
    before = made.positions(25)
    with pytest.raises(InputError):
        made.drag(int(body.fixed[0]), 21, (0.0, 0.0, 0.0))
    with pytest.raises(InputError, match="a setting"):
        made.tune(speed=2.0)
    np.testing.assert_array_equal(made.positions(25), before)
    assert made.undo()
    assert not made.undo()


def test_unreachable_claim() -> None:
    """A target beyond the body's reach gives a bounded answer that is no worse than doing nothing."""
    body, motion = case()
    made = editor()
    far = motion.positions[20][tip(body)] + [0.0, 5.0, 0.0]
    made.drag(tip(body), 20, far)
    out = made.positions(20)
    assert np.isfinite(out).all()
    assert np.linalg.norm(out[tip(body)] - far) < 5.0
    assert np.ptp(out, axis=0).max() < 3.0 * body.size


def test_bad_input() -> None:
    body, motion = case()
    made = editor()
    with pytest.raises(InputError, match="fixed by the body"):
        made.drag(int(body.fixed[0]), 20, (0, 0, 0))
    with pytest.raises(InputError, match=r"frames 2\.\.37 can be edited"):
        made.drag(tip(body), 0, (0, 0, 0))
    with pytest.raises(InputError, match="vertex"):
        made.drag(body.vertex_count, 20, (0, 0, 0))
    with pytest.raises(InputError, match="finite"):
        made.drag(tip(body), 20, (0, np.nan, 0))
    with pytest.raises(InputError, match="was not dragged"):
        made.release(3, 20)
    with pytest.raises(InputError, match="frame"):
        made.positions(FRAMES)
    with pytest.raises(InputError, match="vertices"):
        edit(motion, beam_body((4, 2, 2)), 10)
    with pytest.raises(InputError, match="frames"):
        edit(Animation(motion.mesh, motion.positions[:4], fps=30), body, 10)
    with pytest.raises(InputError, match="count"):
        edit(motion, body, 10**6)
    assert made.constraints == {}
