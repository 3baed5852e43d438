"""The mailbox and its thread: nothing is lost or reordered but moves that newer ones overtake; mistakes end nothing."""

from __future__ import annotations

import json
import logging
import threading
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mode_cases import command
from steer_mode_cases import Clock

from cajole.errors import Cancelled, InputError, SolveError
from cajole.progress import report_progress
from cajole.studio.dispatcher import CommandDispatcher
from cajole.studio.jobs import UPDATE_INTERVAL, JobTracker
from cajole.studio.protocol import Answer, Command, ServerMessage, encode_message
from cajole.studio.solver_thread import (
    INPUT_TIMEOUT,
    MAX_FRAME_INTERVAL,
    MAX_QUEUED_COMMANDS,
    CommandQueue,
    FrameScheduler,
    QueuedCommand,
    SolverThread,
)
from waiting import PATIENCE, wait_until


def queued(message: Command, reply=lambda answer: None) -> QueuedCommand:
    return QueuedCommand(message, reply)


def posted(mailbox: CommandQueue, *messages: Command) -> list[Command]:
    """What is overtaken as these come in."""
    found = [mailbox.put(queued(message)) for message in messages]
    return [old.command for old in found if old is not None]


def taken(mailbox: CommandQueue) -> list[Command]:
    return [mailbox.get(0.0).command for _ in range(len(mailbox))]


def move(gesture: int, seq: int) -> Command:
    return command("drag.move", gesture=gesture, seq=seq, delta=[0, 0, 0])


def plain_answer(answer: ServerMessage) -> dict:
    return json.loads(encode_message(answer))


def test_the_last_move_is_made_before_the_commit_identity():
    mailbox = CommandQueue()
    begin, commit = command("drag.begin", gesture=1, nodes=[0], frame=0), command("drag.commit", gesture=1)
    overtaken = posted(mailbox, begin, move(1, 1), move(1, 2), move(1, 3), commit, move(1, 4))
    assert overtaken == [move(1, 1), move(1, 2)]
    assert taken(mailbox) == [begin, move(1, 3), commit, move(1, 4)]


def test_moves_overtake_only_moves_of_their_gesture_identity():
    mailbox = CommandQueue()
    assert posted(mailbox, move(1, 1), move(2, 1), move(1, 2)) == [move(1, 1)]
    assert posted(mailbox, command("undo"), move(1, 3)) == []
    assert taken(mailbox) == [move(2, 1), move(1, 2), command("undo"), move(1, 3)]


def test_markers_are_streamed_while_they_are_in_the_hand_identity():
    mailbox = CommandQueue()
    first, second, last = (command("marker.move", lane="drags", ids=["a"], frames=[k], final=k == 3) for k in (1, 2, 3))
    assert posted(mailbox, first, second, last) == [first]
    assert taken(mailbox) == [second, last]


@given(st.lists(st.sampled_from(["undo", "redo", "freeze", "move 1", "move 2"]), max_size=40))
def test_all_but_moves_comes_through_in_order_identity(names):
    mailbox = CommandQueue()
    sent = [
        command("drag.move", id=n, gesture=int(name[-1]), seq=n, delta=[0, 0, 0])
        if name.startswith("move")
        else command(name, id=n)
        for n, name in enumerate(names)
    ]
    overtaken = posted(mailbox, *sent)
    got = taken(mailbox)
    assert [m for m in got if m.name != "drag.move"] == [m for m in sent if m.name != "drag.move"]
    assert [m.id for m in got] == sorted(m.id for m in got)
    assert sorted(m.id for m in [*got, *overtaken]) == list(range(len(sent)))
    # the last move of each gesture before anything else is always made
    for here, after in zip(sent, [*sent[1:], command("undo")]):
        if here.name == "drag.move" and after.name != "drag.move":
            assert here in got


def test_a_full_mailbox_says_so_bad_input():
    mailbox = CommandQueue()
    posted(mailbox, *(command("undo") for _ in range(MAX_QUEUED_COMMANDS)))
    with pytest.raises(InputError, match="behind"):
        posted(mailbox, command("undo"))


class Diary:
    """A worker that writes down what happens, and fails where it is told to."""

    def __init__(self):
        self.seen, self.done, self.ticks = [], threading.Event(), 0
        self.is_live, self.told = False, 0

    def begin(self):
        self.seen.append("begin")

    def handle(self, letter: QueuedCommand):
        self.seen.append(letter.command.name)
        if letter.command.name == "freeze":
            raise RuntimeError("a mistake")
        letter.reply(Answer())

    def send_updates(self):
        self.told += 1

    def send_requested_frame(self):
        return False

    def get_tick_delay(self):
        return 0.001 if self.is_live else None

    def tick(self):
        self.ticks += 1

    def end(self):
        self.seen.append("end")


def test_letters_are_handled_and_a_mistake_ends_nothing_identity(caplog):
    diary = Diary()
    solver, answered = SolverThread(diary, "test"), []
    solver.start()
    with caplog.at_level(logging.CRITICAL, logger="cajole.studio"):
        for name in ("undo", "freeze", "redo"):
            solver.post(command(name), answered.append)
        assert solver.close(timeout=PATIENCE)
    assert diary.seen == ["begin", "undo", "freeze", "redo", "end"]
    assert answered == [Answer(), Answer()]
    assert diary.told > 0


class HandMailbox(CommandQueue):
    """Letters of a hand at given times of the test's clock, which waiting for them moves on."""

    def __init__(self, clock: Clock, times: list[float], hear):
        super().__init__()
        self._clock, self._times, self._hear = clock, times, hear

    def get(self, timeout):
        until = self._clock.now + (float("inf") if timeout is None else timeout)
        if self._times and self._times[0] > until:
            self._clock.now = until
            return None
        if not self._times:
            self.close()
            return None
        self._clock.now = max(self._clock.now, self._times.pop(0))
        self._hear(self._clock.now)
        return queued(move(1, 1))


def test_a_moving_hand_does_not_wait_for_frames_that_take_long_identity(monkeypatch):
    clock, served = Clock(), list[float]()

    class Busy(Diary):
        def send_requested_frame(self):
            served.append(clock.now)
            clock.now += 0.1
            return True

    monkeypatch.setattr("cajole.studio.solver_thread.time", SimpleNamespace(monotonic=clock))
    solver = SolverThread(Busy(), "test")
    times = [clock.now + 0.005 * count for count in range(1, 400)]
    solver._queue = HandMailbox(clock, times, solver._frame_scheduler.record_input)
    solver._run()
    # none fits between two letters, so that they are made only lest nothing moves
    between = [after - before for before, after in pairwise(served) if after < 102.0]
    assert len(between) > 4
    assert min(between[1:]) >= MAX_FRAME_INTERVAL


def test_frames_are_made_where_they_fit_between_letters_identity():
    rhythm, letters = FrameScheduler(), 0.030
    for count in range(10):
        rhythm.record_input(1.0 + count * letters)
    last = 1.0 + 9 * letters
    rhythm.record_frame(last, last + 0.010)
    assert rhythm.get_frame_delay(last + 0.015) == 0.0
    # ten milliseconds do not fit before the next letter, but the hand may rest before anything starves
    assert rhythm.get_frame_delay(last + 0.025) == pytest.approx(INPUT_TIMEOUT - 0.025)
    assert rhythm.get_frame_delay(last + INPUT_TIMEOUT) == 0.0


def test_no_letters_no_rest_identity():
    assert FrameScheduler().get_frame_delay(0.0) == 0.0


def test_what_was_begun_is_told_without_being_asked_identity():
    diary = Diary()
    solver = SolverThread(diary, "test")
    solver.start()
    wait_until(lambda: diary.told, "telling")
    assert solver.close(timeout=PATIENCE)


def test_live_work_goes_on_by_itself_identity():
    diary = Diary()
    diary.is_live = True
    diary.get_tick_delay = lambda: 0.0 if diary.ticks < 5 else None
    solver = SolverThread(diary, "test")
    solver.start()
    wait_until(lambda: diary.ticks == 5, "the fifth tick")
    assert solver.close(timeout=PATIENCE)
    assert diary.ticks == 5


# --- jobs


def test_a_job_is_told_at_its_start_and_end_and_not_too_often_identity(monkeypatch):
    said, served, clock = [], [], Clock()
    monkeypatch.setattr("cajole.studio.jobs.time", SimpleNamespace(monotonic=clock))
    jobs = JobTracker(said.append, lambda: served.append(1) or False)
    progress = jobs.begin("Working")
    for k in range(1000):
        clock.now += UPDATE_INTERVAL / 100
        report_progress(progress, k / 1000, "on")
    jobs.end("done")
    assert said[0].state == "running"
    assert (said[-1].state, said[-1].fraction) == ("done", 1.0)
    assert len({message.job for message in said}) == 1
    # each call gives waiting tabs their frames; words about it are fewer
    assert len(served) == 1000
    assert len(said) == pytest.approx(12, abs=1)
    assert jobs.current is None


def test_cancelling_raises_in_the_work_and_stopping_says_so_identity():
    jobs = JobTracker(lambda message: None, lambda: False)
    progress = jobs.begin("Working", stoppable=True)
    assert not jobs.request_action("cancel", "another")
    report_progress(progress, 0.5, "on")
    assert jobs.request_action("stop", jobs.current.job)
    assert jobs.has_stop_request
    with pytest.raises(Cancelled):
        report_progress(progress, 0.6, "on")
    jobs.end("done")
    progress = jobs.begin("Working")
    # what cannot be stopped half-way goes on until it is cancelled
    assert jobs.request_action("stop", jobs.current.job)
    report_progress(progress, 0.1, "on")
    jobs.cancel()
    with pytest.raises(Cancelled):
        report_progress(progress, 0.2, "on")


# --- answers


def answered(do, *messages: Command, jobs: JobTracker | None = None) -> tuple[list[dict], list[str]]:
    answers, kept = [], []
    clerk = CommandDispatcher(do, lambda: kept.append("kept"), jobs or JobTracker(lambda message: None, lambda: False))
    for message in messages:
        clerk.handle(queued(message, answers.append))
    return [plain_answer(answer) for answer in answers], kept


def test_what_was_done_is_kept_before_it_is_answered_identity():
    order = []
    clerk = CommandDispatcher(
        lambda message: order.append("done"), lambda: order.append("kept"), JobTracker(print, lambda: False)
    )
    clerk.handle(queued(command("undo"), lambda answer: order.append("answered")))
    assert order == ["done", "kept", "answered"]


def test_errors_are_answered_and_told_apart_bad_input(caplog):
    def do(message):
        raise {"undo": SolveError("too far; drag less"), "redo": KeyError("x"), "freeze": Cancelled("stopped")}[
            message.name
        ]

    with caplog.at_level(logging.ERROR, logger="cajole.studio"):
        solve, odd, no = answered(do, command("undo", id=1), command("redo", id=2), command("freeze", id=3))[0]
    assert solve == {"is": "error", "id": 1, "code": "solve", "text": "too far", "remedy": "drag less"}
    assert (odd["code"], odd["id"]) == ("internal", 2)
    assert no == {"is": "done", "id": 3, "cancelled": True}
    # what was not foreseen is in the log with its trace, what was is not
    assert [record.message for record in caplog.records] == ["redo failed"]


def test_a_stream_of_mistakes_is_told_once_identity():
    def do(message):
        raise InputError("gesture 1 has ended")

    assert len(answered(do, *(move(1, k) for k in range(50)))[0]) == 1
    assert len(answered(do, move(1, 1), move(2, 1), command("undo"), command("undo"))[0]) == 4


def test_work_that_takes_long_is_answered_when_it_becomes_a_job_identity():
    said, answers = [], []
    jobs = JobTracker(said.append, lambda: False)

    def do(message):
        jobs.begin("Working")
        clerk.reply_with_job()
        assert answers == [Answer(id=4, job=said[0].job)]
        raise SolveError("no; relax")

    clerk = CommandDispatcher(do, lambda: None, jobs)
    clerk.handle(queued(command("optimise", id=4), answers.append))
    assert len(answers) == 1
    assert (said[-1].state, said[-1].reason, said[-1].remedy) == ("failed", "no", "relax")


def test_a_hand_that_is_gone_lets_go_identity():
    clerk = CommandDispatcher(lambda message: None, lambda: None, JobTracker(print, lambda: False))
    assert clerk.pop_pending_cancel() is None
    clerk.handle(queued(command("drag.begin", gesture=7, nodes=[0], frame=0)))
    assert clerk.pop_pending_cancel() == command("drag.cancel", gesture=7)
    assert clerk.pop_pending_cancel() is None
    clerk.handle(queued(command("push.begin", gesture=8, node=0)))
    clerk.handle(queued(command("push.end", gesture=8)))
    assert clerk.pop_pending_cancel() is None
