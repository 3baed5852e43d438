"""Keys and settings of Keyframe, the search for the motion through the keys, and its result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import msgspec
import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.direct import Key, Shot
from cajole.direct.keyframing.keys import FIXED_VERTEX_TOLERANCE, check_keys
from cajole.direct.keyframing.newton import Iterate
from cajole.direct.keyframing.pose_session import PoseSnapshot
from cajole.direct.keyframing.setup import ShotSetup
from cajole.direct.keyframing.shot import KeyframeReport
from cajole.direct.keyframing.solve import check_options, solve_shot
from cajole.dynamics.modal_analysis import count_modes
from cajole.errors import InputError
from cajole.reduction import reduce
from cajole.studio.modes.keyframe.messages import KeyframeModeSettings
from cajole.studio.modes.payloads import format_percent
from cajole.studio.modes.timeline_markers import TimelineMarker

# Relative decrease of the gradient at which a search ends.
GRADIENT_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class PoseKey(TimelineMarker):
    """A pose wanted at a frame, with its loads and pins as far as known; name: None if the user gave none."""

    noun: ClassVar[str] = "key"

    pose: PoseSnapshot
    name: str | None = None
    hard: bool = False
    weight: float = 1.0

    @property
    def title(self) -> str:
        if self.name is not None:
            return self.name
        return "rest" if not self.pose.displacement.any() else f"pose {self.number}"


Keys = tuple[PoseKey, ...]


def require_distinct_frames(keys: Keys) -> Keys:
    """Return sorted `keys`, or raise InputError if two of them have the same frame."""
    for one, two in pairwise(keys):
        if one.frame == two.frame:
            raise InputError(
                f"{one.title} and {two.title} would both stand at frame {one.frame}; move one of them, or delete it"
            )
    return keys


def find_common_pins(body: Body, keys: Keys) -> IndexArray:
    """Vertices (k,) that every key pins at their rest positions; none if the body has fixed vertices.

    Keys of the rest shape are left out: they agree with all pins.
    """
    near, common = FIXED_VERTEX_TOLERANCE * body.size, None
    for pose in (key.pose for key in keys if np.abs(key.pose.displacement).max() > near):
        nodes = np.array(list(pose.pins), dtype=np.int64)
        distances = np.abs(np.array(list(pose.pins.values())).reshape(-1, 3) - body.vertices[nodes])
        at_rest = nodes[distances.max(axis=1, initial=0.0) <= near]
        common = np.unique(at_rest) if common is None else np.intersect1d(common, at_rest)
    return np.empty(0, dtype=np.int64) if len(body.fixed) or common is None else common


def build_solution_key(keys: Keys, settings: KeyframeModeSettings) -> tuple[Any, ...]:
    """All inputs of a solution; equal keys give equal solutions. Holds ids of poses: keep the poses with it."""
    poses = ((id(key.pose.displacement), id(key.pose.pins)) for key in keys)
    return (settings, *((key.frame, *pose, key.hard, key.weight) for key, pose in zip(keys, poses)))


@dataclass(frozen=True)
class SolutionSummary:
    """Report of a search: cost, largest key error [body sizes], and the errors of the frames with keys."""

    cost: float
    worst: float
    iterations: int
    seconds: float
    converged: bool
    keys: list[int]
    errors: list[float]
    text: str


@dataclass(frozen=True, eq=False)
class KeyframeSolution:
    """A motion through keys: states (frames, r) in `basis` (3n, r), added force (frames,) in body weights.

    key_errors: distance of each key, by id, from the motion, in body sizes; key: its inputs, with key_poses so that
    their ids stay unique; fixed_vertices: (k,) vertices that pins hold.
    """

    basis: Array
    states: Array
    velocities: Array
    controls: Array
    start: tuple[Array, Array] | None
    added_force: Array
    dt: float
    loop: bool
    key_errors: Mapping[str, float]
    summary: SolutionSummary
    key: tuple[Any, ...]
    key_poses: tuple[PoseSnapshot, ...]
    fixed_vertices: IndexArray
    _cached_shot: list[Shot] = field(default_factory=list)

    @staticmethod
    def from_shot(shot: Shot, keys: Keys, settings: KeyframeModeSettings, pins: IndexArray) -> KeyframeSolution:
        """pins: vertices (k,) that all keys pin."""
        report = shot.report
        held = np.intersect1d(pins, shot.model.body.fixed)
        errors = dict(zip(report.keys, report.errors))
        before = len(shot.states) - len(report.gentleness)
        summary = SolutionSummary(
            cost=float(report.cost),
            worst=float(max(report.errors, default=0.0)),
            iterations=int(report.iterations),
            seconds=float(report.seconds),
            converged=bool(report.converged),
            keys=[int(frame) for frame in report.keys],
            errors=[float(error) for error in report.errors],
            text=_describe_report(report, len(pins), len(held)),
        )
        return KeyframeSolution(
            shot.model.basis, shot.states, shot.velocities, shot.controls, shot.start,
            np.concatenate([np.zeros(before), report.gentleness]), shot.dt, shot.loop,
            {key.id: float(errors.get(key.frame, 0.0)) for key in keys}, summary, build_solution_key(keys, settings),
            tuple(key.pose for key in keys), held, [shot],
        )  # fmt: skip

    def get_shot(self, body: Body) -> Shot:
        """The shot as `keyframe` returned it; of a saved solution, rebuilt from its states and controls."""
        if not self._cached_shot:
            about, model = self.summary, reduce(fix_vertices(body, self.fixed_vertices), self.basis)
            report = KeyframeReport(
                keys=tuple(about.keys),
                errors=tuple(about.errors),
                gentleness=self.added_force[-len(self.controls) :],
                cost=about.cost,
                iterations=about.iterations,
                converged=about.converged,
                seconds=about.seconds,
                start_costs=(),
                basis=None,
                frames=len(self.states),
                dt=self.dt,
            )
            # the gains of the last sweep are large and not needed: `steer` computes its own
            gains = np.empty((0, model.size, 2 * model.size))
            self._cached_shot.append(
                Shot(model, self.states, self.velocities, self.controls, gains, self.dt, report, self.start, self.loop)
            )
        return self._cached_shot[0]


def fix_vertices(body: Body, vertices: IndexArray) -> Body:
    """The body with the vertices fixed, or the body itself if there are none."""
    return body.with_fixed_vertices(vertices) if len(vertices) else body


def _describe_report(report: KeyframeReport, pins: int, holding_pins: int) -> str:
    """Outcome in a few sentences; pins: number of pinned points, of which `holding_pins` are fixed in the motion."""
    worst, force = format_percent(max(report.errors, default=0.0)), format_percent(report.mean_gentleness)
    pinned = f", held at {holding_pins} pinned point{'' if holding_pins == 1 else 's'}" if holding_pins else ""
    text = f"Keys hit within {worst} of body size, with {force} of body weight{pinned}."
    if pins > holding_pins:
        text += " Nothing holds the body, which can turn about its pins: pin three points or more, not in a line."
    if report.key_notes:
        text += f" {len(report.key_notes)} of the keys have elements inside out: spread their pulls or pull less."
    if not report.converged:
        text += " It is the best so far, not yet the best there is: optimise again to go on."
    return " ".join([text, *(f"{note[0].upper()}{note[1:]}." for note in report.notes)])


class KeyframeSolver:
    """Finds motions; caches the problem, so that another effort or dt is quickly tried."""

    def __init__(self, body: Body):
        self._body = body
        self._problem: tuple[tuple[Any, ...], ShotSetup, tuple[PoseSnapshot, ...]] | None = None

    def get_natural_dt(self, keys: Keys, settings: KeyframeModeSettings) -> float | None:
        """The natural time between frames [s], None before `build_problem` has found it."""
        if self._problem is None or self._problem[0] != _build_problem_key(keys, settings):
            return None
        return float(self._problem[1].natural_dt)

    def build_problem(self, keys: Keys, settings: KeyframeModeSettings) -> ShotSetup:
        """The reduced model and everything else that precedes the search. Raises InputError for impossible keys."""
        problem_key = _build_problem_key(keys, settings)
        if self._problem is None or self._problem[0] != problem_key:
            pins = find_common_pins(self._body, keys)
            body = fix_vertices(self._body, pins)
            # pins at one or two points, or in a line, leave rotations free, and are not used
            if len(pins) and body.compute_rigid_body_modes().shape[1]:
                body, pins = self._body, pins[:0]
            library_keys = {}
            for key in keys:
                displacement = key.pose.displacement.copy()
                displacement[pins] = 0.0  # rounding may have moved them a little
                library_keys[key.frame] = Key(displacement, weight=key.weight, hard=key.hard)
            checked, count = check_keys(body, library_keys, settings.frames, loop=settings.loop)
            # pinned vertices leave fewer modes than the setting may ask for
            detail, boundary = min(settings.detail, count_modes(body)), "loop" if settings.loop else "open"
            setup = ShotSetup.from_keys(body, checked, count, modes=detail, boundary=boundary)
            # the poses are kept, or another pose might get the id of one that was deleted
            self._problem = (problem_key, setup, tuple(key.pose for key in keys))
        return self._problem[1]

    def solve(
        self, problem: ShotSetup, keys: Keys, settings: KeyframeModeSettings, on_iteration: Callable[[Iterate], bool]
    ) -> KeyframeSolution:
        """The best motion; on_iteration: called with each iterate, returns False to stop with the best so far."""
        options = check_options(settings.effort, tolerance=GRADIENT_TOLERANCE, watch=on_iteration)
        shot = solve_shot(problem, options, dt=settings.dt)
        return KeyframeSolution.from_shot(shot, keys, settings, find_common_pins(self._body, keys))


def _build_problem_key(keys: Keys, settings: KeyframeModeSettings) -> tuple[Any, ...]:
    return build_solution_key(keys, msgspec.structs.replace(settings, effort=1.0, dt=None))


class SearchProgress:
    """Estimated progress of a search, which runs from three initial guesses, and once more with hard keys.

    is_stopped: set when the user stops or cancels the search; last_preview: [s] when the motion was last shown.
    """

    def __init__(self, has_hard_keys: bool):
        self._parts = 4 if has_hard_keys else 3
        self._finished_parts, self._first_gradient, self._last_iteration = 0, 0.0, -1
        self._fraction, self._start_time = 0.0, time.perf_counter()
        self.steps, self.seconds, self.last_preview, self.is_stopped = 0, 0.0, 0.0, False

    def update(self, iterate: Iterate) -> float:
        """Estimated fraction of the whole work, which never decreases."""
        if iterate.iteration <= self._last_iteration:
            self._finished_parts += 1
        if iterate.iteration <= self._last_iteration or self._last_iteration < 0:
            self._first_gradient = iterate.gradient_norm
        self._last_iteration, self.steps = iterate.iteration, self.steps + 1
        self.seconds = time.perf_counter() - self._start_time
        decrease = math.log(max(self._first_gradient, 1e-300) / max(iterate.gradient_norm, 1e-300))
        part = min(max(decrease / -math.log(GRADIENT_TOLERANCE), 0.0), 1.0)
        fraction = (min(self._finished_parts, self._parts - 1) + part) / self._parts
        self._fraction = max(self._fraction, min(fraction, 0.99))
        return self._fraction
