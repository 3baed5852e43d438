"""The search for the best motion: several starts, the soft solve, then what must hold exactly."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from cajole.arrays import Array
from cajole.direct.keyframing.newton import Iterate, OptimisationStopped, ShotSolution, compute_feedback_gains, minimise
from cajole.direct.keyframing.optimisers import optimise
from cajole.direct.keyframing.problem import KeyframeProblem
from cajole.direct.keyframing.setup import (
    InitialGuess,
    ShotSetup,
    build_hard_problem,
    build_initial_guesses,
    build_soft_problem,
)
from cajole.errors import NotConverged, SolveError
from cajole.linalg import limit_blas_threads
from cajole.reduction import ReducedSprings
from cajole.reduction.reduced_springs import reduce_springs
from cajole.reduction.trajectory import Trajectory, rollout, rollout_closed_loop

# How far the gradient of a draft falls, and in how many iterations at most; its last digits belong to its few springs.
COARSE_TOLERANCE, COARSE_MAX_ITERATIONS = 1e-6, 60
# Nets of so many springs are drafted with so few: one iteration with all of them then costs more than to choose these.
COARSE_MODEL_ABOVE, COARSE_MODEL_SPRINGS = 10_000, 600


def guess_from_coarse_model(
    setup: ShotSetup, problem: KeyframeProblem, callback: Callable[[Iterate], None]
) -> InitialGuess | None:
    """Controls that keep the model on the best motion its draft finds; None without a draft, or when it finds none.

    watch: called with every iterate of the draft. Its Stop is passed on with a motion of the whole model.
    """
    coarse_model = _select_coarse_model(setup) if setup.boundary == "open" else None
    if coarse_model is None:
        return None
    coarse = replace(problem, system=coarse_model.kernel_data)
    try:
        found = _optimise_coarse(replace(setup, model=coarse_model), coarse, callback)
    except OptimisationStopped as stop:
        raise OptimisationStopped(_transfer_iterate(stop.iterate, coarse, problem)) from None
    if not found:
        return None
    name, best = min(found, key=lambda each: each[1].cost)
    trajectory = _track_trajectory(problem, best.trajectory, best.gains)
    return (
        None
        if trajectory is None
        else (f"a draft with {len(coarse_model.springs)} springs, {name}", trajectory.controls, problem.start)
    )


def _optimise_coarse(
    setup: ShotSetup, coarse: KeyframeProblem, callback: Callable[[Iterate], None]
) -> list[tuple[str, ShotSolution]]:
    """What the starts of a draft lead to; a draft may have one of its own."""
    led, found = None, list[tuple[str, ShotSolution]]()
    with suppress(SolveError):
        led = guess_from_coarse_model(setup, coarse, callback)
    for name, W, start in [led] if led else build_initial_guesses(setup, coarse, "best"):
        with suppress(SolveError):  # another start may do
            outcome = optimise(
                coarse,
                W,
                start,
                "newton",
                tolerance=COARSE_TOLERANCE,
                max_iterations=COARSE_MAX_ITERATIONS,
                callback=callback,
            )
            found.append((name, outcome))
    return found


def _transfer_iterate(iterate: Iterate, coarse: KeyframeProblem, problem: KeyframeProblem) -> Iterate:
    """An iterate of the draft as one of the model; the uncontrolled motion where the model cannot follow."""
    trajectory = _track_trajectory(problem, iterate.trajectory, compute_feedback_gains(coarse, iterate.trajectory))
    if trajectory is None:
        trajectory = rollout(
            problem.system,
            problem.coefficients,
            problem.start,
            np.zeros_like(iterate.trajectory.controls) - problem.bias,
        )
    return Iterate(
        iterate.iteration,
        trajectory,
        problem.compute_cost(trajectory),
        problem.compute_gradient_norm(problem.compute_gradient(trajectory)),
    )


def _track_trajectory(problem: KeyframeProblem, trajectory: Trajectory, gains: Array) -> Trajectory | None:
    """The model led along a motion of its draft by the draft's feedback; None where it cannot be simulated."""
    return rollout_closed_loop(
        problem.system, problem.coefficients, problem.start, trajectory, gains, np.zeros_like(trajectory.controls), 1.0
    )


def _select_coarse_model(setup: ShotSetup) -> ReducedSprings | None:
    """Fewer springs to search with; of a large net in full, a cubature made for this."""
    model = setup.model
    if not isinstance(model, ReducedSprings):
        return None
    if model.report is None and len(model.springs) >= COARSE_MODEL_ABOVE:
        poses = np.stack([setup.start_displacement, *(np.asarray(key.displacement) for key in setup.keys.values())])
        return reduce_springs(model.body, model.basis, cubature=COARSE_MODEL_SPRINGS, poses=poses)
    return model.coarse_model


@dataclass(frozen=True)
class KeyframeOptions:
    """How to search; see `keyframe`."""

    effort: float = 1e-4
    optimiser: str = "newton"
    starts: str = "best"
    tolerance: float = 1e-8
    iterations: int = 200
    rank: float = 1e-2
    watch: Callable[[Iterate], bool | None] | None = None


@dataclass(frozen=True)
class KeyframeSearchResult:
    """The best motion, the cost that each start reached, the soft motion before keys were made hard, and whether the
    caller stopped the search."""

    problem: KeyframeProblem
    solution: ShotSolution
    start_costs: tuple[tuple[str, float], ...]
    soft_solution: ShotSolution | None
    stopped: bool = False


def search_motion(
    setup: ShotSetup,
    step_sizes: Array,
    options: KeyframeOptions,
    *,
    guesses: list[InitialGuess] | None = None,
    duration: float | None = None,
) -> KeyframeSearchResult:
    """The best motion over all starts (or `guesses`) with the given step lengths (T,); span: see `soft_problem`."""
    problem = build_soft_problem(setup, options.effort, step_sizes, duration)
    try:
        starts = guesses or _build_guesses(setup, problem, options)
    except OptimisationStopped as stop:
        outcome = _build_stopped_solution(stop.iterate, problem)
        return KeyframeSearchResult(problem, outcome, (("a draft", outcome.cost),), None, stopped=True)
    outcomes, stopped = _optimise_guesses(problem, starts, options)
    ranked = sorted((outcome for _, outcome in outcomes), key=lambda outcome: outcome.cost)
    start_costs = tuple((name, outcome.cost) for name, outcome in outcomes)
    if stopped or not any(key.hard for key in setup.keys.values()):
        return KeyframeSearchResult(problem, ranked[0], start_costs, None, stopped)
    hard = build_hard_problem(setup, problem, options.rank)
    return KeyframeSearchResult(hard, _enforce_hard_keys(hard, problem, ranked, options), start_costs, ranked[0])


def build_callback(options: KeyframeOptions) -> Callable[[Iterate], None]:
    """Hands iterates to the caller's `watch`, and raises Stop when it says so."""

    def notify(iterate: Iterate) -> None:
        if options.watch is not None and options.watch(iterate) is False:
            raise OptimisationStopped(iterate)

    return notify


def _build_guesses(setup: ShotSetup, problem: KeyframeProblem, options: KeyframeOptions) -> list[InitialGuess]:
    """Where the search begins: of the best of all, where a draft has led, if there is one."""
    coarse_guess = None
    if options.starts == "best":
        with suppress(SolveError), limit_blas_threads():  # what a draft cannot simulate, the model still may
            coarse_guess = guess_from_coarse_model(setup, problem, build_callback(options))
    return build_initial_guesses(setup, problem, options.starts) if coarse_guess is None else [coarse_guess]


def _optimise_guesses(
    problem: KeyframeProblem, guesses: list[InitialGuess], options: KeyframeOptions
) -> tuple[list[tuple[str, ShotSolution]], bool]:
    """What each start led to, and whether the caller stopped the search."""
    outcomes: list[tuple[str, ShotSolution]] = []
    failures: list[SolveError] = []
    least = np.inf
    for name, W, start in guesses:
        try:
            outcome = optimise(
                problem,
                W,
                start,
                options.optimiser,
                tolerance=options.tolerance,
                max_iterations=options.iterations,
                callback=build_callback(options),
                max_gradient_scale=least,
            )
            least = min(least, outcome.initial_gradient_norm)
            outcomes.append((name, outcome))
        except SolveError as reason:
            failures.append(reason)
        except OptimisationStopped as stop:
            outcomes.append((name, _build_stopped_solution(stop.iterate, problem)))
            return outcomes, True
    if not outcomes:
        raise NotConverged(f"the motion cannot be simulated with this timestep: {failures[0]}")
    return outcomes, False


def _enforce_hard_keys(
    hard: KeyframeProblem, soft: KeyframeProblem, ranked: list[ShotSolution], options: KeyframeOptions
) -> ShotSolution:
    """The best soft motion led on until its hard keys hold; the next best when that fails."""
    last = None
    for before in ranked:
        warm = np.concatenate([_estimate_multipliers(hard, soft, before), before.multipliers])
        try:
            with limit_blas_threads():
                outcome = minimise(
                    hard,
                    before.trajectory,
                    multipliers=warm,
                    gradient_scale=before.initial_gradient_norm,
                    tolerance=options.tolerance,
                    max_iterations=options.iterations,
                    callback=build_callback(options),
                )
        except OptimisationStopped as stop:
            return _build_stopped_solution(stop.iterate, hard)
        if outcome.converged:
            return outcome
        last = (
            outcome
            if last is None
            or hard.compute_constraint_violation(outcome.trajectory)
            < hard.compute_constraint_violation(last.trajectory)
            else last
        )
    assert last is not None
    return last


def _estimate_multipliers(hard: KeyframeProblem, soft: KeyframeProblem, soft_solution: ShotSolution) -> Array:
    """ν = S ∂E/∂q: what the soft keys pull with is the first guess of what the hard ones need."""
    return np.einsum(
        "mr,mr->m", hard.constraint_rows, soft.compute_key_gradient(soft_solution.trajectory)[hard.constraint_steps]
    )


def _build_stopped_solution(iterate: Iterate, problem: KeyframeProblem) -> ShotSolution:
    return ShotSolution(
        iterate.trajectory,
        iterate.cost,
        iterate.gradient_norm,
        iterate.gradient_norm,
        iterate.iteration,
        False,
        compute_feedback_gains(problem, iterate.trajectory),
        "stopped by the caller",
        np.zeros(problem.multiplier_count),
    )
