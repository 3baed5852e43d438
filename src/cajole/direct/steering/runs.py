"""What a controller's run returns: the take, its errors and forces, and a report on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.direct.steering.diagnosis import trouble

if TYPE_CHECKING:
    from cajole.direct.steering.controller import Controller


# Errors in body sizes beyond which the gains, made for small deviations, promise nothing.
ASTRAY = 0.2
# What an undisturbed, controlled body may be off its motion, in body sizes, before something is wrong with the two.
LEAVES = 0.03


@dataclass(frozen=True, eq=False)
class Run:
    """A controlled take: states, velocities (steps + 1, r), feedback (steps, r).

    cuts: steps that had to be cut into parts to converge; step_seconds: CPU time of one step; disturbed: whether any
    force acted.
    """

    controller: Controller
    states: Array
    velocities: Array
    feedback: Array
    controlled: bool
    cuts: int
    step_seconds: float
    disturbed: bool = True

    def __repr__(self) -> str:
        how = "controlled" if self.controlled else "not controlled"
        off, weights = 100 * self.report.mean_error, self.report.mean_gentleness
        return f"Run({how}, {len(self.states)} frames, off by {off:.3g} % of the size (rms), {weights:.3g} weights)"

    @cached_property
    def animation(self) -> Animation:
        """The motion on the body's mesh, at the rate of the motion that was given."""
        model, k = self.controller.model, self.controller.reference.substeps
        positions = model.body.vertices + model.lift(self.states[::k])
        speeds = model.lift_velocity(self.velocities[::k])
        fps = 1.0 / (k * self.controller.reference.dt)
        return Animation(model.body.drawn_mesh(), positions, fps=fps, velocities=speeds)

    @cached_property
    def error(self) -> Array:
        """(frames,) distance to the reference in body sizes."""
        course = self.controller.reference.states
        lap = np.concatenate([[0], 1 + np.arange(len(self.states) - 1) % (len(course) - 1)])
        return np.linalg.norm(self.states - course[lap], axis=1) / self.controller.model.unit_length

    @cached_property
    def gentleness(self) -> Array:
        """(frames,) size of the feedback into each frame, in body weights."""
        return np.concatenate([[0.0], np.linalg.norm(self.feedback, axis=1) / self.controller.model.unit_weight])

    @cached_property
    def effort(self) -> Array:
        """(frames,) |w|² / (m (L ω₁²)²): what the dial `effort` weighs, averaged over frames."""
        return np.concatenate([[0.0], (self.feedback**2).sum(axis=1) / self.controller.model.unit_effort])

    @cached_property
    def report(self) -> SteerReport:
        return SteerReport(
            frames=len(self.states),
            controlled=self.controlled,
            final_error=float(self.error[-1]),
            worst_error=float(self.error.max()),
            mean_error=float(np.sqrt((self.error**2).mean())),
            gentleness=self.gentleness,
            effort=float(self.effort[1:].mean()),
            cuts=self.cuts,
            gain_seconds=self.controller.seconds,
            step_seconds=self.step_seconds,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        """What is wrong when control does not keep the body to its motion for want of any disturbance."""
        if not self.controlled or self.error.max() <= LEAVES:
            return ()
        off = self.controller.leaves if self.disturbed else float(self.error.max())
        if off <= LEAVES:
            return ()
        far = f"leaves its motion by {100 * off:.3g} % of the size" if np.isfinite(off) else "breaks"
        return (f"even undisturbed it {far}: {trouble(self.controller.reference)}",)


@dataclass(frozen=True)
class SteerReport:
    """How closely a run came back, and how gently: errors in body sizes, gentleness in body weights.

    notes: what is wrong between motion, body and step, and what to do; mostly none.
    """

    frames: int
    controlled: bool
    final_error: float
    worst_error: float
    mean_error: float
    gentleness: Array
    effort: float
    cuts: int
    gain_seconds: float
    step_seconds: float
    notes: tuple[str, ...] = ()

    @property
    def mean_gentleness(self) -> float:
        """Root mean square over the frames."""
        return float(np.sqrt((self.gentleness**2).mean()))

    def __repr__(self) -> str:
        how = "controlled" if self.controlled else "not controlled"
        off, weights = 100 * self.mean_error, self.mean_gentleness
        noted = f", {len(self.notes)} note" if self.notes else ""
        return f"SteerReport({how}, off by {off:.3g} % of the size (rms), {weights:.3g} weights (rms){noted})"

    def __str__(self) -> str:
        rows = [f"steer: {self.frames} frames, {'controlled' if self.controlled else 'not controlled'}"]
        rows.append(
            f"  off by {100 * self.mean_error:.3g} % of the size (rms), {100 * self.worst_error:.3g} % at worst,"
            f" {100 * self.final_error:.3g} % at the end"
        )
        rows.append(f"  added force: {self.mean_gentleness:.3g} weights (rms), {self.gentleness.max():.3g} at most")
        rows.append(f"  gains {self.gain_seconds:.3f} s, a step {1e6 * self.step_seconds:.0f} µs")
        if self.worst_error > ASTRAY:
            rows.append("  it went farther astray than the controller's linearisation reaches: look at the motion")
        if self.cuts:
            why = "" if self.notes else ": the push went beyond small deviations"
            rows.append(f"  {self.cuts} steps were cut into parts to converge{why}")
        return "\n".join(rows + [f"  note: {note}" for note in self.notes])
