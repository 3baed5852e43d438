"""The optimisation problem of `keyframe` in reduced coordinates: cost J, exact gradient, and equality constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.reduction.trajectory import Trajectory, rollout, solve_adjoint


@dataclass(frozen=True, eq=False)
class LagrangianGradient:
    """Gradient of the Lagrangian: controls (T, r), its part through the dynamics (adjoint), and start (2r,)."""

    controls: Array
    adjoint: Array
    start: Array


@dataclass(frozen=True, eq=False)
class KeyframeProblem:
    """Minimise J over the controls W (T, r) of T steps, subject to constraints.

    system, coefficients (T, 5): the reduced system and the Newmark coefficients of each step, as in
    `reduction.trajectory`; start: predictor state of the first step.
    key_index (T,): row of key_hessians H (K, r, r) and key_states t (K, r) at each step, or -1: ½ (q - t)ᵀ H (q - t).
    effort (T,): weight of |w|² of each step; bias (r,): constant force that trajectories omit, so that w = W + bias.
    constraint_rows (M, r), constraint_steps (M,), constraint_targets (M,): hard keys, rows·q = target.
    boundary: "open" begins at `start`, "free" at any state, "loop" at the state in which it ends.
    start_cost S (2r, 2r): ½ x₀ᵀ S x₀ of a free start, else zero. state_weights (2r,): squared inverse units of a state.
    body_size: L in reduced coordinates.
    """

    system: tuple[Any, ...]
    coefficients: Array
    start: tuple[Array, Array]
    key_index: IndexArray
    key_hessians: Array
    key_states: Array
    effort: Array
    bias: Array
    constraint_rows: Array
    constraint_steps: IndexArray
    constraint_targets: Array
    boundary: str
    start_cost: Array
    state_weights: Array
    body_size: float

    @property
    def is_constraint_free(self) -> bool:
        """True if only the controls are unknown, without constraints."""
        return self.boundary == "open" and len(self.constraint_rows) == 0

    @property
    def multiplier_count(self) -> int:
        """Number of scalar constraints; those of periodicity come last."""
        return len(self.constraint_rows) + (len(self.state_weights) if self.boundary == "loop" else 0)

    def simulate(
        self, controls: Array, start: tuple[Array, Array] | None = None, *, guess: Array | None = None
    ) -> Trajectory:
        """The motion under controls (T, r) from a predictor state; guess: accelerations (T, r) to start solves from."""
        return rollout(self.system, self.coefficients, start or self.start, controls, guess=guess)

    def compute_cost(self, trajectory: Trajectory) -> float:
        steps = np.flatnonzero(self.key_index >= 0)
        miss = trajectory.coordinates[steps] - self.key_states[self.key_index[steps]]
        keys = 0.5 * np.einsum("ki,kij,kj->", miss, self.key_hessians[self.key_index[steps]], miss)
        start = get_start_state(trajectory)
        keys += 0.5 * start @ self.start_cost @ start
        return float(keys + 0.5 * (self.effort * ((trajectory.controls + self.bias) ** 2).sum(axis=1)).sum())

    def compute_constraint_residuals(self, trajectory: Trajectory) -> Array:
        """c (M,): residuals of the hard keys, then of the periodicity x_T - x_0."""
        states = trajectory.coordinates[self.constraint_steps]
        keys = np.einsum("mr,mr->m", self.constraint_rows, states) - self.constraint_targets
        return np.concatenate([keys, self.compute_periodicity_residual(trajectory)])

    def compute_periodicity_residual(self, trajectory: Trajectory) -> Array:
        """x_T - x_0 (2r,) of a loop; empty otherwise."""
        if self.boundary != "loop":
            return np.empty(0)
        P, V = trajectory.predicted_coordinates, trajectory.predicted_velocities
        return np.concatenate([P[-1] - P[0], V[-1] - V[0]])

    def compute_constraint_violation(self, trajectory: Trajectory) -> float:
        """Largest constraint residual in body sizes; velocities count in body sizes times ω₁."""
        periodicity = self.compute_periodicity_residual(trajectory)
        scale = np.sqrt(self.state_weights / self.state_weights[0])[: len(periodicity)]
        keys = self.compute_constraint_residuals(trajectory)[: len(self.constraint_rows)]
        return float(np.abs(np.concatenate([keys, periodicity * scale])).max(initial=0.0) / self.body_size)

    def compute_merit(self, trajectory: Trajectory, multipliers: Array) -> float:
        """J + ν·c + ½ cᵀDc, D = diag(state_weights) on the periodicity: decreases along a Newton step with its ν."""
        periodicity = self.compute_periodicity_residual(trajectory)
        extra = 0.5 * float(periodicity @ (self.state_weights[: len(periodicity)] * periodicity))
        lagrangian = self.compute_cost(trajectory) + float(multipliers @ self.compute_constraint_residuals(trajectory))
        return lagrangian + extra

    def compute_key_gradient(self, trajectory: Trajectory) -> Array:
        """∂E/∂q (T, r)."""
        Eq = np.zeros_like(trajectory.coordinates)
        for n in np.flatnonzero(self.key_index >= 0):
            k = self.key_index[n]
            Eq[n] = self.key_hessians[k] @ (trajectory.coordinates[n] - self.key_states[k])
        return Eq

    def compute_gradient(self, trajectory: Trajectory, multipliers: Array | None = None) -> LagrangianGradient:
        """Gradient of J + ν·c, exact for the discrete steps (eq. (11)-(12))."""
        Eq, end, count = self.compute_key_gradient(trajectory), None, len(self.constraint_rows)
        if multipliers is not None:
            np.add.at(Eq, self.constraint_steps, multipliers[:count, None] * self.constraint_rows)
            end = multipliers[count:] if self.boundary == "loop" else None
        adjoint, first = solve_adjoint(self.coefficients, trajectory, Eq, end)
        first = first if end is None else first - end
        first = first + self.start_cost @ get_start_state(trajectory)
        by_controls = adjoint + self.effort[:, None] * (trajectory.controls + self.bias)
        return LagrangianGradient(by_controls, adjoint, first)

    def compute_gradient_norm(self, gradient: LagrangianGradient) -> float:
        """Norm of a gradient, each part in the unit of its variable."""
        total = (gradient.controls**2 / self.effort[:, None]).sum()
        if self.boundary != "open":
            total += (gradient.start**2 / self.state_weights).sum()
        return float(np.sqrt(total))


def get_start_state(trajectory: Trajectory) -> Array:
    """x₀ (2r,): predicted coordinates and velocities of the first step."""
    return np.concatenate([trajectory.predicted_coordinates[0], trajectory.predicted_velocities[0]])
