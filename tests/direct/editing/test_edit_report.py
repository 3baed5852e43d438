"""Figures of an edit's report against the edited motion itself."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from bodies import beam_body
from cajole.animation import Animation
from cajole.body import BodySolid
from cajole.cli.edit import describe_edit
from cajole.direct.editing import Editor, edit

FRAMES = 24


@cache
def case() -> tuple[BodySolid, Animation]:
    body = beam_body((10, 2, 2), length=2.0)
    return body, Animation(body.mesh, np.repeat(body.vertices[None], FRAMES, axis=0), 30.0)


def dragged_in_the_middle() -> Editor:
    """A vertex half way along the beam is dragged, so that the tip moves farther than what was dragged."""
    body, motion = case()
    made = edit(motion, body, 30)
    middle = int(np.argmin(np.abs(body.vertices - [1.0, 0.0, 0.0]).sum(axis=1)))
    made.drag(middle, 12, motion.positions[12][middle] + [0.0, 0.0, 0.2])
    return made


def largest_move(made: Editor) -> float:
    moves = made.animation().positions - made.input.positions
    return float(np.linalg.norm(moves, axis=2).max()) / made.model.size


def test_largest_change_is_what_moved_agreement() -> None:
    made = dragged_in_the_middle()
    before, after = made.report, (made.animation(), made.report)[1]
    assert before.max_displacement == after.max_displacement == pytest.approx(largest_move(made), rel=1e-12)
    assert before.requested_displacement == pytest.approx(0.2 / made.model.size, rel=1e-9)
    assert before.max_displacement > 1.2 * before.requested_displacement
    assert f"largest change {100 * before.max_displacement:.3g} %" in str(before)


def test_largest_change_follows_every_change_agreement() -> None:
    """What was measured for one state is not told of another."""
    made = dragged_in_the_middle()
    first, tip = made.report.max_displacement, int(np.argmax(case()[0].vertices[:, 0]))
    for change in (lambda: made.tune(ends="free"), made.undo, lambda: made.drag(tip, 9, made.positions(9)[tip] + 0.05)):
        change()
        assert made.report.max_displacement == pytest.approx(largest_move(made), rel=1e-12)
    while made.undo():
        pass
    assert (made.report.max_displacement, made.report.requested_displacement) == (0.0, 0.0)
    while made.redo():
        pass
    assert made.report.max_displacement != first


def test_a_pin_asks_for_nothing_identity() -> None:
    body, motion = case()
    made = edit(motion, body, 30)
    made.pin(int(np.argmax(body.vertices[:, 0])), 10)
    assert made.report.requested_displacement == 0.0
    assert describe_edit("still", made)["landed"]


def test_command_tells_what_moved_agreement() -> None:
    made = dragged_in_the_middle()
    told = describe_edit("beam", made)
    assert told["largest_change_sizes"] == pytest.approx(largest_move(made), rel=1e-12)
    assert told["landed"]
