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
from cajole.dynamics.driven import Watch, simulate_driven
from cajole.errors import InputError
from cajole.progress import Progress
from cajole.studio import take
from cajole.studio.modes.base import Message
from cajole.studio.modes.reroute_dials import FPS, Dials
from cajole.studio.modes.reroute_goals import Goals
from cajole.studio.modes.telling import percent

if TYPE_CHECKING:
    from cajole.studio.modes.reroute import RerouteMode

Made = TypeVar("Made")
# what is told of a second run beside its goals
FACTS = ("method", "reached", "count", "effort", "peak", "error", "shape", "seconds", "text", "report")
# what a scene says of its pilot, frame by frame: of no use for another number of frames
TIMED = ("rest_lengths", "capsules")


@dataclass(frozen=True)
class Asked:
    """All that a second run depends on."""

    goals: Goals
    dials: Dials


@dataclass(frozen=True, eq=False)
class Run:
    """A second run. curve (frames,): added force in weights of the net; about: what is told of it.

    asked: what it was made from, None of one that was kept from an earlier sitting and is out of date.
    """

    motion: Animation
    curve: Array
    about: Mapping[str, Any]
    asked: Asked | None

    @property
    def method(self) -> str:
        return str(self.about["method"])


def fly(mode: RerouteMode, message: Message) -> Mapping[str, Any]:
    """Run the pilot; its frames are seen as they come. Raises InputError where one was given, SolveError, Cancelled."""
    if mode.content.animation is not None:
        raise InputError("the motion that was opened is the pilot; there is nothing to run")
    mode.settle()
    before = mode.moment()

    def work(progress: Progress) -> Animation:
        return _flown(mode, progress, lambda frame, positions: _came(mode, frame, positions))

    mode.pilot = _job(mode, "Running the pilot", "pilot", work)
    mode.run = mode.other = None
    label = None
    if before.pilot is not None:
        label = "run the pilot"
        mode.history.add(label, before)
    mode.desk.redraw()  # it takes more room than the net at rest
    mode.refresh(label)
    return {"frames": mode.pilot.frames}


def _flown(mode: RerouteMode, progress: Progress, watch: Watch) -> Animation:
    plan = mode.content.reroute
    if plan is not None:
        made = plan.run(progress, watch)
    else:
        made = simulate_driven(
            mode.net, mode.dials.frames, 1 / FPS, gravity=EARTH_GRAVITY, watch=watch, progress=progress
        )
    return replace(made, name=mode.content.name)


def _came(mode: RerouteMode, frame: int, positions: Array) -> None:
    mode.coming.append(np.array(positions))
    mode.desk.changed(motion=False)


def again(mode: RerouteMode, message: Message) -> Mapping[str, Any]:
    """Run the pilot again, its nodes led to their goals. Raises InputError without goals, SolveError, Cancelled."""
    before = mode.moment()
    mode.run = made = _led(mode, mode.asked())
    mode.other, mode.sight = None, made.method
    mode.history.add("run again", before)
    mode.refresh("run again")
    _tell(mode, made)
    return {"reached": made.about["reached"]}


def compare(mode: RerouteMode, message: Message) -> None:
    """Have the second run of a method shown, beside the last one; whichever is not there yet is made."""
    wanted = take.one_of(message, "with", METHODS)
    if mode.run is None or mode.is_stale():
        again(mode, message)
    run = mode.run
    if run is None or run.asked is None:
        raise InputError("there is no second run to compare with; run again first")
    if wanted != run.method and (mode.other is None or mode.other.method != wanted):
        mode.other = _led(mode, replace(run.asked, dials=replace(run.asked.dials, method=wanted)))
    mode.sight = wanted
    mode.refresh(None)


def _led(mode: RerouteMode, asked: Asked) -> Run:
    mode.settle()
    pilot, count = mode.required_pilot(), len(asked.goals)
    if not asked.goals:
        raise InputError("nothing is asked for yet; go to a frame, click a vertex and drag it to where it shall be")
    goals, dials = [goal.wanted() for goal in asked.goals], asked.dials

    def work(progress: Progress) -> Run:
        result = reroute(
            mode.net, pilot, goals, dials.method, dials.within, dials.limit, reach=dials.reach, alpha=dials.alpha,
            progress=progress, **timed(mode, pilot),
        )  # fmt: skip
        return Run(result.animation, result.report.gentleness, about(result.report, asked.goals), asked)

    return _job(mode, f"Leading {count} {'vertex' if count == 1 else 'vertices'} by {dials.method}", "run", work)


def timed(mode: RerouteMode, pilot: Animation) -> dict[str, Any]:
    """What the scene knows of every frame of its pilot: contraction, limbs in the way."""
    plan = mode.content.reroute
    if plan is None or pilot.frames != plan.frames:
        return {}
    return {name: plan.settings[name] for name in TIMED if name in plan.settings}


def _job(mode: RerouteMode, title: str, making: str, work: Callable[[Progress], Made]) -> Made:
    """Long work, told as a job; nothing is left of it where it ends early."""
    progress = mode.desk.working(title)
    mode.running, mode.making, mode.coming = mode.desk.job, making, []
    mode.desk.changed(motion=making == "pilot")
    try:
        made = work(progress)
    finally:
        mode.running, mode.making, mode.coming = None, None, []
        mode.desk.changed()
    mode.desk.worked()
    return made


def about(report: RerouteReport, goals: Goals) -> dict[str, Any]:
    """What there is to tell of a second run, as plain values."""
    told = [_goal(each, goal.id) for each, goal in zip(report.goals, goals)]
    return {
        "method": report.method, "reached": report.reached, "count": len(told), "effort": report.effort,
        "peak": report.peak, "error": max(each["error"] for each in told), "goals": told,
        "shape": max(each["shape"] for each in told), "seconds": report.seconds, "text": _text(report),
        "report": str(report),
    }  # fmt: skip


def _goal(goal: GoalReport, name: str) -> dict[str, Any]:
    alike = goal.likeness
    return {
        "id": name, "reached": goal.reached, "error": goal.error, "offset": goal.offset, "start": goal.start,
        "closest": goal.closest, "closest_frame": goal.closest_frame, "why": goal.why, "notes": list(goal.notes),
        "shape": alike.shape, "stepping": alike.stepping, "turning": alike.turning,
        "speed": goal.speed, "pilot_speed": goal.pilot_speed,
    }  # fmt: skip


def _text(report: RerouteReport) -> str:
    count, force = len(report.goals), percent(float(report.gentleness.max()))
    goals = {1: "The goal is", 2: "Both goals are"}.get(count, f"All {count} goals are")
    if report.reached < count:
        goals = "The goal is not" if count == 1 else f"{report.reached} of {count} goals are"
    return f"{goals} reached within {report.within:.3g} m, with {force} of the net's weight at most."


def _tell(mode: RerouteMode, made: Run) -> None:
    missed = made.about["count"] - made.about["reached"]
    why = next((goal["why"] for goal in made.about["goals"] if goal["why"]), "")
    mode.desk.say({
        "is": "notice", "tone": "warn" if missed else "ok", "title": made.about["text"],
        "text": f"{why[:1].upper()}{why[1:]}." if why else "",
    })  # fmt: skip
