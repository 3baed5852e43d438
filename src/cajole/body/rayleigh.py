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
class ShellDamping:
    """Rayleigh damping of a shell: mass [1/s] slows everything alike, membrane and bending [s] fast ripples of each."""

    mass: float = 0.0
    membrane: float = 0.0
    bending: float = 0.0

    def __post_init__(self) -> None:
        checks.require_positive(self.mass, "damping mass (1/s)", allow_zero=True)
        checks.require_positive(self.membrane, "damping membrane (s)", allow_zero=True)
        checks.require_positive(self.bending, "damping bending (s)", allow_zero=True)


class BodyRayleigh(Body):
    """A body with tangential Rayleigh damping d(u, v) = (αM + βK(u)) v, alpha [1/s] and beta [s].

    A kind defines three loops, each of which adds to what it is given: f(u), K(u) v and dK(u) along v.
    """

    def __init__(self, vertices: Array, elements: IndexArray, *, fixed: ArrayLike | None, damping: tuple[float, float]):
        super().__init__(vertices, elements, fixed)
        self.alpha, self.beta = parse_rayleigh_damping(damping)

    @abstractmethod
    def add_force(self, u: Array, out: Array) -> None:
        """out += f(u) (n, 3); unchecked and fast, as the next two."""

    @abstractmethod
    def add_force_differential(self, u: Array, v: Array, scale: float, out: Array) -> None:
        """out += scale K(u) v (n, 3), without K."""

    @abstractmethod
    def add_stiffness_derivative(self, u: Array, v: Array, scale: float, data: Array) -> None:
        """data += scale H(u):v on `pattern`."""

    def require_finite(self, values: Array, what: str, u: Array) -> Array:
        """`values` at u where finite, else SolveError."""
        return checks.require_finite_result(values, what)

    def force(self, displacement: ArrayLike) -> Array:
        u = self.check_vertex_vectors(displacement)
        out = np.zeros((self.vertex_count, 3))
        self.add_force(u, out)
        return self.require_finite(out, "the force", u)

    def stiffness_derivative(self, displacement: ArrayLike, direction: ArrayLike) -> sp.csr_array:
        u, v = self.check_vertex_vectors(displacement), self.check_vertex_vectors(direction, "direction")
        return self._build_stiffness_derivative(u, v, 1.0, "the change of the stiffness")

    def damping_force(self, displacement: ArrayLike, velocity: ArrayLike) -> Array:
        u, v = self.check_vertex_vectors(displacement), self.check_vertex_vectors(velocity, "velocity")
        return self.require_finite(self._compute_damping_force(u, v), "the damping force", u)

    def damping_matrix(self, displacement: ArrayLike) -> sp.csr_array:
        return self.pattern.build_matrix(self.alpha * self.mass_values + self.beta * self.stiffness(displacement).data)

    def damping_force_jacobian(self, displacement: ArrayLike, velocity: ArrayLike) -> sp.csr_array:
        u, v = self.check_vertex_vectors(displacement), self.check_vertex_vectors(velocity, "velocity")
        return self._build_stiffness_derivative(u, v, self.beta, "the slope of the damping")

    def total_force(self, u: Array, v: Array) -> Array:
        out = self._compute_damping_force(u, v)
        self.add_force(u, out)
        return out

    @property
    def has_symmetric_tangent(self) -> bool:
        return True

    def _compute_damping_force(self, u: Array, v: Array) -> Array:
        out = self.alpha * (self.mass @ v.ravel()).reshape(-1, 3) if self.alpha else np.zeros((self.vertex_count, 3))
        if self.beta:
            self.add_force_differential(u, v, self.beta, out)
        return out

    def _build_stiffness_derivative(self, u: Array, v: Array, scale: float, what: str) -> sp.csr_array:
        data = np.zeros(self.pattern.nnz)
        self.add_stiffness_derivative(u, v, scale, data)
        return self.pattern.build_matrix(self.require_finite(data, what, u))


def parse_rayleigh_damping(damping: tuple[float, float]) -> tuple[float, float]:
    """(α [1/s], β [s]) of Rayleigh damping, both from zero. Raises InputError for anything but such a pair."""
    try:
        alpha, beta = damping
    except (TypeError, ValueError):
        raise InputError(
            f"damping must be the pair (alpha [1/s], beta [s]), not {checks.format_value(damping)}"
        ) from None
    return (
        checks.require_positive(alpha, "damping alpha (1/s)", allow_zero=True),
        checks.require_positive(beta, "damping beta (s)", allow_zero=True),
    )
