"""`SteerReport`: the errors and added forces of a controlled run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cajole.arrays import Array
from cajole.body.body_weights import compute_rms


@dataclass(frozen=True)
class SteerReport:
    """Deviation of a run from its reference, and the force that was added.

    final_error, worst_error, mean_error (rms): distances in units of the size of the body, or of the box of a flow;
    gentleness: (frames,) added force in body weights, of a flow as a share of its momentum per step; effort: its mean
    square in the unit of the dial; is_outside_linear_range: True if an error exceeds the range of the gains; notes:
    inconsistencies of motion, body and step, with remedies.
    Of a flow also: max_error_cells, rms_error_cells, final_error_cells: distances of particles in cells;
    final_velocity_error: share of the reference's most energetic frame; lost_particle_frames: {particle: frame} of
    particles that were not brought back, and the first frame at which they were out of range.
    """

    frames: int
    controlled: bool
    final_error: float
    worst_error: float
    mean_error: float
    gentleness: Array
    effort: float
    subdivided_step_count: int
    gain_seconds: float
    step_seconds: float
    is_outside_linear_range: bool = False
    notes: tuple[str, ...] = ()
    is_flow: bool = False
    max_error_cells: float = 0.0
    rms_error_cells: float = 0.0
    final_error_cells: float = 0.0
    final_velocity_error: float = 0.0
    lost_particle_frames: Mapping[int, int] = field(default_factory=dict)

    @property
    def mean_gentleness(self) -> float:
        """Root mean square over the frames."""
        return compute_rms(self.gentleness)

    def __repr__(self) -> str:
        how = "controlled" if self.controlled else "not controlled"
        if self.is_flow:
            return (
                f"SteerReport({how}, {self.max_error_cells:.3g} cells off at worst, {self.final_error_cells:.3g} at "
                f"the end)"
            )
        noted = f", {len(self.notes)} note" if self.notes else ""
        return (
            f"SteerReport({how}, off by {100 * self.mean_error:.3g} % of the size (rms), "
            f"{self.mean_gentleness:.3g} weights (rms){noted})"
        )

    def __str__(self) -> str:
        of_flow = " of a flow" if self.is_flow else ""
        rows = [f"steer: {self.frames} frames{of_flow}, {'controlled' if self.controlled else 'not controlled'}"]
        added, most = self.mean_gentleness, self.gentleness.max()
        if self.is_flow:
            rows.append(
                f"  particles off by {self.rms_error_cells:.3g} cells (rms), {self.max_error_cells:.3g} at worst,"
                f" {self.final_error_cells:.3g} at the end"
            )
            rows.append(f"  velocities off by {100 * self.final_velocity_error:.3g} % at the end")
            rows.append(
                f"  added force: {100 * added:.3g} % of the flow's momentum a step (rms), {100 * most:.3g} % at most"
            )
        else:
            rows.append(
                f"  off by {100 * self.mean_error:.3g} % of the size (rms), {100 * self.worst_error:.3g} % at worst,"
                f" {100 * self.final_error:.3g} % at the end"
            )
            rows.append(f"  added force: {added:.3g} weights (rms), {most:.3g} at most")
        rows.append(f"  gains {self.gain_seconds:.3f} s, a step {1e6 * self.step_seconds:.0f} µs")
        if self.is_flow and self.lost_particle_frames and self.controlled:
            which = ", ".join(f"particle {k} from frame {frame} on" for k, frame in self.lost_particle_frames.items())
            rows.append(
                f"  lost: {which}; it was pushed to where the flow is unlike that around its path: push less, or lower"
                " effort so that it never goes so far"
            )
        if self.is_outside_linear_range and not self.is_flow:
            rows.append("  it went farther astray than the controller's linearisation reaches: look at the motion")
        if self.subdivided_step_count:
            why = "" if self.notes else ": the push went beyond small deviations"
            rows.append(f"  {self.subdivided_step_count} steps were cut into parts to converge{why}")
        return "\n".join(rows + [f"  note: {note}" for note in self.notes])
