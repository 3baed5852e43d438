"""The incremental potential of an implicit Euler step: its minimum is the step."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.body import BodyShell
from cajole.direct.enriching.stepping import Moment


class Increment:
    """½|x - x̃|²_M/h² + W(x) + ½h vᵀDv - f·x of positions x (n, 3), v = (x - x_n)/h and x̃ = x_n + h v_n.

    The damping D is that of the step's start, with the positive semidefinite stiffness: only so it has a potential.
    """

    def __init__(self, body: BodyShell, h: float, now: Moment, load: Array):
        self._body, self._h, self._start, self._load = body, h, now.positions, load
        self._flight = now.positions + h * now.velocities
        self._damping = body.damping_matrix(now.positions - body.vertices, clamped=True)

    def energy(self, x: Array) -> float:
        """[J]"""
        body, v, away = self._body, self._velocity(x), (x - self._flight).ravel() / self._h
        total = 0.5 * away @ (body.mass @ away) + 0.5 * self._h * v @ (self._damping @ v)
        return float(total + body.energy(x - body.vertices) - (self._load * (x - self._start)).sum())

    def slope(self, x: Array) -> Array:
        """Its gradient (n, 3) [N]."""
        body = self._body
        linear = body.mass @ (x - self._flight).ravel() / self._h**2 + self._damping @ self._velocity(x)
        return np.asarray(linear.reshape(-1, 3) + body.force(x - body.vertices) - self._load)

    def curvature(self, x: Array, out: Array, *, exact: bool = False) -> Array:
        """Its second derivative, filled into `out` on the body's pattern, or a positive semidefinite stand-in."""
        still = np.zeros_like(x)
        tangent = "symmetric" if exact else "clamped"
        self._body.system(x - self._body.vertices, still, 1.0 / self._h**2, 0.0, out, tangent=tangent)
        # that of the start, as in the potential: triangles that turn are damped across their planes by it, and with
        # that of x corrections overshoot without end
        out += self._damping.data / self._h
        return out

    def stiffness(self) -> float:
        """[N/m] of a coordinate at the start, on average."""
        pattern = self._body.pattern
        matrix = pattern.matrix(self.curvature(self._start, np.empty(pattern.entries)))
        return float(matrix.diagonal().mean())

    def _velocity(self, x: Array) -> Array:
        return np.asarray((x - self._start).ravel() / self._h)
