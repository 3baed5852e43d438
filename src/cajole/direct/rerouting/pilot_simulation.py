"""The pilot as a run that can be run again: every step of it under the force that it shows, and more."""

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

# [vertices x steps] factors of more steps than this (about 1 GB) are made again instead of kept
MAX_CACHED_FACTOR_SIZE = 200_000


class PilotSimulation:
    """Linear BDF2 steps between the frames of a pilot, one a frame.

    The outside force of each step is what the step needs to lead from one frame of the pilot to the next: of a pilot
    made by simulate(integrator="bdf2") these are the forces that made it, and any other motion of the body is taken as
    it is. Fixed vertices move as they do in the pilot. So the second run without control is the pilot.

    rest_lengths: (frames, m) [m] those of each step into a frame, where springs contract; capsules: what is in the way
    in each of them.
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
        self._current_step = LinearBDF2Stepper.from_body(body, self.h)
        self._external_forces: dict[int, Array] = {}
        self._cached_steps: dict[int, LinearBDF2Stepper] = {}
        self._can_cache = False
        # the state that the factors of each were made at
        self._factored_states: dict[LinearBDF2Stepper, StepHistory] = {}
        self._displacements = self.positions - body.vertices
        self._initial_state = self._compute_initial_state()
        self.velocities = self._compute_velocities()

    def get_state(self, frame: int) -> StepHistory:
        """The pilot's state at `frame`."""
        if frame == 0:
            return self._initial_state
        u, v = self._displacements, self.velocities
        return StepHistory(u[frame], v[frame], np.zeros_like(u[frame]), u[frame - 1], v[frame - 1])

    def compute_external_force(self, frame: int) -> Array:
        """The outside force (n, 3) [N] in the pilot's step into `frame`."""
        if frame not in self._external_forces:
            steps = self._set_step_body(frame, self._current_step)
            self._external_forces[frame] = steps.compute_required_load(self.get_state(frame - 1), self.get_state(frame))
        return self._external_forces[frame]

    def step(
        self, state: StepHistory, frame: int, control: Array | None = None, *, cache_factors: bool = False
    ) -> StepHistory:
        """From `past` into `frame`, with the pilot's forces and the `control` (n, 3) [N] added.

        keep: hold on to the factors, for `taken`.
        """
        load = self.compute_external_force(frame) if control is None else self.compute_external_force(frame) + control
        steps = self._select_step(frame, cache_factors)
        self._factored_states[steps] = state
        try:
            return self._set_step_body(frame, steps).step(state, load, self._compute_fixed_displacement(frame))
        except SolveError as reason:
            raise type(reason)(f"frame {frame}: {reason}; use a smaller limit or a longer window") from None

    def get_factored_step(self, frame: int, state: StepHistory) -> LinearBDF2Stepper:
        """The step from `past` into `frame` with its factors: kept ones, or made anew."""
        steps = self._cached_steps.get(frame, self._current_step)
        if self._factored_states.get(steps) is not state or steps.body is not self._get_body(frame):
            self.step(state, frame, cache_factors=steps is not self._current_step)
        return steps

    @property
    def current_step(self) -> LinearBDF2Stepper:
        """The last step that was not kept, with its factors."""
        return self._current_step

    def reset_factor_cache(self, step_count: int) -> None:
        """Forget kept factors, before runs of `steps` steps; where those would take too much, none will be kept."""
        self._can_cache = step_count * self.body.vertex_count <= MAX_CACHED_FACTOR_SIZE
        self._cached_steps.clear()
        self._factored_states.clear()

    def _select_step(self, frame: int, cache_factors: bool) -> LinearBDF2Stepper:
        if not cache_factors or not self._can_cache:
            return self._current_step
        if frame not in self._cached_steps:
            self._cached_steps[frame] = LinearBDF2Stepper(self.body, self.h, self._current_step.system.copy_symbolic())
        return self._cached_steps[frame]

    def _set_step_body(self, frame: int, step: LinearBDF2Stepper) -> LinearBDF2Stepper:
        step.body = self._get_body(frame)
        return step

    def _get_body(self, frame: int) -> BodySprings:
        return self.body if self._bodies is None else self._bodies[frame]

    def _compute_fixed_displacement(self, frame: int) -> Array | None:
        fixed = self.body.fixed
        step = self.positions[frame, fixed] - self.positions[frame - 1, fixed]
        if not step.any():
            return None
        moved = np.zeros((self.body.vertex_count, 3))
        moved[fixed] = step
        return moved

    def _compute_velocities(self) -> Array:
        """(frames, n, 3) [m/s] the velocities that BDF2 gives to the pilot, eq. (3)."""
        u = np.concatenate([self._initial_state.previous_displacement[None], self._displacements])
        later = (1.5 * u[2:] - 2.0 * u[1:-1] + 0.5 * u[:-2]) / self.h
        return np.concatenate([self._initial_state.velocity[None], later])

    def _compute_initial_state(self) -> StepHistory:
        """The state at frame 0 with a step before it that agrees with the velocities, where the pilot has them."""
        u, after, h, known = self._displacements[0], self._displacements[1], self.h, self.pilot.velocities
        if known is None:
            v = (after - u) / h
            return StepHistory(u, v, np.zeros_like(u), u - h * v, v)
        v = np.asarray(known[0], dtype=np.float64)
        before = 2.0 * h * np.asarray(known[1], dtype=np.float64) - 3.0 * after + 4.0 * u
        a = 2.0 / h**2 * (before - u + h * v)
        return StepHistory(u, v, a, before, v - h * a)
