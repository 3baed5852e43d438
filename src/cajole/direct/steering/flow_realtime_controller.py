"""A steered flow in live use: kicked, stepped and looked at, for as long as one likes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.direct.steering.cost import compute_box_size
from cajole.direct.steering.flow_controller import LINEAR_RANGE, FlowController
from cajole.direct.steering.realtime import ActiveForce, RealtimeControllerBase
from cajole.errors import InputError, NotConverged, SolveError
from cajole.flow import Gust
from cajole.linalg import limit_blas_threads
from cajole.locking import synchronized
from cajole.reduction.reduced_flow import FlowDisturbance, project_forces, project_gust


class FlowRealtimeController(RealtimeControllerBase[FlowController]):
    """A fluid under control in real time. `step` goes on one step; after the last one the motion begins anew.

    controlled: whether feedback acts; it may be changed at any time. Companions are carried along, not steered.
    Several threads may use it: steps, kicks and looks take turns, and `step(count)` is one turn.
    """

    def __init__(self, controller: FlowController, *, controlled: bool = True, passive_particles: ArrayLike = ()):
        super().__init__(controller, controlled)
        self._initial_passive_particles = controller.model.check_particles(passive_particles)
        self._smoke: Array | None = None
        self._reset_state()

    @property
    def frame(self) -> int:
        """The frame of the reference that it stands at."""
        return self._frame

    @property
    @synchronized
    def state(self) -> Array:
        """The flow in modes (r,)."""
        return self._z.copy()

    @property
    @synchronized
    def particles(self) -> Array:
        """Where the steered particles are (N, 2) [m]."""
        return self._particles[: self._controlled_count].copy()

    @property
    @synchronized
    def passive_particles(self) -> Array:
        """Where those that nobody steers are (k, 2) [m]."""
        return self._particles[self._controlled_count :].copy()

    @property
    @synchronized
    def distances_in_cells(self) -> Array:
        """(N,) how far each steered particle is from its path, in cells."""
        off = self.particles - self._controller.reference.particles[self._frame]
        return np.linalg.norm(off, axis=1) / self._controller.model.flow.cell_size

    @property
    @synchronized
    def particles_outside_linear_range(self) -> tuple[int, ...]:
        """The particles that are farther off than the gains promise to bring back."""
        shot = self._controller.reference
        return tuple(
            np.flatnonzero(
                self.distances_in_cells * shot.model.flow.cell_size > LINEAR_RANGE * compute_box_size(shot)
            ).tolist()
        )

    @property
    @synchronized
    def gentleness(self) -> float:
        """The push of the last step's feedback as a share of the momentum of the reference's fullest frame."""
        shot = self._controller.reference
        return float(shot.dt * np.linalg.norm(self._feedback) / np.linalg.norm(shot.states, axis=1).max())

    @property
    @synchronized
    def smoke(self) -> Array | None:
        """How much there is in every cell (columns, rows), None before `fill`."""
        return None if self._smoke is None else self._smoke.copy()

    @synchronized
    def set_smoke(self, smoke: ArrayLike | None) -> None:
        """Put smoke (columns, rows) into the cells, which the flow then carries; None takes it away."""
        flow = self._controller.model.flow
        self._smoke = (
            None if smoke is None else checks.require_real_array(smoke, "smoke", (flow.columns, flow.rows)).copy()
        )

    @synchronized
    def push(self, position: ArrayLike, acceleration: ArrayLike, radius: float, duration: float = 0.0) -> None:
        """Blow with acceleration (2,) [m/s²] at position (2,) [m] from the next step on for `duration` [s], at least a
        step. Kicks add up."""
        force = self._reduce_gust(position, acceleration, radius, duration)
        self._active_forces.append(
            ActiveForce(force, checks.count_steps(duration, self._controller.reference.dt, minimum=1))
        )

    @synchronized
    def set_sustained_force(
        self, position: ArrayLike | None, acceleration: ArrayLike = (0.0, 0.0), radius: float = 1.0
    ) -> None:
        """Blow there from the next step on until told otherwise; None lets go.

        It acts beside the kicks, and changes with every call, as a hand does.
        """
        self._sustained_force = None if position is None else self._reduce_gust(position, acceleration, radius, 0.0)

    @synchronized
    def set_disturbances(self, *disturbances: FlowDisturbance) -> None:
        """Let noise (or other disturbances) act from now on; none ends them."""
        if not all(isinstance(wind, FlowDisturbance) for wind in disturbances):
            raise InputError("set_disturbances takes GustNoise objects, or others with `compute_reduced_force`")
        project_forces(self._controller.model, list(disturbances), self._controller.reference.dt, 0, 1)
        self._disturbances, self._disturbance_block = disturbances, self._disturbance_block[:0]

    @synchronized
    def step(self, count: int = 1) -> None:
        """Go on `count` steps, at most 1,000,000 a call.

        Raises NotConverged when it is kicked so hard that numbers overflow; it then stands at the start again.
        """
        for _ in range(checks.repetitions(count, "count (of steps)")):
            self._apply_pending_retune()
            if self._frame == self._controller.reference.step_count:
                self._reset_state()
            before = self._z.copy()
            try:
                out = self._controller.rollout(
                    self._sum_external_forces(), self._frame, self._particles, self._z, self.controlled
                )
                self._advect_smoke(0.5 * (before + self._z))
            except SolveError as reason:
                self.restart()
                raise NotConverged(str(reason)) from None
            self._feedback = out[2][0]
            self._frame += 1
            self._step_count += 1

    @synchronized
    def restart(self) -> None:
        """Stand at the start of the reference again; kicks are over, time goes on, smoke stays where it is."""
        self._reset_state()
        self._clear_forces()

    @synchronized
    def copy(self, *, controlled: bool) -> FlowRealtimeController:
        """Another live flow where this one is now, under the same kicks and winds, without smoke."""
        made = FlowRealtimeController(
            self._controller, controlled=controlled, passive_particles=self._initial_passive_particles
        )
        made._particles, made._z, made._frame = self._particles.copy(), self._z.copy(), self._frame
        self._copy_forces_to(made)
        return made

    def _reduce_gust(self, position: ArrayLike, acceleration: ArrayLike, radius: float, duration: float) -> Array:
        """The reduced force (r,) of a gust, its numbers checked."""
        x, y = checks.require_real_array(position, "the position of a kick (m)", (2,)).tolist()
        ax, ay = checks.require_real_array(acceleration, "the acceleration of a kick (m/s²)", (2,)).tolist()
        return project_gust(self._controller.model, Gust((x, y), (ax, ay), radius, duration=duration))

    def _describe_error(self) -> str:
        return f"{self.distances_in_cells.max(initial=0.0):.3g} cells off"

    def _compute_disturbance_forces(self, steps: int) -> Array:
        return project_forces(
            self._controller.model, list(self._disturbances), self._controller.reference.dt, self._step_count, steps
        )

    def _reset_state(self) -> None:
        shot = self._controller.reference
        self._controlled_count = shot.particles.shape[1]
        self._particles, self._z = (
            np.vstack([shot.particles[0], self._initial_passive_particles]),
            shot.states[0].copy(),
        )
        self._feedback, self._frame = np.zeros(self._controller.model.size), 0

    def _advect_smoke(self, midpoint_state: Array) -> None:
        """Take the smoke along with the flow half way through the step."""
        if self._smoke is None:
            return
        model = self._controller.model
        with limit_blas_threads():
            velocities = (model.basis_float32 @ midpoint_state.astype(np.float32)).astype(np.float64)
        self._smoke = model.flow.advect_smoke(self._smoke, velocities, self._controller.reference.dt)
