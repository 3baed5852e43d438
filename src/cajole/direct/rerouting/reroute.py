"""`reroute`: a second run of a mass-spring simulation, in which chosen nodes are led to where they should be."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodySprings, Capsules
from cajole.body.body_weights import compute_body_weights
from cajole.direct.rerouting.cone_search import ConeSearchOptions, solve_cone_search
from cajole.direct.rerouting.force_distribution import ForceDistribution, compute_default_reach
from cajole.direct.rerouting.goal_evaluation import build_goal_report, extract_path
from cajole.direct.rerouting.goals import DEFAULT_ALPHA, Goal, GoalSet, build_goal_set
from cajole.direct.rerouting.least_force import solve_least_force
from cajole.direct.rerouting.path_similarity import compute_path_similarity
from cajole.direct.rerouting.pattern import solve_pattern
from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.direct.rerouting.report import MethodSummary, RerouteReport, RerouteResult
from cajole.direct.rerouting.tracking import ControlledMotion
from cajole.dynamics.integrators import StepHistory
from cajole.linalg import limit_blas_threads
from cajole.progress import ProgressCallback, build_subprogress, report_progress

# how the aims of a group are led from a state at their first start
WindowSolver = Callable[
    [PilotSimulation, GoalSet, ForceDistribution, StepHistory, ProgressCallback | None], ControlledMotion
]

METHODS = ("pattern", "least-force", "paper")


def reroute(
    net: BodySprings,
    pilot: Animation,
    goals: Goal | Sequence[Goal],
    method: str = "pattern",
    within: float = 0.01,
    limit: float | None = None,
    *,
    reach: float | None = None,
    alpha: float = DEFAULT_ALPHA,
    cone_search: ConeSearchOptions | None = None,
    rest_lengths: ArrayLike | None = None,
    capsules: Sequence[Capsules] | None = None,
    compare: bool = False,
    progress: ProgressCallback | None = None,
) -> RerouteResult:
    """Run `pilot` again with forces that bring nodes to their goals, in windows before them and near them only.

    net: the body that moves; pilot: its motion, one BDF2 step a frame. The forces that made it are found from it, so
        that none have to be given, and its fixed vertices move as they do in it.
    method: "pattern" moves like the pilot: the same path, turned and scaled; "least-force" takes the least force that
        does it, whatever the path looks like; "paper" is the scheme of Jeon and Choi 2007, with `seeking` its dials.
    within [m]: how near is near enough. limit [N]: the most force on any node, never exceeded.
    reach [m]: up to where along springs neighbours are led too; 0 is the node alone. By default nine spacings.
    alpha: frames of a window for a goal one body size away from the pilot, eq. (11).
    rest_lengths: (frames, m) [m], row k holds in the step into frame k, where springs contract in the pilot.
    capsules: one Capsules a frame, limbs that push the pilot's nodes, and the second run's, out of their way.
    compare: lead by all three methods and report them side by side.
    Windows that overlap are solved together, others one after the other. Goals that cannot be reached are no error:
    the report says how near the node comes and what is in the way. Raises InputError for goals on fixed vertices, at
    frame 0 or beyond the pilot, and for two of one vertex at one frame.
    """
    began = time.perf_counter()
    checks.require_choice(method, "method", METHODS)
    within = checks.require_positive(within, "within (m)")
    limit = None if limit is None else checks.require_positive(limit, "limit (N)")
    stage = PilotSimulation(net, pilot, rest_lengths, capsules)
    far = compute_default_reach(net) if reach is None else checks.require_positive(reach, "reach (m)", allow_zero=True)
    alpha = checks.require_positive(alpha, "alpha (frames a body size)")
    aims = build_goal_set(goals, net, stage.positions, alpha)
    dials = ConeSearchOptions() if cone_search is None else cone_search
    checks.require_instance(dials, ConeSearchOptions, "cone_search")
    leads = _build_window_solvers(within, limit, dials)
    compare = checks.require_bool(compare, "compare")
    chosen = [method, *(other for other in METHODS if compare and other != method)]
    with limit_blas_threads():
        spread = ForceDistribution.for_goals(net, aims, far)
        runs = {
            name: _RerouteRun(
                stage, aims, spread, leads[name], build_subprogress(progress, i / len(chosen), (i + 1) / len(chosen))
            )
            for i, name in enumerate(chosen)
        }
        run = runs[method]
        run.finish()
    paths = tuple(extract_path(stage, aims, g, run.positions) for g in range(len(aims)))
    reports = tuple(build_goal_report(stage, aims, g, path, run.forces, within, limit) for g, path in enumerate(paths))
    compared = {name: _summarise_run(each, within) for name, each in runs.items()} if compare else {}
    summary = RerouteReport(
        method, within, limit, far, reports, run.effort, run.peak_force,
        compute_body_weights(run.forces, net.vertex_masses), time.perf_counter() - began, compared,
    )  # fmt: skip
    return RerouteResult(run.build_animation(), paths, run.forces, summary)


def _build_window_solvers(
    within: float, limit: float | None, cone_search: ConeSearchOptions
) -> dict[str, WindowSolver]:
    def least(
        stage: PilotSimulation,
        aims: GoalSet,
        spread: ForceDistribution,
        past: StepHistory,
        progress: ProgressCallback | None,
    ) -> ControlledMotion:
        start = solve_pattern(stage, aims, spread, past, limit, within, build_subprogress(progress, 0.0, 0.1))
        return solve_least_force(stage, aims, spread, past, limit, within, start, build_subprogress(progress, 0.1, 1.0))

    def paper(
        stage: PilotSimulation,
        aims: GoalSet,
        spread: ForceDistribution,
        past: StepHistory,
        progress: ProgressCallback | None,
    ) -> ControlledMotion:
        return solve_cone_search(stage, aims, spread, past, limit, within, cone_search, progress)

    def pattern(
        stage: PilotSimulation,
        aims: GoalSet,
        spread: ForceDistribution,
        past: StepHistory,
        progress: ProgressCallback | None,
    ) -> ControlledMotion:
        return solve_pattern(stage, aims, spread, past, limit, within, progress)

    return {"pattern": pattern, "least-force": least, "paper": paper}


class _RerouteRun:
    """A second run: the pilot up to the first window, led through the windows, and free between and after them."""

    def __init__(
        self,
        simulation: PilotSimulation,
        goal_set: GoalSet,
        distribution: ForceDistribution,
        solver: WindowSolver,
        progress: ProgressCallback | None,
    ):
        self._simulation, self._goal_set = simulation, goal_set
        self.positions = simulation.positions.copy()
        self._velocities = simulation.velocities.copy()
        self.forces = np.zeros_like(self.positions)
        self._frame, self._state = goal_set.first_frame, simulation.get_state(goal_set.first_frame)
        groups = goal_set.split_by_overlap()
        for i, group in enumerate(groups):
            self._advance_freely(group.first_frame)
            part = build_subprogress(progress, i / len(groups), (i + 1) / len(groups))
            led = solver(simulation, group, distribution.select_goals(group.goal_indices), self._state, part)
            self.forces[group.first_frame + 1 : group.last_frame + 1] = led.forces
            for state in led.states[1:]:
                self._append_state(state)
        report_progress(progress, 1.0, "led")

    def finish(self) -> None:
        """Run on freely to the pilot's last frame."""
        self._advance_freely(self._simulation.frames - 1)

    @property
    def effort(self) -> float:
        return self._simulation.h * float((self.forces**2).sum())

    @property
    def peak_force(self) -> float:
        return float(np.linalg.norm(self.forces, axis=2).max())

    @property
    def errors(self) -> Array:
        """(G,) [m]"""
        there = self.positions[self._goal_set.end_frames, self._goal_set.vertices]
        return np.asarray(np.linalg.norm(there - self._goal_set.targets, axis=1))

    @property
    def max_shape_distance(self) -> float:
        """The worst distance of a path's shape from the pilot's."""
        paths = [extract_path(self._simulation, self._goal_set, g, self.positions) for g in range(len(self._goal_set))]
        return max(compute_path_similarity(path.positions, path.pilot_positions).shape_distance for path in paths)

    def build_animation(self) -> Animation:
        pilot = self._simulation.pilot
        return Animation(
            pilot.mesh, self.positions, pilot.fps, velocities=self._velocities, skin=pilot.skin,
            start_frame=pilot.start_frame, name=pilot.name,
        )  # fmt: skip

    def _advance_freely(self, frame: int) -> None:
        while self._frame < frame:
            self._append_state(self._simulation.step(self._state, self._frame + 1))

    def _append_state(self, state: StepHistory) -> None:
        self._frame, self._state = self._frame + 1, state
        self.positions[self._frame] = self._simulation.body.vertices + state.displacement
        self._velocities[self._frame] = state.velocity


def _summarise_run(run: _RerouteRun, within: float) -> MethodSummary:
    errors = run.errors
    return MethodSummary(
        run.effort, run.peak_force, float(errors.max()), int((errors <= within).sum()), run.max_shape_distance
    )
