"""What is said of each goal after the second run: reached or not, how like the pilot, and what stood in the way."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from cajole.arrays import Array
from cajole.body import BodySprings
from cajole.direct.rerouting.force_distribution import build_spring_graph
from cajole.direct.rerouting.goals import GoalSet
from cajole.direct.rerouting.path_similarity import compute_path_similarity
from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.direct.rerouting.report import GoalPath, GoalReport

# a limit that holds in this share of a window's steps is what keeps a node away
SATURATION_SHARE = 0.8
# a force this near to its limit is at it
SATURATION_RATIO = 1.0 - 1e-6
# goals this much farther from a fixed vertex than the springs between are long are told
OVERSTRETCH_RATIO = 1.02


def extract_path(simulation: PilotSimulation, goal_set: GoalSet, g: int, positions: Array) -> GoalPath:
    """The way of aim g's node in `positions` (frames, n, 3) [m]."""
    first, last, vertex = int(goal_set.start_frames[g]), int(goal_set.end_frames[g]), int(goal_set.vertices[g])
    frames = np.arange(first, last + 1)
    return GoalPath(vertex, frames, simulation.positions[frames, vertex], positions[frames, vertex])


def build_goal_report(
    simulation: PilotSimulation,
    goal_set: GoalSet,
    g: int,
    path: GoalPath,
    forces: Array,
    within: float,
    limit: float | None,
) -> GoalReport:
    """The report of aim g; forces (frames, n, 3) [N]."""
    far = np.linalg.norm(path.positions - goal_set.targets[g], axis=1)
    nearest = int(far.argmin())
    error = float(far[-1])
    stretch, pin = _compute_overstretch(simulation, goal_set, g)
    saturation = _compute_saturation(forces[path.frames[1:]], limit)
    notes, asked = [], int(goal_set.requested_window_lengths[g])
    if stretch > OVERSTRETCH_RATIO:
        notes.append(f"it lies {stretch:.2f} times as far from fixed vertex {pin} as the springs between are long")
    if path.frames[0] == 0 and len(path.frames) - 1 < asked:
        notes.append(f"its window would begin before frame 0 and is cut from {asked} to {len(path.frames) - 1} frames")
    why = "" if error <= within else _describe_failure(saturation, limit, notes)
    return GoalReport(
        int(goal_set.goal_indices[g]),
        path.vertex,
        int(path.frames[-1]),
        int(path.frames[0]),
        float(np.linalg.norm(goal_set.targets[g] - path.pilot_positions[-1])),
        error,
        float(far[nearest]),
        int(path.frames[nearest]),
        _compute_final_speed(path.positions, simulation.h),
        _compute_final_speed(path.pilot_positions, simulation.h),
        compute_path_similarity(path.positions, path.pilot_positions),
        why,
        tuple(notes) if error <= within else (),
    )


def _describe_failure(saturation: float, limit: float | None, notes: list[str]) -> str:
    if saturation >= SATURATION_SHARE:
        reason = f"the limit of {limit:.3g} N holds in {saturation:.0%} of the steps; raise it, or widen the window"
    elif saturation > 0.0:
        reason = f"the limit of {limit:.3g} N holds in {saturation:.0%} of the steps; raise it, or try least-force"
    else:
        reason = "no path was found; widen the window or the reach, or try another method"
    return "; ".join([reason, *notes])


def _compute_saturation(forces: Array, limit: float | None) -> float:
    """The share of steps in which some node's force is at the limit."""
    if limit is None:
        return 0.0
    most = np.linalg.norm(forces, axis=2).max(axis=1)
    return float((most >= SATURATION_RATIO * limit).mean())


def _compute_overstretch(simulation: PilotSimulation, goal_set: GoalSet, g: int) -> tuple[float, int]:
    """The goal's distance from a fixed vertex over the springs' at rest, the largest, and which vertex that is."""
    body: BodySprings = simulation.body
    if not len(body.fixed):
        return 0.0, -1
    graph: sp.csr_array = build_spring_graph(body)
    along = dijkstra(graph, directed=False, indices=int(goal_set.vertices[g]))[body.fixed]
    straight = np.linalg.norm(simulation.positions[goal_set.end_frames[g], body.fixed] - goal_set.targets[g], axis=1)
    ratio = straight / along  # infinitely far along springs where there are none
    worst = int(ratio.argmax())
    return float(ratio[worst]), int(body.fixed[worst])


def _compute_final_speed(path: Array, h: float) -> float:
    return float(np.linalg.norm(path[-1] - path[-2])) / h
