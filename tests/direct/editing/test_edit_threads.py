"""Editors used by several threads at once: every result is the one that a single thread gets."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bodies import beam_body
from cajole.animation import Animation, find_contacts
from cajole.body import BodySolid
from cajole.direct.editing import DragResult, Editor, edit
from cajole.errors import InputError
from threads import THREADS, run_together

Array = NDArray[np.float64]

FRAMES, ROUNDS = 24, 6


@cache
def case() -> tuple[BodySolid, Animation]:
    """A beam that bends up and down."""
    body = beam_body((24, 4, 4), length=2.0)
    X = body.vertices
    bend = 0.1 * np.sin(np.arange(FRAMES) / 4.0)[:, None] * X[:, 0] ** 2
    positions = np.repeat(X[None], FRAMES, axis=0)
    positions[..., 2] += bend
    return body, Animation(body.mesh, positions, 30.0)


def tip() -> int:
    return int(np.argmax(case()[0].vertices[:, 0]))


def dragged(**options: Any) -> Editor:
    body, motion = case()
    made = edit(motion, body, 30, **options)
    made.drag(tip(), 12, motion.positions[12][tip()] + [0.0, 0.3, 0.2])
    return made


@pytest.mark.parametrize("touching", [False, True])
@pytest.mark.parametrize("warp", ["composition", "additive", "none"])
def test_animation_together_agreement(warp: str, touching: bool) -> None:
    _, motion = case()
    lowest = float(np.min(motion.positions[..., 2]))
    contacts = find_contacts(motion, ((0.0, 0.0, lowest), (0.0, 0.0, 1.0)), distance=0.2) if touching else None
    made = dragged(warp=warp, contacts=contacts)
    expected = np.array(made.animation().positions)
    together = run_together(lambda _: [np.array(made.animation().positions) for _ in range(ROUNDS)])
    for found in (each for results in together for each in results):
        np.testing.assert_array_equal(found, expected)


def test_every_method_together_agreement() -> None:
    made = dragged()
    asked = {
        "positions": lambda: [made.positions(frame) for frame in range(FRAMES)],
        "coordinates": made.compute_reduced_coordinates,
        "gentleness": made.gentleness,
        "reach": lambda: [
            made.compute_temporal_influence(tip(), frame)
            for frame in range(made.editable_frames[0], made.editable_frames[1] + 1)
        ],
        "report": lambda: [made.report.max_displacement, *made.report.target_errors.values()],
        "baked": lambda: made.baked().animation().positions,
    }
    expected = {name: np.array(ask()) for name, ask in asked.items()}

    def in_turn(first: int) -> dict[str, Array]:
        names = list(asked)
        return {name: np.array(asked[name]()) for name in names[first:] + names[:first]}

    for found in (each for _ in range(2) for each in run_together(in_turn)):
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_drags_together_all_land() -> None:
    """Drags take turns, whatever their order; results read meanwhile are those of some moment between two drags."""
    body, motion = case()
    made = edit(motion, body, 30)
    ends = np.argsort(body.vertices[:, 0])[-THREADS:]

    def drag(k: int) -> DragResult:
        made.positions(12)
        landing = made.drag(int(ends[k]), 6 + 4 * k, motion.positions[6 + 4 * k][ends[k]] + [0.0, 0.02 * k, 0.02])
        made.animation()
        return landing

    assert all(landing.reached for landing in run_together(drag))
    assert len(made.constraints) == THREADS
    assert max(made.report.target_errors.values()) <= 1e-3
    for _ in range(THREADS):
        assert made.undo()
    np.testing.assert_array_equal(made.animation().positions, motion.positions)


def test_one_hand_at_a_time_bad_input() -> None:
    made = dragged()
    with made.grab(tip(), 10):
        refused = run_together(lambda _: _refusal(made))
    assert all("commit" in message for message in refused)


def _refusal(made: Editor) -> str:
    with pytest.raises(InputError) as caught:
        made.drag(tip(), 14, np.zeros(3))
    return str(caught.value)


def test_baked_editors_together_agreement() -> None:
    """Editors that come of one another share what the warp knows of the mesh."""
    first = dragged()
    second = first.baked()
    second.drag(tip(), 8, second.positions(8)[tip()] + [0.0, -0.2, 0.1])
    expected = [np.array(each.animation().positions) for each in (first, second)]
    for k, found in enumerate(run_together(lambda k: [(first, second)[k % 2].animation() for _ in range(ROUNDS)])):
        for each in found:
            np.testing.assert_array_equal(each.positions, expected[k % 2])
