"""Method "paper": the scheme of Jeon and Choi 2007 in three dimensions, steps of scaled length rotated within a cone.

Two parts differ, as the scheme would not move a node otherwise: forces come from the compliance of the step
(`tracking`) instead of eq. (10), and so does the force in the cost (17). With one δ for all steps the path often ends
beside the goal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.direct.rerouting.pattern import MAX_STEP_SCALE
from cajole.direct.rerouting.tracking import ControlledMotion, GoalWindow, TargetRule, TrackingContext, track_targets
from cajole.errors import InputError
from cajole.mesh.rotations import compute_minimal_rotation
from cajole.progress import ProgressCallback, report_progress


@dataclass(frozen=True)
class ConeSearchOptions:
    """Options of the paper's scheme.

    distance_weight, force_weight: β, γ of (17), for the distance in units of the goal's offset and the force in body
    weights. max_cone_angle [rad]: half the angle of the open cone. opening_share: share of the window in which it opens
    from 0, so that the first steps follow the pilot. step_scales: values of δ of (13) that are tried. search: "closed",
    the best direction of the cone in closed form, or "discrete", the best of polar_angle_count polar angles and twice
    as many around the axis.
    """

    distance_weight: float = 1.0
    force_weight: float = 0.1
    max_cone_angle: float = np.pi
    opening_share: float = 0.5
    step_scales: tuple[float, ...] = tuple(np.linspace(0.9, 2.1, 13).tolist())
    search: str = "closed"
    polar_angle_count: int = 24

    def __post_init__(self) -> None:
        checks.require_positive(self.distance_weight, "distance_weight")
        checks.require_positive(self.force_weight, "force_weight", allow_zero=True)
        checks.require_positive(self.max_cone_angle, "max_cone_angle (rad)")
        checks.require_positive(self.opening_share, "opening_share")
        checks.require_choice(self.search, "search", ("closed", "discrete"))
        # the cost of a discrete search is twice the square of it, at every node
        checks.require_integer(self.polar_angle_count, "polar_angle_count", minimum=2, maximum=1000)
        if not checks.require_sequence(self.step_scales, "step_scales", "a list of scales"):
            raise InputError("step_scales is empty: give the scales of steps to try, 1.0 among them")
        for delta in self.step_scales:
            checks.require_positive(delta, "each of step_scales")


def solve_cone_search(
    window: GoalWindow, options: ConeSearchOptions, progress: ProgressCallback | None = None
) -> ControlledMotion:
    """The motion of the δ with the least effort that reaches all goals, or of the one that comes nearest."""
    motions = []
    for i, delta in enumerate(options.step_scales):
        report_progress(progress, i / len(options.step_scales), f"δ = {delta:.3g}")
        motions.append(track_targets(window, make_cone_search_rule(window, delta, options)))

    def rank_motion(motion: ControlledMotion) -> tuple[bool, float]:
        worst = float(motion.compute_goal_errors().max())
        return worst > window.within, worst if worst > window.within else motion.effort

    return min(motions, key=rank_motion)


def make_cone_search_rule(window: GoalWindow, delta: float, options: ConeSearchOptions) -> TargetRule:
    """Target positions by the paper's search, eq. (13)-(17)."""
    weight, goals = window.simulation.body.weight, window.goal_set
    # position of each goal's node at the start of its window
    starts: dict[int, Array] = {}

    def compute_target(context: TrackingContext, row: int, g: int) -> Array:
        position, target, pilot = context.positions[row], goals.targets[g], window.get_pilot_path(g)
        i, step_count = context.frame - 1 - int(goals.start_frames[g]), len(pilot) - 1
        # L of eq. (13), bounded where the pilot ends near its start
        length = float(np.linalg.norm(pilot[-1] - pilot[0]))
        wanted = float(np.linalg.norm(target - starts.setdefault(g, position)))
        scale = delta * (MAX_STEP_SCALE if MAX_STEP_SCALE * length <= wanted else wanted / length)
        R = scale * (pilot[i + 1] - pilot[i])  # eq. (14)
        offset = max(float(np.linalg.norm(target - pilot[-1])), np.finfo(float).tiny)
        by_distance = options.distance_weight / offset**2
        by_force = options.force_weight / (context.compliance[row] * weight) ** 2
        w = by_distance * (target - position) + by_force * (context.free_positions[row] - position)
        cone = options.max_cone_angle * min(1.0, (i + 1) / step_count / options.opening_share)
        if options.search == "closed":
            return np.asarray(position + find_best_step_in_cone(R, w, cone))
        return np.asarray(position + search_best_step_in_cone(R, w, cone, options.polar_angle_count))

    return lambda context: np.array(
        [compute_target(context, row, int(g)) for row, g in enumerate(context.goal_indices)]
    )


def find_best_step_in_cone(R: Array, w: Array, cone: float) -> Array:
    """R (3,) rotated by at most `cone` [rad] so that its product with w (3,) is largest.

    All candidates have the length of R. The cost (17), squared distances from two points, is then linear in the
    direction: -w·(q + R') + const, with w = β (q_N* - q) + γ/C² (q_free - q).
    """
    return np.asarray(compute_minimal_rotation(R, w, cone) @ R) if R.any() and w.any() else R


def search_best_step_in_cone(R: Array, w: Array, cone: float, angles: int) -> Array:
    """As `find_best_step_in_cone`, by trial of `angles` polar angles and 2 `angles` around, as in the paper."""
    length = float(np.linalg.norm(R))
    if length == 0.0:
        return R
    axis = R / length
    second = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    second /= np.linalg.norm(second)
    polar = np.linspace(0.0, min(cone, np.pi), angles)[:, None, None]
    around = np.linspace(0.0, 2.0 * np.pi, 2 * angles, endpoint=False)[None, :, None]
    radial = np.cos(around) * second + np.sin(around) * np.cross(axis, second)
    directions = (np.cos(polar) * axis + np.sin(polar) * radial).reshape(-1, 3)
    return np.asarray(length * directions[int(np.argmax(directions @ w))])
