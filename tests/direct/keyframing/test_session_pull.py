"""PoseSession in the hand: pulls of many moves, muted loads, gravity on and off, poses taken over."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from bodies import Array, beam_body
from cajole.direct import PoseSession

FORCE = np.array([0.0, 40.0, -150.0])


def tip(body: cj.BodySolid) -> Array:
    return np.flatnonzero(body.vertices[:, 0] == body.vertices[:, 0].max())


def loads_on(body: cj.BodySolid, vertices: Array, force: Array) -> Array:
    load = np.zeros((body.vertex_count, 3))
    load[vertices] = force / len(vertices)
    return load


def test_pull_agreement() -> None:
    """However many moves, a dropped pull is the pose of one cold solve, and one step of undo."""
    body = beam_body((6, 2, 2))
    session, ends = PoseSession(body), tip(body)
    pull = session.grab(ends)
    for share in np.linspace(0.1, 1, 12):
        pull.move(share * FORCE)
    cold = cj.pose(body, loads_on(body, ends, FORCE))
    moved = [pull.refine() for _ in range(12)]
    assert moved[-1] < 1e-4
    near = session.capture()
    pull.commit()
    np.testing.assert_allclose(session.displacement, cold, rtol=0, atol=1e-8)
    assert np.abs(near - cold).max() < 1e-2 * np.abs(cold).max()
    session.undo()
    assert not session.displacement.any()
    assert session.loads == ()
    with pytest.raises(cj.InputError, match="nothing to undo"):
        session.undo()


def test_pull_cancel_identity() -> None:
    """A cancelled pull leaves no trace; one that never moved keeps none either."""
    body = beam_body((4, 1, 1))
    session, ends = PoseSession(body), tip(body)
    session.add(ends, FORCE)
    before = session.snapshot
    pull = session.grab(ends, replace_loads=True)
    pull.move(-FORCE)
    pull.cancel()
    assert session.snapshot is before
    session.grab(ends).commit()
    assert session.snapshot is before
    with pytest.raises(cj.InputError, match="the drag has ended"):
        pull.move(FORCE)


def test_pull_alone_identity() -> None:
    """Alone, a pull takes the place of what is not frozen; too large a one keeps the last good pose and force."""
    body = beam_body((4, 1, 1))
    session, ends = PoseSession(body), tip(body)
    first = session.add(ends, 0.1 * FORCE)
    session.freeze()
    session.add(ends, 0.2 * FORCE)
    pull = session.grab(ends, replace_loads=True)
    pull.move(0.3 * FORCE)
    good, force = session.capture(), pull.load.forces
    with pytest.raises(cj.errors.CajoleError):
        pull.move(1e300 * FORCE)
    np.testing.assert_array_equal(session.displacement, good)
    assert pull.load.forces is force
    with pytest.raises(cj.InputError, match="a drag is still active"):
        session.undo()
    with pytest.raises(cj.InputError, match="a drag is still active"):
        session.grab(ends)
    pull.commit()
    assert [load.load_id for load in session.loads] == [first.load_id, pull.load.load_id]
    np.testing.assert_allclose(session.displacement, cj.pose(body, loads_on(body, ends, 0.4 * FORCE)), atol=1e-9)


def test_mute_agreement() -> None:
    """A muted load stays in the list and pulls no more; heard again, it pulls as before."""
    body = beam_body((4, 1, 1))
    session, ends = PoseSession(body), tip(body)
    load = session.add(ends, FORCE)
    pulled = session.capture()
    session.mute(load)
    assert session.loads[0].muted
    assert np.abs(session.displacement).max() < 1e-9
    session.mute(load, False)
    np.testing.assert_allclose(session.displacement, pulled, rtol=0, atol=1e-9)


def test_weigh_agreement() -> None:
    """Gravity switched on and off is that of `pose`, and of a session that began with it."""
    body = beam_body((4, 1, 1))
    session = PoseSession(body)
    session.set_gravity(9.81)
    assert session.has_gravity
    np.testing.assert_allclose(session.displacement, cj.pose(body, gravity=9.81), rtol=0, atol=1e-9)
    np.testing.assert_allclose(session.displacement, PoseSession(body, gravity=9.81).displacement, rtol=0, atol=1e-9)
    session.set_gravity(None)
    assert np.abs(session.displacement).max() < 1e-9


@pytest.mark.parametrize("weighs", [False, True])
def test_assume_identity(weighs: bool) -> None:
    """A pose taken over stays where it is, and further loads add on top of what holds it."""
    body = beam_body((4, 1, 1))
    ends = tip(body)
    wanted = cj.pose(body, loads_on(body, ends, FORCE))
    session = PoseSession(body, gravity=9.81 if weighs else None)
    session.set_pose(wanted)
    load = session.add(ends, (0, 0, 0))
    np.testing.assert_allclose(session.displacement, wanted, rtol=0, atol=1e-9)
    session.change(load, -FORCE)
    rest = cj.pose(body, gravity=9.81) if weighs else np.zeros_like(wanted)
    assert np.abs(session.displacement - (0 if weighs else rest)).max() < np.abs(wanted).max()
    session.reset()
    assert session.loads == ()
    np.testing.assert_allclose(session.displacement, rest, rtol=0, atol=1e-9)


def test_return_identity() -> None:
    """A moment brings loads, pins and pose back, whatever happened since."""
    body = beam_body((4, 1, 1))
    session, ends = PoseSession(body), tip(body)
    session.add(ends[:1], FORCE)
    session.pin(int(ends[1]))
    then = session.snapshot
    session.reset()
    session.add(ends, -FORCE)
    session.restore(then)
    np.testing.assert_array_equal(session.displacement, then.displacement)
    assert [load.load_id for load in session.loads] == [0]
    assert list(session.pins) == [int(ends[1])]
    session.undo()
    assert len(session.pins) == 0
