"""What every reduced model offers: a body in a mass-orthonormal basis, u = U z."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body
from cajole.dynamics.modal_analysis import compute_first_angular_frequency
from cajole.errors import InputError
from cajole.reduction import kernels_trajectory as kernels
from cajole.reduction.trajectory import Trajectory, build_newmark_coefficients, compute_predictor, rollout
from cajole.storage import write_arrays


class ReducedModel(ABC):
    """A body in `basis` (3n, r), mass-orthonormal, so that the reduced mass is the identity; size: r.

    constant: (r,), the part of the internal force that `system` leaves out: that of a shape not at rest around which
    the body moves, zero for others.
    """

    body: Body

    def __init__(self, basis: Array, constant_force: Array | None = None):
        self.basis = basis
        self.constant_force = np.zeros(basis.shape[1]) if constant_force is None else constant_force

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.body.vertex_count} vertices in {self.size} coordinates)"

    @abstractmethod
    def energy(self, state: ArrayLike) -> float:
        """W(Uz) [J]."""

    def force(self, state: ArrayLike) -> Array:
        """Uᵀ f(Uz) (r,)."""
        return self.constant_force + self.evaluate_dynamics(state, np.zeros(self.size))[0]

    def stiffness(self, state: ArrayLike | None = None) -> Array:
        """Uᵀ K(Uz) U (r, r), symmetric."""
        still = np.zeros(self.size)
        return self.evaluate_dynamics(still if state is None else state, still)[1]

    def stiffness_derivative(self, state: ArrayLike, direction: ArrayLike) -> Array:
        """H(z):v = d/dε K(z + εv) (r, r)."""
        z, v = self._check_state(state), self._check_state(direction, "direction")
        out, mixed = np.empty((2, self.size, self.size))
        kernels.compute_contracted_hessian(self.kernel_data, z, np.zeros(self.size), v, self._workspace, out, mixed)
        return out

    def evaluate_dynamics(self, state: ArrayLike, velocity: ArrayLike) -> tuple[Array, Array, Array]:
        """F = Uᵀ[f(Uz) + d(Uz, Uv)] (r,) without `constant`, and its derivatives ∂F/∂z and ∂F/∂v (r, r)."""
        z, v = self._check_state(state), self._check_state(velocity, "velocity")
        F, (Gq, Gv) = np.empty(self.size), np.empty((2, self.size, self.size))
        kernels.evaluate(self.kernel_data, z, v, self._workspace, F, Gq, Gv)
        return checks.require_finite_result(F, "the reduced force"), Gq, Gv

    @property
    @abstractmethod
    def kernel_data(self) -> tuple:
        """The model as the compiled trajectories take it, see `kernels_motion`."""

    @abstractmethod
    def get_table_arrays(self) -> dict[str, Array]:
        """What `save` writes beside the basis."""

    @property
    def size(self) -> int:
        """Number of coordinates r."""
        return self.basis.shape[1]

    @property
    def _workspace(self) -> tuple:
        """Scratch arrays, new for each call: kernels release the interpreter lock, and threads may share a model."""
        return kernels.allocate_workspace(self.kernel_data)

    @cached_property
    def mass_basis(self) -> Array:
        """M U (3n, r)."""
        return np.ascontiguousarray(self.body.mass @ self.basis)

    @cached_property
    def first_angular_frequency(self) -> float:
        """ω₁ [rad/s] of the body's first mode that has stiffness: the unit of time of all dials."""
        return compute_first_angular_frequency(self.body)

    @property
    def unit_length(self) -> float:
        """The body's size in reduced coordinates, √m L: so far off is every vertex by one body size."""
        return float(np.sqrt(self.body.total_mass) * self.body.size)

    @property
    def unit_effort(self) -> float:
        """What effort is counted in, m (L ω₁²)²: the reduced force that shakes all of the body by its size, squared."""
        return float(self.body.total_mass * (self.body.size * self.first_angular_frequency**2) ** 2)

    def project(self, displacement: ArrayLike) -> Array:
        """z = UᵀM u (r,) of u (n, 3), or (frames, r) of (frames, n, 3)."""
        return self._flatten_vectors(displacement, "displacement") @ self.mass_basis

    def lift(self, state: ArrayLike) -> Array:
        """u = U z (n, 3) of z (r,), or (frames, n, 3) of (frames, r)."""
        return self._expand(state, "state")

    def project_velocity(self, velocity: ArrayLike) -> Array:
        """ż = UᵀM u̇ (r,) of u̇ (n, 3), or (frames, r) of (frames, n, 3): no offset takes part."""
        return self._flatten_vectors(velocity, "velocity") @ self.mass_basis

    def lift_velocity(self, reduced_velocity: ArrayLike) -> Array:
        """u̇ = U ż (n, 3) of ż (r,), or (frames, n, 3) of (frames, r)."""
        return self._expand(reduced_velocity, "rates")

    def project_force(self, force: ArrayLike) -> Array:
        """Uᵀf (r,) of f (n, 3) [N], or (frames, r) of (frames, n, 3)."""
        return self._flatten_vectors(force, "force") @ self.basis

    def compute_predictor(self, state: Array, velocity: Array, h: float) -> tuple[Array, Array]:
        """The predictor state of the first step from (q₀, v₀) (r,), whose acceleration is the uncontrolled one."""
        P, V = compute_predictor(self.kernel_data, state, velocity, h)
        return P - 0.25 * h**2 * self.constant_force, V - 0.5 * h * self.constant_force

    def rollout(
        self, controls: ArrayLike, dt: float, *, state: ArrayLike | None = None, velocity: ArrayLike | None = None
    ) -> Trajectory:
        """Simulate under controls (T, r), each acting on the step into the next frame, from (state, velocity) (r,).

        z̈ + d(z, ż) + f(z) = w by implicit Newmark, converged; the result holds the exact derivatives of every step. Its
        W leaves the constant force out.
        Raises NotConverged naming the step.
        """
        W = checks.require_real_array(controls, "controls", (None, self.size))
        h = checks.require_positive(dt, "dt (s)")
        q = np.zeros(self.size) if state is None else self._check_state(state)
        v = np.zeros(self.size) if velocity is None else self._check_state(velocity, "velocity")
        plan = build_newmark_coefficients(np.full(len(W) + 1, h))
        return rollout(self.kernel_data, plan, self.compute_predictor(q, v, h), W - self.constant_force)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to an .npz; `load_model` reads it back for the same body."""
        write_arrays(
            path, {"body": np.array(self.body.compute_content_hash()), "basis": self.basis, **self.get_table_arrays()}
        )

    def _flatten_vectors(self, vectors: ArrayLike, name: str) -> Array:
        """(3n,) of (n, 3), or (frames, 3n) of (frames, n, 3)."""
        u, n = np.asarray(vectors, dtype=np.float64), self.body.vertex_count
        if u.shape[-2:] != (n, 3) or u.ndim > 3:
            raise InputError(f"{name} has shape {u.shape}, but ({n}, 3) or (frames, {n}, 3) is needed")
        return u.reshape(*u.shape[:-2], 3 * n)

    def _expand(self, state: ArrayLike, name: str) -> Array:
        """U z (n, 3) of z (r,), or (frames, n, 3) of (frames, r)."""
        z = np.asarray(state, dtype=np.float64)
        if z.shape[-1:] != (self.size,) or z.ndim > 2:
            raise InputError(f"{name} has shape {z.shape}, but ({self.size},) or (frames, {self.size}) is needed")
        return (z @ self.basis.T).reshape(*z.shape[:-1], self.body.vertex_count, 3)

    def _check_state(self, state: ArrayLike, name: str = "state") -> Array:
        return checks.require_real_array(state, name, (self.size,))
