"""`reroute`: a second run of a mass-spring simulation, in which chosen nodes are led to where they should be."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodySprings, Capsules
from cajole.direct.rerouting.goals import ALPHA, Aims, Goal, aims_of
from cajole.direct.rerouting.judging import judged, path_of
from cajole.direct.rerouting.least import led_by_least_force
from cajole.direct.rerouting.measures import likeness
from cajole.direct.rerouting.paper import Seeking, led_by_paper
from cajole.direct.rerouting.pattern import led_by_pattern
from cajole.direct.rerouting.report import Compared, RerouteReport, RerouteResult
from cajole.direct.rerouting.spread import Spread, usual_reach
from cajole.direct.rerouting.stage import Stage
from cajole.direct.rerouting.tracking import Led
from cajole.dynamics.integrators import Past
from cajole.linalg import blas_threads
from cajole.progress import Progress, portion, report

# how the aims of a group are led from a state at their first start
Lead = Callable[[Stage, Aims, Spread, Past, Progress | None], Led]

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
    alpha: float = ALPHA,
    seeking: Seeking | None = None,
    rest_lengths: ArrayLike | None = None,
    capsules: Sequence[Capsules] | None = None,
    compare: bool = False,
    progress: Progress | None = None,
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
    checks.one_of(method, "method", METHODS)
    within = checks.positive(within, "within (m)")
    limit = None if limit is None else checks.positive(limit, "limit (N)")
    stage = Stage(net, pilot, rest_lengths, capsules)
    far = usual_reach(net) if reach is None else checks.positive(reach, "reach (m)", zero=True)
    alpha = checks.positive(alpha, "alpha (frames a body size)")
    aims = aims_of(goals, net, stage.positions, alpha)
    dials = Seeking() if seeking is None else seeking
    checks.require_instance(dials, Seeking, "seeking")
    leads = _leads(within, limit, dials)
    compare = checks.flag(compare, "compare")
    chosen = [method, *(other for other in METHODS if compare and other != method)]
    with blas_threads():
        spread = Spread.around(net, aims, far)
        runs = {
            name: _Run(stage, aims, spread, leads[name], portion(progress, i / len(chosen), (i + 1) / len(chosen)))
            for i, name in enumerate(chosen)
        }
        run = runs[method]
        run.finish()
    paths = tuple(path_of(stage, aims, g, run.positions) for g in range(len(aims)))
    reports = tuple(judged(stage, aims, g, path, run.forces, within, limit) for g, path in enumerate(paths))
    compared = {name: _compared(each, within) for name, each in runs.items()} if compare else {}
    summary = RerouteReport(
        method, within, limit, far, reports, run.effort, run.peak, _gentleness(net, run.forces),
        time.perf_counter() - began, compared,
    )  # fmt: skip
    return RerouteResult(run.animation(), paths, run.forces, summary)


def _leads(within: float, limit: float | None, seeking: Seeking) -> dict[str, Lead]:
    def least(stage: Stage, aims: Aims, spread: Spread, past: Past, progress: Progress | None) -> Led:
        start = led_by_pattern(stage, aims, spread, past, limit, within, portion(progress, 0.0, 0.1))
        return led_by_least_force(stage, aims, spread, past, limit, within, start, portion(progress, 0.1, 1.0))

    def paper(stage: Stage, aims: Aims, spread: Spread, past: Past, progress: Progress | None) -> Led:
        return led_by_paper(stage, aims, spread, past, limit, within, seeking, progress)

    def pattern(stage: Stage, aims: Aims, spread: Spread, past: Past, progress: Progress | None) -> Led:
        return led_by_pattern(stage, aims, spread, past, limit, within, progress)

    return {"pattern": pattern, "least-force": least, "paper": paper}


class _Run:
    """A second run: the pilot up to the first window, led through the windows, and free between and after them."""

    def __init__(self, stage: Stage, aims: Aims, spread: Spread, lead: Lead, progress: Progress | None):
        self._stage, self._aims = stage, aims
        self.positions = stage.positions.copy()
        self._velocities = stage.velocities.copy()
        self.forces = np.zeros_like(self.positions)
        self._frame, self._past = aims.first, stage.past(aims.first)
        groups = aims.groups()
        for i, group in enumerate(groups):
            self._go_on(group.first)
            part = portion(progress, i / len(groups), (i + 1) / len(groups))
            led = lead(stage, group, spread.chosen(group.numbers), self._past, part)
            self.forces[group.first + 1 : group.last + 1] = led.forces
            for state in led.states[1:]:
                self._add(state)
        report(progress, 1.0, "led")

    def finish(self) -> None:
        """Run on freely to the pilot's last frame."""
        self._go_on(self._stage.frames - 1)

    @property
    def effort(self) -> float:
        return self._stage.h * float((self.forces**2).sum())

    @property
    def peak(self) -> float:
        return float(np.linalg.norm(self.forces, axis=2).max())

    @property
    def errors(self) -> Array:
        """(G,) [m]"""
        there = self.positions[self._aims.ends, self._aims.vertices]
        return np.asarray(np.linalg.norm(there - self._aims.targets, axis=1))

    @property
    def shape(self) -> float:
        """The worst distance of a path's shape from the pilot's."""
        paths = [path_of(self._stage, self._aims, g, self.positions) for g in range(len(self._aims))]
        return max(likeness(path.led, path.pilot).shape for path in paths)

    def animation(self) -> Animation:
        pilot = self._stage.pilot
        return Animation(
            pilot.mesh, self.positions, pilot.fps, velocities=self._velocities, skin=pilot.skin,
            start_frame=pilot.start_frame, name=pilot.name,
        )  # fmt: skip

    def _go_on(self, frame: int) -> None:
        while self._frame < frame:
            self._add(self._stage.step(self._past, self._frame + 1))

    def _add(self, state: Past) -> None:
        self._frame, self._past = self._frame + 1, state
        self.positions[self._frame] = self._stage.body.vertices + state.u
        self._velocities[self._frame] = state.v


def _compared(run: _Run, within: float) -> Compared:
    errors = run.errors
    return Compared(run.effort, run.peak, float(errors.max()), int((errors <= within).sum()), run.shape)


def _gentleness(net: BodySprings, forces: Array) -> Array:
    """(frames,) |M^-½ f| / (√m g) of forces (frames, n, 3) [N]: 1 for the net's own weight."""
    squares = ((forces**2).sum(axis=2) / net.vertex_masses).sum(axis=1)
    return np.asarray(np.sqrt(squares / net.total_mass) / EARTH_GRAVITY)
