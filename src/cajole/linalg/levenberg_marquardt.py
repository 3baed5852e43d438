"""Levenberg–Marquardt with Broyden updates, for residuals whose Jacobian is expensive.

Minimise |r(x)|². With the linear model r(x + p) ≈ r + J p, the step minimises

    |r + J p|² + σ |p|² + ρ² |S p|²,    (JᵀJ + σ I + ρ² SᵀS) p = -Jᵀr,    σ = max(1e-3 λ, ε) |J|².

- λ is the damping. It is 0 at first (a Gauss-Newton step), grows after each step that does not decrease |r|, and falls
  after each step that does. ε keeps directions that change no residual where they are.
- ρ is the `regularisation`: a direction must change r by at least ρ times its length |S p| to be used. S is the
  `scaling`, the map from x to quantities that have the unit of r.
- After each evaluation, Broyden's rank-one update makes J agree with the observed change y = r(x + p) - r(x):
  J ← J + (y - J p) (S p)ᵀ S / |S p|², the smallest change of J S⁻¹ in the Frobenius norm.

Steps that increase |r| are never accepted. If the target cannot be reached, the result is a bounded x near it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array


@dataclass(frozen=True)
class LevenbergMarquardtOptions:
    """Limits of `levenberg_marquardt`."""

    # Evaluations of the residual, including the first.
    max_evaluations: int = 20
    # Factors of the damping after a rejected and after an accepted step.
    damping_increase: float = 8.0
    damping_decrease: float = 0.2
    # Damping at which no step helps: the target cannot be reached.
    max_damping: float = 1e6
    # ε: damping that is always present, relative to |J|².
    min_damping: float = 1e-10
    # ρ: weight of |S p|² in the step.
    regularisation: float = 0.0
    # A step that leaves more than stall_ratio of |r| is the last one if the largest residual is within
    # stall_tolerance_factor times the tolerance.
    stall_ratio: float = 0.5
    stall_tolerance_factor: float = 5.0
    # The Jacobian is computed again while the largest residual exceeds this share of the first one.
    refresh_jacobian_above: float = 1e-3
    # A step that increases |r| by this factor is too long to learn from: no Broyden update.
    max_update_growth: float = 2.0
    # Divergence towards an unreachable target: x grows by this factor and more than this share of |r| is left.
    divergence_step_growth: float = 1.2
    divergence_residual_ratio: float = 0.9


@dataclass
class LeastSquaresResult:
    """x with the smallest |r(x)| found, its residual and Jacobian, and max |r_i| of each evaluation."""

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
    r0: Array | None = None,
    options: LevenbergMarquardtOptions | None = None,
) -> LeastSquaresResult:
    """Minimise |r(x)|² from x0 (n,) until max |r_i| <= tolerance; see the module for the step.

    residual: r(x) (m,), infinite where x is not allowed. jacobian: (m, n) at x0, exact or estimated. scaling: S (k, n).
    compute_jacobian: recomputes the Jacobian while the residual is large; None relies on Broyden updates alone.
    r0: r(x0) if it is known.
    """
    limits = options or LevenbergMarquardtOptions()
    first = residual(x0) if r0 is None else r0
    current = LeastSquaresResult(x0, first, jacobian.copy(), [float(np.abs(first).max())])
    size = float(np.linalg.norm(jacobian, 2))
    regularisation_matrix, damping = limits.regularisation**2 * (scaling.T @ scaling), 0.0
    while (
        size > 0.0
        and np.abs(current.residual).max() > tolerance
        and len(current.residual_history) < limits.max_evaluations
        and damping < limits.max_damping
    ):
        J = current.jacobian
        shift = max(damping * 1e-3, limits.min_damping) * size**2
        matrix = J.T @ J + regularisation_matrix + shift * np.eye(len(x0))
        step = -np.asarray(np.linalg.solve(matrix, J.T @ current.residual), dtype=np.float64)
        if not np.isfinite(step).all() or not step.any():
            break
        trial = residual(current.x + step)
        if not np.isfinite(trial).all():
            damping = max(1.0, damping * limits.damping_increase)
            continue
        current.residual_history.append(float(np.abs(trial).max()))
        norm, trial_norm = np.linalg.norm(current.residual), np.linalg.norm(trial)
        if trial_norm < limits.max_update_growth * norm:
            along = scaling @ step
            mismatch = trial - current.residual - J @ step
            current.jacobian = J + np.outer(mismatch, along @ scaling) / (along @ along)
        if trial_norm >= norm:
            damping = max(1.0, damping * limits.damping_increase)
            continue
        length, trial_x = np.linalg.norm(current.x), current.x + step
        is_diverging = (
            0.0 < limits.divergence_step_growth * length < np.linalg.norm(trial_x)
            and trial_norm > limits.divergence_residual_ratio * norm
        )
        is_slow = trial_norm > limits.stall_ratio * norm
        current.x, current.residual, damping = trial_x, trial, damping * limits.damping_decrease
        largest = current.residual_history[-1]
        if is_diverging or (is_slow and largest <= limits.stall_tolerance_factor * tolerance):
            break
        refresh_above = max(limits.refresh_jacobian_above * current.residual_history[0], tolerance)
        if compute_jacobian is not None and largest > refresh_above:
            current.jacobian = compute_jacobian(current.x)
    return current
