"""The dials of a fluid's regulator as weights: λ_p of particles, λ_Q of velocities, in units of box and motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.errors import InputError
from cajole.reduction import FlowShot

# What an error of the velocities costs beside one of the particles: enough to keep the flow alive, not to bind it.
CURRENTS = 1e-3


@dataclass(frozen=True, eq=False)
class FlowDials:
    """What the controller is asked for; dimensionless, see `steer`. particles: one weight each, or None for 1."""

    tracking: float = 1.0
    final: float = 0.0
    effort: float = 1e-2
    currents: float = CURRENTS
    frames: Mapping[int, float] | None = None
    particles: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class FlowCosts:
    """Weights of (Δp, Δz) at the end of every step, diagonal: Q (T, 2N+r); final (2N+r,), once; R: of |w|²."""

    Q: Array
    final: Array
    R: float


def size_of(shot: FlowShot) -> float:
    """The unit of lengths [m]: the diagonal of the box."""
    return float(np.hypot(*shot.model.flow.size))


def flow_costs(shot: FlowShot, dials: FlowDials) -> FlowCosts:
    """The weights of `shot`'s steps. Raises InputError for negative weights and effort that is not positive."""
    tracking, final, currents = (
        checks.positive(getattr(dials, name), name, zero=True) for name in ("tracking", "final", "currents")
    )
    effort = checks.positive(dials.effort, "effort")
    if shot.speed == 0:
        raise InputError("the motion stands still, so that no speed measures its errors; steer one that moves")
    each = _each(shot, currents, dials.particles)
    if not tracking * each.sum() + final * each.sum() > 0:
        raise InputError("tracking and final are both zero: there is nothing to come back to; raise one of them")
    emphasis = np.full(shot.steps, tracking)
    if not isinstance(dials.frames, Mapping | None):
        raise InputError(f"frames must say which count more, {{frame: factor}}, not {checks.shown(dials.frames)}")
    for frame, factor in (dials.frames or {}).items():
        at = checks.count(frame, "a frame of frames", most=shot.steps)
        emphasis[at - 1] *= checks.positive(factor, f"the factor of frame {at}", zero=True)
    L, U, mass = size_of(shot), shot.speed, shot.model.flow.mass
    return FlowCosts(emphasis[:, None] / shot.steps * each, final * each, effort / shot.steps * L**2 / (mass * U**4))


def _each(shot: FlowShot, currents: float, particles: ArrayLike | None) -> Array:
    """What one unit of tracking weighs in each coordinate (2N+r,): the particles share it; without any, velocities."""
    N, r = shot.particles.shape[1], shot.model.size
    weights = np.ones(N) if particles is None else checks.real_array(particles, "particles (weights)", (N,))
    if (weights < 0).any() or (N and not weights.any()):
        raise InputError("particles: weights must not be negative, and one must be positive")
    moving = 1.0 / (shot.model.flow.mass * shot.speed**2)
    if N == 0:
        return np.full(r, moving)
    shares = weights / weights.sum() / size_of(shot) ** 2
    return np.concatenate([np.repeat(shares, 2), np.full(r, currents * moving)])
