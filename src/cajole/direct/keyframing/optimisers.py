"""The optimisers behind one option: Newton (default), L-BFGS, and the paper's nonlinear conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.optimize

from cajole.arrays import Array
from cajole.direct.keyframing.newton import Iterate, Outcome, feedback, minimise
from cajole.direct.keyframing.problem import Problem
from cajole.errors import NotConverged
from cajole.linalg import blas_threads
from cajole.reduction.trajectory import Trajectory, rollout

OPTIMISERS = ("newton", "lbfgs", "cg")
METHODS = {"lbfgs": "L-BFGS-B", "cg": "CG"}
MEMORY = 20
# How far a motion is optimised before its start is let go.
HELD_TOLERANCE = 1e-3


def minimised(
    problem: Problem,
    W: Array,
    start: tuple[Array, Array],
    optimiser: str,
    *,
    tolerance: float,
    most: int,
    watch: Callable[[Iterate], None],
    least: float = np.inf,
) -> Outcome:
    """Minimise from controls W (T, r) and a predictor state with the named optimiser.

    least: the smallest gradient that a start had so far; a violent start must not loosen what counts as converged.
    """
    with blas_threads():
        if optimiser == "newton":
            path = rollout(problem.system, problem.plan, start, W)
            scale = min(problem.norm(problem.gradient(path)), least)
            if problem.ending == "free":
                path = _from_held_start(problem, path, most, watch)
            return minimise(problem, path, scale=scale, tolerance=tolerance, most=most, watch=watch)
        return _first_order(problem, W, METHODS[optimiser], tolerance, most, watch)


def _from_held_start(problem: Problem, path: Trajectory, most: int, watch: Callable[[Iterate], None]) -> Trajectory:
    """A good motion from the start it has: let go of together, a poor motion and its start run away from each other."""
    held = replace(problem, ending="open", calm=np.zeros_like(problem.calm))
    return minimise(held, path, tolerance=HELD_TOLERANCE, most=most, watch=watch).path


def _first_order(
    problem: Problem, W: Array, method: str, tolerance: float, most: int, watch: Callable[[Iterate], None]
) -> Outcome:
    """scipy's first-order methods on the exact adjoint gradient, in controls scaled by √effort.

    They minimise the cost over that of the start, as their first steps and absolute tolerances assume values near one.
    """
    shape = W.shape
    path = rollout(problem.system, problem.plan, problem.start, W)
    first = problem.norm(problem.gradient(path))
    seen: dict[str, Any] = {"path": path, "cost": problem.cost(path), "gradient": first, "count": 0}
    unit = seen["cost"] or 1.0
    scale = np.sqrt(problem.effort / unit)[:, None]

    def value(x: Array) -> tuple[float, Array]:
        try:
            trial = rollout(problem.system, problem.plan, problem.start, x.reshape(shape) / scale)
        except NotConverged:
            return 1e300, np.zeros_like(x)  # a line search steps back from what cannot be simulated
        cost, gradient = problem.cost(trial), problem.gradient(trial)
        if cost <= seen["cost"]:
            seen.update(path=trial, cost=cost, gradient=problem.norm(gradient))
        return cost / unit, (gradient.controls / (unit * scale)).ravel()

    def each(_: Any) -> None:
        seen["count"] += 1
        watch(Iterate(seen["count"], seen["path"], seen["cost"], seen["gradient"]))

    watch(Iterate(0, path, seen["cost"], first))
    options: dict[str, Any] = {"maxiter": most, "gtol": 1e-12}
    if method == "L-BFGS-B":
        options |= {"maxcor": MEMORY, "ftol": 1e-15, "maxfun": 20 * most}
    result = scipy.optimize.minimize(
        value, (W * scale).ravel(), jac=True, method=method, callback=each, options=options
    )
    path = seen["path"]
    good = seen["gradient"] <= tolerance * first
    message = "" if good else str(result.message)
    return Outcome(
        path, seen["cost"], seen["gradient"], first, seen["count"], good, feedback(problem, path), message, np.empty(0)
    )
