"""The time-varying linear quadratic regulator: over the exact steps of a reference, or the paper's continuous ones."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

from cajole.arrays import Array
from cajole.direct.steering import kernels
from cajole.direct.steering.cost import FlowQuadraticCost, QuadraticCost
from cajole.direct.steering.reference import Reference
from cajole.errors import NotConverged
from cajole.linalg.threads import limit_blas_threads
from cajole.reduction import FlowShot
from cajole.reduction import kernels_trajectory as motion_kernels

# The gains of a loop have settled when a lap repeats them to this; laps that gains of a loop may need, and steps: the
# shorter a lap is beside the time it takes to come back, the more of them.
GAIN_TOLERANCE, MAX_PERIODS, MAX_STEPS = 1e-10, 50, 20_000
# Steps of a lap whose gains are watched, about: all of them would take as long to compare as to make.
MONITORED_STEPS = 64
# On stiff models rounding stops it earlier: at changes below this that no longer become less. Laps shorter than a
# period change little each, long before they are done.
STAGNATION_TOLERANCE, SHORT_PERIOD_STAGNATION_TOLERANCE = 1e-4, 1e-9


@dataclass
class PeriodicConvergence:
    """most: how many; window: laps in a period of the slowest vibration, within which changes rise and fall again."""

    max_periods: int
    stagnation_window: int
    _changes: list[float] = field(default_factory=list)

    @classmethod
    def for_reference(cls, reference: Reference) -> PeriodicConvergence:
        """Those of a loop; a motion that ends is gone through once."""
        if not reference.loop:
            return cls(1, 1)
        lap = reference.step_count * reference.dt
        return cls(
            max(MAX_PERIODS, MAX_STEPS // reference.step_count),
            int(np.ceil(2.0 * np.pi / (reference.model.first_angular_frequency * lap))),
        )

    def is_stationary(self, previous_gains: Array, gains: Array) -> bool:
        """Whether a lap that turned the gains `before` (., r, 2r) into `gains` need not be followed by another.

        Gains settle before values do: rounding of stiff modes is large in these and drops out of those.
        """
        scale = float(np.abs(gains).max())
        self._changes.append(float(np.abs(gains - previous_gains).max()) / scale if scale > 0 else 0.0)
        late, early = self._changes[-self.stagnation_window :], self._changes[: -self.stagnation_window]
        floor = STAGNATION_TOLERANCE if self.stagnation_window == 1 else SHORT_PERIOD_STAGNATION_TOLERANCE
        return late[-1] <= GAIN_TOLERANCE or (late[-1] < floor and bool(early) and min(late) >= min(early))


# Terms of the Taylor series at a norm of one half: the first left out is below rounding.
TAYLOR_TERMS = 14
NOT_FINITE_MESSAGE = "the regulator has no finite gains; lower tracking and final, or raise effort"


def compute_continuous_gains(reference: Reference, costs: QuadraticCost) -> tuple[Array, Array]:
    """Gains (T, r, 2r) on the deviation of the frame before each step, and the value (2r, 2r) at the start.

    Weights are taken as rates over a step: what step n weighs at its end in the discrete form is spread over it here.
    Those of a loop are periodic.
    """
    T, r, h = reference.step_count, reference.model.size, reference.dt
    gains, value = np.zeros((T, r, 2 * r)), np.zeros((2 * r, 2 * r))
    running = [costs.Q[costs.q_index[n]] - (costs.final if n == T - 1 else 0.0) for n in range(T)]
    made = [discretise_system(_build_continuous_system(reference, n), Q / h, h) for n, Q in enumerate(running)]
    laps = PeriodicConvergence.for_reference(reference)
    for _ in range(laps.max_periods):
        before, value = gains.copy(), value + costs.final
        for n in range(T - 1, -1, -1):
            R = costs.R[costs.r_index[n]]
            gains[n], value = solve_riccati_step(*made[n], R[0, 0] * np.eye(r) if R.shape == (1, 1) else R, value)
        if laps.is_stationary(before, gains):
            break
    return gains, value


def solve_riccati_step(E: Array, X: Array, R: Array, value: Array) -> tuple[Array, Array]:
    """The gain of a step and the value before it: eq. (19)-(20).

    E (m, m+r), or with more rows below: the step of (x, w); X (m+r, m+r): what it costs; value (m, m): the cost to go
    after it.
    """
    m = len(value)
    Phi, Gamma = E[:m, :m], E[:m, m:]
    cross = X[:m, m:] + Phi.T @ value @ Gamma
    pivot = X[m:, m:] + R + Gamma.T @ value @ Gamma
    try:
        gain = -scipy.linalg.cho_solve(scipy.linalg.cho_factor(pivot), cross.T)
    except (np.linalg.LinAlgError, ValueError):
        raise NotConverged(NOT_FINITE_MESSAGE) from None
    value = X[:m, :m] + Phi.T @ value @ Phi + cross @ gain
    return gain, 0.5 * (value + value.T)


def _build_continuous_system(reference: Reference, n: int) -> Array:
    """F (3r, 3r) of eq. (22) and (10) at the frame before step n."""
    r = reference.model.size
    if n > 0:
        Gq, Gv = reference.Gq[n - 1], reference.Gv[n - 1]
    else:
        Gq, Gv = np.empty((r, r)), np.empty((r, r))
        system = reference.model.kernel_data
        q, v = reference.trajectory[1, 0].copy()
        motion_kernels.evaluate(system, q, v, motion_kernels.allocate_workspace(system), np.empty(r), Gq, Gv)
    F = np.zeros((3 * r, 3 * r))
    F[:r, r : 2 * r] = np.eye(r)
    F[r : 2 * r, :r], F[r : 2 * r, r : 2 * r], F[r : 2 * r, 2 * r :] = -Gq, -Gv, np.eye(r)
    return F


def discretise_system(F: Array, Q: Array, h: float) -> tuple[Array, Array]:
    """e^{Fh} and ∫₀ʰ e^{Fτ}ᵀ diag(Q, 0) e^{Fτ} dτ, by doubling."""
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
    E, X = _sum_taylor_series(balanced * d, cost * d)
    for _ in range(halvings):
        X = X + E.T @ X @ E
        E = E @ E
    return E / scale * scale[:, None], X / scale / scale[:, None]


def _sum_taylor_series(Fd: Array, X0: Array) -> tuple[Array, Array]:
    """The two Taylor series over a short time: X_k = (Fdᵀ X_{k-1} + X_{k-1} Fd) / (k + 1)."""
    E, power, X, term = np.eye(len(Fd)), np.eye(len(Fd)), X0.copy(), X0
    for k in range(1, TAYLOR_TERMS + 1):
        power = power @ Fd / k
        E = E + power
        half = term @ Fd
        term = (half + half.T) / (k + 1)
        X = X + term
    return E, X


FORMULATIONS = ("discrete", "continuous")


@dataclass(frozen=True, eq=False)
class FeedbackGains:
    """gains (T, r, 2r): feedback w = K dx of each step; value (2r, 2r): ½ dxᵀ value dx is the cost to go at the start.

    kind: what dx is, the deviation of the predictor state or of the frame; see `kernels`.
    """

    gains: Array
    cost_to_go: Array
    state_kind: int


def compute_gains(reference: Reference, cost: QuadraticCost, formulation: str = "discrete") -> FeedbackGains:
    """The optimal gains; of a loop the periodic ones, as if it went on for ever."""
    with limit_blas_threads():
        if formulation == "continuous":
            gains, value = compute_continuous_gains(reference, cost)
            return FeedbackGains(gains, value, kernels.FRAME_STATE)
        return _compute_discrete_gains(reference, cost)


def _compute_discrete_gains(reference: Reference, cost: QuadraticCost) -> FeedbackGains:
    T, r = reference.step_count, reference.model.size
    value, gains = np.zeros((2 * r, 2 * r)), np.empty((T, r, 2 * r))
    known = np.full((T, 2 * r, 2 * r), np.inf) if reference.loop else np.empty((0, 0, 0))
    laps = PeriodicConvergence.for_reference(reference)
    watched = gains[:: max(1, T // MONITORED_STEPS)]
    watched[:] = 0.0
    for _ in range(laps.max_periods):
        before = watched.copy()
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
            GAIN_TOLERANCE,
        )
        if first < 0 or not np.isfinite(value).all():
            raise NotConverged(NOT_FINITE_MESSAGE)
        if first > 0:
            value = known[0].copy()
            break
        if laps.is_stationary(before, watched):
            break
    return FeedbackGains(gains, value, kernels.PREDICTOR_STATE)


def compute_flow_gains(shot: FlowShot, cost: FlowQuadraticCost, formulation: str = "discrete") -> tuple[Array, Array]:
    """Gains (T, r, 2N+r): feedback w = K (Δp, Δz); and the value (2N+r, 2N+r) of a deviation at the start."""
    r = shot.model.size
    made = _linearise_step if formulation == "discrete" else _discretise_step
    gains, value, R = np.empty((shot.step_count, r, cost.Q.shape[1])), np.diag(cost.final), cost.R * np.eye(r)
    with limit_blas_threads():
        for n in range(shot.step_count - 1, -1, -1):
            gains[n], value = solve_riccati_step(*made(shot, n, cost.Q[n]), R, value)
    return gains, value


def _linearise_step(shot: FlowShot, n: int, Q: Array) -> tuple[Array, Array]:
    """Step n of the simulator itself, E (m, m+r), and what its end costs, Eᵀ Q E."""
    step = shot.model.linearize(shot.states[n], shot.particles[n], shot.feed_forward[n], shot.dt)
    E = np.hstack([step.by_state, step.by_control])
    return E, E.T @ (Q[:, None] * E)


def _discretise_step(shot: FlowShot, n: int, Q: Array) -> tuple[Array, Array]:
    """Eq. (13) held over step n: its exponential, and its costs integrated exactly, eq. (16)-(18)."""
    E, X = discretise_system(build_continuous_flow_system(shot, n), np.diag(Q / shot.dt), shot.dt)
    return E[: len(Q)], X


def build_continuous_flow_system(shot: FlowShot, n: int) -> Array:
    """F (m+r, m+r) of eq. (13) and (23)-(26) at frame n, acting on (Δp, Δz, w)."""
    model, z, points = shot.model, shot.states[n], shot.particles[n]
    r, m = model.size, 2 * len(points) + model.size
    F = np.zeros((m + r, m + r))
    F[m - r : m, m - r : m], F[m - r : m, m:] = (
        model.compute_rate_matrix(z) + model.compute_advection_jacobian(z),
        np.eye(r),
    )
    for k, point in enumerate(points):
        rows = slice(2 * k, 2 * k + 2)
        F[rows, m - r : m], F[rows, rows] = model.interpolate_modes_and_gradient(point, z)
    return F
