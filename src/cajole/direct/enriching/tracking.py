"""Implicit Euler steps of a shell whose averages are held: constrained Lagrangian mechanics, §4.3 of Bergou 2007."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array
from cajole.body import BodyShell
from cajole.direct.enriching.kkt import KKTSolver
from cajole.direct.enriching.regions import require_independent_rows
from cajole.errors import InputError, NotConverged, SolveError

# relative residual at which a step counts as solved, and what rounding may leave of it when no correction helps
RESIDUAL_TOLERANCE, ROUNDING_RESIDUAL_TOLERANCE = 1e-9, 1e-6
# a correction below this share of the body's size is rounding
MIN_CORRECTION = 1e-13
MAX_STEP_HALVINGS = 12
# what a held average may be off after a step, in body sizes, before the equations count as unsolved
CONSTRAINT_TOLERANCE = 1e-8
# displacements in body sizes and places of the guide beyond which a shell has come apart
MAX_DISPLACEMENT = 100.0


@dataclass(frozen=True)
class ShellState:
    """positions, velocities (n, 3) [m], [m/s]; pull (n, 3) [N]: the force that holds the averages, Cᵀλ."""

    positions: Array
    velocities: Array
    constraint_force: Array
    iterations: int = 0


class TrackingIntegrator:
    """Steps of length h of `body` on which `rows` (m, n) @ positions are held at given values.

    M (v' - v)/h + d + f = f_ext + Cᵀλ, C q' = target, q' = q + h v'. newton: how often a step is linearised. With 1, as
    in the paper, about where the shell flies to, with the positive semidefinite tangent; with more until the step is
    solved. `body` may be replaced between steps by one with the same vertices and pattern.
    """

    def __init__(
        self,
        body: BodyShell,
        constraints: sp.csr_array | None,
        h: float,
        *,
        names: tuple[str, ...] = (),
        max_newton_iterations: int = 1,
        backend: str | None = None,
    ):
        self.body, self.h, self.max_newton_iterations = body, h, max_newton_iterations
        self.constraints = sp.csr_array((0, body.vertex_count)) if constraints is None else constraints
        held = _restrict_constraints(body, self.constraints, names or tuple(map(str, range(self.constraints.shape[0]))))
        self.constraint_sums = np.asarray(self.constraints.sum(axis=1))
        self._kkt_solver = KKTSolver(body, held, backend=backend)
        self._matrix_values = np.empty(body.pattern.nnz)

    def step(self, state: ShellState, target: Array, external_force: Array) -> ShellState:
        """The moment h later: averages at `target` (m, 3), under the external force `load` (n, 3) [N]."""
        if self.max_newton_iterations == 1:
            x, pull, _ = self._solve_linear_step(
                state, state.positions + self.h * state.velocities, target, external_force, "clamped"
            )
            return self._build_checked_state(state, x, pull, target, 1)
        return self._solve_newton(state, target, external_force)

    def compute_residual(self, positions: Array, target: Array) -> float:
        """How far the means of the regions are off at most, in body sizes."""
        if not len(self.constraint_sums):
            return 0.0
        off = np.linalg.norm(target - self.constraints @ positions, axis=1) / self.constraint_sums
        return float(off.max()) / self.body.size

    def _solve_newton(self, state: ShellState, target: Array, external_force: Array) -> ShellState:
        """Newton's iteration: the first correction meets the averages, the others go downhill where they are met."""
        x = state.positions + self.h * state.velocities
        for iteration in range(1, self.max_newton_iterations + 1):
            x_new, pull, residual = self._solve_linear_step(state, x, target, external_force, "symmetric")
            moved = x_new - x
            if iteration > 1:
                x_new = self._search_line(state, x, moved, residual, pull, external_force)
            x = x_new
            left, size = self._compute_residual_force(
                state, x, external_force, self.body.total_force(*self._compute_kinematics(state, x))
            )
            error = self._compute_free_norm(left - pull) / max(
                size + self._compute_free_norm(pull), np.finfo(float).tiny
            )
            rounded = iteration > 1 and np.abs(moved).max() <= MIN_CORRECTION * self.body.size
            if error <= RESIDUAL_TOLERANCE or (rounded and error <= ROUNDING_RESIDUAL_TOLERANCE):
                return self._build_checked_state(state, x, pull, target, iteration)
        raise NotConverged(
            f"the step did not converge in {self.max_newton_iterations} Newton iterations (relative residual "
            f"{error:.1e}); more of "
            "them may do (newton=), and newton=1 takes what one gives"
        )

    def _search_line(
        self,
        state: ShellState,
        x: Array,
        correction: Array,
        residual: Array,
        constraint_force: Array,
        external_force: Array,
    ) -> Array:
        """The longest of the halved steps at whose end the potential rises by no more than half as fast as it fell."""
        slope, before = abs(float((residual * correction).sum())), self._compute_free_norm(residual - constraint_force)
        for halving in range(MAX_STEP_HALVINGS):
            trial = x + 0.5**halving * correction
            left, _ = self._compute_residual_force(
                state, trial, external_force, self.body.total_force(*self._compute_kinematics(state, trial))
            )
            if (
                float((left * correction).sum()) <= 0.5 * slope
                or self._compute_free_norm(left - constraint_force) < 0.5 * before
            ):
                break
        return np.asarray(trial)

    def _solve_linear_step(
        self, state: ShellState, x: Array, target: Array, external_force: Array, tangent: str
    ) -> tuple[Array, Array, Array]:
        """x (n, 3) after one linear solve about it, the pull that this found, and the residual before."""
        u, v = self._compute_kinematics(state, x)
        # where something buckles the exact tangent leads uphill
        for kind in dict.fromkeys((tangent, "clamped")):
            internal = self.body.assemble_system(u, v, 1.0 / self.h**2, 1.0 / self.h, self._matrix_values, tangent=kind)
            residual, _ = self._compute_residual_force(state, x, external_force, internal)
            if self._kkt_solver.factorise(self._matrix_values):
                moved, pull = self._kkt_solver.solve(-residual, target - self.constraints @ x)
                return x + moved, pull, residual
        raise SolveError("the regions cannot be told apart at this step")

    def _compute_kinematics(self, state: ShellState, x: Array) -> tuple[Array, Array]:
        """Displacements and velocities (n, 3) of a step that ends at x."""
        return x - self.body.vertices, (x - state.positions) / self.h

    def _compute_residual_force(
        self, state: ShellState, x: Array, external_force: Array, internal_force: Array
    ) -> tuple[Array, float]:
        """M a + d + f - f_ext (n, 3) [N], and the size of its terms; internal: d + f."""
        change = (x - state.positions) / self.h - state.velocities
        inertial = (self.body.mass @ (change / self.h).ravel()).reshape(-1, 3)
        size = (
            self._compute_free_norm(inertial)
            + self._compute_free_norm(internal_force)
            + self._compute_free_norm(external_force)
        )
        if not np.isfinite(size):
            raise SolveError("the forces overflow: the guide asks for more than the shell can follow")
        return inertial + internal_force - external_force, size

    def _compute_free_norm(self, vectors: Array) -> float:
        with np.errstate(over="ignore"):  # what is infinite is noticed by the caller
            return float(np.linalg.norm(vectors[self.body.free_vertices]))

    def _build_checked_state(
        self, state: ShellState, x: Array, constraint_force: Array, target: Array, iterations: int
    ) -> ShellState:
        body = self.body
        reach = (
            MAX_DISPLACEMENT * body.size
            + np.abs(state.positions).max()
            + np.abs(target / self.constraint_sums[:, None]).max(initial=0.0)
        )
        if not np.abs(x).max() <= reach:
            raise SolveError(f"vertex {int(np.abs(x).max(axis=1).argmax())} flies off: the shell comes apart")
        off = self.compute_residual(x, target)
        if not off <= CONSTRAINT_TOLERANCE:
            raise SolveError(f"the averages are missed by {off:.1e} of the shell's size after the solve")
        return ShellState(x, (x - state.positions) / self.h, constraint_force, iterations)


def _restrict_constraints(body: BodyShell, constraints: sp.csr_array, names: tuple[str, ...]) -> sp.csr_array:
    """`rows` on the free vertices (m, free), each independent of the others there."""
    if not constraints.shape[0]:
        return sp.csr_array((0, len(body.free_vertices)))
    held = sp.csr_array(sp.csc_array(constraints)[:, body.free_vertices])
    held.eliminate_zeros()
    stuck = np.flatnonzero(np.diff(held.indptr) == 0)
    if len(stuck):
        raise InputError(
            f"region {names[int(stuck[0])]} lies on fixed vertices only ({len(stuck)} such), so that nothing of it can "
            "follow the guide; free some of its vertices, or leave it out: regions.without"
        )
    if len(body.fixed):
        require_independent_rows(held, names, "vertices that are not fixed")
    return held
