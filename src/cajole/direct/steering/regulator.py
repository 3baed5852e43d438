"""The time-varying linear quadratic regulator: over the exact steps of a reference, or the paper's continuous ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array
from cajole.direct.steering import kernels
from cajole.direct.steering.continuous import NOT_FINITE, continuous_gains
from cajole.direct.steering.costs import Costs
from cajole.direct.steering.laps import SETTLED, WATCHED, Laps
from cajole.direct.steering.motion import Reference
from cajole.errors import NotConverged
from cajole.linalg.threads import blas_threads

FORMULATIONS = ("discrete", "continuous")


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
            gains, value = continuous_gains(reference, costs)
            return Regulator(gains, value, kernels.FRAME)
        return _discrete(reference, costs)


def _discrete(reference: Reference, costs: Costs) -> Regulator:
    T, r = reference.steps, reference.model.size
    value, gains = np.zeros((2 * r, 2 * r)), np.empty((T, r, 2 * r))
    known = np.full((T, 2 * r, 2 * r), np.inf) if reference.loop else np.empty((0, 0, 0))
    laps = Laps.of(reference)
    watched = gains[:: max(1, T // WATCHED)]
    watched[:] = 0.0
    for _ in range(laps.most):
        before = watched.copy()
        first = kernels.regulate(
            reference.plan, reference.Gq, reference.Gv, costs.Q, costs.which_q, costs.R, costs.which_r, value, gains,
            known, SETTLED,
        )  # fmt: skip
        if first < 0 or not np.isfinite(value).all():
            raise NotConverged(NOT_FINITE)
        if first > 0:
            value = known[0].copy()
            break
        if laps.settled(before, watched):
            break
    return Regulator(gains, value, kernels.PREDICTOR)
