"""A whole session: settings changed live, everything undone and done again, baked and continued."""

from __future__ import annotations

import numpy as np
import pytest
from edit_claims_cases import Array, swinging, tip
from hypothesis import given, settings
from hypothesis import strategies as st

import cajole as cj

body, motion = swinging()
TIP = tip(motion)
MIDDLE = int(np.argmin(np.linalg.norm(body.vertices - [0.8, 0.2, 0.2], axis=1)))


def opened(**options: object) -> cj.Editor:
    return cj.edit(motion, body, 30, **options)  # type: ignore[arg-type]


def put(editor: cj.Editor, vertex: int, frame: int, shift: tuple[float, float, float]) -> Array:
    goal = motion.positions[frame][vertex] + shift
    editor.drag(vertex, frame, goal)
    return goal


LIVE: dict[str, dict[str, object]] = {
    "h": {"h": 0.2},
    "small-h": {"h": 1 / 300},
    "damping": {"damping": (2.0, 0.05)},
    "free": {"ends": "free"},
    "smooth": {"energy": "smooth"},
    "smoother": {"energy": "smooth", "smoothness": 100.0},
    "window": {"window": (4, 25)},
    "all": {"h": 0.1, "damping": (0.0, 0.1), "ends": "free", "energy": "smooth", "window": (5, 29)},
}


@pytest.mark.parametrize("name", LIVE)
def test_tuned_live_claim(name: str) -> None:
    """Held vertices stay in place under any settings, the rest moves, and undo brings back every bit."""
    editor = opened()
    goals = {(TIP, 10): put(editor, TIP, 10, (0.0, 0.1, 0.0)), (TIP, 20): put(editor, TIP, 20, (0.0, -0.05, 0.08))}
    before, kept = editor.animation().positions, editor.settings
    editor.tune(**LIVE[name])
    after = editor.animation().positions
    for (vertex, frame), goal in goals.items():
        assert np.linalg.norm(after[frame, vertex] - goal) <= 1e-3 * 0.1
    assert np.abs(after[15] - before[15]).max() > 1e-5
    assert all(getattr(editor.settings, key) == value for key, value in LIVE[name].items())
    assert editor.undo()
    np.testing.assert_array_equal(editor.animation().positions, before)
    assert editor.settings == kept
    assert editor.redo()
    np.testing.assert_array_equal(editor.animation().positions, after)


def test_everything_undone_and_redone_identity() -> None:
    """Drag, pin, tie, hold in one direction, tune, release and a hand with many moves: each one step, both ways."""
    editor = opened()
    near = TIP - 1
    apart = motion.positions[14][TIP] - motion.positions[14][near]

    def by_hand() -> None:
        with editor.grab(TIP, 22) as hand:
            for share in (0.02, 0.04, 0.06):
                hand.move(motion.positions[22][TIP] + [0.0, share, 0.0])

    steps = [
        lambda: put(editor, TIP, 10, (0.0, 0.1, 0.0)),
        lambda: editor.pin(MIDDLE, 10),
        lambda: editor.tie(TIP, near, 14, 1.02 * apart),
        lambda: editor.drag(TIP, 18, motion.positions[18][TIP] + [0.0, 0.0, 0.05], directions="z"),
        lambda: editor.tune(h=0.1, energy="smooth"),
        by_hand,
        lambda: editor.tune(ends="free"),
        lambda: editor.release(TIP, 18),
        lambda: editor.release(TIP, 14, near),
    ]
    shown, held = [editor.animation().positions], [list(editor.constraints)]
    for step in steps:
        step()
        shown.append(editor.animation().positions)
        held.append(list(editor.constraints))
    assert held[-1] == [(TIP, 10), (MIDDLE, 10), (TIP, 22)]
    for k in range(len(steps) - 1, -1, -1):
        assert editor.undo()
        np.testing.assert_array_equal(editor.animation().positions, shown[k])
        assert list(editor.constraints) == held[k]
    assert not editor.undo()
    np.testing.assert_array_equal(editor.animation().positions, motion.positions)
    for k in range(1, len(steps) + 1):
        assert editor.redo()
        np.testing.assert_array_equal(editor.animation().positions, shown[k])
        assert list(editor.constraints) == held[k]
    assert not editor.redo()


def test_tie_claim() -> None:
    """Two vertices at an offset of each other, also when one of them is dragged on."""
    editor = opened()
    apart = motion.positions[14][TIP] - motion.positions[14][MIDDLE] + [0.0, 0.1, 0.0]

    def off() -> float:
        out = editor.positions(14)
        return float(np.linalg.norm(out[TIP] - out[MIDDLE] - apart))

    assert editor.tie(TIP, MIDDLE, 14, apart).reached
    assert off() <= 1e-3 * 0.1
    assert editor.drag(MIDDLE, 14, editor.positions(14)[MIDDLE] + [0.0, 0.0, 0.05]).reached
    assert off() <= 1e-3 * 0.1
    assert list(editor.constraints) == [(TIP, 14, MIDDLE), (MIDDLE, 14)]
    editor.release(TIP, 14, MIDDLE)
    assert off() > 1e-3


@pytest.mark.parametrize("letters", ["x", "y", "z", "yz"])
def test_some_directions_claim(letters: str) -> None:
    """What is held lands; what is not held costs less than holding it would, and it is another motion."""
    axes = ["xyz".index(letter) for letter in letters]
    shift = np.zeros(3)
    shift[axes] = 0.04
    editor = opened()
    landing = editor.drag(TIP, 14, motion.positions[14][TIP] + shift, directions=letters)
    assert landing.reached
    off = editor.positions(14)[TIP] - motion.positions[14][TIP] - shift
    assert np.abs(off[axes]).max() <= 1e-3 * 0.04
    others = np.setdiff1d(np.arange(3), axes)
    assert np.abs(off[others]).max() > 1e-5


def test_baked_and_continued_claim() -> None:
    """What was edited becomes input: nothing held, nothing moved, and a second edit starts from its shape."""
    editor = opened(ends="free")
    put(editor, TIP, 14, (0.0, 0.3, 0.0))
    again = editor.baked()
    shown = editor.animation().positions
    np.testing.assert_array_equal(again.animation().positions, shown)
    assert again.constraints == {}
    assert not again.undo()
    assert again.settings == editor.settings
    goal = shown[20][TIP] + [0.0, 0.1, 0.1]
    assert again.drag(TIP, 20, goal).reached
    np.testing.assert_allclose(again.animation().positions[20, TIP], goal, atol=1e-3 * 0.15)
    np.testing.assert_array_equal(editor.animation().positions, shown)


def test_input_is_never_written_identity() -> None:
    before = motion.positions.tobytes()
    editor = opened()
    put(editor, TIP, 14, (0.0, 0.2, 0.0))
    editor.positions(14)[:] = 0.0
    editor.positions(0)[:] = 0.0
    for goal in editor.constraints.values():
        goal[:] = 0.0
    assert motion.positions.tobytes() == before
    np.testing.assert_allclose(editor.positions(14)[TIP], motion.positions[14][TIP] + [0.0, 0.2, 0.0], atol=2e-4)


PLACES = st.tuples(st.sampled_from([TIP, TIP - 1, MIDDLE]), st.sampled_from([6, 13, 14, 24]))
STEPS = st.one_of(
    st.tuples(st.just("drag"), PLACES, st.tuples(*3 * [st.floats(-0.02, 0.02)])),
    st.tuples(st.just("pin"), PLACES, st.none()),
    st.tuples(st.just("release"), PLACES, st.none()),
    st.tuples(st.just("undo"), st.none(), st.none()),
    st.tuples(st.just("redo"), st.none(), st.none()),
    st.tuples(st.just("tune"), st.none(), st.sampled_from(list(LIVE.values())[:6])),
)


class Book:
    """What an editor should be: constraints, settings, and the pictures of every step back and forth."""

    def __init__(self, editor: cj.Editor):
        self.editor, self.asked, self.settings = editor, dict[tuple[int, ...], Array](), editor.settings
        self.past, self.future = list[tuple[object, ...]](), list[tuple[object, ...]]()

    def page(self) -> tuple[object, ...]:
        return dict(self.asked), self.settings, self.editor.animation().positions

    def travel(self, back: list[tuple[object, ...]], forth: list[tuple[object, ...]], moved: bool) -> None:
        assert moved == bool(back)
        if back:
            self.asked, self.settings, shown = back.pop()  # type: ignore[assignment]
            forth.append(self.turned)
            np.testing.assert_array_equal(self.editor.animation().positions, shown)

    def step(self, name: str, place: tuple[int, int] | None, what: object) -> None:
        editor, self.turned = self.editor, self.page()
        if name == "undo":
            return self.travel(self.past, self.future, editor.undo())
        if name == "redo":
            return self.travel(self.future, self.past, editor.redo())
        if name == "tune":
            editor.tune(**what)  # type: ignore[arg-type]
            self.settings = editor.settings
        elif name == "release":
            if place not in self.asked:
                with pytest.raises(cj.InputError, match="was not dragged"):
                    editor.release(*place)  # type: ignore[misc]
                return None
            editor.release(*place)  # type: ignore[misc]
            del self.asked[place]
        else:
            vertex, frame = place  # type: ignore[misc]
            goal = editor.positions(frame)[vertex] + (0.0 if what is None else np.asarray(what))
            landing = editor.pin(vertex, frame) if name == "pin" else editor.drag(vertex, frame, goal)
            assert np.isfinite(landing.relative_error)
            self.asked[vertex, frame] = goal
        self.past.append(self.turned)
        self.future.clear()
        return None


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(STEPS, min_size=4, max_size=14))
def test_any_session_identity(steps: list[tuple[str, tuple[int, int] | None, object]]) -> None:
    """Whatever the order, the editor holds exactly what was asked, and undo and redo show what was shown."""
    editor = opened()
    book = Book(editor)
    for step in steps:
        book.step(*step)
        held = editor.constraints
        assert held.keys() == book.asked.keys()
        assert all(np.array_equal(held[key], book.asked[key]) for key in held)
        assert editor.settings == book.settings
        shown = editor.animation().positions
        assert np.isfinite(shown).all()
        np.testing.assert_array_equal(shown[:2], motion.positions[:2])
    while editor.undo():
        pass
    np.testing.assert_array_equal(editor.animation().positions, motion.positions)
