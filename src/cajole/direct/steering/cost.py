"""The dials of the regulator as quadratic costs of every step: eq. (5)-(6) in the units of the body or flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.direct.steering.reference import Reference
from cajole.errors import InputError
from cajole.reduction import FlowShot, NominalTrajectory

TimeVaryingWeight = float | ArrayLike | Callable[[float], ArrayLike]


@dataclass(frozen=True, eq=False)
class CostWeights:
    """The dimensionless dials of `steer`.

    vertices: of bodies; velocity_tracking (None: 1e-3) and particles (one weight each, None: 1): of flows.
    """

    tracking: TimeVaryingWeight = 1.0
    final: float | ArrayLike = 0.0
    effort: TimeVaryingWeight = 1e-2
    frames: Mapping[int, float] | None = None
    vertices: Mapping[int, float] | ArrayLike | None = None
    velocity_tracking: float | None = None
    particles: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class QuadraticCost:
    """Weights of every step: Q (., m, m) of the deviation, R (., r, r) of the feedback, or (., 1, 1) times identity.

    Step n has the rows q_index[n] and r_index[n]; final (m, m): the part of the last step's Q that counts once.
    The deviation (m,) is (q, v) of a body, m = 2r, or (p, z) of a flow, m = 2N + r.
    """

    Q: Array
    q_index: NDArray[np.int64]
    R: Array
    r_index: NDArray[np.int64]
    final: Array


@dataclass(frozen=True, eq=False)
class CostUnits:
    """Natural units of a cost: tracking (m, m) is the weight of a dial of 1, `scale` multiplies its entries.

    matrix_sizes: sizes of the matrices that may replace a number; subject: in messages.
    """

    tracking: Array
    scale: Array | float
    effort_scale: float
    matrix_sizes: tuple[int, ...] = ()
    subject: str = ""


def get_weight_names(reference: NominalTrajectory) -> tuple[str, ...]:
    """The fields of `CostWeights` that apply to a body or to a flow."""
    own = ("velocity_tracking", "particles") if isinstance(reference, FlowShot) else ("vertices",)
    return ("tracking", "final", "effort", "frames", *own)


def build_cost(reference: NominalTrajectory, weights: CostWeights) -> QuadraticCost:
    """The costs of `reference`'s steps. Raises InputError for negative weights and effort that is not positive."""
    T, r, units = reference.step_count, reference.model.size, build_cost_units(reference, weights)
    Q, q_index = _sample_weight(
        reference, weights.tracking, "tracking", lambda value, name: _build_state_weight(value, name, units)
    )
    if weights.frames is not None:
        checks.require_instance(weights.frames, Mapping, "frames ({frame: factor})")
        extra, q_index = [Q[:0]], q_index.copy()
        for frame, factor in weights.frames.items():
            last_frame = T // reference.substeps
            checks.require_integer(frame, "a frame to emphasise", maximum=last_frame)
            step = reference.substeps * frame - 1
            factor = checks.require_positive(factor, f"the emphasis of frame {frame}", allow_zero=True)
            extra.append(factor * Q[q_index[step], None])
            q_index[step] = len(Q) + len(extra) - 2
        Q = np.concatenate([Q, *extra])
    # tracking and effort are averaged over frames, the final cost counts once
    last = T * _build_state_weight(weights.final, "final", units)
    if last.any():
        Q, q_index = np.concatenate([Q, [Q[q_index[-1]] + last]]), q_index.copy()
        q_index[-1] = len(Q) - 1
    R, r_index = _sample_weight(
        reference, weights.effort, "effort", lambda value, name: _build_control_weight(value, name, r, units)
    )
    if not Q.any():
        raise InputError("tracking and final are both zero: there is nothing to come back to; raise one of them")
    # row-major: kernels are compiled anew for another layout, which `concatenate` may choose
    Q, R = (np.ascontiguousarray(each) for each in (units.scale * Q, units.effort_scale * R))
    return QuadraticCost(Q, q_index, R, r_index, units.scale * last)


@singledispatch
def build_cost_units(reference: NominalTrajectory, weights: CostWeights) -> CostUnits:
    """The natural units in which the dials are dimensionless; one implementation per kind of reference."""
    raise InputError(f"{type(reference).__name__} has no units of cost; register some with build_cost_units.register")


@build_cost_units.register(Reference)
def _build_body_units(reference: Reference, weights: CostWeights) -> CostUnits:
    """Positions in body sizes L, velocities in L ω₁, forces in L ω₁²."""
    model, T, r = reference.model, reference.step_count, reference.model.size
    shape = np.eye(r) if weights.vertices is None else _build_vertex_weight(reference, weights.vertices)
    unit = 1.0 / (T * model.body.total_mass * model.body.size**2)
    rate = np.concatenate([np.ones(r), np.full(r, 1.0 / model.first_angular_frequency)])
    effort_scale = unit / model.first_angular_frequency**4
    return CostUnits(scipy.linalg.block_diag(shape, shape), unit * rate[:, None] * rate, effort_scale, (r, 2 * r))


@build_cost_units.register(FlowShot)
def _build_flow_units(shot: FlowShot, weights: CostWeights) -> CostUnits:
    """Particles in box sizes L, shared by weight, velocities in the fastest speed U, forces in U²/L.

    Without particles the velocities alone are tracked.
    """
    # enough to damp the flow between particles without binding it
    velocity_tracking = 1e-3 if weights.velocity_tracking is None else weights.velocity_tracking
    checks.require_positive(velocity_tracking, "velocity_tracking", allow_zero=True)
    if shot.max_speed == 0:
        raise InputError("the motion stands still, so that no speed measures its errors; steer one that moves")
    N, r, L, U, mass = shot.particles.shape[1], shot.model.size, shot.box_size, shot.max_speed, shot.model.flow.mass
    shares = np.ones(N)
    if weights.particles is not None:
        shares = checks.require_real_array(weights.particles, "particles (weights)", (N,))
    if (shares < 0).any() or (N and not shares.any()):
        raise InputError("particles: weights must not be negative, and one must be positive")
    each = np.full(r, (velocity_tracking if N else 1.0) / (mass * U**2))
    if N:
        each = np.concatenate([np.repeat(shares / shares.sum() / L**2, 2), each])
    T = shot.step_count
    return CostUnits(np.diag(each), 1.0 / T, L**2 / (T * mass * U**4), subject=" of a flow")


def _build_vertex_weight(reference: Reference, vertices: Mapping[int, float] | ArrayLike) -> Array:
    """The weight (r, r) of errors of chosen vertices alone, which is 1 for an error of one body size of all of them."""
    model = reference.model
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
    return np.asarray(np.einsum("v,vci,vcj->ij", share / share.sum() * model.body.total_mass, rows, rows))


def _sample_weight(
    reference: NominalTrajectory, weight: TimeVaryingWeight, name: str, build: Callable[[ArrayLike, str], Array]
) -> tuple[Array, NDArray[np.int64]]:
    """Weight matrices (k, ., .), and for each step the row of its matrix (T,)."""
    T = reference.step_count
    if not callable(weight):
        return build(weight, name)[None], np.zeros(T, dtype=np.int64)
    times = reference.dt * np.arange(1, T + 1)
    return np.array([build(weight(float(t)), f"{name}({t:.6g})") for t in times]), np.arange(T)


def _build_state_weight(value: ArrayLike, name: str, units: CostUnits) -> Array:
    """(m, m) of a number, or of a matrix of the leading coordinates of the deviation."""
    shape = _get_shape(value, name)
    if shape == () or not units.matrix_sizes:
        number = checks.require_real_number(value, f"{name}{units.subject}")
        return checks.require_positive(number, name, allow_zero=True) * units.tracking
    if shape not in {(size, size) for size in units.matrix_sizes}:
        r, m = units.matrix_sizes
        raise InputError(f"{name} has shape {shape}; a number, ({r}, {r}) or ({m}, {m}) is needed")
    out, size = np.zeros_like(units.tracking), shape[0]
    out[:size, :size] = _require_semidefinite(checks.require_real_array(value, name, shape), name)
    return out


def _build_control_weight(value: ArrayLike, name: str, r: int, units: CostUnits) -> Array:
    """(1, 1) of a number, or a positive definite matrix (r, r)."""
    if _get_shape(value, name) == () or not units.matrix_sizes:
        number = checks.require_real_number(value, f"{name}{units.subject}")
        return np.array([[checks.require_positive(number, name)]])
    array = checks.require_real_array(value, name, (r, r))
    least = np.linalg.eigvalsh(_require_semidefinite(array, name))
    if least[0] <= 1e-10 * least[-1]:
        raise InputError(f"{name} is singular (least eigenvalue {least[0]:.3g}): every force must cost something")
    return array


def _get_shape(value: ArrayLike, name: str) -> tuple[int, ...]:
    try:
        return np.shape(value)
    except ValueError:
        raise InputError(f"{name} must be a number or a matrix with rows of one length") from None


def _require_semidefinite(array: Array, name: str) -> Array:
    rounding = 1e-10  # share of the largest entry or eigenvalue
    if np.abs(array - array.T).max() > rounding * max(np.abs(array).max(), np.finfo(float).tiny):
        raise InputError(f"{name} must be a symmetric matrix")
    values = np.linalg.eigvalsh(array)
    if values[0] < -rounding * max(values[-1], 0.0) or values[-1] < 0.0:
        raise InputError(f"{name} has a negative eigenvalue ({values[0]:.3g}); weights must not reward errors")
    return array
