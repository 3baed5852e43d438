"""One controlled step after another, with the work space made once, and a way through steps that are too hard."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cajole.arrays import Array
from cajole.direct.steering import kernels
from cajole.direct.steering.diagnosis import trouble
from cajole.direct.steering.motion import NO_GAINS, Reference, step_row
from cajole.direct.steering.regulator import Regulator
from cajole.errors import NotConverged
from cajole.reduction import kernels_motion as motion_kernels
from cajole.reduction.trajectory import MOST_ITERATIONS, TOLERANCE

# Into how many parts a step that does not converge is cut, in turn.
CUTS = (2, 4, 8, 16, 32)


@dataclass
class Walker:
    """The state of a run: now (5, r) holds P, V, a, q, v; step counts all steps since the start of the reference.

    regulator: what steers, or None; cuts: how often a step had to be cut; disturbed: whether anything pushed so far.
    """

    reference: Reference
    regulator: Regulator | None = None
    step: int = 0
    cuts: int = 0
    disturbed: bool = False
    now: Array = field(init=False)

    def __post_init__(self) -> None:
        reference = self.reference
        self._system, r = reference.model.system, reference.model.size
        self._work = motion_kernels.workspace(self._system)
        self._row = step_row(reference.dt)
        self._derivatives = np.empty((1, r, r)), np.empty((1, r, r))
        self.now = np.zeros((5, r))
        self.restart()

    def restart(self) -> None:
        """Stand at the start of the reference, at rest relative to it."""
        course, h = self.reference.course, self.reference.dt
        (P, _), (q, v) = course[0, 0], course[1, 0]
        self.now[:2], self.now[3:] = course[0, 0], course[1, 0]
        self.now[2] = 4.0 * (P - q - h * v) / h**2
        self.step = 0
        self.disturbed = False

    def walk(self, external: Array) -> Array:
        """As many steps as `external` (m, r) has rows; returns q, v and feedback (m, 3, r).

        Raises NotConverged when a step fails even when cut into small parts; the state stays before it.
        """
        self.disturbed = self.disturbed or bool(external.any())
        out = np.empty((len(external), 3, external.shape[1]))
        done = 0
        while True:
            done += self._drive(external[done:], out[done:])
            if done == len(external):
                return out
            self._cut(external[done], out[done])
            done += 1

    def _drive(self, external: Array, out: Array) -> int:
        reference, regulator = self.reference, self.regulator
        gains, kind = (NO_GAINS, kernels.PREDICTOR) if regulator is None else (regulator.gains, regulator.kind)
        done = kernels.drive(
            self._system, self._row, reference.course, reference.accelerations, reference.feed_forward, gains, kind,
            self.now, self.step, external, TOLERANCE, MOST_ITERATIONS, self._work, *self._derivatives, out,
        )  # fmt: skip
        self.step += done
        return int(done)

    def _cut(self, external: Array, out: Array) -> None:
        """One step in several parts under the same forces."""
        w, h = self._force(external, out), self.reference.dt
        for parts in CUTS:
            now, short = self.now.copy(), h / parts
            now[0], now[1] = _predicted(now, short)
            pieces, still = np.empty((parts, 3, len(w))), np.zeros((parts, len(w)))
            done = kernels.drive(
                self._system, step_row(short), self.reference.course, still, np.tile(w, (parts, 1)), NO_GAINS,
                kernels.PREDICTOR, now, 1, still, TOLERANCE, MOST_ITERATIONS, self._work, *self._derivatives, pieces,
            )  # fmt: skip
            if done == parts and np.isfinite(now).all():
                now[0], now[1] = _predicted(now, h)
                self.now[:] = now
                out[:2] = now[3:]
                self.step += 1
                self.cuts += 1
                return
        raise NotConverged(self._failed())

    def _failed(self) -> str:
        what = f"step {self.step + 1} does not converge, even in {CUTS[-1]} parts"
        if self.disturbed:
            return f"{what}: the push is too strong for this model; push less, or add modes and damping"
        return f"{what}, though nothing disturbs it: {trouble(self.reference)}"

    def _force(self, external: Array, out: Array) -> Array:
        """The whole force of the next step, its feedback written to `out`."""
        reference, r = self.reference, len(external)
        n = self.step % reference.steps
        fed = np.zeros(r)
        if self.regulator is not None:
            at = self.now[:2] if self.regulator.kind == kernels.PREDICTOR else self.now[3:5]
            kernels.feedback(self.regulator.gains[n], at, reference.course[self.regulator.kind, n], fed)
        out[2] = fed
        return fed + reference.feed_forward[n] + external


def _predicted(now: Array, h: float) -> tuple[Array, Array]:
    """The predictor state of a step of h from the frame q, v with acceleration a."""
    a, q, v = now[2], now[3], now[4]
    return q + h * v + 0.25 * h**2 * a, v + 0.5 * h * a
