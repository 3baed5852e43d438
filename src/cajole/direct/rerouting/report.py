"""Results of `reroute`: the new motion, the paths and forces of the controlled nodes, and a report of each goal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body.body_weights import compute_rms
from cajole.direct.rerouting.force_distribution import compute_graph_distances
from cajole.direct.rerouting.path_similarity import PathSimilarity, compute_path_similarity
from cajole.direct.rerouting.tracking import GoalWindow


@dataclass(frozen=True, eq=False)
class GoalPath:
    """The path of a goal's node over its window: frames (N + 1,), positions (N + 1, 3) [m] in the pilot and now."""

    vertex: int
    frames: NDArray[np.int64]
    pilot_positions: Array
    positions: Array


@dataclass(frozen=True)
class GoalReport:
    """Report of one goal: its index in the list given, vertex and frame; start_frame: the start of its window.

    pilot_distance [m]: from the goal to the pilot; error [m]: from the node to the goal at its frame; closest_distance
    [m]: the smallest within the window, at closest_frame. arrival_speed, pilot_speed [m/s] at the goal's frame.
    similarity: of the path to the pilot's. failure_reason: empty if the goal was reached. notes: remarks.
    """

    goal_index: int
    vertex: int
    frame: int
    start_frame: int
    pilot_distance: float
    error: float
    closest_distance: float
    closest_frame: int
    arrival_speed: float
    pilot_speed: float
    similarity: PathSimilarity
    failure_reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_successful(self) -> bool:
        """True if the node is within the tolerance at the goal's frame."""
        return not self.failure_reason

    def __str__(self) -> str:
        likeness = self.similarity
        correlation = likeness.turning_correlation
        turning = "" if correlation is None else f", turning {correlation:.2f}"
        kept = f"shape {likeness.shape_distance:.2g}, steps {likeness.step_length_variation:.2g}{turning}"
        goal = f"vertex {self.vertex} at frame {self.frame}, {self.pilot_distance:.3g} m away"
        head = f"{goal}, led from frame {self.start_frame}"
        if self.is_successful:
            return f"{head}: reached to {self.error:.1e} m; {kept}"
        nearest = f"the nearest that it comes is {self.closest_distance:.3g} m at frame {self.closest_frame}"
        return f"{head}: missed by {self.error:.3g} m ({nearest}): {self.failure_reason}"


@dataclass(frozen=True)
class MethodSummary:
    """Result of another method with the same goals: effort [N² s], peak force [N], largest error [m], number of goals
    reached, and the largest shape distance of a path from the pilot's."""

    effort: float
    peak_force: float
    max_error: float
    reached_count: int
    max_shape_distance: float


@dataclass(frozen=True)
class RerouteReport:
    """method, within [m], limit [N] or None, reach [m]; goals: one report each, in the order given.

    effort: h Σ |f|² over nodes and steps [N² s]; peak_force [N]: the largest on a node. gentleness (frames,): force in
    the step into each frame [body weights]. comparison: results of all methods, if requested. seconds: wall-clock time.
    """

    method: str
    within: float
    limit: float | None
    reach: float
    goals: tuple[GoalReport, ...]
    effort: float
    peak_force: float
    gentleness: Array = field(repr=False)
    seconds: float
    comparison: Mapping[str, MethodSummary] = field(default_factory=dict)

    @property
    def reached_count(self) -> int:
        """Number of goals that are reached."""
        return sum(goal.is_successful for goal in self.goals)

    @property
    def mean_gentleness(self) -> float:
        """Root mean square of the force over the frames in which it acts, in body weights."""
        return compute_rms(self.gentleness[self.gentleness > 0.0])

    def __str__(self) -> str:
        most = "" if self.limit is None else f" of {self.limit:.3g} allowed"
        rows = [
            f"reroute: {self.reached_count} of {len(self.goals)} goals within {self.within:.3g} m, by {self.method}",
            f"  effort       {self.effort:.3g} N² s, {self.peak_force:.3g} N on a node at most{most}",
            f"  gentleness   {self.mean_gentleness:.3g} weights (rms while led), {self.gentleness.max():.3g} at most",
            f"  time         {self.seconds:.3g} s",
        ]
        for goal in self.goals:
            rows.append(f"  {goal}")
            rows += [f"    {note}" for note in goal.notes]
        rows += [
            f"  {name:<12} effort {other.effort:.3g} N² s, peak {other.peak_force:.3g} N, {other.reached_count} "
            f"reached, worst {other.max_error:.1e} m, shape off by {other.max_shape_distance:.2g}"
            for name, other in self.comparison.items()
        ]
        return "\n".join(rows)


@dataclass(frozen=True, eq=False)
class RerouteResult:
    """animation: the new motion; paths: of every goal, beside the pilot's; forces (frames, n, 3) [N]: row k acts in the
    step into frame k, as `simulate` takes it; report."""

    animation: Animation
    paths: tuple[GoalPath, ...]
    forces: Array
    report: RerouteReport

    def __repr__(self) -> str:
        goals = len(self.report.goals)
        return f"RerouteResult({self.animation!r}, {self.report.reached_count} of {goals} goals reached)"


def build_goal_report(window: GoalWindow, g: int, path: GoalPath, forces: Array) -> GoalReport:
    """The report of goal g, which is reached within window.within; forces (frames, n, 3) [N]."""
    goals, simulation, limit = window.goal_set, window.simulation, window.limit
    distances = np.linalg.norm(path.positions - goals.targets[g], axis=1)
    nearest, error = int(distances.argmin()), float(distances[-1])
    notes, requested = [], int(goals.requested_window_lengths[g])
    stretch, fixed_vertex = _compute_overstretch(window, g)
    if stretch > 1.02:
        notes.append(
            f"it lies {stretch:.2f} times as far from fixed vertex {fixed_vertex} as the springs between are long"
        )
    if path.frames[0] == 0 and len(path.frames) - 1 < requested:
        notes.append(
            f"its window would begin before frame 0 and is cut from {requested} to {len(path.frames) - 1} frames"
        )
    reason, saturation = "", 0.0
    if error > window.within:
        if limit is not None:
            # share of the steps in which a force is at the limit, up to rounding
            largest = np.linalg.norm(forces[path.frames[1:]], axis=2).max(axis=1)
            saturation = float((largest >= (1.0 - 1e-6) * limit).mean())
        if saturation >= 0.8:
            reason = f"the limit of {limit:.3g} N holds in {saturation:.0%} of the steps; raise it, or widen the window"
        elif saturation > 0.0:
            reason = f"the limit of {limit:.3g} N holds in {saturation:.0%} of the steps; raise it, or try least-force"
        else:
            reason = "no path was found; widen the window or the reach, or try another method"
        reason = "; ".join([reason, *notes])
    speeds = [float(np.linalg.norm(x[-1] - x[-2])) / simulation.h for x in (path.positions, path.pilot_positions)]
    return GoalReport(
        goal_index=int(goals.goal_indices[g]),
        vertex=path.vertex,
        frame=int(path.frames[-1]),
        start_frame=int(path.frames[0]),
        pilot_distance=float(np.linalg.norm(goals.targets[g] - path.pilot_positions[-1])),
        error=error,
        closest_distance=float(distances[nearest]),
        closest_frame=int(path.frames[nearest]),
        arrival_speed=speeds[0],
        pilot_speed=speeds[1],
        similarity=compute_path_similarity(path.positions, path.pilot_positions),
        failure_reason=reason,
        notes=() if reason else tuple(notes),
    )


def _compute_overstretch(window: GoalWindow, g: int) -> tuple[float, int]:
    """Largest ratio of the distance of goal g from a fixed vertex to the rest length of the springs between, and which
    vertex that is; (0, -1) without fixed vertices."""
    goals, body = window.goal_set, window.simulation.body
    if not len(body.fixed):
        return 0.0, -1
    along = compute_graph_distances(body, goals.vertices[g : g + 1])[0, body.fixed]
    positions = window.simulation.positions[goals.end_frames[g], body.fixed]
    # springs that do not connect them have infinite length
    ratios = np.linalg.norm(positions - goals.targets[g], axis=1) / along
    worst = int(ratios.argmax())
    return float(ratios[worst]), int(body.fixed[worst])
