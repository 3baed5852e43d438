"""`keyframe`: a few poses become a physical motion through them, with the least added force."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.body import Body
from cajole.direct.keyframing.keys import Key, checked_keys, key_cost, key_error
from cajole.direct.keyframing.newton import Iterate, Outcome
from cajole.direct.keyframing.optimisers import OPTIMISERS, minimised
from cajole.direct.keyframing.problem import Problem
from cajole.direct.keyframing.shot import EARTH, KeyframeReport, Shot
from cajole.direct.keyframing.timestep import natural_frequencies, natural_timestep
from cajole.dynamics import State, modes
from cajole.errors import InputError, NotConverged
from cajole.reduction import ReducedSolid, keyframe_basis, reduce
from cajole.reduction.bases import BasisReport
from cajole.reduction.trajectory import newmark_plan, predictor, rollout_pd

Array = NDArray[np.float64]

STARTS = ("best", "zero", "pd")
# Stiffness of the PD starts, in units of the natural frequency of the keys; together with zero control they found the
# best known minimum of every long shot tried.
PD_STARTS = (3.0, 8.0)


def keyframe(
    body: Body,
    keys: Mapping[int, Key | ArrayLike],
    frames: int | None = None,
    dt: float | None = None,
    effort: float = 1e-4,
    modes: int = 10,
    *,
    start: State | None = None,
    basis: ArrayLike | None = None,
    tangents: bool = True,
    optimiser: str = "newton",
    starts: str = "best",
    tolerance: float = 1e-8,
    iterations: int = 200,
    watch: Callable[[Iterate], bool | None] | None = None,
) -> Shot:
    """Minimise J = ½ mean_k weight |Δz_k|²/(m L²) + ½ effort mean_n |w_n|²/(m (L ω₁²)²) over controls w (eq. (4)).

    keys: {frame: displacement (n, 3) or Key}; frame 0 is the start, and a key there is where the motion begins.
    frames: how many, the start included; dt [s] between them, from eq. (10) when None.
    effort: what added force costs against missing a key: 0.1 loose, 0.01 normal, 1e-3 tight; dimensionless.
    modes: linear modes that enrich the basis of keys and tangents; basis: (3n, r) to use instead.
    start: State at frame 0, at rest when None. optimiser: "newton", "lbfgs" or "cg" (the paper's).
    starts: "best" tries zero control and two PD-driven motions and keeps the best; or "zero", "pd".
    watch: called with every iterate; returning False stops and gives the best motion so far.
    Raises InputError for keys that cannot be, NotConverged when dt is too large to simulate.
    """
    checks.require_instance(body, Body, "body")
    checks.one_of(optimiser, "optimiser", OPTIMISERS)
    checks.one_of(starts, "starts", STARTS)
    checks.positive(effort, "effort")
    wanted, count = checked_keys(body, keys, frames)
    begin = time.perf_counter()
    first, velocity = _begin(body, wanted, start)
    model, report = _model(body, wanted, first, basis, tangents, checks.count(modes, "modes", least=0))
    frequencies, gaps = _pace(body, wanted, first)
    h = natural_timestep(frequencies, gaps) if dt is None else checks.positive(dt, "dt (s)")
    problem = _problem(model, wanted, count, h, effort, first, velocity)
    outcome, tried = _best(problem, _starts(problem, wanted, model, first, frequencies, starts), optimiser,
                           tolerance=tolerance, most=iterations, watch=watch)  # fmt: skip
    seconds = time.perf_counter() - begin
    return _shot(model, wanted, outcome, tried, report, h, first, velocity, seconds)


def _begin(body: Body, keys: dict[int, Key], start: State | None) -> tuple[Array, Array]:
    """Displacement and velocity at frame 0: the start given, or the key there, or rest."""
    zero = np.zeros((body.count, 3))
    if start is not None and 0 in keys:
        raise InputError("both start and a key at frame 0 say where the motion begins; give one of them")
    if start is None:
        return (np.asarray(keys[0].displacement) if 0 in keys else zero), zero
    u = zero if start.displacement is None else body.checked(start.displacement, "start displacement")
    v = zero if start.velocity is None else body.checked(start.velocity, "start velocity")
    body.require_still(u, "start displacement")
    body.require_still(v, "start velocity")
    return u, v


def _later(keys: dict[int, Key]) -> dict[int, Key]:
    later = {frame: key for frame, key in keys.items() if frame > 0}
    if not later:
        raise InputError("the only key stands at frame 0, where the motion begins; give one at a later frame")
    return later


def _poses(keys: dict[int, Key], first: Array) -> Array:
    """Poses in order of time, the start first."""
    return np.stack([first, *(np.asarray(key.displacement) for key in _later(keys).values())])


def _model(
    body: Body, keys: dict[int, Key], first: Array, basis: ArrayLike | None, tangents: bool, count: int
) -> tuple[ReducedSolid, BasisReport | None]:
    if basis is not None:
        return reduce(body, basis), None
    extras = modes(body, count).shapes if count else None
    U, report = keyframe_basis(body, _poses(keys, first), tangents=tangents, extras=extras, extra_size=max(count, 1))
    return reduce(body, U), report


def _pace(body: Body, keys: dict[int, Key], first: Array) -> tuple[Array, Array]:
    """Natural frequencies between consecutive poses, and the frames between them."""
    frames = np.array([0, *_later(keys)])
    return natural_frequencies(body, _poses(keys, first)), np.diff(frames)


def _problem(
    model: ReducedSolid, keys: dict[int, Key], frames: int, h: float, effort: float, first: Array, velocity: Array
) -> Problem:
    later = _later(keys)
    steps = frames - 1
    key = np.full(steps, -1)
    for row, frame in enumerate(later):
        key[frame - 1] = row
    costs = [key_cost(model, wanted) for wanted in later.values()]
    # J times K m L²: keys then weigh with H = I, and the body's size drops out of the effort
    rho = effort * len(later) / (steps * model.frequency**4)
    start = predictor(model.system, model.project(first), model.project(velocity), h)
    return Problem(
        model.system, newmark_plan(np.full(steps + 1, h)), start, key,
        np.stack([H for H, _ in costs]), np.stack([t for _, t in costs]), np.full(steps, rho),
    )  # fmt: skip


def _starts(
    problem: Problem, keys: dict[int, Key], model: ReducedSolid, first: Array, frequencies: Array, which: str
) -> list[tuple[str, Array]]:
    """Named controls to start from."""
    steps = len(problem.plan)
    found = [("zero control", np.zeros((steps, model.size)))] if which in ("best", "zero") else []
    if which in ("best", "pd"):
        frames = [0, *_later(keys)]
        poses = np.stack([model.project(first), *problem.t])
        times = np.arange(1, steps + 1)
        target = np.stack([np.interp(times, frames, column) for column in poses.T], axis=1)
        pace = float(frequencies.mean()) if len(frequencies) else model.frequency
        for factor in PD_STARTS:
            path = rollout_pd(problem.system, problem.plan, problem.start, target, factor * pace)
            if path is not None:
                found.append((f"PD at {factor:g} times the natural frequency", path.W))
    if not found:
        raise NotConverged("no start could be simulated with this timestep; use a smaller dt")
    return found


@dataclass
class _Stop(Exception):
    """The caller's wish to stop, with the motion reached."""

    iterate: Iterate


def _best(
    problem: Problem,
    starts: list[tuple[str, Array]],
    optimiser: str,
    *,
    tolerance: float,
    most: int,
    watch: Callable[[Iterate], bool | None] | None,
) -> tuple[Outcome, tuple[tuple[str, float], ...]]:
    """The best outcome over all starts, and the cost each reached."""
    outcomes: list[tuple[str, Outcome]] = []
    failures: list[NotConverged] = []

    def listen(iterate: Iterate) -> None:
        if watch is not None and watch(iterate) is False:
            raise _Stop(iterate)

    for name, W in starts:
        try:
            outcomes.append((name, minimised(problem, W, optimiser, tolerance=tolerance, most=most, watch=listen)))
        except NotConverged as reason:
            failures.append(reason)
        except _Stop as stop:
            outcomes.append((name, _stopped(stop.iterate)))
            break
    if not outcomes:
        raise NotConverged(f"the motion cannot be simulated with this timestep: {failures[0]}")
    best = min(outcomes, key=lambda pair: pair[1].cost)[1]
    return best, tuple((name, outcome.cost) for name, outcome in outcomes)


def _stopped(iterate: Iterate) -> Outcome:
    T, r = iterate.path.W.shape
    return Outcome(
        iterate.path, iterate.cost, iterate.gradient, iterate.gradient, iterate.iteration, False,
        np.zeros((T, r, 2 * r)), "stopped by the caller",
    )  # fmt: skip


def _shot(
    model: ReducedSolid,
    keys: dict[int, Key],
    outcome: Outcome,
    tried: tuple[tuple[str, float], ...],
    basis: BasisReport | None,
    h: float,
    first: Array,
    velocity: Array,
    seconds: float,
) -> Shot:
    path = outcome.path
    states = np.vstack([model.project(first), path.Q])
    velocities = np.vstack([model.project(velocity), path.Vq])
    weights = np.linalg.norm(path.W, axis=1) / (np.sqrt(model.body.total_mass) * EARTH)
    later = _later(keys)
    errors = tuple(key_error(model, key, states[frame]) for frame, key in later.items())
    report = KeyframeReport(
        tuple(later), errors, weights, outcome.cost, outcome.iterations, outcome.converged, seconds, tried, basis,
        outcome.message,
    )  # fmt: skip
    return Shot(model, states, velocities, path.W, outcome.gains, h, report)
