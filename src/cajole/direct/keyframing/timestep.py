"""The timestep that suits the keys: each is reached in a quarter of a natural period (eq. (10), Barbič 2009)."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.body import Body
from cajole.reduction.bases import key_tangents


def natural_frequencies(body: Body, poses: Array) -> Array:
    """ω (gaps,) [rad/s] of the tangent that leaves each pose for the next: ω² = TᵀK(q)T / TᵀMT.

    Zero where the pose does not change, or where nothing pulls it back (ω² <= 0).
    """
    tangents = key_tangents(body, poses)[:, ::2]
    out = np.zeros(len(poses) - 1)
    for gap, (pose, T) in enumerate(zip(poses[:-1], tangents.T)):
        mass = T @ (body.mass @ T)
        if mass > 0:
            out[gap] = np.sqrt(max(T @ (body.stiffness(pose) @ T) / mass, 0.0))
    return out


def natural_timestep(frequencies: Array, gaps: Array) -> float:
    """Σ π/(2ω) / Σ frames: the natural time of all gaps over their frames, for ω > 0 and gaps in frames (gaps,).

    The paper prints h = π/(2ω), which is the time to one key, not the step. A mean of the gaps' own steps would let the
    shortest gap set the pace of the whole shot.
    """
    return float((np.pi / (2.0 * frequencies)).sum() / gaps.sum())
