"""A fluid in its modes, u = U z: eq. (11)-(12) of the 2008 paper, and the exact derivatives of its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.errors import InputError, SolveError
from cajole.flow import Flow, FlowForce, FlowMotion, Gust, evaluate_force
from cajole.flow import kernels as flow_kernels
from cajole.linalg import limit_blas_threads
from cajole.progress import ProgressCallback, build_subprogress, report_progress
from cajole.reduction import kernels_flow as kernels
from cajole.reduction.flow_basis import FlowModes, FlowSnapshots, compute_flow_modes


def compute_advection_tensor(flow: Flow, basis: Array, progress: ProgressCallback | None = None) -> Array:
    """A (r, r, r): A[j] is the matrix of advection by mode j, -⟨u_i, ∇·(u_j ⊗ u_k)⟩, skew in (i, k).

    It is so to rounding because the modes have no divergence; what rounding leaves is taken away.
    """
    r = basis.shape[1]
    modes, fluxes, A = np.ascontiguousarray(basis.T), np.zeros((r, flow.face_count)), np.empty((r, r, r))
    for j in range(r):
        for k in range(r):
            kernels.compute_advection_flux(
                *flow.split_faces(modes[j]), *flow.split_faces(modes[k]), *flow.split_faces(fluxes[k])
            )
        # an inner product weighs cell², and fluxes are differences across one cell
        with limit_blas_threads():
            A[j] = -flow.cell_size * (modes @ fluxes.T)
        report_progress(progress, (j + 1) / r, "advection between modes")
    return 0.5 * (A - A.transpose(0, 2, 1))


def compute_diffusion_matrix(flow: Flow, basis: Array) -> Array:
    """D (r, r) = ⟨u_i, Δ u_k⟩, symmetric, with free slip along the walls."""
    modes, second = np.ascontiguousarray(basis.T), np.empty((basis.shape[1], flow.face_count))
    for mode, out in zip(modes, second):
        flow_kernels.compute_laplacian(*flow.split_faces(mode), *flow.split_faces(out))
    D = modes @ second.T
    return 0.5 * (D + D.T)


def pack_skew(advection: Array) -> Array:
    """A (r, r, r) as `kernels_flow.rates` takes it: the entries i > k, row after row, of each matrix (r, r(r-1)/2)."""
    i, k = np.tril_indices(advection.shape[1], -1)
    return np.ascontiguousarray(advection[:, i, k])


@runtime_checkable
class FlowDisturbance(Protocol):
    """A force that knows itself in modes: w (steps, r) in the steps after frames first, first + 1, ..."""

    def compute_reduced_force(self, model: ReducedFlow, dt: float, first_frame: int, steps: int) -> Array: ...


_FlowForceLike = FlowForce | FlowDisturbance
FlowDisturbanceInput = _FlowForceLike | Sequence[_FlowForceLike] | Callable[[float], ArrayLike] | ArrayLike | None


def project_forces(model: ReducedFlow, force: FlowDisturbanceInput, dt: float, first_frame: int, steps: int) -> Array:
    """w (steps, r) of any force on a flow, in the steps after frames first, first + 1, ...; (steps, r) is itself."""
    out = np.zeros((steps, model.size))
    if force is None:
        return out
    if isinstance(force, np.ndarray) and force.shape == out.shape:
        return checks.require_real_array(force, "force", out.shape)
    for part in force if isinstance(force, list | tuple) else [force]:
        out += _project_force(model, part, dt, first_frame, steps)
    return checks.require_finite_result(out, "the disturbance")


def _project_force(model: ReducedFlow, force: object, dt: float, first_frame: int, steps: int) -> Array:
    if isinstance(force, Gust):
        blowing = [force.is_active(step, dt) for step in range(first_frame, first_frame + steps)]
        return np.outer(blowing, project_gust(model, force))
    if isinstance(force, FlowDisturbance):
        return force.compute_reduced_force(model, dt, first_frame, steps)
    fields = (evaluate_force(model.flow, force, step, dt) for step in range(first_frame, first_frame + steps))  # type: ignore[arg-type]
    return np.array([model.project(np.asarray(field)) for field in fields])


def project_gust(model: ReducedFlow, gust: Gust) -> Array:
    """The force (r,) of a gust while it blows."""
    rows, values = gust.find_affected_faces(model.flow)
    return model.flow.cell_size**2 * (values @ model.basis[rows])


def solve_inverse_dynamics(model: ReducedFlow, states: Array, dt: float) -> Array:
    """w (T, r) under which the steps of the model lead along states (T+1, r) exactly.

    The predictor z* is affine in w and G linear in z*, so each is one linear solve:
    (1 + h/2 [A[j] z_m]) w = 2/h (z_m - z) - G(z + h/2 G(z) z) z_m.
    """
    half, one = 0.5 * dt, np.eye(model.size)
    out = []
    for z, after in pairwise(states):
        zm = 0.5 * (z + after)
        ahead = z + half * (model.compute_rate_matrix(z) @ z)
        out.append(
            np.linalg.solve(
                one + half * model.compute_advection_jacobian(zm),
                (zm - z) / half - model.compute_rate_matrix(ahead) @ zm,
            )
        )
    return np.array(out).reshape(len(states) - 1, model.size)


FEED_FORWARD_KINDS = ("given", "zero", "inverse")
# Frames that are lifted at a time.
FRAME_BLOCK = 16


@dataclass(frozen=True, eq=False)
class FlowShot:
    """states (T+1, r); particles (T+1, N, 2) [m]; feed_forward (T, r): forces that act in every run; T steps of dt [s].

    outside: (T+1,) the share of each frame's speed that the modes leave out; zero for what was simulated in them.
    """

    model: ReducedFlow
    dt: float
    states: Array
    particles: Array
    feed_forward: Array
    projection_errors: Array | None = None

    @property
    def step_count(self) -> int:
        """How many there are, T."""
        return len(self.feed_forward)

    @cached_property
    def max_speed(self) -> float:
        """The fastest velocity on any edge at any frame [m/s]: the unit of velocities."""
        states = self.states.astype(np.float32)
        with limit_blas_threads():
            parts = (
                self.model.basis_float32 @ states[n : n + FRAME_BLOCK].T for n in range(0, len(states), FRAME_BLOCK)
            )
            return max(float(np.abs(part).max()) for part in parts)

    def __repr__(self) -> str:
        return (
            f"FlowShot({self.step_count} steps of {self.dt:.4g} s, {self.model.size} modes, "
            f"{self._describe_particles()})"
        )

    def __str__(self) -> str:
        rows = [
            f"flow: {self.step_count} steps of {self.dt:.4g} s in {self.model.size} modes, {self._describe_particles()}"
        ]
        if self.projection_errors is not None:
            rows.append(f"  outside the modes: {100 * self.projection_errors.max():.3g} % of the speed at most")
        return "\n".join(rows)

    def _describe_particles(self) -> str:
        count = self.particles.shape[1]
        return f"{count} particle{'' if count == 1 else 's'}"


def build_flow_shot(
    model: ReducedFlow, motion: FlowMotion, particles: Array, resimulate: bool, feed_forward: str
) -> FlowShot:
    """`ReducedFlow.shot`."""
    checks.require_instance(motion, FlowMotion, "motion")
    checks.require_choice(feed_forward, "feed_forward", FEED_FORWARD_KINDS)
    if motion.flow != model.flow:
        raise InputError(f"motion is one of {motion.flow}, but the model is of {model.flow}")
    driven = project_forces(model, motion.force, motion.dt, 0, motion.frames - 1)
    if checks.require_bool(resimulate, "reduced"):
        made = model.rollout(driven, motion.dt, model.project(motion.states[0]), particles)
        return made if feed_forward != "zero" else replace(made, feed_forward=np.zeros_like(driven))
    Z = model.project(motion.states)
    whole, held = 2.0 * motion.energies, (Z**2).sum(axis=1)
    missed = np.sqrt(np.clip(whole - held, 0.0, None) / max(whole.max(), np.finfo(float).tiny))
    if feed_forward == "inverse":
        driven = solve_inverse_dynamics(model, Z, motion.dt)
    elif feed_forward == "zero":
        driven = np.zeros_like(driven)
    return FlowShot(model, motion.dt, Z, motion.advect(particles), driven, missed)


class FlowStepJacobians(NamedTuple):
    """The derivatives of a step of x = (p, z), particles first: x' = state x + control w (m, m) and (m, r)."""

    by_state: Array
    by_control: Array


class ReducedFlow:
    """ż = A(z) z + ν D z + w in modes that are free of divergence and orthonormal, so that |z|²/2 is the energy [J].

    basis: (n, r); advection: A (r, r, r), A(z) = Σ z_j A[j], each skew; diffusion: D (r, r); modes: how they were
    found.
    """

    def __init__(self, flow: Flow, modes: FlowModes, advection: Array, diffusion: Array):
        self.flow, self.modes, self.basis = flow, modes, modes.basis
        self.advection, self.diffusion = advection, diffusion
        self.viscous_damping = flow.viscosity * diffusion
        self.packed_advection = pack_skew(advection)

    def __repr__(self) -> str:
        return f"ReducedFlow({self.flow.columns} × {self.flow.rows} cells in {self.size} modes)"

    @property
    def size(self) -> int:
        """Number of modes r."""
        return self.basis.shape[1]

    @cached_property
    def basis_float32(self) -> NDArray[np.float32]:
        """The basis in single precision, for pictures."""
        return self.basis.astype(np.float32)

    def project(self, velocity: ArrayLike) -> Array:
        """z (r,) of a state (n,) [m/s], or (frames, r) of (frames, n)."""
        return self.flow.cell_size**2 * (_check_rows(velocity, "velocity", len(self.basis)) @ self.basis)

    def lift(self, state: ArrayLike) -> Array:
        """The velocities (n,) [m/s] of z (r,), or (frames, n) of (frames, r)."""
        return _check_rows(state, "state", self.size) @ self.basis.T

    def energy(self, state: ArrayLike) -> float:
        """½ |z|² [J]."""
        z = self._check_state(state)
        return float(0.5 * z @ z)

    def compute_rate_matrix(self, state: ArrayLike) -> Array:
        """G(z) = A(z) + νD (r, r)."""
        G = np.empty((self.size, self.size))
        kernels.assemble_rate_matrix(self.packed_advection, self.viscous_damping, self._check_state(state), G)
        return G

    def compute_advection_jacobian(self, state: Array) -> Array:
        """What a change of the advecting flow does to `state` (r,): the columns A[j] z (r, r) of eq. (23)."""
        return np.ascontiguousarray((self.advection @ state).T)

    def step(self, state: Array, force: Array, dt: float) -> tuple[Array, Array]:
        """The state (r,) half way through a step under a force (r,), and at its end."""
        try:
            middle = kernels.solve_midpoint(
                self.packed_advection, self.viscous_damping, state, force, dt, np.empty((self.size, self.size))
            )
        except ZeroDivisionError:  # a pivot of numbers that overflowed
            raise SolveError("the reduced flow overflows; use a smaller dt, state or force") from None
        return middle, 2.0 * middle - state

    def advect_points(self, points: Array, state: Array, midpoint_state: Array, dt: float) -> Array:
        """Points (k, 2) [m] a step later, eq. (12)."""
        out, flow = points.copy(), self.flow
        kernels.advect_points(self.basis, flow.columns, flow.rows, flow.cell_size, state, midpoint_state, dt, out)
        return out

    def rollout(self, controls: ArrayLike, dt: float, state: ArrayLike, particles: ArrayLike = ()) -> FlowShot:
        """Simulate under controls (T, r) from a state (r,) with particles (N, 2) [m]."""
        W = checks.require_real_array(controls, "controls", (None, self.size))
        h = checks.require_positive(dt, "dt (s)")
        states, points = [self._check_state(state)], [self.check_particles(particles)]
        for w in W:
            middle, after = self.step(states[-1], w, h)
            checks.require_finite_result(after, "the reduced flow")
            points.append(
                checks.require_finite_result(
                    self.advect_points(points[-1], states[-1], middle, h), "the motion of the particles"
                )
            )
            states.append(after)
        return FlowShot(self, h, np.array(states), np.array(points), W)

    def check_particles(self, particles: ArrayLike) -> Array:
        """Particles (N, 2) [m], checked; none is fine."""
        return self.flow.check_points(np.empty((0, 2)) if checks.is_empty(particles) else particles, "particles")

    def linearize(self, state: Array, particles: Array, force: Array, dt: float) -> FlowStepJacobians:
        """The exact derivatives of a step from (particles, state) under a force (r,)."""
        r, N, half = self.size, len(particles), 0.5 * dt
        G = np.empty((r, r))
        zm = kernels.solve_midpoint(self.packed_advection, self.viscous_damping, state, force, dt, G)
        turned = half * self.compute_advection_jacobian(zm)
        predicted = np.eye(r) + half * (self.compute_rate_matrix(state) + self.compute_advection_jacobian(state))
        # M dz_m = dz + h/2 dw + h/2 [A[j] z_m] dz*
        right = np.hstack([np.eye(r) + turned @ predicted, half * (np.eye(r) + turned)])
        dm = np.linalg.solve(np.eye(r) - half * G, right)
        Phi, Gamma = np.zeros((2 * N + r, 2 * N + r)), np.zeros((2 * N + r, r))
        Phi[2 * N :, 2 * N :], Gamma[2 * N :] = 2.0 * dm[:, :r] - np.eye(r), 2.0 * dm[:, r:]
        for k, point in enumerate(particles):
            rows = slice(2 * k, 2 * k + 2)
            by_point, by_state, by_middle = self._linearize_particle(point, state, zm, dt)
            Phi[rows, rows] = by_point
            Phi[rows, 2 * N :] = by_state + by_middle @ dm[:, :r]
            Gamma[rows] = by_middle @ dm[:, r:]
        return FlowStepJacobians(Phi, Gamma)

    def interpolate_modes_and_gradient(self, point: Array, state: Array) -> tuple[Array, Array]:
        """Ψ (2, r) at a point (2,) [m], and the slopes Y (2, 2) [1/s] of the velocity there: eq. (25)-(26)."""
        flow, psi, at = self.flow, np.empty((2, self.size)), np.empty((2, 3))
        x, y = point / flow.cell_size
        kernels.interpolate_modes(self.basis, flow.columns, flow.rows, x, y, psi)
        rows, weights = np.empty(8, dtype=np.int64), np.empty((8, 3))
        kernels.interpolate_velocity(self.basis, flow.columns, flow.rows, x, y, state, rows, weights, at)
        return psi, at[:, 1:] / flow.cell_size

    def _linearize_particle(self, point: Array, z: Array, zm: Array, h: float) -> tuple[Array, Array, Array]:
        """The derivatives of a particle's step by itself (2, 2), by z and by z_m (2, r)."""
        psi, Y = self.interpolate_modes_and_gradient(point, z)
        between, slopes = self.interpolate_modes_and_gradient(point + 0.5 * h * (psi @ z), zm)
        return np.eye(2) + h * slopes @ (np.eye(2) + 0.5 * h * Y), 0.5 * h**2 * slopes @ psi, h * between

    def shot(
        self, motion: FlowMotion, *, particles: ArrayLike = (), resimulate: bool = False, feed_forward: str = "given"
    ) -> FlowShot:
        """What `steer` follows: a full motion in these modes, with the paths of particles that start at (N, 2) [m].

        reduced: simulate anew in the modes, from the motion's first frame under its forces, instead of projecting every
        frame. feed_forward, the forces that act in every run: "given", those that drove the motion; "zero"; "inverse",
        those that make the modes follow it exactly.
        Raises InputError for a motion on another grid, or particles outside the box.
        """
        return build_flow_shot(self, motion, self.check_particles(particles), resimulate, feed_forward)

    def _check_state(self, state: ArrayLike, name: str = "state") -> Array:
        return checks.require_real_array(state, name, (self.size,))


def reduce_flow(
    flow: Flow, snapshots: FlowSnapshots, size: int, progress: ProgressCallback | None = None
) -> ReducedFlow:
    """`reduce` for a fluid."""
    modes = compute_flow_modes(flow, snapshots, size)
    advected = compute_advection_tensor(flow, modes.basis, build_subprogress(progress, 0.3, 1.0))
    return ReducedFlow(flow, modes, advected, compute_diffusion_matrix(flow, modes.basis))


def _check_rows(value: ArrayLike, name: str, width: int) -> Array:
    """Finite numbers (width,) or (frames, width)."""
    return checks.require_real_array(value, name, (None, width) if checks.count_axes(value) == 2 else (width,))
