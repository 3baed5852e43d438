"""Landing where it was asked: nonlinear targets met by Levenberg-Marquardt on a Jacobian that learns (Broyden)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array

MAX_EVALUATIONS = 20
# Growth of the damping after a step that did not help, and its fall after one that did.
DAMPING_INCREASE, DAMPING_DECREASE = 8.0, 0.2
# Damping beyond which no step helps: the target cannot be reached.
MAX_DAMPING = 1e6
# Damping that is always there: directions that move nothing stay where they are.
MIN_DAMPING = 1e-10
# A step that leaves more than SLOW of the miss is the last where NEAR times the tolerance is left.
STALL_RATIO, STALL_TOLERANCE_FACTOR = 0.5, 5.0
# Share of the first miss above which a Jacobian is taken anew.
REFRESH_JACOBIAN_ABOVE = 1e-3
# Steps after which this times the miss is left went too far to learn from.
MAX_UPDATE_GROWTH = 2.0
# A step that makes x GROWTH times as large and leaves STUCK of the miss runs away from a target out of reach.
DIVERGENCE_STEP_GROWTH, DIVERGENCE_RESIDUAL_RATIO = 1.2, 0.9


@dataclass
class LeastSquaresResult:
    """x with the smallest |miss(x)| found, its miss, the learned Jacobian, and the largest miss at every look."""

    x: Array
    residual: Array
    jacobian: Array
    residual_history: list[float]


def levenberg_marquardt(
    residual: Callable[[Array], Array],
    x0: Array,
    jacobian: Array,
    tolerance: float,
    scaling: Array,
    compute_jacobian: Callable[[Array], Array] | None = None,
    *,
    regularisation: float = 0.0,
    r0: Array | None = None,
    max_evaluations: int = MAX_EVALUATIONS,
) -> LeastSquaresResult:
    """Lower |miss(x)| below `tolerance` from x with a first Jacobian; never accepts a step that makes it worse.

    here: miss(x) where it is known. miss is infinite where x must not go. Steps are held back by the squares of x and
    of lengths @ x, which are as long as what they move: of `steady` times that length, they must move that much to be
    used. slopes: the Jacobian anew, asked for while what is left is much. most: looks, the first among them. An
    unreachable target ends at a bounded x close to it instead of running away.
    """
    first = residual(x0) if r0 is None else r0
    current = LeastSquaresResult(x0, first, jacobian.copy(), [float(np.abs(first).max())])
    size = float(np.linalg.norm(jacobian, 2))
    regularisation_matrix, damping = regularisation**2 * (scaling.T @ scaling), 0.0
    while (
        size > 0.0
        and np.abs(current.residual).max() > tolerance
        and len(current.residual_history) < max_evaluations
        and damping < MAX_DAMPING
    ):
        J = current.jacobian
        shift = max(damping * 1e-3, MIN_DAMPING) * size**2
        step = -np.asarray(
            np.linalg.solve(J.T @ J + regularisation_matrix + shift * np.eye(len(x0)), J.T @ current.residual),
            dtype=np.float64,
        )
        if not np.isfinite(step).all() or not step.any():
            break
        found = residual(current.x + step)
        if not np.isfinite(found).all():
            damping = max(1.0, damping * DAMPING_INCREASE)
            continue
        current.residual_history.append(float(np.abs(found).max()))
        change = found - current.residual
        if np.linalg.norm(found) < MAX_UPDATE_GROWTH * np.linalg.norm(current.residual):
            along = scaling @ step
            current.jacobian = J + np.outer(change - J @ step, along @ scaling) / (along @ along)
        if np.linalg.norm(found) < np.linalg.norm(current.residual):
            slow, running_away = (
                np.linalg.norm(found) > STALL_RATIO * np.linalg.norm(current.residual),
                _is_diverging(current, step, found),
            )
            current.x, current.residual, damping = current.x + step, found, damping * DAMPING_DECREASE
            if running_away or (slow and current.residual_history[-1] <= STALL_TOLERANCE_FACTOR * tolerance):
                break
            if compute_jacobian is not None and current.residual_history[-1] > max(
                REFRESH_JACOBIAN_ABOVE * current.residual_history[0], tolerance
            ):
                current.jacobian = compute_jacobian(current.x)
        else:
            damping = max(1.0, damping * DAMPING_INCREASE)
    return current


def _is_diverging(current: LeastSquaresResult, step: Array, trial_residual: Array) -> bool:
    size = np.linalg.norm(current.x)
    grown = size > 0.0 and np.linalg.norm(current.x + step) > DIVERGENCE_STEP_GROWTH * size
    return bool(grown and np.linalg.norm(trial_residual) > DIVERGENCE_RESIDUAL_RATIO * np.linalg.norm(current.residual))
