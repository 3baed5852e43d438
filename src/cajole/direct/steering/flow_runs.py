"""What a run of a controlled fluid returns: states, particles, their errors, and a report on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array
from cajole.direct.steering.flow_costs import size_of
from cajole.flow import FlowMotion

if TYPE_CHECKING:
    from cajole.direct.steering.flow import FlowController


# A particle this far from its path, in box sizes, is where the velocities around its path say nothing of its own.
LOST = 0.04


@dataclass(frozen=True, eq=False)
class FlowRun:
    """A take: states (T+1, r), particles (T+1, N, 2) [m], feedback (T, r); step_seconds: CPU time of one step."""

    controller: FlowController
    states: Array
    particles: Array
    feedback: Array
    controlled: bool
    step_seconds: float

    def __repr__(self) -> str:
        how = "controlled" if self.controlled else "not controlled"
        return f"FlowRun({how}, {len(self.states)} frames, {self.report.worst_cells:.3g} cells off at worst)"

    @cached_property
    def distances(self) -> Array:
        """(T+1, N) from each particle to where it should be [m]."""
        return np.linalg.norm(self.particles - self.controller.reference.particles, axis=2)

    @cached_property
    def cells(self) -> Array:
        """(T+1, N) the same in cells."""
        return self.distances / self.controller.model.flow.cell

    @cached_property
    def error(self) -> Array:
        """(T+1,) distance to the reference, the root mean square over particles in box sizes; without any, of the
        velocities in units of the reference's fastest."""
        shot = self.controller.reference
        if not self.particles.shape[1]:
            return (
                self.currents * np.linalg.norm(shot.states, axis=1).max() / (np.sqrt(shot.model.flow.mass) * shot.speed)
            )
        return np.sqrt((self.distances**2).mean(axis=1)) / size_of(shot)

    @cached_property
    def currents(self) -> Array:
        """(T+1,) how far the velocities are off, as a share of the reference's at its most energetic frame."""
        states = self.controller.reference.states
        return np.linalg.norm(self.states - states, axis=1) / np.linalg.norm(states, axis=1).max()

    @cached_property
    def effort(self) -> Array:
        """(T+1,) |w|² / (m (U²/L)²): what the dial `effort` weighs, averaged over frames."""
        shot = self.controller.reference
        unit = shot.model.flow.mass * (shot.speed**2 / size_of(shot)) ** 2
        return np.concatenate([[0.0], (self.feedback**2).sum(axis=1) / unit])

    @cached_property
    def gentleness(self) -> Array:
        """(T+1,) the feedback's push in each step as a share of the momentum of the reference's fullest frame."""
        shot = self.controller.reference
        push = shot.dt * np.linalg.norm(self.feedback, axis=1)
        return np.concatenate([[0.0], push / np.linalg.norm(shot.states, axis=1).max()])

    @property
    def lost(self) -> tuple[int, ...]:
        """The particles that end too far from their paths to be brought back."""
        limit = LOST * size_of(self.controller.reference)
        return tuple(np.flatnonzero(self.distances[-1] > limit).tolist())

    def follow(self, points: ArrayLike) -> Array:
        """The paths (T+1, k, 2) [m] of particles that nobody steers, from points (k, 2) [m] on."""
        model, dt = self.controller.model, self.controller.reference.dt
        path = [model.places(points)]
        for before, after in pairwise(self.states):
            path.append(model.carried(path[-1], before, 0.5 * (before + after), dt))
        return np.array(path)

    @cached_property
    def motion(self) -> FlowMotion:
        """The velocities of every frame on the grid, which carry smoke: `run.motion.smoke(start)`."""
        model = self.controller.model
        return FlowMotion(model.flow, self.controller.reference.dt, model.lift(self.states))

    @cached_property
    def report(self) -> FlowReport:
        cells = self.cells if self.cells.size else np.zeros((len(self.states), 1))
        return FlowReport(
            frames=len(self.states),
            controlled=self.controlled,
            worst_cells=float(cells.max()),
            mean_cells=float(np.sqrt((cells**2).mean())),
            final_cells=float(cells[-1].max()),
            currents=float(self.currents[-1]),
            gentleness=self.gentleness,
            effort=float(self.effort[1:].mean()),
            lost={k: self._lost_at(k) for k in self.lost},
            gain_seconds=self.controller.seconds,
            step_seconds=self.step_seconds,
        )

    def _lost_at(self, k: int) -> int:
        """The frame from which on particle k is too far off."""
        near = self.distances[:, k] <= LOST * size_of(self.controller.reference)
        return int(np.flatnonzero(near)[-1]) + 1


@dataclass(frozen=True)
class FlowReport:
    """How closely the particles kept to their paths, in cells, and how gently.

    currents: how far the velocities are off at the end, as a share of the reference's most energetic frame; gentleness:
    push of every step as a share of its momentum; lost: {particle: frame} of those that were not brought back.
    """

    frames: int
    controlled: bool
    worst_cells: float
    mean_cells: float
    final_cells: float
    currents: float
    gentleness: Array
    effort: float
    lost: dict[int, int]
    gain_seconds: float
    step_seconds: float

    @property
    def mean_gentleness(self) -> float:
        """Root mean square over the frames."""
        return float(np.sqrt((self.gentleness**2).mean()))

    def __repr__(self) -> str:
        how = "controlled" if self.controlled else "not controlled"
        return f"FlowReport({how}, {self.worst_cells:.3g} cells off at worst, {self.final_cells:.3g} at the end)"

    def __str__(self) -> str:
        rows = [f"steer: {self.frames} frames of a flow, {'controlled' if self.controlled else 'not controlled'}"]
        rows.append(
            f"  particles off by {self.mean_cells:.3g} cells (rms), {self.worst_cells:.3g} at worst,"
            f" {self.final_cells:.3g} at the end"
        )
        rows.append(f"  velocities off by {100 * self.currents:.3g} % at the end")
        rows.append(
            f"  added force: {100 * self.mean_gentleness:.3g} % of the flow's momentum a step (rms),"
            f" {100 * self.gentleness.max():.3g} % at most"
        )
        rows.append(f"  gains {self.gain_seconds:.3f} s, a step {1e6 * self.step_seconds:.0f} µs")
        return "\n".join(rows + ([self._lost()] if self.lost and self.controlled else []))

    def _lost(self) -> str:
        which = ", ".join(f"particle {k} from frame {frame} on" for k, frame in self.lost.items())
        return (
            f"  lost: {which}; it was pushed to where the flow is unlike that around its path: push less, or lower"
            " effort so that it never goes so far"
        )
