"""BodyRayleigh: what solids and shells share, bodies of material damped by D(u) = αM + βK(u)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body.base import Body
from cajole.errors import InputError


@dataclass(frozen=True)
class Damping:
    """Rayleigh damping of a shell: mass [1/s] slows everything alike, membrane and bending [s] fast ripples of each."""

    mass: float = 0.0
    membrane: float = 0.0
    bending: float = 0.0

    def __post_init__(self) -> None:
        checks.positive(self.mass, "damping mass (1/s)", zero=True)
        checks.positive(self.membrane, "damping membrane (s)", zero=True)
        checks.positive(self.bending, "damping bending (s)", zero=True)


class BodyRayleigh(Body):
    """A body with tangential Rayleigh damping d(u, v) = (αM + βK(u)) v, alpha [1/s] and beta [s].

    A kind defines three loops, each of which adds to what it is given: f(u), K(u) v and dK(u) along v.
    """

    def __init__(self, vertices: Array, elements: IndexArray, *, fixed: ArrayLike | None, damping: tuple[float, float]):
        super().__init__(vertices, elements, fixed)
        self.alpha, self.beta = damping_pair(damping)

    @abstractmethod
    def add_force(self, u: Array, out: Array) -> None:
        """out += f(u) (n, 3); unchecked and fast, as the next two."""

    @abstractmethod
    def add_force_change(self, u: Array, v: Array, scale: float, out: Array) -> None:
        """out += scale K(u) v (n, 3), without K."""

    @abstractmethod
    def add_stiffness_change(self, u: Array, v: Array, scale: float, data: Array) -> None:
        """data += scale H(u):v on `pattern`."""

    def finite(self, values: Array, what: str, u: Array) -> Array:
        """`values` at u where finite, else SolveError."""
        return checks.finite_result(values, what)

    def force(self, displacement: ArrayLike) -> Array:
        u = self.checked(displacement)
        out = np.zeros((self.count, 3))
        self.add_force(u, out)
        return self.finite(out, "the force", u)

    def stiffness_change(self, displacement: ArrayLike, direction: ArrayLike) -> sp.csr_array:
        u, v = self.checked(displacement), self.checked(direction, "direction")
        return self._change(u, v, 1.0, "the change of the stiffness")

    def damping_force(self, displacement: ArrayLike, velocity: ArrayLike) -> Array:
        u, v = self.checked(displacement), self.checked(velocity, "velocity")
        return self.finite(self._drag(u, v), "the damping force", u)

    def damping_matrix(self, displacement: ArrayLike) -> sp.csr_array:
        return self.pattern.matrix(self.alpha * self.mass_values + self.beta * self.stiffness(displacement).data)

    def damping_slope(self, displacement: ArrayLike, velocity: ArrayLike) -> sp.csr_array:
        u, v = self.checked(displacement), self.checked(velocity, "velocity")
        return self._change(u, v, self.beta, "the slope of the damping")

    def total_force(self, u: Array, v: Array) -> Array:
        out = self._drag(u, v)
        self.add_force(u, out)
        return out

    @property
    def symmetric(self) -> bool:
        return True

    def _drag(self, u: Array, v: Array) -> Array:
        out = self.alpha * (self.mass @ v.ravel()).reshape(-1, 3) if self.alpha else np.zeros((self.count, 3))
        if self.beta:
            self.add_force_change(u, v, self.beta, out)
        return out

    def _change(self, u: Array, v: Array, scale: float, what: str) -> sp.csr_array:
        data = np.zeros(self.pattern.entries)
        self.add_stiffness_change(u, v, scale, data)
        return self.pattern.matrix(self.finite(data, what, u))


def damping_pair(damping: tuple[float, float]) -> tuple[float, float]:
    """(α [1/s], β [s]) of Rayleigh damping, both from zero. Raises InputError for anything but such a pair."""
    try:
        alpha, beta = damping
    except (TypeError, ValueError):
        raise InputError(f"damping must be the pair (alpha [1/s], beta [s]), not {checks.shown(damping)}") from None
    return (
        checks.positive(alpha, "damping alpha (1/s)", zero=True),
        checks.positive(beta, "damping beta (s)", zero=True),
    )
