"""`ReducedModel`: a body in a mass-orthonormal basis, u = U z; the base of solids and springs."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body
from cajole.dynamics.modal_analysis import compute_first_angular_frequency
from cajole.errors import InputError
from cajole.memory import require_memory
from cajole.mesh import Skin
from cajole.reduction import kernels_trajectory as kernels
from cajole.reduction.dynamic_model import Disturbance, DynamicModel, StepJacobians
from cajole.reduction.trajectory import Trajectory, build_newmark_coefficients, compute_predictor, rollout
from cajole.storage import write_arrays

# An external force [N] as `simulate` takes it: f(t) -> (n, 3), (n, 3) or (frames, n, 3).
ForceLike = Callable[[float], ArrayLike] | ArrayLike | None
DisturbanceLike = ForceLike | Disturbance | Sequence[Disturbance]


class ReducedModel(DynamicModel):
    """A body in `basis` (3n, r), mass-orthonormal, so that the reduced mass is the identity; size: r.

    constant_force: (r,), the part of the internal force that `kernel_data` leaves out: Uᵀf(u₀) of a model around a
    deformed shape u₀, zero for others.
    """

    body: Body
    default_push_duration = 0.1

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
        """F = Uᵀ[f(Uz) + d(Uz, Uv)] (r,) without `constant_force`, and its derivatives ∂F/∂z and ∂F/∂v (r, r)."""
        z, v = self._check_state(state), self._check_state(velocity, "velocity")
        F, (Gq, Gv) = np.empty(self.size), np.empty((2, self.size, self.size))
        kernels.evaluate(self.kernel_data, z, v, self._workspace, F, Gq, Gv)
        return checks.require_finite_result(F, "the reduced force"), Gq, Gv

    @property
    @abstractmethod
    def kernel_data(self) -> tuple[Any, ...]:
        """The model as the compiled trajectories take it, see `kernels_trajectory`."""

    @abstractmethod
    def get_table_arrays(self) -> dict[str, Array]:
        """Arrays that `save` writes beside the basis."""

    @property
    def _workspace(self) -> tuple[Any, ...]:
        """Scratch arrays, new for each call: kernels release the interpreter lock, and threads may share a model."""
        return tuple(kernels.allocate_workspace(self.kernel_data))

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
        """√m L, the norm of z when every vertex has moved by one body size L."""
        return float(np.sqrt(self.body.total_mass) * self.body.size)

    @property
    def unit_effort(self) -> float:
        """m (L ω₁²)², the unit of effort: squared norm of the force that shakes the whole body by its size at ω₁."""
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

    def step(self, state: ArrayLike, control: ArrayLike, dt: float) -> Array:
        """The predictor state (P, V) (2r,) after an implicit Newmark step of dt [s] under the control (r,)."""
        return np.asarray(self._solve_step(state, control, dt).stacked_states[1])

    def linearize(self, state: ArrayLike, control: ArrayLike, dt: float) -> StepJacobians:
        """Exact derivatives of `step`: da = Ga⁻¹ (dw - Gq dP - Gv dV), Ga = I + dt/2 Gv + dt²/4 Gq."""
        path, one = self._solve_step(state, control, dt), np.eye(self.size)
        bh, gh, hp, c1, c2 = build_newmark_coefficients(np.array([dt, dt]))[0]
        Gq, Gv = path.coordinate_jacobians[0], path.velocity_jacobians[0]
        inverse = np.linalg.inv(one + gh * Gv + bh * Gq)
        by_state = np.block([[one, hp * one], [0.0 * one, one]]) - np.vstack([c1 * inverse, c2 * inverse]) @ np.hstack(
            [Gq, Gv]
        )
        return StepJacobians(by_state, np.vstack([c1 * inverse, c2 * inverse]))

    def _solve_step(self, state: ArrayLike, control: ArrayLike, dt: float) -> Trajectory:
        x = checks.require_real_array(state, "state (P, V)", (2 * self.size,))
        plan = build_newmark_coefficients(np.full(2, checks.require_positive(dt, "dt (s)")))
        w = self._check_state(control, "control") - self.constant_force
        return rollout(self.kernel_data, plan, (x[: self.size], x[self.size :]), w[None])

    def rollout(
        self, controls: ArrayLike, dt: float, state: ArrayLike | None = None, *, velocity: ArrayLike | None = None
    ) -> Trajectory:
        """Simulate under controls (T, r), each acting on the step into the next frame, from (state, velocity) (r,).

        z̈ + d(z, ż) + f(z) = w by implicit Newmark, converged; the result holds the exact derivatives of every step. Its
        controls leave out the constant force.
        Raises NotConverged naming the step.
        """
        W = checks.require_real_array(controls, "controls", (None, self.size))
        h = checks.require_positive(dt, "dt (s)")
        q = np.zeros(self.size) if state is None else self._check_state(state)
        v = np.zeros(self.size) if velocity is None else self._check_state(velocity, "velocity")
        plan = build_newmark_coefficients(np.full(len(W) + 1, h))
        return rollout(self.kernel_data, plan, self.compute_predictor(q, v, h), W - self.constant_force)

    def project_disturbances(self, force: DisturbanceLike, dt: float, first_step: int, steps: int) -> Array:
        """w (steps, r) of a force as `Controller.run` takes it: f(t) [N], (n, 3), (steps + 1, n, 3), or Disturbances.

        Raises InputError for anything else and for forces that are not finite.
        """
        require_memory(80 * steps * self.size, f"a run of {steps} steps", "use fewer loops or frames")
        if force is None:
            return np.zeros((steps, self.size))
        several: Sequence[object] = force if isinstance(force, list | tuple) else [force]
        parts = [part for part in several if isinstance(part, Disturbance)]
        if len(parts) < len(several):
            return self.project_force_over_time(force, steps + 1, dt)[1:]  # type: ignore[arg-type]
        total = sum(
            (part.compute_reduced_force(self, dt, first_step + 1, steps) for part in parts),
            np.zeros((steps, self.size)),
        )
        return checks.require_finite_result(np.asarray(total), "the disturbance")

    def project_force_over_time(self, force: ForceLike, frames: int, h: float) -> Array:
        """Uᵀf (frames, r) at frames 0, 1, ... h [s] apart of a force as `simulate` takes it."""
        body = self.body
        if callable(force):
            times = h * np.arange(frames)
            return np.array(
                [self.project_force(body.check_vertex_vectors(force(float(t)), f"force({t:.6g})")) for t in times]
            )
        try:
            array = np.asarray(force, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                "a force must be a function of time, numbers (n, 3) or (frames, n, 3) [N], or only Push and Wind "
                "objects"
            ) from None
        if array.ndim == 3:
            return self.project_force(checks.require_real_array(array, "force", (frames, body.vertex_count, 3)))
        return np.tile(self.project_force(body.check_vertex_vectors(array, "force")), (frames, 1))

    def project_push(
        self, location: int, force: ArrayLike, duration: float = 0.1, radius: float | None = None
    ) -> Array:
        """Uᵀf (r,) of a force (3,) [N] on the vertex `location`. Raises InputError naming the wrong argument."""
        if radius is not None:
            raise InputError("radius belongs to pushes of a flow; a body is pushed at one vertex, so leave it out")
        checks.require_positive(duration, "the duration of a push (s)")
        vertex = int(checks.require_index_array([location], "the pushed vertex", (1,), self.body.vertex_count)[0])
        return (
            checks.require_real_array(force, "the force of a push (N)", (3,)) @ self.basis[3 * vertex : 3 * vertex + 3]
        )

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


def build_skin_basis(model: ReducedModel, skin: Skin) -> tuple[Array, Array]:
    """A skin of the body at z = 0 (s, 3), and its displacement per coordinate (3s, r), in single precision."""
    return interpolate_basis(model.body.vertices + model.lift(np.zeros(model.size)), model.basis, skin)


def interpolate_basis(rest: Array, basis: Array, skin: Skin) -> tuple[Array, Array]:
    """`build_skin_basis` of a body at `rest` (n, 3) that moves in `basis` (3n, r)."""
    checks.require_instance(skin, Skin, "skin")
    columns = [skin.deform(column.reshape(-1, 3)).ravel() for column in basis.T]
    return skin.deform(rest).astype(np.float32), np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.float32)
