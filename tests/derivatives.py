"""The one derivative check that every differentiable thing must pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Steps over which the truncation error of a central difference stands well above rounding.
STEPS = np.logspace(-1.4, -3.2, 7)
# A central difference is exact for quadratic functions; then only rounding is left.
ROUNDING = 3e-10
# The smallest step must come this close even while the error still falls.
CLOSE = 1e-4


def central_errors(function: Callable[[Array], ArrayLike], slope: ArrayLike, at: Array, direction: Array) -> Array:
    """Relative error of [f(x + εd) - f(x - εd)]/2ε against `slope` = f'(x) d, for each ε in STEPS."""
    exact = np.asarray(slope, dtype=float)
    size = max(float(np.linalg.norm(exact)), np.finfo(float).tiny)
    errors = []
    for step in STEPS:
        ahead, behind = np.asarray(function(at + step * direction)), np.asarray(function(at - step * direction))
        errors.append(np.linalg.norm((ahead - behind) / (2 * step) - exact) / size)
    return np.array(errors)


def regressed_order(sizes: Array, errors: Array) -> float:
    """The p of error ~ size^p, by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def check_derivative(function: Callable[[Array], ArrayLike], slope: ArrayLike, at: Array, direction: Array) -> None:
    """Fail unless the central difference meets `slope` with an error of second order, or to rounding throughout."""
    assert np.linalg.norm(np.asarray(slope)) > 0, "a slope of zero would prove nothing"
    errors = central_errors(function, slope, at, direction)
    if errors.max() <= ROUNDING:
        return
    order = regressed_order(STEPS, errors)
    assert 1.8 < order < 2.2, f"the difference converges with order {order:.2f}, not 2; errors {errors}"
    assert errors[-1] < CLOSE, f"the difference stays {errors[-1]:.1e} away"
