"""A motion of a fluid: its velocities at every frame, and what they carry along."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.flow.forces import Forces

if TYPE_CHECKING:
    from cajole.flow.flow import Flow


@dataclass(frozen=True, eq=False)
class FlowMotion:
    """states: (frames, n) [m/s], each free of divergence; dt [s] between frames; force: what drove it."""

    flow: Flow
    dt: float
    states: Array
    force: Forces = None

    @property
    def frames(self) -> int:
        """How many there are."""
        return len(self.states)

    @property
    def energies(self) -> Array:
        """½ ∫|u|² [J] of every frame."""
        return 0.5 * self.flow.cell**2 * np.einsum("fn,fn->f", self.states, self.states)

    def follow(self, points: ArrayLike) -> Array:
        """The paths (frames, k, 2) [m] of particles that start at points (k, 2) [m].

        Raises InputError for points outside the box.
        """
        path = [self.flow.points(points, "particles")]
        for before, after in pairwise(self.states):
            path.append(self.flow.move(path[-1], before, after, self.dt))
        return np.array(path)

    def smoke(self, start: ArrayLike, every: int = 1) -> NDArray[np.float32]:
        """Smoke (frames, columns, rows) that starts as `start` (columns, rows), at each `every`-th frame."""
        now = checks.real_array(start, "smoke", (self.flow.columns, self.flow.rows))
        every = checks.count(every, "every")
        shown = [now.astype(np.float32)]
        for frame in range(1, self.frames):
            now = self.flow.carry(now, 0.5 * (self.states[frame - 1] + self.states[frame]), self.dt)
            if frame % every == 0:
                shown.append(now.astype(np.float32))
        return np.array(shown)

    def __repr__(self) -> str:
        columns, rows = self.flow.columns, self.flow.rows
        return f"FlowMotion({columns} × {rows} cells, {self.frames} frames, {self.dt:.4g} s apart)"
