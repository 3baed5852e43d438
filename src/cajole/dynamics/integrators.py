"""Implicit time integrators in one form: velocity and acceleration are affine in the new displacement.

v = drag (u - u_n) + v_offset and a = inertia (u - u_n) + a_offset, so that one Newton solver serves all of them:
M a + d(u, v) + f(u) = f_ext.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array

INTEGRATORS = ("newmark", "bdf2", "euler")


@dataclass
class StepHistory:
    """What a step needs of the steps before it: displacement, velocity, acceleration, and those one step earlier."""

    displacement: Array
    velocity: Array
    acceleration: Array
    previous_displacement: Array
    previous_velocity: Array


@dataclass(frozen=True)
class IntegrationScheme:
    """One step of size h: v = drag (u - u_n) + v_offset, a = inertia (u - u_n) + a_offset."""

    mass_factor: float
    damping_factor: float
    velocity_offset: Array
    acceleration_offset: Array

    def compute_velocity(self, step: Array) -> Array:
        return self.damping_factor * step + self.velocity_offset

    def compute_acceleration(self, step: Array) -> Array:
        return self.mass_factor * step + self.acceleration_offset


def build_scheme(integrator: str, h: float, history: StepHistory) -> IntegrationScheme:
    """The step of integrator `name` from `past`."""
    return {"newmark": _build_newmark, "bdf2": _build_bdf2, "euler": _build_euler}[integrator](h, history)


def _build_newmark(h: float, history: StepHistory) -> IntegrationScheme:
    """Average acceleration: β = 1/4, γ = 1/2; second order, no numerical damping."""
    a_offset = -4.0 / h * history.velocity - history.acceleration
    return IntegrationScheme(
        4.0 / h**2, 2.0 / h, history.velocity + 0.5 * h * (history.acceleration + a_offset), a_offset
    )


def _build_euler(h: float, history: StepHistory) -> IntegrationScheme:
    """Implicit Euler: first order, strongly damped."""
    return IntegrationScheme(1.0 / h**2, 1.0 / h, np.zeros_like(history.velocity), -history.velocity / h)


def _build_bdf2(h: float, history: StepHistory) -> IntegrationScheme:
    """Second-order backward differences, eq. (3), Jeon and Choi 2007."""
    v_offset = (history.previous_displacement - history.displacement) / (2.0 * h)
    a_offset = (1.5 * v_offset - 2.0 * history.velocity + 0.5 * history.previous_velocity) / h
    return IntegrationScheme(2.25 / h**2, 1.5 / h, v_offset, a_offset)
