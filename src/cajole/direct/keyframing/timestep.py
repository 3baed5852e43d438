"""The timestep that suits the keys: each is reached in a quarter of a natural period (eq. (10), Barbič 2009)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.body import Body
from cajole.reduction.bases import key_tangents

Array = NDArray[np.float64]


def natural_frequencies(body: Body, poses: Array) -> Array:
    """ω [rad/s] of the tangent that leaves each pose for the next: ω² = TᵀK(q)T / TᵀMT."""
    tangents = key_tangents(body, poses)[:, ::2]
    out = []
    for pose, T in zip(poses[:-1], tangents.T):
        mass = T @ (body.mass @ T)
        if mass > 0:
            out.append(np.sqrt(max(T @ (body.stiffness(pose) @ T) / mass, 0.0)))
    return np.array(out)


def natural_timestep(frequencies: Array, gaps: Array) -> float:
    """The mean over gaps of π/(2ω) divided by the number of frames in the gap.

    The paper prints h = π/(2ω), which is the time to the key, not the step.
    """
    used = frequencies > 0
    return float(np.mean(np.pi / (2.0 * frequencies[used]) / gaps[: len(frequencies)][used]))
