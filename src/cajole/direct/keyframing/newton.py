"""Gauss-Newton, then Newton, with closed-loop rollouts: each iteration is one Riccati sweep and a few simulations.

The sweep's feedback keeps the stiff modes on course while the step is taken, so steps are long where a straight line in
the controls would have to be tiny.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array
from cajole.direct import kernels
from cajole.direct.keyframing.constrained import Step, Sweep, constrained_step
from cajole.direct.keyframing.problem import Problem
from cajole.reduction.trajectory import Trajectory, follow

# Shares of the second-order terms tried in turn; the first with all pivots positive definite is used.
BLENDS = (1.0, 0.5, 0.25, 0.0)
ARMIJO = 1e-4
MOST_HALVINGS = 5
# Levenberg terms above this mean that no direction lowers the cost.
LARGEST_DAMPING = 1e8
# What must hold does so within this share of the body's size; Newton lands far below, rounding stays below too.
EXACT = 1e-11


@dataclass(frozen=True)
class Iterate:
    """Where an optimisation stands: handed to the callback of every iteration."""

    iteration: int
    path: Trajectory
    cost: float
    gradient: float


@dataclass
class Stop(Exception):
    """The caller's wish to stop, with the motion reached."""

    iterate: Iterate


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
    nu: Array


def swept(problem: Problem, path: Trajectory, s: Array, theta: float, mu: float) -> Sweep | None:
    """The backward pass around `path`; None when a pivot is not positive definite."""
    T, r = path.W.shape
    out = Sweep(
        np.empty((T, r, 2 * r)), np.empty((T, r)), np.empty((T, r, r)), np.empty((2 * r, 2 * r)), np.empty(2 * r), 0
    )
    # the seam's value after the last step cancels on the linearised seam: it only makes the pivots positive
    last = np.diag(problem.unit) if problem.ending == "loop" else np.zeros((2 * r, 2 * r))
    ok, out.slope = kernels.sweep(
        problem.system, problem.plan, path.Q, path.Vq, path.W + problem.bias, path.Gq, path.Gv, s, problem.effort,
        problem.key, problem.H, problem.key_gradient(path), theta, mu, last, np.zeros(2 * r),
        out.gains, out.moves, out.inverse, out.P0, out.p0,
    )  # fmt: skip
    return out if ok else None


@dataclass
class _State:
    """A motion with its multipliers, and what follows from them."""

    problem: Problem
    path: Trajectory
    nu: Array

    def __post_init__(self) -> None:
        self.cost = self.problem.cost(self.path)
        gradient = self.problem.gradient(self.path, self.nu)
        self.s, self.size = gradient.s, self.problem.norm(gradient)
        self.exact = self.problem.plain or self.problem.broken(self.path) <= EXACT


def minimise(
    problem: Problem,
    path: Trajectory,
    *,
    nu: Array | None = None,
    scale: float | None = None,
    tolerance: float = 1e-9,
    most: int = 100,
    watch: Callable[[Iterate], None] | None = None,
) -> Outcome:
    """Minimise the problem's cost from a simulated motion until the gradient falls to `tolerance` of its start.

    nu: first guess of the multipliers; scale: the gradient that `tolerance` is measured by, when it is not that of the
    start.
    """
    now = _State(problem, path, np.zeros(problem.multipliers) if nu is None else nu)
    first = now.size if scale is None else scale
    mu, message = 0.0, ""
    for iteration in range(most):
        if watch is not None:
            watch(Iterate(iteration, now.path, now.cost, now.size))
        if (now.size <= tolerance * first or now.size == 0.0) and now.exact:
            break
        step = _blended(problem, now, mu)
        found = None if step is None else _stepped(problem, now.path, step)
        if found is None or step is None:
            mu = max(4.0 * mu, 1.0)
            if mu > LARGEST_DAMPING:
                message = "no direction lowers the cost any more"
                break
            continue
        path, full, flat = found
        mu = (0.0 if mu < 1.0 else 0.25 * mu) if full else mu
        now = _State(problem, path, step.nu)
        if flat and now.size > tolerance * first:
            message = "the cost no longer changes in double precision"
            break
    else:
        message = f"{most} iterations were not enough"
    good = now.size <= tolerance * first and now.exact
    gains = feedback(problem, now.path, now.nu)
    return Outcome(now.path, now.cost, now.size, first, iteration, good, gains, message, now.nu)


def feedback(problem: Problem, path: Trajectory, nu: Array | None = None) -> Array:
    """Gains (T, r, 2r) that keep a motion on course at the least cost; zero where rounding spoils the pivots."""
    s = problem.gradient(path, nu).s
    for theta in BLENDS:
        sweep = swept(problem, path, s, theta, 0.0)
        if sweep is not None:
            return sweep.gains
    return np.zeros((*path.W.shape, 2 * path.W.shape[1]))


def _blended(problem: Problem, now: _State, mu: float) -> Step | None:
    """The step with as much of the second-order terms as leaves it a descent direction; None when there is none."""
    for theta in BLENDS:
        sweep = swept(problem, now.path, now.s, theta, mu)
        if sweep is None:
            continue
        if problem.plain:
            return Step(sweep.gains, sweep.moves, np.zeros(len(problem.unit)), now.nu, sweep.slope)
        step = constrained_step(problem, now.path, sweep, mu)
        if step is not None:
            return step
    return None


def _stepped(problem: Problem, path: Trajectory, step: Step) -> tuple[Trajectory, bool, bool] | None:
    """The closed-loop step, halved until the merit falls, whether it was full, and whether the merit stayed flat.

    None when the merit does not fall.
    """
    before = problem.merit(path, step.nu)
    # the merit cancels: its rounding is that of its parts
    parts = abs(problem.cost(path)) + float(np.abs(step.nu) @ np.abs(problem.constraints(path)))
    r = path.W.shape[1]
    for halving in range(MOST_HALVINGS):
        alpha = 0.5**halving
        start = (path.P[0] + alpha * step.start[:r], path.V[0] + alpha * step.start[r:])
        trial = follow(problem.system, problem.plan, start, path, step.gains, step.moves, alpha)
        if trial is None:
            continue
        now = problem.merit(trial, step.nu)
        # at the end costs agree to rounding and the Newton step is trusted
        trusted = abs(step.slope) <= 1e-13 * parts and now <= before + 1e-14 * parts
        if now <= before + ARMIJO * alpha * step.slope or trusted:
            return trial, halving == 0, abs(now - before) <= 1e-15 * parts
    return None
