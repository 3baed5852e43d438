"""From keys to a motion in the studio: the work, what is seen of it meanwhile, and what is kept of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import Body
from cajole.direct import Shot
from cajole.direct.keyframing.keys import check_keys
from cajole.direct.keyframing.newton import Iterate
from cajole.direct.keyframing.pose_session import PoseSnapshot
from cajole.direct.keyframing.setup import ShotSetup
from cajole.direct.keyframing.shot import KeyframeReport
from cajole.direct.keyframing.solve import check_options, solve_shot
from cajole.dynamics.modal_analysis import count_modes
from cajole.errors import Cancelled, InputError
from cajole.progress import ProgressCallback, report_progress
from cajole.reduction import reduce
from cajole.studio import message_values as given
from cajole.studio.modes.base import Message
from cajole.studio.modes.keyframe import keys as keyed
from cajole.studio.modes.keyframe.keys import Keys, find_common_pins, has_no_rigid_motion, to_library_keys
from cajole.studio.modes.payloads import format_percent
from cajole.studio.modes.reduced_drawing import ReducedStateDrawing

if TYPE_CHECKING:
    from cajole.studio.modes.keyframe.mode import KeyframeMode

# Motions that a search begins with, each led to its end; exact keys take one more. And how far a gradient falls.
INITIAL_GUESSES, GRADIENT_TOLERANCE = 3, 1e-8
MAX_FRAMES, MAX_MODES = 5000, 200
EFFORT_RANGE, DT_RANGE = (1e-12, 1e6), (1e-5, 10.0)
GHOST_KINDS = ("rest", "spline")


@dataclass(frozen=True)
class KeyframeModeSettings:
    """What is asked of the motion beside its keys; dt [s], the natural one when None."""

    effort: float = 1e-4
    detail: int = 10
    frames: int = 121
    dt: float | None = None
    loop: bool = False


def update_settings(settings: KeyframeModeSettings, message: Message, *, max_modes: int) -> KeyframeModeSettings:
    """`old` with what a message changes. Raises InputError for values that no motion can have."""
    new = settings
    if "effort" in message:
        new = replace(new, effort=given.read_number(message, "effort", *EFFORT_RANGE))
    if "detail" in message:
        new = replace(new, detail=given.read_integer(message, "detail", 0, min(MAX_MODES, max_modes)))
    if "frames" in message:
        new = replace(new, frames=given.read_integer(message, "frames", 2, MAX_FRAMES))
    if "dt" in message:
        new = replace(new, dt=None if message["dt"] is None else given.read_number(message, "dt", *DT_RANGE))
    if "loop" in message:
        new = replace(new, loop=given.read_flag(message, "loop"))
    if unknown := {"tracking", "final"} & message.keys():
        raise InputError(f"{min(unknown)} is a dial of Steer; Keyframe has effort, detail, frames, dt and loop")
    return new


def build_solution_key(keys: Keys, settings: KeyframeModeSettings) -> tuple[Any, ...]:
    """All that a motion depends on: equal when it need not be made again."""
    made_of = ((id(key.pose.displacement), id(key.pose.pins)) for key in keys)
    return (settings, *((key.frame, *poses, key.hard, key.weight) for key, poses in zip(keys, made_of)))


@dataclass(frozen=True, eq=False)
class KeyframeSolution:
    """A motion that was made: states (frames, r) in `basis` (3n, r), added force (frames,) in body weights.

    missed: how far each key, by its id, is from what it asked for, in body sizes; about: cost, iterations, seconds and
    the report; what made it: `asked`, with the moments of the keys, so that ids of their parts stay theirs; held: (k,)
    vertices that pins held.
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
    summary: Mapping[str, Any]
    key: tuple[Any, ...]
    key_poses: tuple[PoseSnapshot, ...]
    fixed_vertices: IndexArray
    _cached_shot: list[Shot] = field(default_factory=list)

    def get_shot(self, body: Body) -> Shot:
        """As `keyframe` returned it; of a motion that was read back, made anew from its controls."""
        if not self._cached_shot:
            self._cached_shot.append(self._rebuild_shot(body))
        return self._cached_shot[0]

    def _rebuild_shot(self, body: Body) -> Shot:
        about, model = self.summary, reduce(fix_vertices(body, self.fixed_vertices), self.basis)
        report = KeyframeReport(
            keys=tuple(about["keys"]),
            errors=tuple(about["errors"]),
            gentleness=self.added_force[-len(self.controls) :],
            cost=about["cost"],
            iterations=about["iterations"],
            converged=about["converged"],
            seconds=about["seconds"],
            start_costs=(),
            basis=None,
            frames=len(self.states),
            dt=self.dt,
        )
        # the feedback of the last sweep is large and of no further use: `steer` makes its own
        gains = np.empty((0, model.size, 2 * model.size))
        return Shot(model, self.states, self.velocities, self.controls, gains, self.dt, report, self.start, self.loop)


def fix_vertices(body: Body, vertices: IndexArray) -> Body:
    """The body that a shot is made of: `body`, held by the pins of its keys where there are such."""
    return body.with_fixed_vertices(vertices) if len(vertices) else body


def build_solution(shot: Shot, keys: Keys, settings: KeyframeModeSettings, pins: IndexArray) -> KeyframeSolution:
    """What is kept of a shot through `keys`; pins: vertices (k,) that all of them pin."""
    report = shot.report
    held = np.intersect1d(pins, shot.model.body.fixed)
    errors = dict(zip(report.keys, report.errors))
    before = len(shot.states) - len(report.gentleness)
    about = {
        "cost": float(report.cost),
        "worst": float(max(report.errors, default=0.0)),
        "iterations": int(report.iterations),
        "seconds": float(report.seconds),
        "converged": bool(report.converged),
        "keys": [int(frame) for frame in report.keys],
        "errors": [float(error) for error in report.errors],
        "text": describe_report(report, len(pins), len(held)),
    }
    return KeyframeSolution(
        shot.model.basis, shot.states, shot.velocities, shot.controls, shot.start,
        np.concatenate([np.zeros(before), report.gentleness]), shot.dt, shot.loop,
        {key.id: float(errors.get(key.frame, 0.0)) for key in keys}, about, build_solution_key(keys, settings),
        tuple(key.pose for key in keys), held, [shot],
    )  # fmt: skip


def describe_report(report: KeyframeReport, pins: int, holding_pins: int) -> str:
    """What was reached, in a sentence or two; pins: how many points are pinned, held: how many of them hold."""
    worst, force = format_percent(max(report.errors, default=0.0)), format_percent(report.mean_gentleness)
    pinned = f", held at {holding_pins} pinned point{'' if holding_pins == 1 else 's'}" if holding_pins else ""
    said = f"Keys hit within {worst} of body size, with {force} of body weight{pinned}."
    if pins > holding_pins:
        said += " Nothing holds the body, which can turn about its pins: pin three points or more, not in a line."
    if report.key_notes:
        said += f" {len(report.key_notes)} of the keys have elements inside out: spread their pulls or pull less."
    if not report.converged:
        said += " It is the best so far, not yet the best there is: optimise again to go on."
    return " ".join([said, *(f"{note[0].upper()}{note[1:]}." for note in report.notes)])


class KeyframeSolver:
    """Makes takes. What keys and detail alone decide is kept, so that another effort is quickly tried."""

    def __init__(self, body: Body):
        self._body = body
        self._problem: tuple[tuple[Any, ...], ShotSetup, tuple[PoseSnapshot, ...]] | None = None

    def get_natural_dt(self, keys: Keys, settings: KeyframeModeSettings) -> float | None:
        """The time between frames [s] that suits the keys, where it is known."""
        known = self._problem is not None and self._problem[0] == _build_problem_key(keys, settings)
        return float(self._problem[1].natural_dt) if known and self._problem is not None else None

    def build_problem(self, keys: Keys, settings: KeyframeModeSettings) -> ShotSetup:
        """The model and all else that must be there before the search. Raises InputError for keys that cannot be."""
        decides = _build_problem_key(keys, settings)
        if self._problem is None or self._problem[0] != decides:
            held = self._find_holding_pins(keys)
            body, ending = fix_vertices(self._body, held), "loop" if settings.loop else "open"
            checked, count = check_keys(body, to_library_keys(keys, held), settings.frames, loop=settings.loop)
            # pinned vertices leave fewer modes than the dial may ask for
            detail = min(settings.detail, count_modes(body))
            made = ShotSetup.from_keys(body, checked, count, modes=detail, boundary=ending)
            # the moments are kept, or another pose might be given the id of one that is gone
            self._problem = (decides, made, tuple(key.pose for key in keys))
        return self._problem[1]

    def solve(
        self, problem: ShotSetup, keys: Keys, settings: KeyframeModeSettings, on_iteration: Callable[[Iterate], bool]
    ) -> KeyframeSolution:
        """The best motion; watch: told of every iterate, False stops and keeps the best so far."""
        shot = solve_shot(
            problem, check_options(settings.effort, tolerance=GRADIENT_TOLERANCE, watch=on_iteration), dt=settings.dt
        )
        return build_solution(shot, keys, settings, find_common_pins(self._body, keys))

    def _find_holding_pins(self, keys: Keys) -> IndexArray:
        pins = find_common_pins(self._body, keys)
        return pins if has_no_rigid_motion(self._body, pins) else pins[:0]


def _build_problem_key(keys: Keys, settings: KeyframeModeSettings) -> tuple[Any, ...]:
    return build_solution_key(keys, replace(settings, effort=1.0, dt=None))


class SearchProgress:
    """How far a search has come: it makes several starts, and leads each to its end."""

    def __init__(self, has_hard_keys: bool):
        self._parts = INITIAL_GUESSES + (1 if has_hard_keys else 0)
        self._finished_parts, self._first_gradient, self._last_iteration = 0, 0.0, -1
        self._fraction = 0.0
        self._start_time = time.perf_counter()
        self.steps = 0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start_time

    def update(self, iterate: Iterate) -> float:
        """Of the whole work, as far as anybody can tell; it never falls."""
        if iterate.iteration <= self._last_iteration:
            self._finished_parts += 1
        if iterate.iteration <= self._last_iteration or self._last_iteration < 0:
            self._first_gradient = iterate.gradient_norm
        self._last_iteration, self.steps = iterate.iteration, self.steps + 1
        fallen = math.log(max(self._first_gradient, 1e-300) / max(iterate.gradient_norm, 1e-300)) / -math.log(
            GRADIENT_TOLERANCE
        )
        share = (min(self._finished_parts, self._parts - 1) + min(max(fallen, 0.0), 1.0)) / self._parts
        self._fraction = max(self._fraction, min(share, 0.99))
        return self._fraction


# --- saving


def pack_solution(
    solution: KeyframeSolution, keys: Keys, settings: KeyframeModeSettings
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A take as plain JSON and arrays."""
    names = ("basis", "states", "velocities", "controls")
    arrays: dict[str, NDArray[Any]] = {f"take_{name}": getattr(solution, name) for name in names} | {
        "take_curve": solution.added_force
    }
    arrays["take_held"] = solution.fixed_vertices
    if solution.start is not None:
        arrays["take_start"] = np.stack(solution.start)
    document = {
        "dt": solution.dt,
        "loop": solution.loop,
        "missed": dict(solution.key_errors),
        "about": dict(solution.summary),
    }
    return document | {"stale": solution.key != build_solution_key(keys, settings)}, arrays


def unpack_solution(
    body: Body,
    document: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    keys: Keys,
    settings: KeyframeModeSettings,
) -> KeyframeSolution:
    """A take that was saved. Raises InputError, or what plain lookups raise, for one of another body."""
    basis = checks.require_real_array(arrays["take_basis"], "saved basis", (3 * body.vertex_count, None))
    r = basis.shape[1]
    states = checks.require_real_array(arrays["take_states"], "saved states", (None, r))
    start = checks.require_real_array(arrays["take_start"], "saved start", (2, r)) if "take_start" in arrays else None
    # those that were saved before pins held anything have none
    held = checks.require_index_array(
        arrays.get("take_held", np.empty(0, dtype=np.int64)), "saved pins", (None,), body.vertex_count
    )
    return KeyframeSolution(
        basis, states, checks.require_real_array(arrays["take_velocities"], "saved velocities", (len(states), r)),
        checks.require_real_array(arrays["take_controls"], "saved controls", (None, r)),
        None if start is None else (start[0], start[1]),
        checks.require_real_array(arrays["take_curve"], "saved forces", (len(states),)),
        checks.require_positive(document["dt"], "saved dt (s)"), bool(document["loop"]), dict(document["missed"]),
        dict(document["about"]), () if document["stale"] else build_solution_key(keys, settings),
        tuple(key.pose for key in keys), held,
    )  # fmt: skip


# [s] between two motions that are shown of a search
PREVIEW_INTERVAL = 0.25
# who stops the search before its first step asks for what there is not yet
STOPPED_EARLY_NOTICE = {
    "is": "notice",
    "tone": "warn",
    "title": "Stopped before there was a motion",
    "text": "The search had not made its first step, and nothing has changed. Optimise again, and stop it later.",
}


class OptimisationMonitor:
    """One search under way: tells of every iterate, and shows the motion now and then."""

    def __init__(self, mode: KeyframeMode, progress: ProgressCallback, problem: ShotSetup):
        self._mode, self._progress, self._problem = mode, progress, problem
        self._progress_estimate = SearchProgress(any(key.hard for key in mode.keys))
        self._drawing = ReducedStateDrawing(mode.content, mode.body.vertices, problem.model.basis)
        self._initial_state = problem.model.project(problem.start_displacement)
        self._last_preview = 0.0
        self.is_stopped = False

    def on_iteration(self, iterate: Iterate) -> bool:
        """Whether to go on."""
        mode, pace = self._mode, self._progress_estimate
        fraction = pace.update(iterate)
        mode.host.broadcast({
            "is": "iterate", "job": mode.running_job or "", "iteration": pace.steps, "cost": float(iterate.cost),
            "gradient": float(iterate.gradient_norm), "seconds": pace.seconds,
        })  # fmt: skip
        if pace.seconds - self._last_preview >= PREVIEW_INTERVAL:
            self._last_preview = pace.seconds
            states = iterate.trajectory.coordinates
            mode.preview = (
                self._drawing,
                np.vstack([self._initial_state, states] if self._problem.boundary == "open" else [states]),
            )
            mode.host.record_change()
        self.is_stopped = self._progress(fraction, f"step {pace.steps} · {pace.seconds:.1f} s") is False
        return not self.is_stopped


def optimise(mode: KeyframeMode, message: Message) -> Mapping[str, Any]:
    """Find the gentlest motion through the keys. Raises InputError for keys that cannot be, Cancelled."""
    if not mode.keys:
        raise InputError("there are no keys to go through; pull the body into a pose, then capture it")
    keyed.require_distinct_frames(mode.keys)
    before, shown = mode.capture_state(), mode.preview
    progress = mode.host.begin_job("Optimising", stoppable=True)
    mode.running_job = mode.host.job_id
    mode.host.record_change(frames_changed=False)
    try:
        made = _solve(mode, progress)
    except BaseException as reason:
        mode.preview = shown
        mode.host.record_change()
        if isinstance(reason, Cancelled) and mode.host.has_stop_request:
            mode.host.broadcast(STOPPED_EARLY_NOTICE)
        raise
    finally:
        mode.running_job = None
    mode.solution = made
    mode.update_preview()
    mode.host.end_job()
    mode.history.record("optimise", before)
    mode.host.record_change("optimise")
    tone = "ok" if made.summary["converged"] else "warn"
    mode.host.broadcast({"is": "notice", "tone": tone, "title": "The motion is ready", "text": made.summary["text"]})
    return {"cost": made.summary["cost"], "worst": made.summary["worst"]}


def _solve(mode: KeyframeMode, progress: ProgressCallback) -> KeyframeSolution:
    report_progress(progress, 0.0, "finding how the body may move")
    setting = mode.solver.build_problem(mode.keys, mode.settings)
    report_progress(progress, 0.0, "looking for the gentlest motion")
    search = OptimisationMonitor(mode, progress, setting)
    made = mode.solver.solve(setting, mode.keys, mode.settings, search.on_iteration)
    if search.is_stopped and not mode.host.has_stop_request:
        raise Cancelled("the optimisation was cancelled; what was there before is kept")
    return made
