"""The search for the best motion: several starts, the soft solve, then what must hold exactly."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array
from cajole.direct.keyframing.drafts import drafted
from cajole.direct.keyframing.newton import Iterate, Outcome, Stop, feedback, minimise
from cajole.direct.keyframing.optimisers import minimised
from cajole.direct.keyframing.problem import Problem
from cajole.direct.keyframing.setup import Setting, Start, first_guesses, hard_problem, soft_problem
from cajole.errors import NotConverged, SolveError
from cajole.linalg import blas_threads


@dataclass(frozen=True)
class Options:
    """How to search; see `keyframe`."""

    effort: float = 1e-4
    optimiser: str = "newton"
    starts: str = "best"
    tolerance: float = 1e-8
    iterations: int = 200
    rank: float = 1e-2
    watch: Callable[[Iterate], bool | None] | None = None


@dataclass(frozen=True)
class Found:
    """The best motion, the cost that each start reached, the soft motion before keys were made hard, and whether the
    caller stopped the search."""

    problem: Problem
    outcome: Outcome
    tried: tuple[tuple[str, float], ...]
    soft: Outcome | None
    stopped: bool = False


def search(
    setting: Setting,
    steps: Array,
    options: Options,
    *,
    guesses: list[Start] | None = None,
    span: float | None = None,
) -> Found:
    """The best motion over all starts (or `guesses`) with the given step lengths (T,); span: see `soft_problem`."""
    problem = soft_problem(setting, options.effort, steps, span)
    try:
        starts = guesses or _starts(setting, problem, options)
    except Stop as stop:
        outcome = _stopped(stop.iterate, problem)
        return Found(problem, outcome, (("a draft", outcome.cost),), None, stopped=True)
    outcomes, stopped = _outcomes(problem, starts, options)
    ranked = sorted((outcome for _, outcome in outcomes), key=lambda outcome: outcome.cost)
    tried = tuple((name, outcome.cost) for name, outcome in outcomes)
    if stopped or not any(key.hard for key in setting.keys.values()):
        return Found(problem, ranked[0], tried, None, stopped)
    hard = hard_problem(setting, problem, options.rank)
    return Found(hard, _hardened(hard, problem, ranked, options), tried, ranked[0])


def listener(options: Options) -> Callable[[Iterate], None]:
    """Hands iterates to the caller's `watch`, and raises Stop when it says so."""

    def listen(iterate: Iterate) -> None:
        if options.watch is not None and options.watch(iterate) is False:
            raise Stop(iterate)

    return listen


def _starts(setting: Setting, problem: Problem, options: Options) -> list[Start]:
    """Where the search begins: of the best of all, where a draft has led, if there is one."""
    led = None
    if options.starts == "best":
        with suppress(SolveError), blas_threads():  # what a draft cannot simulate, the model still may
            led = drafted(setting, problem, listener(options))
    return first_guesses(setting, problem, options.starts) if led is None else [led]


def _outcomes(problem: Problem, starts: list[Start], options: Options) -> tuple[list[tuple[str, Outcome]], bool]:
    """What each start led to, and whether the caller stopped the search."""
    outcomes: list[tuple[str, Outcome]] = []
    failures: list[SolveError] = []
    least = np.inf
    for name, W, start in starts:
        try:
            outcome = minimised(problem, W, start, options.optimiser, tolerance=options.tolerance,
                                most=options.iterations, watch=listener(options), least=least)  # fmt: skip
            least = min(least, outcome.start_gradient)
            outcomes.append((name, outcome))
        except SolveError as reason:
            failures.append(reason)
        except Stop as stop:
            outcomes.append((name, _stopped(stop.iterate, problem)))
            return outcomes, True
    if not outcomes:
        raise NotConverged(f"the motion cannot be simulated with this timestep: {failures[0]}")
    return outcomes, False


def _hardened(hard: Problem, soft: Problem, ranked: list[Outcome], options: Options) -> Outcome:
    """The best soft motion led on until its hard keys hold; the next best when that fails."""
    last = None
    for before in ranked:
        warm = np.concatenate([_pulls(hard, soft, before), before.nu])
        try:
            with blas_threads():
                outcome = minimise(
                    hard, before.path, nu=warm, scale=before.start_gradient, tolerance=options.tolerance,
                    most=options.iterations, watch=listener(options),
                )  # fmt: skip
        except Stop as stop:
            return _stopped(stop.iterate, hard)
        if outcome.converged:
            return outcome
        last = outcome if last is None or hard.broken(outcome.path) < hard.broken(last.path) else last
    assert last is not None
    return last


def _pulls(hard: Problem, soft: Problem, before: Outcome) -> Array:
    """ν = S ∂E/∂q: what the soft keys pull with is the first guess of what the hard ones need."""
    return np.einsum("mr,mr->m", hard.rows, soft.key_gradient(before.path)[hard.row_step])


def _stopped(iterate: Iterate, problem: Problem) -> Outcome:
    return Outcome(
        iterate.path, iterate.cost, iterate.gradient, iterate.gradient, iterate.iteration, False,
        feedback(problem, iterate.path), "stopped by the caller", np.zeros(problem.multipliers),
    )  # fmt: skip
