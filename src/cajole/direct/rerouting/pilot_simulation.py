"""The pilot motion as a simulation that can be run again, step by step, with control forces added."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, require_animation
from cajole.arrays import Array
from cajole.body import BodySprings, Capsules
from cajole.dynamics.integrators import StepHistory
from cajole.dynamics.linear_bdf2 import LinearBDF2Stepper
from cajole.dynamics.prescribed_motion import build_bodies_per_frame
from cajole.errors import InputError, SolveError

# [vertices x steps] factors of more steps than this (about 1 GB) are computed again instead of cached.
MAX_CACHED_FACTOR_SIZE = 200_000


class PilotSimulation:
    """Linear BDF2 steps from each frame of a pilot to the next.

    The external force of a step is the force that the pilot's own step needs. For a pilot made by
    simulate(integrator="bdf2") these are the forces that made it; any other motion of the body works as well. Fixed
    vertices move as in the pilot. So without control, the simulation reproduces the pilot.

    rest_lengths: (frames, m) [m] of the step into each frame, for springs that contract. capsules: obstacles of each
    frame.
    """

    def __init__(
        self, body: BodySprings, pilot: Animation, rest_lengths: ArrayLike | None = None,
        capsules: Sequence[Capsules] | None = None,
    ):  # fmt: skip
        checks.require_instance(body, BodySprings, "net")
        motion = require_animation(pilot, "pilot")
        if motion.n != body.vertex_count:
            raise InputError(
                f"the pilot has {motion.n} vertices, but the net has {body.vertex_count}; simulate this net"
            )
        if motion.frames < 2:
            raise InputError("the pilot has one frame only, so there is no motion to change; simulate more frames")
        self.pilot, self.body, self.h, self.frames = motion, body, motion.dt, motion.frames
        self.positions = np.asarray(motion.positions, dtype=np.float64)
        self._bodies = build_bodies_per_frame(body, motion.frames, rest_lengths, capsules)
        # the stepper of the last step that was not cached, with its factors
        self.current_step = LinearBDF2Stepper.from_body(body, self.h)
        self._external_forces: dict[int, Array] = {}
        self._cached_steps: dict[int, LinearBDF2Stepper] = {}
        self._can_cache = False
        # the state at which the factors of each stepper were computed
        self._factored_states: dict[LinearBDF2Stepper, StepHistory] = {}
        self._displacements = self.positions - body.vertices
        self._initial_state = self._compute_initial_state()
        # (frames, n, 3) [m/s] the velocities that BDF2 assigns to the pilot, eq. (3)
        u = np.concatenate([self._initial_state.previous_displacement[None], self._displacements])
        later = (1.5 * u[2:] - 2.0 * u[1:-1] + 0.5 * u[:-2]) / self.h
        self.velocities = np.concatenate([self._initial_state.velocity[None], later])

    def get_state(self, frame: int) -> StepHistory:
        """The pilot's state at `frame`."""
        if frame == 0:
            return self._initial_state
        u, v = self._displacements, self.velocities
        return StepHistory(u[frame], v[frame], np.zeros_like(u[frame]), u[frame - 1], v[frame - 1])

    def compute_external_force(self, frame: int) -> Array:
        """External force (n, 3) [N] of the pilot's step into `frame`."""
        if frame not in self._external_forces:
            self.current_step.body = self._get_body(frame)
            self._external_forces[frame] = self.current_step.compute_required_load(
                self.get_state(frame - 1), self.get_state(frame)
            )
        return self._external_forces[frame]

    def step(
        self, state: StepHistory, frame: int, control: Array | None = None, *, cache_factors: bool = False
    ) -> StepHistory:
        """Step from a state into `frame`, with the pilot's force and the `control` (n, 3) [N].

        cache_factors: keep the factors for `get_factored_step`.
        """
        load = self.compute_external_force(frame) if control is None else self.compute_external_force(frame) + control
        stepper = self.current_step
        if cache_factors and self._can_cache:
            if frame not in self._cached_steps:
                system = stepper.system.copy_symbolic()
                self._cached_steps[frame] = LinearBDF2Stepper(self.body, self.h, system)
            stepper = self._cached_steps[frame]
        self._factored_states[stepper] = state
        stepper.body = self._get_body(frame)
        fixed, fixed_step = self.body.fixed, None
        moved = self.positions[frame, fixed] - self.positions[frame - 1, fixed]
        if moved.any():
            fixed_step = np.zeros((self.body.vertex_count, 3))
            fixed_step[fixed] = moved
        try:
            return stepper.step(state, load, fixed_step)
        except SolveError as reason:
            raise type(reason)(f"frame {frame}: {reason}; use a smaller limit or a longer window") from None

    def get_factored_step(self, frame: int, state: StepHistory) -> LinearBDF2Stepper:
        """The stepper from a state into `frame` with its factors, cached or computed again."""
        stepper = self._cached_steps.get(frame, self.current_step)
        if self._factored_states.get(stepper) is not state or stepper.body is not self._get_body(frame):
            self.step(state, frame, cache_factors=stepper is not self.current_step)
        return stepper

    def reset_factor_cache(self, step_count: int) -> None:
        """Drop cached factors, and cache those of runs of `step_count` steps from now on if they fit in memory."""
        self._can_cache = step_count * self.body.vertex_count <= MAX_CACHED_FACTOR_SIZE
        self._cached_steps.clear()
        self._factored_states.clear()

    def _get_body(self, frame: int) -> BodySprings:
        return self.body if self._bodies is None else self._bodies[frame]

    def _compute_initial_state(self) -> StepHistory:
        """The state at frame 0, with a previous step that agrees with the velocities if the pilot has them."""
        u, after, h, known = self._displacements[0], self._displacements[1], self.h, self.pilot.velocities
        if known is None:
            v = (after - u) / h
            return StepHistory(u, v, np.zeros_like(u), u - h * v, v)
        v = np.asarray(known[0], dtype=np.float64)
        before = 2.0 * h * np.asarray(known[1], dtype=np.float64) - 3.0 * after + 4.0 * u
        a = 2.0 / h**2 * (before - u + h * v)
        return StepHistory(u, v, a, before, v - h * a)
