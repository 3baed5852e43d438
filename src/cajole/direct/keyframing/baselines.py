"""Baselines for comparison with `keyframe`: a spline through the keys, and simulations under PD control along it.

The spline knows no physics. The PD controller does, but does not look ahead and must be tuned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicHermiteSpline

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body, BodySolid
from cajole.direct.keyframing.keys import Key, check_keys
from cajole.errors import NotConverged
from cajole.mesh.tet import compute_signed_volumes
from cajole.reduction import ReducedSolid
from cajole.reduction.trajectory import build_newmark_coefficients, compute_predictor, rollout_pd


def interpolate_keys(body: Body, keys: Mapping[int, Key | ArrayLike], frames: int | None = None) -> Array:
    """Catmull-Rom through the keys (frames, n, 3) [m]: p'ᵢ = (pᵢ₊₁ - pᵢ₋₁) / (tᵢ₊₁ - tᵢ₋₁), one-sided at the ends.

    Starts at rest unless there is a key at frame 0, and stays at the last key. Raises InputError as `keyframe` does.
    """
    checked, count = check_keys(body, keys, frames)
    poses = {0: np.zeros((body.vertex_count, 3))}
    poses |= {frame: np.asarray(key.displacement) for frame, key in checked.items()}
    return np.tensordot(compute_spline_weights(list(poses), count), np.stack(list(poses.values())), axes=1)


def compute_spline_weights(key_frames: Sequence[int], count: int) -> Array:
    """Weights (count, k) of k poses at increasing key frames in each frame of the Catmull-Rom spline."""
    t, p = np.array(key_frames, dtype=np.float64), np.eye(len(key_frames))
    if len(t) == 1:
        return np.ones((count, 1))
    slopes = np.empty_like(p)
    slopes[0], slopes[-1] = (p[1] - p[0]) / (t[1] - t[0]), (p[-1] - p[-2]) / (t[-1] - t[-2])
    slopes[1:-1] = (p[2:] - p[:-2]) / (t[2:] - t[:-2])[:, None]
    return np.asarray(CubicHermiteSpline(t, p, slopes)(np.minimum(np.arange(count), t[-1])), dtype=np.float64)


def compute_volume_ratios(body: BodySolid, displacements: ArrayLike) -> Array:
    """Volume of each frame relative to the rest volume (frames,), for displacements (frames, n, 3) [m]."""
    checks.require_instance(body, BodySolid, "body")
    moved = checks.require_real_array(displacements, "displacements", (None, body.vertex_count, 3))
    totals = [compute_signed_volumes(body.vertices + u, body.mesh.tets).sum() for u in moved]
    return np.array(totals) / body.mesh.volume


@dataclass(frozen=True, eq=False)
class PDBaseline:
    """A simulation under PD control: gain in units of the first frequency, states and controls (T, r)."""

    gain: float
    states: Array
    controls: Array


def simulate_pd_baselines(
    model: ReducedSolid,
    target_displacements: ArrayLike,
    dt: float,
    *,
    gains: Sequence[float] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
) -> tuple[PDBaseline, ...]:
    """Simulate w = kp (target - z) - kd ż for each gain, kp = (gain ω₁)², critically damped; one simulation each.

    target_displacements: (frames, n, 3) [m], such as a spline; the motion begins at its frame 0, at rest.
    Gains with which a step does not converge are left out. Raises NotConverged when none is left.
    """
    h = checks.require_positive(dt, "dt (s)")
    target = model.project(
        checks.require_real_array(target_displacements, "target_displacements", (None, model.body.vertex_count, 3))
    )
    start = compute_predictor(model.kernel_data, target[0], np.zeros(model.size), h)
    coefficients = build_newmark_coefficients(np.full(len(target), h))
    baselines = []
    for gain in gains:
        frequency = checks.require_positive(gain, "gains") * model.first_angular_frequency
        motion = rollout_pd(model.kernel_data, coefficients, start, np.ascontiguousarray(target[1:]), frequency)
        if motion is not None:
            baselines.append(PDBaseline(gain, motion.coordinates, motion.controls))
    if not baselines:
        raise NotConverged("no gain could be simulated with this timestep; use a smaller dt, or smaller gains")
    return tuple(baselines)
