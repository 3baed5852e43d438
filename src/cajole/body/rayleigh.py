"""Rayleigh damping D(u) = αM + βK(u): its parameters, and the bodies that have it (solids and shells)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body.base import Body
from cajole.errors import InputError


def parse_rayleigh_damping(damping: tuple[float, float]) -> tuple[float, float]:
    """Check (α [1/s], β [s]), both at least zero. Raises InputError for anything else."""
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


def compute_modal_damping(damping: tuple[float, float], eigenvalues: Array) -> Array:
    """Damping 2ζω [1/s] of modes with the eigenvalues ω² [1/s²]: α + β ω²."""
    alpha, beta = damping
    return alpha + beta * eigenvalues


def stretch_rayleigh_damping(damping: tuple[float, float], factor: float) -> tuple[float, float]:
    """Damping with the same effect on a motion that is slower by `factor`: (α / factor, β factor)."""
    alpha, beta = damping
    return alpha / factor, beta * factor


@dataclass(frozen=True)
class ShellDamping:
    """Rayleigh damping of a shell: mass α [1/s] damps all motion equally; membrane and bending are the β [s] of each.

    β damps high frequencies most.
    """

    mass: float = 0.0
    membrane: float = 0.0
    bending: float = 0.0

    def __post_init__(self) -> None:
        for name, unit in (("mass", "1/s"), ("membrane", "s"), ("bending", "s")):
            checks.require_positive(getattr(self, name), f"damping {name} ({unit})", allow_zero=True)


class BodyRayleigh(Body):
    """A body with damping d(u, v) = (αM + Σ βᵢ Kᵢ(u)) v, K = Σ Kᵢ the stiffness of its parts; alpha [1/s], betas [s].

    A solid has one part, a shell two: membrane and bending. Subclasses define a state, which is evaluated once for a
    displacement, and methods that add to their last argument, without checks.
    """

    def __init__(
        self, vertices: Array, elements: IndexArray, *, fixed: ArrayLike | None, alpha: float, betas: tuple[float, ...]
    ):
        super().__init__(vertices, elements, fixed)
        self.alpha, self.betas = alpha, betas

    @property
    def beta(self) -> float:
        """β [s] of the solid, or of the membrane."""
        return self.betas[0]

    @abstractmethod
    def _evaluate(self, u: Array) -> Any:
        """State at the displacement u (n, 3) that the methods below take."""

    @abstractmethod
    def _add_force(self, state: Any, out: Array) -> None:
        """out += f(u) (n, 3)."""

    @abstractmethod
    def _add_force_differential(self, state: Any, v: Array, scales: tuple[float, ...], out: Array) -> None:
        """out += Σ scales[i] Kᵢ(u) v (n, 3), without assembling K."""

    @abstractmethod
    def _add_stiffness_derivative(self, state: Any, v: Array, scales: tuple[float, ...], data: Array) -> None:
        """data += Σ scales[i] Hᵢ(u):v on `pattern`."""

    def _require_finite(self, values: Array, what: str, u: Array) -> Array:
        """Return `values` at u. Raises SolveError if they are not finite."""
        return checks.require_finite_result(values, what)

    def force(self, displacement: ArrayLike) -> Array:
        u = self.check_vertex_vectors(displacement)
        out = np.zeros((self.vertex_count, 3))
        self._add_force(self._evaluate(u), out)
        return self._require_finite(out, "the force", u)

    def stiffness_derivative(self, displacement: ArrayLike, direction: ArrayLike) -> sp.csr_array:
        u, v = self.check_vertex_vectors(displacement), self.check_vertex_vectors(direction, "direction")
        return self._build_stiffness_derivative(u, v, (1.0,) * len(self.betas), "the derivative of the stiffness")

    def damping_force(self, displacement: ArrayLike, velocity: ArrayLike) -> Array:
        u, v = self.check_vertex_vectors(displacement), self.check_vertex_vectors(velocity, "velocity")
        return self._require_finite(self._compute_damping_force(self._evaluate(u), v), "the damping force", u)

    def damping_matrix(self, displacement: ArrayLike) -> sp.csr_array:
        return self.pattern.build_matrix(self.alpha * self.mass_values + self.beta * self.stiffness(displacement).data)

    def damping_force_jacobian(self, displacement: ArrayLike, velocity: ArrayLike) -> sp.csr_array:
        u, v = self.check_vertex_vectors(displacement), self.check_vertex_vectors(velocity, "velocity")
        return self._build_stiffness_derivative(u, v, self.betas, "the derivative of the damping force")

    def total_force(self, u: Array, v: Array) -> Array:
        return self._compute_total_force(self._evaluate(u), v)

    @property
    def has_symmetric_tangent(self) -> bool:
        return True

    def _compute_total_force(self, state: Any, v: Array) -> Array:
        out = self._compute_damping_force(state, v)
        self._add_force(state, out)
        return out

    def _compute_damping_force(self, state: Any, v: Array) -> Array:
        out = self.alpha * (self.mass @ v.ravel()).reshape(-1, 3) if self.alpha else np.zeros((self.vertex_count, 3))
        if any(self.betas):
            self._add_force_differential(state, v, self.betas, out)
        return out

    def _build_stiffness_derivative(self, u: Array, v: Array, scales: tuple[float, ...], what: str) -> sp.csr_array:
        data = np.zeros(self.pattern.nnz)
        self._add_stiffness_derivative(self._evaluate(u), v, scales, data)
        return self.pattern.build_matrix(self._require_finite(data, what, u))


def get_rayleigh_damping(body: object) -> tuple[float, float]:
    """(α [1/s], β [s]) of a body with Rayleigh damping; zeros for other bodies and objects."""
    return (body.alpha, body.beta) if isinstance(body, BodyRayleigh) else (0.0, 0.0)
