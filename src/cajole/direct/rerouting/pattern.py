"""The receding similarity step: from where a node is, its way on is the pilot's, turned and scaled to end in the goal.

Carried out exactly this is a similar image of the pilot's path whatever its scale, so that the paper's search for δ is
not needed: it always lands.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.direct.rerouting.force_distribution import ForceDistribution
from cajole.direct.rerouting.goals import GoalSet
from cajole.direct.rerouting.path_similarity import compute_path_similarity
from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.direct.rerouting.tracking import ControlledMotion, TargetRule, TrackingContext, track_targets
from cajole.dynamics.integrators import StepHistory
from cajole.mesh.rotations import compute_minimal_rotation
from cajole.progress import ProgressCallback, report_progress

# shares of the window over which the pilot's own step gives way to the similar one; each is one pass
BLEND_SHARES = (0.0, 0.4)
# steps are lengthened at most so much: a pilot that ends near where it began would be thrown about
MAX_STEP_SCALE = 6.0
# the share of the window after which a step may turn by any angle
FULL_ROTATION_SHARE = 0.5


def make_similarity_rule(simulation: PilotSimulation, goal_set: GoalSet, *, blend_share: float = 0.0) -> TargetRule:
    """Where the similar path goes next; soft: the share of the window in which it takes over from the pilot's."""

    def compute_targets(context: TrackingContext) -> Array:
        steps = [
            _compute_similar_step(
                simulation.positions[goal_set.start_frames[g] : goal_set.end_frames[g] + 1, goal_set.vertices[g]],
                goal_set.targets[g],
                here,
                context.frame - 1 - int(goal_set.start_frames[g]),
                blend_share,
            )
            for g, here in zip(context.goal_indices, context.positions)
        ]
        return context.positions + np.array(steps)

    return compute_targets


def _compute_similar_step(pilot: Array, target: Array, position: Array, i: int, blend_share: float) -> Array:
    """Step i of a window from `here`; pilot (N + 1, 3)."""
    N = len(pilot) - 1
    own, way, left = pilot[i + 1] - pilot[i], pilot[N] - pilot[i], target - position
    s = (i + 1) / N
    length, wanted = float(np.linalg.norm(way)), float(np.linalg.norm(left))
    if length * MAX_STEP_SCALE >= wanted:
        scale, missing = (wanted / length if length else 0.0), 0.0
    else:
        scale, missing = MAX_STEP_SCALE, 1.0 - MAX_STEP_SCALE * length / wanted
    similar = scale * (compute_minimal_rotation(way, left, np.pi * min(1.0, s / FULL_ROTATION_SHARE)) @ own)
    # what the pilot's motion cannot be scaled to is gone smoothly
    similar += missing * (ease_in(s) - ease_in(i / N)) / (1.0 - ease_in(i / N)) * left
    share = 1.0 if blend_share == 0.0 else _smoothstep(min(1.0, s / blend_share))
    return np.asarray(left if i == N - 1 else (1.0 - share) * own + share * similar)


def ease_in(s: float) -> float:
    """From 0 to 1 without a jerk at the start, and without a stop at the end."""
    return 0.5 * s * s * (3.0 - s)


def _smoothstep(s: float) -> float:
    return s * s * (3.0 - 2.0 * s)


def solve_pattern(
    simulation: PilotSimulation,
    goal_set: GoalSet,
    distribution: ForceDistribution,
    initial_state: StepHistory,
    limit: float | None,
    within: float,
    progress: ProgressCallback | None = None,
) -> ControlledMotion:
    """Of a few soft starts the one with least effort that reaches all goals and keeps the pattern.

    Where none does both, reaching counts first.
    """
    tried = []
    for i, soft in enumerate(BLEND_SHARES):
        report_progress(progress, i / len(BLEND_SHARES), f"path {i + 1} of {len(BLEND_SHARES)}")
        tried.append(
            track_targets(
                simulation,
                goal_set,
                distribution.weights,
                initial_state,
                make_similarity_rule(simulation, goal_set, blend_share=soft),
                limit,
            )
        )

    def rank_motion(motion: ControlledMotion) -> tuple[bool, bool, float]:
        worst = float(motion.compute_goal_errors(simulation, goal_set).max())
        missed = worst > within
        return (
            missed,
            not has_similar_paths(simulation, goal_set, motion),
            worst if missed else motion.compute_effort(simulation.h),
        )

    return min(tried, key=rank_motion)


def has_similar_paths(simulation: PilotSimulation, goal_set: GoalSet, motion: ControlledMotion) -> bool:
    """Whether every path has the shape of the pilot's."""
    return all(
        compute_path_similarity(*extract_path_pair(simulation, goal_set, motion, g)).is_similar
        for g in range(len(goal_set))
    )


def extract_path_pair(
    simulation: PilotSimulation, goal_set: GoalSet, motion: ControlledMotion, g: int
) -> tuple[Array, Array]:
    """The path of aim g over its window and the pilot's there, (N + 1, 3) [m] each."""
    vertex, frames = int(goal_set.vertices[g]), np.arange(goal_set.start_frames[g], goal_set.end_frames[g] + 1)
    return motion.extract_path(simulation, vertex)[frames - goal_set.first_frame], simulation.positions[frames, vertex]
