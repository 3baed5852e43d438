"""The optimisers behind one option: Newton (default), L-BFGS, and the paper's nonlinear conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.optimize

from cajole.arrays import Array
from cajole.direct.keyframing.newton import Iterate, ShotSolution, compute_feedback_gains, minimise
from cajole.direct.keyframing.problem import KeyframeProblem
from cajole.errors import NotConverged
from cajole.linalg import limit_blas_threads
from cajole.reduction.trajectory import Trajectory, rollout

OPTIMISERS = ("newton", "lbfgs", "cg")
SCIPY_METHODS = {"lbfgs": "L-BFGS-B", "cg": "CG"}
LBFGS_MEMORY = 20
# How far a motion is optimised before its start is let go.
FIXED_START_TOLERANCE = 1e-3


def optimise(
    problem: KeyframeProblem,
    controls: Array,
    start: tuple[Array, Array],
    optimiser: str,
    *,
    tolerance: float,
    max_iterations: int,
    callback: Callable[[Iterate], None],
    max_gradient_scale: float = np.inf,
) -> ShotSolution:
    """Minimise from controls W (T, r) and a predictor state with the named optimiser.

    least: the smallest gradient that a start had so far; a violent start must not loosen what counts as converged.
    """
    with limit_blas_threads():
        if optimiser == "newton":
            path = rollout(problem.system, problem.coefficients, start, controls)
            scale = min(problem.compute_gradient_norm(problem.compute_gradient(path)), max_gradient_scale)
            if problem.boundary == "free":
                path = _optimise_fixed_start(problem, path, max_iterations, callback)
            return minimise(
                problem,
                path,
                gradient_scale=scale,
                tolerance=tolerance,
                max_iterations=max_iterations,
                callback=callback,
            )
        return _optimise_first_order(problem, controls, SCIPY_METHODS[optimiser], tolerance, max_iterations, callback)


def _optimise_fixed_start(
    problem: KeyframeProblem, trajectory: Trajectory, max_iterations: int, callback: Callable[[Iterate], None]
) -> Trajectory:
    """A good motion from the start it has: let go of together, a poor motion and its start run away from each other."""
    held = replace(problem, boundary="open", start_cost=np.zeros_like(problem.start_cost))
    return minimise(
        held, trajectory, tolerance=FIXED_START_TOLERANCE, max_iterations=max_iterations, callback=callback
    ).trajectory


def _optimise_first_order(
    problem: KeyframeProblem,
    controls: Array,
    method: str,
    tolerance: float,
    max_iterations: int,
    callback: Callable[[Iterate], None],
) -> ShotSolution:
    """scipy's first-order methods on the exact adjoint gradient, in controls scaled by √effort.

    They minimise the cost over that of the start, as their first steps and absolute tolerances assume values near one.
    """
    shape = controls.shape
    trajectory = rollout(problem.system, problem.coefficients, problem.start, controls)
    initial_gradient_norm = problem.compute_gradient_norm(problem.compute_gradient(trajectory))
    best: dict[str, Any] = {
        "path": trajectory,
        "cost": problem.compute_cost(trajectory),
        "gradient": initial_gradient_norm,
        "count": 0,
    }
    unit = best["cost"] or 1.0
    scale = np.sqrt(problem.effort / unit)[:, None]

    def evaluate(x: Array) -> tuple[float, Array]:
        try:
            trial = rollout(problem.system, problem.coefficients, problem.start, x.reshape(shape) / scale)
        except NotConverged:
            return 1e300, np.zeros_like(x)  # a line search steps back from what cannot be simulated
        cost, gradient = problem.compute_cost(trial), problem.compute_gradient(trial)
        if cost <= best["cost"]:
            best.update(path=trial, cost=cost, gradient=problem.compute_gradient_norm(gradient))
        return cost / unit, (gradient.controls / (unit * scale)).ravel()

    def report_iteration(_: Any) -> None:
        best["count"] += 1
        callback(Iterate(best["count"], best["path"], best["cost"], best["gradient"]))

    callback(Iterate(0, trajectory, best["cost"], initial_gradient_norm))
    options: dict[str, Any] = {"maxiter": max_iterations, "gtol": 1e-12}
    if method == "L-BFGS-B":
        options |= {"maxcor": LBFGS_MEMORY, "ftol": 1e-15, "maxfun": 20 * max_iterations}
    result = scipy.optimize.minimize(
        evaluate, (controls * scale).ravel(), jac=True, method=method, callback=report_iteration, options=options
    )
    trajectory = best["path"]
    converged = best["gradient"] <= tolerance * initial_gradient_norm
    message = "" if converged else str(result.message)
    return ShotSolution(
        trajectory,
        best["cost"],
        best["gradient"],
        initial_gradient_norm,
        best["count"],
        converged,
        compute_feedback_gains(problem, trajectory),
        message,
        np.empty(0),
    )
