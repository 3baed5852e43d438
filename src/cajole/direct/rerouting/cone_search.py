"""The scheme of Jeon and Choi 2007 as they describe it, in three dimensions: steps of scaled length, turned in a cone.

Two things of it are changed, or it would not move a node: forces come from the step's compliance (`tracking`) instead
of eq. (10), and so does the force in the cost (17). Its one δ for all steps often ends beside the goal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.direct.rerouting.force_distribution import ForceDistribution
from cajole.direct.rerouting.goals import GoalSet
from cajole.direct.rerouting.pattern import MAX_STEP_SCALE
from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.direct.rerouting.tracking import ControlledMotion, TargetRule, TrackingContext, track_targets
from cajole.dynamics.integrators import StepHistory
from cajole.errors import InputError
from cajole.mesh.rotations import compute_minimal_rotation
from cajole.progress import ProgressCallback, report_progress

CONE_SEARCHES = ("closed", "discrete")
# of a discrete search, whose cost is twice the square of them at every node
MAX_POLAR_ANGLES = 1000


@dataclass(frozen=True)
class ConeSearchOptions:
    """The dials of the paper's scheme.

    beta, gamma: weights of (17), of the distance in units of the goal's offset and of the force in body weights.
    seek [rad]: half the angle of the cone at the end of its opening, which takes the share `opening` of the window; it
    opens from nothing, so that the first steps go the pilot's way. deltas: δ of (13) that are tried. search: "closed",
    the best direction of the cone in closed form, or "discrete", the best of `angles` polar angles and twice as many
    around.
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
        checks.require_choice(self.search, "search", CONE_SEARCHES)
        checks.require_integer(self.polar_angle_count, "polar_angle_count", minimum=2, maximum=MAX_POLAR_ANGLES)
        if not checks.require_sequence(self.step_scales, "step_scales", "a list of scales"):
            raise InputError("step_scales is empty: give the scales of steps to try, 1.0 among them")
        for delta in self.step_scales:
            checks.require_positive(delta, "each of step_scales")

    def compute_cone_angle(self, window_share: float) -> float:
        """Half the angle [rad] of the cone at the share s of the window."""
        return self.max_cone_angle * min(1.0, window_share / self.opening_share)


def solve_cone_search(
    simulation: PilotSimulation,
    goal_set: GoalSet,
    distribution: ForceDistribution,
    initial_state: StepHistory,
    limit: float | None,
    within: float,
    options: ConeSearchOptions,
    progress: ProgressCallback | None = None,
) -> ControlledMotion:
    """Of all δ the one with least effort that reaches all goals, else the one that comes nearest."""
    tried = []
    for i, delta in enumerate(options.step_scales):
        report_progress(progress, i / len(options.step_scales), f"δ = {delta:.3g}")
        tried.append(
            track_targets(
                simulation,
                goal_set,
                distribution.weights,
                initial_state,
                make_cone_search_rule(simulation, goal_set, delta, options),
                limit,
            )
        )

    def rank_motion(motion: ControlledMotion) -> tuple[bool, float]:
        worst = float(motion.compute_goal_errors(simulation, goal_set).max())
        return worst > within, worst if worst > within else motion.compute_effort(simulation.h)

    return min(tried, key=rank_motion)


def make_cone_search_rule(
    simulation: PilotSimulation, goal_set: GoalSet, delta: float, options: ConeSearchOptions
) -> TargetRule:
    """Where the paper's search puts a node next, (13)-(17)."""
    weight = simulation.body.weight
    begun: dict[int, Array] = {}

    def compute_targets(context: TrackingContext) -> Array:
        places = np.empty_like(context.positions)
        for row, g in enumerate(context.goal_indices):
            start, end = int(goal_set.start_frames[g]), int(goal_set.end_frames[g])
            pilot, target = simulation.positions[start : end + 1, goal_set.vertices[g]], goal_set.targets[g]
            first = begun.setdefault(int(g), context.positions[row])
            i = context.frame - 1 - start
            R = _compute_step_scale(pilot, first, target, delta) * (pilot[i + 1] - pilot[i])  # eq. (13), (14)
            far = max(float(np.linalg.norm(target - pilot[-1])), np.finfo(float).tiny)
            pull = options.distance_weight / far**2, options.force_weight / (context.compliance[row] * weight) ** 2
            w = pull[0] * (target - context.positions[row]) + pull[1] * (
                context.free_positions[row] - context.positions[row]
            )
            cone = options.compute_cone_angle((i + 1) / (end - start))
            angles = options.polar_angle_count if options.search == "discrete" else None
            places[row] = context.positions[row] + (
                find_best_step_in_cone(R, w, cone) if angles is None else search_best_step_in_cone(R, w, cone, angles)
            )
        return places

    return compute_targets


def _compute_step_scale(pilot: Array, start: Array, target: Array, delta: float) -> float:
    """L of eq. (13), bounded where the pilot ends near where it began."""
    length, wanted = float(np.linalg.norm(pilot[-1] - pilot[0])), float(np.linalg.norm(target - start))
    return delta * (MAX_STEP_SCALE if MAX_STEP_SCALE * length <= wanted else wanted / length)


def find_best_step_in_cone(R: Array, w: Array, cone: float) -> Array:
    """R (3,) turned by at most `cone` [rad] so that its product with w (3,) is greatest.

    All candidates have the length of R, so that the cost (17), squares of distances from two points, is linear in the
    direction: -w·(q + R') but for a constant, w = β (q_N* - q) + γ/C² (q_free - q).
    """
    return np.asarray(compute_minimal_rotation(R, w, cone) @ R) if R.any() and w.any() else R


def search_best_step_in_cone(R: Array, w: Array, cone: float, angles: int) -> Array:
    """As `in_cone`, the best of `angles` polar angles up to `cone` and 2 `angles` around, as the paper searches."""
    length = float(np.linalg.norm(R))
    if length == 0.0:
        return R
    axis = R / length
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    across /= np.linalg.norm(across)
    third = np.cross(axis, across)
    polar = np.linspace(0.0, min(cone, np.pi), angles)[:, None, None]
    around = np.linspace(0.0, 2.0 * np.pi, 2 * angles, endpoint=False)[None, :, None]
    ways = np.cos(polar) * axis + np.sin(polar) * (np.cos(around) * across + np.sin(around) * third)
    flat = ways.reshape(-1, 3)
    return np.asarray(length * flat[int(np.argmax(flat @ w))])
