"""Gauss-Newton, then Newton, with closed-loop rollouts: each iteration is one Riccati sweep and a few simulations.

The sweep's feedback keeps the stiff modes on course while the step is taken, so steps are long where a straight line in
the controls would have to be tiny.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cajole.direct import kernels
from cajole.direct.keyframing.problem import Problem
from cajole.errors import NotConverged, SolveError
from cajole.reduction.trajectory import Trajectory, follow, rollout

Array = NDArray[np.float64]

# Shares of the second-order terms tried in turn; the first with all pivots positive definite is used.
BLENDS = (1.0, 0.5, 0.25, 0.0)
ARMIJO = 1e-4
MOST_HALVINGS = 5
# Levenberg terms above this mean that no direction lowers the cost.
LARGEST_DAMPING = 1e8


@dataclass(frozen=True)
class Iterate:
    """Where an optimisation stands: handed to the callback of every iteration."""

    iteration: int
    path: Trajectory
    cost: float
    gradient: float


@dataclass(frozen=True)
class Outcome:
    """The best motion found, and whether the gradient fell to the tolerance."""

    path: Trajectory
    cost: float
    gradient: float
    start_gradient: float
    iterations: int
    converged: bool
    gains: Array
    message: str


@dataclass
class Sweep:
    """What one backward pass leaves behind."""

    gains: Array
    moves: Array
    inverse: Array
    P0: Array
    p0: Array
    slope: float


def swept(problem: Problem, path: Trajectory, s: Array, theta: float, mu: float) -> Sweep | None:
    """The backward pass around `path`; None when a pivot is not positive definite."""
    T, r = path.W.shape
    out = Sweep(
        np.empty((T, r, 2 * r)), np.empty((T, r)), np.empty((T, r, r)), np.empty((2 * r, 2 * r)), np.empty(2 * r), 0
    )
    ok, out.slope = kernels.sweep(
        problem.system, problem.plan, path.Q, path.Vq, path.W, path.Gq, path.Gv, s, problem.effort, problem.key,
        problem.H, problem.key_gradient(path), theta, mu, np.zeros((2 * r, 2 * r)), np.zeros(2 * r),
        out.gains, out.moves, out.inverse, out.P0, out.p0,
    )  # fmt: skip
    return out if ok else None


def minimise(
    problem: Problem,
    W: Array,
    *,
    tolerance: float = 1e-9,
    most: int = 100,
    watch: Callable[[Iterate], None] | None = None,
) -> Outcome:
    """Minimise the problem's cost from controls W (T, r) until |dE/dW| falls to `tolerance` of its start."""
    path = rollout(problem.system, problem.plan, problem.start, W)
    cost = problem.cost(path)
    gradient, s = problem.gradient(path)
    first = size = float(np.linalg.norm(gradient))
    mu, message, plan = 0.0, "", None
    for iteration in range(most):
        if watch is not None:
            watch(Iterate(iteration, path, cost, size))
        if size <= tolerance * first or size == 0.0:
            break
        plan = _blended(problem, path, s, mu)
        found = _stepped(problem, path, plan, cost)
        if found is None:
            mu = max(4.0 * mu, 1.0)
            if mu > LARGEST_DAMPING:
                message = "no direction lowers the cost any more"
                break
            continue
        path, now, full = found
        mu = (0.0 if mu < 1.0 else 0.25 * mu) if full else mu
        flat = abs(cost - now) <= 1e-15 * abs(cost)
        cost = now
        gradient, s = problem.gradient(path)
        size = float(np.linalg.norm(gradient))
        if flat and size > tolerance * first:
            message = "the cost no longer changes in double precision"
            break
    else:
        message = f"{most} iterations were not enough"
    gains = plan.gains if plan is not None else np.zeros((*W.shape, 2 * W.shape[1]))
    return Outcome(path, cost, size, first, iteration, size <= tolerance * first, gains, message)


def _blended(problem: Problem, path: Trajectory, s: Array, mu: float) -> Sweep:
    """The sweep with as much of the second-order terms as leaves every pivot positive definite."""
    for theta in BLENDS:
        plan = swept(problem, path, s, theta, mu)
        if plan is not None:
            return plan
    raise SolveError("even the Gauss-Newton matrix is not positive definite: is the effort zero?")


def _stepped(problem: Problem, path: Trajectory, plan: Sweep, cost: float) -> tuple[Trajectory, float, bool] | None:
    """The closed-loop step, halved until the cost falls; None when it does not."""
    for halving in range(MOST_HALVINGS):
        alpha = 0.5**halving
        trial = follow(problem.system, problem.plan, problem.start, path, plan.gains, plan.moves, alpha)
        if trial is None:
            continue
        now = problem.cost(trial)
        # at the end costs agree to rounding and the Newton step is trusted
        if now <= cost + ARMIJO * alpha * plan.slope or (abs(plan.slope) <= 1e-13 * cost and now <= cost * (1 + 1e-14)):
            return trial, now, halving == 0
    return None


def require_simulated(problem: Problem, W: Array) -> Trajectory:
    """The trajectory under W. Raises NotConverged with advice on dt."""
    try:
        return rollout(problem.system, problem.plan, problem.start, W)
    except NotConverged as reason:
        raise NotConverged(f"the motion cannot be simulated with this timestep: {reason}") from None
