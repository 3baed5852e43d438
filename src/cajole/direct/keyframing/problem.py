"""The cost J of a motion (see `keyframe`), its exact gradient, and what it must obey, in reduced coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.reduction.trajectory import Trajectory, solve_adjoint


@dataclass(frozen=True, eq=False)
class LagrangianGradient:
    """Derivatives of the Lagrangian: controls (T, r), their part `s` through the dynamics, and start (2r,)."""

    controls: Array
    adjoint: Array
    start: Array


@dataclass(frozen=True, eq=False)
class KeyframeProblem:
    """system: as in reduction.kernels_motion; plan: (T, 5); start: predictor state of the first step.

    key (T,): row of H (K, r, r) and t (K, r) at each step, or -1; effort (T,): what |w|² of each step costs; bias (r,):
    the force of an offset, which trajectories leave out, so that controls are w = W + bias.
    rows (M, r), row_step (M,), wanted (M,): what must hold exactly, rows·q = wanted.
    ending: "open" from `start`; "free" from any state; "loop" ends in the state it began with.
    calm (2r, 2r): what a free start costs, ½ x₀ᵀ calm x₀, zero for other endings;
    unit (2r,): squared inverse units of a state, key weight per position² and velocity²; reach: the body size in z.
    """

    system: tuple
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
        """Whether only the controls are unknown and nothing must hold exactly."""
        return self.boundary == "open" and len(self.constraint_rows) == 0

    @property
    def multiplier_count(self) -> int:
        """How many scalar constraints there are, the seam's last."""
        return len(self.constraint_rows) + (len(self.state_weights) if self.boundary == "loop" else 0)

    def compute_cost(self, trajectory: Trajectory) -> float:
        steps = np.flatnonzero(self.key_index >= 0)
        miss = trajectory.coordinates[steps] - self.key_states[self.key_index[steps]]
        keys = 0.5 * np.einsum("ki,kij,kj->", miss, self.key_hessians[self.key_index[steps]], miss)
        start = np.concatenate([trajectory.predicted_coordinates[0], trajectory.predicted_velocities[0]])
        keys += 0.5 * start @ self.start_cost @ start
        return float(keys + 0.5 * (self.effort * ((trajectory.controls + self.bias) ** 2).sum(axis=1)).sum())

    def compute_constraint_residuals(self, trajectory: Trajectory) -> Array:
        """c (M,): by how much the rows, and then the seam x_T - x_0, miss."""
        held = (
            np.einsum("mr,mr->m", self.constraint_rows, trajectory.coordinates[self.constraint_steps])
            - self.constraint_targets
        )
        return np.concatenate([held, self.compute_periodicity_residual(trajectory)])

    def compute_periodicity_residual(self, trajectory: Trajectory) -> Array:
        """x_T - x_0 (2r,) of a loop, else nothing."""
        if self.boundary != "loop":
            return np.empty(0)
        return np.concatenate(
            [
                trajectory.predicted_coordinates[-1] - trajectory.predicted_coordinates[0],
                trajectory.predicted_velocities[-1] - trajectory.predicted_velocities[0],
            ]
        )

    def compute_constraint_violation(self, trajectory: Trajectory) -> float:
        """The largest violation of what must hold, in body sizes (and body sizes times √(unit ratio) a second)."""
        periodicity_residual = (
            self.compute_periodicity_residual(trajectory)
            * np.sqrt(self.state_weights / self.state_weights[0])[: 2 * len(self.bias) * (self.boundary == "loop")]
        )
        rows = self.compute_constraint_residuals(trajectory)[: len(self.constraint_rows)]
        return float(np.abs(np.concatenate([rows, periodicity_residual])).max(initial=0.0) / self.body_size)

    def compute_merit(self, trajectory: Trajectory, multipliers: Array) -> float:
        """Cost + ν·c + ½ cᵀ unit c over the seam: falls along a Newton step with its multipliers ν."""
        periodicity_residual = self.compute_periodicity_residual(trajectory)
        extra = 0.5 * float(
            periodicity_residual @ (self.state_weights[: len(periodicity_residual)] * periodicity_residual)
        )
        return (
            self.compute_cost(trajectory) + float(multipliers @ self.compute_constraint_residuals(trajectory)) + extra
        )

    def compute_key_gradient(self, trajectory: Trajectory) -> Array:
        """∂E/∂q (T, r)."""
        Eq = np.zeros_like(trajectory.coordinates)
        for n in np.flatnonzero(self.key_index >= 0):
            k = self.key_index[n]
            Eq[n] = self.key_hessians[k] @ (trajectory.coordinates[n] - self.key_states[k])
        return Eq

    def compute_gradient(self, trajectory: Trajectory, multipliers: Array | None = None) -> LagrangianGradient:
        """Of cost + ν·c, exact for the discrete steps (eq. (11)-(12))."""
        Eq, end, count = self.compute_key_gradient(trajectory), None, len(self.constraint_rows)
        if multipliers is not None:
            np.add.at(Eq, self.constraint_steps, multipliers[:count, None] * self.constraint_rows)
            end = multipliers[count:] if self.boundary == "loop" else None
        s, first = solve_adjoint(self.coefficients, trajectory, Eq, end)
        first = first if end is None else first - end
        first = first + self.start_cost @ np.concatenate(
            [trajectory.predicted_coordinates[0], trajectory.predicted_velocities[0]]
        )
        return LagrangianGradient(s + self.effort[:, None] * (trajectory.controls + self.bias), s, first)

    def compute_gradient_norm(self, gradient: LagrangianGradient) -> float:
        """Size of a gradient, each part in the unit of what it differentiates by."""
        total = (gradient.controls**2 / self.effort[:, None]).sum()
        if self.boundary != "open":
            total += (gradient.start**2 / self.state_weights).sum()
        return float(np.sqrt(total))
