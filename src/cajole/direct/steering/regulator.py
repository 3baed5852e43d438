"""The time-varying linear quadratic regulator: over the exact steps of a reference, or the paper's continuous ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cajole.direct.steering import kernels
from cajole.direct.steering.continuous import NO_GAINS, continuous_gains
from cajole.direct.steering.costs import Costs
from cajole.direct.steering.motion import Reference
from cajole.errors import NotConverged
from cajole.linalg.threads import blas_threads

Array = NDArray[np.float64]

FORMULATIONS = ("discrete", "continuous")
# The value of a loop has settled when a lap repeats it to this; laps that gains of a loop may need, and steps: the
# shorter a lap is beside the time it takes to come back, the more of them.
SETTLED, MOST_LAPS, MOST_STEPS = 1e-10, 50, 20_000
# On stiff models rounding stops it earlier: at changes below this that a lap no longer lowers.
FLOOR = 1e-5


@dataclass(frozen=True, eq=False)
class Regulator:
    """gains (T, r, 2r): feedback w = K dx of each step; value (2r, 2r): ½ dxᵀ value dx is the cost to go at the start.

    kind: what dx is, the deviation of the predictor state or of the frame; see `kernels`.
    """

    gains: Array
    value: Array
    kind: int


def regulator(reference: Reference, costs: Costs, formulation: str = "discrete") -> Regulator:
    """The optimal gains; of a loop the periodic ones, as if it went on for ever."""
    with blas_threads():
        if formulation == "continuous":
            gains, value = continuous_gains(reference, costs, laps=_laps(reference), settled=SETTLED)
            return Regulator(gains, value, kernels.FRAME)
        return _discrete(reference, costs)


def _laps(reference: Reference) -> int:
    return max(MOST_LAPS, MOST_STEPS // reference.steps) if reference.loop else 1


def _discrete(reference: Reference, costs: Costs) -> Regulator:
    T, r = reference.steps, reference.model.size
    value, gains = np.zeros((2 * r, 2 * r)), np.empty((T, r, 2 * r))
    laps = np.full((T, 2 * r, 2 * r), np.inf) if reference.loop else np.empty((0, 0, 0))
    change = np.inf
    for _ in range(_laps(reference)):
        before, last = np.diag(value).copy(), change
        first = kernels.regulate(
            reference.plan, reference.Gq, reference.Gv, costs.Q, costs.which_q, costs.R, costs.which_r, value, gains,
            laps, SETTLED,
        )  # fmt: skip
        if first < 0 or not np.isfinite(value).all():
            raise NotConverged(NO_GAINS)
        if first > 0:
            value = laps[0].copy()
            break
        change = np.abs(np.diag(value) - before).max() / np.diag(value).max()
        if last <= change < FLOOR:
            break
    return Regulator(gains, value, kernels.PREDICTOR)
