"""What `reroute` returns: the second run, the new paths, the forces that led it, and how well and how gently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body.body_weights import compute_rms
from cajole.direct.rerouting.path_similarity import PathSimilarity


@dataclass(frozen=True)
class GoalReport:
    """One goal: number (as given), vertex, frame; start: the frame from which it is led.

    offset [m]: how far it is from the pilot; error [m]: how far the node is from it at its frame; closest [m]: the
    nearest that the node comes within its window, at `closest_frame`. speed [m/s] on arrival, and the pilot's there.
    likeness: to the pilot's path. why: what kept it from being reached; empty where it is. notes: what is unusual.
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
        """Whether the node is within the target set at its frame."""
        return not self.failure_reason

    def __str__(self) -> str:
        turning = (
            ""
            if self.similarity.turning_correlation is None
            else f", turning {self.similarity.turning_correlation:.2f}"
        )
        kept = f"shape {self.similarity.shape_distance:.2g}, steps {self.similarity.step_length_variation:.2g}{turning}"
        goal = f"vertex {self.vertex} at frame {self.frame}, {self.pilot_distance:.3g} m away"
        head = f"{goal}, led from frame {self.start_frame}"
        if self.is_successful:
            return f"{head}: reached to {self.error:.1e} m; {kept}"
        nearest = f"the nearest that it comes is {self.closest_distance:.3g} m at frame {self.closest_frame}"
        return f"{head}: missed by {self.error:.3g} m ({nearest}): {self.failure_reason}"


@dataclass(frozen=True)
class MethodSummary:
    """Another method at the same goals: effort [N² s], peak [N], error [m] of the worst goal, reached: how many,
    shape: the worst of the paths' distances from the pilot's."""

    effort: float
    peak_force: float
    max_error: float
    reached_count: int
    max_shape_distance: float


@dataclass(frozen=True)
class RerouteReport:
    """method, within [m], limit [N] or None, reach [m]; goals: one report each, in the order given.

    effort: h Σ |f|² over nodes and steps [N² s]; peak [N]: the largest force on a node. gentleness (frames,): the
    control as a share of the net's weight in the step into each frame. compared: what every method did, where asked
    for, the one chosen among them. seconds: wall clock.
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
        """How many goals are reached."""
        return sum(goal.is_successful for goal in self.goals)

    @property
    def mean_gentleness(self) -> float:
        """Root mean square of the control over the frames that it acts in, in body weights."""
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
        for name, other in self.comparison.items():
            rows.append(
                f"  {name:<12} effort {other.effort:.3g} N² s, peak {other.peak_force:.3g} N, "
                f"{other.reached_count} reached, "
                f"worst {other.max_error:.1e} m, shape off by {other.max_shape_distance:.2g}"
            )
        return "\n".join(rows)


@dataclass(frozen=True, eq=False)
class GoalPath:
    """The way of a goal's node over its window: frames (N + 1,), pilot and led (N + 1, 3) [m]."""

    vertex: int
    frames: NDArray[np.int64]
    pilot_positions: Array
    positions: Array


@dataclass(frozen=True, eq=False)
class RerouteResult:
    """animation: the second run; paths: of every goal, beside the pilot's; forces (frames, n, 3) [N]: row k acts on
    the way into frame k, as `simulate` takes it; report."""

    animation: Animation
    paths: tuple[GoalPath, ...]
    forces: Array
    report: RerouteReport

    def __repr__(self) -> str:
        goals = len(self.report.goals)
        return f"RerouteResult({self.animation!r}, {self.report.reached_count} of {goals} goals reached)"
