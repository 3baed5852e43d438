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
class Past:
    """What a step needs of the steps before it: displacement, velocity, acceleration, and those one step earlier."""

    u: Array
    v: Array
    a: Array
    u_before: Array
    v_before: Array


@dataclass(frozen=True)
class Scheme:
    """One step of size h: v = drag (u - u_n) + v_offset, a = inertia (u - u_n) + a_offset."""

    inertia: float
    drag: float
    v_offset: Array
    a_offset: Array

    def velocity(self, step: Array) -> Array:
        return self.drag * step + self.v_offset

    def acceleration(self, step: Array) -> Array:
        return self.inertia * step + self.a_offset


def scheme(name: str, h: float, past: Past) -> Scheme:
    """The step of integrator `name` from `past`."""
    return {"newmark": _newmark, "bdf2": _bdf2, "euler": _euler}[name](h, past)


def _newmark(h: float, past: Past) -> Scheme:
    """Average acceleration: β = 1/4, γ = 1/2; second order, no numerical damping."""
    a_offset = -4.0 / h * past.v - past.a
    return Scheme(4.0 / h**2, 2.0 / h, past.v + 0.5 * h * (past.a + a_offset), a_offset)


def _euler(h: float, past: Past) -> Scheme:
    """Implicit Euler: first order, strongly damped."""
    return Scheme(1.0 / h**2, 1.0 / h, np.zeros_like(past.v), -past.v / h)


def _bdf2(h: float, past: Past) -> Scheme:
    """Second-order backward differences, eq. (3), Jeon and Choi 2007."""
    v_offset = (past.u_before - past.u) / (2.0 * h)
    a_offset = (1.5 * v_offset - 2.0 * past.v + 0.5 * past.v_before) / h
    return Scheme(2.25 / h**2, 1.5 / h, v_offset, a_offset)
