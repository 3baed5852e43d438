"""A fluid in its modes, u = U z: eq. (11)-(12) of the 2008 paper, and the exact derivatives of its steps."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.errors import SolveError
from cajole.flow import Flow, FlowMotion
from cajole.progress import Progress, portion
from cajole.reduction import kernels_flow as kernels
from cajole.reduction.flow_basis import FlowModes, Snapshots, flow_modes
from cajole.reduction.flow_shot import FlowShot, shot_of
from cajole.reduction.flow_tensor import advection, diffusion, packed


class FlowStep(NamedTuple):
    """The derivatives of a step of x = (p, z), particles first: x' = state x + control w (m, m) and (m, r)."""

    state: Array
    control: Array


class ReducedFlow:
    """ż = A(z) z + ν D z + w in modes that are free of divergence and orthonormal, so that |z|²/2 is the energy [J].

    basis: (n, r); advection: A (r, r, r), A(z) = Σ z_j A[j], each skew; diffusion: D (r, r); modes: how they were
    found.
    """

    def __init__(self, flow: Flow, modes: FlowModes, advected: Array, diffused: Array):
        self.flow, self.modes, self.basis = flow, modes, modes.basis
        self.advection, self.diffusion = advected, diffused
        self.damping = flow.viscosity * diffused
        self.skew = packed(advected)

    def __repr__(self) -> str:
        return f"ReducedFlow({self.flow.columns} × {self.flow.rows} cells in {self.size} modes)"

    @property
    def size(self) -> int:
        """Number of modes r."""
        return self.basis.shape[1]

    @cached_property
    def single(self) -> NDArray[np.float32]:
        """The basis in single precision, for pictures."""
        return self.basis.astype(np.float32)

    def project(self, velocity: ArrayLike) -> Array:
        """z (r,) of a state (n,) [m/s], or (frames, r) of (frames, n)."""
        return self.flow.cell**2 * (_rows(velocity, "velocity", len(self.basis)) @ self.basis)

    def lift(self, state: ArrayLike) -> Array:
        """The velocities (n,) [m/s] of z (r,), or (frames, n) of (frames, r)."""
        return _rows(state, "state", self.size) @ self.basis.T

    def energy(self, state: ArrayLike) -> float:
        """½ |z|² [J]."""
        z = self._checked(state)
        return float(0.5 * z @ z)

    def rates(self, state: ArrayLike) -> Array:
        """G(z) = A(z) + νD (r, r)."""
        G = np.empty((self.size, self.size))
        kernels.rates(self.skew, self.damping, self._checked(state), G)
        return G

    def bent(self, state: Array) -> Array:
        """What a change of the advecting flow does to `state` (r,): the columns A[j] z (r, r) of eq. (23)."""
        return np.ascontiguousarray((self.advection @ state).T)

    def step(self, state: Array, force: Array, dt: float) -> tuple[Array, Array]:
        """The state (r,) half way through a step under a force (r,), and at its end."""
        try:
            middle = kernels.middle(self.skew, self.damping, state, force, dt, np.empty((self.size, self.size)))
        except ZeroDivisionError:  # a pivot of numbers that overflowed
            raise SolveError("the reduced flow overflows; use a smaller dt, state or force") from None
        return middle, 2.0 * middle - state

    def carried(self, points: Array, state: Array, middle: Array, dt: float) -> Array:
        """Points (k, 2) [m] a step later, eq. (12)."""
        out, flow = points.copy(), self.flow
        kernels.carried(self.basis, flow.columns, flow.rows, flow.cell, state, middle, dt, out)
        return out

    def rollout(self, controls: ArrayLike, dt: float, state: ArrayLike, particles: ArrayLike = ()) -> FlowShot:
        """Simulate under controls (T, r) from a state (r,) with particles (N, 2) [m]."""
        W = checks.real_array(controls, "controls", (None, self.size))
        h = checks.positive(dt, "dt (s)")
        states, points = [self._checked(state)], [self.places(particles)]
        for w in W:
            middle, after = self.step(states[-1], w, h)
            checks.finite_result(after, "the reduced flow")
            points.append(
                checks.finite_result(self.carried(points[-1], states[-1], middle, h), "the motion of the particles")
            )
            states.append(after)
        return FlowShot(self, h, np.array(states), np.array(points), W)

    def places(self, particles: ArrayLike) -> Array:
        """Particles (N, 2) [m], checked; none is fine."""
        return self.flow.points(np.empty((0, 2)) if checks.is_empty(particles) else particles, "particles")

    def linearize(self, state: Array, particles: Array, force: Array, dt: float) -> FlowStep:
        """The exact derivatives of a step from (particles, state) under a force (r,)."""
        r, N, half = self.size, len(particles), 0.5 * dt
        G = np.empty((r, r))
        zm = kernels.middle(self.skew, self.damping, state, force, dt, G)
        turned = half * self.bent(zm)
        predicted = np.eye(r) + half * (self.rates(state) + self.bent(state))
        # M dz_m = dz + h/2 dw + h/2 [A[j] z_m] dz*
        right = np.hstack([np.eye(r) + turned @ predicted, half * (np.eye(r) + turned)])
        dm = np.linalg.solve(np.eye(r) - half * G, right)
        Phi, Gamma = np.zeros((2 * N + r, 2 * N + r)), np.zeros((2 * N + r, r))
        Phi[2 * N :, 2 * N :], Gamma[2 * N :] = 2.0 * dm[:, :r] - np.eye(r), 2.0 * dm[:, r:]
        for k, point in enumerate(particles):
            rows = slice(2 * k, 2 * k + 2)
            by_point, by_state, by_middle = self._particle(point, state, zm, dt)
            Phi[rows, rows] = by_point
            Phi[rows, 2 * N :] = by_state + by_middle @ dm[:, :r]
            Gamma[rows] = by_middle @ dm[:, r:]
        return FlowStep(Phi, Gamma)

    def around(self, point: Array, state: Array) -> tuple[Array, Array]:
        """Ψ (2, r) at a point (2,) [m], and the slopes Y (2, 2) [1/s] of the velocity there: eq. (25)-(26)."""
        flow, psi, at = self.flow, np.empty((2, self.size)), np.empty((2, 3))
        x, y = point / flow.cell
        kernels.modes_at(self.basis, flow.columns, flow.rows, x, y, psi)
        rows, weights = np.empty(8, dtype=np.int64), np.empty((8, 3))
        kernels.velocity(self.basis, flow.columns, flow.rows, x, y, state, rows, weights, at)
        return psi, at[:, 1:] / flow.cell

    def _particle(self, point: Array, z: Array, zm: Array, h: float) -> tuple[Array, Array, Array]:
        """The derivatives of a particle's step by itself (2, 2), by z and by z_m (2, r)."""
        psi, Y = self.around(point, z)
        between, slopes = self.around(point + 0.5 * h * (psi @ z), zm)
        return np.eye(2) + h * slopes @ (np.eye(2) + 0.5 * h * Y), 0.5 * h**2 * slopes @ psi, h * between

    def shot(
        self, motion: FlowMotion, *, particles: ArrayLike = (), reduced: bool = False, feed_forward: str = "given"
    ) -> FlowShot:
        """What `steer` follows: a full motion in these modes, with the paths of particles that start at (N, 2) [m].

        reduced: simulate anew in the modes, from the motion's first frame under its forces, instead of projecting every
        frame. feed_forward, the forces that act in every run: "given", those that drove the motion; "zero"; "inverse",
        those that make the modes follow it exactly.
        Raises InputError for a motion on another grid, or particles outside the box.
        """
        return shot_of(self, motion, self.places(particles), reduced, feed_forward)

    def _checked(self, state: ArrayLike, name: str = "state") -> Array:
        return checks.real_array(state, name, (self.size,))


def reduced_flow(flow: Flow, snapshots: Snapshots, size: int, progress: Progress | None = None) -> ReducedFlow:
    """`reduce` for a fluid."""
    modes = flow_modes(flow, snapshots, size)
    advected = advection(flow, modes.basis, portion(progress, 0.3, 1.0))
    return ReducedFlow(flow, modes, advected, diffusion(flow, modes.basis))


def _rows(value: ArrayLike, name: str, width: int) -> Array:
    """Finite numbers (width,) or (frames, width)."""
    return checks.real_array(value, name, (None, width) if checks.depth(value) == 2 else (width,))
