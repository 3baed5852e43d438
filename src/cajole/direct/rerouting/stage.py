"""The pilot as a run that can be run again: every step of it under the force that it shows, and more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, animation_of
from cajole.arrays import Array
from cajole.body import BodySprings, Capsules
from cajole.dynamics.driven import bodies_in_time
from cajole.dynamics.integrators import Past
from cajole.dynamics.linearised import LinearStep
from cajole.errors import InputError, SolveError

# [vertices x steps] factors of more steps than this (about 1 GB) are made again instead of kept
KEPT = 200_000


class Stage:
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
        motion = animation_of(pilot, "pilot")
        if motion.n != body.count:
            raise InputError(f"the pilot has {motion.n} vertices, but the net has {body.count}; simulate this net")
        if motion.frames < 2:
            raise InputError("the pilot has one frame only, so there is no motion to change; simulate more frames")
        self.pilot, self.body, self.h, self.frames = motion, body, motion.dt, motion.frames
        self.positions = np.asarray(motion.positions, dtype=np.float64)
        self._bodies = bodies_in_time(body, motion.frames, rest_lengths, capsules)
        self._steps = LinearStep.of(body, self.h)
        self._loads: dict[int, Array] = {}
        self._kept: dict[int, LinearStep] = {}
        self._room = False
        # the state that the factors of each were made at
        self._factored: dict[LinearStep, Past] = {}
        self._u = self.positions - body.vertices
        self._begin = self._first()
        self.velocities = self._speeds()

    def past(self, frame: int) -> Past:
        """The pilot's state at `frame`."""
        if frame == 0:
            return self._begin
        u, v = self._u, self.velocities
        return Past(u[frame], v[frame], np.zeros_like(u[frame]), u[frame - 1], v[frame - 1])

    def load(self, frame: int) -> Array:
        """The outside force (n, 3) [N] in the pilot's step into `frame`."""
        if frame not in self._loads:
            steps = self._at(frame, self._steps)
            self._loads[frame] = steps.load_between(self.past(frame - 1), self.past(frame))
        return self._loads[frame]

    def step(self, past: Past, frame: int, control: Array | None = None, *, keep: bool = False) -> Past:
        """From `past` into `frame`, with the pilot's forces and the `control` (n, 3) [N] added.

        keep: hold on to the factors, for `taken`.
        """
        load = self.load(frame) if control is None else self.load(frame) + control
        steps = self._holder(frame, keep)
        self._factored[steps] = past
        try:
            return self._at(frame, steps).take(past, load, self._moved(frame))
        except SolveError as reason:
            raise type(reason)(f"frame {frame}: {reason}; use a smaller limit or a longer window") from None

    def taken(self, frame: int, past: Past) -> LinearStep:
        """The step from `past` into `frame` with its factors: kept ones, or made anew."""
        steps = self._kept.get(frame, self._steps)
        if self._factored.get(steps) is not past or steps.body is not self._body(frame):
            self.step(past, frame, keep=steps is not self._steps)
        return steps

    @property
    def present(self) -> LinearStep:
        """The last step that was not kept, with its factors."""
        return self._steps

    def make_room(self, steps: int) -> None:
        """Forget kept factors, before runs of `steps` steps; where those would take too much, none will be kept."""
        self._room = steps * self.body.count <= KEPT
        self._kept.clear()
        self._factored.clear()

    def _holder(self, frame: int, keep: bool) -> LinearStep:
        if not keep or not self._room:
            return self._steps
        if frame not in self._kept:
            self._kept[frame] = LinearStep(self.body, self.h, self._steps.system.twin())
        return self._kept[frame]

    def _at(self, frame: int, steps: LinearStep) -> LinearStep:
        steps.body = self._body(frame)
        return steps

    def _body(self, frame: int) -> BodySprings:
        return self.body if self._bodies is None else self._bodies[frame]

    def _moved(self, frame: int) -> Array | None:
        fixed = self.body.fixed
        step = self.positions[frame, fixed] - self.positions[frame - 1, fixed]
        if not step.any():
            return None
        moved = np.zeros((self.body.count, 3))
        moved[fixed] = step
        return moved

    def _speeds(self) -> Array:
        """(frames, n, 3) [m/s] the velocities that BDF2 gives to the pilot, eq. (3)."""
        u = np.concatenate([self._begin.u_before[None], self._u])
        later = (1.5 * u[2:] - 2.0 * u[1:-1] + 0.5 * u[:-2]) / self.h
        return np.concatenate([self._begin.v[None], later])

    def _first(self) -> Past:
        """The state at frame 0 with a step before it that agrees with the velocities, where the pilot has them."""
        u, after, h, known = self._u[0], self._u[1], self.h, self.pilot.velocities
        if known is None:
            v = (after - u) / h
            return Past(u, v, np.zeros_like(u), u - h * v, v)
        v = np.asarray(known[0], dtype=np.float64)
        before = 2.0 * h * np.asarray(known[1], dtype=np.float64) - 3.0 * after + 4.0 * u
        a = 2.0 / h**2 * (before - u + h * v)
        return Past(u, v, a, before, v - h * a)
