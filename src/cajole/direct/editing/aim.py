"""Landing where it was asked: nonlinear targets met by Levenberg-Marquardt on a Jacobian that learns (Broyden)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array

MOST_LOOKS = 20
# Growth of the damping after a step that did not help, and its fall after one that did.
HARDER, EASIER = 8.0, 0.2
# Damping beyond which no step helps: the target cannot be reached.
HOPELESS = 1e6
# Damping that is always there: directions that move nothing stay where they are.
LEAST = 1e-10
# A step that leaves more than SLOW of the miss is the last where NEAR times the tolerance is left.
SLOW, NEAR = 0.5, 5.0
# Share of the first miss above which a Jacobian is taken anew.
MUCH = 1e-3
# Steps after which this times the miss is left went too far to learn from.
MISLED = 2.0
# A step that makes x GROWTH times as large and leaves STUCK of the miss runs away from a target out of reach.
GROWTH, STUCK = 1.2, 0.9


@dataclass
class Aim:
    """x with the smallest |miss(x)| found, its miss, the learned Jacobian, and the largest miss at every look."""

    x: Array
    miss: Array
    jacobian: Array
    looks: list[float]


def aim(
    miss: Callable[[Array], Array],
    x: Array,
    jacobian: Array,
    tolerance: float,
    lengths: Array,
    slopes: Callable[[Array], Array] | None = None,
    *,
    steady: float = 0.0,
    here: Array | None = None,
    most: int = MOST_LOOKS,
) -> Aim:
    """Lower |miss(x)| below `tolerance` from x with a first Jacobian; never accepts a step that makes it worse.

    here: miss(x) where it is known. miss is infinite where x must not go. Steps are held back by the squares of x and
    of lengths @ x, which are as long as what they move: of `steady` times that length, they must move that much to be
    used. slopes: the Jacobian anew, asked for while what is left is much. most: looks, the first among them. An
    unreachable target ends at a bounded x close to it instead of running away.
    """
    first = miss(x) if here is None else here
    now = Aim(x, first, jacobian.copy(), [float(np.abs(first).max())])
    size = float(np.linalg.norm(jacobian, 2))
    even, damping = steady**2 * (lengths.T @ lengths), 0.0
    while size > 0.0 and np.abs(now.miss).max() > tolerance and len(now.looks) < most and damping < HOPELESS:
        J = now.jacobian
        shift = max(damping * 1e-3, LEAST) * size**2
        step = -np.asarray(np.linalg.solve(J.T @ J + even + shift * np.eye(len(x)), J.T @ now.miss), dtype=np.float64)
        if not np.isfinite(step).all() or not step.any():
            break
        found = miss(now.x + step)
        if not np.isfinite(found).all():
            damping = max(1.0, damping * HARDER)
            continue
        now.looks.append(float(np.abs(found).max()))
        change = found - now.miss
        if np.linalg.norm(found) < MISLED * np.linalg.norm(now.miss):
            along = lengths @ step
            now.jacobian = J + np.outer(change - J @ step, along @ lengths) / (along @ along)
        if np.linalg.norm(found) < np.linalg.norm(now.miss):
            slow, running_away = (
                np.linalg.norm(found) > SLOW * np.linalg.norm(now.miss),
                _running_away(now, step, found),
            )
            now.x, now.miss, damping = now.x + step, found, damping * EASIER
            if running_away or (slow and now.looks[-1] <= NEAR * tolerance):
                break
            if slopes is not None and now.looks[-1] > max(MUCH * now.looks[0], tolerance):
                now.jacobian = slopes(now.x)
        else:
            damping = max(1.0, damping * HARDER)
    return now


def _running_away(now: Aim, step: Array, found: Array) -> bool:
    size = np.linalg.norm(now.x)
    grown = size > 0.0 and np.linalg.norm(now.x + step) > GROWTH * size
    return bool(grown and np.linalg.norm(found) > STUCK * np.linalg.norm(now.miss))
