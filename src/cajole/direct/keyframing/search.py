"""The search of `keyframe`: optimise from several initial guesses, first with soft keys, then with hard keys exact."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.optimize

from cajole.arrays import Array
from cajole.direct.keyframing.newton import (
    Iterate,
    NewtonOptions,
    OptimisationStopped,
    ShotSolution,
    compute_feedback_gains,
    minimise,
)
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
from cajole.reduction.trajectory import Trajectory, rollout_closed_loop

OPTIMISERS = ("newton", "lbfgs", "cg")
# A net with more springs than the first number is searched first with the second number of springs: an iteration with
# all of them costs more than to choose these.
COARSE_MODEL_ABOVE, COARSE_MODEL_SPRINGS = 10_000, 600
# The gradient falls to this share with the coarse model, in at most so many iterations: its last digits belong to it.
COARSE_OPTIONS = NewtonOptions(tolerance=1e-6, max_iterations=60)


@dataclass(frozen=True)
class KeyframeOptions:
    """Options of the search; see `keyframe`."""

    effort: float = 1e-4
    optimiser: str = "newton"
    starts: str = "best"
    tolerance: float = 1e-8
    iterations: int = 200
    rank: float = 1e-2
    watch: Callable[[Iterate], bool | None] | None = None

    @property
    def newton(self) -> NewtonOptions:
        """Options of Newton's method."""
        return NewtonOptions(tolerance=self.tolerance, max_iterations=self.iterations)

    def notify(self, iterate: Iterate) -> None:
        """Pass an iterate to the caller's `watch`; raises OptimisationStopped if that returns False."""
        if self.watch is not None and self.watch(iterate) is False:
            raise OptimisationStopped(iterate)


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
    """The best motion over all initial guesses, for step sizes (T,) [s]; duration: see `build_soft_problem`."""
    problem = build_soft_problem(setup, options.effort, step_sizes, duration)
    if guesses is None:
        coarse_guess = None
        try:
            if options.starts == "best":
                # what the coarse model cannot simulate, the full model may
                with suppress(SolveError), limit_blas_threads():
                    coarse_guess = guess_from_coarse_model(setup, problem, options.notify)
        except OptimisationStopped as stop:
            solution = _build_stopped_solution(stop.iterate, problem)
            return KeyframeSearchResult(problem, solution, (("a draft", solution.cost),), None, stopped=True)
        guesses = [coarse_guess] if coarse_guess else build_initial_guesses(setup, problem, options.starts)
    solutions, stopped = _optimise_guesses(problem, guesses, options)
    ranked = sorted((solution for _, solution in solutions), key=lambda solution: solution.cost)
    start_costs = tuple((name, solution.cost) for name, solution in solutions)
    if stopped or not any(key.hard for key in setup.keys.values()):
        return KeyframeSearchResult(problem, ranked[0], start_costs, None, stopped)
    hard = build_hard_problem(setup, problem, options.rank)
    return KeyframeSearchResult(hard, _enforce_hard_keys(hard, problem, ranked, options), start_costs, ranked[0])


def _optimise_guesses(
    problem: KeyframeProblem, guesses: list[InitialGuess], options: KeyframeOptions
) -> tuple[list[tuple[str, ShotSolution]], bool]:
    """The solution from each guess, and whether the caller stopped the search."""
    solutions: list[tuple[str, ShotSolution]] = []
    failure: SolveError | None = None
    least_gradient = np.inf
    for name, controls, start in guesses:
        try:
            solution = optimise(
                problem,
                controls,
                start,
                options.optimiser,
                options=options.newton,
                callback=options.notify,
                max_gradient_scale=least_gradient,
            )
            least_gradient = min(least_gradient, solution.initial_gradient_norm)
            solutions.append((name, solution))
        except SolveError as reason:
            failure = failure or reason
        except OptimisationStopped as stop:
            solutions.append((name, _build_stopped_solution(stop.iterate, problem)))
            return solutions, True
    if not solutions:
        raise NotConverged(f"the motion cannot be simulated with this timestep: {failure}")
    return solutions, False


def _enforce_hard_keys(
    hard: KeyframeProblem, soft: KeyframeProblem, ranked: list[ShotSolution], options: KeyframeOptions
) -> ShotSolution:
    """Continue from the best soft solution until the hard keys are met; from the next best if that fails."""
    results: list[ShotSolution] = []
    for before in ranked:
        # ν = S ∂E/∂q: the force of the soft keys is the first guess of the multipliers of the hard ones
        gradient = soft.compute_key_gradient(before.trajectory)[hard.constraint_steps]
        multipliers = np.einsum("mr,mr->m", hard.constraint_rows, gradient)
        try:
            with limit_blas_threads():
                result = minimise(
                    hard,
                    before.trajectory,
                    multipliers=np.concatenate([multipliers, before.multipliers]),
                    gradient_scale=before.initial_gradient_norm,
                    options=options.newton,
                    callback=options.notify,
                )
        except OptimisationStopped as stop:
            return _build_stopped_solution(stop.iterate, hard)
        if result.converged:
            return result
        results.append(result)
    return min(results, key=lambda result: hard.compute_constraint_violation(result.trajectory))


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


def optimise(
    problem: KeyframeProblem,
    controls: Array,
    start: tuple[Array, Array],
    optimiser: str,
    *,
    options: NewtonOptions,
    callback: Callable[[Iterate], None],
    max_gradient_scale: float = np.inf,
) -> ShotSolution:
    """Minimise from controls W (T, r) and a predictor state, by Newton's method, L-BFGS or conjugate gradients.

    max_gradient_scale: the smallest initial gradient so far; a violent start must not loosen the tolerance.
    """
    with limit_blas_threads():
        if optimiser != "newton":
            return _optimise_first_order(problem, controls, optimiser, options, callback)
        trajectory = problem.simulate(controls, start)
        scale = min(problem.compute_gradient_norm(problem.compute_gradient(trajectory)), max_gradient_scale)
        if problem.boundary == "free":
            # released together, a poor motion and its start would diverge: first a good motion from the fixed start
            fixed = replace(problem, boundary="open", start_cost=np.zeros_like(problem.start_cost))
            rough = replace(options, tolerance=1e-3)
            trajectory = minimise(fixed, trajectory, options=rough, callback=callback).trajectory
        return minimise(problem, trajectory, gradient_scale=scale, options=options, callback=callback)


def _optimise_first_order(
    problem: KeyframeProblem,
    controls: Array,
    optimiser: str,
    options: NewtonOptions,
    callback: Callable[[Iterate], None],
) -> ShotSolution:
    """First-order methods of SciPy on the exact adjoint gradient, in controls scaled by √effort.

    They minimise the cost relative to that of the start, as their first steps and absolute tolerances assume values
    near one.
    """
    best = problem.simulate(controls)
    best_cost = problem.compute_cost(best)
    initial_norm = best_norm = problem.compute_gradient_norm(problem.compute_gradient(best))
    unit, count = best_cost or 1.0, 0
    scale = np.sqrt(problem.effort / unit)[:, None]

    def evaluate(x: Array) -> tuple[float, Array]:
        nonlocal best, best_cost, best_norm
        try:
            trial = problem.simulate(x.reshape(controls.shape) / scale)
        except NotConverged:
            return 1e300, np.zeros_like(x)  # the line search steps back from what cannot be simulated
        cost, gradient = problem.compute_cost(trial), problem.compute_gradient(trial)
        if cost <= best_cost:
            best, best_cost, best_norm = trial, cost, problem.compute_gradient_norm(gradient)
        return cost / unit, (gradient.controls / (unit * scale)).ravel()

    def report_iteration(_: Any) -> None:
        nonlocal count
        count += 1
        callback(Iterate(count, best, best_cost, best_norm))

    callback(Iterate(0, best, best_cost, best_norm))
    limits: dict[str, Any] = {"maxiter": options.max_iterations, "gtol": 1e-12}
    if optimiser == "lbfgs":
        limits |= {"maxcor": 20, "ftol": 1e-15, "maxfun": 20 * options.max_iterations}
    result = scipy.optimize.minimize(
        evaluate,
        (controls * scale).ravel(),
        jac=True,
        method={"lbfgs": "L-BFGS-B", "cg": "CG"}[optimiser],
        callback=report_iteration,
        options=limits,
    )
    converged = best_norm <= options.tolerance * initial_norm
    gains, message = compute_feedback_gains(problem, best), "" if converged else str(result.message)
    return ShotSolution(best, best_cost, best_norm, initial_norm, count, converged, gains, message, np.empty(0))


def guess_from_coarse_model(
    setup: ShotSetup, problem: KeyframeProblem, callback: Callable[[Iterate], None]
) -> InitialGuess | None:
    """Controls that keep the model on the best motion of a model with fewer springs; None without such a model.

    callback: called with every iterate; if it stops the search, OptimisationStopped has a motion of the whole model.
    """
    coarse_model = _select_coarse_model(setup) if setup.boundary == "open" else None
    if coarse_model is None:
        return None
    coarse, coarse_setup = replace(problem, system=coarse_model.kernel_data), replace(setup, model=coarse_model)
    found = list[tuple[str, ShotSolution]]()
    try:
        guess = None
        with suppress(SolveError):  # a coarse model may have a coarser one of its own
            guess = guess_from_coarse_model(coarse_setup, coarse, callback)
        for name, controls, start in [guess] if guess else build_initial_guesses(coarse_setup, coarse, "best"):
            with suppress(SolveError):  # another start may do
                solution = optimise(coarse, controls, start, "newton", options=COARSE_OPTIONS, callback=callback)
                found.append((name, solution))
    except OptimisationStopped as stop:
        iterate, reference = stop.iterate, stop.iterate.trajectory
        trajectory = _track_trajectory(problem, reference, compute_feedback_gains(coarse, reference))
        if trajectory is None:
            trajectory = problem.simulate(np.zeros_like(reference.controls) - problem.bias)
        cost = problem.compute_cost(trajectory)
        gradient_norm = problem.compute_gradient_norm(problem.compute_gradient(trajectory))
        raise OptimisationStopped(Iterate(iterate.iteration, trajectory, cost, gradient_norm)) from None
    if not found:
        return None
    name, best = min(found, key=lambda each: each[1].cost)
    trajectory = _track_trajectory(problem, best.trajectory, best.gains)
    if trajectory is None:
        return None
    return f"a draft with {len(coarse_model.springs)} springs, {name}", trajectory.controls, problem.start


def _track_trajectory(problem: KeyframeProblem, trajectory: Trajectory, gains: Array) -> Trajectory | None:
    """The model under feedback around a motion of the coarse model; None where it cannot be simulated."""
    return rollout_closed_loop(
        problem.system, problem.coefficients, problem.start, trajectory, gains, np.zeros_like(trajectory.controls), 1.0
    )


def _select_coarse_model(setup: ShotSetup) -> ReducedSprings | None:
    """The model with fewer springs; for a large net without cubature, one made for this search."""
    model = setup.model
    if not isinstance(model, ReducedSprings):
        return None
    if model.report is None and len(model.springs) >= COARSE_MODEL_ABOVE:
        poses = np.stack([setup.start_displacement, *(np.asarray(key.displacement) for key in setup.keys.values())])
        return reduce_springs(model.body, model.basis, cubature=COARSE_MODEL_SPRINGS, poses=poses)
    return model.coarse_model
