"""The control over long work in tests: held work waits, and with a fast solver other work takes no time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from cajole.studio.jobs import JobTracker
from job_control import Gate, GatedJobs, GatedPipe, JobControl
from waiting import PATIENCE

Reports = list[bool | None]


@pytest.fixture
def control(tmp_path: Path) -> JobControl:
    return JobControl(tmp_path / "jobs")


def gated(control: JobControl, *, fast: bool) -> tuple[JobTracker, GatedPipe]:
    """Jobs that tell a tab."""
    gate = Gate(control, fast=fast)
    pipe = GatedPipe(gate)
    return GatedJobs(gate, pipe.enqueue_message, lambda: False), pipe


def work(jobs: JobTracker) -> tuple[threading.Thread, Reports]:
    """A job of three reports on a thread of its own, and what they returned so far."""
    progress, returned = jobs.begin("Working", stoppable=True), Reports()

    def run() -> None:
        for fraction in (0.2, 0.4, 0.6):
            returned.append(progress(fraction, "on"))
        jobs.end("done")

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, returned


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("where", [{"report": 2}, {"fraction": 0.3}])
def test_held_work_waits_and_can_be_stopped_identity(control: JobControl, fast: bool, where: dict[str, float]) -> None:
    jobs, pipe = gated(control, fast=fast)
    with control.hold("Working", **where):
        thread, returned = work(jobs)
        control.wait_until_held()
        assert returned == [True]
        assert "running" in str(pipe.pop_next())
        present = jobs.current
        assert present is not None
        assert jobs.request_action("stop", present.job)
        thread.join(PATIENCE)
    assert returned == [True, False, False]


def test_released_work_goes_on_identity(control: JobControl) -> None:
    jobs, _ = gated(control, fast=False)
    with control.hold("Working"):
        thread, returned = work(jobs)
        control.wait_until_held()
        assert returned == []
    thread.join(PATIENCE)
    assert returned == [True, True, True]


def test_other_work_is_not_held_identity(control: JobControl) -> None:
    jobs, _ = gated(control, fast=False)
    with control.hold("Another"):
        thread, returned = work(jobs)
        thread.join(PATIENCE)
    assert returned == [True, True, True]


def test_fast_work_is_over_before_anything_is_told_identity(control: JobControl) -> None:
    jobs, pipe = gated(control, fast=True)
    jobs.begin("Working", stoppable=True)
    present = jobs.current
    assert present is not None
    assert pipe.pop_next() is None
    assert not jobs.request_action("stop", present.job)
    jobs.end("done")
    assert "running" in str(pipe.pop_next())
    assert "done" in str(pipe.pop_next())
