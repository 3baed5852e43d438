"""The time-varying linear quadratic regulator of bodies and flows: of the exact steps, or of the continuous equations.

Every gain is one call of `kernels_riccati.eliminate_control`. The implicit steps of bodies have a compiled sweep that
uses their structure; all other systems are dense matrices from `DynamicModel.linearize` or from a matrix exponential.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, singledispatch

import numpy as np

from cajole.arrays import Array
from cajole.direct import kernels_riccati
from cajole.direct.steering import kernels
from cajole.direct.steering.cost import QuadraticCost
from cajole.direct.steering.reference import Reference
from cajole.errors import InputError, NotConverged
from cajole.linalg.threads import limit_blas_threads
from cajole.reduction import FlowShot, NominalTrajectory

FORMULATIONS = ("discrete", "continuous")


@dataclass(frozen=True, eq=False)
class FeedbackGains:
    """gains (T, r, m): feedback w = K dx of each step; cost_to_go (m, m): ½ dxᵀ cost_to_go dx is the cost at the start.

    state_kind: of a body, dx is the deviation of the predictor state or of the frame; see `kernels`.
    """

    gains: Array
    cost_to_go: Array
    state_kind: int


@dataclass
class PeriodicConvergence:
    """Stops the backward periods of a loop when its gains are stationary.

    stagnation_window: periods of the loop in a period of the slowest vibration, in which changes rise and fall again.
    tolerance: relative change of the gains at which they are stationary. stagnation: on stiff models rounding stops the
    decrease earlier, at changes below this limit; a loop shorter than a vibration changes little in each period, and
    has a smaller limit.
    """

    max_periods: int
    stagnation_window: int
    tolerance: float = 1e-10
    stagnation: float = 1e-4
    short_period_stagnation: float = 1e-9
    _changes: list[float] = field(default_factory=list)

    @classmethod
    def for_reference(cls, reference: NominalTrajectory) -> PeriodicConvergence:
        """The limits of a loop; a motion that ends has one period."""
        if not (isinstance(reference, Reference) and reference.is_periodic):
            return cls(1, 1)
        period = reference.step_count * reference.dt
        return cls(
            max(50, 20_000 // reference.step_count),
            int(np.ceil(2.0 * np.pi / (reference.model.first_angular_frequency * period))),
        )

    def is_stationary(self, previous_gains: Array, gains: Array) -> bool:
        """True if the period that changed the gains (., r, m) from `previous_gains` was the last one needed.

        Gains settle before values do: the rounding of stiff modes is large in values and cancels in gains.
        """
        scale = float(np.abs(gains).max())
        self._changes.append(float(np.abs(gains - previous_gains).max()) / scale if scale > 0 else 0.0)
        late, early = self._changes[-self.stagnation_window :], self._changes[: -self.stagnation_window]
        floor = self.stagnation if self.stagnation_window == 1 else self.short_period_stagnation
        return late[-1] <= self.tolerance or (late[-1] < floor and bool(early) and min(late) >= min(early))


def compute_gains(reference: NominalTrajectory, cost: QuadraticCost, formulation: str = "discrete") -> FeedbackGains:
    """The optimal gains; of a loop the periodic ones, the limit of infinitely many periods.

    formulation: "discrete" linearises the exact steps; "continuous" integrates the linearised equations and the costs
    over each step, eq. (16)-(18). Raises NotConverged for dials without finite gains.
    """
    T, r, m = reference.step_count, reference.model.size, cost.Q.shape[1]
    gains, value = np.zeros((T, r, m)), np.zeros((m, m))
    periods = PeriodicConvergence.for_reference(reference)
    has_newmark_steps = formulation == "discrete" and isinstance(reference, Reference)
    # comparing all gains of a compiled sweep would take as long as computing them
    watched = gains[:: max(1, T // 64)] if has_newmark_steps else gains
    with limit_blas_threads():
        if has_newmark_steps:
            sweep = _make_newmark_sweep(reference, cost, periods.tolerance)  # type: ignore[arg-type]
        else:
            sweep = _make_dense_sweep(reference, cost, formulation)
        for _ in range(periods.max_periods):
            before = watched.copy()
            is_repeated = sweep(value, gains)
            if not np.isfinite(value).all():
                raise NotConverged("the regulator has no finite gains; lower tracking and final, or raise effort")
            if is_repeated or periods.is_stationary(before, watched):
                break
    return FeedbackGains(gains, value, kernels.PREDICTOR_STATE if has_newmark_steps else kernels.FRAME_STATE)


# A backward pass from a value (m, m), which becomes the value of the start, and is NaN where no gains exist; fills
# gains (T, r, m). True if the values repeat those of the period before.
Sweep = Callable[[Array, Array], bool]


def _make_newmark_sweep(reference: Reference, cost: QuadraticCost, tolerance: float) -> Sweep:
    """The compiled sweep over the implicit steps of a body."""
    T, m = reference.step_count, cost.Q.shape[1]
    known = np.full((T, m, m), np.inf) if reference.loop else np.empty((0, 0, 0))

    def sweep(value: Array, gains: Array) -> bool:
        first = kernels.solve_riccati(
            reference.newmark_coefficients,
            reference.Gq,
            reference.Gv,
            cost.Q,
            cost.q_index,
            cost.R,
            cost.r_index,
            value,
            gains,
            known,
            tolerance,
        )
        if first < 0:
            value[:] = np.nan
        elif first > 0:
            value[:] = known[0]
        return bool(first > 0)

    return sweep


def _make_dense_sweep(reference: NominalTrajectory, cost: QuadraticCost, formulation: str) -> Sweep:
    """Eq. (19)-(20) with dense matrices of every step."""
    T, r, m = reference.step_count, reference.model.size, cost.Q.shape[1]
    L, rhs, feedforward, none = np.empty((r, r)), np.empty((r, m + 1)), np.empty(r), np.empty((0, 0))
    zero, p = np.zeros(m + r), np.empty(m)
    is_continuous = formulation == "continuous"

    def linearise(n: int) -> tuple[Array, Array]:
        """E (m, m+r): the end of step n by (x, w); X (m+r, m+r): the cost of (x, w), without the final cost."""
        Q = cost.Q[cost.q_index[n]]
        if is_continuous:
            running = Q - (cost.final if n == T - 1 else 0.0)
            E, X = discretise_system(build_continuous_system(reference, n), running / reference.dt, reference.dt)
            return E[:m], X
        jacobians = reference.model.linearize(reference.stacked_states[n], reference.feed_forward[n], reference.dt)
        E = np.hstack(jacobians)
        return E, E.T @ (Q @ E)

    get_step = cache(linearise) if reference.is_periodic else linearise

    def sweep(value: Array, gains: Array) -> bool:
        if is_continuous:
            value += cost.final
        for n in range(T - 1, -1, -1):
            E, X = get_step(n)
            R = cost.R[cost.r_index[n]]
            H = X + E.T @ (value @ E)
            H[m:, m:] += R[0, 0] * np.eye(r) if R.shape == (1, 1) else R
            ok, _ = kernels_riccati.eliminate_control(H, zero, L, rhs, gains[n], feedforward, none, value, p)
            if not ok:
                value[:] = np.nan
                break
        return False

    return sweep


@singledispatch
def build_continuous_system(reference: NominalTrajectory, n: int) -> Array:
    """F (m+r, m+r) of the linearised equations at the frame before step n, acting on (x, w); w is constant."""
    raise InputError(f"{type(reference).__name__} has no continuous equations; use formulation='discrete'")


@build_continuous_system.register(Reference)
def _build_body_system(reference: Reference, n: int) -> Array:
    """Eq. (22) and (10) on (q, v, w)."""
    r = reference.model.size
    if n > 0:
        Gq, Gv = reference.Gq[n - 1], reference.Gv[n - 1]
    else:
        _, Gq, Gv = reference.model.evaluate_dynamics(*reference.trajectory[1, 0])
    F = np.zeros((3 * r, 3 * r))
    F[:r, r : 2 * r] = np.eye(r)
    F[r : 2 * r, :r], F[r : 2 * r, r : 2 * r], F[r : 2 * r, 2 * r :] = -Gq, -Gv, np.eye(r)
    return F


@build_continuous_system.register(FlowShot)
def _build_flow_system(shot: FlowShot, n: int) -> Array:
    """Eq. (13) and (23)-(26) on (p, z, w)."""
    model, z, points = shot.model, shot.states[n], shot.particles[n]
    r, m = model.size, 2 * len(points) + model.size
    F = np.zeros((m + r, m + r))
    F[m - r : m, m - r : m] = model.compute_rate_matrix(z) + model.compute_advection_jacobian(z)
    F[m - r : m, m:] = np.eye(r)
    for k, point in enumerate(points):
        rows = slice(2 * k, 2 * k + 2)
        F[rows, m - r : m], F[rows, rows] = model.interpolate_modes_and_gradient(point, z)
    return F


def discretise_system(F: Array, Q: Array, h: float) -> tuple[Array, Array]:
    """e^{Fh} and ∫₀ʰ e^{Fτ}ᵀ diag(Q, 0) e^{Fτ} dτ, by doubling a Taylor series."""
    n = len(Q)
    # positions in the unit of the fastest frequency, so that the norm is that frequency and not its square
    scale = np.ones(len(F))
    fastest = np.sqrt(max(np.abs(F[n // 2 : n, : n // 2]).sum(axis=0).max(initial=0.0), 1.0))
    scale[: n // 2] = 1.0 / fastest
    balanced = F * scale / scale[:, None]
    halvings = max(0, int(np.ceil(np.log2(max(2.0 * h * np.abs(balanced).sum(axis=0).max(), 1e-300)))))
    d = h / 2**halvings
    cost = np.zeros_like(F)
    cost[:n, :n] = scale[:n, None] * Q * scale[:n]
    # Taylor series at a norm of one half: the first term left out, the fifteenth, is below rounding.
    # X_k = (Fdᵀ X_{k-1} + X_{k-1} Fd) / (k + 1)
    Fd = balanced * d
    E, power, X, term = np.eye(len(F)), np.eye(len(F)), cost * d, cost * d
    for k in range(1, 15):
        power = power @ Fd / k
        E = E + power
        product = term @ Fd
        term = (product + product.T) / (k + 1)
        X = X + term
    for _ in range(halvings):
        X = X + E.T @ X @ E
        E = E @ E
    return E / scale * scale[:, None], X / scale / scale[:, None]
