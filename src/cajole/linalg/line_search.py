"""Backtracking line search: the one used by statics, implicit steps, keyframe, enrich and reroute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Trial = TypeVar("Trial")

# c₁ of the Armijo condition: the share of the decrease predicted by the slope that a step must achieve.
ARMIJO_CONSTANT = 1e-4


@dataclass(frozen=True)
class LineSearchResult(Generic[Trial]):
    """The accepted trial and its step length; if accepted is False, the last trial."""

    trial: Trial
    length: float
    accepted: bool


def backtrack(
    evaluate: Callable[[float], Trial | None],
    accept: Callable[[Trial, float], bool],
    *,
    max_trials: int,
    initial_length: float = 1.0,
) -> LineSearchResult[Trial] | None:
    """Return the first acceptable trial among the lengths t, t/2, t/4, … from t = initial_length.

    evaluate: the iterate x + t p at length t, in any form; None if it cannot be computed, which shortens the step.
    accept: True if a trial at a length is good enough, such as `satisfies_armijo`. max_trials: lengths that are tried.
    Returns None if no trial could be computed.
    """
    length, result = initial_length, None
    for _ in range(max_trials):
        trial = evaluate(length)
        if trial is not None:
            result = LineSearchResult(trial, length, accept(trial, length))
            if result.accepted:
                return result
        length *= 0.5
    return result


def satisfies_armijo(value: float, initial_value: float, slope: float, length: float) -> bool:
    """Sufficient decrease: φ(t) <= φ(0) + c₁ t φ'(0), with slope = φ'(0) and t = length."""
    return value <= initial_value + ARMIJO_CONSTANT * length * slope
