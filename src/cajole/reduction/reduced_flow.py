"""A fluid in its modes, u = U z: eq. (11)-(12) of the 2008 paper, and the exact derivatives of its steps.

The modes are the principal components of snapshots, computed from their Gram matrix and then made divergence-free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.errors import FileError, InputError, SolveError
from cajole.flow import Flow, FlowForce, FlowMotion, Gust, evaluate_force
from cajole.flow import kernels as flow_kernels
from cajole.linalg import limit_blas_threads
from cajole.progress import ProgressCallback, build_subprogress, report_progress
from cajole.reduction import kernels_flow as kernels
from cajole.reduction.dynamic_model import Disturbance, DynamicModel, NominalTrajectory, StepJacobians

FlowSnapshots = FlowMotion | ArrayLike | Sequence[FlowMotion | ArrayLike]
FlowDisturbanceLike = (
    FlowForce | Disturbance | Sequence[FlowForce | Disturbance] | Callable[[float], ArrayLike] | ArrayLike | None
)

# --- modes


@dataclass(frozen=True, eq=False)
class FlowModes:
    """basis: (n, r), orthonormal under cell² Σ; energies: (r,) of all snapshots along each mode; missed_energy: the
    share of their energy outside the basis."""

    basis: Array
    energies: Array
    missed_energy: float


def compute_flow_modes(flow: Flow, snapshots: FlowSnapshots, size: int) -> FlowModes:
    """The `size` divergence-free modes that hold most of the snapshots' energy.

    Raises InputError for fewer snapshots than modes, and for snapshots that span fewer directions.
    """
    rows = stack_snapshots(flow, snapshots)
    if len(rows) < checks.require_integer(size, "size"):
        raise InputError(f"size is {size}, but there are only {len(rows)} snapshots; give more, or ask for fewer modes")
    with limit_blas_threads():
        gram, block = np.zeros((len(rows), len(rows))), 8192  # single-precision products, summed in double precision
        for first in range(0, rows.shape[1], block):
            part = rows[:, first : first + block]
            gram += part @ part.T
        energies, shares = scipy.linalg.eigh(gram)
        energies, shares = energies[::-1], shares[:, ::-1]
        # energies below this share of the largest are rounding
        rounding = 1e-9 if rows.dtype == np.float32 else 1e-14
        held = int((energies > rounding * max(energies[0], 0.0)).sum())
        if held < size:
            raise InputError(
                f"size is {size}, but the {len(rows)} snapshots span only {held} directions; disturb the runs more, or "
                "ask for fewer modes"
            )
        columns = rows.T @ (shares[:, :size] / np.sqrt(energies[:size])).astype(rows.dtype)
        missed = max(1.0 - float(energies[:size].sum() / energies.clip(0.0).sum()), 0.0)
        fields = np.asarray(columns.T, dtype=np.float64).copy()
        for field in fields:
            flow.pressure_solver.project(*flow.split_faces(field))
        basis, _ = scipy.linalg.qr(fields.T, mode="economic", overwrite_a=True)
    return FlowModes(np.ascontiguousarray(basis) / flow.cell_size, flow.cell_size**2 * energies[:size], missed)


def stack_snapshots(flow: Flow, snapshots: FlowSnapshots) -> NDArray[np.float32] | Array:
    """Snapshots (k, n) in one array, in single precision if all are. Raises InputError for those of another grid."""
    several = snapshots if isinstance(snapshots, list | tuple) else [snapshots]
    if not several:
        raise InputError("snapshots is empty: give states of the flow, (k, n), or a list of such")
    parts: list[NDArray[Any]] = []
    for k, part in enumerate(several):
        if isinstance(part, FlowMotion):
            if part.flow != flow:
                raise InputError(f"snapshots[{k}] is a motion of {part.flow}, not of {flow}")
            parts.append(part.states)
            continue
        array = np.asarray(part)
        if array.dtype != np.float32:
            array = checks.require_real_array(array, f"snapshots[{k}]", (None, flow.face_count))
        checks.require_shape(array, f"snapshots[{k}]", (None, flow.face_count))
        parts.append(array)
    rows = np.concatenate(parts)
    if not np.isfinite(rows).all():
        raise InputError("snapshots must be finite numbers; a run among them has blown up")
    if not rows.any():
        raise InputError("all snapshots are at rest; give some of a moving fluid")
    return rows


# --- tables


def reduce_flow(
    flow: Flow, snapshots: FlowSnapshots, size: int, progress: ProgressCallback | None = None
) -> ReducedFlow:
    """The reduced model of a fluid in `size` modes of `snapshots`; see `reduce`."""
    modes = compute_flow_modes(flow, snapshots, size)
    advection = compute_advection_tensor(flow, modes.basis, build_subprogress(progress, 0.3, 1.0))
    return ReducedFlow(flow, modes, advection, compute_diffusion_matrix(flow, modes.basis))


def compute_advection_tensor(flow: Flow, basis: Array, progress: ProgressCallback | None = None) -> Array:
    """A (r, r, r): A[j] is the matrix of advection by mode j, -⟨u_i, ∇·(u_j ⊗ u_k)⟩, skew in (i, k).

    Divergence-free modes make it skew to rounding; the symmetric remainder is removed.
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
        rhs = (zm - z) / half - model.compute_rate_matrix(ahead) @ zm
        out.append(np.linalg.solve(one + half * model.compute_advection_jacobian(zm), rhs))
    return np.array(out).reshape(len(states) - 1, model.size)


# --- the motion that `steer` tracks


@dataclass(frozen=True, eq=False)
class FlowShot(NominalTrajectory):
    """A motion in the modes of a flow: T steps of dt [s].

    states: (T+1, r) mode coordinates; particles: (T+1, N, 2) [m]; feed_forward: (T, r) reduced forces of every run;
    projection_errors: (T+1,) share of each frame's speed outside the modes, zero for a simulation in the modes.
    """

    model: ReducedFlow
    dt: float
    states: Array
    particles: Array
    feed_forward: Array
    projection_errors: Array | None = None
    # farther from its path, in box sizes, a particle is in another current than the one the gains were computed for
    linear_range: ClassVar[float] = 0.04
    error_label: ClassVar[str] = "farthest particle, cells"
    force_label: ClassVar[str] = "added force, % of momentum a step"

    @cached_property
    def max_speed(self) -> float:
        """The fastest velocity on any edge at any frame [m/s], the unit U of velocities."""
        states, block = self.states.astype(np.float32), 16
        with limit_blas_threads():
            parts = (self.model.basis_float32 @ states[n : n + block].T for n in range(0, len(states), block))
            return max(float(np.abs(part).max()) for part in parts)

    @property
    def box_size(self) -> float:
        """The diagonal of the box [m], the unit L of lengths."""
        return float(np.hypot(*self.model.flow.size))

    @cached_property
    def max_momentum(self) -> float:
        """The largest |z| of all frames [kg m/s per √kg]."""
        return float(np.linalg.norm(self.states, axis=1).max())

    def compute_gentleness(self, feedback: Array) -> Array:
        return np.asarray(self.dt * np.linalg.norm(feedback, axis=-1) / self.max_momentum)

    @property
    def effort_unit(self) -> float:
        """m (U²/L)²."""
        return float(self.model.flow.mass * (self.max_speed**2 / self.box_size) ** 2)

    @property
    def stacked_states(self) -> Array:
        """(T+1, 2N + r) states (p, z), one per row."""
        return np.hstack([self.particles.reshape(len(self.states), -1), self.states])

    def compute_error(self, states: Array, particles: Array, frames: NDArray[np.int64]) -> Array:
        if self.particles.shape[1]:
            distances = self.compute_particle_distances(particles, frames)
            return np.asarray(np.sqrt((distances**2).mean(axis=1)) / self.box_size)
        off: Array = np.linalg.norm(states - self.states[frames], axis=1)
        return np.asarray(off / (np.sqrt(self.model.flow.mass) * self.max_speed))

    def compute_particle_distances(self, particles: Array, frames: NDArray[np.int64]) -> Array:
        return np.asarray(np.linalg.norm(particles - self.particles[frames], axis=2))

    def __repr__(self) -> str:
        count = self.particles.shape[1]
        return (
            f"FlowShot({self.step_count} steps of {self.dt:.4g} s, {self.model.size} modes, "
            f"{count} particle{'' if count == 1 else 's'})"
        )

    def __str__(self) -> str:
        count = self.particles.shape[1]
        text = (
            f"flow: {self.step_count} steps of {self.dt:.4g} s in {self.model.size} modes, "
            f"{count} particle{'' if count == 1 else 's'}"
        )
        if self.projection_errors is not None:
            text += f"\n  outside the modes: {100 * self.projection_errors.max():.3g} % of the speed at most"
        return text


class ReducedFlow(DynamicModel):
    """ż = A(z) z + ν D z + w in modes that are free of divergence and orthonormal, so that |z|²/2 is the energy [J].

    basis: (n, r); advection: A (r, r, r), A(z) = Σ z_j A[j], each skew; diffusion: D (r, r); modes: the basis with
    its energies. A state x (2N + r,) of `step` and `linearize` is (p, z): N particles [m], then the coordinates.
    """

    default_push_duration = 0.0

    def __init__(self, flow: Flow, modes: FlowModes, advection: Array, diffusion: Array):
        self.flow, self.modes, self.basis = flow, modes, modes.basis
        self.advection, self.diffusion = advection, diffusion
        self.viscous_damping = flow.viscosity * diffusion
        i, k = np.tril_indices(self.size, -1)
        # the entries i > k of each skew matrix, row after row (r, r(r-1)/2)
        self.packed_advection = np.ascontiguousarray(advection[:, i, k])

    def __repr__(self) -> str:
        return f"ReducedFlow({self.flow.columns} × {self.flow.rows} cells in {self.size} modes)"

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
        """Derivative of A(y) z by y at fixed z = state (r,): the columns A[j] z (r, r) of eq. (23)."""
        return np.ascontiguousarray((self.advection @ state).T)

    def step(self, state: ArrayLike, control: ArrayLike, dt: float) -> Array:
        """The state (p, z) (2N + r,) after a step of dt [s] under the reduced force (r,)."""
        points, z = self._split_state(state)
        middle = self.solve_midpoint(z, self._check_state(control, "control"), dt)
        return np.concatenate([self.advect_points(points, z, middle, dt).ravel(), 2.0 * middle - z])

    def solve_midpoint(self, state: Array, force: Array, dt: float) -> Array:
        """z_m (r,) half way through a step under a force (r,); the step ends at 2 z_m - z."""
        G = np.empty((self.size, self.size))
        try:
            return np.asarray(kernels.solve_midpoint(self.packed_advection, self.viscous_damping, state, force, dt, G))
        except ZeroDivisionError:  # a pivot of numbers that overflowed
            raise SolveError("the reduced flow overflows; use a smaller dt, state or force") from None

    def advect_points(self, points: Array, state: Array, midpoint_state: Array, dt: float) -> Array:
        """Points (k, 2) [m] a step later, eq. (12)."""
        out, flow = points.copy(), self.flow
        kernels.advect_points(self.basis, flow.columns, flow.rows, flow.cell_size, state, midpoint_state, dt, out)
        return out

    def rollout(
        self, controls: ArrayLike, dt: float, state: ArrayLike | None = None, particles: ArrayLike = ()
    ) -> FlowShot:
        """Simulate under controls (T, r) from coordinates (r,), None for rest, with particles (N, 2) [m]."""
        W = checks.require_real_array(controls, "controls", (None, self.size))
        h = checks.require_positive(dt, "dt (s)")
        states = [np.zeros(self.size) if state is None else self._check_state(state)]
        points = [self.check_particles(particles)]
        for w in W:
            middle = self.solve_midpoint(states[-1], w, h)
            after = checks.require_finite_result(2.0 * middle - states[-1], "the reduced flow")
            moved = self.advect_points(points[-1], states[-1], middle, h)
            points.append(checks.require_finite_result(moved, "the motion of the particles"))
            states.append(after)
        return FlowShot(self, h, np.array(states), np.array(points), W)

    def linearize(self, state: ArrayLike, control: ArrayLike, dt: float) -> StepJacobians:
        """Exact derivatives of `step` by the state (p, z) and by the force (r,)."""
        points, z = self._split_state(state)
        r, N, half = self.size, len(points), 0.5 * dt
        G = np.empty((r, r))
        w = self._check_state(control, "control")
        zm = kernels.solve_midpoint(self.packed_advection, self.viscous_damping, z, w, dt, G)
        turned = half * self.compute_advection_jacobian(zm)
        predicted = np.eye(r) + half * (self.compute_rate_matrix(z) + self.compute_advection_jacobian(z))
        # M dz_m = dz + h/2 dw + h/2 [A[j] z_m] dz*
        rhs = np.hstack([np.eye(r) + turned @ predicted, half * (np.eye(r) + turned)])
        dm = np.linalg.solve(np.eye(r) - half * G, rhs)
        Phi, Gamma = np.zeros((2 * N + r, 2 * N + r)), np.zeros((2 * N + r, r))
        Phi[2 * N :, 2 * N :], Gamma[2 * N :] = 2.0 * dm[:, :r] - np.eye(r), 2.0 * dm[:, r:]
        for k, point in enumerate(points):
            rows = slice(2 * k, 2 * k + 2)
            psi, Y = self.interpolate_modes_and_gradient(point, z)
            between, slopes = self.interpolate_modes_and_gradient(point + half * (psi @ z), zm)
            Phi[rows, rows] = np.eye(2) + dt * slopes @ (np.eye(2) + half * Y)
            Phi[rows, 2 * N :] = 0.5 * dt**2 * slopes @ psi + dt * between @ dm[:, :r]
            Gamma[rows] = dt * between @ dm[:, r:]
        return StepJacobians(Phi, Gamma)

    def interpolate_modes_and_gradient(self, point: Array, state: Array) -> tuple[Array, Array]:
        """Ψ (2, r) at a point (2,) [m], and the gradient Y (2, 2) [1/s] of the velocity there: eq. (25)-(26)."""
        flow, psi, at = self.flow, np.empty((2, self.size)), np.empty((2, 3))
        x, y = point / flow.cell_size
        kernels.interpolate_modes(self.basis, flow.columns, flow.rows, x, y, psi)
        rows, weights = np.empty(8, dtype=np.int64), np.empty((8, 3))
        kernels.interpolate_velocity(self.basis, flow.columns, flow.rows, x, y, state, rows, weights, at)
        return psi, at[:, 1:] / flow.cell_size

    def shot(
        self, motion: FlowMotion, *, particles: ArrayLike = (), resimulate: bool = False, feed_forward: str = "given"
    ) -> FlowShot:
        """A full motion in these modes for `steer`, with the paths of particles that start at (N, 2) [m].

        resimulate: simulate in the modes from the motion's first frame under its forces, instead of projecting every
            frame.
        feed_forward: forces of every run. "given": those that drove the motion; "zero": none; "inverse": those that
            make the modes follow the motion exactly.
        Raises InputError for a motion on another grid, or particles outside the box.
        """
        checks.require_instance(motion, FlowMotion, "motion")
        checks.require_choice(feed_forward, "feed_forward", ("given", "zero", "inverse"))
        points = self.check_particles(particles)
        if motion.flow != self.flow:
            raise InputError(f"motion is one of {motion.flow}, but the model is of {self.flow}")
        given = self.project_disturbances(motion.force, motion.dt, 0, motion.frames - 1)
        if checks.require_bool(resimulate, "resimulate"):
            shot = self.rollout(given, motion.dt, self.project(motion.states[0]), points)
            return shot if feed_forward != "zero" else replace(shot, feed_forward=np.zeros_like(given))
        Z = self.project(motion.states)
        total, held = 2.0 * motion.energies, (Z**2).sum(axis=1)
        missed = np.sqrt(np.clip(total - held, 0.0, None) / max(total.max(), np.finfo(float).tiny))
        if feed_forward == "inverse":
            given = solve_inverse_dynamics(self, Z, motion.dt)
        elif feed_forward == "zero":
            given = np.zeros_like(given)
        return FlowShot(self, motion.dt, Z, motion.advect(points), given, missed)

    def project_disturbances(self, force: FlowDisturbanceLike, dt: float, first_step: int, steps: int) -> Array:
        """w (steps, r) of any force on the flow, see `Controller.run`; an array (steps, r) is returned as it is.

        Raises InputError for forces that do not fit and for numbers that are not finite.
        """
        out = np.zeros((steps, self.size))
        if force is None:
            return out
        if isinstance(force, np.ndarray) and force.shape == out.shape:
            return checks.require_real_array(force, "force", out.shape)
        numbers = range(first_step, first_step + steps)
        parts: Sequence[Any] = force if isinstance(force, list | tuple) else [force]
        for part in parts:
            if isinstance(part, Gust):
                out += np.outer([part.is_active(step, dt) for step in numbers], self._project_gust(part))
            elif isinstance(part, Disturbance):
                out += part.compute_reduced_force(self, dt, first_step, steps)
            else:
                fields = (evaluate_force(self.flow, part, step, dt) for step in numbers)
                out += np.array([self.project(np.asarray(field)) for field in fields])
        return checks.require_finite_result(out, "the disturbance")

    def project_push(
        self, location: ArrayLike, force: ArrayLike, duration: float = 0.0, radius: float | None = None
    ) -> Array:
        """w (r,) of a gust with acceleration `force` (2,) [m/s²] at `location` (2,) [m] within `radius` (1) [m]."""
        x, y = checks.require_real_array(location, "the position of a push (m)", (2,)).tolist()
        ax, ay = checks.require_real_array(force, "the acceleration of a push (m/s²)", (2,)).tolist()
        return self._project_gust(Gust((x, y), (ax, ay), 1.0 if radius is None else radius, duration=duration))

    def check_particles(self, particles: ArrayLike) -> Array:
        """Particles (N, 2) [m], checked to lie in the box; N may be 0."""
        return self.flow.check_points(np.empty((0, 2)) if checks.is_empty(particles) else particles, "particles")

    def _project_gust(self, gust: Gust) -> Array:
        rows, values = gust.find_affected_faces(self.flow)
        return self.flow.cell_size**2 * (values @ self.basis[rows])

    def _split_state(self, state: ArrayLike) -> tuple[Array, Array]:
        """Particles (N, 2) and coordinates (r,) of a state (2N + r,)."""
        x = checks.require_real_array(state, "state (particles, z)", (None,))
        if len(x) < self.size or (len(x) - self.size) % 2:
            raise InputError(f"state has {len(x)} numbers, but {self.size} and two per particle are needed")
        return x[: -self.size].reshape(-1, 2), x[-self.size :].copy()

    def _check_state(self, state: ArrayLike, name: str = "state") -> Array:
        return checks.require_real_array(state, name, (self.size,))


def _check_rows(value: ArrayLike, name: str, width: int) -> Array:
    """Finite numbers (width,) or (frames, width)."""
    return checks.require_real_array(value, name, (None, width) if checks.count_axes(value) == 2 else (width,))


# --- files and caches


def pack_shot(shot: FlowShot) -> dict[str, Array]:
    """The arrays of a shot with its model and grid, by name."""
    model, flow = shot.model, shot.model.flow
    outside = np.zeros(len(shot.states)) if shot.projection_errors is None else shot.projection_errors
    return {
        "grid": np.array([flow.columns, flow.rows, flow.cell_size, flow.viscosity]),
        "dt": np.array(shot.dt),
        "basis": model.basis,
        "energies": model.modes.energies,
        "missed": np.array(model.modes.missed_energy),
        "advection": model.advection,
        "diffusion": model.diffusion,
        "states": shot.states,
        "particles": shot.particles,
        "feed_forward": shot.feed_forward,
        "outside": outside,
    }


def unpack_shot(arrays: Mapping[str, NDArray[Any]]) -> FlowShot:
    """The shot of `pack_shot`. Raises FileError for arrays that are missing or do not fit."""
    if missing := {"grid", "dt", "basis", "energies", "missed", "advection", "diffusion"} - arrays.keys():
        raise FileError(f"{', '.join(sorted(missing))} missing; write the flow again")

    def read(name: str, *shape: int | None) -> Array:
        if name not in arrays:
            raise FileError(f"{name} is missing; write the flow again")
        # a number comes back as an array of one from `ascontiguousarray`
        value = checks.require_real_array(arrays[name], name, shape or (1,), error=FileError)
        return value if shape else value[0]

    columns, rows, cell, viscosity = read("grid", 4)
    flow = Flow(int(columns), int(rows), float(cell), float(viscosity))
    basis = read("basis", flow.face_count, None)
    r = basis.shape[1]
    modes = FlowModes(basis, read("energies", r), float(read("missed")))
    model = ReducedFlow(flow, modes, read("advection", r, r, r), read("diffusion", r, r))
    feed_forward = read("feed_forward", None, r)
    frames = len(feed_forward) + 1
    dt = checks.require_safe_magnitude(float(read("dt")), "dt (s)", error=FileError)
    return FlowShot(
        model, dt, read("states", frames, r), read("particles", frames, None, 2), feed_forward, read("outside", frames)
    )
