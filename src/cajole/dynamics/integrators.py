"""Implicit time integrators in one form: velocity and acceleration are affine in the new displacement.

v = damping_factor (u - u_n) + velocity_offset and a = mass_factor (u - u_n) + acceleration_offset, so one Newton solver
serves all of them: M a + d(u, v) + f(u) = f_ext.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array

INTEGRATORS = ("newmark", "bdf2", "euler")


@dataclass
class StepHistory:
    """Displacement, velocity and acceleration (n, 3), and the first two one step earlier: the input of a step."""

    displacement: Array
    velocity: Array
    acceleration: Array
    previous_displacement: Array
    previous_velocity: Array


@dataclass(frozen=True)
class IntegrationScheme:
    """Coefficients of one step: v and a as affine functions of u - u_n (see above)."""

    mass_factor: float
    damping_factor: float
    velocity_offset: Array
    acceleration_offset: Array

    def compute_velocity(self, step: Array) -> Array:
        return self.damping_factor * step + self.velocity_offset

    def compute_acceleration(self, step: Array) -> Array:
        return self.mass_factor * step + self.acceleration_offset

    def advance(self, history: StepHistory, step: Array) -> StepHistory:
        """History after a step u - u_n (n, 3)."""
        v, a = self.compute_velocity(step), self.compute_acceleration(step)
        return StepHistory(history.displacement + step, v, a, history.displacement, history.velocity)


def build_scheme(integrator: str, h: float, history: StepHistory) -> IntegrationScheme:
    """Coefficients of a step of length h [s] from `history`."""
    v = history.velocity
    if integrator == "newmark":  # average acceleration, β = 1/4, γ = 1/2: second order, no numerical damping
        a_offset = -4.0 / h * v - history.acceleration
        return IntegrationScheme(4.0 / h**2, 2.0 / h, v + 0.5 * h * (history.acceleration + a_offset), a_offset)
    if integrator == "euler":  # implicit Euler: first order, strongly damped
        return IntegrationScheme(1.0 / h**2, 1.0 / h, np.zeros_like(v), -v / h)
    # bdf2, second-order backward differences, eq. (3), Jeon and Choi 2007
    v_offset = (history.previous_displacement - history.displacement) / (2.0 * h)
    a_offset = (1.5 * v_offset - 2.0 * v + 0.5 * history.previous_velocity) / h
    return IntegrationScheme(2.25 / h**2, 1.5 / h, v_offset, a_offset)
