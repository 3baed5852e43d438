"""Motion of a reduced system under controls: `rollout`, and the derivatives that adjoints and regulators need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cajole.arrays import Array
from cajole.errors import NotConverged
from cajole.reduction import kernels_trajectory as kernels

# A model as the compiled steps take it, see `kernels_trajectory`.
KernelData = tuple[Any, ...]
# Relative residual of a step; adjoints are exact to this number.
TOLERANCE = 1e-11
MAX_ITERATIONS = 30


@dataclass(frozen=True, eq=False)
class Trajectory:
    """States of T implicit steps: predictors P, V (T+1, r), accelerations A, positions Q, velocities Vq (T, r), and the
    derivatives Gq, Gv (T, r, r) of every step, under controls W (T, r)."""

    controls: Array
    predicted_coordinates: Array
    predicted_velocities: Array
    accelerations: Array
    coordinates: Array
    velocities: Array
    coordinate_jacobians: Array
    velocity_jacobians: Array

    @property
    def stacked_states(self) -> Array:
        """(T+1, 2r) predictor states (P, V), one per row."""
        return np.hstack([self.predicted_coordinates, self.predicted_velocities])

    @property
    def kernel_arrays(self) -> tuple[Array, ...]:
        """The arrays in the order of the compiled steps."""
        return (
            self.controls,
            self.predicted_coordinates,
            self.predicted_velocities,
            self.accelerations,
            self.coordinates,
            self.velocities,
            self.coordinate_jacobians,
            self.velocity_jacobians,
        )


def build_newmark_coefficients(step_sizes: Array) -> Array:
    """Rows (bh, gh, hp, c1, c2) of average-acceleration steps; steps (T+1,): h of each step and of the one after it."""
    h, after = step_sizes[:-1], step_sizes[1:]
    return np.stack([h**2 / 4, h / 2, after, h**2 / 4 + h * after / 2 + after**2 / 4, (h + after) / 2], axis=1)


def rollout(
    system: KernelData,
    coefficients: Array,
    start: tuple[Array, Array],
    controls: Array,
    *,
    guess: Array | None = None,
) -> Trajectory:
    """Simulate under W from the predictor state `start`. Raises NotConverged naming the step."""
    path, failed = _run_rollout(system, coefficients, start, controls, guess=guess)
    if failed >= 0:
        raise NotConverged(f"step {failed + 1} did not converge; use a smaller dt, or smaller controls")
    return path


def rollout_closed_loop(
    system: KernelData,
    coefficients: Array,
    start: tuple[Array, Array],
    reference: Trajectory,
    gains: Array,
    feedforward: Array,
    step_length: float,
) -> Trajectory | None:
    """A closed-loop rollout near `old`; None when a step does not converge.

    w = w_old + Ga (alpha k + K dx) + Gq dP + Gv dV: the plan da = alpha k + K dx through the linearised step.
    """
    law = (
        reference.predicted_coordinates,
        reference.predicted_velocities,
        reference.coordinate_jacobians,
        reference.velocity_jacobians,
        gains,
        feedforward,
        float(step_length),
    )
    path, failed = _run_rollout(
        system, coefficients, start, reference.controls.copy(), guess=reference.accelerations, feedback=law
    )
    return None if failed >= 0 else path


def rollout_pd(
    system: KernelData, coefficients: Array, start: tuple[Array, Array], target: Array, frequency: float
) -> Trajectory | None:
    """Simulate with a critically damped pull, kp = frequency², towards target (T, r); None when a step fails.

    w = kp (target - P) - kd V is the closed loop near `target` at rest, of a system with derivatives -kp and -kd.
    """
    T, r = target.shape
    still, pull = np.zeros_like(target), np.tile(-np.eye(r), (T, 1, 1))
    law = (target, still, frequency**2 * pull, 2.0 * frequency * pull, np.zeros((T, r, 2 * r)), still, 0.0)
    path, failed = _run_rollout(system, coefficients, start, np.zeros_like(target), feedback=law)
    return None if failed >= 0 else path


def _run_rollout(
    system: KernelData,
    coefficients: Array,
    start: tuple[Array, Array],
    controls: Array,
    *,
    guess: Array | None = None,
    feedback: KernelData | None = None,
) -> tuple[Trajectory, int]:
    """The one rollout behind all; W is written to where there is a law. Also the step that failed, or -1."""
    T, r = controls.shape
    shapes = [(T + 1, r)] * 2 + [(T, r)] * 3 + [(T, r, r)] * 2  # P, V, A, Q, Vq, Gq, Gv
    path = Trajectory(controls, *(np.empty(shape) for shape in shapes))
    path.predicted_coordinates[0], path.predicted_velocities[0] = start
    none, cube = np.empty((0, controls.shape[1])), np.empty((0, 0, 0))
    free = (none, none, cube, cube, cube, none, 0.0)
    failed = kernels.rollout(
        system,
        coefficients,
        path.kernel_arrays,
        none if guess is None else guess,
        feedback or free,
        TOLERANCE,
        MAX_ITERATIONS,
    )
    return path, failed


def solve_adjoint(
    coefficients: Array, trajectory: Trajectory, coordinate_gradients: Array, final_gradient: Array | None = None
) -> tuple[Array, Array]:
    """dE/dw (T, r) through the dynamics for ∂E/∂q = Eq (T, r) and ∂E/∂x_T = end (2r,); and ∂E/∂x_0 (2r,)."""
    r = coordinate_gradients.shape[1]
    last = np.zeros(2 * r) if final_gradient is None else final_gradient
    s, first = np.empty_like(coordinate_gradients), np.empty(2 * r)
    kernels.solve_adjoint(
        coefficients,
        trajectory.coordinate_jacobians,
        trajectory.velocity_jacobians,
        coordinate_gradients,
        last[:r].copy(),
        last[r:].copy(),
        s,
        first[:r],
        first[r:],
    )
    return s, first


def compute_predictor(system: KernelData, state: Array, velocity: Array, h: float) -> tuple[Array, Array]:
    """The predictor state of the first step from (q₀, v₀), whose acceleration is the uncontrolled one."""
    r = len(state)
    F, Gq, Gv = np.empty(r), np.empty((r, r)), np.empty((r, r))
    kernels.evaluate(system, state, velocity, kernels.allocate_workspace(system), F, Gq, Gv)
    return state + h * velocity - 0.25 * h**2 * F, velocity - 0.5 * h * F
