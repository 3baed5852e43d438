"""Pilot and second run under way: jobs that are watched and cancelled, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY
from cajole.direct.rerouting import METHODS, GoalReport, RerouteReport, reroute
from cajole.dynamics.prescribed_motion import FrameCallback, simulate_with_prescribed_motion
from cajole.errors import InputError
from cajole.progress import ProgressCallback
from cajole.studio import message_values
from cajole.studio.modes.base import Message
from cajole.studio.modes.payloads import format_percent
from cajole.studio.modes.reroute.goals import Goals
from cajole.studio.modes.reroute.settings import PILOT_FPS, RerouteModeSettings

if TYPE_CHECKING:
    from cajole.studio.modes.reroute.mode import RerouteMode

AnyResult = TypeVar("AnyResult")
# what is told of a second run beside its goals
SUMMARY_KEYS = ("method", "reached", "count", "effort", "peak", "error", "shape", "seconds", "text", "report")
# what a scene says of its pilot, frame by frame: of no use for another number of frames
PER_FRAME_OPTIONS = ("rest_lengths", "capsules")


@dataclass(frozen=True)
class RerouteInputs:
    """All that a second run depends on."""

    goals: Goals
    settings: RerouteModeSettings


@dataclass(frozen=True, eq=False)
class RerouteRun:
    """A second run. curve (frames,): added force in weights of the net; about: what is told of it.

    asked: what it was made from, None of one that was kept from an earlier sitting and is out of date.
    """

    animation: Animation
    added_force: Array
    summary: Mapping[str, Any]
    inputs: RerouteInputs | None

    @property
    def method(self) -> str:
        return str(self.summary["method"])


def run_pilot(mode: RerouteMode, message: Message) -> Mapping[str, Any]:
    """Run the pilot; its frames are seen as they come. Raises InputError where one was given, SolveError, Cancelled."""
    if mode.content.animation is not None:
        raise InputError("the motion that was opened is the pilot; there is nothing to run")
    mode.finish_interaction()
    before = mode.capture_state()

    def run_task(progress: ProgressCallback) -> Animation:
        return _simulate_pilot(mode, progress, lambda frame, positions: _record_pilot_frame(mode, frame, positions))

    mode.pilot = _run_job(mode, "Running the pilot", "pilot", run_task)
    mode.rerouted_run = mode.comparison_run = None
    label = None
    if before.pilot is not None:
        label = "run the pilot"
        mode.history.record(label, before)
    mode.host.resend_geometry()  # it takes more room than the net at rest
    mode.send_frames(label)
    return {"frames": mode.pilot.frames}


def _simulate_pilot(mode: RerouteMode, progress: ProgressCallback, on_frame: FrameCallback) -> Animation:
    plan = mode.content.reroute_setup
    if plan is not None:
        made = plan.simulate_pilot(progress, on_frame)
    else:
        made = simulate_with_prescribed_motion(
            mode.net, mode.settings.frames, 1 / PILOT_FPS, gravity=EARTH_GRAVITY, on_frame=on_frame, progress=progress
        )
    return replace(made, name=mode.content.name)


def _record_pilot_frame(mode: RerouteMode, frame: int, positions: Array) -> None:
    mode.partial_frames.append(np.array(positions))
    mode.host.record_change(frames_changed=False)


def run_reroute(mode: RerouteMode, message: Message) -> Mapping[str, Any]:
    """Run the pilot again, its nodes led to their goals. Raises InputError without goals, SolveError, Cancelled."""
    before = mode.capture_state()
    mode.rerouted_run = made = _solve_reroute(mode, mode.get_run_inputs())
    mode.comparison_run, mode.shown_method = None, made.method
    mode.history.record("run again", before)
    mode.send_frames("run again")
    _broadcast_outcome(mode, made)
    return {"reached": made.summary["reached"]}


def show_method(mode: RerouteMode, message: Message) -> None:
    """Have the second run of a method shown, beside the last one; whichever is not there yet is made."""
    wanted = message_values.read_choice(message, "with", METHODS)
    if mode.rerouted_run is None or mode.is_stale():
        run_reroute(mode, message)
    run = mode.rerouted_run
    if run is None or run.inputs is None:
        raise InputError("there is no second run to compare with; run again first")
    if wanted != run.method and (mode.comparison_run is None or mode.comparison_run.method != wanted):
        mode.comparison_run = _solve_reroute(
            mode, replace(run.inputs, settings=replace(run.inputs.settings, method=wanted))
        )
    mode.shown_method = wanted
    mode.send_frames(None)


def _solve_reroute(mode: RerouteMode, inputs: RerouteInputs) -> RerouteRun:
    mode.finish_interaction()
    pilot, count = mode.require_pilot(), len(inputs.goals)
    if not inputs.goals:
        raise InputError("nothing is asked for yet; go to a frame, click a vertex and drag it to where it shall be")
    goals, dials = [goal.to_goal() for goal in inputs.goals], inputs.settings

    def run_task(progress: ProgressCallback) -> RerouteRun:
        result = reroute(
            mode.net, pilot, goals, dials.method, dials.within, dials.limit, reach=dials.reach, alpha=dials.alpha,
            progress=progress, **collect_per_frame_options(mode, pilot),
        )  # fmt: skip
        return RerouteRun(
            result.animation, result.report.gentleness, summarise_report(result.report, inputs.goals), inputs
        )

    return _run_job(
        mode, f"Leading {count} {'vertex' if count == 1 else 'vertices'} by {dials.method}", "run", run_task
    )


def collect_per_frame_options(mode: RerouteMode, pilot: Animation) -> dict[str, Any]:
    """What the scene knows of every frame of its pilot: contraction, limbs in the way."""
    plan = mode.content.reroute_setup
    if plan is None or pilot.frames != plan.frames:
        return {}
    return {name: plan.reroute_options[name] for name in PER_FRAME_OPTIONS if name in plan.reroute_options}


def _run_job(mode: RerouteMode, title: str, stage: str, task: Callable[[ProgressCallback], AnyResult]) -> AnyResult:
    """Long work, told as a job; nothing is left of it where it ends early."""
    progress = mode.host.begin_job(title)
    mode.running_job, mode.running_stage, mode.partial_frames = mode.host.job_id, stage, []
    mode.host.record_change(frames_changed=stage == "pilot")
    try:
        made = task(progress)
    finally:
        mode.running_job, mode.running_stage, mode.partial_frames = None, None, []
        mode.host.record_change()
    mode.host.end_job()
    return made


def summarise_report(report: RerouteReport, goals: Goals) -> dict[str, Any]:
    """What there is to tell of a second run, as plain values."""
    told = [_describe_goal_report(each, goal.id) for each, goal in zip(report.goals, goals)]
    return {
        "method": report.method, "reached": report.reached_count, "count": len(told), "effort": report.effort,
        "peak": report.peak_force, "error": max(each["error"] for each in told), "goals": told,
        "shape": max(each["shape"] for each in told), "seconds": report.seconds, "text": _describe_outcome(report),
        "report": str(report),
    }  # fmt: skip


def _describe_goal_report(goal: GoalReport, name: str) -> dict[str, Any]:
    alike = goal.similarity
    return {
        "id": name,
        "reached": goal.is_successful,
        "error": goal.error,
        "offset": goal.pilot_distance,
        "start": goal.start_frame,
        "closest": goal.closest_distance,
        "closest_frame": goal.closest_frame,
        "why": goal.failure_reason,
        "notes": list(goal.notes),
        "shape": alike.shape_distance,
        "stepping": alike.step_length_variation,
        "turning": alike.turning_correlation,
        "speed": goal.arrival_speed,
        "pilot_speed": goal.pilot_speed,
    }


def _describe_outcome(report: RerouteReport) -> str:
    count, force = len(report.goals), format_percent(float(report.gentleness.max()))
    goals = {1: "The goal is", 2: "Both goals are"}.get(count, f"All {count} goals are")
    if report.reached_count < count:
        goals = "The goal is not" if count == 1 else f"{report.reached_count} of {count} goals are"
    return f"{goals} reached within {report.within:.3g} m, with {force} of the net's weight at most."


def _broadcast_outcome(mode: RerouteMode, run: RerouteRun) -> None:
    missed = run.summary["count"] - run.summary["reached"]
    why = next((goal["why"] for goal in run.summary["goals"] if goal["why"]), "")
    mode.host.broadcast({
        "is": "notice", "tone": "warn" if missed else "ok", "title": run.summary["text"],
        "text": f"{why[:1].upper()}{why[1:]}." if why else "",
    })  # fmt: skip
