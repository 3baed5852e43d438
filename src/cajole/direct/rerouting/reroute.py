"""`reroute`: run a mass-spring simulation again, with forces that bring chosen nodes to their goals."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.body import BodySprings, Capsules
from cajole.body.body_weights import compute_body_weights
from cajole.direct.rerouting.cone_search import ConeSearchOptions, solve_cone_search
from cajole.direct.rerouting.force_distribution import ForceDistribution, compute_default_reach
from cajole.direct.rerouting.goals import DEFAULT_ALPHA, Goal, build_goal_set
from cajole.direct.rerouting.least_force import ControlWindow, solve_least_force
from cajole.direct.rerouting.path_similarity import compute_path_similarity
from cajole.direct.rerouting.pattern import solve_pattern
from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.direct.rerouting.report import GoalPath, MethodSummary, RerouteReport, RerouteResult, build_goal_report
from cajole.direct.rerouting.tracking import ControlledMotion
from cajole.dynamics.integrators import StepHistory
from cajole.linalg import limit_blas_threads
from cajole.progress import ProgressCallback, build_subprogress, report_progress

WindowSolver = Callable[[ControlWindow, ProgressCallback | None], ControlledMotion]

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

    net: the body that moves; pilot: its motion, one BDF2 step a frame. Its forces are computed from it, so that none
        have to be given, and its fixed vertices move as they do in it.
    method: "pattern" moves like the pilot: the same path, rotated and scaled; "least-force" takes the least force,
        whatever the path looks like; "paper" is the scheme of Jeon and Choi 2007, with the options `cone_search`.
    within [m]: distance at which a goal is reached. limit [N]: largest force on a node, never exceeded.
    reach [m]: distance along springs up to which neighbours are controlled too; 0 is the node alone; nine spacings when
        None.
    alpha: frames of the window of a goal that is one body size away from the pilot, eq. (11).
    rest_lengths: (frames, m) [m], row k holds in the step into frame k, for springs that contract in the pilot.
    capsules: one Capsules a frame, obstacles that push the nodes of the pilot and of the new motion.
    compare: run all three methods and report them side by side.
    Windows that overlap are solved together, others one after the other. A goal that is not reached is no error: the
    report has the nearest approach and the reason. Raises InputError for goals on fixed vertices, at frame 0 or beyond
    the pilot, and for two goals of one vertex at one frame.
    """
    start_time = time.perf_counter()
    checks.require_choice(method, "method", METHODS)
    within = checks.require_positive(within, "within (m)")
    limit = None if limit is None else checks.require_positive(limit, "limit (N)")
    simulation = PilotSimulation(net, pilot, rest_lengths, capsules)
    if reach is None:
        reach = compute_default_reach(net)
    reach = checks.require_positive(reach, "reach (m)", allow_zero=True)
    alpha = checks.require_positive(alpha, "alpha (frames a body size)")
    goal_set = build_goal_set(goals, net, simulation.positions, alpha)
    cone_options = ConeSearchOptions() if cone_search is None else cone_search
    checks.require_instance(cone_options, ConeSearchOptions, "cone_search")
    chosen = [method, *(other for other in METHODS if checks.require_bool(compare, "compare") and other != method)]

    def solve_from_pattern(window: ControlWindow, progress: ProgressCallback | None) -> ControlledMotion:
        motion = solve_pattern(window, build_subprogress(progress, 0.0, 0.1))
        return solve_least_force(window, motion, build_subprogress(progress, 0.1, 1.0))

    solvers: dict[str, WindowSolver] = {
        "pattern": solve_pattern,
        "least-force": solve_from_pattern,
        "paper": lambda window, progress: solve_cone_search(window, cone_options, progress),
    }
    with limit_blas_threads():
        distribution = ForceDistribution.for_goals(net, goal_set, reach)
        # the state at the first start frame is that of the pilot
        state = simulation.get_state(goal_set.first_frame)
        window = ControlWindow(simulation, goal_set, distribution, state, limit, within)
        runs = {}
        for i, name in enumerate(chosen):
            part = build_subprogress(progress, i / len(chosen), (i + 1) / len(chosen))
            runs[name] = _RerouteRun(window, solvers[name], part)
        run = runs[method]
        run.advance_freely(simulation.frames - 1)
    report = RerouteReport(
        method,
        within,
        limit,
        reach,
        tuple(build_goal_report(window, g, path, run.forces) for g, path in enumerate(run.paths)),
        run.effort,
        run.peak_force,
        compute_body_weights(run.forces, net.vertex_masses),
        time.perf_counter() - start_time,
        {name: each.summarise() for name, each in runs.items()} if compare else {},
    )
    motion = Animation(
        pilot.mesh, run.positions, pilot.fps, velocities=run.velocities, skin=pilot.skin,
        start_frame=pilot.start_frame, name=pilot.name,
    )  # fmt: skip
    return RerouteResult(motion, run.paths, run.forces, report)


class _RerouteRun:
    """The pilot up to the first window, controlled in the windows, and without control between and after them."""

    def __init__(self, window: ControlWindow, solver: WindowSolver, progress: ProgressCallback | None):
        self._window, goal_set, simulation = window, window.goal_set, window.simulation
        self.positions, self.velocities = simulation.positions.copy(), simulation.velocities.copy()
        self.forces = np.zeros_like(self.positions)
        self._frame, self._state = goal_set.first_frame, window.initial_state
        groups = goal_set.split_by_overlap()
        for i, group in enumerate(groups):
            self.advance_freely(group.first_frame)
            distribution = window.distribution.select_goals(group.goal_indices)
            part = ControlWindow(simulation, group, distribution, self._state, window.limit, window.within)
            motion = solver(part, build_subprogress(progress, i / len(groups), (i + 1) / len(groups)))
            self.forces[group.first_frame + 1 : group.last_frame + 1] = motion.forces
            for state in motion.states[1:]:
                self._append_state(state)
        report_progress(progress, 1.0, "led")
        self.effort = simulation.h * float((self.forces**2).sum())
        self.peak_force = float(np.linalg.norm(self.forces, axis=2).max())

    @property
    def paths(self) -> tuple[GoalPath, ...]:
        """Path of every goal's node over its window, beside the pilot's."""
        goals, paths = self._window.goal_set, []
        for start, end, vertex in zip(goals.start_frames, goals.end_frames, goals.vertices):
            frames = np.arange(start, end + 1)
            pilot = self._window.simulation.positions[frames, vertex]
            paths.append(GoalPath(int(vertex), frames, pilot, self.positions[frames, vertex]))
        return tuple(paths)

    def summarise(self) -> MethodSummary:
        goals, within = self._window.goal_set, self._window.within
        errors = np.linalg.norm(self.positions[goals.end_frames, goals.vertices] - goals.targets, axis=1)
        similarities = [compute_path_similarity(path.positions, path.pilot_positions) for path in self.paths]
        return MethodSummary(
            self.effort,
            self.peak_force,
            float(errors.max()),
            int((errors <= within).sum()),
            max(similarity.shape_distance for similarity in similarities),
        )

    def advance_freely(self, frame: int) -> None:
        """Step without control up to a frame."""
        while self._frame < frame:
            self._append_state(self._window.simulation.step(self._state, self._frame + 1))

    def _append_state(self, state: StepHistory) -> None:
        self._frame, self._state = self._frame + 1, state
        self.positions[self._frame] = self._window.simulation.body.vertices + state.displacement
        self.velocities[self._frame] = state.velocity
