"""Where a guide wants the regions' means to be, at any time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from cajole.animation import Animation
from cajole.arrays import Array


class CatmullRomTrajectory:
    """Averages of a guide's vertices over time, smooth between its frames.

    rows (m, n̄) @ positions at every frame, joined by cubics with the mean slope of the two neighbours at each frame
    (Catmull and Rom 1974): velocities are continuous, a guide that stands is still, and a frame counts only for the
    times up to two frames away. Linear pieces would ask the shell for a jump of velocity at every frame.
    Slopes are those of the guide's own frames, whether or not they are asked for: the first `frames` of it are the same
    motion as the whole. Beyond its last frame the guide stands, at once.
    """

    def __init__(self, animation: Animation, weights: sp.csr_array, frames: int):
        self.dt = animation.dt
        # the slope at a frame knows the next one
        there = min(frames + 1, animation.frames)
        y = np.stack([weights @ np.asarray(animation.positions[frame], dtype=np.float64) for frame in range(there)])
        self.values: Array = y
        self.frame_slopes: Array = np.gradient(y, axis=0) if there > 1 else np.zeros_like(y)

    def evaluate(self, time: float) -> Array:
        """(m, 3) at a time [s] from the first frame on."""
        k, s = self._locate_interval(time)
        if s == 0.0:
            return self.values[k].copy()
        p, q, a, b = self.values[k], self.values[k + 1], self.frame_slopes[k], self.frame_slopes[k + 1]
        # the cubic as p plus its changes: what stands still is not moved by rounding
        return np.asarray(p + (q - p) * (s * s * (3 - 2 * s)) + a * (s * (1 - s) ** 2) - b * (s * s * (1 - s)))

    def compute_frame_velocity(self, frame: int) -> Array:
        """(m, 3) the time derivative at a frame, per second."""
        return np.asarray(self.frame_slopes[frame] / self.dt)

    def _locate_interval(self, time: float) -> tuple[int, float]:
        """The frame before `time` and the share of the way to the next."""
        at = min(max(time / self.dt, 0.0), len(self.values) - 1.0)
        near = round(at)
        # steps end on frames only up to rounding
        if abs(at - near) < 1e-9:
            return near, 0.0
        return int(at), at - int(at)


def extract_guide(animation: Animation) -> Animation:
    """The motion of the animation's surface, without its skin and without vertices that belong to no triangle."""
    surface = animation.mesh.surface
    if surface is animation.mesh and surface.used_vertex_mask.all():
        return animation if animation.skin is None else replace(animation, skin=None)
    return Animation(
        surface.compacted()[0], np.asarray(animation.positions)[:, surface.used_vertex_mask], animation.fps,
        start_frame=animation.start_frame, name=animation.name,
    )  # fmt: skip
