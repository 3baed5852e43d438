"""The dials of the regulator as weights of every step: eq. (5)-(6) in the body's own units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.direct.steering.reference import Reference
from cajole.errors import InputError
from cajole.reduction import FlowShot

TimeVaryingWeight = float | ArrayLike | Callable[[float], ArrayLike]

# Negative eigenvalues of a weight up to this share of its largest are rounding.
SEMIDEFINITE_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class CostWeights:
    """What the controller is asked for; dimensionless, see `steer`."""

    tracking: TimeVaryingWeight = 1.0
    final: float | ArrayLike = 0.0
    effort: TimeVaryingWeight = 1e-2
    frames: Mapping[int, float] | None = None
    vertices: Mapping[int, float] | ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class QuadraticCost:
    """Weights of every step: Q (., 2r, 2r) of (q, v), R (., r, r) of the feedback, or (., 1, 1) for a multiple of 1.

    final (2r, 2r): the part of the last step's Q that counts once.
    """

    Q: Array
    q_index: NDArray[np.int64]
    R: Array
    r_index: NDArray[np.int64]
    final: Array


def build_cost(reference: Reference, cost_weights: CostWeights) -> QuadraticCost:
    """The weights of `reference`'s steps. Raises InputError for negative weights and effort that is not positive."""
    T, r = reference.step_count, reference.model.size
    shape = _build_position_weight(reference, cost_weights.vertices)
    Q, which_q = _sample_weight(
        reference, cost_weights.tracking, "tracking", lambda value, name: _build_state_weight(value, name, shape, r)
    )
    if cost_weights.frames is not None:
        Q, which_q = _apply_frame_factors(Q, which_q, cost_weights.frames, T, reference.substeps)
    # the average over frames is taken of tracking and effort, not of what counts once
    last = T * _build_state_weight(cost_weights.final, "final", shape, r)
    if last.any():
        Q, which_q = np.concatenate([Q, [Q[which_q[-1]] + last]]), which_q.copy()
        which_q[-1] = len(Q) - 1
    R, which_r = _sample_weight(
        reference, cost_weights.effort, "effort", lambda value, name: _build_control_weight(value, name, r)
    )
    if not Q.any():
        raise InputError("tracking and final are both zero: there is nothing to come back to; raise one of them")
    model = reference.model
    unit = 1.0 / (T * model.body.total_mass * model.body.size**2)
    rate = np.concatenate([np.ones(r), np.full(r, 1.0 / model.first_angular_frequency)])
    in_units = unit * rate[:, None] * rate
    # row-major: kernels are compiled anew for another layout, which `concatenate` may choose
    weights, prices = (
        np.ascontiguousarray(each) for each in (in_units * Q, unit / model.first_angular_frequency**4 * R)
    )
    return QuadraticCost(weights, which_q, prices, which_r, in_units * last)


def _build_position_weight(reference: Reference, vertices: Mapping[int, float] | ArrayLike | None) -> Array:
    """What an error of one body size of everything weighs in each coordinate (r, r): 1, or that of chosen vertices."""
    model = reference.model
    if vertices is None:
        return np.eye(model.size)
    if isinstance(vertices, Mapping):
        chosen = vertices
    else:
        listed = checks.require_index_array(checks.wrap_scalar(vertices), "vertices", (None,), model.body.vertex_count)
        chosen = dict.fromkeys(listed.tolist(), 1.0)
    index = checks.require_index_array(list(chosen), "vertices", (None,), model.body.vertex_count)
    share = np.array(
        [checks.require_positive(value, "the weight of a vertex", allow_zero=True) for value in chosen.values()]
    )
    share = share * model.body.vertex_masses[index]
    if not share.sum() > 0:
        raise InputError("vertices: none of them has a positive weight")
    rows = model.basis.reshape(model.body.vertex_count, 3, model.size)[index]
    if not (share[:, None, None] * rows).any():
        raise InputError("vertices: nothing moves those with a weight; choose vertices that are not fixed")
    return np.einsum("v,vci,vcj->ij", share / share.sum() * model.body.total_mass, rows, rows)


def _sample_weight(
    reference: Reference, weight: TimeVaryingWeight, name: str, build: Callable[[ArrayLike, str], Array]
) -> tuple[Array, NDArray[np.int64]]:
    T = reference.step_count
    if not callable(weight):
        return build(weight, name)[None], np.zeros(T, dtype=np.int64)
    times = reference.dt * np.arange(1, T + 1)
    return np.array([build(weight(float(t)), f"{name}({t:.6g})") for t in times]), np.arange(T)


def _build_state_weight(value: ArrayLike, name: str, position_weight: Array, r: int) -> Array:
    """(2r, 2r) of a number, of a matrix (r, r) for positions, or (2r, 2r) for positions and velocities."""
    out = np.zeros((2 * r, 2 * r))
    shape_given = _get_shape(value, name)
    if shape_given == ():
        out[:r, :r] = out[r:, r:] = (
            checks.require_positive(checks.require_real_number(value, name), name, allow_zero=True) * position_weight
        )
    elif shape_given in ((r, r), (2 * r, 2 * r)):
        size = shape_given[0]
        out[:size, :size] = _require_semidefinite(checks.require_real_array(value, name, (size, size)), name)
    else:
        raise InputError(f"{name} has shape {shape_given}; a number, ({r}, {r}) or ({2 * r}, {2 * r}) is needed")
    return out


def _get_shape(value: ArrayLike, name: str) -> tuple[int, ...]:
    try:
        return np.shape(value)
    except ValueError:
        raise InputError(f"{name} must be a number or a matrix with rows of one length") from None


def _build_control_weight(value: ArrayLike, name: str, r: int) -> Array:
    if _get_shape(value, name) == ():
        return np.array([[checks.require_positive(checks.require_real_number(value, name), name)]])
    array = checks.require_real_array(value, name, (r, r))
    least = np.linalg.eigvalsh(_require_semidefinite(array, name))
    if least[0] <= SEMIDEFINITE_TOLERANCE * least[-1]:
        raise InputError(f"{name} is singular (least eigenvalue {least[0]:.3g}): every force must cost something")
    return array


def _require_semidefinite(array: Array, name: str) -> Array:
    if np.abs(array - array.T).max() > SEMIDEFINITE_TOLERANCE * max(np.abs(array).max(), np.finfo(float).tiny):
        raise InputError(f"{name} must be a symmetric matrix")
    values = np.linalg.eigvalsh(array)
    if values[0] < -SEMIDEFINITE_TOLERANCE * max(values[-1], 0.0) or values[-1] < 0.0:
        raise InputError(f"{name} has a negative eigenvalue ({values[0]:.3g}); weights must not reward errors")
    return array


def _apply_frame_factors(
    Q: Array, q_index: NDArray[np.int64], frames: Mapping[int, float], T: int, substeps: int
) -> tuple[Array, NDArray[np.int64]]:
    checks.require_instance(frames, Mapping, "frames ({frame: factor})")
    extra, q_index = [Q[:0]], q_index.copy()
    for frame, factor in frames.items():
        step = substeps * checks.require_integer(frame, "a frame to emphasise", maximum=T // substeps) - 1
        extra.append(
            checks.require_positive(factor, f"the emphasis of frame {frame}", allow_zero=True) * Q[q_index[step], None]
        )
        q_index[step] = len(Q) + len(extra) - 2
    return np.concatenate([Q, *extra]), q_index


# What an error of the velocities costs beside one of the particles: enough to keep the flow alive, not to bind it.
DEFAULT_VELOCITY_TRACKING = 1e-3


@dataclass(frozen=True, eq=False)
class FlowCostWeights:
    """What the controller is asked for; dimensionless, see `steer`. particles: one weight each, or None for 1."""

    tracking: float = 1.0
    final: float = 0.0
    effort: float = 1e-2
    velocity_tracking: float = DEFAULT_VELOCITY_TRACKING
    frames: Mapping[int, float] | None = None
    particles: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class FlowQuadraticCost:
    """Weights of (Δp, Δz) at the end of every step, diagonal: Q (T, 2N+r); final (2N+r,), once; R: of |w|²."""

    Q: Array
    final: Array
    R: float


def compute_box_size(shot: FlowShot) -> float:
    """The unit of lengths [m]: the diagonal of the box."""
    return float(np.hypot(*shot.model.flow.size))


def build_flow_cost(shot: FlowShot, cost_weights: FlowCostWeights) -> FlowQuadraticCost:
    """The weights of `shot`'s steps. Raises InputError for negative weights and effort that is not positive."""
    tracking, final, velocity_tracking = (
        checks.require_positive(getattr(cost_weights, name), name, allow_zero=True)
        for name in ("tracking", "final", "velocity_tracking")
    )
    effort = checks.require_positive(cost_weights.effort, "effort")
    if shot.max_speed == 0:
        raise InputError("the motion stands still, so that no speed measures its errors; steer one that moves")
    each = _build_state_weights(shot, velocity_tracking, cost_weights.particles)
    if not tracking * each.sum() + final * each.sum() > 0:
        raise InputError("tracking and final are both zero: there is nothing to come back to; raise one of them")
    emphasis = np.full(shot.step_count, tracking)
    if not isinstance(cost_weights.frames, Mapping | None):
        raise InputError(
            f"frames must say which count more, {{frame: factor}}, not {checks.format_value(cost_weights.frames)}"
        )
    for frame, factor in (cost_weights.frames or {}).items():
        at = checks.require_integer(frame, "a frame of frames", maximum=shot.step_count)
        emphasis[at - 1] *= checks.require_positive(factor, f"the factor of frame {at}", allow_zero=True)
    L, U, mass = compute_box_size(shot), shot.max_speed, shot.model.flow.mass
    return FlowQuadraticCost(
        emphasis[:, None] / shot.step_count * each, final * each, effort / shot.step_count * L**2 / (mass * U**4)
    )


def _build_state_weights(shot: FlowShot, velocity_tracking: float, particles: ArrayLike | None) -> Array:
    """What one unit of tracking weighs in each coordinate (2N+r,): the particles share it; without any, velocities."""
    N, r = shot.particles.shape[1], shot.model.size
    weights = np.ones(N) if particles is None else checks.require_real_array(particles, "particles (weights)", (N,))
    if (weights < 0).any() or (N and not weights.any()):
        raise InputError("particles: weights must not be negative, and one must be positive")
    moving = 1.0 / (shot.model.flow.mass * shot.max_speed**2)
    if N == 0:
        return np.full(r, moving)
    shares = weights / weights.sum() / compute_box_size(shot) ** 2
    return np.concatenate([np.repeat(shares, 2), np.full(r, velocity_tracking * moving)])
