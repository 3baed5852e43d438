"""Motion of a reduced system under controls: `rollout`, and the derivatives that adjoints and regulators need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cajole.errors import NotConverged
from cajole.reduction import kernels_motion as kernels

Array = NDArray[np.float64]

# Relative residual of a step; adjoints are exact to this number.
TOLERANCE = 1e-11
MOST_ITERATIONS = 30


@dataclass(frozen=True, eq=False)
class Trajectory:
    """States of T implicit steps: predictors P, V (T+1, r), accelerations A, positions Q, velocities Vq (T, r), and the
    derivatives Gq, Gv (T, r, r) of every step, under controls W (T, r)."""

    W: Array
    P: Array
    V: Array
    A: Array
    Q: Array
    Vq: Array
    Gq: Array
    Gv: Array


def newmark_plan(steps: Array) -> Array:
    """Rows (bh, gh, hp, c1, c2) of average-acceleration steps; steps (T+1,): h of each step and of the one after it."""
    h, after = steps[:-1], steps[1:]
    return np.stack([h**2 / 4, h / 2, after, h**2 / 4 + h * after / 2 + after**2 / 4, (h + after) / 2], axis=1)


def empty(steps: int, size: int) -> list[Array]:
    """Arrays for P, V, A, Q, Vq, Gq, Gv."""
    flat = [(steps + 1, size)] * 2 + [(steps, size)] * 3 + [(steps, size, size)] * 2
    return [np.empty(shape) for shape in flat]


def rollout(
    system: tuple, plan: Array, start: tuple[Array, Array], W: Array, *, guess: Array | None = None
) -> Trajectory:
    """Simulate under W from the predictor state `start`. Raises NotConverged naming the step."""
    arrays = empty(*W.shape)
    first = np.empty((0, W.shape[1])) if guess is None else guess
    failed = kernels.rollout(system, *start, W, plan, first, TOLERANCE, MOST_ITERATIONS, *arrays)
    if failed >= 0:
        raise NotConverged(f"step {failed + 1} did not converge; use a smaller dt, or smaller controls")
    return Trajectory(W, *arrays)


def follow(
    system: tuple, plan: Array, start: tuple[Array, Array], old: Trajectory, gains: Array, moves: Array, alpha: float
) -> Trajectory | None:
    """A closed-loop rollout near `old`; None when a step does not converge."""
    arrays = empty(*old.W.shape)
    W = np.empty_like(old.W)
    failed = kernels.rollout_feedback(
        system, *start, old.W, plan, old.P, old.V, old.A, old.Gq, old.Gv, gains, moves, alpha, TOLERANCE,
        MOST_ITERATIONS, W, *arrays,
    )  # fmt: skip
    return None if failed >= 0 else Trajectory(W, *arrays)


def adjoint(plan: Array, path: Trajectory, Eq: Array, end: Array | None = None) -> tuple[Array, Array]:
    """dE/dw (T, r) through the dynamics for ∂E/∂q = Eq (T, r) and ∂E/∂x_T = end (2r,); and ∂E/∂x_0 (2r,)."""
    r = Eq.shape[1]
    last = np.zeros(2 * r) if end is None else end
    s, first = np.empty_like(Eq), np.empty(2 * r)
    kernels.adjoint(plan, path.Gq, path.Gv, Eq, last[:r].copy(), last[r:].copy(), s, first[:r], first[r:])
    return s, first


def rollout_pd(
    system: tuple, plan: Array, start: tuple[Array, Array], target: Array, frequency: float
) -> Trajectory | None:
    """Simulate with a critically damped pull, kp = frequency², towards target (T, r); None when a step fails."""
    arrays = empty(*target.shape)
    W = np.empty_like(target)
    gains = (frequency**2, 2.0 * frequency)
    failed = kernels.rollout_pd(system, *start, target, *gains, plan, TOLERANCE, MOST_ITERATIONS, W, *arrays)
    return None if failed >= 0 else Trajectory(W, *arrays)


def predictor(system: tuple, state: Array, velocity: Array, h: float) -> tuple[Array, Array]:
    """The predictor state of the first step from (q₀, v₀), whose acceleration is the uncontrolled one."""
    r = len(state)
    F, Gq, Gv = np.empty(r), np.empty((r, r)), np.empty((r, r))
    kernels.evaluate(system, state, velocity, kernels.workspace(system), F, Gq, Gv)
    return state + h * velocity - 0.25 * h**2 * F, velocity - 0.5 * h * F
