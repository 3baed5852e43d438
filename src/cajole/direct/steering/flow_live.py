"""A steered flow in live use: kicked, stepped and looked at, for as long as one likes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.direct.steering.flow import FlowController
from cajole.direct.steering.flow_costs import size_of
from cajole.direct.steering.flow_runs import LOST
from cajole.direct.steering.living import Acting, Living
from cajole.errors import InputError, NotConverged, SolveError
from cajole.flow import Gust
from cajole.linalg import blas_threads
from cajole.locking import synchronized
from cajole.reduction.flow_forces import FlowDisturbance, reduced_forces, reduced_gust


class FlowLive(Living[FlowController]):
    """A fluid under control in real time. `step` goes on one step; after the last one the motion begins anew.

    controlled: whether feedback acts; it may be changed at any time. Companions are carried along, not steered.
    Several threads may use it: steps, kicks and looks take turns, and `step(count)` is one turn.
    """

    def __init__(self, controller: FlowController, *, controlled: bool = True, companions: ArrayLike = ()):
        super().__init__(controller, controlled)
        self._companions = controller.model.places(companions)
        self._smoke: Array | None = None
        self._begin()

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
        return self._points[: self._steered].copy()

    @property
    @synchronized
    def companions(self) -> Array:
        """Where those that nobody steers are (k, 2) [m]."""
        return self._points[self._steered :].copy()

    @property
    @synchronized
    def cells(self) -> Array:
        """(N,) how far each steered particle is from its path, in cells."""
        off = self.particles - self._controller.reference.particles[self._frame]
        return np.linalg.norm(off, axis=1) / self._controller.model.flow.cell

    @property
    @synchronized
    def astray(self) -> tuple[int, ...]:
        """The particles that are farther off than the gains promise to bring back."""
        shot = self._controller.reference
        return tuple(np.flatnonzero(self.cells * shot.model.flow.cell > LOST * size_of(shot)).tolist())

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
    def fill(self, smoke: ArrayLike | None) -> None:
        """Put smoke (columns, rows) into the cells, which the flow then carries; None takes it away."""
        flow = self._controller.model.flow
        self._smoke = None if smoke is None else checks.real_array(smoke, "smoke", (flow.columns, flow.rows)).copy()

    @synchronized
    def kick(self, position: ArrayLike, acceleration: ArrayLike, radius: float, duration: float = 0.0) -> None:
        """Blow with acceleration (2,) [m/s²] at position (2,) [m] from the next step on for `duration` [s], at least a
        step. Kicks add up."""
        force = self._gust(position, acceleration, radius, duration)
        self._acting.append(Acting(force, checks.step_count(duration, self._controller.reference.dt, least=1)))

    @synchronized
    def hold(self, position: ArrayLike | None, acceleration: ArrayLike = (0.0, 0.0), radius: float = 1.0) -> None:
        """Blow there from the next step on until told otherwise; None lets go.

        It acts beside the kicks, and changes with every call, as a hand does.
        """
        self._held = None if position is None else self._gust(position, acceleration, radius, 0.0)

    @synchronized
    def blow(self, *winds: FlowDisturbance) -> None:
        """Let noise (or other disturbances) act from now on; none ends them."""
        if not all(isinstance(wind, FlowDisturbance) for wind in winds):
            raise InputError("blow takes GustNoise objects, or others that offer `reduced`")
        reduced_forces(self._controller.model, list(winds), self._controller.reference.dt, 0, 1)
        self._winds, self._ahead = winds, self._ahead[:0]

    @synchronized
    def step(self, count: int = 1) -> None:
        """Go on `count` steps, at most 1,000,000 a call.

        Raises NotConverged when it is kicked so hard that numbers overflow; it then stands at the start again.
        """
        for _ in range(checks.repetitions(count, "count (of steps)")):
            self._take_over()
            if self._frame == self._controller.reference.steps:
                self._begin()
            before = self._z.copy()
            try:
                out = self._controller.drive(self._gathered(), self._frame, self._points, self._z, self.controlled)
                self._carry(0.5 * (before + self._z))
            except SolveError as reason:
                self.restart()
                raise NotConverged(str(reason)) from None
            self._feedback = out[2][0]
            self._frame += 1
            self._steps += 1

    @synchronized
    def restart(self) -> None:
        """Stand at the start of the reference again; kicks are over, time goes on, smoke stays where it is."""
        self._begin()
        self._end_forces()

    @synchronized
    def twin(self, *, controlled: bool) -> FlowLive:
        """Another live flow where this one is now, under the same kicks and winds, without smoke."""
        made = FlowLive(self._controller, controlled=controlled, companions=self._companions)
        made._points, made._z, made._frame = self._points.copy(), self._z.copy(), self._frame
        self._share(made)
        return made

    def _gust(self, position: ArrayLike, acceleration: ArrayLike, radius: float, duration: float) -> Array:
        """The reduced force (r,) of a gust, its numbers checked."""
        x, y = checks.real_array(position, "the position of a kick (m)", (2,)).tolist()
        ax, ay = checks.real_array(acceleration, "the acceleration of a kick (m/s²)", (2,)).tolist()
        return reduced_gust(self._controller.model, Gust((x, y), (ax, ay), radius, duration=duration))

    def _off(self) -> str:
        return f"{self.cells.max(initial=0.0):.3g} cells off"

    def _blowing(self, steps: int) -> Array:
        return reduced_forces(
            self._controller.model, list(self._winds), self._controller.reference.dt, self._steps, steps
        )

    def _begin(self) -> None:
        shot = self._controller.reference
        self._steered = shot.particles.shape[1]
        self._points, self._z = np.vstack([shot.particles[0], self._companions]), shot.states[0].copy()
        self._feedback, self._frame = np.zeros(self._controller.model.size), 0

    def _carry(self, middle: Array) -> None:
        """Take the smoke along with the flow half way through the step."""
        if self._smoke is None:
            return
        model = self._controller.model
        with blas_threads():
            velocities = (model.single @ middle.astype(np.float32)).astype(np.float64)
        self._smoke = model.flow.carry(self._smoke, velocities, self._controller.reference.dt)
