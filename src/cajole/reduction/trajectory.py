"""Motion of a reduced system under controls: `rollout`, and the derivatives that adjoints and regulators need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array
from cajole.errors import NotConverged
from cajole.reduction import kernels_motion as kernels

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

    @property
    def arrays(self) -> tuple[Array, ...]:
        """As the compiled steps take them."""
        return self.W, self.P, self.V, self.A, self.Q, self.Vq, self.Gq, self.Gv


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
    path, failed = _run(system, plan, start, W, guess=guess)
    if failed >= 0:
        raise NotConverged(f"step {failed + 1} did not converge; use a smaller dt, or smaller controls")
    return path


def follow(
    system: tuple, plan: Array, start: tuple[Array, Array], old: Trajectory, gains: Array, moves: Array, alpha: float
) -> Trajectory | None:
    """A closed-loop rollout near `old`; None when a step does not converge.

    w = w_old + Ga (alpha k + K dx) + Gq dP + Gv dV: the plan da = alpha k + K dx through the linearised step.
    """
    law = (old.P, old.V, old.Gq, old.Gv, gains, moves, float(alpha))
    path, failed = _run(system, plan, start, old.W.copy(), guess=old.A, law=law)
    return None if failed >= 0 else path


def rollout_pd(
    system: tuple, plan: Array, start: tuple[Array, Array], target: Array, frequency: float
) -> Trajectory | None:
    """Simulate with a critically damped pull, kp = frequency², towards target (T, r); None when a step fails.

    w = kp (target - P) - kd V is the closed loop near `target` at rest, of a system with derivatives -kp and -kd.
    """
    T, r = target.shape
    still, pull = np.zeros_like(target), np.tile(-np.eye(r), (T, 1, 1))
    law = (target, still, frequency**2 * pull, 2.0 * frequency * pull, np.zeros((T, r, 2 * r)), still, 0.0)
    path, failed = _run(system, plan, start, np.zeros_like(target), law=law)
    return None if failed >= 0 else path


def _run(
    system: tuple,
    plan: Array,
    start: tuple[Array, Array],
    W: Array,
    *,
    guess: Array | None = None,
    law: tuple | None = None,
) -> tuple[Trajectory, int]:
    """The one rollout behind all; W is written to where there is a law. Also the step that failed, or -1."""
    path = Trajectory(W, *empty(*W.shape))
    path.P[0], path.V[0] = start
    none, cube = np.empty((0, W.shape[1])), np.empty((0, 0, 0))
    free = (none, none, cube, cube, cube, none, 0.0)
    failed = kernels.rollout(
        system, plan, path.arrays, none if guess is None else guess, law or free, TOLERANCE, MOST_ITERATIONS
    )
    return path, failed


def adjoint(plan: Array, path: Trajectory, Eq: Array, end: Array | None = None) -> tuple[Array, Array]:
    """dE/dw (T, r) through the dynamics for ∂E/∂q = Eq (T, r) and ∂E/∂x_T = end (2r,); and ∂E/∂x_0 (2r,)."""
    r = Eq.shape[1]
    last = np.zeros(2 * r) if end is None else end
    s, first = np.empty_like(Eq), np.empty(2 * r)
    kernels.adjoint(plan, path.Gq, path.Gv, Eq, last[:r].copy(), last[r:].copy(), s, first[:r], first[r:])
    return s, first


def predictor(system: tuple, state: Array, velocity: Array, h: float) -> tuple[Array, Array]:
    """The predictor state of the first step from (q₀, v₀), whose acceleration is the uncontrolled one."""
    r = len(state)
    F, Gq, Gv = np.empty(r), np.empty((r, r)), np.empty((r, r))
    kernels.evaluate(system, state, velocity, kernels.workspace(system), F, Gq, Gv)
    return state + h * velocity - 0.25 * h**2 * F, velocity - 0.5 * h * F
