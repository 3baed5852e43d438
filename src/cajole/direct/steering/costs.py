"""The dials of the regulator as weights of every step: eq. (5)-(6) in the body's own units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.direct.steering.motion import Reference
from cajole.errors import InputError

Dial = float | ArrayLike | Callable[[float], ArrayLike]

# Negative eigenvalues of a weight up to this share of its largest are rounding.
ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class Dials:
    """What the controller is asked for; dimensionless, see `steer`."""

    tracking: Dial = 1.0
    final: float | ArrayLike = 0.0
    effort: Dial = 1e-2
    frames: Mapping[int, float] | None = None
    vertices: Mapping[int, float] | ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class Costs:
    """Weights of every step: Q (., 2r, 2r) of (q, v), R (., r, r) of the feedback, or (., 1, 1) for a multiple of 1.

    final (2r, 2r): the part of the last step's Q that counts once.
    """

    Q: Array
    which_q: NDArray[np.int64]
    R: Array
    which_r: NDArray[np.int64]
    final: Array


def costs(reference: Reference, dials: Dials) -> Costs:
    """The weights of `reference`'s steps. Raises InputError for negative weights and effort that is not positive."""
    T, r = reference.steps, reference.model.size
    shape = _shape(reference, dials.vertices)
    Q, which_q = _over_time(reference, dials.tracking, "tracking", lambda value, name: _weight(value, name, shape, r))
    if dials.frames is not None:
        Q, which_q = _emphasised(Q, which_q, dials.frames, T, reference.substeps)
    # the average over frames is taken of tracking and effort, not of what counts once
    last = T * _weight(dials.final, "final", shape, r)
    if last.any():
        Q, which_q = np.concatenate([Q, [Q[which_q[-1]] + last]]), which_q.copy()
        which_q[-1] = len(Q) - 1
    R, which_r = _over_time(reference, dials.effort, "effort", lambda value, name: _effort(value, name, r))
    if not Q.any():
        raise InputError("tracking and final are both zero: there is nothing to come back to; raise one of them")
    model = reference.model
    unit = 1.0 / (T * model.body.total_mass * model.body.size**2)
    rate = np.concatenate([np.ones(r), np.full(r, 1.0 / model.frequency)])
    in_units = unit * rate[:, None] * rate
    # row-major: kernels are compiled anew for another layout, which `concatenate` may choose
    weights, prices = (np.ascontiguousarray(each) for each in (in_units * Q, unit / model.frequency**4 * R))
    return Costs(weights, which_q, prices, which_r, in_units * last)


def _shape(reference: Reference, vertices: Mapping[int, float] | ArrayLike | None) -> Array:
    """What an error of one body size of everything weighs in each coordinate (r, r): 1, or that of chosen vertices."""
    model = reference.model
    if vertices is None:
        return np.eye(model.size)
    if isinstance(vertices, Mapping):
        chosen = vertices
    else:
        listed = checks.index_array(checks.at_least_one_axis(vertices), "vertices", (None,), model.body.count)
        chosen = dict.fromkeys(listed.tolist(), 1.0)
    index = checks.index_array(list(chosen), "vertices", (None,), model.body.count)
    share = np.array([checks.positive(value, "the weight of a vertex", zero=True) for value in chosen.values()])
    share = share * model.body.vertex_masses[index]
    if not share.sum() > 0:
        raise InputError("vertices: none of them has a positive weight")
    rows = model.basis.reshape(model.body.count, 3, model.size)[index]
    if not (share[:, None, None] * rows).any():
        raise InputError("vertices: nothing moves those with a weight; choose vertices that are not fixed")
    return np.einsum("v,vci,vcj->ij", share / share.sum() * model.body.total_mass, rows, rows)


def _over_time(
    reference: Reference, dial: Dial, name: str, made: Callable[[ArrayLike, str], Array]
) -> tuple[Array, NDArray[np.int64]]:
    T = reference.steps
    if not callable(dial):
        return made(dial, name)[None], np.zeros(T, dtype=np.int64)
    times = reference.dt * np.arange(1, T + 1)
    return np.array([made(dial(float(t)), f"{name}({t:.6g})") for t in times]), np.arange(T)


def _weight(value: ArrayLike, name: str, shape: Array, r: int) -> Array:
    """(2r, 2r) of a number, of a matrix (r, r) for positions, or (2r, 2r) for positions and velocities."""
    out = np.zeros((2 * r, 2 * r))
    shape_given = _shape_of(value, name)
    if shape_given == ():
        out[:r, :r] = out[r:, r:] = checks.positive(checks.real_number(value, name), name, zero=True) * shape
    elif shape_given in ((r, r), (2 * r, 2 * r)):
        size = shape_given[0]
        out[:size, :size] = _semidefinite(checks.real_array(value, name, (size, size)), name)
    else:
        raise InputError(f"{name} has shape {shape_given}; a number, ({r}, {r}) or ({2 * r}, {2 * r}) is needed")
    return out


def _shape_of(value: ArrayLike, name: str) -> tuple[int, ...]:
    try:
        return np.shape(value)
    except ValueError:
        raise InputError(f"{name} must be a number or a matrix with rows of one length") from None


def _effort(value: ArrayLike, name: str, r: int) -> Array:
    if _shape_of(value, name) == ():
        return np.array([[checks.positive(checks.real_number(value, name), name)]])
    array = checks.real_array(value, name, (r, r))
    least = np.linalg.eigvalsh(_semidefinite(array, name))
    if least[0] <= ROUNDING * least[-1]:
        raise InputError(f"{name} is singular (least eigenvalue {least[0]:.3g}): every force must cost something")
    return array


def _semidefinite(array: Array, name: str) -> Array:
    if np.abs(array - array.T).max() > ROUNDING * max(np.abs(array).max(), np.finfo(float).tiny):
        raise InputError(f"{name} must be a symmetric matrix")
    values = np.linalg.eigvalsh(array)
    if values[0] < -ROUNDING * max(values[-1], 0.0) or values[-1] < 0.0:
        raise InputError(f"{name} has a negative eigenvalue ({values[0]:.3g}); weights must not reward errors")
    return array


def _emphasised(
    Q: Array, which: NDArray[np.int64], frames: Mapping[int, float], T: int, substeps: int
) -> tuple[Array, NDArray[np.int64]]:
    checks.require_instance(frames, Mapping, "frames ({frame: factor})")
    extra, which = [Q[:0]], which.copy()
    for frame, factor in frames.items():
        step = substeps * checks.count(frame, "a frame to emphasise", most=T // substeps) - 1
        extra.append(checks.positive(factor, f"the emphasis of frame {frame}", zero=True) * Q[which[step], None])
        which[step] = len(Q) + len(extra) - 2
    return np.concatenate([Q, *extra]), which
