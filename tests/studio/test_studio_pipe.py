"""What goes to a tab: texts in order, the newest shape while credit lasts, frames that were asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator

from cajole.studio.pipe import CREDITS, MOST_BYTES, MOST_FRAMES, MOST_ON_WAY, Pipe
from cajole.studio.tabs import Tabs


def taken(pipe: Pipe) -> Iterator[str | bytes]:
    while (data := pipe.take()) is not None:
        yield data


def test_texts_and_meshes_keep_their_order_and_none_is_lost_identity():
    pipe = Pipe()
    sent = [f"{k}" if k % 2 else bytes([k]) for k in range(200)]
    for data in sent:
        pipe.send(data)
    assert list(taken(pipe)) == sent


def test_only_the_newest_shape_is_sent_and_only_on_credit_identity():
    pipe = Pipe()
    for seq in range(1, 6):
        pipe.show(seq, b"%d" % seq)
    assert list(taken(pipe)) == [b"5"]
    for seq in range(6, 20):
        pipe.show(seq, b"%d" % seq)
        list(taken(pipe))
    # two are on the way: nothing more until one was applied, and then the newest
    assert pipe.take() is None
    pipe.acknowledge(5)
    assert list(taken(pipe)) == [b"19"]
    pipe.acknowledge(19)
    for seq in range(20, 20 + CREDITS):
        pipe.show(seq, b"%d" % seq)
        assert pipe.take() == b"%d" % seq
    assert pipe.take() is None


def test_texts_go_before_shapes_and_shapes_before_frames_identity():
    pipe = Pipe()
    pipe.frame(b"frame")
    pipe.show(1, b"now")
    pipe.say({"is": "state"})
    first, *rest = taken(pipe)
    assert json.loads(first) == {"is": "state"}
    assert rest == [b"now", b"frame"]


def test_wanted_frames_are_made_nearest_first_streams_in_turn_identity():
    pipe = Pipe()
    pipe.want("result", [9, 9])
    pipe.want("result", [3, 4, 5])
    pipe.want("given", [7])
    assert [pipe.next_wanted() for _ in range(5)] == [("result", 3), ("given", 7), ("result", 4), ("result", 5), None]


def test_frames_are_not_made_faster_than_they_leave_identity():
    pipe = Pipe()
    pipe.want("result", list(range(32)))
    for _ in range(MOST_FRAMES):
        assert pipe.next_wanted() is not None
        pipe.frame(b"x")
    assert pipe.next_wanted() is None
    pipe.take()
    assert pipe.next_wanted() is not None


def test_another_project_does_not_get_the_frames_of_the_last_identity():
    pipe = Pipe()
    pipe.want("result", [1])
    pipe.frame(b"old")
    pipe.show(1, b"old")
    pipe.say({"is": "done"})
    pipe.forget()
    assert pipe.next_wanted() is None
    assert [json.loads(data) for data in taken(pipe)] == [{"is": "done"}]


def test_a_tab_that_does_not_listen_is_noticed_identity():
    pipe = Pipe()
    assert not pipe.is_overfull
    pipe.send(bytes(MOST_BYTES + 1))
    assert pipe.is_overfull


# --- tabs


def texts(pipe: Pipe) -> list[dict]:
    return [json.loads(data) for data in taken(pipe) if isinstance(data, str)]


def test_one_tab_may_change_things_identity():
    tabs, first, second = Tabs(), Pipe(), Pipe()
    tabs.add(first)
    tabs.add(second)
    assert texts(first) == [{"is": "seat", "pilot": True}]
    assert texts(second) == [{"is": "seat", "pilot": False}]
    tabs.give_seat(second)
    assert (tabs.may_change(first), tabs.may_change(second)) == (False, True)
    assert texts(first) == [{"is": "seat", "pilot": False}]
    assert texts(second) == [{"is": "seat", "pilot": True}]
    tabs.remove(second)
    assert tabs.may_change(first)
    assert texts(first) == [{"is": "seat", "pilot": True}]


def test_a_tab_that_comes_late_is_told_everything_identity():
    tabs = Tabs()
    tabs.open(['{"is": "project"}', b"mesh"])
    tabs.say({"is": "state", "rev": 1})
    tabs.say({"is": "state", "rev": 2})
    tabs.say({"is": "notice"})
    tabs.show(lambda seq: b"old")
    tabs.show(lambda seq: b"now")
    late = Pipe()
    tabs.add(late)
    seat, project, mesh, state, shown = taken(late)
    assert (json.loads(seat)["is"], json.loads(project)["is"], mesh, shown) == ("seat", "project", b"mesh", b"now")
    assert json.loads(state) == {"is": "state", "rev": 2}


def test_frames_on_the_way_are_bounded_so_that_a_hand_need_not_wait_identity():
    pipe, half = Pipe(), MOST_ON_WAY // 2
    for name in (b"a", b"b", b"c"):
        pipe.frame(name * half)
    assert [pipe.take()[:1] for _ in range(2)] == [b"a", b"b"]
    assert pipe.take() is None, "a third one would stand before the newest NOW"
    pipe.show(1, b"n" * half)
    assert pipe.take()[:1] == b"n"
    pipe.got()
    assert pipe.take() is None, "the shape on its way counts, too"
    pipe.acknowledge(1)
    assert pipe.take()[:1] == b"c"


def test_a_frame_larger_than_the_bound_still_goes_alone_identity():
    pipe = Pipe()
    for _ in range(2):
        pipe.frame(b"x" * (2 * MOST_ON_WAY))
    assert pipe.take() is not None
    assert pipe.take() is None
    pipe.got()
    pipe.got()  # of a project that was left
    assert pipe.take() is not None
