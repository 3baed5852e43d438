"""One controlled step after another, with the work space made once, and a way through steps that are too hard."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cajole.arrays import Array
from cajole.direct.steering import kernels
from cajole.direct.steering.lqr import FeedbackGains
from cajole.direct.steering.reference import EMPTY_GAINS, Reference, compute_newmark_coefficients, diagnose_divergence
from cajole.errors import NotConverged
from cajole.reduction import kernels_trajectory as motion_kernels
from cajole.reduction.trajectory import MAX_ITERATIONS, TOLERANCE

# Into how many parts a step that does not converge is cut, in turn.
SUBDIVISIONS = (2, 4, 8, 16, 32)


@dataclass
class ControlledStepper:
    """The state of a run: now (5, r) holds P, V, a, q, v; step counts all steps since the start of the reference.

    regulator: what steers, or None; cuts: how often a step had to be cut; disturbed: whether anything pushed so far.
    """

    reference: Reference
    feedback_gains: FeedbackGains | None = None
    step_index: int = 0
    subdivided_step_count: int = 0
    is_disturbed: bool = False
    state: Array = field(init=False)

    def __post_init__(self) -> None:
        reference = self.reference
        self._system, r = reference.model.kernel_data, reference.model.size
        self._workspace = motion_kernels.allocate_workspace(self._system)
        self._newmark_coefficients = compute_newmark_coefficients(reference.dt)
        self._derivatives = np.empty((1, r, r)), np.empty((1, r, r))
        self.state = np.zeros((5, r))
        self.reset()

    def reset(self) -> None:
        """Stand at the start of the reference, at rest relative to it."""
        course, h = self.reference.trajectory, self.reference.dt
        (P, _), (q, v) = course[0, 0], course[1, 0]
        self.state[:2], self.state[3:] = course[0, 0], course[1, 0]
        self.state[2] = 4.0 * (P - q - h * v) / h**2
        self.step_index = 0
        self.is_disturbed = False

    def rollout(self, external: Array) -> Array:
        """As many steps as `external` (m, r) has rows; returns q, v and feedback (m, 3, r).

        Raises NotConverged when a step fails even when cut into small parts; the state stays before it.
        """
        self.is_disturbed = self.is_disturbed or bool(external.any())
        out = np.empty((len(external), 3, external.shape[1]))
        done = 0
        while True:
            done += self._run_kernel(external[done:], out[done:])
            if done == len(external):
                return out
            self._subdivide_step(external[done], out[done])
            done += 1

    def _run_kernel(self, external: Array, out: Array) -> int:
        reference, regulator = self.reference, self.feedback_gains
        gains, kind = (
            (EMPTY_GAINS, kernels.PREDICTOR_STATE) if regulator is None else (regulator.gains, regulator.state_kind)
        )
        done = kernels.rollout_with_feedback(
            self._system,
            self._newmark_coefficients,
            reference.trajectory,
            reference.accelerations,
            reference.feed_forward,
            gains,
            kind,
            self.state,
            self.step_index,
            external,
            TOLERANCE,
            MAX_ITERATIONS,
            self._workspace,
            *self._derivatives,
            out,
        )
        self.step_index += done
        return int(done)

    def _subdivide_step(self, external: Array, out: Array) -> None:
        """One step in several parts under the same forces."""
        w, h = self._compute_step_force(external, out), self.reference.dt
        for parts in SUBDIVISIONS:
            now, short = self.state.copy(), h / parts
            now[0], now[1] = _compute_predictor(now, short)
            pieces, still = np.empty((parts, 3, len(w))), np.zeros((parts, len(w)))
            done = kernels.rollout_with_feedback(
                self._system,
                compute_newmark_coefficients(short),
                self.reference.trajectory,
                still,
                np.tile(w, (parts, 1)),
                EMPTY_GAINS,
                kernels.PREDICTOR_STATE,
                now,
                1,
                still,
                TOLERANCE,
                MAX_ITERATIONS,
                self._workspace,
                *self._derivatives,
                pieces,
            )
            if done == parts and np.isfinite(now).all():
                now[0], now[1] = _compute_predictor(now, h)
                self.state[:] = now
                out[:2] = now[3:]
                self.step_index += 1
                self.subdivided_step_count += 1
                return
        raise NotConverged(self._describe_failure())

    def _describe_failure(self) -> str:
        what = f"step {self.step_index + 1} does not converge, even in {SUBDIVISIONS[-1]} parts"
        if self.is_disturbed:
            return f"{what}: the push is too strong for this model; push less, or add modes and damping"
        return f"{what}, though nothing disturbs it: {diagnose_divergence(self.reference)}"

    def _compute_step_force(self, external: Array, out: Array) -> Array:
        """The whole force of the next step, its feedback written to `out`."""
        reference, r = self.reference, len(external)
        n = self.step_index % reference.step_count
        fed = np.zeros(r)
        if self.feedback_gains is not None:
            at = self.state[:2] if self.feedback_gains.state_kind == kernels.PREDICTOR_STATE else self.state[3:5]
            kernels.add_feedback(
                self.feedback_gains.gains[n], at, reference.trajectory[self.feedback_gains.state_kind, n], fed
            )
        out[2] = fed
        return fed + reference.feed_forward[n] + external


def _compute_predictor(state: Array, h: float) -> tuple[Array, Array]:
    """The predictor state of a step of h from the frame q, v with acceleration a."""
    a, q, v = state[2], state[3], state[4]
    return q + h * v + 0.25 * h**2 * a, v + 0.5 * h * a
