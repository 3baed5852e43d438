"""State of Reroute for the page: goals with their paths, and their lane."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import UNSET

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodySprings
from cajole.direct.rerouting.goals import build_goal_set
from cajole.studio.content import ProjectContent
from cajole.studio.messages import Lane, Marker
from cajole.studio.modes.payloads import to_rounded_list, to_vec3
from cajole.studio.modes.reroute.messages import GoalInfo, GoalOutcome
from cajole.studio.modes.reroute.run import Goals


def describe_goals(
    content: ProjectContent,
    net: BodySprings,
    goals: Goals,
    alpha: float,
    pilot: Animation | None,
    rerouted: Animation | None,
    outcomes: Mapping[str, GoalOutcome],
    *,
    max_paths: int = 160,
) -> list[GoalInfo]:
    """Goals with the paths of their vertices in the pilot and in the rerouted motion, at most `max_paths` of them.

    outcomes: by goal id, of a run that is up to date.
    """
    starts, windows = [goal.frame for goal in goals], [0] * len(goals)
    if pilot is not None and goals:
        positions = np.asarray(pilot.positions, dtype=np.float64)
        goal_set = build_goal_set([goal.to_goal() for goal in goals], net, positions, alpha)
        starts = [int(start) for start in goal_set.start_frames]
        windows = [int(length) for length in goal_set.requested_window_lengths]
    described = []
    for k, (goal, start, window) in enumerate(zip(goals, starts, windows)):
        wanted: Array = np.array(goal.position)
        given = wanted if pilot is None else pilot.positions[goal.frame, goal.node]
        outcome, path, rerouted_path = outcomes.get(goal.id), list[float](), None
        if pilot is not None and k < max_paths:
            led = slice(start, goal.frame + 1)
            path = to_rounded_list(pilot.positions[led, goal.node])
            rerouted_path = None if rerouted is None else to_rounded_list(rerouted.positions[led, goal.node])
        described.append(
            GoalInfo(
                id=goal.id,
                node=goal.node,
                frame=goal.frame,
                name=goal.name or content.describe_vertex(goal.node),
                position=goal.position,
                given=to_vec3(given),
                moved=float(np.linalg.norm(wanted - given)),
                window=goal.window,
                start=start,
                asked=window,
                report=outcome,
                warn=None if outcome is None or outcome.reached else outcome.why,
                pilot=path,
                led=rerouted_path,
            )
        )
    return described


def build_goal_lane(goals: list[GoalInfo], selected: list[int], fps: float) -> Lane:
    """The lane of goals, each with the frames in which its vertex is led."""
    markers = [
        Marker(
            id=goal.id,
            frame=goal.frame,
            text=goal.name,
            detail=f"{goal.frame / fps:.2f} s · {goal.moved:.3g} m, led from frame {goal.start}",
            reach=(goal.start, goal.frame),
            selected=goal.node in selected,
            warn=goal.warn or UNSET,
        )
        for goal in goals
    ]
    return Lane(id="goals", name="Goals", shape="disc", tone="asked", markers=markers)
