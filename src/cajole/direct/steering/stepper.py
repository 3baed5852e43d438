"""Steppers: the state of a controlled run of a body or of a flow, advanced one block of steps at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.direct.steering import kernels
from cajole.direct.steering.lqr import FeedbackGains
from cajole.direct.steering.reference import Reference, compute_newmark_coefficients, diagnose_divergence
from cajole.errors import InputError, NotConverged, SolveError
from cajole.linalg import limit_blas_threads
from cajole.reduction import FlowShot, NominalTrajectory
from cajole.reduction import kernels_trajectory as motion_kernels
from cajole.reduction.trajectory import MAX_ITERATIONS, TOLERANCE


class SteppedFrames(NamedTuple):
    """Frames after m steps: states, feedback (m, r); velocities (m, r) of a body, (m, 0) of a flow, whose states are
    velocities already; particles (m, k, 2) [m] of a flow, (m, 0, 2) of a body."""

    states: Array
    velocities: Array
    particles: Array
    feedback: Array


class Stepper(ABC):
    """The state of a controlled run.

    feedback_gains: None for a run without control; step_index: steps since the start of the reference;
    subdivided_step_count: steps that converged only in several parts; smoke: density per cell of a flow, or None.
    """

    feedback_gains: FeedbackGains | None
    step_index: int
    subdivided_step_count: int = 0
    smoke: Array | None = None

    @property
    @abstractmethod
    def frame(self) -> int:
        """The frame of the reference that is tracked."""

    @property
    @abstractmethod
    def state_copy(self) -> Any:
        """(q, v) (r,) each of a body, the mode coordinates (r,) of a flow."""

    @property
    @abstractmethod
    def error(self) -> float:
        """Distance from the tracked frame, see `NominalTrajectory.compute_error`."""

    @property
    @abstractmethod
    def particles(self) -> Array:
        """Positions (k, 2) [m] of all particles, controlled ones first."""

    @abstractmethod
    def first_frame(self) -> SteppedFrames:
        """The present frame, as the frame before the first step."""

    @abstractmethod
    def reset(self) -> None:
        """Return to the start of the reference."""

    @abstractmethod
    def seek(self, frame: int | None) -> int:
        """Track the reference from `frame` on; None: from the frame closest to the present state. Returns the frame."""

    @abstractmethod
    def rollout(self, external: Array) -> SteppedFrames:
        """Advance one step per row of `external` (m, r). Raises NotConverged naming the step."""

    @abstractmethod
    def copy(self) -> Stepper:
        """A stepper in the same state, without smoke; it then advances on its own."""


@singledispatch
def create_stepper(
    reference: NominalTrajectory, gains: FeedbackGains | None = None, passive_particles: ArrayLike = ()
) -> Stepper:
    """The stepper of a body or flow at the start of `reference`; one implementation per kind of reference."""
    raise InputError(f"{type(reference).__name__} has no stepper; register one with create_stepper.register")


class ControlledStepper(Stepper):
    """The state of a body: `state` (5, r) holds P, V, a, q, v; is_disturbed: True after any external force."""

    def __init__(self, reference: Reference, feedback_gains: FeedbackGains | None = None):
        self.reference, self.feedback_gains = reference, feedback_gains
        self._system, r = reference.model.kernel_data, reference.model.size
        self._workspace = motion_kernels.allocate_workspace(self._system)
        self._newmark_coefficients = compute_newmark_coefficients(reference.dt)
        self._derivatives = np.empty((1, r, r)), np.empty((1, r, r))
        self.state = np.zeros((5, r))
        self.reset()

    def reset(self) -> None:
        trajectory, h = self.reference.trajectory, self.reference.dt
        (P, _), (q, v) = trajectory[0, 0], trajectory[1, 0]
        self.state[:2], self.state[3:] = trajectory[0, 0], trajectory[1, 0]
        self.state[2] = 4.0 * (P - q - h * v) / h**2
        self.step_index = self._seek_step = 0
        self.is_disturbed = False

    @property
    def frame(self) -> int:
        return self.step_index % self.reference.step_count

    @property
    def state_copy(self) -> tuple[Array, Array]:
        return self.state[3].copy(), self.state[4].copy()

    @property
    def error(self) -> float:
        at, T = self.step_index, self.reference.step_count
        # a run ends at frame T and goes on from frame 0; so does one that was sent to a frame
        frame = at % T if at in (0, self._seek_step) else 1 + (at - 1) % T
        distance = np.linalg.norm(self.state[3] - self.reference.states[frame])
        return float(distance) / self.reference.model.unit_length

    @property
    def particles(self) -> Array:
        return np.empty((0, 2))

    def first_frame(self) -> SteppedFrames:
        q, v = self.state[3:].copy()
        return SteppedFrames(q[None], v[None], np.empty((1, 0, 2)), np.empty((0, len(q))))

    def seek(self, frame: int | None) -> int:
        reference = self.reference
        if frame is None:
            off = reference.trajectory[1, :-1] - self.state[3:]
            off[:, 1] /= reference.model.first_angular_frequency
            frame = int(np.argmin((off**2).sum(axis=(1, 2))))
        # never step 0, at which a run has no previous acceleration
        self.step_index = self._seek_step = reference.step_count + frame
        return frame

    def copy(self) -> ControlledStepper:
        other = ControlledStepper(self.reference, self.feedback_gains)
        other.state[:], other.step_index, other._seek_step = self.state, self.step_index, self._seek_step
        other.is_disturbed = self.is_disturbed
        return other

    def rollout(self, external: Array) -> SteppedFrames:
        """As `Stepper.rollout`; a step that fails is repeated in parts, and if all fail the state stays before it."""
        self.is_disturbed = self.is_disturbed or bool(external.any())
        out = np.empty((len(external), 3, external.shape[1]))
        done = 0
        while True:
            done += self._run_kernel(external[done:], out[done:])
            if done == len(external):
                return SteppedFrames(out[:, 0], out[:, 1], np.empty((done, 0, 2)), out[:, 2])
            self._subdivide_step(external[done], out[done])
            done += 1

    def _run_kernel(self, external: Array, out: Array) -> int:
        reference, regulator = self.reference, self.feedback_gains
        done = kernels.rollout_with_feedback(
            self._system,
            self._newmark_coefficients,
            reference.trajectory,
            reference.accelerations,
            reference.feed_forward,
            kernels.NO_GAINS if regulator is None else regulator.gains,
            kernels.PREDICTOR_STATE if regulator is None else regulator.state_kind,
            self.state,
            self.step_index,
            external,
            TOLERANCE,
            MAX_ITERATIONS,
            self._workspace,
            *self._derivatives,
            out,
        )
        self.step_index += done
        return int(done)

    def _subdivide_step(self, external: Array, out: Array) -> None:
        """One step in several parts under the same forces."""
        reference, h, r = self.reference, self.reference.dt, len(external)
        n = self.step_index % reference.step_count
        feedback, regulator = np.zeros(r), self.feedback_gains
        if regulator is not None:
            at = self.state[:2] if regulator.state_kind == kernels.PREDICTOR_STATE else self.state[3:5]
            kernels.add_feedback(regulator.gains[n], at, reference.trajectory[regulator.state_kind, n], feedback)
        out[2] = feedback
        w = feedback + reference.feed_forward[n] + external
        subdivisions = (2, 4, 8, 16, 32)
        for parts in subdivisions:
            now, short = self.state.copy(), h / parts
            now[0], now[1] = _compute_predictor(now, short)
            pieces, still = np.empty((parts, 3, r)), np.zeros((parts, r))
            done = kernels.rollout_with_feedback(
                self._system,
                compute_newmark_coefficients(short),
                reference.trajectory,
                still,
                np.tile(w, (parts, 1)),
                kernels.NO_GAINS,
                kernels.PREDICTOR_STATE,
                now,
                1,
                still,
                TOLERANCE,
                MAX_ITERATIONS,
                self._workspace,
                *self._derivatives,
                pieces,
            )
            if done == parts and np.isfinite(now).all():
                now[0], now[1] = _compute_predictor(now, h)
                self.state[:] = now
                out[:2] = now[3:]
                self.step_index += 1
                self.subdivided_step_count += 1
                return
        what = f"step {self.step_index + 1} does not converge, even in {subdivisions[-1]} parts"
        if self.is_disturbed:
            raise NotConverged(f"{what}: the push is too strong for this model; push less, or add modes and damping")
        raise NotConverged(f"{what}, though nothing disturbs it: {diagnose_divergence(reference)}")


def _compute_predictor(state: Array, h: float) -> tuple[Array, Array]:
    """The predictor state of a step of h [s] from the frame q, v with acceleration a."""
    a, q, v = state[2], state[3], state[4]
    return q + h * v + 0.25 * h**2 * a, v + 0.5 * h * a


class FlowStepper(Stepper):
    """The state of a flow: mode coordinates, and particles, of which the first N are controlled and the rest passive.

    After the last step the motion begins anew, and the smoke stays.
    """

    def __init__(
        self, reference: FlowShot, feedback_gains: FeedbackGains | None = None, passive_particles: ArrayLike = ()
    ):
        self.reference, self.feedback_gains = reference, feedback_gains
        self._passive_particles = reference.model.check_particles(passive_particles)
        self.reset()

    def reset(self) -> None:
        shot = self.reference
        self._particles, self._z = np.vstack([shot.particles[0], self._passive_particles]), shot.states[0].copy()
        self.step_index = 0

    @property
    def frame(self) -> int:
        return self.step_index

    @property
    def state_copy(self) -> Array:
        return np.array(self._z)

    @property
    def error(self) -> float:
        controlled = self._particles[None, : self.reference.particles.shape[1]]
        return float(self.reference.compute_error(self._z[None], controlled, np.array([self.step_index]))[0])

    @property
    def particles(self) -> Array:
        return self._particles.copy()

    def first_frame(self) -> SteppedFrames:
        z = self._z.copy()[None]
        return SteppedFrames(z, z[:, :0], self._particles.copy()[None], z[:0])

    def seek(self, frame: int | None) -> int:
        if frame is None:
            frame = int(np.argmin(((self.reference.states[:-1] - self._z) ** 2).sum(axis=1)))
        self.step_index = frame
        return frame

    def copy(self) -> FlowStepper:
        other = FlowStepper(self.reference, self.feedback_gains, self._passive_particles)
        other._particles, other._z, other.step_index = self._particles.copy(), self._z.copy(), self.step_index
        return other

    def rollout(self, external: Array) -> SteppedFrames:
        """As `Stepper.rollout`; after numbers that overflow the flow stands at its start."""
        T = self.reference.step_count
        if self.step_index == T:
            self.reset()
        if self.step_index + len(external) > T:
            raise InputError(f"the motion of a flow has {T} steps and does not repeat; leave loops out")
        try:
            return self._run_kernel(external)
        except SolveError as error:
            self.reset()
            raise NotConverged(str(error)) from None

    def _run_kernel(self, external: Array) -> SteppedFrames:
        shot, model, flow = self.reference, self.reference.model, self.reference.model.flow
        states, feedback = np.empty_like(external), np.empty_like(external)
        particles = np.empty((len(external), *self._particles.shape))
        before = None if self.smoke is None else self._z.copy()
        try:
            done = kernels.rollout_flow_with_feedback(
                model.packed_advection,
                model.viscous_damping,
                model.basis,
                (flow.columns, flow.rows),
                flow.cell_size,
                shot.dt,
                kernels.NO_GAINS if self.feedback_gains is None else self.feedback_gains.gains,
                shot.particles,
                shot.states,
                shot.feed_forward,
                external,
                self.step_index,
                self._particles,
                self._z,
                states,
                particles,
                feedback,
            )
        except ZeroDivisionError:  # a pivot of numbers that overflowed
            done = 0
        if done < len(external):
            step = self.step_index + done + 1
            raise NotConverged(f"step {step} overflows: the gust is too strong; blow less, or lower dt")
        if self.smoke is not None and before is not None:
            for after in states:
                with limit_blas_threads():
                    midpoint = (model.basis_float32 @ (0.5 * (before + after)).astype(np.float32)).astype(np.float64)
                self.smoke, before = flow.advect_smoke(self.smoke, midpoint, shot.dt), after
        self.step_index += done
        return SteppedFrames(states, states[:, :0], particles, feedback)


@create_stepper.register(Reference)
def _create_body_stepper(
    reference: Reference, gains: FeedbackGains | None = None, passive_particles: ArrayLike = ()
) -> Stepper:
    if not checks.is_empty(passive_particles):
        raise InputError("passive_particles are carried by a flow; leave them out for a body")
    return ControlledStepper(reference, gains)


@create_stepper.register(FlowShot)
def _create_flow_stepper(
    shot: FlowShot, gains: FeedbackGains | None = None, passive_particles: ArrayLike = ()
) -> Stepper:
    return FlowStepper(shot, gains, passive_particles)
