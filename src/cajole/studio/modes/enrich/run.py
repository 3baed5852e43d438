"""Frames of a simulated shell, recorded while `enrich` runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodyShell
from cajole.direct.enriching import EnrichResult, Regions
from cajole.progress import ProgressCallback
from cajole.studio.modes.payloads import format_percent


class StopRequested(Exception):
    """Raised in a step of `enrich` when the user stops or cancels the run; the mode catches it."""


@dataclass(frozen=True)
class ShellSummary:
    """Report of a run; off: largest distance of a region's mean from its guide, in sizes; cut: stopped early."""

    title: str
    text: str
    off: float
    cut: bool
    report: str
    seconds: float | None = None
    collisions: str | None = None
    intersections: int | None = None

    @staticmethod
    def from_errors(tracking_errors: Array, frames: int, all_frames: int) -> ShellSummary:
        """Summary of `frames` frames with the given tracking errors, of `all_frames` that were requested."""
        off, is_cut = float(tracking_errors.max()), frames < all_frames
        title = f"Stopped after {frames} of {all_frames} frames" if is_cut else "The shell is ready"
        text = "Every region's mean is its guide's, to rounding."
        if off > 1e-6:
            text = f"Regions are off their guide by {format_percent(off)} of the size at most."
        return ShellSummary(title, text, off, is_cut, text)


@dataclass(frozen=True, eq=False)
class ShellRun:
    """Frames of a shell: positions (frames, n, 3) [m]; added_force (frames,) in weights, None if not measured.

    tracking_errors (frames,): largest distance of a region's mean from its guide, in sizes of the shell; summary: None
    while the run is under way; inputs: all that it was made from, None of a saved run that is out of date.
    """

    positions: Array
    tracking_errors: Array
    added_force: Array | None
    summary: ShellSummary | None
    inputs: Any = field(default=None, repr=False)

    @property
    def frames(self) -> int:
        return len(self.positions)

    @staticmethod
    def from_result(result: EnrichResult, all_frames: int, inputs: Any) -> ShellRun:
        frames, report = result.animation.frames, result.report
        summary, met = ShellSummary.from_errors(result.residual, frames, all_frames), report.collisions
        summary = ShellSummary(
            summary.title, summary.text, summary.off, summary.cut, str(report), report.seconds,
            None if met is None else str(met), None if met is None else met.intersections,
        )  # fmt: skip
        return ShellRun(np.asarray(result.animation.positions), result.residual, report.gentleness, summary, inputs)


class FrameRecorder:
    """A load without force that records the shell at each frame; on_frame: called with the frames so far."""

    def __init__(
        self,
        cloth: BodyShell,
        regions: Regions,
        guide: Animation,
        progress: ProgressCallback,
        on_frame: Callable[[ShellRun], None],
        *,
        frames: int,
        substeps: int,
    ):
        self._cloth, self._regions, self._guide, self._progress = cloth, regions, guide, progress
        self._on_frame, self._substeps, self._steps = on_frame, substeps, 0
        self._zero_force = np.zeros((cloth.vertex_count, 3))
        self._positions, self._tracking_errors = np.empty((frames, cloth.vertex_count, 3)), np.zeros(frames)
        self.recorded_frames = 0

    def __call__(self, time: float, positions: Array, velocities: Array) -> Array:
        frame, substep = divmod(self._steps, self._substeps)
        if substep == 0:
            self._positions[frame] = positions
            target = self._guide.frame(min(frame, self._guide.frames - 1))
            distances = self._regions.compute_distances(target, positions)
            self._tracking_errors[frame] = distances.max() / self._cloth.size
            self.recorded_frames = frame + 1
            self._on_frame(self.build_run(None))
        self._steps += 1
        return self._zero_force

    def report_progress(self, fraction: float, text: str) -> None:
        """Report each step; raises StopRequested if the user stops or cancels the run."""
        if self._progress(fraction, text) is False:
            raise StopRequested

    def build_run(self, inputs: Any) -> ShellRun:
        """The frames so far; inputs: of a run that ends with them."""
        count = self.recorded_frames
        errors, summary = self._tracking_errors[:count].copy(), None
        if inputs is not None:
            summary = ShellSummary.from_errors(errors, count, len(self._positions))
        return ShellRun(self._positions[:count], errors, None, summary, inputs)
