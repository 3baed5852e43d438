"""One disturbed run, as a worker gets it and simulates it (§5.2)."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array
from cajole.body import Body, columns_of
from cajole.dynamics import State, simulate
from cajole.errors import NotConverged

# A disturbance under which a step cannot be solved is halved this often.
MOST_HALVINGS = 3


@dataclass(frozen=True, eq=False)
class Task:
    """A run as a worker gets it: where it starts, the force on every step, and the disturbance to add."""

    frame: int
    frames: int
    displacement: Array
    velocity: Array
    forces: Array | None
    push: Array
    push_steps: int
    kick: Array

    def __repr__(self) -> str:
        return f"the run from frame {self.frame}"


@dataclass(frozen=True, eq=False)
class Worker:
    """Simulates runs: what is sent to a worker once."""

    body: Body
    h: float
    substeps: int
    integrator: str
    gravity: ArrayLike | None
    every: int

    def __call__(self, task: Task) -> tuple[float, Array]:
        """The share of the disturbance that could be simulated, and displacements (3n, snapshots)."""
        for halving in range(MOST_HALVINGS):
            with contextlib.suppress(NotConverged):
                return 0.5**halving, self._run(task, 0.5**halving)
        return 0.5**MOST_HALVINGS, self._run(task, 0.5**MOST_HALVINGS)

    def _run(self, task: Task, scale: float) -> Array:
        def force(at: float) -> Array:
            step = round(at / self.h)
            given = task.forces
            load = np.zeros_like(task.push) if given is None else given if given.ndim == 2 else given[step]
            return load + scale * task.push if 1 <= step <= task.push_steps else load

        start = State(task.displacement, task.velocity + scale * task.kick)
        steps = task.frames * self.substeps
        motion = simulate(
            self.body, steps + 1, self.h, force=force, gravity=self.gravity, start=start, integrator=self.integrator
        )
        taken = range(self.every, task.frames + 1, self.every) or [task.frames]
        u = motion.positions[[self.substeps * frame for frame in taken]] - self.body.vertices
        return np.ascontiguousarray(columns_of(u))
