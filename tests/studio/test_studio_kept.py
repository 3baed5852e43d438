"""Nothing that was committed is lost: not by closing, not by kill -9, not by going from mode to mode."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from studio_cases import Running, Tab, connected, running, small_motion, sway_file
from studio_cases import answer_of as done

from cajole.errors import FileError, InputError
from cajole.progress import report_progress
from cajole.studio.clients import Outbox
from cajole.studio.content import build_animation_content
from cajole.studio.messages import AddSuggestedTargets, StateMessage, Undo, ViewLabels
from cajole.studio.modes.base import ModeSnapshot, StudioMode
from cajole.studio.modes.keyframe.messages import Optimise
from cajole.studio.modes.payloads import build_force_meter
from cajole.studio.project import Project
from cajole.studio.project_saver import ProjectSaver, ProjectStartup
from cajole.studio.project_store import ProjectRecord, ProjectSource, ProjectStore, generate_id
from job_control import JobControl, install
from waiting import PATIENCE, wait_until

NODE = 20


# --- a real process, really killed


@pytest.fixture
def process(tmp_path):
    """`cajole studio sway.npz` in a process of its own: its address line, and the process."""
    command = [sys.executable, "-m", "cajole", "studio", str(sway_file(tmp_path)), "--no-browser"]
    environment = {**os.environ, "CAJOLE_STUDIO": str(tmp_path / "studio"), "CAJOLE_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as started:
        yield started, started.stdout.readline().strip()
        if started.poll() is None:
            started.kill()


def greeted(socket, token: str) -> Tab:
    tab = Tab(socket)
    tab.say("hello", proto=1, token=token)
    project = tab.until(lambda message: message["is"] == "welcome")["project"]
    tab.ask("open", project=project)
    tab.state()
    return tab


def test_a_killed_studio_has_kept_every_committed_drag_claim(process, tmp_path):
    started, line = process
    address, token = line.split("/#")
    assert address.startswith("http://127.0.0.1:")
    with connected(address.replace("http", "ws") + "/ws") as socket:
        tab = greeted(socket, token)
        tab.drag(NODE, 12, (0.0, 0.1, 0.0))
        tab.drag(NODE + 3, 8, (0.0, 0.0, 0.05), gesture=2)
        # this one is in the hand, and not committed
        tab.ask("drag.begin", gesture=3, nodes=[NODE + 5], frame=10)
        os.kill(started.pid, signal.SIGKILL)
    started.wait()
    with running(tmp_path / "studio") as studio, studio.tab() as tab:
        (recent,) = tab.ask("catalogue")["catalogue"]["recent"]
        assert (recent["name"], recent["recovered"], recent["text"]) == ("sway", True, "2 drags")
        tab.ask("open", project=recent["id"])
        state = tab.state()
        assert {(drag["node"], drag["frame"]) for drag in state["edit"]["drags"]} == {(NODE, 12), (NODE + 3, 8)}
        moved = next(drag for drag in state["edit"]["drags"] if drag["node"] == NODE)
        np.testing.assert_allclose(moved["position"], small_motion().frame(12)[NODE] + [0.0, 0.1, 0.0], atol=1e-9)
    with running(tmp_path / "studio") as studio, studio.tab() as tab:
        # closed as it should be this time
        assert tab.ask("catalogue")["catalogue"]["recent"][0]["recovered"] is False


def test_an_interrupt_ends_the_studio_in_good_order_claim(process):
    started, line = process
    assert "/#" in line
    os.kill(started.pid, signal.SIGINT)
    assert started.wait(PATIENCE) in (0, 130)


# --- with a mode that does what the test says


class CountState(StateMessage, frozen=True, kw_only=True, tag="state"):
    """How often it counted."""

    count: int


class Told(StudioMode):
    """Counts, works, fails and hands over as asked."""

    name = "edit"

    def __init__(self, desk, content, saved=None):
        self.desk, self.content = desk, content
        self.count = 0 if saved is None else saved.document["count"]
        self.made = np.zeros(3) if saved is None else saved.arrays["made"]

    @property
    def commands(self):
        return {Undo: self.add, Optimise: self.work, AddSuggestedTargets: self.fail}

    @property
    def frames(self):
        return self.content.animation.frames

    @property
    def fps(self):
        return 24.0

    def build_state(self):
        return CountState(meter=build_force_meter(None), labels=ViewLabels("", ""), count=self.count)

    def compute_live_vertices(self, frame):
        return self.content.compute_drawn_positions(self.content.animation.frame(frame))

    def compute_stream_vertices(self, stream, frame):
        return self.compute_live_vertices(frame)

    def create_snapshot(self):
        return ModeSnapshot({"count": self.count}, {"made": self.made})

    def export_content(self):
        moved = self.content.animation.moved(self.content.animation.positions + 1.0)
        return replace(self.content, animation=moved)

    def add(self, message):
        self.count, self.made = self.count + 1, self.made + 1.0
        self.desk.record_change("add")

    def work(self, message):
        report_progress(self.desk.begin_job("Working", stoppable=True), 0.5, "half done")

    def fail(self, message):
        raise ZeroDivisionError("a mistake of the mode")


@pytest.fixture
def told(monkeypatch):
    """All modes of all projects are this one; the last that was made is kept here."""
    made: list[Told] = []

    def make(name, desk, content, saved=None):
        made.append(Told(desk, content, saved))
        made[-1].name = name
        return made[-1]

    monkeypatch.setattr("cajole.studio.project.create_mode", make)
    return made


@pytest.fixture
def jobs(tmp_path, monkeypatch) -> JobControl:
    """Holds the work of projects."""
    control = JobControl(tmp_path / "jobs")
    install(control, monkeypatch.setattr)
    return control


def start(
    name: str = "Sway", *, record: ProjectRecord | None = None, shelf: ProjectStore, kept: bool = False
) -> Project:
    content = build_animation_content(small_motion())
    new = (
        ProjectRecord(generate_id(), name, "edit", ProjectSource(scene="twist", mode="edit"))
        if record is None
        else record
    )
    project = Project(ProjectStartup(new, lambda progress: content, is_stored=kept), shelf)
    project.start()
    return project


def test_what_is_committed_is_on_disk_when_it_is_answered_identity(told, tmp_path):
    shelf = ProjectStore(tmp_path)
    project = start(shelf=shelf)
    done(project, do="frame", frame=3)
    # looking is not doing: nothing is kept yet
    assert not shelf.has_project(project.id)
    for count in (1, 2, 3):
        done(project, do="undo")
        found = shelf.load(project.id)
        assert found.snapshots["edit"].document == {"count": count}
        np.testing.assert_array_equal(found.snapshots["edit"].arrays["made"], np.full(3, float(count)))
        assert found.frame == 3
    # as after a kill: another project, from what is on disk alone
    again = start(record=shelf.load(project.id), shelf=shelf)
    done(again, do="frame", frame=0)
    assert told[-1].count == 3
    assert again.close(timeout=PATIENCE)
    assert project.close(timeout=PATIENCE)


class Disk:
    """A disk that refuses to write while it is full."""

    def __init__(self, monkeypatch):
        self.is_full = False
        self.tried = 0
        save = ProjectStore.save

        def saved(shelf, record):
            self.tried += 1
            if self.is_full:
                raise FileError("cannot write project.json: No space left on device; free some space")
            save(shelf, record)

        monkeypatch.setattr(ProjectStore, "save", saved)


@pytest.fixture
def disk(monkeypatch) -> Disk:
    return Disk(monkeypatch)


class Heard:
    """All that a tab was told, as texts."""

    def __init__(self, project: Project):
        self.come = threading.Condition()
        self.texts: list[dict] = []
        self.pipe = Outbox(self.take)
        project.attach(self.pipe)

    def take(self) -> None:
        with self.come:
            while (data := self.pipe.pop_next()) is not None:
                if isinstance(data, str):
                    self.texts.append(json.loads(data))
            self.come.notify_all()

    def wait(self, wanted) -> dict:
        """The first text that is wanted, now or later."""
        with self.come:
            assert self.come.wait_for(lambda: any(map(wanted, self.texts)), PATIENCE), self.texts
            return next(text for text in self.texts if wanted(text))

    def of(self, kind: str) -> list[dict]:
        with self.come:
            return [text for text in self.texts if text["is"] == kind]


def test_what_is_not_on_disk_is_unsaved_until_it_is_claim(told, tmp_path, disk, monkeypatch):
    """It is said in the answer, in the state and by a notice, and tried again without anyone asking."""
    monkeypatch.setattr("cajole.studio.project_saver.FIRST_RETRY_DELAY", 0.01)
    shelf = ProjectStore(tmp_path)
    project = start(shelf=shelf)
    heard = Heard(project)
    assert done(project, do="undo") == {}
    disk.is_full = True
    assert "No space left" in done(project, do="undo")["unsaved"]
    state = heard.wait(lambda text: text["is"] == "state" and text["unsaved"] and text["count"] == 2)
    assert "No space left" in state["unsaved_reason"]
    assert not project.is_saved
    # messages that change nothing say so as well, and more changes are lost no more than the first
    assert "unsaved" in done(project, do="frame", frame=1)
    assert "unsaved" in done(project, do="undo")
    assert shelf.load(project.id).snapshots["edit"].document == {"count": 1}
    disk.is_full = False
    heard.wait(lambda text: text["is"] == "state" and not text["unsaved"] and text["count"] == 3)
    assert shelf.load(project.id).snapshots["edit"].document == {"count": 3}
    assert done(project, do="frame", frame=1) == {}
    assert [(notice["tone"], notice["title"]) for notice in heard.of("notice")] == [
        ("err", "Not saved"),
        ("ok", "Saved"),
    ]
    assert heard.of("state")[-1]["unsaved_reason"] is None
    assert project.close(timeout=PATIENCE)


def test_a_failed_save_is_tried_ever_more_rarely_identity(tmp_path, disk, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("cajole.studio.project_saver.time.monotonic", lambda: now[0])
    keeper = ProjectSaver(
        ProjectStore(tmp_path), ProjectStartup(ProjectRecord(generate_id(), "Sway", "edit", {}), lambda progress: None)
    )
    assert keeper.get_save_delay() is None
    keeper.record_change("drag")
    waits = []
    for _ in range(8):
        assert keeper.get_save_delay() == 0.0
        keeper.schedule_retry("full")
        waits.append(keeper.get_save_delay())
        now[0] += waits[-1]
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    keeper.schedule_retry("full")
    keeper.record_change("drag")
    assert keeper.get_save_delay() == 0.0


def test_closing_saves_what_could_not_be_saved_before_claim(told, tmp_path, disk, caplog):
    shelf = ProjectStore(tmp_path)
    project = start(shelf=shelf)
    done(project, do="undo")
    disk.is_full = True
    assert "unsaved" in done(project, do="undo")
    disk.is_full = False
    assert project.close(timeout=PATIENCE)
    assert shelf.load(project.id).snapshots["edit"].document == {"count": 2}
    # and where that fails too, it is at least said
    again = start(record=shelf.load(project.id), shelf=shelf, kept=True)
    disk.is_full = True
    done(again, do="undo")
    assert again.close(timeout=PATIENCE)
    assert "its last changes were not saved: cannot write project.json" in caplog.text


def test_a_project_that_is_not_saved_is_not_exported_as_if_it_were_bad_input(told, tmp_path, disk):
    project = start(shelf=ProjectStore(tmp_path))
    done(project, do="undo")
    disk.is_full = True
    done(project, do="undo")
    said = done(project, do="export", what="project", format="cajole")
    assert (said["is"], said["text"]) == ("error", "cannot write project.json: No space left on device")
    disk.is_full = False
    assert project.close(timeout=PATIENCE)


def test_a_mistake_in_saving_is_not_saved_either_bad_input(told, tmp_path, caplog):
    project = start(shelf=ProjectStore(tmp_path))
    done(project, do="undo")
    told[-1].count = float("nan")  # nothing that a file can hold
    assert "unsaved" in done(project, do="undo")
    assert "could not be saved" in caplog.text
    told[-1].count = 5
    assert done(project, do="undo") == {}
    assert project.close(timeout=PATIENCE)


def test_projects_that_are_not_saved_stay_open_identity(told, tmp_path, disk, monkeypatch):
    monkeypatch.setattr("cajole.studio.project_manager.IDLE_PROJECT_TIMEOUT", -1.0)
    monkeypatch.setattr("cajole.studio.project_manager.MAX_OPEN_PROJECTS", 1)
    with running(tmp_path / "studio") as studio:
        first = opened(studio, tmp_path)
        disk.is_full = True
        assert "unsaved" in done(studio.hub.find_project(first), do="undo")
        studio.hub.close_idle_projects()
        assert studio.hub.find_project(first) is not None
        studio.hub.open_scene("twist", "edit")
        assert studio.hub.find_project(first) is not None
        disk.is_full = False
        assert done(studio.hub.find_project(first), do="undo") == {}
        studio.hub.close_idle_projects()
        assert studio.hub.find_project(first) is None
    assert ProjectStore(tmp_path / "studio").load(first).snapshots["edit"].document == {"count": 2}


def test_a_job_is_cancelled_at_once_and_answered_identity(told, jobs, tmp_path):
    project = start(shelf=ProjectStore(tmp_path))
    with jobs.hold("Working"):
        answer = done(project, do="optimise")
        jobs.wait_until_held()
        assert not project.jobs.request_action("cancel", "another")
        assert project.jobs.request_action("cancel", answer["job"])
        # the thread is free again
        assert done(project, do="undo") == {}
    assert project.jobs.current is None
    assert project.close(timeout=PATIENCE)


def test_frames_are_sent_while_a_job_runs_identity(told, jobs, tmp_path):
    project, pipe = start(shelf=ProjectStore(tmp_path)), Outbox()
    project.attach(pipe)

    def is_sent() -> bool:
        data = pipe.pop_next()
        return isinstance(data, bytes) and data[4] == 11

    with jobs.hold("Working"):
        done(project, do="optimise")
        jobs.wait_until_held()
        pipe.request_frames("result", [5])
        wait_until(is_sent, "sending the frame")
        # closing cancels what is under way
        assert project.close(timeout=PATIENCE)


def test_a_mistake_is_answered_and_logged_and_the_project_lives_on_bad_input(told, tmp_path, caplog):
    project = start(shelf=ProjectStore(tmp_path))
    answer = done(project, do="moves")
    assert (answer["is"], answer["code"]) == ("error", "internal")
    assert "mistake of the mode" in caplog.text
    assert done(project, do="undo") == {}
    assert project.close(timeout=PATIENCE)


def test_what_a_mode_made_is_handed_to_the_next_and_kept_identity(told, tmp_path):
    shelf = ProjectStore(tmp_path)
    project = start(shelf=shelf)
    done(project, do="undo")
    done(project, do="mode", mode="keyframe", hand=True)
    moved = small_motion().positions + 1.0
    np.testing.assert_array_equal(told[-1].content.animation.positions, moved)
    assert project.close(timeout=PATIENCE)
    record = shelf.load(project.id)
    assert (record.mode, record.snapshots["edit"].document) == ("keyframe", {"count": 1})
    again = start(record=record, shelf=shelf)
    done(again, do="frame", frame=0)
    assert told[-1].name == "keyframe"
    np.testing.assert_array_equal(told[-1].content.animation.positions, moved)
    # and back to where the first mode was, with what it was opened with
    done(again, do="mode", mode="edit")
    assert (told[-1].name, told[-1].count) == ("edit", 1)
    np.testing.assert_array_equal(told[-1].content.animation.positions, small_motion().positions)
    assert again.close(timeout=PATIENCE)


def test_a_mode_that_cannot_be_entered_leaves_the_present_one_bad_input(told, tmp_path, monkeypatch):
    project = start(shelf=ProjectStore(tmp_path))
    done(project, do="frame", frame=0)

    def broken(*arguments):
        raise InputError("not today; try tomorrow")

    monkeypatch.setattr("cajole.studio.project.create_mode", broken)
    assert done(project, do="mode", mode="keyframe")["remedy"] == "try tomorrow"
    assert done(project, do="mode", mode="reroute", hand=True)["remedy"] == "try tomorrow"
    assert done(project, do="undo") == {}
    assert project.close(timeout=PATIENCE)


def test_projects_that_were_left_are_closed_after_a_while_identity(told, tmp_path, monkeypatch):
    with running(tmp_path / "studio") as studio:
        first = opened(studio, tmp_path)
        studio.hub.close_idle_projects()
        assert studio.hub.find_project(first) is not None
        monkeypatch.setattr("cajole.studio.project_manager.IDLE_PROJECT_TIMEOUT", -1.0)
        with studio.tab() as tab:
            tab.ask("open", project=first)
            studio.hub.close_idle_projects()
            assert studio.hub.find_project(first) is not None  # someone looks at it
        left(studio, first)
        studio.hub.close_idle_projects()
        assert studio.hub.find_project(first) is None
        assert studio.hub.active_project_id is None
        # from the shelf again
        with studio.tab() as tab:
            tab.ask("open", project=first)
            tab.state()


def test_only_a_few_projects_stay_open_identity(told, tmp_path, monkeypatch):
    monkeypatch.setattr("cajole.studio.project_manager.MAX_OPEN_PROJECTS", 2)
    with running(tmp_path / "studio") as studio:
        first, second, third = (opened(studio, tmp_path) for _ in range(3))
        assert studio.hub.find_project(first) is None
        assert studio.hub.find_project(second) is not None
        assert studio.hub.active_project_id == third


def opened(studio: Running, folder) -> str:
    """A project that was opened by a tab, which has left."""
    with studio.tab() as tab:
        project = tab.ask("open", project=studio.hub.open_path(sway_file(folder)).id)["project"]
        tab.state()
    left(studio, project)
    return project


def left(studio: Running, project: str) -> None:
    """Wait until the studio has noticed that the tab is gone."""
    wait_until(lambda: not len(studio.hub.find_project(project).clients), "noticing that the tab is gone")
