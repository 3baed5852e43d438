"""PoseSession: every operation ends in equilibrium, can be undone, and leaves no trace when it fails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import cajole as cj
from bodies import Array, beam_body, springs_many
from cajole.direct import PoseSession

TIP = (0.0, 12.0, -40.0)


def tip(body: cj.BodySolid) -> list[int]:
    return [int(i) for i in np.flatnonzero(body.vertices[:, 0] == body.vertices[:, 0].max())]


def imbalance(session: PoseSession) -> float:
    """The largest force left on vertices neither fixed nor pinned, relative to the forces at work."""
    body, load = session.body, np.zeros((session.body.vertex_count, 3))
    for one in session.loads:
        np.add.at(load, one.vertices, one.forces)
    free = np.setdiff1d(body.free_vertices, list(session.pins))
    force = body.force(session.displacement)
    return float(np.linalg.norm((force - load)[free]) / max(float(np.linalg.norm(force)), 1e-300))


def test_loads_agreement() -> None:
    """Loads added one at a time reach the pose of all of them at once."""
    body = beam_body((5, 2, 2))
    ends = tip(body)
    session = PoseSession(body)
    session.add(ends[0], TIP)
    session.freeze()
    session.add(ends[1:], (3.0, 0, 9.0))
    load = np.zeros((body.vertex_count, 3))
    load[ends[0]] = TIP
    load[ends[1:]] = np.array([3.0, 0, 9.0]) / len(ends[1:])
    np.testing.assert_allclose(session.capture(), cj.pose(body, load), rtol=0, atol=1e-9)
    assert imbalance(session) < 1e-8


def test_drag_agreement() -> None:
    """A drag in small moves, which reuses old tangents, ends where one cold solve does; pins land exactly."""
    body = beam_body((6, 2, 2))
    ends = tip(body)
    session = PoseSession(body)
    load = session.add(ends, (0.0, 0.0, 0.0))
    for share in np.linspace(0.1, 1, 10):
        load = session.change(load, share * np.array([0, 40.0, -150.0]))
    forces = np.zeros((body.vertex_count, 3))
    forces[ends] = np.array([0, 40.0, -150.0]) / len(ends)
    cold = cj.pose(body, forces)
    assert abs(cold).max() > 0.1
    np.testing.assert_allclose(session.displacement, cold, rtol=0, atol=1e-8)
    for share in np.linspace(0.1, 1, 10):
        session.pin(ends[0], body.vertices[ends[0]] + share * np.array([-0.1, 0.2, -0.3]))
    np.testing.assert_allclose(session.displacement[ends[0]], (-0.1, 0.2, -0.3), rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        session.displacement, cj.pose(body, forces, {ends[0]: (-0.1, 0.2, -0.3)}), rtol=0, atol=1e-8
    )


def test_pin_current_identity() -> None:
    """Pinning a vertex where it is moves nothing, and it stays when the load goes away."""
    body = beam_body((4, 1, 1))
    end = tip(body)[0]
    session = PoseSession(body)
    load = session.add(end, TIP)
    before = session.capture()
    session.pin(end)
    np.testing.assert_allclose(session.displacement, before, rtol=0, atol=1e-9)
    session.remove(load)
    np.testing.assert_allclose(session.displacement[end], before[end], rtol=0, atol=1e-14)
    assert imbalance(session) < 1e-8
    session.unpin(end)
    assert session.pins == {}
    np.testing.assert_allclose(session.displacement, 0, atol=1e-8)


def test_undo_identity() -> None:
    """Undo and redo walk through every operation and give back exactly what was there."""
    body = beam_body((3, 1, 1))
    ends = tip(body)
    session = PoseSession(body)
    load = session.add(ends[0], TIP)
    steps: list[Callable[[], object]] = [
        lambda: session.change(load, (1.0, 2.0, 3.0)),
        lambda: session.add(ends[1], (0, 0, 5.0)),
        lambda: session.pin(ends[2]),
        lambda: session.remove(load),
        session.freeze,
        lambda: session.unpin(ends[2]),
    ]
    seen = [(session.capture(), session.loads, session.pins)]
    for step in steps:
        step()
        seen.append((session.capture(), session.loads, session.pins))
    walk = [*reversed(seen[:-1])]
    for want in walk:
        session.undo()
        same(session, want)
    for want in seen[1:]:
        session.redo()
        same(session, want)
    session.undo()
    session.add(ends[0], (1.0, 0, 0))
    with pytest.raises(cj.InputError, match="nothing to redo"):
        session.redo()


def same(session: PoseSession, want: tuple[Array, tuple[object, ...], dict[int, Array]]) -> None:
    np.testing.assert_array_equal(session.displacement, want[0])
    assert session.loads == want[1]
    assert list(session.pins) == list(want[2])


def test_free_body_identity() -> None:
    """A body that nothing holds is shaped by balanced loads, or by pins."""
    body = beam_body((4, 2, 2), held=False)
    left = [int(i) for i in np.flatnonzero(body.vertices[:, 0] == 0)]
    session = PoseSession(body)
    pull = np.zeros((len(left) + len(tip(body)), 3))
    pull[: len(left), 0], pull[len(left) :, 0] = -30.0, 30.0
    load = session.add(left + tip(body), pull)
    assert imbalance(session) < 1e-7
    session.change(load, 2 * pull)
    assert imbalance(session) < 1e-7
    session.remove(load)
    session.pin(left)
    session.pin(tip(body), body.vertices[tip(body)] + (0, 0, 0.2))
    assert imbalance(session) < 1e-7
    np.testing.assert_allclose(session.displacement[tip(body)], np.tile([0, 0, 0.2], (9, 1)), atol=1e-14)


def test_springs_identity() -> None:
    net = springs_many()
    session = PoseSession(net, gravity=(0, 0, -1.0))
    np.testing.assert_allclose(session.capture(), cj.pose(net, gravity=(0, 0, -1.0)), atol=1e-9)


def test_capture_identity() -> None:
    """A captured key is the user's own: neither later operations nor writing to it touch the other."""
    body = beam_body((2, 1, 1))
    session = PoseSession(body)
    session.add(tip(body)[0], TIP)
    key = session.capture()
    kept = key.copy()
    session.add(tip(body)[1], TIP)
    np.testing.assert_array_equal(key, kept)
    now = session.capture()
    now[:] = 7
    assert abs(session.displacement).max() < 1
    with pytest.raises(ValueError, match="read-only"):
        session.displacement[0, 0] = 1.0


def test_failed_solve_identity() -> None:
    """An operation that fails leaves loads, pins, pose and history as they were, and the session usable."""
    body = beam_body((3, 1, 1), held=False)
    session = PoseSession(body)
    with pytest.raises(cj.LoadError, match="fix or pin some vertices"):
        session.add(3, (0, 0, 1.0))
    with pytest.raises(cj.InputError, match="nothing to undo"):
        session.undo()
    session.pin([0, 1, 2, 3])
    load = session.add(tip(body)[0], TIP)
    want = (session.capture(), session.loads, session.pins)
    for fail in (
        lambda: session.unpin([0, 1, 2, 3]),
        lambda: session.change(load, (1e300, 0, 0)),
        lambda: session.pin(list(range(body.vertex_count))),
    ):
        with pytest.raises((cj.InputError, cj.SolveError)):
            fail()
        same(session, want)
    session.change(load, (0, 0, 2.0))
    assert imbalance(session) < 1e-8


def test_cancel_identity() -> None:
    """Stopped in the middle, an operation has not happened."""
    body, going = beam_body((3, 1, 1)), [True]
    session = PoseSession(body, progress=lambda *_: going[0])
    session.add(tip(body)[0], TIP)
    want = (session.capture(), session.loads, session.pins)
    going[0] = False
    with pytest.raises(cj.Cancelled, match="pose, iteration"):
        session.pin(tip(body)[1], (1.2, 0.1, 0.1))
    same(session, want)


BAD: dict[str, tuple[Callable[[PoseSession], object], str]] = {
    "fixed": (lambda s: s.add(0, TIP), "vertex 0 is fixed in the body and cannot be pulled or pinned"),
    "range": (lambda s: s.add(99, TIP), r"vertices\[0\] is 99, outside"),
    "kind": (lambda s: s.add("tip", TIP), "vertices must be whole numbers"),
    "empty": (lambda s: s.add([], TIP), "name at least one vertex"),
    "twice": (lambda s: s.add([11, 11], TIP), "vertex 11 twice"),
    "force": (lambda s: s.add(11, (1.0, 2.0)), r"force has shape \(2,\)"),
    "forces": (lambda s: s.add([10, 11], np.zeros((3, 3))), r"force has shape \(3, 3\), but \(2, 3\)"),
    "nan": (lambda s: s.add(11, (np.nan, 0, 0)), r"force\[0\] is nan"),
    "no-load": (lambda s: s.remove(4), "no load 4; its loads are 0"),
    "load": (lambda s: s.change("a", TIP), "load must be a whole number"),  # type: ignore[arg-type]
    "pin-fixed": (lambda s: s.pin(1), "vertex 1 is fixed"),
    "pin-shape": (lambda s: s.pin([10, 11], (0, 0, 0)), r"position has shape \(3,\), but \(2, 3\)"),
    "unpin": (lambda s: s.unpin(11), "vertex 11 is not pinned; the pins are none"),
    "redo": (lambda s: s.redo(), "nothing to redo"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_session_bad_input(case: str) -> None:
    session = PoseSession(beam_body((2, 1, 1)))
    session.add(11, TIP)
    call, message = BAD[case]
    with pytest.raises(cj.InputError, match=message):
        call(session)


def test_session_frozen_bad_input() -> None:
    session = PoseSession(beam_body((2, 1, 1)))
    load = session.add(11, TIP)
    session.freeze()
    with pytest.raises(cj.InputError, match="load 0 is frozen; undo the freeze"):
        session.remove(load)
    session.undo()
    session.remove(load)
    np.testing.assert_allclose(session.displacement, 0, atol=1e-9)


def test_session_body_bad_input() -> None:
    with pytest.raises(cj.InputError, match="body must be a Body, not int"):
        PoseSession(3)  # type: ignore[arg-type]


def test_return_to_rest_identity() -> None:
    """Without loads nothing is left to measure forces by: the way back ends all the same, and at rest."""
    body = beam_body((6, 2, 2))
    asked: list[float] = []
    session = PoseSession(body, progress=lambda share, _: asked.append(share))
    load = session.add(tip(body), (0.0, 40.0, -150.0))
    size = float(abs(session.displacement).max())
    asked.clear()
    session.remove(load)
    assert len(asked) < 30
    assert abs(session.displacement).max() < 1e-9 * size
