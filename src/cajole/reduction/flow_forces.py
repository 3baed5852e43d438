"""Forces on a fluid in its modes, and the one that makes a given step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.flow import FlowForce, Gust, force_of

if TYPE_CHECKING:
    from cajole.reduction.flow import ReducedFlow


@runtime_checkable
class FlowDisturbance(Protocol):
    """A force that knows itself in modes: w (steps, r) in the steps after frames first, first + 1, ..."""

    def reduced(self, model: ReducedFlow, dt: float, first: int, steps: int) -> Array: ...


_Known = FlowForce | FlowDisturbance
FlowDisturbances = _Known | Sequence[_Known] | Callable[[float], ArrayLike] | ArrayLike | None


def reduced_forces(model: ReducedFlow, what: FlowDisturbances, dt: float, first: int, steps: int) -> Array:
    """w (steps, r) of any force on a flow, in the steps after frames first, first + 1, ...; (steps, r) is itself."""
    out = np.zeros((steps, model.size))
    if what is None:
        return out
    if isinstance(what, np.ndarray) and what.shape == out.shape:
        return checks.real_array(what, "force", out.shape)
    for part in what if isinstance(what, list | tuple) else [what]:
        out += _one(model, part, dt, first, steps)
    return checks.finite_result(out, "the disturbance")


def _one(model: ReducedFlow, part: object, dt: float, first: int, steps: int) -> Array:
    if isinstance(part, Gust):
        blowing = [part.blows(step, dt) for step in range(first, first + steps)]
        return np.outer(blowing, reduced_gust(model, part))
    if isinstance(part, FlowDisturbance):
        return part.reduced(model, dt, first, steps)
    fields = (force_of(model.flow, part, step, dt) for step in range(first, first + steps))  # type: ignore[arg-type]
    return np.array([model.project(np.asarray(field)) for field in fields])


def reduced_gust(model: ReducedFlow, gust: Gust) -> Array:
    """The force (r,) of a gust while it blows."""
    rows, values = gust.edges(model.flow)
    return model.flow.cell**2 * (values @ model.basis[rows])


def inverse_forces(model: ReducedFlow, states: Array, dt: float) -> Array:
    """w (T, r) under which the steps of the model lead along states (T+1, r) exactly.

    The predictor z* is affine in w and G linear in z*, so each is one linear solve:
    (1 + h/2 [A[j] z_m]) w = 2/h (z_m - z) - G(z + h/2 G(z) z) z_m.
    """
    half, one = 0.5 * dt, np.eye(model.size)
    out = []
    for z, after in pairwise(states):
        zm = 0.5 * (z + after)
        ahead = z + half * (model.rates(z) @ z)
        out.append(np.linalg.solve(one + half * model.bent(zm), (zm - z) / half - model.rates(ahead) @ zm))
    return np.array(out).reshape(len(states) - 1, model.size)
