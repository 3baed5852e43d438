"""Goals of Reroute, and the result of a run that leads vertices to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct.rerouting import Goal, RerouteReport
from cajole.studio.modes.payloads import format_percent
from cajole.studio.modes.reroute.messages import GoalOutcome, RerouteDials, RerouteMethod, RerouteRunReport
from cajole.studio.modes.timeline_markers import TimelineMarker, get_next_number, replace_marker, sort_markers

Point3 = tuple[float, float, float]


@dataclass(frozen=True)
class GoalMarker(TimelineMarker):
    """Vertex `node` is to be at `position` [m] at its frame.

    window: number of frames in which it is led there, None for one that suits the distance; name: None if the user
    gave none.
    """

    noun: ClassVar[str] = "goal"

    node: int
    position: Point3
    window: int | None = None
    name: str | None = None

    @property
    def title(self) -> str:
        return self.name or f"goal {self.number}"

    def to_goal(self) -> Goal:
        """The goal as `reroute` takes it."""
        return Goal(self.node, self.frame, self.position, self.window)


Goals = tuple[GoalMarker, ...]


def find_goal(goals: Goals, node: int, frame: int) -> GoalMarker | None:
    """The goal of a vertex at a frame."""
    return next((goal for goal in goals if (goal.node, goal.frame) == (node, frame)), None)


def set_goal_positions(goals: Goals, frame: int, nodes: Sequence[int], positions: Array) -> Goals:
    """Goals with vertices at `positions` (k, 3) [m] at a frame; a goal that exists keeps its window and name."""
    for node, position in zip(nodes, positions):
        old, point = find_goal(goals, node, frame), (float(position[0]), float(position[1]), float(position[2]))
        if old is None:
            goals = sort_markers([*goals, GoalMarker(get_next_number(goals), frame, node, point)])
        else:
            goals = replace_marker(goals, replace(old, position=point))
    return goals


def summarise_report(report: RerouteReport, goals: Goals) -> tuple[RerouteRunReport, tuple[GoalOutcome, ...]]:
    """Summary of a run, and the outcome of each goal."""
    outcomes = tuple(
        GoalOutcome(
            id=goal.id,
            reached=each.is_successful,
            error=each.error,
            closest=each.closest_distance,
            closest_frame=each.closest_frame,
            why=each.failure_reason,
            notes=each.notes,
            shape=each.similarity.shape_distance,
            stepping=each.similarity.step_length_variation,
            turning=each.similarity.turning_correlation,
            speed=each.arrival_speed,
            pilot_speed=each.pilot_speed,
        )
        for each, goal in zip(report.goals, goals)
    )
    count, force = len(outcomes), format_percent(float(report.gentleness.max()))
    if report.reached_count == count:
        subject = {1: "The goal is", 2: "Both goals are"}.get(count, f"All {count} goals are")
    else:
        subject = "The goal is not" if count == 1 else f"{report.reached_count} of {count} goals are"
    return RerouteRunReport(
        method=cast(RerouteMethod, report.method),
        reached=report.reached_count,
        count=count,
        effort=report.effort,
        peak=report.peak_force,
        error=max(each.error for each in outcomes),
        shape=max(each.shape for each in outcomes),
        seconds=report.seconds,
        text=f"{subject} reached within {report.within:.3g} m, with {force} of the net's weight at most.",
        report=str(report),
        stale=False,
    ), outcomes


@dataclass(frozen=True)
class RerouteInputs:
    """All inputs of a run beside the pilot; held: fixed vertices of a net made of a mesh."""

    goals: Goals
    dials: RerouteDials
    held: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RerouteRun:
    """A rerouted motion; added_force: (frames,) in weights of the net; inputs: None if it was saved out of date."""

    animation: Animation
    added_force: Array
    summary: RerouteRunReport
    outcomes: tuple[GoalOutcome, ...]
    inputs: RerouteInputs | None
