"""Trajectory of the region averages of a guide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from cajole.animation import Animation
from cajole.arrays import Array


class CatmullRomTrajectory:
    """Averages of the vertices of a guide over time, smooth between its frames.

    weights (m, n̄) @ positions of every frame, interpolated by cubics with the mean slope of the two neighbours at each
    frame (Catmull and Rom 1974): velocities are continuous, a guide at rest stays at rest, and a frame influences only
    times up to two frames away. Piecewise linear motion would require a jump of velocity at every frame.
    Slopes use all frames of the guide: its first `frames` frames are the same motion as the whole. After its last
    frame the guide stops.
    """

    def __init__(self, animation: Animation, weights: sp.csr_array, frames: int):
        self.dt = animation.dt
        # the slope at a frame depends on the next one
        there = min(frames + 1, animation.frames)
        y = np.stack([weights @ np.asarray(animation.positions[frame], dtype=np.float64) for frame in range(there)])
        self.values: Array = y
        self.frame_slopes: Array = np.gradient(y, axis=0) if there > 1 else np.zeros_like(y)

    def evaluate(self, time: float) -> Array:
        """Averages (m, 3) at a time [s] after the first frame."""
        at = min(max(time / self.dt, 0.0), len(self.values) - 1.0)
        # steps end on frames up to rounding
        if abs(at - round(at)) < 1e-9:
            return np.array(self.values[round(at)])
        k, s = int(at), at - int(at)
        p, q, a, b = self.values[k], self.values[k + 1], self.frame_slopes[k], self.frame_slopes[k + 1]
        # changes are added to p, so that rounding does not move a guide at rest
        return np.asarray(p + (q - p) * (s * s * (3 - 2 * s)) + a * (s * (1 - s) ** 2) - b * (s * s * (1 - s)))

    def compute_frame_velocity(self, frame: int) -> Array:
        """Time derivative (m, 3) at a frame, per second."""
        return np.asarray(self.frame_slopes[frame] / self.dt)


def extract_guide(animation: Animation) -> Animation:
    """Extract the motion of the surface of an animation, without skin and unused vertices."""
    surface = animation.mesh.surface
    if surface is animation.mesh and surface.used_vertex_mask.all():
        return animation if animation.skin is None else replace(animation, skin=None)
    return Animation(
        surface.compacted()[0], np.asarray(animation.positions)[:, surface.used_vertex_mask], animation.fps,
        start_frame=animation.start_frame, name=animation.name,
    )  # fmt: skip
