"""Implicit Euler steps of a shell with prescribed region averages: constrained mechanics, §4.3 of Bergou 2007."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array
from cajole.body import BodyShell
from cajole.direct.enriching.kkt import KKTSolver
from cajole.direct.enriching.regions import require_independent_rows
from cajole.errors import InputError, NotConverged, SolveError
from cajole.linalg.line_search import backtrack


@dataclass(frozen=True)
class TrackingOptions:
    """Tolerances and limits of the steps of `TrackingIntegrator`."""

    # relative residual of a converged step, and of one that corrections no longer improve (rounding)
    tolerance: float = 1e-9
    rounding_tolerance: float = 1e-6
    # smaller corrections [body sizes] are rounding
    min_correction: float = 1e-13
    max_halvings: int = 12
    # error of an average after a step [body sizes] above which the equations count as unsolved
    constraint_tolerance: float = 1e-8
    # displacement [body sizes] above which the simulation has diverged
    max_displacement: float = 100.0


@dataclass(frozen=True)
class ShellState:
    """positions, velocities (n, 3) [m], [m/s]; constraint_force Cᵀλ (n, 3) [N], which maintains the averages."""

    positions: Array
    velocities: Array
    constraint_force: Array
    iterations: int = 0


class TrackingIntegrator:
    """Steps of length h of `body` with constraints (m, n) @ positions = target.

    M (v' - v)/h + d + f = f_ext + Cᵀλ, C q' = target, q' = q + h v'. max_newton_iterations: 1, as in the paper, is one
    linearisation about the free motion with the positive semidefinite tangent; with more, steps are solved to
    convergence. You may replace `body` between steps by one with the same vertices and pattern.
    """

    options = TrackingOptions()

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
        held = sp.csr_array((0, len(body.free_vertices)))
        if self.constraints.shape[0]:
            held = sp.csr_array(sp.csc_array(self.constraints)[:, body.free_vertices])
            held.eliminate_zeros()
            names = names or tuple(map(str, range(held.shape[0])))
            stuck = np.flatnonzero(np.diff(held.indptr) == 0)
            if len(stuck):
                raise InputError(
                    f"region {names[int(stuck[0])]} lies on fixed vertices only ({len(stuck)} such), so that nothing "
                    "of it can follow the guide; free some of its vertices, or leave it out: regions.without"
                )
            if len(body.fixed):
                require_independent_rows(held, names, "vertices that are not fixed")
        self.constraint_sums = np.asarray(self.constraints.sum(axis=1))
        self._kkt_solver = KKTSolver(body, held, backend=backend)
        self._matrix_values = np.empty(body.pattern.nnz)

    def step(self, state: ShellState, target: Array, external_force: Array) -> ShellState:
        """Advance by one step: averages at `target` (m, 3), under `external_force` (n, 3) [N]."""
        if self.max_newton_iterations == 1:
            x = state.positions + self.h * state.velocities
            x, pull, _ = self._solve_linear_step(state, x, target, external_force, "clamped")
            return self._build_checked_state(state, x, pull, target, 1)
        return self._solve_newton(state, target, external_force)

    def compute_residual(self, positions: Array, target: Array) -> float:
        """Largest distance of a region average from its target, in body sizes."""
        if not len(self.constraint_sums):
            return 0.0
        off = np.linalg.norm(target - self.constraints @ positions, axis=1) / self.constraint_sums
        return float(off.max()) / self.body.size

    def _solve_newton(self, state: ShellState, target: Array, external_force: Array) -> ShellState:
        """Newton's method: the first correction meets the averages, the others are damped by a line search."""
        x, options, norm = state.positions + self.h * state.velocities, self.options, self._compute_free_norm
        for iteration in range(1, self.max_newton_iterations + 1):
            x_new, pull, residual = self._solve_linear_step(state, x, target, external_force, "symmetric")
            moved = x_new - x
            if iteration > 1:
                x_new = self._search_line(state, x, moved, residual, pull, external_force)
            x = x_new
            left, size = self._compute_residual_force(state, x, external_force)
            error = norm(left - pull) / max(size + norm(pull), np.finfo(float).tiny)
            rounded = iteration > 1 and np.abs(moved).max() <= options.min_correction * self.body.size
            if error <= options.tolerance or (rounded and error <= options.rounding_tolerance):
                return self._build_checked_state(state, x, pull, target, iteration)
        raise NotConverged(
            f"the step did not converge in {self.max_newton_iterations} Newton iterations (relative residual "
            f"{error:.1e}); more of them may do (newton=), and newton=1 takes what one gives"
        )

    def _search_line(
        self, state: ShellState, x: Array, correction: Array, residual: Array, pull: Array, external_force: Array
    ) -> Array:
        """Find the longest halved step at whose end the potential rises at most half as fast as it fell; else the last.

        A step that halves the residual is accepted, too.
        """
        slope, before = abs(float((residual * correction).sum())), self._compute_free_norm(residual - pull)

        def accept(trial: Array, length: float) -> bool:
            left, _ = self._compute_residual_force(state, trial, external_force)
            rises = float((left * correction).sum()) > 0.5 * slope
            return not rises or self._compute_free_norm(left - pull) < 0.5 * before

        found = backtrack(lambda length: x + length * correction, accept, max_trials=self.options.max_halvings)
        assert found is not None
        return np.asarray(found.trial)

    def _solve_linear_step(
        self, state: ShellState, x: Array, target: Array, external_force: Array, tangent: str
    ) -> tuple[Array, Array, Array]:
        """Solve the step linearised about x (n, 3); the new x, the constraint force, and the residual before (n, 3)."""
        u, v = self._compute_kinematics(state, x)
        # during buckling the exact tangent gives an ascent direction
        for kind in dict.fromkeys((tangent, "clamped")):
            internal = self.body.assemble_system(u, v, 1.0 / self.h**2, 1.0 / self.h, self._matrix_values, tangent=kind)
            residual, _ = self._compute_residual_force(state, x, external_force, internal)
            if self._kkt_solver.factorise(self._matrix_values):
                moved, pull = self._kkt_solver.solve(-residual, target - self.constraints @ x)
                return x + moved, pull, residual
        raise SolveError("the regions cannot be told apart at this step")

    def _compute_kinematics(self, state: ShellState, x: Array) -> tuple[Array, Array]:
        """Displacement and velocity (n, 3) of a step that ends at x."""
        return x - self.body.vertices, (x - state.positions) / self.h

    def _compute_residual_force(
        self, state: ShellState, x: Array, external_force: Array, internal_force: Array | None = None
    ) -> tuple[Array, float]:
        """M a + d + f - f_ext (n, 3) [N], and the size of its terms; internal_force: d + f if known."""
        if internal_force is None:
            internal_force = self.body.total_force(*self._compute_kinematics(state, x))
        change, norm = (x - state.positions) / self.h - state.velocities, self._compute_free_norm
        inertial = (self.body.mass @ (change / self.h).ravel()).reshape(-1, 3)
        size = norm(inertial) + norm(internal_force) + norm(external_force)
        if not np.isfinite(size):
            raise SolveError("the forces overflow: the guide asks for more than the shell can follow")
        return inertial + internal_force - external_force, size

    def _compute_free_norm(self, vectors: Array) -> float:
        with np.errstate(over="ignore"):  # the caller handles infinite norms
            return float(np.linalg.norm(vectors[self.body.free_vertices]))

    def _build_checked_state(
        self, state: ShellState, x: Array, constraint_force: Array, target: Array, iterations: int
    ) -> ShellState:
        body = self.body
        farthest = np.abs(target / self.constraint_sums[:, None]).max(initial=0.0)
        reach = self.options.max_displacement * body.size + np.abs(state.positions).max() + farthest
        if not np.abs(x).max() <= reach:
            raise SolveError(f"vertex {int(np.abs(x).max(axis=1).argmax())} flies off: the shell comes apart")
        off = self.compute_residual(x, target)
        if not off <= self.options.constraint_tolerance:
            raise SolveError(f"the averages are missed by {off:.1e} of the shell's size after the solve")
        return ShellState(x, (x - state.positions) / self.h, constraint_force, iterations)
