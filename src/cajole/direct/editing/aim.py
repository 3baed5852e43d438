"""Landing where it was asked: nonlinear targets met by Levenberg-Marquardt on a Jacobian that learns (Broyden)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_PASSES = 40
# Growth of the damping after a step that did not help, and its fall after one that did.
HARDER, EASIER = 8.0, 0.2
# Damping beyond which no step helps: the target cannot be reached.
HOPELESS = 1e6


@dataclass
class Aim:
    """x with the smallest |miss(x)| found, its miss, the learned Jacobian, and how often miss was evaluated."""

    x: Array
    miss: Array
    jacobian: Array
    passes: int


def aim(miss: Callable[[Array], Array], x: Array, jacobian: Array, tolerance: float) -> Aim:
    """Lower |miss(x)| below `tolerance` from x with a first Jacobian; never accepts a step that makes it worse.

    An unreachable target ends at a bounded x close to it instead of running away.
    """
    now = Aim(x, miss(x), jacobian.copy(), 1)
    size = float(np.linalg.norm(jacobian, 2))
    damping = 0.0
    while np.abs(now.miss).max() > tolerance and now.passes < MOST_PASSES and damping < HOPELESS:
        J = now.jacobian
        shift = damping * 1e-3 * size**2
        step = -np.linalg.lstsq(J.T @ J + shift * np.eye(len(x)), J.T @ now.miss, rcond=1e-12)[0]
        if not np.isfinite(step).all() or not step.any():
            break
        found = miss(now.x + step)
        now.passes += 1
        change = found - now.miss
        now.jacobian = J + np.outer(change - J @ step, step) / (step @ step)
        if np.linalg.norm(found) < np.linalg.norm(now.miss):
            now.x, now.miss, damping = now.x + step, found, damping * EASIER
        else:
            damping = max(1.0, damping * HARDER)
    return now
