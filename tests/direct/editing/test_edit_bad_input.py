"""What a user gets for bad input: an InputError that names the value, and an editor that is as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from edit_claims_cases import Array, flying, swinging, tip, waving

import cajole as cj
from bodies import beam_body

HERE = (0.0, 0.0, 0.0)
body, motion = swinging()
TIP, OTHER, HELD = tip(motion), tip(motion) - 1, int(body.fixed[0])


@pytest.fixture
def editor() -> Iterator[cj.Editor]:
    """An editor with something done and something undone; all of it is there afterwards."""
    made = cj.edit(motion, body, 20)
    made.drag(TIP, 12, motion.positions[12][TIP] + [0.0, 0.05, 0.0])
    made.pin(OTHER, 20)
    made.undo()
    state, out = made.state, made.animation().positions.tobytes()
    yield made
    assert made.state is state
    assert made.animation().positions.tobytes() == out
    assert made.redo()
    assert set(made.constraints) == {(TIP, 12), (OTHER, 20)}
    assert made.undo()
    assert made.undo()
    assert not made.undo()


def drag(
    vertex: object = TIP, frame: object = 10, position: object = HERE, **more: object
) -> Callable[[cj.Editor], object]:
    return lambda editor: editor.drag(vertex, frame, position, **more)  # type: ignore[arg-type]


def tune(**settings: object) -> Callable[[cj.Editor], object]:
    return lambda editor: editor.tune(**settings)


BAD: dict[str, tuple[Callable[[cj.Editor], object], str]] = {
    "frame-below": (drag(frame=-1), r"frame is -1, but must be between 0 and 29"),
    "frame-beyond": (drag(frame=30), r"frame is 30, but must be between 0 and 29"),
    "frame-second": (drag(frame=1), r"frame 1 stays as it is; frames 2\.\.27 can be edited \(more with ends='free'"),
    "frame-last-but-one": (drag(frame=28), r"frame 28 stays as it is; frames 2\.\.27"),
    "frame-part": (drag(frame=3.5), r"frame must be a whole number, not 3\.5"),
    "frame-text": (drag(frame="3"), r"frame must be a whole number, not '3'"),
    "frame-truth": (drag(frame=True), r"frame must be a whole number, not True"),
    "vertex-below": (drag(-1), r"vertex\[0\] is -1, outside 0\.\.80"),
    "vertex-beyond": (drag(motion.n), r"vertex\[0\] is 81, outside 0\.\.80"),
    "vertex-part": (drag(1.5), r"vertex must be whole numbers"),
    "vertex-none": (drag(None), r"vertex must be whole numbers"),
    "vertex-empty": (drag([], position=np.empty((0, 3))), r"vertex is empty or contains duplicates"),
    "vertex-twice": (drag([TIP, TIP], position=np.zeros((2, 3))), r"contains duplicates; name each vertex"),
    "vertex-nested": (drag([[TIP]]), r"vertex has shape \(1, 1\)"),
    "vertex-held": (drag(HELD), r"vertex 0 is fixed by the body and cannot be dragged; drag another"),
    "vertex-one-held": (drag([TIP, HELD], position=np.zeros((2, 3))), r"vertex 0 is fixed by the body"),
    "position-nan": (drag(position=(0, np.nan, 0)), r"position \(m\)\[1\] is nan: every value must be finite"),
    "position-inf": (drag(position=(0, 0, np.inf)), r"position \(m\)\[2\] is inf"),
    "position-plane": (drag(position=(0, 0)), r"position \(m\) has shape \(2,\), but \(3,\) is needed"),
    "position-too-many": (drag(position=np.zeros((2, 3))), r"shape \(2, 3\), but \(1, 3\) is needed"),
    "position-too-few": (drag([TIP, OTHER]), r"shape \(3,\), but \(2, 3\) is needed"),
    "position-text": (drag(position="here"), r"position \(m\) must be numbers"),
    "position-none": (drag(position=None), r"position \(m\)"),
    "directions-zero": (drag(directions=[0, 0, 0]), r"directions\[0\] is zero or follows.*leave it out"),
    "directions-same": (drag(directions=[[1, 0, 0], [2, 0, 0]]), r"directions\[1\] is zero or follows"),
    "directions-many": (drag(directions=[*np.eye(3), [1, 1, 1]]), r"directions\[3\] is zero or follows"),
    "directions-letter": (drag(directions="xw"), r"directions 'xw' must be some of the letters x, y and z"),
    "directions-letter-twice": (drag(directions="xx"), r"each once"),
    "directions-no-letter": (drag(directions=""), r"directions ''"),
    "directions-empty": (drag(directions=np.empty((0, 3))), r"directions is empty; name at least one"),
    "directions-nan": (drag(directions=[np.nan, 0, 0]), r"directions\[0\] is nan"),
    "directions-plane": (drag(directions=[1, 0]), r"directions has shape \(2,\), but \(3,\) is needed"),
    "tie-itself": (lambda e: e.tie(TIP, TIP, 10), r"vertex 80 cannot be tied to itself"),
    "tie-held": (lambda e: e.tie(HELD, int(body.fixed[1]), 10), r"vertex 0 is fixed by the body"),
    "tie-beyond": (lambda e: e.tie(TIP, motion.n, 10), r"other\[0\] is 81, outside 0\.\.80"),
    "tie-nan": (lambda e: e.tie(TIP, OTHER, 10, (np.nan, 0, 0)), r"\[0\] is nan"),
    "pin-held": (lambda e: e.pin(HELD, 10), r"vertex 0 is fixed by the body"),
    "release-never-dragged": (lambda e: e.release(3, 10), r"vertex 3 at frame 10 was not dragged"),
    "release-other-frame": (lambda e: e.release(TIP, 13), r"vertex 80 at frame 13 was not dragged"),
    "release-not-tied": (lambda e: e.release(TIP, 12, OTHER), r"was not dragged"),
    "positions-beyond": (lambda e: e.positions(30), r"frame is 30, but must be between 0 and 29"),
    "positions-below": (lambda e: e.positions(-1), r"frame is -1"),
    "tune-nothing-known": (tune(speed=1), r"a setting is 'speed', but must be one of 'h', 'damping', 'ends'"),
    "tune-h-zero": (tune(h=0.0), r"h \(s\) is 0\.0, but must be positive"),
    "tune-h-nan": (tune(h=np.nan), r"h \(s\) is nan, but must be finite"),
    "tune-h-none": (tune(h=None), r"h \(s\) must be a number, not None"),
    "tune-damping-negative": (tune(damping=(-1.0, 0.0)), r"damping alpha \(1/s\) is -1\.0, but must be at least zero"),
    "tune-ends": (tune(ends="loose"), r"ends is 'loose', but must be one of 'fixed', 'free'"),
    "tune-energy": (tune(energy="work"), r"energy is 'work', but must be one of 'forces', 'smooth'"),
    "tune-smoothness": (tune(energy="smooth", smoothness=0.0), r"smoothness is 0\.0, but must be positive"),
    "tune-window-without": (tune(window=(0, 8)), r"vertex 80 at frame 12 is constrained, but .* release it first"),
    "tune-window-short": (tune(window=(10, 13)), r"window 10\.\.13 has 4 frames, but 5 are the fewest"),
    "tune-window-backwards": (tune(window=(20, 5)), r"window 20\.\.5"),
    "tune-window-beyond": (tune(window=(0, 30)), r"window ends at frame 30, but the last frame is 29"),
    "tune-window-number": (tune(window=5), r"window must be a pair of frames \(first, last\), not 5"),
    "tune-window-free": (tune(window=(5, 20), ends="free"), r"window ends at frame 20.*last frame, 29"),
}


@pytest.mark.parametrize("name", BAD)
def test_refused_bad_input(editor: cj.Editor, name: str) -> None:
    act, message = BAD[name]
    with pytest.raises(cj.InputError, match=message):
        act(editor)


def test_second_hand_bad_input(editor: cj.Editor) -> None:
    """One hand at a time: everything else waits until it is dropped or cancelled."""
    hand = editor.grab(OTHER, 15)
    for act in (
        lambda: editor.grab(TIP, 15),
        lambda: editor.drag(TIP, 15, HERE),
        lambda: editor.pin(TIP, 15),
        lambda: editor.tie(TIP, OTHER, 15),
        lambda: editor.release(TIP, 12),
        lambda: editor.tune(h=0.1),
        editor.undo,
        editor.redo,
    ):
        with pytest.raises(cj.InputError, match="a drag is still active; commit it, or cancel it, first"):
            act()
    with pytest.raises(cj.InputError, match="nothing was moved yet"):
        _ = hand.result
    with pytest.raises(cj.InputError, match="is nan"):
        hand.move((0, np.nan, 0))
    assert hand.is_active
    hand.cancel()


def test_empty_hand_bad_input(editor: cj.Editor) -> None:
    hand = editor.grab(OTHER, 15)
    hand.cancel()
    for act in (lambda: hand.move(HERE), hand.commit, hand.cancel):
        with pytest.raises(cj.InputError, match="the drag has ended; grab again"):
            act()


def test_raised_within_hand_bad_input(editor: cj.Editor) -> None:
    """An error of the user's own inside a with-block takes the drag back."""

    def interrupted() -> None:
        with editor.grab(OTHER, 15) as hand:
            hand.move(motion.positions[15][OTHER] + [0.0, 0.1, 0.0])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()


def contacts(frame: int, vertex: int, other: int = -1) -> cj.Contacts:
    return cj.Contacts([frame], [vertex], [[0.0, 0.0, 1.0]], ["sliding"], [other])  # type: ignore[arg-type]


def other_elements() -> cj.Animation:
    mesh = cj.MeshTet(motion.mesh.vertices, motion.mesh.tets[:-1])
    return cj.Animation(mesh, motion.positions, fps=30)


UNOPENED: dict[str, tuple[Callable[[], object], str]] = {
    "four-frames": (lambda: cj.edit(motion.trimmed(0, 4), body), r"has 4 frames, but 5 are the fewest"),
    "no-animation": (
        lambda: cj.edit(motion.positions, body),
        r"animation must be an Animation, or have one, not ndarray",
    ),
    "no-body": (lambda: cj.edit(motion, "beam"), r"body must be a Body.*not str"),
    "no-modes": (lambda: cj.edit(motion, body, 0), r"modes\) is 0, but must be between 1 and 216"),
    "many-modes": (lambda: cj.edit(motion, body, 217), r"modes\) is 217, but must be between 1 and 216"),
    "many-modes-free": (lambda: cj.edit(flying()[1], flying()[0], 184), r"is 184, but must be between 1 and 183"),
    "many-modes-region": (lambda: cj.edit(motion, body, 4, region=[TIP]), r"is 4, but must be between 1 and 3"),
    "modes-part": (lambda: cj.edit(motion, body, 2.5), r"modes\) must be a whole number, not 2\.5"),
    "warp": (lambda: cj.edit(motion, body, 9, warp="linear"), r"warp is 'linear', but must be one of 'composition'"),
    "ends": (lambda: cj.edit(motion, body, 9, ends="loose"), r"ends is 'loose'"),
    "h": (lambda: cj.edit(motion, body, 9, h=-1.0), r"h \(s\) is -1\.0, but must be positive"),
    "window-short": (lambda: cj.edit(motion, body, 9, window=(3, 6)), r"window 3\.\.6 has 4 frames"),
    "window-free": (lambda: cj.edit(motion, body, 9, window=(3, 20), ends="free"), r"window ends at frame 20"),
    "region-empty": (lambda: cj.edit(motion, body, 9, region=[]), r"region names no vertex.*leave it out to edit all"),
    "region-held": (lambda: cj.edit(motion, body, 9, region=body.fixed), r"region leaves no vertex.*make it larger"),
    "region-beyond": (lambda: cj.edit(motion, body, 9, region=[motion.n]), r"region\[0\] is 81, outside 0\.\.80"),
    "region-mask": (lambda: cj.edit(motion, body, 9, region=np.ones(81, dtype=bool)), r"region must be whole numbers"),
    "contact-frame": (lambda: cj.edit(motion, body, 9, contacts=contacts(30, 5)), r"contacts\.frame\[0\] is 30"),
    "contact-vertex": (lambda: cj.edit(motion, body, 9, contacts=contacts(3, 81)), r"contacts\.vertex\[0\] is 81"),
    "contact-other": (lambda: cj.edit(motion, body, 9, contacts=contacts(3, 5, 81)), r"contacts\.other\[0\] is 81"),
    "contacts-none": (lambda: cj.edit(motion, body, 9, contacts=[3]), r"contacts must be a Contacts, not list"),
    "body-size": (lambda: cj.edit(motion, beam_body((4, 2, 2)), 9), r"81 vertices, but the body is made for 45"),
    "body-elements": (lambda: cj.edit(other_elements(), body, 9), r"joins its vertices in another way"),
    "body-kind": (lambda: cj.edit(motion, waving()[0], 9), r"81 vertices, but the body is made for 54"),
}


@pytest.mark.parametrize("name", UNOPENED)
def test_unopened_bad_input(name: str) -> None:
    act, message = UNOPENED[name]
    with pytest.raises(cj.InputError, match=message):
        act()


def test_any_array_is_a_position(editor: cj.Editor) -> None:
    """Single precision, lists, rows of one and Fortran order are all positions."""
    goal = np.round(motion.positions[15][OTHER], 3)
    forms: list[Array | list[float]] = [goal.astype(np.float32), goal.tolist(), goal[None], np.asfortranarray(goal)]
    for form in forms:
        hand = editor.grab(OTHER, 15)
        assert hand.move(form).reached
        np.testing.assert_allclose(hand.positions()[OTHER], goal, atol=1e-4)
        hand.cancel()
