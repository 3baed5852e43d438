"""Method "pattern": each step is the pilot's, rotated and scaled so that the rest of the path ends at the goal.

Let p_i … p_N be the rest of the pilot's path, and x the node's position. The step is s R (p_{i+1} - p_i), with the
rotation R and the scale s that take p_N - p_i to target - x. Carried out exactly, the path is similar to the pilot's,
and it always reaches the goal: the paper's search for δ is not needed.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.direct.rerouting.path_similarity import compute_path_similarity
from cajole.direct.rerouting.tracking import ControlledMotion, GoalWindow, TargetRule, TrackingContext, track_targets
from cajole.mesh.rotations import compute_minimal_rotation
from cajole.progress import ProgressCallback, report_progress

# Largest scale of a step: a pilot that ends near its start would be thrown about.
MAX_STEP_SCALE = 6.0


def make_similarity_rule(window: GoalWindow, *, blend_share: float = 0.0) -> TargetRule:
    """Target positions along the similar path; blend_share: share of the window that blends from the pilot's step."""

    def compute_targets(context: TrackingContext) -> Array:
        steps = [
            _compute_similar_step(
                window.get_pilot_path(g),
                window.goal_set.targets[g],
                position,
                context.frame - 1 - int(window.goal_set.start_frames[g]),
                blend_share,
            )
            for g, position in zip(context.goal_indices, context.positions)
        ]
        return context.positions + np.array(steps)

    return compute_targets


def _compute_similar_step(pilot: Array, target: Array, position: Array, i: int, blend_share: float) -> Array:
    """Step i (3,) [m] of a window from a position (3,); pilot: (N + 1, 3)."""
    N = len(pilot) - 1
    own, remaining, wanted = pilot[i + 1] - pilot[i], pilot[N] - pilot[i], target - position
    if i == N - 1:
        return np.asarray(wanted)
    s = (i + 1) / N
    length, wanted_length = float(np.linalg.norm(remaining)), float(np.linalg.norm(wanted))
    if length * MAX_STEP_SCALE >= wanted_length:
        scale, missing = (wanted_length / length if length else 0.0), 0.0
    else:
        scale, missing = MAX_STEP_SCALE, 1.0 - MAX_STEP_SCALE * length / wanted_length
    # from the middle of the window on, the step may turn by any angle
    similar = scale * (compute_minimal_rotation(remaining, wanted, np.pi * min(1.0, s / 0.5)) @ own)
    # the part that the scale cannot provide is covered smoothly
    similar += missing * (ease_in(s) - ease_in(i / N)) / (1.0 - ease_in(i / N)) * wanted
    if blend_share == 0.0:
        return np.asarray(similar)
    x = min(1.0, s / blend_share)
    share = x * x * (3.0 - 2.0 * x)
    return np.asarray((1.0 - share) * own + share * similar)


def ease_in(s: float) -> float:
    """0 to 1 with zero slope at the start and nonzero slope at the end."""
    return 0.5 * s * s * (3.0 - s)


def solve_pattern(window: GoalWindow, progress: ProgressCallback | None = None) -> ControlledMotion:
    """Of two blends, the motion with the least effort that reaches all goals on similar paths.

    If none does both, reaching the goals comes first.
    """
    blends = 0.0, 0.4
    motions = []
    for i, blend_share in enumerate(blends):
        report_progress(progress, i / len(blends), f"path {i + 1} of {len(blends)}")
        motions.append(track_targets(window, make_similarity_rule(window, blend_share=blend_share)))

    def rank_motion(motion: ControlledMotion) -> tuple[bool, bool, float]:
        worst, goals = float(motion.compute_goal_errors().max()), window.goal_set
        is_missed, is_similar = worst > window.within, True
        for g, vertex in enumerate(goals.vertices):
            path = motion.extract_path(int(vertex))[goals.start_frames[g] - goals.first_frame :]
            pilot = window.get_pilot_path(g)
            is_similar = is_similar and compute_path_similarity(path[: len(pilot)], pilot).is_similar
        return is_missed, not is_similar, worst if is_missed else motion.effort

    return min(motions, key=rank_motion)
