"""Implicit Euler steps of a shell whose averages are held: constrained Lagrangian mechanics, §4.3 of Bergou 2007."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array
from cajole.body import BodyShell
from cajole.direct.enriching.regions import require_independent
from cajole.direct.enriching.saddle import Saddle
from cajole.errors import InputError, NotConverged, SolveError

# relative residual at which a step counts as solved, and what rounding may leave of it when no correction helps
TOLERANCE, FLOOR = 1e-9, 1e-6
# a correction below this share of the body's size is rounding
ROUNDED = 1e-13
MOST_HALVINGS = 12
# what a held average may be off after a step, in body sizes, before the equations count as unsolved
HELD = 1e-8
# displacements in body sizes and places of the guide beyond which a shell has come apart
APART = 100.0


@dataclass(frozen=True)
class Moment:
    """positions, velocities (n, 3) [m], [m/s]; pull (n, 3) [N]: the force that holds the averages, Cᵀλ."""

    positions: Array
    velocities: Array
    pull: Array
    iterations: int = 0


class Tracker:
    """Steps of length h of `body` on which `rows` (m, n) @ positions are held at given values.

    M (v' - v)/h + d + f = f_ext + Cᵀλ, C q' = target, q' = q + h v'. newton: how often a step is linearised. With 1, as
    in the paper, about where the shell flies to, with the positive semidefinite tangent; with more until the step is
    solved. `body` may be replaced between steps by one with the same vertices and pattern.
    """

    def __init__(
        self,
        body: BodyShell,
        rows: sp.csr_array | None,
        h: float,
        *,
        names: tuple[str, ...] = (),
        newton: int = 1,
        backend: str | None = None,
    ):
        self.body, self.h, self.newton = body, h, newton
        self.rows = sp.csr_array((0, body.count)) if rows is None else rows
        held = _held_rows(body, self.rows, names or tuple(map(str, range(self.rows.shape[0]))))
        self.sums = np.asarray(self.rows.sum(axis=1))
        self._saddle = Saddle(body, held, backend=backend)
        self._values = np.empty(body.pattern.entries)

    def step(self, now: Moment, target: Array, load: Array) -> Moment:
        """The moment h later: averages at `target` (m, 3), under the external force `load` (n, 3) [N]."""
        if self.newton == 1:
            x, pull, _ = self._corrected(now, now.positions + self.h * now.velocities, target, load, "clamped")
            return self._after(now, x, pull, target, 1)
        return self._solved(now, target, load)

    def gap(self, positions: Array, target: Array) -> float:
        """How far the means of the regions are off at most, in body sizes."""
        if not len(self.sums):
            return 0.0
        off = np.linalg.norm(target - self.rows @ positions, axis=1) / self.sums
        return float(off.max()) / self.body.size

    def _solved(self, now: Moment, target: Array, load: Array) -> Moment:
        """Newton's iteration: the first correction meets the averages, the others go downhill where they are met."""
        x = now.positions + self.h * now.velocities
        for iteration in range(1, self.newton + 1):
            x_new, pull, residual = self._corrected(now, x, target, load, "symmetric")
            moved = x_new - x
            if iteration > 1:
                x_new = self._searched(now, x, moved, residual, pull, load)
            x = x_new
            left, size = self._residual(now, x, load, self.body.total_force(*self._state(now, x)))
            error = self._norm(left - pull) / max(size + self._norm(pull), np.finfo(float).tiny)
            rounded = iteration > 1 and np.abs(moved).max() <= ROUNDED * self.body.size
            if error <= TOLERANCE or (rounded and error <= FLOOR):
                return self._after(now, x, pull, target, iteration)
        raise NotConverged(
            f"the step did not converge in {self.newton} Newton iterations (relative residual {error:.1e}); more of "
            "them may do (newton=), and newton=1 takes what one gives"
        )

    def _searched(self, now: Moment, x: Array, moved: Array, residual: Array, pull: Array, load: Array) -> Array:
        """The longest of the halved steps at whose end the potential rises by no more than half as fast as it fell."""
        slope, before = abs(float((residual * moved).sum())), self._norm(residual - pull)
        for halving in range(MOST_HALVINGS):
            trial = x + 0.5**halving * moved
            left, _ = self._residual(now, trial, load, self.body.total_force(*self._state(now, trial)))
            if float((left * moved).sum()) <= 0.5 * slope or self._norm(left - pull) < 0.5 * before:
                break
        return np.asarray(trial)

    def _corrected(self, now: Moment, x: Array, target: Array, load: Array, tangent: str) -> tuple[Array, Array, Array]:
        """x (n, 3) after one linear solve about it, the pull that this found, and the residual before."""
        u, v = self._state(now, x)
        # where something buckles the exact tangent leads uphill
        for kind in dict.fromkeys((tangent, "clamped")):
            internal = self.body.system(u, v, 1.0 / self.h**2, 1.0 / self.h, self._values, tangent=kind)
            residual, _ = self._residual(now, x, load, internal)
            if self._saddle.factorise(self._values):
                moved, pull = self._saddle.solve(-residual, target - self.rows @ x)
                return x + moved, pull, residual
        raise SolveError("the regions cannot be told apart at this step")

    def _state(self, now: Moment, x: Array) -> tuple[Array, Array]:
        """Displacements and velocities (n, 3) of a step that ends at x."""
        return x - self.body.vertices, (x - now.positions) / self.h

    def _residual(self, now: Moment, x: Array, load: Array, internal: Array) -> tuple[Array, float]:
        """M a + d + f - f_ext (n, 3) [N], and the size of its terms; internal: d + f."""
        change = (x - now.positions) / self.h - now.velocities
        inertial = (self.body.mass @ (change / self.h).ravel()).reshape(-1, 3)
        size = self._norm(inertial) + self._norm(internal) + self._norm(load)
        if not np.isfinite(size):
            raise SolveError("the forces overflow: the guide asks for more than the shell can follow")
        return inertial + internal - load, size

    def _norm(self, vectors: Array) -> float:
        with np.errstate(over="ignore"):  # what is infinite is noticed by the caller
            return float(np.linalg.norm(vectors[self.body.free]))

    def _after(self, now: Moment, x: Array, pull: Array, target: Array, iterations: int) -> Moment:
        body = self.body
        reach = APART * body.size + np.abs(now.positions).max() + np.abs(target / self.sums[:, None]).max(initial=0.0)
        if not np.abs(x).max() <= reach:
            raise SolveError(f"vertex {int(np.abs(x).max(axis=1).argmax())} flies off: the shell comes apart")
        off = self.gap(x, target)
        if not off <= HELD:
            raise SolveError(f"the averages are missed by {off:.1e} of the shell's size after the solve")
        return Moment(x, (x - now.positions) / self.h, pull, iterations)


def _held_rows(body: BodyShell, rows: sp.csr_array, names: tuple[str, ...]) -> sp.csr_array:
    """`rows` on the free vertices (m, free), each independent of the others there."""
    if not rows.shape[0]:
        return sp.csr_array((0, len(body.free)))
    held = sp.csr_array(sp.csc_array(rows)[:, body.free])
    held.eliminate_zeros()
    stuck = np.flatnonzero(np.diff(held.indptr) == 0)
    if len(stuck):
        raise InputError(
            f"region {names[int(stuck[0])]} lies on fixed vertices only ({len(stuck)} such), so that nothing of it can "
            "follow the guide; free some of its vertices, or leave it out: regions.without"
        )
    if len(body.fixed):
        require_independent(held, names, "vertices that are not fixed")
    return held
