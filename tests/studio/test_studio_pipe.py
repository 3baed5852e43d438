"""What goes to a tab: texts in order, the newest shape while credit lasts, frames that were asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator

from msgspec.structs import replace

from cajole.studio.clients import (
    MAX_IN_FLIGHT_BYTES,
    MAX_QUEUED_BYTES,
    MAX_QUEUED_FRAMES,
    MAX_UNACKNOWLEDGED_FRAMES,
    ClientGroup,
    Outbox,
)
from cajole.studio.messages import NoticeMessage, SeatMessage, StateMessage, ViewLabels
from cajole.studio.modes.payloads import build_force_meter
from cajole.studio.protocol import Answer


def taken(pipe: Outbox) -> Iterator[str | bytes]:
    while (data := pipe.pop_next()) is not None:
        yield data


def test_texts_and_meshes_keep_their_order_and_none_is_lost_identity():
    pipe = Outbox()
    sent = [f"{k}" if k % 2 else bytes([k]) for k in range(200)]
    for data in sent:
        pipe.enqueue(data)
    assert list(taken(pipe)) == sent


def test_only_the_newest_shape_is_sent_and_only_on_credit_identity():
    pipe = Outbox()
    for seq in range(1, 6):
        pipe.set_live_frame(seq, b"%d" % seq)
    assert list(taken(pipe)) == [b"5"]
    for seq in range(6, 20):
        pipe.set_live_frame(seq, b"%d" % seq)
        list(taken(pipe))
    # two are on the way: nothing more until one was applied, and then the newest
    assert pipe.pop_next() is None
    pipe.acknowledge(5)
    assert list(taken(pipe)) == [b"19"]
    pipe.acknowledge(19)
    for seq in range(20, 20 + MAX_UNACKNOWLEDGED_FRAMES):
        pipe.set_live_frame(seq, b"%d" % seq)
        assert pipe.pop_next() == b"%d" % seq
    assert pipe.pop_next() is None


def test_texts_go_before_shapes_and_shapes_before_frames_identity():
    pipe = Outbox()
    pipe.enqueue_frame(b"frame")
    pipe.set_live_frame(1, b"now")
    pipe.enqueue_message(SeatMessage(pilot=True))
    first, *rest = taken(pipe)
    assert json.loads(first)["is"] == "seat"
    assert rest == [b"now", b"frame"]


def test_wanted_frames_are_made_nearest_first_streams_in_turn_identity():
    pipe = Outbox()
    pipe.request_frames("result", [9, 9])
    pipe.request_frames("result", [3, 4, 5])
    pipe.request_frames("given", [7])
    assert [pipe.pop_requested_frame() for _ in range(5)] == [
        ("result", 3),
        ("given", 7),
        ("result", 4),
        ("result", 5),
        None,
    ]


def test_frames_are_not_made_faster_than_they_leave_identity():
    pipe = Outbox()
    pipe.request_frames("result", list(range(32)))
    for _ in range(MAX_QUEUED_FRAMES):
        assert pipe.pop_requested_frame() is not None
        pipe.enqueue_frame(b"x")
    assert pipe.pop_requested_frame() is None
    pipe.pop_next()
    assert pipe.pop_requested_frame() is not None


def test_another_project_does_not_get_the_frames_of_the_last_identity():
    pipe = Outbox()
    pipe.request_frames("result", [1])
    pipe.enqueue_frame(b"old")
    pipe.set_live_frame(1, b"old")
    pipe.enqueue_message(Answer(id=1))
    pipe.discard_frames()
    assert pipe.pop_requested_frame() is None
    assert [json.loads(data) for data in taken(pipe)] == [{"is": "done", "id": 1}]


def test_a_tab_that_does_not_listen_is_noticed_identity():
    pipe = Outbox()
    assert not pipe.is_over_limit
    pipe.enqueue(bytes(MAX_QUEUED_BYTES + 1))
    assert pipe.is_over_limit


# --- tabs


def texts(pipe: Outbox) -> list[dict]:
    return [json.loads(data) for data in taken(pipe) if isinstance(data, str)]


def test_one_tab_may_change_things_identity():
    tabs, first, second = ClientGroup(), Outbox(), Outbox()
    tabs.add(first)
    tabs.add(second)
    assert texts(first) == [{"is": "seat", "pilot": True}]
    assert texts(second) == [{"is": "seat", "pilot": False}]
    tabs.grant_write_access(second)
    assert (tabs.can_write(first), tabs.can_write(second)) == (False, True)
    assert texts(first) == [{"is": "seat", "pilot": False}]
    assert texts(second) == [{"is": "seat", "pilot": True}]
    tabs.remove(second)
    assert tabs.can_write(first)
    assert texts(first) == [{"is": "seat", "pilot": True}]


def test_a_tab_that_comes_late_is_told_everything_identity():
    tabs = ClientGroup()
    tabs.broadcast_project(['{"is": "project"}', b"mesh"])
    state = StateMessage(rev=1, meter=build_force_meter(None), labels=ViewLabels("", ""))
    tabs.broadcast(state)
    tabs.broadcast(replace(state, rev=2))
    tabs.broadcast(NoticeMessage(tone="ok", title="", text=""))
    tabs.broadcast_live_frame(lambda seq: b"old")
    tabs.broadcast_live_frame(lambda seq: b"now")
    late = Outbox()
    tabs.add(late)
    seat, project, mesh, state, shown = taken(late)
    assert (json.loads(seat)["is"], json.loads(project)["is"], mesh, shown) == ("seat", "project", b"mesh", b"now")
    assert json.loads(state)["rev"] == 2


def test_frames_on_the_way_are_bounded_so_that_a_hand_need_not_wait_identity():
    pipe, half = Outbox(), MAX_IN_FLIGHT_BYTES // 2
    for name in (b"a", b"b", b"c"):
        pipe.enqueue_frame(name * half)
    assert [pipe.pop_next()[:1] for _ in range(2)] == [b"a", b"b"]
    assert pipe.pop_next() is None, "a third one would stand before the newest NOW"
    pipe.set_live_frame(1, b"n" * half)
    assert pipe.pop_next()[:1] == b"n"
    pipe.confirm_frame()
    assert pipe.pop_next() is None, "the shape on its way counts, too"
    pipe.acknowledge(1)
    assert pipe.pop_next()[:1] == b"c"


def test_a_frame_larger_than_the_bound_still_goes_alone_identity():
    pipe = Outbox()
    for _ in range(2):
        pipe.enqueue_frame(b"x" * (2 * MAX_IN_FLIGHT_BYTES))
    assert pipe.pop_next() is not None
    assert pipe.pop_next() is None
    pipe.confirm_frame()
    pipe.confirm_frame()  # of a project that was left
    assert pipe.pop_next() is not None
